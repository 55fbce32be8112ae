//! The sample mailbox: a believable company's sent mail, computed rather than stored, and alive.

use jiff::Timestamp;
use serde_json::value::{RawValue, to_raw_value};

use super::{EmailSource, SourceError, SourcePage};
use crate::api::{Cursor, wire};
use crate::config::clock::Clock;
use crate::mail::EmailId;
use customers::{Customer, Customers};
use facts::Variables;
use identity::{IdCodec, IdError};
use letters::{CopyRecipients, EmailTemplate};
use lifecycle::Lifecycle;
use rng::{Rng, Stream};
use schedule::Schedule;
use template::{Escaping, render_template};

mod cultures;
mod customers;
mod facts;
mod identity;
mod letters;
mod lifecycle;
mod phrases;
mod rng;
mod schedule;
mod template;
#[cfg(test)]
mod tests;

/// How many emails a sample mailbox starts with, unless told otherwise.
pub(crate) const DEFAULT_EMAILS: u32 = 2000;

/// A living mailbox, in which each email is a pure function of seed, number and time.
///
/// Nothing is stored, so a million emails cost no more than ten; and nothing is random, so the same
/// seed, start and time show the same mail. As time passes, emails arrive and statuses move on.
pub struct SampleMailbox {
    seed: u64,
    clock: Clock,
    schedule: Schedule,
    ids: IdCodec,
    customers: Customers,
}

/// What is settled about an email before anything of it is written.
struct EmailPlan {
    template: &'static EmailTemplate,
    customer: Customer,
    friend: Customer,
    accepted_at: Timestamp,
}

impl SampleMailbox {
    /// A mailbox with `emails` from the 90 days before `start`, which grows from then on.
    #[must_use]
    pub fn new(seed: u64, emails: u32, start: Timestamp, clock: Clock) -> Self {
        let (calendar, identity, people) = (
            Schedule::new(seed, emails, start),
            IdCodec::new(seed),
            Customers::new(seed),
        );
        Self {
            seed,
            clock,
            schedule: calendar,
            ids: identity,
            customers: people,
        }
    }

    /// The number of the email with this id, if it has been sent by `now`. The oldest is 0.
    fn parse_id(&self, id: &EmailId, now: Timestamp) -> Result<u64, SourceError> {
        let number = self
            .ids
            .decode(id.as_str())
            .map_err(|reason| match reason {
                IdError::Malformed => SourceError::Malformed,
                IdError::Unknown => SourceError::Unknown,
            })?;
        if number < self.schedule.count_at(now) {
            Ok(number)
        } else {
            Err(SourceError::Unknown)
        }
    }

    fn rng(&self, number: u64, matter: Stream) -> Rng {
        Rng::new(self.seed, number, matter)
    }

    fn plan_email(&self, number: u64) -> EmailPlan {
        let letter = EmailTemplate::pick(self.rng(number, Stream::Template).below(1000));
        let mut chance = self.rng(number, Stream::Recipient);
        let customer = self.customers.pick(&mut chance, letter.culture());
        let friend = self.customers.pick(&mut chance, None);
        EmailPlan {
            template: letter,
            customer,
            friend,
            accepted_at: self.schedule.accepted_at(number),
        }
    }

    fn variables<'a>(&self, number: u64, draft: &'a EmailPlan) -> Variables<'a> {
        let EmailPlan {
            template: letter,
            customer,
            friend,
            accepted_at: accepted,
        } = draft;
        Variables::new(
            self.seed,
            number,
            letter.language,
            customer,
            &friend.full_name,
            *accepted,
        )
    }

    fn build_summary(&self, number: u64, draft: &EmailPlan, now: Timestamp) -> wire::Summary {
        let EmailPlan {
            template: letter,
            customer,
            friend: _,
            accepted_at: accepted,
        } = draft;
        let mut chance = self.rng(number, Stream::Envelope);
        let named = chance.is_in_permille(550);
        let mut to = vec![match letter.to {
            Some(address) => address.to_owned(),
            None if named => format!("{} <{}>", customer.full_name, customer.email),
            None => customer.email.clone(),
        }];
        let (mut cc, mut bcc) = (Vec::new(), Vec::new());
        match letter.copies {
            CopyRecipients::None => {}
            CopyRecipients::Colleagues if customer.company.is_some() => {
                let mut others = || {
                    (0..chance.below(3))
                        .map(|_| self.customers.colleague_address(customer, &mut chance))
                        .collect::<Vec<_>>()
                };
                to.extend(others());
                cc = others();
            }
            CopyRecipients::Colleagues => cc.extend(
                chance
                    .is_in_permille(500)
                    .then(|| "accounts@harbourpine.example".to_owned()),
            ),
            CopyRecipients::Archive => bcc.extend(
                chance
                    .is_in_permille(600)
                    .then(|| "archive@harbourpine.example".to_owned()),
            ),
        }
        let (lot, mut course) = (
            lifecycle::delivery_draw(self.seed, number),
            self.rng(number, Stream::Lifecycle),
        );
        let fate = Lifecycle::generate(
            *accepted,
            lot,
            letter.engagement,
            letter.is_schedulable,
            &mut course,
        );
        let domain = letter
            .from
            .rsplit_once('@')
            .map_or("", |(_, domain)| domain.trim_end_matches('>'));
        wire::Summary {
            id: self.ids.encode(number),
            to: Some(to),
            from: Some(letter.from.to_owned()),
            created_at: Some(format_time(*accepted)),
            subject: Some(render_template(
                letter.subject,
                Escaping::None,
                &self.variables(number, draft),
            )),
            message_id: Some(format!("<{}@{domain}>", self.ids.encode_message_id(number))),
            bcc: non_empty(bcc),
            cc: non_empty(cc),
            reply_to: letter.reply_to.map(|address| vec![address.to_owned()]),
            last_event: Some(fate.event_at(now).to_owned()),
            scheduled_at: fate.scheduled_at().map(format_time),
            extra: Vec::new(),
        }
    }

    fn build_email(&self, number: u64, now: Timestamp) -> wire::Email {
        let draft = self.plan_email(number);
        let facts = self.variables(number, &draft);
        let letter = draft.template;
        let tags = [("category", letter.name)]
            .into_iter()
            .chain(letter.tags.iter().copied());
        wire::Email {
            summary: self.build_summary(number, &draft, now),
            html: letter
                .html
                .map(|template| render_template(template, Escaping::Html, &facts)),
            text: letter
                .text
                .map(|template| render_template(template, Escaping::None, &facts)),
            tags: tags
                .map(|(name, value)| wire::Tag {
                    name: name.to_owned(),
                    value: value.to_owned(),
                })
                .collect(),
        }
    }
}

impl EmailSource for SampleMailbox {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let now = (self.clock)();
        let count = self.schedule.count_at(now);
        let limit = u64::from(limit);
        let (numbers, has_more) = match cursor {
            Cursor::Start => numbers_below(count, limit),
            Cursor::After(id) => numbers_below(self.parse_id(id, now)?, limit),
            Cursor::Before(id) => {
                let low = self.parse_id(id, now)? + 1;
                let high = count.min(low + limit);
                (low..high, high < count)
            }
        };
        let data = numbers
            .rev()
            .map(|number| to_json(&self.build_summary(number, &self.plan_email(number), now)));
        Ok(SourcePage {
            data: data.collect(),
            has_more,
        })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        let now = (self.clock)();
        Ok(to_json(&self.build_email(self.parse_id(id, now)?, now)))
    }
}

/// The numbers right below one, and whether there are more.
const fn numbers_below(number: u64, limit: u64) -> (std::ops::Range<u64>, bool) {
    let low = number.saturating_sub(limit);
    (low..number, low > 0)
}

fn to_json(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("strings and lists of strings become JSON")
}

/// The format of the specification: RFC 3339, microseconds, a numeric offset.
fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// The list operation says null where there is nobody.
fn non_empty(addresses: Vec<String>) -> Option<Vec<String>> {
    (!addresses.is_empty()).then_some(addresses)
}
