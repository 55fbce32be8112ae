//! `ServerUrl`: the address of an archive in PostgreSQL.

use std::path::PathBuf;

use ring::digest;
use secrecy::SecretString;
use url::Url;

use crate::error::{Error, ErrorKind, Result};

/// The schema of an address that names none.
const DEFAULT_SCHEMA: &str = "sentbox";

/// The address of a database, the schema of the archive in it, and how it is used.
///
/// The text has no password: a process list or a log would show it.
#[derive(Debug, Clone)]
pub struct ServerUrl {
    /// Without the parameter `schema`, which PostgreSQL does not know.
    address: String,
    schema: String,
    access: ServerAccess,
}

/// How a user connects to the server, and whether it is recorded what is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerAccess {
    #[cfg_attr(
        not(any(feature = "postgres", test)),
        expect(dead_code, reason = "there is no driver that needs it")
    )]
    pub(crate) password: Option<SecretString>,
    /// Certificates to trust beside the system's.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "there is no driver that needs it")
    )]
    pub(crate) ca_file: Option<PathBuf>,
    /// The user, as this machine knows them.
    pub(crate) user: String,
    /// Whether it is recorded which emails they open; the server may want that in any case.
    pub(crate) is_audited: bool,
}

impl ServerUrl {
    /// Whether a text is meant as such an address.
    pub(crate) fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Parses `postgres://USER@HOST/DATABASE?schema=NAME`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = |message: &str| {
            Error::new(ErrorKind::Config, message)
                .with_hint("it is postgres://USER@HOST/DATABASE?schema=NAME")
        };
        let mut url = Url::parse(text)
            .map_err(|error| wrong(&format!("the address of the archive is wrong: {error}")))?;
        if url.password().is_some() {
            return Err(wrong("the address of the archive has a password in it"));
        }
        let (schema, others): (Vec<_>, Vec<_>) = url
            .query_pairs()
            .into_owned()
            .partition(|(name, _)| name == "schema");
        url.set_query(None);
        if !others.is_empty() {
            url.query_pairs_mut().extend_pairs(others);
        }
        let schema = schema.into_iter().next_back();
        let schema = schema.map_or_else(|| DEFAULT_SCHEMA.to_owned(), |(_, name)| name);
        if schema.is_empty() || schema.len() > 50 || schema.contains('\0') {
            return Err(wrong("the schema of the archive has 1 to 50 bytes"));
        }
        Ok(Self {
            address: url.into(),
            schema,
            access: ServerAccess::default(),
        })
    }

    /// Returns it with the password, and what else a profile says.
    #[must_use]
    pub(crate) fn with_access(mut self, access: ServerAccess) -> Self {
        self.access = access;
        self
    }

    pub(crate) const fn access(&self) -> &ServerAccess {
        &self.access
    }

    /// Returns the archive beside this one whose schema ends in `_SUFFIX`.
    #[must_use]
    pub(crate) fn with_suffix(&self, suffix: &str) -> Self {
        Self {
            schema: format!("{}_{suffix}", self.schema),
            ..self.clone()
        }
    }

    /// Returns a name for files that belong to it.
    pub(crate) fn directory_name(&self) -> String {
        let hash = digest::digest(&digest::SHA256, self.to_string().as_bytes());
        let hash = hash.as_ref()[..4].iter().map(|byte| format!("{byte:02x}"));
        format!("server-{}", hash.collect::<String>())
    }

    #[cfg(any(feature = "postgres", test))]
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    #[cfg(any(feature = "postgres", test))]
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    #[cfg(any(feature = "postgres", test))]
    pub(crate) fn password(&self) -> Option<&str> {
        let password = self.access.password.as_ref();
        password.map(secrecy::ExposeSecret::expose_secret)
    }
}

impl PartialEq for ServerUrl {
    fn eq(&self, other: &Self) -> bool {
        (&self.address, &self.schema) == (&other.address, &other.schema)
    }
}

impl Eq for ServerUrl {}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (schema {})", self.address, self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_part_of_the_address_and_unknown_to_the_server() {
        let url = ServerUrl::parse(
            "postgres://ana@db.example.com:5433/mail?schema=acme&target_session_attrs=any",
        )
        .unwrap();
        assert_eq!(url.schema(), "acme");
        assert_eq!(
            url.address(),
            "postgres://ana@db.example.com:5433/mail?target_session_attrs=any"
        );
        assert_eq!(url.with_suffix("received").schema(), "acme_received");
        let plain = ServerUrl::parse("postgresql:///mail").unwrap();
        assert_eq!(plain.schema(), "sentbox");
        assert_ne!(plain.directory_name(), url.directory_name());
    }

    #[test]
    fn password_is_neither_accepted_in_the_address_nor_shown() {
        let error = ServerUrl::parse("postgres://ana:secret@db.example.com/mail").unwrap_err();
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        let url = ServerUrl::parse("postgres://ana@db.example.com/mail").unwrap();
        let url = url.with_access(ServerAccess {
            password: Some("secret".into()),
            ..ServerAccess::default()
        });
        assert_eq!(url.password(), Some("secret"));
        assert!(!format!("{url:?} {url}").contains("secret"));
    }

    #[test]
    fn impossible_schema_is_refused() {
        for schema in ["", &"x".repeat(51)] {
            let url = format!("postgres:///mail?schema={schema}");
            assert!(ServerUrl::parse(&url).is_err(), "{schema}");
        }
    }
}
