//! What each command does to the model.

use super::command::{Command, Side, Step};
use super::effect::{Effect, Effects};
use super::filter::Filter;
use super::hall::{Form, Kept};
use super::keymap::Meaning;
use super::keys::{self, Focus, Key};
use super::layout::Panes;
use super::model::{Ending, Model};
use super::prompt::{Asked, Prompt};
use super::reader::Stage;
use crate::failure::Failure;
use crate::render::BodyView;

impl Model {
    pub(super) fn press(&mut self, key: Key) -> Effects {
        self.notice = None;
        self.touched = true;
        self.freshness.note_activity(self.now.timestamp());
        if let (Some(letter), Focus::Prompt) = (key.letter(), self.focus()) {
            return self.paste(letter.encode_utf8(&mut [0; 4]));
        }
        self.pressed.push(key);
        match self.keys.meaning(self.focus(), &self.pressed) {
            Meaning::Prefix => Effects::new(),
            Meaning::Command(command) => {
                self.pressed.clear();
                self.obey(command)
            }
            Meaning::Nothing if self.focus() == Focus::Prompt => {
                self.pressed.clear();
                Effects::new()
            }
            Meaning::Nothing => {
                let pressed = keys::written(&std::mem::take(&mut self.pressed));
                let shows = self
                    .keys
                    .key_for(self.focus(), Command::Help)
                    .map(|key| format!("; {key} shows the keys"))
                    .unwrap_or_default();
                self.notice = Some(format!("{pressed} does nothing here{shows}"));
                Effects::new()
            }
        }
    }

    pub(super) fn obey(&mut self, command: Command) -> Effects {
        let height = self.list_height();
        let mut effects = Effects::new();
        match command {
            Command::Select(step) => {
                if matches!(step, Step::First | Step::Last) {
                    self.trail.leave(self.spot());
                }
                effects.extend(self.list.go(step, height));
                if step == Step::Last && self.list.filter().is_none() && self.service.has_older() {
                    self.notice = Some(
                        "the oldest email fetched so far; older ones are being fetched".to_owned(),
                    );
                } else if step == Step::Last && self.may_find_older() {
                    self.notice = Some(
                        "the oldest email found so far; below it, Enter looks further back"
                            .to_owned(),
                    );
                }
            }
            Command::Scroll(step) => self.scroll(step),
            Command::Pan(side) => {
                if !self.reader.is_wide() {
                    self.notice = Some("nothing here is wider than the screen".to_owned());
                }
                self.reader.pan_to(side);
            }
            Command::Open
                if (self.list.is_at_foot() || self.finds_nothing()) && self.resume_check() => {}
            Command::Open if self.list.is_at_foot() || self.finds_nothing() => {
                effects.extend(self.look_back());
            }
            Command::Open => {
                effects.extend(self.open());
                effects.extend(self.confirm_opened());
            }
            Command::Back => match self.peel() {
                Some(asked) => effects.extend(asked),
                None => self.ending = Some(Ending::Quit),
            },
            Command::Peel => match self.peel() {
                Some(asked) => effects.extend(asked),
                None => self.notice = Some("nothing to go back from; q leaves".to_owned()),
            },
            Command::NextEmail => effects.extend(self.step_email(Step::Down)),
            Command::PreviousEmail => effects.extend(self.step_email(Step::Up)),
            Command::SwitchPane if self.reading => {
                self.reading = false;
                self.panes.full = false;
            }
            Command::SwitchPane => effects.extend(self.open()),
            Command::FullReader => {
                self.panes.full = !self.panes.full;
                if self.panes.full {
                    effects.extend(self.open());
                }
            }
            Command::Arrange => {
                let next = self.layout().arrangement.next();
                self.panes = Panes {
                    arrangement: Some(next),
                    ..Panes::default()
                };
            }
            Command::Divide(Side::Left) => self.panes.shift = self.panes.shift.saturating_sub(2),
            Command::Divide(Side::Right) => self.panes.shift = self.panes.shift.saturating_add(2),
            Command::Mark(side) => {
                self.notice = Some(self.reader.go_to_mark(side, self.list.selected()));
            }
            Command::NextView => effects.extend(self.step_view(1)),
            Command::PreviousView => effects.extend(self.step_view(BodyView::ALL.len() - 1)),
            Command::ShowView(view) => {
                effects.extend(self.reader.show_view(view, self.list.selected()));
            }
            Command::Fold => self.reader.fold(self.list.selected()),
            Command::GoToDate => self.prompt = Some(Prompt::new(Asked::Date, "", self.spot())),
            Command::Filter => effects.push(self.begin_filter()),
            Command::Only(cell) => effects.extend(self.only(cell)),
            Command::Card => effects.extend(self.show_card()),
            Command::ShowSaved(number) => effects.extend(self.show_saved(number)),
            Command::Views => self.open_chooser(),
            Command::SaveView => self.begin_saving(),
            Command::DropView => effects.extend(self.drop_view()),
            Command::Find => self.begin_find(),
            Command::Undo => effects.extend(self.undo(Side::Left)),
            Command::Redo => effects.extend(self.undo(Side::Right)),
            Command::Place(side) => effects.extend(self.walk_places(side)),
            Command::LookBack => effects.extend(self.look_back()),
            Command::Stop => self.stop(),
            Command::Accept if self.fills_in() => effects.extend(self.log_in()),
            Command::Cancel if self.fills_in() => {
                self.peel_hall();
            }
            Command::Complete(_) if self.fills_in() => self.fill_in(Form::turn),
            Command::Edit(edit) if self.fills_in() => self.edit_form(edit),
            Command::Recall(_) if self.fills_in() => {}
            Command::Profiles => effects.push(self.choose_profile()),
            Command::Item(side) if self.chooses_view() => self.step_chooser(side),
            Command::Take if self.chooses_view() => effects.extend(self.choose()),
            Command::Item(side) => self.mark_item(side),
            Command::Take => effects.extend(self.take_item()),
            Command::Accept => effects.extend(self.accept()),
            Command::Cancel => effects.extend(self.cancel()),
            Command::Complete(side) => effects.extend(self.complete(side)),
            Command::Recall(side) => effects.extend(self.recall(side)),
            Command::Edit(edit) => effects.extend(self.edit(edit)),
            Command::Refresh => {
                effects.extend(self.service.refresh_by_hand());
                self.freshness.demand(self.now.timestamp());
                self.restart_check();
                if self.reader.has_failed() {
                    effects.extend(self.reader.read_again());
                }
                if self.list.failure().is_some() {
                    effects.extend(self.list.renew());
                }
                self.curious = self.service.is_refreshing();
                let asking = self.curious.then(|| "asking the service".to_owned());
                self.notice = self
                    .service
                    .no_service()
                    .map(|failure| failure.sentence.clone())
                    .or(asking);
            }
            Command::FullTimes => self.full_times = !self.full_times,
            Command::Mouse => {
                self.mouse = !self.mouse;
                let words = if self.mouse {
                    "the mouse moves and scrolls here"
                } else {
                    "the mouse selects text; M takes it back"
                };
                self.notice = Some(words.to_owned());
            }
            Command::Details => {
                self.details = self.failure().cloned();
                if self.details.is_none() {
                    self.notice = Some(match self.freshness.due {
                        0 => "nothing has failed".to_owned(),
                        due => {
                            format!("nothing has failed; {due} statuses are due to be read again")
                        }
                    });
                }
            }
            Command::Help => {
                self.details = None;
                self.help = if self.help.is_some() { None } else { Some(0) };
            }
            Command::Redraw => self.redraws += 1,
            Command::Suspend => self.suspensions += 1,
            Command::Quit => self.ending = Some(Ending::Quit),
        }
        effects
    }

    /// Peels one layer: help, the list of views, what is looked for in the email, the reader on the
    /// whole screen, the reader, looking back, the card, the filter. `None` if there is none.
    fn peel(&mut self) -> Option<Effects> {
        if self.details.take().is_some() || self.help.take().is_some() {
            return Some(Effects::new());
        }
        if self.hall.is_some() {
            return self.peel_hall().then(Effects::new);
        }
        if self.chooser.take().is_some()
            || (self.reading && self.reader.forget())
            || std::mem::take(&mut self.panes.full)
            || std::mem::take(&mut self.reading)
        {
            return Some(Effects::new());
        }
        if self.look_back.is_some() {
            self.stop();
            return Some(Effects::new());
        }
        if self.card.is_some() {
            return Some(self.leave_card());
        }
        (!self.list.filter().is_none()).then(|| self.show(Filter::default()))
    }

    /// Whether the filter lets nothing through of what is known.
    fn finds_nothing(&self) -> bool {
        !self.list.filter().is_none() && self.list.rows().is_empty() && !self.list.is_loading()
    }

    /// What failed last, nearest to what is looked at first.
    fn failure(&self) -> Option<&Failure> {
        let read = match self.stage() {
            Stage::Failed(failure) => Some(failure),
            Stage::Empty | Stage::Resting | Stage::Loading | Stage::Ready(..) => None,
        };
        let service = self.service.no_service().or(self.service.trouble());
        let unkept = if let Kept::NotThisTime(failure) | Kept::ReadOnly(failure) = &self.kept {
            Some(failure)
        } else {
            None
        };
        read.or(service).or(self.list.failure()).or(unkept)
    }

    pub(super) fn open(&mut self) -> Option<Effect> {
        let Some(row) = self.list.selected() else {
            self.notice = Some("there is no email to read yet".to_owned());
            self.panes.full = false;
            return None;
        };
        self.reading = true;
        let id = row.summary.id.clone();
        self.list.stay();
        self.reader.turn_to(Some(&id), true)
    }

    fn step_email(&mut self, step: Step) -> Effects {
        let height = self.list_height();
        let before = self.list.selected().map(|row| row.summary.id.clone());
        let mut effects: Effects = self.list.go(step, height).into_iter().collect();
        let after = self.list.selected().map(|row| row.summary.id.clone());
        if before == after {
            self.notice = Some(
                if step == Step::Up {
                    "this is the newest email"
                } else {
                    "this is the oldest email here"
                }
                .to_owned(),
            );
        }
        effects.extend(self.reader.turn_to(after.as_ref(), false));
        effects
    }

    fn step_view(&mut self, by: usize) -> Option<Effect> {
        let now = BodyView::ALL
            .iter()
            .position(|view| *view == self.reader.view())
            .unwrap_or(0);
        self.reader.show_view(
            BodyView::ALL[(now + by) % BodyView::ALL.len()],
            self.list.selected(),
        )
    }

    pub(super) fn scroll(&mut self, step: Step) {
        let Some(scroll) = self.help else {
            self.reader.go(step, self.list.selected());
            return;
        };
        let page = usize::from(self.size.height.max(6)) - 5;
        let moved = match step {
            Step::Down => scroll + 1,
            Step::Up => scroll.saturating_sub(1),
            Step::HalfDown => scroll + page / 2,
            Step::HalfUp => scroll.saturating_sub(page / 2),
            Step::PageDown => scroll + page,
            Step::PageUp => scroll.saturating_sub(page),
            Step::First => 0,
            Step::Last => usize::MAX,
        };
        self.help = Some(moved.min(super::help::text(&self.keys).len().saturating_sub(page)));
    }
}
