//! Which key goes to which address, and where the archive lies.

use super::*;

const FILE: &str = r#"
default_profile = "acme"
[profiles.acme]
base_url = "https://acme.example.com/api"
api_key_env = "ACME_KEY"
rate = 1
[profiles.local]
base_url = "http://127.0.0.1:8025"
api_key_command = "echo re_local"
archive = "memory"
"#;

struct TestEnv {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestEnv {
    fn new(variables: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), FILE).unwrap();
        let config = dir.path().join("config.toml").display().to_string();
        let home = dir.path().display().to_string();
        let first = [
            ("SENTBOX_CONFIG", &*config),
            ("HOME", &home),
            ("ACME_KEY", "re_acme"),
        ];
        let all = first.iter().chain(variables);
        let owned = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            variables: owned.collect(),
            dir,
        }
    }

    fn resolve(&self, flags: &Flags) -> Result<Settings> {
        Settings::resolve(flags, &self.variables.iter().cloned().collect())
    }

    /// Key and address that were settled on.
    fn credentials(&self, flags: &Flags) -> (String, String) {
        let Credentials { key, base_url, .. } = self.resolve(flags).unwrap().credentials;
        let key = key.map_or_else(|failure| failure.message, |key| key.expose().to_owned());
        (key, base_url.to_string())
    }
}

fn credentials(key: &str, base: &str) -> (String, String) {
    (key.to_owned(), base.to_owned())
}

fn flags(profile: Option<&str>, base_url: Option<&str>) -> Flags {
    Flags {
        profile: profile.map(str::to_owned),
        base_url: base_url.map(str::to_owned),
        ..Flags::default()
    }
}

#[test]
fn environment_precedes_profile_and_own_variables_precede() {
    let theirs = [
        ("RESEND_API_KEY", "re_theirs"),
        ("RESEND_BASE_URL", "https://their.example.com"),
    ];
    let ours = [("SENTBOX_API_KEY", "re_ours"), theirs[0], theirs[1]];
    for (variables, key, base) in [
        (&[][..], "re_acme", "https://acme.example.com/api"),
        (&theirs, "re_theirs", "https://their.example.com"),
        (&ours, "re_ours", "https://api.resend.com"),
    ] {
        let found = TestEnv::new(variables).credentials(&Flags::default());
        assert_eq!(found, credentials(key, base));
    }
}

#[test]
fn variable_of_the_key_is_that_of_its_source() {
    for (variables, variable) in [
        (&[][..], Some("ACME_KEY")),
        (&[("RESEND_API_KEY", "re_theirs")], Some("RESEND_API_KEY")),
        (&[("SENTBOX_BASE_URL", "https://mail.example.com")], None),
    ] {
        let settings = TestEnv::new(variables).resolve(&Flags::default()).unwrap();
        assert_eq!(settings.credentials.key_variable(), variable);
    }
}

/// Another default profile must not make the archive of such a key vanish.
#[test]
fn environment_key_ignores_the_default_profile() {
    let ours = ("SENTBOX_API_KEY", "re_ours");
    let settings = TestEnv::new(&[ours]).resolve(&Flags::default()).unwrap();
    let ArchiveLocation::Disk(path) = &settings.archive else {
        panic!("the archive is a file")
    };
    assert!(path.display().to_string().contains("/@environment/"));
    assert!(settings.warnings.is_empty());
    assert_eq!(settings.title(), "SENTBOX_API_KEY");
    assert_eq!(settings.rate, Rate::default());
    let settings = TestEnv::new(&[ours]).resolve(&flags(Some("acme"), None));
    assert_eq!(settings.unwrap().title(), "acme");
}

#[test]
fn warning_names_the_variable_that_takes_precedence() {
    let url = ("SENTBOX_BASE_URL", "https://mail.example.com");
    for variable in [("SENTBOX_API_KEY", "re_ours"), url] {
        let env = TestEnv::new(&[variable, ("SENTBOX_PROFILE", "acme")]);
        let settings = env.resolve(&Flags::default()).unwrap();
        assert_eq!(settings.profile, "acme");
        let warning = format!(
            "{} takes precedence over the key of profile acme; -p acme uses that one",
            variable.0
        );
        assert_eq!(settings.warnings, [warning]);
    }
}

#[test]
fn named_file_has_its_own_title() {
    let named = Flags {
        archive: Some("mail/of-march.sqlite".into()),
        ..Flags::default()
    };
    let settings = TestEnv::new(&[]).resolve(&named).unwrap();
    assert_eq!(settings.title(), "of-march.sqlite");
    assert_eq!(settings.command_flags(), "--archive mail/of-march.sqlite ");
    let named = Flags {
        profile: Some("acme".to_owned()),
        ..named
    };
    let settings = TestEnv::new(&[]).resolve(&named).unwrap();
    assert_eq!(settings.title(), "acme");
    let flags = settings.command_flags();
    assert_eq!(flags, "-p acme --archive mail/of-march.sqlite ");
}

#[test]
fn named_server_archive_is_of_no_profile() {
    let address =
        "postgres://ana@db.example.com/mail?target_session_attrs=any&schema=acme&sslmode=require";
    let named = Flags {
        archive: Some(address.into()),
        ..Flags::default()
    };
    let settings = TestEnv::new(&[]).resolve(&named).unwrap();
    assert_eq!(settings.title(), "acme");
    assert_eq!(settings.used_profile(), None);
    assert_eq!(settings.command_flags(), format!("--archive '{address}' "));
}

#[test]
fn profile_flag_ignores_environment_keys() {
    let test_env = TestEnv::new(&[
        ("SENTBOX_API_KEY", "re_ours"),
        ("SENTBOX_BASE_URL", "https://ours.example.com"),
    ]);
    let found = test_env.credentials(&flags(Some("local"), None));
    assert_eq!(found, credentials("re_local", "http://127.0.0.1:8025"));
}

#[test]
fn base_url_never_gets_key_of_other_source() {
    let test_env = TestEnv::new(&[
        ("SENTBOX_BASE_URL", "https://ours.example.com"),
        ("RESEND_API_KEY", "re_theirs"),
    ]);
    let settings = test_env.resolve(&Flags::default()).unwrap();
    let Credentials { key, base_url, .. } = settings.credentials;
    assert_eq!(key.unwrap_err().kind, ErrorKind::KeyMissing);
    assert_eq!(base_url.to_string(), "https://ours.example.com");

    let failure = TestEnv::new(&[])
        .resolve(&flags(None, Some("https://elsewhere.example.com")))
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    let test_env = TestEnv::new(&[("SENTBOX_API_KEY", "re_ours")]);
    let found = test_env.credentials(&flags(None, Some("http://127.0.0.1:8025")));
    assert_eq!(found, credentials("re_ours", "http://127.0.0.1:8025"));
}

#[test]
fn archive_path_depends_on_profile_url_and_key() {
    let location = |variables: &[(&str, &str)]| {
        let test_env = TestEnv::new(variables);
        match test_env.resolve(&Flags::default()).unwrap().archive {
            ArchiveLocation::Disk(path) => path
                .strip_prefix(test_env.dir.path())
                .unwrap()
                .display()
                .to_string(),
            _ => "memory".to_owned(),
        }
    };
    let expected = ".local/share/sentbox/acme/acme.example.com_api-139af35a/archive.sqlite";
    assert_eq!(location(&[]), expected);
    assert_ne!(location(&[]), location(&[("ACME_KEY", "re_other_team")]));
    assert_eq!(location(&[("SENTBOX_PROFILE", "local")]), "memory");
}

#[test]
fn without_home_archive_is_in_memory_and_noted() {
    let env = Env::from_iter([("SENTBOX_API_KEY", "re_ours")]);
    let settings = Settings::resolve(&Flags::default(), &env).unwrap();
    assert_eq!(settings.archive, ArchiveLocation::Memory);
    assert_eq!(settings.archive_origin, ArchiveOrigin::NoHome);
}

#[test]
fn rate_flag_precedes_environment_precedes_profile() {
    let rate = |variables: &[(&str, &str)], rate: Option<f64>| {
        let flags = Flags {
            rate,
            ..Flags::default()
        };
        let resolved = TestEnv::new(variables).resolve(&flags);
        resolved
            .map(|settings| settings.rate)
            .map_err(|error| error.kind)
    };
    let explicit = |rate| Ok(Rate::explicit(rate).unwrap());
    assert_eq!(rate(&[], None), explicit(1.0));
    assert_eq!(rate(&[("SENTBOX_RATE", "3")], None), explicit(3.0));
    assert_eq!(rate(&[("SENTBOX_RATE", "3")], Some(4.0)), explicit(4.0));
    for (variable, flag) in [("3", Some(0.0)), ("fast", None)] {
        let refused = rate(&[("SENTBOX_RATE", variable)], flag);
        assert_eq!(refused, Err(ErrorKind::Usage));
    }
    let zone = Some(TimeZone::fixed(jiff::tz::offset(3)));
    let flags = Flags {
        zone: zone.clone(),
        ..Flags::default()
    };
    assert_eq!(Some(TestEnv::new(&[]).resolve(&flags).unwrap().zone), zone);
}

#[test]
fn unknown_profile_is_refused_with_suggestion() {
    let resolve = |profile| TestEnv::new(&[]).resolve(&flags(Some(profile), None));
    let failure = resolve("acne").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    assert_eq!(failure.message, "there is no profile acne");
    assert_eq!(failure.hint, "did you mean acme?");
    assert_eq!(resolve("../x").unwrap_err().kind, ErrorKind::Usage);
}

#[test]
fn missing_named_file_is_as_no_file() {
    let test_env = TestEnv::new(&[("SENTBOX_CONFIG", "/nowhere/config.toml")]);
    let settings = test_env.resolve(&Flags::default()).unwrap();
    assert!(settings.credentials.is_unconfigured);
}
