//! Ring 1, finding: the recipient card, saved views, the places one has been, text in an email.

use crate::api::wire;
use crate::app::tests::env::{Mailbox, World, now, row_of, session};
use crate::app::{Effect, Focus, Message, SessionInfo};
use crate::config::SavedView;
use crate::error::{Error, ErrorKind};
use jiff::ToSpan as _;

/// Emails 0 to 299; every tenth goes to Ana, with Ben in copy, and every hundredth of hers bounced.
fn mailbox() -> Mailbox {
    let mut mailbox = Mailbox::of(300);
    for row in mailbox
        .rows
        .iter_mut()
        .filter(|row| row.sort_key.micros() % 10 == 0)
    {
        let n = row.sort_key.micros();
        let bounced = n % 100 == 0;
        *row = row_of(
            n,
            &wire::Summary {
                id: row.summary.id.as_str().to_owned(),
                to: Some(vec![
                    "Ana <ana@example.com>".to_owned(),
                    "ANA@example.com".to_owned(),
                ]),
                cc: Some(vec!["ben@example.org".to_owned()]),
                from: Some("Acme <hello@example.org>".to_owned()),
                subject: Some(format!("For Ana #{n}")),
                created_at: Some(row.summary.created.raw.to_string()),
                last_event: Some(if bounced { "bounced" } else { "opened" }.to_owned()),
                extra: if bounced {
                    vec![(
                        "bounce".to_owned(),
                        r#"{"message":"mailbox full"}"#.to_owned(),
                    )]
                } else {
                    vec![]
                },
                ..wire::Summary::default()
            },
        );
    }
    // Whose address only contains Ana's.
    mailbox.rows[5].summary.to = vec![crate::mail::Address::parse("diana@example.com")];
    mailbox
}

fn filter(world: &World) -> &str {
    world.model.list.filter.text()
}

#[test]
fn a_card_has_all_mail_to_one_address_and_leads_back() {
    let mut world = World::at_rest(160, 45, mailbox());
    for _ in 0..9 {
        world.press("j");
    }
    world.settle();
    assert_eq!(world.selected(), 290);
    world.press("c").settle();
    assert_eq!(
        (filter(&world), world.selected()),
        ("recipient:ana@example.com", 290)
    );
    let tally = world
        .model
        .recipient_summary
        .value()
        .expect("it is counted")
        .clone();
    let statuses: Vec<(&str, u64)> = tally
        .statuses
        .iter()
        .map(|(status, count)| (status.label(), *count))
        .collect();
    assert_eq!(
        (tally.total, &*tally.name, statuses),
        (30, "Ana", vec![("bounced", 3), ("opened", 27)])
    );
    let trouble = tally
        .newest_problem
        .as_ref()
        .expect("the newest that bounced");
    assert_eq!(
        (&*trouble.subject, trouble.reason.as_deref()),
        ("For Ana #200", Some("mailbox full"))
    );
    assert_eq!(
        tally
            .newest
            .as_ref()
            .map(|last| last.subject.to_string())
            .as_deref(),
        Some("For Ana #290")
    );

    world.press("j j @ v").settle();
    assert!(
        world.model.recipient_card.is_some(),
        "what narrows a card leaves it there"
    );
    assert_eq!(filter(&world), "recipient:ana@example.com status:opened");
    world.press("Esc").settle();
    assert_eq!(
        (
            filter(&world),
            world.selected(),
            world.model.recipient_card.is_some()
        ),
        ("", 290, false),
        "where one was"
    );
    world.press("u").settle();
    assert_eq!(
        filter(&world),
        "recipient:ana@example.com status:opened",
        "also back to the card"
    );
}

#[test]
fn the_card_key_goes_on_to_the_next_recipient() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("c").settle();
    assert_eq!(filter(&world), "recipient:customer299@example.com");
    world.press("c");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("this email has no other recipient")
    );
    world.press("Esc").settle();
    for _ in 0..9 {
        world.press("j");
    }
    world.settle().press("c").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("recipient 1 of 2; c shows the next")
    );
    world.press("c").settle();
    assert_eq!(
        (filter(&world), world.selected()),
        ("recipient:ben@example.org", 290)
    );
    world.press("c").settle();
    assert_eq!(
        filter(&world),
        "recipient:ana@example.com",
        "past the last comes the first"
    );
    world.press("Esc").settle();
    assert_eq!(
        (filter(&world), world.selected()),
        ("", 290),
        "one step back from all of them"
    );
}

#[test]
fn a_card_opened_while_reading_leads_back_to_reading() {
    let mut world = World::at_rest(40, 12, mailbox());
    world.press("Enter").settle();
    assert_eq!(world.model.focus(), Focus::Reader);
    world.press("c").settle();
    assert_eq!(
        world.model.focus(),
        Focus::List,
        "the list of what went to them is shown"
    );
    world.press("Esc").settle();
    assert_eq!(
        (world.model.focus(), world.selected()),
        (Focus::Reader, 299)
    );
}

#[test]
fn a_card_is_counted_again_when_something_changes_and_not_while_one_types() {
    let mut world = World::at_rest(120, 40, mailbox());
    let tallies = |world: &World| {
        world
            .asked
            .iter()
            .filter(|effect| matches!(effect, Effect::SummarizeRecipient { .. }))
            .count()
    };
    world.press("/").write("recipient:ana@example.com").settle();
    assert_eq!(
        (tallies(&world), world.model.recipient_card.is_some()),
        (0, false),
        "half an address has no card"
    );
    world.press("Enter").settle();
    assert_eq!(
        (tallies(&world), world.model.recipient_card.is_some()),
        (2, true),
        "at first, and when its emails were checked"
    );
    world.mailbox.arriving = 1;
    world.wait_for_refresh();
    assert_eq!(tallies(&world), 3);
    world.press("/ Ctrl-u").settle();
    assert!(
        world.model.recipient_card.is_some(),
        "nothing jumps while one types"
    );
    world.press("Enter").settle();
    assert!(world.model.recipient_card.is_none());
}

#[test]
fn what_cannot_be_counted_is_said() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("c");
    let n = world
        .pending
        .iter()
        .position(|effect| matches!(effect, Effect::SummarizeRecipient { .. }))
        .expect("it is counted");
    let Effect::SummarizeRecipient { request, .. } = world.pending.remove(n) else {
        unreachable!()
    };
    world.happen(Message::RecipientSummarized(
        request,
        Err(Error::new(ErrorKind::Archive, "the disk is gone")),
    ));
    assert!(world.model.recipient_summary.error().is_some());
}

#[test]
fn summary_of_earlier_recipient_is_ignored() {
    let mut world = World::at_rest(160, 45, mailbox());
    for _ in 0..9 {
        world.press("j");
    }
    world.settle().press("c c");
    assert_eq!(filter(&world), "recipient:ben@example.org");
    let is_summary = |effect: &Effect| matches!(effect, Effect::SummarizeRecipient { .. });
    let first = world.pending.iter().position(is_summary).unwrap();
    world.answer(first);
    assert!(world.model.recipient_summary.value().is_none());
    world.settle();
    assert!(world.model.recipient_summary.value().is_some());
}

#[test]
fn a_number_shows_a_view_and_undo_takes_it_back() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("2").settle();
    assert_eq!(
        (
            filter(&world),
            world.model.shown_view().map(|(_, view)| view.name.as_str())
        ),
        ("is:trouble after:7d", Some("Trouble"))
    );
    world.press("1").settle();
    assert_eq!(filter(&world), "after:today");
    world.press("u").settle();
    assert_eq!(filter(&world), "is:trouble after:7d");
    world.press("u").settle();
    assert_eq!((filter(&world), world.model.shown_view()), ("", None));
    world.press("9");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("no view has the number 9; W saves what is shown as one")
    );
}

#[test]
fn views_are_saved_chosen_and_taken_away() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("W");
    assert!(
        world.model.notice.is_some() && world.model.prompt.is_none(),
        "all mail is no view"
    );
    world.press("/").write("to:ana").press("Enter W").settle();
    assert_eq!(
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .as_deref(),
        Some("5 "),
        "the first free number"
    );
    world.press("Enter");
    assert_eq!(world.model.focus(), Focus::Prompt, "a view has a name");
    world.write("Ana").press("Enter").settle();
    let saved = SavedView {
        name: "Ana".to_owned(),
        query: "to:ana".to_owned(),
    };
    assert!(world.asked.iter().any(|effect| matches!(effect, Effect::SaveView { number: 5, view: Some(view), .. } if *view == saved)));
    assert_eq!(
        world.model.notice.as_deref(),
        Some("5 shows Ana from now on; written to config.toml")
    );
    assert_eq!(world.model.shown_view(), Some((5, &saved)));

    world.press("Esc g v").settle();
    assert_eq!(
        (world.model.focus(), world.model.view_chooser),
        (Focus::Choice, Some(0))
    );
    world.press("j j j j j Enter").settle();
    assert_eq!(
        (world.model.focus(), filter(&world)),
        (Focus::List, "to:ana")
    );
    world.press("g v").settle();
    assert_eq!(world.model.view_chooser, Some(4), "the one that is shown");
    world.press("d d").settle();
    assert!(world.asked.iter().any(|effect| matches!(
        effect,
        Effect::SaveView {
            number: 5,
            view: None,
            ..
        }
    )));
    assert_eq!(
        (
            world.model.session.saved_views.len(),
            world.model.view_chooser
        ),
        (4, Some(3))
    );
    world.press("d d d d d d d d d d").settle();
    assert!(world.model.session.saved_views.is_empty());
    world.press("Esc");
    assert_eq!(world.model.focus(), Focus::List);
}

#[test]
fn a_view_is_renamed_by_saving_it_again() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("2").settle().press("W");
    assert_eq!(
        world
            .model
            .prompt
            .as_ref()
            .map(|prompt| prompt.text().to_owned())
            .as_deref(),
        Some("2 Trouble")
    );
    world.press("Ctrl-w").write("Alarm").press("Enter").settle();
    assert_eq!(
        world
            .model
            .shown_view()
            .map(|(number, view)| (number, view.name.as_str())),
        Some((2, "Alarm"))
    );
    assert_eq!(world.model.session.saved_views.len(), 4);
}

#[test]
fn a_view_that_cannot_be_written_is_there_until_one_leaves() {
    let mut world = World::at_rest(120, 40, mailbox());
    world
        .press("/")
        .write("to:ana")
        .press("Enter W")
        .write("Ana")
        .settle()
        .press("Enter");
    let Some(Effect::SaveView { request, .. }) = world.pending.pop() else {
        panic!("it is to be kept")
    };
    world.happen(Message::ViewSaved(
        request,
        Err(Error::new(
            ErrorKind::Config,
            "config.toml cannot be written",
        )),
    ));
    assert_eq!(
        world.model.notice.as_deref(),
        Some("5 shows Ana from now on; until you leave: config.toml cannot be written")
    );
    world.press("Esc 5").settle();
    assert_eq!(filter(&world), "to:ana");
}

#[test]
fn the_places_one_has_been_are_walked_with_their_emails() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("j j G").settle();
    world.press("@ t").settle();
    world
        .press("Esc")
        .settle()
        .press("k k")
        .settle()
        .press("g g")
        .settle();
    assert_eq!((filter(&world), world.selected()), ("", 299));
    let mut seen = Vec::new();
    for _ in 0..4 {
        world.press("g [").settle();
        seen.push((filter(&world).to_owned(), world.selected()));
    }
    let place = |filter: &str, selected| (filter.to_owned(), selected);
    assert_eq!(
        seen,
        [
            place("", 2),
            place("to:ana@example.com", 0),
            place("", 0),
            place("", 297)
        ]
    );
    world.press("Alt-Left");
    assert_eq!(world.model.notice.as_deref(), Some("start of the history"));
    world.press("Alt-Right g ]").settle();
    assert_eq!(
        (filter(&world), world.selected()),
        ("to:ana@example.com", 0)
    );
    world.press("u").settle();
    assert_eq!(
        filter(&world),
        "",
        "what is undone is the change of what is shown"
    );
}

#[test]
fn text_is_found_while_one_types_and_forgotten_with_esc() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("Enter /").write("line 2").settle();
    assert_eq!(
        (
            world.model.reader.find_text(),
            world.model.reader.matches().len(),
            world.model.reader.current_match
        ),
        (Some("line 2"), 11, Some(0))
    );
    assert_eq!(world.model.reader.scroll, 0);
    world.write("9").settle();
    assert_eq!(world.model.reader.matches().len(), 1);
    assert!(world.model.reader.scroll > 0, "what is found is gone to");
    world.press("Backspace").settle();
    assert_eq!(
        (world.model.reader.scroll, world.model.reader.current_match),
        (0, Some(0)),
        "from where one began"
    );
    world.press("Enter n n").settle();
    assert_eq!(
        (
            world.model.notice.as_deref(),
            world.model.reader.current_match
        ),
        (Some("match 3 of 11"), Some(2))
    );
    world.press("G").settle();
    world.press("/ Enter");
    assert_eq!(
        world.model.reader.find_text(),
        Some("line 2"),
        "nothing typed changes nothing"
    );
    world.press("/").write("line 2").press("Enter").settle();
    assert!(world.model.reader.scroll > 0);
    world.press("n J").settle();
    assert_eq!(
        (world.model.reader.scroll, world.model.reader.current_match),
        (0, None),
        "another email begins at its start"
    );
    assert_eq!(
        (
            world.model.reader.find_text(),
            world.model.reader.matches().len()
        ),
        (Some("line 2"), 11),
        "in the next email, too"
    );
    world.press("Esc").settle();
    assert_eq!(
        (world.model.reader.find_text(), world.model.focus()),
        (None, Focus::Reader),
        "one layer"
    );
    world.press("/").write("line 50").settle();
    assert!(world.model.reader.scroll > 0);
    world.press("Esc").settle();
    assert_eq!(
        (
            world.model.reader.scroll,
            world.model.reader.matches().len()
        ),
        (0, 0)
    );
    world
        .press("/")
        .write("nowhere")
        .press("Enter")
        .settle()
        .press("n");
    assert_eq!(
        world.model.notice.as_deref(),
        Some("nowhere is not in this text")
    );
}

#[test]
fn text_in_the_email_goes_before_the_filter_and_leaves_it_alone() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world.press("/").write("\"line 3\"").press("Enter").settle();
    assert!(
        world.model.list.rows().is_empty(),
        "no subject says so, and no body is known"
    );
    world
        .press("/ Ctrl-u")
        .write("receipt or body:line")
        .press("Enter")
        .settle()
        .press("Enter")
        .settle();
    let of_filter = world.model.reader.matches().len();
    assert!(of_filter > 11);
    world.press("/").write("line 1").press("Enter").settle();
    assert_eq!(world.model.reader.matches().len(), 11);
    world.press("Esc").settle();
    assert_eq!(world.model.reader.matches().len(), of_filter);
}

#[test]
fn today_is_another_day_after_midnight() {
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("1").settle();
    let of_today = world.model.list.total;
    world.set_time(now().checked_add(1.day()).unwrap());
    world.wait_for_refresh();
    assert_eq!(
        (filter(&world), world.model.list.total),
        ("after:today", Some(0)),
        "there were {of_today:?} yesterday"
    );
    assert_eq!(world.model.shown_view().map(|(number, _)| number), Some(1));
}

#[test]
fn below_the_last_row_enter_looks_further_back() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    let height = world.model.list_height();
    world.press("/").write("#5").press("Enter G").settle();
    assert_eq!(world.selected(), 5);
    assert!(
        world
            .model
            .list
            .load_more_row(height)
            .is_some_and(|(_, selected)| !selected),
        "there may be more"
    );
    world.press("Enter q").settle();
    assert_eq!(
        (world.selected(), world.model.load_older),
        (5, None),
        "the last email is read like any other"
    );
    world.press("j j j").settle();
    assert!(world.model.list.is_on_load_more_row());
    assert_eq!(world.selected(), 5, "an email stays selected");
    world.press("k").settle();
    assert!(!world.model.list.is_on_load_more_row());
    assert_eq!(world.selected(), 5);
    world.press("j Enter").settle();
    assert_eq!(
        (world.model.list.archive_total, world.model.load_older),
        (Some(500), None),
        "until everything is read: nothing older has a 5"
    );
    assert!(
        world.model.list.load_more_row(height).is_none(),
        "everything was looked at"
    );

    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world
        .press("/")
        .write("#-")
        .press("Enter")
        .settle()
        .press("Enter")
        .settle();
    assert!(
        world.model.list.total > Some(0),
        "where nothing is found, too"
    );
    world.press("G j").settle();
    let last = world.selected();
    world.press("Enter").settle();
    assert!(world.selected() < last, "what comes is gone on to");
}

#[test]
fn nobody_looks_further_back_than_the_filter_wants() {
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    let height = world.model.list_height();
    world.press("/").write("after:2d").press("Enter").settle();
    world.press("G j").settle();
    assert!(world.model.list.load_more_row(height).is_none());
    world.press("b").settle();
    assert_eq!(
        world.model.notice.as_deref(),
        Some("all mail since the date of this filter is loaded")
    );
    assert_eq!(world.model.list.archive_total, Some(200));
}

#[test]
fn a_click_reaches_the_line_below_the_last_row() {
    use crate::app::MouseInput;
    use ratatui::layout::Position;
    let mut mailbox = Mailbox::of(200);
    mailbox.older_pages = 3;
    let mut world = World::at_rest(120, 40, mailbox);
    world.press("/").write("#150").press("Enter").settle();
    let y = world.model.layout().list.y + 1;
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(3, y))));
    assert!(world.model.list.is_on_load_more_row());
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(3, y - 1))));
    assert!(!world.model.list.is_on_load_more_row());
}

#[test]
fn the_mouse_does_not_reach_through_the_list_of_views() {
    use crate::app::MouseInput;
    use ratatui::layout::Position;
    let mut world = World::at_rest(120, 40, mailbox());
    let selected = world.selected();
    world.press("g v");
    let at = Position::new(3, 9);
    world.happen(Message::Mouse(MouseInput::Pressed(at)));
    world.happen(Message::Mouse(MouseInput::Scrolled { at, down: true }));
    assert_eq!(
        (world.model.view_chooser, world.selected()),
        (Some(1), selected)
    );
}

#[test]
fn a_click_takes_a_view_from_the_list() {
    use crate::app::MouseInput;
    use ratatui::layout::Position;
    let mut world = World::at_rest(120, 40, mailbox());
    world.press("g v");
    let title = Position::new(3, world.model.layout().main.y);
    world.happen(Message::Mouse(MouseInput::Pressed(title)));
    assert!(world.model.is_choosing_view(), "the title is no view");
    world.happen(Message::Mouse(MouseInput::Pressed(Position::new(
        3,
        title.y + 3,
    ))));
    world.settle();
    assert!(!world.model.is_choosing_view());
    assert_eq!(
        filter(&world),
        world
            .model
            .session
            .saved_views
            .values()
            .nth(1)
            .unwrap()
            .query
    );
}

#[test]
fn the_reader_says_why_an_email_bounced() {
    use crate::app::email_header::HeaderLine;
    let mut world = World::at_rest(120, 40, mailbox());
    world
        .press("/")
        .write("\"For Ana #200\"")
        .press("Enter")
        .settle();
    let row = world.model.list.selected().unwrap();
    let why = world
        .model
        .reader
        .header(row)
        .into_iter()
        .find_map(|line| match line {
            HeaderLine::Text("why", text) => Some(text),
            _ => None,
        });
    assert_eq!(why.as_deref(), Some("mailbox full"));
}

#[test]
fn views_of_the_file_are_those_of_the_keys() {
    let views = [(
        7,
        SavedView {
            name: "Seven".to_owned(),
            query: "#7".to_owned(),
        },
    )]
    .into();
    let mut world = World::start(
        (120, 40),
        SessionInfo {
            saved_views: views,
            ..session()
        },
        mailbox(),
    );
    world.settle().press("7").settle();
    assert_eq!(filter(&world), "#7");
}

#[test]
fn a_face_of_the_body_is_left_and_come_back_to() {
    let mut world = World::at_rest(120, 24, Mailbox::of(300));
    world
        .press("Enter j j j j j j j j j j j j j j j j")
        .settle();
    let scroll = world.model.reader.scroll;
    assert_eq!(scroll, 16);
    world.press("v").settle();
    let row = world.model.list.selected().unwrap().clone();
    assert_eq!(
        world.model.reader.scroll,
        world.model.reader.header(&row).len(),
        "the start of the other face"
    );
    world.press("j [").settle();
    assert_eq!(world.model.reader.scroll, scroll);
    world.press("] J").settle();
    assert_eq!(
        world.model.reader.scroll, 0,
        "another email begins at its start"
    );
}

#[test]
fn the_head_is_folded_where_there_is_little_room_and_unfolded_by_hand() {
    let mut world = World::at_rest(120, 40, Mailbox::of(30));
    let head = |world: &World| {
        world
            .model
            .reader
            .header(world.model.list.selected().unwrap())
            .len()
    };
    let whole = head(&world);
    world.press("Z").settle();
    let folded = head(&world);
    assert!(folded < whole);
    world.press("Z").settle();
    assert_eq!(head(&world), whole);
    let mut world = World::at_rest(80, 24, Mailbox::of(30));
    assert_eq!(head(&world), folded);
    world.press("Z").settle();
    assert_eq!(
        head(&world),
        whole - 1,
        "what became of it takes one line here"
    );
}
