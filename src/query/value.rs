//! Reads what stands after an operator's colon; what it cannot read it says in words.

use jiff::Zoned;

use crate::mail::{SafeText, Status};

use super::{
    DateExpr, Diagnostic, EmailClass, EmailPart, Operator, SearchText, SortOrder, Term, TimeRange,
    normalize,
};

/// What an operator with its value says.
pub(super) enum ParsedValue {
    Term(Term),
    Sort(SortOrder),
}

/// Reads the value of `operator`, or says why that cannot be done.
pub(super) fn parse_value(
    operator: Operator,
    text: &str,
    now: &Zoned,
) -> Result<ParsedValue, String> {
    let needle = |text: &str| {
        SearchText::new(text).ok_or_else(|| "nothing here can be looked for".to_owned())
    };
    let term = match operator {
        Operator::Text(field) => Term::Text(field, needle(text)?),
        Operator::Recipient => Term::Recipient(needle(text)?),
        Operator::Domain => Term::Domain(needle(
            text.trim_start_matches(|c: char| c == '@' || c.is_whitespace()),
        )?),
        Operator::Status => Term::Status(parse_statuses(text)?),
        Operator::Is => Term::Is(parse_choice(text, EmailClass::ALL, EmailClass::as_str)?),
        Operator::Has => Term::Has(parse_choice(text, EmailPart::ALL, EmailPart::as_str)?),
        Operator::Tag => {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            Term::Tag {
                name: needle(name)?,
                value: SearchText::new(value),
            }
        }
        Operator::After => Term::After(parse_time(text, now, DateExpr::resolve)?),
        Operator::Before => Term::Before(parse_time(text, now, DateExpr::resolve)?),
        Operator::On => Term::On(parse_time(text, now, DateExpr::resolve_range)?),
        Operator::SeenChange => Term::SeenChange(parse_time(text, now, DateExpr::resolve)?),
        Operator::Sort => {
            return Ok(ParsedValue::Sort(parse_choice(
                text,
                SortOrder::ALL,
                SortOrder::as_str,
            )?));
        }
    };
    Ok(ParsedValue::Term(term))
}

/// What is worth saying about a value that can be read: a status that this version does not know is
/// looked for, since the service may have new ones, but more often it is a slip.
pub(super) fn status_warnings(term: &Term, note: impl Fn(String) -> Diagnostic) -> Vec<Diagnostic> {
    let Term::Status(statuses) = term else {
        return Vec::new();
    };
    let unknown = statuses.iter().filter_map(|status| {
        if let Status::Other(word) = status {
            Some(word)
        } else {
            None
        }
    });
    unknown
        .map(|word| note(unknown_status_message(word)))
        .collect()
}

fn unknown_status_message(word: &SafeText) -> String {
    let start = normalize::normalize(word);
    match Status::KNOWN
        .iter()
        .find(|known| known.label().starts_with(&start))
    {
        Some(known) => format!(
            "`{word}` is no status that this version knows; {}?",
            known.label()
        ),
        None => format!(
            "`{word}` is no status that this version knows; those are {}",
            join_with_or(Status::KNOWN.iter().map(Status::label))
        ),
    }
}

fn parse_statuses(text: &str) -> Result<Vec<Status>, String> {
    let mut statuses = Vec::new();
    for status in text.split(',').filter_map(parse_status) {
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    if statuses.is_empty() {
        Err(format!(
            "a status is one of {}",
            join_with_or(Status::KNOWN.iter().map(Status::label))
        ))
    } else {
        Ok(statuses)
    }
}

/// The status by its word for people or by the service's own; any other word is kept.
fn parse_status(text: &str) -> Option<Status> {
    let word = SearchText::new(&SafeText::new(text))?;
    let known = Status::KNOWN
        .into_iter()
        .chain([Status::Unknown])
        .find(|known| known.label() == word.normalized());
    Some(
        known.unwrap_or_else(|| match Status::parse(word.normalized()) {
            Status::Other(_) | Status::Unknown => Status::Other(SafeText::new(word.text())),
            known => known,
        }),
    )
}

fn parse_choice<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    word: fn(T) -> &'static str,
) -> Result<T, String> {
    let folded = normalize::normalize(text);
    let chosen = all.into_iter().find(|one| word(*one) == folded);
    chosen.ok_or_else(|| format!("this can be {}", join_with_or(all.into_iter().map(word))))
}

fn parse_time(
    text: &str,
    now: &Zoned,
    at: fn(DateExpr, &Zoned) -> Option<TimeRange>,
) -> Result<TimeRange, String> {
    let when = DateExpr::parse(text.trim())
        .ok_or("a time is a date like 2026-11-02 or 2026-11-02T09:30, a word like today, mon, last-week, or a span like 2h, 7d, 3w")?;
    at(when, now).ok_or_else(|| "the calendar does not reach so far".to_owned())
}

/// `a, b or c`.
fn join_with_or(words: impl IntoIterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}
