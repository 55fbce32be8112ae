//! The language as tables: each line is a message of its specification.

use jiff::tz::TimeZone;

use crate::mail::{Address, ApiTime, EmailId, SafeText, Status, Summary, Tag};

use super::{
    BodyTexts, EmailDocument, Node, ParseContext, ParsedQuery, Query, SearchText, SyntaxRole, Term,
    matches, parse,
};

/// Friday, 20 November 2026, 09:41 in Berlin.
pub(super) fn context() -> ParseContext {
    let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    ParseContext::new("2026-11-20T08:41:00Z".parse().unwrap(), berlin)
}

fn read(text: &str) -> ParsedQuery {
    parse(text, &context())
}

fn word(text: &str) -> Query {
    Query {
        filter: Node::Term(Term::Word(SearchText::new(text).unwrap())),
        ..Query::match_all()
    }
}

#[test]
fn what_is_typed_and_its_canonical_text() {
    for (typed, canonical) in [
        ("", ""),
        ("   ", ""),
        ("receipt", "receipt"),
        ("  your   receipt ", "your receipt"),
        ("your and receipt", "your receipt"),
        ("\"your   receipt\"", "\"your receipt\""),
        ("\"receipt\"", "receipt"),
        (r#""say \"hi\" \\ \n""#, r#""say \"hi\" \\ \\n""#),
        ("a or b", "a or b"),
        ("a OR b c", "a or b c"),
        ("(a or b) c", "(a or b) c"),
        ("((a) (b or (c)))", "a (b or c)"),
        ("a (b c)", "a b c"),
        ("a or (b or c)", "a or b or c"),
        ("-a", "-a"),
        ("not a", "-a"),
        ("NOT (a or b)", "-(a or b)"),
        ("-(a b) c", "-(a b) c"),
        ("not not a", "a"),
        ("not -a", "a"),
        ("-\"a b\"", "-\"a b\""),
        ("-status:bounced", "-status:bounced"),
        ("To:ana@example.com", "to:ana@example.com"),
        ("subject:\"Your receipt\"", "subject:\"Your receipt\""),
        (
            "reply-to:help any:a cc:b bcc:c from:d body:e id:f message-id:<g@h>",
            "reply-to:help any:a cc:b bcc:c from:d body:e id:f message-id:<g@h>",
        ),
        ("recipient:Ana@example.com", "recipient:Ana@example.com"),
        ("domain:@Example.org", "domain:Example.org"),
        (
            "status:delivered,opened,delivered",
            "status:delivered,opened",
        ),
        ("status:\"delivered, opened\"", "status:delivered,opened"),
        ("status:delivery_delayed", "status:delayed"),
        ("status:Cancelled,email.bounced", "status:canceled,bounced"),
        ("status:-", "status:-"),
        ("status:teleported", "status:teleported"),
        ("is:Trouble is:scheduled", "is:trouble is:scheduled"),
        (
            "has:cc has:bcc has:reply-to has:text has:html has:body has:tag",
            "has:cc has:bcc has:reply-to has:text has:html has:body has:tag",
        ),
        ("tag:plan", "tag:plan"),
        ("tag:plan=", "tag:plan"),
        ("tag:plan=pro", "tag:plan=pro"),
        ("tag:plan=\"pro max\"", "tag:\"plan=pro max\""),
        ("tag:\"plan = pro max\"", "tag:\"plan=pro max\""),
        (r#"tag:"a=\"=""#, r#"tag:"a=\"=""#),
        (
            "after:Today before:2026-11-02 on:yesterday",
            "after:today before:2026-11-02 on:yesterday",
        ),
        (
            "after:Monday on:wednesday on:sunday",
            "after:mon on:wed on:sun",
        ),
        (
            "on:2026 on:2026-11 on:2026-11-02t09:30",
            "on:2026 on:2026-11 on:2026-11-02T09:30",
        ),
        ("after:2h after:07d after:3W", "after:2h after:7d after:3w"),
        ("seen-change:1d", "seen-change:1d"),
        ("sort:oldest", "sort:oldest"),
        ("sort:oldest receipt", "receipt sort:oldest"),
        ("sort:oldest sort:newest a", "a"),
        ("a or sort:oldest", "a sort:oldest"),
        ("(sort:oldest) a", "a sort:oldest"),
    ] {
        let parsed = read(typed);
        assert_eq!(parsed.query.to_string(), canonical, "{typed}");
        assert_eq!(read(canonical).query, parsed.query, "{typed}");
    }
}

#[test]
fn what_is_not_syntax_is_a_word() {
    for text in [
        "foo:bar",
        "https://example.com/a?b=c",
        "e-mail",
        "--all",
        "-",
        ":",
        ":)",
        "(",
        ")",
        "()",
        "( )",
        "f(x)",
        "\"",
        "\"\"",
        "5\"",
        "a\"b",
        "or",
        "and",
        "not",
        "to:",
        "to:\"",
        "status:,",
        "is:odd",
        "has:wings",
        "sort:size",
        "after:tomorowish",
        "on:2026-13-01",
        "on:2026-02-30",
        "on:20261102",
        "on:mond",
        "on:mondays",
        "after:7",
        "after:d",
        "after:-7d",
        "after:99999999999d",
        "before:4000000000w",
        "domain:@",
        "tag:=x",
        "'",
        "1=1",
        "NEAR(a*)",
    ] {
        assert_eq!(read(text).query, word(text), "{text}");
    }
}

#[test]
fn dangling_syntax_is_a_word_where_it_stands() {
    for (typed, canonical) in [
        ("a or", "a \"or\""),
        ("or a", "\"or\" a"),
        ("a or or b", "a or \"or\" b"),
        ("a and", "a \"and\""),
        ("a not", "a \"not\""),
        ("-not a", "-\"not\" a"),
        ("(a or ) b", "a \"or\" b"),
        ("a )", "a \")\""),
        ("a) b", "\"a)\" b"),
        ("(a :( )", "a \":(\""),
        ("(f(x) or y)", "\"f(x)\" or y"),
        ("foo (", "foo \"(\""),
        ("status: bounced", "\"status:\" bounced"),
        ("\"status:bounced\"", "\"status:bounced\""),
        ("\"-a\" \"or\"", "\"-a\" \"or\""),
    ] {
        assert_eq!(read(typed).query.to_string(), canonical, "{typed}");
    }
}

#[test]
fn what_is_not_closed_reaches_to_the_end() {
    for (typed, canonical) in [
        ("\"your rec", "\"your rec\""),
        ("subject:\"your rec", "subject:\"your rec\""),
        ("(a or b", "a or b"),
        ("c (a or b", "c (a or b)"),
        ("-(a -(b", "-(a -b)"),
    ] {
        let parsed = read(typed);
        assert_eq!(parsed.query.to_string(), canonical, "{typed}");
        assert!(
            parsed
                .diagnostics
                .iter()
                .all(|note| note.message.contains("is not closed"))
                && !parsed.diagnostics.is_empty(),
            "{typed}"
        );
    }
}

#[test]
fn what_is_misread_is_said_where_it_stands() {
    for (typed, at, words) in [
        ("status:boun", "boun", "bounced?"),
        (
            "status:opened,teleported",
            "opened,teleported",
            "those are scheduled, queued",
        ),
        (
            "to:",
            "to:",
            "needs a value right after the colon, as in to:ana@example.com",
        ),
        ("is:bad", "bad", "this can be trouble, scheduled or gone"),
        (
            "has:wings",
            "wings",
            "cc, bcc, reply-to, text, html, body or tag",
        ),
        ("sort:size", "size", "newest or oldest"),
        ("after:soon", "soon", "today, mon, last-week"),
        ("before:4000000000w", "4000000000w", "does not reach so far"),
        ("a )", ")", "closes nothing"),
        ("a (", "(", "opens nothing"),
        ("()", "()", "nothing is in these brackets"),
        ("\"a", "\"", "is not closed"),
        ("\u{200B}", "\u{200B}", "nothing here can be looked for"),
    ] {
        let parsed = read(typed);
        let note = parsed
            .diagnostic_at(typed.len())
            .or(parsed.diagnostics.first())
            .unwrap_or_else(|| panic!("no note: {typed}"));
        assert_eq!(
            (&typed[note.range.clone()], parsed.diagnostics.len()),
            (at, 1),
            "{typed}"
        );
        assert!(note.message.contains(words), "{typed}: {}", note.message);
    }
    for typed in [
        "foo:bar",
        "https://example.com",
        ":)",
        "a or b",
        "-x",
        "\"a b\"",
        "status:bounced",
    ] {
        assert_eq!(read(typed).diagnostics, [], "{typed}");
    }
}

#[test]
fn each_byte_has_its_role() {
    for (typed, painted) in [
        ("a or -(b not c)", "w cc ccw ccc wc"),
        ("to:ana \"b c\"", "oooVVV wwwww"),
        ("tag:a=\"b c\" x", "ooooVVVVVVV w"),
        ("is:odd after:7d", "ooo!!! ooooooVV"),
        ("x to: )", "w !!! !"),
    ] {
        let mut roles = vec![' '; typed.len()];
        for span in read(typed).spans {
            let letter = match span.role {
                SyntaxRole::Operator => 'o',
                SyntaxRole::Value => 'V',
                SyntaxRole::Word => 'w',
                SyntaxRole::Keyword => 'c',
                SyntaxRole::Error => '!',
            };
            roles[span.range].fill(letter);
        }
        assert_eq!(String::from_iter(roles), painted, "{typed}");
    }
}

#[test]
fn some_queries_want_nothing_before_a_time() {
    for (text, since) in [
        ("", None),
        ("receipt", None),
        ("after:2026-11-02 receipt", Some("2026-11-01T23:00:00Z")),
        ("after:2026-11-02 on:2026-11", Some("2026-11-01T23:00:00Z")),
        (
            "after:2026-11-02 or on:2026-11",
            Some("2026-10-31T23:00:00Z"),
        ),
        ("after:2026-11-02 or receipt", None),
        ("before:2026-11-02", None),
        ("-before:2026-11-02", Some("2026-11-01T23:00:00Z")),
        (
            "-(before:2026-11-02 or receipt)",
            Some("2026-11-01T23:00:00Z"),
        ),
        ("-(before:2026-11-02 receipt)", None),
        ("-after:2026-11-02", None),
    ] {
        assert_eq!(
            read(text).query.earliest_match(),
            since.map(|since| since.parse().unwrap()),
            "{text}"
        );
    }
}

pub(super) fn address(text: &str) -> Address {
    Address::parse(text)
}

pub(super) fn summary() -> Summary {
    Summary {
        id: EmailId::new("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
        to: vec![
            address("Ana López <ana.lopez@example.com>"),
            address("佐藤 <sato@mail.example.test>"),
        ],
        cc: vec![address("team@example.org")],
        bcc: Vec::new(),
        reply_to: vec![address("help@acme.example")],
        from: address("Acme <billing@acme.example>"),
        subject: SafeText::new("Your receipt #4821: ご注文の確認"),
        message_id: SafeText::new("<111-222@mail.example>"),
        created: ApiTime::parse("2026-11-19T23:30:00Z"),
        scheduled: None,
        status: Status::Bounced,
        extra: Vec::new(),
    }
}

#[test]
fn what_each_operator_finds() {
    let mail = summary();
    let tags = [Tag {
        name: SafeText::new("Category"),
        value: SafeText::new("Reçu 1"),
    }];
    let bodies = BodyTexts {
        text: Some("Hello Ana,\nthe order costs 31.90 Euro."),
        html: None,
    };
    let seen_change = Some("2026-11-20T08:00:00Z".parse().unwrap());
    let listed = EmailDocument {
        summary: &mail,
        bodies: None,
        tags: None,
        seen_change: None,
        is_missing_upstream: false,
    };
    let fetched = EmailDocument {
        summary: &mail,
        bodies: Some(bodies),
        tags: Some(&tags),
        seen_change,
        is_missing_upstream: true,
    };
    let (yes, no) = (Some(true), Some(false));
    for (text, when_listed, when_fetched) in [
        ("", yes, yes),
        ("ana.lopez", yes, yes),
        ("LOPEZ", yes, yes),
        ("ceip", yes, yes),
        ("注文", yes, yes),
        ("\"your receipt\"", yes, yes),
        ("\"receipt your\"", no, no),
        ("receipt ana -bounce", yes, yes),
        ("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", yes, yes),
        ("49a3999c", no, no),
        ("111-222@mail.example", yes, yes),
        ("\"<\" or bounced", yes, yes),
        ("order", no, yes),
        ("-order", yes, no),
        ("rder", no, no),
        ("body:order", None, yes),
        ("-body:order", None, no),
        ("body:rder", None, no),
        ("body:\"hello ana the ord\"", None, yes),
        ("body:receipt", None, no),
        ("to:lopez", yes, yes),
        ("to:\"ana lopez <ana\"", yes, yes),
        ("to:billing", no, no),
        ("from:acme", yes, yes),
        ("cc:team bcc:team", no, no),
        ("cc:team", yes, yes),
        ("reply-to:help", yes, yes),
        ("any:help any:billing any:team any:sato", yes, yes),
        ("any:receipt", no, no),
        ("subject:4821", yes, yes),
        ("subject:ana", no, no),
        ("id:49A3", yes, yes),
        ("id:999c", no, no),
        ("message-id:111", yes, yes),
        ("message-id:<111-222@mail.example>", yes, yes),
        ("message-id:222", no, no),
        (
            "recipient:ANA.lopez@example.com recipient:team@example.org",
            yes,
            yes,
        ),
        (
            "recipient:lopez@example.com or recipient:ana.lopez@example or recipient:billing@acme.example",
            no,
            no,
        ),
        ("domain:EXAMPLE.com", yes, yes),
        ("domain:mail.example.test", yes, yes),
        ("domain:example.test", no, no),
        ("domain:example.org", yes, yes),
        ("domain:acme.example", no, no),
        ("status:bounced", yes, yes),
        ("status:opened,bounced", yes, yes),
        ("-status:opened", yes, yes),
        ("is:trouble -is:scheduled", yes, yes),
        ("has:cc has:reply-to -has:bcc", yes, yes),
        ("has:text", None, yes),
        ("has:html", None, no),
        ("has:body", None, yes),
        ("has:tag", None, yes),
        ("-has:tag", None, no),
        ("tag:category", None, yes),
        ("tag:categ", None, no),
        ("tag:category=\"recu 1\"", None, yes),
        ("tag:category=recu", None, no),
        ("-tag:category", None, no),
        ("tag:category or status:bounced", yes, yes),
        ("tag:category status:opened", no, no),
        ("tag:category status:bounced", None, yes),
        ("on:today", yes, yes),
        ("on:2026-11-20", yes, yes),
        ("on:2026-11-20T00:30", yes, yes),
        ("on:yesterday", no, no),
        ("after:2026-11-20T00:30 -after:2026-11-20T00:31", yes, yes),
        ("before:2026-11-20T00:31 -before:2026-11-20T00:30", yes, yes),
        ("after:7d -after:2h", yes, yes),
        ("seen-change:1d", no, yes),
        ("-seen-change:1d", yes, no),
        ("is:gone", no, yes),
        ("seen-change:30w -seen-change:0h", no, yes),
        ("sort:oldest", yes, yes),
    ] {
        let query = read(text).query;
        assert_eq!(
            (matches(&query, &listed), matches(&query, &fetched)),
            (when_listed, when_fetched),
            "{text}"
        );
    }
    let unreadable = Summary {
        created: ApiTime::parse("soon"),
        message_id: SafeText::default(),
        ..summary()
    };
    let facts = EmailDocument {
        summary: &unreadable,
        ..listed
    };
    for (text, found) in [
        ("after:2000", None),
        ("-after:2000", None),
        ("message-id:<", no),
        ("\"<>\"", no),
    ] {
        assert_eq!(matches(&read(text).query, &facts), found, "{text}");
    }
}

#[test]
fn an_unknown_status_is_found_by_its_word() {
    let mail = Summary {
        status: Status::parse("Teleported"),
        ..summary()
    };
    let facts = EmailDocument {
        summary: &mail,
        bodies: None,
        tags: None,
        seen_change: None,
        is_missing_upstream: false,
    };
    assert_eq!(
        matches(&read("status:TELEPORTED").query, &facts),
        Some(true)
    );
    assert_eq!(matches(&read("status:tele").query, &facts), Some(false));
}

#[test]
fn query_without_status_finds_whatever_the_statuses_become() {
    for (query, expected) in [
        ("status:bounced", ""),
        ("to:ana is:trouble", "to:ana"),
        ("to:ana -status:sent after:2026", "to:ana after:2026"),
        ("status:bounced or to:ana", ""),
        ("-(status:bounced or to:ana)", "-to:ana"),
        ("-(status:bounced to:ana)", ""),
        ("-(to:bo (is:gone or to:ana)) acme", "-(to:bo to:ana) acme"),
        ("seen-change:1d subject:hi sort:oldest", "subject:hi"),
        ("to:ana", "to:ana"),
    ] {
        let query = read(query).query;
        assert_eq!(
            query.without_status().to_string(),
            read(expected).query.to_string(),
            "{query}"
        );
        assert_eq!(
            query.depends_on_status(),
            query.without_status().filter != query.filter,
            "{query}"
        );
    }
}
