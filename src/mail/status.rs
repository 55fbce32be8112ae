//! `Status`: what became of an email, `last_event` in the API's words.

use jiff::SignedDuration;

use super::SafeText;

/// A status that may still move counts as final at this age: the service keeps an email for 30 days on
/// its common plans (its page on quotas and limits), and few people open one later.
pub(crate) const FINAL_AFTER: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Whether a status can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finality {
    /// It will change soon, or something is wrong.
    InProgress,
    /// It may change once more: somebody may open the email, or complain about it.
    MayChange,
    /// It does not change any more.
    Final,
}

/// The most recent event of an email.
///
/// Twelve are known; the set has grown before and broken strict clients, so any other word is kept.
/// Source: the `last_event` enumeration of the public `OpenAPI` description, 1.5.0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    /// Waits for its send time.
    Scheduled,
    /// Part of a broadcast or batch, waiting.
    Queued,
    /// A scheduled email that somebody stopped.
    Canceled,
    /// Handed over for delivery.
    Sent,
    /// The recipient's server has a temporary problem; it is still being tried.
    DeliveryDelayed,
    /// Could not be sent.
    Failed,
    /// Skipped: the recipient is on the team's suppression list.
    Suppressed,
    /// The recipient's server rejected it.
    Bounced,
    /// The recipient's server accepted it.
    Delivered,
    /// The tracking pixel was loaded.
    Opened,
    /// A link was followed.
    Clicked,
    /// The recipient marked it as spam.
    Complained,
    /// The service named no event.
    Unknown,
    /// An event that this version does not know, as it came.
    Other(SafeText),
}

impl Status {
    /// The twelve events the service documents, in their natural order.
    pub(crate) const KNOWN: [Self; 12] = [
        Self::Scheduled,
        Self::Queued,
        Self::Canceled,
        Self::Sent,
        Self::DeliveryDelayed,
        Self::Failed,
        Self::Suppressed,
        Self::Bounced,
        Self::Delivered,
        Self::Opened,
        Self::Clicked,
        Self::Complained,
    ];

    /// Reads a `last_event`. Webhooks and one imitator prefix it with `email.`, another writes it in
    /// capitals: both are the same event.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let word = text.trim().to_lowercase();
        let word = word.strip_prefix("email.").unwrap_or(&word);
        match word {
            "scheduled" => Self::Scheduled,
            "queued" => Self::Queued,
            "canceled" | "cancelled" => Self::Canceled,
            "sent" => Self::Sent,
            "delivery_delayed" => Self::DeliveryDelayed,
            "failed" => Self::Failed,
            "suppressed" => Self::Suppressed,
            "bounced" => Self::Bounced,
            "delivered" => Self::Delivered,
            "opened" => Self::Opened,
            "clicked" => Self::Clicked,
            "complained" => Self::Complained,
            "" => Self::Unknown,
            other => Self::Other(SafeText::new(other)),
        }
    }

    /// The word for people, also typed in queries.
    #[must_use]
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Canceled => "canceled",
            Self::Sent => "sent",
            Self::DeliveryDelayed => "delayed",
            Self::Failed => "failed",
            Self::Suppressed => "suppressed",
            Self::Bounced => "bounced",
            Self::Delivered => "delivered",
            Self::Opened => "opened",
            Self::Clicked => "clicked",
            Self::Complained => "complained",
            Self::Unknown => "-",
            Self::Other(word) => word,
        }
    }

    /// A symbol of one column; they differ in shape, so that colour is never needed.
    #[must_use]
    pub(crate) const fn symbol(&self) -> &'static str {
        match self {
            Self::Scheduled => "◷",
            Self::Queued => "◌",
            Self::Canceled => "–",
            Self::Sent => "→",
            Self::DeliveryDelayed => "‖",
            Self::Failed => "✖",
            Self::Suppressed => "⊘",
            Self::Bounced => "✕",
            Self::Delivered => "✓",
            Self::Opened => "◉",
            Self::Clicked => "↗",
            Self::Complained => "!",
            Self::Unknown | Self::Other(_) => "?",
        }
    }

    /// What it means for the customer, in plain words.
    #[must_use]
    pub(crate) const fn meaning(&self) -> &'static str {
        match self {
            Self::Scheduled => "waits for its send time",
            Self::Queued => "waits in line to be sent",
            Self::Canceled => "stopped by your team before it was sent",
            Self::Sent => "handed over; their server has not answered yet",
            Self::DeliveryDelayed => "their server asks to try later; still being tried",
            Self::Failed => "could not be sent",
            Self::Suppressed => "skipped: this address is on your suppression list",
            Self::Bounced => "their server rejected it",
            Self::Delivered => "their server accepted it; it may still sit in the spam folder",
            Self::Opened => "somebody, or a mail program, loaded its pictures",
            Self::Clicked => "somebody followed a link in it",
            Self::Complained => "the recipient marked it as spam",
            Self::Unknown => "the service did not say what became of it",
            Self::Other(_) => "a status this version does not know",
        }
    }

    /// Whether the status of an email of this age can still change. The one table of that.
    #[must_use]
    pub(crate) fn finality(&self, age: SignedDuration) -> Finality {
        match self {
            Self::Bounced | Self::Complained | Self::Failed | Self::Canceled | Self::Suppressed => {
                Finality::Final
            }
            Self::Scheduled | Self::Queued | Self::Sent | Self::DeliveryDelayed => {
                Finality::InProgress
            }
            Self::Delivered | Self::Opened | Self::Clicked | Self::Unknown | Self::Other(_)
                if age > FINAL_AFTER =>
            {
                Finality::Final
            }
            Self::Delivered | Self::Opened | Self::Clicked | Self::Unknown | Self::Other(_) => {
                Finality::MayChange
            }
        }
    }

    /// Whether somebody should look at it: the customer did not get this email, or did not want it.
    #[must_use]
    pub(crate) const fn is_problem(&self) -> bool {
        matches!(
            self,
            Self::Bounced
                | Self::Complained
                | Self::Failed
                | Self::Suppressed
                | Self::DeliveryDelayed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_and_case_do_not_matter_and_unknown_words_are_kept() {
        assert_eq!(Status::parse("email.delivered"), Status::Delivered);
        assert_eq!(Status::parse("DELIVERED"), Status::Delivered);
        assert_eq!(Status::parse("delivery_delayed").label(), "delayed");
        assert_eq!(Status::parse("teleported").label(), "teleported");
        assert_eq!(Status::parse(""), Status::Unknown);
    }

    #[test]
    fn each_status_is_final_unsettled_or_may_move() {
        let new = SignedDuration::from_mins(5);
        let of = |finality, age| -> String {
            let words = Status::KNOWN
                .iter()
                .filter(|status| status.finality(age) == finality)
                .map(Status::label);
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of(Finality::Final, new),
            "canceled failed suppressed bounced complained"
        );
        assert_eq!(
            of(Finality::InProgress, new),
            "scheduled queued sent delayed"
        );
        assert_eq!(of(Finality::MayChange, new), "delivered opened clicked");
        let old = FINAL_AFTER + SignedDuration::from_secs(1);
        assert_eq!(
            (of(Finality::MayChange, old), of(Finality::InProgress, old)),
            (String::new(), "scheduled queued sent delayed".to_owned())
        );
    }

    #[test]
    fn the_known_events_have_distinct_words() {
        let words: std::collections::BTreeSet<_> =
            Status::KNOWN.iter().map(Status::label).collect();
        assert_eq!(words.len(), Status::KNOWN.len());
        let symbols: std::collections::BTreeSet<_> =
            Status::KNOWN.iter().map(Status::symbol).collect();
        assert_eq!(symbols.len(), Status::KNOWN.len());
    }
}
