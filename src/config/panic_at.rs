//! `PanicAt`: where a debug build is told to panic, so that a test can see what becomes of it.

use super::Env;

/// A kind of work in which a debug build panics on request (`SENTBOX_PANIC`). The terminal must be
/// given back and the archive stay whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// While a request runs.
    Fetch,
    /// While the archive is asked.
    Store,
    /// While a body is laid out.
    Render,
    /// While input is handled.
    Input,
}

impl FaultPoint {
    /// What the environment asks for; nothing in a release build.
    #[must_use]
    pub(crate) fn from_env(env: &Env) -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        match env.get("SENTBOX_PANIC")? {
            "fetch" => Some(Self::Fetch),
            "store" => Some(Self::Store),
            "render" => Some(Self::Render),
            "input" => Some(Self::Input),
            _ => None,
        }
    }

    /// Panics if `asked` is `here`.
    pub(crate) fn panic_if_requested(asked: Option<Self>, here: Self) {
        assert!(
            asked != Some(here),
            "SENTBOX_PANIC asked for this in {here:?}"
        );
    }
}
