//! Tests of the configuration file: allowed values, warnings and errors.

use ratatui::style::Color;

use super::*;
use crate::text::checks::TextChecks as _;

fn parse(text: &str) -> Result<ConfigFile, String> {
    let (path, home) = (Path::new("/etc/config.toml"), Path::new("/home/ana"));
    ConfigFile::parse(text, path, Some(home)).map_err(|failure| failure.message)
}

#[test]
fn complete_file_is_parsed_without_warnings() {
    let file = parse(
        "default_profile = \"acme\"\nclipboard = \"off\"\nnotify = \"bell\"\nprose_width = 72\ncolumns = [\"from:20\", \"subject\"]\n[profiles.acme]\nbase_url = \"https://mail.example.com/api\"\napi_key_file = \"key\"\nmask = false\n\
         archive = \"memory\"\nkeep = \"26w\"\nbackfill = \"30d\"\nrate = 0.5\nca_file = \"~/ca.pem\"\n[profiles.other]\nrate = 3\n",
    )
    .unwrap();
    assert_eq!(file.default_profile.as_deref(), Some("acme"));
    assert_eq!(file.desktop.clipboard, ClipboardSetting::Off);
    let columns = file.desktop.columns.iter();
    let columns: Vec<String> = columns.map(ToString::to_string).collect();
    assert_eq!(columns, ["from:20", "subject"]);
    assert_eq!(file.desktop.notify, NotifySetting::Bell);
    assert_eq!(file.desktop.prose_width(), 72);
    assert_eq!(ConfigFile::default().desktop.prose_width(), 90);
    let acme = &file.profiles["acme"];
    assert!(acme.reveal && !file.profiles["other"].reveal);
    let base_url = acme.base_url.as_ref().unwrap().to_string();
    assert_eq!(base_url, "https://mail.example.com/api");
    assert_eq!(acme.key, Some(KeySource::File("/etc/key".into())));
    let month = SignedDuration::from_hours(720);
    assert_eq!(acme.backfill, Some(HistorySpan::Last(month)));
    assert_eq!(file.profiles["other"].backfill, None);
    let half_a_year = SignedDuration::from_hours(26 * 7 * 24);
    assert_eq!(acme.retention, Some(half_a_year));
    assert!(acme.in_memory);
    assert_eq!(acme.rate, Rate::explicit(0.5));
    assert_eq!(acme.ca_file, Some("/home/ana/ca.pem".into()));
    assert_eq!(file.profiles["other"].rate, Rate::explicit(3.0));
    assert!(file.warnings.is_empty());
}

#[test]
fn unknown_key_warns_with_suggestion() {
    let file = parse("[profiles.a]\n\nbaseurl = \"https://example.com\"\ncolour = 1\n").unwrap();
    assert_eq!(
        file.warnings,
        [
            "/etc/config.toml:3: \"baseurl\" is not known here; did you mean base_url?",
            "/etc/config.toml:4: \"colour\" is not known here"
        ]
    );
}

#[test]
fn views_have_number_name_and_query() {
    let file =
        parse("[views]\n1 = { name = \"Today\", query = \"after:today\", colour = 1 }\n[views.9]\nname = \"B\"\nquery = \"is:trouble\"\n")
            .unwrap();
    let view = |name: &str, query: &str| SavedView {
        name: name.to_owned(),
        query: query.to_owned(),
    };
    let views = [
        (1, view("Today", "after:today")),
        (9, view("B", "is:trouble")),
    ];
    assert_eq!(file.views, Some(views.into()));
    let warning = "/etc/config.toml:2: \"colour\" is not known here";
    assert_eq!(file.warnings, [warning]);
    assert_eq!(parse("").unwrap().views, None);
    assert_eq!(parse("[views]").unwrap().views, Some([].into()));
}

#[test]
fn theme_has_base_and_roles() {
    let file = parse(
        "[theme]\nbase = \"light\"\naccent = \"#ff8800\"\nmuted = \"light-magenta\"\nside = \"red\"\n",
    )
    .unwrap();
    let mut theme = ThemeConfig {
        base: ThemeBase::Light,
        ..ThemeConfig::default()
    };
    theme.roles[Role::Accent as usize] = Some(Color::Rgb(255, 136, 0));
    theme.roles[Role::Muted as usize] = Some(Color::LightMagenta);
    assert_eq!(file.theme, theme);
    let warning = "/etc/config.toml:5: \"side\" is not known here".to_owned();
    assert_eq!((file.warnings, file.theme_errors), (vec![warning], vec![]));
}

#[test]
fn wrong_theme_leaves_the_file_usable() {
    let file = parse(
        "[theme]\nbad = \"brownish\"\nbase = \"Dark\"\naccent = 256\nmuted = 244\ngood = \"green\"\n[profiles.a]\n",
    )
    .unwrap();
    let colours = "a name such as \"light-blue\", a number from 0 to 255, or \"#rrggbb\"";
    assert_eq!(
        file.theme_errors,
        [
            format!("/etc/config.toml:2: bad is {colours}"),
            "/etc/config.toml:3: base is \"auto\", \"terminal\", \"light\" or \"dark\"".to_owned(),
            format!("/etc/config.toml:4: accent is {colours}"),
        ]
    );
    let mut theme = ThemeConfig::default();
    theme.roles[Role::Good as usize] = Some(Color::Green);
    theme.roles[Role::Muted as usize] = Some(Color::Indexed(244));
    assert_eq!((file.theme, file.profiles.len()), (theme, 1));
    let file = parse("theme = 3").unwrap();
    assert_eq!(file.theme_errors, ["/etc/config.toml:1: expected a table"]);
}

#[test]
fn api_key_in_file_is_ignored_and_unquoted() {
    let file = parse("[profiles.a]\napi_key = \"re_canary\"\n").unwrap();
    assert_eq!(file.profiles["a"].key, None);
    assert_eq!(
        file.warnings,
        [
            "/etc/config.toml:2: api_key is not allowed in this file and is ignored; sentbox login stores it safely"
        ]
    );
}

#[test]
fn key_source_is_described_without_secrets() {
    let shown = |command: &str| KeySource::Command(command.to_owned()).to_string();
    assert_eq!(shown("pass show sentbox/acme"), "command pass ...");
    assert_eq!(shown("KEY=re_canary; echo $KEY"), "a command");
}

#[test]
fn wrong_value_is_an_error_with_line() {
    for (text, error) in [
        (
            "[profiles.a]\nrate = \"2\"",
            "/etc/config.toml:2: rate is a number of requests a second from 0.01 to 10000",
        ),
        (
            "[profiles.a]\nkeep = \"0d\"",
            "/etc/config.toml:2: keep is a number of hours, days or weeks such as 12h, 30d, 8w",
        ),
        (
            "[profiles.a]\nkeep = \"8w\"\nbackfill = \"3m\"",
            "/etc/config.toml:3: backfill is \"off\", \"all\", or a number of hours, days or weeks such as 12h, 30d, 8w",
        ),
        ("profiles = 3", "/etc/config.toml:1: expected a table"),
        (
            "[profiles.\"../x\"]",
            "/etc/config.toml:1: a profile's name is made of letters, digits, - and _",
        ),
        (
            "[views]\n\n0 = { name = \"A\", query = \"a\" }",
            "/etc/config.toml:3: a view has a number from 1 to 9",
        ),
        (
            "[views]\n10 = { name = \"A\", query = \"a\" }",
            "/etc/config.toml:2: a view has a number from 1 to 9",
        ),
        (
            "[views]\nToday = \"after:today\"",
            "/etc/config.toml:2: a view has a number from 1 to 9",
        ),
        (
            "[views]\n1 = \"after:today\"",
            "/etc/config.toml:2: expected a table",
        ),
        (
            "[views]\n1 = { name = \"A\" }",
            "/etc/config.toml:2: a view has a name and a query, as in { name = \"Today\", query = \"after:today\" }",
        ),
        (
            "[views.2]\nname = \"A\"\nquery = \" \"",
            "/etc/config.toml:3: a text on one line belongs here",
        ),
        (
            "\ndefault_profile = \"acne\"\n[profiles.acme]",
            "/etc/config.toml:2: there is no profile acne; did you mean acme?",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), error);
    }
    let error = parse("\n\nx = ").unwrap_err();
    assert!(error.starts_with("/etc/config.toml:3: "), "{error}");
    assert!(parse("[profiles.a]\napi_key_env = \"A\"\napi_key_file = \"b\"").is_err());
}

#[test]
fn all_errors_are_listed_at_once() {
    let text = "default_profile = 1\n[profiles.a]\narchive = \"tape\"\nrate = 0\nkeep = 30\nbase_url = \"ftp://example.com\"\n\
                [profiles.b]\napi_key_env = \"\"\nrates = 2\n";
    let file = ConfigFile::parse_with_errors(text, Path::new("c.toml"), None);
    assert_eq!(
        file.errors,
        [
            "c.toml:1: expected a text in quotes",
            "c.toml:3: archive is \"disk\", \"memory\" or postgres://USER@HOST/DATABASE",
            "c.toml:4: rate is a number of requests a second from 0.01 to 10000",
            "c.toml:5: expected a text in quotes",
            "c.toml:6: the base URL is neither https nor http",
            "c.toml:8: api_key_env is empty",
        ]
    );
    let warning = "c.toml:9: \"rates\" is not known here; did you mean rate?";
    assert_eq!(file.warnings, [warning]);
    let text = "a = \n[profiles.x\nb = 1 2\n";
    let errors = ConfigFile::parse_with_errors(text, Path::new("c.toml"), None).errors;
    let is_of_line_two = |error: &String| error.starts_with("c.toml:2: ");
    assert!(
        errors.len() > 1 && errors.iter().any(is_of_line_two),
        "{errors:?}"
    );
}

/// The example with every setting switched on.
fn example() -> String {
    let text = include_str!("../../assets/config.example.toml");
    text.lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting,
            _ => line,
        })
        .fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn example_names_every_key_without_a_warning() {
    let text = example();
    for key in [
        TOP_LEVEL_KEYS.as_slice(),
        &PROFILE_KEYS,
        &VIEW_KEYS,
        &THEME_KEYS,
    ]
    .concat()
    {
        let forms = [format!("{key} = "), format!("[{key}]"), format!("[{key}.")];
        let is_set = forms.iter().any(|form| text.contains(form));
        assert!(is_set, "assets/config.example.toml lacks {key}");
    }
    let file = parse(&text).unwrap();
    assert_eq!(file.warnings, [""; 0]);
}

#[test]
fn example_shows_the_defaults() {
    let file = parse(&example()).unwrap();
    let acme = &file.profiles["acme"];
    assert_eq!(acme.base_url, Some(BaseUrl::resend()));
    assert_eq!(acme.backfill, Some(HistorySpan::DEFAULT_BACKFILL));
    let rate = acme.rate.map(|rate| rate.per_second);
    assert_eq!(rate, Some(Rate::default().per_second));
    assert!(!acme.in_memory);
    assert_eq!(file.theme.base, ThemeBase::default());
    assert_eq!(file.views, Some(crate::config::built_in_views()));
}

#[test]
fn example_sets_nothing_as_it_is() {
    let text = include_str!("../../assets/config.example.toml");
    assert_eq!(parse(text).unwrap(), ConfigFile::default());
}

#[test]
fn too_large_or_deep_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "# é\n".repeat(300_000)).unwrap();
    let error = read_text(&path).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    error.message.assert_ends("config.toml is larger than 1 MB");
    let error = parse(&format!("a={}", "[".repeat(40_000))).unwrap_err();
    assert!(error.contains(":1: ") && error.len() < 200, "{error}");
}

#[test]
fn unknown_profile_with_invalid_name_is_not_proposed() {
    for name in ["../x", ""] {
        let error = ConfigFile::default().profile_not_found(name);
        assert_eq!(error.to_string(), PROFILE_NAME_RULE);
        assert!(!error.hint.contains("login"), "{}", error.hint);
    }
}
