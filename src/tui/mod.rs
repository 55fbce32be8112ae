//! The rim of the terminal program: its loop, its performer of effects, its hold on the terminal.
