//! The proxy for https, by the variables of the environment that reqwest reads.

use std::env;
use std::fmt;

use axum::http::Uri;

use crate::error::{Error, ErrorKind, Result};

/// How the errors of reqwest about the tunnel through a proxy begin.
pub(super) const TUNNEL_ERROR: &str = "tunnel error";

/// The variables, as reqwest reads them: of two, the first that is set counts, even if it
/// is empty; the second pair counts if the first gives nothing.
const VARIABLES: [[&str; 2]; 2] = [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

/// A variable that is set, and its value.
pub(super) struct Proxy(Option<(&'static str, String)>);

impl Proxy {
    #[expect(
        clippy::disallowed_methods,
        reason = "reqwest reads these variables of the process, too"
    )]
    pub(super) fn from_env() -> Self {
        Self::find(|name| env::var(name).ok())
    }

    fn find(value: impl Fn(&str) -> Option<String>) -> Self {
        let first_set = |pair: [&'static str; 2]| {
            let mut set = pair
                .into_iter()
                .filter_map(|name| Some((name, value(name)?)));
            set.next()
        };
        let mut found = VARIABLES.into_iter().filter_map(first_set);
        Self(found.find(|(_, value)| !value.is_empty()))
    }

    /// Fails if the value is not the address of a proxy:
    /// reqwest would connect without one.
    ///
    /// The value may have a password, and is not quoted.
    pub(super) fn check(&self) -> Result<()> {
        let Some((name, value)) = &self.0 else {
            return Ok(());
        };
        let uri = value.parse::<Uri>().ok();
        let uri = uri.filter(|uri| uri.authority().is_some());
        let scheme = uri.map(|uri| uri.scheme_str().unwrap_or("http").to_lowercase());
        let message = match scheme.as_deref() {
            // The error of a request names SOCKS: NO_PROXY may have its host.
            Some("http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h") => return Ok(()),
            Some(scheme) => format!("{name} has the scheme {scheme}, which no proxy has"),
            None => format!("{name} is not the address of a proxy"),
        };
        let hint = "it looks like http://proxy.example.com:8080; without a proxy, unset it";
        Err(Error::new(ErrorKind::Config, message).with_hint(hint))
    }

    /// Describes why there is no connection through it, by the cause of reqwest.
    pub(super) fn describe_error(&self, is_dns: bool, is_refused: bool, cause: &str) -> String {
        match cause {
            _ if is_dns => format!("could not resolve the host of {self}"),
            _ if is_refused => format!("{self} does not run: connection refused"),
            _ if cause.contains("unsupported scheme") => {
                format!("{self} is a SOCKS proxy; only those of HTTP are supported")
            }
            _ if cause.contains("proxy authorization required") => {
                format!("proxy authentication required by {self}")
            }
            _ if cause.contains("unsuccessful") => format!("{self} refused to connect to it"),
            _ => format!("{self} failed: {cause}"),
        }
    }
}

impl fmt::Display for Proxy {
    /// Writes host and port of the proxy, and its variable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((name, value)) = &self.0 else {
            return f.write_str("the proxy");
        };
        let uri = value.parse::<Uri>().ok();
        let authority = uri.as_ref().and_then(Uri::authority);
        let address = authority.map_or("", |authority| {
            authority.as_str().rsplit('@').next().unwrap_or_default()
        });
        write!(f, "the proxy {address} of {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_is_named_without_its_password() {
        let name = |variables: &[(&str, &str)]| {
            let value =
                |name: &str| Some(variables.iter().find(|found| found.0 == name)?.1.to_owned());
            Proxy::find(value).to_string()
        };
        assert_eq!(name(&[]), "the proxy");
        let all = ("ALL_PROXY", "http://ana:secret@proxy.example.com:3128/");
        let expected = "the proxy proxy.example.com:3128 of ALL_PROXY";
        assert_eq!(name(&[all]), expected);
        let https = ("https_proxy", "localhost:9");
        assert_eq!(name(&[all, https]), "the proxy localhost:9 of https_proxy");
        let empty = ("HTTPS_PROXY", "");
        assert_eq!(name(&[empty, https]), "the proxy");
        assert!(name(&[empty, https, all]).ends_with(" of ALL_PROXY"));
    }

    #[test]
    fn socks_proxy_is_named() {
        let proxy = Proxy(Some(("ALL_PROXY", "socks5h://localhost:1080".to_owned())));
        let error = proxy.describe_error(false, false, "unsupported scheme socks5h");
        let expected = "the proxy localhost:1080 of ALL_PROXY is a SOCKS proxy";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn wrong_proxy_variable_is_an_error() {
        let check = |value: &str| {
            Proxy::find(|name| (name == "HTTPS_PROXY").then(|| value.to_owned())).check()
        };
        for value in [
            "",
            "http://localhost:9",
            "localhost:9",
            "https://a:b@localhost",
            "SOCKS5://localhost",
        ] {
            assert_eq!(check(value), Ok(()), "{value}");
        }
        for value in ["garbage:::", "ftp://x", "http://", "/x"] {
            let error = check(value).unwrap_err();
            assert!(error.message.starts_with("HTTPS_PROXY "), "{error}");
        }
    }
}
