//! What could be typed next: operators, statuses, times, and what the archive knows.

use std::ops::Range;

use crate::mail::{SafeText, Status};

use super::lex::{TokenKind, lex};
use super::print::quote_value as printed;
use super::{EmailClass, EmailPart, Field, Operator, SortOrder, date, normalize};

/// How many values of the archive are offered at once.
const MAX_SUGGESTIONS: usize = 20;

/// From how many letters on a plain word is taken for the beginning of a status or a recipient.
const MIN_VALUE_CHARS: usize = 2;

/// Something that could stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The bytes of the text that it replaces.
    pub(crate) range: Range<usize>,
    /// What stands there then, quoted if it must be.
    pub(crate) text: String,
    /// What it means.
    pub(crate) description: String,
    /// How it is used, from the person's own mail if there is some; empty for a value.
    pub(crate) example: String,
}

/// The values that the archive knows.
pub(crate) trait SuggestionSource {
    /// The values of `source` that hold `part` (compared as [`fold::fold`]ed text; everything holds
    /// the empty part), the most frequent first, at most `limit`. Called while a person types.
    fn suggest(&self, source: SuggestionField<'_>, part: &str, limit: usize) -> Vec<Suggestion>;
}

/// Nothing is known.
impl SuggestionSource for () {
    fn suggest(&self, _: SuggestionField<'_>, _: &str, _: usize) -> Vec<Suggestion> {
        Vec::new()
    }
}

/// Where the values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuggestionField<'a> {
    /// Bare addresses in this field.
    Address(Field),
    /// Domains of recipients.
    Domain,
    /// Names of tags.
    TagName,
    /// Values of the tag of this name.
    TagValue(&'a str),
    /// Statuses that occur.
    Status,
}

/// A value that the archive knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// The value.
    pub(crate) text: SafeText,
    /// In how many emails.
    pub(crate) emails: u64,
}

/// What could stand where the cursor (a byte offset) is, the best first.
#[must_use]
pub(crate) fn complete(text: &str, cursor: usize, known: &dyn SuggestionSource) -> Vec<Completion> {
    let cursor = text.floor_char_boundary(cursor);
    let (tokens, _) = lex(text);
    let under = tokens
        .iter()
        .find(|token| token.range.start < cursor && cursor <= token.range.end);
    let Some(token) = under else {
        return complete_name(cursor..cursor, "", known);
    };
    match &token.kind {
        TokenKind::OpenParen | TokenKind::CloseParen | TokenKind::Minus => {
            complete_name(cursor..cursor, "", known)
        }
        TokenKind::Quoted(_) => Vec::new(),
        TokenKind::Operator(_, value) if cursor < value.range.start => complete_name(
            token.range.start..value.range.start,
            &text[token.range.start..cursor],
            known,
        ),
        TokenKind::Operator(operator, value) => {
            complete_value(*operator, text, value.range.clone(), cursor, known)
        }
        TokenKind::Word | TokenKind::InvalidSyntax => {
            // A bracket or a dash that has nothing behind it yet is a word, but not for long.
            let typed = text[token.range.start..cursor].trim_start_matches(['(', '-']);
            if let Some((name, begun)) = typed.split_once(':')
                && let Some(operator) = Operator::from_name(name)
            {
                let value = cursor - begun.len()..token.range.end;
                return complete_value(operator, text, value, cursor, known);
            }
            let end = text[cursor..token.range.end]
                .find(':')
                .map_or(token.range.end, |colon| cursor + colon + 1);
            complete_name(cursor - typed.len()..end, typed, known)
        }
    }
}

/// Operators whose name begins as `typed`, then statuses and the like that do, then recipients that hold it.
fn complete_name(
    range: Range<usize>,
    typed: &str,
    known: &dyn SuggestionSource,
) -> Vec<Completion> {
    let typed = normalize::normalize(typed);
    let operators = Operator::all()
        .filter(|operator| operator.name().starts_with(&typed))
        .map(|operator| Completion {
            range: range.clone(),
            text: format!("{}:", operator.name()),
            description: operator.description().to_owned(),
            example: example_query(operator, known),
        });
    let mut offered: Vec<Completion> = operators.collect();
    if typed.chars().count() >= MIN_VALUE_CHARS {
        // Who types what became of an email looks for those emails, and seldom for the word in them.
        let statuses = Status::KNOWN
            .iter()
            .map(|status| (Operator::Status, status.label(), status.meaning()));
        let words = statuses.chain(
            EmailClass::ALL
                .into_iter()
                .map(|is| (Operator::Is, is.as_str(), is.description())),
        );
        offered.extend(words.filter(|(_, word, _)| word.starts_with(&typed)).map(
            |(operator, word, meaning)| Completion {
                range: range.clone(),
                text: format!("{}:{word}", operator.name()),
                description: meaning.to_owned(),
                example: String::new(),
            },
        ));
        let recipients =
            known.suggest(SuggestionField::Address(Field::To), &typed, MAX_SUGGESTIONS);
        offered.extend(recipients.into_iter().map(|recipient| Completion {
            range: range.clone(),
            text: format!("to:{}", printed(&recipient.text)),
            description: format_email_count(recipient.emails),
            example: String::new(),
        }));
    }
    offered
}

fn example_query(operator: Operator, known: &dyn SuggestionSource) -> String {
    let own = suggestion_field(operator)
        .and_then(|source| known.suggest(source, "", 1).into_iter().next());
    own.map_or_else(
        || operator.example().to_owned(),
        |own| format!("{}:{}", operator.name(), printed(&own.text)),
    )
}

/// Where the archive has values for an operator, if it has.
const fn suggestion_field(operator: Operator) -> Option<SuggestionField<'static>> {
    match operator {
        Operator::Text(
            field
            @ (Field::To | Field::From | Field::Cc | Field::Bcc | Field::ReplyTo | Field::Any),
        ) => Some(SuggestionField::Address(field)),
        Operator::Recipient => Some(SuggestionField::Address(Field::To)),
        Operator::Domain => Some(SuggestionField::Domain),
        Operator::Tag => Some(SuggestionField::TagName),
        Operator::Status => Some(SuggestionField::Status),
        Operator::Text(Field::Subject | Field::Body | Field::Id | Field::MessageId)
        | Operator::Is
        | Operator::Has
        | Operator::After
        | Operator::Before
        | Operator::On
        | Operator::SeenChange
        | Operator::Sort => None,
    }
}

/// Values of the operator that hold or begin as what is typed of the value at `range`.
fn complete_value(
    operator: Operator,
    text: &str,
    range: Range<usize>,
    cursor: usize,
    known: &dyn SuggestionSource,
) -> Vec<Completion> {
    let typed = text[range.start..cursor].trim_start_matches('"');
    let fixed = |offers: &mut dyn Iterator<Item = (&'static str, &'static str)>| {
        complete_keywords(&range, typed, offers)
    };
    match operator {
        Operator::Status => complete_status(text, range, cursor, known),
        Operator::Is => fixed(
            &mut EmailClass::ALL
                .into_iter()
                .map(|is| (is.as_str(), is.description())),
        ),
        Operator::Has => fixed(
            &mut EmailPart::ALL
                .into_iter()
                .map(|has| (has.as_str(), has.description())),
        ),
        Operator::Sort => fixed(
            &mut SortOrder::ALL
                .into_iter()
                .map(|sort| (sort.as_str(), sort.description())),
        ),
        Operator::After | Operator::Before | Operator::On | Operator::SeenChange => {
            let spans = [
                ("2h", "two hours ago"),
                ("7d", "seven days ago"),
                ("3w", "three weeks ago"),
            ];
            fixed(
                &mut date::DATE_KEYWORDS
                    .iter()
                    .map(|(word, _, meaning)| (*word, *meaning))
                    .chain(spans),
            )
        }
        Operator::Tag => match typed.split_once('=') {
            Some((name, part)) => {
                let part = part.trim_start_matches('"');
                stored_completions(
                    known.suggest(
                        SuggestionField::TagValue(name),
                        &normalize::normalize(part),
                        MAX_SUGGESTIONS,
                    ),
                    &range,
                    |text| format!("{name}={text}"),
                )
            }
            None => stored_completions(
                known.suggest(
                    SuggestionField::TagName,
                    &normalize::normalize(typed),
                    MAX_SUGGESTIONS,
                ),
                &range,
                str::to_owned,
            ),
        },
        Operator::Text(_) | Operator::Recipient | Operator::Domain => suggestion_field(operator)
            .map(|source| {
                stored_completions(
                    known.suggest(source, &normalize::normalize(typed), MAX_SUGGESTIONS),
                    &range,
                    str::to_owned,
                )
            })
            .unwrap_or_default(),
    }
}

/// Statuses stand between commas; only the one under the cursor is replaced.
fn complete_status(
    text: &str,
    value: Range<usize>,
    cursor: usize,
    known: &dyn SuggestionSource,
) -> Vec<Completion> {
    let start = text[value.start..cursor]
        .rfind([',', '"'])
        .map_or(value.start, |at| value.start + at + 1);
    let end = text[cursor..value.end]
        .find([',', '"'])
        .map_or(value.end, |at| cursor + at);
    let typed = &text[start..cursor];
    let mut offers = Status::KNOWN
        .iter()
        .map(|status| (status.label(), status.meaning()));
    let mut offered = complete_keywords(&(start..end), typed, &mut offers);
    let others = known.suggest(
        SuggestionField::Status,
        &normalize::normalize(typed),
        MAX_SUGGESTIONS,
    );
    let unknown = others.into_iter().filter(|other| {
        Status::KNOWN
            .iter()
            .all(|known| known.label() != &*other.text)
    });
    offered.extend(stored_completions(
        unknown.collect(),
        &(start..end),
        str::to_owned,
    ));
    offered
}

fn complete_keywords<'a>(
    range: &Range<usize>,
    typed: &str,
    offers: &mut dyn Iterator<Item = (&'a str, &'a str)>,
) -> Vec<Completion> {
    let typed = normalize::normalize(typed);
    let fitting = offers.filter(|(word, _)| word.starts_with(&typed));
    fitting
        .map(|(word, meaning)| Completion {
            range: range.clone(),
            text: word.to_owned(),
            description: meaning.to_owned(),
            example: String::new(),
        })
        .collect()
}

fn stored_completions(
    values: Vec<Suggestion>,
    range: &Range<usize>,
    spelled: impl Fn(&str) -> String,
) -> Vec<Completion> {
    let completion = |known: Suggestion| Completion {
        range: range.clone(),
        text: printed(&spelled(&known.text)),
        description: format_email_count(known.emails),
        example: String::new(),
    };
    values.into_iter().map(completion).collect()
}

fn format_email_count(emails: u64) -> String {
    if emails == 1 {
        "1 email".to_owned()
    } else {
        format!("{emails} emails")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small archive.
    struct Archive;

    impl SuggestionSource for Archive {
        fn suggest(
            &self,
            source: SuggestionField<'_>,
            part: &str,
            limit: usize,
        ) -> Vec<Suggestion> {
            let values: &[(&str, u64)] = match source {
                SuggestionField::Address(Field::To) => {
                    &[("ana@example.com", 12), ("joana@example.org", 1)]
                }
                SuggestionField::Address(_) => &[("billing@acme.example", 40)],
                SuggestionField::Domain => &[("example.com", 12)],
                SuggestionField::TagName => &[("category", 30), ("plan", 9)],
                SuggestionField::TagValue("plan") => &[("pro", 5), ("pro max", 4)],
                SuggestionField::TagValue(_) => &[],
                SuggestionField::Status => &[("delivered", 30), ("teleported", 2)],
            };
            let holding = values
                .iter()
                .filter(|(text, _)| text.contains(part))
                .take(limit);
            holding
                .map(|&(text, emails)| Suggestion {
                    text: SafeText::new(text),
                    emails,
                })
                .collect()
        }
    }

    /// What the text becomes, for each offer, with the cursor at the bar.
    fn offered(text: &str) -> Vec<String> {
        let cursor = text.find('|').unwrap();
        let text = text.replace('|', "");
        let offers = complete(&text, cursor, &Archive).into_iter();
        offers
            .map(|offer| {
                format!(
                    "{}{}{}",
                    &text[..offer.range.start],
                    offer.text,
                    &text[offer.range.end..]
                )
            })
            .collect()
    }

    #[test]
    fn an_offer_fits_what_is_typed() {
        for (text, becomes) in [
            ("se|", vec!["seen-change:", "status:sent"]),
            (
                "x -s|",
                vec!["x -subject:", "x -status:", "x -seen-change:", "x -sort:"],
            ),
            ("(st|", vec!["(status:"]),
            ("sta|:bounced", vec!["status:bounced"]),
            ("ANA|", vec!["to:ana@example.com", "to:joana@example.org"]),
            ("-bounc|ed x", vec!["-status:bounced x"]),
            ("trou|", vec!["is:trouble"]),
            ("to:joa|", vec!["to:joana@example.org"]),
            (
                "to:| x",
                vec!["to:ana@example.com x", "to:joana@example.org x"],
            ),
            ("cc:\"bill|", vec!["cc:billing@acme.example"]),
            ("to:\"|", vec!["to:ana@example.com", "to:joana@example.org"]),
            ("recipient:joa|", vec!["recipient:joana@example.org"]),
            ("domain:ex|", vec!["domain:example.com"]),
            ("tag:p|", vec!["tag:plan"]),
            ("tag:plan=|", vec!["tag:plan=pro", "tag:\"plan=pro max\""]),
            ("tag:plan=\"pro m|", vec!["tag:\"plan=pro max\""]),
            (
                "status:|",
                Status::KNOWN
                    .iter()
                    .map(Status::label)
                    .chain(["teleported"])
                    .collect(),
            ),
            ("status:Bou|", vec!["status:bounced"]),
            (
                "status:sent,de|,opened x",
                vec![
                    "status:sent,delayed,opened x",
                    "status:sent,delivered,opened x",
                ],
            ),
            ("is:|", vec!["is:trouble", "is:scheduled", "is:gone"]),
            ("has:b|", vec!["has:bcc", "has:body"]),
            ("sort:|", vec!["sort:newest", "sort:oldest"]),
            (
                "after:t|",
                vec![
                    "after:today",
                    "after:this-week",
                    "after:this-month",
                    "after:tue",
                    "after:thu",
                ],
            ),
            ("subject:rec|", vec![]),
            ("foo:b|", vec![]),
            ("\"st|", vec![]),
        ] {
            let becomes: Vec<String> = match text {
                "status:|" => becomes
                    .iter()
                    .map(|word| format!("status:{word}"))
                    .collect(),
                _ => becomes.into_iter().map(str::to_owned).collect(),
            };
            assert_eq!(offered(text), becomes, "{text}");
        }
    }

    #[test]
    fn where_nothing_is_typed_every_operator_is_explained_by_the_persons_own_mail() {
        for text in ["", "a ", "(", "(a or (", "a -"] {
            let offers = complete(text, text.len(), &Archive);
            assert_eq!(offers.len(), Operator::all().count());
            assert!(
                offers
                    .iter()
                    .all(|offer| !offer.description.is_empty() && !offer.example.is_empty())
            );
            assert_eq!(
                (offers[0].text.as_str(), offers[0].example.as_str()),
                ("to:", "to:ana@example.com")
            );
        }
        assert_eq!(complete("to", 2, &())[0].example, "to:ana@example.com");
        assert_eq!(complete("to:a", 4, &Archive)[1].description, "1 email");
        assert_eq!(
            complete("is:", 3, &())[1].description,
            "waits for its send time"
        );
    }
}
