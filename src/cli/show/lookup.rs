//! The facts that `show` requests beside an email:
//! its attachments, whether its recipients are blocked, and how often it was opened and clicked.

use std::future::Future;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::time::timeout;

use crate::api::{Client, RetryPolicy};
use crate::cli::output::format::format_api_time_long;
use crate::error::{ErrorKind, Result};
use crate::mail::{Attachment, Metrics, Summary};

/// How long an email waits for each answer about what is beside it.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The facts from the service beside an email, each as a text;
/// empty if there is nothing to show.
#[derive(Default)]
pub(super) struct LookedUp {
    /// Its attachments, or why they are not known.
    pub(in crate::cli) attachments: String,
    /// Whether the service sends to its recipients, if it may not.
    pub(super) suppression: String,
    /// How often it was opened and clicked, if it may have been.
    pub(in crate::cli) activity: String,
}

/// Requests what is beside an email.
/// It neither fails nor delays the email for long; a service that lacks the operation is not reported.
pub(super) async fn look_up(client: &Client, summary: &Summary, zone: &TimeZone) -> LookedUp {
    // More attempts would take longer than the lookup may.
    let client = &client.with_retry_policy(RetryPolicy::TUI);
    let attachments = async {
        let all = client.attachments(&summary.id).await?;
        Ok(Attachment::join(&all))
    };
    let suppression = async {
        if summary.status.may_suppress() {
            describe_suppressions(client, summary, zone).await
        } else {
            Ok(String::new())
        }
    };
    let activity = async {
        let status = &summary.status;
        let Some(since) = Metrics::start(status, summary) else {
            return Ok(String::new());
        };
        let metrics = client.metrics(&summary.id, since).await?;
        Ok(metrics.describe(status))
    };
    let (attachments, suppression, activity) = tokio::join!(
        answer_in_time(attachments),
        answer_in_time(suppression),
        answer_in_time(activity)
    );
    LookedUp {
        attachments,
        suppression,
        activity,
    }
}

async fn answer_in_time(answer: impl Future<Output = Result<String>>) -> String {
    match timeout(LOOKUP_TIMEOUT, answer).await {
        Ok(Ok(text)) => text,
        Ok(Err(error)) if error.kind == ErrorKind::Unsupported => String::new(),
        Ok(Err(error)) => format!("not known: {}", error.message),
        Err(_) => "not known: the service did not answer in time".to_owned(),
    }
}

/// Describes which of the first recipients the service does not send to any more.
async fn describe_suppressions(
    client: &Client,
    summary: &Summary,
    zone: &TimeZone,
) -> Result<String> {
    /// One request each.
    const MAX_RECIPIENTS: usize = 3;
    let mut parts = Vec::new();
    for to in summary.to.iter().take(MAX_RECIPIENTS) {
        let address = &to.email;
        parts.push(match client.suppression(address).await? {
            None => format!("{address} is not on the suppression list"),
            Some(found) => {
                let since = match format_api_time_long(&found.created, zone) {
                    since if since.is_empty() => since,
                    since => format!(" since {since}"),
                };
                format!("{address}{since}, {}", found.reason())
            }
        });
    }
    match summary.to.len().saturating_sub(MAX_RECIPIENTS) {
        0 => {}
        more => parts.push(format!("{more} more were not checked")),
    }
    Ok(parts.join("; "))
}
