//! `Packed`: an email's JSON in little room, deflated with a dictionary of what many emails share.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::SortKey;
use crate::api::wire;
use crate::error::{Error, ErrorKind};

/// Beyond this level mail gets hardly smaller and takes twice the time.
const LEVEL: Compression = Compression::new(3);

/// So much is taken out at once.
const CHUNK: usize = 64 << 10;

const DICTIONARY: &str = "SELECT text FROM dictionary WHERE id = ?1";
const LATEST_DICTIONARY: &str = "SELECT id, text FROM dictionary ORDER BY id DESC LIMIT 1";

/// The columns `json` and `dictionary` of a body.
pub(super) struct CompressedBody {
    bytes: Vec<u8>,
    dictionary: Option<i64>,
}

impl CompressedBody {
    /// Reads the two columns, of which the first stands at `first`; `None` if there is no body.
    pub(super) fn from_row(row: &Row, first: usize) -> rusqlite::Result<Option<Self>> {
        let bytes: Option<Vec<u8>> = row.get(first)?;
        let dictionary = row.get(first + 1)?;
        Ok(bytes.map(|bytes| Self { bytes, dictionary }))
    }

    /// The JSON as it came.
    pub(super) fn to_json(&self, connection: &Connection) -> Result<String, Error> {
        let dictionary: Option<Vec<u8>> = match self.dictionary {
            Some(number) => Some(
                connection
                    .prepare_cached(DICTIONARY)?
                    .query_row([number], |row| row.get(0))?,
            ),
            None => None,
        };
        let bytes = decompress_bytes(&self.bytes, dictionary.as_deref())
            .map_err(|error| damaged_error(&error))?;
        String::from_utf8(bytes).map_err(|error| damaged_error(&error))
    }

    /// The email that the JSON describes.
    pub(super) fn to_email(&self, connection: &Connection) -> Result<wire::Email, Error> {
        wire::Email::parse(&self.to_json(connection)?).map_err(|error| damaged_error(&error))
    }
}

/// Packs emails, all of them with the latest dictionary.
pub(super) struct BodyCompressor {
    deflate: Compress,
    dictionary: Option<(i64, Vec<u8>)>,
}

impl BodyCompressor {
    pub(super) fn new(connection: &Connection) -> Result<Self, Error> {
        let dictionary = connection
            .prepare_cached(LATEST_DICTIONARY)?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(Self {
            deflate: Compress::new(LEVEL, false),
            dictionary,
        })
    }

    /// Keeps the JSON as the body of the email at `place`, in place of any that it has.
    pub(super) fn store(
        &mut self,
        change: &Transaction,
        place: SortKey,
        json: &str,
    ) -> Result<(), Error> {
        let (number, text) = self
            .dictionary
            .as_ref()
            .map_or((None, None), |(number, text)| {
                (Some(*number), Some(text.as_slice()))
            });
        let bytes = compress_bytes(&mut self.deflate, json.as_bytes(), text);
        let sql = "INSERT INTO body (sort_key, json, dictionary_id) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (sort_key) DO UPDATE SET json = excluded.json, dictionary_id = excluded.dictionary_id";
        change
            .prepare_cached(sql)?
            .execute(params![place, bytes, number])?;
        Ok(())
    }
}

/// `bytes`, deflated.
pub(super) fn compress_bytes(
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
    let mut packed = Vec::with_capacity(bytes.len() / 3 + 64);
    loop {
        let taken = usize::try_from(deflate.total_in()).expect("no more is taken than there is");
        let status = deflate
            .compress_vec(&bytes[taken..], &mut packed, FlushCompress::Finish)
            .expect("memory is all that deflating takes");
        if status == Status::StreamEnd {
            return packed;
        }
        packed.reserve(CHUNK);
    }
}

fn decompress_bytes(packed: &[u8], dictionary: Option<&[u8]>) -> Result<Vec<u8>, std::io::Error> {
    let mut inflate = Decompress::new(false);
    if let Some(dictionary) = dictionary {
        inflate.set_dictionary(dictionary)?;
    }
    let mut bytes = Vec::with_capacity(packed.len() * 8);
    loop {
        let before = (inflate.total_in(), inflate.total_out());
        let taken = usize::try_from(before.0)
            .unwrap_or(usize::MAX)
            .min(packed.len());
        if inflate.decompress_vec(&packed[taken..], &mut bytes, FlushDecompress::Finish)?
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

pub(super) fn damaged_error(error: &dyn std::error::Error) -> Error {
    Error::new(
        ErrorKind::Archive,
        format!("an email in the archive is damaged: {error}"),
    )
    .with_hint(REFETCH_HINT)
}

/// What helps where one body is damaged.
pub(super) const REFETCH_HINT: &str = "open it again while online; it is then fetched anew";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_packed_comes_back(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 1..4),
            times in 1..2000_usize,
            dictionary in prop::option::of(prop::collection::vec(any::<u8>(), 0..40_000)),
        ) {
            let mut deflate = Compress::new(LEVEL, false);
            for text in texts {
                let text = text.repeat(times);
                let packed = compress_bytes(&mut deflate, &text, dictionary.as_deref());
                prop_assert_eq!(decompress_bytes(&packed, dictionary.as_deref()).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let packed = compress_bytes(
            &mut Compress::new(LEVEL, false),
            &b"Your receipt No. 4821".repeat(9),
            None,
        );
        for length in 0..packed.len() {
            assert!(
                decompress_bytes(&packed[..length], None).is_err(),
                "{length}"
            );
        }
    }
}
