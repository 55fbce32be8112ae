//! The language as tables: each line is an example of its specification.

use crate::mail::{ApiTime, SafeText, Status, Summary, Tag};

use super::arbitrary::{context, summary};
use crate::query::operators::Operator;
use crate::query::{
    BodyTexts, EmailDocument, Node, ParsedQuery, Query, SearchText, SyntaxRole, Term, matches,
    parse,
};

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
#[rustfmt::skip] // one example a line
fn text_is_parsed_and_printed_as_canonical_text() {
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
        ("a b a -b a", "a b -b"),
        ("a or b or a", "a or b"),
        ("(a or a) b", "a b"),
        ("-a", "-a"),
        ("not a", "-a"),
        ("NOT (a or b)", "-(a or b)"),
        ("-(a b) c", "-(a b) c"),
        ("not not a", "a"),
        ("not -a", "a"),
        ("-\"a b\"", "-\"a b\""),
        ("-status:bounced", "-status:bounced"),
        ("To:ana@example.com", "to:ana@example.com"),
        ("To: ana@example.com, bo@example.com hi", "(to:ana@example.com or to:bo@example.com) hi"),
        ("on: 2 Nov ana", "on:2-nov ana"),
        ("An: ana@example.com hi", "to:ana@example.com hi"),
        ("Ämne: hi De: bo@x.org", "subject:hi from:bo@x.org"),
        ("Da: Vinci", "Da Vinci"),
        ("till: friday", "till friday"),
        ("an:ana", "an:ana"),
        ("Re: Offer AN-77", "Offer AN-77"),
        ("[EXT] AW: Fwd: Offer", "Offer"),
        ("Re:", "Re"),
        ("Subject: Re: Offer AN-77", "subject:Offer AN-77"),
        ("Subject: Re:", "subject:Re:"),
        ("From: A <a@x.org>\nTo: b@x.org\nSubject: Fw: Hi you", "from:a@x.org to:b@x.org subject:\"Hi you\""),
        ("To: Ana <ana@x.org>", "to:ana@x.org"),
        ("-subject: \"your receipt\"", "-subject:\"your receipt\""),
        ("id: <49a3999c>", "id:49a3999c"),
        ("<49a3999c-0ce1-4ea6-ab68-afcd6dc2e794>", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
        ("<b> \"<49a3999c-0ce1-4ea6-ab68-afcd6dc2e794>\"", "b \"<49a3999c-0ce1-4ea6-ab68-afcd6dc2e794>\""),
        ("subject:\"Your receipt\"", "subject:\"Your receipt\""),
        ("reply-to:help any:a cc:b bcc:c from:d body:e id:f message-id:<g@h>", "reply-to:help any:a cc:b bcc:c from:d body:e id:f message-id:<g@h>"),
        ("recipient:Ana@example.com", "recipient:Ana@example.com"),
        ("domain:@Example.org", "domain:Example.org"),
        ("status:delivered,opened,delivered", "status:delivered,opened"),
        ("status:\"delivered, opened\"", "status:delivered,opened"),
        ("status:delivery_delayed", "status:delayed"),
        ("status:Cancelled,email.bounced", "status:canceled,bounced"),
        ("status:-", "status:-"),
        ("status:teleported", "status:teleported"),
        ("status:Strange-One", "status:strange-one"),
        ("not(ana or bob) Or(to:c)", "-(ana or bob) or to:c"),
        ("on:2 Nov ana", "on:2-nov ana"),
        ("on:Nov 2, 2026 ana", "on:2026-11-02 ana"),
        ("on:Nov 2026 ana", "on:2026-11 ana"),
        ("on:nov ana", "on:november ana"),
        ("on:last week ana", "on:last-week ana"),
        ("after:7d  ago ana", "after:7d ana"),
        ("after:nov 2nd ana", "after:2-nov ana"),
        ("on:Sun Nov 1 2026 ana", "on:2026-11-01 ana"),
        ("on:4 july ana", "on:4-jul ana"),
        ("on:Mon Sept 28 ana", "on:28-sep ana"),
        ("on:mon 4 July ana", "on:4-jul ana"),
        ("before:march 4711", "before:march \"4711\""),
        ("before:april 12.50", "before:april \"12.50\""),
        ("after:mon 24/7", "after:mon \"24/7\""),
        ("after:3 days ago ana", "after:3d ana"),
        ("after:3 days 4821", "after:3d 4821"),
        ("after:3d \"ago\"", "after:3d \"ago\""),
        ("(before:Nov 2) or on:2 nov 2026 17", "before:2-nov or on:2026-11-02 17"),
        ("after:2026 nov", "after:2026 nov"),
        ("before:Mon 2 Nov 2026 10:00:07 UTC or ana", "before:2026-11-02T10:00:07Z or ana"),
        ("on:\"2026-11-02 10:00 CET\"", "on:2026-11-02T10:00"),
        ("after:2026-11-02 10:00:07 UTC ana", "after:2026-11-02T10:00:07Z ana"),
        ("on:\"2026-11-02 10:00:07 +02:00\" ana", "on:2026-11-02T10:00:07+02:00 ana"),
        ("on:2026-11-02 \"10:00\"", "on:2026-11-02 \"10:00\""),
        ("to:2 nov", "to:2 nov"),
        ("on:Wed 4 Nov ana", "on:4-nov ana"),
        ("on:wed \"4\" nov", "on:wed \"4\" nov"),
        ("-on:wed (4 nov)", "-on:wed \"4\" nov"),
        ("after:tue 18:00 ana", "after:\"tue 18:00\" ana"),
        ("on:24 nov 18:00", "on:\"24-nov 18:00\""),
        ("to:a@x.example,b@x.example", "to:a@x.example or to:b@x.example"),
        ("<a@x.example>; mailto:B@x.example. [c@x.example],", "a@x.example B@x.example c@x.example"),
        ("recipient:<a@x.example> to:a@x.example,", "recipient:a@x.example to:a@x.example"),
        ("\"<a@x.example>\" to:\"<a@x.example>\"", "\"<a@x.example>\" to:\"<a@x.example>\""),
        ("to:a@x.example, b@x.example c", "(to:a@x.example or to:b@x.example) c"),
        ("-domain:x.example,y.example", "-(domain:x.example or domain:y.example)"),
        ("to:a, subject:b", "to:a subject:b"),
        ("to:\"Perez, Ana\"", "to:\"Perez, Ana\""),
        ("status:bounced, failed ana", "status:bounced,failed ana"),
        ("is:Trouble is:scheduled", "is:trouble is:scheduled"),
        ("is:Bounced", "status:bounced"),
        ("has:cc has:bcc has:reply-to has:text has:html has:body has:tag has:reason", "has:cc has:bcc has:reply-to has:text has:html has:body has:tag has:reason"),
        ("tag:plan", "tag:plan"),
        ("tag:plan=", "tag:plan"),
        ("tag:plan=pro", "tag:plan=pro"),
        ("tag:plan=\"pro max\"", "tag:\"plan=pro max\""),
        ("tag:\"plan = pro max\"", "tag:\"plan=pro max\""),
        (r#"tag:"a=\"=""#, r#"tag:"a=\"=""#),
        ("after:Today before:2026-11-02 on:yesterday", "after:today before:2026-11-02 on:yesterday"),
        ("after:Monday on:wednesday on:sunday", "after:mon on:wed on:sun"),
        ("on:2026 on:2026-11 on:2026-11-02t09:30", "on:2026 on:2026-11 on:2026-11-02T09:30"),
        ("after:05min after:2h after:07d after:3W", "after:5min after:2h after:7d after:3w"),
        ("on:13:18 before: 09:30 ana", "on:\"today 13:18\" before:\"today 09:30\" ana"),
        ("seen-change:1d", "seen-change:1d"),
        ("Perez, Ana <a@x.example>; b@x.example", "a@x.example or b@x.example"),
        ("- a@x.example\n- b@x.example", "a@x.example or b@x.example"),
        ("HP-1, HP-2", "HP-1 or HP-2"),
        ("is:sent HP-1, HP-2", "status:sent HP-1 HP-2"),
        ("\"HP-1,HP-2\"", "\"HP-1,HP-2\""),
        ("https://resend.com/emails/49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
        ("<https://resend.com/emails/49a3999c-0ce1-4ea6-ab68-afcd6dc2e794/?tab=html>,", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
        ("https://x.example/49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "https://x.example/49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
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
#[rustfmt::skip] // one example a line
fn punctuation_around_words_is_left_out() {
    for (typed, canonical) in [
        ("Nwosu, Zainab; nwosu. nwosu! nwosu? nwosu: nwosu…", "Nwosu Zainab nwosu"),
        ("'nwosu' ‘nwosu’ “nwosu” (nwosu) [nwosu] {nwosu} <nwosu> ¿nwosu?", "nwosu"),
        ("*invoic* recei*", "invoic recei"),
        ("The man · Journ…", "The man Journ"),
        ("Terms & Conditions – new |", "Terms Conditions new"),
        ("“your receipt” „your receipt“ «your receipt» ‘your receipt’ »your receipt«", "\"your receipt\""),
        ("‘don’t go’, 'go'", "\"don’t go\" go"),
        ("“your receipt", "your receipt"),
        ("\"your receipt\", ana", "\"your receipt\" ana"),
        ("@x .example #3 €31 50% C++ f(x) a[1] 12\" e-mail --all", "@x .example #3 €31 50% C++ \"f(x)\" a[1] \"12\\\"\" e-mail \"--all\""),
        ("*@post.example \"ana@x.example\", 'bo@x.example'", "@post.example ana@x.example bo@x.example"),
        ("\"nwosu,\" \"invoic*\" \"–\"", "\"nwosu,\" \"invoic*\" \"–\""),
        ("– or nwosu, -…", "\"–\" or nwosu -\"…\""),
        ("· :)", "\"·\" \":)\""),
        ("subject:recei* from:billing* to:*@post.example,*bo* subject:Journ…", "subject:recei from:billing (to:@post.example or to:bo) subject:Journ"),
        ("subject:“your receipt” to:“Perez, Ana” subject:\"recei*\" subject:*", "subject:\"your receipt\" to:\"Perez, Ana\" subject:\"recei*\" subject:*"),
    ] {
        let parsed = read(typed);
        assert_eq!(parsed.query.to_string(), canonical, "{typed}");
        assert_eq!(read(canonical).query, parsed.query, "{typed}");
    }
}

#[test]
#[rustfmt::skip] // many examples a line
fn text_without_syntax_is_a_word() {
    for text in [
        "foo:bar", "https://example.com/a?b=c", "e-mail", "--all", "-", ":", ":)", "(", ")", "()",
        "( )", "f(x)", "\"", "\"\"", "5\"", "a\"b", "or", "and", "not", "to:", "to:\"", "status:,",
        "is:odd", "has:wings", "sort:size", "after:tomorowish", "on:2026-13-01", "on:2026-02-30",
        "on:20261102", "on:mond", "on:mondays", "after:7", "after:d", "after:-7d",
        "after:99999999999d", "before:4000000000w", "domain:@", "tag:=x", "'", "1=1", "NEAR(a*)",
    ] {
        assert_eq!(read(text).query, word(text), "{text}");
    }
}

#[test]
#[rustfmt::skip] // one example a line
fn keyword_or_parenthesis_without_operand_is_a_word() {
    for (typed, canonical) in [
        ("a or", "a \"or\""),
        ("or a", "\"or\" a"),
        ("a or or b", "a or \"or\" b"),
        ("a and", "a \"and\""),
        ("a not", "a \"not\""),
        ("-not a", "-\"not\" a"),
        ("(a or ) b", "a \"or\" b"),
        ("a )", "a \")\""),
        ("a) b", "a b"),
        ("(a :( )", "a"),
        ("(f(x) or y)", "\"f(x)\" or y"),
        ("foo (", "foo \"(\""),
        ("status: or bounced", "\"status:\" or bounced"),
        ("to: subject:hi", "\"to:\" subject:hi"),
        ("(to: ) -a", "\"to:\" -a"),
        ("\"status:bounced\"", "\"status:bounced\""),
        ("\"-a\" \"or\"", "\"-a\" \"or\""),
        (r#""C:\temp\""#, r"C:\temp\"),
        (r#"("C:\temp\") b"#, r"C:\temp\ b"),
        (r#""say \"hi\"""#, r#""say \"hi\"""#),
    ] {
        assert_eq!(read(typed).query.to_string(), canonical, "{typed}");
    }
}

#[test]
#[rustfmt::skip] // one example a line
fn unclosed_quotes_and_groups_extend_to_the_end() {
    for (typed, canonical) in [
        ("\"your rec", "\"your rec\""),
        ("subject:\"your rec", "subject:\"your rec\""),
        ("(a or b", "a or b"),
        ("c (a or b", "c (a or b)"),
        ("-(a -(b", "-(a -b)"),
    ] {
        let parsed = read(typed);
        assert_eq!(parsed.query.to_string(), canonical, "{typed}");
        assert!(!parsed.diagnostics.is_empty(), "{typed}");
        for diagnostic in parsed.diagnostics {
            assert!(diagnostic.message.contains("extends to the end"), "{typed}");
        }
    }
}

#[test]
#[rustfmt::skip] // one example a line
fn diagnostic_names_the_misread_text() {
    for (typed, range, message) in [
        ("status:boun", "boun", "did you mean bounced?"),
        ("status:trouble", "trouble", "did you mean is:trouble?"),
        ("status:opened,teleported", "opened,teleported", "`teleported`; known are scheduled, queued"),
        ("to:", "to:", "needs a value, for example to:ana@example.com"),
        ("is:undelivered", "undelivered", "unknown status; did you mean is:trouble?"),
        ("status:not-delivered", "not-delivered", "unknown status; did you mean is:trouble?"),
        ("is:unsent", "unsent", "expected trouble, scheduled or gone"),
        ("status:unopened", "unopened", "unknown status; known are"),
        ("is:bad", "bad", "expected trouble, scheduled or gone"),
        ("has:wings", "wings", "cc, bcc, reply-to, text, html, body, tag or reason"),
        ("sort:size", "size", "newest or oldest"),
        ("after:soon", "soon", "today, last-week, 09:30"),
        ("after:yesteday", "yesteday", "unknown date; did you mean yesterday?"),
        ("on:tody", "tody", "unknown date; did you mean today?"),
        ("before:Last-weak", "Last-weak", "did you mean last-week?"),
        ("seen-change:wensday", "wensday", "did you mean wednesday?"),
        ("on:feb 30", "feb 30", "expected a date such as"),
        ("before:feb 29 2026", "feb 29 2026", "expected a date such as"),
        ("on:04/11/2026", "04/11/2026", "2026-11-27 or 27.11.2026"),
        ("on:27-11-2026", "27-11-2026", "2026-11-27 or 27.11.2026"),
        ("before:4000000000w", "4000000000w", "out of range"),
        ("to:(ana or bob)", "(ana", "quote it, or write (to:a or to:b)"),
        ("a )", ")", "no matching \"(\""),
        ("a (", "(", "no matching \")\""),
        ("()", "()", "empty group"),
        ("\"a", "\"", "missing closing quote"),
        ("bounced since mon 2 nov 2026", "bounced since mon 2 nov 2026", "did you mean status:bounced after:mon 2 nov 2026?"),
        ("bounced since april 2025", "bounced since april 2025", "did you mean status:bounced after:april 2025?"),
        ("bounced since yesterday", "bounced since yesterday", "did you mean status:bounced after:yesterday?"),
        ("Anna delivered on 2026-11-02", "Anna delivered on 2026-11-02", "did you mean anna status:delivered on:2026-11-02?"),
        ("bounced", "bounced", "did you mean status:bounced?"),
        ("before:mon after:fri", "before:mon after:fri", "nothing can match: these times do not overlap"),
        ("bounced yesterday", "bounced yesterday", "did you mean status:bounced on:yesterday?"),
        ("status:bounced 25 nov", "status:bounced 25 nov", "did you mean status:bounced on:25 nov?"),
        ("to:Ana 3 Nov 2026", "to:Ana 3 Nov 2026", "did you mean to:Ana on:3 nov 2026?"),
        ("to:Ana bounced", "to:Ana bounced", "did you mean to:Ana status:bounced?"),
        ("staus:bounced", "staus:bounced", "did you mean status:?"),
        ("since:monday", "since:monday", "did you mean after:?"),
        ("date:today", "date:today", "did you mean on:?"),
        ("is:sent Ana <a@x.example>", "Ana <a@x.example>", "a@x.example alone finds all mail with it"),
        ("Perez, Ana <a@x.example>", "Perez, Ana <a@x.example>", "searched for as a@x.example"),
        ("HP-58168, HP-69315", "HP-58168, HP-69315", "one of these 2 is enough"),
        ("4711, 4712 is:sent", "4711, 4712", "(4711 or 4712) finds any of them"),
        ("\u{200B}", "\u{200B}", "no text to search for"),
        ("x invoic*", "invoic*", "searched for without *"),
        ("subject:recei*", "recei*", "searched for without *"),
        ("domain:*.example", "*.example", "* is no wildcard"),
        ("a@x.example b@x.example", "a@x.example b@x.example", "one email must match all of these"),
        ("to:a@x.example b@x.example", "to:a@x.example b@x.example", "to:A,B,C finds mail to any of them"),
    ] {
        let diagnostics = read(typed).diagnostics;
        let [diagnostic] = diagnostics.as_slice() else {
            panic!("{typed}: {diagnostics:?}")
        };
        assert_eq!(&typed[diagnostic.range.clone()], range, "{typed}");
        let found = &diagnostic.message;
        assert!(found.contains(message), "{typed}: {found}");
    }
    for typed in [
        "foo:bar",
        "https://example.com",
        ":)",
        "a or b",
        "-x",
        "\"a b\"",
        "status:bounced",
        "Your booking for 12 March 2026 is confirmed",
        "dec 25 sale",
        "3 nov 4 nov",
    ] {
        assert_eq!(read(typed).diagnostics, [], "{typed}");
    }
}

#[test]
fn each_byte_has_its_syntax_role() {
    for (typed, expected) in [
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
        assert_eq!(String::from_iter(roles), expected, "{typed}");
    }
}

#[test]
#[rustfmt::skip] // one example a line
fn time_bounds_start_at_the_oldest_possible_match() {
    for (text, oldest) in [
        ("", None),
        ("receipt", None),
        ("after:2026-11-02 receipt", Some("2026-11-01T23:00:00Z")),
        ("after:2026-11-02 on:2026-11", Some("2026-11-01T23:00:00Z")),
        ("after:2026-11-02 or on:2026-11", Some("2026-10-31T23:00:00Z")),
        ("after:2026-11-02 or receipt", None),
        ("before:2026-11-02", None),
        ("-before:2026-11-02", Some("2026-11-01T23:00:00Z")),
        ("-(before:2026-11-02 or receipt)", Some("2026-11-01T23:00:00Z")),
        ("-(before:2026-11-02 receipt)", None),
        ("-after:2026-11-02", None),
    ] {
        let expected = oldest.map(|oldest| oldest.parse().unwrap());
        assert_eq!(read(text).query.filter.time_bounds(true).oldest, expected, "{text}");
    }
}

#[test]
#[rustfmt::skip] // one example a line
fn each_operator_matches_its_fields() {
    let mail = summary();
    let tags = [Tag {
        name: SafeText::new("Category"),
        value: SafeText::new("Reçu 1"),
    }];
    let bodies = BodyTexts {
        text: Some("Hello Ana,\nthe order costs 31.90 Euro."),
        html: None,
        extract_text: str::to_owned,
    };
    let seen_change = Some("2026-11-20T08:00:00Z".parse().unwrap());
    let listed = EmailDocument {
        summary: &mail,
        bodies: None,
        tags: None,
        reason: None,
        seen_change: None,
        is_missing_upstream: false,
    };
    let fetched = EmailDocument {
        summary: &mail,
        bodies: Some(bodies),
        tags: Some(&tags),
        reason: Some("Mailbox full Permanent; 552 5.2.2"),
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
        ("id:４9a3", no, no),
        ("id:49á3", no, no),
        ("id:49\u{200b}a3", yes, yes),
        ("message-id:111", yes, yes),
        ("message-id:<111-222@mail.example>", yes, yes),
        ("message-id:222", no, no),
        ("message-id:111-222@M", yes, yes),
        ("message-id:111-222@ḿ", no, no),
        ("recipient:ANA.lopez@example.com recipient:team@example.org", yes, yes),
        ("recipient:lopez@example.com or recipient:ana.lopez@example or recipient:billing@acme.example", no, no),
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
        ("reason:\"BOX full\"", None, yes),
        ("reason:552", None, yes),
        ("-reason:552", None, no),
        ("reason:unknown", None, no),
        ("has:reason", None, yes),
        ("-has:reason", None, no),
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
    let invalid = Summary {
        created: ApiTime::parse("soon"),
        message_id: SafeText::default(),
        status: Status::parse("Teleported"),
        ..summary()
    };
    let document = EmailDocument {
        summary: &invalid,
        ..listed
    };
    for (text, expected) in [
        ("after:2000", None),
        ("-after:2000", None),
        ("message-id:<", no),
        ("\"<>\"", no),
        ("status:TELEPORTED", yes),
        ("status:tele", no),
    ] {
        assert_eq!(matches(&read(text).query, &document), expected, "{text}");
    }
}

#[test]
fn query_without_status_or_bodies_matches_any() {
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
    for (text, rest) in [
        ("refund", ""),
        ("refund to:ana", "to:ana"),
        ("body:refund or to:ana", ""),
        ("-tag:vip after:2026-11-02", "after:2026-11-02"),
    ] {
        let without = read(text).query.without_bodies();
        assert_eq!(without.to_string(), rest, "{text}");
    }
}

#[test]
fn example_of_each_operator_is_parsed() {
    for operator in Operator::all() {
        let example = operator.example();
        assert_eq!(read(example).diagnostics, [], "{operator:?}");
        assert!(example.starts_with(&format!("{}:", operator.name())));
        let upper = operator.name().to_uppercase();
        assert_eq!(Operator::from_name(&upper), Some(operator));
    }
}
