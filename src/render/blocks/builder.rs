//! Walks the tree: visible content becomes lines and blocks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use url::Url;

use super::context::{LayoutContext, is_invisible_text};
use super::element_info::{ElementInfo, TINY_FONT_PX};
use super::inline::{HostRun, LineBox};
use super::signs::{expand_tabs, replace_wingdings};
use super::visibility::{clips_only_its_flow, is_hidden_box};
use super::{Block, BlockContent, BlockKind, Column, ColumnGroup, LinePrefix, RuleKind};
use crate::render::body::{MAX_LINES, SpanRole, SpanStyle};
use crate::render::css::{
    BOTTOM, ComputedStyle, Display, Float, LEFT, Length, RIGHT, Rgba, Styles, TOP, WhiteSpace,
    is_closed_details,
};
use crate::render::html::{Dom, NodeData, NodeId};
use crate::render::links;
use crate::render::notices::TOO_MANY_LINES;
use crate::text::sanitize::{self, TextKind};

/// Links with so much space between them need no other mark between them.
const LINK_GAP_PX: f32 = 8.0;

/// Texts, images and buttons after these are dropped.
const MAX_PIECES: usize = 50_000;

/// Links after these become plain text.
const MAX_LINKS: u16 = 20_000;

/// Lays out what is inside an element.
pub(super) type Layout<'a> = fn(&mut BlockBuilder<'a>, NodeId, LayoutContext);

/// The state while the tree is visited.
pub(super) struct BlockBuilder<'a> {
    pub(super) dom: &'a Dom,
    pub(super) styles: &'a Styles,
    pub(super) info: ElementInfo,
    pub(super) cursor: VerticalCursor,
    pub(super) line: LineBox,
    pub(super) output: BlockContent,
    /// The prefixes of the lines of a block that begins now.
    pub(super) prefixes: Arc<[LinePrefix]>,
    pub(super) item_count: u32,
    pub(super) float_row: Option<FloatRow>,
    /// A float has joined the line, which is a block already.
    pub(super) has_joined_line: bool,
    /// The last item number of each list.
    pub(super) list_numbers: HashMap<NodeId, i32>,
    pub(super) table_count: u32,
    /// The targets of links that have a label.
    pub(super) named_targets: HashSet<String>,
    pub(super) host_run: Option<HostRun>,
    /// The marker in a list item that its prefix replaces.
    pub(super) written_marker: Option<NodeId>,
    /// Number of texts, images and buttons.
    pub(super) piece_count: usize,
    /// Number of forced line breaks.
    line_breaks: u32,
    /// The URL that completes relative ones.
    base: Option<Url>,
    link_targets: Vec<String>,
    link_numbers: HashMap<String, u16>,
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(dom: &'a Dom, styles: &'a Styles) -> Self {
        Self {
            dom,
            styles,
            named_targets: HashSet::new(),
            host_run: None,
            written_marker: None,
            info: ElementInfo::collect(dom, styles),
            cursor: VerticalCursor::default(),
            line: LineBox::default(),
            output: BlockContent::default(),
            prefixes: Arc::from([]),
            item_count: 0,
            float_row: None,
            has_joined_line: false,
            list_numbers: HashMap::new(),
            table_count: 0,
            piece_count: 0,
            line_breaks: 0,
            base: dom
                .nodes()
                .filter(|id| dom.tag_name(*id) == "base")
                .find_map(|id| dom.attribute(id, "href").and_then(links::parse_base)),
            link_targets: Vec::new(),
            link_numbers: HashMap::new(),
        }
    }

    /// Returns the blocks and the target of each link.
    pub(super) fn finish(mut self) -> (BlockContent, Vec<String>) {
        self.end_line(LayoutContext::root());
        let outer_first = |group: &ColumnGroup| {
            let blocks = group.blocks();
            (blocks.start, Reverse(blocks.end))
        };
        self.output.column_groups.sort_by_key(outer_first);
        (self.output, self.link_targets)
    }

    pub(super) fn visit_node(&mut self, id: NodeId, mut context: LayoutContext) {
        if self.is_full() {
            return;
        }
        // An indent moves the first line of a block only.
        context.indented_away &= context.line_breaks == self.line_breaks;
        match &self.dom.node(id).data {
            NodeData::Text(text) => self.visit_text(text, id, context),
            NodeData::Element { .. } => self.visit_element(id, context),
            NodeData::Other => self.visit_children(id, context),
        }
    }

    /// True if nothing more is laid out; the limit is then recorded.
    ///
    /// Each block has a line at least, so more blocks than lines would be cut after the layout.
    fn is_full(&mut self) -> bool {
        if self.output.blocks.len() > MAX_LINES {
            self.output.truncation = Some(TOO_MANY_LINES);
        } else if self.piece_count >= MAX_PIECES {
            self.output.truncation = Some("it has too many links, pictures and changes of style");
        }
        self.output.truncation.is_some()
    }

    pub(super) fn visit_children(&mut self, id: NodeId, context: LayoutContext) {
        let mut next = self.dom.node(id).first_child;
        while let Some(child) = next {
            if let Some(block) = self.block_beside_float(child, context.available_width) {
                self.layout_float_beside(child, block, context);
                next = self.dom.node(block).next_sibling;
            } else if self.styles[child].float == Float::Right {
                let (boxes, after) = self.order_floats(child, context.available_width);
                for child in boxes {
                    self.visit_node(child, context);
                }
                next = after;
            } else {
                self.visit_node(child, context);
                next = self.dom.node(child).next_sibling;
            }
        }
    }

    fn visit_text(&mut self, text: &str, id: NodeId, context: LayoutContext) {
        let Some(parent) = self.dom.node(id).parent else {
            return;
        };
        let style = &self.styles[parent];
        if is_closed_details(self.dom, parent) {
            return;
        }
        if style.font_size <= TINY_FONT_PX {
            // It may have a large line height, as spacers have.
            if text.contains(|c: char| !c.is_ascii_whitespace()) {
                self.line.extend_height(style);
            } else if self.is_between_elements(id) {
                self.line.allow_space();
            }
            return;
        }
        // A space parts words in any colour.
        let is_space = style.white_space == WhiteSpace::Normal && text.trim_ascii().is_empty();
        let invisible = !is_space && is_invisible_text(style, &context);
        let text = match style.white_space {
            WhiteSpace::Normal => Cow::Borrowed(text),
            _ => expand_tabs(text, || self.line.columns()),
        };
        let text = replace_wingdings(self.shift_digits(text, id), style.wingdings);
        let clean = sanitize::sanitize(&text, TextKind::MultiLine);
        if !invisible {
            self.output.sanitized_chars += clean.removed_controls;
            self.output.has_reversed_text |= style.bidi_override
                && style.rtl
                && text.contains(|c: char| c.is_ascii_alphanumeric());
        }
        self.piece_count += usize::from(!invisible);
        let span_style = self.span_style(style, context);
        if style.white_space == WhiteSpace::Normal {
            self.line
                .push_text(&clean.text, style, span_style, invisible);
            return;
        }
        for (number, part) in clean.text.split('\n').enumerate() {
            if number > 0 {
                self.break_line(context);
                if self.is_full() {
                    return;
                }
            }
            self.line.push_text(part, style, span_style, invisible);
        }
    }

    /// True for a text between two elements, as between two words or links.
    fn is_between_elements(&self, id: NodeId) -> bool {
        let node = self.dom.node(id);
        let is_element = |id: Option<NodeId>| id.is_some_and(|id| self.dom.is_element(id));
        is_element(node.previous_sibling) && is_element(node.next_sibling)
    }

    pub(super) fn span_style(&self, style: &ComputedStyle, context: LayoutContext) -> SpanStyle {
        let bold = style.font_weight >= 600;
        let is_large = style.font_size >= 18.0 && style.font_size >= self.info.usual_font_px * 1.3;
        let is_heading = context.heading
            || is_large
            || (style.font_size >= 20.0 && bold)
            || style.font_size >= 24.0;
        let role = match context.link {
            _ if context.button.is_some() => SpanRole::Button,
            Some(_) => SpanRole::Link,
            None if is_heading => SpanRole::Heading,
            None if self.prefixes.contains(&LinePrefix::Quote) => SpanRole::Quote,
            None if style.monospace => SpanRole::Code,
            None => SpanRole::Text,
        };
        SpanStyle {
            role,
            bold,
            italic: style.italic,
            underline: style.underline && context.link.is_none(),
            strikethrough: style.line_through,
            link: context.link,
        }
    }

    fn visit_element(&mut self, id: NodeId, outer: LayoutContext) {
        let style = &self.styles[id];
        if self.written_marker == Some(id) {
            return;
        }
        if style.display == Display::None
            || is_hidden_box(style, outer.available_width, self.cursor.y)
        {
            // An image that is never shown can only be a tracker.
            if self.dom.tag_name(id) == "img" {
                self.record_tracker(id);
            }
            if clips_only_its_flow(style, outer.available_width, self.cursor.y) {
                self.visit_out_of_flow(id, self.enter(outer, style));
            }
            return;
        }
        if style.clears_floats {
            self.float_row = None;
        }
        let mut inner = self.enter(outer, style);
        if self.info.is_layered[id.index()] {
            inner.background = None;
        }
        match self.dom.tag_name(id) {
            "br" => return self.break_line(outer),
            "img" => return self.layout_image(id, inner),
            "hr" => return self.layout_rule(style, inner),
            "input" => return self.layout_input(id, inner),
            "select" if self.is_closed_select(id) => return self.layout_select(id, inner),
            "area" => return self.layout_area(id, inner),
            "a" => {
                self.register_link(id, &mut inner);
                if self.layout_icon_link(id, inner) {
                    inner.button = None;
                }
            }
            "button" if inner.button.is_none() => {
                inner.button = Some(id);
                inner.link = inner.link.or_else(|| self.form_link(id));
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => inner.heading = true,
            _ => {}
        }
        if style.out_of_flow {
            return self.layout_out_of_flow(id, inner);
        }
        let contains_block = self.info.contains_block[id.index()];
        // The rows of a table stay rows, whatever the display of the table itself.
        let content: Layout<'a> =
            if style.display == Display::Table || self.dom.tag_name(id) == "table" {
                Self::layout_table
            } else if matches!(style.display, Display::Flex | Display::Grid) {
                Self::layout_flex
            } else {
                Self::visit_children
            };
        match style.display {
            Display::None => {}
            Display::Inline | Display::Contents => self.layout_inline(id, inner, outer),
            Display::InlineBlock if !contains_block => self.layout_inline(id, inner, outer),
            Display::InlineBlock => self.layout_beside(id, inner, content),
            Display::Table | Display::Block | Display::Flex | Display::Grid
                if style.is_floated() =>
            {
                self.layout_beside(id, inner, content);
            }
            Display::Table
            | Display::Block
            | Display::Flex
            | Display::Grid
            | Display::ListItem
            | Display::RowGroup
            | Display::Row
            | Display::Cell
            | Display::Caption => self.layout_block(id, style, inner, content),
        }
    }

    /// Returns the context inside an element of this style, which starts here.
    pub(super) fn enter(&self, outer: LayoutContext, style: &ComputedStyle) -> LayoutContext {
        let mut inner = outer.enter(style);
        if style.display != Display::Inline {
            inner.line_breaks = self.line_breaks;
        }
        inner
    }

    /// Visits what is out of the flow in a box that clips only its flow.
    fn visit_out_of_flow(&mut self, id: NodeId, context: LayoutContext) {
        let (dom, styles) = (self.dom, self.styles);
        for child in dom.children(id) {
            let style = &styles[child];
            if style.out_of_flow {
                self.visit_node(child, context);
            } else if style.display != Display::None && !style.relatively_positioned {
                self.visit_out_of_flow(child, self.enter(context, style));
            }
        }
    }

    fn layout_inline(&mut self, id: NodeId, inner: LayoutContext, outer: LayoutContext) {
        let style = &self.styles[id];
        let gap = |side: usize| {
            style.margin_px(side, outer.available_width)
                + style.padding_and_border(side, outer.available_width)
        };
        let parent = self.dom.node(id).parent;
        let is_flex_item =
            parent.is_some_and(|parent| self.styles[parent].display == Display::Flex);
        // What is beside a box of a fixed width is apart from its text.
        let is_column = style.display == Display::InlineBlock && style.width != Length::Auto;
        if is_flex_item || is_column || gap(LEFT) >= 3.0 {
            self.line.allow_space();
        }
        // Padding inside a link is part of its text.
        let parts_links =
            |side: usize| outer.link.is_none() && (is_flex_item || gap(side) >= LINK_GAP_PX);
        if parts_links(LEFT) {
            self.line.part_links();
        }
        let span_style = self.span_style(style, inner);
        let opened = (inner.button == Some(id)).then(|| {
            self.line.ensure_space();
            self.line.open_button(span_style)
        });
        self.visit_between_marks(id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened);
            self.line.allow_space();
        }
        // The padding of a box widens the line; that of an inline element does not.
        if style.display == Display::InlineBlock && self.info.letter_counts[id.index()] > 0 {
            let height = style.line_height_px() + gap(TOP) + gap(BOTTOM);
            self.line.height = self.line.height.max(height);
        }
        if is_column || gap(RIGHT) >= 3.0 {
            self.line.allow_space();
        }
        if parts_links(RIGHT) {
            self.line.part_links();
        }
    }

    /// Visits the children of an element between its marks, if it has some:
    /// those of a `<q>` alternate if nested; a `<rt>` is in parentheses.
    fn visit_between_marks(&mut self, id: NodeId, context: LayoutContext) {
        let is_quotation = |id: NodeId| self.dom.tag_name(id) == "q";
        let [open, close] = match self.dom.tag_name(id) {
            "q" if self.dom.ancestors(id).any(is_quotation) => ["‘", "’"],
            "q" => ["“", "”"],
            "rt" if self.info.letter_counts[id.index()] > 0 => ["(", ")"],
            _ => return self.visit_children(id, context),
        };
        // Text takes its style from the parent of its node.
        let Some(child) = self.dom.children(id).next() else {
            return;
        };
        self.visit_text(open, child, context);
        self.visit_children(id, context);
        self.visit_text(close, child, context);
    }

    /// Links what is inside an element, if it has a target.
    pub(super) fn register_link(&mut self, id: NodeId, inner: &mut LayoutContext) {
        let href = self.dom.attribute(id, "href");
        if let Some(number) = href.and_then(|href| self.number_target(href)) {
            inner.link = Some(number);
            inner.button = self.button_label(id, inner.available_width);
        }
    }

    /// Returns the number of a link target, a new one if it is the first of its kind.
    fn number_target(&mut self, href: &str) -> Option<u16> {
        let target = links::resolve_target(href, self.base.as_ref());
        if target.is_empty() {
            return None;
        }
        let next = u16::try_from(self.link_targets.len())
            .ok()
            .filter(|next| *next < MAX_LINKS);
        let number = self.link_numbers.get(&target).copied().or(next)?;
        if Some(number) == next {
            self.link_numbers.insert(target.clone(), number);
            self.link_targets.push(target);
        }
        Some(number)
    }

    /// Returns the link of a button that sends a form.
    pub(super) fn form_link(&mut self, id: NodeId) -> Option<u16> {
        let dom = self.dom;
        let kind = dom.attribute(id, "type").unwrap_or_default();
        if matches!(&*kind.to_ascii_lowercase(), "button" | "reset") {
            return None;
        }
        let mut above = dom.ancestors(id);
        let form = above.find(|id| dom.tag_name(*id) == "form")?;
        let action = dom.attribute(id, "formaction");
        self.number_target(action.or_else(|| dom.attribute(form, "action"))?)
    }

    /// Ends the line at a `<br>`; an empty line takes up the height of a line too.
    pub(super) fn break_line(&mut self, context: LayoutContext) {
        self.line_breaks = self.line_breaks.wrapping_add(1);
        if !self.line.occupied && !self.has_joined_line {
            self.cursor.advance(context.strut);
        }
        self.line.treat_image_as_text();
        self.end_line(context);
    }

    /// Ends the line, if there is one, and adds its paragraph.
    pub(super) fn end_line(&mut self, context: LayoutContext) {
        let line = std::mem::take(&mut self.line);
        self.has_joined_line = false;
        if !line.occupied {
            return;
        }
        let (top, bottom) = self.place_line(&line, context);
        if let Some(paragraph) = line.into_paragraph() {
            self.push_block(top, bottom, BlockKind::Paragraph(paragraph));
        }
    }

    /// Moves below `line`; returns the top of its first and bottom of its last.
    pub(super) fn place_line(&mut self, line: &LineBox, context: LayoutContext) -> (f32, f32) {
        let strut = if self.dom.quirks { 0.0 } else { context.strut };
        self.cursor.place_line(line, strut, context.available_width)
    }

    pub(super) fn push_block(&mut self, top: f32, bottom: f32, kind: BlockKind) {
        let block = self.block(top, bottom, kind);
        self.output.blocks.push(block);
    }

    pub(super) fn block(&self, top: f32, bottom: f32, kind: BlockKind) -> Block {
        Block {
            top,
            bottom,
            prefixes: Arc::clone(&self.prefixes),
            kind,
        }
    }

    fn layout_rule(&mut self, style: &ComputedStyle, context: LayoutContext) {
        self.end_line(context);
        let margin = |side: usize| style.margin_px(side, context.available_width);
        self.cursor.add_margin(margin(TOP));
        let height = style.px(style.height, 0.0).unwrap_or(0.0)
            + style.used_border(TOP)
            + style.used_border(BOTTOM);
        if height > 0.0 {
            self.cursor.apply_margins();
            let top = self.cursor.y;
            self.cursor.advance(height);
            let differs = |colour: Rgba| {
                context
                    .background
                    .is_none_or(|behind| colour.distance(behind) > 0)
            };
            let is_filled = !style.background.visible().is_some_and(differs);
            if style.visible && !context.hidden && is_filled {
                self.push_block(top, top + height, BlockKind::Rule(RuleKind::Element));
            }
        }
        self.cursor.add_margin(margin(BOTTOM));
    }
}

/// The vertical position that the builder has reached on the page.
#[derive(Debug, Clone, Default)]
pub(super) struct VerticalCursor {
    /// Pixels from the top.
    pub(super) y: f32,
    /// The largest and the most negative margin that are not applied yet.
    positive_margin: f32,
    negative_margin: f32,
}

impl VerticalCursor {
    /// Adds a margin, which collapses with the adjacent ones.
    pub(super) fn add_margin(&mut self, px: f32) {
        self.positive_margin = self.positive_margin.max(px);
        self.negative_margin = self.negative_margin.min(px);
    }

    /// Applies the pending margins.
    pub(super) fn apply_margins(&mut self) {
        self.y += self.positive_margin + self.negative_margin;
        (self.positive_margin, self.negative_margin) = (0.0, 0.0);
    }

    /// Moves down by `px` pixels; zero keeps the margins pending.
    pub(super) fn advance(&mut self, px: f32) {
        if px > 0.0 {
            self.apply_margins();
            self.y += px;
        }
    }

    /// Moves down to `y`, unless it is above.
    pub(super) fn extend_to(&mut self, y: f32) {
        if self.y + self.positive_margin + self.negative_margin < y {
            (self.positive_margin, self.negative_margin) = (0.0, 0.0);
            self.y = y;
        }
    }

    /// Places a line; returns the top of its first letters and the bottom of its last.
    pub(super) fn place_line(&mut self, line: &LineBox, strut: f32, width: f32) -> (f32, f32) {
        self.apply_margins();
        let height = line.height.max(strut);
        let wraps = (line.width_px / width.max(16.0)).ceil().clamp(1.0, 1_000.0);
        let (first, last) = line.glyph_heights.unwrap_or((height, height));
        let top = self.y + (height - first) / 2.0;
        self.y += height * wraps;
        (top, self.y - (height - last) / 2.0)
    }
}

/// Boxes that are side by side on the page, as far as they are laid out.
#[derive(Debug, Clone)]
pub(super) struct FloatRow {
    pub(super) parent: Option<NodeId>,
    pub(super) top: f32,
    pub(super) bottom: f32,
    /// Sum of their widths in pixels.
    pub(super) width: f32,
    pub(super) columns: Vec<Column>,
    /// The number of their group of columns.
    pub(super) group: Option<usize>,
}
