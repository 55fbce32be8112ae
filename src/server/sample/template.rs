//! The kinds of mail that the sample company sends, and the template engine.
//!
//! In a template `{{name}}` is a variable, and `{{#rows}}…{{/rows}}` is repeated for each row.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;

use super::customers::Language;
use super::parse_data;
use super::variables::Variables;
use crate::text::format::escape_html;

/// Defines the table of template files, by name.
macro_rules! template_files {
    ($($name:literal)*) => {
        const TEMPLATE_FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../assets/sample/", $name)))),*];
    };
}

template_files! {
    "alert.txt" "basket.html" "changelog.html" "changelog.txt" "contact.html" "contact.txt" "days.csv"
    "digest.html" "digest.txt" "dunning.html" "dunning.txt" "event.html" "event.ics" "event.txt" "invite.html"
    "invite.txt" "invoice.html" "invoice.txt" "items.csv" "magic_link.html" "magic_link.txt" "newsletter.html"
    "newsletter.txt" "notice_de.html" "notice_de.txt" "order_ja.html" "order_ja.txt"
    "receipt.html" "receipt.txt" "refund.html" "refund.txt" "reply.html" "reply.txt" "report.html"
    "reset_code.html" "reset_code.txt" "sale.html" "shipping.html" "shipping.txt" "signin.html"
    "signin.txt" "statement.html" "survey.html" "welcome.html" "welcome.txt" "welcome_ar.html"
    "welcome_ar.txt"
}

static DATA: LazyLock<TemplateData> =
    LazyLock::new(|| parse_data(include_str!("../../../assets/sample/templates.toml")));

/// The content of `templates.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateData {
    templates: Vec<EmailTemplate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmailTemplate {
    /// Also its `category` tag.
    pub(super) name: String,
    pub(super) from: String,
    /// The only recipient, instead of a customer.
    pub(super) to: Option<String>,
    pub(super) reply_to: Option<String>,
    /// A template, as are `html` and `text`.
    pub(super) subject: String,
    pub(super) html: Option<TemplateFile>,
    pub(super) text: Option<TemplateFile>,
    /// Part of all mail, in permille.
    #[serde(rename = "share")]
    pub(super) share_permille: u64,
    /// Part of the delivered emails, in permille.
    #[serde(rename = "opened")]
    pub(super) opened_permille: u64,
    /// Part of the opened emails, in permille.
    #[serde(rename = "clicked")]
    pub(super) clicked_permille: u64,
    pub(super) copies: Option<CopyRecipients>,
    #[serde(default)]
    pub(super) language: Language,
    /// Whether some of these emails are scheduled.
    #[serde(default, rename = "schedulable")]
    pub(super) is_schedulable: bool,
    /// Names and values, beside the category.
    #[serde(default)]
    pub(super) tags: Vec<(String, String)>,
    #[serde(default)]
    pub(super) attachments: Vec<AttachmentTemplate>,
}

/// A template of a file name, and the file's content.
#[derive(Debug, Deserialize)]
pub(super) struct AttachmentTemplate(pub(super) String, pub(super) TemplateFile);

/// Further recipients of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CopyRecipients {
    /// Colleagues of the customer; our own accountants for a private customer.
    Colleagues,
    /// Our own archive mailbox as `bcc`.
    Archive,
}

impl EmailTemplate {
    /// Returns all kinds of mail.
    pub(super) fn all() -> &'static [Self] {
        &DATA.templates
    }

    /// Returns the template for a random number from 0 to 999.
    pub(super) fn pick(permille: u64) -> &'static Self {
        let mut end = 0;
        let template = Self::all().iter().find(|template| {
            end += template.share_permille;
            permille < end
        });
        template.expect("the shares add up to a thousand")
    }
}

/// The content of a template file, which the data refers to by name.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct TemplateFile(pub(super) String);

impl TryFrom<String> for TemplateFile {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let file = TEMPLATE_FILES.iter().find(|(file, _)| *file == name);
        file.map(|(_, text)| Self((*text).to_owned()))
            .ok_or_else(|| format!("no template file {name}"))
    }
}

/// Whether the values of variables are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escaping {
    Html,
    None,
}

/// Fills a template. Panics at an unknown variable: a test fills every template.
pub(super) fn render_template(
    template: &str,
    escaping: Escaping,
    variables: &Variables<'_>,
) -> String {
    let mut out = String::with_capacity(template.len() + template.len() / 4);
    render_into(template, escaping, variables, &[], &mut out);
    out
}

fn render_into(
    mut template: &str,
    escaping: Escaping,
    variables: &Variables<'_>,
    row: &[(&str, String)],
    out: &mut String,
) {
    while let Some((before, rest)) = template.split_once("{{") {
        let (name, rest) = rest.split_once("}}").expect("a placeholder is closed");
        out.push_str(before);
        template = rest;
        if let Some(section) = name.strip_prefix('#') {
            let (body, rest) = rest
                .split_once(&format!("{{{{/{section}}}}}"))
                .expect("a section is closed");
            let rows = variables
                .rows(section)
                .unwrap_or_else(|| panic!("unknown section {section}"));
            for row in &rows {
                render_into(body, escaping, variables, row, out);
            }
            template = rest;
            continue;
        }
        let value = row
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| Cow::Borrowed(value.as_str()))
            .or_else(|| variables.value(name))
            .unwrap_or_else(|| panic!("unknown variable {name}"));
        match escaping {
            Escaping::Html => escape_html(&value, out),
            Escaping::None => out.push_str(&value),
        }
    }
    out.push_str(template);
}

#[cfg(test)]
mod tests {
    use super::super::customers::Customers;
    use super::super::rng::{Rng, Stream};
    use super::*;
    use crate::text::checks::TextChecks as _;

    fn render(template: &str, escaping: Escaping) -> String {
        let customer =
            Customers::new(1).pick(&mut Rng::new(1, 1, Stream::Recipient), Language::English);
        let variables = Variables::new(
            Rng::new(1, 1, Stream::Body),
            Language::English,
            &customer,
            "Ana & \"Co\" <b>",
            jiff::Timestamp::UNIX_EPOCH,
        );
        render_template(template, escaping, &variables)
    }

    #[test]
    fn only_html_is_escaped() {
        let expected = "Hi Ana &amp; &quot;Co&quot; &lt;b&gt;!";
        assert_eq!(render("Hi {{inviter}}!", Escaping::Html), expected);
        let expected = "Hi Ana & \"Co\" <b>!";
        assert_eq!(render("Hi {{inviter}}!", Escaping::None), expected);
    }

    #[test]
    fn section_is_repeated_with_outer_variables() {
        let text = render("{{#days}}[{{day}} {{inviter}}]{{/days}}.", Escaping::None);
        text.assert_starts("[Monday Ana & \"Co\" <b>][Tuesday Ana");
        text.assert_ends("].");
    }

    #[test]
    fn every_template_file_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/sample");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none_or(|extension| extension != "toml"))
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort_unstable();
        assert!(files.iter().eq(TEMPLATE_FILES.iter().map(|(name, _)| name)));
    }
}
