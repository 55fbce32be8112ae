//! Everything that is tested from outside, in one program, because linking is what takes long.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod binary;
mod cli;
mod client;
mod contract;
mod disk;
mod docs;
mod errands;
mod faults;
mod faulty;
mod finding;
mod fresh;
mod hall;
mod killed;
mod mirror;
mod model;
mod picture;
mod profiles;
mod program;
mod running;
mod screens;
mod search;
mod secrets;
mod terminal;
mod upkeep;
mod wire;
mod world;
