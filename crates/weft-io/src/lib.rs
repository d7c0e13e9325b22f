//! Readers and writers for Weft.
