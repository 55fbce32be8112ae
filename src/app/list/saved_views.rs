//! Saved views: showing one by its number or from a list, saving the filter as one,
//! deleting one.

use super::filter::{Filter, parse_query};
use crate::app::chooser::{Chooser, ChooserKind, Question};
use crate::app::commands::{Command, require};
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::model::Model;
use crate::app::notice::NoticeKind;
use crate::app::prompt::{Prompt, PromptKind};
use crate::config::{SavedView, SavedViews, ViewWrite};
use crate::error::Result;

/// Parses the number and the name of a view, as in `3 Trouble`.
pub fn parse_numbered_name(line: &str) -> Option<(u8, &str)> {
    let line = line.trim();
    let (number, name) = line.split_once(char::is_whitespace)?;
    let number = number.parse().ok().filter(|_| number.len() == 1)?;
    (number > 0).then(|| (number, name.trim()))
}

/// The state of the file of the saved views.
#[derive(Debug, Clone, Default)]
pub struct ViewFile {
    /// The load or the write that runs.
    request: Pending<()>,
    /// The number of the view to show once the views are loaded.
    to_show: Option<u8>,
    /// Whether a view is not in the file, because that could not be written.
    has_unwritten: bool,
}

impl ViewFile {
    pub const fn is_pending(&self) -> bool {
        self.request.is_pending()
    }

    /// Whether the file has all views of this session.
    const fn can_load(&self) -> bool {
        !self.is_pending() && !self.has_unwritten
    }
}

impl Model {
    /// The saved view with the current filter.
    pub fn shown_view(&self) -> Option<(u8, &SavedView)> {
        let text = self.list.filter.text();
        self.session
            .saved_views
            .iter()
            .find(|(_, view)| !text.is_empty() && view.query.trim() == text)
            .map(|(number, view)| (*number, view))
    }

    pub(in crate::app) fn check_saved_view(&self, number: u8) -> Result<(), String> {
        if self.start_screen.is_some() {
            return Err("this list has no numbers".to_owned());
        }
        if self.session.saved_views.contains_key(&number) || self.view_file.can_load() {
            return Ok(());
        }
        Err(self.no_view_text(number))
    }

    fn no_view_text(&self, number: u8) -> String {
        let text = format!("no view has the number {number}");
        self.with_hint(&text, Command::SaveView, "saves what is shown as one")
    }

    /// Shows the view of a number; if there is none, another sentbox may have saved it.
    pub(in crate::app) fn show_saved_view(&mut self, number: u8) {
        let Some(view) = self.session.saved_views.get(&number) else {
            self.load_views(Some(number));
            return;
        };
        self.chooser = None;
        let filter = Filter::parse(&view.query, &self.now);
        self.close_reader();
        self.show_filter(filter);
    }

    /// Opens the chooser of views, with the view of the current filter selected,
    /// and loads the views that another sentbox or an editor has saved since.
    pub(in crate::app) fn open_view_chooser(&mut self) {
        let shown = self.shown_view().map_or(0, |(number, _)| number);
        self.return_to_views(shown);
        self.load_views(None);
    }

    /// Loads the views of the file, and then shows the one of a number.
    fn load_views(&mut self, number: Option<u8>) {
        self.view_file.to_show = number;
        if self.view_file.can_load() {
            self.outbox
                .push(Effect::LoadViews(self.view_file.request.start()));
        }
    }

    /// Opens the chooser of views with the view of this number selected.
    pub(in crate::app) fn return_to_views(&mut self, number: u8) {
        let mut numbers = self.session.saved_views.keys();
        let selected = numbers.position(|other| *other == number).unwrap_or(0);
        self.chooser = Some(Chooser::new(ChooserKind::SavedViews, selected));
    }

    /// Goes on with the views of the file, if there is one that can be read.
    pub(in crate::app) fn apply_views(
        &mut self,
        request: RequestId,
        result: Result<Option<SavedViews>>,
    ) {
        let chosen = self.chosen_view();
        if !self.view_file.request.finish(request) {
            return;
        }
        if let Ok(Some(views)) = result {
            self.session.saved_views = views;
            if let Some(number) = chosen {
                self.return_to_views(number);
            }
        }
        // The user may type something else by now.
        let number = self
            .view_file
            .to_show
            .take()
            .filter(|_| self.prompt.is_none());
        if let Some(number) = number {
            if self.session.saved_views.contains_key(&number) {
                self.show_saved_view(number);
            } else {
                self.notify(self.no_view_text(number));
            }
        }
    }

    /// Returns the number of the view that is selected in the list of views.
    pub(in crate::app) fn chosen_view(&self) -> Option<u8> {
        let is_views = |chooser: &&Chooser| chooser.kind == ChooserKind::SavedViews;
        let chooser = self.chooser.as_ref().filter(is_views)?;
        self.session
            .saved_views
            .keys()
            .nth(chooser.selected)
            .copied()
    }

    pub(in crate::app) fn check_delete_view(&self) -> Result<(), String> {
        let is_selected = self.is_choosing() && self.chosen_view().is_some();
        require(is_selected, "select a saved view to delete it")
    }

    pub(in crate::app) fn ask_to_delete_view(&mut self) {
        if let Some(number) = self.chosen_view() {
            self.open_question(Question::DeleteView(number));
        }
    }

    pub(in crate::app) fn delete_view(&mut self, number: u8) {
        let Some(view) = self.session.saved_views.remove(&number) else {
            return;
        };
        self.fit_chooser();
        let text = format!("deleted {} ({})", view.name, view.query);
        self.notify_as(NoticeKind::ViewChange, text);
        self.write_view(number, Some(view), None);
    }

    fn write_view(&mut self, number: u8, known: Option<SavedView>, view: Option<SavedView>) {
        self.outbox.push(Effect::SaveView {
            request: self.view_file.request.start(),
            number,
            known,
            view,
        });
    }

    pub(in crate::app) fn check_save_view(&self) -> Result<(), String> {
        if self.list.filter.text().is_empty() {
            return Err(self.with_hint(
                "only a filter can be saved as a view",
                Command::Filter,
                "filters the list",
            ));
        }
        let text = self.list.filter.text();
        let parsed = parse_query(text, &self.now, self.session.mailbox);
        match parsed.impossible_value() {
            Some(found) => Err(format!("not saved as a view: {}", found.describe(text))),
            None => Ok(()),
        }
    }

    /// Opens the prompt for the number and the name of a view.
    pub(in crate::app) fn open_save_view_prompt(&mut self) {
        let text = match self.shown_view() {
            Some((number, view)) => format!("{number} {}", view.name),
            None => (1..=9)
                .find(|number| !self.session.saved_views.contains_key(number))
                .map_or_else(String::new, |number| format!("{number} ")),
        };
        self.open_prompt(PromptKind::SaveView, text);
    }

    /// Returns the view with another query that has this number.
    pub fn replaced_view(&self, number: u8) -> Option<&SavedView> {
        let view = self.session.saved_views.get(&number);
        view.filter(|view| view.query != self.list.filter.text())
    }

    /// Saves the filter as a view;
    /// an incomplete line stays in the prompt, an empty one closes it. To replace a view with another query takes a
    /// second Enter.
    pub(in crate::app) fn save_view(&mut self, prompt: Prompt) {
        let Some((number, name)) = parse_numbered_name(prompt.text()) else {
            self.prompt = Some(prompt.reject()).filter(|prompt| !prompt.text().trim().is_empty());
            return;
        };
        if self.replaced_view(number).is_some() && !prompt.is_rejected {
            self.prompt = Some(prompt.reject());
            return;
        }
        let view = SavedView {
            name: name.to_owned(),
            query: self.list.filter.text().to_owned(),
        };
        let known = self.session.saved_views.insert(number, view.clone());
        let text = format!("{number} shows {name} from now on");
        self.notify_as(NoticeKind::ViewChange, text);
        self.write_view(number, known, Some(view));
    }

    /// Adds to the notice where the view was stored, or why not.
    pub(in crate::app) fn apply_view_saved(
        &mut self,
        request: RequestId,
        result: Result<ViewWrite>,
    ) {
        if !self.view_file.request.finish(request) {
            return;
        }
        self.view_file.has_unwritten |= result.is_err();
        let stored = match result {
            Ok(ViewWrite::Stored(file)) => format!("written to {file}"),
            Ok(ViewWrite::Conflict { number, views }) => return self.adopt_views(number, views),
            Ok(ViewWrite::NotStored) => "until you leave: nothing is kept here".to_owned(),
            Err(error) => format!("until you leave: {}", error.message),
        };
        let change = self.take_notice_of(&NoticeKind::ViewChange);
        self.notify(
            change
                .into_iter()
                .chain([stored])
                .collect::<Vec<_>>()
                .join("; "),
        );
    }

    /// Goes on with the views of the file:
    /// another sentbox has changed the one of this number.
    fn adopt_views(&mut self, number: u8, views: SavedViews) {
        let text = match views.get(&number) {
            Some(view) => format!(
                "nothing is written: {number} is {} ({}) in the file by now",
                view.name, view.query
            ),
            None => format!("nothing is written: the file has no view {number} any more"),
        };
        self.session.saved_views = views;
        self.fit_chooser();
        self.notify(text);
    }
}

#[cfg(test)]
mod tests {
    use super::parse_numbered_name;

    #[test]
    fn view_needs_number_and_name() {
        for (line, read) in [
            ("3 Trouble", Some((3, "Trouble"))),
            (" 9  Late  mail ", Some((9, "Late  mail"))),
            ("0 None", None),
            ("12 Dozen", None),
            ("3", None),
            ("3 ", None),
            ("Trouble", None),
            ("佐藤", None),
            ("", None),
        ] {
            assert_eq!(parse_numbered_name(line), read, "{line}");
        }
    }
}
