//! A query as it is typed on the command line:
//! an impossible value is an error there.

use jiff::Timestamp;

use super::ProfileContext;
use super::output::Output;
use crate::archive::Archive;
use crate::error::{Error, ErrorKind};
use crate::mail::Status;
use crate::query::{
    Diagnostic, InvalidValue, ParseContext, ParsedQuery, Query, SuggestionField,
    SuggestionSource as _, parse,
};

/// A query whose statuses are not compared with those of the archive yet.
pub(crate) struct TypedQuery {
    text: String,
    parsed: ParsedQuery,
}

impl TypedQuery {
    /// Parses the words as one query, with dates relative to `now`.
    ///
    /// # Errors
    ///
    /// If a value is missing, or impossible, such as a date that no calendar has.
    pub(super) fn parse(
        words: &[String],
        now: Timestamp,
        ctx: &ProfileContext<'_>,
    ) -> Result<Self, Error> {
        let context = ParseContext::new(now, ctx.settings.zone.clone());
        Self::parse_in(words, &context.with_mailbox(ctx.mailbox))
    }

    /// Parses the words as one query.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub(crate) fn parse_in(words: &[String], context: &ParseContext) -> Result<Self, Error> {
        let text = words.join(" ");
        let parsed = parse(&text, context);
        let typed = Self { text, parsed };
        let is_wrong = |value| matches!(value, &InvalidValue::Impossible | &InvalidValue::Missing);
        let mut diagnostics = typed.parsed.diagnostics.iter();
        match diagnostics.find(|found| found.value.as_ref().is_some_and(is_wrong)) {
            Some(wrong) => Err(typed.reject(wrong)),
            None => Ok(typed),
        }
    }

    /// Notes what was read as words, and returns the query.
    ///
    /// # Errors
    ///
    /// If a status is neither known, nor in the archive, nor in quotes.
    pub(crate) fn check(self, archive: &Archive, out: &mut Output) -> Result<Query, Error> {
        for diagnostic in &self.parsed.diagnostics {
            match &diagnostic.value {
                Some(InvalidValue::QuotedStatus) => {}
                Some(InvalidValue::UnknownStatus(status)) if has_status(archive, status) => {}
                Some(InvalidValue::UnknownStatus(status)) => {
                    // A shell takes the outer quotes.
                    let hint = format!(
                        "if the service has a status of that name, put it in quotes: 'status:\"{}\"'",
                        status.label()
                    );
                    return Err(self.reject(diagnostic).with_hint(hint));
                }
                _ => out.note(&diagnostic.describe(&self.text)),
            }
        }
        Ok(self.parsed.query)
    }

    fn reject(&self, diagnostic: &Diagnostic) -> Error {
        Error::new(ErrorKind::Usage, diagnostic.describe(&self.text))
            .with_hint("sentbox help query shows what a query may have")
    }
}

/// Whether an email of the archive has, or had, this status.
fn has_status(archive: &Archive, status: &Status) -> bool {
    let label = status.label();
    let known = archive.suggest(SuggestionField::Status, label, usize::MAX);
    known.iter().any(|known| *known.text == *label)
}
