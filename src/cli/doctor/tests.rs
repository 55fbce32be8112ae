//! Tests of what `doctor` says about the clock and the terminal.

use super::*;
use crate::text::checks::TextChecks as _;

fn clock_check(skew: SignedDuration) -> (&'static str, String) {
    let mut checks = Checks::default();
    check_clock(skew, &mut checks);
    let check = checks.results.pop().unwrap();
    (check.state, check.message)
}

#[test]
fn skewed_clock_is_reported() {
    let agrees = "agrees with the service's within 3 s".to_owned();
    let skew = SignedDuration::from_secs(-2);
    assert_eq!(clock_check(skew), ("ok", agrees));
    let behind = "this machine's clock is 5 min behind the service's, so ages and dates look wrong"
        .to_owned();
    let skew = SignedDuration::from_mins(5);
    assert_eq!(clock_check(skew), ("note", behind));
    let (_, message) = clock_check(SignedDuration::from_hours(-30));
    assert!(message.contains("30 h ahead of"));
}

#[test]
fn hints_do_not_name_doctor_itself() {
    let mut checks = Checks::default();
    let hint = "check the key; sentbox doctor names where it comes from";
    let error = Error::new(ErrorKind::KeyRejected, "rejected").with_hint(hint);
    checks.failed_in_state("access", error);
    assert_eq!(checks.results[0].hint, "check the key");
    assert_eq!(checks.first_error.unwrap().hint, "check the key");
}

fn words(variables: &[(&str, &str)]) -> String {
    let mut checks = Checks::default();
    let env = variables.iter().copied().collect();
    check_terminal(
        &env,
        Some((120, 40)),
        || Ok(Some(Background::Light)),
        &mut checks,
    )
    .unwrap_or_else(|_| unreachable!("no signal is received"));
    let messages = checks.results.into_iter().map(|check| check.message);
    let messages: Vec<String> = messages.collect();
    messages.join(" | ")
}

#[test]
fn terminal_is_recognized_by_its_variables() {
    assert_eq!(
        words(&[
            ("TERM", "tmux-256color"),
            ("TMUX", "/tmp/t"),
            ("LANG", "de_DE.UTF-8")
        ]),
        "tmux-256color in tmux, 120x40 | 256 | light, as the terminal reports | yes, by de_DE.UTF-8 | OSC 52 through tmux, which needs: set -g set-clipboard on"
    );
    assert_eq!(
        words(&[
            ("TERM", "xterm"),
            ("COLORTERM", "truecolor"),
            ("NO_COLOR", "1"),
            ("LC_ALL", "C")
        ]),
        "xterm, 120x40 | none, because NO_COLOR is set | light, as the terminal reports | no: LC_ALL is C, so only ASCII is shown; C.UTF-8 shows all text | OSC 52, if the terminal allows it"
    );
    let in_screen = words(&[("TERM", "screen"), ("STY", "1.pts-0")]);
    assert!(in_screen.ends_with("| OSC 52 through GNU screen, if the terminal allows it"));
    assert!(words(&[]).starts_with(
        "dumb, 120x40; the terminal program prints lines there | none | not known; light or dark can be set"
    ));
    assert!(
        words(&[("TERM", "linux")])
            .contains("| 16 | dark, by COLORFGBG or TERM: the terminal does not report it |")
    );
}

#[test]
fn folder_that_others_may_list_is_noted() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    for (mode, state) in [(0o700, "ok"), (0o755, "note"), (0o711, "ok")] {
        set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        let mut checks = Checks::default();
        check_folder("data", Some(dir.path()), &mut checks);
        let check = checks.results.pop().unwrap();
        assert_eq!(check.state, state, "{}", check.message);
        assert!(check.message.contains("mode 0755") == (mode == 0o755));
    }
}

#[test]
fn folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_probe(&dir.path().join("new/archive.sqlite")).unwrap();
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    let error = write_probe(Path::new("/dev/null/new/archive.sqlite")).unwrap_err();
    error
        .message
        .assert_starts("/dev/null cannot be written to");
}
