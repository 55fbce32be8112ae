//! Linear mode of the binary, through pipes and on a dumb terminal.

use crate::cli::two_emails;
use crate::harness::live::Live;
use crate::harness::process::Sentbox;
use crate::harness::service::{KEY, Service};
use crate::harness::session::Session;
use crate::harness::text::TextChecks as _;

fn stdout(sentbox: &Sentbox, line: &str, input: &str) -> String {
    let output = sentbox.run_with_input(line, input);
    assert!(output.status.success(), "{}", sentbox.shown(&output));
    assert!(output.stderr.is_empty(), "{}", sentbox.shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn typed_lines_run_the_program_through_pipes() {
    let text = stdout(
        &Sentbox::new(),
        "demo --emails 300 --linear --color always",
        "/ is:trouble\n1\ncopy id\nnonsense\nquit\nlist\n",
    );
    assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    assert!(!text.contains("\n> "), "no prompt in a pipe: {text:?}");
    text.assert_contains("\ndemo, filter is:trouble, ");
    text.assert_contains("\nemail 1\nsubject: ");
    text.assert_ends("error: no command \"nonsense\"; help lists all\n");
}

#[test]
fn configuration_makes_linear_mode_the_default() {
    let sentbox = Sentbox::new();
    sentbox.configure("accessible = true\n");
    let text = stdout(&sentbox, "demo --emails 10", "");
    text.assert_contains("\n1. ");
    text.assert_ends("help lists the commands\n");
}

#[test]
fn gone_email_without_body_shows_its_header() {
    let live = Live::new(3);
    let sentbox = Sentbox::synced(Service::new(live.clone()));
    live.delete(0);
    let text = stdout(&sentbox, "--linear", "1\n");
    text.assert_contains("email 1\nsubject: Mail 0\n");
    text.assert_contains("\nits body was never read, and the service no longer has it\n");
    text.assert_lacks("check the id");
}

#[test]
fn chosen_profile_is_opened() {
    let (service, other) = (two_emails(), two_emails());
    let sentbox = Sentbox::new().with("ONE", KEY).with("TWO", KEY);
    let profile = |name: &str, key: &str, base: &str| {
        format!("[profiles.{name}]\nbase_url = \"{base}\"\napi_key_env = \"{key}\"\n")
    };
    let profiles = [
        profile("one", "ONE", &service.base()),
        profile("two", "TWO", &other.base()),
    ];
    let config = format!("default_profile = \"one\"\n{}", profiles.concat());
    sentbox.configure(&config);
    let text = stdout(&sentbox, "--linear", "profiles\nchoose 2\nstatus\n");
    text.assert_contains("\n2. two, http://");
    text.assert_contains("\ntwo, kept in ");
    assert_eq!(
        text.matches("type choose and a number").count(),
        1,
        "{text}"
    );
}

#[test]
fn missing_key_and_dead_service_are_errors() {
    let output = Sentbox::new().run_with_input("--linear", "");
    assert_eq!(output.status.code(), Some(3));
    let unreachable = Sentbox::at_address("re_test_1234", "http://127.0.0.1:9");
    let text = stdout(&unreachable, "--linear", "status\n");
    text.assert_contains("offline since ");
    text.assert_contains("\nerror: ");
}

#[test]
fn invalid_status_or_date_argument_is_rejected() {
    let sentbox = Sentbox::at_address("re_test_1234", "http://127.0.0.1:9");
    for (query, error) in [
        (
            "status:bouncd",
            "bouncd: unknown status; did you mean bounced?",
        ),
        ("after:2026-13-45", "2026-13-45: expected a date"),
    ] {
        let output = sentbox.run_with_input(&format!("--linear {query}"), "");
        assert_eq!(output.status.code(), Some(2), "{}", sentbox.shown(&output));
        let shown = String::from_utf8_lossy(&output.stderr);
        shown.assert_contains(error);
    }
}

#[test]
fn dumb_terminal_has_a_prompt_and_lines() {
    let mut session = Session::start_demo(&[("TERM", "dumb")], (100, 40));
    session.until("the prompt", |screen| {
        screen.contains("\n1. ") && screen.trim_end().ends_with("\n>")
    });
    session.press("3\r");
    session.until_shown("> 3\nemail 3\nsubject: ");
    session.press("quit\r");
    assert!(session.child.wait().unwrap().success());
}
