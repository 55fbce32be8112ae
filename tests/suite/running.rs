//! The whole program on its real loop, against the real server over real HTTP. Nothing sleeps: the
//! program is asked whether it is idle, and pauses end when a test says so.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use crossterm::event::{Event, KeyEvent};
use futures_util::Stream;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;
use sentbox::api::{Access, Client, Patience};
use sentbox::app::{Key, Opening, Rest, Stage};
use sentbox::archive::{Archive, Location};
use sentbox::config::clock::Clock;
use sentbox::config::{ApiKey, Backfill, BaseUrl, Rate};
use sentbox::server::{self, Terms, sample};
use sentbox::sync::Engine;
use sentbox::tui::{History, Pause, Performer, Program, Turn};
use sentbox::view::{Glyphs, Look, Theme};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

const START: &str = "2026-11-20T09:42:00Z";

/// Keys that a test presses.
pub struct Keyboard(mpsc::UnboundedReceiver<Event>);

impl Stream for Keyboard {
    type Item = io::Result<Event>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// A program that runs against an embedded server.
pub struct Running {
    pub program: Program<Client, TestBackend, Keyboard>,
    keyboard: mpsc::UnboundedSender<Event>,
    /// Ends the pause between two refreshes.
    refresh: Arc<Notify>,
    now: watch::Sender<Timestamp>,
    server: JoinSet<io::Result<()>>,
    unplug: Arc<Notify>,
    pub turn: Option<Turn>,
}

impl Running {
    pub async fn start(size: Size, emails: u32) -> Self {
        Self::filling(size, emails, Backfill::Off).await
    }

    /// The same with a profile that wants older mail fetched by itself.
    pub async fn filling(size: Size, emails: u32, backfill: Backfill) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let start: Timestamp = START.parse().unwrap();
        let (now, seen) = watch::channel(start);
        let clock: Clock = Arc::new(move || *seen.borrow());
        let mailbox = sample::Mailbox::new(7, emails, start, clock.clone());
        let unplug = Arc::new(Notify::new());
        let mut server = JoinSet::new();
        server.spawn(server::serve(listener, mailbox, Terms::demo(10_000), clock.clone(), {
            let unplug = unplug.clone();
            async move { unplug.notified().await }
        }));

        let base_url = BaseUrl::parse(&format!("http://{address}")).unwrap();
        let key = ApiKey::new(server::DEMO_KEY, "the test").unwrap();
        let access = Access { base_url, key: Ok(key), ca_file: None, rate: Rate::by_hand(10_000.0).unwrap() };
        let client = Client::new(access, Patience { tries: 1, ..Patience::SCREEN }, clock.clone());
        let archive = Archive::open(&Location::Memory).unwrap();
        let engine = Engine::new(Arc::new(client), archive.clone(), clock.clone());
        let refresh = Arc::new(Notify::new());
        let performer = Performer::new(archive, Some(engine), History::default(), pauses(refresh.clone()), None);

        let (keyboard, events) = mpsc::unbounded_channel();
        let opening = Opening {
            size,
            profile: "demo".to_owned(),
            no_service: None,
            refresh: std::time::Duration::from_secs(30),
            backfill,
            as_of: None,
            now: start.to_zoned(TimeZone::UTC),
            notice: None,
            history: Vec::new(),
        };
        let look = Look { theme: Theme::new(true), glyphs: Glyphs::UNICODE, now: start, zone: TimeZone::UTC };
        let terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
        let program = Program::start(opening, performer, Keyboard(events), terminal, look, clock, None);
        let mut running = Self { program, keyboard, refresh, now, server, unplug, turn: None };
        running.until_idle().await;
        running
    }

    async fn until_idle(&mut self) {
        while self.turn.is_none() && !self.program.is_idle() {
            self.turn = self.program.step().await.unwrap();
        }
    }

    /// Presses keys, written as in the key table, and waits until everything has come of them.
    pub async fn press(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            let Key { code, modifiers } = Key::parse(key).expect("a key of the table");
            self.keyboard.send(Event::Key(KeyEvent::new(code, modifiers))).unwrap();
        }
        self.turn = self.program.step().await.unwrap();
        self.until_idle().await;
    }

    /// Lets time pass until the next refresh, which then happens.
    pub async fn wait(&mut self, seconds: i64) {
        self.now.send_modify(|now| *now += jiff::SignedDuration::from_secs(seconds));
        self.refresh.notify_one();
        self.turn = self.program.step().await.unwrap();
        self.until_idle().await;
    }

    /// Ends the service: from now on nothing listens at its address.
    pub async fn unplug(&mut self) {
        self.unplug.notify_one();
        self.server.join_next().await;
    }

    pub fn screen(&self) -> String {
        let buffer = self.program.terminal().backend().buffer();
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
    }

    pub fn selected(&self) -> String {
        self.program.model().list.selected().expect("an email is selected").summary.id.as_str().to_owned()
    }

    pub fn position(&self) -> (Option<u64>, Option<u64>) {
        let list = &self.program.model().list;
        (list.position(), list.total())
    }

    pub fn open_email(&self) -> Option<String> {
        match self.program.model().stage() {
            Stage::Ready(opened, Some(_)) => Some(opened.email.summary.id.as_str().to_owned()),
            _ => None,
        }
    }
}

/// The selection rests at once; a refresh when the test says so.
fn pauses(refresh: Arc<Notify>) -> Pause {
    Arc::new(move |what, _| {
        let refresh = refresh.clone();
        match what {
            Rest::Selection => Box::pin(std::future::ready(())),
            Rest::Refresh | Rest::Extend => Box::pin(async move { refresh.notified().await }),
            Rest::Second => Box::pin(std::future::pending()),
        }
    })
}
