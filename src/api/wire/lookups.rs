//! The JSON of what a service may add to an email, such as attachments.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use super::{OrderedObject, parse_scalar};
use crate::mail::{self, ApiTime, SafeText};

/// An attachment as the service describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Attachment {
    /// `attachment` where it is retrieved alone; absent in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) filename: Option<String>,
    /// Bytes.
    pub(crate) size: Option<u64>,
    pub(crate) content_type: Option<String>,
    /// `attachment` or `inline`.
    pub(crate) content_disposition: Option<String>,
    /// The html refers to it as `cid:...`.
    pub(crate) content_id: Option<String>,
    /// A signed link; absent where a received email lists its attachments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) download_url: Option<String>,
    /// When the link ends; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
}

impl Attachment {
    /// Parses an attachment: any object is one, whatever it lacks.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let object = OrderedObject::parse(json)?;
        let text = |name: &str| object.get(name).and_then(parse_scalar);
        Ok(Self {
            object: text("object"),
            id: text("id"),
            filename: text("filename"),
            size: text("size").and_then(|size| size.parse().ok()),
            content_type: text("content_type"),
            content_disposition: text("content_disposition"),
            content_id: text("content_id"),
            download_url: text("download_url"),
            expires_at: text("expires_at"),
        })
    }
}

/// An address to which the service no longer sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Suppression {
    pub(crate) object: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) email: Option<String>,
    /// `bounce`, `complaint` or `manual`.
    pub(crate) origin: Option<String>,
    /// The email that caused it.
    pub(crate) source_id: Option<String>,
    pub(crate) created_at: Option<String>,
}

impl Suppression {
    /// Parses what is shown of an entry: an object that says what it is about.
    pub(crate) fn parse(json: &str) -> Result<mail::Suppression, serde_json::Error> {
        let object = OrderedObject::parse(json)?;
        let text = |name: &str| object.get(name).and_then(parse_scalar);
        let origin = text("origin");
        if origin.is_none() && text("id").is_none() && text("email").is_none() {
            return Err(serde_json::Error::custom("no entry of a suppression list"));
        }
        Ok(mail::Suppression {
            origin: SafeText::new(&origin.unwrap_or_default()),
            created: ApiTime::parse(&text("created_at").unwrap_or_default()),
        })
    }
}

/// The counts of some emails in a range of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Metrics {
    pub(crate) object: &'static str,
    pub(crate) start_date: String,
    pub(crate) end_date: String,
    /// The names of the counts.
    #[serde(rename = "metrics")]
    pub(crate) names: Vec<String>,
    pub(crate) dimensions: Vec<&'static str>,
    pub(crate) granularity: &'static str,
    pub(crate) totals: BTreeMap<String, u64>,
    /// One row for each email, if that is a dimension.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) data: Vec<MetricsRow>,
}

/// The counts of one email.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MetricsRow {
    pub(crate) email_id: String,
    #[serde(flatten)]
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Metrics {
    /// Parses the counts of an email, none if it has no row;
    /// what is not a count, such as a rate, is left out.
    ///
    /// The totals are not read: those of a service that ignores the id are the whole team's.
    pub(crate) fn parse_counts(
        json: &str,
        email: &str,
    ) -> Result<BTreeMap<String, u64>, serde_json::Error> {
        let object = OrderedObject::parse(json)?;
        let data = object.get("data");
        let data = data.ok_or_else(|| serde_json::Error::custom("no metrics of single emails"))?;
        let rows: Vec<&RawValue> = serde_json::from_str(data)?;
        for row in rows {
            let row = OrderedObject::parse(row.get())?;
            if row.get("email_id").and_then(parse_scalar).as_deref() == Some(email) {
                let counts = row.members().filter_map(|(name, json)| {
                    let count = parse_scalar(json)?.parse().ok()?;
                    Some((name.to_owned(), count))
                });
                return Ok(counts.collect());
            }
        }
        Ok(BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_object_is_an_attachment() {
        assert_eq!(Attachment::parse("{}").unwrap(), Attachment::default());
        let parsed = Attachment::parse(r#"{"id":7,"filename":null,"size":"12","x":[]}"#).unwrap();
        let expected = Attachment {
            id: Some("7".to_owned()),
            size: Some(12),
            ..Attachment::default()
        };
        assert_eq!(parsed, expected);
        for size in ["-1", "1.5", "\"big\"", "null", "{}"] {
            let parsed = Attachment::parse(&format!(r#"{{"size":{size}}}"#)).unwrap();
            assert_eq!(parsed.size, None, "{size}");
        }
        assert!(Attachment::parse("[]").is_err());
    }

    #[test]
    fn counts_are_those_of_the_email() {
        let parse = |data: &str| {
            let json = format!(r#"{{"object":"metrics","totals":{{"opened":99}},"data":{data}}}"#);
            Metrics::parse_counts(&json, "a")
        };
        assert_eq!(parse("[]").unwrap(), BTreeMap::new());
        let other = r#"[{"email_id":"b","opened":7}]"#;
        assert_eq!(parse(other).unwrap(), BTreeMap::new());
        let counts = parse(
            r#"[{"email_id":"b","opened":7},{"email_id":"a","opened":3,"clicked":"1","sent":null,"open_rate":50.0,
                "bounced":-1,"failed":[],"delivered":18446744073709551615,"complained":18446744073709551616}]"#,
        );
        let expected = [
            ("opened", 3),
            ("clicked", 1),
            ("delivered", 18_446_744_073_709_551_615),
        ];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(counts.unwrap(), BTreeMap::from(expected));
        for wrong in ["null", "{}", "3", "[3]"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let only_totals = r#"{"totals":{"opened":99}}"#;
        assert!(Metrics::parse_counts(only_totals, "a").is_err());
    }
}
