//! Credentials: the key and the address it belongs to, from one source.

use super::env::Flags;
use super::file::{KeySource, ProfileConfig};
use super::{ApiKey, BaseUrl, Env};
use crate::error::{Error, ErrorKind};

/// A key and the address it belongs to. Both come from one source: a key must never be sent to an
/// address from another source.
pub(super) struct Credentials {
    pub(super) base_url: BaseUrl,
    pub(super) key: Result<ApiKey, Error>,
    pub(super) key_source: String,
    pub(super) is_unconfigured: bool,
    pub(super) is_from_profile: bool,
}

impl Credentials {
    pub(super) fn resolve(
        flags: &Flags,
        env: &Env,
        name: &str,
        profile: &ProfileConfig,
    ) -> Result<Self, Error> {
        if flags.profile.is_none() {
            if let Some(pair) =
                Self::from_environment(flags, env, "SENTBOX_API_KEY", "SENTBOX_BASE_URL")?
            {
                return Ok(pair);
            }
            if env.get("SENTBOX_BASE_URL").is_some() {
                let base_url = apply_base_url_flag(
                    flags,
                    base_url_from_env(env, "SENTBOX_BASE_URL")?,
                    "SENTBOX_BASE_URL",
                )?;
                let failure = Error::new(
                    ErrorKind::KeyMissing,
                    "SENTBOX_BASE_URL is set, but not the key that belongs to it",
                );
                let key = Err(failure.with_hint("set SENTBOX_API_KEY too"));
                return Ok(Self {
                    base_url,
                    key,
                    key_source: String::new(),
                    is_unconfigured: false,
                    is_from_profile: false,
                });
            }
            let profile_named = env.get("SENTBOX_PROFILE").is_some();
            if !profile_named
                && let Some(pair) =
                    Self::from_environment(flags, env, "RESEND_API_KEY", "RESEND_BASE_URL")?
            {
                return Ok(pair);
            }
        }
        let key_from = format!("profile {name}");
        let key = match &profile.key {
            Some(KeySource::Command(command)) => {
                ApiKey::from_command(command, &key_from, flags.prompting)
            }
            Some(KeySource::File(path)) => ApiKey::from_file(path, &key_from),
            Some(KeySource::Variable(variable)) => match env.get(variable) {
                Some(text) => ApiKey::new(text, variable),
                None => Err(Error::new(
                    ErrorKind::KeyMissing,
                    format!("{variable}, where {key_from} has its key, is not set"),
                )),
            },
            None => Err(Error::new(ErrorKind::KeyMissing, "there is no API key")
                .with_hint("run sentbox login, or set SENTBOX_API_KEY; sentbox demo needs none")),
        };
        let base_url = apply_base_url_flag(flags, profile.base_url.clone(), &key_from)?;
        Ok(Self {
            base_url,
            key,
            key_source: key_from,
            is_unconfigured: profile.key.is_none(),
            is_from_profile: true,
        })
    }

    fn from_environment(
        flags: &Flags,
        env: &Env,
        key: &str,
        base: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(text) = env.get(key) else {
            return Ok(None);
        };
        let base_url = apply_base_url_flag(flags, base_url_from_env(env, base)?, base)?;
        let (key, key_from) = (ApiKey::new(text, key), key.to_owned());
        Ok(Some(Self {
            base_url,
            key,
            key_source: key_from,
            is_unconfigured: false,
            is_from_profile: false,
        }))
    }
}

fn base_url_from_env(env: &Env, name: &str) -> Result<Option<BaseUrl>, Error> {
    env.get(name)
        .map(BaseUrl::parse)
        .transpose()
        .map_err(|failure| Error {
            message: format!("{name}: {}", failure.message),
            ..failure
        })
}

/// The address: the flag completes a source that names none, but may not redirect the key of one that does.
fn apply_base_url_flag(
    flags: &Flags,
    configured: Option<BaseUrl>,
    by: &str,
) -> Result<BaseUrl, Error> {
    let Some(flag) = flags.base_url.as_deref().map(BaseUrl::parse).transpose()? else {
        return Ok(configured.unwrap_or_else(BaseUrl::resend));
    };
    match configured {
        Some(configured) if configured.url().origin() != flag.url().origin() => {
            let message = format!(
                "--base-url names another service than {by}, where the key belongs to {configured}"
            );
            Err(Error::new(ErrorKind::Usage, message)
                .with_hint("use a profile of its own for each service"))
        }
        _ => Ok(flag),
    }
}
