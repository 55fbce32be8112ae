//! `list`: the service's list operation, page after page if more is asked for than fits in one.

use std::collections::HashSet;

use super::args::ListArgs;
use super::escape::{escape_line, list_end, list_item};
use super::output::{CommandExit, Output, OutputFormat};
use super::table::{RowLayout, tab_separated};
use crate::api::{Cursor, EmailApi, EmailPage, ListedEmail, MAX_LIMIT};
use crate::error::{Error, ErrorKind};
use crate::mail::{EmailId, Summary};

/// Runs `list`.
///
/// # Errors
///
/// If the service fails; a JSON document that was begun is still ended, with `has_more` true.
pub(super) async fn run(
    service: &impl EmailApi,
    list: &ListArgs,
    columns: &RowLayout,
    out: &mut Output,
) -> Result<(), CommandExit> {
    if !list.words.is_empty() {
        let failure = Error::new(
            ErrorKind::Usage,
            "list shows what the service has, which cannot search",
        );
        return Err(failure
            .with_hint(format!(
                "sentbox search {} looks in the archive",
                list.words.join(" ")
            ))
            .into());
    }
    let page_size = u32::from(MAX_LIMIT);
    if list.before.is_some() && list.limit > page_size {
        let message = format!("--before gives one page, so --limit is at most {MAX_LIMIT} with it");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("to walk to older emails, use --after")
            .into());
    }
    // A service may give less than a page, or may not say whether there is more.
    let is_walk = list.before.is_none();
    let mut seen = HashSet::new();
    let mut left = if list.all { u32::MAX } else { list.limit };
    let mut cursor = list.cursor();
    let mut printer = ListPrinter {
        columns,
        out,
        printed: 0,
    };
    loop {
        let asked = u8::try_from(left.min(page_size)).expect("a page is at most 100");
        let page = match service.list(asked, &cursor).await {
            Ok(page) => page,
            Err(failure) if printer.printed == 0 => return Err(failure.into()),
            Err(failure) => {
                printer.end(true)?;
                return Err(failure.into());
            }
        };
        let EmailPage {
            mut items,
            unreadable,
            has_more,
        } = page;
        if unreadable > 0 {
            printer.out.note(&format!(
                "{unreadable} of the service's items could not be read and are left out"
            ));
        }
        if is_walk {
            // Pages may overlap while mail arrives.
            items.retain(|item| seen.insert(EmailId::new(&item.id)));
        }
        let is_cut = is_walk && items.len() > left as usize;
        if is_cut {
            // A service may ignore the limit.
            items.truncate(left as usize);
        }
        for item in &items {
            printer.print_item(item)?;
        }
        printer.out.flush()?;
        if !list.all {
            left = left.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        }
        let goes_on = is_walk && has_more != Some(false) && left > 0;
        let Some(last) = items.last().filter(|_| goes_on) else {
            // Where the service does not say so, only a page with nothing new shows that there is no more.
            printer.end(is_cut || has_more.unwrap_or(!items.is_empty()))?;
            if goes_on && has_more == Some(true) {
                let message = "the service says that there is more, but sends nothing new";
                return Err(Error::new(ErrorKind::NotTheApi, message)
                    .with_hint("what is printed may not be everything")
                    .into());
            }
            return Ok(());
        };
        cursor = Cursor::After(EmailId::new(&last.id));
    }
}

struct ListPrinter<'a> {
    columns: &'a RowLayout,
    out: &'a mut Output,
    printed: usize,
}

impl ListPrinter<'_> {
    fn print_item(&mut self, item: &ListedEmail) -> Result<(), CommandExit> {
        let text = match self.out.format {
            OutputFormat::Human if self.out.columns.is_some() => {
                self.columns
                    .format_row(&Summary::from(&item.parsed().summary), false)
                    + "\n"
            }
            OutputFormat::Human => tab_separated(&Summary::from(&item.parsed().summary)) + "\n",
            OutputFormat::JsonLines => format!("{}\n", escape_line(&item.json)),
            OutputFormat::Json => list_item(&escape_line(&item.json), self.printed == 0),
        };
        self.printed += 1;
        self.out.write_styled(&text)
    }

    fn end(&mut self, has_more: bool) -> Result<(), CommandExit> {
        if self.out.format == OutputFormat::Json {
            self.out
                .write_data(&list_end(self.printed == 0, has_more))?;
        }
        self.out.flush()
    }
}
