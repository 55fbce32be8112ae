//! Linear mode with typed lines against the sample mailbox over HTTP;
//! the clock is that of the test.

use std::sync::Arc;

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use tokio::sync::{Notify, mpsc, watch};

use super::harness::{test_timer, time};
use crate::config::{DesktopSettings, Env, Flags, HistorySpan, ThemeConfig};
use crate::error::Error;
use crate::mail::Mailbox;
use crate::tui::linear::{LinearIo, LinearLoop};
use crate::tui::{Environment, Memory, SessionFactory};
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

    async fn until_prompt(&mut self, from: usize) -> String {
        let is_next = |text: &String| text.len() > from && text.ends_with("> ");
        let text = self.printed.wait_for(is_next).await.unwrap();
        text[from..].trim_end_matches("> ").to_owned()
    }
}

/// Runs the program on the sample mailbox while the test types;
/// the input ends with the test.
async fn run_with<F: Future<Output = ()>>(test: impl FnOnce(Typist, String) -> F) {
    let (now, clock) = time();
    let factory = SessionFactory {
        flags: Flags::default(),
        env: Env::default(),
        clock: clock.clone(),
        keymap: Arc::default(),
        desktop: DesktopSettings::default(),
        sample: (300, 7),
        memory: Memory::default(),
    };
    let mut session = factory.open_demo(Mailbox::Sent).unwrap();
    session.info.backfill = HistorySpan::Off;
    let ctx = RenderCtx {
        theme: Theme::new(ThemeConfig::default(), None),
        glyphs: Glyphs::spoken(false),
        hyperlinks: false,
        now: clock(),
        zone: TimeZone::UTC,
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
        write: |part: &str| {
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

#[tokio::test]
async fn typed_numbers_open_rows_of_the_list() {
    run_with(async |mut typist, first| {
        assert_snapshot!("linear_first_page", first);
        let second = typist.enter("").await;
        assert!(second.starts_with("11. "), "{second}");
        assert_eq!(second.lines().count(), 10);
        assert_snapshot!("linear_email", typist.enter("2").await);
        let next = typist.enter("next").await;
        assert!(next.starts_with("email 3\nsubject: "), "{next}");
        let text = typist.enter("text").await;
        assert!(text.starts_with("text view"), "{text}");
        assert!(typist.enter("previous").await.starts_with("email 2\n"));
        assert_eq!(typist.enter("p").await.lines().next(), Some("email 1"));
        assert_eq!(typist.enter("p").await, "this is the newest email\n");
        assert!(
            typist
                .enter("list")
                .await
                .ends_with(&first[first.find("10. ").unwrap()..first.find("help").unwrap()])
        );
    })
    .await;
}

#[tokio::test]
async fn utc_command_needs_no_open_email() {
    run_with(async |mut typist, _| {
        let report = typist.enter("utc").await;
        assert_eq!(
            report,
            "times are in UTC, and so is the zone of the start\n"
        );
    })
    .await;
}

#[tokio::test]
async fn filter_card_and_older_mail_are_printed() {
    run_with(async |mut typist, _| {
        let trouble = typist.enter("/is:trouble").await;
        assert!(
            trouble.starts_with("demo, filter is:trouble, "),
            "{trouble}"
        );
        assert!(trouble.contains("\n1. "), "{trouble}");
        typist.enter("1").await;
        let card = typist.enter("card").await;
        assert!(
            card.contains("latest ") && card.contains("demo, filter recipient:"),
            "{card}"
        );
        let none = typist.enter("filter zzzzqqqq").await;
        assert!(none.contains("; \"older\" searches older mail\n"), "{none}");
        let older = typist.enter("older").await;
        assert!(
            older.contains("searching older mail: 100 emails, since "),
            "{older}"
        );
        assert!(
            older.contains("nothing matches; searched 300 emails, complete, as of 09:42\n"),
            "{older}"
        );
        let all = typist.enter("/").await;
        assert!(
            all.starts_with("demo, all mail, 300 emails, complete, live\n1. "),
            "{all}"
        );
    })
    .await;
}

#[tokio::test]
async fn last_page_loads_older_mail() {
    run_with(async |mut typist, _| {
        for page in 1..30 {
            let rows = typist.enter("").await;
            assert!(rows.starts_with(&format!("{}. ", page * 10 + 1)), "{rows}");
        }
        assert_eq!(typist.enter("").await, "no more emails\n");
        assert!(typist.enter("300").await.starts_with("email 300\n"));
    })
    .await;
}

#[tokio::test]
async fn new_emails_and_changes_come_before_a_prompt() {
    run_with(async |mut typist, _| {
        typist
            .now
            .send_modify(|now| *now += jiff::SignedDuration::from_mins(20));
        let news = typist.enter("refresh").await;
        assert!(news.contains("\nnew: "), "{news}");
        assert!(news.contains(". now "), "{news}");
        assert!(news.contains("list prints all\n"), "{news}");
        assert!(!typist.enter("status").await.contains("new: "), "only once");
    })
    .await;
}

#[tokio::test]
async fn changes_since_the_last_look_are_printed() {
    run_with(async |mut typist, _| {
        let first = typist.enter("changes").await;
        assert!(first.contains("seen-change:"), "{first}");
        typist.enter("seen").await;
        typist
            .now
            .send_modify(|now| *now += jiff::SignedDuration::from_mins(20));
        typist.enter("refresh").await;
        let changes = typist.enter("changes").await;
        assert!(changes.contains("\n1. "), "{changes}");
        assert!(changes.contains("seen-change:"), "{changes}");
    })
    .await;
}

#[tokio::test]
async fn codes_are_masked_until_reveal() {
    run_with(async |mut typist, _| {
        let found = typist.enter("/subject:\"is your Pine Notes code\"").await;
        assert!(
            found.contains(", ••• ••• is your Pine Notes code, "),
            "{found}"
        );
        let email = typist.enter("1").await;
        assert!(email.contains("subject: ••• ••• is your"), "{email}");
        let question = typist.enter("copy json").await;
        assert!(
            question.starts_with("The JSON has a code or a single-use link\n")
                && question.contains("\n1. Copy it whole\n"),
            "{question}"
        );
        let json = typist.enter("choose 1").await;
        assert!(json.contains(", printed because the clipboard is not known here:\n{"));
        let revealed = typist.enter("reveal").await;
        assert!(!revealed.contains("•••"), "{revealed}");
        let json = typist.enter("copy json").await;
        assert!(json.starts_with("JSON, printed because the clipboard is not known here:\n{"));
        typist.enter("2").await;
        assert!(
            typist.enter("1").await.contains("•••"),
            "masked again after another email"
        );
    })
    .await;
}

#[tokio::test]
async fn lines_of_the_body_are_found() {
    run_with(async |mut typist, _| {
        assert_eq!(
            typist.enter("find").await,
            "error: find needs TEXT: type find TEXT\n"
        );
        typist.enter("/subject:\"is your Pine Notes code\"").await;
        typist.enter("1").await;
        let found = typist.enter("find pine notes").await;
        assert!(
            found.starts_with("rendered view, ") && found.contains("line"),
            "{found}"
        );
        let lines = found.lines().skip(1);
        assert!(
            lines.clone().count() > 0
                && lines
                    .clone()
                    .all(|line| line.to_lowercase().contains("pine notes")),
            "{found}"
        );
        assert_eq!(
            typist.enter("find no such text").await,
            "rendered view, no line has no such text\n"
        );
    })
    .await;
}

#[tokio::test]
async fn date_command_starts_page_and_oldest_shows_last() {
    run_with(async |mut typist, _| {
        let page = typist.enter("date 18 nov").await;
        let first = page.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("1. ") && first.contains(", Wed 18 Nov "),
            "{page}"
        );
        assert_eq!(page.lines().count(), 10);
        assert!(typist.enter("").await.starts_with("11. "));
        let refused = typist.enter("date the day after").await;
        assert!(refused.starts_with("error: "), "{refused}");
        let last = typist.enter("oldest").await;
        assert!(last.contains("\n10. "), "{last}");
    })
    .await;
}

#[tokio::test]
async fn filter_of_an_email_is_undone_and_redone() {
    run_with(async |mut typist, _| {
        let refused = typist.enter("only status").await;
        assert!(refused.starts_with("error: no email is open"), "{refused}");
        typist.enter("2").await;
        let only = typist.enter("only status").await;
        assert!(only.starts_with("demo, filter status:"), "{only}");
        assert!(typist.enter("undo").await.starts_with("demo, all mail, "));
        let redone = typist.enter("redo").await;
        // The title says how far the statuses were checked meanwhile.
        let rows = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert!(redone.starts_with("demo, filter status:"), "{redone}");
        assert_eq!(rows(&redone), rows(&only));
        assert_eq!(typist.enter("redo").await, "nothing to redo\n");
        let fields = typist.enter("only").await;
        assert_eq!(
            fields,
            "error: type only and one of: recipient, domain, subject, sender, status\n"
        );
    })
    .await;
}

#[tokio::test]
async fn command_gets_the_body_after_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body");
    run_with(async |mut typist, _| {
        typist.enter("/subject:\"is your Pine Notes code\"").await;
        typist.enter("1").await;
        let question = typist.enter(&format!("|cat > '{}'", path.display())).await;
        assert!(question.contains("\n1. Masked, "), "{question}");
        let ended = typist.enter("choose 1").await;
        assert!(ended.contains(": exit status: 0; its input was"), "{ended}");
    })
    .await;
    assert!(std::fs::read_to_string(&path).unwrap().contains("•••"));
}

#[tokio::test]
async fn profile_is_chosen_from_a_list() {
    run_with(async |mut typist, _| {
        let profiles = typist.enter("profiles").await;
        assert!(profiles.contains("choose and a number"), "{profiles}");
        assert!(typist.enter("list").await.starts_with("demo, all mail, "));
        let details = typist.enter("details").await;
        assert!(!details.is_empty(), "{details}");
    })
    .await;
}

#[tokio::test]
async fn empty_list_says_how_many_bodies_are_known() {
    run_with(async |mut typist, _| {
        let found = typist.enter("/tag:nowhere").await;
        assert!(found.contains(", tags known for "), "{found}");
        assert!(
            found.contains("\nBodies and tags are known for ")
                && found.contains("\"bodies\" fetches the others"),
            "{found}"
        );
    })
    .await;
}

#[tokio::test]
async fn email_is_saved_in_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.eml");
    run_with(async |mut typist, _| {
        typist.enter("1").await;
        let refused = typist
            .enter(&format!("save {}", path.with_extension("doc").display()))
            .await;
        assert_eq!(
            refused,
            "error: not saved: end the name with .eml, .html, .txt or .json\n"
        );
        let saved = typist.enter(&format!("save {}", path.display())).await;
        assert_eq!(saved, format!("saved as {}, unmasked\n", path.display()));
    })
    .await;
    assert!(path.exists());
}

#[tokio::test]
async fn errors_are_one_line_with_what_to_do() {
    run_with(async |mut typist, _| {
        for (line, error) in [
            ("links", "no email is open; type its number first"),
            (
                "77",
                "the last printed email is 10; an empty line prints more",
            ),
            (
                "statuss",
                "no command \"statuss\"; did you mean status?; help lists all",
            ),
        ] {
            assert_eq!(typist.enter(line).await, format!("error: {error}\n"));
        }
        assert_snapshot!("linear_help", typist.enter("help").await);
        assert_snapshot!("linear_status", typist.enter("status").await);
    })
    .await;
}

#[tokio::test]
async fn attachments_are_in_the_header_and_a_list() {
    run_with(async |mut typist, _| {
        typist.enter("/subject:invoice").await;
        let email = typist.enter("1").await;
        let line = email.lines().find(|line| line.starts_with("attached: "));
        assert!(line.is_some_and(|line| line.contains(".pdf ")), "{email}");
        let list = typist.enter("attachments").await;
        assert!(list.contains("\n1. invoice-"), "{list}");
        assert!(
            list.contains("\n2. items-") && list.contains("choose and a number"),
            "{list}"
        );
    })
    .await;
}

#[tokio::test]
async fn lists_stay_until_an_item_is_chosen() {
    run_with(async |mut typist, _| {
        let nothing = typist.enter("choose 1").await;
        assert!(
            nothing.starts_with("error: there is nothing to choose"),
            "{nothing}"
        );
        typist.enter("1").await;
        let links = typist.enter("links").await;
        assert!(links.starts_with("1. "), "{links}");
        assert_eq!(
            typist
                .enter("choose 99")
                .await
                .matches("the last number is")
                .count(),
            1
        );
        let link = typist.enter("choose 1").await;
        assert!(
            link.contains(", printed because the clipboard is not known here:\nhttp"),
            "{link}"
        );
        let statistics = typist.enter("stats").await;
        assert!(statistics.contains("\nBy week\n1. "), "{statistics}");
        assert!(statistics.contains("bounce rate "), "{statistics}");
        let month = typist.enter("choose 1").await;
        assert!(month.starts_with("demo, filter after:"), "{month}");
    })
    .await;
}

#[tokio::test]
async fn export_is_written_before_the_next_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    run_with(async |mut typist, _| {
        typist.enter("/is:bounced").await;
        let wrong = typist.enter("export pdf a.pdf").await;
        assert!(
            wrong.starts_with("error: pdf is not a format; type export and one of: eml, html,"),
            "{wrong}"
        );
        let exported = typist
            .enter(&format!("export csv {}", path.display()))
            .await;
        assert!(exported.contains("codes masked"), "{exported}");
        let question = typist
            .enter(&format!(
                "export jsonl {}",
                path.with_extension("jsonl").display()
            ))
            .await;
        assert!(question.contains("codes unmasked?\n1. "), "{question}");
        assert!(
            question.contains("without it, nothing is done"),
            "{question}"
        );
        typist.enter("status").await;
        assert!(!path.with_extension("jsonl").exists());
    })
    .await;
    assert!(std::fs::read_to_string(&path).unwrap().lines().count() > 1);
}

#[tokio::test]
async fn watched_emails_are_reported_under_another_filter() {
    run_with(async |mut typist, _| {
        for number in 1..=10 {
            typist.enter(&number.to_string()).await;
            typist.enter("watch").await;
        }
        assert!(
            typist
                .enter("watched")
                .await
                .starts_with("Watched emails\n1. ")
        );
        let chosen = typist.enter("choose 1").await;
        assert!(
            chosen.contains("subject: ") && chosen.starts_with("email "),
            "{chosen}"
        );
        typist.enter("/is:bounced").await;
        typist
            .now
            .send_modify(|now| *now += jiff::SignedDuration::from_hours(2));
        let news = typist.enter("refresh").await;
        let report = "kenta_inoue@letterbox.example: delivered, ";
        assert_eq!(news.matches(report).count(), 1, "{news}");
    })
    .await;
}

#[tokio::test]
async fn word_switches_to_received_mail() {
    run_with(async |mut typist, first| {
        let received = typist.enter("received").await;
        assert!(received.contains("demo, Received, 8 emails"), "{received}");
        assert!(
            received.contains("1. from ")
                && received.contains("from wren@example.net, (no subject), "),
            "{received}"
        );
        let email = typist.enter("3").await;
        assert!(email.contains("is the shop open on sunday"), "{email}");
        assert!(
            email.contains("from: Wren") && !email.contains("status"),
            "{email}"
        );
        let sent = typist.enter("sent").await;
        assert!(sent.starts_with("demo, all mail, "), "{sent}");
        assert!(first.contains(sent.lines().nth(2).unwrap()), "{sent}");
    })
    .await;
}

#[tokio::test]
async fn typed_words_choose_views_undo_and_stop() {
    run_with(async |mut typist, _| {
        let views = typist.enter("views").await;
        assert!(
            views.contains("\n1. ") && views.contains("choose"),
            "{views}"
        );
        let shown = typist.enter("choose 1").await;
        let saved = typist.enter("save-view 8 Again").await;
        assert!(saved.contains("8 shows Again"), "{saved}");
        let all = typist.enter("undo").await;
        let title = |text: &str| text.lines().next().map(ToOwned::to_owned);
        assert_ne!(title(&shown), title(&all), "{shown}{all}");
        assert_eq!(typist.enter("stop").await, "nothing to stop\n");
    })
    .await;
}

#[tokio::test]
async fn marked_emails_are_exported_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    run_with(async |mut typist, _| {
        assert_eq!(typist.enter("mark 2").await, "1 marked email\n");
        assert_eq!(typist.enter("mark 4").await, "2 marked emails\n");
        assert!(typist.enter("list").await.contains("\n2. marked, "));
        typist
            .enter(&format!("export csv {}", path.display()))
            .await;
        assert_eq!(typist.enter("unmark").await, "unmarked 2 emails\n");
        assert!(typist.enter("mark-all").await.starts_with("marked "));
    })
    .await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
}
