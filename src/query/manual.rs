//! The query language as a page of text, made from the tables of operators and
//! keywords.

use std::fmt::Write as _;

use super::ast::{EmailClass, EmailPart};
use super::date::DATE_KEYWORDS;
use super::operators::Operator;
use crate::mail::Status;

/// Returns the page, in lines of at most 100 columns.
pub(crate) fn query_manual() -> String {
    let mut page = String::from(
        "\
QUERIES

The terminal program, its filter and saved views, search, and archive purge have the same language.

  receipt ana            both words: part of an address or subject, in any script and whatever
                         case and accents, or the start of a word of a body that was fetched
  \"your receipt\"         words together; typographic quotes do the same
  ana, (ana) ana*        as ana: punctuation around a word and Re: in front of it are left out,
                         but not within quotes
  a or b, not a, -a      one of both; without it; -a after -- on a command line
  (a or b) c             groups: or binds weaker than words beside each other
  to: ana                as to:ana, as in a copied header; on a command line in quotes: 'to: ana'
  a@x.org, b@x.org       nothing but addresses or numbers: mail with any of them; also with names,
                         as in Perez, Ana <a@x.org>, with semicolons, or one a line
  mailto:ana@x.org       as ana@x.org; a link to an email in the service's dashboard: that email
  From: ..., To: ...     lines of headers: mail with their id, or with their addresses and subject;
                         names as mail programs write them in several languages
  foo:bar                a word: what is not an operator is searched for
",
    );
    let rows = Operator::all().map(|operator| (operator.example(), operator.description()));
    push_table(&mut page, "Operators", rows);
    let statuses = Status::KNOWN.iter().map(Status::label);
    let statuses: Vec<&str> = statuses.collect();
    let (one, other) = statuses.split_at(statuses.len() / 2);
    let _ = write!(
        page,
        "\nStatuses, for status: and is:\n\n  {},\n  {}.\n  With status:, one in quotes may be any word: services have new ones.\n",
        one.join(", "),
        other.join(", ")
    );
    push_table(&mut page, "More for is:", EmailClass::descriptions());
    push_table(&mut page, "Parts, for has:", EmailPart::descriptions());
    let dates = [
        (
            "2026-11-02",
            "a day; also 2 Nov, Nov 2, 2.11.2026, 2.11., mon; 2026-11, 2026, nov",
        ),
        (
            "2026-11-02T09:30",
            "a minute; with 09:30:07 a second; Z, UTC or +02:00 may follow",
        ),
        (
            "2026-11-02 09:30:07 UTC",
            "the same as the screen prints it; your own zone, as CET, in quotes",
        ),
        (
            "09:30, mon 09:30",
            "a minute of today, of the most recent Monday; no hour alone",
        ),
        ("5min, 2h, 7d, 3w, 2mo", "so long ago; also 7 days ago"),
    ];
    let words = DATE_KEYWORDS
        .iter()
        .map(|(word, _, description)| (*word, *description));
    push_table(
        &mut page,
        "Times, for after:, before:, on: and seen-change:",
        dates.into_iter().chain(words),
    );
    page.push_str(
        "\n\
An operator on a field that was never fetched for an email (body:, tag:, has:text and the like)
does not match that email, and neither does its negation: the program says of how many emails it is
known.
",
    );
    page
}

fn push_table<'a>(
    page: &mut String,
    title: &str,
    rows: impl IntoIterator<Item = (&'a str, &'a str)>,
) {
    let _ = write!(page, "\n{title}\n\n");
    for (example, description) in rows {
        let _ = writeln!(page, "  {example:<28} {description}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{ParseContext, parse};

    #[test]
    fn page_fits_and_its_examples_are_valid() {
        let page = query_manual();
        assert!(
            page.lines().all(|line| line.chars().count() <= 100),
            "{page}"
        );
        let context = ParseContext::new(
            "2026-11-20T09:00:00Z".parse().unwrap(),
            jiff::tz::TimeZone::UTC,
        );
        for operator in Operator::all() {
            assert!(page.contains(operator.example()));
            assert_eq!(parse(operator.example(), &context).diagnostics, []);
        }
        for date in [
            "2026-11-02",
            "2026-11",
            "2026",
            "2 Nov",
            "mon",
            "2026-11-02T09:30",
            "2026-11-02T09:30:07+02:00",
            "2026-11-02 09:30:07 UTC",
            "09:30",
            "mon 09:30",
            "Nov 2",
            "nov",
            "5min",
            "2mo",
            "7 days ago",
        ] {
            assert_eq!(
                parse(&format!("on:{date}"), &context).diagnostics,
                [],
                "{date}"
            );
        }
    }
}
