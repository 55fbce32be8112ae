//! The values of PostgreSQL: how those of `SQLite` are stored so that all come
//! back.
//!
//! - Text may contain U+0000, which PostgreSQL refuses: it is stored as U+10FFFE and `0`, and U+10FFFE itself twice.
//! - A column that has values of several types in `SQLite`, or a blob, is `bytea`: a byte for the type, and the value.
//!   Numbers are stored so that their order is that of the bytes. `postgres.sql` has functions that read this form.

use std::error::Error as StdError;
use std::num::TryFromIntError;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{
    FromSql as FromPostgres, IsNull, ToSql as ToPostgres, Type, to_sql_checked,
};

use crate::archive::storage::db::MAX_TSVECTOR_TOKEN;
use crate::error::Result;
use crate::text::format::first_chars;

/// A value of `SQLite` as PostgreSQL stores it.
#[derive(Debug)]
pub(in crate::archive::storage::db) struct Stored(pub(super) Value);

const BLOB: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;

/// `0` after it means U+0000; the character after itself means that character.
/// Unicode never assigns it to a character.
const ESCAPE: char = '\u{10FFFE}';

fn escape(text: &str) -> String {
    if !text.contains(['\0', ESCAPE]) {
        return text.to_owned();
    }
    text.replace(ESCAPE, "\u{10FFFE}\u{10FFFE}")
        .replace('\0', "\u{10FFFE}0")
}

fn unescape(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            ESCAPE => chars
                .next()
                .map_or(ESCAPE, |next| if next == '0' { '\0' } else { next }),
            c => c,
        });
    }
    plain
}

/// Writes tokens, which are separated by spaces, as the bytes that a server takes
/// as a `tsvector`.
fn write_tokens(text: &str, out: &mut BytesMut) -> Result<(), TryFromIntError> {
    let tokens = text.split(' ').filter(|token| !token.is_empty());
    let mut tokens: Vec<&str> = tokens
        .map(|token| first_chars(token, MAX_TSVECTOR_TOKEN))
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    out.extend_from_slice(&i32::try_from(tokens.len())?.to_be_bytes());
    for token in tokens {
        out.extend_from_slice(token.as_bytes());
        // The end of the text, and how many positions it has.
        out.extend_from_slice(&[0, 0, 0]);
    }
    Ok(())
}

/// Changes the sign bit, so that the bytes of a smaller number are smaller.
fn ordered(number: i64) -> [u8; 8] {
    (number ^ i64::MIN).to_be_bytes()
}

impl ToPostgres for Stored {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (&self.0, kind) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => return ToPostgres::to_sql(number, kind, out),
            (Value::Integer(number), &Type::INT4) => {
                return ToPostgres::to_sql(&i32::try_from(*number)?, kind, out);
            }
            (Value::Integer(number), &Type::BOOL) => {
                return ToPostgres::to_sql(&(*number != 0), kind, out);
            }
            (Value::Text(text), &Type::TEXT) => out.extend_from_slice(escape(text).as_bytes()),
            (Value::Text(text), &Type::TS_VECTOR) => write_tokens(text, out)?,
            (Value::Integer(number), &Type::BYTEA) => {
                out.extend_from_slice(&[INTEGER]);
                out.extend_from_slice(&ordered(*number));
            }
            (Value::Text(text), &Type::BYTEA) => {
                out.extend_from_slice(&[TEXT]);
                out.extend_from_slice(escape(text).as_bytes());
            }
            (Value::Blob(bytes), &Type::BYTEA) => {
                out.extend_from_slice(&[BLOB]);
                out.extend_from_slice(bytes);
            }
            (value, kind) => {
                let found = value.data_type();
                return Err(
                    format!("a parameter of type {kind} gets a value of type {found}").into(),
                );
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromPostgres<'a> for Stored {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(match *kind {
            Type::INT8 => Value::Integer(<i64 as FromPostgres>::from_sql(kind, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::BYTEA => match raw.split_first() {
                Some((&INTEGER, bytes)) => {
                    Value::Integer(i64::from_be_bytes(bytes.try_into()?) ^ i64::MIN)
                }
                Some((&TEXT, bytes)) => {
                    Value::Text(unescape(std::str::from_utf8(bytes)?.to_owned()))
                }
                Some((&BLOB, bytes)) => Value::Blob(bytes.to_owned()),
                _ => return Err("a value of an unknown form".into()),
            },
            _ => Value::Text(unescape(String::from_sql(&Type::TEXT, raw)?)),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

pub(super) fn to_parameters(values: &[&dyn ToSql]) -> Result<Vec<Stored>> {
    let values = values.iter().map(|value| {
        Ok(Stored(match value.to_sql()? {
            ToSqlOutput::Owned(value) => value,
            ToSqlOutput::Borrowed(value) => {
                Value::try_from(value).map_err(rusqlite::Error::from)?
            }
            _ => unreachable!("no value of ours has another form"),
        }))
    });
    values.collect()
}

pub(super) fn as_parameters(values: &[Stored]) -> Vec<&(dyn ToPostgres + Sync)> {
    let values = values.iter();
    values
        .map(|value| value as &(dyn ToPostgres + Sync))
        .collect()
}
