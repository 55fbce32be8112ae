//! A simulated service: correct by default, with faults for single requests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;

use crate::api::{Cursor, EmailApi, EmailPage, ListedEmail, RetrievedEmail};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;

/// The first email's time, in seconds since 1970.
pub(super) const EPOCH: i64 = 1_790_000_000;

/// How the service dates its emails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Dates {
    /// Each a little later than the one before.
    #[default]
    Distinct,
    /// Many in the same second.
    Ties,
    /// Not at all.
    Missing,
    /// Now and then absurdly.
    Odd,
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceFault {
    Unreachable,
    /// The response is that the cursor is unknown.
    Gone,
    /// The answer before is given again.
    Repeat,
    /// The first page is given, whatever was asked.
    FirstPage,
    /// No items, but the response says that there are more.
    EmptyMore,
    /// No items, and the response says that there are no more.
    Empty,
    /// It says that there are no more, although there may be.
    SaysEnd,
    Twice,
    /// An item in the middle cannot be read.
    Blot,
    /// The page begins with the last items of the one before.
    Overlap,
    UpperCase,
}

#[derive(Debug, Clone)]
pub(super) struct Mail {
    pub(super) id: String,
    pub(super) created: Option<String>,
    pub(super) event: &'static str,
    /// Whom it went to.
    pub(super) customer: i64,
}

/// The service's state, for tests to look at and to change.
#[derive(Default)]
pub(super) struct State {
    /// The mails that it lists, newest first.
    pub(super) mails: VecDeque<Mail>,
    pub(super) dates: Dates,
    /// It lists the oldest first.
    pub(super) rising: bool,
    /// It lists its emails in no order.
    pub(super) shuffled: bool,
    pub(super) cap: usize,
    /// It ignores limit and cursor, gives everything, and does not say whether there is
    /// more.
    pub(super) emulate: bool,
    /// It never says whether there is more.
    pub(super) silent: bool,
    /// It sorts by date and compares cursors by something else,
    /// so that its pages overlap and skip.
    pub(super) muddled: bool,
    /// An unknown cursor gives an empty page, and not an error.
    pub(super) lenient: bool,
    pub(super) unreadable_id: Option<&'static str>,
    /// It says that it has none of the emails that it lists.
    pub(super) forgetful: bool,
    /// It answers a retrieve with a log-in page.
    pub(super) is_log_in_page: bool,
    /// It is a mirror, which may not know when it had its statuses from the service.
    pub(super) is_mirror: bool,
    /// It is a mirror, which had its statuses from the service then.
    pub(super) mirrored_at: Option<Timestamp>,
    /// When the mirror has read its newest page.
    pub(super) mirror_listed_at: Option<Timestamp>,
    pub(super) faults: VecDeque<Option<ServiceFault>>,
    pub(super) requests: Vec<Cursor>,
    /// The customer that all new mail goes to; by turns five of them if `None`.
    pub(super) customer: Option<i64>,
    sent: i64,
    last: Option<EmailPage>,
}

#[derive(Clone)]
pub(super) struct FakeService(Arc<Mutex<State>>);

impl FakeService {
    pub(super) fn new(dates: Dates, mails: usize) -> Self {
        let state = State {
            dates,
            cap: 100,
            ..State::default()
        };
        let sim = Self(Arc::new(Mutex::new(state)));
        sim.state().arrive(mails);
        sim
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    pub(super) fn arrive(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.sent;
            self.sent += 1;
            let scattered = (number * 7919) % 100_003;
            let micros = match self.dates {
                Dates::Missing => None,
                Dates::Ties => Some(number / 70 * 1_000_000),
                Dates::Odd if number % 13 == 5 => {
                    Some(scattered * 1_000_000_000 - 50_000_000_000_000)
                }
                Dates::Distinct | Dates::Odd => Some(number * 7_000_001),
                Dates::Random => Some(scattered * 1_000_000),
            };
            let created = micros.map(|micros| {
                Timestamp::from_microsecond(EPOCH * 1_000_000 + micros)
                    .unwrap()
                    .to_string()
            });
            self.mails.push_front(Mail {
                id: format!("mail-{number}"),
                created,
                event: "sent",
                customer: self.customer.unwrap_or(number % 5),
            });
        }
    }

    /// The oldest emails are no longer listed.
    pub(super) fn expire(&mut self, count: usize) {
        self.mails.truncate(self.mails.len().saturating_sub(count));
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.mails.iter().map(|mail| mail.id.clone()).collect()
    }

    fn page(&self, limit: usize, cursor: &Cursor) -> Result<EmailPage> {
        let mut listing: Vec<&Mail> = self.mails.iter().collect();
        if self.rising {
            listing.reverse();
        }
        if self.shuffled {
            listing.sort_by_key(|mail| {
                mail.id.bytes().fold(7_u32, |key, byte| {
                    (key ^ u32::from(byte))
                        .wrapping_mul(0x9E37_79B1)
                        .rotate_left(13)
                })
            });
        }
        let from = match cursor {
            Cursor::Start => 0,
            _ if self.emulate => 0,
            Cursor::After(id) if self.muddled => {
                let key = |id: &str| {
                    id.bytes().fold(0_u32, |key, byte| {
                        key.wrapping_mul(0x0100_0193) ^ u32::from(byte)
                    })
                };
                listing.retain(|mail| key(&mail.id) < key(id.as_str()));
                0
            }
            Cursor::After(id) => match listing
                .iter()
                .position(|mail| mail.id.eq_ignore_ascii_case(id.as_str()))
            {
                Some(at) => at + 1,
                None if self.lenient => return Ok(empty_page(false)),
                None => return Err(Error::new(ErrorKind::NotFound, "no such cursor")),
            },
            Cursor::Before(_) => unreachable!("the engine uses only `after`"),
        };
        let to = if self.emulate {
            listing.len()
        } else {
            listing.len().min(from + limit.min(self.cap))
        };
        let items = listing[from..to].iter().map(|mail| item(mail)).collect();
        Ok(EmailPage {
            checked_at: self.mirrored_at,
            listed_at: self.mirror_listed_at,
            items,
            unreadable: 0,
            has_more: Some(to < listing.len()),
        })
    }

    fn answer(&mut self, limit: usize, cursor: &Cursor) -> Result<EmailPage> {
        self.requests.push(cursor.clone());
        let fault = self.faults.pop_front().flatten();
        let mut page = match (fault, &self.last) {
            (Some(ServiceFault::Unreachable), _) => {
                return Err(Error::new(ErrorKind::Unreachable, "no answer"));
            }
            (Some(ServiceFault::Gone), _) if *cursor != Cursor::Start => {
                return Err(Error::new(ErrorKind::InvalidRequest, "bad cursor"));
            }
            (Some(ServiceFault::Repeat), Some(last)) => last.clone(),
            (Some(ServiceFault::FirstPage), _) => self.page(limit, &Cursor::Start)?,
            (Some(ServiceFault::EmptyMore), _) => empty_page(true),
            (Some(ServiceFault::Empty), _) => empty_page(false),
            _ => self.page(limit, cursor)?,
        };
        let items = &mut page.items;
        match fault {
            Some(ServiceFault::Blot) if !items.is_empty() => {
                items.remove(items.len() / 2);
                page.unreadable = 1;
            }
            Some(ServiceFault::SaysEnd) => page.has_more = Some(false),
            Some(ServiceFault::Twice) => {
                let twice = items.iter().flat_map(|item| [item.clone(), item.clone()]);
                *items = twice.collect();
            }
            Some(ServiceFault::UpperCase) => {
                for item in items {
                    let json = item.json.replace("mail-", "MAIL-");
                    *item = ListedEmail::parse(&json).unwrap();
                }
            }
            Some(ServiceFault::Overlap) => {
                let upper = self.page(self.mails.len() + 1, &Cursor::Start)?.items;
                let is_first = |item: &ListedEmail| items.first() == Some(item);
                let at = upper.iter().position(is_first).unwrap_or(0);
                items.splice(0..0, upper[at.saturating_sub(5)..at].to_vec());
            }
            _ => {}
        }
        let readable = page.items.len();
        page.items
            .retain(|item| self.unreadable_id != Some(&item.id));
        page.unreadable += readable - page.items.len();
        if self.silent {
            page.has_more = None;
        }
        self.last = Some(page.clone());
        Ok(page)
    }
}

impl EmailApi for FakeService {
    fn is_mirror(&self) -> bool {
        let state = self.state();
        state.is_mirror || state.mirrored_at.is_some()
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        self.state().answer(usize::from(limit), cursor)
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail> {
        let state = self.state();
        if state.is_log_in_page {
            return Err(Error::new(ErrorKind::NotTheApi, "the response is html"));
        }
        let known = state
            .mails
            .iter()
            .find(|mail| mail.id == id.as_str() && !state.forgetful);
        let mail = known.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such email"))?;
        let json = format!(
            r#"{{"object":"email","id":"{}","to":["{}"],"created_at":"{}","html":"<p>Hi</p>","text":null,"cc":[],"last_event":"{}"}}"#,
            mail.id,
            address(mail.customer),
            mail.created.as_deref().unwrap_or_default(),
            mail.event
        );
        let retrieved = RetrievedEmail::parse(json).unwrap();
        Ok(RetrievedEmail {
            checked_at: state.mirrored_at,
            ..retrieved
        })
    }
}

fn empty_page(has_more: bool) -> EmailPage {
    EmailPage {
        has_more: Some(has_more),
        ..EmailPage::default()
    }
}

pub(super) fn address(customer: i64) -> String {
    format!("customer{customer}@example.com")
}

pub(super) fn item(mail: &Mail) -> ListedEmail {
    let created = mail.created.as_ref().map_or(String::new(), |created| {
        format!(r#""created_at":"{created}","#)
    });
    let json = format!(
        r#"{{"id":"{}",{created}"to":["Ana <{}>"],"subject":"Hello","last_event":"{}"}}"#,
        mail.id,
        address(mail.customer),
        mail.event
    );
    ListedEmail::parse(&json).unwrap()
}

/// A clock that goes on by a second whenever it is read.
pub(super) fn ticking() -> Clock {
    clock(&Arc::new(AtomicI64::new(EPOCH + 100_000_000)), 1)
}

/// A clock that goes on by `step` whenever it is read.
pub(super) fn clock(seconds: &Arc<AtomicI64>, step: i64) -> Clock {
    let seconds = Arc::clone(seconds);
    Arc::new(move || Timestamp::from_second(seconds.fetch_add(step, Ordering::Relaxed)).unwrap())
}
