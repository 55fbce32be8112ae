//! Everything that is tested from outside, in one program, because linking is what takes long.

mod binary;
mod cli;
mod client;
mod contract;
mod docs;
mod house;
mod model;
mod picture;
mod profiles;
mod program;
mod running;
mod screens;
mod secrets;
mod terminal;
mod wire;
mod world;
