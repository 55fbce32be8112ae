//! Images become their alternative text; attachments and trackers are detected.

use std::collections::HashSet;

use url::Url;

use super::builder::BlockBuilder;
use super::context::{LayoutContext, is_invisible_text};
use super::element_info::TINY_FONT_PX;
use super::inline::HostRun;
use super::visibility::is_hidden_box;
use super::{Block, BlockKind};
use crate::render::body::{BodySpan, SpanRole, SpanStyle, push_span};
use crate::render::css::{ComputedStyle, Display, Length};
use crate::render::html::{Dom, NodeId};
use crate::render::links;
use crate::text::format::{excerpt, is_listed};
use crate::text::sanitize;

/// Longer alternative text is cut.
const MAX_ALT_CHARS: usize = 300;

/// Smaller images without a text, by width and height, are icons and spacers.
const MIN_PICTURE_PX: [f32; 2] = [100.0, 50.0];

/// The types of `<input>` that do not show their value.
const TEXTLESS_INPUTS: &str = "checkbox radio file image color range password hidden";

/// Nodes of a link that are searched for images.
const MAX_SEARCHED_NODES: usize = 200;

/// Returns the targets of links that have a text, or an image with a text.
pub(super) fn named_targets(dom: &Dom, letter_counts: &[u32]) -> HashSet<String> {
    let named = dom.nodes().filter_map(|id| match dom.tag_name(id) {
        "a" if letter_counts[id.index()] > 0 => Some(id),
        "img" if has_alt(dom, id) => link_around(dom, id),
        _ => None,
    });
    named
        .filter_map(|id| dom.attribute(id, "href"))
        .map(links::normalize_target)
        .collect()
}

pub(super) fn has_alt(dom: &Dom, image: NodeId) -> bool {
    let alt = dom.attribute(image, "alt");
    alt.is_some_and(|alt| !alt.trim().is_empty())
}

fn link_around(dom: &Dom, image: NodeId) -> Option<NodeId> {
    dom.ancestors(image).find(|id| dom.tag_name(*id) == "a")
}

impl BlockBuilder<'_> {
    /// Adds the alternative text of an image.
    pub(super) fn layout_image(&mut self, id: NodeId, context: LayoutContext) {
        let style = &self.styles[id];
        if self.skip_tracking_pixel(id) || context.hidden || context.indented_away || !style.visible
        {
            return;
        }
        self.record_attachment(id);
        let text = self
            .attribute_text(id, "alt")
            .or_else(|| self.image_link_label(id, context))
            .or_else(|| self.picture_label(id, context));
        let height = style.px(style.height, 0.0).unwrap_or(0.0);
        let mut span_style = image_style(context.link);
        if context.button.is_some() {
            span_style.role = SpanRole::Button;
        }
        let text = text.map(|text| format!("[{text}]")).unwrap_or_default();
        let is_inline = matches!(style.display, Display::Inline | Display::InlineBlock);
        if !is_inline {
            self.end_line(context);
        }
        self.push_image(id, &text, span_style, height);
        if !is_inline {
            self.end_line(context);
        }
    }

    /// Returns the title of an image without `alt`, or a word for a picture.
    fn picture_label(&self, id: NodeId, context: LayoutContext) -> Option<String> {
        let style = &self.styles[id];
        if context.link.is_some() || self.dom.attribute(id, "alt").is_some() {
            return None;
        }
        let px = |length| style.px(length, context.available_width).unwrap_or(0.0);
        let is_large =
            px(style.width) >= MIN_PICTURE_PX[0] && px(style.height) >= MIN_PICTURE_PX[1];
        // The slices of one picture follow each other.
        let block = self.output.blocks.last().and_then(Block::as_paragraph);
        let last = self
            .line
            .last_run()
            .or(block.and_then(|line| line.runs.last()));
        let is_slice = last.is_some_and(|run| {
            run.style.role == SpanRole::Image && run.style.link.is_none() && run.text == "[image]"
        });
        self.attribute_text(id, "title")
            .or_else(|| (is_large && !is_slice).then(|| "image".to_owned()))
    }

    /// Adds the label of an area of an image map, which is a link.
    pub(super) fn layout_area(&mut self, id: NodeId, mut context: LayoutContext) {
        let label = ["alt", "title"]
            .iter()
            .find_map(|name| self.attribute_text(id, name));
        let outer_link = context.link;
        self.register_link(id, &mut context);
        if let (Some(label), false) = (label, context.hidden || context.link == outer_link) {
            self.push_link_label(id, &label, context);
        }
    }

    fn push_link_label(&mut self, id: NodeId, label: &str, context: LayoutContext) {
        self.push_image(id, &format!("[{label}]"), image_style(context.link), 0.0);
    }

    fn push_image(&mut self, id: NodeId, text: &str, style: SpanStyle, height: f32) {
        self.piece_count += usize::from(!text.is_empty());
        self.line.push_image(text, &self.styles[id], style, height);
    }

    /// Adds the label of a link that shows a picture in place of its text,
    /// as icons of networks do; false for other links, and for one without a label.
    pub(super) fn layout_icon_link(&mut self, id: NodeId, context: LayoutContext) -> bool {
        let style = &self.styles[id];
        let is_icon = style.background_image
            && style.visible
            && !context.hidden
            && context.link.is_some()
            && (is_invisible_text(style, &context) || style.font_size <= TINY_FONT_PX);
        if !is_icon {
            return false;
        }
        let text = clean_attribute(&self.inner_text(id, MAX_ALT_CHARS));
        let title = self.attribute_text(id, "title");
        let label = title.or((!text.is_empty()).then_some(text));
        if let Some(label) = &label {
            self.push_link_label(id, label, context);
        }
        label.is_some()
    }

    /// Returns a text for the first image of a link that has only images without text.
    fn image_link_label(&mut self, id: NodeId, context: LayoutContext) -> Option<String> {
        let number = context.link?;
        let link = link_around(self.dom, id)?;
        let images = self.images_in(link);
        if self.info.letter_counts[link.index()] > 0
            || images.first() != Some(&id)
            || images.iter().any(|image| has_alt(self.dom, *image))
        {
            return None;
        }
        let title = |of: NodeId| self.attribute_text(of, "title");
        let aria_label = |of: NodeId| self.attribute_text(of, "aria-label");
        let label = title(id).or_else(|| title(link));
        let label = label.or_else(|| aria_label(link).or_else(|| aria_label(id)));
        if label.is_some() {
            return label;
        }
        let target = links::normalize_target(self.dom.attribute(link, "href")?);
        let url = Url::parse(&target).ok()?;
        if !self.named_targets.insert(target) {
            return None;
        }
        let host = url.host_str().unwrap_or("picture");
        self.host_label(host.trim_start_matches("www."), number)
    }

    /// Returns the host as a label, or a number behind a link with this label.
    fn host_label(&mut self, host: &str, link: u16) -> Option<String> {
        let is_label = |run: &BodySpan, link: u16| run.style == image_style(Some(link));
        let run = self.host_run.take().filter(|run| run.host == host);
        let in_line = self.line.last_run();
        let in_block = match self.output.blocks.last_mut() {
            Some(Block {
                kind: BlockKind::Paragraph(paragraph),
                ..
            }) if in_line.is_none() => Some(&mut paragraph.runs),
            _ => None,
        };
        let last = in_line.or(in_block.as_ref().and_then(|runs| runs.last()));
        let before = run.filter(|run| last.is_some_and(|last| is_label(last, run.link)));
        let count = before.map_or(1, |run| run.count + 1);
        self.host_run = Some(HostRun {
            host: host.to_owned(),
            count,
            link,
        });
        if count == 1 {
            return Some(host.to_owned());
        }
        let Some(runs) = in_block else {
            return Some(count.to_string());
        };
        push_span(runs, " ", SpanStyle::default());
        push_span(runs, &format!("[{count}]"), image_style(Some(link)));
        None
    }

    pub(super) fn images_in(&self, id: NodeId) -> Vec<NodeId> {
        let nodes = self.nodes_inside(id);
        nodes.filter(|id| self.dom.tag_name(*id) == "img").collect()
    }

    /// Returns the text inside an element, of each node the first characters.
    pub(super) fn inner_text(&self, id: NodeId, max_chars: usize) -> String {
        let texts = self.nodes_inside(id).filter_map(|id| self.dom.text(id));
        texts
            .flat_map(|text| text.chars().take(max_chars))
            .collect()
    }

    /// Returns an element and the first nodes inside it, in document order.
    pub(super) fn nodes_inside(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let mut stack = vec![id];
        let nodes = std::iter::from_fn(move || {
            let id = stack.pop()?;
            let from = stack.len();
            stack.extend(self.dom.children(id).take(64));
            stack[from..].reverse();
            Some(id)
        });
        nodes.take(MAX_SEARCHED_NODES)
    }

    /// Skips an image of a pixel or two; if both sides are tiny, it is a tracker.
    fn skip_tracking_pixel(&mut self, id: NodeId) -> bool {
        let style = &self.styles[id];
        let tiny = |length: Length, name: &str| {
            let attribute = self.dom.attribute(id, name).unwrap_or_default();
            let px = attribute.trim().trim_end_matches("px").parse::<f32>();
            px.is_ok_and(|px| px <= 2.0) || matches!(length, Length::Px(px) if px <= 1.0)
        };
        let (thin, flat) = (tiny(style.width, "width"), tiny(style.height, "height"));
        if thin && flat {
            self.record_tracker(id);
        }
        thin || flat
    }

    /// Adds the host of a tracking image to the trackers.
    pub(super) fn record_tracker(&mut self, id: NodeId) {
        let source = self.dom.attribute(id, "src").unwrap_or_default();
        let Ok(url) = Url::parse(&source[..source.floor_char_boundary(2048)]) else {
            return;
        };
        if matches!(url.scheme(), "http" | "https")
            && let Some(host) = url.host_str()
        {
            let host = sanitize::sanitize_line(host).into_owned();
            self.output.trackers.push(host);
        }
    }

    fn record_attachment(&mut self, id: NodeId) {
        let source = self.dom.attribute(id, "src").unwrap_or_default();
        let Some(name) = source.trim().strip_prefix("cid:") else {
            return;
        };
        let name = clean_attribute(name);
        if self.output.attachments.len() < 100 && !self.output.attachments.contains(&name) {
            self.output.attachments.push(name);
        }
    }

    /// Adds the label of a form button, or the text in a field.
    pub(super) fn layout_input(&mut self, id: NodeId, context: LayoutContext) {
        let kind = self.dom.attribute(id, "type").unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        let style = &self.styles[id];
        let field = ComputedStyle {
            display: Display::InlineBlock,
            overflow_clipped: true,
            ..*style
        };
        let is_hidden = is_hidden_box(&field, context.available_width, self.cursor.y);
        if context.hidden || !style.visible || is_hidden {
            return;
        }
        if kind == "radio" || (kind == "checkbox" && self.is_choice(id)) {
            let is_checked = self.dom.attribute(id, "checked").is_some();
            let sign = if is_checked { "[x]" } else { "[ ]" };
            self.push_image(id, sign, SpanStyle::default(), 0.0);
        }
        let Some(value) = self.attribute_text(id, "value") else {
            return;
        };
        if is_listed(&kind, "submit button reset") {
            let span_style = SpanStyle {
                link: self.form_link(id),
                ..SpanRole::Button.into()
            };
            let height = style.line_height_px();
            self.push_image(id, &format!("[ {value} ]"), span_style, height);
        } else if !is_listed(&kind, TEXTLESS_INPUTS) {
            self.piece_count += 1;
            self.line.allow_space();
            let span_style = self.span_style(style, context);
            self.line.push_text(&value, style, span_style, false);
            self.line.allow_space();
        }
    }

    /// True for a check box with a label beside it; others open menus.
    fn is_choice(&self, id: NodeId) -> bool {
        let node = self.dom.node(id);
        let has_letters =
            |id: NodeId| self.info.letter_counts[id.index()] > 0 && self.is_in_line(id);
        let is_labelled = node.parent.is_some_and(|id| {
            self.dom.tag_name(id) == "label" || self.styles[id].display == Display::Cell
        });
        let is_blank = |id: &NodeId| {
            let text = self.dom.text(*id);
            text.is_some_and(|text| text.trim_ascii().is_empty())
        };
        let before = node.previous_sibling.filter(is_blank);
        let before = before.map_or(node.previous_sibling, |id| {
            self.dom.node(id).previous_sibling
        });
        let after = node.next_sibling.filter(is_blank);
        let after = after.map_or(node.next_sibling, |id| self.dom.node(id).next_sibling);
        let mut beside = [before, after].into_iter();
        // Of a list of tasks, a box is disabled.
        self.dom.attribute(id, "disabled").is_some()
            || (self.dom.attribute(id, "role").is_none()
                && (is_labelled || beside.any(|id| id.is_some_and(has_letters))))
    }

    /// True for a `<select>` that shows one of its options.
    pub(super) fn is_closed_select(&self, id: NodeId) -> bool {
        let size = self.dom.attribute(id, "size").unwrap_or_default();
        let is_list = size.trim().parse().is_ok_and(|rows: u32| rows > 1);
        self.dom.attribute(id, "multiple").is_none() && !is_list
    }

    /// Adds the selected option of a closed `<select>`, or the first that can be.
    pub(super) fn layout_select(&mut self, id: NodeId, context: LayoutContext) {
        let has = |id: NodeId, name: &str| self.dom.attribute(id, name).is_some();
        let children = self.dom.children(id).flat_map(|child| {
            let inside = self.dom.children(child);
            std::iter::once(child).chain(inside)
        });
        let options: Vec<NodeId> = children
            .filter(|id| self.dom.tag_name(*id) == "option")
            .collect();
        let selected = options.iter().rfind(|id| has(**id, "selected"));
        let first = || options.iter().find(|id| !has(**id, "disabled"));
        if let Some(option) = selected.or_else(first) {
            self.line.allow_space();
            self.visit_children(*option, context);
            self.line.allow_space();
        }
    }

    fn attribute_text(&self, id: NodeId, name: &str) -> Option<String> {
        let text = clean_attribute(self.dom.attribute(id, name)?);
        (!text.is_empty()).then_some(text)
    }
}

fn image_style(link: Option<u16>) -> SpanStyle {
    SpanStyle {
        link,
        ..SpanRole::Image.into()
    }
}

/// Sanitizes and cuts the value of an attribute, and puts it on one line.
fn clean_attribute(text: &str) -> String {
    let clean = sanitize::sanitize_block(&text[..text.floor_char_boundary(8 * 1024)]);
    excerpt(&clean, MAX_ALT_CHARS)
}
