//! The keys that the hint line names:
//! those of the focused part, or those that may follow a prefix.
//!
//! Commands that are impossible now, or have no key in this focus, are left out. `view/bars.rs`
//! draws the others, as many as fit.

use super::Command::{
    self, Accept, Attachments, Back, Cancel, ClearMarks, CloseLayer, Confirm, CopyCard, CopyItem,
    CycleLayout, DeleteView, Export, FetchBodies, Filter, Find, FullReader, FullTimes, Links,
    LoadOlder, Mark, MarkAll, MarkRange, NextBodyView, NextEmail, NextItem, NextMatch, NextRow,
    Oldest, Open, PanRight, PreviousEmail, RecipientSummary, Refresh, Reveal, SaveEmail, SaveView,
    SavedViews, ScrollDown, SwitchPane, Undo, Watch,
};
use super::Focus;
use crate::app::chooser::ChooserKind;
use crate::app::dispatch::Layer;
use crate::app::model::Model;
use crate::render::BodyView;

const LIST: &[Command] = &[
    Open,
    Filter,
    RecipientSummary,
    LoadOlder,
    SavedViews,
    NextRow,
    Oldest,
    Refresh,
    FullReader,
    NextBodyView,
    SwitchPane,
    CycleLayout,
    FullTimes,
    // Last: a hint for some rows only would move the others while browsing.
    Watch,
];
const FILTERED_LIST: &[Command] = &[
    Open,
    CloseLayer,
    LoadOlder,
    FetchBodies,
    Filter,
    RecipientSummary,
    SaveView,
    Undo,
    NextRow,
    Oldest,
    FullReader,
    SwitchPane,
];
const MARKING: &[Command] = &[
    Export, Mark, MarkRange, MarkAll, ClearMarks, Open, Filter, CloseLayer, NextRow,
];
const NO_RESULTS: &[Command] = &[CloseLayer, LoadOlder, FetchBodies, Filter, Undo];
const EMPTY_LIST: &[Command] = &[Refresh, Back];
const RECIPIENT_LIST: &[Command] = &[
    Open,
    Back,
    LoadOlder,
    RecipientSummary,
    Filter,
    SaveView,
    CopyCard,
    NextRow,
    SwitchPane,
];
const READER: &[Command] = &[
    Back,
    NextEmail,
    Reveal,
    NextBodyView,
    Find,
    Links,
    Attachments,
    SaveEmail,
    PreviousEmail,
    RecipientSummary,
    ScrollDown,
    FullReader,
    SwitchPane,
];
const FINDING: &[Command] = &[NextMatch, Back, Find, ScrollDown, NextEmail];
const WIDE_READER: &[Command] = &[Back, PanRight, NextEmail, ScrollDown, NextBodyView];
const DETAILS: &[Command] = &[Back];
const PROMPT: &[Command] = &[Accept, Cancel];
const CHOICE: &[Command] = &[Confirm, NextItem, Back];
const CHOOSER: &[Command] = &[Confirm, Back, NextItem, DeleteView, Watch, CopyItem];

impl Model {
    /// The keys that may follow the pressed ones, with what they do.
    pub fn continuations(&self) -> Vec<(String, &'static str)> {
        let keymap = &self.session.keymap;
        let next = keymap.continuations(self.focus(), &self.pending_keys);
        next.into_iter()
            .map(|(key, command)| (key, command.spec().hint))
            .collect()
    }

    /// `text; KEY does`, with the key in the list.
    pub fn with_list_hint(&self, text: &str, command: Command, does: &str) -> String {
        let keymap = &self.session.keymap;
        keymap.with_hint(text, Focus::List, command, does)
    }

    /// `KEY does; KEY does`, with the keys in the list.
    pub fn list_hints(&self, commands: &[(Command, &str)]) -> String {
        self.session.keymap.hints(Focus::List, commands)
    }

    /// The keys for the hint line with their commands and what they do,
    /// most important first, the key of the help last.
    pub fn key_hints(&self) -> Vec<(String, Command, &'static str)> {
        let focus = self.focus();
        let filtered = !self.list.filter.is_empty();
        let empty = self.list.rows().is_empty();
        let is_masked =
            self.reader.secrets.are_masked() && self.body().is_some_and(|body| body.has_secrets);
        let is_whole = matches!(self.reader.body_view, BodyView::Source | BodyView::Raw);
        let commands = match focus {
            Focus::List if self.marks.has_range() || !self.marks.is_empty() => MARKING,
            Focus::List if self.recipient_card.is_shown() => RECIPIENT_LIST,
            Focus::List if filtered && empty => NO_RESULTS,
            Focus::List if filtered => FILTERED_LIST,
            Focus::List if empty => EMPTY_LIST,
            Focus::List => LIST,
            Focus::Reader if self.reader.find_text().is_some() => FINDING,
            Focus::Reader if self.reader.overflow() > 0 => WIDE_READER,
            Focus::Reader => READER,
            Focus::Details => DETAILS,
            Focus::Prompt => PROMPT,
            Focus::Choice if self.is_choosing() => CHOOSER,
            Focus::Choice => CHOICE,
        };
        let has_attachments = !self.reader.attachments().is_empty();
        let layer = self.innermost_layer();
        let has_items = !self.is_choosing() || self.has_chooser_items();
        let possible = |command: &&Command| {
            (command.spec().possible)(self).is_ok()
                && (has_attachments || **command != Attachments)
                && (is_masked || **command != Reveal)
                && (layer.is_some() || **command != CloseLayer)
                // In the links, Enter offers it.
                && (**command != CopyItem || self.has_statistics_open())
                && (has_items || !matches!(**command, Confirm | CopyItem | NextItem))
        };
        let hint = |command: Command| match (command, layer) {
            (Back, None) => "quit",
            (Back, _) if self.asks_to_quit() => "quit",
            (CloseLayer, Some(Layer::MarkRange)) => "end range",
            (Back | CloseLayer, Some(Layer::OlderSearch)) => "stop",
            (CloseLayer, Some(Layer::RecipientCard | Layer::Filter))
                if self.is_from_statistics() =>
            {
                "statistics"
            }
            (CloseLayer, Some(Layer::RecipientCard)) => "back",
            (CopyCard, _) => "copy card",
            (RecipientSummary, _) if self.is_received() => "sent to sender",
            (Watch, Some(Layer::Chooser)) => "stop watching",
            (Confirm, _) => match self.chooser_kind() {
                Some(ChooserKind::Statistics) => "filter",
                Some(ChooserKind::Links) if self.session.browser.is_none() => "copy",
                Some(ChooserKind::Links) => "open or copy",
                _ => command.spec().hint,
            },
            (command, _) => command.spec().hint,
        };
        // A view in which secrets cannot be masked in parts is hidden until that key.
        let is_hidden = focus == Focus::Reader && is_masked && is_whole;
        let first: &[Command] = if is_hidden { &[Reveal] } else { &[] };
        let others = commands.iter().filter(|command| !first.contains(command));
        first
            .iter()
            .chain(others)
            .chain(&[Command::Help])
            .filter(possible)
            .filter_map(|command| {
                let key = self.session.keymap.key_for(focus, *command)?;
                Some((key, *command, hint(*command)))
            })
            .collect()
    }
}
