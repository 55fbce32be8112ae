//! Signs in place of what plain text cannot show: raised digits, tabs, drawn lines.

use super::*;

#[test]
fn raised_digits_do_not_join_the_number_before() {
    for (html, expected) in [
        ("Only $19<sup>99</sup> today", "Only $19⁹⁹ today"),
        ("10<sup>-6</sup> and H<sub>2</sub>O", "10⁻⁶ and H₂O"),
        ("10<sup>&minus;6</sup> or 10<sup>–3</sup>", "10⁻⁶ or 10⁻³"),
        ("code <sup>739–418</sup>", "code 739–418"),
        ("note<sup><a href=https://example.com>2</a></sup>", "note²"),
        (
            "text<sup>[<a href=https://example.com>2</a>]</sup>",
            "text[2]",
        ),
        ("the 1<sup>st</sup>, x<sup>2y</sup>", "the 1st, x2y"),
    ] {
        assert_eq!(shown(html, 40), [expected]);
    }
}

#[test]
fn cents_raised_by_css_stay_apart() {
    let small = "font-size:60%;vertical-align";
    for (html, expected) in [
        (
            format!("Milk <b>1<span style='{small}:super'>29</span></b> €"),
            "Milk 1²⁹ €",
        ),
        (format!("$49<span style='{small}:top'>95</span>"), "$49⁹⁵"),
        (
            format!("$49<font style='{small}:text-top'>95</font>/mo"),
            "$49⁹⁵/mo",
        ),
        (
            format!("$49<span style='{small}:4px'><b>95</b></span>"),
            "$49⁹⁵",
        ),
        (
            "$49<span style='font-size:9px;position:relative;top:-8px'>95</span>".to_owned(),
            "$49⁹⁵",
        ),
        (
            "$<b style='font-size:40px'>49</b><span style='vertical-align:top'>95</span>"
                .to_owned(),
            "$49⁹⁵",
        ),
        (
            format!(
                "note<span style='{small}:super'>1</span>, H<span style='{small}:sub'>2</span>O"
            ),
            "note¹, H₂O",
        ),
        ("49<small>95</small> €".to_owned(), "49⁹⁵ €"),
        ("Only 0<small>95</small>&nbsp;€".to_owned(), "Only 0⁹⁵ €"),
        (
            "<i>$</i><b>1,249<small>95</small></b>".to_owned(),
            "$1,249⁹⁵",
        ),
        ("CHF 49<small>95</small>".to_owned(), "CHF 49⁹⁵"),
        (
            "<b>49<small>95</small></b> <i>EUR</i>".to_owned(),
            "49⁹⁵ EUR",
        ),
        ("49<font size=1>95 </font>€".to_owned(), "49⁹⁵ €"),
        ("49<sup>95 €</sup>".to_owned(), "49⁹⁵ €"),
    ] {
        assert_shown(&html, &[expected]);
    }
}

#[test]
fn small_numbers_beside_text_are_not_raised() {
    let small = "font-size:60%;vertical-align";
    for (html, expected) in [
        (
            "Linked<span style='vertical-align:super'>in</span>".to_owned(),
            "Linkedin",
        ),
        (
            format!("Linked<span style='{small}:super'>in</span>"),
            "Linkedin",
        ),
        (
            format!("<span style='{small}:super'>+49</span> 30 1234"),
            "+49 30 1234",
        ),
        (
            format!("Call<span style='{small}:super'>+49</span>"),
            "Call+49",
        ),
        (
            "<p style='font-size:11pt'>15<span style='font-size:10pt'>00</span> EUR".to_owned(),
            "1500 EUR",
        ),
        (
            "<img alt=Clock><span style='vertical-align:super'>10</span> minutes".to_owned(),
            "[Clock] 10 minutes",
        ),
        (
            format!("<img><span style='{small}:super'>10</span> minutes"),
            "10 minutes",
        ),
        (
            "Model A<span style='vertical-align:super'>10</span>".to_owned(),
            "Model A10",
        ),
        (format!("5<span style='{small}:super'>1/2</span>"), "51/2"),
        ("0800 12<small>34</small>".to_owned(), "0800 1234"),
        (
            "0800 12<small>34</small> € a minute".to_owned(),
            "0800 1234 € a minute",
        ),
        ("20<small>24</small>".to_owned(), "2024"),
        ("DE89 37<small>04</small>".to_owned(), "DE89 3704"),
        ("$012<small>34</small>".to_owned(), "$01234"),
        (
            format!("Call <span style='{small}:top'>112</span>"),
            "Call 112",
        ),
        (
            format!("Call:<span style='{small}:super'>0800 123 456</span>"),
            "Call:0800 123 456",
        ),
        (format!("2<span style='{small}:middle'>024</span>"), "2024"),
        (format!("<div style='{small}:top'>20</div>"), "20"),
        (
            "<table><tr><td valign=top><small>20</small></table>".to_owned(),
            "20",
        ),
        ("Since 20<b>24</b>".to_owned(), "Since 2024"),
        ("49<small>.95</small>".to_owned(), "49.95"),
    ] {
        assert_shown(&html, &[expected]);
    }
}

#[test]
fn tabs_in_preformatted_text_reach_tab_stops() {
    let html = "<pre>if x:\n\ty\n\t\tz\na<b>b\tc</b>\n1234567\t8\nlong text\t9</pre><p>a\tb</p>";
    let lines = [
        "if x:",
        "        y",
        "                z",
        "ab      c",
        "1234567 8",
        "long text       9",
        "",
        "a b",
    ];
    assert_eq!(shown(html, 40), lines);
}

#[test]
fn drawn_line_is_cut_to_the_width() {
    let html = format!(
        "<blockquote><div>{}</div><div>Join</div></blockquote>",
        "_".repeat(80)
    );
    assert_eq!(shown(&html, 20), ["> __________________", "> Join"]);
    let title = format!("<p>== {} ==</p>", "=".repeat(20));
    assert!(shown(&title, 20).len() > 1);
}

#[test]
fn annotations_of_ruby_are_in_parentheses() {
    for ruby in [
        "<ruby>漢<rt>kan</rt></ruby>字",
        "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字",
    ] {
        assert_shown(ruby, &["漢(kan)字"]);
    }
}

#[test]
fn letters_of_wingdings_become_their_signs() {
    for (html, expected) in [
        (
            "Thanks <span style='font-family:Wingdings'>J</span>",
            "Thanks ☺",
        ),
        ("Thanks <font face=Wingdings>L</font>", "Thanks ☹"),
        ("Thanks <font face=Wingdings>&#xF0E0;</font>", "Thanks →"),
        (
            "<i style='font-family:FontAwesome'>&#xF04B;</i> Play",
            "\u{F04B} Play",
        ),
        (
            "<font face=Wingdings>n <font face=Arial>nice</font></font>",
            "■ nice",
        ),
        ("<i style='font:12px \"Wingdings\"'>ü</i> <i>Jü</i>", "✓ Jü"),
        ("<i style='font-family:Wingdings 2'>J</i>", "J"),
        (
            "<i style='font-family:Wingdings'>J<b style='font-family:Arial'>J</b></i>",
            "☺J",
        ),
    ] {
        assert_shown(html, &[expected]);
    }
}
