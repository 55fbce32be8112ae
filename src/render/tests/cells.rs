//! Cells of data tables with more than lines of text.

use super::*;

const BUTTON: &str = "<a href=https://example.com/x style='background:#06f;padding:6px'>";

#[test]
fn button_below_a_text_stays_in_its_column() {
    let html = format!(
        "<table border=1><tr><th>Item<th>Paid<th>Open<tr><td>Shirt<br>{BUTTON}Return</a><td><td>10.00\
        <tr><td>Hat<td>8.00<td></table>"
    );
    let [_, shirt, button, hat] = &shown(&html, 80)[..] else {
        panic!("{}", text(&html));
    };
    assert!(shirt.starts_with("Shirt ") && shirt.ends_with(" 10.00"));
    assert_eq!(button, "[ Return ]");
    assert!(hat.starts_with("Hat ") && hat.ends_with(" 8.00"));

    let labels = format!(
        "<table><tr><td>Order<td>4711<tr><td>Status<td>Unpaid<br>{BUTTON}Pay now</a></table>"
    );
    let lines = ["Order   4711", "Status  Unpaid", "        [ Pay now ]"];
    assert_shown(&labels, &lines);
}

#[test]
fn cards_beside_each_other_stay_blocks() {
    let card = |name: &str| format!("<td>{name}<br>{BUTTON}Buy</a>");
    let row = format!("<tr>{}{}", card("Chair"), card("Table"));
    let html = format!("<table border=1>{row}{row}</table>");
    let lines = ["Chair", "[ Buy ]", "Table", "[ Buy ]"];
    assert_eq!(shown_text(&html, 40)[..4], lines);
}

#[test]
fn rules_lists_and_quotes_stay_in_their_column() {
    let html = "<table border=1><tr><th>Item<th>Note<th>Open\
        <tr><td>Shirt<td><pre>a  b\n  c</pre><td>10.00<tr><td>Hat<td>top<hr>bottom<td>3\
        <tr><td>Bag<td><blockquote>as<br>said</blockquote><td>1\
        <tr><td>Cap<td><ul><li>one<ul><li>deep</ul></ul><td>4</table>";
    let lines = [
        "Item   Note      Open",
        "Shirt  a  b      10.00",
        "         c",
        "Hat    top       3",
        "       ───",
        "       bottom",
        "Bag    > as      1",
        "       > said",
        "Cap    • one     4",
        "         • deep",
    ];
    assert_eq!(shown_text(html, 40), lines);
}

#[test]
fn list_beside_an_amount_is_a_value() {
    let html = "<table><tr><td>Shirt<td><ul><li>red<li>size M</ul><td>10.00\
        <tr><td>Hat<td><ul><li>blue<li>size L</ul><td>8.00</table>";
    let lines = [
        "Shirt  • red     10.00",
        "       • size M",
        "Hat    • blue    8.00",
        "       • size L",
    ];
    assert_shown(html, &lines);
}

#[test]
fn long_answer_is_indented_below_its_question() {
    let question = "What did you do before the error came up, and how often?";
    let answer = "I opened the list of invoices on my tablet, twice";
    let rows = format!("<tr><td>{question}<td>{answer}<tr><td>City<td>Bonn");
    let html = format!("<table border=1><tr><th>Question<th>Answer{rows}</table>");
    let indented = format!("  {answer}");
    let lines = [
        "Question  Answer",
        "",
        question,
        &indented,
        "",
        "City  Bonn",
    ];
    assert_eq!(shown(&html, 80), lines);
    let lines = [
        "What did you do before the error came",
        "up, and how often?",
        "  I opened the list of invoices on my",
        "  tablet, twice",
    ];
    assert_eq!(shown(&html, 40)[2..6], lines);
}

#[test]
fn word_that_fills_the_line_is_not_indented() {
    let url = format!("https://example.com/{}", "x".repeat(20));
    let html = format!(
        "<table><tr><td>Where is the page that you use?<td>{url}\
         <tr><td>Do you use it in Bonn?<td>Yes</table>"
    );
    let lines = [
        "Where is the page that you use?",
        &url,
        "",
        "Do you use it in Bonn?  Yes",
    ];
    assert_eq!(shown(&html, 40), lines);
    let html = format!("<table><tr><td>Address<td>{url}<tr><td>City<td>Bonn</table>");
    assert_eq!(shown(&html, 40), ["Address", &url, "City     Bonn"]);
}

#[test]
fn value_above_a_button_stays_beside_its_label() {
    let cell = "Unpaid<br><a href=https://pay.example style='background:#090;padding:6px'>Pay</a>";
    let html = format!("<table><tr><td>Status<td>{cell}</table>");
    assert_shown(&html, &["Status  Unpaid", "        [ Pay ]"]);
}

#[test]
fn hours_stay_beside_their_event() {
    let html = "<table><tr><td>9:00am<br>9:30am<td><b>Stand-up</b><br>Room 2, first floor<tr><td>NOV<br>12<td>Fair<br>Hall 4<br><a href=https://a.example style='background:#090;padding:6px'>Go</a></table>";
    let lines = [
        "9:00am  Stand-up",
        "9:30am  Room 2, first floor",
        "NOV     Fair",
        "12      Hall 4",
        "        [ Go ]",
    ];
    assert_shown(html, &lines);
}

#[test]
fn picture_stays_beside_longer_lines() {
    let title = "Site Reliability Engineer II, Storage Infrastructure";
    let html = format!("<table><tr><td><img src=a alt=Logo><td>{title}<br>Remote</table>");
    assert_eq!(
        shown(&html, 80),
        [&format!("[Logo]  {title}"), "        Remote"]
    );
    assert_eq!(
        shown(&html, 40),
        [
            "[Logo]  Site Reliability Engineer II,",
            "        Storage Infrastructure",
            "        Remote"
        ]
    );
}

#[test]
fn logo_stays_beside_a_signature() {
    let html = "<table><tr><td><img src=a alt='Cedar Ltd logo'><td>Cedar Ltd<br>Beirut</table>";
    let lines = ["[Cedar Ltd logo]  Cedar Ltd", "                  Beirut"];
    assert_shown(html, &lines);
}

#[test]
fn gaps_stay_in_long_prose_beside_its_label() {
    let prose = "All parcels are sent from the new warehouse in Rotterdam from Monday on";
    let html = format!(
        "<table><tr><td>Message from Ana<td>Dear all,<br><br>{prose}.<br><br>Ana<tr><td>Order<td>4821</table>"
    );
    let lines = shown(&html, 120);
    let gaps = lines
        .windows(2)
        .filter(|pair| pair[0].contains("Dear") && pair[1].trim().is_empty());
    assert_eq!(gaps.count(), 1, "{lines:?}");
}

#[test]
fn long_title_stays_beside_its_hours() {
    let title = "Workshop: deliverability from zero to inbox, with exercises";
    let html = format!(
        "<table><tr><td>9:00<td>Keynote<tr><td>10:00 – 11:30<td>{title}<br>Studio 3<tr><td>12:00<td>Lunch</table>"
    );
    let lines = [
        "9:00           Keynote",
        &format!("10:00 – 11:30  {title}"),
        "               Studio 3",
        "12:00          Lunch",
    ];
    assert_eq!(shown(&html, 80), lines);
}

#[test]
fn long_title_stays_beside_its_check_box() {
    let title = "Mend the test of the import that only fails on Tuesdays";
    let html = format!("<table><tr><td>☐<td>{title}<br>Due today<td><img src=a alt=Ida></table>");
    assert_eq!(
        shown(&html, 80),
        [&format!("☐  {title}  [Ida]"), "   Due today"]
    );
    let end = html.replace("<td><img", "<td align=right><img");
    let summary = "<table><tr><td>Tasks that are open<td>2 late<td align=right>9 done</table>";
    assert_eq!(shown(&(end.clone() + summary), 80)[..2], shown(&end, 80));
}

#[test]
fn texts_of_several_lines_stack_alike() {
    let html = "<table><tr><td>07:05<br>Oslo Gardermoen<td>2 h 05 min<br>Airbus A320neo<td>09:10<br>Frankfurt</table>";
    let lines = [
        "07:05",
        "Oslo Gardermoen",
        "",
        "2 h 05 min",
        "Airbus A320neo",
        "",
        "09:10",
        "Frankfurt",
    ];
    assert_eq!(shown(html, 30), lines);
    assert_eq!(shown(html, 80).len(), 2);
}
