//! Ring 3: the whole program by keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::RetryPolicy;
use crate::app::{ExitReason, LoopEffect, Message};
use crate::archive::EmailRow;
use crate::config::{HistorySpan, NotifyRoute, clock};
use crate::mail::{EmailId, Status};
use crate::server::{EmailSource as _, ServerConfig, serve};
use crate::tui::LoopExit;
use ratatui::layout::Size;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::tui::tests::fixed::{Hooked, sample_mailbox};
use crate::tui::tests::harness::TuiHarness;

const WIDE: Size = Size::new(160, 45);

/// The longest wait; a passing test never reaches it.
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn keys_list_open_page_and_quit() {
    let mut it = TuiHarness::start(WIDE, 350).await;
    assert_eq!(it.position(), (Some(1), Some(100)));
    it.shows(&["demo ▸ all mail"]);

    it.press("j j Enter").await;
    assert_eq!(it.open_email(), Some(it.selected()));
    it.press("J").await;
    assert_eq!(it.open_email(), Some(it.selected()));
    assert_eq!(it.position().0, Some(4));

    it.press("q G").await;
    it.press("G").await;
    it.press("G").await;
    it.press("G").await;
    assert_eq!(it.position(), (Some(350), Some(350)), "{}", it.screen());
    it.shows(&["350 emails, complete"]);

    it.press("g g q").await;
    let expected = Some(LoopExit::Effect(LoopEffect::Exit(ExitReason::Quit)));
    assert_eq!(it.loop_exit, expected);
}

#[tokio::test]
async fn tags_of_fetched_emails_have_a_column() {
    let mut it = TuiHarness::start(WIDE, 50).await;
    it.press("g c Ctrl-u t a g s Enter").await;
    it.press("Enter").await;
    let tags = it.model().list.selected().unwrap().tags.clone();
    let tags = tags.expect("the email is open, so its tags are known");
    let row = it.screen().lines().nth(2).unwrap().to_owned();
    let tag = tags.split(' ').next().unwrap();
    assert!(row.contains(tag), "{}", it.screen());
}

/// `ESC ]11;rgb:ff/ff/ff BEL`.
pub const LIGHT_REPORT: &str = "Alt-] 1 1 ; r g b : f f / f f / f f Ctrl-g";

#[tokio::test]
async fn late_report_is_read_before_the_end() {
    let mut it = TuiHarness::start(WIDE, 50).await;
    it.press("q").await;
    let expected = Some(LoopExit::Effect(LoopEffect::Exit(ExitReason::Quit)));
    assert_eq!(it.loop_exit, expected);
    assert_eq!(it.model().terminal_background, None);
    it.send_keys(LIGHT_REPORT);
    let started = tokio::time::Instant::now();
    it.program.await_background(PATIENCE).await;
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test]
async fn refresh_shows_new_emails_and_changed_statuses() {
    let mut it = TuiHarness::start(WIDE, 200).await;
    it.press("j j").await;
    let selected = it.selected();
    it.wait(600).await;
    assert_eq!(it.selected(), selected);
    assert!(it.model().list.unseen_above > 5, "{}", it.screen());
    let changed = it
        .model()
        .list
        .rows()
        .iter()
        .filter(|row| it.model().list.has_changed(&row.summary.id))
        .count();
    assert!(changed > 0, "{}", it.screen());
    it.press("Home").await;
    assert_eq!(it.model().list.unseen_above, 0);
    assert_eq!(it.position().0, Some(1));
}

#[tokio::test]
async fn watched_email_rings_the_bell_when_it_settles() {
    let mut it = TuiHarness::start(WIDE, 200).await;
    it.select_in_progress().await;
    it.press(".").await;
    it.shows(&["until its status settles", "»"]);
    let id = EmailId::new(it.selected());
    it.press("G g g").await;
    let mut reports = Vec::new();
    for _ in 0..40 {
        it.wait(3_600).await;
        if let Some(LoopExit::Effect(LoopEffect::Notify(NotifyRoute::Bell, text))) =
            it.loop_exit.take()
        {
            reports.push(text);
        }
        if !it.model().is_watched(&id) {
            break;
        }
    }
    let last = reports.last().expect("the email settles within days");
    assert!(!it.model().is_watched(&id), "{last}");
    let is_final = [Status::Delivered, Status::Bounced]
        .iter()
        .any(|status| last.contains(status.label()));
    assert!(is_final, "{last}");
}

#[tokio::test]
async fn statistics_lead_to_the_emails_of_a_line() {
    let mut it = TuiHarness::start(WIDE, 350).await;
    it.press("S").await;
    it.shows(&["Statistics of all mail", "bounce rate"]);
    it.press("j Enter").await;
    let filter = it.model().list.filter.text().to_owned();
    assert!(filter.starts_with("on:"), "{filter}");
    let total = it.position().1.unwrap();
    assert!((1..100).contains(&total), "{total}");
}

#[tokio::test]
async fn offline_screen_shows_stored_mail() {
    let mut it = TuiHarness::start(WIDE, 50).await;
    it.press("j").await;
    it.press("k").await;
    it.stop_service().await;
    it.press("r").await;
    it.shows(&["offline"]);
    it.press("j").await;
    assert_eq!(it.open_email(), Some(it.selected()), "read before");
    it.press("j j").await;
    it.shows(&["This email could not be loaded"]);
    assert_eq!(it.position(), (Some(4), Some(50)));
}

#[tokio::test]
async fn each_body_view_can_be_shown() {
    let mut it = TuiHarness::start(Size::new(100, 60), 50).await;
    it.press("Enter z").await;
    it.press("Alt-4").await;
    it.shows(&[r#""object": "email""#]);
    let raw = it.screen();
    it.press("Alt-3").await;
    assert_ne!(it.screen(), raw);
    it.press("Alt-1").await;
    assert_eq!(it.open_email(), Some(it.selected()));
}

#[tokio::test]
async fn moving_back_and_forth_fetches_no_email_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let emails = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&emails);
    let source = Hooked::with_email(sample_mailbox(50), move |mailbox, id| {
        noted.lock().unwrap().push(id.as_str().to_owned());
        mailbox.email(id)
    });
    let mut server = JoinSet::new();
    server.spawn(serve(
        listener,
        source,
        ServerConfig::demo(10_000),
        clock::system_clock(),
        std::future::pending(),
    ));
    let mut it = TuiHarness::with_server_at(&base, WIDE, RetryPolicy::TUI).await;
    for key in ["j", "j", "Enter", "J", "K", "Esc", "k"] {
        it.press(key).await;
    }
    let mut requested = emails.lock().unwrap().clone();
    let all = requested.len();
    requested.sort_unstable();
    requested.dedup();
    assert!(all >= 4, "{all} requests");
    assert_eq!(requested.len(), all);
}

#[tokio::test]
async fn many_keys_at_once_load_one_email() {
    let mut it = TuiHarness::start(WIDE, 1_000).await;
    let keys = "j ".repeat(80);
    it.press(&keys).await;
    assert_eq!(it.position().0, Some(81));
    assert_eq!(it.open_email(), Some(it.selected()));
}

#[tokio::test]
async fn filter_applies_while_typing_and_searches_older_mail() {
    let mut it = TuiHarness::start(WIDE, 600).await;
    let all = it.selected();
    it.press("/ s t a t u s : b o u n c e d").await;
    let (_, found) = it.position();
    let found = found.expect("it is counted");
    assert!(found < 100, "{}", it.screen());
    it.shows(&[&format!("{found} of 100 since")]);
    it.press("Enter b").await;
    let (_, more) = it.position();
    assert!(more > Some(found), "{}", it.screen());
    it.shows(&["600, complete"]);
    let rows = it.model().list.rows();
    let is_bounced = |row: &EmailRow| row.summary.status == Status::Bounced;
    assert!(rows.iter().all(is_bounced));
    it.press("Esc").await;
    assert_eq!((it.selected(), it.position()), (all, (Some(1), Some(600))));
    it.press("@ t").await;
    it.shows(&["▸ recipient:"]);
    it.press("u").await;
    assert_eq!(it.position().1, Some(600));
}

#[tokio::test]
async fn recipient_card_counts_all_mail_to_the_address() {
    let mut it = TuiHarness::start(WIDE, 2_000).await;
    it.press("G").await;
    it.press("G").await;
    let open = it.open_email();
    it.press("c").await;
    let model = it.model();
    let tally = model
        .recipient_card
        .summary
        .value()
        .expect("it is counted")
        .clone();
    assert_eq!(Some(tally.total), model.list.total);
    assert_eq!(it.open_email(), open.clone());
    let sum: u64 = tally.statuses.iter().map(|(_, count)| count).sum();
    assert_eq!(sum, tally.total);
    it.shows(&[&format!("{} of 300 emails since", tally.total)]);
    it.press("b").await;
    let model = it.model();
    let further = model
        .recipient_card
        .summary
        .value()
        .expect("it is counted again");
    assert_eq!(Some(further.total), model.list.total);
    assert!(further.total >= tally.total, "{}", it.screen());
    it.shows(&["2 000 emails, complete"]);
    it.press("Esc").await;
    assert_eq!(it.open_email(), open);
}

#[tokio::test]
async fn saved_view_is_written_to_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    let env = [
        ("HOME", folder),
        ("SENTBOX_API_KEY", "re_test"),
        ("SENTBOX_BASE_URL", "http://127.0.0.1:9"),
    ]
    .into_iter()
    .collect();
    let mut it = TuiHarness::with_env(WIDE, env).await;
    it.press("/ i s : t r o u b l e Enter").await;
    it.press("W Ctrl-u 7 Space O d d Enter").await;
    let text = std::fs::read_to_string(home.path().join(".config/sentbox/config.toml")).unwrap();
    let odd = "7 = { name = \"Odd\", query = \"is:trouble\" }";
    assert!(text.contains(odd), "{text}");
    assert!(text.contains("Today"), "{text}");
    it.shows(&["Odd", "written to"]);
}

#[tokio::test]
async fn estimated_requests_are_near_the_number_needed() {
    let mut it = TuiHarness::start(WIDE, 2_000).await;
    let start = "2026-11-08T00:00:00Z".parse().unwrap();
    let estimate = it.model().estimate_requests_since(start).unwrap();
    let total = |it: &TuiHarness| it.model().list.archive_total.unwrap();
    let before = total(&it);
    it.press("g d 2 0 2 6 - 1 1 - 0 8 Enter Enter").await;
    it.until(|model| model.load_older.running.is_none()).await;
    let needed = (total(&it) - before).div_ceil(100);
    let range = needed..=2 * needed;
    assert!(range.contains(&estimate), "{estimate} of {needed}");
}

#[tokio::test]
async fn date_prompt_jumps_to_the_date() {
    let mut it = TuiHarness::start(WIDE, 600).await;
    it.press("g d y e s t e r d a y Enter").await;
    let (position, total) = it.position();
    assert!(position > Some(1), "{}", it.screen());
    assert!(position < total, "{}", it.screen());
    let sent = it
        .model()
        .list
        .selected()
        .and_then(|row| row.summary.created.parsed);
    let midnight = "2026-11-20T00:00:00Z".parse().unwrap();
    assert!(sent.is_some_and(|at| at < midnight), "{}", it.screen());
    it.press("k").await;
    let above = it
        .model()
        .list
        .selected()
        .and_then(|row| row.summary.created.parsed);
    assert!(above.is_some_and(|at| at >= midnight), "{}", it.screen());
}

#[tokio::test]
async fn backfill_fetches_older_mail_without_a_key_press() {
    let it = TuiHarness::with_backfill(WIDE, 350, HistorySpan::All).await;
    assert_eq!(it.position(), (Some(1), Some(350)), "{}", it.screen());
    it.shows(&["350 emails, complete"]);
    let it = TuiHarness::start(WIDE, 350).await;
    assert_eq!(it.position(), (Some(1), Some(100)));
}

#[tokio::test]
async fn recorded_messages_replay_to_the_same_model() {
    let mut it = TuiHarness::start(WIDE, 150).await;
    it.press("j j Enter J / r e Enter n q G").await;
    it.wait(40).await;
    it.press("/ b o u n c e Enter u g [ M ? q c 1 Ctrl-l ! Esc")
        .await;
    let (mut model, messages) = *it.program.recording.clone();
    assert!(messages.len() > 60, "{}", messages.len());
    for message in messages {
        model.update(message);
    }
    assert_eq!(format!("{model:?}"), format!("{:?}", it.model()));
}

#[tokio::test]
async fn bodies_that_filter_searches_are_fetched() {
    let mut it = TuiHarness::start(WIDE, 40).await;
    it.press("/ b o d y : t h e Enter").await;
    let before = it.position().1.unwrap();
    it.press("g b").await;
    it.press("Enter").await;
    let (list, fetch) = (&it.model().list, &it.model().body_fetch.running);
    assert_eq!((list.bodies_known, fetch), (Some(40), &None));
    assert!(list.total.unwrap() > before, "{}", it.screen());
    let notice = "the bodies that this filter searches are fetched";
    it.shows(&[notice]);
}

#[tokio::test]
async fn letters_at_once_are_inserted_together() {
    let mut it = TuiHarness::start(WIDE, 40).await;
    it.press("/").await;
    let before = it.program.recording.1.len();
    it.press("r e c e i p t").await;
    let is_input = |it: &&Message| matches!(it, Message::Typed(_) | Message::KeyPressed(_));
    let input = it.program.recording.1[before..].iter().filter(is_input);
    assert_eq!(input.count(), 2, "each starts a search");
    assert_eq!(it.model().list.filter.text(), "receipt");
    it.press("Backspace x Enter j").await;
    assert_eq!(it.model().list.filter.text(), "receipx");
}
