//! `stats`: counts and rates of what matches a query, and groups of it as bars.

use serde::Serialize;

use super::args::StatsArgs;
use super::args::typed_query::TypedQuery;
use super::freshness::{describe_age, find_oldest_confirmation, with_recheck};
use super::output::format::covered_since;
use super::output::{CommandExit, Output};
use super::search::{describe_scope, note_gone};
use super::{ProfileContext, open_archive};
use crate::archive::{
    CancellationToken, Coverage, Grouping, Groups, Outcome, Outcomes, Share, Statistics,
    StatisticsBuilder,
};
use crate::error::{Error, ErrorKind};
use crate::export::csv_record;
use crate::mail::Status;
use crate::text::format::{format_timestamp, group_digits, plural};
use crate::text::width::{DisplayWidth as _, align_left};

/// Groups on a terminal without `--limit`, unless they are times or statuses.
const TERMINAL_GROUPS: usize = 20;
/// Emails between two progress reports.
const PROGRESS_EMAILS: u64 = 10_000;
/// The columns of csv after the value.
const COLUMNS: &str = "emails,delivered,in_progress,bounced,complained,other,bounced_ratio";

/// The statistics as JSON.
#[derive(Serialize)]
struct StatsJson {
    /// Emails that match.
    emails: u64,
    /// Bounces of the emails that were handed over to a mail server,
    /// from 0 to 1 with six digits; null if there are none, and of mail that was chosen by its status.
    bounce_rate: Option<f64>,
    /// Complaints about the emails that were delivered,
    /// from 0 to 1 with six digits; null if there are none, and of mail that was chosen by its status.
    complaint_rate: Option<f64>,
    /// What the groups are: day, hour, status, domain, subject or tag.
    by: &'static str,
    /// Times and statuses in their order, others the largest first.
    groups: Vec<GroupJson>,
    /// Groups that are not here, because of `--limit`.
    more_groups: usize,
    /// Emails in no group, such as those without a tag.
    ungrouped: u64,
    /// Emails whose tags were never fetched, so that they are in no group.
    unknown: u64,
    /// Emails in no group because there are too many different values.
    left_out: u64,
    /// Whether the archive has everything that the service listed at the last request,
    /// except what `archive info` has in `omitted`.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
    /// Time of the oldest confirmation of a status that may still change;
    /// null if all are final. Of mail that was chosen by its status: of all that it was chosen from.
    as_of: Option<String>,
    /// The same of delivered mail older than 30 days, whose statuses are seldom confirmed.
    old_as_of: Option<String>,
    /// Statuses that may still change and were never confirmed.
    unconfirmed: u64,
}

/// A group of emails.
#[derive(Serialize)]
struct GroupJson {
    /// The day, hour, status, domain, tag, or the subject with `…` for a number and `•`
    /// for a code.
    value: String,
    /// Its emails. One with two domains or two tags is in two groups.
    emails: u64,
    /// Emails that were delivered, opened or clicked.
    delivered: u64,
    /// Emails that are scheduled, queued, sent or delayed.
    in_progress: u64,
    /// Emails that bounced, failed or were suppressed.
    bounced: u64,
    /// Emails that were marked as spam.
    complained: u64,
    /// Emails that were canceled, or have another status.
    other: u64,
    /// Part of its emails that bounced, failed or were suppressed,
    /// from 0 to 1 with six digits.
    bounced_ratio: Option<f64>,
}

impl From<(String, Outcomes)> for GroupJson {
    fn from((value, outcomes): (String, Outcomes)) -> Self {
        Self {
            value,
            emails: outcomes.total(),
            delivered: outcomes.get(Outcome::Delivered),
            in_progress: outcomes.get(Outcome::InProgress),
            bounced: outcomes.get(Outcome::Bounced),
            complained: outcomes.get(Outcome::Complained),
            other: outcomes.get(Outcome::Other),
            bounced_ratio: Share::of_bounced(outcomes).ratio(),
        }
    }
}

impl GroupJson {
    fn cells(&self) -> Vec<String> {
        let counts = [
            self.emails,
            self.delivered,
            self.in_progress,
            self.bounced,
            self.complained,
            self.other,
        ];
        let ratio = self.bounced_ratio.unwrap_or_default();
        let cells = [self.value.clone()].into_iter();
        cells
            .chain(counts.map(|count| count.to_string()))
            .chain([format!("{ratio:.4}")])
            .collect()
    }
}

pub(super) fn run(args: &StatsArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    if args.csv && ctx.out.is_json() {
        let error = Error::new(ErrorKind::Usage, "--csv and JSON are two formats");
        return Err(error.with_hint("leave one of them out").into());
    }
    let started = ctx.now();
    let typed = TypedQuery::parse(&args.words, started, ctx)?;
    let archive = open_archive::open_to_read(ctx)?;
    let query = typed.check(&archive, ctx.out)?;
    let by = args.by;
    let zone = ctx.settings.zone.clone();
    let mut builder = StatisticsBuilder::grouped_by(&[by], zone, started);
    let mut counted = 0;
    archive.for_each_match(&query, &CancellationToken::default(), |row| {
        // An unreadable body has unknown tags.
        let email = (by == Grouping::Tag && row.has_body)
            .then(|| archive.email(&row.summary.id).ok().flatten())
            .flatten();
        builder.add(&row, email.as_ref().map(|email| email.tags.as_slice()));
        counted += 1;
        if counted % PROGRESS_EMAILS == 0 {
            let emails = plural(counted, "email");
            ctx.out.show_progress(&format!("{emails} counted"));
        }
        true
    })?;
    ctx.out.show_progress("");
    let (mut statistics, mut groups) = builder.finish_groups();
    let gone = statistics.age.gone;
    if query.depends_on_status() {
        // An email that is not counted may match since.
        statistics.age = find_oldest_confirmation(&archive, &query, started)?;
    }
    let groups = groups.pop().expect("there is one grouping");
    let coverage = archive.coverage()?;
    let next_step = "sentbox sync fetches the last 30 days";
    let scope = describe_scope(&archive, &query, started, next_step, ctx)?;
    let has_rates = !query.depends_on_status();
    print(args, &statistics, groups, &coverage, has_rates, ctx.out)?;
    if let Some(age) = describe_age(&statistics.age, started, &ctx.settings.zone) {
        ctx.out.note(&with_recheck(&age, &query, started, ctx));
    }
    note_gone(gone, ctx);
    ctx.out.note(&scope);
    Ok(())
}

fn print(
    args: &StatsArgs,
    statistics: &Statistics,
    groups: Groups,
    coverage: &Coverage,
    has_rates: bool,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let (bounces, complaints) = (statistics.bounces(), statistics.complaints());
    let (ungrouped, unknown, left_out) = (groups.ungrouped, groups.unknown, groups.left_out);
    let mut rows: Vec<GroupJson> = groups.into_sorted().into_iter().map(Into::into).collect();
    let is_terminal = out.columns.is_some() && !out.is_json() && !args.csv;
    let more_groups = limit_rows(&mut rows, args, is_terminal);
    let mut summary = vec![plural(statistics.total, "email")];
    if has_rates {
        summary.push(bounces.describe("bounce rate", "handed over"));
        summary.push(complaints.describe("complaint rate", "delivered"));
    }
    let summary = summary.join("; ");
    if args.csv {
        write_csv(&rows, args.by, out)?;
        out.note(&summary);
    } else if is_terminal {
        let bars = format_bars(&rows, args.by, statistics.total, out);
        out.write_data(&format!("{summary}\n\n{bars}"))?;
        out.flush()?;
    } else {
        let document = StatsJson {
            emails: statistics.total,
            bounce_rate: bounces.ratio().filter(|_| has_rates),
            complaint_rate: complaints.ratio().filter(|_| has_rates),
            by: args.by.as_str(),
            more_groups,
            ungrouped,
            unknown,
            left_out,
            complete: *coverage == Coverage::Complete,
            since: covered_since(coverage),
            as_of: statistics.age.recent.at.map(format_timestamp),
            old_as_of: statistics.age.old.at.map(format_timestamp),
            unconfirmed: statistics.age.unconfirmed(),
            groups: rows,
        };
        let lines = document.groups.iter().map(|row| row.cells().join("\t"));
        out.report_list(&document.groups, &document, lines)?;
        out.note(&summary);
    }
    if more_groups > 0 {
        let more = plural(more_groups as u64, "group");
        out.note(&format!("{more} more; --limit shows them"));
    }
    let reasons = [
        (unknown, "tags never fetched (sync --bodies)"),
        (ungrouped, "no such value"),
        (left_out, "too many different values"),
    ];
    for (count, reason) in reasons {
        if count > 0 {
            out.note(&format!("{} in no group: {reason}", plural(count, "email")));
        }
    }
    Ok(())
}

/// Removes the rows beyond the limit; returns how many.
fn limit_rows(rows: &mut Vec<GroupJson>, args: &StatsArgs, is_terminal: bool) -> usize {
    let is_long = matches!(
        args.by,
        Grouping::Domain | Grouping::Subject | Grouping::Tag
    );
    let default = if is_terminal && is_long {
        TERMINAL_GROUPS
    } else {
        usize::MAX
    };
    let limit = args.limit.map_or(default, |limit| limit as usize);
    let more = rows.len().saturating_sub(limit);
    if matches!(args.by, Grouping::Day | Grouping::Hour) {
        // The latest times are of more use than the first.
        rows.drain(..more);
    } else {
        rows.truncate(limit);
    }
    more
}

fn write_csv(rows: &[GroupJson], by: Grouping, out: &mut Output) -> Result<(), CommandExit> {
    out.write_data(&format!("{},{COLUMNS}\n", by.as_str()))?;
    for row in rows {
        out.write_data(&(csv_record(row.cells()) + "\n"))?;
    }
    out.flush()
}

/// Formats a line with a bar for each group, and its part that bounced,
/// failed or was suppressed; of a status its part of all.
fn format_bars(rows: &[GroupJson], by: Grouping, total: u64, out: &Output) -> String {
    let width = usize::from(out.columns.unwrap_or(80));
    let names: Vec<String> = rows.iter().map(|row| group_label(row, by)).collect();
    let longest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let name_width = longest.clamp(1, width / 2);
    let most = rows.iter().map(|row| row.emails).max().unwrap_or(0).max(1);
    let digits = group_digits(most, ' ').len();
    let share = |row: &GroupJson| {
        let failed = Share {
            part: row.bounced,
            whole: row.emails,
        };
        let of_all = Share {
            part: row.emails,
            whole: total,
        };
        match (by, row.bounced) {
            (Grouping::Status, _) => of_all.percent(),
            (_, 0) => String::new(),
            _ => format!("{} {}", failed.percent(), Outcome::Bounced.label()),
        }
    };
    let shares: Vec<String> = rows.iter().map(share).collect();
    let share_width = shares.iter().map(String::len).max().unwrap_or(0);
    let bar_width = width
        .saturating_sub(name_width + digits + share_width + 6)
        .max(1);
    let block = if out.ascii { "#" } else { "█" };
    let mut text = String::new();
    for ((row, share), name) in rows.iter().zip(shares).zip(names) {
        let length = u64::try_from(bar_width).unwrap_or(1) * row.emails;
        let length = usize::try_from(length.div_ceil(most)).unwrap_or(0);
        let line = format!(
            "{}  {:>digits$}  {share:>share_width$}  {}",
            align_left(&name, name_width, "…"),
            group_digits(row.emails, ' '),
            block.repeat(length)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the name of a group for people: a status as on the screen.
fn group_label(row: &GroupJson, by: Grouping) -> String {
    match by {
        Grouping::Status => Status::parse(&row.value).label().to_owned(),
        _ => row.value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;

    #[test]
    fn bars_name_bounced_and_failed_emails() {
        let mut outcomes = Outcomes::default();
        for event in ["bounced", "failed", "suppressed", "delivered"] {
            outcomes.add(Outcome::from_status(&Status::parse(event)), 1);
        }
        let rows = [GroupJson::from(("a.test".to_owned(), outcomes))];
        let mut out = Output::before_parsing(false, &Env::default());
        (out.columns, out.ascii) = (Some(50), true);
        let expected = "a.test  4  75.00 % bounced or failed  ############\n";
        assert_eq!(format_bars(&rows, Grouping::Domain, 4, &out), expected);
    }

    #[test]
    fn bars_name_statuses_as_the_screen_does() {
        let mut outcomes = Outcomes::default();
        outcomes.add(Outcome::InProgress, 1);
        let rows = [GroupJson::from(("delivery_delayed".to_owned(), outcomes))];
        let mut out = Output::before_parsing(false, &Env::default());
        (out.columns, out.ascii) = (Some(30), true);
        let expected = "delayed  1  100.00 %  ########\n";
        assert_eq!(format_bars(&rows, Grouping::Status, 1, &out), expected);
    }
}
