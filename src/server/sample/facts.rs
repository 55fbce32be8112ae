//! `Facts`: what the templates can name: each value is computed when asked for, and always the same.

use std::borrow::Cow;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};

use super::customers::Customer;
use super::phrases as p;
use super::rng::{Rng, Stream, mix64};
use super::template::{RowVariables, VariableSource};

/// The language of a letter, with its ways of writing dates and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    Japanese,
    Arabic,
}

/// The values of one email.
pub(super) struct Variables<'a> {
    hash_base: u64,
    language: Language,
    customer: &'a Customer,
    /// Somebody else whom the customer knows.
    friend: &'a str,
    accepted_at: Zoned,
    basket: Vec<BasketLine>,
}

/// So many of one product.
struct BasketLine {
    product_index: usize,
    count: u64,
}

impl BasketLine {
    const fn pence(&self) -> u64 {
        p::PRODUCTS[self.product_index].pence * self.count
    }
}

impl<'a> Variables<'a> {
    pub(super) fn new(
        seed: u64,
        number: u64,
        tongue: Language,
        customer: &'a Customer,
        friend: &'a str,
        accepted: Timestamp,
    ) -> Self {
        let mut chance = Rng::new(seed, number, Stream::Body);
        let lines = chance.log_uniform(1, 5);
        let first = chance.below(p::PRODUCTS.len() as u64);
        let mut line = |i| {
            let count = if chance.is_in_permille(780) {
                1
            } else {
                chance.between(2, 5)
            };
            // Steps of 3 through fourteen products never meet one twice.
            BasketLine {
                product_index: ((first + 3 * i) % p::PRODUCTS.len() as u64) as usize,
                count,
            }
        };
        let basket = (0..lines).map(&mut line).collect();
        Self {
            hash_base: chance.next_u64(),
            language: tongue,
            customer,
            friend,
            accepted_at: accepted.to_zoned(TimeZone::UTC),
            basket,
        }
    }

    /// A number of its own for each name.
    fn hash_name(&self, name: &str) -> u64 {
        name.bytes()
            .fold(self.hash_base, |sum, byte| mix64(sum ^ u64::from(byte)))
    }

    fn between(&self, name: &str, low: u64, high: u64) -> u64 {
        low + self.hash_name(name) % (high - low + 1)
    }

    fn one_of<T: Copy>(&self, name: &str, items: &[T]) -> T {
        items[(self.hash_name(name) % items.len() as u64) as usize]
    }

    fn days_later(&self, days: i64) -> Zoned {
        &self.accepted_at + SignedDuration::from_hours(24 * days)
    }

    fn format_date(&self, at: &Zoned) -> String {
        let (year, month, day) = (
            at.year(),
            usize::from(at.month().unsigned_abs()) - 1,
            at.day(),
        );
        match self.language {
            Language::English => format!("{day} {} {year}", p::MONTHS[month]),
            Language::German => format!("{day}. {} {year}", p::MONTHS_GERMAN[month]),
            Language::Japanese => format!("{year}年{}月{day}日", month + 1),
            Language::Arabic => format!("{day} {} {year}", p::MONTHS_ARABIC[month]),
        }
    }

    fn format_money(&self, pence: u64) -> String {
        match self.language {
            Language::English | Language::Arabic => {
                format!("£{}.{:02}", group_digits(pence / 100, ","), pence % 100)
            }
            Language::German => format!("{},{:02} €", group_digits(pence / 100, "."), pence % 100),
            Language::Japanese => format!("¥{}", group_digits(pence * 2 / 10 * 10, ",")),
        }
    }

    fn product_name(&self, line: &BasketLine) -> &'static str {
        let product = &p::PRODUCTS[line.product_index];
        match self.language {
            Language::English | Language::Arabic => product.english,
            Language::German => product.german,
            Language::Japanese => product.japanese,
        }
    }

    fn subtotal(&self) -> u64 {
        self.basket.iter().map(BasketLine::pence).sum()
    }

    /// Free from a certain sum on.
    fn shipping(&self) -> u64 {
        if self.subtotal() >= 5000 { 0 } else { 390 }
    }

    fn total(&self) -> u64 {
        self.subtotal() + self.shipping()
    }

    /// The newsletter counts its weeks.
    fn issue_number(&self) -> usize {
        let first = Date::constant(2025, 1, 6);
        let weeks = self.accepted_at.date().duration_since(first).as_hours() / (24 * 7);
        usize::try_from(weeks).unwrap_or(0) + 1
    }

    /// The day of the workshop: about a fortnight ahead.
    fn event_date(&self) -> Zoned {
        self.days_later(self.between("event", 6, 20).cast_signed())
    }

    fn token(&self) -> String {
        format!(
            "{:016x}{:08x}",
            self.hash_name("token"),
            self.hash_name("token more") >> 32
        )
    }

    fn coupon(&self) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let mut bits = self.hash_name("coupon");
        let mark: String = std::iter::repeat_with(|| {
            bits >>= 5;
            char::from(LETTERS[(bits % LETTERS.len() as u64) as usize])
        })
        .take(4)
        .collect();
        format!("BLUE-{mark}")
    }

    fn item_rows(&self) -> Vec<RowVariables> {
        let row = |(i, line): (usize, &BasketLine)| {
            vec![
                ("pos", (i + 1).to_string()),
                ("sku", format!("HP{:04}", 1000 + line.product_index * 37)),
                ("item", self.product_name(line).to_owned()),
                ("qty", line.count.to_string()),
                (
                    "price",
                    self.format_money(p::PRODUCTS[line.product_index].pence),
                ),
                ("amount", self.format_money(line.pence())),
            ]
        };
        self.basket.iter().enumerate().map(row).collect()
    }

    fn story_rows(&self) -> Vec<RowVariables> {
        let first = self.issue_number() * 3;
        let row = |i: usize| {
            let (picture, headline, teaser) = p::STORIES[(first + i) % p::STORIES.len()];
            vec![
                ("picture", picture.to_owned()),
                ("headline", headline.to_owned()),
                ("teaser", teaser.to_owned()),
            ]
        };
        (0..3).map(row).collect()
    }

    fn activity_rows(&self) -> Vec<RowVariables> {
        let first = self.hash_name("activity") as usize % p::ACTIVITIES.len();
        let row = |i: usize| {
            let (did, what) = p::ACTIVITIES[(first + i) % p::ACTIVITIES.len()];
            let who = if i == 0 {
                self.friend
            } else {
                p::AGENTS[(first + i) % p::AGENTS.len()]
            };
            let page = format!("{:04x}", self.hash_name(what) >> 48);
            let when = p::DAYS[(first + i * 2) % 5];
            vec![
                ("who", who.to_owned()),
                ("did", did.to_owned()),
                ("what", what.to_owned()),
                ("page", page),
                ("when", when.to_owned()),
            ]
        };
        (0..3 + first % 4).map(row).collect()
    }

    fn day_rows(&self) -> Vec<RowVariables> {
        let row = |day: &&'static str| {
            let visits = self.between(day, 400, 2600);
            let orders = visits * self.between(day, 14, 41) / 1000;
            let pence = orders * self.between(day, 1900, 4200);
            vec![
                ("day", (*day).to_owned()),
                ("visits", group_digits(visits, ",")),
                ("orders", orders.to_string()),
                (
                    "rate",
                    format!("{}.{}", orders * 100 / visits, orders * 1000 / visits % 10),
                ),
                ("revenue", self.format_money(pence)),
                ("returns", (orders / 17).to_string()),
                ("width", (pence / 1500).clamp(4, 320).to_string()),
            ]
        };
        p::DAYS.iter().map(row).collect()
    }
}

impl VariableSource for Variables<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        let at = &self.accepted_at;
        let weekday =
            |at: &Zoned| p::DAYS[usize::from(at.weekday().to_monday_zero_offset().unsigned_abs())];
        let month = |at: &Zoned| p::MONTHS[usize::from(at.month().unsigned_abs()) - 1];
        let (lead, lead_alt, lead_text) = p::LEADS[self.issue_number() % p::LEADS.len()];
        let text: Cow<'_, str> = match name {
            "given" => self.customer.given_name.into(),
            "name" => (&*self.customer.full_name).into(),
            "email" => (&*self.customer.email).into(),
            "city" => self.customer.city.into(),
            "billed" => self
                .customer
                .company
                .unwrap_or(&self.customer.full_name)
                .into(),
            "customer" => (10_000 + self.customer.rank * 17).to_string().into(),
            "street" => p::STREETS[self.customer.rank as usize % p::STREETS.len()].into(),
            "digits" => format!("{:04}", mix64(self.customer.rank) % 10_000).into(),
            "order" => format!("HP-{}", self.between(name, 10_000, 99_999)).into(),
            "invoice" => format!("{}-{:04}", at.year(), self.between(name, 1, 9999)).into(),
            "code" => format!(
                "{:03} {:03}",
                self.hash_name(name) % 1000,
                self.hash_name(name) / 1000 % 1000
            )
            .into(),
            "token" => self.token().into(),
            "coupon" => self.coupon().into(),
            "tracking" => format!("HP{:010}GB", self.hash_name(name) % 10_000_000_000).into(),
            "date" => self.format_date(at).into(),
            "due" => self.format_date(&self.days_later(14)).into(),
            "eta" => self
                .format_date(&self.days_later(self.between(name, 2, 5).cast_signed()))
                .into(),
            "time" => at.strftime("%H:%M UTC").to_string().into(),
            "clock" => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string().into(),
            "iso" => at.strftime("%Y-%m-%d").to_string().into(),
            "weekday" => weekday(&self.days_later(3)).into(),
            "month" => month(at).into(),
            "next_month" => month(&self.days_later(31)).into(),
            "year" => at.year().to_string().into(),
            "issue" => self.issue_number().to_string().into(),
            "lead" => lead.into(),
            "lead_alt" => lead_alt.into(),
            "lead_text" => lead_text.into(),
            "quote" => p::QUOTES[self.issue_number() % p::QUOTES.len()].into(),
            "product" => self.product_name(&self.basket[0]).into(),
            "price" => self
                .format_money(p::PRODUCTS[self.basket[0].product_index].pence)
                .into(),
            "sale_price" => self
                .format_money(p::PRODUCTS[self.basket[0].product_index].pence * 7 / 10)
                .into(),
            "subtotal" => self.format_money(self.subtotal()).into(),
            "shipping" => self.format_money(self.shipping()).into(),
            "total" => self.format_money(self.total()).into(),
            "tax" => self.format_money(self.total() / 6).into(),
            "device" => self.one_of(name, &p::DEVICES).into(),
            "address" => format!("192.0.2.{}", self.between(name, 1, 254)).into(),
            "workspace" => self.one_of(name, &p::WORKSPACES).into(),
            "changes" => self.between(name, 7, 64).to_string().into(),
            "pages" => self.between(name, 12, 240).to_string().into(),
            "reason" => self.one_of(name, &p::BANK_REASONS).into(),
            "attempt" => self.between(name, 1, 4).to_string().into(),
            "agent" => self.one_of(name, &p::AGENTS).into(),
            "inviter" => self.friend.into(),
            "initials" => self
                .friend
                .split(' ')
                .filter_map(|word| word.chars().next())
                .collect::<String>()
                .into(),
            "workshop" => self.one_of(name, &p::WORKSHOPS).into(),
            "seats" => self.between(name, 3, 11).to_string().into(),
            "event_iso" => self
                .event_date()
                .strftime("%Y-%m-%dT18:30:00+00:00")
                .to_string()
                .into(),
            "event_day" => self.event_date().day().to_string().into(),
            "event_month" => month(&self.event_date()).into(),
            "event_weekday" => weekday(&self.event_date()).into(),
            "metric" => self.one_of(name, &p::METRICS).into(),
            "service" => self.one_of(name, &p::SERVICES).into(),
            "machine" => format!(
                "{}-{}.ops.test",
                self.one_of("service", &p::SERVICES),
                self.between(name, 1, 6)
            )
            .into(),
            "value" => format!(
                "{}.{}",
                self.between(name, 91, 99),
                self.hash_name(name) % 10
            )
            .into(),
            "pid" => self.between(name, 300, 32_000).to_string().into(),
            "nasty_name" => p::HOSTILE_NAME.into(),
            "nasty_title" => p::HOSTILE_TITLE.into(),
            "nasty_words" => p::HOSTILE_TEXT.into(),
            "nasty_wide" => p::HOSTILE_WIDE.into(),
            _ => return None,
        };
        Some(text)
    }

    fn rows(&self, name: &str) -> Option<Vec<RowVariables>> {
        match name {
            "items" => Some(self.item_rows()),
            "stories" => Some(self.story_rows()),
            "activity" => Some(self.activity_rows()),
            "days" => Some(self.day_rows()),
            _ => None,
        }
    }
}

/// Digits in threes.
fn group_digits(number: u64, separator: &str) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push_str(separator);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(group_digits(number, ","), text);
        }
    }
}
