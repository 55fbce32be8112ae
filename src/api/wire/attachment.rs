//! The JSON of an attachment.

use serde::Serialize;

use super::{OrderedObject, parse_scalar};

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
}
