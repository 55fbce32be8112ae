//! `Ask`: the query string of a list request, read as strictly as the service reads it.

use url::form_urlencoded;

use super::error::ErrorResponse;
use crate::api::{Cursor, MAX_LIMIT};
use crate::mail::EmailId;

/// The size of a page that was asked for without a limit.
const DEFAULT_LIMIT: u8 = 20;

/// Which page is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListParams {
    pub(super) cursor: Cursor,
    pub(super) limit: u8,
}

impl ListParams {
    /// Reads a query string. Parameters that the operation does not have are ignored.
    pub(super) fn parse(query: &str) -> Result<Self, ErrorResponse> {
        let (mut limit, mut after, mut before) = (None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (slot, name) = match &*name {
                "limit" => (&mut limit, "limit"),
                "after" => (&mut after, "after"),
                "before" => (&mut before, "before"),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(ErrorResponse::RepeatedParameter(name));
            }
        }
        let limit = limit.map_or(Ok(DEFAULT_LIMIT), |text| parse_limit(&text))?;
        let cursor = match (after, before) {
            (None, None) => Cursor::Start,
            (Some(id), None) => Cursor::After(EmailId::new(id)),
            (None, Some(id)) => Cursor::Before(EmailId::new(id)),
            (Some(_), Some(_)) => return Err(ErrorResponse::BothCursors),
        };
        Ok(Self { cursor, limit })
    }
}

/// Digits only: `parse` alone would also take a plus sign.
fn parse_limit(text: &str) -> Result<u8, ErrorResponse> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let limit = text
        .parse()
        .ok()
        .filter(|limit| digits && (1..=MAX_LIMIT).contains(limit));
    limit.ok_or(ErrorResponse::InvalidLimit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(cursor: Cursor, limit: u8) -> ListParams {
        ListParams { cursor, limit }
    }

    #[test]
    fn every_parameter_is_optional_and_strange_ones_are_ignored() {
        let id = || EmailId::new("a b");
        assert_eq!(ListParams::parse(""), Ok(ask(Cursor::Start, 20)));
        assert_eq!(ListParams::parse("limit=1"), Ok(ask(Cursor::Start, 1)));
        assert_eq!(
            ListParams::parse("limit=100&after=a+b"),
            Ok(ask(Cursor::After(id()), 100))
        );
        assert_eq!(
            ListParams::parse("colour=red&before=a%20b"),
            Ok(ask(Cursor::Before(id()), 20))
        );
    }

    #[test]
    fn a_limit_is_a_number_from_1_to_100() {
        for bad in [
            "0",
            "101",
            "256",
            "-1",
            "+5",
            "1.5",
            "1e1",
            "abc",
            "",
            "%20",
            "99999999999999999999",
        ] {
            assert_eq!(
                ListParams::parse(&format!("limit={bad}")),
                Err(ErrorResponse::InvalidLimit),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_parameter_comes_once_and_a_cursor_alone() {
        assert_eq!(
            ListParams::parse("limit=1&limit=1"),
            Err(ErrorResponse::RepeatedParameter("limit"))
        );
        assert_eq!(
            ListParams::parse("after=a&after=b"),
            Err(ErrorResponse::RepeatedParameter("after"))
        );
        assert_eq!(
            ListParams::parse("after=a&before=b"),
            Err(ErrorResponse::BothCursors)
        );
        assert_eq!(
            ListParams::parse("after=&before="),
            Err(ErrorResponse::BothCursors)
        );
    }
}
