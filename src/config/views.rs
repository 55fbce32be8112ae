//! Saved views: queries with a name and a number key, in `[views]` of the configuration file.

use std::collections::BTreeMap;

use toml_edit::{InlineTable, Item, Table, value};

use super::Env;
use super::profiles::Profiles;
use crate::error::Error;

/// A saved view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedView {
    /// What people call it.
    pub(crate) name: String,
    /// What it shows, in the language of the search, as it was typed: `today` stays a word.
    pub(crate) query: String,
}

/// The views by their numbers, which are 1 to 9.
pub(crate) type SavedViews = BTreeMap<u8, SavedView>;

/// The views of a file that says nothing about views.
#[must_use]
pub(crate) fn built_in_views() -> SavedViews {
    let views = [
        (1, "Today", "after:today"),
        (2, "Trouble", "is:trouble after:7d"),
        (3, "Waiting", "status:scheduled,queued,sent,delayed"),
        (4, "Yesterday", "on:yesterday"),
    ];
    views
        .map(|(number, name, query)| {
            (
                number,
                SavedView {
                    name: name.to_owned(),
                    query: query.to_owned(),
                },
            )
        })
        .into()
}

/// What a view's number is.
pub(super) const VIEW_NUMBER_RULE: &str = "a view has a number from 1 to 9";

/// Where views are kept.
///
/// The configuration file, and no file of the program's own: whoever looks for the views finds them
/// where the manual says, and what was saved with a key can be edited, copied and shared like the
/// rest. Only the line of the view is changed; comments and order stay.
#[derive(Clone, Default)]
pub(crate) struct ViewStore(Option<Env>);

impl ViewStore {
    /// The configuration file that the environment means.
    #[must_use]
    pub(crate) const fn new(env: Env) -> Self {
        Self(Some(env))
    }

    /// Puts a view under a number, or takes away what is there. The file is read again first, so that
    /// what was changed in it meanwhile stays. Says which file it is; `None` if nothing is kept.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, understood or written.
    pub(crate) fn save(
        &self,
        number: u8,
        view: Option<&SavedView>,
    ) -> Result<Option<String>, Error> {
        let Some(env) = &self.0 else { return Ok(None) };
        let mut profiles = Profiles::load(env)?;
        let built_in = built_in_views();
        profiles.edit(|document| {
            let is_new = !document.contains_key("views");
            let item = document
                .entry("views")
                .or_insert_with(|| Item::Table(Table::new()));
            let table = item.as_table_like_mut()?;
            if is_new {
                // Those that were there so far would be gone otherwise.
                for (number, view) in &built_in {
                    write_view(table, *number, view);
                }
            }
            match view {
                Some(view) => write_view(table, number, view),
                None => {
                    table.remove(&number.to_string());
                }
            }
            Some(())
        })?;
        Ok(Some(profiles.path().display().to_string()))
    }
}

/// Writes one line; a comment beside it stays.
fn write_view(table: &mut dyn toml_edit::TableLike, number: u8, view: &SavedView) {
    let mut line = InlineTable::new();
    line.insert("name", view.name.as_str().into());
    line.insert("query", view.query.as_str().into());
    let mut written = value(line);
    let item = table.entry(&number.to_string()).or_insert(Item::None);
    if let (Some(before), Some(after)) = (item.as_value(), written.as_value_mut()) {
        *after.decor_mut() = before.decor().clone();
    }
    *item = written;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kept(
        before: Option<&str>,
        number: u8,
        view: Option<(&str, &str)>,
    ) -> Result<String, String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sentbox/config.toml");
        fs::create_dir(home.path().join("sentbox")).unwrap();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let env = Env::from_iter([("XDG_CONFIG_HOME", home.path().to_str().unwrap())]);
        let view = view.map(|(name, query)| SavedView {
            name: name.to_owned(),
            query: query.to_owned(),
        });
        ViewStore::new(env)
            .save(number, view.as_ref())
            .map_err(|failure| failure.message)?;
        Ok(fs::read_to_string(path).unwrap())
    }

    #[test]
    fn the_first_view_that_is_saved_keeps_those_that_were_built_in() {
        let text = kept(None, 5, Some(("Ana", "to:ana \"your receipt\""))).unwrap();
        assert_eq!(
            text,
            "[views]\n1 = { name = \"Today\", query = \"after:today\" }\n2 = { name = \"Trouble\", query = \"is:trouble after:7d\" }\n\
             3 = { name = \"Waiting\", query = \"status:scheduled,queued,sent,delayed\" }\n4 = { name = \"Yesterday\", query = \"on:yesterday\" }\n\
             5 = { name = \"Ana\", query = 'to:ana \"your receipt\"' }\n"
        );
        assert!(
            kept(None, 2, None)
                .unwrap()
                .lines()
                .all(|line| !line.contains("Trouble"))
        );
    }

    #[test]
    fn only_the_line_of_the_view_changes() {
        let before = "# mine\n[profiles.a]\nrate = 1 # slow\n\n[views]\n# every morning\n1 = { name = \"A\", query = \"a\" } # first\n3 = { name = \"C\", query = \"c\" }\n";
        let after = kept(Some(before), 1, Some(("B", "b"))).unwrap();
        assert_eq!(
            after,
            before.replace("\"A\"", "\"B\"").replace("\"a\"", "\"b\"")
        );
        assert_eq!(
            kept(Some(before), 3, None).unwrap(),
            before.replace("3 = { name = \"C\", query = \"c\" }\n", "")
        );
        let added = kept(Some(before), 9, Some(("I", "i"))).unwrap();
        assert_eq!(
            added,
            format!("{before}9 = {{ name = \"I\", query = \"i\" }}\n")
        );
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_left_alone() {
        assert!(kept(Some("[views]\n0 = 1\n"), 1, Some(("A", "a"))).is_err());
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        assert_eq!(ViewStore::default().save(1, None).unwrap(), None);
    }
}
