//! Statistics by messages.

use super::env::{Mailbox, World, now, sync_report};
use crate::app::statistics::Section;
use crate::app::{Effect, Focus, Message, RequestKind};
use crate::mail::{SafeText, Status};
use crate::view::tests::screen;
use jiff::ToSpan as _;

/// An email an hour: 400 hours are 17 days.
fn mailbox() -> Mailbox {
    let mut mailbox = Mailbox::of(400);
    mailbox.rows[1].summary.status = Status::Bounced;
    mailbox.rows[2].summary.status = Status::Complained;
    mailbox.rows[3].summary.subject = SafeText::new("Your code is 493021");
    mailbox
}

fn labels(world: &World, section: Section) -> Vec<String> {
    let items = world.model.statistics_items().into_iter();
    items
        .filter(|item| item.section == section)
        .map(|item| item.label)
        .collect()
}

/// Chooses the first line of a section.
fn choose(world: &mut World, section: Section) {
    let items = world.model.statistics_items();
    let at = items.iter().position(|item| item.section == section);
    for _ in 0..at.unwrap() {
        world.press("j");
    }
    world.press("Enter").settle();
}

#[test]
fn each_line_leads_to_its_emails() {
    for (section, filter, total) in [
        (Section::Days, "on:2026-11-20", 9),
        (Section::Statuses, "status:bounced", 1),
        (Section::Domains, "domain:example.com", 400),
        (Section::Subjects, "subject:\"Your receipt #\"", 399),
    ] {
        let mut world = World::at_rest(160, 45, mailbox());
        world.press("S").settle();
        choose(&mut world, section);
        assert_eq!(world.filter(), filter);
        assert_eq!(world.model.list.total, Some(total), "{filter}");
        assert_eq!(world.model.focus(), Focus::List);
        world.press("u").settle();
        assert_eq!(world.filter(), "", "it can be undone");
    }
}

#[test]
fn statistics_are_of_the_filter() {
    let mut world = World::at_rest(160, 45, mailbox());
    world
        .press("/")
        .write("status:bounced")
        .press("Enter")
        .settle();
    world.press("S").settle();
    let statistics = world.model.statistics.value().unwrap();
    assert_eq!(statistics.total, 1);
    choose(&mut world, Section::Days);
    assert_eq!(world.filter(), "status:bounced on:2026-11-20");
}

#[test]
fn times_are_grouped_to_fit_the_screen() {
    let mut wide = World::at_rest(160, 45, mailbox());
    wide.press("S").settle();
    assert_eq!(labels(&wide, Section::Days).len(), 18);
    let mut narrow = World::at_rest(80, 24, mailbox());
    narrow.press("S").settle();
    assert_eq!(
        labels(&narrow, Section::Weeks),
        [
            "week of 16 Nov 2026",
            "week of 9 Nov 2026",
            "week of 2 Nov 2026"
        ]
    );
    choose(&mut narrow, Section::Weeks);
    assert_eq!(narrow.filter(), "after:2026-11-16 before:2026-11-23");
}

#[test]
fn codes_in_subjects_stay_masked() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("S").settle();
    assert_eq!(
        labels(&world, Section::Subjects),
        ["Your receipt #…", "Your code is ••••••"]
    );
}

#[test]
fn closing_makes_the_computation_obsolete() {
    let mut world = World::at_rest(160, 45, mailbox());
    world.press("S");
    let request = world.asked.iter().rev().find_map(|effect| match effect {
        Effect::LoadStatistics { request, .. } => Some(*request),
        _ => None,
    });
    let request = request.unwrap();
    assert!(world.model.is_wanted(RequestKind::Statistics, request));
    world.press("Esc");
    assert!(!world.model.is_wanted(RequestKind::Statistics, request));
    world.settle();
    assert_eq!(world.model.focus(), Focus::List);
}

#[test]
fn header_is_of_the_time_of_counting() {
    let mut mailbox = mailbox();
    mailbox.older_pages = 3;
    let mut world = World::at_rest(160, 45, mailbox);
    world.press("S").settle();
    let header = " Statistics of all mail, as of 09:42\n 400 emails since 3 Nov;";
    let shown = screen(&world);
    assert!(shown.contains(header), "{shown}");
    world.set_time(now() + 5.minutes());
    world.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    world.settle();
    let shown = screen(&world);
    assert!(shown.contains(header), "{shown}");
}
