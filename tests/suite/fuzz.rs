//! The fuzz targets as property tests: the kept inputs of `fuzz/corpus/`, and a few
//! hundred random ones.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use sentbox::fuzz_targets;

/// Random cases for each target; the long run is `cargo fuzz`.
const CASES: u32 = 200;

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
    check_corpus("config", fuzz_targets::config);
    check_corpus("html", fuzz_targets::html);
    check_corpus("json_page", fuzz_targets::json_page);
    check_corpus("query", fuzz_targets::query);
    check_corpus("sanitize", fuzz_targets::sanitize);
    check_corpus("terminal_input", fuzz_targets::terminal_input);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn query_accepts_any_input(
        data in input("(after:|before:|to:|is:|-|not |or |[()\":,]|[a-z]{1,3}| |\\PC){0,40}")
    ) {
        fuzz_targets::query(&data);
    }

    #[test]
    fn sanitize_accepts_any_input(
        data in input("([\u{0}-\u{9f}\u{2000}-\u{2070}\u{300}-\u{36f}\u{fe00}-\u{fe0f}\u{feff}]|[a-z]|\\PC){0,60}")
    ) {
        fuzz_targets::sanitize(&data);
    }

    #[test]
    fn html_accepts_any_input(
        data in input("(</?(p|b|td|tr|table|li|style|a href=x)>|[<>/=\"'&;#!{}-]|[a-z ]{1,5}|\\PC){0,60}")
    ) {
        fuzz_targets::html(&data);
    }

    #[test]
    fn json_page_accepts_any_input(
        data in input("\\{\"data\":\\[(\\{\"id\":\"[a-z]\"(,\"(to|subject|created_at|x)\":(null|true|[0-9]|\"\\PC{0,9}\"|\\[\\]))?\\},)?\\{\"id\":\"[a-z]{1,2}\"\\}\\](,|\\PC)?\\}")
    ) {
        fuzz_targets::json_page(&data);
    }

    #[test]
    fn config_accepts_any_input(
        data in input("(\\[(profiles\\.a|views|keys|theme)\\]\n|(rate|keep|archive|1|accent) = |[\"\\[\\]{}=#.\n]|[a-z0-9]{1,4}|\\PC){0,40}")
    ) {
        fuzz_targets::config(&data);
    }

    #[test]
    fn terminal_input_accepts_any_bytes(
        data in input("(\u{1b}([\\[O\\]\u{1b}]|\\[\\[|\\[M|\\[<|\\[20[01]~|\\[1;5A|\\]11;|\\\\)?|[\r\u{3}\u{7}0-9;?Mmu~]|\\PC){0,12}")
    ) {
        fuzz_targets::terminal_input(&data);
    }
}
