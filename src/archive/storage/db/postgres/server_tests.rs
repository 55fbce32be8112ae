//! Schemas of a PostgreSQL server for tests.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::tasks::lock;

/// Names the server for all archives that a test would have in memory.
pub(crate) const SERVER: &str = "SENTBOX_TEST_SERVER";

/// Empties the tables for the next test: to create them takes much longer.
const EMPTY: &str = "TRUNCATE key_order, mail, dictionary, body, status_history, covered_range, confirmed_run, listing, \
    purged, identity, row_count, search, dirty, out_of_order, interned, audit, poller_record RESTART IDENTITY; \
    INSERT INTO listing (id) VALUES (1); INSERT INTO row_count VALUES (0, 0)";

/// Schemas that no test uses now.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs the others again tells them where"
)]
pub(crate) fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// Returns the address of a schema that no other test has,
/// if the tests run on a server.
pub(crate) fn schema_for_test() -> Option<ServerUrl> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let server = variable(SERVER)?.into_string().ok()?;
    let free = lock(&FREE).pop();
    let is_used = free.is_some();
    let new = || {
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        format!("test_{process}_{number}")
    };
    let schema = free.unwrap_or_else(new);
    let url = ServerUrl::parse(&format!("{server}&schema={schema}")).unwrap();
    if is_used {
        let connection = PostgresServer::connect_for_test(&url);
        connection.execute_batch(EMPTY).unwrap();
    }
    Some(url)
}

impl PostgresServer {
    fn connect_for_test(url: &ServerUrl) -> Connection {
        let mut server = Self::new(url).unwrap();
        let connection = server.connect().unwrap();
        std::mem::forget(server.schema_for_test.take());
        connection
    }
}

/// A schema that another test gets when it is dropped.
pub(super) struct SchemaForTest(String);

impl SchemaForTest {
    pub(super) fn from_schema(schema: &str) -> Option<Self> {
        // Those with a suffix are used by more than one handle.
        let numbers = schema.strip_prefix("test_")?;
        let is_one = |c: char| c.is_ascii_digit() || c == '_';
        numbers.chars().all(is_one).then(|| Self(schema.to_owned()))
    }
}

impl Drop for SchemaForTest {
    fn drop(&mut self) {
        let mut free = lock(&FREE);
        if !free.contains(&self.0) {
            free.push(std::mem::take(&mut self.0));
        }
    }
}
