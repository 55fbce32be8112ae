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
