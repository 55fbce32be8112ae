//! Waiting, in a time that passes by itself, for a service that changes from one
//! request to the next.

use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;

use super::*;
use crate::api::{Cursor, EmailPage, ListedEmail, RateBudget, RetrievedEmail};
use crate::archive::{Archive, ArchiveLocation};
use crate::mail::EmailId;
use crate::query::{ParseContext, parse};

const NOW: i64 = 1_790_000_000;

/// A service whose listing has the next step of this list at each request,
/// and then the last one.
///
/// An email is retrieved after these errors; `None` is no answer.
#[derive(Clone)]
struct Scripted(Arc<Mutex<Vec<Step>>>, Arc<Mutex<Vec<Option<Error>>>>);

/// The statuses of the emails, newest first; an empty one leaves its email out,
/// [`UNREADABLE`] is an email that cannot be read, [`NO_ANSWER`] no answer, and the others no permit of a rate
/// limit.
type Step = Result<&'static [&'static str]>;

const UNREADABLE: &str = "unreadable";
const NO_ANSWER: &[&str] = &["no answer"];
const OWN_LIMIT: &[&str] = &["own limit"];
const SERVICE_LIMIT: &[&str] = &["service limit"];

impl EmailApi for Scripted {
    fn rate_budget(&self) -> Option<RateBudget> {
        let step = self.0.lock().unwrap()[0].clone();
        Some(RateBudget {
            rate: 0.05,
            background: 0.05,
            limit: None,
            remaining: None,
            paused_for: Duration::ZERO,
            unanswered_for: Duration::ZERO,
            waits_for: match step {
                Ok(OWN_LIMIT) => Some(LimitOwner::User),
                Ok(SERVICE_LIMIT) => Some(LimitOwner::Service),
                _ => None,
            },
        })
    }

    async fn list(&self, _: u8, _: &Cursor) -> Result<EmailPage> {
        let step = {
            let mut steps = self.0.lock().unwrap();
            let next = steps[0].clone();
            if steps.len() > 1 {
                drop(steps.remove(0));
            }
            next?
        };
        if [NO_ANSWER, OWN_LIMIT, SERVICE_LIMIT].contains(&step) {
            std::future::pending::<()>().await;
        }
        let is_readable = |status: &str| !["", UNREADABLE].contains(&status);
        let statuses = step.iter().enumerate();
        let items = statuses.filter(|(_, status)| is_readable(status)).map(|(n, status)| {
            let at = Timestamp::from_second(NOW - i64::try_from(n).unwrap()).unwrap();
            let id = format!("mail-{n}");
            let json = format!(
                r#"{{"id":"{id}","to":["ana@example.com"],"created_at":"{at}","last_event":"{status}"}}"#
            );
            ListedEmail::parse(&json).unwrap()
        });
        Ok(EmailPage {
            items: items.collect(),
            unreadable: step.iter().filter(|status| **status == UNREADABLE).count(),
            has_more: Some(false),
            ..EmailPage::default()
        })
    }

    async fn retrieve(&self, _: &EmailId) -> Result<RetrievedEmail> {
        let error = self.1.lock().unwrap().pop();
        match error {
            Some(Some(error)) => Err(error),
            Some(None) => std::future::pending().await,
            None => Ok(RetrievedEmail::parse(
                r#"{"id":"mail-0","to":["ana@example.com"],"text":"code 1234"}"#,
            )
            .unwrap()),
        }
    }
}

/// Waits with a timeout of a minute;
/// returns the status or the error, and the seconds that have passed.
async fn wait_for(
    steps: Vec<Step>,
    query: &str,
    until: Option<Status>,
) -> (Result<String>, u64, String) {
    let began = Instant::now();
    let (mut out, _, notes) = Output::captured();
    let service = Scripted(Arc::new(Mutex::new(steps)), Arc::default());
    let mut wait = command(service, query, until, &mut out);
    let result = wait.run(Duration::from_mins(1)).await;
    let status = result.map(|row| row.summary.status.label().to_owned());
    let notes = String::from_utf8(notes.lock().unwrap().clone()).unwrap();
    (status, began.elapsed().as_secs(), notes)
}

fn command<'a>(
    service: Scripted,
    query: &str,
    until: Option<Status>,
    out: &'a mut Output,
) -> Wait<'a, Scripted> {
    let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
    let began = Instant::now();
    let clock: Clock = Arc::new(move || Timestamp::from_second(NOW).unwrap() + began.elapsed());
    let context = ParseContext::new(clock(), TimeZone::UTC);
    Wait {
        engine: Engine::new(service, archive, clock.clone()),
        query: parse(query, &context).query,
        until,
        started: clock(),
        clock,
        zone: TimeZone::UTC,
        last_error: None,
        out,
    }
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

#[test]
fn query_may_not_exclude_the_awaited_status() {
    let check = |query: &str, until| {
        let context = ParseContext::new(Timestamp::UNIX_EPOCH, TimeZone::UTC);
        check_reachable(&parse(query, &context).query, &until).map_err(|error| error.kind)
    };
    for query in [
        "to:ana is:sent",
        "-(status:delivered,opened,clicked,complained)",
        "is:scheduled",
    ] {
        let expected = Err(ErrorKind::Usage);
        assert_eq!(check(query, Status::Delivered), expected, "{query}");
    }
    for query in [
        "to:ana",
        "is:sent or to:ana",
        "is:opened",
        "-is:sent",
        "is:trouble",
        "is:gone",
    ] {
        assert_eq!(check(query, Status::Delivered), Ok(()), "{query}");
    }
    let expected = Err(ErrorKind::Usage);
    assert_eq!(check("is:clicked", Status::Complained), expected);
    assert_eq!(check("is:sent", Status::Sent), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn bounce_decides_before_an_earlier_status() {
    let minute = Duration::from_mins(1);
    for (later, until, expected) in [
        (&["bounced"], Status::Delivered, None),
        (&["bounced"], Status::Sent, Some("bounced")),
        (&["delivered"], Status::Opened, Some("delivered")),
        (&["complained"], Status::Opened, Some("complained")),
    ] {
        let service = Scripted(
            Arc::new(Mutex::new(vec![Ok(&["opened"][..]), Ok(&later[..])])),
            Arc::default(),
        );
        let (mut out, ..) = Output::captured();
        let mut wait = command(service, "to:ana", Some(until.clone()), &mut out);
        wait.run(minute).await.unwrap();
        let again = wait.run(minute).await;
        let status = again.map(|row| row.summary.status.label().to_owned());
        assert_eq!(status.as_deref().ok(), expected, "{later:?} {until:?}");
    }
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

#[tokio::test(start_paused = true)]
async fn wait_without_answers_ends_in_time() {
    let error = || Error::new(ErrorKind::Server, "down").with_hint("check the base URL");
    for (steps, message, hint) in [
        (vec![Ok(NO_ANSWER)], "the service has not answered", ""),
        (
            vec![Ok(&[][..]), Ok(NO_ANSWER)],
            "the service has not answered",
            "",
        ),
        (
            vec![Ok(&[][..]), Ok(OWN_LIMIT)],
            "the rate of 0.05 requests a second allowed no further request",
            "--rate allows more",
        ),
        (
            vec![Ok(SERVICE_LIMIT)],
            "the service's rate limit allowed no further request",
            "--timeout allows more",
        ),
        (vec![Err(error())], "down", "check the base URL"),
        (
            vec![Ok(&[UNREADABLE][..])],
            "not every email on the service's pages could be read",
            "the others are kept",
        ),
    ] {
        let (result, passed, _) = wait_for(steps, "to:ana", None).await;
        let error = result.unwrap_err();
        assert_eq!(error.message, format!("not within 60 s: {message}"));
        assert_eq!((error.kind, passed), (ErrorKind::TimedOut, 60));
        assert!(error.hint.starts_with(hint), "{}", error.hint);
    }
}

#[tokio::test(start_paused = true)]
async fn long_requested_pause_ends_wait_at_once() {
    let day = Some(Duration::from_hours(24));
    let error = Error::new(ErrorKind::RateLimited, "asked to wait").with_hint("try again in 24 h");
    let steps = vec![Err(error.with_retry_after(day))];
    let (result, passed, _) = wait_for(steps, "to:ana", None).await;
    let error = result.unwrap_err();
    assert_eq!(error.message, "not within 60 s: asked to wait");
    assert_eq!((error.hint.as_str(), passed), ("try again in 24 h", 0));
}

#[tokio::test(start_paused = true)]
async fn loading_the_email_retries_until_the_timeout() {
    let error = |kind| Some(Error::new(kind, "down"));
    let timed_out = "not within 60 s: the service has not answered";
    for (mut answers, expected, seconds) in [
        (
            vec![error(ErrorKind::Server), error(ErrorKind::RateLimited)],
            Ok(()),
            2,
        ),
        (vec![error(ErrorKind::NotFound)], Ok(()), 1),
        (vec![None], Err(timed_out), 60),
        (vec![error(ErrorKind::KeyRejected)], Err("down"), 0),
    ] {
        answers.reverse();
        let began = Instant::now();
        let steps = vec![Ok(&["sent"][..])];
        let service = Scripted(Arc::new(Mutex::new(steps)), Arc::new(Mutex::new(answers)));
        let (mut out, ..) = Output::captured();
        let mut wait = command(service, "", None, &mut out);
        let timeout = Duration::from_mins(1);
        let row = wait.run(timeout).await.unwrap();
        let result = wait.load_email(&row, began, timeout).await;
        let result = result.map(|_| ()).map_err(|error| error.message);
        assert_eq!(result, expected.map_err(str::to_owned));
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}

#[tokio::test]
async fn email_purged_meanwhile_is_an_error() {
    let open = || Archive::open(&ArchiveLocation::Memory).unwrap();
    let archive = open();
    let service = Scripted(Arc::new(Mutex::new(vec![Ok(&["sent"])])), Arc::default());
    let clock: Clock = Arc::new(|| Timestamp::from_second(NOW).unwrap());
    let engine = Engine::new(service, archive.clone(), clock);
    engine.refresh_now().await.unwrap();
    let row = archive.row(&EmailId::new("mail-0")).unwrap().unwrap();
    assert!(found_json(&archive, &row).unwrap().contains("mail-0"));
    let error = found_json(&open(), &row).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}
