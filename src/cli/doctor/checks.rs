//! The results of the checks of `doctor`, and their lines.

use serde::Serialize;

use crate::error::Error;
use crate::text::sanitize;

/// The result of a check as JSON.
#[derive(Serialize)]
pub(super) struct CheckJson {
    /// What was checked.
    pub(in crate::cli) name: &'static str,
    /// `ok`, `note` or `failed`.
    pub(in crate::cli) state: &'static str,
    /// Result of the check.
    pub(in crate::cli) message: String,
    /// What to do next; absent if nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::cli) hint: String,
}

/// All results as one JSON document.
#[derive(Serialize)]
pub(super) struct DoctorJson {
    /// Whether no check failed.
    pub(in crate::cli) ok: bool,
    /// The checks, in order.
    pub(in crate::cli) checks: Vec<CheckJson>,
}

/// All results so far.
#[derive(Default)]
pub(in crate::cli) struct Checks {
    pub(in crate::cli) results: Vec<CheckJson>,
    pub(super) first_error: Option<Error>,
}

impl Checks {
    fn add(&mut self, name: &'static str, state: &'static str, message: String, hint: String) {
        self.results.push(CheckJson {
            name,
            state,
            message,
            hint,
        });
    }

    pub(in crate::cli) fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, "ok", message.into(), String::new());
    }

    /// Adds what is worth knowing, and no problem.
    pub(in crate::cli) fn note(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, "note", message.into(), String::new());
    }

    /// Adds what is needed, and does not work.
    pub(in crate::cli) fn failed(&mut self, name: &'static str, error: Error) {
        self.add_failure(name, error.message.clone(), error);
    }

    /// Adds a failed request, with the state that the terminal program would show.
    pub(super) fn failed_in_state(&mut self, name: &'static str, error: Error) {
        let message = format!("{}: {}", error.kind.service_state(), error.message);
        self.add_failure(name, message, error);
    }

    fn add_failure(&mut self, name: &'static str, message: String, mut error: Error) {
        // The hints of other commands may end with this one.
        if let Some(end) = error.hint.find("; sentbox doctor ") {
            error.hint.truncate(end);
        }
        self.add(name, "failed", message, error.hint.clone());
        self.first_error.get_or_insert(error);
    }
}

pub(super) fn format_check(check: &CheckJson) -> String {
    let state = if check.state == "failed" {
        "FAILED"
    } else {
        check.state
    };
    let message = sanitize::sanitize_line(&check.message);
    let mut line = format!("{state:6}  {:9} {message}", check.name);
    if !check.hint.is_empty() {
        line.push_str("\n                  ");
        line.push_str(&sanitize::sanitize_line(&check.hint));
    }
    line
}
