//! The whole program on its real loop, against the real server over real HTTP.
//! Nothing sleeps: the harness waits until the program is idle, and a test fires the timers.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::api::{Client, ClientConfig, RetryPolicy};
use crate::app::{Key, Model, ReaderState, SessionInfo, SessionTarget, StorageMode, TimerKind};
use crate::archive::{Archive, ArchiveLocation};
use crate::config::clock::Clock;
use crate::config::{
    ApiKey, BaseUrl, ClipboardRoute, DesktopSettings, Env, Flags, HistorySpan, NotifyRoute, Rate,
    Settings, built_in_views,
};
use crate::mail::{Mailbox, Status};
use crate::server::{self, ServerConfig, sample};
use crate::sync::Engine;
use crate::tui::effect_runner::TimerFn;
use crate::tui::input::TerminalEvent;
use crate::tui::input::tests::{bytes_event, encode};
use crate::tui::{Environment, EventLoop, LoopExit, Memory, Session, SessionFactory};
use crate::view::RenderCtx;
use crate::view::tests::render_ctx;
use futures_util::Stream;
use futures_util::future::poll_immediate;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::layout::Size;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

const START: &str = "2026-11-20T09:42:00Z";
const ONE_ATTEMPT: RetryPolicy = RetryPolicy {
    max_attempts: 1,
    initial_backoff: std::time::Duration::ZERO,
    ..RetryPolicy::TUI
};

pub struct Keyboard(mpsc::UnboundedReceiver<TerminalEvent>);

impl Stream for Keyboard {
    type Item = io::Result<TerminalEvent>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// A service whose clock the test sets, and which can be stopped and started again.
pub struct Host {
    address: String,
    now: watch::Sender<Timestamp>,
    clock: Clock,
    mailbox: (u32, Timestamp),
    stop: Arc<Notify>,
    server: JoinSet<()>,
}

impl Host {
    pub async fn start(emails: u32) -> Self {
        let (now, clock) = time();
        let mut host = Self {
            address: "127.0.0.1:0".to_owned(),
            mailbox: (emails, clock()),
            now,
            clock,
            stop: Arc::default(),
            server: JoinSet::new(),
        };
        host.serve().await;
        host
    }

    pub async fn serve(&mut self) {
        let listener = TcpListener::bind(&self.address).await.unwrap();
        self.address = listener.local_addr().unwrap().to_string();
        let ((emails, start), clock) = (self.mailbox, self.clock.clone());
        let mailbox = sample::SampleMailbox::new(7, emails, start, clock.clone());
        let stop = self.stop.clone();
        // The windows of its rate limit end, as those of the client do: otherwise a slow test would
        // see others use it.
        let started = Instant::now();
        let passing: Clock = Arc::new(move || clock() + started.elapsed());
        self.server.spawn(server::serve(
            listener,
            mailbox.with_bounce_reasons(),
            ServerConfig::demo(10_000),
            passing,
            async move { stop.notified().await },
        ));
    }

    /// From now on, nothing listens at its address.
    pub async fn stop(&mut self) {
        self.stop.notify_one();
        self.server.join_next().await;
    }

    pub fn pass(&self, seconds: i64) {
        let pause = jiff::SignedDuration::from_secs(seconds);
        self.now.send_modify(|now| *now += pause);
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A program that runs against an embedded server.
pub struct TuiHarness {
    pub program: EventLoop<TestBackend, Keyboard>,
    keyboard: mpsc::UnboundedSender<TerminalEvent>,
    /// Ends the pause between two refreshes.
    refresh: Arc<Notify>,
    now: watch::Sender<Timestamp>,
    /// The service, if it ends with this.
    host: Option<Host>,
    pub loop_exit: Option<LoopExit>,
    /// The screen before any other thread had finished its work.
    pub first_screen: String,
}

impl TuiHarness {
    pub async fn start(size: Size, emails: u32) -> Self {
        Self::with_backfill(size, emails, HistorySpan::Off).await
    }

    pub async fn with_backfill(size: Size, emails: u32, backfill: HistorySpan) -> Self {
        let host = Host::start(emails).await;
        let memory = ArchiveLocation::Memory;
        let time = (host.now.clone(), host.clock.clone());
        let it = Self::with(&memory, &host.base(), size, ONE_ATTEMPT, backfill, time).await;
        Self {
            host: Some(host),
            ..it
        }
    }

    /// A program that runs against another server.
    pub async fn with_server_at(base: &str, size: Size, retry: RetryPolicy) -> Self {
        let (memory, backfill) = (ArchiveLocation::Memory, HistorySpan::Off);
        Self::with(&memory, base, size, retry, backfill, time()).await
    }

    /// One of several that share an archive on disk.
    pub async fn with_archive_at(path: &Path, base: &str, size: Size) -> Self {
        let (disk, backfill) = (ArchiveLocation::Disk(path.to_owned()), HistorySpan::Off);
        Self::with(&disk, base, size, ONE_ATTEMPT, backfill, time()).await
    }

    async fn with(
        location: &ArchiveLocation,
        base: &str,
        size: Size,
        retry: RetryPolicy,
        backfill: HistorySpan,
        (now, clock): (watch::Sender<Timestamp>, Clock),
    ) -> Self {
        let archive = Archive::open(location).unwrap();
        let storage = match (location, archive.read_only_reason()) {
            (_, Some(reason)) => StorageMode::ReadOnly(reason),
            (ArchiveLocation::Disk(path), None) => StorageMode::InFile(path.display().to_string()),
            _ => StorageMode::InMemory,
        };
        let client = client(base, retry, clock.clone());
        let engine = Engine::new(client, archive.clone(), clock.clone());
        let info = SessionInfo {
            profile: "demo".to_owned(),
            target: SessionTarget::Demo,
            storage,
            refresh: std::time::Duration::from_secs(30),
            backfill,
            saved_views: built_in_views(),
            notify: NotifyRoute::Bell,
            clipboard: ClipboardRoute::Terminal { multiplexer: None },
            ..SessionInfo::default()
        };
        let session = Session::new(info, archive, Ok(engine));
        let factory = factory(Env::default(), clock, (0, 1));
        Self::begin(size, session, factory, now).await
    }

    /// Starts as the program does with these flags in this environment.
    pub async fn with_env(size: Size, env: Env) -> Self {
        let (now, clock) = time();
        let factory = factory(env, clock, (300, 7));
        let settings = Settings::resolve(&factory.flags, &factory.env).unwrap();
        let session = factory.open_initial(&settings).unwrap();
        Self::begin(size, session, factory, now).await
    }

    async fn begin(
        size: Size,
        session: Session,
        factory: SessionFactory,
        now: watch::Sender<Timestamp>,
    ) -> Self {
        let refresh = Arc::new(Notify::new());
        let (keyboard, events) = mpsc::unbounded_channel();
        let ctx = RenderCtx {
            now: now.borrow().to_zoned(TimeZone::UTC),
            ..render_ctx()
        };
        let terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
        let env = Environment {
            sessions: factory,
            timer: test_timer(refresh.clone()),
            panic_at: None,
        };
        let program = EventLoop::new(session, env, Keyboard(events), terminal, ctx);
        let mut running = Self {
            first_screen: String::new(),
            program,
            keyboard,
            refresh,
            now,
            host: None,
            loop_exit: None,
        };
        // As far as the program comes without any other thread.
        let first_step = poll_immediate(running.program.step()).await;
        running.loop_exit = first_step.and_then(Result::unwrap);
        running.first_screen = running.screen();
        running.until_idle().await;
        running
    }

    pub const fn model(&self) -> &Model {
        self.program.model()
    }

    async fn until_idle(&mut self) {
        while self.loop_exit.is_none() && !self.program.is_idle() {
            self.loop_exit = self.program.step().await.unwrap();
        }
    }

    /// Waits for what happens by itself until the condition holds.
    pub async fn until(&mut self, condition: impl Fn(&Model) -> bool) {
        let held = tokio::time::timeout(std::time::Duration::from_secs(30), async {
            while !condition(self.model()) {
                self.loop_exit = self.program.step().await.unwrap();
            }
        });
        let held = held.await.is_ok();
        assert!(held, "it does not come about:\n{}", self.screen());
        self.until_idle().await;
    }

    /// Presses keys, written as in the key table, and waits until everything has come
    /// of them.
    pub async fn press(&mut self, keys: &str) {
        self.send_keys(keys);
        self.loop_exit = self.program.step().await.unwrap();
        self.until_idle().await;
    }

    /// Sends keys, and leaves them to be read.
    pub fn send_keys(&self, keys: &str) {
        for key in keys.split_whitespace() {
            let key = Key::parse(key).expect("a key of the table");
            self.keyboard.send(bytes_event(&encode(key))).unwrap();
        }
    }

    /// Presses a key, and waits for refresh and reader, but not for a prefetch.
    pub async fn press_until_reader_settles(&mut self, key: &str) {
        self.send_keys(key);
        self.loop_exit = self.program.step().await.unwrap();
        let settled = |model: &Model| {
            !model.service.is_refreshing()
                && matches!(
                    model.reader_state(),
                    ReaderState::Ready(_, Some(_)) | ReaderState::Failed(_)
                )
        };
        while self.loop_exit.is_none() && !settled(self.model()) {
            self.loop_exit = self.program.step().await.unwrap();
        }
    }

    /// Pastes text, as a terminal hands it over in one piece.
    pub async fn paste(&mut self, text: &str) {
        let paste = format!("\x1b[200~{text}\x1b[201~");
        self.keyboard.send(bytes_event(paste.as_bytes())).unwrap();
        self.loop_exit = self.program.step().await.unwrap();
        self.until_idle().await;
    }

    /// Lets time pass until the next refresh, which then happens.
    pub async fn wait(&mut self, seconds: i64) {
        self.now
            .send_modify(|now| *now += jiff::SignedDuration::from_secs(seconds));
        self.refresh.notify_one();
        self.loop_exit = self.program.step().await.unwrap();
        self.until_idle().await;
    }

    pub async fn stop_service(&mut self) {
        self.host.as_mut().unwrap().stop().await;
    }

    pub fn screen(&self) -> String {
        let buffer = self.program.terminal().backend().buffer();
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        let line = |row: &[Cell]| row.iter().map(Cell::symbol).collect::<String>() + "\n";
        rows.map(line).collect()
    }

    #[track_caller]
    pub fn shows(&self, texts: &[&str]) {
        let screen = self.screen();
        for text in texts {
            assert!(screen.contains(text), "no {text:?}:\n{screen}");
        }
    }

    #[track_caller]
    pub fn starts(&self, text: &str) {
        let screen = self.screen();
        assert!(screen.starts_with(text), "no {text:?}:\n{screen}");
    }

    /// Checks that the screen has none of these texts.
    #[track_caller]
    pub fn hides(&self, texts: &[&str]) {
        let screen = self.screen();
        for text in texts {
            assert!(!screen.contains(text), "{text:?}:\n{screen}");
        }
    }

    pub fn selected(&self) -> String {
        let row = self.model().list.selected();
        let row = row.expect("an email is selected");
        row.summary.id.as_str().to_owned()
    }

    /// Selects the newest email whose status is in progress.
    pub async fn select_in_progress(&mut self) {
        let is_in_progress = |it: &Self| {
            let row = it.model().list.selected().unwrap();
            matches!(
                row.summary.status,
                Status::Queued | Status::Sent | Status::DeliveryDelayed
            )
        };
        while !is_in_progress(self) {
            self.press("j").await;
        }
    }

    pub fn position(&self) -> (Option<u64>, Option<u64>) {
        let list = &self.model().list;
        (list.position(), list.total)
    }

    pub fn open_email(&self) -> Option<String> {
        match self.model().reader_state() {
            ReaderState::Ready(opened, Some(_)) => {
                Some(opened.email.summary.id.as_str().to_owned())
            }
            _ => None,
        }
    }
}

pub fn time() -> (watch::Sender<Timestamp>, Clock) {
    let (now, seen) = watch::channel(START.parse().unwrap());
    (now, Arc::new(move || *seen.borrow()))
}

pub fn factory(env: Env, clock: Clock, sample: (u32, u64)) -> SessionFactory {
    SessionFactory {
        flags: Flags::default(),
        env,
        clock,
        keymap: Arc::default(),
        desktop: DesktopSettings::default(),
        sample,
        memory: Memory::default(),
    }
}

/// A client that does not wait for itself.
pub fn client(base: &str, retry: RetryPolicy, clock: Clock) -> Client {
    let base_url = BaseUrl::parse(base).unwrap();
    let key = ApiKey::new(server::DEMO_KEY, "the test");
    Client::new(
        ClientConfig {
            base_url,
            mailbox: Mailbox::Sent,
            key,
            ca_file: None,
            rate: Rate::explicit(10_000.0).unwrap(),
            rate_file: None,
        },
        retry,
        clock,
    )
}

/// The selection and the size rest at once; a refresh when the test says so.
pub fn test_timer(refresh: Arc<Notify>) -> TimerFn {
    Arc::new(move |what, _| {
        let refresh = refresh.clone();
        match what {
            TimerKind::Selection | TimerKind::Resize | TimerKind::Count => {
                Box::pin(std::future::ready(()))
            }
            TimerKind::Refresh | TimerKind::LoadOlder => {
                Box::pin(async move { refresh.notified().await })
            }
            TimerKind::PreviousEmail
            | TimerKind::AutomaticSearch
            | TimerKind::Countdown
            | TimerKind::Freshness => Box::pin(std::future::pending()),
        }
    })
}
