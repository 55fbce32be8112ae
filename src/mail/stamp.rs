//! `Stamp`: a point in time as the service wrote it.

use jiff::Timestamp;

use super::Shown;

/// A time from the service: read if it can be read, kept as text either way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The instant, if the text could be read.
    pub at: Option<Timestamp>,
    /// The text as it came.
    pub raw: Shown,
}

impl Stamp {
    /// Reads both formats in use: RFC 3339 and Postgres text (`2026-04-03 22:13:42.67+00`), which
    /// the real service sends although its documentation shows the former.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self {
            at: text.trim().parse().ok(),
            raw: Shown::new(text),
        }
    }

    /// Microseconds since 1970, the unit of the archive; `None` if the text was not readable.
    #[must_use]
    pub fn micros(&self) -> Option<i64> {
        self.at.map(Timestamp::as_microsecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_name_the_same_instant() {
        let rfc = Stamp::parse("2026-04-03T22:13:42.674981+00:00");
        for text in [
            "2026-04-03 22:13:42.674981+00",
            "2026-04-04T00:13:42.674981+02:00",
            "2026-04-03T22:13:42.674981Z",
        ] {
            assert_eq!(Stamp::parse(text).at, rfc.at, "{text}");
        }
        assert_eq!(rfc.micros(), Some(1_775_254_422_674_981));
        assert!(Stamp::parse("2026-04-01 00:00:00+00").at.is_some());
        assert!(Stamp::parse("2025-11-30 20:41:40.84216+00").at.is_some());
    }

    #[test]
    fn an_unreadable_time_keeps_its_text() {
        let stamp = Stamp::parse("last\u{1b}Tuesday");
        assert_eq!(stamp.at, None);
        assert_eq!(&*stamp.raw, "last\u{FFFD}Tuesday");
    }
}
