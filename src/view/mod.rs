//! Draws a model, and changes nothing.
