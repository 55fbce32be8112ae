//! Reads the properties of fonts and lines.

use cssparser::{Parser, Token};

use super::declare::Declared;
use super::style::{Length, LineHeight};
use super::values::{Fault, fault, length, word};

pub(super) fn font_size(input: &mut Parser<'_>, quirks: bool) -> Result<Declared, Fault> {
    let keyword = |word: &str| {
        Some(match word {
            "xx-small" => Declared::Font(Length::Px(9.0)),
            "x-small" => Declared::Font(Length::Px(10.0)),
            "small" => Declared::Font(Length::Px(13.0)),
            "medium" => Declared::Font(Length::Px(16.0)),
            "large" => Declared::Font(Length::Px(18.0)),
            "x-large" => Declared::Font(Length::Px(24.0)),
            "xx-large" => Declared::Font(Length::Px(32.0)),
            "smaller" => Declared::FontFactor(1.0 / 1.2),
            "larger" => Declared::FontFactor(1.2),
            _ => return None,
        })
    };
    if let Ok(word) = input.try_parse(word) {
        return keyword(&word).ok_or_else(fault);
    }
    match length(input, quirks)? {
        Length::Auto => Err(fault()),
        Length::Px(px) if px < 0.0 => Err(fault()),
        length => Ok(Declared::Font(length)),
    }
}

pub(super) fn weight(input: &mut Parser<'_>) -> Result<Declared, Fault> {
    match input.next()?.clone() {
        Token::Number { value, .. } if (1.0..=1000.0).contains(&value) => {
            #[expect(clippy::cast_sign_loss, reason = "the range was just checked")]
            let weight = value as u16;
            Ok(Declared::Weight(weight))
        }
        Token::Ident(word) => match &*word.to_ascii_lowercase() {
            "normal" => Ok(Declared::Weight(400)),
            "bold" => Ok(Declared::Weight(700)),
            "bolder" => Ok(Declared::Bolder(true)),
            "lighter" => Ok(Declared::Bolder(false)),
            _ => Err(fault()),
        },
        _ => Err(fault()),
    }
}

pub(super) fn is_mono(input: &mut Parser<'_>) -> bool {
    let first = input.next().ok().cloned();
    match first {
        Some(Token::Ident(name) | Token::QuotedString(name)) => {
            let name = name.to_ascii_lowercase();
            ["mono", "courier", "consolas", "menlo", "monaco"]
                .iter()
                .any(|part| name.contains(part))
        }
        _ => false,
    }
}

pub(super) fn font(
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declared>,
) -> Result<(), Fault> {
    let mut found = vec![
        Declared::Weight(400),
        Declared::Italic(false),
        Declared::LineHeight(LineHeight::Normal),
    ];
    loop {
        if let Ok(size) = input.try_parse(|input| font_size(input, quirks)) {
            found.push(size);
            break;
        }
        if let Ok(weight) = input.try_parse(weight) {
            found.push(weight);
        } else if matches!(&*word(input)?, "italic" | "oblique") {
            found.push(Declared::Italic(true));
        }
    }
    if input.try_parse(|input| input.expect_delim('/')).is_ok() {
        found.push(line_height(input, quirks)?);
    }
    found.push(Declared::Mono(is_mono(input)));
    out.append(&mut found);
    Ok(())
}

pub(super) fn line_height(input: &mut Parser<'_>, quirks: bool) -> Result<Declared, Fault> {
    if input
        .try_parse(|input| input.expect_ident_matching("normal"))
        .is_ok()
    {
        return Ok(Declared::LineHeight(LineHeight::Normal));
    }
    if let Ok(factor) = input.try_parse(Parser::expect_number) {
        return Ok(Declared::LineHeight(LineHeight::Factor(factor.max(0.0))));
    }
    match length(input, quirks)? {
        Length::Auto => Err(fault()),
        Length::Percent(share) => Ok(Declared::LineLength(Length::Em(share))),
        length => Ok(Declared::LineLength(length)),
    }
}
