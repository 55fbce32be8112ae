//! Fields of forms.

use super::*;

#[test]
fn closed_select_is_part_of_its_line() {
    let html = "<p>Size: <select><option>S<option selected>M<option>L</select>, blue</p>";
    assert_shown(html, &["Size: M , blue"]);
}

#[test]
fn hidden_buttons_leave_no_brackets() {
    for button in ["<input type=submit value=Go>", "<button>Go</button>"] {
        let html = format!("<p>One<p style='visibility:hidden'>{button}<p>Two");
        assert!(!text(&html).contains('['), "{}", text(&html));
    }
}

#[test]
fn values_of_text_fields_are_shown() {
    for (html, expected) in [
        ("<input value=v2>", "v2"),
        ("Code:<input type=text value='A 1'>end", "Code: A 1 end"),
        (
            "<input type=Email value=ana@example.com>",
            "ana@example.com",
        ),
        ("a<input type=password value=x>", "a"),
        (
            "a<input type=radio value=x><input type=hidden value=x>",
            "a",
        ),
        ("a<input value=''>b", "ab"),
    ] {
        assert_shown(html, &[expected]);
    }
}
