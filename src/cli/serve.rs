//! `serve`: the service's API over the sample mailbox, until a signal ends it.

use serde_json::json;
use tokio::net::TcpListener;

use super::args::ServeArgs;
use super::output::CommandExit;
use super::{CommandContext, listen_for_signals};
use crate::error::{Error, ErrorKind};
use crate::server::sample::SampleMailbox;
use crate::server::{self, ServerConfig};

/// Requests a second.
///
/// One user needs no limit like the real one, but a program without any pace still gets 429.
const RATE: u32 = 1000;

/// Listens, prints the address, and serves.
pub(super) async fn run(
    args: &ServeArgs,
    CommandContext { clock, out, .. }: CommandContext<'_>,
) -> Result<(), CommandExit> {
    let ServeArgs {
        listen,
        allow_host,
        demo: _,
        sample,
    } = args;
    let failed = |error: std::io::Error| {
        Error::cannot("listened on", ErrorKind::Io, listen, &error)
            .with_hint("--listen 127.0.0.1:0 takes a free port")
    };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut signals = listen_for_signals()?;
    let url = format!("http://{address}");
    out.report(&json!({ "base_url": url }), url.as_str())?;
    out.note(&format!(
        "serving {} sample emails; the key is {}",
        sample.emails,
        server::DEMO_KEY
    ));
    if !address.ip().is_loopback() {
        let names: Vec<String> = allow_host.iter().map(ToString::to_string).collect();
        let names = if names.is_empty() {
            "no name, so they are refused (--allow-host NAME)".to_owned()
        } else {
            names.join(", ")
        };
        out.note(&format!(
            "warning: {address} is open to other machines, unencrypted, and the key is public; they are answered under {names}"
        ));
    }
    let mailbox = SampleMailbox::new(sample.seed, sample.emails, clock(), clock.clone());
    let config = ServerConfig {
        hosts: allow_host.clone(),
        ..ServerConfig::demo(RATE)
    };
    let mut signal = 0;
    let shutdown = async { signal = signals.recv().await };
    server::serve(listener, mailbox, config, clock.clone(), shutdown)
        .await
        .map_err(failed)?;
    Err(CommandExit::Signal(signal))
}
