//! Tests of `serve` as a mirror: the binary between the service and other clients.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use insta::assert_snapshot;
use sentbox::config::clock::system_clock;
use sentbox::server::sample::SampleMailbox;

use crate::harness::process::Sentbox;
use crate::harness::service::Service;
use crate::harness::serving::Serving;

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
    let service = sample();
    let sentbox = Sentbox::at(&service);
    let mirror = start(&sentbox, "--listen 127.0.0.1:0 --access-log reads");
    let key = key(&sentbox);
    let path = sentbox.home().join("keys");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let here = client(&mirror, &key);
    let list = here.stdout("list --jsonl --all");
    assert_eq!(list, sentbox.stdout("list --jsonl --all"));
    let id = list.split('"').nth(3).unwrap();
    assert_eq!(
        here.stdout(&format!("show {id} --as json")),
        sentbox.stdout(&format!("show {id} --as json"))
    );
    let other = "re_0123456789abcdef0123";
    fs::write(&path, format!("ana = {other}\n")).unwrap();
    assert_eq!(here.code("list"), Some(3), "its line is gone");
    assert_eq!(client(&mirror, other).code("list"), Some(0));
    let ended = mirror.stop();
    assert_eq!(ended.status.code(), Some(143));
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(
        stderr.contains("a key was created; it is in keys"),
        "{stderr}"
    );
    assert!(!stderr.contains(&key), "{stderr}");
    let log = fs::read_to_string(sentbox.home().join("reads")).unwrap();
    assert!(log.contains(id) && log.contains("\"key\":\"ana\""), "{log}");
    assert!(!log.contains(other) && !log.contains(&key), "{log}");
    let mode = fs::metadata(sentbox.home().join("reads")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn tls_clients_check_the_certificate() {
    let service = sample();
    let sentbox = Sentbox::at(&service);
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
    assert!(mirror.base.starts_with("https://"), "{}", mirror.base);
    let client = client(&mirror, &key(&sentbox));
    let authority = sentbox.home().join("authority.pem");
    let trusting = format!("list --limit 3 --ca-file {}", authority.display());
    assert_eq!(client.stdout(&trusting).lines().count(), 3);
    let output = client.shown(&client.run("list"));
    assert!(output.contains("TLS connection"), "{output}");
    mirror.stop();
    assert_snapshot!(sentbox.transcript("serve --key-file keys --tls-cert localhost.key --tls-key localhost.key"), @r"
    stderr: sentbox: localhost.key cannot be used: it contains no certificate
    exit code 8
    ");
}

#[test]
fn unix_socket_is_private_and_removed() {
    let service = sample();
    let sentbox = Sentbox::at(&service);
    let mirror = start(&sentbox, "--listen unix:socket");
    assert_eq!(mirror.base, "unix:socket");
    let path = sentbox.home().join("socket");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    let key = key(&sentbox);
    let request = format!(
        "GET /emails?limit=1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("x-sentbox-checked-at: 20"), "{response}");
    mirror.stop();
    assert!(!path.exists());
}

#[test]
fn unsafe_mirror_is_refused() {
    let service = sample();
    let sentbox = Sentbox::at(&service);
    assert_snapshot!(sentbox.transcript("serve --key-file keys --listen 0.0.0.0:0"), @r"
    stderr: sentbox: 0.0.0.0:0 is open to other machines, and http is not encrypted
    stderr:    hint: use --tls-cert and --tls-key, or --allow-plain-http behind a proxy that encrypts
    exit code 2
    ");
    assert!(!sentbox.home().join("keys").exists(), "nothing was created");
    fs::write(
        sentbox.home().join("keys"),
        "ana = re_0123456789abcdef0123\n",
    )
    .unwrap();
    fs::set_permissions(
        sentbox.home().join("keys"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    assert_snapshot!(sentbox.transcript("serve --key-file keys"), @r"
    stderr: sentbox: the key file keys is readable by other users
    stderr:    hint: chmod 600 keys
    exit code 8
    ");
    fs::remove_file(sentbox.home().join("keys")).unwrap();
    assert_snapshot!(Sentbox::new().transcript("serve --key-file keys"), @r"
    stderr: sentbox: there is no API key
    stderr:    hint: run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none
    exit code 3
    ");
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
