//! Ring 3: sets of emails marked and exported by keys, into real files.

use std::path::{Path, PathBuf};

use ratatui::layout::Size;

use crate::app::{ExitReason, LoopEffect};
use crate::export::NOT_EXPORTED;
use crate::tui::LoopExit;
use crate::tui::tests::harness::TuiHarness;

const WIDE: Size = Size::new(160, 45);

/// Presses `E`, chooses the format after `moves`, and types the destination.
async fn export_to(it: &mut TuiHarness, moves: &str, path: &Path) {
    it.press(&format!("E {moves} Enter Ctrl-u")).await;
    it.paste(path.to_str().unwrap()).await;
    it.press("Enter").await;
}

fn count_eml_files(folder: &Path) -> usize {
    let paths = std::fs::read_dir(folder).unwrap();
    let paths = paths.map(|entry| entry.unwrap().path());
    let is_eml = |path: &PathBuf| path.extension().is_some_and(|found| found == "eml");
    paths.filter(is_eml).count()
}

fn notice(it: &TuiHarness) -> String {
    it.model().notice_text().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn marked_emails_become_files_with_retrieved_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut it = TuiHarness::start(WIDE, 60).await;
    it.press("x j j V j j j V").await;
    assert!(
        notice(&it).contains("marked 4, 5 in all"),
        "{}",
        it.screen()
    );
    export_to(&mut it, "", &path).await;
    it.shows(&["Retrieve and export"]);
    assert!(!path.exists(), "nothing is written before the question");
    it.press("Enter").await;
    it.until(|model| model.export.running.is_none()).await;
    assert_eq!(count_eml_files(&path), 5, "{}", notice(&it));
    it.shows(&["exported 5 emails to "]);
    assert!(!path.join(NOT_EXPORTED).exists());
}

#[tokio::test]
async fn filter_becomes_lines_and_records() {
    let folder = tempfile::tempdir().unwrap();
    let mut it = TuiHarness::start(WIDE, 60).await;
    let lines = folder.path().join("out.jsonl");
    export_to(&mut it, "j j j j j", &lines).await;
    it.press("k k k j Enter").await;
    it.until(|model| model.export.running.is_none()).await;
    let text = std::fs::read_to_string(&lines).unwrap();
    assert_eq!(text.lines().count(), 60, "{}", notice(&it));

    let records = folder.path().join("out.csv");
    export_to(&mut it, "j j j j j j", &records).await;
    it.until(|model| model.export.running.is_none()).await;
    let text = std::fs::read_to_string(&records).unwrap();
    assert_eq!(text.lines().count(), 61, "{}", notice(&it));
}

#[tokio::test]
async fn unreachable_service_leaves_a_list_of_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut it = TuiHarness::start(WIDE, 20).await;
    it.press("*").await;
    it.stop_service().await;
    export_to(&mut it, "", &path).await;
    it.send_keys("Enter");
    it.until(|model| {
        let progress = model.export_progress();
        progress.is_some_and(|text| !text.contains(" 0 of ") && !text.contains("request"))
    })
    .await;
    it.until(|model| model.export.running.is_none()).await;
    assert!(!path.exists(), "it is not complete");
    let part = path.with_added_extension("part");
    let written = count_eml_files(&part);
    let list = std::fs::read_to_string(part.join(NOT_EXPORTED)).unwrap();
    assert_eq!(written + list.lines().count(), 20, "{list}");
    assert_eq!(list.matches("connection refused").count(), 1, "{list}");
    let is_failed = |part: &str| notice(&it).contains(part);
    assert!(
        is_failed("connection refused by http://127.0.0.1:")
            && is_failed("; E requests the rest; not-exported.txt lists "),
        "{}",
        notice(&it)
    );
    // The same again goes on in that folder.
    it.press("E Enter Enter").await;
    it.shows(&["Retrieve and export"]);
    it.press("Enter").await;
    it.until(|model| model.export.running.is_none()).await;
    let list = std::fs::read_to_string(part.join(NOT_EXPORTED)).unwrap();
    assert_eq!(count_eml_files(&part), written, "{}", notice(&it));
    assert_eq!(written + list.lines().count(), 20, "{list}");
}

#[tokio::test]
async fn stopped_json_export_has_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.json");
    let mut it = TuiHarness::start(WIDE, 300).await;
    it.press("*").await;
    export_to(&mut it, "j j j j", &path).await;
    it.press("Enter Ctrl-x").await;
    it.until(|model| model.export.running.is_none()).await;
    let document = std::fs::read(path.with_added_extension("part")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["has_more"], true, "{}", notice(&it));
    let written = document["data"].as_array().unwrap().len();
    let expected = format!("stopped; E begins it again; exported {written} of 100 emails; in ");
    assert!(notice(&it).starts_with(&expected), "{}", notice(&it));
}

#[tokio::test]
async fn existing_destination_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut it = TuiHarness::start(WIDE, 20).await;
    export_to(&mut it, "j", folder.path()).await;
    assert!(notice(&it).contains("exists already"), "{}", notice(&it));
}

#[tokio::test]
async fn piped_email_leaves_the_loop_for_the_command() {
    let mut it = TuiHarness::start(WIDE, 20).await;
    it.press("Enter").await;
    it.press("|").await;
    it.paste("wc -l").await;
    it.press("Enter").await;
    let Some(LoopExit::Effect(LoopEffect::RunCommand(piped))) = &it.loop_exit else {
        panic!("the command gets the terminal: {}", it.screen());
    };
    assert_eq!(piped.command, "wc -l");
    assert_eq!(piped.email.summary.id.as_str(), it.selected());
}

/// Presses keys that copy; returns what the clipboard of the terminal gets.
async fn copied(it: &mut TuiHarness, keys: &str) -> String {
    it.press(keys).await;
    let Some(LoopExit::Effect(LoopEffect::SetClipboard { text, .. })) = it.loop_exit.take() else {
        panic!("{keys} copied nothing: {}", it.screen());
    };
    text
}

#[tokio::test]
async fn copy_right_before_quit_is_not_lost() {
    let mut it = TuiHarness::start(WIDE, 20).await;
    let id = it.selected();
    assert_eq!(copied(&mut it, "y i q").await, id);
    let exit = it.program.step().await.unwrap();
    let expected = Some(LoopExit::Effect(LoopEffect::Exit(ExitReason::Quit)));
    assert_eq!(exit, expected);
}

#[tokio::test]
async fn card_and_statistics_are_copied_with_dates() {
    let mut it = TuiHarness::start(WIDE, 60).await;
    it.press("y r").await;
    it.shows(&["no card is shown; c shows the one of the recipient"]);
    it.press("c").await;
    it.until(|model| model.recipient_card.summary.value().is_some())
        .await;
    insta::assert_snapshot!(copied(&mut it, "y r").await);
    it.press("q S").await;
    it.until(|model| model.statistics.result.value().is_some())
        .await;
    insta::assert_snapshot!(copied(&mut it, "y").await);
}
