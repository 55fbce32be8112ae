//! Tests of `doctor`.

use crate::harness::process::Sentbox;
use crate::harness::text::TextChecks as _;
use crate::profiles::{log_in, service};

#[test]
fn doctor_checks_everything_and_exits_by_failure() {
    let service = service();
    let sentbox = Sentbox::new()
        .with("TERM", "xterm-256color")
        .with("LANG", "C.UTF-8");
    log_in(&sentbox, &service, "-p acme");
    sentbox.stdout("sync --back all");
    let report = sentbox.json("doctor --json");
    assert_eq!(report["ok"], true);
    let says = |name: &str| {
        let row = report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap();
        format!(
            "{} {}",
            row["state"].as_str().unwrap(),
            row["message"].as_str().unwrap()
        )
    };
    let mut checks = report["checks"].as_array().unwrap().iter();
    assert!(checks.all(|row| row.get("hint").is_none()));
    assert_eq!(says("profile"), "ok acme");
    says("key").assert_starts("ok re_..., fingerprint ");
    says("key").assert_ends("/.config/sentbox/keys/acme");
    assert!(says("service").contains("answers") && says("access").contains("may read"));
    says("rate").assert_contains("2 requests a second; the service allows the team 1000");
    says("archive").assert_contains("intact, 1 email, 1 MB; everything the service had at ");
    assert_eq!(says("colours"), "ok 256");
    assert_eq!(says("unicode"), "ok yes, by C.UTF-8");

    let code = |sentbox: &Sentbox| {
        let output = sentbox.run("doctor");
        sentbox.shown(&output).assert_contains("FAILED");
        output.status.code().unwrap()
    };
    assert_eq!(code(&Sentbox::new()), 3);
    let imported = Sentbox::new();
    let missing = imported.transcript("doctor --archive mail.sqlite");
    missing.assert_contains("FAILED  key       there is no API key");
    imported.run_with_input(
        "import - --archive mail.sqlite",
        r#"{"id":"1","subject":"Hello"}"#,
    );
    let keyless = imported.transcript("doctor --archive mail.sqlite");
    keyless.assert_contains(
        "note    key       there is no API key; the archive is read without one\n",
    );
    keyless.assert_contains("\nexit code 0");
    let homeless = |sentbox: &Sentbox, line: &str| {
        let output = sentbox.command(line).env_remove("HOME").output().unwrap();
        sentbox.shown(&output)
    };
    homeless(&Sentbox::at(&service), "doctor").assert_contains("\nexit code 0");
    for line in ["doctor", "doctor -p acme"] {
        homeless(&Sentbox::new(), line).assert_contains("set HOME, ");
    }
    let imported = imported.with("SENTBOX_BASE_URL", "http://127.0.0.1:1");
    assert_eq!(imported.code("doctor --archive mail.sqlite"), Some(0));
    let unset = Sentbox::new();
    unset.configure("[profiles.default]\napi_key_env = \"UNSET\"\n");
    let unset = unset.transcript("doctor --archive mail.sqlite");
    unset.assert_contains("FAILED  key       UNSET, where profile default has its key, is not set");
    let stranger = Sentbox::at(&service)
        .with("SENTBOX_API_KEY", "re_stranger")
        .transcript("doctor");
    stranger.assert_contains("ok      service   [SERVICE] answers, in ");
    stranger.assert_contains("FAILED  access    ");
    std::fs::write(
        sentbox.archive_path(),
        "no archive at all, though it should be one",
    )
    .unwrap();
    assert_eq!(code(&sentbox), 8);
    drop(service);
    assert_eq!(code(&sentbox), 5);
    sentbox.configure("[");
    assert_eq!(code(&sentbox), 8);
}

#[test]
fn doctor_removes_leftovers_and_names_stray_keys() {
    let sentbox = Sentbox::new();
    let keys = sentbox.config().join("keys");
    std::fs::create_dir_all(&keys).unwrap();
    for name in [".acme.4711", "acme"] {
        std::fs::write(keys.join(name), "re_x").unwrap();
    }
    let words = sentbox.transcript("doctor");
    words.assert_contains("keys/.acme.4711, left by an interrupted login");
    words.assert_contains("no profile uses the key in");
    assert!(!keys.join(".acme.4711").exists() && keys.join("acme").exists());
    sentbox.configure("[profiles.acme]\narchive_password_file = \"keys/acme\"\n");
    let words = sentbox.transcript("doctor");
    words.assert_lacks("no profile uses");
}

#[test]
fn doctor_names_the_profile_beside_another_key() {
    let sentbox = Sentbox::new()
        .with("SENTBOX_API_KEY", "re_other")
        .with("SENTBOX_BASE_URL", "http://127.0.0.1:1");
    let words = sentbox.transcript("doctor");
    words.assert_contains("profile   none; the key is from SENTBOX_API_KEY");
    sentbox.configure("[profiles.acme]\nrate = 1\n");
    let words = sentbox.with("SENTBOX_PROFILE", "acme").transcript("doctor");
    words.assert_contains("profile   acme; the key is from SENTBOX_API_KEY");
}
