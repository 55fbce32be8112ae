//! `ServerUrl`: the address of an archive in PostgreSQL.

use std::fmt::Write as _;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use secrecy::SecretString;
use url::Url;

use crate::error::{Error, ErrorKind, Result};
use crate::text::hash::{sha256, to_hex};

/// The schema of an address that names none.
const DEFAULT_SCHEMA: &str = "sentbox";

/// The parameters of an address that the driver gets.
/// Others could hold a password, or lead to another server than the one that is named.
const PARAMETERS: [&str; 6] = [
    "host",
    "port",
    "user",
    "dbname",
    "options",
    "target_session_attrs",
];

/// The characters that are percent-encoded in a parameter of an address.
/// A space is not `+` there.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'&').add(b'+').add(b'#');

/// The address of a database, the schema of the archive in it, and how it is used.
///
/// The text has no password: a process list or a log would show it.
#[derive(Debug, Clone)]
pub struct ServerUrl {
    /// Without the parameter `schema`, which PostgreSQL does not know.
    address: String,
    schema: String,
    /// Whether a connection within this machine has TLS, too;
    /// it leads to the same server.
    requires_tls: bool,
    access: ServerAccess,
}

/// How a user connects to the server, and whether it is recorded what is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerAccess {
    pub(crate) password: Option<SecretString>,
    /// Certificates to trust beside the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// The user, as this machine knows them.
    pub(crate) user: String,
    /// Whether it is recorded which emails they open;
    /// the server may be set to record it, too.
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
            let hint = if text.contains(',') {
                "several hosts with ports are postgres:///DATABASE?host=A,B&port=1,2&user=USER&schema=NAME"
            } else {
                "it is postgres://USER@HOST/DATABASE?schema=NAME"
            };
            Error::new(ErrorKind::Config, message).with_hint(hint)
        };
        let mut url = Url::parse(text)
            .map_err(|error| wrong(&format!("the address of the archive is wrong: {error}")))?;
        if url.password().is_some() {
            return Err(wrong("the address of the archive has a password in it"));
        }
        let mut schema = DEFAULT_SCHEMA.to_owned();
        let mut query = String::new();
        let mut requires_tls = false;
        for (name, value) in url.query_pairs() {
            match &*name {
                "schema" => schema = value.into_owned(),
                // Where there is TLS, it is always verified.
                "sslmode" => {
                    requires_tls = matches!(&*value, "require" | "verify-ca" | "verify-full");
                }
                // The driver takes one host of each parameter.
                name if PARAMETERS.contains(&name) => {
                    for value in value.split(|it| it == ',' && name == "host") {
                        let separator = if query.is_empty() { "" } else { "&" };
                        let value = utf8_percent_encode(value, ENCODED);
                        let _ = write!(query, "{separator}{name}={value}");
                    }
                }
                name => {
                    let known = PARAMETERS.join(", ");
                    return Err(Error::new(
                        ErrorKind::Config,
                        format!("the address of the archive may not have the parameter {name}"),
                    )
                    .with_hint(format!("it may have schema, sslmode, {known}")));
                }
            }
        }
        url.set_query(
            Some(&query)
                .filter(|query| !query.is_empty())
                .map(String::as_str),
        );
        if schema.is_empty() || schema.len() > 50 || schema.contains('\0') {
            return Err(wrong("the schema of the archive has 1 to 50 bytes"));
        }
        Ok(Self {
            address: url.into(),
            schema,
            requires_tls,
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

    /// Returns the SQL that deletes the archives of sent and of received mail.
    pub(crate) fn drop_statement(&self) -> String {
        let schemas = [self, &self.with_suffix("received")];
        let quoted = schemas.map(|url| format!("\"{}\"", url.schema.replace('"', "\"\"")));
        format!("DROP SCHEMA IF EXISTS {} CASCADE", quoted.join(", "))
    }

    /// Whether both are the same user's databases on the same server.
    pub(super) fn is_same_server(&self, other: &Self) -> bool {
        let server = |url: &Self| {
            Url::parse(&url.address).map(|mut url| {
                url.set_path("");
                url
            })
        };
        server(self) == server(other)
    }

    /// Returns a name for files that belong to it.
    pub(crate) fn directory_name(&self) -> String {
        let hash = sha256(self.to_string().as_bytes());
        format!("server-{}", to_hex(&hash[..4]))
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the text that parses to it.
    pub(crate) fn to_argument(&self) -> String {
        let separator = if self.address.contains('?') { '&' } else { '?' };
        let schema = utf8_percent_encode(&self.schema, ENCODED);
        let mode = if self.requires_tls {
            "&sslmode=require"
        } else {
            ""
        };
        format!("{}{separator}schema={schema}{mode}", self.address)
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    pub(crate) const fn requires_tls(&self) -> bool {
        self.requires_tls
    }

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

    fn parse(text: &str) -> ServerUrl {
        ServerUrl::parse(text).unwrap()
    }

    #[test]
    fn schema_is_parsed_and_removed_from_address() {
        let url =
            parse("postgres://ana@db.example.com:5433/mail?schema=acme&target_session_attrs=any");
        assert_eq!(url.schema(), "acme");
        let expected = "postgres://ana@db.example.com:5433/mail?target_session_attrs=any";
        assert_eq!(url.address(), expected);
        assert_eq!(url.with_suffix("received").schema(), "acme_received");
        let plain = parse("postgresql:///mail");
        assert_eq!(plain.schema(), "sentbox");
        assert_ne!(plain.directory_name(), url.directory_name());
    }

    #[test]
    fn password_in_url_is_refused_and_never_printed() {
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
    fn parameters_that_could_lead_elsewhere_are_refused() {
        for parameter in ["password=secret", "hostaddr=192.0.2.1", "sslrootcert=x"] {
            let error = ServerUrl::parse(&format!("postgres:///mail?{parameter}")).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let start = "postgres:///mail?host=/run/postgresql&options=-c%20work_mem";
        let url = parse(&format!("{start}%3D8MB&sslmode=verify-full"));
        assert_eq!(url.address(), format!("{start}=8MB"));
    }

    #[test]
    fn tls_can_be_required_but_not_refused() {
        let plain = parse("postgres://ana@localhost/mail");
        for (mode, requires_tls) in [
            ("disable", false),
            ("prefer", false),
            ("require", true),
            ("verify-full", true),
        ] {
            let url = parse(&format!("postgres://ana@localhost/mail?sslmode={mode}"));
            assert_eq!(url.requires_tls(), requires_tls, "{mode}");
            assert_eq!(url, plain);
            assert!(plain.is_same_server(&url));
        }
    }

    #[test]
    fn address_may_have_several_hosts() {
        let url = ServerUrl::parse("postgres://ana@a.example.com,b.example.com/mail?schema=acme");
        let expected = "postgres://ana@a.example.com,b.example.com/mail";
        assert_eq!(url.unwrap().address(), expected);
        let url =
            ServerUrl::parse("postgres:///mail?host=a.example.com,b.example.com&port=5432,5433");
        let expected = "postgres:///mail?host=a.example.com&host=b.example.com&port=5432,5433";
        assert_eq!(url.unwrap().address(), expected);
        let error = ServerUrl::parse("postgres://ana@a.example.com:1,b.example.com:2/mail");
        assert!(error.unwrap_err().hint.contains("host=A,B&port=1,2"));
    }

    #[test]
    fn password_is_for_one_server() {
        let own = parse("postgres://ana@db.example.com/mail?schema=acme");
        assert!(own.is_same_server(&parse("postgres://ana@db.example.com/other?schema=b")));
        for other in [
            "postgres://ana@db.example.org/mail?schema=acme",
            "postgres://bo@db.example.com/mail?schema=acme",
            "postgres://ana@db.example.com:6000/mail",
            "postgres://ana@db.example.com/mail?host=db.example.org",
        ] {
            assert!(!own.is_same_server(&parse(other)), "{other}");
        }
    }

    #[test]
    fn impossible_schema_is_refused() {
        for schema in ["", &"x".repeat(51)] {
            let url = format!("postgres:///mail?schema={schema}");
            assert!(ServerUrl::parse(&url).is_err(), "{schema}");
        }
    }
}
