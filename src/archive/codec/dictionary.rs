//! Learns what the bodies of a team have in common, so that each is stored as what
//! differs.
//!
//! A team sends few kinds of emails to many recipients: most of a body is its template. A
//! dictionary is made from a sample of bodies, without the words that few recipients received. So
//! it identifies no recipient, and may stay when the mail of one is purged.

use std::collections::{HashMap, HashSet};

use flate2::{Compress, Compression};

use super::body::{CompressedBody, compress_bytes, store_compressed};
use crate::api::wire;
use crate::archive::SortKey;
use crate::archive::storage::db::{Connection, Transaction};
use crate::error::Result;

/// The window of deflate: how far the first byte can refer back.
const MAX_LEN: usize = 32_506;

/// The length of a dictionary in emails of usual length.
/// Deflate reads it again for each email: of short ones, a longer dictionary takes more time than
/// to deflate them, and saves one percent.
const EMAILS_LONG: usize = 3;

/// The number of emails to learn from; more would take longer than they save.
const SAMPLE_SIZE: usize = 256;

/// The fewest emails to learn from.
const MIN_SAMPLE: usize = 64;

/// A word goes into a dictionary if mail to this many recipients contains it.
const MIN_RECIPIENTS: usize = 8;

/// An email that deflates to less than this part of its length has its template in
/// the dictionary.
const COVERED_RATIO: usize = 8;

/// The dictionary leaves at least this share of what an email of a new kind
/// deflates to without one.
const NEW_KIND: (usize, usize) = (3, 4);

/// A dictionary is learned again after this many bodies:
/// templates change with the years.
const RELEARN_EVERY: i64 = 100_000;

pub(crate) fn store_body_if_missing(tx: &Transaction, key: SortKey, json: &str) -> Result<()> {
    let query = "SELECT EXISTS (SELECT 1 FROM body WHERE sort_key = ?1)";
    if tx.value(query, [key])? {
        return Ok(());
    }
    store_bodies(tx, &[(key, json)])
}

/// Stores the bodies of these emails;
/// learns a dictionary first if it is time for one.
pub(crate) fn store_bodies(tx: &Transaction, bodies: &[(SortKey, &str)]) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    let jsons: Vec<&str> = bodies.iter().map(|(_, json)| *json).collect();
    learn_if_due(tx, &jsons)?;
    store_compressed(tx, bodies)
}

/// Learns a dictionary if it is time:
/// after enough bodies to learn from, and then at each [`learning_stage`].
fn learn_if_due(tx: &Transaction, new: &[&str]) -> Result<()> {
    let before: i64 = tx.value("SELECT bodies_stored FROM listing", [])?;
    let after = before + i64::try_from(new.len()).unwrap_or(i64::MAX);
    tx.execute("UPDATE listing SET bodies_stored = ?1", [after])?;
    if learning_stage(before) == learning_stage(after) {
        return Ok(());
    }
    let learned = if new.len() >= MIN_SAMPLE {
        build(new)
    } else {
        build_from_archive(tx)?
    };
    if let Some(text) = learned {
        tx.execute("INSERT INTO dictionary (text) VALUES (?1)", [text])?;
    }
    Ok(())
}

/// Deletes dictionaries that no body needs any more.
pub(crate) fn delete_unused(conn: &Connection) -> Result<()> {
    let sql = "DELETE FROM dictionary WHERE id NOT IN (SELECT dictionary_id FROM body WHERE dictionary_id IS NOT NULL)";
    conn.execute(sql, [])
}

/// Returns a number that changes when it is time to learn.
const fn learning_stage(bodies: i64) -> i64 {
    match bodies {
        ..64 => 0,
        64..1_000 => 1,
        1_000..10_000 => 2,
        _ => 3 + bodies / RELEARN_EVERY,
    }
}

fn build_from_archive(tx: &Transaction) -> Result<Option<Vec<u8>>> {
    let query = "SELECT sort_key FROM body ORDER BY sort_key LIMIT ?1";
    let limit = i64::try_from(SAMPLE_SIZE).unwrap_or(i64::MAX);
    let mut samples = Vec::new();
    for key in tx.values(query, [limit])? {
        // A body that cannot be read is reported when it is opened.
        let json = CompressedBody::load(tx, key)?.and_then(|body| body.to_json(tx).ok());
        let sample = json.as_deref().and_then(read_sample);
        samples.extend(sample.map(|(text, to)| (text.to_owned(), to)));
    }
    Ok(build_from_samples(&samples))
}

/// Builds a dictionary for emails like these;
/// `None` if they have nothing in common.
fn build(emails: &[&str]) -> Option<Vec<u8>> {
    let step = emails.len().div_ceil(SAMPLE_SIZE).max(1);
    let samples = emails.iter().step_by(step);
    let samples: Vec<_> = samples.filter_map(|json| read_sample(json)).collect();
    build_from_samples(&samples)
}

/// Returns the start of an email, and its first recipient.
///
/// The window has moved past the dictionary where the rest is deflated.
fn read_sample(json: &str) -> Option<(&str, String)> {
    let to = wire::Email::parse(json).ok()?.summary.to?;
    let end = json.floor_char_boundary(MAX_LEN);
    Some((&json[..end], to.into_iter().next()?))
}

fn build_from_samples(samples: &[(impl AsRef<str>, String)]) -> Option<Vec<u8>> {
    let samples: Vec<(&str, &str)> = samples
        .iter()
        .map(|(text, to)| (text.as_ref(), to.as_str()))
        .collect();
    let mut people: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (json, to) in &samples {
        for word in words(json) {
            let holders = people.entry(word).or_default();
            if holders.len() < MIN_RECIPIENTS {
                holders.insert(*to);
            }
        }
    }
    let is_shared = |word: &str| {
        people
            .get(word)
            .is_some_and(|holders| holders.len() >= MIN_RECIPIENTS)
    };
    let total: usize = samples.iter().map(|(json, _)| json.len()).sum();
    let usual_len = EMAILS_LONG * total / samples.len().max(1);
    let mut deflate = Compress::new(Compression::new(1), false);
    let mut dictionary: Vec<u8> = Vec::new();
    for (json, _) in &samples {
        let so_far = Some(dictionary.as_slice()).filter(|text| !text.is_empty());
        let compressed = compress_bytes(&mut deflate, json.as_bytes(), so_far);
        if compressed.len() * COVERED_RATIO <= json.len() {
            continue;
        }
        if dictionary.len() >= usual_len {
            // Only an email of a new kind makes it longer.
            let alone = compress_bytes(&mut deflate, json.as_bytes(), None);
            let (share, whole) = NEW_KIND;
            if compressed.len() * whole <= alone.len() * share {
                continue;
            }
        }
        let shared = shared_text(json, is_shared);
        dictionary.extend_from_slice(&shared[..shared.len().min(MAX_LEN - dictionary.len())]);
        if dictionary.len() == MAX_LEN {
            break;
        }
    }
    (!dictionary.is_empty()).then_some(dictionary)
}

/// Returns the text without the words that are not shared.
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

/// Splits text into runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::Archive;
    use crate::archive::tests::{at, import_lines, memory, put_email};
    use crate::mail::EmailId;
    use crate::text::checks::TextChecks as _;

    /// A letter of one kind to one of many people, some of whom get several.
    fn letter(n: usize) -> String {
        let name = format!("Person{}x", n % 90);
        format!(
            r#"{{"object":"email","id":"mail-{n}","to":["{name}@example.com"],"from":"Acme <hi@acme.example>","created_at":"2026-11-02T09:00:00Z","subject":"Your receipt {n}","html":"<table class='frame'><tr><td style='padding:8px;color:#333'>Dear {name}, thank you for your order</td></tr></table>","text":"Dear {name}, thank you for your order number {n} of our useful things","tags":[]}}"#
        )
    }

    fn filled(letters: std::ops::Range<usize>) -> Archive {
        let archive = memory();
        import_lines(&archive, letters.map(letter), at(0));
        archive
    }

    fn built(emails: &[String]) -> String {
        let emails: Vec<&str> = emails.iter().map(String::as_str).collect();
        String::from_utf8(build(&emails).unwrap()).unwrap()
    }

    fn stored(archive: &Archive, n: usize) -> Arc<str> {
        let id = EmailId::new(format!("mail-{n}"));
        archive.email(&id).unwrap().unwrap().json
    }

    fn numbers(archive: &Archive, sql: &str) -> i64 {
        archive.read(|conn| conn.value(sql, [])).unwrap()
    }

    #[test]
    fn dictionary_has_shared_words_only() {
        let letters: Vec<String> = (0..256).map(letter).collect();
        let text = built(&letters);
        text.assert_contains("<table class='frame'><tr><td style='padding:8px;color:#333'>Dear , thank you for your order</td>");
        assert!(!text.contains("Person"), "{text}");
        // Ten letters to one person are not letters to many people.
        let same: Vec<String> = letters
            .iter()
            .map(|letter| letter.replace("to\":[\"Person", "to\":[\"ana@example.com\",\""))
            .collect();
        let text = built(&same);
        assert!(!text.contains("thank"), "{text}");
        assert_eq!(build(&[]), None);
    }

    #[test]
    fn dictionary_has_every_kind_of_email() {
        // Twelve kinds of one length, and long ones among short ones.
        let word = |kind: usize, n: usize| {
            let number = ((kind * 1_000 + n + 1) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!("{number:016x} ")
        };
        for lengths in [[40; 12], [400, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40]] {
            let emails: Vec<String> = (0..240)
                .map(|n| {
                    let kind = n % 12;
                    let text: String = (0..lengths[kind]).map(|at| word(kind, at)).collect();
                    format!(r#"{{"object":"email","id":"{n}","to":["p{n}@example.com"],"text":"{text}"}}"#)
                })
                .collect();
            let text = built(&emails);
            for (kind, length) in lengths.iter().enumerate() {
                assert!(
                    text.contains(&word(kind, length - 1)),
                    "{kind} of {lengths:?}"
                );
            }
        }
    }

    #[test]
    fn only_starts_of_long_emails_are_learned() {
        let mut random = fastrand::Rng::with_seed(1);
        let emails: Vec<String> = (0..20)
            .map(|n| {
                let mut word = || format!("{:016x} ", random.u64(..));
                let unique: String = (0..MAX_LEN / 16).map(|_| word()).collect();
                let text = format!("Dear customer {unique} kind regards");
                format!(r#"{{"id":"{n}","to":["p{n}@example.com"],"text":"{text}"}}"#)
            })
            .collect();
        let text = built(&emails);
        assert!(text.contains("Dear customer"), "{text}");
        assert!(!text.contains("kind regards"), "{text}");
    }

    #[test]
    fn bodies_round_trip_with_dictionary() {
        let archive = filled(0..300);
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        let compressed = numbers(&archive, "SELECT sum(length(json)) FROM body");
        let raw: usize = (0..300).map(|n| letter(n).len()).sum();
        assert!(
            compressed * 5 < i64::try_from(raw).unwrap(),
            "{compressed} of {raw}"
        );
        for n in [0, 7, 299] {
            assert_eq!(*stored(&archive, n), letter(n));
        }
    }

    #[test]
    fn unused_dictionary_is_deleted() {
        let archive = filled(0..100);
        let delete = |sql: &str| {
            archive.write(|tx| tx.execute_batch(sql)).unwrap();
            archive.compact().unwrap();
        };
        delete("DELETE FROM body WHERE sort_key <> (SELECT min(sort_key) FROM body)");
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        delete("DELETE FROM body");
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 0);
    }

    #[test]
    fn single_bodies_learn_from_stored_ones() {
        let archive = memory();
        for n in 0..70 {
            put_email(&archive, &letter(n), at(0));
        }
        assert_eq!(numbers(&archive, "SELECT count(*) FROM dictionary"), 1);
        let with_dictionary = "SELECT count(*) FROM body WHERE dictionary_id IS NOT NULL";
        assert!(numbers(&archive, with_dictionary) > 0);
        assert_eq!(*stored(&archive, 69), letter(69));
    }
}
