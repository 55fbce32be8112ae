//! SHA-256 and hexadecimal digits.

use std::fmt::Write as _;

use ring::digest;

pub(crate) fn sha256(data: &[u8]) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, data);
    digest.as_ref().try_into().expect("a SHA-256 has 32 bytes")
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
