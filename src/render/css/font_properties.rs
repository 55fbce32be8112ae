//! Reads the properties of fonts and lines.

use cssparser::{Parser, Token};

use super::computed::{Length, LineHeight};
use super::property::Declaration;
use super::values::{ValueError, parse_keyword, parse_length, value_error};

pub(super) fn parse_font_size(
    input: &mut Parser<'_>,
    quirks: bool,
) -> Result<Declaration, ValueError> {
    let keyword = |word: &str| {
        Some(match word {
            "xx-small" => Declaration::FontSize(Length::Px(9.0)),
            "x-small" => Declaration::FontSize(Length::Px(10.0)),
            "small" => Declaration::FontSize(Length::Px(13.0)),
            "medium" => Declaration::FontSize(Length::Px(16.0)),
            "large" => Declaration::FontSize(Length::Px(18.0)),
            "x-large" => Declaration::FontSize(Length::Px(24.0)),
            "xx-large" => Declaration::FontSize(Length::Px(32.0)),
            "smaller" => Declaration::FontSizeFactor(1.0 / 1.2),
            "larger" => Declaration::FontSizeFactor(1.2),
            _ => return None,
        })
    };
    if let Ok(word) = input.try_parse(parse_keyword) {
        return keyword(&word).ok_or_else(value_error);
    }
    match parse_length(input, quirks)? {
        Length::Auto => Err(value_error()),
        Length::Px(px) if px < 0.0 => Err(value_error()),
        length => Ok(Declaration::FontSize(length)),
    }
}

pub(super) fn parse_font_weight(input: &mut Parser<'_>) -> Result<Declaration, ValueError> {
    match input.next()?.clone() {
        Token::Number { value, .. } if (1.0..=1000.0).contains(&value) => {
            #[expect(clippy::cast_sign_loss, reason = "the range was just checked")]
            let weight = value as u16;
            Ok(Declaration::FontWeight(weight))
        }
        Token::Ident(word) => match &*word.to_ascii_lowercase() {
            "normal" => Ok(Declaration::FontWeight(400)),
            "bold" => Ok(Declaration::FontWeight(700)),
            "bolder" => Ok(Declaration::RelativeFontWeight(true)),
            "lighter" => Ok(Declaration::RelativeFontWeight(false)),
            _ => Err(value_error()),
        },
        _ => Err(value_error()),
    }
}

pub(super) fn parse_is_monospace(input: &mut Parser<'_>) -> bool {
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

pub(super) fn parse_font(
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let mut found = vec![
        Declaration::FontWeight(400),
        Declaration::Italic(false),
        Declaration::LineHeight(LineHeight::Normal),
    ];
    loop {
        if let Ok(size) = input.try_parse(|input| parse_font_size(input, quirks)) {
            found.push(size);
            break;
        }
        if let Ok(weight) = input.try_parse(parse_font_weight) {
            found.push(weight);
        } else if matches!(&*parse_keyword(input)?, "italic" | "oblique") {
            found.push(Declaration::Italic(true));
        }
    }
    if input.try_parse(|input| input.expect_delim('/')).is_ok() {
        found.push(parse_line_height(input, quirks)?);
    }
    found.push(Declaration::Monospace(parse_is_monospace(input)));
    out.append(&mut found);
    Ok(())
}

pub(super) fn parse_line_height(
    input: &mut Parser<'_>,
    quirks: bool,
) -> Result<Declaration, ValueError> {
    if input
        .try_parse(|input| input.expect_ident_matching("normal"))
        .is_ok()
    {
        return Ok(Declaration::LineHeight(LineHeight::Normal));
    }
    if let Ok(factor) = input.try_parse(Parser::expect_number) {
        return Ok(Declaration::LineHeight(LineHeight::Factor(factor.max(0.0))));
    }
    match parse_length(input, quirks)? {
        Length::Auto => Err(value_error()),
        Length::Percent(share) => Ok(Declaration::LineHeightLength(Length::Em(share))),
        length => Ok(Declaration::LineHeightLength(length)),
    }
}
