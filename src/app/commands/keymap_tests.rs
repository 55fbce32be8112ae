use super::*;
use crate::app::commands::help::{HelpLine, help_lines};

fn press(keys: &str) -> Vec<Key> {
    parse_sequence(keys).unwrap()
}

fn changed(changes: &[(&str, &str)]) -> (Keymap, Vec<String>) {
    let change = |(n, (keys, command)): (usize, &(&str, &str))| KeyBinding {
        keys: (*keys).to_owned(),
        command: (*command).to_owned(),
        declared_at: format!("c.toml:{}", n + 1),
    };
    Keymap::with_overrides(&changes.iter().enumerate().map(change).collect::<Vec<_>>())
}

const ALL_FOCUSES: [Focus; 5] = [
    Focus::List,
    Focus::Reader,
    Focus::Details,
    Focus::Prompt,
    Focus::Choice,
];

#[test]
fn formatted_key_parses_to_itself() {
    for text in "j G Ctrl-d Alt-j Shift-Down F5 F12 Insert Space Enter <".split(' ') {
        assert_eq!(Key::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Key::parse("Hyper-x"), None);
    assert_eq!(format_sequence(&press("g g")), "gg");
    assert_eq!(format_sequence(&press("g Enter")), "g Enter");
}

#[test]
fn shift_is_reported_alike_by_terminals() {
    for (code, text) in [(KeyCode::Char('G'), "G"), (KeyCode::BackTab, "Shift-Tab")] {
        let key = Key::new(code, KeyModifiers::SHIFT);
        assert_eq!(Key::parse(text), Some(key));
    }
}

#[test]
fn every_default_key_means_one_command() {
    let keymap = Keymap::default();
    for binding in &keymap.bindings {
        for focus in ALL_FOCUSES {
            if !binding.focuses.contains(focus) {
                continue;
            }
            let meaning = |length| keymap.find_match(focus, &binding.keys[..length]);
            let length = binding.keys.len();
            assert_eq!(
                meaning(length),
                KeyMatch::Command(binding.command),
                "{binding:?} in {focus:?}"
            );
            for start in 1..length {
                assert_eq!(meaning(start), KeyMatch::Prefix, "{binding:?} in {focus:?}");
            }
        }
    }
}

#[test]
fn back_and_quit_work_in_every_focus() {
    let keymap = Keymap::default();
    for focus in ALL_FOCUSES {
        let found = |keys| keymap.find_match(focus, &press(keys));
        assert_eq!(found("Ctrl-c"), KeyMatch::Command(Command::Quit));
        if focus != Focus::Prompt {
            assert_eq!(found("q"), KeyMatch::Command(Command::Back));
        }
    }
}

#[test]
fn characters_are_not_bound_in_the_prompt() {
    for letter in ' '..='~' {
        let key = Key::new(KeyCode::Char(letter), KeyModifiers::NONE);
        let found = Keymap::default().find_match(Focus::Prompt, &[key]);
        assert_eq!(found, KeyMatch::Unbound);
        assert_eq!(key.typed_char(), Some(letter));
    }
}

#[test]
fn override_applies_only_where_its_command_does() {
    let (keymap, errors) = changed(&[
        ("Ctrl-s", "filter"),
        ("v", "filter"),
        ("g", "newest"),
        ("F9", "scroll-down"),
        ("x", "none"),
        ("J", "none"),
    ]);
    assert_eq!(errors, [""; 0]);
    let hinted = keymap.key_for(Focus::List, Command::Filter);
    assert_eq!(hinted.as_deref(), Some("v"), "the key bound last");
    let hidden = "keys that an override hides are unbound";
    for (focus, keys, meaning) in [
        (Focus::List, "Ctrl-s", KeyMatch::Command(Command::Filter)),
        (Focus::List, "v", KeyMatch::Command(Command::Filter)),
        (Focus::List, "/", KeyMatch::Command(Command::Filter)),
        (Focus::Reader, "v", KeyMatch::Command(Command::NextBodyView)),
        (Focus::List, "g", KeyMatch::Command(Command::Newest)),
        (Focus::List, "g d", KeyMatch::Unbound),
        (Focus::Reader, "g", KeyMatch::Prefix),
        (Focus::Reader, "F9", KeyMatch::Command(Command::ScrollDown)),
        (Focus::List, "F9", KeyMatch::Command(Command::ScrollDown)),
        (Focus::Reader, "J", KeyMatch::Unbound),
        (
            Focus::List,
            "@ t",
            KeyMatch::Command(Command::OnlyRecipient),
        ),
    ] {
        let found = keymap.find_match(focus, &press(keys));
        assert_eq!(found, meaning, "{keys} in {focus:?}; {hidden}");
    }
}

#[test]
fn impossible_override_is_reported_with_its_line() {
    let (keymap, errors) = changed(&[
        ("Hyper-x", "filter"),
        ("x", "filer"),
        ("Ctrl-c", "none"),
        ("x", "accept"),
        ("y", "polka"),
        ("x", "undo"),
    ]);
    assert_eq!(
        errors,
        [
            "c.toml:1: there is no key \"Hyper-x\"; keys are written as in \"j\", \"Ctrl-d\", \"g d\", \"F5\"",
            "c.toml:2: there is no command \"filer\"; did you mean filter?",
            "c.toml:3: Ctrl-c always quits",
            "c.toml:4: \"x\" types a character where accept applies",
            "c.toml:5: there is no command \"polka\"; docs/keys.md lists all",
        ]
    );
    let found = keymap.find_match(Focus::List, &press("x"));
    assert_eq!(found, KeyMatch::Command(Command::Undo));
}

#[test]
fn key_that_starts_another_override_is_an_error() {
    for (changes, error) in [
        (
            [("g", "export"), ("g s", "recipient-summary")],
            "c.toml:2: \"g s\" starts with \"g\" (c.toml:1), so only one of them can have a command",
        ),
        (
            [("g s", "recipient-summary"), ("g", "export")],
            "c.toml:2: \"g\" is the start of \"g s\" (c.toml:1), so only one of them can have a command",
        ),
    ] {
        assert_eq!(changed(&changes).1, [error]);
    }
    let (keymap, errors) = changed(&[("g s", "recipient-summary"), ("g", "none")]);
    assert_eq!(errors, [""; 0], "only the default sequences are unbound");
    let found = keymap.find_match(Focus::List, &press("g s"));
    assert_eq!(found, KeyMatch::Command(Command::RecipientSummary));
    let (_, errors) = changed(&[("g", "scroll-down"), ("g s", "accept")]);
    assert_eq!(errors.len(), 1, "they never apply together: {errors:?}");
}

#[test]
fn replaced_default_sequences_are_named() {
    let warnings = |keys: &str, command: &str| {
        Keymap::replaced_sequences(&[KeyBinding {
            keys: keys.to_owned(),
            command: command.to_owned(),
            declared_at: "c.toml:1".to_owned(),
        }])
    };
    let warning = warnings("g", "export").join("");
    assert!(
        warning.starts_with("c.toml:1: \"g\" for export replaces ")
            && warning.contains("gd (go-to-date)")
            && warning.contains("gs (sent-mail)"),
        "{warning}"
    );
    let expected = "c.toml:1: \"@ t x\" for export replaces @t (only-recipient)";
    assert_eq!(warnings("@ t x", "export"), [expected]);
    for (keys, command) in [("x", "export"), ("g", "none"), ("F9", "export")] {
        assert_eq!(warnings(keys, command), [""; 0]);
    }
}

#[test]
fn help_has_each_default_binding_once() {
    let lines = help_lines(&Keymap::default());
    let shown = lines
        .iter()
        .filter(|line| matches!(line, HelpLine::Keys(..)));
    let bindings: usize = COMMANDS.iter().map(|spec| spec.bindings.len()).sum();
    assert_eq!(shown.count(), bindings - 8, "nine saved views share a line");
}

#[test]
fn notice_names_the_key_of_the_user() {
    let notice = |changes: &[(&str, &str)]| {
        let (keymap, _) = changed(changes);
        keymap.with_hint("stopped", Focus::List, Command::LoadOlder, "continues")
    };
    assert_eq!(notice(&[]), "stopped; b continues");
    assert_eq!(notice(&[("X", "load-older")]), "stopped; X continues");
    assert_eq!(notice(&[("b", "none")]), "stopped");
}
