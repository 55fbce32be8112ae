//! Fills a template: `{{name}}` is a value, `{{#rows}}…{{/rows}}` is repeated for each row.

use std::borrow::Cow;

/// Where a template's values come from.
pub(super) trait VariableSource {
    /// The value of a name, if there is one.
    fn value(&self, name: &str) -> Option<Cow<'_, str>>;

    /// The rows of a name, if there is a section of that name.
    fn rows(&self, name: &str) -> Option<Vec<RowVariables>>;
}

/// The values of one repetition.
pub(super) type RowVariables = Vec<(&'static str, String)>;

/// What the filled text will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escaping {
    /// Values are escaped.
    Html,
    /// Values stand as they are.
    None,
}

/// The template with its values. The templates are our own, so a fault in one is a defect, which
/// the tests find: they fill each of them.
pub(super) fn render_template(
    template: &str,
    form: Escaping,
    values: &dyn VariableSource,
) -> String {
    let mut out = String::with_capacity(template.len() + template.len() / 4);
    render_into(template, form, values, &[], &mut out);
    out
}

fn render_into(
    mut template: &str,
    form: Escaping,
    values: &dyn VariableSource,
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
            let rows = values
                .rows(section)
                .unwrap_or_else(|| panic!("a template names a section that exists, not {section}"));
            for row in &rows {
                render_into(body, form, values, row, out);
            }
            template = rest;
            continue;
        }
        let of_row = row
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| Cow::Borrowed(value.as_str()));
        let value = of_row
            .or_else(|| values.value(name))
            .unwrap_or_else(|| panic!("a template names a value that exists, not {name}"));
        match form {
            Escaping::Html => escape_html(&value, out),
            Escaping::None => out.push_str(&value),
        }
    }
    out.push_str(template);
}

fn escape_html(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample(Vec<RowVariables>);

    impl VariableSource for Sample {
        fn value(&self, name: &str) -> Option<Cow<'_, str>> {
            (name == "name").then_some(Cow::Borrowed("Ana & \"Co\" <b>"))
        }

        fn rows(&self, _: &str) -> Option<Vec<RowVariables>> {
            Some(self.0.clone())
        }
    }

    #[test]
    fn values_are_escaped_in_html_only() {
        let values = Sample(vec![]);
        assert_eq!(
            render_template("Hi {{name}}!", Escaping::Html, &values),
            "Hi Ana &amp; &quot;Co&quot; &lt;b&gt;!"
        );
        assert_eq!(
            render_template("Hi {{name}}!", Escaping::None, &values),
            "Hi Ana & \"Co\" <b>!"
        );
    }

    #[test]
    fn a_section_is_repeated_and_sees_the_values_around_it() {
        let values = Sample(vec![
            vec![("item", "ink".into())],
            vec![("item", "<pen>".into())],
        ]);
        assert_eq!(
            render_template(
                "{{#items}}[{{item}} {{name}}]{{/items}}.",
                Escaping::None,
                &values
            ),
            "[ink Ana & \"Co\" <b>][<pen> Ana & \"Co\" <b>]."
        );
        assert_eq!(
            render_template("a{{#items}}x{{/items}}b", Escaping::Html, &Sample(vec![])),
            "ab"
        );
    }

    #[test]
    #[should_panic(expected = "not nmae")]
    fn a_misspelt_name_is_found() {
        render_template("{{nmae}}", Escaping::None, &Sample(vec![]));
    }
}
