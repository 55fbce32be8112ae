//! Unpacks the body of an answer, within a bound.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use super::error::RequestError;

/// Whether a `Content-Encoding` is one that [`gunzip`] unpacks.
pub(super) fn is_gzip(encoding: &str) -> bool {
    ["gzip", "x-gzip"]
        .iter()
        .any(|known| encoding.trim().eq_ignore_ascii_case(known))
}

/// Unpacks gzip of one or several members (RFC 1952) that holds up to `most` bytes. It may take a while.
pub(super) fn gunzip(packed: &[u8], most: usize) -> Result<Vec<u8>, RequestError> {
    // An answer without a body may name an encoding, too.
    if packed.is_empty() {
        return Ok(Vec::new());
    }
    let mut body = Vec::new();
    MultiGzDecoder::new(packed)
        .take(most as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|_| RequestError::ConnectionBroken)?;
    if body.len() > most {
        Err(RequestError::BodyTooLarge)
    } else {
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const MOST: usize = 100_000;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_of_several_members_is_one_body() {
        let members = [packed(b"one "), packed(b""), packed(b"body")].concat();
        assert_eq!(gunzip(&members, MOST).unwrap(), b"one body");
        assert_eq!(gunzip(b"", MOST).unwrap(), b"");
        assert!(is_gzip("X-GZIP") && is_gzip(" gzip") && !is_gzip("") && !is_gzip("br"));
    }

    #[test]
    fn cut_or_foreign_gzip_is_broken() {
        let whole = [packed(b"one "), packed(b"body")].concat();
        for cut in [
            1,
            5,
            whole.len() / 2 - 1,
            whole.len() / 2 + 3,
            whole.len() - 1,
        ] {
            assert!(
                matches!(
                    gunzip(&whole[..cut], MOST),
                    Err(RequestError::ConnectionBroken)
                ),
                "{cut}"
            );
        }
        assert!(matches!(
            gunzip(b"{\"data\":[]}", MOST),
            Err(RequestError::ConnectionBroken)
        ));
    }

    #[test]
    fn body_beyond_its_bound_is_refused() {
        assert!(matches!(
            gunzip(&packed(&vec![b' '; 5_000_000]), MOST),
            Err(RequestError::BodyTooLarge)
        ));
        assert!(matches!(
            gunzip(&packed(&vec![b' '; MOST + 1]), MOST),
            Err(RequestError::BodyTooLarge)
        ));
        assert_eq!(
            gunzip(&packed(&vec![b' '; MOST]), MOST).unwrap().len(),
            MOST
        );
    }
}
