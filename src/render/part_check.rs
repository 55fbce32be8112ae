//! Compares the two parts of an email: the share of words that they have in common,
//! and the amounts, accounts, addresses and hosts that the text part alone names.
//!
//! A text part may be shorter than the html part, so what it leaves out is no difference.

use std::collections::{HashMap, HashSet};

use super::body::{BodyNotice, Link, LinkFlag, LinkKind};
use super::links::{self, inspect_link, is_same_site};
use super::notices;
use crate::text::format::{CURRENCIES, excerpt, is_listed};

/// Longer parts are compared up to here.
const MAX_COMPARED_WORDS: usize = 20_000;

/// Parts that share fewer words than this say different things.
const MIN_SHARED: f64 = 0.6;

/// The most characters of an amount, an account, an address or a host in a notice.
const MAX_FACT_CHARS: usize = 60;

/// Compares the text part, which some readers see, with the html part.
pub(super) fn compare_parts(html: &str, links: &[Link], text: Option<&str>) -> Option<BodyNotice> {
    let (label, detail) = match text {
        None => (
            "no text part",
            "there is no plain-text part: some people see nothing".to_owned(),
        ),
        Some(text) if text.trim().is_empty() => (
            "text part empty",
            "the plain-text part is empty: some people see nothing".to_owned(),
        ),
        Some(text) => {
            let share = shared_word_share(html, text);
            let detail = if share < MIN_SHARED {
                let percent = (share * 100.0).round();
                format!(
                    "the plain-text part says something else: {percent} % of its words are in the html part"
                )
            } else {
                let fact = find_other_fact(html, links, text)?;
                let fact = excerpt(&fact, MAX_FACT_CHARS);
                format!("the plain-text part names {fact}, and the html part does not")
            };
            ("text part differs", detail)
        }
    };
    Some(notices::status(label, detail))
}

/// Returns the share of the smaller part's words that the other part has too.
///
/// Words of one letter and URLs do not count, because often only one part shows them.
fn shared_word_share(html: &str, text: &str) -> f64 {
    let (html, text) = (count_words(html), count_words(text));
    let (few, many) = if html.values().sum::<usize>() < text.values().sum::<usize>() {
        (html, text)
    } else {
        (text, html)
    };
    let total: usize = few.values().sum();
    if total == 0 {
        return 1.0;
    }
    let shared: usize = few
        .iter()
        .map(|(word, count)| count.min(many.get(word).unwrap_or(&0)))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = shared as f64 / total as f64;
    share
}

fn count_words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let words = text
        .split_whitespace()
        .filter(|word| !word.contains("://"))
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.chars().nth(1).is_some());
    for word in words.take(MAX_COMPARED_WORDS) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

/// Returns the first fact that the text part names and the html part does not.
fn find_other_fact(html: &str, links: &[Link], text: &str) -> Option<String> {
    let html_words: Vec<&str> = html.split_whitespace().take(MAX_COMPARED_WORDS).collect();
    // What the rest of a long html part names is not known.
    if html_words.len() == MAX_COMPARED_WORDS {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().take(MAX_COMPARED_WORDS).collect();
    let numbers: HashSet<String> = html
        .split(|c: char| !is_in_number(c))
        .filter_map(read_number)
        .collect();
    let other_amount = || {
        let amounts = (0..words.len()).filter(|index| is_amount(&words, *index));
        let mut amounts = amounts.filter_map(|index| Some((index, read_number(words[index])?)));
        let (index, _) = amounts.find(|(_, number)| !numbers.contains(number))?;
        let amount = words[index].trim_end_matches(['.', ',', ':', ';', ')']);
        Some(amount.to_owned())
    };
    let other_account = || {
        let mut accounts = find_accounts(&words).into_iter();
        let compact: String = html_words.concat().to_uppercase();
        accounts.find(|account| !compact.contains(account.as_str()))
    };
    let other_address = || {
        let html = html.to_lowercase();
        let is_known = |address: &String| {
            let is_target = |link: &Link| link.target.to_lowercase().contains(address.as_str());
            html.contains(address.as_str()) || links.iter().any(is_target)
        };
        let mut addresses = words.iter().filter_map(|word| read_address(word));
        addresses.find(|address| !is_known(address))
    };
    let fact = other_amount().or_else(other_account).or_else(other_address);
    fact.or_else(|| find_other_host(html, links, &words))
}

/// Returns the first host of a URL that the html part does not name.
/// A click tracker may lead anywhere, so that nothing is known if the html part has one.
fn find_other_host(html: &str, links: &[Link], words: &[&str]) -> Option<String> {
    let is_tracked = |link: &Link| link.flags.contains(&LinkFlag::Tracked);
    let is_unknown = |link: &Link| is_tracked(link) && link.behind.is_none();
    if links.iter().any(is_unknown) {
        return None;
    }
    let mut known: HashSet<String> = links::named_hosts(html).collect();
    for link in links.iter().filter(|link| link.kind == LinkKind::Web) {
        known.extend(link.host().map(str::to_owned));
        known.extend(links::named_hosts(
            link.behind.as_deref().unwrap_or_default(),
        ));
    }
    let urls = words.iter().filter_map(|word| {
        let url = &word[word.find("http://").or_else(|| word.find("https://"))?..];
        Some(inspect_link("", url)).filter(|link| link.kind == LinkKind::Web && !is_tracked(link))
    });
    let mut hosts = urls.filter_map(|link| link.host().map(str::to_owned));
    hosts.find(|host| !known.iter().any(|known| is_same_site(host, known)))
}

/// Returns the digits of a number without separators and an empty fraction;
/// `€1,200.00` and `1200` are equal.
fn read_number(word: &str) -> Option<String> {
    let number = word.trim_matches(|c: char| !c.is_ascii_digit());
    let fraction = |zeros: &str| number.strip_suffix(zeros);
    let whole = fraction(".00")
        .or_else(|| fraction(",00"))
        .unwrap_or(number);
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    (number.chars().all(is_in_number) && !digits.is_empty()).then_some(digits)
}

/// True for digits and for signs between them.
fn is_in_number(c: char) -> bool {
    c.is_ascii_digit() || ".,'’".contains(c)
}

/// Whether a word has a number and, in it or beside it, a currency.
fn is_amount(words: &[&str], index: usize) -> bool {
    let is_currency = |word: &str| {
        let lower = word.to_lowercase();
        let sign = lower.trim_matches(|c: char| c.is_ascii_digit() || ".,;:!?()'’".contains(c));
        is_listed(sign, CURRENCIES)
    };
    let is_bare = |word: &&&str| !word.contains(|c: char| c.is_ascii_digit());
    let after = words.get(index + 1).filter(is_bare);
    let before = words[..index].last().filter(is_bare);
    is_currency(words[index]) || after.or(before).is_some_and(|word| is_currency(word))
}

/// Returns the account numbers (IBAN) in `words`, without spaces.
fn find_accounts(words: &[&str]) -> Vec<String> {
    let clean = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_uppercase()
    };
    let is_start = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() >= 4
            && bytes[..2].iter().all(u8::is_ascii_alphabetic)
            && bytes[2..4].iter().all(u8::is_ascii_digit)
    };
    let starts = (0..words.len()).filter(|index| is_start(&clean(words[*index])));
    let accounts = starts.map(|index| {
        let groups = words[index..].iter().map(|word| clean(word));
        let is_group = |word: &String| word.len() <= 4 && word.bytes().any(|b| b.is_ascii_digit());
        let rest = groups.clone().skip(1).take(8).take_while(is_group);
        groups.take(1).chain(rest).collect::<String>()
    });
    accounts
        .filter(|account| (15..=34).contains(&account.len()))
        .filter(|account| account.bytes().all(|b| b.is_ascii_alphanumeric()))
        .collect()
}

/// Returns the email address in a word, in lower case.
fn read_address(word: &str) -> Option<String> {
    let address = word
        .split(['<', '>', '(', ')', ',', ';', '"', ':'])
        .find(|part| part.contains('@'))?;
    let address = address.trim_matches(|c: char| !c.is_alphanumeric());
    let (user, domain) = address.split_once('@')?;
    let is_address = !user.is_empty() && domain.contains('.') && !address.contains('/');
    is_address.then(|| address.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(html: &str, target: &str, text: &str) -> Option<String> {
        let links = [inspect_link("Open", target)];
        compare_parts(html, &links, Some(text)).map(|notice| notice.detail)
    }

    const HTML: &str = "Please pay 100 EUR by Friday to the account DE89 3704 0044 0532 0130 00 and \
        write to help@good.example if anything is unclear about this invoice";

    #[test]
    fn facts_of_text_part_alone_are_reported() {
        for (from, to, fact) in [
            ("100 EUR", "900 EUR", "900"),
            ("0130 00", "0130 99", "DE89370400440532013099"),
            (
                "help@good.example",
                "help@evil.example",
                "help@evil.example",
            ),
            ("Please", "https://evil.example/pay", "evil.example"),
        ] {
            let text = HTML.replace(from, to);
            let detail = difference(HTML, "https://good.example/pay", &text).unwrap();
            assert!(detail.contains(&format!("names {fact},")), "{detail}");
        }
    }

    #[test]
    fn same_facts_written_otherwise_are_equal() {
        let target = "https://good.example/pay";
        for text in [
            HTML.replace("100 EUR", "€100.00"),
            HTML.replace("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
            HTML.replace("Please", "https://www.good.example/other"),
            HTML.replace("Please", "(https://good.example/pay)"),
            "Please pay 100 EUR by Friday".to_owned(),
        ] {
            assert_eq!(difference(HTML, target, &text), None, "{text}");
        }
        let text = format!("{HTML} https://good.example/pay");
        let tracker = "https://click.mail.example/c/1";
        assert_eq!(difference(HTML, tracker, &text), None);
    }
}
