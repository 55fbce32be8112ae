//! The facts from the latest pages about the service's listing as a whole:
//! its order, and whether its top is known.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::ListedEmail;

/// With this many pairs of neighbours, an order can be told from none.
const MIN_PAIRS: usize = 8;

/// Times that differ by less, in microseconds, may be of several servers.
const TOLERANCE: i64 = 60 * 1_000_000;

/// The most items of a page that are compared.
const MAX_COMPARED: usize = 500;

/// The state of the listing, shared by the clones of an engine.
#[derive(Debug, Default)]
pub(super) struct ListingState {
    is_unordered: AtomicBool,
    is_top_unknown: AtomicBool,
}

impl ListingState {
    /// Whether a page shows that the listing is in no order of time.
    /// A short page shows nothing, and then the page before it counts.
    pub(super) fn check_order(&self, items: &[ListedEmail]) -> bool {
        if let Some(is_ordered) = is_ordered(items) {
            self.is_unordered.store(!is_ordered, Ordering::Relaxed);
        }
        self.is_unordered.load(Ordering::Relaxed)
    }

    /// Whether the latest newest page could not be read completely, or shows no order:
    /// then newer mail than that of the archive may exist.
    pub(super) fn is_top_unknown(&self) -> bool {
        self.is_top_unknown.load(Ordering::Relaxed)
    }

    pub(super) fn set_top_unknown(&self, is_unknown: bool) {
        self.is_top_unknown.store(is_unknown, Ordering::Relaxed);
    }
}

/// Whether the times of a page fall, or rise, apart from single ones;
/// `None` if there are too few.
///
/// Without an order, half of the neighbours rise and half of them fall. Scheduled mail is left out: some services
/// list it by the time at which it will be sent.
fn is_ordered(items: &[ListedEmail]) -> Option<bool> {
    let items = items.iter().take(MAX_COMPARED);
    let dated = items.filter(|item| item.parsed().summary.scheduled_at.is_none());
    let times: Vec<i64> = dated
        .filter_map(|item| Some(item.created?.as_microsecond()))
        .collect();
    let pairs = times.len().saturating_sub(1);
    let count = |is_counted: fn(i64) -> bool| {
        let steps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        steps.filter(|step| is_counted(*step)).count()
    };
    let rising = count(|step| step > TOLERANCE);
    let falling = count(|step| step < -TOLERANCE);
    (pairs >= MIN_PAIRS).then(|| rising.min(falling) * 4 <= pairs)
}
