//! The filter by messages: prompt, suggestions, earlier filters,
//! filters by a field.

use super::recipient::service;
use crate::app::tests::env::{AppHarness, FakeService, effect, now, session};
use crate::app::{
    BodyFetchStep, Effect, ExitReason, Focus, Message, RequestKind, SavedState, SessionInfo,
};
use crate::config::SecretInput;
use crate::error::{Error, ErrorKind};
use crate::mail::{Address, SafeText};
use jiff::ToSpan as _;

#[test]
fn list_follows_typed_filter_and_esc_restores() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(500));
    app.press("j j j /").settle();
    assert_eq!(app.model.focus(), Focus::Prompt);
    app.write("#12").settle();
    let found: Vec<i64> = (120..=129).rev().chain([12]).collect();
    assert_eq!(app.visible(), found);
    assert_eq!(app.model.list.total, Some(11));
    assert_eq!(app.model.list.archive_total, Some(500));
    assert_eq!(app.selected(), 129);
    app.write("5").settle();
    assert_eq!((app.visible(), app.selected()), (vec![125], 125));
    app.press("Backspace").settle();
    assert_eq!(app.visible(), found);
    app.press("Esc").settle();
    assert_eq!(app.model.focus(), Focus::List);
    assert_eq!(app.selected(), 496);
    assert_eq!(app.model.list.total, Some(500));
    assert!(app.model.list.filter.is_empty());
}

#[test]
fn words_typed_after_filter_are_further_conditions() {
    let mut app = AppHarness::at_rest(120, 40, service());
    app.search("to:ana");
    let total = app.model.list.total;
    app.press("/").settle();
    assert_eq!((app.prompt_text(), app.filter()), ("to:ana ", "to:ana"));
    app.write("maria").settle();
    assert_eq!(app.filter(), "to:ana maria");
    app.press("Esc").settle();
    assert_eq!((app.filter(), app.model.list.total), ("to:ana", total));

    let loads = |app: &AppHarness| app.count(effect!(Effect::LoadWindow { .. }));
    let before = loads(&app);
    app.press("/").write("x").press("Backspace").settle();
    assert_eq!((app.filter(), app.model.list.total), ("to:ana", total));
    assert_eq!(loads(&app), before + 2, "for the word, and without it");
    app.press("Backspace Enter /").settle();
    assert_eq!(loads(&app), before + 2, "the space changes nothing");
    app.press("Enter").settle();
    assert_eq!(app.model.session.saved.filters, ["to:ana"]);
    app.press("u").settle();
    assert_eq!(app.filter(), "", "one step of the history");
    app.press("/").write("to:").press("Enter /");
    assert_eq!(app.prompt_text(), "to:", "its value follows directly");
}

#[test]
fn selection_stays_or_returns_when_filter_changes() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(2_000));
    app.press_times("j", 700);
    app.settle();
    assert_eq!(app.selected(), 1_299);
    app.press("f").write("#1 99").settle();
    assert_eq!(app.selected(), 1_299, "it is one of those that are found");
    app.write("9 nothing").settle();
    assert_eq!((app.selected(), app.model.list.total), (-1, Some(0)));
    app.press("Enter Esc").settle();
    assert_eq!(app.selected(), 1_299);
    assert_eq!(app.model.list.position(), Some(701));
    app.press("/").write("#150").settle();
    assert_eq!(app.selected(), 1_509, "the newest that is found");
    app.press("Enter j Esc").settle();
    assert_eq!(app.selected(), 1_508, "the selection has moved");
}

#[test]
fn email_that_was_read_stays_selected_without_filter() {
    for keys in ["Enter Enter q Esc", "Enter Tab Tab Esc", "Enter z z Esc"] {
        let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(2_000));
        app.press("/").write("#77").settle();
        assert_eq!(app.selected(), 779);
        for key in keys.split(' ') {
            app.press(key).settle();
        }
        assert_eq!((app.filter(), app.selected()), ("", 779), "{keys}");
    }
    let service = || FakeService::with_emails(2_000);
    for (width, service) in [(80, service()), (160, service()), (80, service().older(5))] {
        let mut app = AppHarness::at_rest(width, 40, service);
        app.press("/").write("#77").press("Enter Enter").settle();
        assert_eq!(app.selected(), 779);
        app.press("q").settle().press("Esc").settle();
        assert_eq!((app.filter(), app.selected()), ("", 779), "fast keys");
    }
}

#[test]
fn fast_typing_shows_only_last_result() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.press("/");
    let before = app.window_loads();
    app.write("qq rGzM?#29");
    app.happen(Message::Pasted(SecretInput::new("q\n\u{1b}[A\u{7}9")));
    assert_eq!(app.exit, None);
    assert_eq!(app.prompt_text(), "qq rGzM?#29q [A9");
    assert!(app.window_loads() - before <= 12, "one for each change");
    app.press("Ctrl-u").write("#29").settle();
    assert_eq!(app.model.list.total, Some(11), "no older answer");
    app.press("Enter").settle();
    app.happen(Message::Pasted(SecretInput::new("q")));
    assert_eq!((app.exit.clone(), app.model.focus()), (None, Focus::List));
    assert!(app.model.notice_text().is_some());
}

#[test]
fn prompt_edits_like_a_shell_line() {
    let mut app = AppHarness::at_rest(80, 24, FakeService::with_emails(30));
    let text = |app: &AppHarness| {
        app.model
            .prompt
            .as_ref()
            .map(|prompt| (prompt.text().to_owned(), prompt.cursor()))
    };
    app.press("/").write("ana 佐藤");
    assert_eq!(text(&app), Some(("ana 佐藤".to_owned(), 10)));
    app.press("Left Backspace Home Delete End Ctrl-Left Ctrl-u");
    assert_eq!(text(&app), Some(("藤".to_owned(), 0)));
    app.press("Alt-x F5 Ctrl-k");
    assert_eq!(text(&app), Some((String::new(), 0)));
    app.press("Ctrl-c");
    assert_eq!(app.exit, Some(ExitReason::Quit));
}

#[test]
fn suggestions_are_chosen_and_undone() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.press("/").write("#2 stat").settle();
    assert_eq!(app.model.suggestions().len(), 1);
    app.press("Tab");
    assert_eq!(app.prompt_text(), "#2 status:");
    app.press("Tab");
    assert_eq!(app.prompt_text(), "#2 stat", "the typed text again");
    app.press("Up Enter").settle();
    assert_eq!(app.prompt_text(), "#2 status:");
    assert_eq!(app.model.focus(), Focus::Prompt, "a name is no filter");
    app.write("deli").settle().press("Down").settle();
    assert_eq!(app.prompt_text(), "#2 status:delivered");
    assert_eq!(app.model.list.total, Some(111), "the list follows");
    app.write(" #29").press("Tab");
    assert_eq!(app.prompt_text(), "#2 status:delivered #29", "too late");
    app.settle().press("Enter").settle();
    assert_eq!(app.filter(), "#2 status:delivered #29");
    assert_eq!(app.model.suggestions().len(), 0);
}

#[test]
fn suggestion_is_not_mixed_with_recalled_filter() {
    let info = SessionInfo {
        saved: SavedState {
            filters: vec!["to:ana receipt s".to_owned()],
            ..SavedState::default()
        },
        ..session()
    };
    let mut app = AppHarness::settled((120, 40), info, FakeService::with_emails(5));
    app.press("/").write("s").settle().press("Tab").settle();
    app.press("Ctrl-p").settle();
    assert_eq!(app.prompt_text(), "to:ana receipt s");
    app.press("Tab").settle();
    assert_eq!(app.prompt_text(), "to:ana receipt subject:");
}

#[test]
fn earlier_filters_are_recalled() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    for typed in ["one", "two", "one", "three"] {
        app.press("/ Ctrl-u").write(typed).press("Enter").settle();
    }
    app.press("Esc /")
        .write("dra")
        .press("Ctrl-p Ctrl-p Ctrl-p");
    assert_eq!(app.prompt_text(), "two");
    app.press("Ctrl-p Ctrl-n");
    assert_eq!(app.prompt_text(), "one");
    app.press("Ctrl-n Ctrl-n Ctrl-n");
    assert_eq!(app.prompt_text(), "dra");
    let kept = app.count(effect!(Effect::SaveState(..)));
    assert_eq!(kept, 4);

    let history = vec!["from the last session".to_owned()];
    let saved = SavedState {
        filters: history,
        ..SavedState::default()
    };
    let info = SessionInfo { saved, ..session() };
    let mut app = AppHarness::settled((80, 24), info, FakeService::with_emails(3));
    app.press("/ Ctrl-p");
    assert_eq!(app.prompt_text(), "from the last session");
}

#[test]
fn refresh_and_undo_count_ages_from_now() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.set_time(now().checked_sub(100.hours()).unwrap());
    app.search("after:50h");
    let before = app.model.list.total;
    app.pass(4 * 3600);
    app.press("j").settle();
    app.hides(&["ages as of"]);
    app.pass(3600);
    app.press("j").settle();
    app.shows(&["▸ after:50h  ages as of "]);
    let selected = app.selected();
    app.press("r j").settle();
    app.hides(&["ages as of"]);
    assert_eq!(app.model.list.total, before.map(|total| total - 5));
    assert_eq!(app.selected(), selected - 1);
    app.press("Esc").settle();
    assert_eq!(app.filter(), "");
    app.pass(3600);
    app.press("u").settle();
    assert_eq!(app.filter(), "after:50h");
    assert_eq!(app.model.list.total, before.map(|total| total - 6));
}

#[test]
fn refresh_keeps_selected_email_that_left() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.set_time(now().checked_sub(100.hours()).unwrap());
    app.search("after:5h");
    app.press("G").settle();
    let last = app.selected();
    app.pass(3 * 3600);
    app.press("r").settle();
    assert_eq!(app.selected(), last);
    assert!(app.model.list.is_selected_unmatched());
}

#[test]
fn query_argument_is_first_filter() {
    let query = "#29".to_owned();
    let info = SessionInfo { query, ..session() };
    let mut app = AppHarness::start((120, 40), info, FakeService::with_emails(300));
    let looks = app.count(effect!(Effect::LoadWindow { .. }));
    app.settle();
    assert_eq!(looks, 1);
    assert_eq!(app.filter(), "#29");
    assert_eq!(app.model.list.total, Some(11));
    app.press("Esc").settle();
    assert_eq!(app.filter(), "");
    assert_eq!(app.model.list.total, Some(300));
}

#[test]
fn filter_by_recipient_matches_the_whole_address() {
    let mut service = FakeService::with_emails(3);
    let addresses = ["ann@example.com", "joann@example.com"];
    for (row, to) in service.rows.iter_mut().zip(addresses) {
        row.summary.to = vec![Address::parse(to)];
    }
    let mut app = AppHarness::at_rest(120, 40, service);
    app.press("@ t").settle();
    assert_eq!(app.filter(), "recipient:ann@example.com");
    assert_eq!(app.visible().len(), 1, "joann has another address");
}

#[test]
fn filter_by_field_replaces_one_of_one_email() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.search("customer299");
    assert_eq!(app.visible(), [299]);
    app.press("@ d").settle();
    assert_eq!(app.filter(), "domain:example.com");
    assert_eq!((app.model.list.total, app.selected()), (Some(300), 299));
}

#[test]
fn filters_by_field_narrow_and_undo() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.press("j @ v").settle();
    assert_eq!(app.filter(), "status:delivered");
    assert_eq!(app.selected(), 298);
    app.press("@ t").settle();
    let expected = "status:delivered recipient:customer298@example.com";
    assert_eq!(app.filter(), expected);
    assert_eq!(app.visible(), [298]);
    app.press("u").settle();
    assert_eq!(app.filter(), "status:delivered");
    app.press("u").settle();
    assert_eq!(app.filter(), "");
    assert_eq!(app.model.list.total, Some(300));
    assert_eq!(app.selected(), 298);
    app.press("u").settle();
    app.shows_notice("nothing to undo");
    app.press("U U").settle();
    assert_eq!(app.visible(), [298]);
    app.press("u @ d").settle();
    assert_eq!(app.filter(), "status:delivered domain:example.com");
    app.press("U");
    app.shows_notice("nothing to redo");
}

#[test]
fn relative_date_follows_midnight() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(400));
    app.press("1").settle();
    assert_ne!(app.model.list.total, Some(0));
    app.set_time(now().checked_add(1.day()).unwrap());
    app.wait_for_refresh();
    assert_eq!(app.filter(), "after:today");
    assert_eq!(app.model.list.total, Some(0));
    assert_eq!(app.model.shown_view().map(|(number, _)| number), Some(1));
}

#[test]
fn email_opened_under_relative_date_stays_open_at_midnight() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(400));
    app.press("G").settle();
    app.search("after:yesterday");
    app.press("Enter").settle();
    let open = app.model.list.selected_id().cloned();
    app.set_time(now().checked_add(1.day()).unwrap());
    app.wait_for_refresh();
    assert_eq!(app.model.focus(), Focus::Reader, "{}", app.notice());
    assert_eq!(app.model.list.selected_id().cloned(), open);
}

#[test]
fn bodies_that_filter_searches_are_fetched_after_question() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.press("/").write("refund to:customer29").settle();
    app.shows(&["Bodies and tags are known for 0 of them; gb fetches the others, after Enter."]);
    app.press("Enter").settle();
    let fetches = |app: &AppHarness| app.count(effect!(Effect::FetchBodies(..)));
    app.shows(&["Bodies and tags are known for 0 of them; gb fetches the others."]);
    app.press("g b").settle();
    app.shows(&["Fetch the bodies of 11 emails that this filter may match?"]);
    assert_eq!(fetches(&app), 0);
    app.press("Enter");
    app.shows(&["fetching bodies: 0 of 11; Ctrl-x stops"]);
    app.settle();
    assert_eq!((fetches(&app), &app.model.body_fetch.running), (3, &None));
    app.press("g b").settle();
    app.shows_notice("all bodies that this filter searches are known");
}

#[test]
fn fetched_bodies_notice_counts_invalid_responses() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.search("refund");
    app.press("g b").settle().press("Enter");
    let (request, mut invalid) =
        app.find(effect!(Effect::FetchBodies(request, fetch) => (*request, fetch.invalid)));
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
    app.happen(Message::BodiesFetched(request, Ok(step)));
    app.shows_notice(
        "the bodies that this filter searches are fetched; 2 responses could not be read",
    );
}

#[test]
fn fetch_of_bodies_stops_by_key_or_filter() {
    for keys in ["Ctrl-x", "Esc"] {
        let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
        app.search("refund");
        app.press("g b").settle().press("Enter");
        app.press(keys);
        let request = app.find(effect!(Effect::FetchBodies(request, _) => *request));
        let is_wanted = app.model.is_wanted(RequestKind::FetchBodies, request);
        assert!(!is_wanted, "{keys}");
        app.settle();
        assert_eq!(app.count(effect!(Effect::FetchBodies(..))), 1, "{keys}");
    }
}

#[test]
fn question_about_bodies_ends_with_its_filter() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.search("refund");
    app.press("g b Esc").settle();
    assert_eq!((app.filter(), &app.model.chooser), ("", &None));
    app.press("Enter").settle();
    assert!(app.model.body_fetch.running.is_none());
}

#[test]
fn question_about_bodies_waits_until_nothing_is_typed() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300));
    app.search("refund");
    app.press("g b /").settle();
    assert_eq!(app.model.focus(), Focus::Prompt);
    assert_eq!(app.model.chooser, None);
    app.press("Esc").settle();
    assert_eq!(app.model.focus(), Focus::Choice);
    app.press("Esc").settle();
    assert_eq!(app.model.focus(), Focus::List, "it is asked once");
}

#[test]
fn subject_filter_leaves_out_masked_codes() {
    for (subject, filter) in [
        ("482913 is your Acme code", "subject:\"is your Acme code\""),
        ("Your receipt #4821", "subject:\"Your receipt #\""),
        ("4821", "subject:4821"),
        ("👍👍", "subject:👍👍"),
    ] {
        let mut service = FakeService::with_emails(3);
        service.rows[0].summary.subject = SafeText::new(subject);
        let mut app = AppHarness::at_rest(120, 40, service);
        app.press("@ s").settle();
        assert_eq!(app.filter(), filter);
        assert!(app.visible().contains(&2));
    }
}

fn fail_older(app: &mut AppHarness, kind: ErrorKind) {
    let request = app.take(effect!(Effect::LoadOlder(request, _) => *request));
    let error = Error::new(kind, "the service has failed");
    app.happen(Message::OlderLoaded(request, Err(error)));
}

/// A filter that matches one of 300 emails, of a service with older pages.
pub(super) fn searched(older_pages: u64) -> AppHarness {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(300).older(older_pages));
    app.search("customer299");
    app
}

#[test]
fn older_mail_is_searched_again_after_a_refresh() {
    let mut app = searched(3);
    app.press("b");
    fail_older(&mut app, ErrorKind::Server);
    app.settle().press("b");
    let notice = app.notice();
    assert!(notice.ends_with("r retries now"), "{notice}");
    app.press("r").settle().press("b").settle();
    assert_eq!(app.service.older_pages, 0, "{}", app.notice());
}

#[test]
fn rejected_key_ends_a_search_with_its_reason() {
    let mut app = searched(3);
    app.press("b");
    app.answer_first(effect!(Effect::LoadOlder(..)));
    app.press("r");
    app.fail_refresh(Error::new(ErrorKind::KeyRejected, "the key is not valid"));
    app.settle();
    app.shows_notice("the key is not valid");
    assert_eq!(app.model.load_older.running, None);
}

#[test]
fn filter_count_is_capped_while_user_types() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(2_000));
    let counted = |app: &AppHarness| (app.model.list.total, app.model.list.is_capped);
    app.press("/").write("#1").answer_archive();
    assert_eq!(counted(&app), (Some(1_000), true));
    app.write("9").answer_archive();
    assert_eq!(counted(&app), (Some(111), false));
    app.press("Backspace").answer_archive();
    assert_eq!(counted(&app), (Some(1_000), true));
    app.press("Enter").settle();
    assert_eq!(counted(&app), (Some(1_111), false));
    app.press("/ Backspace").write("1").settle();
    let counts = |most| {
        app.count(move |effect| matches!(effect, Effect::CountEmails { most: found, .. } if *found == most))
    };
    assert_eq!(counted(&app), (Some(111), false));
    assert_eq!(counts(1_000), 4);
    assert_eq!(counts(10_000), 2, "the whole list, and after the rest");
}

#[test]
fn typed_burst_is_no_pasted_list() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(3));
    app.press("/");
    app.happen(Message::Typed(SecretInput::new("4711, 471")));
    app.write("2");
    assert_eq!(app.prompt_text(), "4711, 4712");
    // A pasted list after a minus is what is excluded.
    app.press("Ctrl-u -");
    app.happen(Message::Pasted(SecretInput::new(
        "a@x.example\nb@x.example",
    )));
    assert_eq!(app.prompt_text(), "-(a@x.example or b@x.example)");
}

#[test]
fn pasted_lines_are_alternatives() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
    app.press("/").write("status:sent").settle();
    app.happen(Message::Pasted(SecretInput::new("#7\r#9\r")));
    app.settle();
    assert_eq!(app.prompt_text(), "status:sent (#7 or #9)");
    app.write(" to:");
    let list = "a@x.example, b@x.example";
    app.happen(Message::Pasted(SecretInput::new(list)));
    let expected = format!("status:sent (#7 or #9) to:{list}");
    assert_eq!(app.prompt_text(), expected);
}

#[test]
fn pasted_headers_become_their_query() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(30));
    app.press("/");
    app.happen(Message::Pasted(SecretInput::new(
        "Von: Acme <a@x.example>\r\nAn: Bo <bo@x.example>\r\nBetreff: AW: Hallo Bo\r\n",
    )));
    let query = "(from:a@x.example to:bo@x.example subject:\"Hallo Bo\")";
    assert_eq!(app.prompt_text(), query);
}

#[test]
fn lines_pasted_as_one_query_are_reported() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(3));
    app.press("/");
    app.happen(Message::Pasted(SecretInput::new("Hello\na@x.example\n")));
    app.shows(&["the lines are one query, no alternatives: one of them is no address or number"]);
}

#[test]
fn long_paste_is_inserted_whole_or_refused() {
    let mut app = AppHarness::at_rest(120, 40, FakeService::with_emails(3));
    app.press("/").settle();
    let addresses: Vec<String> = (0..400)
        .map(|n| format!("customer{n}@example.com"))
        .collect();
    let pasted = addresses.join(" or ");
    app.happen(Message::Pasted(SecretInput::new(&pasted)));
    assert_eq!(app.filter(), pasted);
    app.happen(Message::Pasted(SecretInput::new(&"x".repeat(20_000))));
    assert_eq!(app.filter(), pasted);
    let notice = "too long: a prompt takes 20 000 characters at most";
    assert_eq!(app.notice(), notice);
}
