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
fn list_beside_the_items_of_another_is_indented() {
    let html = "<ol><li>a<ol type=a><li>b</li><ul><li>c</li></ul></ol><li>d</li>\
        <ol><li>e</li><ol type=i><li>f</ol></ol></ol>";
    let lines = [
        "1. a",
        "   a. b",
        "      • c",
        "2. d",
        "   1. e",
        "      i. f",
    ];
    assert_shown(html, &lines);
    assert_shown("<ul><ul><li>g</ul></ul>", &["  • g"]);
}

#[test]
fn exchange_quotes_are_marked() {
    let style = "margin-left:1pt;padding-left:4pt;border-left:#800000 2px solid";
    let quote = |html| format!("<div class=EmailQuote style='{style}'>{html}</div>");
    let html = format!(
        "Reply{}",
        quote("One".to_owned() + &quote("two".to_owned()))
    );
    assert_eq!(shown_text(&html, 40), ["Reply", "> One", "> > two"]);
}

#[test]
fn lists_with_unknown_counters_have_numbers() {
    for style in ["lower-greek", "cjk-ideographic", "inside hebrew", "my-own"] {
        let html = format!("<ol style='list-style:{style}'><li>x<li>y</ol>");
        assert_shown(&html, &["1. x", "2. y"]);
    }
    for style in ["disc", "circle", "square", "disclosure-open"] {
        assert_shown(
            &format!("<ol style='list-style:{style}'><li>x</ol>"),
            &["• x"],
        );
    }
}

#[test]
fn yahoo_quotes_are_marked_unlike_gmail_indents() {
    let quote = "<div class='yahoo_quoted x'><div>On Monday, Al wrote:</div></div>";
    assert_eq!(shown(quote, 40), ["> On Monday, Al wrote:"]);
    let quote = quote.replace("yahoo", "ydp8a1yahoo");
    assert_eq!(shown(&quote, 40), ["> On Monday, Al wrote:"]);
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
    let html = "<ul><li><input type=checkbox checked disabled> <a href=#>#12</a> done\
        <li><input type=checkbox disabled> <strong>Ship it";
    assert_eq!(shown(html, 40), ["• [x] #12 done", "• [ ] Ship it"]);
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

#[test]
fn left_border_of_mail_programs_marks_a_quote() {
    for open in [
        "<div style='border:none;border-left:solid blue 1.5pt;padding:0cm 0cm 0cm 4.0pt'>",
        "<div style='border:none; border-left:solid #CCCCCC 1.0pt;\npadding:0in 0in 0in 6.0pt'>",
        "<blockquote style='border:none;border-left:solid #1010FF 1.5pt;margin-left:30pt'>",
    ] {
        let html = format!("<p>Order #10042</p>{open}<p>Please cancel it.</p>");
        assert_shown(&html, &["Order #10042", "", "> Please cancel it."]);
    }
    let open = "<div style='border-left:2px solid blue;padding-left:1ex'>";
    for attribution in [
        "On Mon, 3 Jun 2024, Ana Perez wrote:",
        "-------- Ursprüngliche Nachricht --------",
        "Am 03.06.24 um 10:00 schrieb Ana:",
        "-----Original Message-----",
        "From: Ana &lt;ana@example.com&gt;<br>Subject: Cancel",
        "Von: Ana<br>Betreff: Order",
        "De: Ana<br>Asunto: Order",
    ] {
        for html in [
            format!("<p>Hi</p><div>{attribution}</div>{open}Please cancel it."),
            format!("<p>Hi</p>{open}<div>{attribution}</div>Please cancel it."),
        ] {
            assert!(text(&html).contains("> Please cancel it."), "{html}");
        }
    }
    for style in [
        "border-left:3px solid #ccc;padding-left:1em",
        "margin:0 0 0 .8ex;border-left:3px solid rgb(200,200,200);padding-left:1ex",
        "border-left:1px solid #ccc;padding-left:8px",
    ] {
        let html = format!("<p>On 3 June,<br>Ana wrote:</p><div style='{style}'>Cancel it.</div>");
        assert!(text(&html).contains("> Cancel it."), "{style}");
    }
}

#[test]
fn left_borders_of_designs_mark_no_quote() {
    for style in [
        "border-left:3px solid #ccc;padding-left:1em;background:#eee",
        "border-left:4px solid #0969da;padding-left:1em",
        "border-left:3px solid #333;padding-left:12px",
        "border-left:1px solid #ccc;padding:16px",
        "border-left:8px solid #ccc;padding-left:1em",
        "border:1px solid #ccc;padding-left:1em",
        "border-left:1px solid #fff;padding-left:1em",
        "border-left:1px solid #ccc;padding-left:8px;width:50%",
        "border-left:1px solid #ccc",
    ] {
        let html = format!("<p>One</p><div style='{style}'>Two</div>");
        assert!(!text(&html).contains('>'), "{style}");
    }
    for style in [
        "border-left:2px solid #3a3;padding-left:10px",
        "border-left:2px solid #ccc;padding-left:10px",
        "border-left:2px solid #e00;padding-left:8px",
        "border-left:3px solid #ccc;padding-left:1em",
        "border-left:2px solid blue;padding-left:8px",
    ] {
        for words in ["Important: pay", "From: Lisbon", "On time: yes", "De: uno"] {
            let html = format!("<p>One</p><div style='{style}'>{words}</div>");
            assert!(!text(&html).contains('>'), "{html}");
        }
    }
    for style in [
        "border-left:2px solid #e00;padding-left:8px",
        "border-left:4px solid #ccc;padding-left:8px",
    ] {
        let html = format!("<p>On 3 June, Ana wrote:</p><div style='{style}'>Two</div>");
        assert!(!text(&html).contains('>'), "{style}");
    }
    let whole = "<div style='border-left:1px solid #ccc;padding-left:8px'><p>All of it</div>";
    assert_shown(whole, &["All of it"]);
    let cells = "<table><tr><td>One<td><div style='border-left:1px solid #ccc;padding-left:8px'>Two</div></table>";
    assert_shown(cells, &["One  Two"]);
    let columns = "<div style='display:flex'><div>One</div><div style='border-left:1px solid #ccc;padding-left:8px'>Two</div></div>";
    assert_shown(columns, &["One  Two"]);
}
