//! `serve`: the service's API over the sample mailbox, until a signal ends it.

use super::args::ServeArgs;
use super::output::{CommandExit, Output, OutputFormat};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::server::sample::SampleMailbox;
use crate::server::{self, ServerConfig};
use tokio::net::TcpListener;

/// Requests a second that are answered. Nobody shares this service, so it need not be as strict as
/// the real one, but a program without any pace still gets 429.
const RATE: u32 = 1000;

/// Listens, says where, and serves.
pub(super) async fn run(
    serve: &ServeArgs,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let ServeArgs {
        listen,
        allow_host,
        demo: _,
        sample,
    } = serve;
    let failed = |error: std::io::Error| {
        let hint = "--listen 127.0.0.1:0 takes a free port";
        Error::new(
            ErrorKind::Io,
            format!("{listen} cannot be listened on: {error}"),
        )
        .with_hint(hint)
    };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut signals = super::listen_for_signals()?;
    let line = match out.format {
        OutputFormat::Human => format!("http://{address}\n"),
        OutputFormat::Json | OutputFormat::JsonLines => {
            format!("{{\"base_url\":\"http://{address}\"}}\n")
        }
    };
    out.write_data(&line)?;
    out.flush()?;
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
    let terms = ServerConfig {
        hosts: allow_host.clone(),
        ..ServerConfig::demo(RATE)
    };
    let mut signal = None;
    let ended = async { signal = Some(signals.recv().await) };
    server::serve(listener, mailbox, terms, clock.clone(), ended)
        .await
        .map_err(failed)?;
    Err(CommandExit::Signal(signal.unwrap_or_default()))
}
