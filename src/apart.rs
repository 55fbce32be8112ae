//! Work that takes much memory for a moment, on a thread of its own.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Runs work on a thread that ends with it, or here if no thread can start.
///
/// The allocator of the GNU C library keeps what a thread frees for that thread. Were such work done on several threads,
/// each would come to keep as much; a thread that starts takes over what the one that ended last has kept.
pub(crate) fn run_apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let (mut work, mut result) = (Some(work), None);
    scope(|scope| {
        let run = || result = work.take().map(|work| work());
        let thread = Builder::new().spawn_scoped(scope, run);
        if let Ok(Err(panic)) = thread.map(|it| it.join()) {
            resume_unwind(panic);
        }
    });
    // The work is left if no thread could start.
    let left = work.map(|work| work());
    result.or(left).expect("the work has run")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn work_runs_on_another_thread() {
        let here = thread::current().id();
        assert_ne!(run_apart(|| thread::current().id()), here);
    }

    #[test]
    #[should_panic(expected = "as a parser has done")]
    fn panic_is_one_of_the_caller() {
        run_apart(|| panic!("as a parser has done"));
    }
}
