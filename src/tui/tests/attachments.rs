//! Ring 3: an attachment of the sample mailbox is saved by keys into a real file.

use ratatui::layout::Size;

use crate::tui::tests::harness::TuiHarness;

#[tokio::test]
async fn attachment_of_the_open_email_becomes_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let size = Size {
        width: 160,
        height: 45,
    };
    let mut it = TuiHarness::start(size, 300).await;
    it.press("/").await;
    it.paste("subject:invoice").await;
    it.press("Enter Enter").await;
    it.until(|model| !model.reader.attachments().is_empty())
        .await;
    let screen = it.screen();
    let line = screen.lines().find(|line| line.contains("attached "));
    assert!(line.is_some_and(|line| line.contains(".pdf ")), "{screen}");
    it.press("a Enter Ctrl-u").await;
    it.paste(folder.path().to_str().unwrap()).await;
    it.press("Enter").await;
    let notice = || it.model().notice_text().unwrap_or_default().to_owned();
    assert!(notice().starts_with("saved as "), "{}", notice());
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1);
    let path = files[0].as_ref().unwrap().path();
    assert!(std::fs::read(path).unwrap().starts_with(b"%PDF-"));
    // A name without a folder is one in the current folder.
    let name = format!("sentbox-test-{}.pdf", std::process::id());
    it.press("a Enter Ctrl-u").await;
    it.paste(&name).await;
    it.press("Enter").await;
    let path = std::env::current_dir().unwrap().join(&name);
    let is_written = std::fs::remove_file(&path).is_ok();
    let notice = it.model().notice_text().unwrap_or_default().to_owned();
    assert!(is_written, "{notice}");
    assert!(notice.starts_with("saved as /"), "{notice}");
    assert!(notice.contains(&format!("/{name}, ")), "{notice}");
}
