//! `--jq`: runs an expression in the language of jq on the JSON that a command
//! prints.

use std::fmt;
use std::sync::Arc;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader, span};
use jaq_core::{Compiler, Ctx, Filter, Vars, compile, load};
use jaq_json::{Map, Num, Val, read};

use crate::error::{Error, ErrorKind, Result};
use crate::text::json::replace_lone_surrogates;

/// Formats of jq that the library leaves out.
const FORMATS: &str = r#"
def @csv: map(if isstring then "\"" + gsub("\""; "\"\"") + "\"" elif . == null then "" else tostring end) | join(",");
def @tsv: map(if . == null then "" else tostring end | gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r")) | join("\t");
"#;

/// The deepest nesting that is read:
/// the library reads recursively, and a service may nest as it likes.
const MAX_DEPTH: usize = 512;

/// The most bytes of an expression, and the most brackets that are open in it:
/// the library compiles recursively.
const MAX_CODE_LEN: usize = 4 << 10;
const MAX_OPEN_BRACKETS: usize = 128;

/// The longest text of an error of an expression.
const MAX_ERROR_CHARS: usize = 300;

/// A compiled expression.
#[derive(Clone)]
pub struct JqFilter {
    filter: Arc<Filter<JustLut<Val>>>,
    /// The expression as it was typed.
    pub(in crate::cli) code: String,
}

/// The result of an expression on a document.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum JqValue {
    /// A string, which is printed without quotes.
    Text(String),
    /// Any other value, on one line.
    Json(String),
}

impl fmt::Debug for JqFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JqFilter")
    }
}

impl JqFilter {
    /// Compiles an expression; the error says at which character it is wrong.
    ///
    /// `env` is left out: the environment may hold a key.
    pub(in crate::cli) fn parse(code: &str) -> Result<Self, String> {
        check_size(code)?;
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .chain(load::parse(FORMATS, |parser| parser.defs()).expect("they are definitions"));
        let functions = jaq_core::funs()
            .chain(jaq_std::funs().filter(|(name, ..)| *name != "env"))
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let file = File { code, path: () };
        let modules = Loader::new(definitions)
            .load(&arena, file)
            .map_err(|errors| describe(&errors, load_error))?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|errors| describe(&errors, compile_error))?;
        Ok(Self {
            filter: Arc::new(filter),
            code: code.to_owned(),
        })
    }

    /// Runs the expression on each of the documents and hands on what it makes of them.
    ///
    /// After an error it goes on with the next document, as jq does.
    pub(in crate::cli) fn run<E: From<Error>>(
        &self,
        documents: &str,
        mut print: impl FnMut(Result<JqValue>) -> Result<(), E>,
    ) -> Result<(), E> {
        let documents = replace_lone_surrogates(documents);
        for document in read::parse_many(documents.as_bytes()) {
            let document = document.map_err(|error| {
                Error::cannot("read by --jq", ErrorKind::Usage, "the JSON", &error)
                    .with_hint("--json without --jq prints it")
            })?;
            let context = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
            for result in self.filter.id.run((context, document)) {
                match result {
                    Ok(Val::TStr(text)) => {
                        let text = String::from_utf8_lossy(&text).into_owned();
                        print(Ok(JqValue::Text(text)))?;
                    }
                    Ok(value) => {
                        let json = replace_non_finite(value).to_string();
                        print(Ok(JqValue::Json(json)))?;
                    }
                    Err(exception) => {
                        let text = match exception.get_err() {
                            Ok(error) => error.to_string(),
                            Err(exception) => match exception.get_halt() {
                                // `halt` ends the expression, not the process.
                                Ok(0) => break,
                                _ => "halt_error has ended the expression".to_owned(),
                            },
                        };
                        let message = format!("--jq: {}", shorten(&text));
                        let error = Error::new(ErrorKind::Usage, message)
                            .with_hint("--json alone prints what the expression gets");
                        print(Err(error))?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Cuts out the middle: an error quotes the value, which may be the whole document,
/// and ends with the reason.
fn shorten(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= MAX_ERROR_CHARS {
        return text.to_owned();
    }
    let half = MAX_ERROR_CHARS / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(chars - half).collect();
    format!("{start}…{end}")
}

/// Refuses an expression that would take more stack than there is.
fn check_size(code: &str) -> Result<(), String> {
    if code.len() > MAX_CODE_LEN {
        return Err(format!("it is longer than {MAX_CODE_LEN} bytes"));
    }
    let mut open = 0_usize;
    for (n, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN_BRACKETS {
            let at = code[..n].chars().count() + 1;
            return Err(format!(
                "character {at}: more than {MAX_OPEN_BRACKETS} brackets are open"
            ));
        }
    }
    Ok(())
}

/// Replaces what JSON has no number for, as jq does:
/// by null, or by the largest number.
fn replace_non_finite(value: Val) -> Val {
    match value {
        Val::Num(Num::Float(number)) if number.is_nan() => Val::Null,
        Val::Num(Num::Float(number)) if number.is_infinite() => {
            Val::Num(Num::Float(f64::MAX.copysign(number)))
        }
        Val::Arr(items) => {
            let items = items.iter().cloned().map(replace_non_finite);
            Val::Arr(items.collect::<Vec<_>>().into())
        }
        Val::Obj(members) => {
            let members = members.iter();
            let members =
                members.map(|(key, value)| (key.clone(), replace_non_finite(value.clone())));
            Val::Obj(members.collect::<Map>().into())
        }
        value => value,
    }
}

/// Describes the first error and where it is.
fn describe<E>(
    errors: &load::Errors<&str, (), E>,
    message: fn(&E) -> Option<(&str, String)>,
) -> String {
    let first = errors
        .iter()
        .find_map(|(file, error)| message(error).map(|(part, text)| (file.code, part, text)));
    let Some((code, part, text)) = first else {
        return "it cannot be read".to_owned();
    };
    let at = code[..span(code, part).start].chars().count() + 1;
    format!("character {at}: {text}")
}

/// Returns the wrong part and the text of an error of syntax.
fn load_error<'a>(error: &'a load::Error<&str>) -> Option<(&'a str, String)> {
    let describe = |expected: &str, found: &str| match found.chars().next() {
        Some(first) => format!("expected {expected}, found {first}"),
        None => format!("expected {expected}, found the end"),
    };
    match error {
        load::Error::Io(errors) => {
            let (part, _) = errors.first()?;
            Some((part, "modules cannot be loaded".to_owned()))
        }
        load::Error::Lex(errors) => {
            let (expected, found) = errors.first()?;
            Some((found, describe(expected.as_str(), found)))
        }
        load::Error::Parse(errors) => {
            let (expected, found) = errors.first()?;
            let expected = match expected.as_str() {
                "nothing" => "the end",
                expected => expected,
            };
            Some((found, describe(expected, found)))
        }
    }
}

/// Returns the wrong part and the text of an undefined name.
fn compile_error<'a>(errors: &'a Vec<compile::Error<&str>>) -> Option<(&'a str, String)> {
    let (name, undefined) = errors.first()?;
    let arity = match undefined {
        compile::Undefined::Filter(arity) => format!("/{arity}"),
        _ => String::new(),
    };
    let kind = undefined.as_str();
    Some((name, format!("there is no {kind} {name}{arity}")))
}

/// Collects JSON that is written in parts until its last document is complete.
#[derive(Default)]
pub(super) struct JsonCollector {
    text: String,
    /// Open brackets and braces.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonCollector {
    /// Adds a part; returns the documents if the last one ends with it.
    ///
    /// Fails if a document is nested deeper than [`MAX_DEPTH`].
    pub(in crate::cli) fn push(&mut self, part: &str) -> Result<Option<String>> {
        for byte in part.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > MAX_DEPTH {
                let message = format!(
                    "JSON nested deeper than {MAX_DEPTH} levels cannot be filtered by --jq"
                );
                return Err(Error::new(ErrorKind::Usage, message)
                    .with_hint("--json without --jq prints it"));
            }
        }
        self.text.push_str(part);
        let is_complete = self.depth == 0 && !self.in_string && part.ends_with('\n');
        Ok(is_complete.then(|| std::mem::take(&mut self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str, documents: &str) -> Result<Vec<JqValue>> {
        let mut values = Vec::new();
        let filter = JqFilter::parse(code).unwrap();
        filter.run(documents, |value| {
            values.push(value?);
            Ok::<_, Error>(())
        })?;
        Ok(values)
    }

    #[test]
    fn strings_are_text_and_other_values_json() {
        let json = |text: &str| JqValue::Json(text.to_owned());
        let text = |text: &str| JqValue::Text(text.to_owned());
        let documents = "{\"a\":[1.50,null,\"x\\ty\"]}\n{\"a\":[{\"z\":1,\"b\":true}]}";
        let expected = [
            json("1.50"),
            json("null"),
            text("x\ty"),
            json("{\"z\":1,\"b\":true}"),
        ];
        assert_eq!(run(".a[]", documents).unwrap(), expected);
        let row = "[\"é\\t\\\\ \\\"x\\\"\",1,null,false]";
        let expected = [text("é\\t\\\\ \"x\"\t1\t\tfalse")];
        assert_eq!(run("@tsv", row).unwrap(), expected);
        let expected = [text("\"é\t\\ \"\"x\"\"\",1,,false")];
        assert_eq!(run("@csv", row).unwrap(), expected);
        assert_eq!(run("1, halt, 2", "{}").unwrap(), [json("1")]);
    }

    #[test]
    fn wrong_expressions_name_the_character() {
        let error = |code: &str| JqFilter::parse(code).unwrap_err();
        let expected = "character 6: expected closing bracket, found the end";
        assert_eq!(error(".\"é\"["), expected);
        let expected = "character 10: expected term, found the end";
        assert_eq!(error(".data[] |"), expected);
        assert_eq!(error(".a 1"), "character 4: expected the end, found 1");
        let expected = "character 6: there is no filter lenght/0";
        assert_eq!(error(".a | lenght"), expected);
        assert_eq!(error(".a | $x"), "character 6: there is no variable $x");
        assert_eq!(error("env"), "character 1: there is no filter env/0");
        assert!(error("import \"a\" as a; .").contains("modules"));
    }

    #[test]
    fn failing_expression_is_a_usage_error() {
        let error = run(".a.b", "{\"a\":\"x\"}").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.message.starts_with("--jq: cannot index"), "{error}");
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(10_000));
        let error = run(".a.b", &large).unwrap_err();
        assert!(error.message.len() < 400, "{error}");
        assert!(error.message.ends_with("with \"b\""), "{error}");
    }

    #[test]
    fn halt_error_is_an_error() {
        let error = run("1, halt_error", "\"x\"").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.message.contains("halt_error"), "{error}");
    }

    #[test]
    fn oversized_expression_is_refused_or_run() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let error = JqFilter::parse(&nested(20_000)).unwrap_err();
        assert_eq!(error, "it is longer than 4096 bytes");
        let error = JqFilter::parse(&nested(129)).unwrap_err();
        assert_eq!(error, "character 129: more than 128 brackets are open");
        assert_eq!(run(&nested(128), "1").unwrap().len(), 1);
        let longest = || {
            for part in ["|.", ",.", "+.", " as $x|.", "//.", " and ."] {
                let count = (MAX_CODE_LEN - 1) / part.len();
                let results = run(&format!(".{}", part.repeat(count)), "1");
                assert!(!results.unwrap().is_empty(), "{part}");
            }
            let minus = format!("{}1", "-".repeat(MAX_CODE_LEN - 1));
            assert!(JqFilter::parse(&minus).is_ok());
        };
        // Several times that of a main thread, as a debug build needs it.
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread.spawn(longest).unwrap().join().unwrap();
    }

    #[test]
    fn lone_surrogate_is_a_replacement_character() {
        let document = r#"{"a":"x\ud800y \uD83D\uDE00 \udc00"}"#;
        let values = run(".a", document).unwrap();
        let expected = [JqValue::Text("x\u{FFFD}y \u{1F600} \u{FFFD}".to_owned())];
        assert_eq!(values, expected);
        let error = run(".", "{\"a\":tru}").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
    }

    #[test]
    fn nan_and_infinity_print_as_in_jq() {
        let values = run("nan, [{a: nan}], infinite > 1e308", "null").unwrap();
        let json = |text: &str| JqValue::Json(text.to_owned());
        assert_eq!(values, [json("null"), json("[{\"a\":null}]"), json("true")]);
        let [JqValue::Json(number)] = &run("-infinite", "null").unwrap()[..] else {
            panic!("one number");
        };
        assert_eq!(number.parse(), Ok(f64::MIN));
    }

    #[test]
    fn documents_in_parts_are_complete_at_their_end() {
        let mut collector = JsonCollector::default();
        for part in ["{\"data\":[", "\n", "{\"s\":\"]}\\\"\"}", "\n]"] {
            assert_eq!(collector.push(part).unwrap(), None, "{part}");
        }
        let document = "{\"data\":[\n{\"s\":\"]}\\\"\"}\n]}\n";
        assert_eq!(collector.push("}\n").unwrap().as_deref(), Some(document));
        assert_eq!(collector.push("1\n").unwrap().as_deref(), Some("1\n"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let nested = |depth: usize| format!("{}{}\n", "[".repeat(depth), "]".repeat(depth));
        let documents = JsonCollector::default().push(&nested(MAX_DEPTH)).unwrap();
        assert_eq!(run("length", &documents.unwrap()).unwrap().len(), 1);
        let error = JsonCollector::default().push(&nested(MAX_DEPTH + 1));
        assert_eq!(error.unwrap_err().kind, ErrorKind::Usage);
    }
}
