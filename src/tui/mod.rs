//! The rim of the terminal program: its loop, its performer of effects, its hold on the terminal.

mod input;
mod signals;
pub mod terminal;
mod thrifty;

pub use input::Input;
pub use signals::Signals;
pub use thrifty::Thrifty;
