//! The mail of two teams is not mixed unless the user decides so.

use std::path::Path;

use jiff::Timestamp;

use super::{page, put_email};
use crate::archive::identity::{OnMismatch, OpenResult};
use crate::archive::listing::record_answer;
use crate::archive::{Archive, ArchiveLocation, PagePosition};
use crate::config::{ArchiveOrigin, BaseUrl, Env, Flags, Settings};
use crate::error::Result;
use crate::mail::Mailbox;
use crate::text::checks::TextChecks as _;

struct TestHome(tempfile::TempDir);

impl TestHome {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        let config = this.0.path().join(".config/sentbox");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(
            config.join("config.toml"),
            "[profiles.default]\napi_key_env = \"KEY\"\n",
        )
        .unwrap();
        this
    }

    fn settings(&self, key: &str) -> Settings {
        self.settings_by("KEY", key)
    }

    fn settings_by(&self, variable: &str, key: &str) -> Settings {
        let env = Env::from_iter([
            ("HOME", self.0.path().display().to_string()),
            (variable, key.to_owned()),
        ]);
        Settings::resolve(&Flags::default(), &env).unwrap()
    }

    /// Returns the settings with an archive that all keys share.
    fn shared(&self, path: &Path, key: &str) -> Settings {
        Settings {
            archive: ArchiveLocation::Disk(path.to_owned()),
            ..self.settings(key)
        }
    }

    fn open(&self, key: &str, on_mismatch: OnMismatch) -> Result<Archive> {
        open(&self.settings(key), Mailbox::Sent, on_mismatch)
    }
}

fn open(settings: &Settings, mailbox: Mailbox, on_mismatch: OnMismatch) -> Result<Archive> {
    match Archive::open_for(settings, mailbox, on_mismatch)? {
        OpenResult::Opened(archive) => Ok(archive),
        OpenResult::Mismatch(stranger) => Err(stranger.into()),
    }
}

fn is_marked(archive: &Archive) -> bool {
    archive
        .read(|connection| Ok(connection.prepare_cached("SELECT x FROM token").is_ok()))
        .unwrap()
}

/// Records an answer of the service, and leaves something in the archive by which
/// it is known again.
fn mark(archive: &Archive) {
    archive
        .write(|change| {
            record_answer(change, Timestamp::UNIX_EPOCH.into())?;
            change.execute_batch("CREATE TABLE token (x)")
        })
        .unwrap();
}

#[test]
fn archive_in_use_is_not_adopted() {
    let home = TestHome::new();
    let used = home.open("re_one", OnMismatch::Ask).unwrap();
    assert!(used.poll_lock().try_acquire(jiff::Timestamp::UNIX_EPOCH));
    let error = home.open("re_two", OnMismatch::Adopt).unwrap_err();
    error
        .message
        .assert_contains("another sentbox is using the archive");
}

#[test]
fn first_answer_decides_whose_archive_it_is() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let shared = |key| home.shared(&folder.path().join("mail.sqlite"), key);
    let open = |key, on_mismatch| open(&shared(key), Mailbox::Sent, on_mismatch);
    let page = page(1..=1, PagePosition::Top);
    let first = open("re_one", OnMismatch::Ask).unwrap();
    // No answer of the service has confirmed the first key.
    let second = open("re_two", OnMismatch::Ask).unwrap();
    first.merge_page(&page).unwrap();
    let error = second.merge_page(&page).unwrap_err();
    error.message.assert_contains("belongs to another key now");
    assert!(open("re_two", OnMismatch::Ask).is_err());
    assert!(open("re_one", OnMismatch::Ask).is_ok());
    // The user has decided that both are of one team.
    open("re_two", OnMismatch::Adopt).unwrap();
    first.merge_page(&page).unwrap();
}

#[test]
fn mismatch_of_same_key_names_the_service() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let at = |url: &str| {
        let mut settings = home.shared(&folder.path().join("mail.sqlite"), "re_one");
        settings.credentials.base_url = BaseUrl::parse(url).unwrap();
        settings
    };
    let settings = at("https://one.example.com");
    let archive = open(&settings, Mailbox::Sent, OnMismatch::Ask).unwrap();
    mark(&archive);
    let other = at("https://two.example.com");
    let error = open(&other, Mailbox::Sent, OnMismatch::Ask).unwrap_err();
    let expected = "belongs to another service (https://one.example.com)";
    assert!(error.message.contains(expected), "{error}");
    let expected = "if it is the same service at another address";
    assert!(error.hint.starts_with(expected), "{error}");
}

#[test]
fn moved_file_keeps_its_identity() {
    for on_mismatch in [OnMismatch::Adopt, OnMismatch::BackUp] {
        let home = TestHome::new();
        mark(&home.open("re_one", OnMismatch::Ask).unwrap());
        let path_of = |key| match home.settings(key).archive {
            ArchiveLocation::Disk(path) => path.parent().unwrap().to_owned(),
            _ => panic!("on disk"),
        };
        std::fs::rename(path_of("re_one"), path_of("re_two")).unwrap();
        assert!(home.open("re_two", OnMismatch::Ask).is_err());
        assert_eq!(
            is_marked(&home.open("re_two", on_mismatch).unwrap()),
            on_mismatch == OnMismatch::Adopt
        );
        assert!(home.open("re_two", OnMismatch::Ask).is_ok());
        let backup = path_of("re_two").with_added_extension("aside1");
        assert_eq!(
            backup.exists(),
            on_mismatch == OnMismatch::BackUp,
            "nothing is destroyed"
        );
    }
}

#[test]
fn environment_keys_get_separate_archives() {
    let home = TestHome::new();
    mark(&home.open("re_one", OnMismatch::Ask).unwrap());
    let settings = home.settings_by("SENTBOX_API_KEY", "re_two");
    let archive = open(&settings, Mailbox::Sent, OnMismatch::Ask).unwrap();
    assert!(!is_marked(&archive));
}

#[test]
fn named_archive_backup_moves_only_its_files() {
    let home = TestHome::new();
    let folder = home.0.path().join("papers");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("thesis.txt"), "x").unwrap();
    let open = |key: &str, mailbox, on_mismatch| {
        let settings = Settings {
            archive_origin: ArchiveOrigin::Flag { with_profile: true },
            ..home.shared(&folder.join("mail.sqlite"), key)
        };
        open(&settings, mailbox, on_mismatch)
    };
    for mailbox in Mailbox::ALL {
        mark(&open("re_first", mailbox, OnMismatch::Ask).unwrap());
    }
    assert!(open("re_second", Mailbox::Sent, OnMismatch::Ask).is_err());
    let new = open("re_second", Mailbox::Sent, OnMismatch::BackUp).unwrap();
    assert!(!is_marked(&new));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-shm") && !name.ends_with("-wal"))
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "mail.sqlite",
            "mail.sqlite.aside1",
            "mail.sqlite.received.aside1",
            "thesis.txt"
        ]
    );
}

#[test]
fn reading_received_mail_without_key_binds_nothing() {
    let home = TestHome::new();
    let path = home.0.path().join("mail.sqlite");
    let settings = Settings {
        archive_origin: ArchiveOrigin::Flag {
            with_profile: false,
        },
        ..home.shared(&path, "re_any")
    };
    let received = settings.archive.for_mailbox(Mailbox::Received);
    let json = r#"{"id":"1","from":"ana@example.com","created_at":"2026-11-20T10:00:00Z"}"#;
    put_email(
        &Archive::open(&received).unwrap(),
        json,
        Timestamp::UNIX_EPOCH,
    );
    for mailbox in Mailbox::ALL {
        let error = open(&settings, mailbox, OnMismatch::Ask).unwrap_err();
        error
            .message
            .assert_contains("of 1 email belongs to no key yet");
    }
    let archive = Archive::open(&settings.archive).unwrap();
    assert_eq!(archive.identity().unwrap(), None);
    open(&settings, Mailbox::Received, OnMismatch::Adopt).unwrap();
    open(&settings, Mailbox::Received, OnMismatch::Ask).unwrap();
}

#[test]
fn received_archive_of_another_key_causes_mismatch() {
    let home = TestHome::new();
    let path = home.0.path().join("archive.sqlite");
    let open = |key: &str, mailbox, on| open(&home.shared(&path, key), mailbox, on);
    mark(&open("re_first", Mailbox::Received, OnMismatch::Ask).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(open("re_second", Mailbox::Received, OnMismatch::Ask).is_err());
    let adopted = open("re_second", Mailbox::Received, OnMismatch::Adopt).unwrap();
    assert!(is_marked(&adopted));
    drop(adopted);
    assert!(open("re_third", Mailbox::Sent, OnMismatch::Ask).is_err());
    drop(open("re_third", Mailbox::Sent, OnMismatch::Adopt).unwrap());
    let received = open("re_third", Mailbox::Received, OnMismatch::Ask).unwrap();
    assert!(is_marked(&received), "both belong to the new key");
    drop(received);
    std::fs::remove_file(&path).unwrap();
    let new = open("re_fourth", Mailbox::Received, OnMismatch::BackUp).unwrap();
    assert!(!is_marked(&new));
    drop(new);
    let received = home.0.path().join("archive.sqlite.received");
    std::fs::write(&received, "this is not an archive, it is a letter of mine").unwrap();
    assert!(open("re_fourth", Mailbox::Received, OnMismatch::BackUp).is_ok());
    let aside = received.with_added_extension("aside2");
    assert!(std::fs::read(aside).unwrap().starts_with(b"this is no"));
}

#[test]
fn key_without_answer_does_not_own_archive() {
    let home = TestHome::new();
    let path = home.0.path().join("archive.sqlite");
    let open = |key: &str, mailbox| open(&home.shared(&path, key), mailbox, OnMismatch::Ask);
    for mailbox in Mailbox::ALL {
        drop(open("re_rejected", mailbox).unwrap());
    }
    for mailbox in Mailbox::ALL {
        drop(open("re_right", mailbox).unwrap());
    }
    mark(&open("re_right", Mailbox::Received).unwrap());
    for mailbox in Mailbox::ALL {
        assert!(open("re_other", mailbox).is_err(), "{mailbox:?}");
        assert!(open("re_right", mailbox).is_ok(), "{mailbox:?}");
    }
}
