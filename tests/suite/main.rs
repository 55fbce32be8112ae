//! Everything that is tested from outside, in one program, because linking is what takes long.

mod binary;
mod cli;
mod client;
mod contract;
mod disk;
mod docs;
mod house;
mod killed;
mod mirror;
mod model;
mod picture;
mod program;
mod running;
mod screens;
mod terminal;
mod upkeep;
mod wire;
mod world;
