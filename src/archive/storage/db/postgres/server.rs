//! The PostgreSQL server of an archive:
//! how to connect, which schema, and what it reports.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use futures_util::future::poll_fn;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{PostgresConnection, RUNTIME, to_error};
use crate::api::tls_hint;
use crate::archive::storage::db::Connection;
use crate::archive::storage::error::archive_error;
use crate::archive::storage::peer_notice::PeerNotice;
use crate::config::ServerUrl;
use crate::error::{Error, ErrorKind, Result};

const TLS_HINT: &str = "it needs TLS, and a certificate of an authority that the system trusts; SSL_CERT_FILE, --ca-file or ca_file of the profile names another one";

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server may keep a packet unacknowledged before it counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(20);

/// The time until a lost connection for notices is opened again:
/// at first, and at most. Each is up to twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long a transaction may wait for its client:
/// a pager keeps a search open, and a writer keeps others from writing.
const READER_TIMEOUT: &str = "12h";
const WRITER_TIMEOUT: &str = "SET idle_in_transaction_session_timeout = '60s'";

/// A server, with the schema of the archive.
pub(crate) struct PostgresServer {
    config: Config,
    tls: MakeRustlsConnect,
    schema: String,
    /// The server process of the writer of this handle. Its own notices are ignored.
    writer_pid: AtomicI32,
    #[cfg(test)]
    schema_for_test: Option<tests::SchemaForTest>,
}

impl PostgresServer {
    pub(crate) fn new(url: &ServerUrl) -> Result<Self> {
        let parsed: Result<Config, tokio_postgres::Error> = url.address().parse();
        let mut config = parsed.map_err(|error| {
            let message = format!("the address of the archive is wrong: {error}");
            Error::new(ErrorKind::Config, message)
                .with_hint("it is postgres://USER@HOST/DATABASE?schema=NAME")
        })?;
        if config.get_hosts().is_empty() {
            let message = "the address of the archive names no host";
            return Err(Error::new(ErrorKind::Config, message).with_hint(
                "a Unix socket is postgres:///DATABASE?host=/run/postgresql&user=USER",
            ));
        }
        if let Some(password) = url.password() {
            config.password(password);
        }
        config
            .application_name("sentbox")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(LOST_AFTER)
            .keepalives_idle(LOST_AFTER);
        let mut hosts = config.get_hosts().iter();
        let is_plain = hosts.all(|host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => !url.requires_tls() && is_this_machine(name),
        });
        // Require is with verification: the certificate must be of this host, and of a trusted
        // authority.
        config.ssl_mode(if is_plain {
            SslMode::Disable
        } else {
            SslMode::Require
        });
        let mut server = Self {
            config,
            tls: MakeRustlsConnect::new(tls_config(url.access().ca_file.as_deref(), is_plain)?),
            schema: url.schema().to_owned(),
            writer_pid: AtomicI32::new(0),
            #[cfg(test)]
            schema_for_test: tests::SchemaForTest::from_schema(url.schema()),
        };
        // They hold for each connection when it starts: a pooler, which would share connections,
        // refuses that.
        let schema = server.quoted_schema().replace('\\', "\\\\");
        let schema = schema.replace(' ', "\\ ");
        let given = server.config.get_options().unwrap_or_default();
        let options = format!(
            "{given} -c search_path={schema} -c jit=off -c idle_in_transaction_session_timeout={READER_TIMEOUT}"
        );
        server.config.options(options);
        Ok(server)
    }

    pub(crate) fn connect(&self) -> Result<Connection> {
        self.open().map(Connection::from)
    }

    fn open(&self) -> Result<PostgresConnection> {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let opening = RUNTIME.spawn(async move {
            let (client, connection) = config.connect(tls).await?;
            // It ends with the client.
            RUNTIME.spawn(connection);
            Ok(client)
        });
        let client = block_on(opening).map_err(|error| archive_error(error.to_string(), ""))?;
        client
            .map(|client| PostgresConnection::new(client, self.tls.clone()))
            .map_err(|error| self.connect_error(error))
    }

    /// Explains why a server takes no connection, and what to do about it.
    fn connect_error(&self, error: tokio_postgres::Error) -> Error {
        let hosts: Vec<String> = (self.config.get_hosts().iter())
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            })
            .collect();
        let hint = match error.code() {
            Some(code)
                if *code == SqlState::INVALID_PASSWORD
                    || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
            {
                "check the user in the address, and archive_password_command or archive_password_file"
            }
            Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
                "the database must exist: createdb creates it"
            }
            Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => {
                "wait, or raise max_connections"
            }
            Some(_) if is_pooler(&error) => {
                "name the server itself: a pooler shares connections, and a lock or a notice needs one of its own"
            }
            Some(_) => "check the address, and the log of the server",
            None if error.to_string().contains("TLS") => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tls_hint(&source.unwrap_or_default()).unwrap_or(TLS_HINT)
            }
            None if std::error::Error::source(&error)
                .is_some_and(|source| source.to_string() == "password missing") =>
            {
                "archive_password_command or archive_password_file of the profile has the password, for the server and user of its archive alone"
            }
            None => "check the address, the network, and that the server runs",
        };
        let error = to_error(error);
        let hosts = hosts.join(", ");
        let message = format!("{} (PostgreSQL at {hosts})", error.message);
        Error::new(error.kind, message).with_hint(hint)
    }

    pub(crate) fn connect_writer(&self) -> Result<Connection> {
        let writer = self.open()?;
        writer.send_batch(WRITER_TIMEOUT)?;
        let pid = writer.backend_pid()?;
        self.writer_pid.store(pid, Ordering::Relaxed);
        Ok(writer.into())
    }

    pub(crate) fn quoted_schema(&self) -> String {
        format!("\"{}\"", self.schema.replace('"', "\"\""))
    }

    /// Starts to listen for what other processes report.
    /// It goes on until the receiver is dropped.
    pub(crate) fn listen(self: &Arc<Self>) -> mpsc::UnboundedReceiver<PeerNotice> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let server = Arc::clone(self);
        RUNTIME.spawn(async move {
            let mut pause = FIRST_PAUSE;
            while !sender.is_closed() {
                let ended = server.listen_once(&sender, &mut pause).await;
                // A standby gives no notices: its readers look again from time to time.
                if let Err(error) = ended
                    && error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
                {
                    let _ = sender.send(PeerNotice::Changed);
                }
                sleep(pause.mul_f64(1.0 + fastrand::f64())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
        receiver
    }

    /// Listens until the connection is lost.
    /// The start counts as a change, because earlier reports are not received.
    async fn listen_once(
        &self,
        sender: &mpsc::UnboundedSender<PeerNotice>,
        pause: &mut Duration,
    ) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = self.config.connect(self.tls.clone()).await?;
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        let listen = format!("LISTEN {}", self.quoted_schema());
        let mut listening = std::pin::pin!(client.batch_execute(&listen));
        let mut is_listening = false;
        let _client: &Client = &client;
        loop {
            let message = tokio::select! {
                message = &mut messages => message,
                result = &mut listening, if !is_listening => {
                    result?;
                    is_listening = true;
                    *pause = FIRST_PAUSE;
                    let _ = sender.send(PeerNotice::Changed);
                    continue;
                }
                () = sender.closed() => return Ok(()),
            };
            match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    let is_own =
                        notification.process_id() == self.writer_pid.load(Ordering::Relaxed);
                    let notice = PeerNotice::parse(notification.payload());
                    if let Some(notice) = notice.filter(|_| !is_own) {
                        let _ = sender.send(notice);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}

/// Whether a pooler, such as `PgBouncer`, has refused the options of a connection.
fn is_pooler(error: &tokio_postgres::Error) -> bool {
    let reported = error.as_db_error();
    reported.is_some_and(|error| error.message().contains("startup parameter"))
}

/// Whether what is sent to a host stays on this machine.
fn is_this_machine(name: &str) -> bool {
    let ip: Option<IpAddr> = name.parse().ok();
    name == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

/// Trusts the certificates of the system, and those in `ca_file`.
///
/// Where no host takes TLS, none are loaded: a machine without any may use a Unix socket.
fn tls_config(ca_file: Option<&Path>, is_plain: bool) -> Result<ClientConfig> {
    let unusable =
        |error: rustls::Error| archive_error(format!("TLS cannot be used: {error}"), TLS_HINT);
    let mut extra = Vec::new();
    if let Some(path) = ca_file {
        let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        extra = certificates.map_err(|error| {
            let path = path.display();
            let message = format!("the certificates in {path} cannot be used: {error}");
            Error::new(ErrorKind::Config, message)
        })?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    if is_plain {
        let trusting_none = builder.with_root_certificates(RootCertStore::empty());
        return Ok(trusting_none.with_no_client_auth());
    }
    let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(unusable)?;
    let verified = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(verified.with_no_client_auth())
}

impl std::fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgresServer {}", self.schema)
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
pub(crate) mod tests;
