//! `Facts`: what the templates can name: each value is computed when asked for, and always the same.

use std::borrow::Cow;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};

use super::chance::{Chance, Matter, mix};
use super::fill::{Row, Values};
use super::people::Customer;
use super::phrases as p;

/// The language of a letter, with its ways of writing dates and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    German,
    Japanese,
    Arabic,
}

/// The values of one email.
pub(super) struct Facts<'a> {
    base: u64,
    tongue: Tongue,
    customer: &'a Customer,
    /// Somebody else whom the customer knows.
    friend: &'a str,
    at: Zoned,
    basket: Vec<Line>,
}

/// So many of one product.
struct Line {
    product: usize,
    count: u64,
}

impl Line {
    const fn pence(&self) -> u64 {
        p::PRODUCTS[self.product].pence * self.count
    }
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        seed: u64,
        number: u64,
        tongue: Tongue,
        customer: &'a Customer,
        friend: &'a str,
        accepted: Timestamp,
    ) -> Self {
        let mut chance = Chance::of(seed, number, Matter::Body);
        let lines = chance.long_tailed(1, 5);
        let first = chance.below(p::PRODUCTS.len() as u64);
        let mut line = |i| {
            let count = if chance.permille(780) {
                1
            } else {
                chance.between(2, 5)
            };
            // Steps of 3 through fourteen products never meet one twice.
            Line {
                product: ((first + 3 * i) % p::PRODUCTS.len() as u64) as usize,
                count,
            }
        };
        let basket = (0..lines).map(&mut line).collect();
        Self {
            base: chance.bits(),
            tongue,
            customer,
            friend,
            at: accepted.to_zoned(TimeZone::UTC),
            basket,
        }
    }

    /// A number of its own for each name.
    fn number(&self, name: &str) -> u64 {
        name.bytes()
            .fold(self.base, |sum, byte| mix(sum ^ u64::from(byte)))
    }

    fn between(&self, name: &str, low: u64, high: u64) -> u64 {
        low + self.number(name) % (high - low + 1)
    }

    fn one_of<T: Copy>(&self, name: &str, items: &[T]) -> T {
        items[(self.number(name) % items.len() as u64) as usize]
    }

    fn days_on(&self, days: i64) -> Zoned {
        &self.at + SignedDuration::from_hours(24 * days)
    }

    fn long_date(&self, at: &Zoned) -> String {
        let (year, month, day) = (
            at.year(),
            usize::from(at.month().unsigned_abs()) - 1,
            at.day(),
        );
        match self.tongue {
            Tongue::English => format!("{day} {} {year}", p::MONTHS[month]),
            Tongue::German => format!("{day}. {} {year}", p::MONTHS_GERMAN[month]),
            Tongue::Japanese => format!("{year}年{}月{day}日", month + 1),
            Tongue::Arabic => format!("{day} {} {year}", p::MONTHS_ARABIC[month]),
        }
    }

    fn money(&self, pence: u64) -> String {
        match self.tongue {
            Tongue::English | Tongue::Arabic => {
                format!("£{}.{:02}", grouped(pence / 100, ","), pence % 100)
            }
            Tongue::German => format!("{},{:02} €", grouped(pence / 100, "."), pence % 100),
            Tongue::Japanese => format!("¥{}", grouped(pence * 2 / 10 * 10, ",")),
        }
    }

    fn product(&self, line: &Line) -> &'static str {
        let product = &p::PRODUCTS[line.product];
        match self.tongue {
            Tongue::English | Tongue::Arabic => product.english,
            Tongue::German => product.german,
            Tongue::Japanese => product.japanese,
        }
    }

    fn subtotal(&self) -> u64 {
        self.basket.iter().map(Line::pence).sum()
    }

    /// Free from a certain sum on.
    fn shipping(&self) -> u64 {
        if self.subtotal() >= 5000 { 0 } else { 390 }
    }

    fn total(&self) -> u64 {
        self.subtotal() + self.shipping()
    }

    /// The newsletter counts its weeks.
    fn issue(&self) -> usize {
        let first = Date::constant(2025, 1, 6);
        let weeks = self.at.date().duration_since(first).as_hours() / (24 * 7);
        usize::try_from(weeks).unwrap_or(0) + 1
    }

    /// The day of the workshop: about a fortnight ahead.
    fn event(&self) -> Zoned {
        self.days_on(self.between("event", 6, 20).cast_signed())
    }

    fn token(&self) -> String {
        format!(
            "{:016x}{:08x}",
            self.number("token"),
            self.number("token more") >> 32
        )
    }

    fn coupon(&self) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let mut bits = self.number("coupon");
        let mark: String = std::iter::repeat_with(|| {
            bits >>= 5;
            char::from(LETTERS[(bits % LETTERS.len() as u64) as usize])
        })
        .take(4)
        .collect();
        format!("BLUE-{mark}")
    }

    fn items(&self) -> Vec<Row> {
        let row = |(i, line): (usize, &Line)| {
            vec![
                ("pos", (i + 1).to_string()),
                ("sku", format!("HP{:04}", 1000 + line.product * 37)),
                ("item", self.product(line).to_owned()),
                ("qty", line.count.to_string()),
                ("price", self.money(p::PRODUCTS[line.product].pence)),
                ("amount", self.money(line.pence())),
            ]
        };
        self.basket.iter().enumerate().map(row).collect()
    }

    fn stories(&self) -> Vec<Row> {
        let first = self.issue() * 3;
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

    fn activity(&self) -> Vec<Row> {
        let first = self.number("activity") as usize % p::DEEDS.len();
        let row = |i: usize| {
            let (did, what) = p::DEEDS[(first + i) % p::DEEDS.len()];
            let who = if i == 0 {
                self.friend
            } else {
                p::AGENTS[(first + i) % p::AGENTS.len()]
            };
            let page = format!("{:04x}", self.number(what) >> 48);
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

    fn week(&self) -> Vec<Row> {
        let row = |day: &&'static str| {
            let visits = self.between(day, 400, 2600);
            let orders = visits * self.between(day, 14, 41) / 1000;
            let pence = orders * self.between(day, 1900, 4200);
            vec![
                ("day", (*day).to_owned()),
                ("visits", grouped(visits, ",")),
                ("orders", orders.to_string()),
                (
                    "rate",
                    format!("{}.{}", orders * 100 / visits, orders * 1000 / visits % 10),
                ),
                ("revenue", self.money(pence)),
                ("returns", (orders / 17).to_string()),
                ("width", (pence / 1500).clamp(4, 320).to_string()),
            ]
        };
        p::DAYS.iter().map(row).collect()
    }
}

impl Values for Facts<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        let at = &self.at;
        let weekday =
            |at: &Zoned| p::DAYS[usize::from(at.weekday().to_monday_zero_offset().unsigned_abs())];
        let month = |at: &Zoned| p::MONTHS[usize::from(at.month().unsigned_abs()) - 1];
        let (lead, lead_alt, lead_text) = p::LEADS[self.issue() % p::LEADS.len()];
        let text: Cow<'_, str> = match name {
            "given" => self.customer.given.into(),
            "name" => (&*self.customer.full).into(),
            "email" => (&*self.customer.email).into(),
            "city" => self.customer.city.into(),
            "billed" => self.customer.company.unwrap_or(&self.customer.full).into(),
            "customer" => (10_000 + self.customer.rank * 17).to_string().into(),
            "street" => p::STREETS[self.customer.rank as usize % p::STREETS.len()].into(),
            "digits" => format!("{:04}", mix(self.customer.rank) % 10_000).into(),
            "order" => format!("HP-{}", self.between(name, 10_000, 99_999)).into(),
            "invoice" => format!("{}-{:04}", at.year(), self.between(name, 1, 9999)).into(),
            "code" => format!(
                "{:03} {:03}",
                self.number(name) % 1000,
                self.number(name) / 1000 % 1000
            )
            .into(),
            "token" => self.token().into(),
            "coupon" => self.coupon().into(),
            "tracking" => format!("HP{:010}GB", self.number(name) % 10_000_000_000).into(),
            "date" => self.long_date(at).into(),
            "due" => self.long_date(&self.days_on(14)).into(),
            "eta" => self
                .long_date(&self.days_on(self.between(name, 2, 5).cast_signed()))
                .into(),
            "time" => at.strftime("%H:%M UTC").to_string().into(),
            "clock" => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string().into(),
            "iso" => at.strftime("%Y-%m-%d").to_string().into(),
            "weekday" => weekday(&self.days_on(3)).into(),
            "month" => month(at).into(),
            "next_month" => month(&self.days_on(31)).into(),
            "year" => at.year().to_string().into(),
            "issue" => self.issue().to_string().into(),
            "lead" => lead.into(),
            "lead_alt" => lead_alt.into(),
            "lead_text" => lead_text.into(),
            "quote" => p::QUOTES[self.issue() % p::QUOTES.len()].into(),
            "product" => self.product(&self.basket[0]).into(),
            "price" => self.money(p::PRODUCTS[self.basket[0].product].pence).into(),
            "sale_price" => self
                .money(p::PRODUCTS[self.basket[0].product].pence * 7 / 10)
                .into(),
            "subtotal" => self.money(self.subtotal()).into(),
            "shipping" => self.money(self.shipping()).into(),
            "total" => self.money(self.total()).into(),
            "tax" => self.money(self.total() / 6).into(),
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
                .event()
                .strftime("%Y-%m-%dT18:30:00+00:00")
                .to_string()
                .into(),
            "event_day" => self.event().day().to_string().into(),
            "event_month" => month(&self.event()).into(),
            "event_weekday" => weekday(&self.event()).into(),
            "metric" => self.one_of(name, &p::METRICS).into(),
            "service" => self.one_of(name, &p::SERVICES).into(),
            "machine" => format!(
                "{}-{}.ops.test",
                self.one_of("service", &p::SERVICES),
                self.between(name, 1, 6)
            )
            .into(),
            "value" => format!("{}.{}", self.between(name, 91, 99), self.number(name) % 10).into(),
            "pid" => self.between(name, 300, 32_000).to_string().into(),
            "nasty_name" => p::NASTY_NAME.into(),
            "nasty_title" => p::NASTY_TITLE.into(),
            "nasty_words" => p::NASTY_WORDS.into(),
            "nasty_wide" => p::NASTY_WIDE.into(),
            _ => return None,
        };
        Some(text)
    }

    fn rows(&self, name: &str) -> Option<Vec<Row>> {
        match name {
            "items" => Some(self.items()),
            "stories" => Some(self.stories()),
            "activity" => Some(self.activity()),
            "days" => Some(self.week()),
            _ => None,
        }
    }
}

/// Digits in threes.
fn grouped(number: u64, separator: &str) -> String {
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
            assert_eq!(grouped(number, ","), text);
        }
    }
}
