//! `KeyChange`: what the configuration says about a key, before anybody knows whether there is such a one.

/// A key that is to mean another command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBinding {
    /// The key, or several after each other, as people write them.
    pub keys: String,
    /// The name of the command, or `none`.
    pub command: String,
    /// Where it stands: file and line.
    pub declared_at: String,
}
