//! Two screens on one archive:
//! each shows what the other learns, without waiting for its own refresh.

use std::path::PathBuf;

use crate::app::{Focus, Model, ReaderState, StorageMode};
use crate::archive::{Archive, ArchiveLocation, PurgeTarget};
use crate::tui::tests::harness::{Host, TuiHarness};
use ratatui::layout::Size;
use tempfile::TempDir;

const WIDE: Size = Size::new(160, 45);

/// Starts a service and two screens, with the folder of their archive.
async fn start() -> (Host, TempDir, TuiHarness, TuiHarness) {
    let (host, folder) = (Host::start(200).await, tempfile::tempdir().unwrap());
    let one = screen(&host, &folder).await;
    let two = screen(&host, &folder).await;
    (host, folder, one, two)
}

async fn screen(host: &Host, folder: &TempDir) -> TuiHarness {
    TuiHarness::with_archive_at(&archive(folder), &host.base(), WIDE).await
}

fn archive(folder: &TempDir) -> PathBuf {
    folder.path().join("archive.sqlite")
}

fn is_offline(model: &Model) -> bool {
    model
        .service
        .error
        .as_ref()
        .is_some_and(crate::error::Error::is_offline)
}

#[tokio::test]
async fn fetched_page_appears_on_the_other_screen() {
    let (host, _folder, mut one, mut two) = Box::pin(start()).await;
    two.press("j j").await;
    let selected = two.selected();
    host.pass(600);
    one.wait(600).await;
    let new = one.model().list.unseen_above;
    assert!(new > 5, "{}", one.screen());
    two.until(|model| model.list.unseen_above == new).await;
    assert_eq!(two.selected(), selected);
    assert_eq!(two.position().1, one.position().1);
    let changed = |it: &TuiHarness| {
        let list = &it.model().list;
        list.rows()
            .iter()
            .filter(|row| list.has_changed(&row.summary.id))
            .count()
    };
    assert!(changed(&two) > 0, "{}", two.screen());
}

#[tokio::test]
async fn stored_rows_are_drawn_before_anything_starts() {
    let (_host, _folder, one, two) = Box::pin(start()).await;
    let list = &two.model().list;
    let row = list.selected().expect("an email is selected");
    let (_, domain) = row.summary.to[0].email.split_once('@').unwrap();
    assert!(two.first_screen.contains(domain), "{}", two.first_screen);
    assert!(!one.first_screen.contains(domain), "it had none");
}

#[tokio::test]
async fn open_email_changes_its_status_on_both_screens() {
    let (host, _folder, mut one, mut two) = Box::pin(start()).await;
    two.press("Enter").await;
    let opened = |model: &Model| match model.reader_state() {
        ReaderState::Ready(opened, Some(_)) => Some(opened.email.summary.status.clone()),
        _ => None,
    };
    let before = opened(two.model());
    host.pass(20 * 60);
    one.wait(20 * 60).await;
    two.until(|model| opened(model).is_some_and(|status| Some(status) != before))
        .await;
}

#[tokio::test]
async fn older_mail_fetched_elsewhere_is_counted() {
    let (_host, _folder, mut one, mut two) = Box::pin(start()).await;
    one.press("G").await;
    one.press("G").await;
    assert_eq!(one.position().1, Some(200), "{}", one.screen());
    two.until(|model| model.list.total == Some(200)).await;
}

#[tokio::test]
async fn outage_shows_on_both_screens_until_it_ends() {
    let (mut host, _folder, mut one, mut two) = Box::pin(start()).await;
    host.stop().await;
    one.wait(30).await;
    assert!(is_offline(one.model()), "{}", one.screen());
    two.until(is_offline).await;
    // The refresh of the other screen reads the record of the outage, and sends no request.
    two.wait(30).await;
    assert!(is_offline(two.model()), "{}", two.screen());
    host.serve().await;
    one.wait(30).await;
    assert!(!is_offline(one.model()), "{}", one.screen());
    two.until(|model| !is_offline(model)).await;
}

#[tokio::test]
async fn failed_request_makes_the_refreshing_screen_try() {
    let (mut host, _folder, mut one, mut two) = Box::pin(start()).await;
    host.stop().await;
    two.press("j j j Enter").await;
    let state = two.model().reader_state();
    assert!(matches!(state, ReaderState::Failed(_)), "{}", two.screen());
    one.until(is_offline).await;
    two.until(is_offline).await;
}

#[tokio::test]
async fn purge_elsewhere_closes_its_email_and_is_named() {
    let (_host, folder, mut one, mut two) = Box::pin(start()).await;
    one.press("j z").await;
    two.press("S").await;
    two.shows(&[" 100 emails since"]);
    let row = one.model().list.selected().unwrap().summary.clone();
    let other = Archive::open(&ArchiveLocation::Disk(archive(&folder))).unwrap();
    let target = PurgeTarget::To(row.to[0].email.to_string());
    let (count, _) = other.purge(&target).unwrap();
    one.until(|model| model.focus() == Focus::List).await;
    one.shows(&["the email that was open is no longer in the archive"]);
    two.until(|model| {
        model
            .statistics
            .result
            .value()
            .is_some_and(|it| it.total == 100 - count)
    })
    .await;
    one.press("/").await;
    one.paste(row.id.as_str()).await;
    one.press("Enter").await;
    one.shows(&["This email was purged: the archive leaves it out."]);
}

#[tokio::test]
async fn removed_archive_is_reported_and_stops_requests() {
    let (_host, folder, mut one, _two) = Box::pin(start()).await;
    std::fs::remove_file(archive(&folder)).unwrap();
    one.until(|model| matches!(model.session.storage, StorageMode::Unavailable(_)))
        .await;
    one.shows(&[
        "the archive file was removed: new mail is not stored; restart sentbox",
        "no archive",
    ]);
    one.hides(&["· live"]);
    one.press("r").await;
    one.shows(&["the archive file was removed"]);
}

#[tokio::test]
async fn read_only_archive_shows_rows_and_fetches_emails() {
    let (host, folder, one, two) = Box::pin(start()).await;
    drop((one, two));
    let path = archive(&folder);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
    let mut it = screen(&host, &folder).await;
    assert_eq!(it.position().1, Some(100), "{}", it.screen());
    it.shows(&["100 emails since 13 Oct 11:17 · read-only archive"]);
    it.hides(&["· live"]);
    it.press("G Enter").await;
    assert_eq!(it.open_email(), Some(it.selected()), "{}", it.screen());
    it.press("r").await;
    it.shows(&["read-only archive: new mail is not stored"]);
}
