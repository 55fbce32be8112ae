//! Draws the recipient card: one address, and the status of all mail to it.

use std::cmp::Reverse;

use ratatui::Frame;
use ratatui::text::{Line, Span};

use super::buffer::{draw_lines, draw_rule, inset};
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use super::wording::{add_purged, format_coverage, format_since};
use crate::app::{Command, EmailRef, Layout, Model, RecipientSummary, split_top};
use crate::mail::{ApiTime, NO_SUBJECT, describe_one_of, explain};
use crate::text::format::{group_digits, plural};
use crate::text::secrets;
use crate::text::width::{DisplayWidth as _, wrap};

/// Spaces between two counts, and fewer if all of them fit on one line then.
const GAPS: [&str; 2] = ["   ", "  "];
/// With fewer columns, the reason of a problem says nothing.
const MIN_REASON: usize = 12;

/// Draws the summary and a rule below it, if one is open.
pub fn draw(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let area = layout.card;
    let address = model.recipient_card.address.as_ref();
    let Some(address) = address.filter(|_| !area.is_empty()) else {
        return;
    };
    let (above, rule) = split_top(area, area.height - 1);
    let above = inset(above, 1, 1);
    let lines = build_lines(address.text(), model, ctx, above.width.into(), above.height);
    draw_lines(&lines, above, frame);
    draw_rule(rule, ctx, frame);
}

/// Builds at most `height` lines, the most important ones.
pub fn build_lines<'a>(
    address: &str,
    model: &'a Model,
    ctx: &RenderCtx,
    width: usize,
    height: u16,
) -> Vec<Line<'a>> {
    let pending = &model.recipient_card.summary;
    let summary = pending.value().map(|summary| &**summary);
    let mut lines = vec![build_heading(address, summary, ctx, width)];
    let Some(summary) = summary else {
        lines.push(ctx.build_counting(pending.error(), width));
        return lines;
    };
    let totals = format_totals(summary, model, ctx, width);
    let totals = Line::raw(ctx.truncate(&totals, width));
    let problem = |max_lines| build_problem(summary, model, ctx, width, max_lines);
    // The title bar has the totals, but not how many statuses were checked, and the list has the
    // latest email: counts on a second line are worth more.
    let is_in_title = !is_partly_checked(summary);
    let max_lines = if height > 4 || (height == 4 && is_in_title) {
        2
    } else {
        1
    };
    let mut counts = build_status_counts(summary, ctx, width, max_lines);
    let second = (counts.len() > 1).then(|| counts.pop()).flatten();
    match height {
        0 | 1 => {}
        2 => lines.extend(problem(1)),
        3 => lines.extend([vec![totals], problem(1)].concat()),
        4 if second.is_some() => {
            lines.extend(counts.into_iter().chain(second).chain(problem(1)));
        }
        4 => lines.extend([vec![totals], counts, problem(1)].concat()),
        _ => {
            // A reason that needs a second line is worth more than the latest email.
            let problem = problem(if second.is_none() { 2 } else { 1 });
            let has_space = second.is_none() && problem.len() == 1;
            let latest = has_space.then(|| build_latest(summary, ctx, width));
            lines.push(totals);
            lines.extend(counts.into_iter().chain(second));
            lines.extend(problem);
            lines.extend(latest);
        }
    }
    lines
}

/// Builds name, address, and the times of the first and the last email.
fn build_heading<'a>(
    address: &str,
    summary: Option<&RecipientSummary>,
    ctx: &RenderCtx,
    width: usize,
) -> Line<'a> {
    let full = match summary {
        Some(summary) if !summary.name.is_empty() => format!("{} <{address}>", summary.name),
        _ => address.to_owned(),
    };
    // The address is worth more than the name, and both more than the times.
    let heading = if full.width() <= width {
        &full
    } else {
        address
    };
    let times = summary
        .map(|summary| format_time_variants(summary, ctx))
        .unwrap_or_default()
        .into_iter()
        .find(|times| heading.width() + times.width() + 2 <= width);
    let mut spans = vec![Span::styled(ctx.truncate(heading, width), Theme::title())];
    if let Some(times) = times {
        let gap = width - heading.width() - times.width();
        spans.push(Span::raw(" ".repeat(gap) + &times));
    }
    Line::from(spans)
}

/// Formats `first 3 May, last 09:41`, and shorter.
fn format_time_variants(summary: &RecipientSummary, ctx: &RenderCtx) -> Vec<String> {
    let format = |time: &ApiTime| ctx.format_medium(time);
    let Some(last) = summary.newest.as_ref().map(|last| format(&last.created)) else {
        return Vec::new();
    };
    match &summary.oldest_at {
        Some(first) if summary.total > 1 && !summary.is_capped => vec![
            format!("first {}, last {last}", format(first)),
            format!("{} to {last}", format(first)),
            format!("last {last}"),
        ],
        _ if summary.total > 1 => vec![format!("last {last}")],
        _ => vec![format!("created {last}")],
    }
}

/// Formats `12 of 48 310 emails since 3 May; b searches older mail`.
fn format_totals(
    summary: &RecipientSummary,
    model: &Model,
    ctx: &RenderCtx,
    width: usize,
) -> String {
    let more = if summary.is_capped { "more than " } else { "" };
    let count = match model.list.archive_total {
        Some(all) => format!(
            "{} of {}",
            group_digits(summary.total, ' '),
            plural(all, "email")
        ),
        None => plural(summary.total, "email"),
    };
    let since = |at| format_since(at, model, ctx);
    let coverage = format_coverage(model.service.known_coverage(), model, since);
    let mut text = format!("{more}{count}{}", add_purged(coverage, model));
    if is_partly_checked(summary) {
        let checked = match summary.checked {
            0 => "no status".to_owned(),
            some => format!("statuses of {}", group_digits(some, ' ')),
        };
        let [gone, _] = format_missing_upstream(summary, ctx);
        text = format!("{text}; {checked} checked{gone}");
        let hinted = format!("{text}{}", format_check_hint(model, ctx));
        if hinted.width() <= width {
            text = hinted;
        }
    }
    let hinted = model.with_list_hint(&text, Command::LoadOlder, "searches older mail");
    if model.may_find_older() && hinted.width() <= width && !ctx.is_copied {
        hinted
    } else {
        text
    }
}

/// Whether there is a problem, and emails whose statuses were not checked.
const fn is_partly_checked(summary: &RecipientSummary) -> bool {
    summary.newest_problem.is_some() && summary.checked < summary.total
}

/// Builds `✕ bounced 2   ✓ delivered 9`: problems first, then the most frequent;
/// the last line ends with an ellipsis if not all fit.
fn build_status_counts<'a>(
    summary: &RecipientSummary,
    ctx: &RenderCtx,
    width: usize,
    max_lines: usize,
) -> Vec<Line<'a>> {
    let (problems, mut others): (Vec<_>, Vec<_>) =
        (summary.statuses.iter()).partition(|(status, _)| status.is_problem());
    others.sort_by_key(|(_, count)| Reverse(*count));
    let counts: Vec<Line> = (problems.into_iter().chain(others))
        .map(|(status, count)| {
            let mut line = ctx.build_status(status);
            line.push_span(Span::raw(format!(" {}", group_digits(*count, ' '))));
            line
        })
        .collect();
    let all: usize = counts.iter().map(Line::width).sum();
    let gaps = counts.len().saturating_sub(1);
    let fitting = GAPS.into_iter().find(|gap| all + gaps * gap.len() <= width);
    let gap = fitting.unwrap_or(GAPS[0]);
    let mut lines: Vec<Line> = Vec::new();
    let mut line = Line::default();
    for (nth, count) in counts.into_iter().enumerate() {
        let columns = count.width();
        if line.width() + columns > width && lines.len() + 1 < max_lines {
            lines.push(std::mem::take(&mut line));
        }
        let is_last = nth == gaps || lines.len() + 1 < max_lines;
        let reserved = if is_last {
            0
        } else {
            gap.len() + ctx.glyphs.ellipsis.width()
        };
        if line.width() + columns + reserved > width {
            line.push_span(Span::raw(ctx.glyphs.ellipsis));
            break;
        }
        line.spans.extend(count.spans);
        line.push_span(Span::raw(gap));
    }
    if summary.statuses.is_empty() {
        line.push_span(Span::raw("no email to this address in the archive"));
    }
    lines.push(line);
    lines
}

/// Builds count and reason of the newest problem on one line or two, or that none is
/// known.
fn build_problem<'a>(
    summary: &RecipientSummary,
    model: &Model,
    ctx: &RenderCtx,
    width: usize,
    max_lines: usize,
) -> Vec<Line<'a>> {
    let Some(last) = &summary.newest_problem else {
        let text = format_no_problem(summary, model, ctx, width);
        return vec![Line::raw(ctx.truncate(&text, width))];
    };
    let bounce = last.bounce.as_ref();
    let reason = match describe_one_of(&last.status, bounce, last.recipients) {
        Some(recipient) if bounce.is_none() => recipient.into(),
        _ => explain(&last.status, bounce, last.recipients).0,
    };
    // The service does not say when the status changed.
    let time = ctx.format_medium(&last.created);
    let mut line = ctx.build_status(&last.status);
    let mut rest = width.saturating_sub(line.width());
    let times = format_times(summary, last, &time);
    // Whether more is sent is worth more than the reason. A time is never cut.
    let mut not_blocked = String::new();
    match model.card_suppression() {
        None => {}
        Some((Some(found), _)) => {
            let since = format!("blocked since {}; ", ctx.format_medium(&found.created));
            let fits = |text: &String| times.iter().any(|it| it.width() + text.width() <= rest);
            let blocked = Some(since).filter(fits);
            let blocked = blocked.unwrap_or_else(|| "blocked; ".to_owned());
            rest = rest.saturating_sub(blocked.width());
            line.spans.insert(0, Span::raw(blocked));
        }
        Some((None, answered_at)) => {
            let at = ctx.format_date_time(*answered_at);
            not_blocked = format!(", not blocked as of {at}");
        }
    }
    let least = match max_lines {
        1 => ": ".len() + reason.width().min(MIN_REASON),
        _ => 1,
    };
    let none = String::new();
    let find = |more: &str, least| {
        let mut times = times.iter();
        times.find(|times| times.width() + more.width() + least <= rest)
    };
    let with_both = find(&not_blocked, least).or_else(|| find(&not_blocked, 0));
    let (times, not_blocked) = match with_both {
        Some(times) => (times, &*not_blocked),
        None => (find("", least).or_else(|| find("", 0)).unwrap_or(&none), ""),
    };
    let text = format!("{times}{not_blocked}: {reason}");
    if max_lines == 1 || text.width() <= rest {
        line.push_span(Span::raw(ctx.truncate(&text, rest)));
        return vec![line];
    }
    let mut wrapped = wrap(text.trim_start(), rest.saturating_sub(1)).into_iter();
    line.push_span(Span::raw(format!(
        " {}",
        wrapped.next().unwrap_or_default()
    )));
    let second = format!("  {}", wrapped.collect::<Vec<_>>().join(" "));
    vec![line, Line::raw(ctx.truncate(&second, width))]
}

/// Formats how often and when the newest problem occurred, the longest text first.
fn format_times(summary: &RecipientSummary, last: &EmailRef, time: &str) -> Vec<String> {
    let mut statuses = summary.statuses.iter();
    let all = statuses.find(|(status, _)| *status == last.status);
    let all = all.map_or(0, |(_, count)| *count);
    let count = group_digits(summary.problems, ' ');
    let mut times = match summary.problems {
        alone if last.is_to_one() && alone < all => {
            let all = group_digits(all, ' ');
            vec![
                format!(" {all} times, {count} to this address alone, last mail {time}"),
                format!(" {all} times, {count} to this address alone, mail {time}"),
                format!(" {all} times, {count} alone, mail {time}"),
                format!(" {count}/{all} alone, mail {time}"),
                format!(" {count}/{all} alone"),
            ]
        }
        0 | 1 => Vec::new(),
        _ => vec![
            format!(" {count} times, last mail {time}"),
            format!(" {count} times"),
        ],
    };
    times.push(format!(" (mail of {time})"));
    times
}

/// Formats the key that continues a paused status check.
fn format_check_hint(model: &Model, ctx: &RenderCtx) -> String {
    if model.status_check.paused().is_some() && !ctx.is_copied {
        model.with_list_hint("", Command::Open, "on the last row goes on")
    } else {
        String::new()
    }
}

/// Formats that there was no problem, as far as statuses were checked,
/// and when they were.
fn format_no_problem(
    summary: &RecipientSummary,
    model: &Model,
    ctx: &RenderCtx,
    width: usize,
) -> String {
    let checked = group_digits(summary.checked, ' ');
    let total = group_digits(summary.total, ' ');
    let more = format_check_hint(model, ctx);
    let [gone, short_gone] = format_missing_upstream(summary, ctx);
    // Newer emails may have bounced since the service sent its list.
    let as_of = summary.as_of.into_iter().chain(model.service.as_of).min();
    let shortest = short_gone.strip_prefix("; ").map(str::to_owned);
    let statuses = summary.statuses.iter();
    let not_understood = statuses.filter(|(status, _)| !status.is_understood());
    let unknown: u64 = not_understood.map(|(_, count)| count).sum();
    // A time is never cut.
    let variants = match (summary.total, summary.checked, as_of) {
        (0, ..) => return String::new(),
        _ if unknown > 0 => {
            let unknown = format!("{} of {total} unknown", group_digits(unknown, ' '));
            let text = format!("no problem known, status of {unknown}");
            vec![
                format!("{text}{gone}"),
                format!("{text}{short_gone}"),
                text,
                format!("status of {unknown}"),
            ]
        }
        (all, some, _) if some + summary.missing_upstream.count < all => {
            let known = match some {
                0 => format!("known; none of {total}"),
                _ => format!("in {checked} of {total}"),
            };
            let text = format!("no problem {known} checked{more}");
            vec![format!("{text}{gone}"), text]
        }
        (_, 1.., Some(at)) => {
            let at = ctx.format_date_time(at);
            let short = format!("no problem as of {at}");
            let checked = format!("({checked} of {total} checked)");
            vec![
                format!("nothing bounced, no complaints as of {at} {checked}{gone}"),
                format!("{short} {checked}{gone}"),
                format!("{short} {checked}{short_gone}"),
                shortest.unwrap_or(short),
            ]
        }
        _ => vec![
            format!("no problem known in {total}{gone}"),
            format!("no problem known{short_gone}"),
            shortest.unwrap_or_default(),
        ],
    };
    let fitting = variants.iter().position(|text| text.width() <= width);
    let chosen = fitting.unwrap_or(variants.len() - 1);
    variants.into_iter().nth(chosen).unwrap_or_default()
}

/// Formats `; 2 no longer at the service, their statuses as of 3 May`, and shorter.
fn format_missing_upstream(summary: &RecipientSummary, ctx: &RenderCtx) -> [String; 2] {
    if summary.missing_upstream.count == 0 {
        return [String::new(), String::new()];
    }
    let count = group_digits(summary.missing_upstream.count, ' ');
    let checked = summary
        .missing_upstream
        .describe(|at| ctx.format_clock_or_day(at));
    ["no longer at the service", "gone"].map(|gone| format!("; {count} {gone}, {checked}"))
}

/// Builds `latest ✓ delivered (one of 4) 09:41  Your receipt`.
fn build_latest<'a>(summary: &RecipientSummary, ctx: &RenderCtx, width: usize) -> Line<'a> {
    let Some(EmailRef {
        status,
        created,
        subject,
        recipients,
        ..
    }) = &summary.newest
    else {
        return Line::default();
    };
    let lead = Span::styled("latest ", ctx.theme.chrome());
    let mut line = ctx.build_status(status);
    let subject = match &**subject {
        "" => NO_SUBJECT.into(),
        subject => secrets::mask_secrets(subject),
    };
    let recipient = if status.is_of_one_of(*recipients) {
        format!(" (one of {recipients})")
    } else {
        String::new()
    };
    let text = format!("{recipient} {}  {subject}", ctx.format_medium(created));
    let text = ctx.truncate(&text, width.saturating_sub(lead.width() + line.width()));
    line.spans.insert(0, lead);
    line.push_span(Span::raw(text));
    line
}
