//! The filter by messages: prompt, suggestions, earlier filters, filters by a field.

use super::recipient::mailbox;
use crate::app::tests::env::{Mailbox, World, now, session};
use crate::app::{
    BodyFetchStep, Effect, ExitReason, Focus, Message, RequestKind, SavedState, SessionInfo,
};
use crate::config::SecretInput;
use crate::error::{Error, ErrorKind};
use crate::mail::{Address, SafeText};
use jiff::ToSpan as _;

#[test]
fn list_follows_typed_filter_and_esc_restores() {
    let mut world = World::at_rest(120, 40, Mailbox::of(500));
    world.press("j j j /").settle();
    assert_eq!(world.model.focus(), Focus::Prompt);
    world.write("#12").settle();
    let found: Vec<i64> = (120..=129).rev().chain([12]).collect();
    assert_eq!(world.visible(), found);
    assert_eq!(
        (
            world.model.list.total,
            world.model.list.archive_total,
            world.selected()
        ),
        (Some(11), Some(500), 129)
    );
    world.write("5").settle();
    assert_eq!((world.visible(), world.selected()), (vec![125], 125));
    world.press("Backspace").settle();
    assert_eq!(world.visible(), found);
    world.press("Esc").settle();
    assert_eq!(
        (
            world.model.focus(),
            world.selected(),
            world.model.list.total
        ),
        (Focus::List, 496, Some(500))
    );
    assert!(world.model.list.filter.is_empty());
}

#[test]
fn words_typed_after_filter_are_further_conditions() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("/").write("to:ana").press("Enter").settle();
    let total = world.model.list.total;
    let text = |world: &World| world.model.prompt.as_ref().unwrap().text().to_owned();
    world.press("/").settle();
    assert_eq!(
        (text(&world).as_str(), world.filter()),
        ("to:ana ", "to:ana")
    );
    world.write("maria").settle();
    assert_eq!(world.filter(), "to:ana maria");
    world.press("Esc").settle();
    assert_eq!((world.filter(), world.model.list.total), ("to:ana", total));

    let loads = |world: &World| world.count(|it| matches!(it, Effect::LoadWindow { .. }));
    let before = loads(&world);
    world.press("/").write("x").press("Backspace").settle();
    assert_eq!((world.filter(), world.model.list.total), ("to:ana", total));
    assert_eq!(loads(&world), before + 2, "for the word, and without it");
    world.press("Backspace Enter /").settle();
    assert_eq!(loads(&world), before + 2, "the space changes nothing");
    world.press("Enter").settle();
    assert_eq!(world.model.session.saved.filters, ["to:ana"]);
    world.press("u").settle();
    assert_eq!(world.filter(), "", "one step of the history");
    world.press("/").write("to:").press("Enter /");
    assert_eq!(text(&world), "to:", "its value follows directly");
}

#[test]
fn selection_stays_or_returns_when_filter_changes() {
    let mut world = World::at_rest(120, 40, Mailbox::of(2_000));
    for _ in 0..700 {
        world.press("j");
    }
    world.settle();
    assert_eq!(world.selected(), 1_299);
    world.press("f").write("#1 99").settle();
    assert_eq!(world.selected(), 1_299, "it is one of those that are found");
    world.write("9 nothing").settle();
    assert_eq!((world.selected(), world.model.list.total), (-1, Some(0)));
    world.press("Enter Esc").settle();
    assert_eq!(
        (world.selected(), world.model.list.position()),
        (1_299, Some(701))
    );
    world.press("/").write("#150").settle();
    assert_eq!(
        world.selected(),
        1_509,
        "what is not found is left for the newest that is"
    );
    world.press("Enter j Esc").settle();
    assert_eq!(
        world.selected(),
        1_508,
        "after a move the new selection stays"
    );
}

#[test]
fn fast_typing_shows_only_last_result() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("/");
    let before = world.window_loads();
    world.write("qq rGzM?#29");
    world.happen(Message::Pasted(SecretInput::new("q\n\u{1b}[A\u{7}9")));
    assert_eq!(world.exit, None);
    assert_eq!(
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .as_deref(),
        Some("qq rGzM?#29q [A9")
    );
    assert!(
        world.window_loads() - before <= 12,
        "at most a query for each change"
    );
    world.press("Ctrl-u").write("#29").settle();
    assert_eq!(
        world.model.list.total,
        Some(11),
        "an older answer never counts for a newer query"
    );
    world.press("Enter").settle();
    world.happen(Message::Pasted(SecretInput::new("q")));
    assert_eq!(
        (world.exit.clone(), world.model.focus()),
        (None, Focus::List)
    );
    assert!(world.model.notice.is_some());
}

#[test]
fn prompt_edits_like_a_shell_line() {
    let mut world = World::at_rest(80, 24, Mailbox::of(30));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| (prompt.text().to_owned(), prompt.cursor()))
    };
    world.press("/").write("ana 佐藤");
    assert_eq!(text(&world), Some(("ana 佐藤".to_owned(), 10)));
    world.press("Left Backspace Home Delete End Ctrl-Left Ctrl-u");
    assert_eq!(text(&world), Some(("藤".to_owned(), 0)));
    world.press("Alt-x F5 Ctrl-k");
    assert_eq!(text(&world), Some((String::new(), 0)));
    world.press("Ctrl-c");
    assert_eq!(world.exit, Some(ExitReason::Quit));
}

#[test]
fn suggestions_are_chosen_and_undone() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .unwrap_or_default()
    };
    world.press("/").write("#2 stat").settle();
    assert_eq!(world.model.suggestions().len(), 1);
    world.press("Tab");
    assert_eq!(text(&world), "#2 status:");
    world.press("Tab");
    assert_eq!(
        text(&world),
        "#2 stat",
        "after the last suggestion comes the typed text"
    );
    world.press("Up Enter").settle();
    assert_eq!(
        (text(&world).as_str(), world.model.focus()),
        ("#2 status:", Focus::Prompt),
        "a name alone is no filter yet"
    );
    world.write("deli").settle().press("Down").settle();
    assert_eq!(
        (text(&world).as_str(), world.model.list.total),
        ("#2 status:delivered", Some(111)),
        "the list follows"
    );
    world.write(" #29").press("Tab");
    assert_eq!(
        text(&world),
        "#2 status:delivered #29",
        "offers for another text are not taken"
    );
    world.settle().press("Enter").settle();
    assert_eq!(
        (
            world.model.list.filter.text(),
            world.model.suggestions().len()
        ),
        ("#2 status:delivered #29", 0)
    );
}

#[test]
fn earlier_filters_are_recalled() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    let text = |world: &World| {
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .unwrap_or_default()
    };
    for typed in ["one", "two", "one", "three"] {
        world.press("/ Ctrl-u").write(typed).press("Enter").settle();
    }
    world
        .press("Esc /")
        .write("dra")
        .press("Ctrl-p Ctrl-p Ctrl-p");
    assert_eq!(text(&world), "two");
    world.press("Ctrl-p Ctrl-n");
    assert_eq!(text(&world), "one");
    world.press("Ctrl-n Ctrl-n Ctrl-n");
    assert_eq!(text(&world), "dra");
    let kept = world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::SaveState(..)))
        .count();
    assert_eq!(kept, 4);

    let history = vec!["from the last session".to_owned()];
    let mut world = World::start(
        (80, 24),
        SessionInfo {
            saved: SavedState {
                filters: history,
                ..SavedState::default()
            },
            ..session()
        },
        Mailbox::of(3),
    );
    world.settle().press("/ Ctrl-p");
    assert_eq!(text(&world), "from the last session");
}

#[test]
fn query_argument_is_first_filter() {
    let query = "#29".to_owned();
    let mut world = World::start(
        (120, 40),
        SessionInfo { query, ..session() },
        Mailbox::of(300),
    );
    let looks = world
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::LoadWindow { .. }))
        .count();
    world.settle();
    assert_eq!(
        (
            looks,
            world.model.list.filter.text(),
            world.model.list.total
        ),
        (1, "#29", Some(11))
    );
    world.press("Esc").settle();
    assert_eq!(
        (world.model.list.filter.text(), world.model.list.total),
        ("", Some(300))
    );
}

#[test]
fn filter_by_recipient_matches_the_whole_address() {
    let mut mailbox = Mailbox::of(3);
    for (row, to) in mailbox
        .rows
        .iter_mut()
        .zip(["ann@example.com", "joann@example.com"])
    {
        row.summary.to = vec![Address::parse(to)];
    }
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("@ t").settle();
    assert_eq!(world.filter(), "recipient:ann@example.com");
    assert_eq!(world.visible().len(), 1, "joann has another address");
}

#[test]
fn filters_by_field_narrow_and_undo() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("j @ v").settle();
    assert_eq!(
        (world.model.list.filter.text(), world.selected()),
        ("status:delivered", 298)
    );
    world.press("@ t").settle();
    assert_eq!(
        world.model.list.filter.text(),
        "status:delivered recipient:customer298@example.com"
    );
    assert_eq!(world.visible(), [298]);
    world.press("u").settle();
    assert_eq!(world.model.list.filter.text(), "status:delivered");
    world.press("u").settle();
    assert_eq!(
        (
            world.model.list.filter.text(),
            world.model.list.total,
            world.selected()
        ),
        ("", Some(300), 298)
    );
    world.press("u").settle();
    assert_eq!(world.model.notice.as_deref(), Some("nothing to undo"));
    world.press("U U").settle();
    assert_eq!(world.visible(), [298]);
    world.press("u @ d").settle();
    assert_eq!(
        world.model.list.filter.text(),
        "status:delivered domain:example.com"
    );
    world.press("U");
    assert_eq!(world.model.notice.as_deref(), Some("nothing to redo"));
}

#[test]
fn relative_date_follows_midnight() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("1").settle();
    let of_today = world.model.list.total;
    world.set_time(now().checked_add(1.day()).unwrap());
    world.wait_for_refresh();
    assert_eq!(
        (world.filter(), world.model.list.total),
        ("after:today", Some(0)),
        "there were {of_today:?} yesterday"
    );
    assert_eq!(world.model.shown_view().map(|(number, _)| number), Some(1));
}

#[test]
fn bodies_that_filter_searches_are_fetched_after_question() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world
        .press("/")
        .write("refund to:customer29")
        .press("Enter");
    world.settle();
    let fetches =
        |world: &World| world.count(|effect| matches!(effect, Effect::FetchBodies { .. }));
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains("Bodies and tags are known for 0 of them; gb fetches the others."),
        "{shown}"
    );
    world.press("g b").settle();
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains("Fetch the bodies of 11 emails that this filter may match?"),
        "{shown}"
    );
    assert_eq!(fetches(&world), 0);
    world.press("Enter");
    let shown = crate::view::tests::screen(&world);
    assert!(
        shown.contains("fetching bodies: 0 of 11; Ctrl-x stops"),
        "{shown}"
    );
    world.settle();
    assert_eq!((fetches(&world), &world.model.body_fetch), (3, &None));
    world.press("g b").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("all bodies that this filter searches are known")
    );
}

#[test]
fn fetched_bodies_notice_counts_invalid_responses() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("/").write("refund").press("Enter").settle();
    world.press("g b").settle().press("Enter");
    let step = |effect: &Effect| match effect {
        Effect::FetchBodies {
            request, invalid, ..
        } => Some((*request, *invalid)),
        _ => None,
    };
    let (request, mut invalid) = world.pending.iter().find_map(step).unwrap();
    for _ in 0..2 {
        let log_in_page = Err::<(), _>(Error::new(ErrorKind::NotTheApi, "the response is html"));
        assert!(invalid.record(&log_in_page));
    }
    let step = BodyFetchStep {
        requests: 4,
        down_to: None,
        is_done: true,
        invalid,
    };
    world.happen(Message::BodiesFetched(request, Ok(step)));
    assert_eq!(
        world.model.notice.as_deref(),
        Some("the bodies that this filter searches are fetched; 2 responses could not be read")
    );
}

#[test]
fn fetch_of_bodies_stops_by_key_or_filter() {
    for keys in ["Ctrl-x", "Esc"] {
        let mut world = World::at_rest(120, 40, Mailbox::of(300));
        world.press("/").write("refund").press("Enter").settle();
        world.press("g b").settle().press("Enter");
        world.press(keys);
        let running = |effect: &Effect| match effect {
            Effect::FetchBodies { request, .. } => Some(*request),
            _ => None,
        };
        let request = world.pending.iter().find_map(running).unwrap();
        assert!(
            !world.model.is_wanted(RequestKind::FetchBodies, request),
            "{keys}"
        );
        world.settle();
        assert_eq!(
            world.count(|effect| matches!(effect, Effect::FetchBodies { .. })),
            1,
            "{keys}"
        );
    }
}

#[test]
fn question_about_bodies_ends_with_its_filter() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("/").write("refund").press("Enter").settle();
    world.press("g b Esc").settle();
    assert_eq!((world.filter(), world.model.chooser), ("", None));
    world.press("Enter").settle();
    assert!(world.model.body_fetch.is_none());
}

#[test]
fn question_about_bodies_waits_until_nothing_is_typed() {
    let mut world = World::at_rest(120, 40, Mailbox::of(300));
    world.press("/").write("refund").press("Enter").settle();
    world.press("g b /").settle();
    assert_eq!(
        (world.model.focus(), world.model.chooser),
        (Focus::Prompt, None)
    );
    world.press("Esc").settle();
    assert_eq!(world.model.focus(), Focus::Choice);
    world.press("Esc").settle();
    assert_eq!(world.model.focus(), Focus::List, "it is asked once");
}

#[test]
fn subject_filter_leaves_out_masked_codes() {
    for (subject, filter) in [
        ("482913 is your Acme code", "subject:\"is your Acme code\""),
        ("Your receipt #4821", "subject:\"Your receipt #4821\""),
        ("👍👍", "subject:👍👍"),
    ] {
        let mut mailbox = Mailbox::of(3);
        mailbox.rows[0].summary.subject = SafeText::new(subject);
        let mut world = World::at_rest(120, 40, mailbox);
        world.press("@ s").settle();
        assert_eq!(world.filter(), filter);
        assert_eq!(world.model.list.total, Some(1));
    }
}

fn fail_older(world: &mut World, kind: ErrorKind) {
    let running = |effect: &Effect| matches!(effect, Effect::LoadOlder(..));
    let n = world.pending.iter().position(running).unwrap();
    let Effect::LoadOlder(request, _) = world.pending.remove(n) else {
        unreachable!()
    };
    let error = Error::new(kind, "the service has failed");
    world.happen(Message::OlderLoaded(request, Err(error)));
}

/// A filter that matches one of 300 emails, of a service with older pages.
pub(super) fn searched(older_pages: u64) -> World {
    let mut mailbox = Mailbox::of(300);
    mailbox.older_pages = older_pages;
    let mut world = World::at_rest(120, 40, mailbox);
    world
        .press("/")
        .write("customer299")
        .press("Enter")
        .settle();
    world
}

#[test]
fn older_mail_is_searched_again_after_a_refresh() {
    let mut world = searched(3);
    world.press("b");
    fail_older(&mut world, ErrorKind::Server);
    world.settle().press("b");
    let notice = world.model.notice.clone().unwrap();
    assert!(notice.ends_with("r retries now"), "{notice}");
    world.press("r").settle().press("b").settle();
    assert_eq!(world.mailbox.older_pages, 0, "{:?}", world.model.notice);
}

#[test]
fn rejected_key_ends_a_search_with_its_reason() {
    let mut world = searched(3);
    world.press("b");
    let running = |effect: &Effect| matches!(effect, Effect::LoadOlder(..));
    world.answer(world.pending.iter().position(running).unwrap());
    world.press("r");
    let running = |effect: &Effect| matches!(effect, Effect::Refresh(..));
    let n = world.pending.iter().position(running).unwrap();
    let Effect::Refresh(request, _) = world.pending.remove(n) else {
        unreachable!()
    };
    let error = Error::new(ErrorKind::KeyRejected, "the key is not valid");
    world.happen(Message::Refreshed(request, Err(error)));
    world.settle();
    assert_eq!(world.model.notice.as_deref(), Some("the key is not valid"));
    assert_eq!(world.model.load_older, None);
}

#[test]
fn typed_filter_is_counted_to_a_thousand_until_the_user_rests() {
    let mut world = World::at_rest(120, 40, Mailbox::of(2_000));
    let counted = |world: &World| (world.model.list.total, world.model.list.is_capped);
    world.press("/").write("#1").answer_archive();
    assert_eq!(counted(&world), (Some(1_000), true));
    world.write("9").answer_archive();
    assert_eq!(counted(&world), (Some(111), false));
    world.press("Backspace").answer_archive();
    assert_eq!(counted(&world), (Some(1_000), true));
    world.press("Enter").settle();
    assert_eq!(counted(&world), (Some(1_111), false));
    world.press("/ Backspace").write("1").settle();
    let counts = |most| {
        world.count(move |effect| matches!(effect, Effect::CountEmails { most: found, .. } if *found == most))
    };
    assert_eq!(counted(&world), (Some(111), false));
    assert_eq!(counts(1_000), 4);
    assert_eq!(counts(10_000), 2, "the whole list, and after the rest");
}

#[test]
fn long_paste_is_taken_whole_or_not_at_all() {
    let mut world = World::at_rest(120, 40, Mailbox::of(3));
    world.press("/").settle();
    let addresses: Vec<String> = (0..400)
        .map(|n| format!("customer{n}@example.com"))
        .collect();
    let pasted = addresses.join(" or ");
    world.happen(Message::Pasted(SecretInput::new(&pasted)));
    assert_eq!(world.filter(), pasted);
    world.happen(Message::Pasted(SecretInput::new(&"x".repeat(20_000))));
    assert_eq!(world.filter(), pasted);
    let notice = "too long: a prompt takes 20 000 characters at most";
    assert_eq!(world.model.notice.as_deref(), Some(notice));
}
