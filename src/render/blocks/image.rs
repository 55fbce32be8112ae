//! Pictures become their words, buttons get their brackets, and what only counts openings is counted.

use url::Url;

use super::builder::{BlockBuilder, LayoutContext};
use crate::render::body::{SpanRole, SpanStyle};
use crate::render::css::{ComputedStyle, Display, Length};
use crate::render::html::NodeId;
use crate::text::sanitize;

/// Longer words that stand for a picture are cut.
const MAX_ALT_CHARS: usize = 300;

/// A link that holds more than this is not looked through for pictures to the end.
const MAX_VISITED: usize = 200;

/// More letters than a button has.
const MAX_BUTTON_LETTERS: u32 = 60;

impl BlockBuilder<'_> {
    /// Adds the words that stand for a picture.
    pub(super) fn layout_image(&mut self, id: NodeId, around: LayoutContext) {
        let style = &self.styles[id.index()];
        if self.skip_tracking_pixel(id, style) || around.hidden || !style.visible {
            return;
        }
        self.record_attachment(id);
        let attribute = |name: &str| {
            self.dom
                .attribute(id, name)
                .map(attribute_text)
                .filter(|text| !text.is_empty())
        };
        let words = attribute("alt").or_else(|| self.image_link_label(id, around));
        let height = style.height.to_px(style.font_size, 0.0).unwrap_or(0.0);
        let mark = SpanStyle {
            role: if around.button {
                SpanRole::Button
            } else {
                SpanRole::Image
            },
            link: around.link,
            ..SpanStyle::default()
        };
        let words = words.map(|words| format!("[{words}]")).unwrap_or_default();
        if style.display == Display::Inline || style.display == Display::InlineBlock {
            self.line.push_image(&words, style, mark, height);
        } else {
            self.end_line(around);
            self.line.push_image(&words, style, mark, height);
            self.end_line(around);
        }
    }

    /// A link that holds nothing but pictures without words still needs something to show.
    fn image_link_label(&self, id: NodeId, around: LayoutContext) -> Option<String> {
        around.link?;
        let link = std::iter::successors(Some(id), |id| self.dom.node(*id).parent)
            .find(|id| self.dom.tag_name(*id) == "a")?;
        let pictures = self.images_in(link);
        if self.info.letter_counts[link.index()] > 0 || pictures.first() != Some(&id) {
            return None;
        }
        if pictures.iter().any(|picture| {
            self.dom
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
            self.dom
                .attribute(*id, name)
                .map(attribute_text)
                .filter(|text| !text.is_empty())
        });
        given.or_else(|| {
            let target = self.dom.attribute(link, "href")?;
            let host = Url::parse(target.trim())
                .ok()?
                .host_str()
                .map(|host| host.trim_start_matches("www.").to_owned());
            Some(host.unwrap_or_else(|| "picture".to_owned()))
        })
    }

    fn images_in(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut stack = vec![id];
        for _ in 0..MAX_VISITED {
            let Some(id) = stack.pop() else { break };
            if self.dom.tag_name(id) == "img" {
                found.push(id);
            }
            let from = stack.len();
            stack.extend(self.dom.children(id).take(64));
            stack[from..].reverse();
        }
        found
    }

    /// Whether this picture is there to be loaded, not to be seen.
    fn skip_tracking_pixel(&mut self, id: NodeId, style: &ComputedStyle) -> bool {
        let tiny = |length: Length, name: &str| {
            let said = self
                .dom
                .attribute(id, name)
                .and_then(|text| text.trim().trim_end_matches("px").parse::<f32>().ok());
            said.is_some_and(|px| px <= 2.0) || matches!(length, Length::Px(px) if px <= 1.0)
        };
        if !tiny(style.width, "width") && !tiny(style.height, "height") {
            return false;
        }
        let both = tiny(style.width, "width") && tiny(style.height, "height");
        if both {
            self.record_tracker(id);
        }
        true
    }

    /// A picture that is not shown at all can only be there to be loaded.
    pub(super) fn record_hidden_image(&mut self, id: NodeId) {
        if self.dom.tag_name(id) == "img" {
            self.record_tracker(id);
        }
    }

    fn record_tracker(&mut self, id: NodeId) {
        let source = self.dom.attribute(id, "src").unwrap_or_default();
        let host = Url::parse(source.get(..source.len().min(2048)).unwrap_or_default()).ok();
        if let Some(host) = host
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .and_then(|url| url.host_str().map(str::to_owned))
        {
            self.output
                .trackers
                .push(sanitize::sanitize_line(&host).into_owned());
        }
    }

    fn record_attachment(&mut self, id: NodeId) {
        let Some(name) = self
            .dom
            .attribute(id, "src")
            .and_then(|source| source.trim().strip_prefix("cid:"))
        else {
            return;
        };
        let name = attribute_text(name);
        if self.output.attachments.len() < 100 && !self.output.attachments.contains(&name) {
            self.output.attachments.push(name);
        }
    }

    /// Whether a link is drawn as a button: it, or a box that holds nothing else, stands out.
    pub(super) fn is_button(
        &self,
        id: NodeId,
        style: &ComputedStyle,
        around: LayoutContext,
    ) -> bool {
        let letters = self.info.letter_counts[id.index()];
        if letters == 0 || letters > MAX_BUTTON_LETTERS || self.info.contains_block[id.index()] {
            return false;
        }
        let stands_out = |style: &ComputedStyle, ground| {
            let filled = style
                .background
                .is_some_and(|colour| colour.alpha > 0.3 && colour.distance(ground) > 30)
                || style.background_image;
            let framed = style.border_visible.iter().all(|on| *on) && style.border_width[0] >= 1.0;
            let padded = style.padding_and_border(3, around.available_width) >= 5.0
                || style.padding_and_border(0, around.available_width) >= 5.0;
            (filled || framed) && (padded || style.display != Display::Inline)
        };
        let mut at = id;
        let mut style = *style;
        for _ in 0..4 {
            let Some(parent) = self.dom.node(at).parent else {
                return false;
            };
            let ground = self.background_of(parent);
            if stands_out(&style, ground) {
                return true;
            }
            if self.info.letter_counts[parent.index()] != letters {
                return false;
            }
            at = parent;
            style = self.styles[at.index()];
        }
        false
    }

    /// The colour behind an element.
    fn background_of(&self, id: NodeId) -> crate::render::css::Rgba {
        std::iter::successors(Some(id), |id| self.dom.node(*id).parent)
            .take(64)
            .find_map(|id| {
                self.styles[id.index()]
                    .background
                    .filter(|colour| colour.alpha > 0.5)
            })
            .unwrap_or(crate::render::css::Rgba::WHITE)
    }

    /// Buttons of forms show their label; everything else that can be filled in is empty.
    pub(super) fn layout_input(&mut self, id: NodeId, around: LayoutContext) {
        let kind = self
            .dom
            .attribute(id, "type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let label = self
            .dom
            .attribute(id, "value")
            .map(attribute_text)
            .filter(|text| !text.is_empty());
        if let (Some(label), "submit" | "button" | "reset", false) = (label, &*kind, around.hidden)
        {
            let style = &self.styles[id.index()];
            let mark = SpanStyle {
                role: SpanRole::Button,
                ..SpanStyle::default()
            };
            self.line
                .push_image(&format!("[ {label} ]"), style, mark, style.line_height_px());
        }
    }
}

/// Words from an attribute, on one line.
fn attribute_text(text: &str) -> String {
    let clean = sanitize::sanitize_block(text.get(..text.len().min(8 * 1024)).unwrap_or_default())
        .into_owned();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_ALT_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
