//! Emails, reports and profiles of the model's tests.

use std::sync::Arc;

use super::env::NOW;
use crate::api::wire;
use crate::app::{ProfileChoice, SessionTarget};
use crate::archive::{Coverage, EmailRow, ObservedStatus, SortKey};
use crate::mail::{Email, SafeText, Status, Summary, Tag};
use crate::render::{Body, BodyLine, BodySpan, SpanStyle};
use crate::sync::{ConfirmReport, SyncReport};

/// Profiles to switch to.
pub(super) fn choices() -> Vec<ProfileChoice> {
    let choice =
        |target, name: &str, base_url: &str, key_source: &str, storage: &str| ProfileChoice {
            target,
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            key_source: key_source.to_owned(),
            storage: storage.to_owned(),
        };
    let profile = |name: &str| SessionTarget::Profile(name.to_owned());
    vec![
        choice(
            profile("acme"),
            "acme",
            "https://api.resend.com",
            "key from file ~/.config/sentbox/keys/acme",
            "12 MB kept",
        ),
        choice(
            profile("staging"),
            "staging",
            "https://mail.staging.example.com/api",
            "key from command pass ...",
            "nothing kept yet",
        ),
        choice(
            SessionTarget::Demo,
            "demo",
            "sample mail",
            "no key needed",
            "nothing is kept",
        ),
    ]
}

/// A sync run that stored `new` emails and reached the oldest one.
pub fn sync_report(new: u64) -> SyncReport {
    SyncReport {
        new,
        coverage: Coverage::Complete,
        ..SyncReport::default()
    }
}

/// One request that confirmed the last row.
pub fn confirm_report(sync_report: SyncReport) -> ConfirmReport {
    ConfirmReport {
        sync_report,
        requests: 1,
        confirmed_rows: 1,
        oldest_confirmation: None,
        confirmed_down_to: None,
        is_done: true,
        leaves_out_old: false,
    }
}

/// Email number `n`; the larger, the newer.
pub fn row(n: i64) -> EmailRow {
    let summary = wire::Summary {
        id: format!("00000000-0000-4000-8000-{:012}", n + 1_000_000),
        to: Some(vec![format!("customer{n}@example.com")]),
        from: Some("Acme <hello@example.org>".to_owned()),
        created_at: Some(stamp(n)),
        subject: Some(format!("Your receipt #{n}")),
        message_id: Some(format!("<{n}@example.org>")),
        last_event: Some("delivered".to_owned()),
        ..wire::Summary::default()
    };
    row_of(n, &summary)
}

/// A row for a summary at the position of email `n`.
pub fn row_of(n: i64, summary: &wire::Summary) -> EmailRow {
    let summary = Summary::from(summary);
    EmailRow {
        sort_key: SortKey::from_micros(n).unwrap(),
        recipient_count: summary.count_recipients(),
        summary,
        is_shortened: false,
        last_change: None,
        has_body: false,
        missing_since: None,
        confirmed_at: Some(NOW.parse().unwrap()),
        tags: None,
    }
}

/// One email an hour, ending a little before [`NOW`].
fn stamp(n: i64) -> String {
    let now: jiff::Timestamp = NOW.parse().unwrap();
    (now - jiff::SignedDuration::from_hours(400 - n)).to_string()
}

/// The email that belongs to a summary.
pub fn email(summary: &Summary) -> Email {
    let [name, value] = ["category", "receipt"].map(SafeText::new);
    Email {
        summary: summary.clone(),
        html: None,
        text: Some(Arc::from("Thanks for your order.")),
        tags: vec![Tag { name, value }],
        json: Arc::from("{}"),
    }
}

/// A status, seen now.
pub fn seen(status: &Status) -> ObservedStatus {
    ObservedStatus {
        status: status.clone(),
        seen: NOW.parse().unwrap(),
    }
}

/// A body that names its email, so that a test sees whose it is.
pub fn body(email: &Email) -> Body {
    let line = |text: String| BodyLine {
        spans: vec![BodySpan {
            text: text.into(),
            style: SpanStyle::default(),
        }],
        ..BodyLine::default()
    };
    let head = [
        format!("body of {}", email.summary.id.as_str()),
        String::new(),
    ];
    let numbered = (1..=60).map(|n| format!("Line {n} of the email."));
    Body {
        lines: head.into_iter().chain(numbered).map(line).collect(),
        ..Body::default()
    }
}
