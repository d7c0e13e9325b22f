//! Bodies that material meets.
