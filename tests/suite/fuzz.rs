//! The fuzz targets as property tests: the kept inputs of `fuzz/corpus/`, and a few
//! hundred random ones.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sentbox::fuzz_targets;

/// Random cases for each target; the long run is `cargo fuzz`.
const CASES: u32 = 200;

/// A target with its folder of kept inputs, and texts of its special characters.
type Target = (&'static str, fn(&[u8]), &'static str);

#[rustfmt::skip] // one target a line
const TARGETS: [Target; 6] = [
    ("config", fuzz_targets::config, "(\\[(profiles\\.a|views|keys|theme)\\]\n|(rate|keep|archive|1|accent) = |[\"\\[\\]{}=#.\n]|[a-z0-9]{1,4}|\\PC){0,40}"),
    ("html", fuzz_targets::html, "(</?(p|b|td|tr|table|li|style|a href=x)>|[<>/=\"'&;#!{}-]|[a-z ]{1,5}|\\PC){0,60}"),
    ("json_page", fuzz_targets::json_page, "\\{\"data\":\\[(\\{\"id\":\"[a-z]\"(,\"(to|subject|created_at|x)\":(null|true|[0-9]|\"\\PC{0,9}\"|\\[\\]))?\\},)?\\{\"id\":\"[a-z]{1,2}\"\\}\\](,|\\PC)?\\}"),
    ("query", fuzz_targets::query, "(after:|before:|to:|is:|-|not |or |[()\":,]|[a-z]{1,3}| |\\PC){0,40}"),
    ("sanitize", fuzz_targets::sanitize, "([\u{0}-\u{9f}\u{2000}-\u{2070}\u{300}-\u{36f}\u{fe00}-\u{fe0f}\u{feff}]|[a-z]|\\PC){0,60}"),
    ("terminal_input", fuzz_targets::terminal_input, "(\u{1b}([\\[O\\]\u{1b}]|\\[\\[|\\[M|\\[<|\\[20[01]~|\\[1;5A|\\]11;|\\\\)?|[\r\u{3}\u{7}0-9;?Mmu~]|\\PC){0,12}"),
];

/// Checks each kept input of a target, also cut short and with one bit changed.
fn check_corpus(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let data = fs::read(entry.unwrap().path()).unwrap();
        count += 1;
        check(&data);
        for step in 1..16 {
            let at = data.len() * step / 16;
            check(&data[..at]);
            let mut changed = data.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1 << (step % 8);
            }
            check(&changed);
        }
    }
    assert!(count > 0, "fuzz/corpus/{target} is empty");
}

/// Bytes, text in all scripts, and text of the parser's special characters.
fn input(special: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        any::<String>().prop_map(String::into_bytes),
        special.prop_map(String::into_bytes),
    ]
}

#[test]
fn kept_inputs_pass_their_target() {
    for (target, check, _) in TARGETS {
        check_corpus(target, check);
    }
}

#[test]
fn random_inputs_pass_every_target() {
    for (target, check, special) in TARGETS {
        let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
        let passed = runner.run(&input(special), |data| {
            check(&data);
            Ok(())
        });
        passed.unwrap_or_else(|error| panic!("{target}: {error}"));
    }
}
