//! Marks, the export of a set, and the email as the input of a command.

use std::path::Path;

use super::env::{Mailbox, World, session, sync_report};
use super::filter::searched;
use crate::app::marks::MAX_MARKS;
use crate::app::{
    CollectedIds, Effect, Focus, LoopEffect, Message, PipedCommand, RequestKind, SessionInfo,
};
use crate::error::{Error, ErrorKind};
use crate::export::{ExportFormat, ExportJob, ExportScope, SetFormat};
use crate::mail::EmailId;

fn world(emails: i64) -> World {
    World::at_rest(120, 40, Mailbox::of(emails))
}

fn notice(world: &World) -> &str {
    world.model.notice.as_deref().unwrap_or_default()
}

/// The export that was planned last.
fn planned(world: &World) -> &ExportJob {
    let jobs = world.asked.iter().rev().find_map(|effect| match effect {
        Effect::PlanExport(_, job) => Some(job),
        _ => None,
    });
    jobs.expect("an export was planned")
}

fn batches(world: &World) -> usize {
    world.count(|effect| matches!(effect, Effect::ExportBatch { .. }))
}

#[test]
fn mark_toggles_and_moves_down() {
    let mut world = world(10);
    world.press("x x").settle();
    assert_eq!((world.model.marks.len(), world.selected()), (2, 7));
    world.press("k x").settle();
    assert_eq!((world.model.marks.len(), world.selected()), (1, 7));
    world.press("Enter x").settle();
    assert_eq!((world.model.marks.len(), world.selected()), (2, 6));
    assert_eq!(world.model.focus(), Focus::Reader);
}

#[test]
fn marks_survive_filter_and_escape() {
    let mut world = world(10);
    world
        .press("x /")
        .write("customer3")
        .press("Enter")
        .settle();
    world.press("x Esc").settle();
    assert_eq!(world.filter(), "");
    assert_eq!(world.model.marks.len(), 2);
    world.press("X").settle();
    assert!(world.model.marks.is_empty());
    assert_eq!(notice(&world), "unmarked 2 emails");
    world.press("X");
    assert_eq!(notice(&world), "no email is marked; x marks one");
}

#[test]
fn range_marks_rows_in_either_direction() {
    for (there, back) in [("j j j", "V"), ("k k k", "V")] {
        let mut world = world(20);
        world.press("j j j j j V");
        assert_eq!(
            notice(&world),
            "a range begins at this row; V at another row marks it"
        );
        world.press(there).press(back).settle();
        assert_eq!(world.model.marks.len(), 4, "{there}");
        assert_eq!(notice(&world), "marked 4 emails; E exports them");
    }
}

#[test]
fn range_of_one_row_marks_it() {
    let mut world = world(5);
    world.press("V V").settle();
    assert_eq!(world.model.marks.len(), 1);
}

#[test]
fn escape_drops_the_range_and_keeps_marks() {
    let mut world = world(10);
    world.press("/").write("customer").press("Enter").settle();
    world.press("x V Esc").settle();
    assert_eq!(world.filter(), "customer");
    assert_eq!(world.model.marks.len(), 1);
    assert!(!world.model.marks.has_range());
}

#[test]
fn range_reaches_beyond_the_loaded_rows() {
    let mut world = world(600);
    world.press("V G").settle();
    world.press("V").settle();
    assert_eq!(world.model.marks.len(), 600);
}

#[test]
fn all_marks_what_the_filter_shows() {
    let mut world = world(400);
    world.press("/").write("customer39").press("Enter").settle();
    world.press("* Esc").settle();
    // customer39 and customer390 to customer399.
    assert_eq!(world.model.marks.len(), 11);
}

#[test]
fn marked_emails_are_exported_else_the_filter() {
    let mut world = world(10);
    world.press("/").write("customer1").press("Enter").settle();
    world.press("E Enter Enter").settle();
    assert!(matches!(planned(&world).scope, ExportScope::Query(_)));
    assert_eq!(planned(&world).format, SetFormat::Files(ExportFormat::Eml));
    assert_eq!(planned(&world).path, Path::new("emails-2026-11-20-094200"));
    world.press("Esc x E j Enter Enter").settle();
    let ExportScope::Emails(ids) = &planned(&world).scope else {
        panic!("the marks are exported");
    };
    assert_eq!(ids.len(), 1);
}

#[test]
fn whole_export_runs_after_a_question_only() {
    let mut world = world(10);
    world.press("x x E Enter Enter").settle();
    assert_eq!(world.model.focus(), Focus::Choice);
    assert_eq!(batches(&world), 0);
    world.press("Esc").settle();
    assert_eq!((batches(&world), world.model.focus()), (0, Focus::List));

    world.press("E Enter Enter").settle();
    world.press("Enter").settle();
    assert_eq!(batches(&world), 2);
    assert_eq!(
        notice(&world),
        "exported 4 emails to emails-2026-11-20-094200, unmasked"
    );
    assert_eq!(world.model.marks.len(), 2, "the marks stay");
}

#[test]
fn csv_is_masked_and_needs_no_question() {
    let mut world = world(10);
    world.press("E k j j j j j Enter").settle();
    let name = world.model.prompt.as_ref().unwrap().text().to_owned();
    assert_eq!(name, "emails-2026-11-20-094200.csv");
    world.press("Enter").settle();
    assert!(planned(&world).masks_codes);
    assert!(
        notice(&world).ends_with("codes masked"),
        "{}",
        notice(&world)
    );
}

#[test]
fn bodies_are_retrieved_only_on_request() {
    let retrieves = |keys: &str| {
        let mut mailbox = Mailbox::of(10);
        mailbox.without_body = 3;
        let mut world = World::at_rest(120, 40, mailbox);
        world.press("E Enter Enter").settle().press(keys);
        world.asked.iter().find_map(|effect| match effect {
            Effect::ExportBatch { job, .. } => Some(job.retrieves),
            _ => None,
        })
    };
    assert_eq!(retrieves("Enter"), Some(true));
    assert_eq!(retrieves("j Enter"), Some(false));
    assert_eq!(retrieves("j j Enter"), None);
}

#[test]
fn too_many_requests_are_left_to_sync() {
    let mut mailbox = Mailbox::of(10);
    mailbox.without_body = 5_001;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("E Enter Enter").settle();
    let items = world.model.chooser_items(world.model.chooser.unwrap());
    assert_eq!(items.len(), 2);
    assert!(items[0].detail.contains("sync --bodies"), "{items:?}");
}

#[test]
fn stop_ends_the_export_after_its_batch() {
    let mut world = world(10);
    world.press("E Enter Enter").settle().press("Enter");
    let Some(Effect::ExportBatch { request, .. }) = world.asked.last().cloned() else {
        panic!("a batch is written");
    };
    assert!(world.model.is_wanted(RequestKind::Export, request));
    world.press("E");
    assert_eq!(notice(&world), "an export is running; Ctrl-x stops it");
    world.press("Ctrl-x");
    assert!(!world.model.is_wanted(RequestKind::Export, request));
    world.settle();
    assert_eq!(batches(&world), 1);
    assert_eq!(
        notice(&world),
        "stopped; exported 2 of 10 emails to emails-2026-11-20-094200, unmasked"
    );
}

#[test]
fn question_waits_until_nothing_is_typed() {
    let mut world = world(10);
    world.press("E Enter Enter /").write("cust");
    world.settle();
    assert_eq!(world.model.focus(), Focus::Prompt);
    world.press("Enter").settle();
    assert_eq!(world.model.focus(), Focus::Choice);
}

#[test]
fn question_waits_behind_another_list() {
    let mut world = world(10);
    world.press("E Enter Enter g v").settle();
    world.press("Esc").settle();
    assert_eq!(world.model.focus(), Focus::Choice);
    world.press("j Enter").settle();
    assert_eq!(notice(&world), "nothing is exported");
}

#[test]
fn failed_plan_is_reported() {
    let mut world = world(10);
    world.press("E Enter Enter");
    let Some(Effect::PlanExport(request, _)) = world.asked.last().cloned() else {
        panic!("an export is planned");
    };
    world.happen(Message::ExportPlanned(
        request,
        Err(Error::new(ErrorKind::Io, "out exists already")),
    ));
    assert_eq!(notice(&world), "not exported: out exists already");
}

/// An open email whose body has a code.
fn reading(session: SessionInfo) -> World {
    let mut mailbox = Mailbox::of(3);
    mailbox.html = Some("<p>Your code is 482913.</p>".into());
    let mut world = World::start((120, 40), session, mailbox);
    world.settle().press("Enter").settle();
    world
}

fn piped(world: &World) -> Option<&PipedCommand> {
    world.asked.iter().rev().find_map(|effect| match effect {
        Effect::Loop(LoopEffect::RunCommand(piped)) => Some(piped),
        _ => None,
    })
}

#[test]
fn command_gets_secrets_after_a_question_only() {
    let mut world = reading(session());
    world.press("|").write("wc -l").press("Enter").settle();
    assert_eq!((piped(&world), world.model.focus()), (None, Focus::Choice));
    world.press("Esc").settle();
    assert_eq!(piped(&world), None);
    world
        .press("|")
        .write("wc -l")
        .press("Enter Enter")
        .settle();
    assert_eq!(piped(&world).unwrap().command, "wc -l");
    assert!(piped(&world).unwrap().masked);
    world
        .press("|")
        .write("wc -l")
        .press("Enter j Enter")
        .settle();
    assert!(!piped(&world).unwrap().masked);
}

#[test]
fn revealed_body_is_piped_without_a_question() {
    let mut world = reading(session());
    world.press("R").settle();
    world.press("|").write("less").press("Enter").settle();
    assert!(!piped(&world).unwrap().masked);
    world.happen(Message::CommandEnded {
        command: "less".to_owned(),
        input_len: 20,
        result: Ok("exit status: 0".to_owned()),
    });
    assert_eq!(
        notice(&world),
        "less: exit status: 0; its input was the body, 20 characters"
    );
}

#[test]
fn empty_command_runs_nothing() {
    let mut world = reading(session());
    world.press("| Space Enter").settle();
    assert_eq!((piped(&world), world.model.focus()), (None, Focus::Reader));
}

#[test]
fn marks_are_joined_before_they_are_capped() {
    let mut world = world(10);
    let mut collect = |first: usize, end: usize| {
        world.press("*");
        let mut requests = world.asked.iter().filter_map(|effect| match effect {
            Effect::CollectIds { request, limit, .. } => Some((request, limit)),
            _ => None,
        });
        let (request, limit) = requests.next_back().unwrap();
        assert_eq!(*limit, MAX_MARKS, "however many are marked");
        let ids = (first..end).map(|n| EmailId::new(n.to_string())).collect();
        let is_capped = false;
        let collected = CollectedIds { ids, is_capped };
        world.happen(Message::IdsCollected(*request, Ok(collected)));
        (world.model.marks.len(), notice(&world).to_owned())
    };
    collect(0, MAX_MARKS - 10);
    let all = "marked 50 000 emails; E exports them";
    assert_eq!(collect(10, MAX_MARKS), (MAX_MARKS, all.to_owned()));
    let (marked, notice) = collect(10, MAX_MARKS + 10);
    assert_eq!(marked, MAX_MARKS);
    assert!(notice.contains("the limit; there are more"), "{notice}");
}

#[test]
fn purged_email_is_no_longer_marked() {
    let mut world = world(10);
    world.press("x x").settle();
    let purged = world.model.marks.ids().next().unwrap().clone();
    world.mailbox.rows.retain(|row| row.summary.id != purged);
    world.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    world.settle();
    assert_eq!(world.model.marks.len(), 1);
}

#[test]
fn line_below_the_last_row_is_not_marked() {
    let mut world = searched(1);
    world.press("x x V").settle();
    assert!(world.model.list.is_on_load_more_row());
    assert_eq!(world.model.marks.len(), 1);
    assert!(!world.model.marks.has_range());
}

#[test]
fn running_export_is_left_only_after_a_question() {
    for (key, left) in [("q", "Quit"), ("Ctrl-c", "Quit"), ("g p", "Switch")] {
        let mut world = world(10);
        world.press("E Enter Enter").settle().press("Enter");
        world.press(key);
        assert_eq!(world.exit, None, "{key}");
        assert!(world.model.start_screen.is_none(), "{key}");
        let items = world.model.chooser_items(world.model.chooser.unwrap());
        assert!(items[1].label.starts_with(left), "{items:?}");
        world.press("Enter").settle();
        assert!(notice(&world).starts_with("exported 4 emails"), "{key}");

        world.press("E Enter Enter").settle().press("Enter");
        world.press(key).press("j Enter");
        let is_left = world.exit.is_some() || world.model.start_screen.is_some();
        assert!(is_left, "{key}");
    }
}

#[test]
fn second_ctrl_c_quits_a_running_export() {
    let mut world = world(10);
    world.press("E Enter Enter").settle().press("Enter");
    world.press("/ Ctrl-c");
    assert_eq!((&world.exit, world.model.focus()), (&None, Focus::Choice));
    world.press("Ctrl-c");
    assert!(world.exit.is_some());
}
