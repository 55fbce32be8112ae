//! Tests of crash reports, in a process of their own because a panic hook is of the
//! whole process.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::*;
use crate::config::clock;
use crate::text::checks::TextChecks as _;

/// Makes this test panic with the hook.
const PANIC: &str = "SENTBOX_TEST_PANIC";

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no settings")]
fn report_has_a_backtrace_and_no_colour() {
    if std::env::var_os(PANIC).is_some() {
        install(&Env::from_process(), &clock::system_clock());
        panic!("the test panics");
    }
    for wanted in ["0", "1"] {
        let home = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("panic_hook::tests::report_has_a_backtrace_and_no_colour")
            .env_clear()
            .env(PANIC, "1")
            .env("HOME", home.path())
            .env("RUST_BACKTRACE", wanted)
            .env("CLICOLOR_FORCE", "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("internal error at src/panic_hook_tests.rs"));
        let folder = home.path().join(".local/state/sentbox");
        let mut reports = fs::read_dir(&folder).unwrap();
        let report = reports.next().expect("there is a report").unwrap().path();
        assert_eq!(
            report.metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
        let text = fs::read_to_string(report).unwrap();
        assert!(text.contains("the test panics"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        // Only a frame names the function.
        text.assert_contains("tests::report_has_a_backtrace_and_no_colour");
    }
}
