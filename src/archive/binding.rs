//! The binding of an archive to a key:
//! the first answer of the service decides whose archive it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Archive;
use super::identity::Identity;
use super::listing::{RequestStamp, record_answer};
use super::storage::db::{Connection, Transaction};
use super::storage::error::archive_error;
use crate::error::Result;

/// The key that an archive was opened for.
pub(super) struct Binding {
    identity: Identity,
    /// Whether it has stored an answer to this key since then.
    /// After that, the user decides about another key.
    is_answered: AtomicBool,
}

impl Archive {
    /// Returns the stored identity; `None` if the archive was never opened with a key.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        self.read(read_identity)
    }

    pub(super) fn with_identity(self, identity: Identity) -> Self {
        let binding = Some(Arc::new(Binding {
            identity,
            is_answered: AtomicBool::new(false),
        }));
        Self { binding, ..self }
    }

    /// Records an answer of the service, and runs `change` in the same transaction.
    ///
    /// # Errors
    ///
    /// Those of `change`, or if the archive has an answer to another key: before the first answer,
    /// two processes may have opened it for different keys.
    pub(super) fn write_answer<T>(
        &self,
        request: RequestStamp,
        change: impl FnOnce(&Transaction) -> Result<T>,
    ) -> Result<T> {
        let result = self.write(|tx| {
            self.claim(tx)?;
            record_answer(tx, request)?;
            change(tx)
        })?;
        if let Some(binding) = &self.binding {
            binding.is_answered.store(true, Ordering::Relaxed);
        }
        Ok(result)
    }

    /// Binds the archive again to the key that it was opened for,
    /// if another process has bound it without an answer.
    fn claim(&self, tx: &Transaction) -> Result<()> {
        let Some(binding) = &self.binding else {
            return Ok(());
        };
        if binding.is_answered.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(other) = read_identity(tx)?.filter(|identity| *identity != binding.identity)
        else {
            return Ok(());
        };
        if tx.value("SELECT answered_at IS NULL FROM listing", [])? {
            return bind_in(tx, &binding.identity);
        }
        let (what, name) = other.difference_from(&binding.identity);
        Err(archive_error(
            format!("the archive belongs to another {what} now ({name}), so nothing was stored"),
            &format!(
                "name another archive for this {what}; if both are of one team: sentbox archive adopt"
            ),
        ))
    }

    pub(super) fn bind(&self, identity: &Identity) -> Result<()> {
        self.write(|tx| bind_in(tx, identity))
    }
}

fn bind_in(tx: &Transaction, identity: &Identity) -> Result<()> {
    tx.execute("DELETE FROM identity", [])?;
    tx.execute("UPDATE listing SET is_mirror = NULL", [])?;
    let query = "INSERT INTO identity (service, key_fingerprint) VALUES (?1, ?2)";
    tx.execute(query, [&identity.service, &identity.key_fingerprint])
}

fn read_identity(conn: &Connection) -> Result<Option<Identity>> {
    let query = "SELECT service, key_fingerprint FROM identity";
    conn.optional(query, [], |row| {
        Ok(Identity {
            service: row.get()?,
            key_fingerprint: row.get()?,
        })
    })
}
