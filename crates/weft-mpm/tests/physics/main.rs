//! The solver against exact solutions, conservation laws and hostile input.

mod fall;
mod hostile;
mod scene;
mod transfer;
