//! The forms in which a set of emails is exported.

use super::ExportFormat;
use super::csv::csv_header;

/// The form of an exported set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SetFormat {
    /// One file for each email in a new folder.
    Files(ExportFormat),
    /// One JSON document, in the envelope of the service's list.
    Json,
    /// One JSON object a line, as `sentbox import` reads it.
    JsonLines,
    /// One record a line, with masked codes and without bodies.
    Csv,
}

impl SetFormat {
    /// All formats; the first is the default.
    pub(crate) const ALL: [Self; 6] = [
        Self::Files(ExportFormat::Eml),
        Self::Files(ExportFormat::Html),
        Self::Files(ExportFormat::Text),
        Self::Json,
        Self::JsonLines,
        Self::Csv,
    ];

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Files(ExportFormat::Eml) => "eml",
            Self::Files(ExportFormat::Html) => "html",
            Self::Files(ExportFormat::Text) => "text",
            Self::Files(ExportFormat::Json) | Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Csv => "csv",
        }
    }

    /// Returns the name as it is typed: `jsonl`.
    pub(crate) fn name(self) -> &'static str {
        self.extension().unwrap_or(self.label())
    }

    /// Returns the ending of the file, without the dot; a folder has none.
    pub(crate) const fn extension(self) -> Option<&'static str> {
        match self {
            Self::Files(_) => None,
            Self::Json => Some("json"),
            Self::JsonLines => Some("jsonl"),
            Self::Csv => Some("csv"),
        }
    }

    /// Returns what a file begins with.
    pub(super) fn start(self) -> String {
        match self {
            Self::Files(_) | Self::JsonLines => String::new(),
            Self::Json => "{\"object\":\"list\",\"data\":[".to_owned(),
            Self::Csv => csv_header(),
        }
    }

    /// Whether the bodies are exported.
    pub(crate) fn has_bodies(self) -> bool {
        self != Self::Csv
    }
}
