//! Counts the matches of a query:
//! the index counts what it knows exactly, and only other candidates are loaded.

use super::fts_engine::fts_engine;
use super::fts_expr::FtsExpr;
use super::matcher::RowMatcher;
use super::periods::Period;
use super::scan::{COMPARED_ROWID, MOST_COMPARED, Scan, continue_while};
use super::tokens::flag;
use crate::archive::SortKey;
use crate::archive::listing::{Direction, TOP};
use crate::archive::storage::db::params;
use crate::error::Result;

/// Counts up to here try the prefilter;
/// for larger ones the index collects the rows of a prefix.
const MAX_PREFILTERED_COUNT: u64 = 20_000;

/// If the times of a query leave fewer emails, to compare these takes less than to
/// collect the rows of a prefix at all times.
const FEW_EMAILS: i64 = 50_000;

/// If a server finds so many matches among the first emails,
/// it compares the others, too, and does not read the index.
const MANY_COMPARED: i64 = 500;

pub(super) const COUNT_BETWEEN: &str = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid < ?3 LIMIT ?4) AS found";

pub(super) const EMAILS_UP_TO: &str = "SELECT count(*) FROM (SELECT 1 FROM mail WHERE fts_rowid > ?1 AND fts_rowid <= ?2 LIMIT ?3) AS found";

impl Scan<'_> {
    /// Counts the matches past `from`, up to `most`.
    pub(super) fn count_matches(
        &self,
        direction: Direction,
        mut from: SortKey,
        most: u64,
    ) -> Result<u64> {
        let plan = &self.plan;
        let mut found = 0;
        if most == 0 {
            return Ok(0);
        }
        let periods = if plan.changed_since.is_none() {
            plan.counted_periods(self.query, self.connection)?
        } else {
            Vec::new()
        };
        if (periods.iter()).all(|(_, it)| it.certain == FtsExpr::Nothing) {
            self.for_each_match(direction, from, &mut |_| {
                found += 1;
                continue_while(found < most)
            })?;
            return Ok(found);
        }
        let mut matcher = RowMatcher::new(self.connection, self.query, plan, direction);
        let is_short = most <= MAX_PREFILTERED_COUNT;
        // Without that, the index counts thousands of matches faster than they are compared.
        if let Some(prefilter) = &plan.prefilter
            && fts_engine(self.connection).collects_prefixes
            && (is_short || self.has_few_emails()?)
        {
            let cheap = periods.iter();
            let cheap = cheap.map(|(period, it)| (*period, it.certain.whole_words()));
            if is_short && self.count_certain(cheap, direction, from, most)? == most {
                return Ok(most);
            }
            let mut visit = |_| {
                found += 1;
                continue_while(found < most)
            };
            let prefilter = (prefilter, 0);
            let last = self.try_prefilter(prefilter, &mut matcher, direction, from, &mut visit)?;
            let Some(last) = last else { return Ok(found) };
            from = last;
        }
        let certain = periods.iter();
        let certain = certain.map(|(period, it)| (*period, it.certain.clone()));
        found += self.count_certain(certain, direction, from, most - found)?;
        if found == most {
            return Ok(found);
        }
        matcher.expect_uncertain();
        let uncertain = periods.into_iter().map(|(period, it)| {
            let others = it.certain.complement();
            (period, FtsExpr::and([it.possible, others]))
        });
        let uncertain: Vec<(Period, FtsExpr)> = uncertain.collect();
        let exprs = uncertain.iter().map(|(period, expr)| (*period, expr));
        self.for_each_candidate(exprs.collect(), direction, from, &mut |key, upcoming| {
            matcher.load_rows(upcoming)?;
            found += u64::from(self.match_readable_row(&mut matcher, key)?.is_some());
            Ok(continue_while(found < most))
        })?;
        Ok(found)
    }

    /// Whether all matches are at a time with few emails.
    fn has_few_emails(&self) -> Result<bool> {
        if !self.plan.has_times {
            return Ok(false);
        }
        let direction = Direction::Older;
        let Some(keys) = self.keys_within(Period::ALL, direction, TOP) else {
            return Ok(true);
        };
        let (first, last) = self.rowids_within(keys, direction)?;
        let params = [first, last, FEW_EMAILS];
        let emails: i64 = self.connection.value(EMAILS_UP_TO, params)?;
        Ok(emails < FEW_EMAILS)
    }

    /// Counts what the index finds in some periods past `from`, up to `most`,
    /// without the emails that are candidates in any case.
    fn count_certain(
        &self,
        exprs: impl Iterator<Item = (Period, FtsExpr)>,
        direction: Direction,
        from: SortKey,
        most: u64,
    ) -> Result<u64> {
        let mut found = 0;
        for (period, expr) in exprs {
            let Some((first, last)) = self.keys_within(period, direction, from) else {
                continue;
            };
            if expr == FtsExpr::Nothing || found == most {
                continue;
            }
            let rowids = self.rowids_within((first, last), direction)?;
            if rowids.0 == rowids.1 {
                continue;
            }
            found += self.count_indexed(&expr, direction, rowids, most - found)?;
        }
        Ok(found)
    }

    /// Counts what the index finds after the first rowid up to the last,
    /// at most `most`.
    fn count_indexed(
        &self,
        expr: &FtsExpr,
        direction: Direction,
        (first, last): (i64, i64),
        most: u64,
    ) -> Result<u64> {
        let connection = self.connection;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut members = vec![expr.clone()];
        let mut exclude = |flag: &str| members.push(FtsExpr::Token(flag.to_owned()).complement());
        if self.plan.has_times {
            exclude(flag::OUT_OF_ORDER);
        }
        if !self.plan.incomplete.is_empty() {
            exclude(flag::INCOMPLETE);
        }
        let text = FtsExpr::and(members).to_match_text(connection);
        let count = |first: i64, last: i64, most: i64| -> Result<i64> {
            let (after, before) = match direction {
                Direction::Older => (first, last.saturating_add(1)),
                Direction::Newer => (last.saturating_sub(1), first),
            };
            connection.value(COUNT_BETWEEN, params![text, after, before, most])
        };
        let mut compared: Option<i64> = None;
        if !fts_engine(connection).is_ordered {
            let params = [first, last, MOST_COMPARED - 1];
            compared = connection.optional_value(COMPARED_ROWID.get(direction), params)?;
        }
        let Some(compared) = compared else {
            return Ok(count(first, last, most)?.unsigned_abs());
        };
        let near = count(first, compared, most)?;
        let rest = || count(compared, last, most - near);
        let rest = if near >= MANY_COMPARED {
            rest()?
        } else {
            connection.without_walks(rest)?
        };
        Ok((near + rest).unsigned_abs())
    }
}
