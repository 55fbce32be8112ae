//! `EmailViews`: the views of one email, parsed once and laid out at any width.

use super::body::{Body, BodyView};
use super::document::{Document, LayoutOptions};
use super::{long_urls, mask};
use crate::mail::Email;

/// The parsed views of one email.
/// To parse and style html takes most of the time of a layout.
///
/// All calls must be about the same email: what was parsed is not compared with it.
#[derive(Debug, Default)]
pub(crate) struct EmailViews {
    documents: [Option<Document>; BodyView::ALL.len()],
    /// Whether a view has secrets, once another view was masked.
    have_secrets: [Option<bool>; BodyView::ALL.len()],
}

/// The views of a larger email are parsed each time, because of their memory.
const MAX_KEPT_JSON: usize = 1 << 20;

const NOT_MASKED: &str = "This view is hidden: it has the one-time codes or single-use links of this email, and they are masked. Reveal them to see it.";

impl EmailViews {
    /// Builds on this thread the tables that the first layout would build.
    pub(crate) fn build_tables() {
        let page = "<unknown-element>Your code is 123456";
        mask::mask_body(&mut Document::from_html(page).lay_out(80));
    }

    /// True if a layout of the email takes much memory.
    pub(crate) fn is_large(email: &Email) -> bool {
        email.json.len() > MAX_KEPT_JSON
    }

    /// Lays out one view.
    ///
    /// If secrets are masked, [`Body::has_secrets`] is about the whole email: a part may lack a
    /// link of the other one. Source and JSON may split a code, so those of an email with secrets
    /// are then not shown.
    pub(crate) fn lay_out(
        &mut self,
        email: &Email,
        view: BodyView,
        options: LayoutOptions,
    ) -> Body {
        if !options.masked {
            return self.lay_out_view(email, view, options);
        }
        let others_have_secrets = |views: &mut Self| {
            let mut others = [BodyView::Rendered, BodyView::Text].into_iter();
            others.any(|other| other != view && views.has_secrets(email, other, options))
        };
        // What is laid out of a large email must not be in memory while another view is.
        let is_whole = matches!(view, BodyView::Source | BodyView::Raw);
        let known = (is_whole || Self::is_large(email)).then(|| others_have_secrets(self));
        if is_whole && known == Some(true) {
            let mut body = Document::from_message(NOT_MASKED).lay_out(options);
            body.has_secrets = true;
            return body;
        }
        let mut body = self.lay_out_view(email, view, options);
        body.has_secrets = body.has_secrets || known.unwrap_or_else(|| others_have_secrets(self));
        body
    }

    /// Lays out one view; [`Body::has_secrets`] is about this view alone.
    fn lay_out_view(&mut self, email: &Email, view: BodyView, options: LayoutOptions) -> Body {
        let document = self.document(email, view);
        let masked = options
            .masked
            .then(|| document.with_masked_cells())
            .flatten();
        let mut body = masked
            .as_ref()
            .unwrap_or(document)
            .lay_out(options.stacked());
        if options.masked {
            mask::mask_body(&mut body);
            body.has_secrets |= masked.is_some();
        }
        // With text beside it, a code or a URL of two lines would not be found and masked.
        if document.has_columns(options) && !body.has_secrets {
            let text = body.unwrapped_text();
            body = document.lay_out(options);
            body.stacked_text = options.for_screen.then(|| text.into());
        }
        if options.for_screen && matches!(view, BodyView::Rendered | BodyView::Text) {
            long_urls::cut_long_urls(&mut body);
        }
        if Self::is_large(email) {
            self.documents = Default::default();
        }
        body
    }

    fn has_secrets(&mut self, email: &Email, view: BodyView, options: LayoutOptions) -> bool {
        if let Some(known) = self.have_secrets[view as usize] {
            return known;
        }
        // Secrets are found where no line is cut and nothing is beside another text.
        let whole = LayoutOptions {
            for_screen: false,
            ..options.stacked().masked(true)
        };
        let body = self.lay_out_view(email, view, whole);
        *self.have_secrets[view as usize].insert(body.has_secrets)
    }

    fn document(&mut self, email: &Email, view: BodyView) -> &Document {
        self.documents[view as usize].get_or_insert_with(|| Document::from_email(email, view))
    }
}
