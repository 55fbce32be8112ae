//! `KeyChange`: what the configuration says about a key, before anybody knows whether there is such a one.

/// A key that is to mean another command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyBinding {
    /// The key, or several after each other, as people write them.
    pub(crate) keys: String,
    /// The name of the command, or `none`.
    pub(crate) command: String,
    /// Where it stands: file and line.
    pub(crate) declared_at: String,
}
