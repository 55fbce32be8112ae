//! `KeySource`: where a profile has a key or a password.

use std::fmt;
use std::path::PathBuf;

/// The source of a profile's key. The file never has the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// A shell command that prints it.
    Command(String),
    /// A file of mode 0600 that holds it.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

impl fmt::Display for KeySource {
    /// Names the source. Of a command only its first word: the rest may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => match command
                .split_whitespace()
                .next()
                .filter(|word| !word.contains(['=', '$', '`']))
            {
                Some(word) => write!(f, "command {word} ..."),
                None => f.write_str("a command"),
            },
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
        }
    }
}
