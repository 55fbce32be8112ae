//! Completion at the cursor:
//! operators, statuses, dates, and values that the archive knows.

use std::ops::Range;

use crate::mail::{SafeText, Status};
use crate::text::format::{group_digits, plural};

use super::ast::{EmailClass, EmailPart, Field, SortOrder};
use super::date::DATE_KEYWORDS;
use super::lexer::{TokenKind, lex};
use super::normalize::normalize;
use super::operators::{Operator, quote_value};

/// How many values of the archive are offered at once.
const MAX_SUGGESTIONS: usize = 20;

/// Shorter words are not completed to statuses and recipients.
const MIN_VALUE_CHARS: usize = 2;

/// Examples of ages, with their description.
const AGES: [(&str, &str); 4] = [
    ("5min", "five minutes ago"),
    ("2h", "two hours ago"),
    ("7d", "seven days ago"),
    ("3w", "three weeks ago"),
];

/// A replacement of the text at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The bytes of the text that it replaces.
    pub(crate) range: Range<usize>,
    /// The new text, quoted if it must be.
    pub(crate) text: String,
    pub(crate) description: String,
    /// A query with it, from the user's own mail if there is some; empty for a value.
    pub(crate) example: String,
}

impl Completion {
    fn new(range: &Range<usize>, text: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            range: range.clone(),
            text: text.into(),
            description: description.into(),
            example: String::new(),
        }
    }
}

/// A store of values that emails have.
pub(crate) trait SuggestionSource {
    /// Returns at most `limit` values that contain `part`, the most frequent first.
    ///
    /// `part` is normalised; every value contains the empty part. Called while the user types.
    fn suggest(&self, field: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion>;
}

/// The source without values.
impl SuggestionSource for () {
    fn suggest(&self, _: SuggestionField<'_>, _: &str, _: usize) -> Vec<Suggestion> {
        Vec::new()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuggestionField<'a> {
    /// Addresses in this field, without names.
    Address(Field),
    Domain,
    TagName,
    /// Values of the tag of this name.
    TagValue(&'a str),
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    pub(crate) text: SafeText,
    /// How many emails have it; at most [`Self::MAX_EMAILS`].
    pub(crate) emails: u64,
}

impl Suggestion {
    /// Emails are counted up to here; larger numbers do not help to choose.
    pub(crate) const MAX_EMAILS: u64 = 1000;

    fn describe(&self) -> String {
        match self.emails {
            Self::MAX_EMAILS.. => format!("{}+ emails", group_digits(Self::MAX_EMAILS, ' ')),
            fewer => plural(fewer, "email"),
        }
    }
}

/// Returns the completions at the cursor (a byte offset), the best first.
pub(crate) fn complete(
    text: &str,
    cursor: usize,
    source: &dyn SuggestionSource,
) -> Vec<Completion> {
    let cursor = text.floor_char_boundary(cursor);
    let completer = Completer {
        text,
        cursor,
        source,
    };
    let (tokens, _) = lex(text);
    let at_cursor = tokens
        .iter()
        .find(|token| token.range.start < cursor && cursor <= token.range.end);
    let Some(token) = at_cursor else {
        return completer.complete_name(cursor..cursor);
    };
    match &token.kind {
        TokenKind::OpenParen | TokenKind::CloseParen | TokenKind::Minus => {
            completer.complete_name(cursor..cursor)
        }
        TokenKind::Quoted(_) => Vec::new(),
        TokenKind::Operator(operator, value) if cursor < value.range.start => {
            if text[..cursor].ends_with(':') {
                return completer.complete_value(*operator, cursor..cursor);
            }
            completer.complete_name(token.range.start..value.range.start)
        }
        TokenKind::Operator(operator, value) => {
            completer.complete_value(*operator, value.range.clone())
        }
        TokenKind::Word | TokenKind::InvalidSyntax => {
            // A parenthesis or a dash at the end is a word until an operand follows.
            let typed = text[token.range.start..cursor].trim_start_matches(['(', '-']);
            if let Some((name, value)) = typed.split_once(':')
                && let Some(operator) = Operator::from_name(name)
            {
                return completer.complete_value(operator, cursor - value.len()..token.range.end);
            }
            let end = text[cursor..token.range.end]
                .find(':')
                .map_or(token.range.end, |colon| cursor + colon + 1);
            completer.complete_name(cursor - typed.len()..end)
        }
    }
}

struct Completer<'a> {
    text: &'a str,
    cursor: usize,
    source: &'a dyn SuggestionSource,
}

impl Completer<'_> {
    /// Offers operators and keywords that start as typed, then recipients with it.
    fn complete_name(&self, range: Range<usize>) -> Vec<Completion> {
        let typed = normalize(&self.text[range.start..self.cursor]);
        let mut completions: Vec<Completion> = Operator::all()
            .filter(|operator| operator.name().starts_with(&typed))
            .map(|operator| Completion {
                example: self.example_query(operator),
                ..Completion::new(
                    &range,
                    format!("{}:", operator.name()),
                    operator.description(),
                )
            })
            .collect();
        if typed.chars().count() < MIN_VALUE_CHARS {
            return completions;
        }
        // The name of a status more often means its emails than those with the word.
        let keywords = status_descriptions()
            .map(|(word, description)| ("status", word, description))
            .chain(EmailClass::descriptions().map(|(word, description)| ("is", word, description)))
            .filter(|(_, word, _)| word.starts_with(&typed));
        completions.extend(keywords.map(|(operator, word, description)| {
            Completion::new(&range, format!("{operator}:{word}"), description)
        }));
        let field = SuggestionField::Address(Field::To);
        let recipients = self.source.suggest(field, &typed, MAX_SUGGESTIONS);
        completions.extend(recipients.into_iter().map(|recipient| {
            let text = format!("to:{}", quote_value(&recipient.text));
            Completion::new(&range, text, recipient.describe())
        }));
        completions
    }

    fn example_query(&self, operator: Operator) -> String {
        let own = suggestion_field(operator)
            .and_then(|field| self.source.suggest(field, "", 1).into_iter().next());
        own.map_or_else(
            || operator.example().to_owned(),
            |own| format!("{}:{}", operator.name(), quote_value(&own.text)),
        )
    }

    /// Offers values of the operator for the value at `range`.
    fn complete_value(&self, operator: Operator, range: Range<usize>) -> Vec<Completion> {
        let typed = self.text[range.start..self.cursor].trim_start_matches('"');
        match operator {
            Operator::Status => self.complete_status(range),
            Operator::Is => {
                let is_class =
                    |word: &str| EmailClass::descriptions().any(|(class, _)| class == word);
                let statuses = status_descriptions().filter(|(word, _)| !is_class(word));
                complete_keywords(&range, typed, EmailClass::descriptions().chain(statuses))
            }
            Operator::Has => complete_keywords(&range, typed, EmailPart::descriptions()),
            Operator::Sort => complete_keywords(&range, typed, SortOrder::descriptions()),
            Operator::Time(_) => {
                let dates = DATE_KEYWORDS
                    .into_iter()
                    .map(|(word, _, description)| (word, description));
                complete_keywords(&range, typed, dates.chain(AGES))
            }
            Operator::Tag => match typed.split_once('=') {
                Some((name, part)) => {
                    let field = SuggestionField::TagValue(name);
                    let part = part.trim_start_matches('"');
                    self.complete_stored(field, part, &range, |value| format!("{name}={value}"))
                }
                None => {
                    self.complete_stored(SuggestionField::TagName, typed, &range, str::to_owned)
                }
            },
            Operator::Text(_) | Operator::Recipient | Operator::Domain => {
                suggestion_field(operator).map_or_else(Vec::new, |field| {
                    self.complete_stored(field, typed, &range, str::to_owned)
                })
            }
        }
    }

    /// Completes the status at the cursor; those before and after its commas stay.
    fn complete_status(&self, value: Range<usize>) -> Vec<Completion> {
        let start = self.text[value.start..self.cursor]
            .rfind([',', '"'])
            .map_or(value.start, |separator| value.start + separator + 1);
        let end = self.text[self.cursor..value.end]
            .find([',', '"'])
            .map_or(value.end, |separator| self.cursor + separator);
        let typed = &self.text[start..self.cursor];
        let mut completions = complete_keywords(&(start..end), typed, status_descriptions());
        let stored =
            self.complete_stored(SuggestionField::Status, typed, &(start..end), str::to_owned);
        completions.extend(
            stored.into_iter().filter(|completion| {
                status_descriptions().all(|(label, _)| label != completion.text)
            }),
        );
        completions
    }

    /// Offers values of the archive; `spell` writes a value as it is typed.
    fn complete_stored(
        &self,
        field: SuggestionField<'_>,
        part: &str,
        range: &Range<usize>,
        spell: impl Fn(&str) -> String,
    ) -> Vec<Completion> {
        self.source
            .suggest(field, &normalize(part), MAX_SUGGESTIONS)
            .into_iter()
            .map(|value| {
                let text = quote_value(&spell(&value.text));
                Completion::new(range, text, value.describe())
            })
            .collect()
    }
}

fn complete_keywords<'a>(
    range: &Range<usize>,
    typed: &str,
    keywords: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<Completion> {
    let typed = normalize(typed);
    keywords
        .filter(|(word, _)| word.starts_with(&typed))
        .map(|(word, description)| Completion::new(range, word, description))
        .collect()
}

fn status_descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    Status::KNOWN
        .iter()
        .map(|status| (status.label(), status.meaning()))
}

/// Returns the kind of values that the archive has for an operator.
const fn suggestion_field(operator: Operator) -> Option<SuggestionField<'static>> {
    match operator {
        Operator::Text(field) if field.has_addresses() => Some(SuggestionField::Address(field)),
        Operator::Recipient => Some(SuggestionField::Address(Field::To)),
        Operator::Domain => Some(SuggestionField::Domain),
        Operator::Tag => Some(SuggestionField::TagName),
        Operator::Status => Some(SuggestionField::Status),
        Operator::Text(_) | Operator::Is | Operator::Has | Operator::Time(_) | Operator::Sort => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Archive;

    impl SuggestionSource for Archive {
        fn suggest(&self, field: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion> {
            let values: &[(&str, u64)] = match field {
                SuggestionField::Address(Field::To) => {
                    &[("ana@example.com", 12), ("joana@example.org", 1)]
                }
                SuggestionField::Address(_) => &[("billing@acme.example", 1000)],
                SuggestionField::Domain => &[("example.com", 12)],
                SuggestionField::TagName => &[("category", 30), ("plan", 9)],
                SuggestionField::TagValue("plan") => &[("pro", 5), ("pro max", 4)],
                SuggestionField::TagValue(_) => &[],
                SuggestionField::Status => &[("delivered", 30), ("teleported", 2)],
            };
            let values = values.iter().filter(|(text, _)| text.contains(part));
            let suggestion = |&(text, emails): &(&str, u64)| Suggestion {
                text: SafeText::new(text),
                emails,
            };
            values.take(limit).map(suggestion).collect()
        }
    }

    /// Applies each completion to the text with the cursor at the bar.
    fn completed(text: &str) -> Vec<String> {
        let cursor = text.find('|').unwrap();
        let text = text.replace('|', "");
        let apply = |completion: Completion| {
            let mut text = text.clone();
            text.replace_range(completion.range, &completion.text);
            text
        };
        let completions = complete(&text, cursor, &Archive).into_iter();
        completions.map(apply).collect()
    }

    #[test]
    fn completions_count_emails_up_to_a_limit() {
        let count = |text: &str| complete(text, text.len(), &Archive)[0].description.clone();
        assert_eq!(count("to:joa"), "1 email");
        assert_eq!(count("cc:bill"), "1 000+ emails");
    }

    #[test]
    #[rustfmt::skip] // one text a line
    fn completions_continue_the_typed_text() {
        for (text, expected) in [
            ("se|", vec!["seen-change:", "status:sent"]),
            ("x -s|", vec!["x -subject:", "x -status:", "x -seen-change:", "x -sort:"]),
            ("(st|", vec!["(status:"]),
            ("sta|:bounced", vec!["status:bounced"]),
            ("ANA|", vec!["to:ana@example.com", "to:joana@example.org"]),
            ("-bounc|ed x", vec!["-status:bounced x"]),
            ("trou|", vec!["is:trouble"]),
            ("to:joa|", vec!["to:joana@example.org"]),
            ("to:| x", vec!["to:ana@example.com x", "to:joana@example.org x"]),
            ("cc:\"bill|", vec!["cc:billing@acme.example"]),
            ("to:\"|", vec!["to:ana@example.com", "to:joana@example.org"]),
            ("recipient:joa|", vec!["recipient:joana@example.org"]),
            ("domain:ex|", vec!["domain:example.com"]),
            ("tag:p|", vec!["tag:plan"]),
            ("tag:plan=|", vec!["tag:plan=pro", "tag:\"plan=pro max\""]),
            ("tag:plan=\"pro m|", vec!["tag:\"plan=pro max\""]),
            ("status:|", Status::KNOWN.iter().map(Status::label).chain(["teleported"]).collect()),
            ("status:Bou|", vec!["status:bounced"]),
            ("status:sent,de|,opened x", vec!["status:sent,delayed,opened x", "status:sent,delivered,opened x", ]),
            ("is:|", ["trouble", "scheduled", "gone"].into_iter().chain(Status::KNOWN.iter().map(Status::label).filter(|label| *label != "scheduled")).collect()),
            ("is:b|", vec!["is:bounced"]),
            ("is:sc|", vec!["is:scheduled"]),
            ("has:b|", vec!["has:bcc", "has:body"]),
            ("sort:|", vec!["sort:newest", "sort:oldest"]),
            ("after:t|", vec!["after:today", "after:this-week", "after:this-month", "after:tue", "after:thu", ]),
            ("subject:rec|", vec![]),
            ("foo:b|", vec![]),
            ("\"st|", vec![]),
        ] {
            let replaced = |word: &str| match text {
                "status:|" | "is:|" => text.replace('|', word),
                _ => word.to_owned(),
            };
            let expected: Vec<String> = expected.into_iter().map(replaced).collect();
            assert_eq!(completed(text), expected, "{text}");
        }
    }

    #[test]
    fn empty_word_offers_all_operators_with_examples() {
        for text in ["", "a ", "(", "(a or (", "a -"] {
            let completions = complete(text, text.len(), &Archive);
            assert_eq!(completions.len(), Operator::all().count());
            for completion in &completions {
                assert!(!completion.description.is_empty() && !completion.example.is_empty());
            }
            assert_eq!(completions[0].text, "to:");
            assert_eq!(completions[0].example, "to:ana@example.com");
        }
        assert_eq!(complete("to", 2, &())[0].example, "to:ana@example.com");
        assert_eq!(complete("to:a", 4, &Archive)[1].description, "1 email");
        assert_eq!(complete("is:", 3, &())[1].description, "not sent yet");
    }
}
