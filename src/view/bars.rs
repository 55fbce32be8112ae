//! Draws the line at the top (whose mail, how far back, how it stands) and the line at the bottom
//! (where one is, what goes on, which keys help).

use ratatui::style::Style;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::look::{Look, Theme};
use super::{cut, time};
use crate::app::hall::Face;
use crate::app::keymap::told;
use crate::app::keys::written;
use crate::app::{
    CheckState, Command, Door, Focus, Kept, Layout, Liveness, Model, Side, Stage, StatusCheck, Step,
};
use crate::archive::Reach;

/// Below this many columns there is no room for what can be had otherwise.
const ROOMY: u16 = 50;
/// From this many columns on there is room for figures that few people look for.
const SPACIOUS: u16 = 80;
/// From this many columns on there is room in the title for how far statuses were checked.
const WIDE: u16 = 100;
/// From this many columns on there is room for keys beside long words about trouble.
const COMFORTABLE: u16 = 140;

/// Columns that are left, if there are so many, for what there is to know about a body: the keys beside
/// it stay where they are from email to email.
const BODY_WORDS: usize = 40;

/// Draws both lines.
pub fn draw(model: &Model, layout: &Layout, look: &Look, frame: &mut Frame) {
    line(
        title_left(model, look, layout.title.width),
        title_right(model, look, layout.title.width),
        layout.title,
        look,
        frame,
    );
    if model.focus() == Focus::Prompt {
        // Who types sees the keys where the line is.
        return;
    }
    // Where there is little room, the way back is worth more than what there is to know.
    let share = if layout.bottom.width < 60 { 5 } else { 2 };
    let right = bottom_right(model, look, usize::from(layout.bottom.width) / share);
    let taken: usize = right.iter().map(Span::width).sum();
    let kept_free = if model.focus() == Focus::Reader && share == 2 {
        usize::from(layout.bottom.width * 2 / 5).min(BODY_WORDS)
    } else {
        0
    };
    let taken = taken.max(kept_free);
    let room = layout
        .bottom
        .width
        .saturating_sub(u16::try_from(taken).unwrap_or(u16::MAX));
    line(
        bottom_left(model, look, room),
        right,
        layout.bottom,
        look,
        frame,
    );
}

/// `left` from the left, `right` from the right; the left gives way where both do not fit.
fn line(left: Vec<Span>, right: Vec<Span>, area: Rect, look: &Look, frame: &mut Frame) {
    if area.is_empty() {
        return;
    }
    let mut right = Line::from(right);
    if right.width() + 2 > usize::from(area.width) {
        right = Line::default();
    }
    let room =
        usize::from(area.width).saturating_sub(right.width() + usize::from(right.width() > 0));
    let buffer = frame.buffer_mut();
    let mut x = area.x;
    let mut left_room = room;
    for span in left {
        let text = cut::cut(&span.content, left_room, look.glyphs.ellipsis);
        left_room -= unicode_width::UnicodeWidthStr::width(text.as_str()).min(left_room);
        (x, _) = buffer.set_stringn(x, area.y, text, usize::from(area.width), span.style);
    }
    let start = area.right() - u16::try_from(right.width()).unwrap_or(area.width);
    buffer.set_line(start, area.y, &right, area.width);
}

fn title_left<'a>(model: &Model, look: &Look, width: u16) -> Vec<Span<'a>> {
    let filter = model.list.filter();
    if let Some(hall) = &model.hall {
        let (whose, what) = match &hall.face {
            Face::SetUp { .. } => ("sentbox", "set-up"),
            Face::Profiles(_) => (model.profile.as_str(), "profiles"),
            Face::Question { .. } => (model.profile.as_str(), "a question"),
        };
        return vec![
            Span::styled(format!(" {whose}"), Theme::title()),
            Span::raw(format!(" {} {what} ", look.glyphs.into)),
        ];
    }
    let view = model.view();
    let shown = view.map_or(
        if filter.is_none() {
            "all mail"
        } else {
            filter.text()
        },
        |(_, view)| &view.name,
    );
    let kept = match model.kept {
        _ if model.door == Door::Demo => "",
        Kept::InFile(_) => "",
        Kept::ReadOnly(_) => " (read-only)",
        Kept::Nowhere | Kept::NotThisTime(_) => " (not kept)",
    };
    let mut spans = vec![
        Span::styled(format!(" {}", model.profile), Theme::title()),
        Span::raw(kept),
        Span::raw(format!(" {} {shown} ", look.glyphs.into)),
    ];
    if view.is_some() && width >= ROOMY {
        spans.push(Span::styled(
            format!(" {} ", filter.text()),
            Theme::chrome(),
        ));
    }
    spans
}

fn title_right<'a>(model: &Model, look: &Look, width: u16) -> Vec<Span<'a>> {
    if model.hall.as_ref().is_some_and(|hall| !hall.is_over_mail()) {
        return Vec::new();
    }
    let dot = format!(" {} ", look.glyphs.dot);
    let mut parts: Vec<Span> = Vec::new();
    if let Some(count) = count(model, look).filter(|_| width >= ROOMY) {
        parts.push(Span::raw(count));
    }
    if width >= WIDE
        && let Some(words) = checked(model, look)
    {
        parts.push(Span::raw(words));
    }
    if model.list.unseen() > 0 {
        parts.push(Span::styled(
            format!("{} new", grouped(model.list.unseen())),
            look.theme.news(),
        ));
    }
    let service = &model.service;
    parts.push(match (service.no_service(), service.trouble()) {
        (Some(_), _) if matches!(model.kept, Kept::ReadOnly(_)) => {
            Span::styled("nothing new is kept", look.theme.trouble())
        }
        (Some(_), _) => Span::styled("not connected", look.theme.trouble()),
        (None, Some(failure)) if failure.is_offline() => {
            Span::styled(away("offline", model, look, width), look.theme.trouble())
        }
        (None, Some(_)) => {
            Span::styled(away("in trouble", model, look, width), look.theme.trouble())
        }
        (None, None) if service.has_answered() => liveness(model, look, width),
        (None, None) => Span::styled(format!("asking{}", look.glyphs.ellipsis), Theme::chrome()),
    });
    let mut spans = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        if n > 0 {
            spans.push(Span::styled(dot.clone(), Theme::chrome()));
        }
        spans.push(part);
    }
    spans.push(Span::raw(" "));
    spans
}

/// `live`, or since when it is not, and why.
fn liveness<'a>(model: &Model, look: &Look, width: u16) -> Span<'a> {
    let words = match model.liveness() {
        Liveness::Live => return Span::raw("live"),
        Liveness::HeadAsOf(at) => format!("as of {}", time::seen(at, look)),
        Liveness::RowsAsOf(1, since) if width >= ROOMY => {
            format!("1 status {}", time::as_of(since, look))
        }
        Liveness::RowsAsOf(rows, since) if width >= ROOMY => {
            format!("{rows} statuses {}", time::as_of(since, look))
        }
        Liveness::RowsAsOf(_, since) => time::as_of(since, look),
    };
    Span::styled(words, look.theme.trouble())
}

/// For a filter that depends on the status: how far the statuses behind it were checked.
fn checked(model: &Model, look: &Look) -> Option<String> {
    if model.prompt.is_some()
        || model.card.is_some()
        || !model.list.filter().query().depends_on_status()
    {
        return None;
    }
    Some(
        model
            .status_check()
            .filter(|_| model.service.can_confirm())
            .map_or_else(
                || "statuses not checked".to_owned(),
                |check| check_words(check, look),
            ),
    )
}

/// `statuses checked 21:46`, `statuses checked back to 18 Nov 09:14`.
pub fn check_words(check: &StatusCheck, look: &Look) -> String {
    match (check.state(), check.back_to()) {
        (CheckState::Done, _) => format!("statuses checked {}", time::seen(check.started(), look)),
        (_, Some(back_to)) => format!("statuses checked back to {}", time::seen(back_to, look)),
        (CheckState::Running, None) => format!("checking statuses{}", look.glyphs.ellipsis),
        (CheckState::Paused, None) => "statuses not checked".to_owned(),
    }
}

/// `offline since 14:02 · as of 13:58`: since when, and how old what is shown may be.
fn away(how: &str, model: &Model, look: &Look, width: u16) -> String {
    let Some(since) = model.service.since() else {
        return how.to_owned();
    };
    let since = time::seen(since, look);
    match model.service.as_of().map(|as_of| time::seen(as_of, look)) {
        Some(as_of) if width >= ROOMY => {
            format!("{how} since {since} {} as of {as_of}", look.glyphs.dot)
        }
        _ => format!("{how} since {since}"),
    }
}

/// How many emails there are, and how far back: `48 310 emails since 3 May`, `12 of 48 310 since 3 May`.
pub fn count(model: &Model, look: &Look) -> Option<String> {
    let list = &model.list;
    let total = list.total()?;
    let reach = model
        .service
        .reach()
        .map(|reach| reach_words(reach, look))
        .unwrap_or_default();
    Some(match list.all().filter(|_| !list.filter().is_none()) {
        Some(all) => format!(
            "{}{} of {}{reach}",
            if list.is_capped() { "more than " } else { "" },
            grouped(total),
            grouped(all)
        ),
        None => format!("{}{reach}", emails(total)),
    })
}

/// `1 email`, `48 310 emails`.
pub fn emails(number: u64) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { "email" } else { "emails" }
    )
}

/// How far back the archive is complete: ` since 3 May`, or nothing if it is whole.
pub fn reach_words(reach: &Reach, look: &Look) -> String {
    match reach {
        Reach::Everything => ", complete".to_owned(),
        Reach::Since(stamp) => stamp
            .at
            .map_or_else(String::new, |at| format!(" since {}", time::day(at, look))),
        Reach::Nothing => String::new(),
    }
}

fn bottom_left<'a>(model: &Model, look: &Look, width: u16) -> Vec<Span<'a>> {
    let mut spans = vec![Span::raw(position(model))];
    if let Some(notice) = &model.notice {
        spans.push(Span::styled(notice.clone(), look.theme.accent()));
        return spans;
    }
    if let Some(look_back) = &model.look_back {
        let reach = model
            .service
            .reach()
            .map(|reach| reach_words(reach, look))
            .unwrap_or_default();
        let brought = emails(look_back.brought());
        let long = format!(
            "looking back: {brought}{}",
            reach.replace(" since", ", since")
        );
        let short = format!("{brought} back");
        let words = if width < ROOMY { short } else { long };
        spans.push(Span::styled(words, look.theme.accent()));
        let stop = model
            .keys
            .key_for(model.focus(), Command::Stop)
            .map_or_else(String::new, |key| format!("; {key} stops"));
        spans.push(Span::raw(stop));
        return spans;
    }
    if let Some(check) = model
        .status_check()
        .filter(|check| check.state() == CheckState::Running && check.requests() > 0)
    {
        let stop = model
            .keys
            .key_for(model.focus(), Command::Stop)
            .map_or_else(String::new, |key| format!("; {key} stops"));
        let requests = if check.requests() == 1 {
            "1 request".to_owned()
        } else {
            format!("{} requests", check.requests())
        };
        let words = if width < ROOMY {
            requests
        } else {
            format!("{}, {requests}", check_words(check, look))
        };
        spans.push(Span::styled(words, look.theme.accent()));
        spans.push(Span::raw(format!("{stop}  ")));
        return spans;
    }
    if !model.pressed.is_empty() {
        spans.push(Span::styled(
            format!("{} {}", written(&model.pressed), look.glyphs.ellipsis),
            look.theme.accent(),
        ));
        return spans;
    }
    if let Some(pause) = pause(model) {
        spans.push(Span::styled(pause, look.theme.trouble()));
    } else if let Some(trouble) = model
        .service
        .trouble()
        .filter(|_| model.focus() == Focus::List && !model.list.rows().is_empty())
    {
        spans.push(Span::styled(
            format!("{} {} ", trouble.sentence, look.glyphs.dot),
            look.theme.trouble(),
        ));
        // Trouble can last; who works on with what is here needs the keys more than that comfort.
        let comfort = if width >= COMFORTABLE {
            "asking again by itself; "
        } else {
            ""
        };
        let help = told(
            &model.keys,
            model.focus(),
            [
                (Command::Refresh, "asks now"),
                (Command::Details, "tells more"),
            ],
        );
        spans.push(Span::raw(format!("{comfort}{help}  ")));
        hints(model, look, &mut spans, width);
        return spans;
    }
    if model.service.is_extending() && model.list.nears_the_end(model.list_height()) {
        spans.push(Span::styled(
            format!("fetching older emails{} ", look.glyphs.ellipsis),
            look.theme.accent(),
        ));
    } else if model.service.is_filling() && model.focus() == Focus::List {
        spans.extend(filling(model, look, width));
    }
    hints(model, look, &mut spans, width);
    spans
}

/// What the service has asked for, counted down: `the service asks to wait 12 s  `.
fn pause(model: &Model) -> Option<String> {
    let pause = model.budget()?.paused_for;
    // A second goes by unnoticed.
    if pause <= Duration::from_secs(1) {
        return None;
    }
    let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
    let left = match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    };
    Some(format!("the service asks to wait {left}  "))
}

/// Older mail that is fetched by itself, at which rate, and the key that stops it.
fn filling<'a>(model: &Model, look: &Look, width: u16) -> Vec<Span<'a>> {
    let rate = model
        .budget()
        .map(|budget| format!(", {:.1}/s", budget.background))
        .filter(|_| width >= SPACIOUS);
    let words = if width >= ROOMY {
        "fetching older mail"
    } else {
        "older mail"
    };
    let stop = model
        .keys
        .key_for(Focus::List, Command::Stop)
        .map_or_else(String::new, |key| format!("; {key} stops"));
    vec![
        Span::styled(
            format!("{words}{}", rate.unwrap_or_default()),
            look.theme.accent(),
        ),
        Span::raw(format!("{stop}  ")),
    ]
}

/// Position and total: ` 1/48 310   `, as wide while one moves as it will get.
fn position(model: &Model) -> String {
    if matches!(model.focus(), Focus::Help | Focus::Choice) {
        return " ".to_owned();
    }
    match (model.list.position(), model.list.total()) {
        (Some(position), Some(total)) => {
            let older = model.list.is_capped() || model.service.reach() != Some(&Reach::Everything);
            let total = format!("{}{}", grouped(total), if older { "+" } else { " " });
            format!(
                " {:>width$}/{total}  ",
                grouped(position),
                width = total.len().min(7)
            )
        }
        _ => " ".to_owned(),
    }
}

/// The keys that matter most for the focus, as many as fit.
fn hints(model: &Model, look: &Look, spans: &mut Vec<Span>, width: u16) {
    const LIST: &[Command] = &[
        Command::Open,
        Command::Filter,
        Command::Card,
        Command::LookBack,
        Command::Views,
        Command::Select(Step::Down),
        Command::Select(Step::Last),
        Command::Refresh,
        Command::FullReader,
        Command::NextView,
        Command::SwitchPane,
        Command::Arrange,
        Command::FullTimes,
    ];
    const FOUND: &[Command] = &[
        Command::Open,
        Command::Peel,
        Command::LookBack,
        Command::Filter,
        Command::Card,
        Command::SaveView,
        Command::Undo,
        Command::Select(Step::Down),
        Command::Select(Step::Last),
        Command::FullReader,
        Command::SwitchPane,
    ];
    const CARD: &[Command] = &[
        Command::Open,
        Command::Back,
        Command::LookBack,
        Command::Card,
        Command::Filter,
        Command::SaveView,
        Command::Select(Step::Down),
        Command::SwitchPane,
    ];
    const FINDING: &[Command] = &[
        Command::Mark(Side::Right),
        Command::Back,
        Command::Find,
        Command::Scroll(Step::Down),
        Command::NextEmail,
    ];
    const VIEWS: &[Command] = &[
        Command::Take,
        Command::Back,
        Command::Item(Side::Right),
        Command::DropView,
    ];
    const READER: &[Command] = &[
        Command::Back,
        Command::NextEmail,
        Command::NextView,
        Command::Find,
        Command::PreviousEmail,
        Command::Card,
        Command::Scroll(Step::Down),
        Command::FullReader,
        Command::SwitchPane,
    ];
    const WIDE: &[Command] = &[
        Command::Back,
        Command::Pan(Side::Right),
        Command::NextEmail,
        Command::Scroll(Step::Down),
        Command::NextView,
    ];
    const HELP: &[Command] = &[
        Command::Back,
        Command::Scroll(Step::Down),
        Command::Scroll(Step::Last),
    ];
    const FOUND_NOTHING: &[Command] = &[
        Command::Peel,
        Command::LookBack,
        Command::Filter,
        Command::Undo,
    ];
    const PROMPT: &[Command] = &[Command::Accept, Command::Cancel];
    const CHOICE: &[Command] = &[Command::Take, Command::Item(Side::Right), Command::Back];
    const NOTHING: &[Command] = &[Command::Refresh, Command::Back];
    let focus = model.focus();
    let wanted = match focus {
        Focus::Choice if model.chooses_view() => VIEWS,
        Focus::Reader if model.reader.finds().is_some() => FINDING,
        Focus::Reader if model.reader.is_wide() => WIDE,
        Focus::List if model.card.is_some() => CARD,
        Focus::List if !model.list.filter().is_none() && !model.list.rows().is_empty() => FOUND,
        Focus::List if !model.list.filter().is_none() => FOUND_NOTHING,
        Focus::List if model.list.rows().is_empty() => NOTHING,
        Focus::List => LIST,
        Focus::Prompt => PROMPT,
        Focus::Reader => READER,
        Focus::Help => HELP,
        Focus::Choice => CHOICE,
    };
    let used: usize = spans.iter().map(Span::width).sum();
    let mut room = usize::from(width).saturating_sub(used);
    let help = [Command::Help];
    let reserved = 8;
    for (last, command) in wanted
        .iter()
        .map(|command| (false, command))
        .chain(help.iter().map(|command| (true, command)))
    {
        if *command == Command::LookBack && !model.may_look_back() {
            continue;
        }
        let Some(key) = model.keys.key_for(focus, *command) else {
            continue;
        };
        let text = format!("{key} {}", command.hint());
        let columns = unicode_width::UnicodeWidthStr::width(text.as_str()) + 2;
        if columns + if last { 0 } else { reserved } > room {
            continue;
        }
        room -= columns;
        let (key, words) = text.split_at(key.len());
        spans.push(Span::styled(key.to_owned(), look.theme.accent()));
        spans.push(Span::styled(
            format!("{words}{}", if last { "" } else { "  " }),
            Style::new(),
        ));
    }
}

/// What there is to know about the body, as much as fits, and how much of the email has been seen.
fn bottom_right<'a>(model: &Model, look: &Look, room: usize) -> Vec<Span<'a>> {
    let (Stage::Ready(_, Some(body)), Some(row)) = (model.stage(), model.list.selected()) else {
        return Vec::new();
    };
    if model.focus() != Focus::Reader {
        return Vec::new();
    }
    let mut words: Vec<String> = body.notices.iter().map(|note| note.label.clone()).collect();
    match body.links.len() {
        0 => {}
        1 => words.push("1 link".to_owned()),
        n => words.push(format!("{n} links")),
    }
    if let (Some(at), of @ 1..) = (model.reader.mark(), model.reader.marks().len()) {
        words.push(format!("{}/{of}", at + 1));
    }
    // As wide as it gets, so that the keys beside it stay where they are while one scrolls.
    words.push(format!("{:>4}", scrolled(model, row)));
    let join = |words: &[String]| format!(" {} ", words.join(&format!(" {} ", look.glyphs.dot)));
    while words.len() > 1 && unicode_width::UnicodeWidthStr::width(join(&words).as_str()) > room {
        words.remove(0);
    }
    vec![Span::raw(join(&words))]
}

/// How much of the email has been seen.
fn scrolled(model: &Model, row: &crate::archive::Row) -> String {
    let lines = model.reader.lines(row);
    let height = usize::from(model.layout().reader.height);
    let end = (model.reader.scroll() + height).min(lines);
    if lines <= height {
        "all".to_owned()
    } else if end == lines {
        "end".to_owned()
    } else {
        format!("{}%", end * 100 / lines)
    }
}

/// A number with thin groups: `48 310`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(
            [0, 999, 1_000, 48_310, 1_000_000].map(grouped),
            ["0", "999", "1 000", "48 310", "1 000 000"]
        );
    }
}
