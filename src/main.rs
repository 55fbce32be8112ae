//! The binary.

use std::process::ExitCode;

fn main() -> color_eyre::Result<ExitCode> {
    sentbox::run()
}
