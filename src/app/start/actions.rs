//! The commands of the start screens.

use super::{
    ConfirmAnswer, ConfirmDialog, LoginForm, OpenOutcome, ProfileChoice, SessionTarget,
    StartAction, StartScreen, StartScreenKind,
};
use crate::app::commands::Direction;
use crate::app::effect::{Effect, ExitReason, LoopEffect};
use crate::app::model::Model;
use crate::app::pending::{Pending, RequestId};
use crate::error::{Error, ErrorKind};

impl Model {
    /// Opens the chooser of profiles.
    pub(in crate::app) fn open_profile_chooser(&mut self) {
        let mut choices = Pending::default();
        self.outbox.push(Effect::LoadProfiles(choices.start()));
        self.start_screen = Some(StartScreen::new(StartScreenKind::Profiles(choices)));
    }

    /// Stores the profiles and selects the one that is open.
    pub(in crate::app) fn apply_profiles(
        &mut self,
        request: RequestId,
        result: Result<Vec<ProfileChoice>, Error>,
    ) {
        let Some(hall) = &mut self.start_screen else {
            return;
        };
        let StartScreenKind::Profiles(choices) = &mut hall.kind else {
            return;
        };
        hall.error = result.as_ref().err().cloned();
        if choices.resolve(request, result) {
            let here = choices.value().and_then(|choices| {
                choices
                    .iter()
                    .position(|choice| choice.target == self.target)
            });
            hall.selected = here.unwrap_or(0);
        }
    }

    /// Selects the next or the previous item.
    pub(in crate::app) fn move_choice(&mut self, side: Direction) {
        if self.is_choosing_view() {
            self.move_view_choice(side);
            return;
        }
        let Some(hall) = &mut self.start_screen else {
            return;
        };
        let last = hall.items(&self.target).len().saturating_sub(1);
        hall.selected = match side {
            Direction::Left => hall.selected.saturating_sub(1),
            Direction::Right => (hall.selected + 1).min(last),
        };
    }

    /// Runs the action of the selected item.
    pub(in crate::app) fn confirm_choice(&mut self) {
        if self.is_choosing_view() {
            self.confirm_view();
            return;
        }
        let Some(hall) = self.start_screen.as_mut().filter(|hall| !hall.is_pending()) else {
            return;
        };
        hall.error = None;
        let Some(item) = hall.items(&self.target).into_iter().nth(hall.selected) else {
            return;
        };
        match item.action {
            StartAction::LogIn => {
                if let StartScreenKind::SetUp { welcome, form } = &mut hall.kind {
                    *form = Some(LoginForm::new(&welcome.base_url));
                }
            }
            StartAction::OpenSession(target, answer) => {
                self.outbox.push(Effect::OpenSession {
                    request: hall.pending.start(),
                    target,
                    answer,
                });
            }
            StartAction::Close => self.start_screen = None,
            StartAction::Quit => self.emit(LoopEffect::Exit(ExitReason::Quit)),
        }
    }

    /// Goes back one step; false if there is none.
    pub(in crate::app) fn close_start_layer(&mut self) -> bool {
        let Some(hall) = &mut self.start_screen else {
            return false;
        };
        if hall.is_pending() {
            hall.pending.reset();
            return true;
        }
        if let StartScreenKind::SetUp { form, .. } = &mut hall.kind
            && form.take().is_some()
        {
            hall.error = None;
            return true;
        }
        let over_mail = hall.has_mail_behind();
        if over_mail {
            self.start_screen = None;
        }
        over_mail
    }

    /// Whether the form is being filled in, so that letters are letters.
    pub const fn is_form_open(&self) -> bool {
        match &self.start_screen {
            Some(hall) => hall.form().is_some(),
            None => false,
        }
    }

    /// Changes the form, unless its key is being tried.
    pub(in crate::app) fn edit_form_with(&mut self, change: impl FnOnce(&mut LoginForm)) {
        let Some(hall) = self.start_screen.as_mut().filter(|hall| !hall.is_pending()) else {
            return;
        };
        if let StartScreenKind::SetUp {
            form: Some(form), ..
        } = &mut hall.kind
        {
            change(form);
        }
    }

    /// Requests a check of the key.
    pub(in crate::app) fn log_in(&mut self) {
        let Some(hall) = self.start_screen.as_mut().filter(|hall| !hall.is_pending()) else {
            return;
        };
        let Some(form) = hall.form() else {
            return;
        };
        let (base_url, key) = (form.base_url().to_owned(), form.key().clone());
        if key.char_count() == 0 {
            hall.error = Some(
                Error::new(ErrorKind::KeyMissing, "no API key yet")
                    .with_hint("type or paste it; it is not shown"),
            );
            return;
        }
        hall.error = None;
        self.outbox.push(Effect::VerifyKey {
            request: hall.pending.start(),
            base_url,
            key,
        });
    }

    /// Opens the session of a valid key.
    pub(in crate::app) fn apply_key_check(
        &mut self,
        request: RequestId,
        result: Result<(), Error>,
    ) {
        let Some(hall) = &mut self.start_screen else {
            return;
        };
        if !hall.pending.resolve(request, Ok(())) {
            return;
        }
        let Some(form) = hall.form() else {
            return;
        };
        match result {
            Ok(()) => {
                let target = SessionTarget::NewKey {
                    base_url: form.base_url().to_owned(),
                    key: form.key().clone(),
                };
                self.outbox.push(Effect::OpenSession {
                    request: hall.pending.start(),
                    target,
                    answer: ConfirmAnswer::None,
                });
            }
            Err(error) => hall.error = Some(error),
        }
    }

    /// Switches to the session, shows its question, or the error.
    pub(in crate::app) fn apply_session_opened(
        &mut self,
        request: RequestId,
        result: Result<OpenOutcome, Error>,
    ) {
        let Some(hall) = &mut self.start_screen else {
            return;
        };
        if !hall.pending.resolve(request, Ok(())) {
            return;
        }
        match result {
            Ok(OpenOutcome::Opened) => self.emit(LoopEffect::SwitchSession),
            Ok(OpenOutcome::NeedsConfirm(question)) => self.show_confirm_dialog(question),
            Err(failure) => hall.error = Some(failure),
        }
    }

    fn show_confirm_dialog(&mut self, question: ConfirmDialog) {
        let over_mail = self
            .start_screen
            .as_ref()
            .is_some_and(StartScreen::has_mail_behind);
        self.start_screen = Some(StartScreen::new(StartScreenKind::Confirm {
            question,
            over_mail,
        }));
    }
}
