//! Flags, environment and file become settings; secrets stay secret.

pub mod clock;
