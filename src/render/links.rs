//! Links: their sanitized URL, their kind, and warnings about them.

use std::net::Ipv4Addr;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use url::Url;

use super::body::{Link, LinkFlag, LinkKind};
use crate::mail::mixes_scripts;
use crate::text::format::{contains_listed, is_listed, one_line};
use crate::text::sanitize;
use crate::text::secret_urls::{is_single_use, names_unsubscribe};

/// Only this much of a longer URL is parsed; the link keeps it whole.
const MAX_PARSED_BYTES: usize = 8 * 1024;

/// Query parameters in which click trackers put the real URL.
const REDIRECT_PARAMETERS: &str =
    "url u q target redirect redirect_url redirect_uri dest destination link to goto r upn_url";

/// Parts of URLs of well-known click trackers.
const TRACKER_URL_PARTS: &str = "/track/click /ls/click /wf/click /e/c/ /cl0/ /l0/ /ss/c/ \
    /tracking/click /trk/click /click? /click/ /ctt? /deeplink? list-manage.com/ mandrillapp.com/ \
    sendgrid.net/ awstrack.me/ safelinks.protection.outlook.com/ urldefense. hubspotlinks.com/ \
    rs6.net/ createsend1.com/ sendibt mailjet.com/lnk";

/// First labels of hosts of click trackers.
const TRACKER_HOST_LABELS: &str = "click clicks trk track tracking links ablink email-links t";

/// A word with a dot is a host if it ends with one of these, however it is written.
const COMMON_TLDS: &str = "com org net io de fr uk co eu it es nl jp cn br app dev info";

/// A word with another ending is a host, but for these: `report.pdf`.
const FILE_EXTENSIONS: &str = "js ts jsx tsx toml log conf env lock sql cpp java go py rb rs md sh pdf doc docx xls xlsx ppt pptx odt ods csv txt rtf \
    ics vcf eml png jpg jpeg gif svg webp mp3 mp4 mov avi htm html css php json xml yml yaml exe dmg apk zip gz tar rar";

/// Characters that look like a dot; URLs have dots in place of most of them.
const DOT_LIKE: [char; 4] = ['\u{2024}', '\u{3002}', '\u{ff0e}', '\u{ff61}'];

/// Sanitizes and checks the text and the URL of a link.
pub(super) fn inspect_link(text: &str, target: &str) -> Link {
    let target = normalize_target(target);
    let text = one_line(&sanitize::sanitize_line(text));
    let parsed = parse_url(&target);
    let kind = link_kind(parsed.as_ref());
    let host = parsed.as_ref().and_then(Url::host_str).unwrap_or_default();
    let web = parsed.as_ref().filter(|_| kind == LinkKind::Web);
    let behind = web.and_then(redirect_target);
    let mut flags = match web {
        Some(url) => link_flags(&text, &target, url, host, behind.as_deref()),
        None => disguised_host(&text, &target)
            .map(|_| LinkFlag::HostMismatch)
            .into_iter()
            .collect(),
    };
    if is_single_use(&target, &text) {
        flags.push(LinkFlag::SingleUse);
    }
    Link {
        text: text.into(),
        target: Arc::from(target),
        kind,
        flags: flags.into(),
        behind: behind.map(String::into_boxed_str),
    }
}

impl Link {
    /// Returns the other host that the text of a web link names.
    pub(crate) fn named_host(&self) -> Option<String> {
        other_host(&self.text, self.host()?)
    }
}

/// Parses a URL, or the start of a very long one.
fn parse_url(target: &str) -> Option<Url> {
    Url::parse(target.get(..MAX_PARSED_BYTES).unwrap_or(target)).ok()
}

/// Returns the host of `target` if `text` names another one.
pub(super) fn disguised_host(text: &str, target: &str) -> Option<String> {
    // A client completes a URL without a scheme.
    let url = match target.strip_prefix("//") {
        Some(rest) => parse_url(&format!("https://{rest}"))?,
        None => parse_url(target)?,
    };
    if url.scheme() == "mailto" {
        let recipients = percent_decode_str(url.path()).decode_utf8_lossy();
        let hosts: Vec<String> = recipients
            .split(',')
            .filter_map(domain_in_address)
            .collect();
        let is_other = |named: String| !hosts.iter().any(|host| is_same_site(&named, host));
        let mut named = text.split_whitespace().filter_map(domain_in_address);
        return hosts.first().filter(|_| named.any(is_other)).cloned();
    }
    let is_web = matches!(url.scheme(), "http" | "https");
    let host = url.host_str().filter(|_| is_web)?;
    let host = host_as_written(target).unwrap_or(host);
    let is_scanned = || {
        let behind = scanned_url(&url).filter(|_| host_as_written(target).is_none());
        let host = behind.and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| other_host(text, &host).is_none())
    };
    (other_host(text, host).is_some() && !is_scanned()).then(|| host.to_owned())
}

/// Returns the URL behind one that a mail filter or Google has put in its place.
fn scanned_url(url: &Url) -> Option<Url> {
    let host = url.host_str()?;
    let behind = match host {
        "urldefense.proofpoint.com" | "urldefense.com" | "urldefense.us" => {
            let wrapped = url.path().strip_prefix("/v3/__");
            if let Some((behind, _)) = wrapped.and_then(|rest| rest.split_once("__;")) {
                behind.to_owned()
            } else {
                let (_, written) = url.query_pairs().find(|(name, _)| name == "u")?;
                let encoded = written.replace('-', "%").replace('_', "/");
                percent_decode_str(&encoded)
                    .decode_utf8_lossy()
                    .into_owned()
            }
        }
        "www.google.com" if url.path() == "/url" => redirect_target(url)?,
        _ if host.ends_with(".safelinks.protection.outlook.com") => redirect_target(url)?,
        _ => return None,
    };
    parse_url(&behind).filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Returns what is before the path of a URL if that has a backslash:
/// it ends the host for browsers, and for others not.
fn host_as_written(target: &str) -> Option<&str> {
    let (_, rest) = target.split_once("//")?;
    rest.split(['/', '?', '#'])
        .next()
        .filter(|host| host.contains('\\'))
}

/// Returns the warnings about the link from `text` to a web page.
fn link_flags(
    text: &str,
    target: &str,
    url: &Url,
    host: &str,
    behind: Option<&str>,
) -> Vec<LinkFlag> {
    let lower = url.as_str().to_ascii_lowercase();
    let first_label = host.split('.').next().unwrap_or_default();
    let is_tracked = behind.is_some()
        || contains_listed(&lower, TRACKER_URL_PARTS)
        || is_listed(first_label, TRACKER_HOST_LABELS);
    let unicode_host = url::quirks::domain_to_unicode(host);
    let is_unsubscribe = names_unsubscribe(&lower) || names_unsubscribe(text);
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    let is_address = !matches!(url.host(), Some(url::Host::Domain(_)) | None);
    let is_punycode = host.split('.').any(|label| label.starts_with("xn--"));
    let flags = [
        (
            disguised_host(text, target).is_some(),
            LinkFlag::HostMismatch,
        ),
        (is_tracked, LinkFlag::Tracked),
        (is_punycode, LinkFlag::Punycode),
        (
            unicode_host.split('.').any(mixes_scripts),
            LinkFlag::MixedScript,
        ),
        (has_credentials, LinkFlag::Credentials),
        (is_address, LinkFlag::IpAddress),
        (is_unsubscribe, LinkFlag::Unsubscribe),
    ];
    let given = flags.into_iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, flag)| flag).collect()
}

/// Removes newlines and tabs, as browsers do, and sanitizes a URL.
pub(super) fn normalize_target(written: &str) -> String {
    let trimmed = written.trim_matches(|c: char| c <= ' ');
    let joined: String = trimmed
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    sanitize::sanitize_line(&joined).into_owned()
}

/// Sanitizes a URL, and completes a relative one by the base URL of its page.
pub(super) fn resolve_target(written: &str, base: Option<&Url>) -> String {
    let target = normalize_target(written);
    let is_relative = !target.is_empty()
        && !target.starts_with('#')
        && Url::parse(&target) == Err(url::ParseError::RelativeUrlWithoutBase);
    match base.filter(|_| is_relative).map(|base| base.join(&target)) {
        Some(Ok(url)) => normalize_target(url.as_str()),
        _ => target,
    }
}

/// Parses the `href` of a `<base>` element.
pub(super) fn parse_base(href: &str) -> Option<Url> {
    parse_url(&normalize_target(href)).filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn link_kind(parsed: Option<&Url>) -> LinkKind {
    match parsed.map(Url::scheme) {
        Some("http" | "https") => LinkKind::Web,
        Some("mailto") => LinkKind::Email,
        Some("tel" | "sms" | "callto") => LinkKind::Phone,
        Some(_) | None => LinkKind::NotOpenable,
    }
}

/// Returns the other URL that `url` has as a parameter or in its path.
fn redirect_target(url: &Url) -> Option<String> {
    let is_web = |text: &String| text.starts_with("http://") || text.starts_with("https://");
    let named = |name: &str| is_listed(&name.to_ascii_lowercase(), REDIRECT_PARAMETERS);
    let mut parameters = url.query_pairs().take(40);
    let in_query = parameters
        .find_map(|(name, value)| named(&name).then(|| value.into_owned()).filter(is_web));
    let decode = |segment: &str| {
        let lower = segment.to_ascii_lowercase();
        lower.replace("%3a", ":").replace("%2f", "/")
    };
    in_query
        .or_else(|| url.path_segments()?.map(decode).find(is_web))
        .map(|target| sanitize::sanitize_line(&target).into_owned())
}

/// Returns the first host of another site that the text of a link to `host` names.
fn other_host(text: &str, host: &str) -> Option<String> {
    named_hosts(text).find(|named| !is_same_site(named, host))
}

/// Returns the hosts that a text names, in URLs or as words that look like one.
///
/// An email address counts if it is all of the text: "Yes, ana@example.org is mine" is
/// about a recipient.
pub(super) fn named_hosts(text: &str) -> impl Iterator<Item = String> {
    let is_one_word = text.split_whitespace().nth(1).is_none();
    text.split_whitespace().flat_map(move |word| {
        let dotted: String = word.chars().map(narrow_char).collect();
        let is_url = dotted.contains("://");
        let rest = dotted.split_once("://").map_or(&*dotted, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // What is before a host is a name or a label: `Acme,acme.example`, `site:acme.example`.
        let is_border =
            |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_' | '@' | '\'' | '’');
        let parts: Vec<&str> = if is_url {
            let host = authority.rsplit('@').next().unwrap_or_default();
            host.split(':').take(1).collect()
        } else {
            authority.split(is_border).collect()
        };
        let has_unusual_dot = word.contains(DOT_LIKE);
        let hosts = parts
            .into_iter()
            .filter_map(|part| match part.contains('@') {
                true if is_one_word => domain_in_address(part),
                true => None,
                false => host_in_word(part, is_url, has_unusual_dot),
            });
        hosts.collect::<Vec<String>>()
    })
}

/// Returns the ASCII character that a fullwidth one or a sign like a dot imitates.
fn narrow_char(c: char) -> char {
    match c {
        _ if DOT_LIKE.contains(&c) => '.',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// Returns the domain of a word that is an email address.
fn domain_in_address(word: &str) -> Option<String> {
    let (_, domain) = word.rsplit_once('@')?;
    let domain = domain
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    // `lodash@4.17.21` is a version of a package.
    let mut labels = domain.split('.');
    let is_version = labels.all(|label| label.starts_with(|c: char| c.is_ascii_digit()))
        && domain.parse::<Ipv4Addr>().is_err();
    (domain.contains('.') && !is_version).then_some(domain)
}

/// Returns the host that `word` is or, with `is_url`, that is before a path.
fn host_in_word(word: &str, is_url: bool, has_unusual_dot: bool) -> Option<String> {
    let written = word.trim_matches(|c: char| !c.is_alphanumeric());
    let (_, last) = written.rsplit_once('.')?;
    // `here.Then` is the end of a sentence; a text in Chinese has no spaces.
    let is_sentence = last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase)
        || has_unusual_dot;
    let host = written.to_lowercase();
    let (_, last) = host.rsplit_once('.')?;
    let may_end_host =
        |last: &str| last.chars().nth(1).is_some() && !is_listed(last, FILE_EXTENSIONS);
    let known = is_url
        || host.starts_with("www.")
        || is_listed(last, COMMON_TLDS)
        || !is_sentence && may_end_host(last);
    let plain = host
        .split('.')
        .all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'));
    (known && plain && last.chars().all(char::is_alphabetic)).then_some(host)
}

/// True if two hosts seem to be of one site, without a public suffix list.
pub(super) fn is_same_site(named: &str, host: &str) -> bool {
    let bare = |host: &str| host.trim_start_matches("www.").to_ascii_lowercase();
    let (named, host) = (bare(&url::quirks::domain_to_ascii(named)), bare(host));
    if named == host || named.ends_with(&format!(".{host}")) || host.ends_with(&format!(".{named}"))
    {
        return true;
    }
    let site = |host: &str| -> Option<String> {
        let mut labels = host.rsplit('.');
        let (top, second) = (labels.next()?, labels.next()?);
        (second.len() > 3).then(|| format!("{second}.{top}"))
    };
    site(&named).is_some_and(|site_named| site(&host) == Some(site_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(text: &str, target: &str) -> Vec<LinkFlag> {
        inspect_link(text, target).flags.to_vec()
    }

    #[test]
    fn disguised_schemes_have_the_right_kind() {
        let kind = |target: &str| inspect_link("x", target).kind;
        assert_eq!(kind("https://example.com/"), LinkKind::Web);
        assert_eq!(kind("mailto:ana@example.com"), LinkKind::Email);
        assert_eq!(kind("tel:+123"), LinkKind::Phone);
        for refused in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\nscript:x",
            " \u{1}javascript:x",
            "data:text/html,x",
            "file:///etc/passwd",
            "#top",
            "/rel",
            "",
            "{{ url }}",
        ] {
            assert_eq!(kind(refused), LinkKind::NotOpenable, "{refused:?}");
        }
    }

    #[test]
    fn single_use_link_behind_a_tracker_is_masked() {
        let reset = "https://acme.example/reset?token=abc";
        let encoded = "https%3A%2F%2Facme.example%2Freset%3Ftoken%3Dabc";
        let twice = encoded.replace('%', "%25");
        for target in [
            format!("https://t.example/r?url={reset}"),
            format!("https://t.example/r?url={encoded}"),
            format!("https://t.example/r/{encoded}"),
            format!("https://t.example/r?url=https%3A%2F%2Fgo.example%2F%3Fu%3D{twice}"),
        ] {
            let link = inspect_link("Reset", &target);
            assert!(link.flags.contains(&LinkFlag::SingleUse), "{target}");
            assert_eq!(
                link.masked_target().as_deref(),
                Some("https://t.example/••••••")
            );
            let behind = link.masked_behind().unwrap();
            assert!(behind.ends_with(".example/••••••"), "{behind}");
        }
        let harmless = inspect_link("Shop", "https://t.example/r?url=https://acme.example/a");
        assert_eq!(harmless.masked_behind(), None);
    }

    const EVIL: &str = "https://evil.test/";

    #[test]
    fn text_naming_another_host_is_flagged() {
        for (named, target) in [
            ("https://bank.example.com/login", "http://evil.test/login"),
            ("mybank.com", "https://mybank.com.evil.test/"),
            ("https://bank.example/@login", EVIL),
            ("Log in. https://bank.example", EVIL),
            ("St. George www.bank.com", EVIL),
            ("https://ana@bank.example/", EVIL),
            ("evil.test, once https://bank.example", EVIL),
            ("Log in at postfinance.ch now", EVIL),
            ("Go to mbank.pl.", EVIL),
            ("Open mybank.bank today", EVIL),
            ("support@paypal.com", EVIL),
            ("admin@192.168.1.10", EVIL),
            ("help@paypal.com-1.5", EVIL),
            ("ｐａｙｐａｌ．ｃｏｍ", EVIL),
            ("Acme,paypal.com", EVIL),
            ("site:paypal.com", EVIL),
            ("good.bank", EVIL),
            ("пример.рф", EVIL),
            ("good。com", EVIL),
            ("good․com", EVIL),
            ("good.com", "//evil.test/"),
            ("good.com", r"http://good.com\.evil.test"),
            ("x@good.com", "mailto:x@evil.test"),
            ("x@good.com", "mailto:x%40evil.test?subject=x@good.com"),
        ] {
            let host = disguised_host(named, target).expect(named);
            assert!(host.ends_with("evil.test"), "{named}");
            assert_eq!(flags(named, target), [LinkFlag::HostMismatch], "{named}");
        }
    }

    #[test]
    fn text_naming_no_other_host_is_not_flagged() {
        for (text, target) in [
            ("Built with Node.js and package.json", EVIL),
            ("See e.g. i.e. z.B. 3.14", EVIL),
            ("Done.Then log in", EVIL),
            (
                "Yes, ana@bank.example is mine since 21.11.2026, 10.50 EUR",
                EVIL,
            ),
            ("www.example.com", "https://shop.example.com/"),
            ("Read e.g. report.pdf", EVIL),
            ("lodash@4.17.21", EVIL),
            ("web@2.0.0-rc1", EVIL),
            ("Inc.", EVIL),
            ("再见。你好", EVIL),
            ("пример.рф", "http://www.пример.рф/"),
            ("good.bank", "https://www.good.bank/"),
            ("good.com", "//good.com/"),
            ("ana@good.com", "mailto:ana@good.com"),
            ("Ana <ana@mail.good.com>", "mailto:Ana%20%3Cana@good.com%3E"),
            ("ana@good.com", "mailto:ana@good.com,bo@example.org"),
            ("good.com", "mailto:good@example.org"),
        ] {
            let flags = flags(text, target);
            assert!(!flags.contains(&LinkFlag::HostMismatch), "{text} {flags:?}");
        }
    }

    #[test]
    fn rewritten_link_to_named_host_is_not_flagged() {
        let targets = |host: &str| {
            [
                format!(
                    "https://nam02.safelinks.protection.outlook.com/?url=https%3A%2F%2F{host}%2Fa&data=05"
                ),
                format!("https://urldefense.com/v3/__https://{host}/b__;!!x"),
                format!("https://urldefense.proofpoint.com/v2/url?u=https-3A__{host}_c-3Fd&d=x"),
                format!("https://www.google.com/url?q=https://{host}/c&source=gmail"),
            ]
        };
        let is_flagged = |target: &String| {
            flags("https://good.example/a", target).contains(&LinkFlag::HostMismatch)
        };
        for target in &targets("good.example") {
            assert!(!is_flagged(target), "{target}");
        }
        for target in &targets("evil.test") {
            assert!(is_flagged(target), "{target}");
        }
        for target in [
            "https://safelinks.protection.outlook.com.evil.test/?url=https://good.example/a",
            "https://urldefense.com@evil.test/v3/__https://good.example/b__;!!x",
            r"https://www.google.com\.evil.test/url?q=https://good.example/",
            "https://click.evil.test/?url=https://good.example/a",
        ] {
            assert!(is_flagged(&target.to_owned()), "{target}");
        }
    }

    #[test]
    fn imitated_hosts_are_flagged() {
        assert_eq!(
            flags("x", "https://bank.example@evil.test/"),
            [LinkFlag::Credentials]
        );
        assert_eq!(flags("x", "http://0x7f.1/"), [LinkFlag::IpAddress]);
        assert_eq!(
            flags("x", "https://b\u{430}nk.example/"),
            [LinkFlag::Punycode, LinkFlag::MixedScript]
        );
    }

    #[test]
    fn urls_with_a_redirect_target_are_tracked() {
        for target in [
            "https://example.net/?u=https%3A%2F%2Fshop.example.org%2Fa",
            "https://x.example.net/a/https:%2F%2Fshop.example.org%2Fb/1/abc",
        ] {
            assert_eq!(flags("Shop", target), [LinkFlag::Tracked], "{target}");
        }
    }

    #[test]
    fn unsubscribe_and_single_use_links_are_flagged() {
        assert_eq!(
            flags("Leave", "https://example.com/unsubscribe?id=1"),
            [LinkFlag::Unsubscribe]
        );
        assert_eq!(
            flags("Reset", "https://example.com/reset?x=1a2b"),
            [LinkFlag::SingleUse]
        );
        assert!(flags("Presets", "https://example.com/presets").is_empty());
    }

    #[test]
    fn target_is_sanitized_and_whole() {
        assert_eq!(
            &*inspect_link("x", " http://example.com/a\r\nb ").target,
            "http://example.com/ab"
        );
        assert!(
            !inspect_link("x", "http://example.com/\u{1b}]52;c\u{7}")
                .target
                .chars()
                .any(char::is_control)
        );
    }
}
