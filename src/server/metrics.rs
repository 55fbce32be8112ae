//! The metrics of one email over HTTP.

use axum::extract::{RawQuery, State};
use axum::{Json, Router};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use url::form_urlencoded;

use super::Source;
use super::error::ErrorResponse;
use super::request::{get_only, run_blocking};
use crate::api::wire::{self, MetricsRow};
use crate::config::clock::Clock;
use crate::mail::EmailId;

/// The length of a range without a start.
const DEFAULT_RANGE: SignedDuration = SignedDuration::from_hours(6 * 24);

pub(super) fn routes(source: Source, clock: Clock) -> Router {
    Router::new()
        .route("/emails/metrics", get_only(metrics))
        .with_state((source, clock))
}

async fn metrics(
    State((source, clock)): State<(Source, Clock)>,
    RawQuery(query): RawQuery,
) -> Result<Json<wire::Metrics>, ErrorResponse> {
    let Params {
        email,
        by_email,
        start,
        end,
    } = Params::parse(&query.unwrap_or_default(), clock())?;
    let email_id = email.as_str().to_owned();
    let malformed = ErrorResponse::MalformedEmailId;
    let totals = run_blocking(move || source.metrics(&email, start..=end))
        .await
        .map_err(|error| ErrorResponse::from_source(error, malformed, malformed))?;
    let format = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    Ok(Json(wire::Metrics {
        object: "metrics",
        start_date: format(start),
        end_date: format(end),
        names: totals.keys().cloned().collect(),
        dimensions: if by_email { vec!["email"] } else { Vec::new() },
        granularity: "daily",
        data: by_email
            .then(|| MetricsRow {
                email_id,
                counts: totals.clone(),
            })
            .into_iter()
            .collect(),
        totals,
    }))
}

#[derive(Debug, PartialEq, Eq)]
struct Params {
    email: EmailId,
    /// Whether the counts have a row for each email.
    by_email: bool,
    start: Timestamp,
    end: Timestamp,
}

impl Params {
    /// Parses a query string. Parameters that would change the meaning of the counts
    /// are refused, others ignored.
    fn parse(query: &str, now: Timestamp) -> Result<Self, ErrorResponse> {
        let (mut email, mut start, mut end, mut dimensions) = (None, None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (slot, name) = match &*name {
                "email_id" => (&mut email, "email_id"),
                "start_date" => (&mut start, "start_date"),
                "end_date" => (&mut end, "end_date"),
                "dimensions" if value == "email" => (&mut dimensions, "dimensions"),
                "dimensions" => return Err(ErrorResponse::UnsupportedParameter("dimensions")),
                "metrics" => return Err(ErrorResponse::UnsupportedParameter("metrics")),
                "domain_id" => return Err(ErrorResponse::UnsupportedParameter("domain_id")),
                "broadcast_id" => return Err(ErrorResponse::UnsupportedParameter("broadcast_id")),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(ErrorResponse::RepeatedParameter(name));
            }
        }
        let email = email.filter(|id| !id.is_empty() && !id.contains(','));
        let email = email.ok_or(ErrorResponse::NotOneEmail)?;
        let date = |text: Option<_>, name| text.map(|text| parse_date(text, name)).transpose();
        let end = date(end.as_deref(), "end_date")?.unwrap_or(now).min(now);
        let start = match date(start.as_deref(), "start_date")? {
            Some(start) => start,
            None => end.saturating_sub(DEFAULT_RANGE).unwrap_or(Timestamp::MIN),
        };
        if start > end {
            return Err(ErrorResponse::InvalidDateRange);
        }
        let email = EmailId::new(email);
        Ok(Self {
            email,
            by_email: dimensions.is_some(),
            start,
            end,
        })
    }
}

/// Parses a date, which is its start in UTC, or a datetime with its offset.
fn parse_date(text: &str, name: &'static str) -> Result<Timestamp, ErrorResponse> {
    let from_date = || {
        let date: Date = text.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let at = text.parse().ok().or_else(from_date);
    at.ok_or(ErrorResponse::InvalidDate(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_has_defaults_and_ends_now() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-20T09:41:07Z");
        let range = |query: &str| {
            let params = Params::parse(&format!("email_id=a&{query}"), now)?;
            Ok((params.start, params.end))
        };
        assert_eq!(range("colour=red"), Ok((at("2026-11-14T09:41:07Z"), now)));
        assert_eq!(
            range("start_date=2026-07-01T08:00:00.5%2B02:00&end_date=2026-07-08"),
            Ok((at("2026-07-01T06:00:00.5Z"), at("2026-07-08T00:00:00Z")))
        );
        let expected = Ok((at("2026-11-20T00:00:00Z"), now));
        assert_eq!(range("start_date=2026-11-20&end_date=2027-01-01"), expected);
        for (query, error) in [
            ("start_date=2026-11-21", ErrorResponse::InvalidDateRange),
            ("start_date=", ErrorResponse::InvalidDate("start_date")),
            ("end_date=yesterday", ErrorResponse::InvalidDate("end_date")),
            ("email_id=b", ErrorResponse::RepeatedParameter("email_id")),
            (
                "dimensions=period",
                ErrorResponse::UnsupportedParameter("dimensions"),
            ),
        ] {
            assert_eq!(range(query), Err(error), "{query}");
        }
        for none in ["", "email_id=", "email_id=a,b"] {
            assert_eq!(Params::parse(none, now), Err(ErrorResponse::NotOneEmail));
        }
    }
}
