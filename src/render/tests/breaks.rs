//! Where lines of html break, and where they stay whole.

use super::*;

#[test]
fn nowrap_text_stays_on_one_line() {
    let before = "We ask you to pay the sum of";
    for sum in [
        "<nobr>1 234,56 euros</nobr>",
        "<span style='white-space:nowrap'>1 234,56 <b>euros</b></span>",
    ] {
        let html = format!("<p>{before} {sum} to our account");
        let lines = [before, "1 234,56 euros to our account"];
        assert_eq!(shown(&html, 40), lines, "{sum}");
    }
    let row = "<tr><td nowrap>1 January to 3 March<td>measured by our people and then counted";
    let table = format!("<table border=1>{row}{row}</table>");
    let lines = [
        "1 January to 3 March  measured by our",
        "                      people and then",
        "                      counted",
    ];
    assert_eq!(shown(&table, 40)[..3], lines);
}

#[test]
fn nowrap_text_breaks_if_it_is_too_wide() {
    let words = "one two three four five six seven eight nine ten";
    let html = format!("<p>Count: <nobr>{words}</nobr>");
    let lines = [
        "Count: one two three",
        "four five six seven",
        "eight nine ten",
    ];
    assert_eq!(shown(&html, 20), lines);
}

#[test]
fn line_may_break_before_and_after_nowrap_text() {
    let html = "<p>aaaa bbbb <nobr>cc dd</nobr> eeee <nobr> ff gg </nobr> hhhh";
    assert_eq!(shown(html, 10), ["aaaa bbbb", "cc dd eeee", "ff gg hhhh"]);
}

#[test]
fn amounts_and_codes_move_to_the_next_line() {
    for (before, amount) in [
        ("The sum that you owe us is about", "<b>1 234,56</b> EUR"),
        ("We ask for the payment of the sum", "EUR <b>1,200.00</b>"),
        ("The code that we sent to you is: ", "482 913"),
        ("Please pay all of it to", "GB29 NWBK 6016 1331 9268 19"),
        ("Paid with the card of the bank", "•••• •••• •••• 4242"),
        ("ホテルのチェックインの日時はすべて", "２０２６"),
    ] {
        let html = format!("<p>{before} {amount}");
        let amount = amount.replace("<b>", "").replace("</b>", "");
        let lines = shown(&html, 36);
        assert_eq!(lines.last(), Some(&amount), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}

#[test]
fn number_wider_than_the_screen_breaks_at_spaces() {
    let html = "<p>IBAN: DE89 3704 0044 0532 0130 00";
    assert_eq!(shown(html, 20), ["IBAN: DE89 3704 0044", "0532 0130 00"]);
}

#[test]
fn brackets_stay_beside_the_label_of_a_button() {
    let style = "style='background:#06f;color:#fff;padding:6px'";
    let button = |label: &str| format!("<a href=https://example.com/x {style}>{label}</a> ");
    let html = [button("Download PDF"), button("Switch payment method")].concat();
    let lines = ["[ Download PDF ] [ Switch payment", "method ]"];
    assert_eq!(shown(&html, 40), lines);
}
