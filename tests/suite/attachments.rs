//! Tests of attachments and suppressed addresses: the server's operations, and
//! `attachment` and `show` on good and hostile links.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::cli::{sample, two_emails};
use crate::contract::{NOBODY, Served, json as body, names, text};
use crate::harness::process::{Sentbox, mode};
use crate::harness::raw_server::{RawServer, response};
use crate::harness::service::KEY;
use crate::harness::text::TextChecks as _;

const ID: &str = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";

/// Sends what `respond` returns for the path of a request.
fn serve(respond: impl Fn(&str) -> Vec<u8> + Send + 'static) -> RawServer {
    RawServer::with(move |head| respond(head.split(' ').nth(1).unwrap_or_default()))
}

fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK", "", body)
}

/// A service whose email has one attachment, `a.txt`,
/// of `size` bytes behind `link`.
fn service(size: Value, link: impl Fn() -> String + Send + 'static) -> (Sentbox, RawServer) {
    let server = serve(move |path| {
        let item = json!({"id": "1", "filename": "a.txt", "size": size, "content_type": "text/plain",
            "content_disposition": "attachment", "content_id": null, "download_url": link(),
            "expires_at": "2999-01-01T00:00:00.000Z"});
        let body = match path {
            path if path.ends_with("/attachments?limit=100") => {
                json!({"object": "list", "has_more": false, "data": [item]})
            }
            path if path.ends_with("/attachments/1") => item,
            _ => return response("404 Not Found", "", "{}"),
        };
        ok(body.to_string())
    });
    (Sentbox::at_address(KEY, &server.base), server)
}

/// A service whose attachment is what another server sends.
fn service_of(size: Value, server: &RawServer) -> Sentbox {
    let link = format!("{}/", server.base);
    service(size, move || link.clone()).0
}

fn files(sentbox: &Sentbox) -> Vec<String> {
    let entries = fs::read_dir(sentbox.home()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("a.txt")).collect();
    names.sort();
    names
}

#[test]
fn attachment_of_the_sample_is_listed_and_saved() {
    let sentbox = Sentbox::using(sample(300));
    let emails = sentbox.stdout("list --all --columns id,subject");
    let invoice = emails
        .lines()
        .find(|line| line.contains("\tInvoice "))
        .unwrap();
    let (id, subject) = invoice.split_once('\t').unwrap();
    let number = subject.split(' ').nth(1).unwrap();
    let pdf = format!("invoice-{number}.pdf");
    let csv = format!("items-{number}.csv");

    let list = sentbox.stdout(&format!("attachment {id}"));
    let fields = list.lines().map(|line| line.split('\t').collect());
    let fields: Vec<Vec<&str>> = fields.collect();
    assert_eq!([fields[0][0], fields[1][0]], [&pdf, &csv]);
    let expected = ["application/pdf", "text/csv"];
    assert_eq!([fields[0][2], fields[1][2]], expected);
    let document = sentbox.json(&format!("attachment {id} --json"));
    assert_eq!(document["data"][1]["filename"], csv);
    assert_eq!(document["has_more"], false);
    let shown = sentbox.stdout(&format!("show {id}"));
    let line = shown.lines().find(|line| line.starts_with("attached"));
    assert!(line.unwrap().contains(&format!("{pdf} ")), "{shown}");

    let saved = sentbox.stdout(&format!("attachment {id} {pdf} --to ."));
    saved.assert_starts(&format!("saved {pdf}, "));
    let path = sentbox.home().join(&pdf);
    let content = fs::read(&path).unwrap();
    assert!(content.starts_with(b"%PDF-1.4") && content.ends_with(b"%%EOF\n"));
    assert_eq!(content.len().to_string(), fields[0][1]);
    assert_eq!(mode(&path), 0o600);
    let rows = sentbox.stdout(&format!("attachment {id} {csv} --to -"));
    rows.assert_starts("position,article,item,");
    assert_eq!(rows.len().to_string(), fields[1][1]);
    let report = sentbox.json(&format!("attachment {id} {csv} --to b.csv --json"));
    assert_eq!(report["bytes"], rows.len());

    let name = sentbox.stdout(&format!("attachment {id} --jq .data[1].filename"));
    assert_eq!(name.trim_end(), csv);
    let code = sentbox.code(&format!("attachment {id} {csv} --to - --jq ."));
    assert_eq!(code, Some(2));

    let again = sentbox.transcript(&format!("attachment {id} {pdf} --to ."));
    again.assert_contains("exists already; choose another name");
    again.assert_ends("exit code 1");
    let unnamed = sentbox.transcript(&format!("attachment {id} --to x"));
    unnamed.assert_contains(&format!("name one of them: {pdf}, {csv}"));
}

#[test]
fn unsupported_attachments_are_reported() {
    let sentbox = Sentbox::using(two_emails());
    assert_snapshot!(sentbox.transcript(&format!("attachment {ID}")), @r"
    stderr: sentbox: the service does not list attachments
    exit code 1
    ");
    assert_snapshot!(sentbox.transcript("attachment 5b a.txt"), @r"
    stderr: sentbox: where to save the attachment is not known
    stderr:    hint: --to FILE, or a folder; --to - is standard output
    exit code 2
    ");
    assert!(!sentbox.stdout(&format!("show {ID}")).contains("attached"));
    let sentbox = Sentbox::using(sample(30));
    let nobody = "attachment 00000000-0000-4000-8000-000000000000";
    assert_snapshot!(sentbox.transcript(nobody), @r"
    stderr: sentbox: the service has no such email
    stderr:    hint: check the id; the service deletes old mail
    exit code 4
    ");
}

#[test]
fn exported_eml_has_the_attachments() {
    let sentbox = Sentbox::using(sample(300));
    let emails = sentbox.stdout("list --all --columns id,subject");
    let ids: Vec<&str> = emails
        .lines()
        .filter(|line| line.contains("\tInvoice "))
        .filter_map(|line| Some(line.split_once('\t')?.0))
        .take(2)
        .collect();
    sentbox.stdout("sync --back all -q");
    let query = format!("id:{} or id:{}", ids[0], ids[1]);
    let note = "attachments, if there are any, were not saved; --attachments saves them";
    let without = format!("export {query} --bodies --as eml --to");
    let transcript = sentbox.transcript(&format!("{without} none"));
    transcript.assert_contains(note);
    let quiet = sentbox.transcript(&format!("{without} quiet -q"));
    assert!(!quiet.contains("attachments"), "{quiet}");
    let printed = sentbox.stdout(&format!(
        "export {query} --to out --as eml --bodies --attachments"
    ));
    assert_eq!(printed, "exported 2 emails to out\n");
    for entry in fs::read_dir(sentbox.home().join("out")).unwrap() {
        let eml = fs::read_to_string(entry.unwrap().path()).unwrap();
        let csv = eml.find("filename=\"items-").unwrap();
        assert!(eml.find(".pdf").unwrap() < csv && eml[csv..].contains("position,article,item,"));
        assert!(eml.contains("JVBERi0xLjQ"), "the pdf in base64: {eml}");
    }
    let one = format!("export id:{} --to one.eml --attachments", ids[0]);
    assert_eq!(sentbox.stdout(&one), "exported 1 email to one.eml\n");
    let eml = fs::read_to_string(sentbox.home().join("one.eml")).unwrap();
    assert!(eml.contains("JVBERi0xLjQ"));
    let code = sentbox.code(&format!("export {query} --to html --as html --attachments"));
    assert_eq!(code, Some(2));
}

#[test]
fn key_is_not_sent_to_the_link() {
    let downloads = serve(|path| match path {
        "/moved" => response("302 Found", "location: /a\r\n", ""),
        _ => ok("hello"),
    });
    let link = format!("{}/moved", downloads.base);
    let (sentbox, server) = service(json!(5), move || link.clone());
    assert_eq!(sentbox.stdout(&format!("attachment {ID} --to -")), "hello");
    assert!(server.requests()[0].contains(KEY));
    let downloads = downloads.requests();
    assert_eq!(downloads.len(), 2);
    for head in downloads {
        let head = head.to_lowercase();
        head.assert_lacks("authorization");
        head.assert_lacks(KEY);
    }
}

#[test]
fn ended_link_is_requested_again_once() {
    let downloads = serve(|path| match path {
        "/2" => ok("hello"),
        _ => response("403 Forbidden", "", "<Error>"),
    });
    // The list has the first link, and the attachment alone the second one.
    let seen = Mutex::new(0);
    let base = downloads.base.clone();
    let link = move || {
        let mut seen = seen.lock().unwrap();
        *seen += 1;
        format!("{base}/{seen}")
    };
    let (sentbox, server) = service(json!(5), link);
    sentbox.stdout(&format!("attachment {ID} --to a.txt"));
    assert_eq!(fs::read(sentbox.home().join("a.txt")).unwrap(), b"hello");
    assert_eq!(downloads.requests().len(), 2);
    assert_eq!(server.requests().len(), 2);

    let sentbox = service_of(json!(5), &downloads);
    let failed = sentbox.transcript(&format!("attachment {ID} --to a.txt"));
    let failed = failed.replace(&downloads.base, "[SERVICE]");
    assert_snapshot!(failed, @r"
    stderr: sentbox: [SERVICE] refuses the link of this attachment: 403
    stderr:    hint: try again; nothing was kept of it
    exit code 5
    ");
    assert_eq!(files(&sentbox), Vec::<String>::new());
    assert_eq!(downloads.requests().len(), 4);
}

#[test]
fn wrong_size_leaves_no_file() {
    for (stated, sent) in [(json!(6), 5), (json!(4), 5), (json!(5), 5_000_000)] {
        let sentbox = service_of(stated, &RawServer::start([ok(vec![b'x'; sent])]));
        let failed = sentbox.transcript(&format!("attachment {ID} --to a.txt"));
        failed.assert_contains("bytes; the attachment has ");
        failed.assert_ends("exit code 5");
        assert_eq!(files(&sentbox), Vec::<String>::new());
    }
    let sentbox = service_of(Value::Null, &RawServer::start([ok("hello")]));
    sentbox.stdout(&format!("attachment {ID} --to a.txt"));
    assert_eq!(files(&sentbox), ["a.txt"]);
}

#[test]
fn too_large_attachment_is_not_fetched() {
    let downloads = RawServer::start([ok("hello")]);
    let link = format!("{}/", downloads.base);
    // Only the attachment alone has a size and a link.
    let server = serve(move |path| {
        let listed = json!({"id": "1", "filename": "a.txt"});
        let body = if path.ends_with("/attachments/1") {
            json!({"id": "1", "filename": "a.txt", "size": 200_000_000, "download_url": link})
        } else {
            json!({"object": "list", "has_more": false, "data": [listed]})
        };
        ok(body.to_string())
    });
    let sentbox = Sentbox::at_address(KEY, &server.base);
    assert_snapshot!(sentbox.transcript(&format!("attachment {ID} --to a.txt")), @r"
    stderr: sentbox: the attachment has 200 MB; sentbox fetches at most 100 MB
    exit code 1
    ");
    assert_eq!(downloads.requests().len(), 0);
    assert_eq!(files(&sentbox), Vec::<String>::new());
}

#[test]
fn listed_attachment_without_link_is_no_lost_one() {
    let server = serve(|path| {
        if path.ends_with("/attachments/1") {
            return response("404 Not Found", "", "{}");
        }
        let item = json!({"id": "1", "filename": "a.txt", "download_url": null});
        ok(json!({"object": "list", "has_more": false, "data": [item]}).to_string())
    });
    let sentbox = Sentbox::at_address(KEY, &server.base);
    let failed = sentbox.transcript(&format!("attachment {ID} --to a.txt"));
    failed.assert_contains("the service gives no link to this attachment now");
}

#[test]
fn failed_list_of_attachments_is_no_timeout() {
    let server = serve(|path| {
        if path.contains("/attachments") {
            return response("500 Oops", "", "{}");
        }
        ok(json!({"object": "email", "id": ID, "to": ["a@example.com"], "text": "Hi"}).to_string())
    });
    let sentbox = Sentbox::at_address(KEY, &server.base);
    let shown = sentbox.stdout(&format!("show {ID}"));
    shown.assert_contains("not known: server error from ");
}

#[test]
fn attachments_beyond_the_limit_are_not_exported() {
    let large = RawServer::start([ok(vec![b'x'; 40_000_001])]);
    let sentbox = service_of(Value::Null, &large);
    let email = json!({"id": ID, "to": ["ana@example.com"], "subject": "Hi", "text": "Hello",
        "created_at": "2026-11-20T09:00:00Z"});
    fs::write(sentbox.home().join("mail.jsonl"), email.to_string()).unwrap();
    sentbox.stdout("import mail.jsonl");
    let export = format!("export id:{ID} --to one.eml --attachments");
    assert_snapshot!(sentbox.transcript(&export), @r"
    stderr: sentbox: the attachments of this email have more than 40 MB
    stderr:    hint: export it without --attachments; sentbox attachment saves one of them
    exit code 1
    ");
    assert!(!sentbox.home().join("one.eml").exists());
}

#[test]
fn link_elsewhere_than_https_is_not_fetched() {
    for link in [
        "http://cdn.example/a",
        "file:///etc/passwd",
        "ftp://127.0.0.1/a",
        "x",
    ] {
        let (sentbox, _) = service(json!(5), move || link.to_owned());
        let failed = sentbox.transcript(&format!("attachment {ID} --to a.txt"));
        failed.assert_contains("; it was not fetched");
        failed.assert_ends("exit code 5");
        assert_eq!(files(&sentbox), Vec::<String>::new());
    }
    let moved = response("302 Found", "location: http://cdn.example/a\r\n", "");
    let sentbox = service_of(json!(5), &RawServer::start([moved]));
    assert_snapshot!(sentbox.transcript(&format!("attachment {ID} --to a.txt")), @r"
    stderr: sentbox: the link of this attachment leads to plain http; it was not fetched
    exit code 5
    ");
}

#[tokio::test]
async fn suppressed_address_names_its_cause() {
    let served = Served::sample(1000).await;
    let mut emails = served.all().await.into_iter();
    let bounced = emails.find(|email| email["last_event"] == "bounced");
    let bounced = bounced.unwrap();
    let to = bounced["to"][0].as_str().unwrap();
    let address = to.rsplit('<').next().unwrap().trim_end_matches('>');
    let found = served.get(&format!("/suppressions/{address}")).await;
    let expected = BTreeSet::from(["object", "id", "email", "origin", "source_id", "created_at"]);
    assert_eq!(names(&found), expected);
    assert_eq!(found["email"], address);
    let cause = text(&found, "source_id");
    let cause = served.get(&format!("/emails/{cause}")).await;
    let status = cause["last_event"].as_str().unwrap();
    assert!(["bounced", "complained", "suppressed"].contains(&status));
    let response = served.respond("/suppressions/eve@example.com").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(body(response).await["message"], "Suppression not found");
}

#[tokio::test]
async fn attachment_links_need_no_key_and_end() {
    let served = Served::sample(300).await;
    let emails = served.all().await;
    let ids: Vec<String> = emails.iter().map(|email| text(email, "id")).collect();
    let mut found = None;
    for id in &ids {
        let list = served.get(&format!("/emails/{id}/attachments")).await;
        assert_eq!(names(&list), BTreeSet::from(["object", "has_more", "data"]));
        if list["data"].as_array().unwrap().len() == 2 {
            found = Some((id.clone(), list));
            break;
        }
    }
    let (email, list) = found.unwrap();
    let path = format!("/emails/{email}/attachments");
    let id = |n: usize| list["data"][n]["id"].as_str().unwrap();
    let first = served.get(&format!("{path}?limit=1")).await;
    assert_eq!(first["data"][0], list["data"][0]);
    assert_eq!(first["has_more"], true);
    let rest = served.get(&format!("{path}?after={}", id(0))).await;
    assert_eq!(rest["data"][0], list["data"][1]);
    assert_eq!(rest["has_more"], false);
    let before = served.get(&format!("{path}?before={}", id(1))).await;
    assert_eq!(before["data"][0], list["data"][0]);
    assert_eq!(before["has_more"], false);
    let one = served.get(&format!("{path}/{}", id(0))).await;
    assert_eq!(one["object"], "attachment");
    assert_eq!(one["id"], list["data"][0]["id"]);

    for (path, status) in [
        (format!("{path}?after={}", ids[0]), StatusCode::NOT_FOUND),
        (format!("{path}/{}", ids[0]), StatusCode::NOT_FOUND),
        (
            format!("/emails/{NOBODY}/attachments"),
            StatusCode::NOT_FOUND,
        ),
        (
            "/emails/x/attachments".to_owned(),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
    ] {
        let response = served.respond(&path).await;
        assert_eq!(response.status(), status, "{path}");
    }
    let response = served.ask(Method::GET, &path, None).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);

    let link = one["download_url"].as_str().unwrap();
    let target = link.strip_prefix(&served.base).unwrap();
    let response = served.ask(Method::GET, target, None).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-disposition"], "attachment");
    let expected = one["size"].as_u64().unwrap();
    assert_eq!(response.bytes().await.unwrap().len() as u64, expected);
    let other = target.replace(id(0), id(1));
    let later = target.replace("expires=", "expires=1");
    let (unsigned, _) = target.split_once('?').unwrap();
    for target in [&other, &later, unsigned, &target[..target.len() - 1]] {
        let response = served.respond(target).await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{target}");
    }
    served.millis.fetch_add(3_600_000, Ordering::Relaxed);
    let response = served.ask(Method::GET, target, None).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}
