//! `SessionFactory`: opens configured profiles and the sample mailbox.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::session::{OpenedSession, Session};
use super::state_files::StateFiles;
use crate::api::{Client, ClientConfig, RetryPolicy, verify_key};
use crate::app::session::{ConfirmDialog, FirstScreen};
use crate::app::{Keymap, SessionInfo, SessionTarget, StorageMode};
use crate::archive::{
    Archive, ArchiveLocation, IdentityMismatch, OnMismatch, OnOutdated, OpenResult, WindowAnchor,
};
use crate::config::clock::Clock;
use crate::config::{
    ApiKey, ArchiveOrigin, BaseUrl, DesktopSettings, Env, Flags, HistorySpan, Profiles, Prompting,
    Rate, SecretInput, Settings, ViewStore, built_in_views, create_private_dir, find_browser,
};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::server::{self, ServerConfig, sample};
use crate::sync::{Engine, REFRESH_INTERVAL};
use crate::tasks::lock;
use crate::text::sanitize;

/// The interval between two refreshes of the sample mailbox, which has one user.
const DEMO_REFRESH_INTERVAL: Duration = Duration::from_secs(4);
/// Requests per second that the embedded server answers.
const DEMO_RATE: u32 = 100;

/// Opens sessions.
#[derive(Clone)]
pub struct SessionFactory {
    pub flags: Flags,
    pub env: Env,
    pub clock: Clock,
    pub keymap: Arc<Keymap>,
    pub desktop: DesktopSettings,
    /// The number of emails of the sample mailbox, and its seed.
    pub sample: (u32, u64),
    pub memory: Memory,
}

/// The state that the sessions of one profile share while none of them is open:
/// the archives that are not on disk, and the embedded server of the sample mailbox.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<MemoryContent>>);

#[derive(Default)]
struct MemoryContent {
    /// The profile and its service.
    profile: String,
    archives: HashMap<Mailbox, Archive>,
    /// Address and task.
    demo: Option<(SocketAddr, JoinSet<()>)>,
}

impl Memory {
    /// Returns the archive in memory of a profile; opens one if there is none.
    fn open_archive(&self, profile: String, mailbox: Mailbox) -> Result<Archive> {
        let mut content = lock(&self.0);
        if content.profile != profile {
            *content = MemoryContent {
                profile,
                demo: content.demo.take(),
                ..MemoryContent::default()
            };
        }
        if let Some(archive) = content.archives.get(&mailbox) {
            return Ok(archive.clone());
        }
        let archive = Archive::open(&ArchiveLocation::Memory)?;
        content.archives.insert(mailbox, archive.clone());
        Ok(archive)
    }
}

impl SessionFactory {
    /// Opens the first session, also without a key or with a question first.
    ///
    /// Blocks, and needs a runtime.
    pub fn open_initial(&self, settings: &Settings) -> Result<Session> {
        let target = SessionTarget::Default;
        if settings.credentials.is_unconfigured {
            // An archive on a server is made by the first session with a key.
            let in_memory = Settings {
                archive: ArchiveLocation::Memory,
                ..settings.clone()
            };
            let archive = Archive::open(&in_memory.archive);
            let mut session = self.open_session(&in_memory, target, Mailbox::Sent, archive)?;
            session.info.first_screen = FirstScreen::SetUp(self.build_setup_info(settings));
            return Ok(session);
        }
        match self.open_archive(settings, &target, Mailbox::Sent, OnMismatch::Ask)? {
            OpenedSession::Opened(session) => Ok(*session),
            OpenedSession::NeedsConfirm(question) => {
                let no_archive = Error::new(ErrorKind::Archive, "choose an archive first");
                let mut settings = settings.clone();
                settings.archive = ArchiveLocation::Memory;
                settings.credentials.key = Err(no_archive);
                let archive = Archive::open(&ArchiveLocation::Memory);
                let mut session = self.open_session(&settings, target, Mailbox::Sent, archive)?;
                session.info.first_screen = FirstScreen::Confirm(question);
                Ok(session)
            }
        }
    }

    /// Opens the archive of `settings`, and replaces one of an older version.
    fn open_or_replace(
        settings: &Settings,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenResult> {
        // Only an error can be that of an older version.
        let error = match Archive::open_for(settings, mailbox, on_mismatch) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let replaced = Archive::replace_outdated(settings, OnOutdated::ReplaceIfFetched)?;
        if replaced.is_empty() {
            return Err(error);
        }
        Ok(match Archive::open_for(settings, mailbox, on_mismatch)? {
            OpenResult::Opened(archive) => OpenResult::Opened(archive.with_replaced(replaced)),
            mismatch @ OpenResult::Mismatch(_) => mismatch,
        })
    }

    /// Opens the archive of `settings`, or returns a question if its key differs.
    fn open_archive(
        &self,
        settings: &Settings,
        target: &SessionTarget,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenedSession> {
        let opened = match &settings.archive {
            ArchiveLocation::Disk(_) | ArchiveLocation::Server(_) => {
                Self::open_or_replace(settings, mailbox, on_mismatch)
            }
            ArchiveLocation::Memory => {
                // A new key may be of another team.
                let key = settings.credentials.key.as_ref();
                let key = key.map_or_else(|_| String::new(), ApiKey::fingerprint);
                let service = &settings.credentials.base_url;
                let profile = format!("{} {service} {key}", settings.profile);
                let archive = self.memory.open_archive(profile, mailbox);
                archive.map(OpenResult::Opened)
            }
        };
        let archive = match opened {
            Ok(OpenResult::Opened(archive)) => Ok(archive),
            Ok(OpenResult::Mismatch(mismatch)) if settings.is_named_archive() => {
                let mut settings = settings.clone();
                mismatch.drop_key(&mut settings);
                // The archive is there; for requests, the key is missing.
                let flags = settings.command_flags();
                settings.credentials.key = settings.credentials.key.map_err(|error| Error {
                    kind: ErrorKind::KeyMissing,
                    hint: error.hint.replace("sentbox ", &format!("sentbox {flags}")),
                    ..error
                });
                return self.open_archive(&settings, target, mailbox, on_mismatch);
            }
            Ok(OpenResult::Mismatch(mismatch)) => {
                let question = self.build_confirm(&mismatch, target);
                return Ok(OpenedSession::NeedsConfirm(question));
            }
            // The session opens in memory, but an answer that cannot be carried out is an error.
            Err(error) if on_mismatch == OnMismatch::Ask => Err(error),
            Err(error) => return Err(error),
        };
        let target = match settings.used_profile() {
            Some(name) => SessionTarget::Profile(name.to_owned()),
            None => SessionTarget::Default,
        };
        let session = self.open_session(settings, target, mailbox, archive)?;
        Ok(OpenedSession::Opened(Box::new(session)))
    }

    /// The question before an archive is opened that belongs to another key.
    fn build_confirm(&self, mismatch: &IdentityMismatch, target: &SessionTarget) -> ConfirmDialog {
        let message = mismatch.message();
        let path = self.display_path(&mismatch.path);
        let question = if mismatch.is_of_same_key() {
            "Is it the same service at another address? The mail of two services should not be mixed."
        } else {
            "Is the new key of the same team? The mail of two teams should not be mixed."
        };
        ConfirmDialog {
            target: target.clone(),
            lines: vec![
                format!("{}{}.", message[..1].to_uppercase(), &message[1..]),
                question.to_owned(),
                format!("The archive is {path}. It is kept either way."),
            ],
        }
    }

    fn open_session(
        &self,
        settings: &Settings,
        target: SessionTarget,
        mailbox: Mailbox,
        archive: Result<Archive>,
    ) -> Result<Session> {
        let (archive, storage, notice) = self.open_storage(settings, mailbox, archive)?;
        let client = Client::new(
            ClientConfig::new(settings, mailbox),
            RetryPolicy::TUI,
            self.clock.clone(),
        );
        let engine = settings
            .credentials
            .key
            .clone()
            .map(|_| Engine::new(client, archive.clone(), self.clock.clone()));
        // Beside the archive, and only if that is stored: filters name the same people.
        let is_stored = matches!(storage, StorageMode::InFile(_) | StorageMode::OnServer(_));
        let folder = settings.state_folder().filter(|_| is_stored);
        if let (Some(folder), ArchiveLocation::Server(_)) = (&folder, &settings.archive) {
            // Without it nothing is remembered, which prevents no start.
            let _ = create_private_dir(folder);
        }
        let state_files = StateFiles::new(folder, mailbox);
        // An unreadable file does not prevent the start.
        let saved = state_files.load((self.clock)()).unwrap_or_default();
        let info = SessionInfo {
            profile: sanitize::sanitize_line(settings.title()).into_owned(),
            command_flags: settings.command_flags(),
            target,
            mailbox,
            is_first: mailbox == Mailbox::Sent && saved.seen_until.is_none() && is_stored,
            storage,
            refresh: REFRESH_INTERVAL,
            backfill: settings.backfill,
            notice,
            keymap: self.keymap.clone(),
            saved_views: settings.views.clone(),
            saved,
            base_url: settings.credentials.base_url.to_string(),
            key_variable: settings.credentials.key_variable().map(str::to_owned),
            secrets: settings.secrets,
            ..self.desktop_info()
        };
        Ok(Session {
            state_files,
            view_store: ViewStore::new(self.env.clone()),
            ..Session::new(info, archive, engine)
        })
    }

    /// The archive, where it is stored, and a notice.
    /// If its file cannot be used, the mail is in memory instead, and the file stays as it is.
    fn open_storage(
        &self,
        settings: &Settings,
        mailbox: Mailbox,
        archive: Result<Archive>,
    ) -> Result<(Archive, StorageMode, Option<String>)> {
        let archive = archive
            .and_then(|archive| archive.with_retention_of(settings))
            .and_then(|archive| {
                // A damaged file may open, and fail at the first read.
                archive.window(&WindowAnchor::Top, 1)?;
                Ok(archive)
            });
        Ok(match (archive, &settings.archive) {
            (Ok(archive), location @ (ArchiveLocation::Disk(_) | ArchiveLocation::Server(_))) => {
                if let Some(mut error) = archive.read_only_reason() {
                    let notice = error.message.clone();
                    if let ArchiveLocation::Disk(path) = location {
                        let path = self.display_path(&mailbox.archive_path(path));
                        error.hint = format!("{}; the file is {path}", error.hint);
                    }
                    return Ok((archive, StorageMode::ReadOnly(error), Some(notice)));
                }
                let replaced = archive.replaced().iter();
                let replaced: Vec<String> = replaced
                    .map(|replaced| replaced.message(|path| self.display_path(path)))
                    .collect();
                let notice = (!replaced.is_empty()).then(|| replaced.join("; "));
                let now = (self.clock)();
                let notice = notice.or_else(|| archive.purge_expired_of(settings, mailbox, now));
                let storage = match location {
                    ArchiveLocation::Disk(path) => {
                        StorageMode::InFile(self.display_path(&mailbox.archive_path(path)))
                    }
                    location => StorageMode::OnServer(location.to_string()),
                };
                (archive, storage, notice)
            }
            (Ok(archive), ArchiveLocation::Memory) => {
                let notice = (settings.archive_origin == ArchiveOrigin::NoHome)
                    .then(|| "there is no home directory, so nothing is kept".to_owned());
                (archive, StorageMode::InMemory, notice)
            }
            // What the organisation has there must not be fetched by each user again.
            (Err(error), ArchiveLocation::Server(_)) => return Err(error),
            (Err(error), _) => {
                let notice = format!(
                    "{}, so nothing is kept this time: {}",
                    error.message, error.hint
                );
                let memory =
                    Archive::open(&ArchiveLocation::Memory)?.with_retention_of(settings)?;
                (memory, StorageMode::Unavailable(error), Some(notice))
            }
        })
    }

    /// The settings of a target.
    /// Another profile than the first one ignores the address of the command line.
    pub(super) fn resolve_settings(&self, target: &SessionTarget) -> Result<Settings> {
        let mut flags = self.flags.clone();
        flags.prompting = Prompting::Forbidden;
        if let SessionTarget::Profile(name) = target {
            let is_selected = |settings: Settings| settings.profile == *name;
            // That address is for the profile that the command line selects.
            if flags.base_url.is_some()
                && !Settings::resolve(&flags, &self.env).is_ok_and(is_selected)
            {
                flags.base_url = None;
            }
            flags.profile = Some(name.clone());
        }
        let mut settings = Settings::resolve(&flags, &self.env)?;
        if let ArchiveOrigin::Flag { with_profile } = &mut settings.archive_origin {
            *with_profile = self.flags.profile.is_some();
        }
        Ok(settings)
    }

    fn open_target(
        &self,
        target: &SessionTarget,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenedSession> {
        let settings = self.resolve_settings(target)?;
        settings.credentials.key.as_ref().map_err(Clone::clone)?;
        self.open_archive(&settings, target, mailbox, on_mismatch)
    }

    /// Stores the key, and opens its profile.
    fn log_in(&self, base_url: &str, key: &SecretInput) -> Result<OpenedSession> {
        let key = parse_key(key)?;
        let mut profiles = Profiles::load(&self.env)?;
        let key_target = profiles.key_target(&self.flags_with_base_url(base_url), &self.env)?;
        profiles.store_key(&key_target, &key)?;
        let target = SessionTarget::Profile(key_target.profile.clone());
        let mut opened = self.open_target(&target, Mailbox::Sent, OnMismatch::Ask)?;
        if let OpenedSession::Opened(session) = &mut opened {
            let path = self.display_path(&key_target.key_file);
            let mut notice = format!(
                "the key is stored in {path}; unless it is a mirror's, it may send and delete, too"
            );
            if let Some(more) = session.info.notice.take() {
                notice = format!("{notice}; {more}");
            }
            session.info.notice = Some(notice);
        }
        Ok(opened)
    }

    fn flags_with_base_url(&self, base_url: &str) -> Flags {
        Flags {
            base_url: Some(base_url.to_owned()),
            ..self.flags.clone()
        }
    }

    /// Opens the sample mailbox on an embedded server; nothing is stored.
    pub fn open_demo(&self, mailbox: Mailbox) -> Result<Session> {
        let address = self.serve_demo()?;
        let base_url = format!("http://{address}");
        let config = ClientConfig {
            base_url: BaseUrl::parse(&base_url)?,
            mailbox,
            key: Ok(ApiKey::new(server::DEMO_KEY, "the demo")?),
            ca_file: None,
            rate: Rate::explicit(f64::from(DEMO_RATE)).expect("the rate of the demo is allowed"),
            rate_file: None,
        };
        let archive = self.memory.open_archive("demo".to_owned(), mailbox)?;
        let client = Client::new(config, RetryPolicy::TUI, self.clock.clone());
        let engine = Engine::new(client, archive.clone(), self.clock.clone());
        let engine = engine.with_unlimited_backfill();
        let info = SessionInfo {
            profile: "demo".to_owned(),
            target: SessionTarget::Demo,
            mailbox,
            refresh: DEMO_REFRESH_INTERVAL,
            backfill: HistorySpan::All,
            keymap: self.keymap.clone(),
            saved_views: built_in_views(),
            base_url,
            ..self.desktop_info()
        };
        Ok(Session::new(info, archive, Ok(engine)))
    }

    /// Starts the embedded server, unless it is running; returns its address.
    fn serve_demo(&self) -> Result<SocketAddr> {
        let mut memory = lock(&self.memory.0);
        if let Some((address, _)) = &memory.demo {
            return Ok(*address);
        }
        let listen_error = |error: std::io::Error| {
            let message = format!("the embedded server cannot listen: {error}");
            Error::new(ErrorKind::Io, message)
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(listen_error)?;
        listener.set_nonblocking(true).map_err(listen_error)?;
        let listener = TcpListener::from_std(listener).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let (emails, seed) = self.sample;
        let mailbox = sample::SampleMailbox::new(seed, emails, (self.clock)(), self.clock.clone())
            .with_bounce_reasons();
        let serve = server::serve(
            listener,
            mailbox,
            ServerConfig::demo(DEMO_RATE),
            self.clock.clone(),
            std::future::pending(),
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(serve);
        memory.demo = Some((address, tasks));
        Ok(address)
    }

    /// The settings of the screen and the desktop for every session.
    fn desktop_info(&self) -> SessionInfo {
        SessionInfo {
            clipboard: self.desktop.clipboard.route(&self.env),
            notify: self.desktop.notify.route(&self.env),
            columns: self.desktop.columns.clone(),
            prose_width: self.desktop.prose_width(),
            browser: find_browser(&self.env),
            home: self.env.get("HOME").map(PathBuf::from),
            ..SessionInfo::default()
        }
    }

    /// Checks whether the service accepts this key.
    pub(super) async fn verify_key(&self, base_url: &str, key: &SecretInput) -> Result<()> {
        let key = parse_key(key)?;
        let flags = self.flags_with_base_url(base_url);
        let target = Profiles::load(&self.env)?.key_target(&flags, &self.env)?;
        verify_key(&target, &key, &self.clock).await.map(drop)
    }

    /// Opens a list of a profile or of the sample mailbox.
    ///
    /// A new key opens sent mail. Blocks, and needs a runtime.
    pub(super) fn open(
        &self,
        target: &SessionTarget,
        mailbox: Mailbox,
        on_mismatch: OnMismatch,
    ) -> Result<OpenedSession> {
        match target {
            SessionTarget::Default | SessionTarget::Profile(_) => {
                self.open_target(target, mailbox, on_mismatch)
            }
            SessionTarget::Demo => {
                let session = self.open_demo(mailbox)?;
                Ok(OpenedSession::Opened(Box::new(session)))
            }
            SessionTarget::NewKey { base_url, key } => self.log_in(base_url, key),
        }
    }
}

fn parse_key(key: &SecretInput) -> Result<ApiKey> {
    ApiKey::new(key.expose(), "the screen")
}
