//! `Customer`: who gets the mail: a few thousand people, some of them very often, most of them rarely.

use super::cultures::{CULTURES, Culture, NAMES_PER_CULTURE, NameOrder};
use super::rng::{Rng, mix64};

/// The best customers, who are equally likely; each further circle is twice as large and gets as much mail.
const TOP_TIER_SIZE: u64 = 16;
const TIERS: u64 = 8;

/// Providers of private mailboxes; the more common ones more than once.
const PROVIDERS: [&str; 9] = [
    "example.com",
    "example.com",
    "example.com",
    "example.org",
    "example.org",
    "example.net",
    "post.example",
    "letterbox.example",
    "webmail.test",
];

/// Companies whose people are customers: name and domain.
const COMPANIES: [(&str, &str); 20] = [
    ("Copperleaf Books", "copperleaf.example"),
    ("Studio Nordlicht", "nordlicht.example"),
    ("Tern & Tide Architects", "tern-tide.example"),
    ("Quillfeather Press", "quillfeather.example"),
    ("Blue Heron School", "blueheron-school.example"),
    ("Café Zwölf", "cafe-zwoelf.example"),
    ("Lumen & Daughters", "lumen-daughters.example"),
    ("Pixel Orchard", "pixelorchard.test"),
    ("Saltmarsh Museum", "saltmarsh-museum.example"),
    ("Ferryman Legal", "ferryman-legal.example"),
    ("Umber Ceramics", "umber.example"),
    ("Third Violin", "thirdviolin.example"),
    ("Mossy Creek Clinic", "mossycreek.example"),
    ("Kestrel Robotics", "kestrel-robotics.test"),
    ("Papaver Florists", "papaver.example"),
    ("Old Observatory Trust", "old-observatory.example"),
    ("Hazelnut Accounting", "hazelnut-accounting.example"),
    ("Lantern Theatre", "lantern-theatre.example"),
    ("Dry Stone Breweries", "drystone.example"),
    ("Atlas of Small Things", "smallthings.example"),
];

/// Somebody the company writes to.
#[derive(Debug, Clone)]
pub(super) struct Customer {
    pub(super) given_name: &'static str,
    /// Both names, in the order of the customer's language.
    pub(super) full_name: String,
    pub(super) email: String,
    pub(super) city: &'static str,
    /// The company whose mailbox it is, if it is no private one.
    pub(super) company: Option<&'static str>,
    /// How often they get mail: the smaller, the more. No two have the same.
    pub(super) rank: u64,
    local_part: String,
    domain: &'static str,
}

/// All customers of a mailbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct Customers {
    seed: u64,
}

impl Customers {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The customer that an email goes to; `culture` restricts the choice to one language.
    pub(super) fn pick(self, chance: &mut Rng, culture: Option<usize>) -> Customer {
        let circle = TOP_TIER_SIZE << chance.below(TIERS);
        let rank = circle - TOP_TIER_SIZE + chance.below(circle);
        let cultures = CULTURES.len() as u64;
        self.customer_of_rank(
            culture.map_or(rank, |culture| rank - rank % cultures + culture as u64),
        )
    }

    /// The customer of a rank; no two ranks have the same name.
    fn customer_of_rank(self, rank: u64) -> Customer {
        let names = NAMES_PER_CULTURE as u64;
        let culture = &CULTURES[(rank % CULTURES.len() as u64) as usize];
        // An odd factor permutes the pairs of names, so that neighbours in rank do not share one.
        let pair =
            (rank / CULTURES.len() as u64 * 77).wrapping_add(mix64(self.seed)) % (names * names);
        let given = pair % names;
        let family = (pair / names + given * 5) % names;
        let (given, given_spelling) = split_spelling(culture.given[given as usize]);
        let (family, family_spelling) = split_spelling(culture.family[family as usize]);

        let mut traits = mix64(mix64(self.seed) ^ rank);
        let mut trait_below = |end: u64| {
            let value = traits % end;
            traits = mix64(traits);
            value as usize
        };
        let separator = [".", ".", "_", "-", ""][trait_below(5)];
        let city = culture.cities[trait_below(3)];
        let (company, domain) = if trait_below(10) < 4 {
            // The smaller of two draws: the first companies of the list have the most people.
            let (name, domain) = COMPANIES
                [trait_below(COMPANIES.len() as u64).min(trait_below(COMPANIES.len() as u64))];
            (Some(name), domain)
        } else {
            (None, PROVIDERS[trait_below(PROVIDERS.len() as u64)])
        };
        let spelling = format!("{given_spelling}{separator}{family_spelling}");
        Customer {
            given_name: given,
            full_name: format_full_name(culture, given, family),
            email: format!("{spelling}@{domain}"),
            city,
            company,
            rank,
            local_part: spelling,
            domain,
        }
    }

    /// Another customer, moved to the company of the first: somebody who gets a copy there.
    pub(super) fn colleague_address(self, of: &Customer, chance: &mut Rng) -> String {
        let other = self.pick(chance, None);
        format!("{}@{}", other.local_part, of.domain)
    }
}

/// A name and its spelling in addresses.
fn split_spelling(name: &'static str) -> (&'static str, String) {
    match name.split_once('|') {
        Some((name, spelling)) => (name, spelling.to_owned()),
        None => (name, name.to_lowercase()),
    }
}

fn format_full_name(culture: &Culture, given: &str, family: &str) -> String {
    match culture.order {
        NameOrder::GivenFamily => format!("{given} {family}"),
        NameOrder::FamilyGiven => format!("{family} {given}"),
        NameOrder::FamilyGivenJoined => format!("{family}{given}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::cultures::JAPANESE_CULTURE;
    use super::super::rng::Stream;
    use super::*;

    const ALL: u64 = (TOP_TIER_SIZE << TIERS) - TOP_TIER_SIZE;

    #[test]
    fn no_two_customers_share_an_address_and_every_address_is_plain() {
        for seed in [0, 1, 77] {
            let people = Customers::new(seed);
            let addresses: BTreeSet<String> = (0..ALL)
                .map(|rank| people.customer_of_rank(rank).email)
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
    fn some_get_a_lot_and_most_get_little() {
        let people = Customers::new(1);
        let mut mails: BTreeMap<String, u32> = BTreeMap::new();
        for number in 0..20_000 {
            *mails
                .entry(
                    people
                        .pick(&mut Rng::new(1, number, Stream::Recipient), None)
                        .email,
                )
                .or_default() += 1;
        }
        let mut counts: Vec<u32> = mails.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(counts.len() > 2500, "{}", counts.len());
        assert!(
            counts[0] > 120 && counts[counts.len() / 2] < 5,
            "{} {}",
            counts[0],
            counts[counts.len() / 2]
        );
    }

    #[test]
    fn a_letter_in_a_language_goes_to_somebody_who_reads_it() {
        for number in 0..50 {
            let customer = Customers::new(1).pick(
                &mut Rng::new(1, number, Stream::Recipient),
                Some(JAPANESE_CULTURE),
            );
            assert!(
                customer
                    .full_name
                    .chars()
                    .all(|c| c == ' ' || c > '\u{3000}'),
                "{}",
                customer.full_name
            );
        }
    }
}
