//! The walk over the tree: what is seen becomes lines and blocks, what is hidden does not.

use std::collections::HashMap;
use std::sync::Arc;

use super::block::{Block, BlockKind, LinePrefix};
use super::boxes::FloatRow;
use super::cursor::VerticalCursor;
use super::element_info::ElementInfo;
use super::inline::LineBox;
use super::{BlockContent, MAX_BLOCKS, TINY_FONT_PX};
use crate::render::body::{SpanRole, SpanStyle};
use crate::render::css::{
    BOTTOM, ComputedStyle, Display, LEFT, RIGHT, Rgba, TOP, WhiteSpace, is_closed_details,
};
use crate::render::html::{Dom, NodeData, NodeId};
use crate::render::links;
use crate::text::sanitize::{self, TextKind};

/// More links than anybody follows; the words of the others stay.
const MAX_LINKS: u16 = 20_000;

/// The walk and what it has found so far.
pub(super) struct BlockBuilder<'a> {
    pub(super) dom: &'a Dom,
    pub(super) styles: &'a [ComputedStyle],
    pub(super) info: ElementInfo,
    pub(super) cursor: VerticalCursor,
    pub(super) line: LineBox,
    pub(super) output: BlockContent,
    pub(super) prefixes: Vec<LinePrefix>,
    shared_prefixes: Arc<[LinePrefix]>,
    pub(super) item_count: u32,
    pub(super) float_row: Option<FloatRow>,
    /// The last number of each list.
    pub(super) list_numbers: HashMap<NodeId, i32>,
    pub(super) table_count: u32,
    link_targets: Vec<String>,
    link_numbers: HashMap<String, u16>,
}

/// What the surroundings of an element mean for it.
#[derive(Clone, Copy)]
pub(super) struct LayoutContext {
    /// Nothing in here can be seen, though it takes its place.
    pub(super) hidden: bool,
    pub(super) opacity: f32,
    /// The colour behind it.
    pub(super) background: Rgba,
    /// A picture is behind it, so that no colour of letters is too much like the ground.
    pub(super) over_image: bool,
    /// Pixels from side to side.
    pub(super) available_width: f32,
    pub(super) link: Option<u16>,
    pub(super) button: bool,
    pub(super) heading: bool,
    /// Height of an empty line in the block around.
    pub(super) strut: f32,
}

impl LayoutContext {
    pub(super) const fn root() -> Self {
        Self {
            hidden: false,
            opacity: 1.0,
            background: Rgba::WHITE,
            over_image: false,
            available_width: 800.0,
            link: None,
            button: false,
            heading: false,
            strut: 18.0,
        }
    }
}

impl<'a> BlockBuilder<'a> {
    pub(super) fn new(tree: &'a Dom, styles: &'a [ComputedStyle]) -> Self {
        Self {
            dom: tree,
            styles,
            info: ElementInfo::collect(tree, styles),
            cursor: VerticalCursor::default(),
            line: LineBox::default(),
            output: BlockContent::default(),
            prefixes: Vec::new(),
            shared_prefixes: Arc::from([]),
            item_count: 0,
            float_row: None,
            list_numbers: HashMap::new(),
            table_count: 0,
            link_targets: Vec::new(),
            link_numbers: HashMap::new(),
        }
    }

    pub(super) fn finish(mut self) -> (BlockContent, Vec<String>) {
        self.end_line(LayoutContext::root());
        (self.output, self.link_targets)
    }

    pub(super) fn visit_node(&mut self, id: NodeId, around: LayoutContext) {
        if self.output.blocks.len() >= MAX_BLOCKS {
            self.output.truncated = true;
            return;
        }
        match &self.dom.node(id).data {
            NodeData::Text(text) => self.visit_text(text, id, around),
            NodeData::Element { .. } => self.visit_element(id, around),
            NodeData::Other => self.visit_children(id, around),
        }
    }

    pub(super) fn visit_children(&mut self, id: NodeId, around: LayoutContext) {
        let tree = self.dom;
        for child in tree.children(id) {
            self.visit_node(child, around);
        }
    }

    fn visit_text(&mut self, text: &str, id: NodeId, around: LayoutContext) {
        let Some(parent) = self.dom.node(id).parent else {
            return;
        };
        let style = &self.styles[parent.index()];
        if style.font_size <= TINY_FONT_PX || is_closed_details(self.dom, parent) {
            return;
        }
        let unlike = style.colour.distance(around.background) > 12 || around.over_image;
        let ghost = around.hidden || !style.visible || style.colour.alpha < 0.05 || !unlike;
        let cleaned = sanitize::sanitize(text, TextKind::MultiLine);
        if !ghost {
            self.output.sanitized_chars += cleaned.removed.controls + cleaned.removed.bidi;
        }
        let mark = self.span_style(style, around);
        if matches!(style.white_space, WhiteSpace::Normal | WhiteSpace::NoWrap) {
            self.line.push_text(&cleaned.text, style, mark, ghost);
            return;
        }
        for (number, part) in cleaned.text.split('\n').enumerate() {
            if number > 0 {
                self.break_line(around);
            }
            self.line.push_text(part, style, mark, ghost);
        }
    }

    /// How text of this style looks.
    pub(super) fn span_style(&self, style: &ComputedStyle, around: LayoutContext) -> SpanStyle {
        let quoted = self.prefixes.contains(&LinePrefix::Quote);
        let bold = style.font_weight >= 600;
        let role = match around.link {
            _ if around.button => SpanRole::Button,
            Some(_) => SpanRole::Link,
            None if around.heading
                || (style.font_size >= 20.0 && bold)
                || style.font_size >= 24.0 =>
            {
                SpanRole::Heading
            }
            None if quoted => SpanRole::Quote,
            None if style.monospace => SpanRole::Code,
            None => SpanRole::Text,
        };
        let Rgba {
            red, green, blue, ..
        } = style.colour;
        let hue = red.max(green).max(blue) - red.min(green).min(blue);
        SpanStyle {
            role,
            bold,
            italic: style.italic,
            underline: style.underline && around.link.is_none(),
            strikethrough: style.line_through,
            link: around.link,
            author_color: (hue >= 64 && around.link.is_none()).then_some([red, green, blue]),
        }
    }

    fn visit_element(&mut self, id: NodeId, around: LayoutContext) {
        let style = &self.styles[id.index()];
        if style.display == Display::None
            || super::cursor::is_hidden_box(style, around.available_width)
        {
            self.record_hidden_image(id);
            return;
        }
        let mut inner = around;
        inner.opacity *= style.opacity;
        inner.hidden |= inner.opacity < 0.05;
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            inner.background = colour;
            inner.over_image = false;
        }
        inner.over_image |= style.background_image;
        match self.dom.tag_name(id) {
            "br" => return self.break_line(around),
            "img" => return self.layout_image(id, inner),
            "hr" => return self.layout_rule(style, inner),
            "input" => return self.layout_input(id, inner),
            "a" => self.register_link(id, style, &mut inner, around),
            "button" => inner.button = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => inner.heading = true,
            _ => {}
        }
        if style.out_of_flow {
            return self.layout_out_of_flow(id, style, inner);
        }
        let holds_blocks = self.info.contains_block[id.index()];
        match style.display {
            Display::None => {}
            Display::Inline | Display::Contents => self.layout_inline(id, style, inner, around),
            Display::InlineBlock if !holds_blocks => self.layout_inline(id, style, inner, around),
            Display::Table if style.floated => {
                self.layout_beside(id, style, inner, Self::layout_table)
            }
            Display::Table => self.layout_block(id, style, inner, Self::layout_table),
            Display::InlineBlock => self.layout_beside(id, style, inner, Self::visit_children),
            Display::Block | Display::Flex if style.floated => {
                self.layout_beside(id, style, inner, Self::visit_children);
            }
            Display::Block
            | Display::Flex
            | Display::ListItem
            | Display::RowGroup
            | Display::Row
            | Display::Cell
            | Display::Caption => {
                self.layout_block(id, style, inner, Self::visit_children);
            }
        }
    }

    fn layout_inline(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        inner: LayoutContext,
        around: LayoutContext,
    ) {
        let gap = |side: usize| {
            style.margin[side]
                .to_px(style.font_size, around.available_width)
                .unwrap_or(0.0)
                + style.padding_and_border(side, around.available_width)
        };
        let parent = self.dom.node(id).parent;
        let item =
            parent.is_some_and(|parent| self.styles[parent.index()].display == Display::Flex);
        if item || gap(LEFT) >= 3.0 {
            self.line.allow_space();
        }
        let button = inner.button && !around.button && !self.info.contains_block[id.index()];
        let mark = self.span_style(style, inner);
        let opened = button.then(|| {
            self.line.ensure_space();
            self.line.open_button(mark)
        });
        self.visit_children(id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened, mark);
            self.line.allow_space();
        }
        if gap(RIGHT) >= 3.0 {
            self.line.allow_space();
        }
    }

    fn register_link(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        inner: &mut LayoutContext,
        around: LayoutContext,
    ) {
        let Some(href) = self.dom.attribute(id, "href") else {
            return;
        };
        let target = links::normalize_target(href);
        if target.is_empty() {
            return;
        }
        let next = u16::try_from(self.link_targets.len())
            .ok()
            .filter(|next| *next < MAX_LINKS);
        let Some(number) = self.link_numbers.get(&target).copied().or(next) else {
            return;
        };
        if Some(number) == next {
            self.link_numbers.insert(target.clone(), number);
            self.link_targets.push(target);
        }
        inner.link = Some(number);
        inner.button = self.is_button(id, style, around);
    }

    /// Ends the line at a `<br>`; a line without anything on it is as high as any other.
    pub(super) fn break_line(&mut self, around: LayoutContext) {
        if !self.line.occupied {
            self.cursor.advance(around.strut);
        }
        self.end_line(around);
    }

    /// Ends the line, if there is one.
    pub(super) fn end_line(&mut self, around: LayoutContext) {
        let line = std::mem::take(&mut self.line);
        if !line.occupied {
            return;
        }
        let strut = if self.dom.quirks { 0.0 } else { around.strut };
        let (top, bottom) = self.cursor.place_line(&line, strut, around.available_width);
        if let Some(para) = line.into_paragraph() {
            self.push_block(top, bottom, BlockKind::Paragraph(para));
        }
    }

    pub(super) fn push_block(&mut self, top: f32, bottom: f32, kind: BlockKind) {
        self.output.blocks.push(Block {
            top,
            bottom,
            prefixes: Arc::clone(&self.shared_prefixes),
            kind,
        });
    }

    pub(super) fn current_prefixes(&self) -> &Arc<[LinePrefix]> {
        &self.shared_prefixes
    }

    pub(super) fn refresh_prefixes(&mut self) {
        self.shared_prefixes = Arc::from(self.prefixes.as_slice());
    }

    fn layout_rule(&mut self, style: &ComputedStyle, around: LayoutContext) {
        self.end_line(around);
        self.cursor.add_margin(
            style.margin[TOP]
                .to_px(style.font_size, around.available_width)
                .unwrap_or(0.0),
        );
        let thick = style.height.to_px(style.font_size, 0.0).unwrap_or(0.0)
            + style.used_border(TOP)
            + style.used_border(BOTTOM);
        if thick > 0.0 {
            self.cursor.apply_margins();
            let top = self.cursor.y;
            self.cursor.advance(thick);
            if style.visible
                && !around.hidden
                && style
                    .background
                    .is_none_or(|colour| colour.distance(around.background) == 0)
            {
                self.push_block(top, top + thick, BlockKind::Rule);
            }
        }
        self.cursor.add_margin(
            style.margin[BOTTOM]
                .to_px(style.font_size, around.available_width)
                .unwrap_or(0.0),
        );
    }
}
