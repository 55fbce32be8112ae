//! UUIDs in their canonical spelling (RFC 9562, section 4).

/// Parses a UUID in lower case; any other spelling would not be restored.
pub(crate) fn parse(text: &str) -> Option<u128> {
    let is_canonical = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    is_canonical.then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?
}

pub(crate) fn format(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    groups.map(|group| &hex[group]).join("-")
}
