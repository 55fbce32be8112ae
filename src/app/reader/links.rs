//! The links of the open email: what is known of each, opening and copying one.

use std::ops::Range;

use crate::app::chooser::{
    Answer, Answers, Chooser, ChooserItem, ChooserKind, MaskedPart, Question,
};
use crate::app::commands::{Command, Focus, require};
use crate::app::effect::{ClipboardText, Effect, RequestId};
use crate::app::model::Model;
use crate::render::{Body, BodyView, Link, LinkFlag};

impl Model {
    pub(in crate::app) fn link_item(
        &self,
        index: usize,
        link: &Link,
        visible: &Range<usize>,
    ) -> ChooserItem {
        let host = link.host().unwrap_or(&link.target);
        let lead = (index + 1).to_string();
        if !visible.contains(&index) {
            return ChooserItem::new(lead, host, "");
        }
        let text = shown_text(link);
        let flags = self.describe_flags(link);
        let warning = if flags.is_empty() {
            String::new()
        } else {
            format!("{flags}  ")
        };
        let detail = format!("{text}  {warning}{}", self.shown_target(link));
        ChooserItem::new(lead, host, detail)
    }

    /// Returns the URL as the screen shows it:
    /// without what makes a single-use link work.
    pub(in crate::app) fn shown_target(&self, link: &Link) -> String {
        match link.masked_target() {
            Some(masked) if self.reader.secrets.are_masked() => masked,
            _ => link.target.to_string(),
        }
    }

    /// Returns what the user should know of a link before opening it.
    pub(in crate::app) fn describe_flags(&self, link: &Link) -> String {
        let masked = || {
            link.masked_behind()
                .filter(|_| self.reader.secrets.are_masked())
        };
        let mut parts: Vec<String> = Vec::new();
        for flag in &link.flags {
            parts.push(match (flag, &link.behind) {
                (LinkFlag::Tracked, Some(behind)) => {
                    let behind = masked().unwrap_or_else(|| behind.to_string());
                    format!("click-tracked, leads to {behind}")
                }
                (LinkFlag::HostMismatch, _) => match link.named_host() {
                    Some(named) => format!("link text names {named}"),
                    None => flag.label().to_owned(),
                },
                _ => flag.label().to_owned(),
            });
        }
        if !link.is_openable() {
            parts.push("not opened by sentbox".to_owned());
        }
        parts.join(", ")
    }

    /// The possible actions for a link.
    pub(in crate::app) fn link_answers(&self, index: usize) -> Answers {
        let link = self.link(index);
        let flags = link.map(|link| self.describe_flags(&link));
        let open = ChooserItem::new("", "Open it", flags.unwrap_or_default());
        let back = ChooserItem::new("", "Back", "nothing is fetched");
        vec![
            (Answer::Yes, open),
            (Answer::Other, ChooserItem::new("", "Copy it", "")),
            (Answer::No, back),
        ]
    }

    /// Shows the links of the selected email.
    pub(in crate::app) fn open_links(&mut self) {
        self.open_chooser(ChooserKind::Links);
    }

    /// Chooses a link as Enter does in the list of links.
    pub(in crate::app) fn choose_link(&mut self, index: usize) {
        self.chooser = Some(Chooser::new(ChooserKind::Links, index));
        self.confirm_chooser();
    }

    pub(in crate::app) fn check_copy_link(&self) -> Result<(), String> {
        let is_elsewhere = self.focus_below_help() == Focus::Choice && !self.has_links_open();
        require(!is_elsewhere, "select a link to copy it")?;
        self.check_clipboard()?;
        self.check_links()
    }

    pub(in crate::app) fn has_links_open(&self) -> bool {
        let kind = self.chooser_kind().filter(|_| self.is_choosing());
        matches!(kind, Some(ChooserKind::Links | ChooserKind::Link(_)))
    }

    pub(in crate::app) fn check_links(&self) -> Result<(), String> {
        self.check_selected()?;
        match self.body() {
            None => Err(self.describe_not_loaded()),
            Some(body) if !body.links.is_empty() => Ok(()),
            Some(_) if matches!(self.reader.body_view, BodyView::Source | BodyView::Raw) => {
                let text = "this view lists no links";
                Err(self.with_hint(text, Command::ShowRendered, "shows the body with them"))
            }
            Some(_) => Err("this body has no links".to_owned()),
        }
    }

    /// Returns the laid-out body of the selected email.
    pub fn body(&self) -> Option<&Body> {
        self.reader_state().body()
    }

    pub(in crate::app) fn link(&self, index: usize) -> Option<Link> {
        self.body()?.links.get(index).cloned()
    }

    pub(in crate::app) fn return_to_links(&mut self, index: usize) {
        self.chooser = Some(Chooser::new(ChooserKind::Links, index));
    }

    pub(in crate::app) fn open_link(&mut self, index: usize) {
        self.close_chooser();
        let (Some(link), Some(program)) = (self.link(index), self.session.browser.clone()) else {
            return;
        };
        if !link.is_openable() {
            return self.notify("sentbox never opens this kind of link; it can be copied");
        }
        self.outbox.push(Effect::OpenUrl {
            request: self.url_request.start(),
            program,
            url: link.target,
        });
    }

    pub(in crate::app) fn apply_url_opened(
        &mut self,
        request: RequestId,
        result: Result<(), String>,
    ) {
        if self.url_request.finish(request) {
            self.notify(result.map_or_else(|reason| reason, |()| "opened".to_owned()));
        }
    }

    /// Copies the selected link, or the only one of the email;
    /// opens the list if there are more.
    pub(in crate::app) fn copy_chosen_link(&mut self) {
        let has_one_link = self.body().is_some_and(|body| body.links.len() == 1);
        let open = self.chooser.as_ref();
        match open.map(|chooser| (&chooser.kind, chooser.selected)) {
            Some((ChooserKind::Links, index) | (&ChooserKind::Link(index), _)) => {
                self.copy_link(index);
            }
            _ if has_one_link => self.copy_link(0),
            _ => self.open_links(),
        }
    }

    pub(in crate::app) fn copy_link(&mut self, index: usize) {
        let Some(link) = self.link(index) else {
            return;
        };
        if self.reader.secrets.are_masked() && link.masked_target().is_some() {
            return self.open_question(Question::CopyUnmasked(MaskedPart::Link(index)));
        }
        self.copy_whole_link(index);
    }

    pub(in crate::app) fn copy_whole_link(&mut self, index: usize) {
        if let Some(link) = self.link(index) {
            self.copy_text(ClipboardText {
                label: "link",
                text: link.target.to_string(),
            });
        }
    }
}

/// Returns the text of a link; a URL is left out, because its target is beside it.
fn shown_text(link: &Link) -> &str {
    match &*link.text {
        "" => "(no text)",
        text if text.contains("://") => "",
        text => text,
    }
}
