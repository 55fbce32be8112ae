//! Statistics by messages.

use super::env::{AppHarness, FakeService, effect, now, session, sync_report};
use crate::app::list::statistics::Section;
use crate::app::{Effect, Focus, Message, RequestKind, SessionInfo};
use crate::archive::LeftOut;
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, SafeText, Status};
use crate::view::tests::screen;
use jiff::ToSpan as _;
use ratatui::layout::Size;

/// An email an hour: 400 hours are 17 days.
fn service() -> FakeService {
    let mut service = FakeService::with_emails(400);
    service.rows[1].summary.status = Status::Bounced;
    service.rows[2].summary.status = Status::Complained;
    service.rows[3].summary.subject = SafeText::new("Your code is 493021");
    service
}

fn labels(app: &AppHarness, section: Section) -> Vec<String> {
    let items = app.model.statistics_items().into_iter();
    items
        .filter(|item| item.section == section)
        .map(|item| item.label)
        .collect()
}

/// Chooses the first line of a section.
fn choose(app: &mut AppHarness, section: Section) {
    let items = app.model.statistics_items();
    let at = items.iter().position(|item| item.section == section);
    app.press_times("j", at.unwrap()).press("Enter").settle();
}

#[test]
fn each_line_leads_to_its_emails() {
    for (section, filter, total) in [
        (Section::Days, "on:2026-11-20", 9),
        (Section::Statuses, "status:bounced", 1),
        (Section::Domains, "domain:example.com", 400),
        (Section::Subjects, "subject:\"Your receipt #\"", 399),
    ] {
        let mut app = AppHarness::at_rest(160, 45, service());
        app.press("S").settle();
        choose(&mut app, section);
        assert_eq!(app.filter(), filter);
        assert_eq!(app.model.list.total, Some(total), "{filter}");
        assert_eq!(app.model.focus(), Focus::List);
        app.press("u").settle();
        assert_eq!(app.filter(), "", "it can be undone");
    }
}

#[test]
fn low_screen_shows_bars_before_the_legend() {
    let mut app = AppHarness::at_rest(40, 12, service());
    app.press("S").settle();
    app.shows(&["Enter filter", "week of 16 Nov… 105 █"]);
    app.hides(&["complained"]);
    app.press("G");
    app.shows(&["complained"]);
}

#[test]
fn statistics_are_of_the_filter() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.search("status:bounced");
    app.press("S").settle();
    let statistics = app.model.statistics.result.value().unwrap();
    assert_eq!(statistics.total, 1);
    choose(&mut app, Section::Days);
    assert_eq!(app.filter(), "status:bounced on:2026-11-20");
    let mut app = AppHarness::at_rest(160, 45, service());
    app.search("zebra");
    app.press("S").settle();
    app.shows(&["0 emails, complete, 0 bodies known"]);
}

#[test]
fn times_are_grouped_to_fit_the_screen() {
    let mut wide = AppHarness::at_rest(160, 45, service());
    wide.press("S").settle();
    assert_eq!(labels(&wide, Section::Days).len(), 18);
    let mut narrow = AppHarness::at_rest(80, 24, service());
    narrow.press("S").settle();
    let expected = ["16", "9", "2"].map(|day| format!("week of {day} Nov 2026"));
    assert_eq!(labels(&narrow, Section::Weeks), expected);
    choose(&mut narrow, Section::Weeks);
    assert_eq!(narrow.filter(), "after:2026-11-16 before:2026-11-23");
}

#[test]
fn codes_in_subjects_stay_masked() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("S").settle();
    let expected = ["Your receipt #…", "Your code is ••••••"];
    assert_eq!(labels(&app, Section::Subjects), expected);
}

#[test]
fn closing_makes_the_computation_obsolete() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("S");
    let request = app.find(effect!(Effect::LoadStatistics(request, _, _) => *request));
    assert!(app.model.is_wanted(RequestKind::Statistics, request));
    app.press("Esc");
    assert!(!app.model.is_wanted(RequestKind::Statistics, request));
    app.settle();
    assert_eq!(app.model.focus(), Focus::List);
}

#[test]
fn failed_statistics_load_when_the_archive_is_back() {
    for is_refreshed in [false, true] {
        let mut app = AppHarness::at_rest(160, 45, service());
        app.press("S");
        let request = app.take(effect!(Effect::LoadStatistics(request, _, _) => *request));
        let error = Error::new(ErrorKind::Archive, "the archive failed");
        app.happen(Message::StatisticsLoaded(request, Err(error)));
        app.shows(&["the archive failed"]);
        if is_refreshed {
            app.wait_for_refresh();
        } else {
            app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
        }
        app.settle();
        app.hides(&["the archive failed"]);
        app.shows(&["400 emails"]);
    }
}

#[test]
fn header_is_of_the_time_of_counting() {
    let mut service = service();
    service.older_pages = 3;
    let mut app = AppHarness::at_rest(160, 45, service);
    app.press("S").settle();
    let header = " Statistics of all mail, as of 09:42\n 400 emails since 3 Nov 17:42;";
    app.shows(&[header]);
    app.set_time(now() + 5.minutes());
    app.happen(Message::ArchiveChanged(Ok(sync_report(0))));
    app.settle();
    app.shows(&[header]);
    app.press("F5").settle();
    app.shows(&[" Statistics of all mail, as of 09:47"]);
    app.press("q g v y");
    app.shows_notice("nothing to copy here");
}

#[test]
fn purge_counts_again() {
    let purge: [fn(&mut LeftOut); 2] = [
        |left_out| left_out.last_purge += 1,
        |left_out| left_out.purged_before = Some(now().timestamp()),
    ];
    for purge in purge {
        let mut app = AppHarness::at_rest(160, 45, service());
        app.press("S").settle();
        app.service.rows.drain(10..20);
        purge(&mut app.service.left_out);
        for _ in 0..2 {
            // As many emails arrive as are purged.
            (0..10).for_each(|_| app.service.arrive());
            app.happen(Message::ArchiveChanged(Ok(sync_report(10))));
            app.settle();
        }
        app.shows(&["410 emails, complete", "\n 400 emails, complete"]);
    }
}

#[test]
fn refresh_without_a_key_counts_again() {
    let info = SessionInfo {
        service_error: Some(Error::new(ErrorKind::KeyMissing, "there is no API key")),
        ..session()
    };
    let mut app = AppHarness::settled((160, 45), info, service());
    app.press("S").settle();
    app.service.arrive();
    app.press("r").settle();
    app.shows_notice("r works in the list (refresh now); F5 does it here");
    app.shows(&["\n 400 emails stored here"]);
    app.press("F5").settle();
    app.shows(&["\n 401 emails stored here"]);
    app.shows_notice("counting again; there is no API key");
}

#[test]
fn status_filter_leaves_rates_out() {
    for (filter, has_rates) in [
        ("is:bounced", false),
        ("is:trouble", false),
        ("to:customer1", true),
    ] {
        let mut app = AppHarness::at_rest(160, 45, service());
        app.search(filter);
        app.press("S").settle();
        let shown = screen(&app);
        assert_eq!(shown.contains("bounce rate"), has_rates, "{shown}");
    }
}

#[test]
fn rates_are_shortened_and_not_cut() {
    let mut service = service();
    for row in &mut service.rows[10..300] {
        row.summary.status = Status::Bounced;
    }
    let mut app = AppHarness::at_rest(40, 12, service);
    app.press("S").settle();
    let shown = screen(&app);
    assert!(shown.contains("Statistics of all mail"), "{shown}");
    let rate = shown.lines().find(|line| line.contains("bounce rate"));
    let rate = rate.unwrap_or_else(|| panic!("{shown}"));
    assert!(rate.trim_end().ends_with(" of 400)"), "{rate}");
    let mut statuses = shown.lines().filter(|line| line.contains("status"));
    assert!(!statuses.any(|line| line.contains('…')), "{shown}");
    app.press("Esc E");
    app.shows(&["Export all mail stored here (400)\n"]);
}

#[test]
fn hints_of_empty_statistics_choose_nothing() {
    let mut app = AppHarness::at_rest(120, 30, FakeService::with_emails(0));
    app.press("S").settle();
    let hints = app.model.key_hints();
    let hints: Vec<_> = hints.iter().map(|(_, _, hint)| *hint).collect();
    assert_eq!(hints, ["back", "help"]);
}

#[test]
fn status_filter_leaves_shares_of_groups_out() {
    let mut service = service();
    for row in &mut service.rows[10..27] {
        row.summary.status = Status::Bounced;
    }
    for (filter, domain) in [
        ("is:bounced", "example.com 18 ✕"),
        ("", "example.com 18 of 400"),
    ] {
        let mut app = AppHarness::at_rest(160, 45, service.clone());
        app.search(filter);
        app.press("S").settle();
        app.shows(&[domain]);
    }
}

#[test]
fn back_from_a_line_opens_statistics_again() {
    for (key, filter) in [("Esc", ""), ("q", "receipt"), ("h", "is:bounced")] {
        let mut app = AppHarness::at_rest(160, 45, service());
        app.search(filter);
        app.press("S").settle();
        choose(&mut app, Section::Statuses);
        let chosen = app.filter().to_owned();
        app.press(key).settle();
        assert_eq!(app.filter(), filter);
        let items = app.model.statistics_items();
        let at = items
            .iter()
            .position(|item| item.section == Section::Statuses);
        let selected = app.model.chooser.as_ref().map(|chooser| chooser.selected);
        assert_eq!(selected, at, "the line that was chosen");
        app.press("Enter").settle();
        assert_eq!(app.filter(), chosen);
        app.press("Esc Esc").settle();
        assert_eq!((app.filter(), app.model.focus()), (filter, Focus::List));
        app.press("Esc").settle();
        assert_eq!(app.filter(), "");
        assert!(app.model.chooser.is_none());
    }
}

#[test]
fn line_stays_selected_in_other_lines() {
    let mut app = AppHarness::at_rest(160, 45, service());
    let selected = |app: &AppHarness| {
        let index = app.model.chooser.as_ref().unwrap().selected;
        app.model.statistics_items()[index].label.clone()
    };
    app.press("S").settle();
    let at = app.model.statistics_items();
    let at = at.iter().position(|item| item.label == "bounced").unwrap();
    app.press_times("j", at);
    app.happen(Message::Resized(Size::new(80, 24)));
    assert_eq!(selected(&app), "bounced");
    app.press("Enter").settle();
    app.happen(Message::Resized(Size::new(160, 45)));
    app.press("Esc").settle();
    assert_eq!(selected(&app), "bounced", "shown again");
    app.service.rows[1].summary.created = ApiTime::parse("2026-01-01T08:00:00Z");
    app.press("F5").settle();
    assert_eq!(labels(&app, Section::Days).len(), 19, "one above it is new");
    assert_eq!(selected(&app), "bounced", "counted again");
    app.press("g g");
    app.happen(Message::Resized(Size::new(80, 24)));
    assert_eq!(app.model.chooser.as_ref().unwrap().selected, 0);
}

#[test]
fn later_filter_is_not_left_for_statistics() {
    let mut app = AppHarness::at_rest(160, 45, service());
    app.press("S").settle();
    choose(&mut app, Section::Statuses);
    app.search("receipt");
    app.press("Esc").settle();
    assert_eq!((app.filter(), app.model.focus()), ("", Focus::List));
}

#[test]
fn age_of_gone_emails_is_theirs() {
    let mut service = service();
    for row in &mut service.rows[10..12] {
        row.missing_since = Some(now().timestamp());
        row.confirmed_at = Some(now().timestamp() - jiff::SignedDuration::from_mins(20));
    }
    let mut app = AppHarness::at_rest(160, 45, service);
    app.press("S").settle();
    app.shows(&[", 2 gone, their statuses as of 09:22"]);
}

#[test]
fn subjects_show_bounces_and_their_rate() {
    let mut service = service();
    for row in &mut service.rows[10..27] {
        row.summary.status = Status::Bounced;
    }
    for (width, domain, subject) in [
        (160, "18 of 400 4.50 % ", "18 of 399 4.51 % "),
        (80, "18 of 400 4.50 % ", "18 of 399 4.51 % "),
        (40, "18 of 400 █", "18 of 399 █"),
    ] {
        let mut app = AppHarness::at_rest(width, 45, service.clone());
        app.press("S").settle();
        app.shows(&["Frequent subjects: bounced or failed", domain, subject]);
    }
    let mut app = AppHarness::at_rest(160, 45, service);
    app.search("is:bounced");
    app.press("S").settle();
    app.shows(&["Most frequent subjects", "Your receipt #… 18 ✕"]);
}
