//! A query as it is typed on the command line:
//! an impossible value is an error there.

use jiff::Timestamp;

use crate::archive::Archive;
use crate::cli::ProfileContext;
use crate::cli::output::Output;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Status;
use crate::query::{
    Diagnostic, InvalidValue, ParseContext, ParsedQuery, Query, SuggestionField,
    SuggestionSource as _, SyntaxRole, SyntaxSpan, parse,
};

/// A query whose statuses are not compared with those of the archive yet.
pub(crate) struct TypedQuery {
    text: String,
    parsed: ParsedQuery,
}

impl TypedQuery {
    /// Parses the words as one query, with dates relative to `now`.
    ///
    /// Fails if a value is missing, even where the next word could be it, or impossible,
    /// such as a date that no calendar has.
    pub(in crate::cli) fn parse(
        words: &[String],
        now: Timestamp,
        ctx: &ProfileContext<'_>,
    ) -> Result<Self> {
        let context = ParseContext::new(now, ctx.settings.zone.clone());
        Self::parse_in(words, &context.with_mailbox(ctx.mailbox))
    }

    /// Parses the words as one query.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub(crate) fn parse_in(words: &[String], context: &ParseContext) -> Result<Self> {
        let text = words.join(" ");
        let parsed = parse(&text, context);
        if let Some(operator) = find_split_operator(words, &text, &parsed) {
            // Alone, its value is missing.
            return Self::parse_in(&[operator.to_owned()], context);
        }
        let typed = Self { text, parsed };
        let is_wrong = |value| matches!(value, &InvalidValue::Impossible | &InvalidValue::Missing);
        let mut diagnostics = typed.parsed.diagnostics.iter();
        match diagnostics.find(|found| found.value.as_ref().is_some_and(is_wrong)) {
            Some(wrong) => Err(typed.reject(wrong)),
            None => Ok(typed),
        }
    }

    /// Returns the query, if no part of it may be meant in another sense.
    pub(in crate::cli) fn clear_query(&self) -> Option<&Query> {
        let is_clear = self.parsed.diagnostics.is_empty();
        is_clear.then_some(&self.parsed.query)
    }

    /// Whether a note says which query its words may mean instead.
    pub(in crate::cli) fn has_other_meaning(&self) -> bool {
        let mut diagnostics = self.parsed.diagnostics.iter();
        diagnostics.any(|diagnostic| diagnostic.meant.is_some())
    }

    /// Notes what was read as words, and returns the query.
    ///
    /// Fails if a status is neither known, nor in the archive, nor in quotes.
    pub(crate) fn check(self, archive: &Archive, out: &mut Output) -> Result<Query> {
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

    /// Returns the query for a command that removes what it finds.
    ///
    /// Fails if a part of it was read as words, though it may be meant as a condition.
    pub(in crate::cli) fn check_for_removal(self) -> Result<Query> {
        let Some(unclear) = self.parsed.diagnostics.first() else {
            return Ok(self.parsed.query);
        };
        let message = format!(
            "this query is not clear, so nothing was removed: {}",
            unclear.describe(&self.text)
        );
        Err(Error::new(ErrorKind::Usage, message)
            .with_hint("sentbox search shows what a query finds"))
    }

    fn reject(&self, diagnostic: &Diagnostic) -> Error {
        Error::new(ErrorKind::Usage, diagnostic.describe(&self.text))
            .with_hint("sentbox help query shows what a query may have")
    }
}

/// Finds an operator whose value is in the next word, for example because a variable
/// of the shell is empty.
fn find_split_operator<'a>(
    words: &[String],
    text: &'a str,
    parsed: &ParsedQuery,
) -> Option<&'a str> {
    let mut start = 0;
    words.iter().find_map(|word| {
        let end = start + word.len();
        start = end + 1;
        let is_split = |span: &&SyntaxSpan| {
            span.role == SyntaxRole::Operator && span.range.start < end && end < span.range.end
        };
        let span = parsed.spans.iter().find(is_split)?;
        Some(&text[span.range.start..end])
    })
}

/// Whether an email of the archive has, or had, this status.
fn has_status(archive: &Archive, status: &Status) -> bool {
    let label = status.label();
    let known = archive.suggest(SuggestionField::Status, label, usize::MAX);
    known.iter().any(|known| *known.text == *label)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn operator_without_value_takes_no_next_word() {
        let context = ParseContext::new(Timestamp::UNIX_EPOCH, TimeZone::UTC);
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            TypedQuery::parse_in(&words, &context)
        };
        let error = parse(&["to:"]).map(drop).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        for words in [
            &["to:", "receipt"][..],
            &["to: ", "receipt"],
            &["invoice to:", "receipt"],
            &["-to:", "receipt"],
            &["to:", "", "receipt"],
            &["from:billing", "to:", "receipt", "is:trouble"],
        ] {
            assert_eq!(parse(words).map(drop), Err(error.clone()), "{words:?}");
        }
        for words in [
            &["To: ana", "receipt"][..],
            &["status:bounced,", "failed"],
            &["on:2", "Nov"],
            &["subject:\"your", "to:", "receipt\""],
        ] {
            assert_eq!(parse(words).map(drop), Ok(()), "{words:?}");
        }
    }
}
