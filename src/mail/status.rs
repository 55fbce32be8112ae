//! [`Status`]: the most recent event of an email, `last_event` in the API.

use jiff::SignedDuration;

use super::SafeText;

/// The age at which a status that may still change counts as final:
/// the service stores an email for 30 days on its common plans (its page on quotas and limits), and
/// few people open one later.
pub(crate) const FINAL_AFTER: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The event of received mail in the archive:
/// the service's webhooks call it `email.received`, and its listing names none.
pub(crate) const RECEIVED_EVENT: &str = "-received";

/// Whether a status can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finality {
    /// It will change soon, or there is a problem.
    InProgress,
    /// It may change: the recipient may open the email, or complain about it.
    MayChange,
    /// It does not change any more.
    Final,
}

struct StatusInfo {
    label: &'static str,
    symbol: &'static str,
    ascii_symbol: &'static str,
    meaning: &'static str,
}

/// Defines [`Status`] with its documented events:
/// label, symbol, symbol in ASCII, and meaning of each.
macro_rules! statuses {
    ($($(#[$meta:meta])* $known:ident = $label:literal, $symbol:literal, $ascii:literal, $meaning:literal;)+) => {
        /// The most recent event of an email.
        ///
        /// Twelve are known; the set has grown before and broken strict clients, so other words are
        /// accepted. Source: the `last_event` enumeration of the public `OpenAPI` description,
        /// 1.5.0.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub(crate) enum Status {
            $($(#[$meta])* $known,)+
            /// The email was received, and not sent: it has no status.
            Received,
            /// The service named no event.
            Unknown,
            /// An event that this version does not know.
            Other(SafeText),
        }

        impl Status {
            /// The twelve documented events, in their natural order.
            pub(crate) const KNOWN: [Self; [$($label),+].len()] = [$(Self::$known),+];

            const fn info(&self) -> StatusInfo {
                let (label, symbol, ascii_symbol, meaning) = match self {
                    $(Self::$known => ($label, $symbol, $ascii, $meaning),)+
                    Self::Received => ("", "", "", ""),
                    Self::Unknown => ("-", "?", "??", "the service did not say what became of it"),
                    Self::Other(_) => ("", "?", "??", "a status this version does not know"),
                };
                StatusInfo { label, symbol, ascii_symbol, meaning }
            }
        }
    };
}

statuses! {
    /// Waits for its send time.
    Scheduled = "scheduled", "◷", "at", "not sent yet";
    /// Part of a broadcast or batch, waiting.
    Queued = "queued", "◌", "..", "waits in line to be sent";
    /// Scheduled, and stopped before its send time.
    Canceled = "canceled", "–", "--", "stopped by your team before it was sent";
    /// Handed over for delivery.
    Sent = "sent", "→", "->", "handed over; their server has not answered yet";
    /// The recipient's server has a temporary problem; it is still being tried.
    DeliveryDelayed = "delayed", "‖", "||", "their server asks to try later; still being tried";
    /// Could not be sent.
    Failed = "failed", "✖", "xf", "could not be sent";
    /// Skipped: the recipient is on the team's suppression list.
    Suppressed = "suppressed", "⊘", "xs", "skipped: this address is on your suppression list";
    /// The recipient's server rejected it.
    Bounced = "bounced", "✕", "xx", "their server rejected it";
    /// The recipient's server accepted it.
    Delivered = "delivered", "✓", "ok", "their server accepted it; it may be in the spam folder";
    /// The tracking pixel was loaded.
    Opened = "opened", "◉", "op", "its images were loaded, by a reader or a mail program";
    /// A link was clicked.
    Clicked = "clicked", "↗", "cl", "a link in it was clicked";
    /// The recipient marked it as spam.
    Complained = "complained", "!", "!!", "the recipient marked it as spam";
}

impl Status {
    /// Parses a `last_event`. Webhooks and one imitator prefix it with `email.`,
    /// another writes it in capitals.
    pub(crate) fn parse(text: &str) -> Self {
        let word = text.trim().to_lowercase();
        let word = word.strip_prefix("email.").unwrap_or(&word);
        match word {
            "" => Self::Unknown,
            "cancelled" => Self::Canceled,
            "delivery_delayed" => Self::DeliveryDelayed,
            RECEIVED_EVENT => Self::Received,
            "delayed" => Self::Other(SafeText::new(word)),
            _ => Self::KNOWN
                .into_iter()
                .find(|status| status.label() == word)
                .unwrap_or_else(|| Self::Other(SafeText::new(word))),
        }
    }

    /// Returns how far an email with this status has come in the natural order;
    /// `None` for an unknown event.
    pub(crate) fn progress(&self) -> Option<usize> {
        Self::KNOWN.iter().position(|status| status == self)
    }

    /// Returns the position in a list by the natural order,
    /// in which unknown events are last.
    pub(crate) fn order(&self) -> usize {
        self.progress().unwrap_or(usize::MAX)
    }

    /// Returns the word for users, also used in queries.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => known.info().label,
        }
    }

    /// Returns the word of the API, for programs; empty if the service named no event.
    pub(crate) fn api_name(&self) -> &str {
        match self {
            Self::DeliveryDelayed => "delivery_delayed",
            Self::Unknown | Self::Received => "",
            other => other.label(),
        }
    }

    /// Returns a symbol of one column;
    /// the shapes differ, so that colour is never needed.
    pub(crate) const fn symbol(&self) -> &'static str {
        self.info().symbol
    }

    /// Returns its symbol in ASCII, of two columns.
    pub(crate) const fn ascii_symbol(&self) -> &'static str {
        self.info().ascii_symbol
    }

    /// Returns what the status means for the customer.
    pub(crate) const fn meaning(&self) -> &'static str {
        self.info().meaning
    }

    /// Whether a status is about one recipient of several, and not about the only one
    /// or the whole email.
    ///
    /// The service has one status for an email, which is that of the latest event of any
    /// recipient.
    pub(crate) fn is_of_one_of(&self, recipients: usize) -> bool {
        let is_of_one =
            self.is_problem() || matches!(self, Self::Delivered | Self::Opened | Self::Clicked);
        is_of_one && recipients > 1
    }

    /// Whether the status of an email of this age can still change.
    pub(crate) fn finality(&self, age: SignedDuration) -> Finality {
        match self {
            Self::Bounced
            | Self::Complained
            | Self::Failed
            | Self::Canceled
            | Self::Suppressed
            | Self::Received => Finality::Final,
            Self::Scheduled | Self::Queued | Self::Sent | Self::DeliveryDelayed => {
                Finality::InProgress
            }
            _ if age > FINAL_AFTER => Finality::Final,
            _ => Finality::MayChange,
        }
    }

    /// Whether the status never changes, whatever the age of the email.
    pub(crate) fn is_final(&self) -> bool {
        self.finality(SignedDuration::ZERO) == Finality::Final
    }

    /// Whether the email has a status: received mail has none.
    pub(crate) fn exists(&self) -> bool {
        *self != Self::Received
    }

    /// Whether this version knows its meaning.
    pub(crate) fn is_understood(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Other(_)) || self.is_problem()
    }

    /// Whether the customer did not get this email, or did not want it.
    pub(crate) fn is_problem(&self) -> bool {
        let is_known = matches!(
            self,
            Self::Bounced
                | Self::Complained
                | Self::Failed
                | Self::Suppressed
                | Self::DeliveryDelayed
        );
        // An imitator of the service sends the label `delayed` as the event.
        is_known || self.label() == Self::DeliveryDelayed.label()
    }

    /// Whether such an email may have put its recipient on the suppression list,
    /// or met it there.
    pub(crate) const fn may_suppress(&self) -> bool {
        matches!(self, Self::Bounced | Self::Complained | Self::Suppressed)
    }
}

/// Counts an email with this status; the counts are in the natural order.
pub(crate) fn count_status(counts: &mut Vec<(Status, u64)>, status: &Status) {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| known == status) {
        *count += 1;
    } else {
        let end = counts.partition_point(|(known, _)| known.order() <= status.order());
        counts.insert(end, (status.clone(), 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_and_case_are_ignored_unknown_words_accepted() {
        assert_eq!(Status::parse("email.delivered"), Status::Delivered);
        assert_eq!(Status::parse("DELIVERED"), Status::Delivered);
        assert_eq!(Status::parse("delivery_delayed").label(), "delayed");
        assert_eq!(Status::parse("teleported").label(), "teleported");
        assert!(matches!(Status::parse("delayed"), Status::Other(_)));
        assert!(Status::parse("delayed").is_problem());
        assert_eq!(Status::parse(""), Status::Unknown);
    }

    #[test]
    fn finality_depends_on_status_and_age() {
        let new = SignedDuration::from_mins(5);
        let of = |finality, age| -> String {
            let words = Status::KNOWN
                .iter()
                .filter(|status| status.finality(age) == finality)
                .map(Status::label);
            words.collect::<Vec<_>>().join(" ")
        };
        let expected = "canceled failed suppressed bounced complained";
        assert_eq!(of(Finality::Final, new), expected);
        let expected = "scheduled queued sent delayed";
        assert_eq!(of(Finality::InProgress, new), expected);
        assert_eq!(of(Finality::MayChange, new), "delivered opened clicked");
        let old = FINAL_AFTER + SignedDuration::from_secs(1);
        assert_eq!(
            (of(Finality::MayChange, old), of(Finality::InProgress, old)),
            (String::new(), "scheduled queued sent delayed".to_owned())
        );
    }

    #[test]
    fn api_name_is_parsed_back() {
        for status in Status::KNOWN.into_iter().chain([Status::Unknown]) {
            assert_eq!(Status::parse(status.api_name()), status);
        }
    }

    #[test]
    fn known_events_have_distinct_labels_and_symbols() {
        let words: std::collections::BTreeSet<_> =
            Status::KNOWN.iter().map(Status::label).collect();
        assert_eq!(words.len(), Status::KNOWN.len());
        let symbols: std::collections::BTreeSet<_> =
            Status::KNOWN.iter().map(Status::symbol).collect();
        assert_eq!(symbols.len(), Status::KNOWN.len());
    }
}
