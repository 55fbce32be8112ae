//! What happens when sentbox panics: the terminal is given back first, then a report is written.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::config::clock::Clock;
use crate::config::{Env, Paths, create_private_dir};
use crate::render;
use crate::text::sanitize;
use crate::tui::terminal;
use color_eyre::config::PanicHook;

/// Replaces the panic hook. The order matters: words written to a terminal in raw mode on the
/// alternate screen would be garbled, and gone with it.
pub fn install(report: PanicHook, env: &Env, clock: &Clock) {
    let folder = Paths::from_env(env).state;
    let clock = clock.clone();
    std::panic::set_hook(Box::new(move |panic| {
        if render::is_catching_panics() {
            return;
        }
        terminal::restore();
        let cause = panic.payload_as_str().unwrap_or("no cause was given");
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let text = format!(
            "sentbox {}\n{}\n",
            env!("CARGO_PKG_VERSION"),
            report.panic_report(panic)
        );
        let name = format!(
            "crash-{}-{}.txt",
            clock().strftime("%Y%m%dT%H%M%SZ"),
            std::process::id()
        );
        let kept = folder
            .as_deref()
            .and_then(|folder| write_report(folder, &name, &text));
        let file = kept.map_or_else(String::new, |path| format!("; report: {}", path.display()));
        let line = format!("sentbox: internal error at {place}: {cause}{file}");
        let _ =
            std::io::stderr().write_all(format!("{}\n", sanitize::sanitize_line(&line)).as_bytes());
    }));
}

/// Writes the report for its owner alone.
fn write_report(folder: &Path, name: &str, text: &str) -> Option<PathBuf> {
    create_private_dir(folder).ok()?;
    let path = folder.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .ok()?;
    file.write_all(text.as_bytes()).ok()?;
    Some(path)
}
