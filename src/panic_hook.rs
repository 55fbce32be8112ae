//! The panic hook: restores the terminal, then writes a report.

use std::backtrace::Backtrace;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::config::clock::Clock;
use crate::config::{Env, Paths, create_private_dir, create_private_file};
use crate::render;
use crate::text::sanitize::sanitize_line;
use crate::tui::terminal;

/// The section of a report that says what to do with it.
const HINT: &str = "\
This is a bug in sentbox. Please report it with this file, and say what you did before.
Check first that the message above quotes no mail.";

/// Installs the panic hook.
///
/// The terminal comes first: text on the alternate screen would be lost.
pub fn install(env: &Env, clock: &Clock) {
    let folder = Paths::from_env(env).state;
    let clock = clock.clone();
    std::panic::set_hook(Box::new(move |panic| {
        if render::is_catching_panics() {
            return;
        }
        terminal::restore();
        let text = format!(
            "sentbox {}\n{panic}\n\n{HINT}\n\nBacktrace:\n{}",
            env!("CARGO_PKG_VERSION"),
            Backtrace::force_capture()
        );
        let name = format!(
            "crash-{}-{}.txt",
            clock().strftime("%Y%m%dT%H%M%SZ"),
            std::process::id()
        );
        let path = folder
            .as_deref()
            .and_then(|folder| write_report(folder, &name, &text));
        let path = path.map_or_else(String::new, |path| format!("; report: {}", path.display()));
        let cause = panic.payload_as_str().unwrap_or("no message");
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let line = format!("sentbox: internal error at {location}: {cause}{path}");
        let _ = writeln!(std::io::stderr(), "{}", sanitize_line(&line));
    }));
}

/// Writes the report with access for its owner only.
fn write_report(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    create_private_dir(folder).ok()?;
    let path = folder.join(name);
    create_private_file(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .ok()?;
    Some(path)
}

#[cfg(test)]
#[path = "panic_hook_tests.rs"]
mod tests;
