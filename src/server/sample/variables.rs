//! The variables that the templates name, each computed when it is needed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};
use serde::Deserialize;

use super::customers::{Customer, Language};
use super::parse_data;
use super::rng::{Rng, mix64};
use crate::text::format::group_digits;

static DATA: LazyLock<PhraseData> =
    LazyLock::new(|| parse_data(include_str!("../../../assets/sample/phrases.toml")));

/// The content of `phrases.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseData {
    streets: Vec<String>,
    quotes: Vec<String>,
    days: [String; 7],
    /// An action of a colleague, and its page.
    activities: Vec<(String, String)>,
    /// Headline, description of the picture, first words.
    leads: Vec<[String; 3]>,
    /// Picture, headline, first words.
    stories: Vec<[String; 3]>,
    products: Vec<Product>,
    months: MonthNames,
    /// Variables that are always the same.
    texts: HashMap<String, String>,
    /// Variables that are drawn from a list.
    choices: HashMap<String, Vec<String>>,
    /// Variables that are a number behind a prefix.
    numbers: HashMap<String, NumberRange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    english: String,
    german: String,
    japanese: String,
    pence: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MonthNames {
    english: [String; 12],
    german: [String; 12],
    arabic: [String; 12],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NumberRange {
    low: u64,
    high: u64,
    #[serde(default)]
    prefix: String,
}

pub(super) type RowVariables = Vec<(&'static str, String)>;

pub(super) struct Variables<'a> {
    hash_base: u64,
    language: Language,
    customer: &'a Customer,
    /// A person whom the customer knows.
    friend: &'a str,
    accepted_at: Zoned,
    basket: Vec<BasketLine>,
}

struct BasketLine {
    product_index: usize,
    count: u64,
}

impl BasketLine {
    fn product(&self) -> &'static Product {
        &DATA.products[self.product_index]
    }

    fn pence(&self) -> u64 {
        self.product().pence * self.count
    }
}

impl<'a> Variables<'a> {
    pub(super) fn new(
        mut rng: Rng,
        language: Language,
        customer: &'a Customer,
        friend: &'a str,
        accepted_at: Timestamp,
    ) -> Self {
        let products = DATA.products.len() as u64;
        let lines = rng.log_uniform(1, 5);
        let first = rng.below(products);
        let mut line = |i| {
            let count = if rng.is_in_permille(780) {
                1
            } else {
                rng.between(2, 5)
            };
            // Steps of 3 through 14 products never meet one twice.
            BasketLine {
                product_index: ((first + 3 * i) % products) as usize,
                count,
            }
        };
        let basket = (0..lines).map(&mut line).collect();
        Self {
            hash_base: rng.next_u64(),
            language,
            customer,
            friend,
            accepted_at: accepted_at.to_zoned(TimeZone::UTC),
            basket,
        }
    }

    /// Hashes a name, so that each variable has a random number of its own.
    fn hash_name(&self, name: &str) -> u64 {
        name.bytes()
            .fold(self.hash_base, |sum, byte| mix64(sum ^ u64::from(byte)))
    }

    fn between(&self, name: &str, low: u64, high: u64) -> u64 {
        low + self.hash_name(name) % (high - low + 1)
    }

    fn one_of(&self, name: &str, items: &'static [String]) -> &'static str {
        &items[(self.hash_name(name) % items.len() as u64) as usize]
    }

    fn days_later(&self, days: i64) -> Zoned {
        &self.accepted_at + SignedDuration::from_hours(24 * days)
    }

    fn format_date(&self, at: &Zoned) -> String {
        let (year, month, day) = (at.year(), at.month(), at.day());
        let months = &DATA.months;
        match self.language {
            Language::English => format!("{day} {} {year}", month_name(&months.english, at)),
            Language::German => format!("{day}. {} {year}", month_name(&months.german, at)),
            Language::Japanese => format!("{year}年{month}月{day}日"),
            Language::Arabic => format!("{day} {} {year}", month_name(&months.arabic, at)),
        }
    }

    fn format_money(&self, pence: u64) -> String {
        let (pounds, rest) = (pence / 100, pence % 100);
        match self.language {
            Language::English | Language::Arabic => {
                format!("£{}.{rest:02}", group_digits(pounds, ','))
            }
            Language::German => format!("{},{rest:02} €", group_digits(pounds, '.')),
            Language::Japanese => format!("¥{}", group_digits(pence * 2 / 10 * 10, ',')),
        }
    }

    fn product_name(&self, line: &BasketLine) -> &'static str {
        let product = line.product();
        match self.language {
            Language::English | Language::Arabic => &product.english,
            Language::German => &product.german,
            Language::Japanese => &product.japanese,
        }
    }

    fn subtotal(&self) -> u64 {
        self.basket.iter().map(BasketLine::pence).sum()
    }

    /// Returns the price of shipping, which is free from 50 pounds on.
    fn shipping(&self) -> u64 {
        if self.subtotal() >= 5000 { 0 } else { 390 }
    }

    fn total(&self) -> u64 {
        self.subtotal() + self.shipping()
    }

    /// Returns the number of the weekly newsletter.
    fn issue_number(&self) -> usize {
        let first = Date::constant(2025, 1, 6);
        let weeks = self.accepted_at.date().duration_since(first).as_hours() / (24 * 7);
        usize::try_from(weeks).unwrap_or(0) + 1
    }

    fn lead(&self) -> &'static [String; 3] {
        &DATA.leads[self.issue_number() % DATA.leads.len()]
    }

    /// Returns the day of the workshop, about two weeks ahead.
    fn event_date(&self) -> Zoned {
        self.days_later(self.between("event", 6, 20).cast_signed())
    }

    fn coupon(&self) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let mut bits = self.hash_name("coupon");
        let letters: String = std::iter::repeat_with(|| {
            bits >>= 5;
            char::from(LETTERS[(bits % LETTERS.len() as u64) as usize])
        })
        .take(4)
        .collect();
        format!("BLUE-{letters}")
    }

    fn item_rows(&self) -> Vec<RowVariables> {
        let row = |(i, line): (usize, &BasketLine)| {
            vec![
                ("pos", (i + 1).to_string()),
                ("sku", format!("HP{:04}", 1000 + line.product_index * 37)),
                ("item", self.product_name(line).to_owned()),
                ("qty", line.count.to_string()),
                ("price", self.format_money(line.product().pence)),
                ("amount", self.format_money(line.pence())),
            ]
        };
        self.basket.iter().enumerate().map(row).collect()
    }

    fn story_rows(&self) -> Vec<RowVariables> {
        let first = self.issue_number() * 3;
        let row = |i: usize| {
            let [picture, headline, teaser] = &DATA.stories[(first + i) % DATA.stories.len()];
            vec![
                ("picture", picture.clone()),
                ("headline", headline.clone()),
                ("teaser", teaser.clone()),
            ]
        };
        (0..3).map(row).collect()
    }

    fn activity_rows(&self) -> Vec<RowVariables> {
        let (activities, agents) = (&DATA.activities, &DATA.choices["agent"]);
        let first = self.hash_name("activity") as usize % activities.len();
        let row = |i: usize| {
            let (did, what) = &activities[(first + i) % activities.len()];
            let who = if i == 0 {
                self.friend
            } else {
                &agents[(first + i) % agents.len()]
            };
            vec![
                ("who", who.to_owned()),
                ("did", did.clone()),
                ("what", what.clone()),
                ("page", format!("{:04x}", self.hash_name(what) >> 48)),
                ("when", DATA.days[(first + i * 2) % 5].clone()),
            ]
        };
        (0..3 + first % 4).map(row).collect()
    }

    fn day_rows(&self) -> Vec<RowVariables> {
        let row = |day: &String| {
            let visits = self.between(day, 400, 2600);
            let orders = visits * self.between(day, 14, 41) / 1000;
            let pence = orders * self.between(day, 1900, 4200);
            let rate = orders * 1000 / visits;
            vec![
                ("day", day.clone()),
                ("visits", group_digits(visits, ',')),
                ("orders", orders.to_string()),
                ("rate", format!("{}.{}", rate / 10, rate % 10)),
                ("revenue", self.format_money(pence)),
                ("returns", (orders / 17).to_string()),
                ("width", (pence / 1500).clamp(4, 320).to_string()),
            ]
        };
        DATA.days.iter().map(row).collect()
    }

    /// Returns the value of a variable; `None` if there is none of that name.
    pub(super) fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        let at = &self.accepted_at;
        let customer = self.customer;
        let month = |at: &Zoned| month_name(&DATA.months.english, at);
        let hash = || self.hash_name(name);
        let text: Cow<'_, str> = match name {
            "given" => customer.given_name.into(),
            "name" => (&*customer.full_name).into(),
            "email" => (&*customer.email).into(),
            "city" => customer.city.into(),
            "billed" => customer.company.unwrap_or(&customer.full_name).into(),
            "customer" => (10_000 + customer.rank * 17).to_string().into(),
            "street" => (&*DATA.streets[customer.rank as usize % DATA.streets.len()]).into(),
            "digits" => format!("{:04}", mix64(customer.rank) % 10_000).into(),
            "inviter" => self.friend.into(),
            "initials" => {
                let words = self.friend.split(' ');
                let initials = words.filter_map(|word| word.chars().next());
                initials.collect::<String>().into()
            }
            "invoice" => format!("{}-{:04}", at.year(), self.between(name, 1, 9999)).into(),
            "code" => format!("{:03} {:03}", hash() % 1000, hash() / 1000 % 1000).into(),
            "token" => {
                let more = self.hash_name("token more") >> 32;
                format!("{:016x}{more:08x}", hash()).into()
            }
            "coupon" => self.coupon().into(),
            "tracking" => format!("HP{:010}GB", hash() % 10_000_000_000).into(),
            "date" => self.format_date(at).into(),
            "due" => self.format_date(&self.days_later(14)).into(),
            "eta" => {
                let days = self.between(name, 2, 5).cast_signed();
                self.format_date(&self.days_later(days)).into()
            }
            "time" => at.strftime("%H:%M UTC").to_string().into(),
            "clock" => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string().into(),
            "iso" => at.strftime("%Y-%m-%d").to_string().into(),
            "weekday" => weekday_name(&self.days_later(3)).into(),
            "month" => month(at).into(),
            "next_month" => month(&self.days_later(31)).into(),
            "year" => at.year().to_string().into(),
            "issue" => self.issue_number().to_string().into(),
            "lead" => (&*self.lead()[0]).into(),
            "lead_alt" => (&*self.lead()[1]).into(),
            "lead_text" => (&*self.lead()[2]).into(),
            "quote" => (&*DATA.quotes[self.issue_number() % DATA.quotes.len()]).into(),
            "product" => self.product_name(&self.basket[0]).into(),
            "price" => self.format_money(self.basket[0].product().pence).into(),
            "sale_price" => {
                let full = self.basket[0].product().pence;
                self.format_money(full * 7 / 10).into()
            }
            "subtotal" => self.format_money(self.subtotal()).into(),
            "shipping" => self.format_money(self.shipping()).into(),
            "total" => self.format_money(self.total()).into(),
            "tax" => self.format_money(self.total() / 6).into(),
            "event_iso" => {
                let format = "%Y-%m-%dT18:30:00+00:00";
                self.event_date().strftime(format).to_string().into()
            }
            "event_stamp" => {
                let format = "%Y%m%dT183000Z";
                self.event_date().strftime(format).to_string().into()
            }
            "event_day" => self.event_date().day().to_string().into(),
            "event_month" => month(&self.event_date()).into(),
            "event_weekday" => weekday_name(&self.event_date()).into(),
            "machine" => {
                let service = self.one_of("service", &DATA.choices["service"]);
                format!("{service}-{}.ops.test", self.between(name, 1, 6)).into()
            }
            "value" => format!("{}.{}", self.between(name, 91, 99), hash() % 10).into(),
            _ => return self.data_value(name),
        };
        Some(text)
    }

    /// Returns the value of a variable that is defined by the data alone.
    fn data_value(&self, name: &str) -> Option<Cow<'static, str>> {
        if let Some(text) = DATA.texts.get(name) {
            return Some((&**text).into());
        }
        if let Some(items) = DATA.choices.get(name) {
            return Some(self.one_of(name, items).into());
        }
        let NumberRange { low, high, prefix } = DATA.numbers.get(name)?;
        Some(format!("{prefix}{}", self.between(name, *low, *high)).into())
    }

    /// Returns the rows of a section; `None` if there is none of that name.
    pub(super) fn rows(&self, name: &str) -> Option<Vec<RowVariables>> {
        match name {
            "items" => Some(self.item_rows()),
            "stories" => Some(self.story_rows()),
            "activity" => Some(self.activity_rows()),
            "days" => Some(self.day_rows()),
            _ => None,
        }
    }
}

fn month_name(names: &'static [String; 12], at: &Zoned) -> &'static str {
    &names[usize::from(at.month().unsigned_abs()) - 1]
}

fn weekday_name(at: &Zoned) -> &'static str {
    &DATA.days[usize::from(at.weekday().to_monday_zero_offset().unsigned_abs())]
}
