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
        ("a<input type=hidden value=x>", "a"),
        ("a<input value=''>b", "ab"),
    ] {
        assert_shown(html, &[expected]);
    }
}

#[test]
fn choices_of_a_form_are_shown() {
    for (html, expected) in [
        (
            "<input type=radio checked>Yes <input type=radio>No",
            "[x] Yes [ ] No",
        ),
        (
            "<label><input type=checkbox value=1 checked> Tea</label><input type=CheckBox name=n> Milk",
            "[x] Tea [ ] Milk",
        ),
        (
            "<input type=checkbox checked> <label>Tea</label> <input type=checkbox> <b>Milk</b>",
            "[x] Tea [ ] Milk",
        ),
        (
            "<table><tr><td><input type=checkbox><td>Coffee</table>",
            "[ ]  Coffee",
        ),
        ("a<input type=checkbox style='display:none'>b", "ab"),
        ("<input type=checkbox id=menu><div>Menu</div>", "Menu"),
        (
            "<input type=checkbox role=button><label>Menu</label>",
            "Menu",
        ),
        ("a<input type=checkbox style='opacity:0'>b", "ab"),
        ("a<input type=radio style='opacity:0'>b", "ab"),
        ("a<input type=radio style='width:0;height:0'>b", "ab"),
        ("a<input type=radio style='height:0'>b", "ab"),
        (
            "a<input type=radio style='position:absolute;clip:rect(0,0,0,0)'>b",
            "ab",
        ),
        ("a<input type=radio style='clip:rect(0,0,0,0)'>b", "a [ ] b"),
        ("a<input type=radio style='clip-path:inset(50%)'>b", "ab"),
        ("a<input type=radio style='transform:scale(0)'>b", "ab"),
        (
            "a<input type=radio style='position:absolute;left:-9999px'>b",
            "ab",
        ),
        (
            "a<input type=radio style='width:1em;height:1em'>b",
            "a [ ] b",
        ),
    ] {
        assert_shown(html, &[expected]);
    }
}
