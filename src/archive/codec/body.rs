//! Deflates the JSON of emails with their bodies, with a dictionary of text that
//! many emails share.
//!
//! A dictionary never changes once a body uses it; [`super::dictionary`] makes new ones. A body
//! names its dictionary by id, and inflates to the very bytes that were stored.

use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::api::wire;
use crate::archive::SortKey;
use crate::archive::storage::db::{Connection, Row, Transaction, params};
use crate::archive::storage::error::damaged_error;
use crate::error::Result;
use crate::tasks::map_ahead;

/// At higher levels mail gets hardly smaller and takes twice the time.
const LEVEL: Compression = Compression::new(3);

/// Bytes that are inflated at once.
const CHUNK: usize = 64 << 10;

pub(crate) const BODY_BY_KEY: &str = "SELECT json, dictionary_id FROM body WHERE sort_key = ?1";
const DICTIONARY: &str = "SELECT text FROM dictionary WHERE id = ?1";
const LATEST_DICTIONARY: &str = "SELECT id FROM dictionary ORDER BY id DESC LIMIT 1";

/// The columns `json` and `dictionary_id` of a body.
pub(crate) struct CompressedBody {
    bytes: Vec<u8>,
    dictionary: Option<i64>,
}

impl CompressedBody {
    /// Loads the body of the email at `key`, if it is stored.
    pub(crate) fn load(conn: &Connection, key: SortKey) -> Result<Option<Self>> {
        let found = conn.optional(BODY_BY_KEY, [key], Self::read)?;
        Ok(found.flatten())
    }

    /// Reads the two columns; `None` if there is no body.
    pub(crate) fn read(row: &Row) -> rusqlite::Result<Option<Self>> {
        let bytes: Option<Vec<u8>> = row.get()?;
        let dictionary = row.get()?;
        Ok(bytes.map(|bytes| Self { bytes, dictionary }))
    }

    /// Returns the JSON as it came.
    pub(crate) fn to_json(&self, conn: &Connection) -> Result<String> {
        self.decompress(&self.dictionary(conn)?)
    }

    /// Parses the JSON. Its status is that of the retrieval;
    /// `mail.last_event` is the current one.
    pub(crate) fn to_email(&self, conn: &Connection) -> Result<wire::Email> {
        self.to_email_with(&self.dictionary(conn)?)
    }

    /// Loads what it is inflated with.
    pub(crate) fn dictionary(&self, conn: &Connection) -> Result<BodyDictionary> {
        let text = self
            .dictionary
            .map(|number| conn.constant(DICTIONARY, number));
        text.transpose().map(BodyDictionary)
    }

    /// Parses the JSON like [`Self::to_email`], with its dictionary.
    pub(crate) fn to_email_with(&self, dictionary: &BodyDictionary) -> Result<wire::Email> {
        wire::Email::parse(&self.decompress(dictionary)?).map_err(damaged_error)
    }

    fn decompress(&self, dictionary: &BodyDictionary) -> Result<String> {
        let text = dictionary.0.as_ref().map(|text| text.as_slice());
        let bytes = decompress_bytes(&self.bytes, text).map_err(damaged_error)?;
        String::from_utf8(bytes).map_err(damaged_error)
    }
}

/// The text of the dictionary of a body, if it has one.
pub(crate) struct BodyDictionary(Option<Arc<Vec<u8>>>);

/// Stores the JSON of emails, deflated with the latest dictionary, as their bodies;
/// they replace earlier ones.
/// Callers use `dictionary::store_bodies`, which makes dictionaries first.
pub(crate) fn store_compressed(tx: &Transaction, bodies: &[(SortKey, &str)]) -> Result<()> {
    let latest: Option<i64> = tx.optional_value(LATEST_DICTIONARY, [])?;
    let text = latest.map(|number| tx.constant(DICTIONARY, number));
    let text = text.transpose()?;
    let text = text.as_ref().map(|text| text.as_slice());
    let query = "INSERT INTO body (sort_key, json, dictionary_id) VALUES (?1, ?2, ?3) \
               ON CONFLICT (sort_key) DO UPDATE SET json = excluded.json, dictionary_id = excluded.dictionary_id";
    map_ahead(
        bodies,
        || {
            let mut deflate = Compress::new(LEVEL, false);
            move |(_, json): &(SortKey, &str)| compress_bytes(&mut deflate, json.as_bytes(), text)
        },
        |(key, _), bytes| tx.execute(query, params![key, bytes, latest]),
    )
}

pub(crate) fn compress_bytes(
    deflate: &mut Compress,
    bytes: &[u8],
    dictionary: Option<&[u8]>,
) -> Vec<u8> {
    deflate.reset();
    if let Some(dictionary) = dictionary {
        deflate
            .set_dictionary(dictionary)
            .expect("any text is a dictionary before the first byte");
    }
    let mut compressed = Vec::with_capacity(bytes.len() / 3 + 64);
    loop {
        let taken = usize::try_from(deflate.total_in()).expect("no more is taken than there is");
        let status = deflate
            .compress_vec(&bytes[taken..], &mut compressed, FlushCompress::Finish)
            .expect("memory is all that deflating takes");
        if status == Status::StreamEnd {
            return compressed;
        }
        compressed.reserve(CHUNK);
    }
}

fn decompress_bytes(
    compressed: &[u8],
    dictionary: Option<&[u8]>,
) -> Result<Vec<u8>, std::io::Error> {
    let mut inflate = Decompress::new(false);
    if let Some(dictionary) = dictionary {
        inflate.set_dictionary(dictionary)?;
    }
    let mut bytes = Vec::with_capacity(compressed.len() * 8);
    loop {
        let before = (inflate.total_in(), inflate.total_out());
        let taken = usize::try_from(before.0)
            .unwrap_or(usize::MAX)
            .min(compressed.len());
        if inflate.decompress_vec(&compressed[taken..], &mut bytes, FlushDecompress::Finish)?
            == Status::StreamEnd
        {
            return Ok(bytes);
        }
        if bytes.len() < bytes.capacity() && before == (inflate.total_in(), inflate.total_out()) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.reserve(CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn compressed_bytes_round_trip(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 1..4),
            times in 1..2000_usize,
            dictionary in prop::option::of(prop::collection::vec(any::<u8>(), 0..40_000)),
        ) {
            let mut deflate = Compress::new(LEVEL, false);
            for text in texts {
                let text = text.repeat(times);
                let compressed = compress_bytes(&mut deflate, &text, dictionary.as_deref());
                prop_assert_eq!(decompress_bytes(&compressed, dictionary.as_deref()).unwrap(), text);
            }
        }
    }

    #[test]
    fn truncated_body_is_an_error() {
        let compressed = compress_bytes(
            &mut Compress::new(LEVEL, false),
            &b"Your receipt No. 4821".repeat(9),
            None,
        );
        for length in 0..compressed.len() {
            assert!(
                decompress_bytes(&compressed[..length], None).is_err(),
                "{length}"
            );
        }
    }
}
