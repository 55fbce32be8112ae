//! A service, mirrors of it, and requests to them.

use super::*;

/// A clock that a test sets; it starts at a fixed time.
#[derive(Clone, Default)]
pub(super) struct Hand(Arc<AtomicI64>);

impl Hand {
    pub(super) fn start() -> Timestamp {
        "2026-11-20T09:41:07Z".parse().unwrap()
    }

    pub(super) fn clock(&self) -> Clock {
        let hand = Arc::clone(&self.0);
        Arc::new(move || Self::start() + SignedDuration::from_millis(hand.load(Ordering::Relaxed)))
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

/// A server with its base URL; it stops when this is dropped.
pub(super) struct Running {
    pub(super) base: String,
    pub(super) key: &'static str,
    pub(super) http: reqwest::Client,
    _stop: tokio_util::sync::DropGuard,
    pub(super) tasks: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Got {
    /// Returns what must be the same at a service and its mirrors.
    pub(super) fn answer(&self) -> (u16, &str) {
        (self.status, &self.body)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        let json = self.json();
        let ids = json["data"].as_array().unwrap().iter();
        ids.map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(super) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    (listener, base)
}

/// Waits until it is so.
pub(super) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn send(
    request: reqwest::RequestBuilder,
    headers: &[(&str, &str)],
) -> reqwest::Response {
    let headers = headers.iter().copied();
    let request = headers.fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    request.send().await.unwrap()
}

impl Running {
    pub(super) fn new(
        base: String,
        key: &'static str,
        stop: CancellationToken,
        tasks: JoinSet<()>,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        Self {
            base,
            key,
            http,
            _stop: stop.drop_guard(),
            tasks,
        }
    }

    /// Serves the sample mailbox as a service does.
    pub(super) async fn sample(emails: u32, hand: &Hand) -> Self {
        let (listener, base) = listen().await;
        let mailbox = SampleMailbox::new(7, emails, Hand::start(), hand.clock());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let until = stop.clone().cancelled_owned();
        let clock = hand.clock();
        tasks.spawn(async move {
            server::serve(listener, mailbox, ServerConfig::demo(10_000), clock, until).await;
        });
        Self::new(base, server::DEMO_KEY, stop, tasks)
    }

    pub(super) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Got {
        let request = self.http.get(format!("{}{path}", self.base));
        let response = send(request, headers).await;
        Got {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        let key = format!("Bearer {}", self.key);
        self.get_with(path, &[("authorization", &key)]).await
    }
}

pub(super) fn client(server: &Running, mailbox: Mailbox, hand: &Hand) -> Client {
    let config = ClientConfig {
        base_url: BaseUrl::parse(&server.base).unwrap(),
        mailbox,
        key: ApiKey::new(server.key, "the test"),
        ca_file: None,
        rate: Rate::explicit(10_000.0).unwrap(),
        rate_file: None,
    };
    Client::new(config, RetryPolicy::TUI, hand.clock())
}

/// A mirror, and what a test looks at behind it.
pub(super) struct TestMirror {
    pub(super) running: Running,
    pub(super) archive: Archive,
    pub(super) state: Arc<MirrorState>,
    pub(super) folder: tempfile::TempDir,
    pub(super) notes: Arc<Mutex<Vec<String>>>,
}

impl TestMirror {
    /// Sends its streams what has changed in the archive since a snapshot.
    pub(super) fn send_changes(&self, before: &ChangeSnapshot, now: Timestamp) {
        let last_purge = Some(before.last_purge);
        let after = self.archive.snapshot_changes(now, last_purge).unwrap();
        for change in after.changes_since(before) {
            self.state.changes.send(change).unwrap();
        }
    }

    /// Returns what its archive has now, of which its streams know nothing.
    pub(super) fn snapshot(&self) -> ChangeSnapshot {
        self.archive.snapshot_changes(Hand::start(), None).unwrap()
    }

    /// Starts a service of so many sample emails, and a mirror that does not poll it.
    pub(super) async fn of_sample(emails: u32) -> (Hand, Running, Self) {
        let hand = Hand::default();
        let service = Running::sample(emails, &hand).await;
        let mirror = Self::start(&service, &hand, false).await;
        (hand, service, mirror)
    }

    /// Starts another mirror with the same archive, which knows of no earlier request.
    pub(super) async fn restart(&self, service: &Running, hand: &Hand) -> Self {
        Self::start_with(service, hand, false, |_| self.archive.clone()).await
    }

    /// Starts a mirror of a service, which polls it if `polls`.
    pub(super) async fn start(service: &Running, hand: &Hand, polls: bool) -> Self {
        Self::start_with(service, hand, polls, |archive| archive).await
    }

    pub(super) async fn start_with(
        service: &Running,
        hand: &Hand,
        polls: bool,
        change: impl FnOnce(Archive) -> Archive,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        crate::config::create_secret(&keys, &format!("ana = {KEY}\n")).unwrap();
        let secrets = folder.path().join("secrets");
        crate::config::create_secret(&secrets, SIGNING_SECRET).unwrap();
        let archive = change(memory());
        let engine =
            |mailbox, archive| Engine::new(client(service, mailbox, hand), archive, hand.clock());
        let sent = engine(Mailbox::Sent, archive.clone());
        let received = engine(Mailbox::Received, memory());
        let notes = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&notes);
        let config = MirrorConfig {
            keys: KeyFile::open_or_create(&keys, Box::new(|_| ())).unwrap().0,
            hosts: Vec::new(),
            access_log: Some(AccessLog::open(&folder.path().join("reads")).unwrap()),
            webhooks: Some(SigningSecrets::open(&secrets, Box::new(|_| ())).unwrap()),
            backfill: HistorySpan::All,
            clock: hand.clock(),
            note: Box::new(move |text| lock(&noted).push(text.to_owned())),
        };
        let mirror = Mirror::new(sent, received, config);
        let state = Arc::clone(&mirror.state);
        let (listener, base) = listen().await;
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let until = stop.clone().cancelled_owned();
        tasks.spawn(async move {
            if polls {
                mirror.run(Listener::Tcp(listener), None, until).await;
            } else {
                let routes = http::routes(mirror.state);
                serve_connections(1024, Listener::Tcp(listener), None, routes, until).await;
            }
        });
        Self {
            running: Running::new(base, KEY, stop, tasks),
            archive,
            state,
            folder,
            notes,
        }
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        self.running.get(path).await
    }

    /// Polls the service until the returned value is dropped.
    pub(super) fn poll(&self) -> JoinSet<()> {
        let state = Arc::clone(&self.state);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { poller::poll(state.sent.engine().clone(), &state).await });
        tasks
    }

    pub(super) fn requests(&self) -> u64 {
        self.state.upstream_requests()
    }

    pub(super) fn access_log(&self) -> Vec<Value> {
        let path: PathBuf = self.folder.path().join("reads");
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }
}

/// Reads a listing to its end; returns its bodies and ids.
pub(super) async fn read_all(
    server: &Running,
    path: &str,
    limit: u32,
) -> (Vec<String>, Vec<String>) {
    let (mut bodies, mut ids) = (Vec::new(), Vec::<String>::new());
    loop {
        let after = ids
            .last()
            .map_or_else(String::new, |id| format!("&after={id}"));
        let page = server.get(&format!("{path}?limit={limit}{after}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        ids.extend(page.ids());
        let has_more = page.json()["has_more"].as_bool().unwrap();
        bodies.push(page.body);
        if !has_more {
            return (bodies, ids);
        }
    }
}
