//! Reads what stands after an operator's colon; what it cannot read it says in words.

use jiff::Zoned;

use crate::mail::{Shown, Status};

use super::{Has, Is, Moment, Needle, Note, Operator, Sort, Term, When, fold};

/// What an operator with its value says.
pub(super) enum Reading {
    Term(Term),
    Sort(Sort),
}

/// Reads the value of `operator`, or says why that cannot be done.
pub(super) fn read(operator: Operator, text: &str, now: &Zoned) -> Result<Reading, String> {
    let needle =
        |text: &str| Needle::new(text).ok_or_else(|| "nothing here can be looked for".to_owned());
    let term = match operator {
        Operator::Text(field) => Term::Text(field, needle(text)?),
        Operator::Recipient => Term::Recipient(needle(text)?),
        Operator::Domain => Term::Domain(needle(
            text.trim_start_matches(|c: char| c == '@' || c.is_whitespace()),
        )?),
        Operator::Status => Term::Status(statuses(text)?),
        Operator::Is => Term::Is(choice(text, Is::ALL, Is::word)?),
        Operator::Has => Term::Has(choice(text, Has::ALL, Has::word)?),
        Operator::Tag => {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            Term::Tag {
                name: needle(name)?,
                value: Needle::new(value),
            }
        }
        Operator::After => Term::After(moment(text, now, When::at)?),
        Operator::Before => Term::Before(moment(text, now, When::at)?),
        Operator::On => Term::On(moment(text, now, When::stretch_at)?),
        Operator::SeenChange => Term::SeenChange(moment(text, now, When::at)?),
        Operator::Sort => return Ok(Reading::Sort(choice(text, Sort::ALL, Sort::word)?)),
    };
    Ok(Reading::Term(term))
}

/// What is worth saying about a value that can be read: a status that this version does not know is
/// looked for, since the service may have new ones, but more often it is a slip.
pub(super) fn doubts(term: &Term, note: impl Fn(String) -> Note) -> Vec<Note> {
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
    unknown.map(|word| note(unknown_status(word))).collect()
}

fn unknown_status(word: &Shown) -> String {
    let start = fold::fold(word);
    match Status::KNOWN
        .iter()
        .find(|known| known.word().starts_with(&start))
    {
        Some(known) => format!(
            "`{word}` is no status that this version knows; {}?",
            known.word()
        ),
        None => format!(
            "`{word}` is no status that this version knows; those are {}",
            list(Status::KNOWN.iter().map(Status::word))
        ),
    }
}

fn statuses(text: &str) -> Result<Vec<Status>, String> {
    let mut statuses = Vec::new();
    for status in text.split(',').filter_map(status) {
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    if statuses.is_empty() {
        Err(format!(
            "a status is one of {}",
            list(Status::KNOWN.iter().map(Status::word))
        ))
    } else {
        Ok(statuses)
    }
}

/// The status by its word for people or by the service's own; any other word is kept.
fn status(text: &str) -> Option<Status> {
    let word = Needle::new(&Shown::new(text))?;
    let known = Status::KNOWN
        .into_iter()
        .chain([Status::Unknown])
        .find(|known| known.word() == word.folded());
    Some(known.unwrap_or_else(|| match Status::parse(word.folded()) {
        Status::Other(_) | Status::Unknown => Status::Other(Shown::new(word.text())),
        known => known,
    }))
}

fn choice<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    word: fn(T) -> &'static str,
) -> Result<T, String> {
    let folded = fold::fold(text);
    let chosen = all.into_iter().find(|one| word(*one) == folded);
    chosen.ok_or_else(|| format!("this can be {}", list(all.into_iter().map(word))))
}

fn moment(
    text: &str,
    now: &Zoned,
    at: fn(When, &Zoned) -> Option<Moment>,
) -> Result<Moment, String> {
    let when = When::parse(text.trim())
        .ok_or("a time is a date like 2026-11-02 or 2026-11-02T09:30, a word like today, mon, last-week, or a span like 2h, 7d, 3w")?;
    at(when, now).ok_or_else(|| "the calendar does not reach so far".to_owned())
}

/// `a, b or c`.
fn list(words: impl IntoIterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}
