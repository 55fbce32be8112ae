//! The sample mailbox: a believable company's sent mail, computed rather than stored, and alive.

use jiff::Timestamp;
use serde_json::value::{RawValue, to_raw_value};

use super::{Fault, Page, Source};
use crate::api::{Cursor, wire};
use crate::config::clock::Clock;
use crate::mail::EmailId;
use calendar::Calendar;
use chance::{Chance, Matter};
use facts::Facts;
use fate::Fate;
use fill::{Form, fill};
use identity::{Identity, NotAnId};
use letters::{Copies, Letter};
use people::{Customer, People};

mod calendar;
mod chance;
mod cultures;
mod facts;
mod fate;
mod fill;
mod identity;
mod letters;
mod people;
mod phrases;
#[cfg(test)]
mod tests;

/// How many emails a sample mailbox starts with, unless told otherwise.
pub const DEFAULT_EMAILS: u32 = 2000;

/// A living mailbox, in which each email is a pure function of seed, number and time.
///
/// Nothing is stored, so a million emails cost no more than ten; and nothing is random, so the same
/// seed, start and time show the same mail. As time passes, emails arrive and statuses move on.
pub struct Mailbox {
    seed: u64,
    clock: Clock,
    calendar: Calendar,
    identity: Identity,
    people: People,
}

/// What is settled about an email before anything of it is written.
struct Draft {
    letter: &'static Letter,
    customer: Customer,
    friend: Customer,
    accepted: Timestamp,
}

impl Mailbox {
    /// A mailbox with `emails` from the 90 days before `start`, which grows from then on.
    #[must_use]
    pub fn new(seed: u64, emails: u32, start: Timestamp, clock: Clock) -> Self {
        let (calendar, identity, people) = (
            Calendar::new(seed, emails, start),
            Identity::new(seed),
            People::new(seed),
        );
        Self {
            seed,
            clock,
            calendar,
            identity,
            people,
        }
    }

    /// The number of the email with this id, if it has been sent by `now`. The oldest is 0.
    fn number(&self, id: &EmailId, now: Timestamp) -> Result<u64, Fault> {
        let number = self
            .identity
            .number(id.as_str())
            .map_err(|reason| match reason {
                NotAnId::Malformed => Fault::Malformed,
                NotAnId::Foreign => Fault::Unknown,
            })?;
        if number < self.calendar.count(now) {
            Ok(number)
        } else {
            Err(Fault::Unknown)
        }
    }

    fn chance(&self, number: u64, matter: Matter) -> Chance {
        Chance::of(self.seed, number, matter)
    }

    fn draft(&self, number: u64) -> Draft {
        let letter = Letter::at(self.chance(number, Matter::Letter).below(1000));
        let mut chance = self.chance(number, Matter::Recipient);
        let customer = self.people.draw(&mut chance, letter.culture());
        let friend = self.people.draw(&mut chance, None);
        Draft {
            letter,
            customer,
            friend,
            accepted: self.calendar.accepted(number),
        }
    }

    fn facts<'a>(&self, number: u64, draft: &'a Draft) -> Facts<'a> {
        let Draft {
            letter,
            customer,
            friend,
            accepted,
        } = draft;
        Facts::new(
            self.seed,
            number,
            letter.tongue,
            customer,
            &friend.full,
            *accepted,
        )
    }

    fn summary(&self, number: u64, draft: &Draft, now: Timestamp) -> wire::Summary {
        let Draft {
            letter,
            customer,
            friend: _,
            accepted,
        } = draft;
        let mut chance = self.chance(number, Matter::Envelope);
        let named = chance.permille(550);
        let mut to = vec![match letter.to {
            Some(address) => address.to_owned(),
            None if named => format!("{} <{}>", customer.full, customer.email),
            None => customer.email.clone(),
        }];
        let (mut cc, mut bcc) = (Vec::new(), Vec::new());
        match letter.copies {
            Copies::None => {}
            Copies::Colleagues if customer.company.is_some() => {
                let mut others = || {
                    (0..chance.below(3))
                        .map(|_| self.people.colleague(customer, &mut chance))
                        .collect::<Vec<_>>()
                };
                to.extend(others());
                cc = others();
            }
            Copies::Colleagues => cc.extend(
                chance
                    .permille(500)
                    .then(|| "accounts@harbourpine.example".to_owned()),
            ),
            Copies::Archive => bcc.extend(
                chance
                    .permille(600)
                    .then(|| "archive@harbourpine.example".to_owned()),
            ),
        }
        let (lot, mut course) = (
            fate::lot(self.seed, number),
            self.chance(number, Matter::Fate),
        );
        let fate = Fate::draw(*accepted, lot, letter.appeal, letter.may_wait, &mut course);
        let domain = letter
            .from
            .rsplit_once('@')
            .map_or("", |(_, domain)| domain.trim_end_matches('>'));
        wire::Summary {
            id: self.identity.id(number),
            to: Some(to),
            from: Some(letter.from.to_owned()),
            created_at: Some(stamp(*accepted)),
            subject: Some(fill(
                letter.subject,
                Form::Plain,
                &self.facts(number, draft),
            )),
            message_id: Some(format!("<{}@{domain}>", self.identity.message(number))),
            bcc: some(bcc),
            cc: some(cc),
            reply_to: letter.reply_to.map(|address| vec![address.to_owned()]),
            last_event: Some(fate.at(now).to_owned()),
            scheduled_at: fate.scheduled().map(stamp),
            extra: Vec::new(),
        }
    }

    fn full(&self, number: u64, now: Timestamp) -> wire::Email {
        let draft = self.draft(number);
        let facts = self.facts(number, &draft);
        let letter = draft.letter;
        let wire::Summary {
            id,
            to,
            from,
            created_at,
            subject,
            message_id,
            bcc,
            cc,
            reply_to,
            last_event,
            scheduled_at,
            extra,
        } = self.summary(number, &draft, now);
        let tags = [("category", letter.name)]
            .into_iter()
            .chain(letter.tags.iter().copied());
        wire::Email {
            object: "email".to_owned(),
            id,
            to: to.unwrap_or_default(),
            from,
            created_at,
            subject,
            message_id,
            html: letter
                .html
                .map(|template| fill(template, Form::Html, &facts)),
            text: letter
                .text
                .map(|template| fill(template, Form::Plain, &facts)),
            bcc: bcc.unwrap_or_default(),
            cc: cc.unwrap_or_default(),
            reply_to: reply_to.unwrap_or_default(),
            last_event,
            scheduled_at,
            tags: tags
                .map(|(name, value)| wire::Tag {
                    name: name.to_owned(),
                    value: value.to_owned(),
                })
                .collect(),
            extra,
        }
    }
}

impl Source for Mailbox {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<Page, Fault> {
        let now = (self.clock)();
        let count = self.calendar.count(now);
        let limit = u64::from(limit);
        let (numbers, has_more) = match cursor {
            Cursor::Start => below(count, limit),
            Cursor::After(id) => below(self.number(id, now)?, limit),
            Cursor::Before(id) => {
                let low = self.number(id, now)? + 1;
                let high = count.min(low + limit);
                (low..high, high < count)
            }
        };
        let data = numbers
            .rev()
            .map(|number| json(&self.summary(number, &self.draft(number), now)));
        Ok(Page {
            data: data.collect(),
            has_more,
        })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, Fault> {
        let now = (self.clock)();
        Ok(json(&self.full(self.number(id, now)?, now)))
    }
}

/// The numbers right below one, and whether there are more.
const fn below(number: u64, limit: u64) -> (std::ops::Range<u64>, bool) {
    let low = number.saturating_sub(limit);
    (low..number, low > 0)
}

fn json(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("strings and lists of strings become JSON")
}

/// The format of the specification: RFC 3339, microseconds, a numeric offset.
fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// The list operation says null where there is nobody.
fn some(addresses: Vec<String>) -> Option<Vec<String>> {
    (!addresses.is_empty()).then_some(addresses)
}
