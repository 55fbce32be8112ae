//! Markers of lists and of quotes.

use super::*;

#[test]
fn lists_count_in_letters_and_roman_numbers() {
    let items = "<li>x<li>y";
    for (list, first, second) in [
        ("<ol type=A>", "A. x", "B. y"),
        ("<ol type=a start=26>", "z. x", "aa. y"),
        ("<ol type=I start=3>", "III. x", "IV. y"),
        ("<ol type=i start=1999>", "mcmxcix. x", "mm. y"),
        ("<ol style='list-style-type:lower-roman'>", "i. x", "ii. y"),
        ("<ol style='list-style-type:upper-alpha'>", "A. x", "B. y"),
        ("<ol type=I start=0>", "0. x", "I. y"),
    ] {
        assert_eq!(shown(&format!("{list}{items}</ol>"), 40), [first, second]);
    }
}

#[test]
fn lists_of_a_word_processor_have_markers() {
    let item = |level: u32, marker: &str, text: &str| {
        format!(
            "<p style='margin:0 0 0 {}pt;text-indent:-18pt'><span style='mso-list:Ignore'>{marker}<span>&nbsp;&nbsp;&nbsp; </span></span>{text}</p>",
            level * 36
        )
    };
    let html = [
        item(1, "·", "A point that wraps over the end"),
        item(2, "o", "below"),
        item(1, "2.", "second"),
    ]
    .concat();
    let lines = [
        "• A point that wraps",
        "  over the end",
        "  • below",
        "2. second",
    ];
    assert_eq!(shown(&html, 22), lines);
}

#[test]
fn yahoo_quotes_are_marked_unlike_gmail_indents() {
    let quote = "<div class='yahoo_quoted x'><div>On Monday, Al wrote:</div></div>";
    assert_eq!(shown(quote, 40), ["> On Monday, Al wrote:"]);
    let indent =
        "<blockquote style='margin:0 0 0 40px;border:none;padding:0px'>My words</blockquote>";
    assert_eq!(shown(indent, 40), ["My words"]);
}

#[test]
fn button_has_its_own_colours() {
    let html = "<div style='color:#fff;background:#fff'><button>Read more</button></div>";
    assert_eq!(shown(html, 40), ["[ Read more ]"]);
}

#[test]
fn tasks_show_whether_they_are_done() {
    let html = "<ul><li><input type=checkbox checked disabled> done<li><input type=checkbox disabled> todo\
        <li><input type=checkbox style='display:none'> plain</ul>";
    assert_eq!(shown(html, 40), ["• [x] done", "• [ ] todo", "• plain"]);
}

#[test]
fn definitions_are_indented_below_their_terms() {
    let list = "<dl><dt>Placed on<dd>3 June<dt>Ship to<dd>Main St 5<br>Springfield</dl>";
    let lines = [
        "Placed on",
        "  3 June",
        "Ship to",
        "  Main St 5",
        "  Springfield",
    ];
    assert_eq!(shown(list, 80), lines);
    let flat = list.replace("<dd", "<dd style=margin:0");
    assert_eq!(shown(&flat, 80), lines.map(str::trim_start));
}
