//! Repaints rows that held characters whose width terminals dispute.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ratatui::buffer::{Buffer, CellDiffOption};
use unicode_width::UnicodeWidthStr as _;

/// The rows of the last frame with clusters of several characters,
/// and a hash of each.
///
/// A terminal may give such a cluster (Devanagari, Thai, a flag) more columns than it has here, so
/// that part of it stays when only the cells that changed are written.
#[derive(Debug, Default)]
pub(super) struct DisputedRows(BTreeMap<u16, u64>);

impl DisputedRows {
    /// Marks every cell of a disputed row that has changed since the last frame to be
    /// written, and remembers the disputed rows of this frame.
    pub(super) fn mark_changed(&mut self, frame: &mut Buffer) {
        let mut rows = BTreeMap::new();
        for y in frame.area.rows().map(|row| row.y) {
            let disputed =
                columns(frame, y).any(|x| frame[(x, y)].symbol().chars().nth(1).is_some());
            let before = self.0.get(&y).copied();
            if !disputed && before.is_none() {
                continue;
            }
            let hash = hash_row(frame, y);
            if before.is_some_and(|before| before != hash) {
                for x in columns(frame, y).collect::<Vec<_>>() {
                    frame[(x, y)].set_diff_option(CellDiffOption::AlwaysUpdate);
                }
            }
            if disputed {
                rows.insert(y, hash);
            }
        }
        self.0 = rows;
    }
}

fn hash_row(frame: &Buffer, y: u16) -> u64 {
    let mut hasher = DefaultHasher::new();
    for x in columns(frame, y) {
        frame[(x, y)].symbol().hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the columns of a row without the second ones of wide characters.
fn columns(frame: &Buffer, y: u16) -> impl Iterator<Item = u16> {
    let end = frame.area.right();
    let mut next = frame.area.left();
    std::iter::from_fn(move || {
        let x = next;
        let cell = (x < end).then(|| &frame[(x, y)])?;
        next += u16::try_from(cell.symbol().width().max(1)).unwrap_or(1);
        Some(x)
    })
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn frame(lines: [&str; 2]) -> Buffer {
        let mut frame = Buffer::empty(Rect::new(0, 0, 12, 2));
        for (y, line) in lines.into_iter().enumerate() {
            frame.set_string(0, u16::try_from(y).unwrap(), line, Style::new());
        }
        frame
    }

    /// Returns how many cells of each row are written for each frame.
    fn written(frames: &[[&str; 2]]) -> Vec<[usize; 2]> {
        let mut rows = DisputedRows::default();
        let mut before = frame(["", ""]);
        let mut count = |lines: &[&str; 2]| {
            let mut next = frame(*lines);
            rows.mark_changed(&mut next);
            let cells = before.diff(&next);
            let in_row = |row: u16| cells.iter().filter(|(_, y, _)| *y == row).count();
            let written = [in_row(0), in_row(1)];
            before = next;
            written
        };
        frames.iter().map(&mut count).collect()
    }

    #[test]
    fn changed_row_with_clusters_is_written_whole() {
        let indic = "नमस्ते ok";
        assert_eq!(
            written(&[[indic, "plain"], ["x ok", "plant"], ["y ok", "plant"]])[1],
            [12, 2]
        );
        assert_eq!(written(&[[indic, "🇩🇪"], [indic, ""]])[1], [0, 12]);
    }

    #[test]
    fn wide_characters_are_not_overwritten() {
        let frames = [["ご注文🇩🇪", ""], ["ご注文 x", ""]];
        assert_eq!(written(&frames)[1], [9, 0]);
    }

    #[test]
    fn rows_without_clusters_are_written_by_difference() {
        assert_eq!(
            written(&[["é abc", "ご注文"], ["é abd", "ご注文"]])[1],
            [1, 0]
        );
    }
}
