//! `Packed`: an email's JSON in little room, deflated with a dictionary of what many emails share.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::Place;
use crate::api::wire;
use crate::failure::{Failure, Kind};

/// Beyond this level mail gets hardly smaller and takes twice the time.
const LEVEL: Compression = Compression::new(3);

/// So much is taken out at once.
const CHUNK: usize = 64 << 10;

const DICTIONARY: &str = "SELECT text FROM dictionary WHERE dictionary = ?1";
const LATEST: &str = "SELECT dictionary, text FROM dictionary ORDER BY dictionary DESC LIMIT 1";

/// The columns `json` and `dictionary` of a body.
pub(super) struct Packed {
    bytes: Vec<u8>,
    dictionary: Option<i64>,
}

impl Packed {
    /// Reads the two columns, of which the first stands at `first`; `None` if there is no body.
    pub(super) fn load(row: &Row, first: usize) -> rusqlite::Result<Option<Self>> {
        let bytes: Option<Vec<u8>> = row.get(first)?;
        let dictionary = row.get(first + 1)?;
        Ok(bytes.map(|bytes| Self { bytes, dictionary }))
    }

    /// The JSON as it came.
    pub(super) fn json(&self, connection: &Connection) -> Result<String, Failure> {
        let dictionary: Option<Vec<u8>> = match self.dictionary {
            Some(number) => Some(
                connection
                    .prepare_cached(DICTIONARY)?
                    .query_row([number], |row| row.get(0))?,
            ),
            None => None,
        };
        let bytes =
            inflated(&self.bytes, dictionary.as_deref()).map_err(|error| damaged(&error))?;
        String::from_utf8(bytes).map_err(|error| damaged(&error))
    }

    /// The email that the JSON describes.
    pub(super) fn email(&self, connection: &Connection) -> Result<wire::Email, Failure> {
        wire::Email::read(&self.json(connection)?).map_err(|error| damaged(&error))
    }
}

/// Packs emails, all of them with the latest dictionary.
pub(super) struct Packer {
    deflate: Compress,
    dictionary: Option<(i64, Vec<u8>)>,
}

impl Packer {
    pub(super) fn new(connection: &Connection) -> Result<Self, Failure> {
        let dictionary = connection
            .prepare_cached(LATEST)?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(Self {
            deflate: Compress::new(LEVEL, false),
            dictionary,
        })
    }

    /// Keeps the JSON as the body of the email at `place`, in place of any that it has.
    pub(super) fn put(
        &mut self,
        change: &Transaction,
        place: Place,
        json: &str,
    ) -> Result<(), Failure> {
        let (number, text) = self
            .dictionary
            .as_ref()
            .map_or((None, None), |(number, text)| {
                (Some(*number), Some(text.as_slice()))
            });
        let bytes = deflated(&mut self.deflate, json.as_bytes(), text);
        let sql = "INSERT INTO body (place, json, dictionary) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (place) DO UPDATE SET json = excluded.json, dictionary = excluded.dictionary";
        change
            .prepare_cached(sql)?
            .execute(params![place, bytes, number])?;
        Ok(())
    }
}

/// `bytes`, deflated.
pub(super) fn deflated(deflate: &mut Compress, bytes: &[u8], dictionary: Option<&[u8]>) -> Vec<u8> {
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

fn inflated(packed: &[u8], dictionary: Option<&[u8]>) -> Result<Vec<u8>, std::io::Error> {
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

pub(super) fn damaged(error: &dyn std::error::Error) -> Failure {
    Failure::new(
        Kind::Archive,
        format!("an email in the archive is damaged: {error}"),
    )
    .hint(READ_AGAIN)
}

/// What helps where one body is damaged.
pub(super) const READ_AGAIN: &str = "open it again while online; it is then fetched anew";

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
                let packed = deflated(&mut deflate, &text, dictionary.as_deref());
                prop_assert_eq!(inflated(&packed, dictionary.as_deref()).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let packed = deflated(
            &mut Compress::new(LEVEL, false),
            &b"Your receipt No. 4821".repeat(9),
            None,
        );
        for length in 0..packed.len() {
            assert!(inflated(&packed[..length], None).is_err(), "{length}");
        }
    }
}
