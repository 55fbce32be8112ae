//! The areas of a screen of a given size, for `update` and for `draw`.

use ratatui::layout::{Rect, Size};

/// The arrangement of the two panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrangement {
    /// List left, reader right.
    Beside,
    /// List above, reader below.
    Below,
    /// One at a time.
    Single,
}

impl Arrangement {
    /// The default for a screen of this size.
    pub const fn for_size(size: Size) -> Self {
        if size.width >= WIDE {
            Self::Beside
        } else if size.width >= MEDIUM && size.height >= TALL {
            Self::Below
        } else {
            Self::Single
        }
    }

    /// The next one in a cycle.
    pub const fn next(self) -> Self {
        match self {
            Self::Beside => Self::Below,
            Self::Below => Self::Single,
            Self::Single => Self::Beside,
        }
    }
}

/// From this many columns on, list and reader are side by side.
const WIDE: u16 = 120;
/// With this many columns and [`TALL`] rows, the list is above the reader.
const MEDIUM: u16 = 60;
/// The fewest rows in which two panes one above the other are useful.
const TALL: u16 = 16;
/// Below this many columns, a row of the list takes two lines.
const NARROW: u16 = 56;
/// From this many rows on, the list has room for headings.
const HIGH: u16 = 16;
/// The smallest pane, in columns or rows.
const MIN_PANE: (u16, u16) = (24, 3);

/// The pane that has the keys, and the user's changes of both panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Panes {
    /// Replaces the default for the size.
    arrangement: Option<Arrangement>,
    /// Columns or rows that the list has more than by default.
    divider_shift: i16,
    /// Whether the reader has the keys.
    pub(super) reader_open: bool,
    /// Whether the reader covers the list.
    pub(super) full_reader: bool,
    /// Whether the list had the keys before the reader covered it.
    is_full_from_list: bool,
}

impl Panes {
    /// Uses the default arrangement for the size again.
    pub(super) const fn reset_arrangement(&mut self) {
        (self.arrangement, self.divider_shift) = (None, 0);
    }

    /// Shows both panes in this arrangement, or one of them.
    pub(super) const fn arrange(&mut self, arrangement: Arrangement) {
        (self.arrangement, self.divider_shift) = (Some(arrangement), 0);
        self.full_reader = false;
    }

    /// Moves it as far as both panes fit on a screen of this size.
    pub(super) fn move_divider(&mut self, by: i16, size: Size, card: bool) {
        let position = |divider_shift| {
            let panes = Self {
                divider_shift,
                ..*self
            };
            i16::try_from(Layout::new(size, panes, card).divider_position()).unwrap_or(i16::MAX)
        };
        let default = position(0);
        let shift = position(self.divider_shift) - default;
        self.divider_shift = position(shift.saturating_add(by)) - default;
    }

    pub(super) const fn cover_list(&mut self) {
        self.is_full_from_list = !self.reader_open;
        self.full_reader = true;
    }

    /// Uncovers the list; returns whether it had the keys before.
    pub(super) const fn uncover_list(&mut self) -> bool {
        self.full_reader = false;
        self.is_full_from_list
    }

    pub(super) const fn close_reader(&mut self) {
        (self.reader_open, self.full_reader) = (false, false);
    }
}

/// The areas of one screen. An area that does not fit is empty, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub arrangement: Arrangement,
    /// The title bar; empty on very low screens.
    pub title: Rect,
    /// The panes with their divider.
    pub main: Rect,
    /// The recipient card above the list; empty if there is none.
    pub card: Rect,
    /// The list; empty if only the reader is shown.
    pub list: Rect,
    /// The line between the panes; empty if one is shown alone.
    pub divider: Rect,
    /// The reader; empty if only the list is shown.
    pub reader: Rect,
    /// The status bar; empty on very low screens.
    pub bottom: Rect,
    /// The lines of a row of the list.
    pub row_height: u16,
    /// Whether each day in the list has a heading.
    pub day_headings: bool,
}

impl Layout {
    /// Divides `size`. With [`Arrangement::Single`], the one pane is the reader if it is
    /// open; `card` is whether there is a recipient card.
    pub fn new(size: Size, panes: Panes, card: bool) -> Self {
        let arrangement = panes.arrangement.unwrap_or(Arrangement::for_size(size));
        let all = Rect::new(0, 0, size.width, size.height);
        let (title, rest) = split_top(all, u16::from(size.height >= 6));
        let bottom_height = u16::from(size.height >= 3);
        let (main, bottom) = split_top(rest, rest.height.saturating_sub(bottom_height));
        let card_height = if card { card_height(main) } else { 0 };
        let empty = Rect::ZERO;
        let (list, divider, reader) = match arrangement {
            _ if panes.full_reader => (empty, empty, main),
            Arrangement::Single if panes.reader_open => (empty, empty, main),
            Arrangement::Single => (main, empty, empty),
            Arrangement::Beside => split_beside(main, panes.divider_shift),
            // The card takes its rows from the reader, not from the list, which is low already.
            Arrangement::Below => {
                let more = if card_height > 0 { card_height - 1 } else { 0 };
                split_below(main, panes.divider_shift.saturating_add_unsigned(more))
            }
        };
        let (card, list) = split_top(list, if list.is_empty() { 0 } else { card_height });
        let row_height = 1 + u16::from(list.width < NARROW && list.height >= 4);
        Self {
            arrangement,
            title,
            main,
            card,
            list,
            divider,
            reader,
            bottom,
            row_height,
            day_headings: row_height == 1 && list.height >= HIGH,
        }
    }

    /// The column of the divider between two panes beside each other, or its row.
    pub(super) fn divider_position(&self) -> u16 {
        match self.arrangement {
            Arrangement::Beside => self.divider.x,
            _ => self.divider.y,
        }
    }

    /// Whether the line between the panes has the tabs of the reader.
    pub fn has_tabs_in_divider(&self) -> bool {
        self.arrangement == Arrangement::Below && !self.divider.is_empty()
    }

    /// Whether a row has columns for a time with seconds and zone, and for a subject.
    pub const fn fits_full_times(&self) -> bool {
        self.list.width >= if self.row_height == 1 { 48 } else { 34 }
    }

    /// The number of rows that fit into the list, if no headings take lines.
    pub fn row_capacity(&self) -> usize {
        usize::from(self.list.height / self.row_height.max(1))
    }
}

/// The lines of the card with the rule below it.
const fn card_height(main: Rect) -> u16 {
    match main.height {
        0..=5 => 0,
        6..=9 => 2,
        10..=13 => 4,
        14..=29 => 5,
        _ => 6,
    }
}

fn split_beside(main: Rect, shift: i16) -> (Rect, Rect, Rect) {
    let width = (main.width * 11 / 20).clamp(60, 92);
    let width = clamp_shifted(width, shift, MIN_PANE.0, main.width);
    let list = Rect { width, ..main };
    let divider = Rect {
        x: width,
        width: u16::from(main.width > width),
        ..main
    };
    let reader = Rect {
        x: (width + 1).min(main.width),
        width: main.width.saturating_sub(width + 1),
        ..main
    };
    (list, divider, reader)
}

fn split_below(main: Rect, shift: i16) -> (Rect, Rect, Rect) {
    let height = clamp_shifted(main.height / 3, shift, MIN_PANE.1, main.height);
    let (list, rest) = split_top(main, height);
    let (divider, reader) = split_top(rest, 1);
    (list, divider, reader)
}

/// `size + shift`, but both panes keep at least `least` if `whole` is large enough.
fn clamp_shifted(size: u16, shift: i16, least: u16, whole: u16) -> u16 {
    let most = whole.saturating_sub(least + 1).max(whole / 2);
    size.saturating_add_signed(shift)
        .clamp(least.min(most), most)
}

/// Divides an area into its first rows, as far as it has so many, and the others.
pub fn split_top(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (
        Rect { height, ..area },
        Rect {
            y: area.y + height,
            height: area.height - height,
            ..area
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(width: u16, height: u16) -> Layout {
        Layout::new(Size::new(width, height), Panes::default(), false)
    }

    #[test]
    fn size_decides_the_arrangement() {
        assert_eq!(of(160, 45).arrangement, Arrangement::Beside);
        assert_eq!(of(100, 30).arrangement, Arrangement::Below);
        assert_eq!(of(80, 24).arrangement, Arrangement::Below);
        assert_eq!(of(40, 12).arrangement, Arrangement::Single);
        assert_eq!(of(40, 12).row_height, 2);
        assert_eq!(of(80, 24).row_height, 1);
    }

    #[test]
    fn full_reader_leaves_no_list() {
        let panes = Panes {
            reader_open: true,
            full_reader: true,
            ..Panes::default()
        };
        let layout = Layout::new(Size::new(160, 45), panes, false);
        assert_eq!(layout.row_capacity(), 0);
        assert_eq!(layout.reader.width, 160);
    }

    proptest! {
        #[test]
        fn areas_stay_inside_and_do_not_overlap(
            width in 0_u16..400, height in 0_u16..200, shift in -300_i16..300, full: bool, reading: bool, card: bool,
            by_hand in prop_oneof![Just(None), Just(Some(Arrangement::Beside)), Just(Some(Arrangement::Below)), Just(Some(Arrangement::Single))],
        ) {
            let screen = Rect::new(0, 0, width, height);
            let panes = Panes { arrangement: by_hand, divider_shift: shift, full_reader: full, reader_open: reading, ..Panes::default() };
            let layout = Layout::new(Size::new(width, height), panes, card);
            let areas = [layout.title, layout.card, layout.list, layout.divider, layout.reader, layout.bottom];
            for (n, area) in areas.iter().enumerate() {
                prop_assert_eq!(area.intersection(screen).area(), area.area(), "{:?}", layout);
                for other in &areas[n + 1..] {
                    prop_assert_eq!(area.intersection(*other).area(), 0, "{:?}", layout);
                }
            }
        }
    }
}
