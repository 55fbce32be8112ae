//! [`Metrics`]: how often an email was opened and clicked, and how it bounced,
//! as the service counts.

use jiff::Timestamp;

use super::{Status, Summary};
use crate::text::format::plural;

/// The counts of one email; `None` for what the service does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    pub(crate) opened: Option<u64>,
    pub(crate) clicked: Option<u64>,
    pub(crate) bounced_permanent: Option<u64>,
    pub(crate) bounced_transient: Option<u64>,
    pub(crate) bounced_undetermined: Option<u64>,
}

impl Metrics {
    /// Returns the time from which to count;
    /// `None` if the counts say nothing about an email of this status.
    pub(crate) fn start(status: &Status, email: &Summary) -> Option<Timestamp> {
        let is_counted = match status {
            Status::Opened | Status::Clicked => true,
            Status::Bounced => email.bounce().is_none(),
            _ => false,
        };
        email.created.parsed.filter(|_| is_counted)
    }

    /// Writes `opened 3 times, clicked once`, or the kind of a bounce;
    /// empty if nothing is known.
    pub(crate) fn describe(&self, status: &Status) -> String {
        let bounces = [
            (self.bounced_permanent, "bounced permanently"),
            (self.bounced_transient, "bounced temporarily"),
            (self.bounced_undetermined, "bounced, kind undetermined"),
        ];
        let bounces = bounces.into_iter().filter(|(count, _)| *count > Some(0));
        let mut parts: Vec<String> = bounces.map(|(_, text)| text.to_owned()).collect();
        for (event, count) in [("opened", self.opened), ("clicked", self.clicked)] {
            match count {
                None => {}
                // The service counts later than it names the event.
                Some(0) if *status == Status::Bounced || status.label() == event => {}
                Some(1) => parts.push(format!("{event} once")),
                Some(count) => parts.push(format!("{event} {}", plural(count, "time"))),
            }
        }
        match parts.join(", ") {
            text if text.is_empty() => text,
            text => format!("{text}; the service's count"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_described_in_words() {
        let opened = Metrics {
            opened: Some(3),
            clicked: Some(1),
            ..Metrics::default()
        };
        let expected = "opened 3 times, clicked once; the service's count";
        assert_eq!(opened.describe(&Status::Clicked), expected);
        let uncounted = Metrics {
            opened: Some(0),
            clicked: None,
            ..Metrics::default()
        };
        assert_eq!(uncounted.describe(&Status::Opened), "", "it was opened");
        let expected = "opened 0 times; the service's count";
        assert_eq!(uncounted.describe(&Status::Clicked), expected);
        assert_eq!(uncounted.describe(&Status::Bounced), "");
        assert_eq!(Metrics::default().describe(&Status::Opened), "");
        let bounced = Metrics {
            opened: Some(12_345),
            clicked: Some(0),
            bounced_permanent: Some(0),
            bounced_transient: Some(2),
            bounced_undetermined: Some(1),
        };
        assert_eq!(
            bounced.describe(&Status::Bounced),
            "bounced temporarily, bounced, kind undetermined, opened 12 345 times; the service's count"
        );
    }
}
