//! The id of an email as it is typed: whole, its beginning, or a message id.

use crate::archive::{Archive, CancellationToken};
use crate::cli::output::{CommandExit, Output};
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;
use crate::query::{Field, Node, Query, SearchText, SortOrder, Term};
use crate::text::format::shell_word;

pub(in crate::cli) struct TypedId {
    pub(in crate::cli) id: EmailId,
    found: Found,
}

/// What the archive has of an id that was typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// An email, or nothing that says more than the service.
    Known,
    Purged,
    /// It is not whole, and no email has an id, or message id, that begins so.
    NoSuchStart,
}

impl TypedId {
    /// An id to request as it is.
    pub(super) fn known(id: &EmailId) -> Self {
        Self {
            id: id.clone(),
            found: Found::Known,
        }
    }

    /// Returns the id that was typed, or that of the one email in the archive whose id
    /// or message id begins with it.
    pub(in crate::cli) fn find(
        typed: &EmailId,
        archive: Option<&Archive>,
        out: &mut Output,
    ) -> Result<Self, CommandExit> {
        if typed.as_str().is_empty() {
            let error = Error::new(ErrorKind::Usage, "the id of an email is empty");
            return Err(error
                .with_hint("sentbox search --columns id,to,subject QUERY lists ids")
                .into());
        }
        let (Some(archive), Some(start)) = (archive, SearchText::new(typed.as_str())) else {
            return Ok(Self::known(typed));
        };
        if archive.row(typed)?.is_some() {
            return Ok(Self::known(typed));
        }
        let field = if is_address(typed) {
            Field::MessageId
        } else {
            Field::Id
        };
        let query = Query {
            filter: Node::Term(Term::Text(field, start)),
            sort: SortOrder::Newest,
        };
        let mut found = Vec::new();
        archive.for_each_match(&query, &CancellationToken::default(), |row| {
            found.push(row.summary.id);
            found.len() < 2
        })?;
        match found.as_slice() {
            [] => {
                let whole = query.whole_id();
                let found = if archive.is_purged(whole.as_ref().unwrap_or(typed))? {
                    Found::Purged
                } else if whole.is_some() {
                    Found::Known
                } else {
                    Found::NoSuchStart
                };
                let id = typed.clone();
                Ok(Self { id, found })
            }
            [one] => {
                out.note(&format!("this is {}", one.to_safe_text()));
                Ok(Self::known(one))
            }
            _ => Err(
                Error::new(ErrorKind::Usage, "several emails have an id that begins so")
                    .with_hint(format!(
                        "sentbox search --columns id,to,subject {} lists them",
                        shell_word(&query.to_string())
                    ))
                    .into(),
            ),
        }
    }

    /// Adds what the archive has to the error that there is no such email.
    pub(in crate::cli) fn explain(&self, error: Error) -> Error {
        if error.kind != ErrorKind::NotFound || self.found == Found::Known {
            return error;
        }
        if self.found == Found::Purged {
            let message = format!("{}; it was purged from the archive", error.message);
            return Error { message, ..error };
        }
        let (name, hint) = if is_address(&self.id) {
            let query = format!("to:{}", self.id.to_safe_text());
            let query = shell_word(&query);
            let hint = format!(
                "sentbox sync --back all fetches all mail; of an address: sentbox search {query}"
            );
            ("a message id", hint)
        } else {
            let hint = "sentbox search --columns id,to,subject QUERY lists ids";
            ("an id", hint.to_owned())
        };
        let message = format!("no email in the archive has {name} that begins so");
        let status = error.details.as_ref().and_then(|details| details.status);
        let answer = match status {
            // It was not requested.
            None => return Error { message, ..error }.add_hint(&hint),
            Some(422) => format!("to the service it is an {}", error.message),
            Some(_) => "the service has none with this id".to_owned(),
        };
        let message = format!("{message}, and {answer}");
        Error { message, ..error }.with_hint(hint)
    }
}

fn is_address(id: &EmailId) -> bool {
    id.as_str().contains('@')
}
