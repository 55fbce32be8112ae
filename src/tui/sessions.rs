//! `House`: the doors that there really are: the profiles of the configuration, and the sample mailbox.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::session::{KeyCheck, OpenedSession, Session, SessionOpener};
use crate::api::{Client, ClientConfig, RetryPolicy, verify_key};
use crate::app::start::{ConfirmAnswer, ConfirmDialog, SetupInfo};
use crate::app::{Keymap, ProfileChoice, SessionTarget, StartScreen, StorageMode};
use crate::archive::{
    Archive, ArchiveLocation, IdentityMismatch, OnMismatch, OpenResult, WindowAnchor,
};
use crate::config::clock::Clock;
use crate::config::{
    ApiKey, BaseUrl, Env, Flags, HistorySpan, Paths, Profiles, Prompting, Rate, SecretInput,
    Settings, ViewStore, built_in_views,
};
use crate::error::{Error, ErrorKind};
use crate::server::{self, ServerConfig, sample};
use crate::sync::Engine;
use crate::text::sanitize;

/// How often the service is asked for what is new: one request, which also re-reads the statuses of
/// the newest hundred emails.
const REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// The same for the sample mailbox, which is not shared with anybody.
const DEMO_REFRESH_INTERVAL: Duration = Duration::from_secs(4);
/// Requests a second that the embedded server answers.
const DEMO_RATE: u32 = 100;

/// Everything that leads to a session.
#[derive(Clone)]
pub struct SessionFactory {
    /// What was said on the command line.
    pub flags: Flags,
    /// The environment.
    pub env: Env,
    /// Tells the time.
    pub clock: Clock,
    /// What each key means.
    pub keys: Arc<Keymap>,
    /// How many emails the sample mailbox begins with, and which they are.
    pub sample: (u32, u64),
}

impl SessionFactory {
    /// The session that the settings mean, with which the program starts: one without a key too, or
    /// with a question before it. Blocks, and belongs where tasks can be started.
    ///
    /// # Errors
    ///
    /// If not even memory can be had for an archive.
    pub fn open_initial(&self, settings: &Settings) -> Result<Session<Client>, Error> {
        if settings.credentials.is_unconfigured {
            let hall = StartScreen::setup(self.build_setup_info(settings));
            return Ok(Session {
                start_screen: Some(hall),
                ..self.open_session(
                    settings,
                    SessionTarget::Default,
                    Archive::open(&settings.archive),
                )?
            });
        }
        let opened = match Archive::open_for(settings, OnMismatch::Ask) {
            Ok(OpenResult::Mismatch(stranger)) => {
                let no_service = Error::new(
                    ErrorKind::Archive,
                    "it is not known yet where the mail goes",
                );
                let mut nowhere = settings.clone();
                nowhere.archive = ArchiveLocation::Memory;
                nowhere.credentials.key = Err(no_service);
                let hall = Some(StartScreen::confirm(
                    self.build_confirm(&stranger, &SessionTarget::Default),
                ));
                return Ok(Session {
                    start_screen: hall,
                    ..self.open_session(
                        &nowhere,
                        SessionTarget::Default,
                        Archive::open(&ArchiveLocation::Memory),
                    )?
                });
            }
            Ok(OpenResult::Opened(archive)) => Ok(archive),
            Err(failure) => Err(failure),
        };
        self.open_session(settings, target_of_settings(settings), opened)
    }

    /// What must be known before an archive is opened whose mail belongs to another key.
    fn build_confirm(&self, stranger: &IdentityMismatch, target: &SessionTarget) -> ConfirmDialog {
        let message = stranger.message();
        let about = vec![
            format!("{}{}.", message[..1].to_uppercase(), &message[1..]),
            "Is the new key of the same team? The mail of two teams should not be mixed."
                .to_owned(),
            format!(
                "The archive is {}. It stays, whatever you say.",
                self.display_path(&stranger.path)
            ),
        ];
        let answers = vec![
            (
                ConfirmAnswer::SameTeam,
                "Same team: go on with it".to_owned(),
            ),
            (
                ConfirmAnswer::OtherTeam,
                "Another team: begin a new one".to_owned(),
            ),
        ];
        ConfirmDialog {
            target: target.clone(),
            lines: about,
            answers,
        }
    }

    /// A session on the archive that was `opened`, or in memory if its file cannot be used: whatever
    /// ails the file, the mail can be looked at, and the file stays as it is.
    fn open_session(
        &self,
        settings: &Settings,
        target: SessionTarget,
        opened: Result<Archive, Error>,
    ) -> Result<Session<Client>, Error> {
        let now = (self.clock)();
        let opened = opened
            .and_then(|archive| archive.with_retention(settings.retention, now))
            .and_then(|archive| {
                // What is damaged may open all the same; then the first look at it fails.
                archive.window(&WindowAnchor::Newest, 1)?;
                Ok(archive)
            });
        let (archive, kept, notice) = match (opened, &settings.archive) {
            (Ok(archive), ArchiveLocation::Disk(path)) => {
                if let Some(failure) = archive.read_only_reason() {
                    let notice = Some(failure.message.clone());
                    return Ok(self.build_session(
                        archive,
                        StorageMode::ReadOnly(failure),
                        notice,
                        settings,
                        target,
                    ));
                }
                let aside = archive
                    .outdated_backup()
                    .map(|path| self.display_path(path));
                let notice = aside.map(|path| {
                    format!(
                        "the archive of an older version is now {path}; its mail is fetched again"
                    )
                });
                (
                    archive,
                    StorageMode::InFile(self.display_path(path)),
                    notice,
                )
            }
            (Ok(archive), ArchiveLocation::Memory) => (
                archive,
                StorageMode::InMemory,
                settings
                    .no_home
                    .then(|| "there is no home directory, so nothing is kept".to_owned()),
            ),
            (Err(failure), _) => {
                let notice = format!(
                    "{}, so nothing is kept this time: {}",
                    failure.message, failure.hint
                );
                (
                    Archive::open(&ArchiveLocation::Memory)?
                        .with_retention(settings.retention, now)?,
                    StorageMode::Unavailable(failure),
                    Some(notice),
                )
            }
        };
        Ok(self.build_session(archive, kept, notice, settings, target))
    }

    fn build_session(
        &self,
        archive: Archive,
        kept: StorageMode,
        notice: Option<String>,
        settings: &Settings,
        target: SessionTarget,
    ) -> Session<Client> {
        let client = Client::new(
            ClientConfig::from(settings),
            RetryPolicy::TUI,
            self.clock.clone(),
        );
        let engine = settings
            .credentials
            .key
            .clone()
            .map(|_| Engine::new(client, archive.clone(), self.clock.clone()));
        // Beside the archive, and only where that is kept: what is looked for names the same people.
        let history = match (&settings.archive, &kept) {
            (ArchiveLocation::Disk(path), StorageMode::InFile(_)) => {
                Some(path.with_file_name("history"))
            }
            _ => None,
        };
        Session {
            profile: settings.profile.clone(),
            target,
            archive,
            storage: kept,
            engine,
            refresh: REFRESH_INTERVAL,
            backfill: settings.backfill,
            notice,
            keys: self.keys.clone(),
            query: String::new(),
            start_screen: None,
            history,
            views: settings.views.clone(),
            view_file: ViewStore::new(self.env.clone()),
            background_tasks: JoinSet::new(),
        }
    }

    /// Settles a door. A profile that is chosen by name owes nothing to the address that was named for another.
    fn resolve_settings(&self, target: &SessionTarget) -> Result<Settings, Error> {
        let flags = match target {
            SessionTarget::Profile(name) => Flags {
                profile: Some(name.clone()),
                base_url: None,
                ..self.flags.clone()
            },
            SessionTarget::Default | SessionTarget::Demo | SessionTarget::NewKey { .. } => {
                self.flags.clone()
            }
        };
        Settings::resolve(
            &Flags {
                prompting: Prompting::Forbidden,
                ..flags
            },
            &self.env,
        )
    }

    fn open_target(
        &self,
        target: &SessionTarget,
        answer: ConfirmAnswer,
    ) -> Result<OpenedSession<Client>, Error> {
        let settings = self.resolve_settings(target)?;
        settings.credentials.key.as_ref().map_err(Clone::clone)?;
        let said = match answer {
            ConfirmAnswer::None => OnMismatch::Ask,
            ConfirmAnswer::SameTeam => OnMismatch::Adopt,
            ConfirmAnswer::OtherTeam => OnMismatch::BackUp,
        };
        let opened = match Archive::open_for(&settings, said) {
            Ok(OpenResult::Mismatch(stranger)) => {
                return Ok(OpenedSession::NeedsConfirm(
                    self.build_confirm(&stranger, target),
                ));
            }
            Ok(OpenResult::Opened(archive)) => Ok(archive),
            // What cannot be done as it was said is not done in memory instead.
            Err(failure) if said != OnMismatch::Ask => return Err(failure),
            Err(failure) => Err(failure),
        };
        Ok(OpenedSession::Ready(Box::new(self.open_session(
            &settings,
            target_of_settings(&settings),
            opened,
        )?)))
    }

    /// Stores the key, and opens its profile.
    fn log_in(&self, base_url: &str, key: &SecretInput) -> Result<OpenedSession<Client>, Error> {
        let key = parse_key(key)?;
        let mut profiles = Profiles::load(&self.env)?;
        let place = profiles.key_target(&self.flags_with_base_url(base_url), &self.env)?;
        profiles.store_key(&place, &key)?;
        let entry = self.open_target(
            &SessionTarget::Profile(place.profile.clone()),
            ConfirmAnswer::None,
        )?;
        if let OpenedSession::Ready(mut session) = entry {
            let stored = format!(
                "the key may read, send and delete; it is stored in {}",
                self.display_path(&place.key_file)
            );
            session.notice = Some(
                session
                    .notice
                    .map_or(stored.clone(), |more| format!("{stored}; {more}")),
            );
            return Ok(OpenedSession::Ready(session));
        }
        Ok(entry)
    }

    fn flags_with_base_url(&self, base_url: &str) -> Flags {
        Flags {
            base_url: Some(base_url.to_owned()),
            ..self.flags.clone()
        }
    }

    /// The sample mailbox behind a server of its own; nothing is kept.
    ///
    /// # Errors
    ///
    /// If the server cannot listen.
    pub fn open_demo(&self) -> Result<Session<Client>, Error> {
        let failed = |error: std::io::Error| {
            Error::new(
                ErrorKind::Io,
                format!("the embedded server cannot listen: {error}"),
            )
        };
        let bound = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        bound.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(bound).map_err(failed)?;
        let base_url = BaseUrl::parse(&format!(
            "http://{}",
            listener.local_addr().map_err(failed)?
        ))?;
        let (emails, seed) = self.sample;
        let mailbox = sample::SampleMailbox::new(seed, emails, (self.clock)(), self.clock.clone());
        let served = server::serve(
            listener,
            mailbox,
            ServerConfig::demo(DEMO_RATE),
            self.clock.clone(),
            std::future::pending(),
        );
        let mut beside = JoinSet::new();
        // A server that fails is noticed as one that does not answer.
        beside.spawn(async move { drop(served.await) });
        let rate =
            Rate::explicit(f64::from(DEMO_RATE)).expect("the demo's rate is one that is allowed");
        let access = ClientConfig {
            base_url,
            key: Ok(ApiKey::new(server::DEMO_KEY, "the demo")?),
            ca_file: None,
            rate,
            rate_file: None,
        };
        let archive = Archive::open(&ArchiveLocation::Memory)?;
        let client = Client::new(access, RetryPolicy::TUI, self.clock.clone());
        Ok(Session {
            profile: "demo".to_owned(),
            target: SessionTarget::Demo,
            engine: Ok(Engine::new(client, archive.clone(), self.clock.clone())),
            archive,
            storage: StorageMode::InMemory,
            refresh: DEMO_REFRESH_INTERVAL,
            backfill: HistorySpan::Off,
            notice: None,
            keys: self.keys.clone(),
            query: String::new(),
            start_screen: None,
            history: None,
            views: built_in_views(),
            view_file: ViewStore::default(),
            background_tasks: beside,
        })
    }

    /// What the set-up screen has to say.
    fn build_setup_info(&self, settings: &Settings) -> SetupInfo {
        let place = Profiles::load(&self.env).and_then(|profiles| {
            let place = profiles.key_target(&self.flags, &self.env)?;
            let in_memory = self.flags.in_memory
                || profiles
                    .entries()
                    .iter()
                    .any(|listed| listed.name == settings.profile && listed.in_memory);
            let mail = match &self.archive_dir(&settings.profile) {
                Some(folder) if !in_memory => format!(
                    "{}, what was listed and read, for you alone",
                    self.display_path(folder)
                ),
                _ => "in memory: nothing of it is kept".to_owned(),
            };
            Ok(vec![
                ("mail", mail),
                (
                    "key",
                    format!("{}, for you alone", self.display_path(&place.key_file)),
                ),
                (
                    "profile",
                    format!(
                        "{}, in {}",
                        place.profile,
                        self.display_path(&profiles.path)
                    ),
                ),
            ])
        });
        let otherwise = format!(
            "To have the key from a password store, leave, run sentbox config edit, and say in [profiles.{}]: \
             api_key_command = \"pass show sentbox\"",
            settings.profile
        );
        // Whoever has profiles, but none that is meant if none is named, need not put in a key again.
        let listed = Profiles::load(&self.env)
            .map(|profiles| profiles.entries())
            .unwrap_or_default();
        let with_key = listed
            .into_iter()
            .filter(|listed| !listed.key_source.is_empty() && listed.name != settings.profile);
        let profiles = with_key
            .map(|listed| (listed.name, listed.base_url))
            .collect();
        SetupInfo {
            base_url: settings.credentials.base_url.to_string(),
            storage: place,
            profiles,
            key_command_hint: otherwise,
        }
    }

    fn archive_dir(&self, profile: &str) -> Option<std::path::PathBuf> {
        Paths::from_env(&self.env).profile_data_dir(profile)
    }

    /// What a profile has kept, by the size of its files: the archives themselves stay shut.
    fn describe_storage(&self, profile: &str, in_memory: bool) -> String {
        if in_memory || self.flags.in_memory {
            return "nothing is kept".to_owned();
        }
        let bytes = self
            .archive_dir(profile)
            .map_or(0, |folder| dir_size(&folder));
        match bytes {
            0 => "nothing kept".to_owned(),
            1..1_000_000 => "less than 1 MB kept".to_owned(),
            _ => format!("{} MB kept", bytes / 1_000_000),
        }
    }

    /// A path as people write it, below their home directory.
    fn display_path(&self, path: &Path) -> String {
        self.abbreviate_home(&path.display().to_string())
    }

    /// The same for paths within a text.
    fn abbreviate_home(&self, text: &str) -> String {
        let text = sanitize::sanitize_line(text);
        let home = self
            .env
            .get("HOME")
            .filter(|home| home.len() > 1)
            .map(|home| format!("{}/", home.trim_end_matches('/')));
        home.map_or_else(|| text.to_string(), |home| text.replace(&home, "~/"))
    }
}

/// The same door, however it was named: a profile of the file, or what the environment says.
fn target_of_settings(settings: &Settings) -> SessionTarget {
    if settings.credentials.is_from_profile {
        SessionTarget::Profile(settings.profile.clone())
    } else {
        SessionTarget::Default
    }
}

/// The key as it was put in.
fn parse_key(key: &SecretInput) -> Result<ApiKey, Error> {
    ApiKey::new(key.expose(), "the screen")
}

/// Bytes of the files in a folder and below; what cannot be read counts nothing.
fn dir_size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => dir_size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

impl SessionOpener<Client> for SessionFactory {
    fn list_profiles(&self) -> Result<Vec<ProfileChoice>, Error> {
        let profiles = Profiles::load(&self.env)?;
        let mut choices: Vec<ProfileChoice> = Vec::new();
        if let Some(variable) =
            Profiles::overriding_variable(&self.env).filter(|_| self.flags.profile.is_none())
        {
            let settings = self.resolve_settings(&SessionTarget::Default)?;
            choices.push(ProfileChoice {
                target: SessionTarget::Default,
                name: settings.profile.clone(),
                base_url: settings.credentials.base_url.to_string(),
                key_source: format!("key from {variable}"),
                storage: self.describe_storage(&settings.profile, settings.in_memory),
            });
        }
        choices.extend(profiles.entries().into_iter().map(|listed| ProfileChoice {
            target: SessionTarget::Profile(listed.name.clone()),
            storage: self.describe_storage(&listed.name, listed.in_memory),
            base_url: listed.base_url,
            key_source: if listed.key_source.is_empty() {
                "no key".to_owned()
            } else {
                format!("key from {}", self.abbreviate_home(&listed.key_source))
            },
            name: listed.name,
        }));
        let words = ["sample mail", "no key needed", "nothing is kept"].map(str::to_owned);
        let [base_url, key_from, kept] = words;
        choices.push(ProfileChoice {
            target: SessionTarget::Demo,
            name: "demo".to_owned(),
            base_url,
            key_source: key_from,
            storage: kept,
        });
        Ok(choices)
    }

    fn verify_key(&self, base_url: String, key: SecretInput) -> KeyCheck {
        let this = self.clone();
        Box::pin(async move {
            let key = parse_key(&key)?;
            let place = Profiles::load(&this.env)?
                .key_target(&this.flags_with_base_url(&base_url), &this.env)?;
            verify_key(&place, &key, &this.clock).await
        })
    }

    fn open(
        &self,
        target: &SessionTarget,
        answer: ConfirmAnswer,
    ) -> Result<OpenedSession<Client>, Error> {
        match target {
            SessionTarget::Default | SessionTarget::Profile(_) => self.open_target(target, answer),
            SessionTarget::Demo => Ok(OpenedSession::Ready(Box::new(self.open_demo()?))),
            SessionTarget::NewKey { base_url, key } => self.log_in(base_url, key),
        }
    }
}
