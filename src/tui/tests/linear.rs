//! Linear mode with typed lines against the sample mailbox over HTTP;
//! the clock is that of the test.

use std::sync::Arc;

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, mpsc, watch};

use super::harness::{factory, test_timer, time};
use crate::config::{Env, HistorySpan, ThemeConfig};
use crate::error::Error;
use crate::mail::Mailbox;
use crate::tui::Environment;
use crate::tui::linear::{LinearIo, LinearLoop};
use crate::view::{Glyphs, RenderCtx, Theme};

/// A running program, whose printed text a test sees.
struct Typist {
    keyboard: mpsc::Sender<String>,
    printed: watch::Receiver<String>,
    now: watch::Sender<jiff::Timestamp>,
}

impl Typist {
    /// Types a line and waits for the next prompt; returns what was printed.
    async fn enter(&mut self, line: &str) -> String {
        let before = self.printed.borrow_and_update().len();
        self.keyboard.send(line.to_owned()).await.unwrap();
        self.until_prompt(before).await
    }

    /// Enters a line, and checks that the answer has each of these texts.
    async fn says(&mut self, line: &str, texts: &[&str]) -> String {
        let printed = self.enter(line).await;
        for text in texts {
            assert!(printed.contains(text), "{line}: no {text:?}:\n{printed}");
        }
        printed
    }

    /// Enters a line, and checks that the answer starts with this text.
    async fn starts(&mut self, line: &str, text: &str) -> String {
        let printed = self.enter(line).await;
        let starts = printed.starts_with(text);
        assert!(starts, "{line}: no {text:?}:\n{printed}");
        printed
    }

    fn pass(&self, minutes: i64) {
        let pause = jiff::SignedDuration::from_mins(minutes);
        self.now.send_modify(|now| *now += pause);
    }

    async fn until_prompt(&mut self, from: usize) -> String {
        let is_next = |text: &String| text.len() > from && text.ends_with("> ");
        let text = self.printed.wait_for(is_next).await.unwrap();
        text[from..].trim_end_matches("> ").to_owned()
    }
}

/// Runs the program on the sample mailbox while the test types;
/// the input ends with the test.
#[tokio::main(flavor = "current_thread")]
async fn run_with<F: Future<Output = ()>>(test: impl FnOnce(Typist, String) -> F) {
    let (now, clock) = time();
    let factory = factory(Env::default(), clock.clone(), (300, 7));
    let mut session = factory.open_demo(Mailbox::Sent).unwrap();
    session.info.backfill = HistorySpan::Off;
    let ctx = RenderCtx {
        theme: Theme::new(ThemeConfig::default(), None),
        glyphs: Glyphs::spoken(false),
        now: clock().to_zoned(TimeZone::UTC),
        ..crate::view::tests::render_ctx()
    };
    let env = Environment {
        sessions: factory,
        timer: test_timer(Arc::new(Notify::new())),
        panic_at: None,
    };
    let (keyboard, lines) = mpsc::channel(1);
    let (text, printed) = watch::channel(String::new());
    let io = LinearIo {
        lines,
        write: &mut |part: &str| {
            text.send_modify(|text| text.push_str(part));
            Ok::<(), Error>(())
        },
        prompt: "> ",
        columns: 78,
    };
    let mut program = LinearLoop::new(session, env, ctx, io);
    let mut typist = Typist {
        keyboard,
        printed,
        now,
    };
    let test = async {
        let first = typist.until_prompt(0).await;
        // The archive and the service answer in either order.
        let first = first.trim_start_matches("loading the newest emails\n");
        test(typist, first.to_owned()).await;
    };
    let (ended, ()) = tokio::join!(program.run(), test);
    ended.unwrap();
}

#[test]
fn typed_numbers_open_rows_of_the_list() {
    run_with(async |mut it, first| {
        assert_snapshot!("linear_first_page", first);
        let second = it.starts("", "11. ").await;
        assert_eq!(second.lines().count(), 10);
        assert_snapshot!("linear_email", it.enter("2").await);
        it.starts("next", "email 3\nsubject: ").await;
        it.starts("text", "text view").await;
        it.starts("previous", "email 2\n").await;
        assert_eq!(it.enter("p").await.lines().next(), Some("email 1"));
        assert_eq!(it.enter("p").await, "this is the first email here\n");
        let last_row = &first[first.find("10. ").unwrap()..first.find("help").unwrap()];
        assert!(it.enter("list").await.ends_with(last_row));
    });
}

#[test]
fn empty_line_keeps_the_open_email() {
    run_with(async |mut it, _| {
        it.enter("2").await;
        it.starts("", "the email stays open; ").await;
        it.starts("  ", "the email stays open; ").await;
        it.starts("text", "text view").await;
        it.starts("more", "11. ").await;
        it.starts("", "21. ").await;
    });
}

#[test]
fn utc_command_needs_no_open_email() {
    run_with(async |mut it, _| {
        let report = "times are in UTC, and so is the zone of the start\n";
        assert_eq!(it.enter("utc").await, report);
    });
}

#[test]
fn filter_card_and_older_mail_are_printed() {
    run_with(async |mut it, _| {
        let found = it.starts("/is:trouble", "demo, filter is:trouble, ").await;
        assert!(found.contains("\n1. "), "{found}");
        it.enter("1").await;
        it.says("card", &["latest ", "demo, filter recipient:"])
            .await;
        let long = format!("filter {}", "x".repeat(20_001));
        it.starts(&long, "error: too long: a prompt takes 20 000 ")
            .await;
        it.says("filter zzzzqqqq", &["; \"older\" searches older mail\n"])
            .await;
        it.says(
            "older",
            &[
                "searching older mail: 100 emails, since ",
                "nothing matches; searched 300 emails, complete, as of 09:42\n",
            ],
        )
        .await;
        it.starts("/", "demo, all mail, 300 emails, complete, live\n1. ")
            .await;
    });
}

#[test]
fn last_page_loads_older_mail() {
    run_with(async |mut it, _| {
        for page in 1..30 {
            it.starts("", &format!("{}. ", page * 10 + 1)).await;
        }
        assert_eq!(it.enter("").await, "no more emails\n");
        it.starts("300", "email 300\n").await;
    });
}

#[test]
fn new_emails_and_changes_come_before_a_prompt() {
    run_with(async |mut it, _| {
        it.pass(20);
        it.says("refresh", &["\nnew: ", ". now ", "list prints all\n"])
            .await;
        assert!(!it.enter("status").await.contains("new: "), "only once");
    });
}

#[test]
fn changes_since_the_last_look_are_printed() {
    run_with(async |mut it, _| {
        it.says("changes", &["seen-change:"]).await;
        it.enter("seen").await;
        it.pass(20);
        it.enter("refresh").await;
        it.says("changes", &["\n1. ", "seen-change:"]).await;
    });
}

#[test]
fn codes_are_masked_until_reveal() {
    run_with(async |mut it, _| {
        it.says(
            "/subject:\"is your Pine Notes code\"",
            &[", ••• ••• is your Pine Notes code, "],
        )
        .await;
        it.says("1", &["subject: ••• ••• is your"]).await;
        let question = "The JSON has a code or a single-use link\n";
        let question = it.starts("copy json", question).await;
        assert!(question.contains("\n1. Copy it whole\n"), "{question}");
        let printed = ", printed because the clipboard is not known here:\n{";
        it.says("choose 1", &[printed]).await;
        let revealed = it.enter("reveal").await;
        assert!(!revealed.contains("•••"), "{revealed}");
        it.starts("copy json", &format!("JSON{printed}")).await;
        it.enter("2").await;
        // Masked again after another email.
        assert!(it.enter("1").await.contains("•••"));
    });
}

#[test]
fn lines_of_the_body_are_found() {
    run_with(async |mut it, _| {
        let expected = "error: find needs TEXT: type find TEXT\n";
        assert_eq!(it.enter("find").await, expected);
        it.enter("/subject:\"is your Pine Notes code\"").await;
        it.enter("1").await;
        let found = it.starts("find pine notes", "rendered view, ").await;
        assert!(found.contains("line"), "{found}");
        let lines = found.lines().skip(1);
        assert!(lines.clone().count() > 0, "{found}");
        for line in lines {
            let line = line.to_lowercase();
            assert!(line.contains("pine notes"), "{line}");
        }
        let expected = "rendered view, no line has no such text\n";
        assert_eq!(it.enter("find no such text").await, expected);
    });
}

#[test]
fn date_command_starts_page_and_oldest_shows_last() {
    run_with(async |mut it, _| {
        let page = it.enter("date 18 nov").await;
        let first = page.lines().next().unwrap_or_default();
        assert!(first.starts_with("1. "), "{page}");
        assert!(first.contains(", Wed 18 Nov "), "{page}");
        assert_eq!(page.lines().count(), 10);
        it.starts("", "11. ").await;
        it.starts("date the day after", "error: ").await;
        it.says("oldest", &["\n10. "]).await;
    });
}

#[test]
fn filter_of_an_email_is_undone_and_redone() {
    run_with(async |mut it, _| {
        it.starts("only status", "error: no email is open").await;
        it.enter("2").await;
        let only = it.starts("only status", "demo, filter status:").await;
        it.starts("undo", "demo, all mail, ").await;
        let redone = it.starts("redo", "demo, filter status:").await;
        // The title says how far the statuses were checked meanwhile.
        let rows = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rows(&redone), rows(&only));
        assert_eq!(it.enter("redo").await, "nothing to redo\n");
        let fields = it.enter("only").await;
        let expected = "error: type only and one of: recipient, domain, subject, sender, status\n";
        assert_eq!(fields, expected);
    });
}

#[test]
fn command_gets_the_body_after_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body");
    run_with(async |mut it, _| {
        it.enter("/subject:\"is your Pine Notes code\"").await;
        it.enter("1").await;
        it.says(&format!("|cat > '{}'", path.display()), &["\n1. Masked, "])
            .await;
        it.says("choose 1", &[": exit status: 0; its input was"])
            .await;
    });
    assert!(std::fs::read_to_string(&path).unwrap().contains("•••"));
}

#[test]
fn profile_is_chosen_from_a_list() {
    run_with(async |mut it, _| {
        it.says("profiles", &["type choose and a number"]).await;
        it.starts("list", "demo, all mail, ").await;
        let details = it.enter("details").await;
        assert!(!details.is_empty(), "{details}");
    });
}

#[test]
fn empty_list_says_how_many_bodies_are_known() {
    run_with(async |mut it, _| {
        it.says(
            "/tag:nowhere",
            &[
                ", tags known for ",
                "\nBodies and tags are known for ",
                "\"bodies\" fetches the others",
            ],
        )
        .await;
    });
}

#[test]
fn email_is_saved_in_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.eml");
    run_with(async |mut it, _| {
        it.enter("1").await;
        let refused = it
            .enter(&format!("save {}", path.with_extension("doc").display()))
            .await;
        let expected = "error: not saved: end the name with .eml, .html, .txt or .json\n";
        assert_eq!(refused, expected);
        let saved = it.enter(&format!("save {}", path.display())).await;
        assert_eq!(saved, format!("saved as {}, unmasked\n", path.display()));
    });
    assert!(path.exists());
}

#[test]
fn errors_are_one_line_with_what_to_do() {
    run_with(async |mut it, _| {
        for (line, error) in [
            ("links", "no email is open; type its number first"),
            (
                "77",
                "the last printed email is 10; more prints the next ones",
            ),
            (
                "statuss",
                "no command \"statuss\"; did you mean status?; help lists all",
            ),
        ] {
            assert_eq!(it.enter(line).await, format!("error: {error}\n"));
        }
        assert_snapshot!("linear_help", it.enter("help").await);
        assert_snapshot!("linear_status", it.enter("status").await);
    });
}

#[test]
fn attachments_are_in_the_header_and_a_list() {
    run_with(async |mut it, _| {
        it.enter("/subject:invoice").await;
        let email = it.enter("1").await;
        let line = email.lines().find(|line| line.starts_with("attached: "));
        assert!(line.is_some_and(|line| line.contains(".pdf ")), "{email}");
        it.says(
            "attachments",
            &["\n1. invoice-", "\n2. items-", "type choose and a number"],
        )
        .await;
    });
}

#[test]
fn lists_stay_until_an_item_is_chosen() {
    run_with(async |mut it, _| {
        it.starts("choose 1", "error: there is nothing to choose")
            .await;
        it.enter("1").await;
        it.starts("links", "1. ").await;
        let error = it.enter("choose 99").await;
        assert_eq!(error.matches("the last number is").count(), 1);
        it.says(
            "choose 1",
            &[", printed because the clipboard is not known here:\nhttp"],
        )
        .await;
        it.says("stats", &["\nBy week\n1. ", "bounce rate "]).await;
        it.starts("choose 1", "demo, filter after:").await;
    });
}

#[test]
fn export_is_written_before_the_next_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    run_with(async |mut it, _| {
        it.enter("/is:bounced").await;
        it.starts(
            "export pdf a.pdf",
            "error: pdf is not a format; type export and one of: eml, html,",
        )
        .await;
        it.says(&format!("export csv {}", path.display()), &["codes masked"])
            .await;
        it.says(
            &format!("export jsonl {}", path.with_extension("jsonl").display()),
            &["codes unmasked?\n1. ", "until then, nothing is done"],
        )
        .await;
        it.enter("status").await;
        assert!(!path.with_extension("jsonl").exists());
    });
    assert!(std::fs::read_to_string(&path).unwrap().lines().count() > 1);
}

#[test]
fn watched_emails_are_reported_under_another_filter() {
    run_with(async |mut it, _| {
        for number in 1..=10 {
            it.enter(&number.to_string()).await;
            it.enter("watch").await;
        }
        it.starts("watched", "Watched emails\n1. ").await;
        let chosen = it.starts("choose 1", "email ").await;
        assert!(chosen.contains("subject: "), "{chosen}");
        it.enter("/is:bounced").await;
        it.pass(120);
        let news = it.enter("refresh").await;
        let report = "kenta_inoue@letterbox.example: delivered, ";
        assert_eq!(news.matches(report).count(), 1, "{news}");
    });
}

#[test]
fn word_switches_to_received_mail() {
    run_with(async |mut it, first| {
        it.says(
            "received",
            &[
                "demo, Received, 8 emails",
                "1. from ",
                "from wren@example.net, (no subject), ",
            ],
        )
        .await;
        let email = it
            .says("3", &["is the shop open on sunday", "from: Wren"])
            .await;
        assert!(!email.contains("status"), "{email}");
        let sent = it.starts("sent", "demo, all mail, ").await;
        assert!(first.contains(sent.lines().nth(2).unwrap()), "{sent}");
    });
}

#[test]
fn typed_words_choose_views_undo_and_stop() {
    run_with(async |mut it, _| {
        it.says("views", &["\n1. ", "choose"]).await;
        let shown = it.enter("choose 1").await;
        it.says("save-view 8 Again", &["8 shows Again"]).await;
        let all = it.enter("undo").await;
        let title = |text: &str| text.lines().next().map(ToOwned::to_owned);
        assert_ne!(title(&shown), title(&all), "{shown}{all}");
        assert_eq!(it.enter("stop").await, "nothing to stop\n");
        for filter in ["filter is:bounced", "filter is:delivered"] {
            it.enter(filter).await;
            it.says("save-view 8 Other", &["the same line again replaces Again"])
                .await;
        }
        it.says(
            "save-view 8 Other",
            &["8 shows Other from now on; until you leave"],
        )
        .await;
    });
}

#[test]
fn marking_another_email_leaves_one_open() {
    run_with(async |mut it, _| {
        let opened = it.enter("1").await;
        assert_eq!(it.enter("mark 2").await, "1 marked email\n");
        assert_eq!(
            it.enter("rendered").await.lines().last(),
            opened.lines().last()
        );
    });
}

#[test]
fn marked_emails_are_exported_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    run_with(async |mut it, _| {
        assert_eq!(it.enter("mark 2").await, "1 marked email\n");
        assert_eq!(it.enter("mark 4").await, "2 marked emails\n");
        it.says("list", &["\n2. marked, "]).await;
        it.enter(&format!("export csv {}", path.display())).await;
        assert_eq!(it.enter("unmark").await, "unmarked 2 emails\n");
        it.starts("mark-all", "marked ").await;
    });
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
}
