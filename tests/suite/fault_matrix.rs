//! Tests of each fault of the service: exit code and message of the commands.

use serde_json::Value;

use crate::harness::faults::{End, Row, Tries, for_each, table};
use crate::harness::faulty_server::{Faulty, truth};
use crate::harness::process::Sentbox;

/// Checks the commands' exit codes and messages for a fault that needs no time.
async fn commands(row: &Row) {
    let service = Faulty::start().await;
    let id = truth()[5].0.clone();
    for (line, end) in [
        (
            "list --json --limit 10".to_owned(),
            row.listing.unwrap_or(row.list),
        ),
        (format!("show {id} --json"), row.show),
        ("sync --back all --rate 1000 --json".to_owned(), row.sync),
    ] {
        service.does(row.does);
        let sentbox = Sentbox::at_address("re_demo", service.base());
        let run = line.clone();
        let output = tokio::task::spawn_blocking(move || sentbox.run(&run))
            .await
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let Some(last) = stderr.lines().last().filter(|_| !output.status.success()) else {
            assert!(matches!(end, End::Well), "{}: {line}", row.name);
            serde_json::from_str::<Value>(&stdout).unwrap();
            continue;
        };
        let End::Fails(kind, words) = end else {
            panic!("{}: {line}: {stderr}", row.name)
        };
        let error: Value = serde_json::from_str(last).unwrap();
        assert_eq!(error["error"]["kind"], kind.code(), "{}: {line}", row.name);
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{}: {line}: {error}", row.name);
        let expected = Some(i32::from(kind.exit_code()));
        assert_eq!(output.status.code(), expected, "{}: {line}", row.name);
    }
}

#[tokio::test]
async fn each_fault_has_its_exit_code_and_message() {
    let fails = |row: &&Row| {
        [row.list, row.show, row.sync]
            .iter()
            .any(|end| matches!(end, End::Fails(..)))
    };
    for_each(
        table()
            .iter()
            .filter(|row| row.tries == Tries::Once)
            .filter(fails),
        commands,
    )
    .await;
}
