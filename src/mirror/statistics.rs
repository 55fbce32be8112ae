//! Counts of requests, and their text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use jiff::SignedDuration;

use crate::tasks::lock;

/// Returns the name of what a client requests, by its path.
pub(super) fn operation_name(path: &str) -> &'static str {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match segments.as_slice() {
        ["emails"] => "list",
        ["emails", "receiving"] => "list_received",
        ["emails", "metrics"] => "counts",
        ["emails", "receiving", _] => "retrieve_received",
        ["emails", _] => "retrieve",
        ["emails", .., "attachments"] | ["emails", .., "attachments", _] => "attachments",
        ["suppressions", _] => "suppression",
        ["sentbox", "events"] => "events",
        ["webhooks"] => "webhook",
        ["metrics"] => "metrics",
        ["healthz"] => "health",
        _ => "unknown",
    }
}

/// The upper limits of the histogram's buckets, in seconds.
const BUCKETS: [f64; 7] = [0.005, 0.01, 0.025, 0.05, 0.1, 1.0, 5.0];

/// The requests since the start.
#[derive(Debug, Default)]
pub(super) struct RequestStatistics {
    requests: Mutex<BTreeMap<&'static str, Requests>>,
    /// The events of webhooks, by status and what became of them.
    events: Mutex<BTreeMap<(String, &'static str), u64>>,
}

#[derive(Debug, Default)]
struct Requests {
    by_status: BTreeMap<u16, u64>,
    /// By the first bucket that they fit in; the last is for all slower ones.
    by_duration: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

impl RequestStatistics {
    pub(super) fn record(&self, operation: &'static str, status: u16, duration: Duration) {
        let mut all = lock(&self.requests);
        let requests = all.entry(operation).or_default();
        *requests.by_status.entry(status).or_default() += 1;
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS.iter().position(|limit| seconds <= *limit);
        requests.by_duration[bucket.unwrap_or(BUCKETS.len())] += 1;
        requests.seconds += seconds;
    }

    pub(super) fn record_event(&self, status: &str, outcome: &'static str) {
        let mut events = lock(&self.events);
        *events.entry((status.to_owned(), outcome)).or_default() += 1;
    }
}

/// Values that are measured when the metrics are read.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) upstream_requests: u64,
    pub(super) emails: u64,
    /// Age of the newest confirmed page; `None` before the first.
    pub(super) check_age: Option<SignedDuration>,
}

/// Writes the text format of Prometheus, version 0.0.4.
pub(super) fn write_metrics(statistics: &RequestStatistics, sample: &Sample) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    macro_rules! line {
        ($($format:tt)*) => { let _ = writeln!(text, $($format)*); };
    }
    let all = lock(&statistics.requests);
    line!("# TYPE sentbox_requests_total counter");
    for (operation, requests) in all.iter() {
        for (status, count) in &requests.by_status {
            let labels = format!(r#"operation="{operation}",status="{status}""#);
            line!("sentbox_requests_total{{{labels}}} {count}");
        }
    }
    line!("# TYPE sentbox_request_seconds histogram");
    for (operation, requests) in all.iter() {
        let label = format!(r#"operation="{operation}""#);
        let mut sum = 0;
        let limits = BUCKETS.iter().map(ToString::to_string);
        let limits = limits.chain(std::iter::once("+Inf".to_owned()));
        for (limit, count) in limits.zip(&requests.by_duration) {
            sum += count;
            line!(r#"sentbox_request_seconds_bucket{{{label},le="{limit}"}} {sum}"#);
        }
        let seconds = requests.seconds;
        line!("sentbox_request_seconds_sum{{{label}}} {seconds:.6}");
        line!("sentbox_request_seconds_count{{{label}}} {sum}");
    }
    line!("# TYPE sentbox_webhook_events_total counter");
    for ((status, outcome), count) in lock(&statistics.events).iter() {
        let labels = format!(r#"status="{status}",outcome="{outcome}""#);
        line!("sentbox_webhook_events_total{{{labels}}} {count}");
    }
    let upstream = sample.upstream_requests;
    line!("# TYPE sentbox_upstream_requests_total counter");
    line!("sentbox_upstream_requests_total {upstream}");
    line!("# TYPE sentbox_emails gauge");
    line!("sentbox_emails {}", sample.emails);
    if let Some(age) = sample.check_age {
        line!("# TYPE sentbox_check_age_seconds gauge");
        line!("sentbox_check_age_seconds {:.3}", age.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_operation_names() {
        for (path, expected) in [
            ("/emails", "list"),
            ("/emails/receiving", "list_received"),
            ("/emails/receiving/7", "retrieve_received"),
            ("/emails/7", "retrieve"),
            ("/emails/7/attachments/8", "attachments"),
            ("/emails/receiving/7/attachments", "attachments"),
            ("/emails/metrics", "counts"),
            ("/suppressions/a@example.com", "suppression"),
            ("/other", "unknown"),
        ] {
            assert_eq!(operation_name(path), expected, "{path}");
        }
    }

    #[test]
    fn buckets_add_up_to_count() {
        let statistics = RequestStatistics::default();
        for millis in [4, 30, 9_000] {
            statistics.record("list", 200, Duration::from_millis(millis));
        }
        statistics.record("list", 404, Duration::from_millis(1));
        let sample = Sample {
            upstream_requests: 3,
            emails: 12,
            check_age: Some(SignedDuration::from_millis(1500)),
        };
        let text = write_metrics(&statistics, &sample);
        for line in [
            r#"sentbox_requests_total{operation="list",status="200"} 3"#,
            r#"sentbox_requests_total{operation="list",status="404"} 1"#,
            r#"sentbox_request_seconds_bucket{operation="list",le="0.005"} 2"#,
            r#"sentbox_request_seconds_bucket{operation="list",le="0.05"} 3"#,
            r#"sentbox_request_seconds_bucket{operation="list",le="+Inf"} 4"#,
            r#"sentbox_request_seconds_sum{operation="list"} 9.035000"#,
            r#"sentbox_request_seconds_count{operation="list"} 4"#,
            "sentbox_upstream_requests_total 3",
            "sentbox_emails 12",
            "sentbox_check_age_seconds 1.500",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
