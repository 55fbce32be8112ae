//! Everything that is tested from outside, in one program, because linking is what takes long.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod binary;
mod cli;
mod client;
mod contract;
mod disk;
mod docs;
mod echo;
mod ends;
mod errands;
mod faults;
mod faulty;
mod finding;
mod fresh;
mod freshness;
mod hall;
mod killed;
mod mirror;
mod model;
mod picture;
mod profiles;
mod program;
mod quirks;
mod running;
mod screens;
mod search;
mod secrets;
mod sharing;
mod terminal;
mod upkeep;
mod wire;
mod world;
