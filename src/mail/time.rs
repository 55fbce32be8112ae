//! [`ApiTime`]: a time as the service wrote it.

use jiff::Timestamp;

use super::SafeText;

/// A time from the service: parsed if possible, and as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApiTime {
    /// The instant; `None` if the text is not a time.
    pub parsed: Option<Timestamp>,
    /// The text as it was sent, sanitized.
    pub(crate) raw: SafeText,
}

impl ApiTime {
    /// Parses both formats in use: RFC 3339, and Postgres text (`2026-04-03 22:13:42.67+00`), which the real
    /// service sends although its documentation shows the former.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self {
            parsed: text.trim().parse().ok(),
            raw: SafeText::new(text),
        }
    }

    /// Returns microseconds since 1970, the unit of the archive.
    pub(crate) fn as_micros(&self) -> Option<i64> {
        self.parsed.map(Timestamp::as_microsecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_give_the_same_instant() {
        let rfc = ApiTime::parse("2026-04-03T22:13:42.674981+00:00");
        for text in [
            "2026-04-03 22:13:42.674981+00",
            "2026-04-04T00:13:42.674981+02:00",
            "2026-04-03T22:13:42.674981Z",
        ] {
            assert_eq!(ApiTime::parse(text).parsed, rfc.parsed, "{text}");
        }
        assert_eq!(rfc.as_micros(), Some(1_775_254_422_674_981));
        assert!(ApiTime::parse("2026-04-01 00:00:00+00").parsed.is_some());
        assert!(
            ApiTime::parse("2025-11-30 20:41:40.84216+00")
                .parsed
                .is_some()
        );
    }

    #[test]
    fn unparsable_time_keeps_its_text() {
        let stamp = ApiTime::parse("last\u{1b}Tuesday");
        assert_eq!(stamp.parsed, None);
        assert_eq!(&*stamp.raw, "last\u{FFFD}Tuesday");
    }
}
