//! Errors of the commands: exit code, message and hint.

use crate::cli::{assert_private, two_emails};
use crate::harness::process::{Sentbox, set_mode};
use crate::harness::raw_server::RawServer;
use crate::harness::service::KEY;
use crate::harness::text::TextChecks as _;
use insta::assert_snapshot;

#[test]
fn screen_without_terminal_makes_no_archive() {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    assert_snapshot!(sentbox.transcript("-- to:ana status:sent"), @r"
    stderr: sentbox: the terminal program needs a terminal for its input and output
    stderr:    hint: --linear works through pipes; in a script, use: sentbox search -- to:ana status:sent
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("demo"), @r"
    stderr: sentbox: the terminal program needs a terminal for its input and output
    stderr:    hint: --linear works through pipes; in a script, use: sentbox list, sentbox show
    exit code 2
    ");
    assert!(!sentbox.archive_path().exists());
}

#[test]
fn wrong_usage_is_code_2_with_a_hint() {
    let sentbox = Sentbox::new();
    assert_snapshot!(sentbox.transcript("lst"), @r#"
    stderr: sentbox: there is no command lst
    stderr:    hint: did you mean list? To search for the words: sentbox -- lst
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("list --limit none"), @r"
    stderr: sentbox: invalid value 'none' for '--limit <N>': expected a whole number, 1 or more
    stderr:    hint: see sentbox list --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --limit 100000000000"), @r"
    stderr: sentbox: invalid value '100000000000' for '--limit <N>': the number is too large
    stderr:    hint: see sentbox list --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("demo --emails x"), @r"
    stderr: sentbox: invalid value 'x' for '--emails <N>': expected a whole number, 0 or more
    stderr:    hint: see sentbox demo --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("show 1 --width 5"), @r"
    stderr: sentbox: invalid value '5' for '--width <N>': expected a whole number from 10 to 1000
    stderr:    hint: see sentbox show --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --after a --before b --json"), @r#"
    stderr: {"error":{"kind":"usage","message":"the argument '--after <ID>' cannot be used with '--before <ID>'","hint":"usage: sentbox list --after <ID> --json; see sentbox list --help"}}
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("list --before b --limit 101"), @r"
    stderr: sentbox: --before gives one page, so --limit is at most 100 with it
    stderr:    hint: for more than one page, use --after
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --after="), @r"
    stderr: sentbox: a value is required for '--after <ID>' but none was supplied
    stderr:    hint: see sentbox list --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --base-url http://example.com"), @r"
    stderr: sentbox: the base URL is plain http to another machine; the key could be read in transit
    stderr:    hint: use https
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --profile acme"), @r"
    stderr: sentbox: there is no profile acme
    stderr:    hint: there is none yet; sentbox -p acme login makes it
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list --rate 0"), @r"
    stderr: sentbox: --rate is a number of requests a second from 0.01 to 10000
    exit code 2
    ");
    let blank = sentbox.command("show").arg(" ").output().unwrap();
    assert_snapshot!(sentbox.shown(&blank), @r"
    stderr: sentbox: the id of an email is empty
    stderr:    hint: sentbox search --columns id,to,subject QUERY lists ids
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("serve"), @r"
    stderr: sentbox: serve needs --key-file FILE, or --demo
    stderr:    hint: with a file of keys the archive is served; see sentbox serve --help
    exit code 2
    ");
}

#[test]
fn each_error_has_its_code_and_message() {
    let service = two_emails();
    let sentbox = Sentbox::at(&service);
    assert_snapshot!(Sentbox::new().transcript("list"), @r"
    stderr: sentbox: there is no API key
    stderr:    hint: run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none
    exit code 3
    ");
    assert_snapshot!(Sentbox::new().with("SENTBOX_API_KEY", "re_canary\u{7} x").transcript("list --json"), @r#"
    stderr: {"error":{"kind":"key_rejected","message":"the API key from SENTBOX_API_KEY contains a space, a control character or a non-ASCII character","hint":"a key is one word; it was not sent anywhere"}}
    exit code 3
    "#);
    assert_snapshot!(sentbox.transcript("list --after nobody"), @r#"
    stderr: sentbox: the service no longer has the email to continue from: "The pagination cursor references an object that does not exist."
    stderr:    hint: start again at the newest
    exit code 4
    "#);
    let stranger = Sentbox::at(&service).with("SENTBOX_API_KEY", "re_stranger");
    assert_snapshot!(stranger.transcript("list --json"), @r#"
    stderr: {"error":{"kind":"key_rejected","message":"[SERVICE] does not accept the API key: \"API key is invalid\"","hint":"check the key, and whether it belongs to this service; sentbox doctor names where it comes from","request":{"endpoint":"GET /emails","status":400,"id":null,"attempts":1,"wait":null}}}
    exit code 3
    "#);
    let elsewhere =
        Sentbox::at(&service).with("SENTBOX_BASE_URL", &format!("{}/api", service.base()));
    assert_snapshot!(elsewhere.transcript("list"), @r#"
    stderr: sentbox: unexpected response from [SERVICE]/api: 404: "The requested endpoint does not exist"
    stderr:    hint: is the base URL right? if it is, this service has no list operation; sentbox show ID works without it
    exit code 5
    "#);
    drop(service);
    assert_snapshot!(sentbox.transcript("list --json"), @r#"
    stderr: {"error":{"kind":"unreachable","message":"connection refused by [SERVICE]","hint":"is the service running, and the base URL right?","request":{"endpoint":"GET /emails","status":null,"id":null,"attempts":1,"wait":null}}}
    exit code 5
    "#);
}

#[test]
fn verbose_error_identifies_the_request() {
    let limited = "HTTP/1.1 429 No\r\nretry-after: 3600\r\nx-request-id: 8f2a-FRA\r\ncontent-length: 0\r\n\r\n";
    let at = |answer| Sentbox::at_address(KEY, &RawServer::start([answer]).base);
    assert_snapshot!(at(limited).transcript("list --json"), @r#"
    stderr: {"error":{"kind":"rate_limited","message":"too many requests for the team's limit","hint":"try again in 60 min","request":{"endpoint":"GET /emails","status":429,"id":"8f2a-FRA","attempts":1,"wait":3600}}}
    exit code 6
    "#);
    let sentbox =
        at("HTTP/1.1 404 No\r\ncf-ray: 77\r\ncontent-length: 20\r\n\r\n{\"name\":\"not_found\"}");
    assert_snapshot!(sentbox.transcript("show ana@example.com -v"), @r"
    stderr: sentbox: the log is [HOME]/.local/state/sentbox/sentbox.log
    stderr: sentbox: no email in the archive has a message id that begins so, and the service has none with this id
    stderr:    hint: sentbox sync --back all fetches all mail; of an address: sentbox search to:ana@example.com
    stderr: request: GET /emails/{id}, attempt 1, status 404, id 77
    exit code 4
    ");
    let refusing = at(
        "HTTP/1.1 422 No\r\ncf-ray: 78\r\ncontent-length: 27\r\n\r\n{\"name\":\"validation_error\"}",
    );
    let refused = refusing.transcript("list --after x -v");
    let request = "request: GET /emails, attempt 1, status 422, id 78";
    refused.assert_contains(request);
    let state = sentbox.home().join(".local/state/sentbox");
    let log = std::fs::read_to_string(state.join("sentbox.log")).unwrap();
    log.assert_contains("status=404");
    log.assert_contains(" failed ");
    log.assert_lacks("example.com");
    assert_private(&state);
}

#[test]
fn invalid_config_exits_8_with_line() {
    let sentbox = Sentbox::new();
    let text = "[profiles.acme]\nbaseurl = \"https://example.com\"\n";
    sentbox.configure(&format!("{text}rate = \"much\"\n"));
    assert_snapshot!(sentbox.transcript("list"), @r"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: rate is a number of requests a second from 0.01 to 10000
    stderr:    hint: sentbox config edit
    exit code 8
    ");
    sentbox.configure(text);
    assert_snapshot!(sentbox.transcript("list -p acme"), @r#"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:2: "baseurl" is not known here; did you mean base_url?
    stderr: sentbox: there is no API key
    stderr:    hint: run sentbox -p acme login, or set SENTBOX_API_KEY; sentbox demo needs none
    exit code 3
    "#);
}

#[test]
fn config_check_reads_the_keys_of_all_profiles() {
    let sentbox = Sentbox::new();
    let text = "[profiles.acme]\nrate = 1\napi_key_file = \"open.key\"\n\n[profiles.ci]\napi_key_env = \"CI_KEY\"\n";
    sentbox.configure(text);
    let key_file = sentbox.config().join("open.key");
    std::fs::write(&key_file, KEY).unwrap();
    set_mode(&key_file, 0o644);
    assert_snapshot!(sentbox.transcript("config check"), @r"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:6: CI_KEY, where profile ci has its key, is not set
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: the key file [HOME]/.config/sentbox/open.key is open to other users; chmod 600 [HOME]/.config/sentbox/open.key
    stderr:    hint: run that chmod
    exit code 8
    ");
    set_mode(&key_file, 0o600);
    assert_snapshot!(sentbox.transcript("config check"), @r"
    [HOME]/.config/sentbox/config.toml can be used; profiles: 2, none of them the default
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:6: CI_KEY, where profile ci has its key, is not set
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("list"), @r"
    stderr: sentbox: there is no API key
    stderr:    hint: no profile is the default one: choose with -p (acme, ci), or set it with sentbox profile use NAME
    exit code 3
    ");
    assert_snapshot!(sentbox.transcript("list -p ci"), @r"
    stderr: sentbox: CI_KEY, where profile ci has its key, is not set
    stderr:    hint: set CI_KEY to the key, for instance in ~/.profile
    exit code 3
    ");
}

#[test]
fn config_check_reads_passwords_and_certificates() {
    let sentbox = Sentbox::new();
    let profile = |name, password, certificates| {
        format!(
            "[profiles.{name}]\narchive = \"postgres://ana@db.example.com/mail\"\narchive_password_file = \"{password}\"\nca_file = \"{certificates}\"\n"
        )
    };
    let missing = profile("one", "missing.key", "missing.pem");
    sentbox.configure(&(missing + &profile("two", "open.key", "open.key")));
    let password = sentbox.config().join("open.key");
    std::fs::write(&password, "secret").unwrap();
    set_mode(&password, 0o644);
    assert_snapshot!(sentbox.transcript("config check"), @r"
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:3: the file [HOME]/.config/sentbox/missing.key with the password of the archive does not exist
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:7: the file [HOME]/.config/sentbox/open.key with the password of the archive is open to other users; chmod 600 [HOME]/.config/sentbox/open.key
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:4: the certificates in [HOME]/.config/sentbox/missing.pem cannot be used: No such file or directory (os error 2)
    stderr: sentbox: [HOME]/.config/sentbox/config.toml:8: the certificates in [HOME]/.config/sentbox/open.key cannot be used: the file contains no certificate
    stderr: sentbox: [HOME]/.config/sentbox/config.toml has 4 errors
    stderr:    hint: sentbox config edit
    exit code 8
    ");
}
