//! Tokens that this server gives (`[oauth]`): the keys that sign them, those that were recalled, and what a token says that is
//! good; what clients may ask for with a browser, and the codes and refresh tokens that come of it. Who may have one is for
//! `surfaces/oauth` and `surfaces/oidc` to say.

pub mod authorization;
mod decision;
pub mod digest;
pub mod grant;
pub mod id_token;
mod keys;
pub mod participants;
mod recalls;
mod revoked;
pub mod subject;
pub mod user_claims;

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use durward_session::Service;
use durward_session::identity::{IdentityError, Moment};
use durward_settings::{ConfigError, OauthClientSettings, OauthSettings, Settings};

use crate::access::dpop::Proofs;
pub use decision::Good;
pub use keys::KeyStore;
use keys::{Keys, Source};
use participants::Participants;
use recalls::Recalls;
pub use revoked::{NotRevoked, Revoked, name_of};

/// What tokens are given and answered for with.
pub struct Issued {
    /// The issuer's address, `iss` in its tokens.
    pub issuer: String,
    /// Its clients are those of the start; [`Issued::clients`] has those of now.
    pub settings: OauthSettings,
    /// The clients as they are now: settings can change them while the server runs.
    pub clients: ArcSwap<Vec<OauthClientSettings>>,
    /// What tokens are signed with.
    pub keys: Keys,
    /// Tokens that were revoked before they ended.
    pub revoked: Arc<Revoked>,
    /// Who is told of sessions that end.
    pub participants: Participants,
    /// What proofs of clients and of those who show tokens are looked at with.
    pub proofs: Proofs,
    recalls: Recalls,
    /// Who knows of sessions, and what other nodes recalled.
    pub service: Option<Service>,
}

impl Issued {
    /// The address of `userinfo`, which is also the audience of tokens that may ask there.
    pub fn userinfo(&self) -> String {
        format!("{}/oauth2/userinfo", self.issuer)
    }

    /// Nothing where the settings name no issuer.
    ///
    /// # Errors
    /// Keys, secrets or a directory that cannot be used.
    pub fn new(
        settings: &Settings,
        now: SystemTime,
        service: Option<&Service>,
    ) -> Result<Option<Issued>, ConfigError> {
        let (settings, is_cluster) = (&settings.oauth, settings.identity.nats.is_some());
        let Some(issuer) = &settings.issuer else { return Ok(None) };
        let wrong =
            |error: IdentityError| ConfigError::of_setting("oauth", format!("cannot be used: {error}"));
        if let Some(realm) =
            service.iter().flat_map(|service| service.realms()).find(|realm| realm.contains('@'))
        {
            let message = format!("has `{realm}`: a realm whose users get tokens has no `@` in its name");
            return Err(ConfigError::of_setting("identity.realms", message));
        }
        let now = Moment::of(now);
        if let Some(data) = &settings.data {
            let failed = |error| IdentityError::new(format!("cannot make `{}`: {error}", data.display()));
            std::fs::create_dir_all(data).map_err(failed).map_err(wrong)?;
        }
        let source = match (service, &settings.data) {
            (Some(service), _) if is_cluster => {
                let service = service.clone();
                Source::Cluster(Box::new(move |purpose| service.derive_key(purpose)))
            }
            (_, Some(data)) => Source::Directory(data.clone()),
            (_, None) => Source::Process,
        };
        Ok(Some(Issued {
            issuer: issuer.clone(),
            keys: Keys::open(settings, source, now).map_err(wrong)?,
            participants: Participants::default(),
            proofs: Proofs::new(service, settings.dpop_nonces_required, now).map_err(wrong)?,
            recalls: Recalls::default(),
            revoked: Arc::new(Revoked::open(settings.data.as_deref(), now).map_err(wrong)?),
            clients: ArcSwap::from_pointee(settings.clients.clone()),
            settings: settings.clone(),
            service: service.cloned(),
        }))
    }
}
