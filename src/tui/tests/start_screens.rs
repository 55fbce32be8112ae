//! The start screens as models: set-up, login, profiles.

use crate::app::session::{FirstScreen, OpenOutcome, SetupInfo};
use crate::app::start::{FormField, StartScreenKind};
use crate::app::tests::env::{AppHarness, FakeService, effect, session};
use crate::app::{
    Effect, ExitReason, Focus, LoopEffect, Message, ProfileChoice, RequestId, SessionInfo,
    SessionTarget, StorageMode,
};
use crate::archive::OnMismatch;
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

pub fn setting_up(width: u16, height: u16) -> AppHarness {
    let no_service = Some(Error::new(ErrorKind::KeyMissing, "there is no API key"));
    let session = SessionInfo {
        service_error: no_service,
        first_screen: FirstScreen::SetUp(welcome()),
        target: SessionTarget::Default,
        storage: StorageMode::InMemory,
        ..session()
    };
    AppHarness::start((width, height), session, FakeService::with_emails(0))
}

fn last(app: &AppHarness) -> &Effect {
    app.effects.last().unwrap()
}

fn opening(app: &AppHarness) -> (RequestId, SessionTarget) {
    app.find(effect!(Effect::OpenSession(request, target, _) => (*request, target.clone())))
}

#[test]
fn typing_or_pasting_a_key_opens_the_form() {
    let mut typed = setting_up(80, 24);
    typed.press("r").write("e_1").press("Enter");
    let mut pasted = setting_up(80, 24);
    pasted.happen(Message::Pasted(SecretInput::new("re_1")));
    pasted.press("Enter");
    for app in [&typed, &pasted] {
        let key = app.find(effect!(Effect::VerifyKey { key, .. } => key.clone()));
        assert_eq!(key.expose(), "re_1");
    }
}

#[test]
fn typed_key_appears_in_no_debug_output() {
    let mut app = setting_up(80, 24);
    assert_eq!(app.model.focus(), Focus::Choice);
    app.press("Enter");
    assert_eq!(app.model.focus(), Focus::Prompt);
    let pasted = Message::Pasted(SecretInput::new("re_canary_0123456789\n"));
    assert!(!format!("{pasted:?}").contains("canary"));
    app.happen(pasted);
    app.write("xq?")
        .press("Backspace Backspace Backspace Tab Ctrl-u")
        .write("http://127.0.0.1:1")
        .press("Enter");
    let (base_url, key) = app
        .find(effect!(Effect::VerifyKey { base_url, key, .. } => (base_url.clone(), key.clone())));
    assert_eq!(base_url, "http://127.0.0.1:1");
    assert_eq!(key.expose(), "re_canary_0123456789");
    assert!(!format!("{:?} {:#?}", app.model, app.effects).contains("canary"));
    app.settle();
    let mut effects = app.effects.iter();
    let is_open = |effect: &&Effect| matches!(effect, Effect::OpenSession(_, _, _));
    let enter = effects.find(is_open).unwrap();
    let Effect::OpenSession(_, SessionTarget::NewKey { .. }, OnMismatch::Ask) = enter else {
        panic!("{enter:?}")
    };
    assert!(!format!("{enter:?}").contains("canary"));
    assert!(app.switched);
}

#[test]
fn rejected_key_leaves_the_form_open() {
    let mut app = setting_up(80, 24);
    app.press("Enter Enter");
    assert!(!app.is_pending(effect!(Effect::VerifyKey { .. })), "no key");
    app.write("re_x").press("Enter");
    let request = app.find(effect!(Effect::VerifyKey { request, .. } => *request));
    app.write("more");
    let error = Error::new(ErrorKind::KeyRejected, "the key is not accepted");
    app.happen(Message::KeyVerified(request, Err(error)));
    let screen = app.model.start_screen.as_ref().unwrap();
    assert_eq!(screen.error.as_ref().unwrap().kind, ErrorKind::KeyRejected);
    let form = screen.form().unwrap();
    assert_eq!(form.key.expose(), "re_x", "while a key is tried");
    assert_eq!(form.field, FormField::Key);
    app.press("Esc");
    assert_eq!((app.model.focus(), app.exit.clone()), (Focus::Choice, None));
    app.press("Esc");
    assert_eq!(app.exit, None, "Esc never leaves the program");
    app.press("q");
    assert_eq!(app.exit, Some(ExitReason::Quit));
}

#[test]
fn cancelled_login_opens_no_session() {
    let mut app = setting_up(80, 24);
    app.press("Enter").write("re_x").press("Enter");
    let request = app.find(effect!(Effect::VerifyKey { request, .. } => *request));
    app.press("Esc");
    app.happen(Message::KeyVerified(request, Ok(())));
    let is_verified = matches!(last(&app), Effect::VerifyKey { .. });
    assert!(is_verified, "the key is not stored");
    app.press("Esc j Enter");
    let (request, target) = opening(&app);
    assert_eq!(target, SessionTarget::Demo);
    app.press("Esc");
    let opened = OpenOutcome::Opened(Box::new(session()));
    app.happen(Message::SessionOpened(request, Ok(opened)));
    assert!(!app.switched);
}

#[test]
fn failing_to_open_keeps_the_current_profile() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(20));
    app.press("j j g p").settle();
    let selected = app.selected();
    let screen = app.model.start_screen.as_ref().unwrap();
    assert!(matches!(screen.kind, StartScreenKind::Profiles(_)));
    assert_eq!(screen.selected, 0, "this one");
    app.press("j Enter");
    let (request, target) = opening(&app);
    assert_eq!(target, SessionTarget::Profile("staging".to_owned()));
    let error = Error::new(ErrorKind::Config, "the command of profile staging failed");
    app.happen(Message::SessionOpened(request, Err(error)));
    assert!(app.model.start_screen.as_ref().unwrap().error.is_some() && !app.switched);
    app.press("q");
    assert!(app.model.start_screen.is_none() && app.exit.is_none());
    assert_eq!(app.selected(), selected);
    app.press("g p").settle().press("Enter");
    assert!(app.model.start_screen.is_none());
    assert!(!app.switched, "it is this one");
}

#[test]
fn switching_profile_keeps_the_mouse_setting() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(20));
    let captures = |app: &AppHarness| {
        app.requested(effect!(Effect::Loop(LoopEffect::CaptureMouse(capture)) => *capture))
    };
    app.press("M g p").settle().press("j Enter").settle();
    assert!(app.switched);
    app.press("M");
    assert_eq!(captures(&app), [false, true]);
}

#[test]
fn profiles_leave_the_email_behind_them_alone() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(3));
    app.press("g p").settle().press(".");
    app.shows_notice("close this first: only an email can be watched");
    app.press("y");
    app.shows_notice("nothing to copy here");
}

#[test]
fn small_screen_shows_selected_profile_and_error() {
    let mut app = AppHarness::at_rest(40, 12, FakeService::with_emails(3));
    app.press("g p");
    let request = app.find(effect!(Effect::LoadProfiles(request) => *request));
    let choice = |n: u32| ProfileChoice {
        target: SessionTarget::Profile(format!("team{n}")),
        name: format!("team{n}"),
        base_url: "https://api.resend.com".to_owned(),
        key_source: "no key".to_owned(),
        storage: "nothing kept yet".to_owned(),
    };
    let choices = (1..=40).map(choice).collect();
    app.happen(Message::ProfilesLoaded(request, Ok(choices)));
    app.press_times("j", 24).press("Enter");
    let (request, _) = opening(&app);
    let failure = Error::new(ErrorKind::Config, "the command of profile team25 failed")
        .with_hint("run it by hand to see what is wrong");
    app.happen(Message::SessionOpened(request, Err(failure)));
    let screen = crate::view::tests::screen_after_archive(app);
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
        let mut info = session();
        info.storage = kept;
        let app = AppHarness::start(size, info, FakeService::with_emails(0));
        crate::view::tests::screen_after_archive(app)
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
    let words = "Emails are stored in ~/archive.sqlite, readable only by you, and shown";
    assert!(first(file).contains(words));
    for kept in [
        StorageMode::InMemory,
        StorageMode::Unavailable(Error::new(ErrorKind::Archive, "the disk is full")),
    ] {
        let screen = first(kept);
        assert!(screen.contains("they are gone when you leave"), "{screen}");
        assert!(screen.starts_with(" acme (not kept) ▸"), "{screen}");
    }
}
