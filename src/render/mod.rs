//! Turns a body into lines of marked spans at a width, safely, whatever the body is.

mod body;

pub use body::{Body, Line, Link, Mark, Note, Role, Span, View};
