//! The solver against exact solutions, conservation laws and hostile input.

mod balance;
mod converge;
mod elastic;
mod fall;
mod hostile;
mod plastic;
mod scene;
mod transfer;
mod viscous;
