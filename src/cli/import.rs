//! `import`: emails as JSON lines into the archive.

use crate::text::format::{group_digits, plural};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Serialize;

use super::ProfileContext;
use super::args::ImportArgs;
use super::open_archive;
use super::output::{CommandExit, OutputFormat};
use crate::error::{Error, ErrorKind};

/// The report as JSON.
#[derive(Serialize)]
struct ImportJson {
    /// Lines that were read.
    lines: u64,
    /// Emails that the archive did not have.
    new: u64,
    /// Emails that were left out: purged before, or older than the archive keeps.
    out: u64,
    /// Lines that are no email.
    bad: u64,
}

/// Takes the lines in and reports.
///
/// # Errors
///
/// If the lines cannot be read, or one of them is no email; the others are taken in all the same.
pub(super) fn run(import: &ImportArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let archive = open_archive::open_for_writing(ctx)?;
    let path = import.file.as_path();
    let lines: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("{} cannot be read: {error}", path.display()),
            )
        })?;
        Box::new(BufReader::new(file))
    };
    let imported = archive.import(lines, (ctx.clock)(), |done| {
        ctx.out.show_progress(&format!(
            "{} read",
            plural(done.lines - done.invalid, "email")
        ));
    });
    ctx.out.show_progress("");
    let imported = imported?;
    for (line, why) in &imported.invalid_lines {
        ctx.out.note(&format!("line {line}: {why}"));
    }
    let report = ImportJson {
        lines: imported.lines,
        new: imported.new,
        out: imported.skipped,
        bad: imported.invalid,
    };
    if report.out > 0 {
        ctx.out.note(&format!(
            "{} of them were removed from this archive or are older than it keeps, and stay out",
            report.out
        ));
    }
    let text = match ctx.out.format {
        OutputFormat::Human => format!(
            "{} read, {} of them new\n",
            plural(report.lines - report.bad, "email"),
            group_digits(report.new, ' ')
        ),
        OutputFormat::Json | OutputFormat::JsonLines => {
            serde_json::to_string(&report).expect("numbers are JSON") + "\n"
        }
    };
    ctx.out.write_data(&text)?;
    ctx.out.flush()?;
    if report.bad > 0 {
        return Err(Error::new(
            ErrorKind::Io,
            format!("{} of {} lines are no email", report.bad, report.lines),
        )
        .into());
    }
    Ok(())
}
