//! The program: hooks, arguments, dispatch, exit code.

fn main() {}
