//! The customers: a few thousand people, a few of whom get most of the mail.

use std::sync::LazyLock;

use serde::Deserialize;

use super::parse_data;
use super::rng::{Rng, mix64};

/// The customers of the first tier, who are equally likely.
///
/// Each further tier is twice as large and gets as much mail.
const TOP_TIER_SIZE: u64 = 16;
const TIERS: u64 = 8;

/// Given names of a culture, and as many family names.
const NAMES_PER_CULTURE: usize = 16;

static DATA: LazyLock<CustomerData> =
    LazyLock::new(|| parse_data(include_str!("../../../assets/sample/people.toml")));

/// The content of `people.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CustomerData {
    providers: Vec<String>,
    companies: Vec<(String, String)>,
    cultures: Vec<Culture>,
}

/// Names and cities of the customers who share a language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Culture {
    /// Emails in this language go to these customers only.
    language: Option<Language>,
    order: NameOrder,
    cities: [String; 3],
    given: [String; NAMES_PER_CULTURE],
    family: [String; NAMES_PER_CULTURE],
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NameOrder {
    GivenFamily,
    FamilyGiven,
    /// Family name first, without a space.
    Joined,
}

/// The language of an email; it decides how dates and money are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    #[default]
    English,
    German,
    Japanese,
    Arabic,
}

/// A person who gets mail from the company.
#[derive(Debug, Clone)]
pub(super) struct Customer {
    pub(super) given_name: &'static str,
    /// Both names, in the order of the customer's language.
    pub(super) full_name: String,
    pub(super) email: String,
    pub(super) city: &'static str,
    /// The company whose domain the address has; `None` for a private mailbox.
    pub(super) company: Option<&'static str>,
    /// Unique; a customer of a lower rank gets more mail.
    pub(super) rank: u64,
    local_part: String,
    domain: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Customers {
    seed: u64,
}

impl Customers {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Draws the recipient of an email in `language`. Anyone may get one in English.
    pub(super) fn pick(self, rng: &mut Rng, language: Language) -> Customer {
        let tier_size = TOP_TIER_SIZE << rng.below(TIERS);
        let rank = tier_size - TOP_TIER_SIZE + rng.below(tier_size);
        let cultures = &DATA.cultures;
        let culture = cultures
            .iter()
            .position(|culture| culture.language == Some(language));
        self.customer_of_rank(culture.map_or(rank, |culture| {
            rank - rank % cultures.len() as u64 + culture as u64
        }))
    }

    /// Returns the customer of a rank; no two ranks have the same name.
    fn customer_of_rank(self, rank: u64) -> Customer {
        let CustomerData {
            providers,
            companies,
            cultures,
        } = &*DATA;
        let names = NAMES_PER_CULTURE as u64;
        let culture = &cultures[(rank % cultures.len() as u64) as usize];
        // An odd factor permutes the pairs of names, so that neighbours in rank do not share one.
        let pair =
            (rank / cultures.len() as u64 * 77).wrapping_add(mix64(self.seed)) % (names * names);
        let given = pair % names;
        let family = (pair / names + given * 5) % names;
        let (given, given_spelling) = split_spelling(&culture.given[given as usize]);
        let (family, family_spelling) = split_spelling(&culture.family[family as usize]);

        let mut bits = mix64(mix64(self.seed) ^ rank);
        let mut draw_below = |end: usize| {
            let value = bits % end as u64;
            bits = mix64(bits);
            value as usize
        };
        let separator = [".", ".", "_", "-", ""][draw_below(5)];
        let city = &culture.cities[draw_below(3)];
        let (company, domain) = if draw_below(10) < 4 {
            // The smaller of two draws: the first companies of the list have the most people.
            let (name, domain) =
                &companies[draw_below(companies.len()).min(draw_below(companies.len()))];
            (Some(&**name), domain)
        } else {
            (None, &providers[draw_below(providers.len())])
        };
        let local_part = format!("{given_spelling}{separator}{family_spelling}");
        Customer {
            given_name: given,
            full_name: match culture.order {
                NameOrder::GivenFamily => format!("{given} {family}"),
                NameOrder::FamilyGiven => format!("{family} {given}"),
                NameOrder::Joined => format!("{family}{given}"),
            },
            email: format!("{local_part}@{domain}"),
            city,
            company,
            rank,
            local_part,
            domain,
        }
    }

    /// Draws an address at the domain of `customer` for another person.
    pub(super) fn colleague_address(self, customer: &Customer, rng: &mut Rng) -> String {
        let other = self.pick(rng, Language::English);
        format!("{}@{}", other.local_part, customer.domain)
    }
}

/// Splits a name from its spelling in addresses.
fn split_spelling(name: &'static str) -> (&'static str, String) {
    match name.split_once('|') {
        Some((name, spelling)) => (name, spelling.to_owned()),
        None => (name, name.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::rng::Stream;
    use super::*;

    const ALL: u64 = (TOP_TIER_SIZE << TIERS) - TOP_TIER_SIZE;

    #[test]
    fn addresses_are_unique_and_ascii() {
        for seed in [0, 1, 77] {
            let customers = Customers::new(seed);
            let addresses: BTreeSet<String> = (0..ALL)
                .map(|rank| customers.customer_of_rank(rank).email)
                .collect();
            assert_eq!(addresses.len() as u64, ALL);
            let plain = |address: &String| {
                address
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || matches!(b, b'.' | b'_' | b'-' | b'@'))
            };
            assert_eq!(addresses.iter().find(|address| !plain(address)), None);
        }
    }

    #[test]
    fn few_customers_get_most_mail() {
        let customers = Customers::new(1);
        let mut mails: BTreeMap<String, u32> = BTreeMap::new();
        for number in 0..20_000 {
            let mut rng = Rng::new(1, number, Stream::Recipient);
            let customer = customers.pick(&mut rng, Language::English);
            *mails.entry(customer.email).or_default() += 1;
        }
        let mut counts: Vec<u32> = mails.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(counts.len() > 2500, "{}", counts.len());
        let (most, median) = (counts[0], counts[counts.len() / 2]);
        assert!(most > 120 && median < 5, "{most} {median}");
    }

    #[test]
    fn japanese_email_goes_to_japanese_customer() {
        for number in 0..50 {
            let mut rng = Rng::new(1, number, Stream::Recipient);
            let name = Customers::new(1)
                .pick(&mut rng, Language::Japanese)
                .full_name;
            assert!(name.chars().all(|c| c == ' ' || c > '\u{3000}'), "{name}");
        }
    }
}
