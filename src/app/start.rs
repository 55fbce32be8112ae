//! The start screens, before the mail or over it, where the user chooses a session.
//!
//! There are three: the set-up screen without a configuration, the list of profiles, and a question
//! that must be answered before a session opens.

use tui_input::{Input, InputRequest};

use super::chooser::Leave;
use super::commands::Motion;
use super::effect::{Effect, Pending, RequestId};
use super::model::Model;
use super::session::{
    ConfirmDialog, FirstScreen, OpenOutcome, ProfileChoice, SessionInfo, SessionTarget, SetupInfo,
};
use crate::archive::OnMismatch;
use crate::config::SecretInput;
use crate::error::{Error, ErrorKind, Result};
use crate::text::sanitize;

/// A screen before the mail, or over it.
#[derive(Debug, Clone)]
pub struct StartScreen {
    pub kind: StartScreenKind,
    /// The index of the selected item.
    pub selected: usize,
    /// Why the last session was not opened.
    pub error: Option<Error>,
    /// The session that is opening, or the key that is being verified.
    pub(super) pending: Pending<()>,
}

/// The three start screens.
#[derive(Debug, Clone)]
pub enum StartScreenKind {
    /// There is no configuration.
    SetUp {
        info: SetupInfo,
        /// The form, while it is open.
        form: Option<LoginForm>,
    },
    /// The list of profiles.
    Profiles(Pending<Vec<ProfileChoice>>),
    Confirm {
        question: ConfirmDialog,
        /// Whether there is mail behind it to go back to.
        over_mail: bool,
    },
}

/// One item to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct StartItem {
    pub label: String,
    pub columns: Vec<String>,
    pub(super) action: StartAction,
}

/// The action of an item when it is confirmed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StartAction {
    /// Opens the form.
    LogIn,
    OpenSession(SessionTarget, OnMismatch),
    /// Closes the screen and shows the mail behind it.
    Close,
    Quit,
}

impl StartScreen {
    fn new(kind: StartScreenKind) -> Self {
        Self {
            kind,
            selected: 0,
            error: None,
            pending: Pending::default(),
        }
    }

    /// The screen with which a session opens, if it is not the mail.
    pub(super) fn first(screen: FirstScreen) -> Option<Self> {
        Some(Self::new(match screen {
            FirstScreen::Mail => return None,
            FirstScreen::SetUp(info) => StartScreenKind::SetUp { info, form: None },
            FirstScreen::Confirm(question) => StartScreenKind::Confirm {
                question,
                over_mail: false,
            },
        }))
    }

    /// The items, from top to bottom.
    /// `current` is the target of the session behind the screen.
    pub fn items(&self, current: &SessionTarget) -> Vec<StartItem> {
        let item = |label: &str, about: &str, action| StartItem {
            label: label.to_owned(),
            columns: vec![about.to_owned()],
            action,
        };
        match &self.kind {
            StartScreenKind::SetUp { info, .. } => {
                let mut items = Vec::new();
                if info.storage.is_ok() {
                    items.push(item(
                        "Log in",
                        "type or paste an API key",
                        StartAction::LogIn,
                    ));
                }
                items.extend(info.profiles.iter().map(|(name, base_url)| {
                    let target = SessionTarget::Profile(name.clone());
                    item(
                        &format!("Open {name}"),
                        base_url,
                        StartAction::OpenSession(target, OnMismatch::Ask),
                    )
                }));
                items.push(item(
                    "Look around",
                    "a sample mailbox: no key, nothing kept",
                    StartAction::OpenSession(SessionTarget::Demo, OnMismatch::Ask),
                ));
                items.push(item("Leave", "", StartAction::Quit));
                items
            }
            StartScreenKind::Profiles(choices) => {
                let choices = choices.value().into_iter().flatten();
                choices.map(|choice| choice.to_item(current)).collect()
            }
            StartScreenKind::Confirm {
                question,
                over_mail,
            } => {
                let answer = |label, on_mismatch| {
                    let target = question.target.clone();
                    item(label, "", StartAction::OpenSession(target, on_mismatch))
                };
                let leave = if *over_mail {
                    item("Stay here", "", StartAction::Close)
                } else {
                    item("Leave", "nothing is changed", StartAction::Quit)
                };
                vec![
                    answer("Same team: use this archive", OnMismatch::Adopt),
                    answer("Another team: start a new archive", OnMismatch::BackUp),
                    leave,
                ]
            }
        }
    }

    /// Whether a session is opening or a key is being verified.
    pub const fn is_pending(&self) -> bool {
        self.pending.is_pending()
    }

    /// Whether the items of the screen, or what a chosen one opens, are not known yet.
    pub const fn is_loading(&self) -> bool {
        let is_reading = matches!(&self.kind, StartScreenKind::Profiles(it) if it.is_pending());
        self.is_pending() || is_reading
    }

    /// The form, while it is open.
    pub const fn form(&self) -> Option<&LoginForm> {
        match &self.kind {
            StartScreenKind::SetUp { form, .. } => form.as_ref(),
            StartScreenKind::Profiles(_) | StartScreenKind::Confirm { .. } => None,
        }
    }

    /// Whether there is mail behind it to go back to.
    pub const fn has_mail_behind(&self) -> bool {
        match &self.kind {
            StartScreenKind::SetUp { .. } => false,
            StartScreenKind::Profiles(_) => true,
            StartScreenKind::Confirm { over_mail, .. } => *over_mail,
        }
    }
}

impl ProfileChoice {
    fn to_item(&self, current: &SessionTarget) -> StartItem {
        let (label, action) = if self.target == *current {
            (format!("{} (here)", self.name), StartAction::Close)
        } else {
            let action = StartAction::OpenSession(self.target.clone(), OnMismatch::Ask);
            (self.name.clone(), action)
        };
        StartItem {
            label,
            columns: vec![
                self.base_url.clone(),
                self.storage.clone(),
                self.key_source.clone(),
            ],
            action,
        }
    }
}

/// The most bytes of an address.
const MAX_URL_LEN: usize = 500;

/// The form of the set-up screen:
/// a key, which is not shown, and the address it belongs to.
#[derive(Debug, Clone, Default)]
pub struct LoginForm {
    pub key: SecretInput,
    base_url: Input,
    /// The line with the cursor.
    pub field: FormField,
}

/// A line of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormField {
    #[default]
    Key,
    BaseUrl,
}

impl LoginForm {
    fn new(base_url: &str) -> Self {
        Self {
            base_url: Input::new(base_url.to_owned()),
            ..Self::default()
        }
    }

    pub fn base_url(&self) -> &str {
        self.base_url.value()
    }

    /// The column of the cursor in the address, and the first visible column,
    /// at this width.
    pub fn cursor_columns(&self, width: usize) -> (usize, usize) {
        (
            self.base_url.visual_cursor(),
            self.base_url.visual_scroll(width.saturating_sub(1)),
        )
    }

    /// Moves the cursor to the other line.
    pub const fn next_field(&mut self) {
        self.field = match self.field {
            FormField::Key => FormField::BaseUrl,
            FormField::BaseUrl => FormField::Key,
        };
    }

    /// Inserts text at the cursor.
    pub fn insert(&mut self, text: &str) {
        match self.field {
            FormField::Key => self.key.push(text),
            FormField::BaseUrl => {
                let free = MAX_URL_LEN.saturating_sub(self.base_url().len());
                let allowed = |c: &char| !c.is_whitespace() && sanitize::is_safe_char(*c);
                for c in text.chars().filter(allowed).take(free) {
                    self.base_url.handle(InputRequest::InsertChar(c));
                }
            }
        }
    }

    /// Edits the line. The cursor does not move in a key, which is not shown.
    pub fn edit(&mut self, edit: InputRequest) {
        match (self.field, edit) {
            (FormField::BaseUrl, edit) => _ = self.base_url.handle(edit),
            (FormField::Key, InputRequest::DeletePrevChar) => self.key.pop(),
            (FormField::Key, InputRequest::DeletePrevWord | InputRequest::DeleteFromStart) => {
                self.key.clear();
            }
            (FormField::Key, _) => {}
        }
    }
}

impl Model {
    /// Opens the chooser of profiles, after a question if an export is running.
    pub(super) fn open_profile_chooser(&mut self) {
        if !self.ask_to_leave(Leave::SwitchProfile) {
            self.show_profiles();
        }
    }

    pub(super) fn show_profiles(&mut self) {
        let mut choices = Pending::default();
        self.outbox.push(Effect::LoadProfiles(choices.start()));
        self.start_screen = Some(StartScreen::new(StartScreenKind::Profiles(choices)));
    }

    /// Stores the profiles and selects the one that is open.
    pub(super) fn apply_profiles(
        &mut self,
        request: RequestId,
        result: Result<Vec<ProfileChoice>>,
    ) {
        let Some(screen) = &mut self.start_screen else {
            return;
        };
        let StartScreenKind::Profiles(choices) = &mut screen.kind else {
            return;
        };
        screen.error = result.as_ref().err().cloned();
        if choices.resolve(request, result) {
            let mut choices = choices.value().into_iter().flatten();
            let current = choices.position(|choice| choice.target == self.session.target);
            screen.selected = current.unwrap_or(0);
        }
    }

    /// Selects the next or the previous item of the open list,
    /// or else of the start screen.
    pub(super) fn select_item(&mut self, motion: Motion) {
        if self.is_choosing() {
            self.move_chooser(motion);
            return;
        }
        let page = usize::from(self.layout().main.height) / 2;
        let Some(screen) = &mut self.start_screen else {
            return;
        };
        let last = screen.items(&self.session.target).len().saturating_sub(1);
        screen.selected = motion.apply(screen.selected, page).min(last);
    }

    /// Runs the action of the selected item of the open list,
    /// or else of the start screen.
    pub(super) fn confirm_item(&mut self) {
        if self.is_choosing() {
            self.confirm_chooser();
            return;
        }
        let current = self.session.target.clone();
        let Some(screen) = self.idle_start_screen() else {
            return;
        };
        screen.error = None;
        let Some(item) = screen.items(&current).into_iter().nth(screen.selected) else {
            return;
        };
        match item.action {
            StartAction::LogIn => {
                self.open_form();
            }
            StartAction::OpenSession(target, on_mismatch) => {
                let request = screen.pending.start();
                self.outbox
                    .push(Effect::OpenSession(request, target, on_mismatch));
            }
            StartAction::Close => self.start_screen = None,
            StartAction::Quit => self.quit(),
        }
    }

    /// Goes back one step.
    pub(super) fn close_start_layer(&mut self) {
        let Some(screen) = &mut self.start_screen else {
            return;
        };
        if screen.is_pending() {
            screen.pending.reset();
            return;
        }
        if let StartScreenKind::SetUp { form, .. } = &mut screen.kind
            && form.take().is_some()
        {
            screen.error = None;
        } else if screen.has_mail_behind() {
            self.start_screen = None;
        }
    }

    /// Whether something of the start screen can be closed, and not only the program.
    pub(super) fn can_close_start_layer(&self) -> bool {
        let screen = self.start_screen.as_ref();
        screen.is_some_and(|screen| {
            screen.is_pending() || screen.form().is_some() || screen.has_mail_behind()
        })
    }

    /// Whether the form is open, so that keys insert text.
    pub const fn is_form_open(&self) -> bool {
        match &self.start_screen {
            Some(screen) => screen.form().is_some() && !self.is_help_open(),
            None => false,
        }
    }

    /// Opens the form of the set-up screen, so that text can be typed or pasted into
    /// it; false where there is no such screen, or where no key can be stored.
    pub(super) fn open_form(&mut self) -> bool {
        match self.start_screen.as_mut().map(|screen| &mut screen.kind) {
            Some(StartScreenKind::SetUp { info, form }) if info.storage.is_ok() => {
                form.get_or_insert_with(|| LoginForm::new(&info.base_url));
                true
            }
            _ => false,
        }
    }

    /// Changes the form, unless its key is being verified.
    pub(super) fn edit_form_with(&mut self, change: impl FnOnce(&mut LoginForm)) {
        if let Some(StartScreen {
            kind: StartScreenKind::SetUp {
                form: Some(form), ..
            },
            ..
        }) = self.idle_start_screen()
        {
            change(form);
        }
    }

    /// The start screen, unless a session is opening or a key is being verified.
    fn idle_start_screen(&mut self) -> Option<&mut StartScreen> {
        let screen = self.start_screen.as_mut();
        screen.filter(|screen| !screen.is_pending())
    }

    /// The start screen, if this is its request, which ends now.
    fn answered_start_screen(&mut self, request: RequestId) -> Option<&mut StartScreen> {
        let screen = self.start_screen.as_mut()?;
        screen.pending.finish(request).then_some(screen)
    }

    /// Requests a check of the key.
    pub(super) fn log_in(&mut self) {
        let Some(screen) = self.idle_start_screen() else {
            return;
        };
        let Some(form) = screen.form() else {
            return;
        };
        let (base_url, key) = (form.base_url().to_owned(), form.key.clone());
        if key.char_count() == 0 {
            screen.error = Some(
                Error::new(ErrorKind::KeyMissing, "no API key yet")
                    .with_hint("type or paste it; it is not shown"),
            );
            return;
        }
        screen.error = None;
        let request = screen.pending.start();
        self.outbox.push(Effect::VerifyKey {
            request,
            base_url,
            key,
        });
    }

    /// Opens the session of a valid key.
    pub(super) fn apply_key_check(&mut self, request: RequestId, result: Result<()>) {
        let Some(screen) = self.answered_start_screen(request) else {
            return;
        };
        let Some(form) = screen.form() else {
            return;
        };
        match result {
            Ok(()) => {
                let target = SessionTarget::NewKey {
                    base_url: form.base_url().to_owned(),
                    key: form.key.clone(),
                };
                let request = screen.pending.start();
                self.outbox
                    .push(Effect::OpenSession(request, target, OnMismatch::Ask));
            }
            Err(error) => screen.error = Some(error),
        }
    }

    /// Switches to the opened session, or shows its question or the error.
    pub(super) fn apply_session_opened(&mut self, request: RequestId, result: Result<OpenOutcome>) {
        let Some(screen) = self.answered_start_screen(request) else {
            return;
        };
        match result {
            Ok(OpenOutcome::Opened(info)) => self.switch_session(request, *info),
            Ok(OpenOutcome::NeedsConfirm(question)) => {
                let over_mail = screen.has_mail_behind();
                *screen = StartScreen::new(StartScreenKind::Confirm {
                    question,
                    over_mail,
                });
            }
            Err(error) => screen.error = Some(error),
        }
    }

    /// Asks over the mail what must be answered before a session opens.
    pub(super) fn ask_before_opening(&mut self, question: ConfirmDialog) {
        self.start_screen = Some(StartScreen::new(StartScreenKind::Confirm {
            question,
            over_mail: true,
        }));
    }

    /// Starts again with another session. Its effects come after the switch itself.
    pub(super) fn switch_session(&mut self, request: RequestId, mut info: SessionInfo) {
        if self.session.is_linear {
            info.make_linear();
        }
        let (mouse_off, background) = (self.mouse.is_off, self.terminal_background);
        let zone = self.other_zone.take();
        *self = Self::new(info, self.size, self.now.clone());
        (self.mouse.is_off, self.terminal_background) = (mouse_off, background);
        self.other_zone = zone;
        self.outbox.insert(0, Effect::SwitchSession(request));
    }
}
