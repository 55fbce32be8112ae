//! Links: where they really go, and what a person should know before following one.

use std::sync::Arc;

use url::Url;

use super::body::{Link, LinkFlag, LinkKind};
use crate::text::sanitize;

/// A longer target is looked at only up to here; it is kept whole.
const MAX_PARSED_BYTES: usize = 8 * 1024;

/// Query parameters in which click counters carry the real target.
const REDIRECT_PARAMETERS: [&str; 14] = [
    "url",
    "u",
    "q",
    "target",
    "redirect",
    "redirect_url",
    "redirect_uri",
    "dest",
    "destination",
    "link",
    "to",
    "goto",
    "r",
    "upn_url",
];

/// Parts of addresses of the click counters of well-known senders.
const TRACKER_URL_PARTS: [&str; 24] = [
    "/track/click",
    "/ls/click",
    "/wf/click",
    "/e/c/",
    "/cl0/",
    "/l0/",
    "/ss/c/",
    "/tracking/click",
    "/trk/click",
    "/click?",
    "/click/",
    "/ctt?",
    "/deeplink?",
    "list-manage.com/",
    "mandrillapp.com/",
    "sendgrid.net/",
    "awstrack.me/",
    "safelinks.protection.outlook.com/",
    "urldefense.",
    "hubspotlinks.com/",
    "rs6.net/",
    "createsend1.com/",
    "sendibt",
    "mailjet.com/lnk",
];

/// First labels of hosts that count clicks.
const TRACKER_HOST_LABELS: [&str; 9] = [
    "click",
    "clicks",
    "trk",
    "track",
    "tracking",
    "links",
    "ablink",
    "email-links",
    "t",
];

const SINGLE_USE_WORDS: [&str; 16] = [
    "reset",
    "verify",
    "verification",
    "confirm",
    "activate",
    "activation",
    "invite",
    "invitation",
    "magic",
    "one-time",
    "onetime",
    "otp",
    "passwordless",
    "set-password",
    "signin-link",
    "login_token",
];

const UNSUBSCRIBE_WORDS: [&str; 8] = [
    "unsubscribe",
    "unsub",
    "optout",
    "opt-out",
    "opt_out",
    "abmelden",
    "desinscri",
    "abbestellen",
];

/// Makes a link of its words and the target as written; both are cleaned here.
pub(super) fn inspect_link(text: &str, target: &str) -> Link {
    let target = normalize_target(target);
    let text = sanitize::sanitize_line(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let parsed = target
        .get(..MAX_PARSED_BYTES)
        .or(Some(&*target))
        .and_then(|start| Url::parse(start).ok());
    let kind = link_kind(&target, parsed.as_ref());
    let host = parsed.as_ref().and_then(Url::host_str).unwrap_or_default();
    let shown_host = domain_to_unicode(host);
    let mut flags = Vec::new();
    let mut behind = None;
    if let (Some(url), LinkKind::Web) = (&parsed, kind) {
        behind = redirect_target(url);
        let lower = url.as_str().to_ascii_lowercase();
        if host_in_text(&text).is_some_and(|named| !is_same_site(&named, host)) {
            flags.push(LinkFlag::HostMismatch);
        }
        let first = host.split('.').next().unwrap_or_default();
        if behind.is_some()
            || TRACKER_URL_PARTS.iter().any(|part| lower.contains(part))
            || TRACKER_HOST_LABELS.contains(&first)
        {
            flags.push(LinkFlag::Tracked);
        }
        if host.split('.').any(|label| label.starts_with("xn--")) {
            flags.push(LinkFlag::Punycode);
        }
        if shown_host.split('.').any(mixes_scripts) {
            flags.push(LinkFlag::MixedScript);
        }
        if !url.username().is_empty() || url.password().is_some() {
            flags.push(LinkFlag::Credentials);
        }
        if !matches!(url.host(), Some(url::Host::Domain(_)) | None) {
            flags.push(LinkFlag::IpAddress);
        }
        let unsubscribes = |text: &str| UNSUBSCRIBE_WORDS.iter().any(|word| text.contains(word));
        if unsubscribes(&lower) || unsubscribes(&text.to_lowercase()) {
            flags.push(LinkFlag::Unsubscribe);
        }
        let path = lower
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map_or("", |(_, path)| path);
        if path.contains("token=")
            || path
                .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
                .any(|word| SINGLE_USE_WORDS.contains(&word))
        {
            flags.push(LinkFlag::SingleUse);
        }
    }
    Link {
        text: text.into(),
        target: Arc::from(target),
        kind,
        host: sanitize::sanitize_line(&shown_host).into(),
        redirect_target: behind,
        flags: flags.into(),
    }
}

/// The target as a browser reads it: without the line feeds and tabs that are there to hide it.
pub(super) fn normalize_target(written: &str) -> String {
    let trimmed = written.trim_matches(|c: char| c <= ' ');
    let joined: String = trimmed
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    sanitize::sanitize_line(&joined).into_owned()
}

fn link_kind(target: &str, parsed: Option<&Url>) -> LinkKind {
    match parsed.map(Url::scheme) {
        Some("http" | "https") => LinkKind::Web,
        Some("mailto") => LinkKind::Email,
        Some("tel" | "sms" | "callto") => LinkKind::Phone,
        Some(_) => LinkKind::Blocked,
        None if target.to_ascii_lowercase().starts_with("http") && target.contains("://") => {
            LinkKind::Blocked
        }
        None => LinkKind::Relative,
    }
}

/// The target that `url` carries as a parameter or, percent-encoded, in its path.
fn redirect_target(url: &Url) -> Option<Box<str>> {
    let is_web = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let by_name = url.query_pairs().take(40).find(|(name, value)| {
        is_web(value) && REDIRECT_PARAMETERS.contains(&&*name.to_ascii_lowercase())
    });
    let carried = if let Some((_, value)) = by_name {
        value.into_owned()
    } else {
        let segment = url.path_segments()?.find(|segment| {
            is_web(
                &segment
                    .to_ascii_lowercase()
                    .replace("%3a", ":")
                    .replace("%2f", "/"),
            )
        })?;
        let plus_kept = segment.replace('+', "%2B");
        url::form_urlencoded::parse(plus_kept.as_bytes())
            .next()?
            .0
            .into_owned()
    };
    Some(sanitize::sanitize_line(&carried).into())
}

/// The host that a link's words name, if they look like an address.
fn host_in_text(text: &str) -> Option<String> {
    let word = text
        .split_whitespace()
        .find(|word| word.contains('.') && !word.contains('@'))?;
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let host = rest
        .split(['/', '?', '#', ':'])
        .next()?
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let (_, last) = host.rsplit_once('.')?;
    let known = word.contains("://") || host.starts_with("www.") || is_common_tld(last);
    let plain = host
        .split('.')
        .all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'));
    (known && plain && last.chars().all(char::is_alphabetic)).then_some(host)
}

/// Words with a dot are hosts only if they end like one: `e.g` and `report.pdf` do not.
fn is_common_tld(label: &str) -> bool {
    matches!(
        label,
        "com"
            | "org"
            | "net"
            | "io"
            | "de"
            | "fr"
            | "uk"
            | "co"
            | "eu"
            | "it"
            | "es"
            | "nl"
            | "jp"
            | "cn"
            | "br"
            | "app"
            | "dev"
            | "info"
    )
}

/// Whether two hosts belong to one owner, as far as that can be told without a list of suffixes.
fn is_same_site(named: &str, host: &str) -> bool {
    let bare = |host: &str| host.trim_start_matches("www.").to_ascii_lowercase();
    let (named, host) = (bare(&domain_to_ascii(named)), bare(host));
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

fn domain_to_ascii(host: &str) -> String {
    url::quirks::domain_to_ascii(host)
}

fn domain_to_unicode(host: &str) -> String {
    if host.contains("xn--") {
        url::quirks::domain_to_unicode(host)
    } else {
        host.to_owned()
    }
}

fn mixes_scripts(label: &str) -> bool {
    let latin = label
        .chars()
        .any(|c| c.is_ascii_alphabetic() || matches!(c, '\u{C0}'..='\u{24F}'));
    latin
        && label
            .chars()
            .any(|c| matches!(c, '\u{370}'..='\u{58F}' | '\u{10A0}'..='\u{10FF}'))
}

/// Whether the first letter of `text` that has a direction runs right to left.
pub(super) fn is_rtl(text: &str) -> bool {
    let right = |c: char| matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}' | '\u{10800}'..='\u{10FFF}');
    text.chars()
        .take(4096)
        .find(|c| c.is_alphabetic())
        .is_some_and(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(text: &str, target: &str) -> Vec<LinkFlag> {
        inspect_link(text, target).flags.to_vec()
    }

    #[test]
    fn schemes_decide_what_opens_even_when_they_are_written_to_hide() {
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
        ] {
            assert_eq!(kind(refused), LinkKind::Blocked, "{refused:?}");
        }
        for nowhere in ["#top", "/rel", "", "{{ url }}"] {
            assert_eq!(kind(nowhere), LinkKind::Relative, "{nowhere:?}");
        }
    }

    #[test]
    fn words_that_name_another_host_are_flagged() {
        assert_eq!(
            flags("https://bank.example.com/login", "http://evil.test/login"),
            [LinkFlag::HostMismatch]
        );
        assert_eq!(
            flags("mybank.com", "https://mybank.com.evil.test/"),
            [LinkFlag::HostMismatch]
        );
        assert!(flags("www.example.com", "https://shop.example.com/").is_empty());
        assert!(flags("Read e.g. report.pdf", "https://example.org/").is_empty());
    }

    #[test]
    fn faked_hosts_are_flagged_and_shown_as_they_are() {
        assert_eq!(
            flags("x", "https://bank.example@evil.test/"),
            [LinkFlag::Credentials]
        );
        assert_eq!(flags("x", "http://0x7f.1/"), [LinkFlag::IpAddress]);
        let mixed = inspect_link("x", "https://b\u{430}nk.example/");
        assert_eq!(*mixed.flags, [LinkFlag::Punycode, LinkFlag::MixedScript]);
        assert_eq!(&*mixed.host, "b\u{430}nk.example");
    }

    #[test]
    fn a_click_counter_tells_what_is_behind_it_if_it_carries_it() {
        let tracked = inspect_link(
            "Shop",
            "https://click.example.net/?u=https%3A%2F%2Fshop.example.org%2Fa",
        );
        assert_eq!(
            tracked.redirect_target.as_deref(),
            Some("https://shop.example.org/a")
        );
        assert!(tracked.has_flag(LinkFlag::Tracked));
        let path = inspect_link(
            "Shop",
            "https://x.awstrack.me/L0/https:%2F%2Fshop.example.org%2Fb/1/abc",
        );
        assert_eq!(
            path.redirect_target.as_deref(),
            Some("https://shop.example.org/b")
        );
    }

    #[test]
    fn links_that_do_something_are_named() {
        assert_eq!(
            flags("Leave", "https://example.com/unsubscribe?id=1"),
            [LinkFlag::Unsubscribe]
        );
        assert_eq!(
            flags("Reset", "https://example.com/reset?x=1"),
            [LinkFlag::SingleUse]
        );
        assert!(flags("Presets", "https://example.com/presets").is_empty());
    }

    #[test]
    fn a_target_is_clean_and_whole() {
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
