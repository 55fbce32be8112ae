//! Pictures become their words, buttons get their brackets, and what only counts openings is counted.

use url::Url;

use super::walk::{Around, Walk};
use crate::mail::clean;
use crate::render::body::{Mark, Role};
use crate::render::judge::{Display, Length, Style};
use crate::render::read::Id;

/// Longer words that stand for a picture are cut.
const MAX_WORDS: usize = 300;

/// A link that holds more than this is not looked through for pictures to the end.
const MAX_LOOKED_AT: usize = 200;

/// More letters than a button has.
const MAX_LABEL: u32 = 60;

impl Walk<'_> {
    /// Adds the words that stand for a picture.
    pub(super) fn picture(&mut self, id: Id, around: Around) {
        let style = &self.styles[id.index()];
        if self.note_tracker(id, style) || around.hidden || !style.visible {
            return;
        }
        self.note_attached(id);
        let attribute = |name: &str| {
            self.tree
                .attribute(id, name)
                .map(shown)
                .filter(|text| !text.is_empty())
        };
        let words = attribute("alt").or_else(|| self.only_label(id, around));
        let height = style.height.px(style.font, 0.0).unwrap_or(0.0);
        let mark = Mark {
            role: if around.button {
                Role::Button
            } else {
                Role::Image
            },
            link: around.link,
            ..Mark::default()
        };
        let words = words.map(|words| format!("[{words}]")).unwrap_or_default();
        if style.display == Display::Inline || style.display == Display::InlineBlock {
            self.line.picture(&words, style, mark, height);
        } else {
            self.end_line(around);
            self.line.picture(&words, style, mark, height);
            self.end_line(around);
        }
    }

    /// A link that holds nothing but pictures without words still needs something to show.
    fn only_label(&self, id: Id, around: Around) -> Option<String> {
        around.link?;
        let link = std::iter::successors(Some(id), |id| self.tree.node(*id).parent)
            .find(|id| self.tree.name(*id) == "a")?;
        let pictures = self.pictures_in(link);
        if self.survey.letters[link.index()] > 0 || pictures.first() != Some(&id) {
            return None;
        }
        if pictures.iter().any(|picture| {
            self.tree
                .attribute(*picture, "alt")
                .is_some_and(|alt| !alt.trim().is_empty())
        }) {
            return None;
        }
        let given = [
            (id, "title"),
            (link, "title"),
            (link, "aria-label"),
            (id, "aria-label"),
        ];
        let given = given.iter().find_map(|(id, name)| {
            self.tree
                .attribute(*id, name)
                .map(shown)
                .filter(|text| !text.is_empty())
        });
        given.or_else(|| {
            let target = self.tree.attribute(link, "href")?;
            let host = Url::parse(target.trim())
                .ok()?
                .host_str()
                .map(|host| host.trim_start_matches("www.").to_owned());
            Some(host.unwrap_or_else(|| "picture".to_owned()))
        })
    }

    fn pictures_in(&self, id: Id) -> Vec<Id> {
        let mut found = Vec::new();
        let mut stack = vec![id];
        for _ in 0..MAX_LOOKED_AT {
            let Some(id) = stack.pop() else { break };
            if self.tree.name(id) == "img" {
                found.push(id);
            }
            let from = stack.len();
            stack.extend(self.tree.children(id).take(64));
            stack[from..].reverse();
        }
        found
    }

    /// Whether this picture is there to be loaded, not to be seen.
    fn note_tracker(&mut self, id: Id, style: &Style) -> bool {
        let tiny = |length: Length, name: &str| {
            let said = self
                .tree
                .attribute(id, name)
                .and_then(|text| text.trim().trim_end_matches("px").parse::<f32>().ok());
            said.is_some_and(|px| px <= 2.0) || matches!(length, Length::Px(px) if px <= 1.0)
        };
        if !tiny(style.width, "width") && !tiny(style.height, "height") {
            return false;
        }
        let both = tiny(style.width, "width") && tiny(style.height, "height");
        if both {
            self.count_tracker(id);
        }
        true
    }

    /// A picture that is not shown at all can only be there to be loaded.
    pub(super) fn note_hidden_picture(&mut self, id: Id) {
        if self.tree.name(id) == "img" {
            self.count_tracker(id);
        }
    }

    fn count_tracker(&mut self, id: Id) {
        let source = self.tree.attribute(id, "src").unwrap_or_default();
        let host = Url::parse(source.get(..source.len().min(2048)).unwrap_or_default()).ok();
        if let Some(host) = host
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .and_then(|url| url.host_str().map(str::to_owned))
        {
            self.rebuilt.trackers.push(clean::line(&host).into_owned());
        }
    }

    fn note_attached(&mut self, id: Id) {
        let Some(name) = self
            .tree
            .attribute(id, "src")
            .and_then(|source| source.trim().strip_prefix("cid:"))
        else {
            return;
        };
        let name = shown(name);
        if self.rebuilt.attached.len() < 100 && !self.rebuilt.attached.contains(&name) {
            self.rebuilt.attached.push(name);
        }
    }

    /// Whether a link is drawn as a button: it, or a box that holds nothing else, stands out.
    pub(super) fn is_button(&self, id: Id, style: &Style, around: Around) -> bool {
        let letters = self.survey.letters[id.index()];
        if letters == 0 || letters > MAX_LABEL || self.survey.blocks[id.index()] {
            return false;
        }
        let stands_out = |style: &Style, ground| {
            let filled = style
                .background
                .is_some_and(|colour| colour.alpha > 0.3 && colour.distance(ground) > 30)
                || style.picture;
            let framed = style.border_on.iter().all(|on| *on) && style.border[0] >= 1.0;
            let padded = style.inset(3, around.width) >= 5.0 || style.inset(0, around.width) >= 5.0;
            (filled || framed) && (padded || style.display != Display::Inline)
        };
        let mut at = id;
        let mut style = *style;
        for _ in 0..4 {
            let Some(parent) = self.tree.node(at).parent else {
                return false;
            };
            let ground = self.ground_of(parent);
            if stands_out(&style, ground) {
                return true;
            }
            if self.survey.letters[parent.index()] != letters {
                return false;
            }
            at = parent;
            style = self.styles[at.index()];
        }
        false
    }

    /// The colour behind an element.
    fn ground_of(&self, id: Id) -> crate::render::judge::Colour {
        std::iter::successors(Some(id), |id| self.tree.node(*id).parent)
            .take(64)
            .find_map(|id| {
                self.styles[id.index()]
                    .background
                    .filter(|colour| colour.alpha > 0.5)
            })
            .unwrap_or(crate::render::judge::Colour::WHITE)
    }

    /// Buttons of forms show their label; everything else that can be filled in is empty.
    pub(super) fn input(&mut self, id: Id, around: Around) {
        let kind = self
            .tree
            .attribute(id, "type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let label = self
            .tree
            .attribute(id, "value")
            .map(shown)
            .filter(|text| !text.is_empty());
        if let (Some(label), "submit" | "button" | "reset", false) = (label, &*kind, around.hidden)
        {
            let style = &self.styles[id.index()];
            let mark = Mark {
                role: Role::Button,
                ..Mark::default()
            };
            self.line
                .picture(&format!("[ {label} ]"), style, mark, style.line());
        }
    }
}

/// Words from an attribute, on one line.
fn shown(text: &str) -> String {
    let clean = clean::block(text.get(..text.len().min(8 * 1024)).unwrap_or_default()).into_owned();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
