//! Words for titles, coverage, counts, checks and the state of the service.
//! The title bar, placeholders, lists and linear mode share them.

use jiff::Timestamp;
use ratatui::text::Span;

use super::render_ctx::RenderCtx;
use super::theme::Theme;
use crate::app::start::StartScreenKind;
use crate::app::{
    CheckState, Command, Focus, Liveness, LoadOlder, LoadOlderGoal, MAX_AUTOMATIC_REQUESTS, Model,
    ServiceState, SessionTarget, StatusCheck, StorageMode,
};
use crate::archive::Coverage;
use crate::mail::FINAL_AFTER;
use crate::text::format::{format_pause, group_digits, plural};

/// From this many columns on, texts have their long form.
pub const MIN_DETAIL_WIDTH: u16 = 50;

/// The text of [`format_coverage`] for an archive that has all mail.
pub const COMPLETE: &str = ", complete";

/// Precedes the day before which a status check has left out mail.
const NOT_BEFORE: &str = ", not of mail before ";

/// How much the right end of the title says, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleDetail {
    Everything,
    /// Short words for the check of statuses, and one time for the service.
    ShortState,
    /// As `ShortState`, but without the number of known bodies.
    Reach,
    /// A short count without its coverage, and how far statuses were checked.
    ShortReach,
    /// A short count, and either when or how far statuses were checked.
    ShortCheck,
    /// Only that, without a count.
    Check,
    /// A short count without its coverage, unless it depends on statuses.
    ShortCount,
    /// Only the state of the service, and what is new.
    State,
}

impl TitleDetail {
    const ALL: [Self; 8] = [
        Self::Everything,
        Self::ShortState,
        Self::Reach,
        Self::ShortReach,
        Self::ShortCheck,
        Self::Check,
        Self::ShortCount,
        Self::State,
    ];
}

pub fn build_title_left<'a>(model: &Model, ctx: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    if let Some(screen) = &model.start_screen {
        let (profile, name) = match &screen.kind {
            StartScreenKind::SetUp { .. } => ("sentbox", "set-up"),
            StartScreenKind::Profiles(_) => (model.session.profile.as_str(), "profiles"),
            StartScreenKind::Confirm { .. } => (model.session.profile.as_str(), "confirm"),
        };
        return vec![
            Span::styled(format!(" {profile}"), Theme::title()),
            Span::raw(format!(" {} {name} ", ctx.glyphs.breadcrumb)),
        ];
    }
    let filter = &model.list.filter;
    let view = model.shown_view();
    let changes = format_changes(model, ctx);
    let name = match (view, &changes) {
        (Some((_, view)), _) => &view.name,
        (None, _) if filter.is_empty() => model.list_name(),
        (None, Some(changes)) => changes,
        (None, None) => filter.text(),
    };
    let storage = match model.session.storage {
        _ if model.session.target == SessionTarget::Demo => "",
        StorageMode::InFile(_) | StorageMode::OnServer(_) => "",
        StorageMode::ReadOnly(_) => " (read-only)",
        StorageMode::InMemory | StorageMode::Unavailable(_) => " (not kept)",
    };
    let mut spans = vec![
        Span::styled(format!(" {}", model.session.profile), Theme::title()),
        Span::raw(storage),
    ];
    if model.is_received() && name != model.list_name() {
        let received = format!(" {} {}", ctx.glyphs.breadcrumb, model.list_name());
        spans.push(Span::raw(received));
    }
    spans.push(Span::raw(format!(" {} {name} ", ctx.glyphs.breadcrumb)));
    if view.is_some() && width >= MIN_DETAIL_WIDTH {
        let query = format!(" {} ", filter.text());
        spans.push(Span::styled(query, ctx.theme.chrome()));
    }
    if let Some(ages) = format_ages(model, ctx) {
        spans.push(Span::styled(format!(" {ages} "), ctx.theme.chrome()));
    }
    spans
}

/// Formats `ages as of 09:41` if the ages in the filter, such as `2h`, do not count from now.
pub fn format_ages(model: &Model, ctx: &RenderCtx) -> Option<String> {
    let at = model.list.filter.ages_as_of(&model.now)?;
    Some(format!("ages as of {}", ctx.format_clock_or_day(at)))
}

/// Formats `new or changed since 13:44, to:ana` if the list shows that.
pub fn format_changes(model: &Model, ctx: &RenderCtx) -> Option<String> {
    let (since, words) = model.shown_changes()?;
    let since = ctx.format_date_time(since);
    let comma = if words.is_empty() { "" } else { ", " };
    Some(format!("new or changed since {since}{comma}{words}"))
}

/// Builds the right end with as much detail as leaves space for the left one.
pub fn build_title_right<'a>(
    model: &Model,
    ctx: &RenderCtx,
    left: &[Span],
    columns: u16,
) -> Vec<Span<'a>> {
    let columns = usize::from(columns);
    let left = left.iter().map(Span::width).sum::<usize>();
    let left = left.min(columns * 2 / 5);
    let mut right = Vec::new();
    for detail in TitleDetail::ALL {
        right = build_title_details(model, ctx, detail);
        if left + right.iter().map(Span::width).sum::<usize>() < columns {
            break;
        }
    }
    right
}

fn build_title_details<'a>(model: &Model, ctx: &RenderCtx, detail: TitleDetail) -> Vec<Span<'a>> {
    let start_screen = model.start_screen.as_ref();
    if start_screen.is_some_and(|screen| !screen.has_mail_behind()) {
        return Vec::new();
    }
    let mut parts: Vec<Span> = Vec::new();
    let check = format_filter_check(model, ctx);
    let short_check = check
        .as_ref()
        .map(|check| check.replacen("statuses checked", "checked", 1));
    let (count, check) = match detail {
        TitleDetail::Everything => (format_count(model), check),
        TitleDetail::ShortState => (format_count(model), short_check),
        TitleDetail::Reach => (format_count_and_reach(model), short_check),
        TitleDetail::ShortReach => {
            let check = short_check.map(|check| check.replace(NOT_BEFORE, " to "));
            (format_short_count(model), check)
        }
        TitleDetail::ShortCheck | TitleDetail::Check => {
            let count = format_short_count(model).filter(|_| detail == TitleDetail::ShortCheck);
            (count, check.map(|_| format_brief_check(model, ctx)))
        }
        TitleDetail::ShortCount => (format_short_count(model).filter(|_| check.is_none()), None),
        TitleDetail::State => (None, None),
    };
    parts.extend(count.into_iter().chain(check).map(Span::raw));
    if model.list.unseen_above > 0 {
        let new = format!("{} new", group_digits(model.list.unseen_above, ' '));
        parts.push(Span::styled(new, ctx.theme.new_mail()));
    }
    let is_limited = needs_check(model) && !filter_check(model).is_some_and(is_complete);
    let is_live = model.service_state() == ServiceState::Answering(Liveness::Live);
    // In little space, what was not checked is worth more.
    if !(detail == TitleDetail::Check && is_limited && is_live) {
        parts.push(build_service_state(model, ctx, detail));
    }
    let dot = format!(" {} ", ctx.glyphs.separator);
    let mut spans = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        if n > 0 {
            spans.push(Span::styled(dot.clone(), ctx.theme.chrome()));
        }
        spans.push(part);
    }
    spans.push(Span::raw(" "));
    spans
}

/// Shows the state of the service:
/// `live`, or what is wrong and how old the list is.
pub fn build_service_state<'a>(model: &Model, ctx: &RenderCtx, detail: TitleDetail) -> Span<'a> {
    let state = model.service_state();
    let label = state.label();
    let with_age = |since: String| add_age(label, &since, model, ctx, detail);
    let text = match state {
        ServiceState::Answering(Liveness::Live) => return Span::raw(label),
        ServiceState::Checking => {
            return Span::styled(
                format!("{label}{}", ctx.glyphs.ellipsis),
                ctx.theme.chrome(),
            );
        }
        ServiceState::ArchiveError => label.to_owned(),
        ServiceState::RateLimited(until) if model.long_pause_until().is_some() => {
            with_age(format!(" until {}", model.format_until(until)))
        }
        ServiceState::ReadOnly | ServiceState::RateLimited(_) => with_age(String::new()),
        ServiceState::Unavailable(_) | ServiceState::Failing(_) | ServiceState::NotWritable => {
            let since = model.service.failing_since();
            let since = since.map(|since| format!(" since {}", ctx.format_date_time(since)));
            with_age(since.unwrap_or_default())
        }
        ServiceState::NoAnswer(waited) => with_age(format!(" for {}", format_pause(waited))),
        ServiceState::Answering(Liveness::ListAsOf(at)) => {
            format!("{label} {}", ctx.format_date_time(at))
        }
        ServiceState::Answering(Liveness::RowsAsOf(rows, since))
            if detail == TitleDetail::Everything =>
        {
            let statuses = plural(rows as u64, "status");
            format!("{statuses} {}", ctx.format_as_of(since))
        }
        ServiceState::Answering(Liveness::RowsAsOf(_, since)) => ctx.format_as_of(since),
    };
    Span::styled(text, ctx.theme.error())
}

/// Adds since when it is so, and the time of the last answer:
/// `offline since 14:02 · as of 13:58`. In little space the latter is worth more.
fn add_age(
    label: &str,
    since: &str,
    model: &Model,
    ctx: &RenderCtx,
    detail: TitleDetail,
) -> String {
    let as_of = model.service.as_of.map(|at| ctx.format_date_time(at));
    let as_of = as_of.map(|at| format!(" {} as of {at}", ctx.glyphs.separator));
    match as_of {
        Some(as_of) if detail > TitleDetail::Everything => format!("{label}{as_of}"),
        as_of => format!("{label}{since}{}", as_of.unwrap_or_default()),
    }
}

/// Formats when the service last sent its list: `, as of 13:58`.
pub fn format_list_age(as_of: Option<Timestamp>, ctx: &RenderCtx) -> String {
    as_of.map_or_else(String::new, |at| {
        format!(", as of {}", ctx.format_date_time(at))
    })
}

/// Whether what the list shows depends on how far statuses were checked.
fn needs_check(model: &Model) -> bool {
    let query = model.list.filter.query();
    !model.is_received() && !model.recipient_card.is_shown() && query.depends_on_status()
}

/// Returns the check of the filter; `None` if nothing was checked for it.
fn filter_check(model: &Model) -> Option<&StatusCheck> {
    let check = model.status_check.current.as_ref();
    let query = model.list.filter.query();
    check.filter(|check| {
        model.service.is_answering() && check.is_for(query) && check.as_of > Timestamp::MIN
    })
}

/// Whether every candidate was checked.
fn is_complete(check: &StatusCheck) -> bool {
    check.state == CheckState::Done && !check.leaves_out_old
}

/// Formats how far statuses were checked, for a filter that depends on them.
pub fn format_filter_check(model: &Model, ctx: &RenderCtx) -> Option<String> {
    needs_check(model).then(|| {
        filter_check(model).map_or_else(
            || "statuses not checked".to_owned(),
            |check| format_status_check(check, model, ctx),
        )
    })
}

/// Formats when all statuses were checked, or back to which day some were.
fn format_brief_check(model: &Model, ctx: &RenderCtx) -> String {
    let check = filter_check(model);
    let oldest = check.and_then(|check| match check.state {
        CheckState::Done => Some(check.started - FINAL_AFTER),
        CheckState::Running | CheckState::Paused => check.checked_back_to(),
    });
    match (check, oldest) {
        (Some(check), _) if is_complete(check) => {
            format!("checked {}", ctx.format_date_time(check.as_of))
        }
        (Some(check), Some(oldest)) => {
            let age = format_check_age(check, model, ctx);
            format!("checked to {}{age}", ctx.format_clock_or_day(oldest))
        }
        (Some(check), None) if check.state == CheckState::Running => {
            format!("checking{}", ctx.glyphs.ellipsis)
        }
        _ => "not checked".to_owned(),
    }
}

/// Formats `, as of 21:36` if a mirror or a cache has answered with statuses
/// that are older than its list.
fn format_check_age(check: &StatusCheck, model: &Model, ctx: &RenderCtx) -> String {
    let now = model.now.timestamp();
    let list_age = model.service.as_of.map(|as_of| now.duration_since(as_of));
    let is_older = check.started.duration_since(check.as_of) > list_age.unwrap_or_default();
    format_list_age(is_older.then_some(check.as_of), ctx)
}

/// Formats `statuses checked 21:46`, `statuses checked back to 18 Nov 09:14`.
pub fn format_status_check(check: &StatusCheck, model: &Model, ctx: &RenderCtx) -> String {
    match (check.state, check.checked_back_to()) {
        (CheckState::Done, _) => {
            let checked = format!("statuses checked {}", ctx.format_date_time(check.as_of));
            let oldest = check.started - FINAL_AFTER;
            if check.leaves_out_old {
                let oldest = ctx.format_clock_or_day(oldest);
                format!("{checked}{NOT_BEFORE}{oldest}")
            } else {
                checked
            }
        }
        // Otherwise, a mirror has answered that does not say how old its statuses are.
        (_, Some(back_to)) if check.as_of > Timestamp::MIN => {
            let age = format_check_age(check, model, ctx);
            format!(
                "statuses checked back to {}{age}",
                ctx.format_date_time(back_to)
            )
        }
        (CheckState::Running, _) => format!("checking statuses{}", ctx.glyphs.ellipsis),
        (CheckState::Paused, _) => "statuses not checked".to_owned(),
    }
}

/// Formats count and coverage:
/// `48 310 emails since 3 May`, `12 of 48 310 since 3 May, 9 bodies known`.
pub fn format_count(model: &Model) -> Option<String> {
    let known = model.list.count_known_bodies();
    Some(format_count_and_reach(model)? + &format_known_bodies(known, model))
}

/// Returns the number of emails that match; `None`, too, if the filter was not
/// understood.
fn known_total(model: &Model) -> Option<u64> {
    let list = &model.list;
    let is_understood = |total: &u64| *total > 0 || !list.filter.has_impossible_value();
    list.total.filter(is_understood)
}

fn format_count_and_reach(model: &Model) -> Option<String> {
    let list = &model.list;
    let total = known_total(model)?;
    let coverage = format_list_coverage(model);
    let all = list.archive_total.filter(|_| !list.filter.is_empty());
    Some(match all {
        Some(all) => format!(
            "{}{} of {}{coverage}",
            if list.is_capped { "more than " } else { "" },
            group_digits(total, ' '),
            group_digits(all, ' '),
        ),
        None => format!("{}{coverage}", plural(total, "email")),
    })
}

/// Formats `, 9 bodies known` or `, tags known for 9` if the filter searches those,
/// and not all are known.
pub fn format_known_bodies(known: Option<u64>, model: &Model) -> String {
    let Some(known) = known else {
        return String::new();
    };
    if model.list.filter.query().has_tag() {
        return format!(", tags known for {}", group_digits(known, ' '));
    }
    format!(", {} known", plural(known, "body"))
}

/// Formats `2 000`, or `3 of 48k` with a filter; `2 000+` if there may be more.
fn format_short_count(model: &Model) -> Option<String> {
    let short = |count: u64| match count {
        0..10_000 => group_digits(count, ' '),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    };
    let list = &model.list;
    let more = |is_more| if is_more { "+" } else { "" };
    let has_older = model.service.known_coverage() != Some(&Coverage::Complete);
    let total = short(known_total(model)?);
    Some(
        match list.archive_total.filter(|_| !list.filter.is_empty()) {
            Some(all) => {
                let (total_more, all_more) = (more(list.is_capped), more(has_older));
                format!("{total}{total_more} of {}{all_more}", short(all))
            }
            None => total + more(list.is_capped || has_older),
        },
    )
}

/// Formats how far back the archive is complete:
/// ` since 3 May`, `, complete` or nothing.
pub fn format_list_coverage(model: &Model) -> String {
    let since = |at| model.format_since(at);
    let coverage = format_coverage(model.service.known_coverage(), model, since);
    add_purged(coverage, model)
}

/// Formats a time since which all mail is here.
pub fn format_since(at: Timestamp, model: &Model, ctx: &RenderCtx) -> String {
    if ctx.is_copied {
        ctx.format_date_time(model.whole_minute_after(at).timestamp())
    } else {
        model.format_since(at)
    }
}

/// Adds to a coverage that purged mail is not counted.
pub fn add_purged(coverage: String, model: &Model) -> String {
    if !model.list.left_out.purged {
        return coverage;
    }
    let since = Some(coverage).filter(|coverage| coverage != COMPLETE);
    format!("{}, without purged mail", since.unwrap_or_default())
}

/// Formats the coverage of a search without matches; never empty.
pub fn format_searched(model: &Model) -> String {
    match format_list_coverage(model) {
        unknown if unknown.is_empty() => ", not confirmed to be complete".to_owned(),
        coverage => coverage,
    }
}

/// Formats how far back the list of the service goes if nothing in it matches:
/// it may have deleted older mail.
pub fn format_oldest_listed(model: &Model, ctx: &RenderCtx) -> Option<String> {
    let at = model.list.unmatched.oldest_listed?;
    Some(format!(
        "the service's list goes back to {}",
        ctx.format_date_time(at)
    ))
}

/// Formats how far back the archive is complete:
/// not beyond the age limit of its mail.
pub fn format_coverage(
    coverage: Option<&Coverage>,
    model: &Model,
    format: impl Fn(Timestamp) -> String,
) -> String {
    let left_out = model.list.left_out;
    let limit = left_out.limit.filter(|_| left_out.has_omitted_old);
    let oldest = model.list.archive_span.map(|(oldest, _)| oldest);
    let since = |at: Timestamp| {
        // The counted emails are of then and later, unless older ones are stored behind a gap.
        let is_behind_gap = |oldest: &Timestamp| at.as_microsecond() - oldest.as_microsecond() > 1;
        let complete = oldest.filter(is_behind_gap).map_or("", |_| COMPLETE);
        format!("{complete} since {}", format(at))
    };
    match coverage {
        Some(Coverage::Complete) => limit.map_or_else(|| COMPLETE.to_owned(), since),
        Some(Coverage::Since(time)) => time
            .parsed
            .map_or_else(String::new, |at| since(limit.unwrap_or(at).max(at))),
        Some(Coverage::Unknown) | None => String::new(),
    }
}

/// Formats what a search of older mail has done:
/// `searching older mail: 300 emails, since 3 May`.
pub fn format_load_older(search: LoadOlder, model: &Model, width: u16) -> String {
    if width < MIN_DETAIL_WIDTH {
        return plural(search.loaded, "older email");
    }
    let coverage = format_list_coverage(model);
    let since = match coverage.strip_prefix(" since") {
        Some(time) => format!(", since{time}"),
        None => coverage,
    };
    match search.goal {
        LoadOlderGoal::Matches(_) => {
            let loaded = plural(search.loaded, "email");
            format!("searching older mail: {loaded}{since}")
        }
        LoadOlderGoal::FullScreen => format!(
            "searching older mail: {} of {MAX_AUTOMATIC_REQUESTS} requests{since}",
            search.requests
        ),
        LoadOlderGoal::Since { start, .. } => {
            let requests = plural(search.requests.into(), "request");
            let left = model.estimate_requests_since(start);
            let left = left.map_or_else(String::new, |left| format!(", about {left} to go"));
            let day = model.format_day(start);
            format!("loading mail back to {day}: {requests}{since}{left}")
        }
    }
}

/// Formats `; Ctrl-x stops`, or nothing if no key is bound.
pub fn format_stop_hint(model: &Model, focus: Focus) -> String {
    let keymap = &model.session.keymap;
    keymap.with_hint("", focus, Command::Stop, "stops")
}
