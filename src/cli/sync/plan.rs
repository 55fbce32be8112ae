//! `sync --dry-run`: reports what `sync` would fetch, by what the archive has,
//! without a request.

use jiff::Timestamp;
use serde::Serialize;

use super::{MAX_DUE_REQUESTS, RECENT_AGE};
use crate::api::MAX_LIMIT;
use crate::archive::{Archive, ArchiveLocation, Coverage};
use crate::cli::args::SyncArgs;
use crate::cli::output::CommandExit;
use crate::cli::output::format::{covered_since, format_request_time, format_since, format_time};
use crate::cli::{ProfileContext, open_archive};
use crate::config::HistorySpan;
use crate::error::Result;
use crate::sync::{RecheckScope, count_due};
use crate::text::format::{format_timestamp, group_digits, plural};

/// The plan as JSON.
#[derive(Serialize)]
struct SyncPlanJson {
    /// Time of the last request for new mail; null if there was none.
    refreshed: Option<String>,
    /// Whether older mail would be fetched than the archive has without a gap.
    older: bool,
    /// Time from which on the archive is complete; null if it is whole, or has nothing.
    since: Option<String>,
    /// Time down to which older mail would be fetched; null for all, and if `older` is
    /// false.
    until: Option<String>,
    /// Statuses that would be read again.
    statuses: u64,
    /// Bodies that would be fetched, a request each;
    /// of the emails that the archive has now.
    bodies: u64,
    /// Requests for statuses and bodies; those for pages are not known before.
    requests: u64,
}

pub(in crate::cli) fn run(
    args: &SyncArgs,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    let now = ctx.now();
    let path = open_archive::archive_path(ctx);
    let exists = path.map(|path| Archive::exists(&ArchiveLocation::Disk(path)));
    let archive = if exists.unwrap_or(Ok(true))? {
        open_archive::open_on_disk(ctx)?
    } else {
        Archive::open(&ArchiveLocation::Memory)?
    };
    // A named archive may belong to another key.
    ctx.settings.credentials.key.clone()?;
    let plan = SyncPlan::new(&archive, args, now)?;
    let lines = plan.describe(args, &archive, ctx)?;
    ctx.out.report(&plan.json, lines.join("\n"))
}

/// The plan, with the times and the coverage that it is described by.
struct SyncPlan {
    json: SyncPlanJson,
    coverage: Coverage,
    refreshed: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl SyncPlan {
    fn new(archive: &Archive, args: &SyncArgs, now: Timestamp) -> Result<Self> {
        let (coverage, refreshed) = (archive.coverage()?, archive.head_at_by(now)?);
        let start = |span: HistorySpan| match span {
            HistorySpan::All => None,
            span => span.start(now),
        };
        let until = start(args.summary_span());
        let older = match (&coverage, until) {
            (Coverage::Complete, _) => false,
            (Coverage::Since(oldest), Some(until)) => oldest.parsed.is_none_or(|at| at > until),
            _ => true,
        };
        let statuses = count_statuses(archive, args, now)?;
        let bodies = if args.bodies {
            let since = start(args.body_span()).map_or(i64::MIN, Timestamp::as_microsecond);
            archive.count_without_body(since)?
        } else {
            0
        };
        let requests = statuses.div_ceil(u64::from(MAX_LIMIT)) + bodies;
        let json = SyncPlanJson {
            refreshed: refreshed.map(format_timestamp),
            older,
            since: covered_since(&coverage),
            until: until.filter(|_| older).map(format_timestamp),
            statuses,
            bodies,
            requests,
        };
        Ok(Self {
            json,
            coverage,
            refreshed,
            until,
        })
    }

    fn describe(
        &self,
        args: &SyncArgs,
        archive: &Archive,
        ctx: &ProfileContext<'_>,
    ) -> Result<Vec<String>> {
        let (now, zone) = (ctx.now(), &ctx.settings.zone);
        let plan = &self.json;
        let new = match self.refreshed {
            Some(at) => format!("new mail since {}", format_time(at, now, zone)),
            None => "new mail".to_owned(),
        };
        let down_to = match self.until {
            Some(until) => format!("down to {}", format_time(until, now, zone)),
            None if archive.left_out()?.has_age_limit => "all that the archive keeps".to_owned(),
            None => "all that the service has".to_owned(),
        };
        let old = match &self.coverage {
            _ if !plan.older => "older mail: none".to_owned(),
            Coverage::Since(oldest) if oldest.parsed.is_some() => {
                format!("older mail: from {}, {down_to}", format_since(oldest, zone))
            }
            _ => format!("older mail: {down_to}"),
        };
        let mut lines = vec![
            new,
            old,
            format!("{} to read again", plural(plan.statuses, "status")),
        ];
        if args.bodies {
            lines.push(format!(
                "bodies: {}, and those of new mail",
                group_digits(plan.bodies, ' ')
            ));
        }
        lines.push(match plan.requests {
            0 => format!("requests: one for each {MAX_LIMIT} emails"),
            requests => format!(
                "requests: {}, which take about {}, and one for each {MAX_LIMIT} emails of new and older mail",
                group_digits(requests, ' '),
                format_request_time(requests, ctx.settings.rate)
            ),
        });
        Ok(lines)
    }
}

fn count_statuses(archive: &Archive, args: &SyncArgs, now: Timestamp) -> Result<u64> {
    let Some(scope) = recheck_scope(args.recheck, now, archive.latest_request()?) else {
        return Ok(0);
    };
    let (statuses, _) = count_due(archive, scope, now)?;
    Ok(match scope {
        RecheckScope::Due { .. } => {
            statuses.min(u64::from(MAX_DUE_REQUESTS) * u64::from(MAX_LIMIT))
        }
        RecheckScope::All { .. } => statuses,
    })
}

/// Returns which statuses are read again: the due ones, or all in a span;
/// `None` for none.
/// `before` is the latest request before the command.
pub(super) fn recheck_scope(
    span: Option<HistorySpan>,
    started: Timestamp,
    before: i64,
) -> Option<RecheckScope> {
    let since = |span: HistorySpan| {
        let start = span.start(started).filter(|_| span != HistorySpan::All);
        start.map_or(i64::MIN, Timestamp::as_microsecond)
    };
    match span {
        Some(HistorySpan::Off) => None,
        Some(span) => Some(RecheckScope::All {
            since: since(span),
            before,
        }),
        None => Some(RecheckScope::Due {
            since: since(RECENT_AGE),
        }),
    }
}
