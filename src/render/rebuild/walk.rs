//! The walk over the tree: what is seen becomes lines and blocks, what is hidden does not.

use std::collections::HashMap;
use std::sync::Arc;

use super::block::{Block, Kind, Lead};
use super::boxes::Beside;
use super::flow::Page;
use super::line::Line;
use super::survey::Survey;
use super::{MAX_BLOCKS, Rebuilt, TINY};
use crate::mail::clean::{self, Place};
use crate::render::body::{Mark, Role};
use crate::render::judge::{
    BOTTOM, Colour, Display, LEFT, RIGHT, Style, TOP, WhiteSpace, is_closed,
};
use crate::render::links;
use crate::render::read::{Data, Id, Tree};

/// More links than anybody follows; the words of the others stay.
const MAX_LINKS: u16 = 20_000;

/// The walk and what it has found so far.
pub(super) struct Walk<'a> {
    pub(super) tree: &'a Tree,
    pub(super) styles: &'a [Style],
    pub(super) survey: Survey,
    pub(super) page: Page,
    pub(super) line: Line,
    pub(super) rebuilt: Rebuilt,
    pub(super) leads: Vec<Lead>,
    shared_leads: Arc<[Lead]>,
    pub(super) items: u32,
    pub(super) beside: Option<Beside>,
    /// The last number of each list.
    pub(super) numbers: HashMap<Id, i32>,
    pub(super) tables: u32,
    targets: Vec<String>,
    known: HashMap<String, u16>,
}

/// What the surroundings of an element mean for it.
#[derive(Clone, Copy)]
pub(super) struct Around {
    /// Nothing in here can be seen, though it takes its place.
    pub(super) hidden: bool,
    pub(super) opacity: f32,
    /// The colour behind it.
    pub(super) ground: Colour,
    /// A picture is behind it, so that no colour of letters is too much like the ground.
    pub(super) on_picture: bool,
    /// Pixels from side to side.
    pub(super) width: f32,
    pub(super) link: Option<u16>,
    pub(super) button: bool,
    pub(super) heading: bool,
    /// Height of an empty line in the block around.
    pub(super) strut: f32,
}

impl Around {
    pub(super) const fn page() -> Self {
        Self {
            hidden: false,
            opacity: 1.0,
            ground: Colour::WHITE,
            on_picture: false,
            width: 800.0,
            link: None,
            button: false,
            heading: false,
            strut: 18.0,
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(tree: &'a Tree, styles: &'a [Style]) -> Self {
        Self {
            tree,
            styles,
            survey: Survey::of(tree, styles),
            page: Page::default(),
            line: Line::default(),
            rebuilt: Rebuilt::default(),
            leads: Vec::new(),
            shared_leads: Arc::from([]),
            items: 0,
            beside: None,
            numbers: HashMap::new(),
            tables: 0,
            targets: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub(super) fn finish(mut self) -> (Rebuilt, Vec<String>) {
        self.end_line(Around::page());
        (self.rebuilt, self.targets)
    }

    pub(super) fn node(&mut self, id: Id, around: Around) {
        if self.rebuilt.blocks.len() >= MAX_BLOCKS {
            self.rebuilt.cut = true;
            return;
        }
        match &self.tree.node(id).data {
            Data::Text(text) => self.text(text, id, around),
            Data::Element { .. } => self.element(id, around),
            Data::Other => self.children(id, around),
        }
    }

    pub(super) fn children(&mut self, id: Id, around: Around) {
        let tree = self.tree;
        for child in tree.children(id) {
            self.node(child, around);
        }
    }

    fn text(&mut self, text: &str, id: Id, around: Around) {
        let Some(parent) = self.tree.node(id).parent else {
            return;
        };
        let style = &self.styles[parent.index()];
        if style.font <= TINY || is_closed(self.tree, parent) {
            return;
        }
        let unlike = style.colour.distance(around.ground) > 12 || around.on_picture;
        let ghost = around.hidden || !style.visible || style.colour.alpha < 0.05 || !unlike;
        let cleaned = clean::clean(text, Place::Block);
        if !ghost {
            self.rebuilt.removed += cleaned.removed.controls + cleaned.removed.bidi;
        }
        let mark = self.mark(style, around);
        if matches!(style.white_space, WhiteSpace::Normal | WhiteSpace::NoWrap) {
            self.line.text(&cleaned.text, style, mark, ghost);
            return;
        }
        for (number, part) in cleaned.text.split('\n').enumerate() {
            if number > 0 {
                self.break_line(around);
            }
            self.line.text(part, style, mark, ghost);
        }
    }

    /// How text of this style looks.
    pub(super) fn mark(&self, style: &Style, around: Around) -> Mark {
        let quoted = self.leads.contains(&Lead::Quote);
        let bold = style.weight >= 600;
        let role = match around.link {
            _ if around.button => Role::Button,
            Some(_) => Role::Link,
            None if around.heading || (style.font >= 20.0 && bold) || style.font >= 24.0 => {
                Role::Heading
            }
            None if quoted => Role::Quote,
            None if style.mono => Role::Code,
            None => Role::Text,
        };
        let Colour {
            red, green, blue, ..
        } = style.colour;
        let hue = red.max(green).max(blue) - red.min(green).min(blue);
        Mark {
            role,
            bold,
            italic: style.italic,
            underline: style.underline && around.link.is_none(),
            strike: style.strike,
            link: around.link,
            tint: (hue >= 64 && around.link.is_none()).then_some([red, green, blue]),
        }
    }

    fn element(&mut self, id: Id, around: Around) {
        let style = &self.styles[id.index()];
        if style.display == Display::None || super::flow::is_away(style, around.width) {
            self.note_hidden_picture(id);
            return;
        }
        let mut inner = around;
        inner.opacity *= style.opacity;
        inner.hidden |= inner.opacity < 0.05;
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            inner.ground = colour;
            inner.on_picture = false;
        }
        inner.on_picture |= style.picture;
        match self.tree.name(id) {
            "br" => return self.break_line(around),
            "img" => return self.picture(id, inner),
            "hr" => return self.rule(style, inner),
            "input" => return self.input(id, inner),
            "a" => self.link(id, style, &mut inner, around),
            "button" => inner.button = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => inner.heading = true,
            _ => {}
        }
        if style.absolute {
            return self.apart(id, style, inner);
        }
        let holds_blocks = self.survey.blocks[id.index()];
        match style.display {
            Display::None => {}
            Display::Inline | Display::Contents => self.inline(id, style, inner, around),
            Display::InlineBlock if !holds_blocks => self.inline(id, style, inner, around),
            Display::Table if style.floats => self.column(id, style, inner, Self::table),
            Display::Table => self.block(id, style, inner, Self::table),
            Display::InlineBlock => self.column(id, style, inner, Self::children),
            Display::Block | Display::Flex if style.floats => {
                self.column(id, style, inner, Self::children);
            }
            Display::Block
            | Display::Flex
            | Display::ListItem
            | Display::RowGroup
            | Display::Row
            | Display::Cell
            | Display::Caption => {
                self.block(id, style, inner, Self::children);
            }
        }
    }

    fn inline(&mut self, id: Id, style: &Style, inner: Around, around: Around) {
        let gap = |side: usize| {
            style.margin[side]
                .px(style.font, around.width)
                .unwrap_or(0.0)
                + style.inset(side, around.width)
        };
        let parent = self.tree.node(id).parent;
        let item =
            parent.is_some_and(|parent| self.styles[parent.index()].display == Display::Flex);
        if item || gap(LEFT) >= 3.0 {
            self.line.soft_space();
        }
        let button = inner.button && !around.button && !self.survey.blocks[id.index()];
        let mark = self.mark(style, inner);
        let opened = button.then(|| {
            self.line.space();
            self.line.open_button(mark)
        });
        self.children(id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened, mark);
            self.line.soft_space();
        }
        if gap(RIGHT) >= 3.0 {
            self.line.soft_space();
        }
    }

    fn link(&mut self, id: Id, style: &Style, inner: &mut Around, around: Around) {
        let Some(href) = self.tree.attribute(id, "href") else {
            return;
        };
        let target = links::target_of(href);
        if target.is_empty() {
            return;
        }
        let next = u16::try_from(self.targets.len())
            .ok()
            .filter(|next| *next < MAX_LINKS);
        let Some(number) = self.known.get(&target).copied().or(next) else {
            return;
        };
        if Some(number) == next {
            self.known.insert(target.clone(), number);
            self.targets.push(target);
        }
        inner.link = Some(number);
        inner.button = self.is_button(id, style, around);
    }

    /// Ends the line at a `<br>`; a line without anything on it is as high as any other.
    pub(super) fn break_line(&mut self, around: Around) {
        if !self.line.occupied {
            self.page.solid(around.strut);
        }
        self.end_line(around);
    }

    /// Ends the line, if there is one.
    pub(super) fn end_line(&mut self, around: Around) {
        let line = std::mem::take(&mut self.line);
        if !line.occupied {
            return;
        }
        let strut = if self.tree.quirks { 0.0 } else { around.strut };
        let (top, bottom) = self.page.line(&line, strut, around.width);
        if let Some(para) = line.into_para() {
            self.push(top, bottom, Kind::Para(para));
        }
    }

    pub(super) fn push(&mut self, top: f32, bottom: f32, kind: Kind) {
        self.rebuilt.blocks.push(Block {
            top,
            bottom,
            leads: Arc::clone(&self.shared_leads),
            kind,
        });
    }

    pub(super) fn leads(&self) -> &Arc<[Lead]> {
        &self.shared_leads
    }

    pub(super) fn share_leads(&mut self) {
        self.shared_leads = Arc::from(self.leads.as_slice());
    }

    fn rule(&mut self, style: &Style, around: Around) {
        self.end_line(around);
        self.page.margin(
            style.margin[TOP]
                .px(style.font, around.width)
                .unwrap_or(0.0),
        );
        let thick = style.height.px(style.font, 0.0).unwrap_or(0.0)
            + style.border_px(TOP)
            + style.border_px(BOTTOM);
        if thick > 0.0 {
            self.page.settle();
            let top = self.page.y;
            self.page.solid(thick);
            if style.visible
                && !around.hidden
                && style
                    .background
                    .is_none_or(|colour| colour.distance(around.ground) == 0)
            {
                self.push(top, top + thick, Kind::Rule);
            }
        }
        self.page.margin(
            style.margin[BOTTOM]
                .px(style.font, around.width)
                .unwrap_or(0.0),
        );
    }
}
