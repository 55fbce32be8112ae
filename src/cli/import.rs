//! `import`: emails as JSON lines into the archive.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Serialize;

use super::archive;
use super::args::Import;
use super::output::{Output, Shape, Stop};
use super::words::{emails, grouped};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};

/// The report as JSON.
#[derive(Serialize)]
struct Report {
    lines: u64,
    new: u64,
    out: u64,
    bad: u64,
}

/// Takes the lines in and reports.
///
/// # Errors
///
/// If the lines cannot be read, or one of them is no email; the others are taken in all the same.
pub(super) fn run(
    import: &Import,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    let archive = archive::open_to_fill(settings, clock, out)?;
    let path = import.file.as_path();
    let lines: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path).map_err(|error| {
            Failure::new(
                Kind::Io,
                format!("{} cannot be read: {error}", path.display()),
            )
        })?;
        Box::new(BufReader::new(file))
    };
    let imported = archive.import(lines, clock(), |done| {
        out.progress(&format!("{} read", emails(done.lines - done.bad)));
    });
    out.progress("");
    let imported = imported?;
    for (line, why) in &imported.bad_lines {
        out.note(&format!("line {line}: {why}"));
    }
    let report = Report {
        lines: imported.lines,
        new: imported.new,
        out: imported.out,
        bad: imported.bad,
    };
    if report.out > 0 {
        out.note(&format!(
            "{} of them were removed from this archive or are older than it keeps, and stay out",
            report.out
        ));
    }
    let text = match out.shape {
        Shape::Human => format!(
            "{} read, {} of them new\n",
            emails(report.lines - report.bad),
            grouped(report.new)
        ),
        Shape::Json | Shape::JsonLines => {
            serde_json::to_string(&report).expect("numbers are JSON") + "\n"
        }
    };
    out.data(&text)?;
    out.flush()?;
    if report.bad > 0 {
        return Err(Failure::new(
            Kind::Io,
            format!("{} of {} lines are no email", report.bad, report.lines),
        )
        .into());
    }
    Ok(())
}
