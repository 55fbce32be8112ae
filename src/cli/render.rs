//! `render`: html in, text out; also a filter for mail readers.

use std::io::Read as _;
use std::path::Path;

use super::args::RenderArgs;
use super::output::{CommandExit, Output};
use crate::error::{Error, ErrorKind};
use crate::render::{Body, ansi};

/// Lays out a file or standard input.
pub(super) fn run(render: &RenderArgs, out: &mut Output) -> Result<(), CommandExit> {
    let mut bytes = Vec::new();
    if let Some(path) = render
        .file
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        bytes =
            std::fs::read(path).map_err(|error| read_error(&path.display().to_string(), &error))?;
    } else {
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| read_error("standard input", &error))?;
    }
    let body = crate::render::lay_out_html(
        &String::from_utf8_lossy(&bytes),
        layout_width(render.width, out),
    );
    write_body(&body, render.links, out)
}

/// The columns to lay out for: as asked, as wide as the terminal, or 80.
pub(super) fn layout_width(asked: Option<u16>, out: &Output) -> u16 {
    asked.or(out.columns).unwrap_or(80)
}

/// Writes a body, followed by its notices.
pub(super) fn write_body(body: &Body, links: bool, out: &mut Output) -> Result<(), CommandExit> {
    out.write_styled(&ansi::write(
        body,
        ansi::AnsiOptions {
            colour: out.colour,
            links,
        },
    ))?;
    out.flush()
}

fn read_error(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what} cannot be read: {error}"))
}
