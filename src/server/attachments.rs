//! The attachments over HTTP:
//! their list, one of them, and its content behind a signed link without the key.

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
use subtle::ConstantTimeEq as _;

use super::error::ErrorResponse;
use super::request::{ListParams, Origin, get_only, page_range, run_blocking};
use super::{Listing, SourceAttachment};
use crate::api::wire::{self, ListBody};
use crate::config::clock::Clock;
use crate::mail::EmailId;
use crate::text::hash::to_hex;

/// How long a link works, as on the service.
const LINK_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// Signs links with a key of this process.
pub(super) struct Links {
    key: hmac::Key,
    clock: Clock,
    /// The path of a link, before the ids.
    path: &'static str,
}

/// The signature of a link, and the time when it expires.
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
        let signature = self.sign(email, id, expires);
        let Origin(origin) = origin;
        wire::Attachment {
            download_url: Some(format!(
                "{origin}/{}/{email}/{id}?expires={expires}&signature={signature}",
                self.path
            )),
            expires_at: Some(end.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()),
            ..attachment.describe()
        }
    }

    fn is_valid(&self, email: &str, id: &str, link: &Signature) -> bool {
        let expected = self.sign(email, id, link.expires);
        // In constant time, so that no part of a signature can be guessed alone.
        let is_signed = expected.as_bytes().ct_eq(link.signature.as_bytes());
        bool::from(is_signed) && (self.clock)().as_second() < link.expires
    }

    /// Returns the signature of a link, in hexadecimal digits.
    fn sign(&self, email: &str, id: &str, expires: i64) -> String {
        let text = format!("{email}\n{id}\n{expires}");
        to_hex(hmac::sign(&self.key, text.as_bytes()).as_ref())
    }
}

type Shared = State<(Listing, Arc<Links>)>;
type TwoIds = Result<Path<(String, String)>, PathRejection>;

/// The operations that need the key, below the path of a listing;
/// they read [`Origin`] from an extension.
pub(super) fn routes(listing: Listing, path: &str, links: Arc<Links>) -> Router {
    Router::new()
        .route(&format!("{path}/{{id}}/attachments"), get_only(list))
        .route(
            &format!("{path}/{{id}}/attachments/{{attachment}}"),
            get_only(retrieve),
        )
        .with_state((listing, links))
}

/// The content of attachments, which needs a signed link and no key.
pub(super) fn downloads(listing: Listing, links: Arc<Links>) -> Router {
    Router::new()
        .route(
            &format!("/{}/{{id}}/{{attachment}}", links.path),
            get(download),
        )
        .with_state((listing, links))
}

async fn list(
    State((listing, links)): Shared,
    Extension(origin): Extension<Origin>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Json<ListBody<wire::Attachment>>, ErrorResponse> {
    let ListParams { cursor, limit } = ListParams::parse(&query.unwrap_or_default())?;
    let Path(email) = id.map_err(|_| ErrorResponse::MalformedId)?;
    let all = load(listing, &email).await?;
    let (range, has_more) = page_range(&cursor, limit, all.len(), |id| {
        let found = all.iter().position(|one| one.id == id.as_str());
        found.ok_or(ErrorResponse::UnknownCursor)
    })?;
    let data = all[range].iter();
    let data = data.map(|one| links.describe(one, &email, &origin));
    Ok(Json(ListBody::new(data.collect(), has_more)))
}

async fn retrieve(
    State((listing, links)): Shared,
    Extension(origin): Extension<Origin>,
    ids: TwoIds,
) -> Result<Json<wire::Attachment>, ErrorResponse> {
    let Path((email, id)) = ids.map_err(|_| ErrorResponse::MalformedId)?;
    let attachment = find(listing, &email, &id).await?;
    Ok(Json(wire::Attachment {
        object: Some("attachment".to_owned()),
        ..links.describe(&attachment, &email, &origin)
    }))
}

async fn download(
    State((listing, links)): Shared,
    ids: TwoIds,
    link: Result<Query<Signature>, QueryRejection>,
) -> Result<Response, ErrorResponse> {
    let Path((email, id)) = ids.map_err(|_| ErrorResponse::InvalidLink)?;
    let Query(link) = link.map_err(|_| ErrorResponse::InvalidLink)?;
    if !links.is_valid(&email, &id, &link) {
        return Err(ErrorResponse::InvalidLink);
    }
    let attachment = find(listing, &email, &id).await?;
    // Never shown by a browser: it is of foreign make.
    let headers = [
        (header::CONTENT_TYPE, attachment.content_type),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, attachment.content).into_response())
}

async fn load(listing: Listing, email: &str) -> Result<Vec<SourceAttachment>, ErrorResponse> {
    let email = EmailId::new(email);
    run_blocking(move || listing.source()?.attachments(&email))
        .await
        .map_err(ErrorResponse::from_email_error)
}

async fn find(listing: Listing, email: &str, id: &str) -> Result<SourceAttachment, ErrorResponse> {
    let mut all = load(listing, email).await?.into_iter();
    all.find(|one| one.id == id)
        .ok_or(ErrorResponse::UnknownAttachment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_unexpired_signature_is_accepted() {
        let links = Links::new(Arc::new(|| Timestamp::UNIX_EPOCH), "download");
        let is_valid = |signature: &str, expires| {
            let signature = signature.to_owned();
            links.is_valid("1", "2", &Signature { expires, signature })
        };
        let signature = links.sign("1", "2", 60);
        assert!(is_valid(&signature, 60));
        assert!(!is_valid(&signature, 61), "of another time");
        assert!(!is_valid(&links.sign("1", "2", 0), 0), "expired");
        assert!(
            !is_valid(&links.sign("1", "3", 60), 60),
            "of another attachment"
        );
        let longer = format!("{signature}0");
        for wrong in ["", &signature[1..], &signature[..63], &longer] {
            assert!(!is_valid(wrong, 60), "{wrong}");
        }
    }
}
