//! Everything that is tested from outside, in one program, because linking is what takes long.

mod binary;
mod cli;
mod client;
mod house;
mod model;
mod screens;
mod wire;
mod world;
