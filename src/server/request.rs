//! The parts of a request that the operations read:
//! its host, and the query parameters of a list.

use std::ops::Range;

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::header;
use axum::http::uri::Authority;
use axum::routing::{MethodRouter, get};
use url::{Host, form_urlencoded};

use super::SourceError;
use super::error::ErrorResponse;
use crate::api::{Cursor, MAX_LIMIT};
use crate::config;
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;
use crate::tasks;

/// Emails on a page if the request sets no limit.
const DEFAULT_LIMIT: u8 = 20;

/// The address of this server, as the request names it.
#[derive(Clone)]
pub(super) struct Origin(pub(super) String);

impl Origin {
    /// Returns the origin of a request whose host was checked.
    pub(super) fn from_request(request: &Request) -> Option<Self> {
        let authority = authority(request)?;
        let host = parse_host(&authority)?;
        let scheme = if is_loopback(&host) { "http" } else { "https" };
        Some(Self(format!("{scheme}://{authority}")))
    }
}

/// Returns the host and port that a request names.
fn authority(request: &Request) -> Option<Authority> {
    let header = request.headers().get(header::HOST);
    let from_header = header.and_then(|value| value.to_str().ok()?.parse().ok());
    from_header.or_else(|| request.uri().authority().cloned())
}

/// Returns the host in normal form, without its port.
pub(super) fn parse_host(authority: &Authority) -> Option<Host> {
    Host::parse(authority.host()).ok()
}

/// Whether a client on this machine may use this name of the server.
pub(super) fn is_loopback(host: &Host) -> bool {
    let is_below = matches!(host, Host::Domain(name) if name.ends_with(".localhost"));
    is_below || config::is_loopback(host)
}

/// Routes GET to `handler`; unlike axum, refuses HEAD, as the service does.
pub(crate) fn get_only<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S>,
    T: 'static,
    S: Clone + Send + Sync + 'static,
{
    get(handler).head(method_not_allowed)
}

pub(crate) async fn method_not_allowed() -> ErrorResponse {
    ErrorResponse::MethodNotAllowed
}

/// Calls the source on a blocking thread. A panic becomes an internal error.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let result = tasks::catch_panic(work).await;
    result.unwrap_or_else(|_| {
        let error = Error::new(ErrorKind::Internal, "the source panicked");
        Err(SourceError::Internal(error))
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListParams {
    pub(crate) cursor: Cursor,
    pub(crate) limit: u8,
}

impl ListParams {
    /// Parses a query string as strictly as the service does.
    ///
    /// Unknown parameters are ignored.
    pub(crate) fn parse(query: &str) -> Result<Self, ErrorResponse> {
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

/// Returns the range of a page of at most `limit` of `count` items,
/// and whether there are more in its direction.
///
/// The items are newest first, and `find` returns the index of a cursor in them.
///
/// # Errors
///
/// If `find` fails.
pub fn page_range<E>(
    cursor: &Cursor,
    limit: u8,
    count: usize,
    find: impl Fn(&EmailId) -> Result<usize, E>,
) -> Result<(Range<usize>, bool), E> {
    let limit = usize::from(limit);
    let start = match cursor {
        Cursor::Start => 0,
        Cursor::After(id) => find(id)? + 1,
        Cursor::Before(id) => {
            let end = find(id)?;
            let start = end.saturating_sub(limit);
            return Ok((start..end, start > 0));
        }
    };
    let end = count.min(start + limit);
    Ok((start..end, end < count))
}

/// Parses a limit of digits only: `str::parse` accepts a plus sign too.
fn parse_limit(text: &str) -> Result<u8, ErrorResponse> {
    let is_digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|limit| is_digits && (1..=MAX_LIMIT).contains(limit))
        .ok_or(ErrorResponse::InvalidLimit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(cursor: Cursor, limit: u8) -> ListParams {
        ListParams { cursor, limit }
    }

    #[test]
    fn parameters_are_optional_and_unknown_ones_ignored() {
        let id = || EmailId::new("a b");
        assert_eq!(ListParams::parse(""), Ok(params(Cursor::Start, 20)));
        assert_eq!(ListParams::parse("limit=1"), Ok(params(Cursor::Start, 1)));
        let expected = Ok(params(Cursor::After(id()), 100));
        assert_eq!(ListParams::parse("limit=100&after=a+b"), expected);
        let expected = Ok(params(Cursor::Before(id()), 20));
        assert_eq!(ListParams::parse("colour=red&before=a%20b"), expected);
    }
}
