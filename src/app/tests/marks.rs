//! Marks, the export of a set, and the email as the input of a command.

use std::path::Path;

use super::BUDGET;
use super::env::{AppHarness, FakeService, effect, session, sync_report};
use super::filter::searched;
use crate::app::list::marks::MAX_MARKS;
use crate::app::{
    CollectedIds, Effect, ExitReason, Focus, LoopEffect, Message, PipedCommand, RequestKind,
    SessionInfo, TimerKind,
};
use crate::error::{Error, ErrorKind};
use crate::export::{ExportFormat, ExportJob, ExportScope, SetFormat};
use crate::mail::EmailId;

fn app(emails: i64) -> AppHarness {
    AppHarness::at_rest(120, 40, FakeService::with_emails(emails))
}

/// The export that was planned last.
fn planned(app: &AppHarness) -> &ExportJob {
    let jobs = app
        .requested(effect!(Effect::PlanExport(_, job) => job))
        .pop();
    jobs.expect("an export was planned")
}

fn batches(app: &AppHarness) -> usize {
    app.count(effect!(Effect::ExportBatch(_, _, _)))
}

#[test]
fn quitting_with_marks_asks_first() {
    let exits = |app: &AppHarness| app.count(effect!(Effect::Loop(LoopEffect::Exit(_))));
    let mut app = app(10);
    app.press("x x q");
    app.shows(&["Quit and remove the marks of 2 emails?"]);
    app.press("Enter").settle();
    assert_eq!((app.model.marks.len(), exits(&app)), (2, 0));
    app.press("q j Enter");
    assert_eq!(exits(&app), 1);
}

#[test]
fn second_key_of_back_quits_despite_marks() {
    let mut app = app(10);
    app.press("x q");
    app.shows(&["q quit"]);
    app.press("Esc q");
    assert_eq!(app.exit, None, "Esc goes back to the list");
    app.press("q");
    assert!(app.exit.is_some());
}

#[test]
fn mark_toggles_and_moves_down() {
    let mut app = app(10);
    app.press("x x").settle();
    assert_eq!((app.model.marks.len(), app.selected()), (2, 7));
    app.press("k x").settle();
    assert_eq!((app.model.marks.len(), app.selected()), (1, 7));
    app.press("Enter x").settle();
    assert_eq!((app.model.marks.len(), app.selected()), (2, 6));
    assert_eq!(app.model.focus(), Focus::Reader);
}

#[test]
fn marks_survive_filter_and_escape() {
    let mut app = app(10);
    app.press("x /").write("customer3").press("Enter").settle();
    app.press("x Esc").settle();
    assert_eq!(app.filter(), "");
    assert_eq!(app.model.marks.len(), 2);
    app.press("X").settle();
    assert!(app.model.marks.is_empty());
    app.shows_notice("unmarked 2 emails");
    app.press("X");
    app.shows_notice("no email is marked; x marks one");
}

#[test]
fn range_marks_rows_in_either_direction() {
    for (there, back) in [("j j j", "V"), ("k k k", "V")] {
        let mut app = app(20);
        app.press("j j j j j V");
        app.shows_notice("a range begins at this row; V at another row marks it");
        app.press(there).press(back).settle();
        assert_eq!(app.model.marks.len(), 4, "{there}");
        app.shows_notice("marked 4 emails; E exports them");
    }
}

#[test]
fn range_of_one_row_marks_it() {
    let mut app = app(5);
    app.press("V V").settle();
    assert_eq!(app.model.marks.len(), 1);
}

#[test]
fn escape_drops_the_range_and_keeps_marks() {
    let mut app = app(10);
    app.search("customer");
    app.press("x V Esc").settle();
    assert_eq!(app.filter(), "customer");
    assert_eq!(app.model.marks.len(), 1);
    assert!(!app.model.marks.has_range());
}

#[test]
fn range_reaches_beyond_the_loaded_rows() {
    let mut app = app(600);
    app.press("V G").settle();
    app.press("V").settle();
    assert_eq!(app.model.marks.len(), 600);
}

#[test]
fn all_marks_what_the_filter_shows() {
    let mut app = app(400);
    app.search("customer39");
    app.press("* Esc").settle();
    // customer39 and customer390 to customer399.
    assert_eq!(app.model.marks.len(), 11);
}

#[test]
fn questions_name_marks_outside_the_filter() {
    let mut app = app(400);
    app.press("G").settle();
    app.press("x").settle();
    app.search("customer39");
    app.press("E");
    app.shows(&["Export the marked emails (1, not in this filter)"]);
    app.press("Esc *").settle();
    app.shows_notice("marked 11, 12 in all; E exports them");
    app.press("E");
    app.shows(&["Export the marked emails (12, 1 of them not in this filter)"]);
    app.press("Enter Enter").settle();
    app.shows(&["codes unmasked?\n 1 of them not in this filter"]);
    app.press("Esc").settle();
    app.search("customer20");
    app.press("g p");
    app.shows(&["the marks of 12 emails?\n none of them in this filter"]);
    app.press("Esc").settle();
    app.search("customer20");
    app.press("X");
    app.shows_notice("unmarked 12 emails, none of them in this filter");
}

#[test]
fn marks_are_not_counted_in_unloaded_rows() {
    let mut app = app(600);
    app.press("x").settle();
    app.search("customer");
    app.press("E");
    app.shows(&["Export the marked emails (1)\n"]);
}

#[test]
fn marked_emails_are_exported_else_the_filter() {
    let mut app = app(10);
    app.search("customer1");
    app.press("E Enter Enter").settle();
    assert!(matches!(planned(&app).scope, ExportScope::Query(_)));
    assert_eq!(planned(&app).format, SetFormat::Files(ExportFormat::Eml));
    let target = Path::new("emails-2026-11-20-094200");
    assert_eq!(planned(&app).target(), target);
    assert_eq!(planned(&app).path, target.with_added_extension("part"));
    app.press("Esc x E j Enter Enter").settle();
    let ExportScope::Emails(ids) = &planned(&app).scope else {
        panic!("the marks are exported");
    };
    assert_eq!(ids.len(), 1);
}

#[test]
fn whole_export_runs_after_a_question_only() {
    let mut app = app(10);
    app.press("x x E Enter Enter").settle();
    assert_eq!(app.model.focus(), Focus::Choice);
    assert_eq!(batches(&app), 0);
    app.press("Esc").settle();
    assert_eq!((batches(&app), app.model.focus()), (0, Focus::List));

    app.press("E Enter Enter").settle();
    app.press("Enter").settle();
    assert_eq!(batches(&app), 2);
    app.shows_notice("exported 4 emails to emails-2026-11-20-094200, unmasked");
    assert_eq!(app.model.marks.len(), 2, "the marks stay");
}

#[test]
fn csv_is_masked_and_needs_no_question() {
    let mut app = app(10);
    app.press("E 7 Enter").settle();
    let name = app.prompt_text().to_owned();
    assert_eq!(name, "emails-2026-11-20-094200.csv");
    app.press("Enter").settle();
    assert!(planned(&app).secrets.are_masked());
    assert!(app.notice().ends_with("codes masked"), "{}", app.notice());
}

#[test]
fn bodies_are_retrieved_only_on_request() {
    let retrieves = |keys: &str| {
        let mut service = FakeService::with_emails(10);
        service.without_body = 3;
        let mut app = AppHarness::at_rest(120, 40, service);
        app.press("E Enter Enter").settle().press(keys);
        let batches = app.requested(effect!(Effect::ExportBatch(_, job, _) => job.retrieves));
        batches.first().copied()
    };
    assert_eq!(retrieves("Enter"), Some(true));
    assert_eq!(retrieves("j Enter"), Some(false));
    assert_eq!(retrieves("j j Enter"), None);
}

#[test]
fn answers_of_an_export_stay_without_the_service() {
    let mut service = FakeService::with_emails(10);
    service.without_body = 3;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("E Enter Enter").settle().fire(TimerKind::Refresh);
    app.press("j").shows(&["Export what is stored"]);
    app.fail_refresh(Error::new(ErrorKind::KeyRejected, "the key is not valid"));
    app.press("Enter");
    let batches = app.requested(effect!(Effect::ExportBatch(_, job, _) => job.retrieves));
    assert_eq!(batches, [false]);
}

#[test]
fn too_many_requests_are_left_to_sync() {
    let mut service = FakeService::with_emails(10);
    service.without_body = 5_001;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("E Enter Enter").settle();
    let items = app.model.chooser_items();
    assert_eq!(items.len(), 2);
    assert!(items[0].detail.contains("sync --bodies"), "{items:?}");
}

#[test]
fn export_progress_says_that_it_waits() {
    let mut service = FakeService::with_emails(10);
    service.without_body = 4;
    let mut app = AppHarness::at_rest(120, 40, service);
    app.set_rate_budget(Some(BUDGET));
    app.press("E Enter Enter").settle().press("Enter");
    let progress = "exporting: 0 of 10 emails";
    app.pass(4);
    assert_eq!(app.model.export_progress().unwrap(), progress);
    app.pass(4);
    let expected = format!("{progress}, waiting for the service");
    assert_eq!(app.model.export_progress().unwrap(), expected);
    let is_tick = effect!(Effect::Timer(_, TimerKind::Countdown, _));
    assert!(app.is_pending(is_tick), "it is seen without a key");
}

#[test]
fn stop_ends_the_export_after_its_batch() {
    let mut app = app(10);
    app.press("E Enter Ctrl-u").write("out");
    app.press("Enter").settle().press("Enter");
    let request = app.find(effect!(Effect::ExportBatch(request, _, _) => *request));
    assert!(app.model.is_wanted(RequestKind::Export, request));
    app.press("E");
    app.shows_notice("an export is running; Ctrl-x stops it");
    app.press("Ctrl-x");
    assert!(!app.model.is_wanted(RequestKind::Export, request));
    app.settle();
    assert_eq!(batches(&app), 1);
    app.shows_notice("stopped; E begins it again; exported 2 of 10 emails; in out.part, unmasked");
    app.press("E Enter Esc E Enter");
    assert_eq!(app.prompt_text(), "out");
    app.press("Enter").settle();
    assert!(planned(&app).continues);
}

#[test]
fn question_waits_until_nothing_is_typed() {
    let mut app = app(10);
    app.press("E Enter Enter /").write("cust");
    app.settle();
    assert_eq!(app.model.focus(), Focus::Prompt);
    app.press("Enter").settle();
    assert_eq!(app.model.focus(), Focus::Choice);
}

#[test]
fn question_waits_behind_another_list() {
    let mut app = app(10);
    app.press("E Enter Enter g v").settle();
    app.press("Esc").settle();
    assert_eq!(app.model.focus(), Focus::Choice);
    app.press("j Enter").settle();
    app.shows_notice("nothing is exported");
}

fn fail_plan(app: &mut AppHarness) {
    let request = app.take(effect!(Effect::PlanExport(request, _) => *request));
    let error = Error::new(ErrorKind::Io, "out exists already");
    app.happen(Message::ExportPlanned(request, Err(error)));
}

#[test]
fn failed_plan_is_reported() {
    let mut app = app(10);
    app.press("E Enter Enter");
    fail_plan(&mut app);
    app.shows_notice("not exported: out exists already");
}

#[test]
fn failure_stays_while_the_user_only_moves() {
    let mut app = app(10);
    app.press("E Enter Enter");
    fail_plan(&mut app);
    app.press("j k PgDn").settle();
    app.shows_notice("not exported: out exists already");
    app.press("G").settle();
    assert!(!app.notice().contains("out exists"), "{}", app.notice());
    app.press("j").settle();
    app.shows_notice("");
}

#[test]
fn typed_file_name_is_kept_until_written() {
    let typed = |app: &AppHarness| app.model.prompt.as_ref().unwrap().text().to_owned();
    let mut app = app(10);
    app.press("E Enter Ctrl-u").write("out").press("Enter");
    fail_plan(&mut app);
    app.press("E Enter");
    assert_eq!(typed(&app), "out");
    app.press("2 Enter").settle();
    app.press("Enter").settle();
    let notice = app.notice();
    assert!(notice.ends_with(" to out2, unmasked"), "{notice}");
    app.press("E Enter");
    assert!(typed(&app).starts_with("emails-"), "{}", typed(&app));
}

/// An open email whose body has a code.
fn reading(session: SessionInfo) -> AppHarness {
    let mut service = FakeService::with_emails(3);
    service.html = Some("<p>Your code is 482913.</p>".into());
    let mut app = AppHarness::settled((120, 40), session, service);
    app.press("Enter").settle();
    app
}

fn piped(app: &AppHarness) -> Option<&PipedCommand> {
    app.requested(effect!(Effect::Loop(LoopEffect::RunCommand(piped)) => piped))
        .pop()
}

#[test]
fn command_gets_secrets_after_a_question_only() {
    let mut app = reading(session());
    app.press("|").write("wc -l").press("Enter").settle();
    assert_eq!((piped(&app), app.model.focus()), (None, Focus::Choice));
    app.press("Esc").settle();
    assert_eq!(piped(&app), None);
    app.press("|").write("wc -l").press("Enter Enter").settle();
    assert_eq!(piped(&app).unwrap().command, "wc -l");
    assert!(piped(&app).unwrap().masked);
    app.press("|")
        .write("wc -l")
        .press("Enter j Enter")
        .settle();
    assert!(!piped(&app).unwrap().masked);
}

#[test]
fn revealed_body_is_piped_without_a_question() {
    let mut app = reading(session());
    app.press("R").settle();
    app.press("|").write("less").press("Enter").settle();
    assert!(!piped(&app).unwrap().masked);
    app.happen(Message::CommandEnded {
        command: "less".to_owned(),
        input_len: 20,
        result: Ok("exit status: 0".to_owned()),
    });
    app.shows_notice("less: exit status: 0; its input was the body, 20 characters");
}

#[test]
fn empty_command_runs_nothing() {
    let mut app = reading(session());
    app.press("| Space Enter").settle();
    assert_eq!((piped(&app), app.model.focus()), (None, Focus::Reader));
}

#[test]
fn marks_are_joined_before_they_are_capped() {
    let mut app = app(10);
    let mut collect = |first: usize, end: usize| {
        app.press("*");
        let mut requests = app.requested(effect!(Effect::CollectIds(request, _, _) => *request));
        let request = requests.pop().unwrap();
        let ids = (first..end).map(|n| EmailId::new(n.to_string())).collect();
        let is_capped = false;
        let collected = CollectedIds { ids, is_capped };
        app.happen(Message::IdsCollected(request, Ok(collected)));
        (app.model.marks.len(), app.notice().to_owned())
    };
    collect(0, MAX_MARKS - 10);
    let all = "marked 49 990, 50 000 in all; E exports them";
    assert_eq!(collect(10, MAX_MARKS), (MAX_MARKS, all.to_owned()));
    let (marked, notice) = collect(10, MAX_MARKS + 10);
    assert_eq!(marked, MAX_MARKS);
    assert!(notice.contains("the limit; there are more"), "{notice}");
}

#[test]
fn purged_email_is_no_longer_marked() {
    let mut app = app(10);
    app.press("x x").settle();
    let purged = app.model.marks.ids().next().unwrap().clone();
    app.service.rows.retain(|row| row.summary.id != purged);
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(app.model.marks.len(), 1);
    app.shows_notice("1 marked email is no longer in the archive");
    app.press("j").settle();
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    assert_eq!(app.model.notice_text(), None);
    app.press("*").settle();
    app.service.rows.truncate(7);
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    app.shows_notice("2 marked emails are no longer in the archive");
}

#[test]
fn purged_start_of_a_range_ends_it() {
    let mut app = app(10);
    app.press("j V").settle();
    app.service.rows.remove(1);
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    app.shows_notice("the row where a range begins is no longer in the archive");
    assert!(!app.model.marks.has_range());
}

#[test]
fn line_below_the_last_row_is_not_marked() {
    let mut app = searched(1);
    app.press("x x V").settle();
    assert!(app.model.list.is_on_load_more_row());
    assert_eq!(app.model.marks.len(), 1);
    assert!(!app.model.marks.has_range());
}

#[test]
fn running_export_is_left_only_after_a_question() {
    for (key, left) in [("q", "Quit"), ("Ctrl-c", "Quit"), ("g p", "Switch")] {
        let mut app = app(10);
        app.press("E Enter Enter").settle().press("Enter");
        app.press(key);
        assert_eq!(app.exit, None, "{key}");
        assert!(app.model.start_screen.is_none(), "{key}");
        let items = app.model.chooser_items();
        assert!(items[1].label.starts_with(left), "{items:?}");
        app.press("Enter").settle();
        assert!(app.notice().starts_with("exported 4 emails"), "{key}");

        app.press("E Enter Enter").settle().press("Enter");
        app.press(key).press("j Enter");
        if left == "Quit" {
            let stopped = "the export was stopped after about 0 of 10 emails; \
                           what is written is in emails-2026-11-20-094200.part"
                .to_owned();
            assert_eq!(app.exit, Some(ExitReason::ExportStopped(stopped)));
        } else {
            assert!(app.model.start_screen.is_some());
        }
    }
}

#[test]
fn second_q_keeps_a_running_export() {
    let mut app = app(10);
    app.press("E Enter Enter").settle().press("Enter");
    app.press("q q").settle();
    assert_eq!(app.exit, None);
    assert!(app.notice().starts_with("exported 4 emails"));
}

#[test]
fn second_ctrl_c_quits_a_running_export() {
    let mut app = app(10);
    app.press("E Enter Enter").settle().press("Enter");
    app.press("/ Ctrl-c");
    assert_eq!((&app.exit, app.model.focus()), (&None, Focus::Choice));
    app.press("Ctrl-c");
    assert!(app.exit.is_some());
}

#[test]
fn export_of_purged_marks_is_closed() {
    for keys in ["x E", "x E Enter"] {
        let mut app = app(10);
        app.press(keys).settle();
        assert!(app.model.chooser.is_some() || app.model.prompt.is_some());
        app.service.rows.remove(0);
        app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
        app.settle();
        assert!(
            app.model.chooser.is_none() && app.model.prompt.is_none(),
            "{keys}"
        );
    }
}
