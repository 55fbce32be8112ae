//! Everything that is tested from outside, in one program, because linking is what takes long.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cli;
mod client;
mod contract;
mod disk;
mod echo;
mod ends;
mod fault_matrix;
mod fresh;
mod fuzz;
mod harness;
mod killed;
mod mirror;
mod profiles;
mod quirks;
mod search;
mod secrets;
mod terminal;
mod upkeep;
