//! Tests of `serve` as a mirror: the binary between the service and other clients.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;
use jiff::SignedDuration;
use sentbox::config::clock::{self, system_clock};
use sentbox::server::sample::SampleMailbox;

use crate::harness::process::{Sentbox, mode, set_mode};
use crate::harness::raw_server::{RawServer, response};
use crate::harness::service::{KEY, Service};
use crate::harness::serving::Serving;
use crate::harness::text::TextChecks as _;

fn start(sentbox: &Sentbox, arguments: &str) -> Serving {
    Serving::start(&mut sentbox.command(&format!("serve --key-file keys {arguments}")))
}

fn sample() -> Service {
    let clock = system_clock();
    Service::new(SampleMailbox::new(7, 40, clock(), clock))
}

/// The only key in the file of a mirror.
fn key(sentbox: &Sentbox) -> String {
    let text = fs::read_to_string(sentbox.home().join("keys")).unwrap();
    text.trim().strip_prefix("default = ").unwrap().to_owned()
}

fn client(mirror: &Serving, key: &str) -> Sentbox {
    Sentbox::at_address(key, &mirror.base)
}

#[test]
fn mirror_makes_a_key_and_serves_its_holder() {
    let sentbox = Sentbox::using(sample());
    let mirror = start(&sentbox, "--listen 127.0.0.1:0 --access-log reads");
    let key = key(&sentbox);
    let path = sentbox.home().join("keys");
    assert_eq!(mode(&path), 0o600);
    let here = client(&mirror, &key);
    let list = here.stdout("list --jsonl --all");
    assert_eq!(list, sentbox.stdout("list --jsonl --all"));
    let id = list.split('"').nth(3).unwrap();
    let expected = sentbox.stdout(&format!("show {id} --as json"));
    assert_eq!(here.stdout(&format!("show {id} --as json")), expected);
    let other = "re_0123456789abcdef0123";
    fs::write(&path, format!("ana = {other}\n")).unwrap();
    assert_eq!(here.code("list"), Some(3), "its line is gone");
    assert_eq!(client(&mirror, other).code("list"), Some(0));
    let ended = mirror.stop();
    assert_eq!(ended.status.code(), Some(143));
    let stderr = String::from_utf8(ended.stderr).unwrap();
    stderr.assert_contains("a key was created; it is in keys");
    assert!(!stderr.contains(&key), "{stderr}");
    let path = sentbox.home().join("reads");
    let log = fs::read_to_string(&path).unwrap();
    log.assert_contains(id);
    log.assert_contains("\"key\":\"ana\"");
    log.assert_lacks(other);
    assert!(!log.contains(&key), "{log}");
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn tls_clients_check_the_certificate() {
    let sentbox = Sentbox::using(sample());
    for (name, text) in [
        ("authority.pem", include_str!("tls/authority.pem")),
        ("localhost.pem", include_str!("tls/localhost.pem")),
        ("localhost.key", include_str!("tls/localhost.key")),
    ] {
        fs::write(sentbox.home().join(name), text).unwrap();
    }
    let mirror = start(
        &sentbox,
        "--listen 127.0.0.1:0 --tls-cert localhost.pem --tls-key localhost.key",
    );
    mirror.base.assert_starts("https://");
    let client = client(&mirror, &key(&sentbox));
    let authority = sentbox.home().join("authority.pem");
    let trusting = format!("list --limit 3 --ca-file {}", authority.display());
    assert_eq!(client.stdout(&trusting).lines().count(), 3);
    let output = client.shown(&client.run("list"));
    output.assert_contains("TLS connection");
    mirror.stop();
    assert_snapshot!(sentbox.transcript("serve --key-file keys --tls-cert localhost.key --tls-key localhost.key"), @r"
    stderr: sentbox: localhost.key cannot be used: it contains no certificate
    exit code 8
    ");
}

#[test]
fn unix_socket_is_private_and_removed() {
    let sentbox = Sentbox::using(sample());
    let mirror = start(&sentbox, "--listen unix:socket");
    assert_eq!(mirror.base, "unix:socket");
    let path = sentbox.home().join("socket");
    assert_eq!(mode(&path), 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    let key = key(&sentbox);
    let request = format!(
        "GET /emails?limit=1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.assert_starts("HTTP/1.1 200 OK\r\n");
    response.assert_contains("x-sentbox-checked-at: 20");
    mirror.stop();
    assert!(!path.exists());
}

#[test]
fn unsafe_mirror_is_refused() {
    let sentbox = Sentbox::using(sample());
    assert_snapshot!(sentbox.transcript("serve --key-file keys --listen 0.0.0.0:0"), @r"
    stderr: sentbox: 0.0.0.0:0 is open to other machines, and http is not encrypted
    stderr:    hint: use --tls-cert and --tls-key, or --allow-plain-http behind a proxy that encrypts
    exit code 2
    ");
    let keys = sentbox.home().join("keys");
    assert_snapshot!(sentbox.transcript("serve --key-file keys --in-memory"), @r"
    stderr: sentbox: this needs an archive on disk
    stderr:    hint: leave out --in-memory
    exit code 2
    ");
    assert!(!keys.exists(), "nothing was created");
    fs::write(&keys, "ana = re_0123456789abcdef0123\n").unwrap();
    set_mode(&keys, 0o644);
    assert_snapshot!(sentbox.transcript("serve --key-file keys"), @r"
    stderr: sentbox: the key file keys is open to other users
    stderr:    hint: chmod 600 keys
    exit code 8
    ");
    fs::remove_file(&keys).unwrap();
    assert_snapshot!(Sentbox::new().transcript("serve --key-file keys"), @r"
    stderr: sentbox: there is no API key
    stderr:    hint: run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none
    exit code 3
    ");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let busy = sentbox.transcript(&format!("serve --key-file keys --listen {address}"));
    busy.assert_contains("cannot be listened on");
    assert!(!keys.exists(), "it is not left behind");
    assert_snapshot!(sentbox.transcript("serve --demo --key-file keys"), @r"
    stderr: sentbox: the argument '--demo' cannot be used with '--key-file <FILE>'
    stderr:    hint: usage: sentbox serve --demo; see sentbox serve --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("serve --key-file keys --emails 5"), @r"
    stderr: sentbox: the argument '--key-file <FILE>' cannot be used with: --emails <N> --seed <N>
    stderr:    hint: usage: sentbox serve --key-file <FILE>; see sentbox serve --help
    exit code 2
    ");
}

/// A service of two emails that reports, if `is_mirror`, that all mail was purged.
fn purging_service(is_mirror: Arc<AtomicBool>) -> RawServer {
    let [newer, older] = [1, 2].map(|hours| clock::now() - SignedDuration::from_hours(hours));
    let emails = format!(
        r#"{{"object":"list","has_more":false,"data":[
        {{"id":"two","to":["a@example.com"],"created_at":"{newer}","last_event":"bounced"}},
        {{"id":"one","to":["a@example.com"],"created_at":"{older}","last_event":"bounced"}}]}}"#
    );
    let events =
        "event: purged\ndata: {\"before\":\"2126-01-01T00:00:00Z\"}\n\nevent: reset\ndata: {}\n\n";
    RawServer::with(move |head| {
        let is_mirror = is_mirror.load(Ordering::Relaxed);
        let header = if is_mirror {
            "x-sentbox-mirror: 1\r\n"
        } else {
            ""
        };
        if head.starts_with("GET /sentbox/events") {
            return response("200 OK", "content-type: text/event-stream\r\n", events);
        }
        response("200 OK", header, &emails)
    })
}

#[test]
fn service_that_becomes_a_mirror_purges_nothing() {
    let is_mirror = Arc::<AtomicBool>::default();
    let server = purging_service(Arc::clone(&is_mirror));
    let sentbox = Sentbox::at_address(KEY, &server.base);
    assert_eq!(sentbox.code("sync"), Some(0));
    is_mirror.store(true, Ordering::Relaxed);
    assert_snapshot!(sentbox.transcript("sync"), @r"
    0 emails new, 0 changed; everything the service has is here
    stderr: sentbox: the service purges mail like a mirror, but this archive was not made from a mirror, so nothing was removed; to follow the mirror, make a new one: sentbox archive begin
    exit code 0
    ");
    assert_eq!(sentbox.stdout("search --count is:bounced"), "2\n");
}

#[test]
fn purges_of_a_mirror_are_counted() {
    let server = purging_service(Arc::new(true.into()));
    let sentbox = Sentbox::at_address(KEY, &server.base);
    let output = sentbox.run("sync --json");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    stdout.assert_contains("\"purged\":2,");
    stdout.assert_contains("\"complete\":false");
    stderr.assert_contains("2 emails that the mirror has purged");
    assert_eq!(sentbox.stdout("search --count is:bounced"), "0\n");
    let email = r#"{"id":"new","to":["a@example.com"],"created_at":"2126-01-01T00:00:00Z"}"#;
    sentbox.import(email);
    assert_eq!(sentbox.stdout("search --count id:new"), "1\n");
}

#[test]
fn unknown_id_may_be_purged_from_the_mirror() {
    let sentbox = Sentbox::using(sample());
    let mirror = start(&sentbox, "--listen 127.0.0.1:0");
    let here = client(&mirror, &key(&sentbox));
    assert_snapshot!(here.transcript("show 00000000-0000-4000-8000-000000000000"), @r"
    stderr: sentbox: the service has no such email
    stderr:    hint: check the id; the service deletes old mail, and a mirror leaves out what was purged from it
    exit code 4
    ");
}
