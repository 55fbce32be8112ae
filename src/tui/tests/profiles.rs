//! The program with real profiles:
//! switching, archives that cannot be used, a new key.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use ratatui::layout::Size;

use crate::app::{Effect, ExitReason, LoopEffect};
use crate::config::{Background, Env};
use crate::server::sample::SampleMailbox;
use crate::tui::LoopExit;
use crate::tui::tests::harness::TuiHarness;
use crate::tui::tests::program::LIGHT_REPORT;
use crate::tui::tests::service::{KEY, Service};

const SIZE: Size = Size::new(120, 30);

/// A home with two profiles of two teams, and a third whose key is missing.
fn home(teams: [&Service; 2]) -> (tempfile::TempDir, Env) {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/sentbox");
    let profile = |name: &str, service: &Service| {
        format!(
            "[profiles.{name}]\nbase_url = \"{}\"\napi_key_file = \"key\"\nrate = 1000\n",
            service.base()
        )
    };
    let text = format!(
        "default_profile = \"acme\"\n{}{}[profiles.third]\napi_key_command = \"echo oh no >&2; exit 1\"\n",
        profile("acme", teams[0]),
        profile("other", teams[1])
    );
    crate::tui::tests::service::write_config(&config, &text);
    fs::write(config.join("key"), KEY).unwrap();
    fs::set_permissions(config.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let env = env(home.path());
    (home, env)
}

fn env(home: &Path) -> Env {
    Env::from_iter([("HOME", home.display().to_string())])
}

async fn start_and_quit(env: &Env) {
    let mut it = TuiHarness::with_env(SIZE, env.clone()).await;
    it.press("q").await;
}

fn team(seed: u64, emails: u32) -> Service {
    let now: Timestamp = "2026-11-20T09:42:00Z".parse().unwrap();
    Service::new(SampleMailbox::new(seed, emails, now, Arc::new(move || now)))
}

/// The open files of this process below a folder.
#[cfg(target_os = "linux")]
fn open_below(folder: &Path) -> Vec<String> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter(|path| path.starts_with(folder))
        .map(|path| path.display().to_string())
        .collect()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn switching_profile_closes_the_first_archive() {
    let teams = [team(1, 40), team(2, 70)];
    let (home, env) = home([&teams[0], &teams[1]]);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.starts(" acme ▸ all mail");
    assert_eq!(it.position().1, Some(40));
    let archives = |name: &str| home.path().join(".local/share/sentbox").join(name);
    assert!(!open_below(&archives("acme")).is_empty());

    it.press("g p").await;
    it.shows(&["acme (here)", "third"]);
    it.press("j j Enter").await;
    it.shows(&["the command of profile third failed", "acme ▸ profiles"]);
    it.press("Esc").await;
    assert_eq!(it.position().1, Some(40));

    it.press("g p").await;
    it.press("j Enter").await;
    it.starts(" other ▸ all mail");
    assert_eq!(it.position(), (Some(1), Some(70)));
    // Running tasks of the first profile end, and close its last file.
    while !open_below(&archives("acme")).is_empty() {
        tokio::task::yield_now().await;
    }
    let lock = fs::File::open(
        fs::read_dir(archives("acme"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("archive.sqlite.poll"),
    )
    .unwrap();
    lock.try_lock()
        .expect("the first archive is not locked any more");

    it.press("g p").await;
    it.press("j j Enter").await;
    it.starts(" demo ▸ all mail");
    it.press("g p").await;
    it.press("k k k Enter").await;
    assert_eq!(it.position().1, Some(40), "{}", it.screen());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn recorded_profile_switch_replays_to_the_same_model() {
    let teams = [team(1, 40), team(2, 70)];
    let (_home, env) = home([&teams[0], &teams[1]]);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.press("j j Enter q").await;
    it.press(LIGHT_REPORT).await;
    it.press("g p").await;
    it.press("j Enter").await;
    it.press("j j j").await;
    let expected = Some(Background::Light);
    assert_eq!(it.model().terminal_background, expected);
    let (mut model, messages) = *it.program.recording.clone();
    assert_eq!(model.session.profile, "acme");
    let mut switches = 0;
    for message in messages {
        let effects = model.update(message);
        let switch = |effect: &&Effect| matches!(effect, Effect::SwitchSession(_));
        switches += effects.iter().filter(switch).count();
    }
    assert_eq!((model.session.profile.as_str(), switches), ("other", 1));
    assert_eq!(format!("{model:?}"), format!("{:?}", it.model()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn using_another_keys_archive_needs_confirmation() {
    let teams = [team(1, 40), team(2, 70)];
    for (keys, emails, name) in [("Enter", 1, "acme"), ("j Enter", 0, "acme")] {
        let (home, env) = home([&teams[0], &teams[1]]);
        let archives = home.path().join(".local/share/sentbox/acme");
        let folders = || fs::read_dir(&archives).unwrap().count();
        Box::pin(start_and_quit(&env)).await;
        assert_eq!(folders(), 1);
        // The service accepts one key only, so the answer alone mixes nothing up.
        fs::write(home.path().join(".config/sentbox/key"), "re_canary_new").unwrap();
        let mut it = TuiHarness::with_env(SIZE, env).await;
        it.shows(&[
            "belongs to another key",
            "Is the new key of the same team?",
            "archive of 40 emails",
            "Leave",
        ]);
        it.press(keys).await;
        let screen = it.screen();
        it.starts(&format!(" {name} "));
        assert!(it.model().start_screen.is_none(), "{}", it.screen());
        assert_eq!(it.position().1.unwrap_or_default(), emails * 40, "{screen}");
        assert_eq!(folders(), if emails == 1 { 1 } else { 2 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn setup_offers_existing_profiles() {
    let teams = [team(1, 40), team(2, 70)];
    let (home, env) = home([&teams[0], &teams[1]]);
    let config = home.path().join(".config/sentbox/config.toml");
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("default_profile = \"acme\"\n", "");
    fs::write(&config, text).unwrap();
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.shows(&["Log in", "Open other"]);
    it.press("j j Enter").await;
    assert_eq!(it.position().1, Some(70), "{}", it.screen());
}

#[cfg(target_os = "linux")]
type Damage = fn(&Path);

/// The archive file of the profile `acme`.
fn file(home: &Path) -> PathBuf {
    let folder = fs::read_dir(home.join(".local/share/sentbox/acme"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    folder.join("archive.sqlite")
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn replaced_archive_is_reported_on_screen() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    Box::pin(start_and_quit(&env)).await;
    let file = file(home.path());
    while !open_below(home.path()).is_empty() {
        tokio::task::yield_now().await;
    }
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 19).unwrap();
    drop(connection);
    let mut it = TuiHarness::with_env(SIZE, env.clone()).await;
    it.shows(&["the archive of an older version is now"]);
    it.press("q q").await;
    assert!(file.with_added_extension("old1").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn unusable_archive_file_is_left_unchanged() {
    let team = team(1, 40);
    let damages: [(&str, Damage); 3] = [
        ("the archive file is not an archive", |file| {
            fs::write(file, "Dear Sir or Madam, ".repeat(500)).unwrap();
        }),
        ("the archive file is damaged", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes[4096..].fill(0x5a);
            fs::write(file, bytes).unwrap();
        }),
        (
            "the archive was written by a newer version of sentbox (format 99)",
            |file| {
                let connection = rusqlite::Connection::open(file).unwrap();
                connection.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE").unwrap();
            },
        ),
    ];
    for (message, damage) in damages {
        let (home, env) = home([&team, &team]);
        Box::pin(start_and_quit(&env)).await;
        let file = file(home.path());
        while fs::exists(file.with_added_extension("wal")).unwrap()
            || !open_below(home.path()).is_empty()
        {
            let _ = rusqlite::Connection::open(&file)
                .unwrap()
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
            tokio::task::yield_now().await;
        }
        damage(&file);
        let before = fs::read(&file).unwrap();
        let mut it = TuiHarness::with_env(SIZE, env.clone()).await;
        it.starts(" acme (not kept) ▸ all mail");
        assert_eq!(it.position().1, Some(40), "{}", it.screen());
        it.shows(&[&message[..25]]);
        it.press("j").await;
        it.press("!").await;
        it.shows(&[message, "archive.sqlite"]);
        it.press("q q").await;
        drop(it);
        let is_unchanged = fs::read(&file).unwrap() == before;
        assert!(is_unchanged, "{message}");
        // Switching to the profile opens it in the same way.
        let mut it = TuiHarness::with_env(SIZE, env).await;
        it.press("g p").await;
        it.press("j Enter").await;
        it.press("g p").await;
        it.press("k Enter").await;
        it.starts(" acme (not kept) ▸ all mail");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn refresh_opens_archive_that_became_writable() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    Box::pin(start_and_quit(&env)).await;
    let file = file(home.path());
    // Until the last connection is closed, another one gives its files the mode of the archive.
    while fs::exists(file.with_file_name("archive.sqlite-wal")).unwrap() {
        tokio::task::yield_now().await;
    }
    let set_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o400);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.press("2").await;
    it.starts(" acme (read-only) ▸ ");
    it.press("r").await;
    it.starts(" acme (read-only) ▸ ");
    it.shows(&["read-only archive: new mail is not stored"]);
    set_mode(0o600);
    it.press("r").await;
    it.starts(" acme ▸ Trouble");
    it.shows(&["the archive can be written again", "live"]);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn locked_archive_is_left_to_its_holder() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    Box::pin(start_and_quit(&env)).await;
    while !open_below(home.path()).is_empty() {
        tokio::task::yield_now().await;
    }
    let other = rusqlite::Connection::open(file(home.path())).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM identity")
        .unwrap();
    let it = TuiHarness::with_env(SIZE, env).await;
    it.starts(" acme (not kept) ▸ all mail");
    assert_eq!(it.position().1, Some(40), "{}", it.screen());
    it.shows(&["the archive is locked by another program, so nothing is kept this time"]);
    other.execute_batch("ROLLBACK").unwrap();
    let emails: i64 = other
        .query_row("SELECT count(*) FROM mail", [], |row| row.get(0))
        .unwrap();
    assert_eq!(emails, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_memory_profile_writes_no_mail_to_disk() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    let config = home.path().join(".config/sentbox/config.toml");
    let text = fs::read_to_string(&config).unwrap().replacen(
        "api_key_file",
        "archive = \"memory\"\napi_key_file",
        1,
    );
    let on_server = "archive = \"postgres://db.example.com/mail\"";
    fs::write(&config, format!("{text}{on_server}\n")).unwrap();
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.starts(" acme (not kept) ▸ all mail");
    it.press("/ a Enter g p").await;
    it.shows(&["nothing is kept", "in PostgreSQL"]);
    assert!(!home.path().join(".local").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn environment_key_shows_how_much_is_kept() {
    let team = team(1, 40);
    let home = tempfile::tempdir().unwrap();
    let env = Env::from_iter([
        ("HOME", home.path().display().to_string()),
        ("SENTBOX_API_KEY", KEY.to_owned()),
        ("SENTBOX_BASE_URL", team.base()),
    ]);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    assert_eq!(it.position().1, Some(40), "{}", it.screen());
    it.press("g p").await;
    it.shows(&["SENTBOX_API_KEY (here)", "less than 1 MB kept"]);
    it.hides(&["nothing kept yet"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn pasted_key_is_verified_stored_privately_and_used() {
    let team = team(3, 25);
    let home = tempfile::tempdir().unwrap();
    let mut it = TuiHarness::with_env(SIZE, env(home.path())).await;
    it.shows(&["~/.config/sentbox/keys/default, for you alone"]);
    it.press("Enter Tab Ctrl-u").await;
    it.paste(&team.base()).await;
    it.press("Tab").await;
    it.paste("re_wrong\n").await;
    it.press("Enter").await;
    it.shows(&["the key was not stored"]);
    assert!(!home.path().join(".config").exists());
    it.press("Ctrl-u").await;
    it.paste(KEY).await;
    it.shows(&["20 characters"]);
    it.hides(&["canary"]);
    it.press("Enter").await;
    it.starts(" default ▸ all mail");
    it.shows(&["the key is stored in "]);
    assert_eq!(it.position().1, Some(25));
    let key = home.path().join(".config/sentbox/keys/default");
    assert_eq!(fs::read_to_string(&key).unwrap(), format!("{KEY}\n"));
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    it.press("q").await;
    let expected = Some(LoopExit::Effect(LoopEffect::Exit(ExitReason::Quit)));
    assert_eq!(it.loop_exit, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn watched_emails_and_last_look_survive_a_restart() {
    let teams = [team(1, 40), team(2, 70)];
    let (_home, env) = home([&teams[0], &teams[1]]);
    let mut it = TuiHarness::with_env(SIZE, env.clone()).await;
    it.select_in_progress().await;
    let id = it.selected();
    it.press(".").await;
    drop(it);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    it.press("g n").await;
    it.shows(&["new or changed since 09:42"]);
    it.press("Esc").await;
    it.press("g w").await;
    it.shows(&["Watched emails"]);
    it.press("Enter").await;
    assert_eq!(it.open_email(), Some(id));
}
