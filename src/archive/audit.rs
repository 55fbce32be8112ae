//! The record of who opened which email, in an archive on a server.

use super::Archive;
use super::storage::error::archive_error;
use crate::error::Result;
use crate::mail::EmailId;

const INSERT: &str = "INSERT INTO audit (person, email_id) VALUES (?1, ?2)";

impl Archive {
    /// Whether it is recorded who opens which email.
    pub(crate) fn is_audited(&self) -> bool {
        self.connections.audited_user().is_some()
    }

    /// Records that an email is opened, if the archive is audited:
    /// by `user`, or else by the user of this process.
    ///
    /// Fails if it cannot be recorded: then the email must not be shown.
    pub(crate) fn record_opened(&self, id: &EmailId, user: Option<&str>) -> Result<()> {
        let Some(own) = self.connections.audited_user() else {
            return Ok(());
        };
        let user = user.unwrap_or(own);
        let recorded = self
            .connections
            .with_reader(|conn| conn.execute_counted(INSERT, [user, id.as_str()]));
        recorded.map(drop).map_err(|error| {
            archive_error(
                format!("the email is not shown, because it cannot be recorded who opens it: {}", error.message),
                "the owner of the schema grants INSERT on the table audit; a standby takes no records",
            )
        })
    }
}
