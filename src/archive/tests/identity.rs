//! The mail of two teams is not mixed unless the user decides so.

use crate::archive::identity::{Identity, OnMismatch, OpenResult};
use crate::archive::{Archive, ArchiveLocation};
use crate::config::{Env, Flags, Settings};
use crate::error::{Error, ErrorKind};
use crate::mail::Mailbox;

struct World(tempfile::TempDir);

impl World {
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

    fn open(&self, key: &str, on_mismatch: OnMismatch) -> Result<Archive, Error> {
        match Archive::open_for(&self.settings(key), Mailbox::Sent, on_mismatch)? {
            OpenResult::Opened(archive) => Ok(archive),
            OpenResult::Mismatch(stranger) => Err(stranger.into()),
        }
    }
}

fn is_marked(archive: &Archive) -> bool {
    archive
        .connections
        .read(|connection| Ok(connection.table_exists(None, "token")?))
        .unwrap()
}

/// Leaves something in the archive by which it is known again.
fn mark(archive: &Archive) {
    archive
        .connections
        .write(|change| Ok(change.execute_batch("CREATE TABLE token (x)")?))
        .unwrap();
}

#[test]
fn new_key_on_existing_archive_is_a_mismatch() {
    let world = World::new();
    mark(&world.open("re_one", OnMismatch::Ask).unwrap());
    let error = world.open("re_two", OnMismatch::Ask).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Archive);
    assert!(
        error
            .message
            .contains("profile default has an archive of 0 emails that belongs to another key"),
        "{error}"
    );
    assert!(
        error.hint.contains("sentbox archive adopt")
            && error.hint.contains("sentbox archive begin")
    );

    let adopted = world.open("re_two", OnMismatch::Adopt).unwrap();
    let owner = adopted.identity().unwrap().unwrap();
    assert_eq!(
        owner,
        Identity {
            service: "https://api.resend.com".into(),
            key_fingerprint: world
                .settings("re_two")
                .credentials
                .key
                .unwrap()
                .fingerprint()
        }
    );
    assert!(is_marked(&adopted));
    drop(adopted);
    assert!(
        is_marked(&world.open("re_two", OnMismatch::Ask).unwrap()),
        "it is asked once"
    );
}

#[test]
fn second_team_gets_a_separate_archive() {
    let world = World::new();
    mark(&world.open("re_one", OnMismatch::Ask).unwrap());
    assert!(!is_marked(
        &world.open("re_two", OnMismatch::BackUp).unwrap()
    ));
    assert!(
        !is_marked(&world.open("re_two", OnMismatch::Ask).unwrap()),
        "it is asked once"
    );
    assert!(is_marked(&world.open("re_one", OnMismatch::Ask).unwrap()));
}

#[test]
fn archive_in_use_is_not_adopted() {
    let world = World::new();
    let used = world.open("re_one", OnMismatch::Ask).unwrap();
    assert!(used.poll_lock().try_acquire(jiff::Timestamp::UNIX_EPOCH));
    let error = world.open("re_two", OnMismatch::Adopt).unwrap_err();
    assert!(
        error
            .message
            .contains("another sentbox is using the archive"),
        "{error}"
    );
}

#[test]
fn moved_file_keeps_its_identity() {
    for on_mismatch in [OnMismatch::Adopt, OnMismatch::BackUp] {
        let world = World::new();
        mark(&world.open("re_one", OnMismatch::Ask).unwrap());
        let path_of = |key| match world.settings(key).archive {
            ArchiveLocation::Disk(path) => path.parent().unwrap().to_owned(),
            ArchiveLocation::Memory => panic!("on disk"),
        };
        std::fs::rename(path_of("re_one"), path_of("re_two")).unwrap();
        assert!(world.open("re_two", OnMismatch::Ask).is_err());
        assert_eq!(
            is_marked(&world.open("re_two", on_mismatch).unwrap()),
            on_mismatch == OnMismatch::Adopt
        );
        assert!(world.open("re_two", OnMismatch::Ask).is_ok());
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
    let world = World::new();
    mark(&world.open("re_one", OnMismatch::Ask).unwrap());
    let settings = world.settings_by("SENTBOX_API_KEY", "re_two");
    assert!(
        matches!(Archive::open_for(&settings, Mailbox::Sent, OnMismatch::Ask).unwrap(), OpenResult::Opened(archive) if !is_marked(&archive))
    );
}
