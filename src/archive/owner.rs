//! Whose mail an archive holds: it knows the service and the key that it belongs to, so that the mail
//! of two teams is never mixed unless somebody says that they are one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Archive, Location, is_beyond_use};
use crate::config::Settings;
use crate::failure::{Failure, Kind};

/// The service and the key that an archive belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Where the service is.
    pub service: String,
    /// The key's fingerprint, which gives nothing away.
    pub key: String,
}

/// What somebody has said about an archive that belongs to another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing: whoever opens must ask.
    Nothing,
    /// It holds mail of the same team: go on with it.
    SameTeam,
    /// It does not, or is of no use any more: leave it alone and begin another.
    OtherTeam,
}

/// An archive that stands where mail is to go, and belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// The name of the profile.
    pub profile: String,
    /// Its file.
    pub path: PathBuf,
    /// Whose it is, as far as it says so.
    pub owner: Option<Owner>,
    /// How many emails it holds.
    pub emails: u64,
}

/// What came of opening an archive for somebody.
#[derive(Debug)]
pub enum Opened {
    /// It is theirs.
    Ours(Archive),
    /// It may not be.
    Strange(Stranger),
}

impl Stranger {
    /// The archive that must be asked about before that of `settings` is opened: one that another key
    /// of the profile has filled while its own has none yet, or one that has come to its place from
    /// elsewhere. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn before(settings: &Settings) -> Result<Option<Self>, Failure> {
        let (Location::Disk(path), Some(ours)) = (&settings.archive, owner_of(settings)) else {
            return Ok(None);
        };
        if !path.exists() {
            return Self::former(settings, path);
        }
        let archive = Archive::open(&settings.archive)?;
        archive
            .owner()?
            .filter(|owner| *owner != ours)
            .map(|owner| Self::of(settings, path, &archive, Some(owner)))
            .transpose()
    }

    fn former(settings: &Settings, path: &Path) -> Result<Option<Self>, Failure> {
        let Some(former) = former(settings, path) else {
            return Ok(None);
        };
        // One that cannot be opened is not gone on with; it stays where it is.
        let Ok(archive) = Archive::open(&Location::Disk(former.clone())) else {
            return Ok(None);
        };
        let owner = archive.owner()?;
        Self::of(settings, &former, &archive, owner).map(Some)
    }

    fn of(
        settings: &Settings,
        path: &Path,
        archive: &Archive,
        owner: Option<Owner>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            profile: settings.profile.clone(),
            path: path.to_owned(),
            owner,
            emails: archive.count()?,
        })
    }

    /// What there is to know, a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self {
            profile,
            path: _,
            owner,
            emails,
        } = self;
        let of = owner.as_ref().map_or_else(String::new, |owner| {
            format!(" (fingerprint {}, for {})", owner.key, owner.service)
        });
        let mails = if *emails == 1 { "email" } else { "emails" };
        format!(
            "profile {profile} has an archive of {emails} {mails} that belongs to another key{of}"
        )
    }
}

impl From<Stranger> for Failure {
    fn from(stranger: Stranger) -> Self {
        Self::new(Kind::Archive, stranger.sentence())
            .hint("if the key is of the same team, go on with it: sentbox archive adopt; if not, leave it alone: sentbox archive begin")
    }
}

impl Archive {
    /// Opens the archive that `settings` mean, for their service and key. One that belongs to another
    /// is not opened unless `said` tells what is to become of it.
    ///
    /// # Errors
    ///
    /// If the file cannot be used.
    pub fn open_for(settings: &Settings, said: Said) -> Result<Opened, Failure> {
        let (Location::Disk(path), Some(ours)) = (&settings.archive, owner_of(settings)) else {
            return Self::open(&settings.archive).map(Opened::Ours);
        };
        if said == Said::OtherTeam && path.exists() && is_beyond_use(path) {
            set_aside(path)?;
        }
        if !path.exists()
            && let Some(stranger) = Stranger::former(settings, path)?
        {
            match said {
                Said::Nothing => return Ok(Opened::Strange(stranger)),
                Said::SameTeam => take_over(&stranger.path, path)?,
                Said::OtherTeam => {}
            }
            let archive = Self::open(&settings.archive)?;
            archive.belong_to(&ours)?;
            return Ok(Opened::Ours(archive));
        }
        let mut archive = Self::open(&settings.archive)?;
        match archive.owner()? {
            Some(owner) if owner == ours => return Ok(Opened::Ours(archive)),
            None if archive.read_only().is_some() => return Ok(Opened::Ours(archive)),
            None => {}
            Some(owner) => match said {
                Said::Nothing => {
                    return Stranger::of(settings, path, &archive, Some(owner))
                        .map(Opened::Strange);
                }
                Said::SameTeam => {}
                Said::OtherTeam => {
                    drop(archive);
                    set_aside(path)?;
                    archive = Self::open(&settings.archive)?;
                }
            },
        }
        archive.belong_to(&ours)?;
        Ok(Opened::Ours(archive))
    }

    /// Whose it is; nobody's if it was never opened for anybody.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn owner(&self) -> Result<Option<Owner>, Failure> {
        self.connections.read(read)
    }

    fn belong_to(&self, owner: &Owner) -> Result<(), Failure> {
        self.connections.write(|change| {
            change.execute("DELETE FROM owner", [])?;
            change.execute(
                "INSERT INTO owner (service, key) VALUES (?1, ?2)",
                params![owner.service, owner.key],
            )?;
            Ok(())
        })
    }
}

fn read(connection: &Connection) -> Result<Option<Owner>, Failure> {
    let owner = |row: &rusqlite::Row| {
        Ok(Owner {
            service: row.get(0)?,
            key: row.get(1)?,
        })
    };
    Ok(connection
        .query_row("SELECT service, key FROM owner", [], owner)
        .optional()?)
}

fn owner_of(settings: &Settings) -> Option<Owner> {
    let key = settings.key.as_ref().ok()?;
    Some(Owner {
        service: settings.base_url.to_string(),
        key: key.fingerprint(),
    })
}

/// The archive that was used last of those that other keys of this profile have filled at the same
/// service. Keys of the environment come and go, and each has its own.
fn former(settings: &Settings, path: &Path) -> Option<PathBuf> {
    let file = path.file_name()?;
    let folder = path.parent()?.parent().filter(|_| settings.of_profile)?;
    let start = format!("{}-", settings.base_url.directory_name());
    let is_fingerprint =
        |rest: &str| rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        entry
            .file_name()
            .to_str()?
            .strip_prefix(&start)
            .filter(|rest| is_fingerprint(rest))?;
        let archive = entry.path().join(file);
        let used = fs::metadata(&archive)
            .ok()?
            .modified()
            .unwrap_or(SystemTime::UNIX_EPOCH);
        Some((used, archive))
    });
    found.max().map(|(_, archive)| archive)
}

/// Moves the archive with what lies beside it. Its former place must not be in use: the log beside a
/// file that is open would be looked for under the old name.
fn take_over(from: &Path, to: &Path) -> Result<(), Failure> {
    let archive = Archive::open(&Location::Disk(from.to_owned()))?;
    if !archive.lease().is_free() {
        let sentence = format!("another sentbox is using the archive {}", from.display());
        return Err(Failure::new(Kind::Archive, sentence).hint("end it first"));
    }
    drop(archive);
    let folders = from
        .parent()
        .zip(to.parent())
        .ok_or_else(|| Failure::new(Kind::Archive, "the archive has no folder of its own"))?;
    renamed(folders.0, folders.1)
}

/// Moves the archive to a place beside the one where it stands, under a name that nothing has yet.
fn set_aside(path: &Path) -> Result<(), Failure> {
    let folder = path
        .parent()
        .ok_or_else(|| Failure::new(Kind::Archive, "the archive has no folder of its own"))?;
    let mut aside = (1..=u32::MAX).map(|n| folder.with_added_extension(format!("aside{n}")));
    renamed(
        folder,
        &aside
            .find(|aside| !aside.exists())
            .expect("there are more numbers than folders"),
    )
}

fn renamed(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| {
        Failure::new(
            Kind::Archive,
            format!(
                "{} cannot be moved to {}: {error}",
                from.display(),
                to.display()
            ),
        )
        .hint("check the owner and the mode of the folder")
    })
}
