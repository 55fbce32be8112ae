//! The sample mailbox: the mail of an invented company, computed and not stored.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::request::page_range;
use super::{EmailSource, SourceAttachment, SourceError, SourcePage};
use crate::api::{Cursor, wire};
use crate::config::clock::Clock;
use crate::mail::EmailId;
use customers::{Customer, Customers, Language};
use id_codec::IdCodec;
use lifecycle::{BounceReason, Lifecycle};
use received::{Answered, ReceivedMail};
use rng::{Rng, Stream};
use schedule::Schedule;
use template::{CopyRecipients, EmailTemplate, Escaping, TemplateFile, render_template};
use variables::Variables;

mod attachments;
mod customers;
mod id_codec;
mod lifecycle;
mod received;
mod rng;
mod schedule;
mod template;
#[cfg(test)]
mod tests;
mod variables;

/// Number of emails that a sample mailbox has by default.
pub(crate) const DEFAULT_EMAILS: u32 = 2000;

/// A mailbox in which each email is a pure function of seed, number and time.
///
/// Nothing is stored, so a million emails cost no more than ten; and nothing is random, so the same
/// seed, start and time show the same mail. As time passes, emails arrive and statuses change.
pub struct SampleMailbox {
    seed: u64,
    clock: Clock,
    schedule: Schedule,
    ids: IdCodec,
    customers: Customers,
    start: Timestamp,
    received: OnceLock<ReceivedMail>,
    has_bounce_reasons: bool,
}

/// The choices that the parts of one email share.
struct EmailPlan {
    number: u64,
    template: &'static EmailTemplate,
    customer: Customer,
    friend: Customer,
    accepted_at: Timestamp,
}

impl SampleMailbox {
    /// Creates a mailbox of the 90 days before `start`, which grows from then on.
    #[must_use]
    pub fn new(seed: u64, emails: u32, start: Timestamp, clock: Clock) -> Self {
        Self {
            seed,
            clock,
            schedule: Schedule::new(seed, emails, start),
            ids: IdCodec::new(seed),
            customers: Customers::new(seed),
            start,
            received: OnceLock::new(),
            has_bounce_reasons: false,
        }
    }

    /// Adds to a retrieved email why it bounced:
    /// a member that some services have and that the API does not specify.
    #[must_use]
    pub fn with_bounce_reasons(self) -> Self {
        Self {
            has_bounce_reasons: true,
            ..self
        }
    }

    /// Returns the number of the email with this id, if it is accepted by `now`.
    ///
    /// The oldest is 0.
    fn parse_id(&self, id: &EmailId, now: Timestamp) -> Result<u64, SourceError> {
        let number = self.ids.decode(id.as_str())?;
        if number < self.schedule.count_at(now) {
            Ok(number)
        } else {
            Err(SourceError::Unknown)
        }
    }

    fn rng(&self, number: u64, stream: Stream) -> Rng {
        Rng::new(self.seed, number, stream)
    }

    fn plan_email(&self, number: u64) -> EmailPlan {
        let template = EmailTemplate::pick(self.rng(number, Stream::Template).below(1000));
        let mut rng = self.rng(number, Stream::Recipient);
        EmailPlan {
            number,
            template,
            customer: self.customers.pick(&mut rng, template.language),
            friend: self.customers.pick(&mut rng, Language::English),
            accepted_at: self.schedule.accepted_at(number),
        }
    }

    fn variables<'a>(&self, plan: &'a EmailPlan) -> Variables<'a> {
        Variables::new(
            self.rng(plan.number, Stream::Body),
            plan.template.language,
            &plan.customer,
            &plan.friend.full_name,
            plan.accepted_at,
        )
    }

    fn delivery_draw(&self, number: u64) -> u64 {
        lifecycle::delivery_draw(self.seed, number)
    }

    fn lifecycle(&self, plan: &EmailPlan) -> Lifecycle {
        let draw = self.delivery_draw(plan.number);
        let mut rng = self.rng(plan.number, Stream::Lifecycle);
        Lifecycle::generate(plan.accepted_at, draw, plan.template, &mut rng)
    }

    fn build_summary(&self, plan: &EmailPlan, now: Timestamp) -> wire::Summary {
        let EmailPlan {
            number,
            template,
            customer,
            friend: _,
            accepted_at,
        } = plan;
        let mut rng = self.rng(*number, Stream::Envelope);
        let has_name = rng.is_in_permille(550);
        let mut to = vec![match &template.to {
            Some(address) => address.clone(),
            None if has_name => format!("{} <{}>", customer.full_name, customer.email),
            None => customer.email.clone(),
        }];
        let (mut cc, mut bcc) = (Vec::new(), Vec::new());
        match template.copies {
            Some(CopyRecipients::Colleagues) if customer.company.is_some() => {
                let mut colleagues = || {
                    (0..rng.below(3))
                        .map(|_| self.customers.colleague_address(customer, &mut rng))
                        .collect::<Vec<_>>()
                };
                to.extend(colleagues());
                cc = colleagues();
            }
            Some(CopyRecipients::Colleagues) if rng.is_in_permille(500) => {
                cc.push("accounts@harbourpine.example".to_owned());
            }
            Some(CopyRecipients::Archive) if rng.is_in_permille(600) => {
                bcc.push("archive@harbourpine.example".to_owned());
            }
            Some(_) | None => {}
        }
        let lifecycle = self.lifecycle(plan);
        let (_, domain) = template.from.rsplit_once('@').unwrap_or_default();
        let message_id = self.ids.encode_message_id(*number);
        wire::Summary {
            id: self.ids.encode(*number),
            to: Some(to),
            from: Some(template.from.clone()),
            created_at: Some(format_time(*accepted_at)),
            subject: Some(render_template(
                &template.subject,
                Escaping::None,
                &self.variables(plan),
            )),
            message_id: Some(format!("<{message_id}@{}>", domain.trim_end_matches('>'))),
            bcc: non_empty(bcc),
            cc: non_empty(cc),
            reply_to: template.reply_to.clone().map(|address| vec![address]),
            last_event: Some(lifecycle.event_at(now).to_owned()),
            scheduled_at: lifecycle.scheduled_at.map(format_time),
            extra: Vec::new(),
        }
    }

    fn build_email(&self, number: u64, now: Timestamp) -> wire::Email {
        let plan = self.plan_email(number);
        let (template, variables) = (plan.template, self.variables(&plan));
        let render = |file: Option<&TemplateFile>, escaping| {
            file.map(|file| render_template(&file.0, escaping, &variables))
        };
        let tag = |name: &str, value: &str| wire::Tag {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let tags = template.tags.iter().map(|(name, value)| tag(name, value));
        wire::Email {
            summary: self.build_summary(&plan, now),
            html: render(template.html.as_ref(), Escaping::Html),
            text: render(template.text.as_ref(), Escaping::None),
            tags: std::iter::once(tag("category", &template.name))
                .chain(tags)
                .collect(),
        }
    }
}

impl EmailSource for SampleMailbox {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        let now = (self.clock)();
        let count = self.schedule.count_at(now);
        // The newest email has the highest number.
        let number_at = |index: usize| count - 1 - index as u64;
        let index_of = |id: &EmailId| Ok((count - 1 - self.parse_id(id, now)?) as usize);
        let (range, has_more) = page_range(cursor, limit, count as usize, index_of)?;
        let data = range.map(|index| {
            let plan = self.plan_email(number_at(index));
            to_json(&self.build_summary(&plan, now))
        });
        Ok(SourcePage {
            data: data.collect(),
            has_more,
        })
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        let now = (self.clock)();
        let number = self.parse_id(id, now)?;
        let email = self.build_email(number, now);
        let is_bounced = email.summary.last_event.as_deref() == Some("bounced");
        let bounce = (is_bounced && self.has_bounce_reasons)
            .then(|| BounceReason::from_draw(self.delivery_draw(number)));
        Ok(to_json(&SampleEmail { email, bounce }))
    }

    fn received(&self) -> Option<&dyn EmailSource> {
        let received = self.received.get_or_init(|| {
            ReceivedMail::new(self.seed, self.start, |name, before| {
                self.find_answered(name, before)
            })
        });
        Some(received)
    }

    fn suppression(&self, address: &str) -> Result<Box<RawValue>, SourceError> {
        let found = self.find_suppression(address, (self.clock)());
        found.as_ref().map(to_json).ok_or(SourceError::Unknown)
    }

    fn metrics(
        &self,
        email: &EmailId,
        range: RangeInclusive<Timestamp>,
    ) -> Result<BTreeMap<String, u64>, SourceError> {
        let now = (self.clock)();
        let past = *range.start()..=now.min(*range.end());
        match self.parse_id(email, now) {
            Ok(number) => {
                let lifecycle = self.lifecycle(&self.plan_email(number));
                Ok(lifecycle.count(&past, self.delivery_draw(number)))
            }
            Err(SourceError::Unknown) => Ok(Lifecycle::default().count(&past, 0)),
            Err(error) => Err(error),
        }
    }

    fn attachments(&self, email: &EmailId) -> Result<Vec<SourceAttachment>, SourceError> {
        let number = self.parse_id(email, (self.clock)())?;
        let plan = self.plan_email(number);
        let variables = self.variables(&plan);
        let templates = plan.template.attachments.iter().zip(0..);
        let attachments = templates.map(|(template, index)| {
            let id = self.ids.encode_attachment(number, index);
            attachments::build_attachment(id, template, &variables)
        });
        Ok(attachments.collect())
    }
}

impl SampleMailbox {
    /// Finds the newest email of a template that was accepted before a time,
    /// among the newest ones.
    fn find_answered(&self, template: &str, before: Timestamp) -> Option<Answered> {
        const MAX_SEARCHED: u64 = 2000;
        let count = self.schedule.count_at(self.start);
        let mut numbers = (count.saturating_sub(MAX_SEARCHED)..count).rev();
        numbers.find_map(|number| {
            let plan = self.plan_email(number);
            if plan.template.name != template || plan.accepted_at >= before {
                return None;
            }
            let summary = self.build_summary(&plan, self.start);
            Some(Answered {
                customer: format!("{} <{}>", plan.customer.full_name, plan.customer.email),
                subject: summary.subject.unwrap_or_default(),
                message_id: summary.message_id.unwrap_or_default(),
            })
        })
    }

    /// Finds the email that has put an address on the suppression list,
    /// after which it got none, among the newest ones.
    fn find_suppression(&self, address: &str, now: Timestamp) -> Option<wire::Suppression> {
        /// More would take too long for one request.
        const MAX_SEARCHED: u64 = 10_000;
        let count = self.schedule.count_at(now);
        let newest = (count.saturating_sub(MAX_SEARCHED)..count).rev();
        let emails = newest.filter_map(|number| {
            let plan = self.plan_email(number);
            let to = plan.template.to.as_deref().unwrap_or(&plan.customer.email);
            let is_to = to.eq_ignore_ascii_case(address);
            is_to.then(|| (number, self.build_summary(&plan, now)))
        });
        let is_received =
            |event: Option<&str>| matches!(event, Some("delivered" | "opened" | "clicked"));
        emails
            .take_while(|(_, summary)| !is_received(summary.last_event.as_deref()))
            .filter_map(|(number, summary)| {
                let origin = match summary.last_event.as_deref()? {
                    "bounced" => "bounce",
                    "complained" => "complaint",
                    "suppressed" => "manual",
                    _ => return None,
                };
                Some(wire::Suppression {
                    object: Some("suppression".to_owned()),
                    id: Some(self.ids.encode_message_id(number)),
                    email: Some(address.to_owned()),
                    origin: Some(origin.to_owned()),
                    source_id: Some(summary.id),
                    created_at: Some(format_time(self.plan_email(number).accepted_at)),
                })
            })
            .last()
    }
}

#[derive(serde::Serialize)]
struct SampleEmail {
    #[serde(flatten)]
    email: wire::Email,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce: Option<BounceReason>,
}

/// Parses a file of the sample data.
///
/// Through JSON: the code for a type is much smaller than that of the TOML library.
fn parse_data<T: DeserializeOwned>(toml: &str) -> T {
    let data = toml_edit::de::from_str(toml).expect("the sample data is TOML");
    serde_json::from_value(data).expect("the sample data is valid")
}

fn to_json(value: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("strings and lists of strings are valid JSON")
}

/// Formats a time as the API does: RFC 3339, microseconds, a numeric offset.
fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Returns `None` for no addresses: the list operation has null there.
fn non_empty(addresses: Vec<String>) -> Option<Vec<String>> {
    (!addresses.is_empty()).then_some(addresses)
}
