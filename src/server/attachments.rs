//! The attachments over HTTP: their list, one of them, and its content behind a signed link without the key.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json};
use jiff::{SignedDuration, Timestamp};
use ring::{hmac, rand};
use serde::Deserialize;

use super::error::ErrorResponse;
use super::request::{ListParams, Origin, method_not_allowed, run_blocking};
use super::{EmailSource, SourceAttachment};
use crate::api::wire::ListBody;
use crate::api::{Cursor, wire};
use crate::config::clock::Clock;
use crate::mail::EmailId;

/// How long a link works, as on the service.
const LINK_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// Signs links with a key of this process.
pub(super) struct Links {
    key: hmac::Key,
    clock: Clock,
    /// The path of a link, before the ids.
    path: &'static str,
}

/// What a link is signed with.
#[derive(Deserialize)]
pub(super) struct Signature {
    expires: i64,
    signature: String,
}

impl Links {
    pub(super) fn new(clock: Clock, path: &'static str) -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new());
        Self {
            key: key.expect("the system has random numbers"),
            clock,
            path,
        }
    }

    fn describe(
        &self,
        attachment: &SourceAttachment,
        email: &str,
        origin: &Origin,
    ) -> wire::Attachment {
        let end = (self.clock)()
            .saturating_add(LINK_LIFETIME)
            .unwrap_or(Timestamp::MAX);
        let expires = end.as_second();
        let id = &attachment.id;
        let tag = hmac::sign(&self.key, signed_text(email, id, expires).as_bytes());
        let mut signature = String::new();
        for byte in tag.as_ref() {
            let _ = write!(signature, "{byte:02x}");
        }
        let Origin(origin) = origin;
        wire::Attachment {
            object: None,
            id: Some(id.clone()),
            filename: Some(attachment.name.clone()),
            size: Some(attachment.content.len() as u64),
            content_type: Some(attachment.content_type.clone()),
            content_disposition: Some("attachment".to_owned()),
            content_id: None,
            download_url: Some(format!(
                "{origin}/{}/{email}/{id}?expires={expires}&signature={signature}",
                self.path
            )),
            expires_at: Some(end.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()),
        }
    }

    fn is_valid(&self, email: &str, id: &str, link: &Signature) -> bool {
        let text = signed_text(email, id, link.expires);
        let is_signed = decode_hex(&link.signature)
            .is_some_and(|tag| hmac::verify(&self.key, text.as_bytes(), &tag).is_ok());
        is_signed && (self.clock)().as_second() < link.expires
    }
}

fn signed_text(email: &str, id: &str, expires: i64) -> String {
    format!("{email}\n{id}\n{expires}")
}

/// Decodes bytes of two hexadecimal digits each.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let decoded = pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(high)? * 16 + digit(low)?).ok());
    decoded.collect()
}

type Shared<S> = State<(Arc<S>, Arc<Links>)>;
type TwoIds = Result<Path<(String, String)>, PathRejection>;

/// The operations that need the key, below the path of a listing; they read [`Origin`] from an extension.
pub(super) fn routes<S: EmailSource>(source: Arc<S>, path: &str, links: Arc<Links>) -> Router {
    Router::new()
        .route(
            &format!("{path}/{{id}}/attachments"),
            get(list::<S>).head(method_not_allowed),
        )
        .route(
            &format!("{path}/{{id}}/attachments/{{attachment}}"),
            get(retrieve::<S>).head(method_not_allowed),
        )
        .with_state((source, links))
}

/// The content of attachments, which needs a signed link and no key.
pub(super) fn downloads<S: EmailSource>(source: Arc<S>, links: Arc<Links>) -> Router {
    Router::new()
        .route(
            &format!("/{}/{{id}}/{{attachment}}", links.path),
            get(download::<S>),
        )
        .with_state((source, links))
}

async fn list<S: EmailSource>(
    State((source, links)): Shared<S>,
    Extension(origin): Extension<Origin>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<ListBody<wire::Attachment>>, ErrorResponse> {
    let ListParams { cursor, limit } = ListParams::parse(&query.unwrap_or_default())?;
    let Path(email) = id.map_err(|_| ErrorResponse::MalformedId)?;
    let all = load(source, &email).await?;
    let index = |id: &EmailId| {
        let found = all.iter().position(|one| one.id == id.as_str());
        found.ok_or(ErrorResponse::UnknownCursor)
    };
    let limit = usize::from(limit);
    let (range, has_more) = match cursor {
        Cursor::Start => (0..all.len().min(limit), all.len() > limit),
        Cursor::After(id) => {
            let start = index(&id)? + 1;
            let end = all.len().min(start + limit);
            (start..end, end < all.len())
        }
        Cursor::Before(id) => {
            let end = index(&id)?;
            let start = end.saturating_sub(limit);
            (start..end, start > 0)
        }
    };
    let data = all[range].iter();
    Ok(Json(ListBody {
        object: Some("list".to_owned()),
        has_more: Some(has_more),
        data: data
            .map(|one| links.describe(one, &email, &origin))
            .collect(),
    }))
}

async fn retrieve<S: EmailSource>(
    State((source, links)): Shared<S>,
    Extension(origin): Extension<Origin>,
    ids: TwoIds,
) -> Result<Json<wire::Attachment>, ErrorResponse> {
    let Path((email, id)) = ids.map_err(|_| ErrorResponse::MalformedId)?;
    let attachment = find(source, &email, &id).await?;
    Ok(Json(wire::Attachment {
        object: Some("attachment".to_owned()),
        ..links.describe(&attachment, &email, &origin)
    }))
}

async fn download<S: EmailSource>(
    State((source, links)): Shared<S>,
    ids: TwoIds,
    link: Result<Query<Signature>, QueryRejection>,
) -> Result<Response, ErrorResponse> {
    let Path((email, id)) = ids.map_err(|_| ErrorResponse::InvalidLink)?;
    let Query(link) = link.map_err(|_| ErrorResponse::InvalidLink)?;
    if !links.is_valid(&email, &id, &link) {
        return Err(ErrorResponse::InvalidLink);
    }
    let attachment = find(source, &email, &id).await?;
    // Never shown by a browser: it is of foreign make.
    let headers = [
        (header::CONTENT_TYPE, attachment.content_type),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, attachment.content).into_response())
}

async fn load<S: EmailSource>(
    source: Arc<S>,
    email: &str,
) -> Result<Vec<SourceAttachment>, ErrorResponse> {
    let email = EmailId::new(email);
    run_blocking(move || source.attachments(&email))
        .await
        .map_err(ErrorResponse::from_email_error)
}

async fn find<S: EmailSource>(
    source: Arc<S>,
    email: &str,
    id: &str,
) -> Result<SourceAttachment, ErrorResponse> {
    let mut all = load(source, email).await?.into_iter();
    all.find(|one| one.id == id)
        .ok_or(ErrorResponse::UnknownAttachment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_has_two_digits_a_byte() {
        assert_eq!(decode_hex("00fF"), Some(vec![0, 255]));
        for wrong in ["000", "0", "+f", "0g", "é"] {
            assert_eq!(decode_hex(wrong), None, "{wrong}");
        }
    }
}
