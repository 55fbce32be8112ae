//! The values of arguments: how each is parsed and named.

use std::fmt;
use std::net::SocketAddr;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use url::Host;

use crate::archive::Grouping;
use crate::config::{DURATION_SYNTAX, HistorySpan, Rate, find_time_zone, parse_duration};
use crate::export::SetFormat;
use crate::mail::Status;
use crate::query::SortOrder;
use crate::text::format::suggest;

/// Parses a whole number from `MIN` on.
pub(super) fn parse_number<N, const MIN: u8>(text: &str) -> Result<N, String>
where
    N: FromStr<Err = ParseIntError> + From<u8> + PartialOrd,
{
    match text.parse() {
        Ok(number) if number >= N::from(MIN) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err("the number is too large".to_owned())
        }
        _ => Err(format!("expected a whole number, {MIN} or more")),
    }
}

pub(super) fn parse_width(text: &str) -> Result<u16, &'static str> {
    let width = text.parse().ok();
    width
        .filter(|width| (10..=1000).contains(width))
        .ok_or("expected a whole number from 10 to 1000")
}

pub(super) fn parse_back(text: &str) -> Result<HistorySpan, String> {
    HistorySpan::parse(text)
        .filter(|span| *span != HistorySpan::Off)
        .ok_or_else(|| format!("expected all, or {DURATION_SYNTAX}"))
}

pub(super) fn parse_recheck(text: &str) -> Result<HistorySpan, String> {
    HistorySpan::parse(text).ok_or_else(|| format!("expected all, off, or {DURATION_SYNTAX}"))
}

pub(super) fn parse_age(text: &str) -> Result<SignedDuration, String> {
    parse_duration(text).ok_or_else(|| format!("expected {DURATION_SYNTAX}"))
}

/// Parses an address that may be copied from a list of them.
pub(super) fn parse_address(text: &str) -> Result<String, String> {
    let is_around = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    match text.trim_matches(is_around) {
        "" => Err("expected an address".to_owned()),
        list if list.contains(is_around) && list.matches('@').count() > 1 => {
            Err("expected one address; purge each alone".to_owned())
        }
        address => Ok(address.to_owned()),
    }
}

pub(super) fn parse_charset(name: &str) -> Result<&'static encoding_rs::Encoding, String> {
    encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
        .ok_or_else(|| "not a charset of the web, such as latin1 or shift_jis".to_owned())
}

/// Parses a known status, by its name in the API or in sentbox.
pub(super) fn parse_status(text: &str) -> Result<Status, String> {
    let known = |status: &&Status| text == status.label() || text == status.api_name();
    let names = || Status::KNOWN.iter().map(Status::api_name);
    match Status::KNOWN.iter().find(known) {
        Some(status) => Ok(status.clone()),
        None => Err(match suggest(text, names()) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("expected one of {}", names().collect::<Vec<_>>().join(", ")),
        }),
    }
}

pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_secs(u64::from(number) * seconds))
    });
    parsed.ok_or_else(|| {
        "expected a number of seconds, minutes or hours, such as 90s, 2m, 1h".to_owned()
    })
}

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| format!("a rate is {}", Rate::SYNTAX))
}

pub(super) fn parse_time_zone(name: &str) -> Result<TimeZone, String> {
    find_time_zone(name).ok_or_else(|| {
        "this machine knows no such time zone; they are named as in Europe/Madrid".to_owned()
    })
}

/// Makes enums the values of flags, with the methods that return their names.
macro_rules! value_enums {
    ($($name:ident::$as_str:ident),+) => {$(
        impl ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                &Self::ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.$as_str()))
            }
        }
    )+};
}

value_enums!(SortOrder::as_str, Grouping::as_str, SetFormat::name);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Parses an address with its port, or a path; `localhost` is the loopback address.
pub(super) fn parse_listen(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return Ok(Listen::Unix(PathBuf::from(path)));
    }
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    };
    address
        .map(Listen::Tcp)
        .map_err(|_| "an address has a port, as in 127.0.0.1:8025 or localhost:0".to_owned())
}

/// Parses a name or an address without its port.
pub(super) fn parse_host(text: &str) -> Result<Host, String> {
    Host::parse(text)
        .map_err(|error| format!("{error}; a name without a port belongs here, or an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_is_no_time_to_go_back_to() {
        assert_eq!(parse_back("all"), Ok(HistorySpan::All));
        assert_eq!(parse_recheck("off"), Ok(HistorySpan::Off));
        for text in ["off", "All", "30"] {
            assert!(parse_back(text).is_err(), "{text}");
        }
    }
}
