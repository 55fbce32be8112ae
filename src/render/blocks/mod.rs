//! Builds blocks from what is visible of a page, each with its vertical position on
//! the page.
//!
//! The builder lays the page out as far as vertical gaps need it: widths are estimated from the
//! letters, heights add up by the browsers' rules for margins, padding and lines. A large gap
//! between two blocks later becomes a blank line.

mod boxes;
mod builder;
mod button;
mod context;
mod data_table;
mod element_info;
mod flex;
mod image;
mod inline;
mod prefixes;
mod signs;
mod superscript;
mod table;
mod visibility;

use crate::text::width::DisplayWidth as _;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use compact_str::format_compact;

pub(crate) use inline::LINK_MARK;

use super::body::{BodyLine, BodySpan, Link, SpanRole, SpanStyle};
use super::css::Styles;
use super::html::{Dom, NodeId};
use super::links;

/// A block and its position on the page.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Top of its first letters, in pixels from the top of the page.
    pub(crate) top: f32,
    /// Bottom of its last letters.
    pub(crate) bottom: f32,
    /// The prefixes of its lines, the outermost first.
    pub(crate) prefixes: Arc<[LinePrefix]>,
    pub(crate) kind: BlockKind,
}

#[derive(Debug, Clone)]
pub(crate) enum BlockKind {
    Paragraph(Paragraph),
    TableRow {
        table: u32,
        /// The first of the tables that have the same columns.
        columns_of: u32,
        cells: Vec<TableCell>,
        /// Padding and border of the cells, above and below their text, in pixels.
        padding: [f32; 2],
    },
    Rule(RuleKind),
    /// Lines that are laid out already, as columns beside each other.
    Lines(Vec<BodyLine>),
}

/// Boxes that are beside each other on the page, from left to right.
#[derive(Debug, Clone)]
pub(crate) struct ColumnGroup {
    pub(crate) columns: Vec<Column>,
}

/// One of several boxes beside each other.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its range in the list of blocks.
    pub(crate) blocks: Range<usize>,
    /// Its width on the page in pixels.
    pub(crate) width: f32,
}

impl ColumnGroup {
    /// Returns its range in the list of blocks.
    pub(crate) fn blocks(&self) -> Range<usize> {
        let (first, last) = (self.columns.first(), self.columns.last());
        first.map_or(0, |column| column.blocks.start)..last.map_or(0, |column| column.blocks.end)
    }
}

/// The origin of a horizontal rule on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleKind {
    /// `<hr>`
    Element,
    /// The border above or below a block.
    Border,
}

/// A prefix of the lines of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinePrefix {
    Quote,
    /// The marker is on the first line of item `number`; others are indented.
    ListItem {
        number: u32,
        marker: Box<str>,
    },
}

/// Text without a forced line break.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paragraph {
    pub(crate) runs: Vec<BodySpan>,
    /// Spaces and line breaks are the author's.
    pub(crate) preformatted: bool,
    pub(crate) images_only: bool,
}

/// A cell of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableCell {
    /// Index of the column in which it starts.
    pub(crate) column: usize,
    /// The number of columns over which it extends.
    pub(crate) span: usize,
    pub(crate) paragraphs: Vec<Paragraph>,
    pub(crate) align_right: bool,
    /// The cells of its table have headings or borders.
    pub(crate) is_data: bool,
}

impl TableCell {
    /// Joins the cells of a row to one paragraph, with two spaces between them.
    pub(crate) fn join(row: &[Self]) -> Paragraph {
        let mut all = Paragraph::default();
        for line in row.iter().flat_map(|cell| &cell.paragraphs) {
            all.append("\u{A0} ", line);
        }
        all
    }

    /// Returns the columns that its widest paragraph needs.
    pub(crate) fn width(&self) -> usize {
        let widths = self.paragraphs.iter().map(Paragraph::width);
        widths.max().unwrap_or(0)
    }
}

impl Paragraph {
    /// Returns the columns that it needs on one line.
    pub(crate) fn width(&self) -> usize {
        self.runs.iter().map(|run| run.text.width()).sum()
    }

    pub(crate) fn text(&self) -> String {
        self.runs.iter().map(|run| &*run.text).collect()
    }

    pub(crate) fn is_bold(&self) -> bool {
        let is_bold = |run: &BodySpan| {
            run.style.bold || run.style.role == SpanRole::Heading || run.text.trim().is_empty()
        };
        self.runs.iter().all(is_bold)
    }

    pub(crate) fn has_button(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.style.role == SpanRole::Button)
    }

    pub(crate) fn push_run(&mut self, text: &str, style: SpanStyle) {
        let text = text.into();
        self.runs.push(BodySpan { text, style });
    }

    /// Adds the text of another paragraph, behind `separator` unless it is the first.
    pub(crate) fn append(&mut self, separator: &str, other: &Self) {
        if !self.runs.is_empty() {
            self.push_run(separator, SpanStyle::default());
        }
        self.runs.extend(other.runs.iter().cloned());
    }
}

impl Block {
    pub(crate) fn as_paragraph(&self) -> Option<&Paragraph> {
        match &self.kind {
            BlockKind::Paragraph(paragraph) => Some(paragraph),
            BlockKind::TableRow { .. } | BlockKind::Rule(_) | BlockKind::Lines(_) => None,
        }
    }

    pub(crate) fn as_row(&self) -> Option<&[TableCell]> {
        match &self.kind {
            BlockKind::TableRow { cells, .. } => Some(cells),
            BlockKind::Paragraph(_) | BlockKind::Rule(_) | BlockKind::Lines(_) => None,
        }
    }

    /// True for a line of bold text.
    pub(crate) fn is_heading(&self) -> bool {
        self.as_paragraph().is_some_and(Paragraph::is_bold)
    }

    pub(crate) fn is_images_only(&self) -> bool {
        self.as_paragraph()
            .is_some_and(|paragraph| paragraph.images_only)
    }

    /// Returns its paragraphs in reading order.
    pub(crate) fn paragraphs(&self) -> impl Iterator<Item = &Paragraph> {
        let cells = self.as_row().unwrap_or_default();
        let in_cells = cells.iter().flat_map(|cell| &cell.paragraphs);
        self.as_paragraph().into_iter().chain(in_cells)
    }

    /// Returns the same to be changed.
    pub(crate) fn paragraphs_mut(&mut self) -> Vec<&mut Paragraph> {
        match &mut self.kind {
            BlockKind::Paragraph(paragraph) => vec![paragraph],
            BlockKind::TableRow { cells, .. } => cells
                .iter_mut()
                .flat_map(|cell| &mut cell.paragraphs)
                .collect(),
            BlockKind::Rule(_) | BlockKind::Lines(_) => Vec::new(),
        }
    }
}

/// The blocks of a page and what was found while building them.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockContent {
    pub(crate) blocks: Vec<Block>,
    /// By start, the outer ones first.
    pub(crate) column_groups: Vec<ColumnGroup>,
    pub(crate) links: Vec<Link>,
    /// The host of each tracking image, in order.
    pub(crate) trackers: Vec<String>,
    /// Names of images attached to the email.
    pub(crate) attachments: Vec<String>,
    /// Number of characters that were removed from the text.
    pub(crate) sanitized_chars: usize,
    /// Browsers show a text in reverse order.
    pub(crate) has_reversed_text: bool,
    /// Why the end of the page is left out.
    pub(crate) truncation: Option<&'static str>,
}

/// Builds the blocks of a page from its elements and their styles.
pub(crate) fn build_blocks(dom: &Dom, styles: &Styles) -> BlockContent {
    let mut builder = builder::BlockBuilder::new(dom, styles);
    builder.named_targets = image::named_targets(dom, &builder.info.letter_counts);
    builder.visit_node(NodeId::ROOT, context::LayoutContext::root());
    let (mut content, targets) = builder.finish();
    data_table::join_tables_of_amounts(&mut content.blocks);
    mark_disguised_links(&mut content, &targets);
    number_links(&mut content, &targets);
    content
}

/// Adds the real host to each link whose text names another one.
fn mark_disguised_links(content: &mut BlockContent, targets: &[String]) {
    for paragraph in content.blocks.iter_mut().flat_map(Block::paragraphs_mut) {
        let mut marks = Vec::new();
        let mut start = 0;
        for runs in paragraph
            .runs
            .chunk_by(|one, other| one.style.link == other.style.link)
        {
            start += runs.len();
            if let Some(link) = runs[0].style.link {
                let text: String = runs.iter().map(|run| &*run.text).collect();
                let host = links::disguised_host(&text, &targets[usize::from(link)]);
                marks.extend(host.map(|host| (start, host)));
            }
        }
        for (index, host) in marks.into_iter().rev() {
            let mark = BodySpan {
                text: format_compact!(" (→\u{a0}{host})"),
                style: SpanRole::LinkHost.into(),
            };
            paragraph.runs.insert(index, mark);
        }
    }
}

/// Numbers targets in reading order, each named by the first text that links.
fn number_links(content: &mut BlockContent, targets: &[String]) {
    let mut numbers: HashMap<u16, u16> = HashMap::new();
    let mut named: Vec<NamedLink> = Vec::new();
    let mut last = None;
    for block in &mut content.blocks {
        for run in block.paragraphs_mut().into_iter().flat_map(|p| &mut p.runs) {
            let Some(target) = run.style.link else {
                last = None;
                continue;
            };
            let next = u16::try_from(named.len()).unwrap_or(u16::MAX);
            let number = *numbers.entry(target).or_insert(next);
            if number == next {
                named.push(NamedLink {
                    target,
                    text: String::new(),
                    from_image: true,
                });
            }
            named[usize::from(number)].push_run(run, last == Some(number));
            run.style.link = Some(number);
            last = Some(number);
        }
        if let Some(name) = last.and_then(|last| named.get_mut(usize::from(last))) {
            name.text.push(' ');
        }
    }
    content.links = named
        .into_iter()
        .map(|name| links::inspect_link(&name.text, &targets[usize::from(name.target)]))
        .collect();
}

/// Inserts the number of each link after its text,
/// before the space that it may end with.
pub(crate) fn insert_link_numbers(blocks: &mut [Block]) {
    for paragraph in blocks.iter_mut().flat_map(Block::paragraphs_mut) {
        let runs = std::mem::take(&mut paragraph.runs);
        for part in runs.chunk_by(|one, other| one.style.link == other.style.link) {
            paragraph.runs.extend_from_slice(part);
            let Some((link, last)) = part[0].style.link.zip(paragraph.runs.last_mut()) else {
                continue;
            };
            let end = last.text.trim_end().len();
            let space = last.text.split_off(end);
            // In a heading, it is a part of that.
            let mut style = SpanStyle::from(SpanRole::Text);
            style.bold = last.style.bold || last.style.role == SpanRole::Heading;
            paragraph.runs.push(BodySpan {
                text: format_compact!("[{}]{space}", u32::from(link) + 1),
                style,
            });
        }
        paragraph.runs.retain(|run| !run.text.is_empty());
    }
}

/// A link and its text.
struct NamedLink {
    target: u16,
    text: String,
    /// The text is that of an image; other text replaces it.
    from_image: bool,
}

impl NamedLink {
    fn push_run(&mut self, run: &BodySpan, continues: bool) {
        let is_image = run.style.role == SpanRole::Image;
        if self.from_image && !is_image {
            self.text.clear();
            self.from_image = false;
        } else if self.from_image != is_image || !(continues || self.text.is_empty()) {
            return;
        }
        if self.text.len() < 200 {
            let framed = matches!(run.style.role, SpanRole::Image | SpanRole::Button);
            let frame = |c: char| framed && matches!(c, '[' | ']');
            self.text.push_str(run.text.trim_matches(frame));
        }
    }
}
