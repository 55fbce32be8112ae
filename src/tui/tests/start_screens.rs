//! The start screens as models: set-up, login, profiles.

use crate::app::session::{ConfirmAnswer, FirstScreen, OpenOutcome, SetupInfo};
use crate::app::start::{FormField, StartScreenKind};
use crate::app::tests::env::{Mailbox, World, session};
use crate::app::{
    Effect, ExitReason, Focus, LoopEffect, Message, ProfileChoice, SessionInfo, SessionTarget,
    StorageMode,
};
use crate::config::SecretInput;
use crate::error::{Error, ErrorKind};

pub fn welcome() -> SetupInfo {
    SetupInfo {
        base_url: "https://api.resend.com".to_owned(),
        storage: Ok(vec![
            ("mail", "~/.local/share/sentbox/default, what was listed and read, for you alone".to_owned()),
            ("key", "~/.config/sentbox/keys/default, for you alone".to_owned()),
            ("profile", "default, in ~/.config/sentbox/config.toml".to_owned()),
        ]),
        profiles: Vec::new(),
        key_command_hint: "To read the key from a password manager: quit, run sentbox config edit, and set in [profiles.default]: \
                    api_key_command = \"pass show sentbox\""
            .to_owned(),
    }
}

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
fn typing_or_pasting_a_key_opens_the_form() {
    let mut typed = setting_up(80, 24);
    typed.press("r").write("e_1").press("Enter");
    let mut pasted = setting_up(80, 24);
    pasted.happen(Message::Pasted(SecretInput::new("re_1")));
    pasted.press("Enter");
    for world in [&typed, &pasted] {
        let Effect::VerifyKey { key, .. } = last(world) else {
            panic!("{:?}", last(world))
        };
        assert_eq!(key.expose(), "re_1");
    }
}

#[test]
fn typed_key_appears_in_no_debug_output() {
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
fn rejected_key_leaves_the_form_open() {
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
    let screen = world.model.start_screen.as_ref().unwrap();
    assert_eq!(screen.error.as_ref().unwrap().kind, ErrorKind::KeyRejected);
    let form = screen.form().unwrap();
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
fn cancelled_login_opens_no_session() {
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
fn failing_to_open_keeps_the_current_profile() {
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
fn switching_profile_keeps_the_mouse_setting() {
    let mut world = World::at_rest(80, 24, Mailbox::of(20));
    let captures = |world: &World| {
        let capture = |effect: &Effect| match effect {
            Effect::Loop(LoopEffect::CaptureMouse(capture)) => Some(*capture),
            _ => None,
        };
        world.asked.iter().filter_map(capture).collect::<Vec<_>>()
    };
    world.press("M g p").settle().press("j Enter").settle();
    assert!(world.switched);
    world.press("M");
    assert_eq!(captures(&world), [false, true]);
}

#[test]
fn small_screen_shows_selected_profile_and_error() {
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

#[test]
fn placeholder_says_whether_mail_is_stored() {
    let first_at = |size, kept| {
        let world = World::start(
            size,
            SessionInfo {
                storage: kept,
                ..session()
            },
            Mailbox::of(0),
        );
        crate::view::tests::screen_after_archive(world)
    };
    let first = |kept| first_at((100, 24), kept);
    let server = StorageMode::OnServer("postgres://db.example.com/mail (schema acme)".to_owned());
    let screen = first(server);
    assert!(screen.contains("others may read them."), "{screen}");
    assert!(!screen.contains("only by you"), "{screen}");
    let path = "~/.local/share/sentbox/default/api.resend.com-1a2b3c4d/archive.sqlite";
    for size in [(160, 45), (80, 24), (40, 12)] {
        let screen = first_at(size, StorageMode::InFile(path.to_owned()));
        assert!(screen.contains("next time."), "{screen}");
    }
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
