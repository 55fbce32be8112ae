//! Builds the HTTP client of reqwest: TLS, certificates, timeouts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Certificate;
use reqwest::redirect::Policy;

use super::proxy::Proxy;
use crate::config::read_regular;
use crate::error::{Error, ErrorKind, Result};
use crate::tasks;

const USER_AGENT: &str = concat!("sentbox/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than any pause of the service before or within a response.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of a file of certificates: several times those of a system.
const MAX_CA_FILE: usize = 4 << 20;

/// Builds an HTTP client off the loop: reading certificates is slow.
pub(super) async fn build_off_loop(
    ca_file: Option<PathBuf>,
    is_plain: bool,
    read_timeout: Duration,
) -> Result<reqwest::Client> {
    tasks::run_blocking(move || build_http_client(ca_file.as_deref(), is_plain, read_timeout)).await
}

/// Reads the certificates of a file.
///
/// Fails if it cannot be read, or has none.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<Certificate>> {
    let unusable = |why: String| {
        let path = path.display();
        let message = format!("the certificates in {path} cannot be used: {why}");
        Error::new(ErrorKind::Config, message)
    };
    let pem = read_regular(path, MAX_CA_FILE).map_err(|error| unusable(error.to_string()))?;
    let certificates =
        Certificate::from_pem_bundle(&pem).map_err(|error| unusable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("the file contains no certificate".to_owned()));
    }
    Ok(certificates)
}

/// Builds an HTTP client: for plain http on this machine, or for https.
fn build_http_client(
    ca_file: Option<&Path>,
    is_plain: bool,
    read_timeout: Duration,
) -> Result<reqwest::Client> {
    // It fails if there is one already, which is then the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(read_timeout);
    if is_plain {
        // Plain http is for this machine only: through a proxy the key would leave it, and the
        // machine may have no certificates.
        builder = builder.no_proxy().tls_certs_only([]);
    } else {
        Proxy::from_env().check()?;
    }
    if let Some(path) = ca_file {
        builder = builder.tls_certs_merge(read_certificates(path)?);
    }
    builder.build().map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Error::new(ErrorKind::Config, format!("no trusted certificates could be loaded: {cause}"))
            .with_hint("install the system's certificates, or name a file of them with SSL_CERT_FILE or --ca-file")
    })
}
