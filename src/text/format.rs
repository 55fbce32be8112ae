//! Texts of numbers, times, durations, lists, excerpts, and "did you mean".

use std::time::Duration;

use jiff::{RoundMode, Timestamp, Unit, Zoned, ZonedRound};

pub(crate) const CURRENCIES: &str =
    "€ $ £ ¥ ₹ eur usd gbp chf jpy cny inr pln czk sek nok dkk huf ron try brl cad aud mxn zar";

/// Writes a number with `separator` between groups of three digits: `48 310`.
pub(crate) fn group_digits(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

/// Writes a number with its noun: `1 email`, `48 310 emails`, `2 statuses`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let (noun, ending) = match noun {
        _ if number == 1 => (noun, ""),
        "body" => ("bodi", "es"),
        _ if noun.ends_with('s') => (noun, "es"),
        _ => (noun, "s"),
    };
    format!("{} {noun}{ending}", group_digits(number, ' '))
}

/// Writes a size: `812 bytes`, `48 kB`, `12 MB`.
pub(crate) fn format_bytes(count: u64) -> String {
    match count {
        0..10_000 => plural(count, "byte"),
        10_000..10_000_000 => format!("{} kB", group_digits(count / 1_000, ' ')),
        _ => format!("{} MB", group_digits(count / 1_000_000, ' ')),
    }
}

/// Writes how long a pause lasts, rounded up: `1 s`, `12 s`, `5 min`, `24 h`.
pub(crate) fn format_pause(pause: Duration) -> String {
    let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
    match seconds {
        0..120 => format!("{} s", seconds.max(1)),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Formats a time for programs in UTC, so that texts sort as times.
pub(crate) fn format_timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The forms of a time for [`format_by_age`]:
/// `09:41` today, `3 May 09:41` before, `3 May 2025 09:41` in another year.
pub(crate) const CLOCK_OR_DATE: [&str; 4] = ["%H:%M", "", "%-d %b %H:%M", "%-d %b %Y %H:%M"];

/// Formats a time in the zone of `now` by the form for its age:
/// today, the six days before, this year, any other year.
///
/// Without a form for the six days, that of the year is used.
pub(crate) fn format_by_age(
    at: Timestamp,
    now: &Zoned,
    [today, week, this_year, other_year]: [&str; 4],
) -> String {
    let at = at.to_zoned(now.time_zone().clone());
    // Negative for the future.
    let days = (at.date().until(now.date())).map_or(i32::MAX, |span| span.get_days());
    let form = match days {
        0 => today,
        1..=6 if !week.is_empty() => week,
        _ if at.year() == now.year() => this_year,
        _ => other_year,
    };
    at.strftime(form).to_string()
}

/// Rounds a time up to a minute: coverage since then is never stated too far.
pub(crate) fn round_up(at: Zoned) -> Zoned {
    let up = ZonedRound::new()
        .smallest(Unit::Minute)
        .mode(RoundMode::Ceil);
    at.round(up).unwrap_or(at)
}

pub(crate) fn first_chars(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most);
    end.map_or(text, |(end, _)| &text[..end])
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts the words of a text on one line, and cuts it after `most` characters.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    let line = one_line(text);
    match first_chars(&line, most) {
        start if start.len() < line.len() => format!("{start}…"),
        _ => line,
    }
}

/// Whether a list of words, with a space between two, has this one.
pub(crate) fn is_listed(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Whether a text contains one of a list of parts, with a space between two.
pub(crate) fn contains_listed(text: &str, list: &str) -> bool {
    list.split(' ').any(|listed| text.contains(listed))
}

/// Adds `text` to `out` as text of HTML, or as the value of an attribute in double
/// quotes.
pub(crate) fn escape_html(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

/// Quotes `text` for a shell, unless it is a plain word.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns in how many letters a misspelled word may differ from the right one.
pub(crate) fn max_typos(typed: &str) -> usize {
    (typed.chars().count() / 3).clamp(1, 2)
}

/// Returns the known word that differs from `typed` in a letter or two.
pub(crate) fn suggest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let max_distance = max_typos(typed);
    let typed = typed.to_lowercase();
    let distance = |word: &str| strsim::osa_distance(&typed, &word.to_lowercase());
    let nearest = known.into_iter().min_by_key(|word| distance(word));
    nearest.filter(|word| distance(word) <= max_distance)
}

/// `; did you mean acme?`, if there is something near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggest(name, known)
        .map(|word| format!("; did you mean {word}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [0, 999, 1_000, 48_310, 1_000_000].map(|number| group_digits(number, ' ')),
            ["0", "999", "1 000", "48 310", "1 000 000"]
        );
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(plural(1, "email"), "1 email");
        assert_eq!(plural(48_310, "email"), "48 310 emails");
        assert_eq!(plural(2, "status"), "2 statuses");
    }

    #[test]
    fn pauses_are_rounded_up() {
        let pause = |millis| format_pause(Duration::from_millis(millis));
        let expected = ["1 s", "2 s", "119 s", "3 min"];
        assert_eq!([0, 1_100, 119_000, 121_000].map(pause), expected);
        assert_eq!(pause(86_400_000), "24 h");
    }

    #[test]
    fn only_plain_words_stay_unquoted() {
        assert_eq!(
            ["49a3-9c", "a@b.example", "", "-x", "a b", "it's"].map(shell_word),
            [
                "49a3-9c",
                "a@b.example",
                "''",
                "'-x'",
                "'a b'",
                r"'it'\''s'"
            ]
        );
    }

    #[test]
    fn typing_errors_find_their_word() {
        let verbs = ["list", "show", "serve", "sync", "render", "demo"];
        for (typed, word) in [
            ("lst", "list"),
            ("shwo", "show"),
            ("LIST", "list"),
            ("servee", "serve"),
            ("syn", "sync"),
        ] {
            assert_eq!(suggest(typed, verbs), Some(word), "{typed}");
        }
        for typed in ["receipt", "acme", "ana", "x"] {
            assert_eq!(suggest(typed, verbs), None, "{typed}");
        }
    }
}
