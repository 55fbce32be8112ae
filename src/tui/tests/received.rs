//! The second list: received mail beside sent mail, on real servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ratatui::layout::Size;
use serde_json::value::RawValue;

use crate::api::Cursor;
use crate::config::Env;
use crate::mail::EmailId;
use crate::server::sample::SampleMailbox;
use crate::server::{EmailSource, SourceError, SourcePage};
use crate::tui::tests::harness::TuiHarness;
use crate::tui::tests::service::{KEY, Service};

const SIZE: Size = Size::new(120, 30);

/// The sample mailbox, perhaps without received mail; counts the requests for that.
struct Sample {
    mailbox: SampleMailbox,
    has_received: bool,
    requests: Arc<AtomicUsize>,
}

impl EmailSource for Sample {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        self.mailbox.page(cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        self.mailbox.email(id)
    }

    fn received(&self) -> Option<&dyn EmailSource> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.mailbox.received().filter(|_| self.has_received)
    }
}

/// Starts a service and a screen; counts the requests for received mail.
async fn start(has_received: bool) -> (Service, Arc<AtomicUsize>, tempfile::TempDir, TuiHarness) {
    let now = "2026-11-20T09:42:00Z".parse().unwrap();
    let requests = Arc::<AtomicUsize>::default();
    let service = Service::new(Sample {
        mailbox: SampleMailbox::new(7, 60, now, Arc::new(move || now)),
        has_received,
        requests: requests.clone(),
    });
    let home = tempfile::tempdir().unwrap();
    let env = Env::from_iter([
        ("HOME", home.path().display().to_string()),
        ("SENTBOX_API_KEY", KEY.to_owned()),
        ("SENTBOX_BASE_URL", service.base()),
        ("SENTBOX_RATE", "1000".to_owned()),
    ]);
    let it = TuiHarness::with_env(SIZE, env).await;
    (service, requests, home, it)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn key_switches_to_received_mail_and_back() {
    let (_service, _, _home, mut it) = start(true).await;
    let sent = it.screen();
    it.press("g r").await;
    let screen = it.screen();
    it.starts(" SENTBOX_API_KEY ▸ Received ");
    assert_eq!(it.position(), (Some(1), Some(8)), "{screen}");
    it.shows(&["wren@example.net", "(no subject)", "live"]);
    it.hides(&["✓", "◉", "? -", " as of ", "status"]);

    it.press("j Enter").await;
    it.shows(&["paid this invoice twice", "confirmation.csv", "from "]);
    it.hides(&["did not say"]);
    it.press("Esc").await;
    it.press("G Enter").await;
    it.shows(&["withholds this email"]);
    it.press("Esc").await;

    for key in [".", "S", "@ v"] {
        it.press(key).await;
        let screen = it.screen();
        assert!(
            screen.contains("received mail has no status") || screen.contains("only for sent mail"),
            "{key}: {screen}"
        );
    }
    it.press("/").await;
    it.paste("status:bounced").await;
    it.shows(&["received mail has no status"]);
    it.press("Enter").await;
    it.starts(" SENTBOX_API_KEY ▸ Received ▸ status:bounced ");
    it.shows(&["Nothing matches"]);
    it.hides(&["tatuses"]);
    it.press("Esc").await;
    it.press("/").await;
    it.paste("from:wren or from:nobody").await;
    it.press("Enter").await;
    assert_eq!(it.position().1, Some(1), "{}", it.screen());

    it.press("q").await;
    it.shows(&["▸ Received "]);
    it.press("q").await;
    let screen = it.screen();
    it.starts(" SENTBOX_API_KEY ▸ all mail");
    assert_eq!(screen.lines().nth(5), sent.lines().nth(5));
    it.press("g s").await;
    it.shows(&["this is the sent mail"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn service_without_received_mail_is_asked_once() {
    let (_service, requests, _home, mut it) = start(false).await;
    for _ in 0..3 {
        it.press("g r").await;
        it.starts(" SENTBOX_API_KEY ▸ all mail");
        it.shows(&["the service does not list received mail"]);
        assert_eq!(requests.load(Ordering::Relaxed), 1);
        it.press("Esc").await;
        it.hides(&["received mail"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stored_received_mail_is_shown_offline() {
    let (service, _, _home, mut it) = start(true).await;
    it.press("g r").await;
    it.press("g s").await;
    drop(service);
    it.press("g r").await;
    it.starts(" SENTBOX_API_KEY ▸ Received");
    it.shows(&["wren@example.net"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn switching_demo_lists_keeps_the_same_mail() {
    let mut it = TuiHarness::start(SIZE, 0).await;
    it.press("g r").await;
    it.starts(" demo ▸ Received");
    assert_eq!(it.position().1, Some(8));
    it.press("g r").await;
    it.starts(" demo ▸ all mail");
    it.press("g r").await;
    assert_eq!(it.position().1, Some(8), "the same mailbox");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn narrow_rows_show_sender_and_no_status() {
    let size = Size {
        width: 40,
        height: 24,
    };
    let mut it = TuiHarness::start(size, 0).await;
    it.press("g r").await;
    let screen = it.screen();
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let subject = rows.iter().position(|row| row.contains("(no subject)"));
    let below = rows[subject.expect(&screen) + 1];
    assert_eq!(below.trim_start(), "wren@example.net", "{screen}");
    it.press("S").await;
    it.shows(&["only for sent mail"]);
    it.press("Enter").await;
    it.shows(&["from "]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn card_of_received_mail_shows_what_was_sent() {
    let mut it = TuiHarness::start(SIZE, 300).await;
    it.press("/").await;
    it.paste("receipt").await;
    it.press("Enter").await;
    it.press("g r").await;
    it.press("c").await;
    it.starts(" demo ▸ recipient:");
    it.shows(&["this is sent mail; gr shows received mail"]);
    it.press("Esc").await;
    it.starts(" demo ▸ receipt");
}
