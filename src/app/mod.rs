//! The terminal program as a pure machine: a message in, the next state and effects out.
