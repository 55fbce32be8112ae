//! Times: how they are shown, in which zone, and going to one in the list.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::app::model::Model;
use crate::app::prompt::{Prompt, PromptKind};
use crate::archive::Coverage;
use crate::query::{DateExpr, SortOrder};
use crate::text::format::{CLOCK_OR_DATE, format_by_age, round_up};

impl Model {
    pub(in crate::app) fn open_date_prompt(&mut self) {
        self.open_prompt(PromptKind::Date, "");
    }

    /// Goes to the first email of that time in the order of the list.
    /// The prompt stays open if the text is not a time.
    pub(in crate::app) fn go_to_date(&mut self, prompt: Prompt) {
        if prompt.text().trim().is_empty() {
            return;
        }
        let Some(range) = DateExpr::parse_local(prompt.text().trim(), &self.now)
            .and_then(|when| when.resolve(&self.now))
        else {
            self.prompt = Some(prompt.reject());
            return;
        };
        let micros = match self.list.filter.query().sort {
            SortOrder::Newest => range.start.max(range.end - Duration::from_micros(1)),
            SortOrder::Oldest => range.start,
        };
        if !self.offer_load_since(range.start, micros.as_microsecond()) {
            if let Some((_, newest)) = self.list.archive_span
                && self.is_on_later_day(range.start, newest.as_microsecond())
            {
                // Without an answer of the service, there may be newer ones.
                let which = if self.service.is_answering() {
                    "newest"
                } else {
                    "newest loaded"
                };
                let day = self.format_day(newest);
                self.notify(format!("the {which} email is of {day}"));
            }
            self.jump_to_time(micros.as_microsecond());
        }
    }

    /// Goes to the first email of this time, in microseconds since 1970,
    /// or to the nearest loaded one.
    pub(in crate::app) fn jump_to_time(&mut self, micros: i64) {
        match (&self.service.coverage, self.list.archive_span) {
            (Some(Coverage::Since(stamp)), _) => {
                if let Some(at) = stamp.parsed.filter(|at| at.as_microsecond() > micros) {
                    self.notify(format!("mail is loaded since {}", self.format_since(at)));
                }
            }
            (Some(Coverage::Complete), Some((oldest, _)))
                if self.is_on_later_day(oldest, micros) =>
            {
                let text = format!("the oldest email is of {}", self.format_day(oldest));
                self.notify(match self.list.left_out.describe() {
                    Some(left_out) => format!("{text}; {left_out}"),
                    None => text,
                });
            }
            _ => {}
        }
        self.history.push(self.history_entry());
        let effect = self.list.jump_to_time(micros);
        self.outbox.push(effect);
    }

    fn is_on_later_day(&self, time: Timestamp, micros: i64) -> bool {
        let date = |time: Timestamp| time.to_zoned(self.now.time_zone().clone()).date();
        Timestamp::from_microsecond(micros).is_ok_and(|other| date(time) > date(other))
    }

    /// Shows full times or short ones; reports it if no row on the screen shows it.
    pub(in crate::app) fn toggle_full_times(&mut self) {
        self.full_times = !self.full_times;
        let layout = self.layout();
        let is_hidden = layout.list.is_empty() || self.list.rows().is_empty();
        if is_hidden || !layout.fits_full_times() {
            self.notify(match (self.full_times, is_hidden) {
                (true, true) => "full times, where the list has columns for them",
                (true, false) => "too narrow for full times",
                (false, _) => "short times",
            });
        }
    }

    /// Shows and reads times in UTC, or again in the zone of the start.
    pub(in crate::app) fn toggle_utc(&mut self) {
        let zone = self.now.time_zone().clone();
        if let Some(other) = self.other_zone.take() {
            self.now = self.now.with_time_zone(other);
        } else if self.now.strftime("%Z %z").to_string() == "UTC +0000" {
            return self.notify("times are in UTC, and so is the zone of the start");
        } else {
            self.other_zone = Some(zone);
            self.now = self.now.with_time_zone(TimeZone::UTC);
        }
        let zone = self.now.time_zone().iana_name();
        let zone = zone.map_or_else(|| self.now.strftime("%Z").to_string(), str::to_owned);
        self.notify(format!("times are in {zone}"));
    }

    /// Formats `3 May`, or `3 May 2025` in another year.
    pub fn format_day(&self, at: Timestamp) -> String {
        let this_year = "%-d %b";
        format_by_age(at, &self.now, [this_year, "", this_year, "%-d %b %Y"])
    }

    /// Formats a time since which all mail is here, rounded up to a minute.
    pub fn format_since(&self, at: Timestamp) -> String {
        let at = self.whole_minute_after(at);
        if at.time() == Time::midnight() {
            return self.format_day(at.timestamp());
        }
        self.format_date_time(at.timestamp())
    }

    /// Rounds a time up to a minute.
    pub fn whole_minute_after(&self, at: Timestamp) -> jiff::Zoned {
        round_up(at.to_zoned(self.now.time_zone().clone()))
    }

    /// Formats `09:41`, or `3 May 09:41` on another day.
    pub(in crate::app) fn format_date_time(&self, at: Timestamp) -> String {
        format_by_age(at, &self.now, CLOCK_OR_DATE)
    }

    /// Formats the time until which something lasts, with its zone:
    /// `09:12 CET`, `Mon 09:12 CET`.
    pub fn format_until(&self, until: Timestamp) -> String {
        // Rounded up to a whole minute: nothing happens before. The service counts in seconds, so a
        // fraction of one is the time of the answer.
        let until = until.saturating_add(SignedDuration::from_secs(59));
        let until = until.unwrap_or(Timestamp::MAX);
        let until = until.to_zoned(self.now.time_zone().clone());
        let days = self.now.date().until(until.date());
        let form = match days.map_or(i32::MAX, |span| span.get_days()) {
            0 => "%H:%M %Z",
            1..=6 => "%a %H:%M %Z",
            _ => "%-d %b %H:%M %Z",
        };
        until.strftime(form).to_string()
    }
}
