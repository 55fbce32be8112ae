//! What an html body is rebuilt as: plain blocks in the order they are read, none inside another.

use std::sync::Arc;

use unicode_width::UnicodeWidthStr;

use crate::render::body::SpanStyle;

/// A block, and where it stood on the page.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::render) struct Block {
    /// Top of its first letters, in pixels from the top of the page.
    pub(in crate::render) top: f32,
    /// Bottom of its last letters.
    pub(in crate::render) bottom: f32,
    /// What stands in front of its lines, the outermost first.
    pub(in crate::render) prefixes: Arc<[LinePrefix]>,
    pub(in crate::render) kind: BlockKind,
}

/// What a block is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::render) enum BlockKind {
    Paragraph(Paragraph),
    /// A table row; rows of the same table share their columns.
    TableRow {
        table: u32,
        cells: Vec<TableCell>,
    },
    /// A line across the page.
    Rule,
}

/// What stands in front of the lines of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) enum LinePrefix {
    Quote,
    /// A list item; its mark stands on its first line only.
    ListItem {
        number: u32,
        marker: Box<str>,
    },
}

/// Text without a forced line break.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::render) struct Paragraph {
    pub(in crate::render) runs: Vec<Run>,
    pub(in crate::render) rtl: bool,
    /// Blanks and line breaks are the author's.
    pub(in crate::render) preformatted: bool,
    /// It holds nothing but pictures.
    pub(in crate::render) images_only: bool,
}

/// Text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) struct Run {
    pub(in crate::render) text: String,
    pub(in crate::render) style: SpanStyle,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) struct TableCell {
    /// Which column it starts in.
    pub(in crate::render) column: usize,
    /// Over how many columns it reaches.
    pub(in crate::render) span: usize,
    pub(in crate::render) paragraphs: Vec<Paragraph>,
    /// Set against the right side of its column.
    pub(in crate::render) align_right: bool,
}

impl Paragraph {
    /// Columns on a screen that is wide enough.
    pub(in crate::render) fn width(&self) -> usize {
        self.runs.iter().map(|run| run.text.width()).sum()
    }
}

impl TableCell {
    /// Columns on a screen that is wide enough.
    pub(in crate::render) fn width(&self) -> usize {
        self.paragraphs
            .iter()
            .map(Paragraph::width)
            .max()
            .unwrap_or(0)
    }
}

impl Block {
    /// All its text, run by run, in the order of reading.
    pub(in crate::render) fn runs_mut(&mut self) -> Box<dyn Iterator<Item = &mut Run> + '_> {
        match &mut self.kind {
            BlockKind::Paragraph(para) => Box::new(para.runs.iter_mut()),
            BlockKind::TableRow { cells, .. } => Box::new(
                cells
                    .iter_mut()
                    .flat_map(|cell| &mut cell.paragraphs)
                    .flat_map(|para| &mut para.runs),
            ),
            BlockKind::Rule => Box::new(std::iter::empty()),
        }
    }

    /// The same to look at.
    pub(in crate::render) fn runs(&self) -> Box<dyn Iterator<Item = &Run> + '_> {
        match &self.kind {
            BlockKind::Paragraph(para) => Box::new(para.runs.iter()),
            BlockKind::TableRow { cells, .. } => Box::new(
                cells
                    .iter()
                    .flat_map(|cell| &cell.paragraphs)
                    .flat_map(|para| &para.runs),
            ),
            BlockKind::Rule => Box::new(std::iter::empty()),
        }
    }
}
