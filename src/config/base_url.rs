//! `BaseUrl`: where the service is, checked once, so that a key cannot go astray.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

use crate::error::{Error, ErrorKind, Result};

/// The characters that are percent-encoded in a segment of a path:
/// all but the unreserved characters (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The address that the operations' paths are appended to; its own path is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// The address of the real service.
    pub(crate) const DEFAULT: &'static str = "https://api.resend.com";

    /// Parses an address.
    ///
    /// # Errors
    ///
    /// If it is not an http(s) URL, carries credentials, a query or a fragment, or is plain http to
    /// another machine: a key sent there could be read in transit.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |why: &str| Error::new(ErrorKind::Usage, format!("the base URL {why}"));
        let example = format!("a base URL looks like {}", Self::DEFAULT);
        let url = Url::parse(text.trim())
            .map_err(|error| refused(&format!("cannot be read: {error}")).with_hint(&example))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("is neither https nor http").with_hint(example));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("carries a name or a password")
                .with_hint("the key belongs into SENTBOX_API_KEY or a profile"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("carries a query or a fragment").with_hint(example));
        }
        let base = Self(url);
        if base.is_plain_http() && !base.is_loopback() {
            return Err(refused(
                "is plain http to another machine; the key could be read in transit",
            )
            .with_hint("use https"));
        }
        Ok(base)
    }

    /// Returns the address of the real service.
    pub(crate) fn resend() -> Self {
        Self(Url::parse(Self::DEFAULT).expect("the default base URL is one"))
    }

    /// The address as a URL.
    pub(crate) const fn url(&self) -> &Url {
        &self.0
    }

    /// The address below the base of these path segments, each percent-encoded.
    pub(crate) fn join_segments(&self, segments: &[&str]) -> Url {
        let mut path = self.0.path().trim_end_matches('/').to_owned();
        for segment in segments {
            path.push('/');
            // The url crate's own segments lose tabs and line feeds, and an id is data.
            path.extend(utf8_percent_encode(segment, ENCODED));
        }
        let mut url = self.0.clone();
        url.set_path(&path);
        url
    }

    /// Whether it is http without TLS.
    pub(crate) fn is_plain_http(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Whether it is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.0.host().is_some_and(|host| is_loopback(&host))
    }

    /// A name for a directory that belongs to this address.
    pub(crate) fn directory_name(&self) -> String {
        let mut name = self
            .0
            .host_str()
            .unwrap_or_default()
            .replace([':', '[', ']'], "_");
        if let Some(port) = self.0.port() {
            name = format!("{name}_{port}");
        }
        let path = self.0.path().trim_matches('/');
        if !path.is_empty() {
            name.push('_');
            name.extend(path.chars().map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            }));
        }
        name
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// Whether a host is this machine:
/// names below `localhost` lead wherever a resolver says.
pub(crate) fn is_loopback(host: &Host<impl AsRef<str>>) -> bool {
    match host {
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
        Host::Domain(name) => name.as_ref() == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_url_keeps_path_and_escapes_ids() {
        let base = BaseUrl::parse("https://mail.example.com/api/").unwrap();
        assert_eq!(base.to_string(), "https://mail.example.com/api");
        assert_eq!(
            base.join_segments(&["emails", "../a b?c#d/é\n%41"])
                .as_str(),
            "https://mail.example.com/api/emails/..%2Fa%20b%3Fc%23d%2F%C3%A9%0A%2541"
        );
        assert_eq!(
            BaseUrl::resend().join_segments(&["emails"]).as_str(),
            "https://api.resend.com/emails"
        );
    }

    #[test]
    fn plain_http_goes_to_this_machine_only() {
        for good in [
            "http://127.0.0.1:8025",
            "http://localhost:1",
            "http://[::1]:8025/api",
            "https://example.com",
        ] {
            assert!(BaseUrl::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "http://api.localhost",
            "ftp://example.com",
            "example.com",
            "",
        ] {
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
        assert!(BaseUrl::parse("https://re_key@example.com").is_err());
        assert!(BaseUrl::parse("https://example.com/?key=1").is_err());
    }

    #[test]
    fn directory_names_are_one_segment_per_origin() {
        let name = |url| BaseUrl::parse(url).unwrap().directory_name();
        assert_eq!(name("https://api.resend.com"), "api.resend.com");
        assert_eq!(name("http://127.0.0.1:8025/a/../b/"), "127.0.0.1_8025_b");
        assert_eq!(name("http://[::1]:8025"), "___1__8025");
    }
}
