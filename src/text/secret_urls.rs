//! Finds URLs that work once, such as for a new password, and passwords in URLs.
//!
//! A URL works once if it has a word for that and a part that looks like a token, or a parameter
//! that is named as one. A web page about passwords has the word alone.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::format::{contains_listed, is_listed};

/// Only this much of a longer URL is inspected; all of it is masked.
const MAX_INSPECTED_BYTES: usize = 8 * 1024;

/// A URL may contain another one, percent-encoded as often as there are redirects.
const MAX_DECODINGS: usize = 5;

/// A part of a URL with more words is the title of an article.
const MAX_WORDS: usize = 4;

/// Words of URLs that work once; a part with a digit behind one is a token.
const ACTIONS: &str = "activate activation confirm invitation invitations invite invites magic \
    onetime otp passwordless recover recovery reset unlock validate verification verify";

/// Words that other URLs have, too. Beside one of them, a token looks random.
const SIGN_IN_WORDS: &str = "accept auth confirmation login logon oauth password register session \
    signin signup sso";

/// Words of link texts in languages that URLs are seldom in.
const TEXT_WORDS: &str = "aktivieren anmelden bestätigen zurücksetzen activer confirmer \
    réinitialiser confirmar restablecer redefinir conferma reimposta bevestigen herstellen";

/// Words in the name of a parameter that is a token whatever it looks like.
const TOKEN_NAMES: &str = "jwt oob otp token";

/// Parts of URLs that unsubscribe, which may be opened twice.
const UNSUBSCRIBE_PARTS: &str =
    "unsubscribe unsub optout opt-out opt_out abmelden desinscri abbestellen";

/// How the names of parameters begin that only count clicks.
const CAMPAIGN_PREFIXES: [&str; 4] = ["utm_", "mc_", "gclid", "fbclid"];

/// Returns the byte ranges of passwords in URLs of `text`,
/// and of what follows the host in URLs that work once; in order.
pub(super) fn find_secret_urls(text: &str) -> Vec<Range<usize>> {
    let is_border = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '<' | '>' | '"' | '“' | '”' | '«' | '»' | '\u{3000}'..='\u{303F}'
            )
    };
    let mut secrets = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(is_border) {
        let word = part.trim_end_matches(is_border);
        if word.len() >= 8 && word.contains(['/', '=']) {
            let ranges = find_password(word).into_iter().chain(find_token(word));
            secrets.extend(ranges.map(|range| start + range.start..start + range.end));
        }
        start += part.len();
    }
    secrets
}

fn find_token(word: &str) -> Option<Range<usize>> {
    is_single_use(word, "").then(|| path_start(word)..word.len())
}

/// Returns the password before the host of a URL.
pub(crate) fn find_password(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let end = url[start..].find(['/', '?', '#', '\\']);
    let authority = &url[start..end.map_or(url.len(), |end| start + end)];
    let (user, _) = authority.rsplit_once('@')?;
    let colon = user.find(':')?;
    Some(start + colon + 1..start + user.len())
}

/// Returns where a URL goes on behind its host and the sign after it.
pub(crate) fn path_start(url: &str) -> usize {
    let host = match url.find("//") {
        Some(slashes) if !url[..slashes].contains(['/', '?', '#']) => slashes + 2,
        _ => 0,
    };
    let end = url[host..].find(['/', '?', '#', '\\', '=']);
    end.map_or(url.len(), |end| host + end + 1)
}

/// Whether a URL works once; `text` is that of the link to it.
pub(crate) fn is_single_use(url: &str, text: &str) -> bool {
    let url = decode(&url[..url.floor_char_boundary(MAX_INSPECTED_BYTES)]);
    if has_json_web_token(&url) {
        return true;
    }
    let (head, path) = url.split_at(path_start(&url));
    let head_words = split_words(head);
    // A program's own scheme has an action before the path, and no host.
    let is_web = head.contains('.') || head.contains("localhost");
    let mut has_action = !is_web && has_word(&head_words, ACTIONS);
    let mut names_sign_in = has_word(&head_words, ACTIONS)
        || has_word(&head_words, SIGN_IN_WORDS)
        || names_action(text);
    let (mut has_token, mut has_random_token) = (false, false);
    for part in path.split(['?', '&', '#', ';']) {
        if CAMPAIGN_PREFIXES
            .iter()
            .any(|prefix| part.starts_with(prefix))
        {
            continue;
        }
        let named = part.split_once('=').filter(|(_, value)| !value.is_empty());
        if named.is_some_and(|(name, _)| has_word(&split_words(name), TOKEN_NAMES)) {
            has_token |= !names_unsubscribe(&url);
            has_random_token = true;
        }
        for part in part.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_')) {
            let words = split_words(part);
            has_random_token |= looks_random(part);
            if words.len() <= MAX_WORDS && has_word(&words, ACTIONS) {
                has_action = true;
            } else {
                has_token |=
                    has_action && part.len() >= 4 && part.contains(|c: char| c.is_ascii_digit());
                names_sign_in |= words.len() <= MAX_WORDS && has_word(&words, SIGN_IN_WORDS);
            }
        }
    }
    has_token || has_random_token && (has_action || names_sign_in)
}

/// Whether the text of a link or its URL names the end of a subscription.
pub(crate) fn names_unsubscribe(text: &str) -> bool {
    contains_listed(&text.to_lowercase(), UNSUBSCRIBE_PARTS)
}

/// Whether the text of a link names what a URL does that works once;
/// a name of a file, such as `invite.ics`, does not.
fn names_action(text: &str) -> bool {
    let is_one_word = !text.trim().contains(char::is_whitespace);
    let words = split_words(text);
    let lists = [ACTIONS, TEXT_WORDS, "login signin"];
    !(is_one_word && text.contains('.')) && lists.iter().any(|list| has_word(&words, list))
}

/// Replaces percent-encoded characters, those of an encoded URL too.
fn decode(url: &str) -> Cow<'_, str> {
    let mut decoded = Cow::Borrowed(url);
    for _ in 0..MAX_DECODINGS {
        match percent_decode_str(&decoded).decode_utf8_lossy() {
            Cow::Owned(next) if next != *decoded => decoded = next.into(),
            _ => break,
        }
    }
    decoded
}

/// Splits at each sign and digit, and where a word in camelCase begins.
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_alphabetic() || (before.is_lowercase() && c.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| word.chars().nth(1).is_some());
    words
}

/// Whether a word, or two in a row such as `sign-in`, are in `list`.
fn has_word(words: &[String], list: &str) -> bool {
    let mut pairs = words.windows(2).map(<[String]>::concat);
    words.iter().any(|word| is_listed(word, list)) || pairs.any(|pair| is_listed(&pair, list))
}

/// Whether a part of a URL has no shape of words:
/// digits and capitals are between its letters, or it is very long.
fn looks_random(part: &str) -> bool {
    let bytes = part.as_bytes();
    let count = |is_change: fn(u8, u8) -> bool| {
        let pairs = bytes.windows(2);
        pairs.filter(|pair| is_change(pair[0], pair[1])).count()
    };
    let has_digit = |run: &str| run.bytes().any(|b| b.is_ascii_digit());
    let has_letter = |run: &str| run.bytes().any(|b| b.is_ascii_alphabetic());
    let digit_changes = count(|a, b| {
        a.is_ascii_digit() && b.is_ascii_alphabetic()
            || a.is_ascii_alphabetic() && b.is_ascii_digit()
    });
    let capitals = count(|a, b| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let is_long = |run: &str| {
        run.len() >= 20 && has_letter(run) || run.len() >= 16 && has_letter(run) && has_digit(run)
    };
    part.len() >= 8 && digit_changes >= 3
        || part.len() >= 10 && part.len() <= 4 * (capitals + 1)
        || part.split(['-', '_']).any(is_long)
}

/// Whether a URL has a JSON web token (RFC 7519): two objects in base64.
fn has_json_web_token(url: &str) -> bool {
    url.match_indices(".eyJ").any(|(dot, _)| {
        let before = &url[..dot];
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
        before[start.map_or(0, |start| start + 1)..].starts_with("eyJ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "9f8e7d6c5b4a";

    #[test]
    fn urls_that_work_once_are_masked() {
        for path in [
            "reset-password/TOKEN",
            "password-reset/TOKEN",
            "password_reset/TOKEN?email=a%40b.c",
            "__/auth/action?mode=resetPassword&oobCode=TOKEN",
            "wp-login.php?action=rp&key=TOKEN&login=ana",
            "verify-email/TOKEN",
            "u/email-verification?ticket=TOKEN",
            "magic-link/TOKEN",
            "accept-invite/TOKEN",
            "invitations/TOKEN",
            "invites/TOKEN",
            "login/TOKEN",
            "sign-in/TOKEN",
            "auth/callback?code=TOKEN",
            "auth?t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "x?y=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "signin?sig=TOKEN&exp=1",
            "users/confirmation?confirmation_token=abc",
            "#access_token=TOKEN",
            "%72eset?%74oken=TOKEN",
            "%2572eset?x=TOKEN",
            "reset?token=abc|def(ghi)",
            "verify/482913",
            "reset/550e8400-e29b-41d4-a716-446655440000",
            "activate/dGhpcyBpcyBhIHRva2Vu",
            "invite/qwertzuiopasdfghjklyx",
        ] {
            let path = path.replace("TOKEN", TOKEN);
            for start in ["https://acme.example/", "acme.example/", "//acme.example/"] {
                let text = format!("Open {start}{path} now");
                let secrets = find_secret_urls(&text);
                let start = 5 + start.len();
                let expected = start..start + path.len();
                assert_eq!(
                    secrets.as_slice(),
                    std::slice::from_ref(&expected),
                    "{text}"
                );
            }
        }
        for text in ["acmeapp://reset?token=abc", "acmeapp://verify?x=4821"] {
            assert_eq!(find_secret_urls(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn urls_that_work_again_stay() {
        for text in [
            "https://acme.example/blog/2026/how-to-reset-your-password",
            "https://help.acme.example/hc/en-us/articles/360012345678-How-to-reset-your-password",
            "https://acme.example/reset-password",
            "https://acme.example/reset?lang=en",
            "https://acme.example/login?next=/orders/482913",
            "https://acme.example/orders/482913/confirmation",
            "https://acme.example/confirmation/order-482913",
            "https://acme.example/a?utm_campaign=reset&utm_id=482913",
            "https://acme.example/reset?utm_campaign=9f8e7d6c5b4a",
            "https://acme.example/unsubscribe/9f8e7d6c5b4a",
            "https://acme.example/unsubscribe?token=9f8e7d6c5b4a",
            "https://t.acme.example/c/9f8e7d6c5b4a/9f8e7d6c5b4a",
            "https://acme.example/presets/4821",
            "https://github.com/acme/app/pull/48213",
            "https://acme.example/shop/iphone15pro-login",
            "https://example.com/code/482913",
            "https://ana@acme.example/",
            "reset/verify and/or 21/11/2026, a=b",
        ] {
            assert!(find_secret_urls(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn link_text_names_what_random_url_does() {
        let tracker = "https://click.acme.example/c/9f8e7d6c5b4a";
        for text in [
            "Reset your password",
            "Sign in",
            "Passwort zurücksetzen",
            "VERIFY EMAIL",
        ] {
            assert!(is_single_use(tracker, text), "{text}");
            assert!(
                !is_single_use("https://acme.example/account", text),
                "{text}"
            );
        }
        for text in [
            "Our presets",
            "Read the article",
            "Track order 4821",
            "invite.ics",
        ] {
            assert!(!is_single_use(tracker, text), "{text}");
        }
    }

    #[test]
    fn password_before_host_is_masked() {
        let url = "https://ana:9f8e@acme.example/help";
        assert_eq!(find_secret_urls(url).first(), Some(&(12..16)));
        assert_eq!(find_password("https://acme.example/a:b@c"), None);
    }

    #[test]
    fn long_text_takes_no_long_time() {
        let word = format!(
            "https://acme.example/reset?token={}",
            "%25".repeat(2_000_000)
        );
        assert_eq!(find_secret_urls(&word).len(), 1);
        let text = "a/b=c ".repeat(1_000_000);
        assert!(find_secret_urls(&text).is_empty());
    }
}
