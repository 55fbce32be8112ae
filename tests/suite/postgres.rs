//! Tests of the program with its archive on a PostgreSQL server.

use serde_json::Value;

use crate::cli::sample;
use crate::harness::postgres_server::{TestServer, documented_grants, note_skipped};
use crate::harness::process::Sentbox;
use crate::harness::service::KEY;
use crate::harness::text::TextChecks as _;
use crate::sync_command::reporting_bodies;

#[test]
fn server_archive_survives_kill_and_is_copied() {
    let Some(server) = TestServer::start() else {
        return note_skipped("the program with an archive on PostgreSQL");
    };
    let (service, bodies) = reporting_bodies(250);
    let sentbox = Sentbox::using(service);
    let schema = |name| format!("{}&schema={name}", server.url());
    let team = schema("team");

    let missing = sentbox.transcript(&format!("search --archive {team} order"));
    missing.assert_contains("there is no archive at");

    let sync = format!("sync --archive {team} --back all --bodies --rate 1000 --json");
    let mut killed = sentbox.spawn(&sync);
    assert_eq!(bodies.iter().take(90).count(), 90);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let report = sentbox.json(&sync);
    assert_eq!(report["complete"], true, "{report}");
    sentbox.stdout("sync --archive file --back all --bodies --rate 1000 --json");

    sentbox.stdout(&format!("archive copy --from {team} --to copy"));
    sentbox.stdout(&format!(
        "archive copy --from copy --to {}",
        schema("again")
    ));
    for query in [
        "order",
        "is:bounced",
        "-order",
        "to:example",
        "\"your order\"",
        "sort:oldest re",
    ] {
        let found = |archive: &str| {
            let mut found = sentbox.json(&format!("search --archive {archive} --json -- {query}"));
            assert!(
                found["data"].as_array().unwrap().len() > 1,
                "{query}: {found}"
            );
            // Each archive was filled at its own time.
            found["data"].take()
        };
        let on_server = found(&team);
        assert_eq!(on_server, found("copy"), "{query}");
        assert_eq!(on_server, found(&schema("again")), "{query}");
    }
    let info = |archive: &str| {
        let info = sentbox.json(&format!("archive info --archive {archive} --json"));
        ["emails", "bodies", "complete"].map(|name| info[name].clone())
    };
    assert_eq!(info(&team), [250.into(), 250.into(), Value::Bool(true)]);
    assert_eq!(info("copy"), info(&team));
    assert_eq!(info("file"), info(&team));
    let code = sentbox.code(&format!("archive copy --from file --to {team}"));
    assert_eq!(code, Some(8));
}

#[test]
fn opened_emails_are_recorded_or_not_shown() {
    let Some(server) = TestServer::start() else {
        return note_skipped("the record of who opens an email");
    };
    let service = sample(30);
    let sentbox = Sentbox::new();
    let config = format!(
        "[profiles.default]\nbase_url = \"{}\"\napi_key_command = \"echo {KEY}\"\narchive = \"{}&schema=team\"\naudit = true\n",
        service.base(),
        server.url()
    );
    sentbox.configure(&config);
    let sentbox = sentbox.with("PATH", "/usr/bin:/bin").with("LOGNAME", "ana");
    sentbox.stdout("sync --back all --bodies --rate 1000 --json");
    let listed = sentbox.json("search --json is:delivered");
    let ids: Vec<&str> = (listed["data"].as_array().unwrap().iter())
        .map(|email| email["id"].as_str().unwrap())
        .collect();
    sentbox.stdout(&format!("show {} --offline", ids[0]));
    sentbox.stdout(&format!("show {}", ids[1]));
    sentbox.stdout(&format!("export id:{} --to one.eml", ids[2]));
    sentbox.stdout("export is:delivered --to list.csv");
    let recorded =
        "SELECT role, split_part(person, ' ', 1), email_id FROM team.audit ORDER BY opened_at";
    let expected: Vec<String> = (ids[..3].iter())
        .map(|id| format!("sentbox|ana|{id}\n"))
        .collect();
    assert_eq!(server.rows(recorded), expected.concat());
    server.rows("ALTER TABLE team.audit RENAME TO no_audit");
    for line in [
        format!("show {} --offline", ids[3]),
        format!("show {}", ids[3]),
        format!("export id:{} --to other.eml", ids[3]),
        "export is:delivered --to emails.jsonl".to_owned(),
    ] {
        let refused = sentbox.run(&line);
        assert!(!refused.status.success() && refused.stdout.is_empty());
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(why.contains("not shown"), "{line}: {why}");
    }
    assert_eq!(sentbox.code("--in-memory list"), Some(2));
}

#[test]
fn documented_grants_are_enough_for_their_commands() {
    let Some(server) = TestServer::start() else {
        return note_skipped("the roles of an archive on PostgreSQL");
    };
    let sentbox = Sentbox::using(sample(30));
    let [owner, support, syncer] = ["sentbox", "support", "syncer"].map(|role| {
        let url = server.url();
        let url = url.replace("user=sentbox", &format!("user={role}"));
        format!("--archive {url}&schema=team")
    });
    sentbox.stdout(&format!("sync {owner} --back all --bodies --rate 1000"));
    server.rows("CREATE ROLE support LOGIN; CREATE ROLE syncer LOGIN");
    let early = sentbox.transcript(&format!("search {support} order"));
    early.assert_contains("its owner grants USAGE on the schema");
    server.rows(&documented_grants("team"));
    let found = sentbox.json(&format!("search {support} --json is:delivered"));
    let id = found["data"][0]["id"].as_str().unwrap().to_owned();
    for line in [
        format!("show {support} --offline {id}"),
        format!("archive info {support}"),
        format!("doctor {support}"),
        format!("stats {support}"),
        format!("sync {syncer} --rate 1000"),
        format!("archive info {syncer}"),
        format!("archive purge {syncer} --to gone@example.com --yes"),
        format!("archive purge {syncer} --older 500d --yes"),
    ] {
        sentbox.stdout(&line);
    }
    let keyless = Sentbox::new();
    let url = support.replace("--archive ", "");
    keyless.configure(&format!("[profiles.default]\narchive = \"{url}\"\n"));
    keyless
        .stdout_with_input("--linear", "")
        .assert_contains("30 emails");
    let vacuum = sentbox.transcript(&format!("archive vacuum {syncer}"));
    vacuum.assert_contains("another role");
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'team%'";
    assert_eq!(
        server.rows(schemas),
        "1\n",
        "no command asked for received mail"
    );
    server.rows("CREATE SCHEMA team_received");
    let received = sentbox.transcript(&format!("sync {syncer} --received"));
    received.assert_contains("the owner of the schema creates the archive");
}

#[test]
fn standby_is_read_and_takes_over() {
    let Some(server) = TestServer::start() else {
        return note_skipped("a standby of a PostgreSQL server");
    };
    let sentbox = Sentbox::using(sample(30));
    let at = |server: &TestServer| format!("--archive {}&schema=team", server.url());
    let sync = |server: &TestServer| format!("sync {} --back all --rate 1000 --json", at(server));
    sentbox.stdout(&sync(&server));
    let standby = server.start_standby();
    let found =
        |server: &TestServer| sentbox.stdout(&format!("search {} --json order", at(server)));
    assert_eq!(found(&standby), found(&server));
    let refused = sentbox.run(&sync(&standby));
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{why}");
    why.assert_contains("read");
    drop(server);
    standby.promote();
    assert_eq!(sentbox.json(&sync(&standby))["complete"], true);
}

#[test]
fn imported_server_archive_stays_of_no_key() {
    let Some(server) = TestServer::start() else {
        return note_skipped("an imported archive on PostgreSQL");
    };
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    let url = server.url();
    let import = format!("import --archive {url} -");
    sentbox.stdout_with_input(&import, r#"{"id":"1","to":"ana@example.com"}"#);
    for line in [
        "search ana",
        "archive purge --older 1d --yes",
        "archive vacuum",
    ] {
        sentbox.stdout(&format!("{line} --archive {url}"));
    }
    let info = sentbox.stdout(&format!("archive info --archive {url}"));
    info.assert_contains("\nkey      none yet\n");
    let sync = sentbox.transcript(&format!("sync --archive {url}"));
    sync.assert_contains(" of 1 email belongs to no key yet");
}

#[test]
fn server_archives_are_adopted_together_and_stay_adopted() {
    let Some(server) = TestServer::start() else {
        return note_skipped("an adopted archive on PostgreSQL");
    };
    let sentbox = Sentbox::new();
    let url = server.url();
    let import = format!("import --received --archive {url} -");
    let email = r#"{"id":"1","from":"ana@example.com","to":["shop@example.org"]}"#;
    sentbox.stdout_with_input(&import, email);
    let sentbox = sentbox.with("SENTBOX_API_KEY", KEY);
    let sync = format!("sync --received --archive {url}");
    let refused = " of 1 email belongs to no key yet";
    sentbox.transcript(&sync).assert_contains(refused);
    sentbox.stdout(&format!("archive adopt --archive {url}"));
    sentbox.transcript(&sync).assert_lacks(refused);
    let other = sentbox.with("SENTBOX_API_KEY", "re_other");
    other.stdout(&format!("search --received ana --archive {url}"));
    let refused = other.transcript(&sync);
    refused.assert_contains("; the archive has no answer to it yet)");
}

#[cfg(target_os = "linux")]
#[test]
fn unix_socket_needs_no_certificates() {
    // As on a machine without any certificate.
    let sentbox = Sentbox::new().with("SSL_CERT_FILE", "none.pem");
    let info = |host: &str| {
        let archive = format!("postgres:///postgres?host={host}&user=a&schema=t");
        sentbox.transcript(&format!("archive info --archive {archive}"))
    };
    info("/nowhere").assert_contains("check the address, the network, and that the server runs");
    info("127.0.0.1&sslmode=require").assert_contains("TLS cannot be used");
}

#[test]
fn server_on_tcp_port_needs_trusted_certificate() {
    let Some(mut server) = TestServer::start() else {
        return note_skipped("an archive on PostgreSQL over TLS");
    };
    let certificate = include_str!("tls/localhost.pem");
    let port = server.listen_with_tls(certificate, include_str!("tls/localhost.key"));
    let sentbox = Sentbox::using(sample(30));
    let authority = sentbox.home().join("authority.pem");
    std::fs::write(&authority, include_str!("tls/authority.pem")).unwrap();
    let plain = format!("postgres://sentbox@localhost:{port}/postgres?schema=team");
    let sync = |url: &str, options: &str| {
        let line = format!("sync --archive {url} --back all --rate 1000 --json {options}");
        sentbox.run(&line)
    };
    let refused = |url: &str, options: &str, why: &str| {
        let output = sync(url, options);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{message}");
        message.assert_contains(why);
    };
    let verified = format!("{plain}&sslmode=require");
    refused(&plain, "", "no encryption");
    refused(&verified, "", "SSL_CERT_FILE");
    let trusting = format!("--ca-file {}", authority.display());
    assert!(sync(&verified, &trusting).status.success());
    let count = "SELECT count(*) FROM team.mail";
    assert_eq!(server.rows(count), "30\n");
    server.configure("ssl = off\n");
    refused(&verified, &trusting, "TLS");
}

#[test]
fn password_of_profile_opens_its_archive_alone() {
    let Some(mut server) = TestServer::start() else {
        return note_skipped("the password of an archive on PostgreSQL");
    };
    let certificate = include_str!("tls/localhost.pem");
    let port = server.listen_with_tls(certificate, include_str!("tls/localhost.key"));
    server.rows("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'secret'");
    let service = sample(30);
    let sentbox = Sentbox::at(&service);
    let authority = sentbox.home().join("authority.pem");
    std::fs::write(&authority, include_str!("tls/authority.pem")).unwrap();
    let archive =
        |role| format!("postgres://{role}@localhost:{port}/postgres?schema=team&sslmode=require");
    sentbox.configure(&format!(
        "[profiles.default]\nbase_url = \"{}\"\napi_key_command = \"echo {KEY}\"\nca_file = \"{}\"\narchive = \"{}\"\narchive_password_command = \"echo secret\"\n",
        service.base(),
        authority.display(),
        archive("guarded"),
    ));
    let sync = sentbox.json("-p default sync --back all --rate 1000 --json");
    assert_eq!(sync["complete"], true, "{sync}");
    let refused = sentbox.transcript(&format!("archive info --archive {}", archive("other")));
    refused.assert_contains("password missing");
    refused.assert_contains("archive_password_command");
}

#[test]
fn full_server_disk_is_reported_without_loss() {
    let Some(server) = TestServer::start() else {
        return note_skipped("a full disk of a PostgreSQL server");
    };
    let sentbox = Sentbox::using(sample(250));
    let archive = format!("--archive {}&schema=team", server.url());
    let sync = format!("sync {archive} --back all --rate 1000 --json");
    sentbox.stdout(&sync);
    server.rows(
        "CREATE FUNCTION team.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF (SELECT count(*) FROM team.body) >= 100 THEN \
                 RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not extend file'; \
             END IF; \
             RETURN NEW; \
         END $$",
    );
    server.rows(
        "CREATE TRIGGER refuse BEFORE INSERT ON team.body FOR EACH ROW EXECUTE FUNCTION team.refuse()",
    );
    let refused = sentbox.run(&format!("{sync} --bodies"));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(8), "{why}");
    why.assert_contains("the disk of the server is full");
    let count = "SELECT count(*) FROM team.body";
    assert_eq!(server.rows(count), "100\n");
    server.rows("DROP TRIGGER refuse ON team.body");
    let report = sentbox.json(&format!("{sync} --bodies"));
    assert_eq!(report["complete"], true, "{report}");
    assert_eq!(server.rows(count), "250\n");
}

#[test]
fn errors_of_server_archive_name_what_helps() {
    let Some(server) = TestServer::start() else {
        return note_skipped("hints for an archive on PostgreSQL");
    };
    let sentbox = Sentbox::using(sample(30));
    let team = format!("{}&schema=team", server.url());
    sentbox.stdout(&format!("sync --archive {team} --back all --rate 1000"));
    let search = format!("search --archive {team} order");

    server.rows("ALTER ROLE sentbox SET statement_timeout = '300ms'");
    std::thread::scope(|scope| {
        let lock =
            "SET statement_timeout = 0; BEGIN; LOCK TABLE team.mail; SELECT pg_sleep(4); COMMIT";
        scope.spawn(|| server.rows(lock));
        let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'";
        while server.rows(locked).trim() == "0" {}
        let report = sentbox.transcript(&search);
        report.assert_contains("ALTER ROLE name SET statement_timeout = 0");
    });

    server.rows("UPDATE team.format SET version = 99");
    let report = sentbox.transcript(&search);
    report.assert_contains("update sentbox; or name another schema in its address");
}
