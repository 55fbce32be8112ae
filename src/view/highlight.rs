//! Underlines what a filter looks for where it stands in text that is drawn.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

use super::render_ctx::Theme;
use crate::query::{Field, SearchText, find_substrings};

/// What is looked for, and in which field, if it is looked for in just one.
pub type SearchTerms<'a> = Vec<(Option<Field>, &'a SearchText)>;

/// Where something that is looked for in one of these fields, or anywhere, is a part of `text`.
pub fn match_ranges(text: &str, fields: &[Field], sought: &SearchTerms) -> Vec<Range<usize>> {
    let here = sought
        .iter()
        .filter(|(field, _)| field.is_none_or(|field| fields.contains(&field)));
    here.flat_map(|(_, needle)| find_substrings(needle, text))
        .collect()
}

/// Underlines these bytes of `text`, which is drawn from `at` on in so many columns.
pub fn underline_ranges(
    text: &str,
    found: &[Range<usize>],
    at: Position,
    columns: usize,
    frame: &mut Frame,
) {
    for range in found {
        let start = text[..range.start].width();
        let end = (start + text[range.clone()].width()).min(columns);
        let width = u16::try_from(end.saturating_sub(start)).unwrap_or(0);
        let Some(x) = u16::try_from(start)
            .ok()
            .and_then(|start| at.x.checked_add(start))
        else {
            continue;
        };
        let area = Rect {
            x,
            y: at.y,
            width,
            height: 1,
        };
        let area = area.intersection(*frame.buffer_mut().area());
        frame.buffer_mut().set_style(area, Theme::highlight(false));
    }
}
