//! `src/fuzz_targets.rs` has the property.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sentbox::fuzz_targets::terminal_input(data));
