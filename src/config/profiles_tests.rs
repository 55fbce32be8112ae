//! Changing the configuration file without destroying what is there.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::text::checks::TextChecks as _;

const FILE: &str = "\
# Ours.
default_profile = \"acme\" # the usual one

[profiles.acme] # production
api_key_command = \"pass show sentbox/acme\"

# For trying things.
[profiles.local]
base_url = \"http://127.0.0.1:8025\"
api_key_env = \"LOCAL_KEY\"
";

struct TestEnv {
    dir: tempfile::TempDir,
}

impl TestEnv {
    fn new(text: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            fs::create_dir_all(dir.path().join(".config/sentbox")).unwrap();
            fs::write(dir.path().join(".config/sentbox/config.toml"), text).unwrap();
        }
        Self { dir }
    }

    fn env(&self) -> Env {
        Env::from_iter([("HOME", self.dir.path().display().to_string())])
    }

    fn profiles(&self) -> Profiles {
        Profiles::load(&self.env()).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir.path().join(".config/sentbox/config.toml")).unwrap()
    }

    fn log_in(&self, profile: &str, base_url: Option<&str>) -> Result<KeyTarget> {
        let flags = Flags {
            profile: Some(profile.to_owned()),
            base_url: base_url.map(str::to_owned),
            ..Flags::default()
        };
        let mut profiles = self.profiles();
        let target = profiles.key_target(&flags, &self.env())?;
        profiles.store_key(&target, &ApiKey::new("re_new", "a test").unwrap())?;
        Ok(target)
    }
}

#[test]
fn profile_list_marks_default_and_hides_secrets() {
    let listed = TestEnv::new(Some(FILE)).profiles().entries();
    assert_eq!(listed.len(), 2);
    for (entry, (name, is_default, base_url, key_source)) in listed.iter().zip([
        ("acme", true, "https://api.resend.com", "command pass ..."),
        (
            "local",
            false,
            "http://127.0.0.1:8025",
            "variable LOCAL_KEY",
        ),
    ]) {
        assert_eq!((&*entry.name, entry.is_default), (name, is_default));
        let expected = (base_url, Some(key_source));
        assert_eq!((&*entry.base_url, entry.key_source.as_deref()), expected);
    }
}

#[test]
fn first_profile_creates_file_and_is_default() {
    let test_env = TestEnv::new(None);
    let target = test_env.log_in("acme", None).unwrap();
    assert_eq!(
        test_env.text(),
        "default_profile = \"acme\"\n\n[profiles.acme]\nbase_url = \"https://api.resend.com\"\napi_key_file = \"keys/acme\"\n"
    );
    assert_eq!(fs::read_to_string(&target.key_file).unwrap(), "re_new\n");
    for (path, mode) in [
        (target.key_file.as_path(), 0o600),
        (target.key_file.parent().unwrap(), 0o700),
        (test_env.profiles().path.as_path(), 0o600),
    ] {
        let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn first_logins_exclude_each_other() {
    let home = TestEnv::new(None);
    assert!(home.profiles().lock().unwrap().is_some());
}

#[test]
fn added_profile_keeps_others_unchanged() {
    let test_env = TestEnv::new(Some(FILE));
    test_env
        .log_in("staging", Some("https://staging.example.com/api"))
        .unwrap();
    let added = "\n[profiles.staging]\nbase_url = \"https://staging.example.com/api\"\napi_key_file = \"keys/staging\"\n";
    assert_eq!(test_env.text(), format!("{FILE}{added}"));
    test_env.log_in("staging", None).unwrap();
    assert_eq!(
        test_env.text(),
        format!("{FILE}{added}"),
        "a new key for it changes nothing else"
    );
}

#[test]
fn line_endings_of_the_file_are_kept() {
    let lines = FILE.replace('\n', "\r\n");
    let test = TestEnv::new(Some(&lines));
    test.log_in("new", None).unwrap();
    let text = test.text();
    assert!(text.starts_with(&lines), "{text:?}");
    assert!(text.contains("[profiles.new]\r\n"), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let test = TestEnv::new(Some(&format!("# one\r\n{FILE}")));
    test.log_in("new", None).unwrap();
    assert!(!test.text().contains('\r'), "one such line is no reason");
}

#[test]
fn key_is_not_stored_over_other_key_source() {
    let test_env = TestEnv::new(Some(FILE));
    for (profile, base_url) in [
        ("acme", None),
        ("local", Some("https://example.com")),
        ("../x", None),
    ] {
        let refused = test_env.log_in(profile, base_url).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Usage, "{profile}");
    }
    assert_eq!(test_env.text(), FILE);
}

#[test]
fn file_changed_while_key_is_typed_keeps_changes() {
    let test_env = TestEnv::new(Some(FILE));
    let mut profiles = test_env.profiles();
    let flags = Flags {
        profile: Some("new".to_owned()),
        ..Flags::default()
    };
    let target = profiles.key_target(&flags, &test_env.env()).unwrap();
    let view = SavedView {
        name: "Ana".to_owned(),
        query: "to:ana".to_owned(),
    };
    ViewStore::new(test_env.env())
        .save(6, None, Some(&view))
        .unwrap();
    let with_view = test_env.text();
    let key = ApiKey::new("re_new", "a test").unwrap();
    profiles.store_key(&target, &key).unwrap();
    let text = test_env.text();
    text.assert_contains("to:ana");
    text.assert_contains("[profiles.new]");

    let other = "\n[profiles.new]\nbase_url = \"https://other.example\"\n";
    fs::write(&profiles.path, with_view + other).unwrap();
    fs::remove_file(&target.key_file).unwrap();
    let error = profiles.store_key(&target, &key).unwrap_err();
    assert_eq!(error.message, "profile new is for https://other.example");
    assert!(!target.key_file.exists());
}

#[test]
fn file_is_locked_while_it_is_changed() {
    let test_env = TestEnv::new(Some(FILE));
    let mut profiles = test_env.profiles();
    let folder = File::open(profiles.path.parent().unwrap()).unwrap();
    let lock = profiles.lock().unwrap();
    assert!(folder.try_lock().is_err());
    drop(lock);
    folder.try_lock().unwrap();
}

#[test]
fn another_default_is_one_word_in_the_file() {
    let test_env = TestEnv::new(Some(FILE));
    test_env.profiles().make_default("local").unwrap();
    let expected = FILE.replace("= \"acme\" # the", "= \"local\" # the");
    assert_eq!(test_env.text(), expected);
    let refused = test_env.profiles().make_default("locale").unwrap_err();
    assert_eq!(refused.hint, "did you mean local?");
    let bare = TestEnv::new(Some("[profiles.a]\n"));
    bare.profiles().make_default("a").unwrap();
    assert_eq!(bare.text(), "default_profile = \"a\"\n[profiles.a]\n");
}

#[test]
fn removed_profile_takes_key_and_archives() {
    let test_env = TestEnv::new(None);
    let target = test_env.log_in("acme", None).unwrap();
    let archives = test_env.dir.path().join(".local/share/sentbox/acme");
    fs::create_dir_all(archives.join("api.example.com-00000000")).unwrap();
    let found = test_env.profiles().existing_data_dir("acme");
    assert_eq!(found.as_ref(), Some(&archives));
    test_env.profiles().remove("acme").unwrap();
    assert!(!archives.exists() && !target.key_file.exists());
    assert!(
        test_env.profiles().entries().is_empty() && !test_env.text().contains("acme"),
        "{}",
        test_env.text()
    );
}

#[test]
fn archive_stays_if_file_cannot_be_changed() {
    let test_env = TestEnv::new(None);
    let target = test_env.log_in("acme", None).unwrap();
    let mut profiles = test_env.profiles();
    let archives = test_env.dir.path().join(".local/share/sentbox/acme");
    fs::create_dir_all(&archives).unwrap();
    // In place of the file that would be renamed.
    let blocked = format!(".config.toml.{}", std::process::id());
    fs::create_dir(profiles.path.with_file_name(blocked)).unwrap();
    profiles.remove("acme").unwrap_err();
    assert!(archives.exists() && target.key_file.exists());
}

#[test]
fn removed_default_keeps_rest_of_file() {
    let test_env = TestEnv::new(Some(FILE));
    test_env.profiles().remove("acme").unwrap();
    let text = test_env.text();
    assert!(
        text.starts_with("# Ours.\n")
            && text.ends_with(FILE.split_at(FILE.find("\n# For").unwrap()).1),
        "{text}"
    );
    assert!(!text.contains("acme"));
}

#[test]
fn profiles_written_inline_are_changed_too() {
    let test_env = TestEnv::new(Some("profiles = { a = { rate = 1 } }\n"));
    test_env.log_in("b", None).unwrap();
    let entries = test_env.profiles().entries().into_iter();
    let names: Vec<String> = entries.map(|profile| profile.name).collect();
    assert_eq!(names, ["a", "b"]);
}

fn kept(before: Option<&str>, number: u8, view: Option<(&str, &str)>) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("sentbox/config.toml");
    fs::create_dir(home.path().join("sentbox")).unwrap();
    if let Some(before) = before {
        fs::write(&path, before).unwrap();
    }
    let env = Env::from_iter([("XDG_CONFIG_HOME", home.path().to_str().unwrap())]);
    let view = view.map(|(name, query)| SavedView {
        name: name.to_owned(),
        query: query.to_owned(),
    });
    let file = Profiles::load_with_errors(&env).unwrap().file;
    let views = file.views.unwrap_or_else(built_in_views);
    ViewStore::new(env)
        .save(number, views.get(&number), view.as_ref())
        .map_err(|failure| failure.message)?;
    Ok(fs::read_to_string(path).unwrap())
}

#[test]
fn first_saved_view_keeps_built_in_views() {
    let text = kept(None, 5, Some(("Ana", "to:ana \"your receipt\""))).unwrap();
    assert_eq!(
        text,
        "[views]\n1 = { name = \"Today\", query = \"after:today\" }\n2 = { name = \"Trouble\", query = \"is:trouble after:7d\" }\n\
         3 = { name = \"Waiting\", query = \"status:scheduled,queued,sent,delayed\" }\n4 = { name = \"Yesterday\", query = \"on:yesterday\" }\n\
         5 = { name = \"Ana\", query = 'to:ana \"your receipt\"' }\n"
    );
    assert!(!kept(None, 2, None).unwrap().contains("Trouble"));
}

#[test]
fn only_the_line_of_the_view_changes() {
    let before = "# mine\n[profiles.a]\nrate = 1 # slow\n\n[views]\n# every morning\n1 = { name = \"A\", query = \"a\" } # first\n3 = { name = \"C\", query = \"c\" }\n";
    let after = kept(Some(before), 1, Some(("B", "b"))).unwrap();
    let expected = before.replace("\"A\"", "\"B\"").replace("\"a\"", "\"b\"");
    assert_eq!(after, expected);
    let removed = kept(Some(before), 3, None).unwrap();
    let expected = before.replace("3 = { name = \"C\", query = \"c\" }\n", "");
    assert_eq!(removed, expected);
    let added = kept(Some(before), 9, Some(("I", "i"))).unwrap();
    let line = "9 = { name = \"I\", query = \"i\" }\n";
    assert_eq!(added, format!("{before}{line}"));
}

#[test]
fn invalid_file_is_not_changed() {
    assert!(kept(Some("[views]\n0 = 1\n"), 1, Some(("A", "a"))).is_err());
}

#[test]
fn without_file_no_view_is_saved() {
    let write = ViewStore::default().save(1, None, None).unwrap();
    assert_eq!(write, ViewWrite::NotStored);
}

#[test]
fn view_of_another_process_is_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let env = Env::from_iter([("XDG_CONFIG_HOME", home.path().to_str().unwrap())]);
    let view = |name: &str| SavedView {
        name: name.to_owned(),
        query: name.to_lowercase(),
    };
    let store = ViewStore::new(env);
    let save = |known, name| store.save(6, known, Some(&view(name))).unwrap();
    assert!(matches!(save(None, "Ana"), ViewWrite::Stored(_)));
    let ViewWrite::Conflict { number: 6, views } = save(None, "Bo") else {
        panic!("another session has taken the number");
    };
    assert_eq!(views.get(&6), Some(&view("Ana")));
    assert_eq!(store.load().unwrap(), Some(views.clone()));
    assert!(matches!(save(views.get(&6), "Bo"), ViewWrite::Stored(_)));
}
