//! Panics of the libraries that read and lay out, kept where they happen.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CATCHING_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`; none if it panicked. Such a panic is expected of odd input and has a substitute, so
/// the process's panic hook should take no notice of it ([`panics_are_contained`]).
pub(super) fn catch_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = CATCHING_PANICS.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CATCHING_PANICS.set(before);
    outcome.ok()
}

/// Whether a panic of this thread would be caught by the renderer and do no harm: for a panic hook,
/// which would otherwise end the screen over it.
#[must_use]
pub(crate) fn is_catching_panics() -> bool {
    CATCHING_PANICS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_contained_while_it_happens_and_no_longer() {
        assert_eq!(catch_panics(|| 7), Some(7));
        let outcome: Option<()> = catch_panics(|| {
            assert!(is_catching_panics());
            catch_panics(|| ());
            assert!(is_catching_panics());
            panic!("as html2text has done");
        });
        assert_eq!(outcome, None);
        assert!(!is_catching_panics());
    }
}
