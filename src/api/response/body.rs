//! Reads and decompresses the bodies of responses.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use super::super::error::RequestError;
use crate::tasks;

/// Reads a body, decompressed, of at most `max_len` bytes.
pub(in crate::api) async fn read_body(
    mut response: Response,
    max_len: usize,
) -> Result<Vec<u8>, RequestError> {
    let is_gzip = check_encoding(response.headers())?;
    let content_length = response.content_length().unwrap_or(0);
    let mut body = Vec::with_capacity(usize::try_from(content_length).unwrap_or(0).min(max_len));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| RequestError::from_reqwest(&error))?
    {
        if body.len() + chunk.len() > max_len {
            return Err(RequestError::BodyTooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    if !is_gzip {
        return Ok(body);
    }
    tasks::run_blocking(move || gunzip(&body, max_len)).await
}

/// Reads the start of the body of an error, decompressed,
/// of at most `max_len` bytes. What cannot be read is left out: the status has to do.
pub(in crate::api) async fn read_start(mut response: Response, max_len: usize) -> Vec<u8> {
    let Ok(is_gzip) = check_encoding(response.headers()) else {
        return Vec::new();
    };
    let mut body = Vec::new();
    while body.len() < max_len
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(max_len);
    if is_gzip {
        return tasks::run_blocking(move || gunzip_start(&body, max_len)).await;
    }
    body
}

/// Whether a body is gzip; an error if it has an encoding that was not requested.
fn check_encoding(headers: &HeaderMap) -> Result<bool, RequestError> {
    let Some(value) = headers.get(CONTENT_ENCODING) else {
        return Ok(false);
    };
    let encoding = String::from_utf8_lossy(value.as_bytes());
    match encoding.trim() {
        gzip if is_gzip(gzip) => Ok(true),
        plain if plain.is_empty() || plain.eq_ignore_ascii_case("identity") => Ok(false),
        other => Err(RequestError::UnknownEncoding(other.to_owned())),
    }
}

/// Whether a `Content-Encoding` is one that [`gunzip`] decompresses.
fn is_gzip(encoding: &str) -> bool {
    ["gzip", "x-gzip"]
        .iter()
        .any(|known| encoding.eq_ignore_ascii_case(known))
}

/// Decompresses the members of gzip (RFC 1952) to `max_len` bytes. Blocks.
fn gunzip(compressed: &[u8], max_len: usize) -> Result<Vec<u8>, RequestError> {
    // A response without a body may name an encoding, too.
    if compressed.is_empty() {
        return Ok(Vec::new());
    }
    let mut body = Vec::new();
    MultiGzDecoder::new(compressed)
        .take(max_len as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|_| RequestError::InvalidGzip)?;
    if body.len() > max_len {
        Err(RequestError::BodyTooLarge)
    } else {
        Ok(body)
    }
}

/// Decompresses as much as there is, to at most `max_len` bytes. Blocks.
fn gunzip_start(compressed: &[u8], max_len: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut decoder = MultiGzDecoder::new(compressed).take(max_len as u64);
    // What was decompressed before an error is kept.
    let _ = decoder.read_to_end(&mut body);
    body
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use reqwest::header::HeaderValue;

    use super::*;

    const MAX_LEN: usize = 100_000;

    fn compress(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_members_are_concatenated() {
        let members = [compress(b"one "), compress(b""), compress(b"body")].concat();
        assert_eq!(gunzip(&members, MAX_LEN).unwrap(), b"one body");
        assert_eq!(gunzip(b"", MAX_LEN).unwrap(), b"");
        assert!(is_gzip("X-GZIP") && is_gzip("gzip") && !is_gzip("") && !is_gzip("br"));
    }

    #[test]
    fn encoding_that_was_not_requested_is_named() {
        let check = |encoding: &'static str| {
            let value = HeaderValue::from_static(encoding);
            check_encoding(&HeaderMap::from_iter([(CONTENT_ENCODING, value)]))
        };
        assert!(check("gzip").unwrap() && !check("identity").unwrap() && !check("").unwrap());
        for other in ["br", "deflate", "gzip, gzip"] {
            let Err(RequestError::UnknownEncoding(name)) = check(other) else {
                panic!("{other} is accepted")
            };
            assert_eq!(name, other);
        }
    }

    #[test]
    fn truncated_or_invalid_gzip_is_an_error() {
        let complete = [compress(b"one "), compress(b"body")].concat();
        let code = |bytes: &[u8]| gunzip(bytes, MAX_LEN).map_err(|error| error.code());
        let (half, len) = (complete.len() / 2, complete.len());
        for cut in [1, 5, half - 1, half + 3, len - 1] {
            assert_eq!(code(&complete[..cut]), Err("invalid_gzip"), "{cut}");
        }
        assert_eq!(code(b"{\"data\":[]}"), Err("invalid_gzip"));
    }

    #[test]
    fn start_of_a_long_error_is_read() {
        let long = compress(&b"The start ".repeat(20_000));
        let start = gunzip_start(&long[..long.len() / 2], 1000);
        assert!(start.starts_with(b"The start") && start.len() <= 1000);
        assert_eq!(gunzip_start(b"no gzip", 1000), b"");
    }

    #[test]
    fn body_above_the_limit_is_refused() {
        let unpack = |len| gunzip(&compress(&vec![b' '; len]), MAX_LEN).map(|body| body.len());
        for len in [5_000_000, MAX_LEN + 1] {
            assert!(matches!(unpack(len), Err(RequestError::BodyTooLarge)));
        }
        assert!(matches!(unpack(MAX_LEN), Ok(MAX_LEN)));
    }
}
