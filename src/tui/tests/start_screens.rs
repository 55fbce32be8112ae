//! Setting sentbox up on its screen, and going from one profile to another.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::session::{ConfirmAnswer, FirstScreen, OpenOutcome, SetupInfo};
use crate::app::start::{FormField, StartScreenKind};
use crate::app::tests::env::{Mailbox, World, session};
use crate::app::{
    Effect, ExitReason, Focus, Message, ProfileChoice, SessionInfo, SessionTarget, StorageMode,
};
use crate::config::{Env, SecretInput};
use crate::error::{Error, ErrorKind};
use crate::server::sample::SampleMailbox as Sample;
use crate::tui::LoopExit;
use crate::tui::tests::harness::TuiHarness;
use crate::tui::tests::service::{KEY, Service};
use jiff::Timestamp;
use ratatui::layout::Size;

const SIZE: Size = Size {
    width: 120,
    height: 30,
};

pub fn welcome() -> SetupInfo {
    SetupInfo {
        base_url: "https://api.resend.com".to_owned(),
        storage: Ok(vec![
            ("mail", "~/.local/share/sentbox/default, what was listed and read, for you alone".to_owned()),
            ("key", "~/.config/sentbox/keys/default, for you alone".to_owned()),
            ("profile", "default, in ~/.config/sentbox/config.toml".to_owned()),
        ]),
        profiles: Vec::new(),
        key_command_hint: "To have the key from a password store, leave, run sentbox config edit, and say in [profiles.default]: \
                    api_key_command = \"pass show sentbox\""
            .to_owned(),
    }
}

/// The set-up screen, as a model.
pub fn setting_up(width: u16, height: u16) -> World {
    let no_service = Some(Error::new(ErrorKind::KeyMissing, "there is no API key"));
    let session = SessionInfo {
        service_error: no_service,
        first_screen: FirstScreen::SetUp(welcome()),
        target: SessionTarget::Default,
        storage: StorageMode::InMemory,
        ..session()
    };
    World::start((width, height), session, Mailbox::of(0))
}

fn last(world: &World) -> &Effect {
    world.asked.last().unwrap()
}

#[test]
fn a_key_is_put_in_unseen_and_appears_in_no_message_effect_or_state() {
    let mut world = setting_up(80, 24);
    assert_eq!(world.model.focus(), Focus::Choice);
    world.press("Enter");
    assert_eq!(world.model.focus(), Focus::Prompt);
    let pasted = Message::Pasted(SecretInput::new("re_canary_0123456789\n"));
    assert!(!format!("{pasted:?}").contains("canary"));
    world.happen(pasted);
    world
        .write("xq?")
        .press("Backspace Backspace Backspace Tab Ctrl-u")
        .write("http://127.0.0.1:1")
        .press("Enter");
    let Effect::VerifyKey { base_url, key, .. } = last(&world).clone() else {
        panic!("{:?}", last(&world))
    };
    assert_eq!(
        (base_url.as_str(), key.expose()),
        ("http://127.0.0.1:1", "re_canary_0123456789")
    );
    assert!(!format!("{:?} {:#?}", world.model, world.asked).contains("canary"));
    world.settle();
    let enter = world
        .asked
        .iter()
        .find(|effect| matches!(effect, Effect::OpenSession { .. }))
        .unwrap();
    assert!(matches!(
        enter,
        Effect::OpenSession {
            target: SessionTarget::NewKey { .. },
            answer: ConfirmAnswer::None,
            ..
        }
    ));
    assert!(!format!("{enter:?}").contains("canary") && world.switched);
}

#[test]
fn a_key_that_is_not_taken_leaves_the_form_as_it_is() {
    let mut world = setting_up(80, 24);
    world.press("Enter Enter");
    assert!(
        world
            .pending
            .iter()
            .all(|effect| !matches!(effect, Effect::VerifyKey { .. })),
        "nothing is asked without a key"
    );
    world.write("re_x").press("Enter");
    let Effect::VerifyKey { request, .. } = last(&world).clone() else {
        panic!()
    };
    world.write("more");
    world.happen(Message::KeyVerified(
        request,
        Err(Error::new(
            ErrorKind::KeyRejected,
            "the service does not accept the key",
        )),
    ));
    let hall = world.model.start_screen.as_ref().unwrap();
    assert_eq!(hall.error.as_ref().unwrap().kind, ErrorKind::KeyRejected);
    let form = hall.form().unwrap();
    assert_eq!(
        (form.key.expose(), form.field),
        ("re_x", FormField::Key),
        "nothing is put in while a key is tried"
    );
    world.press("Esc");
    assert_eq!(
        (world.model.focus(), world.exit.clone()),
        (Focus::Choice, None)
    );
    world.press("Esc");
    assert_eq!(world.exit, None, "Esc never leaves the program");
    world.press("q");
    assert_eq!(world.exit, Some(ExitReason::Quit));
}

#[test]
fn whoever_stops_waiting_is_not_taken_anywhere() {
    let mut world = setting_up(80, 24);
    world.press("Enter").write("re_x").press("Enter");
    let Effect::VerifyKey { request, .. } = last(&world).clone() else {
        panic!()
    };
    world.press("Esc");
    world.happen(Message::KeyVerified(request, Ok(())));
    assert!(
        matches!(last(&world), Effect::VerifyKey { .. }),
        "the key is not stored"
    );
    world.press("Esc j Enter");
    let Effect::OpenSession {
        request,
        target: SessionTarget::Demo,
        ..
    } = last(&world).clone()
    else {
        panic!("{:?}", last(&world))
    };
    world.press("Esc");
    world.happen(Message::SessionOpened(
        request,
        Ok(OpenOutcome::Opened(Box::new(session()))),
    ));
    assert!(!world.switched);
}

#[test]
fn a_door_that_stays_shut_leaves_one_where_one_was() {
    let mut world = World::at_rest(80, 24, Mailbox::of(20));
    world.press("j j g p").settle();
    let selected = world.selected();
    assert!(matches!(
        world.model.start_screen.as_ref().unwrap().kind,
        StartScreenKind::Profiles(_)
    ));
    assert_eq!(
        world.model.start_screen.as_ref().unwrap().selected,
        0,
        "where one is is marked"
    );
    world.press("j Enter");
    let Effect::OpenSession {
        request,
        target: SessionTarget::Profile(name),
        ..
    } = last(&world).clone()
    else {
        panic!("{:?}", last(&world))
    };
    assert_eq!(name, "staging");
    world.happen(Message::SessionOpened(
        request,
        Err(Error::new(
            ErrorKind::Config,
            "the command of profile staging failed",
        )),
    ));
    assert!(world.model.start_screen.as_ref().unwrap().error.is_some() && !world.switched);
    world.press("q");
    assert!(world.model.start_screen.is_none() && world.exit.is_none());
    assert_eq!(world.selected(), selected);
    world.press("g p").settle().press("Enter");
    assert!(
        world.model.start_screen.is_none() && !world.switched,
        "where one is already one stays"
    );
}

#[test]
fn what_is_marked_and_what_failed_is_seen_on_the_smallest_screen_too() {
    let mut world = World::at_rest(40, 12, Mailbox::of(3));
    world.press("g p");
    let Effect::LoadProfiles(request) = last(&world).clone() else {
        panic!("{:?}", last(&world))
    };
    let choice = |n: u32| ProfileChoice {
        target: SessionTarget::Profile(format!("team{n}")),
        name: format!("team{n}"),
        base_url: "https://api.resend.com".to_owned(),
        key_source: "no key".to_owned(),
        storage: "nothing kept".to_owned(),
    };
    world.happen(Message::ProfilesLoaded(
        request,
        Ok((1..=40).map(choice).collect()),
    ));
    for _ in 0..24 {
        world.press("j");
    }
    world.press("Enter");
    let Effect::OpenSession { request, .. } = last(&world).clone() else {
        panic!("{:?}", last(&world))
    };
    let failure = Error::new(ErrorKind::Config, "the command of profile team25 failed")
        .with_hint("run it by hand to see what is wrong");
    world.happen(Message::SessionOpened(request, Err(failure)));
    let screen = crate::view::tests::screen_after_archive(world);
    for words in [
        "▌ team25",
        "https://api.resend.com",
        "the command of profile team25 failed",
        "what is wrong",
        "Enter confirm",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
}

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

fn team(seed: u64, emails: u32) -> Service {
    let now: Timestamp = "2026-11-20T09:42:00Z".parse().unwrap();
    Service::new(Sample::new(seed, emails, now, Arc::new(move || now)))
}

/// Files of this process below a folder that are open.
fn open_below(folder: &Path) -> Vec<String> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter(|path| path.starts_with(folder))
        .map(|path| path.display().to_string())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_goes_to_another_profile_and_nothing_of_the_first_is_left() {
    let teams = [team(1, 40), team(2, 70)];
    let (home, env) = home([&teams[0], &teams[1]]);
    let mut it = TuiHarness::with_env(SIZE, env).await;
    assert!(
        it.screen().starts_with(" acme ▸ all mail"),
        "{}",
        it.screen()
    );
    assert_eq!(it.position().1, Some(40));
    let archives = |name: &str| home.path().join(".local/share/sentbox").join(name);
    assert!(!open_below(&archives("acme")).is_empty());

    it.press("g p").await;
    assert!(
        it.screen().contains("acme (here)") && it.screen().contains("third"),
        "{}",
        it.screen()
    );
    it.press("j j Enter").await;
    let screen = it.screen();
    assert!(
        screen.contains("the command of profile third failed")
            && screen.contains("acme ▸ profiles"),
        "{screen}"
    );
    it.press("Esc").await;
    assert_eq!(it.position().1, Some(40));

    it.press("g p").await;
    it.press("j Enter").await;
    assert!(
        it.screen().starts_with(" other ▸ all mail"),
        "{}",
        it.screen()
    );
    assert_eq!(it.position(), (Some(1), Some(70)));
    // What was at work when the profile was left ends by itself, and with it the last file.
    while !open_below(&archives("acme")).is_empty() {
        tokio::task::yield_now().await;
    }
    let lease = fs::File::open(
        fs::read_dir(archives("acme"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("archive.sqlite.lease"),
    )
    .unwrap();
    lease
        .try_lock()
        .expect("nobody holds the lease of the profile that was left");

    it.press("g p").await;
    it.press("j j Enter").await;
    assert!(
        it.screen().starts_with(" demo ▸ all mail"),
        "{}",
        it.screen()
    );
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
    it.press("g p").await;
    it.press("j Enter").await;
    it.press("j j j").await;
    let (mut model, messages) = *it.program.recording.clone();
    assert_eq!(model.session.profile, "acme");
    let mut switches = 0;
    for message in messages {
        let effects = model.update(message);
        let switch = |effect: &&Effect| matches!(effect, Effect::SwitchSession(_));
        switches += effects.iter().filter(switch).count();
    }
    assert_eq!((model.session.profile.as_str(), switches), ("other", 1));
    assert_eq!(format!("{model:?}"), format!("{:?}", it.program.model()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_new_key_asks_before_the_mail_of_another_is_gone_on_with() {
    let teams = [team(1, 40), team(2, 70)];
    for (keys, emails, name) in [("Enter", 1, "acme"), ("j Enter", 0, "acme")] {
        let (home, env) = home([&teams[0], &teams[1]]);
        let archives = home.path().join(".local/share/sentbox/acme");
        let folders = || fs::read_dir(&archives).unwrap().count();
        TuiHarness::with_env(SIZE, env.clone())
            .await
            .press("q")
            .await;
        assert_eq!(folders(), 1);
        // The service knows one key only, so that nothing can be mixed up by the answer alone.
        fs::write(home.path().join(".config/sentbox/key"), "re_canary_new").unwrap();
        let mut it = TuiHarness::with_env(SIZE, env).await;
        let screen = it.screen();
        assert!(
            screen.contains("belongs to another key")
                && screen.contains("Is the new key of the same team?"),
            "{screen}"
        );
        assert!(
            screen.contains("archive of 40 emails") && screen.contains("Leave"),
            "{screen}"
        );
        it.press(keys).await;
        let screen = it.screen();
        assert!(
            screen.starts_with(&format!(" {name} ")) && it.program.model().start_screen.is_none(),
            "{screen}"
        );
        assert_eq!(it.position().1.unwrap_or_default(), emails * 40, "{screen}");
        assert_eq!(folders(), if emails == 1 { 1 } else { 2 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn profiles_that_are_there_are_offered_where_none_is_meant() {
    let teams = [team(1, 40), team(2, 70)];
    let (home, env) = home([&teams[0], &teams[1]]);
    let config = home.path().join(".config/sentbox/config.toml");
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("default_profile = \"acme\"\n", "");
    fs::write(&config, text).unwrap();
    let mut it = TuiHarness::with_env(SIZE, env).await;
    assert!(
        it.screen().contains("Log in") && it.screen().contains("Open other"),
        "{}",
        it.screen()
    );
    it.press("j j Enter").await;
    assert_eq!(it.position().1, Some(70), "{}", it.screen());
}

/// What befalls a file.
type Spoil = fn(&Path);

/// The archive's file of the profile `acme`.
fn file(home: &Path) -> PathBuf {
    let folder = fs::read_dir(home.join(".local/share/sentbox/acme"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    folder.join("archive.sqlite")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whatever_ails_the_file_the_mail_is_shown_and_the_file_stays_as_it_is() {
    let team = team(1, 40);
    let spoil: [(&str, Spoil); 3] = [
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
    for (message, spoil) in spoil {
        let (home, env) = home([&team, &team]);
        TuiHarness::with_env(SIZE, env.clone())
            .await
            .press("q")
            .await;
        let file = file(home.path());
        while fs::exists(file.with_added_extension("wal")).unwrap()
            || !open_below(home.path()).is_empty()
        {
            let _ = rusqlite::Connection::open(&file)
                .unwrap()
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
            tokio::task::yield_now().await;
        }
        spoil(&file);
        let before = fs::read(&file).unwrap();
        let mut it = TuiHarness::with_env(SIZE, env.clone()).await;
        let screen = it.screen();
        assert!(
            screen.starts_with(" acme (not kept) ▸ all mail") && it.position().1 == Some(40),
            "{screen}"
        );
        assert!(screen.contains(&message[..25]), "{screen}");
        it.press("j").await;
        it.press("!").await;
        assert!(
            it.screen().contains(message) && it.screen().contains("archive.sqlite"),
            "{}",
            it.screen()
        );
        it.press("q q").await;
        drop(it);
        assert!(
            fs::read(&file).unwrap() == before,
            "{message}: the file is another"
        );
        // From another profile one comes to it just so.
        let mut it = TuiHarness::with_env(SIZE, env).await;
        it.press("g p").await;
        it.press("j Enter").await;
        it.press("g p").await;
        it.press("k Enter").await;
        assert!(
            it.screen().starts_with(" acme (not kept) ▸ all mail"),
            "{}",
            it.screen()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_archive_that_another_program_holds_is_left_to_it() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    TuiHarness::with_env(SIZE, env.clone())
        .await
        .press("q")
        .await;
    while !open_below(home.path()).is_empty() {
        tokio::task::yield_now().await;
    }
    let other = rusqlite::Connection::open(file(home.path())).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM identity")
        .unwrap();
    let it = TuiHarness::with_env(SIZE, env).await;
    let screen = it.screen();
    assert!(
        screen.starts_with(" acme (not kept) ▸ all mail") && it.position().1 == Some(40),
        "{screen}"
    );
    assert!(
        screen.contains("the archive is locked by another program, so nothing is kept this time"),
        "{screen}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    let emails: i64 = other
        .query_row("SELECT count(*) FROM mail", [], |row| row.get(0))
        .unwrap();
    assert_eq!(emails, 40);
}

#[test]
fn what_is_not_kept_is_not_said_to_be() {
    let first = |kept| {
        let world = World::start(
            (100, 24),
            SessionInfo {
                storage: kept,
                ..session()
            },
            Mailbox::of(0),
        );
        crate::view::tests::screen_after_archive(world)
    };
    let file = StorageMode::InFile("~/archive.sqlite".to_owned());
    assert!(
        first(file)
            .contains("Emails are stored in ~/archive.sqlite, readable only by you, and shown")
    );
    for kept in [
        StorageMode::InMemory,
        StorageMode::Unavailable(Error::new(ErrorKind::Archive, "the disk is full")),
    ] {
        let screen = first(kept);
        assert!(
            screen.contains("they are gone when you leave")
                && screen.starts_with(" acme (not kept) ▸"),
            "{screen}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_memory_nothing_of_the_mail_comes_to_the_disk() {
    let team = team(1, 40);
    let (home, env) = home([&team, &team]);
    let config = home.path().join(".config/sentbox/config.toml");
    let text = fs::read_to_string(&config).unwrap().replacen(
        "api_key_file",
        "archive = \"memory\"\napi_key_file",
        1,
    );
    fs::write(&config, text).unwrap();
    let mut it = TuiHarness::with_env(SIZE, env).await;
    assert!(
        it.screen().starts_with(" acme (not kept) ▸ all mail"),
        "{}",
        it.screen()
    );
    it.press("/ a Enter g p").await;
    assert!(it.screen().contains("nothing is kept"), "{}", it.screen());
    assert!(!home.path().join(".local").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_pasted_key_is_tried_stored_for_its_owner_alone_and_used() {
    let team = team(3, 25);
    let home = tempfile::tempdir().unwrap();
    let mut it = TuiHarness::with_env(SIZE, env(home.path())).await;
    assert!(
        it.screen()
            .contains("~/.config/sentbox/keys/default, for you alone"),
        "{}",
        it.screen()
    );
    it.press("Enter Tab Ctrl-u").await;
    it.paste(&team.base()).await;
    it.press("Tab").await;
    it.paste("re_wrong\n").await;
    it.press("Enter").await;
    assert!(
        it.screen().contains("the key was not stored"),
        "{}",
        it.screen()
    );
    assert!(!home.path().join(".config").exists());
    it.press("Ctrl-u").await;
    it.paste(KEY).await;
    assert!(
        it.screen().contains("20 characters") && !it.screen().contains("canary"),
        "{}",
        it.screen()
    );
    it.press("Enter").await;
    assert!(
        it.screen().starts_with(" default ▸ all mail")
            && it.screen().contains("the key may read, send and delete"),
        "{}",
        it.screen()
    );
    assert_eq!(it.position().1, Some(25));
    let key = home.path().join(".config/sentbox/keys/default");
    assert_eq!(fs::read_to_string(&key).unwrap(), format!("{KEY}\n"));
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    it.press("q").await;
    assert_eq!(it.loop_exit, Some(LoopExit::Ended(ExitReason::Quit)));
}
