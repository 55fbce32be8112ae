//! Waiting, in a time that passes by itself, for a service that changes from one
//! request to the next.

use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;

use super::*;
use crate::api::{Cursor, EmailPage, ListedEmail, RetrievedEmail};
use crate::archive::{Archive, ArchiveLocation};
use crate::mail::EmailId;
use crate::query::{ParseContext, parse};

const NOW: i64 = 1_790_000_000;

/// A service whose listing has the next step of this list at each request,
/// and then the last one.
#[derive(Clone)]
struct Scripted(Arc<Mutex<Vec<Step>>>);

/// The statuses of the emails, newest first; an empty one leaves its email out.
type Step = Result<&'static [&'static str], Error>;

impl EmailApi for Scripted {
    async fn list(&self, _: u8, _: &Cursor) -> Result<EmailPage, Error> {
        let mut steps = self.0.lock().unwrap();
        let step = if steps.len() > 1 {
            steps.remove(0)
        } else {
            steps[0].clone()
        };
        let statuses = step?.iter().enumerate();
        let items = statuses.filter(|(_, status)| !status.is_empty()).map(|(n, status)| {
            let at = Timestamp::from_second(NOW - i64::try_from(n).unwrap()).unwrap();
            let id = format!("mail-{n}");
            let json = format!(
                r#"{{"id":"{id}","to":["ana@example.com"],"created_at":"{at}","last_event":"{status}"}}"#
            );
            ListedEmail::parse(&json).unwrap()
        });
        Ok(EmailPage {
            checked_at: None,
            listed_at: None,
            items: items.collect(),
            unreadable: 0,
            has_more: Some(false),
        })
    }

    async fn retrieve(&self, _: &EmailId) -> Result<RetrievedEmail, Error> {
        Err(Error::new(ErrorKind::NotFound, "no such email"))
    }
}

/// Waits with a timeout of a minute;
/// returns the status or the error, and the seconds that have passed.
async fn wait_for(
    steps: Vec<Step>,
    query: &str,
    until: Option<Status>,
) -> (Result<String, Error>, u64, String) {
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let began = Instant::now();
    let clock: Clock = Arc::new(move || Timestamp::from_second(NOW).unwrap() + began.elapsed());
    let (mut out, _, notes) = Output::captured();
    let service = Scripted(Arc::new(Mutex::new(steps)));
    let context = ParseContext::new(clock(), TimeZone::UTC);
    let mut wait = Wait {
        engine: Engine::new(service, archive, clock.clone()),
        query: parse(query, &context).query,
        until,
        started: clock(),
        clock,
        zone: TimeZone::UTC,
        last_error: None,
        out: &mut out,
    };
    let result = wait.run(Duration::from_mins(1)).await;
    let status = result.map(|row| row.summary.status.label().to_owned());
    let notes = String::from_utf8(notes.lock().unwrap().clone()).unwrap();
    (status, began.elapsed().as_secs(), notes)
}

#[tokio::test(start_paused = true)]
async fn wait_ends_when_status_is_reached() {
    let steps = || {
        vec![
            Ok(&[][..]),
            Ok(&["queued"][..]),
            Ok(&["sent"]),
            Ok(&["opened"]),
        ]
    };
    for (query, until, expected, seconds) in [
        ("to:ana", None, "queued", 1),
        ("to:ana", Some(Status::Sent), "sent", 2),
        ("to:ana", Some(Status::Delivered), "opened", 3),
        ("to:ana status:opened", None, "opened", 3),
    ] {
        let (result, passed, _) = wait_for(steps(), query, until.clone()).await;
        assert_eq!(result.as_deref(), Ok(expected), "{until:?}");
        assert_eq!(passed, seconds, "{until:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn newest_match_decides_what_cannot_happen_any_more() {
    let delivered = Some(Status::Delivered);
    let steps = vec![Ok(&["sent"][..]), Ok(&["bounced"])];
    let (result, passed, _) = wait_for(steps, "to:ana", delivered.clone()).await;
    let error = result.unwrap_err();
    assert_eq!((error.kind.exit_code(), passed), (1, 1));
    let expected = "the email's status is bounced, so it cannot become delivered any more";
    assert_eq!(error.message, expected);
    let steps = vec![Ok(&["delivered", "bounced"][..])];
    assert_eq!(
        wait_for(steps, "to:ana", delivered).await.0.unwrap(),
        "delivered"
    );
    // A delivered email may still bounce.
    let steps = vec![Ok(&["delivered"][..]), Ok(&["bounced"])];
    let (result, _, _) = wait_for(steps, "to:ana", Some(Status::Bounced)).await;
    assert_eq!(result.unwrap(), "bounced");
}

#[tokio::test(start_paused = true)]
async fn timeout_names_what_is_still_missing() {
    for (steps, message) in [
        (
            vec![Ok(&["sent"][..])],
            "not within 60 s: the newest match is sent",
        ),
        (
            vec![Ok(&[][..])],
            "not within 60 s: no email matches; everything the service has is here",
        ),
    ] {
        let (result, passed, _) = wait_for(steps, "to:ana", Some(Status::Delivered)).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind.exit_code(), passed), (7, 60));
        assert_eq!(error.message, message);
    }
}

#[tokio::test(start_paused = true)]
async fn wait_retries_outages_but_not_rejected_keys() {
    let failure = |kind| Err(Error::new(kind, "no route"));
    let steps = vec![
        failure(ErrorKind::Unreachable),
        failure(ErrorKind::Server),
        Ok(&["sent"][..]),
    ];
    let (result, passed, notes) = wait_for(steps, "to:ana", None).await;
    assert_eq!((result.as_deref(), passed), (Ok("sent"), 2));
    assert_eq!(notes, "sentbox: no route; retrying\n");
    let (result, passed, _) = wait_for(vec![failure(ErrorKind::KeyRejected)], "to:ana", None).await;
    assert_eq!(result.unwrap_err().kind, ErrorKind::KeyRejected);
    assert_eq!(passed, 0);
}

#[tokio::test(start_paused = true)]
async fn new_email_may_be_absent_for_a_while() {
    let listed = || Ok(&["sent", "opened"][..]);
    let steps = vec![listed(), Ok(&["", "opened"]), Ok(&["delivered", "opened"])];
    let (result, passed, _) = wait_for(steps, "to:ana", Some(Status::Delivered)).await;
    assert_eq!((result.as_deref(), passed), (Ok("delivered"), 2));
    let steps = vec![listed(), Ok(&["", "opened"])];
    let (result, passed, _) = wait_for(steps, "to:ana", Some(Status::Delivered)).await;
    let message = result.unwrap_err().message;
    assert!(message.contains("no longer at the service"), "{message}");
    assert!(
        (31..36).contains(&passed),
        "two answers after half a minute: {passed}"
    );
}
