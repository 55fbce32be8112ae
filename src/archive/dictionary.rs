//! Learns what the bodies of a team's mail have in common, so that each is packed as what differs.
//!
//! A team sends few kinds of letters to many people: most of a body is its template. A dictionary is
//! made of a sample of them, without the words that mail to few people holds. So it names nobody, and
//! may stay when somebody's mail is removed.

use std::collections::{HashMap, HashSet};

use flate2::{Compress, Compression};
use rusqlite::{Connection, Transaction};

use super::body_codec::{CompressedBody, compress_bytes};
use crate::api::wire;
use crate::error::Error;

/// The window of deflate, as far as it looks back from the first byte.
const MAX_LEN: usize = 32_506;

/// Emails to learn from. More would take longer than they save.
const SAMPLE_SIZE: usize = 256;

/// Fewer emails teach nothing.
const MIN_SAMPLE: usize = 64;

/// Mail to so many people has to hold a word that goes into a dictionary.
const MIN_RECIPIENTS: usize = 8;

/// An email that packs to less than this part of its length has its template in the dictionary already.
const COVERED_RATIO: usize = 8;

/// Learns again after so many bodies: templates change with the years.
const RELEARN_EVERY: i64 = 100_000;

/// Counts `fresh` as packed in this transaction, and first learns from them if it is time: after so
/// many bodies that there is something to learn, and then each time that there are ten times as many.
pub(super) fn learn_if_due(change: &Transaction, fresh: &[&str]) -> Result<(), Error> {
    if fresh.is_empty() {
        return Ok(());
    }
    let before: i64 = change
        .prepare_cached("SELECT packed FROM listing")?
        .query_row([], |row| row.get(0))?;
    let after = before + i64::try_from(fresh.len()).unwrap_or(i64::MAX);
    change
        .prepare_cached("UPDATE listing SET packed = ?1")?
        .execute([after])?;
    if learning_stage(before) == learning_stage(after) {
        return Ok(());
    }
    let learned = if fresh.len() >= MIN_SAMPLE {
        build(fresh)
    } else {
        build_from_archive(change)?
    };
    if let Some(text) = learned {
        change.execute("INSERT INTO dictionary (text) VALUES (?1)", [text])?;
    }
    Ok(())
}

/// Drops dictionaries that no body needs any more.
pub(super) fn delete_unused(connection: &Connection) -> Result<(), Error> {
    let sql = "DELETE FROM dictionary WHERE dictionary NOT IN (SELECT dictionary FROM body WHERE dictionary IS NOT NULL)";
    connection.execute(sql, [])?;
    Ok(())
}

/// A number that changes when it is time to learn.
const fn learning_stage(packed: i64) -> i64 {
    match packed {
        ..64 => 0,
        64..1_000 => 1,
        1_000..10_000 => 2,
        _ => 3 + packed / RELEARN_EVERY,
    }
}

fn build_from_archive(change: &Transaction) -> Result<Option<Vec<u8>>, Error> {
    let recent: Vec<CompressedBody> = {
        let mut statement =
            change.prepare("SELECT json, dictionary FROM body ORDER BY place LIMIT ?1")?;
        let rows = statement
            .query_map([i64::try_from(SAMPLE_SIZE).unwrap_or(i64::MAX)], |row| {
                CompressedBody::from_row(row, 0)
            })?;
        rows.filter_map(Result::transpose)
            .collect::<Result<_, _>>()?
    };
    // What cannot be read is told to whoever opens it.
    let texts: Vec<String> = recent
        .iter()
        .filter_map(|packed| packed.to_json(change).ok())
        .collect();
    Ok(build(&texts.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// A dictionary for emails like these; `None` if they have nothing in common.
fn build(emails: &[&str]) -> Option<Vec<u8>> {
    let step = emails.len().div_ceil(SAMPLE_SIZE).max(1);
    let sample: Vec<(&str, String)> = emails
        .iter()
        .step_by(step)
        .filter_map(|json| {
            Some((
                *json,
                wire::Email::parse(json)
                    .ok()?
                    .summary
                    .to?
                    .into_iter()
                    .next()?,
            ))
        })
        .collect();
    let mut people: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (json, to) in &sample {
        for word in words(json) {
            let holders = people.entry(word).or_default();
            if holders.len() < MIN_RECIPIENTS {
                holders.insert(to);
            }
        }
    }
    let is_shared = |word: &str| {
        people
            .get(word)
            .is_some_and(|holders| holders.len() >= MIN_RECIPIENTS)
    };
    let mut deflate = Compress::new(Compression::new(1), false);
    let mut dictionary: Vec<u8> = Vec::new();
    for (json, _) in &sample {
        let packed = compress_bytes(
            &mut deflate,
            json.as_bytes(),
            Some(dictionary.as_slice()).filter(|text| !text.is_empty()),
        )
        .len();
        if packed * COVERED_RATIO <= json.len() {
            continue;
        }
        let shared = shared_text(json, is_shared);
        dictionary.extend_from_slice(&shared[..shared.len().min(MAX_LEN - dictionary.len())]);
        if dictionary.len() == MAX_LEN {
            break;
        }
    }
    (!dictionary.is_empty()).then_some(dictionary)
}

/// The text without the words that are not shared.
fn shared_text(text: &str, is_shared: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut shared = Vec::with_capacity(text.len());
    let mut rest = text;
    for word in words(text) {
        let start = word.as_ptr() as usize - rest.as_ptr() as usize;
        shared.extend_from_slice(&rest.as_bytes()[..start]);
        if is_shared(word) {
            shared.extend_from_slice(word.as_bytes());
        }
        rest = &rest[start + word.len()..];
    }
    shared.extend_from_slice(rest.as_bytes());
    shared
}

/// Runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::{Archive, ArchiveLocation};
    use crate::mail::EmailId;

    /// A letter of one kind to one of many people, some of whom get several.
    fn letter(n: usize) -> String {
        let name = format!("Person{}x", n % 90);
        format!(
            r#"{{"object":"email","id":"mail-{n}","to":["{name}@example.com"],"from":"Acme <hi@acme.example>","created_at":"2026-11-02T09:00:00Z","subject":"Your receipt {n}","html":"<table class='frame'><tr><td style='padding:8px;color:#333'>Dear {name}, thank you for your order</td></tr></table>","text":"Dear {name}, thank you for your order number {n} of our useful things","tags":[]}}"#
        )
    }

    fn filled(letters: std::ops::Range<usize>) -> Archive {
        let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
        let lines = letters.fold(String::new(), |lines, n| lines + &letter(n) + "\n");
        archive
            .import(
                lines.as_bytes(),
                "2026-11-20T00:00:00Z".parse().unwrap(),
                |_| (),
            )
            .unwrap();
        archive
    }

    fn numbers(archive: &Archive, sql: &str) -> i64 {
        archive
            .connections
            .read(|connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))
            .unwrap()
    }

    #[test]
    fn a_dictionary_has_what_many_share_and_names_nobody() {
        let letters: Vec<String> = (0..256).map(letter).collect();
        let text = String::from_utf8(
            build(&letters.iter().map(String::as_str).collect::<Vec<_>>()).unwrap(),
        )
        .unwrap();
        assert!(
            text.contains("<table class='frame'><tr><td style='padding:8px;color:#333'>Dear , thank you for your order</td>"),
            "{text}"
        );
        assert!(!text.contains("Person"), "{text}");
        // Ten letters to one person are not letters to many people.
        let same: Vec<String> = letters
            .iter()
            .map(|letter| letter.replace("to\":[\"Person", "to\":[\"ana@example.com\",\""))
            .collect();
        let text =
            String::from_utf8(build(&same.iter().map(String::as_str).collect::<Vec<_>>()).unwrap())
                .unwrap();
        assert!(!text.contains("thank"), "{text}");
        assert_eq!(build(&[]), None);
    }

    #[test]
    fn bodies_are_packed_with_it_and_come_back() {
        let archive = filled(0..300);
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        let packed = numbers(&archive, "SELECT sum(length(json)) FROM body");
        let raw: usize = (0..300).map(|n| letter(n).len()).sum();
        assert!(
            packed * 5 < i64::try_from(raw).unwrap(),
            "{packed} of {raw}"
        );
        for n in [0, 7, 299] {
            let email = archive
                .email(&EmailId::new(format!("mail-{n}")))
                .unwrap()
                .unwrap();
            assert_eq!(email.json, Arc::from(letter(n)));
        }
    }

    #[test]
    fn it_goes_when_nothing_needs_it() {
        let archive = filled(0..100);
        archive
            .connections
            .write(|change| {
                Ok(change.execute_batch(
                    "DELETE FROM body WHERE place <> (SELECT min(place) FROM body)",
                )?)
            })
            .unwrap();
        archive.compact().unwrap();
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        archive
            .connections
            .write(|change| Ok(change.execute_batch("DELETE FROM body")?))
            .unwrap();
        archive.compact().unwrap();
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 0);
    }

    #[test]
    fn one_by_one_it_is_learned_from_what_is_there() {
        let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
        for n in 0..70 {
            let json: Arc<str> = letter(n).into();
            let email = wire::Email::parse(&json).unwrap();
            archive
                .put_body(
                    &crate::api::RetrievedEmail { email, json },
                    "2026-11-20T00:00:00Z"
                        .parse::<jiff::Timestamp>()
                        .unwrap()
                        .into(),
                )
                .unwrap();
        }
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        assert!(
            numbers(
                &archive,
                "SELECT count(*) FROM body WHERE dictionary IS NOT NULL"
            ) > 0
        );
        assert_eq!(
            archive
                .email(&EmailId::new("mail-69"))
                .unwrap()
                .unwrap()
                .json,
            Arc::from(letter(69))
        );
    }
}
