//! What verifies credentials by the settings of one moment, and what of them still holds when others follow.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use durward_session::identity::Moment;
use durward_session::identity::jwt::ProofExpected;
use durward_settings::{AuthSettings, ConfigError, JwtSettings, UserSettings};
use smol_str::SmolStr;

use super::cache::{self, Cache};
use super::secret::{self, Secrets};
use super::{By, Denied, Identity, Presented, PresentedProof, TokenClaims, Tokens};
use crate::access::dpop::{self, CheckedProof, NotProved, Seen, Share, TakenProof};
use crate::base::Clock;

/// The longest credentials that are verified; tokens of identity providers have some thousand bytes.
const CREDENTIALS_BYTES_MAX: usize = 16 * 1024;

/// What every API key begins with.
const API_KEY_PREFIX: &str = "sapl_";

/// Verifies credentials by settings that do not change.
pub struct Verifier {
    /// How many settings there were before.
    number: u64,
    settings: AuthSettings,
    clock: Clock,
    /// Users by the name they log in with.
    names: HashMap<String, usize>,
    /// Users by the id of their API key.
    keys: HashMap<String, usize>,
    secrets: Secrets,
    tokens: Option<Arc<Tokens>>,
    /// How the files that `[auth.jwt]` names looked.
    token_files: TokenFiles,
    cache: Cache,
    /// The proofs that were taken, by whatever settings.
    proofs: Arc<Seen>,
    changes: Changes,
}

/// By which settings credentials came to mean something else: what was verified by older ones is no longer good.
#[derive(Clone, Default)]
struct Changes {
    nothing: u64,
    tokens: u64,
    /// By the user's id.
    users: HashMap<SmolStr, u64>,
}

/// When a file was changed last, and how long it is.
type TokenFiles = [Option<(SystemTime, u64)>; 2];

impl Verifier {
    pub(super) fn new(settings: &AuthSettings, clock: &Clock) -> Result<Verifier, ConfigError> {
        // Before they are read: what changes meanwhile is noticed the next time.
        let token_files = looks(settings.jwt.as_ref());
        let tokens = settings.jwt.as_ref().map(Tokens::new).transpose()?.map(Arc::new);
        Ok(Verifier {
            number: 0,
            names: places(&settings.users, |user| user.name.as_ref()),
            keys: places(&settings.users, |user| user.api_key_id.as_ref()),
            secrets: Secrets::new(&settings.users)?,
            tokens,
            token_files,
            cache: Cache::new(settings),
            proofs: Arc::new(Seen::since(Moment::of(clock()))),
            settings: settings.clone(),
            clock: Arc::clone(clock),
            changes: Changes::default(),
        })
    }

    /// Whether it verifies by these settings, and by the files that they name as those are now.
    pub(super) fn is_by(&self, settings: &AuthSettings) -> bool {
        *settings == self.settings && looks(settings.jwt.as_ref()) == self.token_files
    }

    /// What verifies by other settings. What is remembered stays so, as far as it is still good.
    pub(super) fn next(&self, settings: &AuthSettings) -> Result<Verifier, ConfigError> {
        let token_files = looks(settings.jwt.as_ref());
        let has_same_tokens = settings.jwt == self.settings.jwt && token_files == self.token_files;
        let tokens = match &settings.jwt {
            Some(_) if has_same_tokens => self.tokens.clone(),
            Some(jwt) => Some(Arc::new(Tokens::new(jwt)?)),
            None => None,
        };
        let next = Verifier {
            number: self.number + 1,
            names: places(&settings.users, |user| user.name.as_ref()),
            keys: places(&settings.users, |user| user.api_key_id.as_ref()),
            secrets: Secrets::new(&settings.users)?,
            tokens,
            token_files,
            cache: Cache::new(settings),
            proofs: Arc::clone(&self.proofs),
            settings: settings.clone(),
            clock: Arc::clone(&self.clock),
            changes: self.changes_to(settings, has_same_tokens),
        };
        let cache = self.cache.carried(settings, |identity| next.holds(identity));
        Ok(Verifier { cache, ..next })
    }

    fn changes_to(&self, settings: &AuthSettings, has_same_tokens: bool) -> Changes {
        let (number, before) = (self.number + 1, &self.settings);
        let mut changes = self.changes.clone();
        let has_same_tenants = settings.default_tenant == before.default_tenant
            && settings.reject_without_tenant == before.reject_without_tenant;
        if !has_same_tenants || !settings.danger_allow_no_auth {
            changes.nothing = number;
        }
        if !has_same_tenants || !has_same_tokens {
            changes.tokens = number;
        }
        let after: HashMap<&str, &UserSettings> =
            settings.users.iter().map(|user| (user.id.as_str(), user)).collect();
        for user in &before.users {
            let is_same = after.get(user.id.as_str()).is_some_and(|after| *after == user);
            if !is_same || (user.tenant.is_none() && !has_same_tenants) {
                changes.users.insert(user.id.as_str().into(), number);
            }
        }
        changes
    }

    /// How many settings there were before.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the credentials of somebody who was verified by these settings, or by earlier ones, are still good.
    pub(super) fn holds(&self, identity: &Identity) -> bool {
        let changed = match identity.by {
            By::Nothing => self.changes.nothing,
            By::Token => self.changes.tokens,
            // No setting ends a session.
            By::Session | By::Gateway | By::Program => 0,
            By::Secret => self.changes.users.get(&identity.name).copied().unwrap_or(0),
        };
        changed <= identity.settings
    }

    /// How callers may authenticate, as `WWW-Authenticate` says it.
    pub(super) fn ways(&self) -> impl Iterator<Item = &'static str> + use<> {
        let basic = self.settings.has_basic().then_some("Basic realm=\"durward\"");
        let bearer = self.settings.has_bearer().then_some("Bearer");
        let takes_proofs = self.tokens.is_some() && !self.settings.addresses.is_empty();
        basic.into_iter().chain(bearer).chain(takes_proofs.then_some(dpop::CHALLENGE))
    }

    /// Who this is, where that is known without verifying: credentials that were right a moment ago, or nobody where none are needed.
    pub(super) fn remembered(&self, presented: &Presented, now: Instant) -> Option<Identity> {
        let cache_key = match presented {
            Presented::Nothing if self.settings.danger_allow_no_auth => return Some(self.nobody()),
            // A proof is new with every request.
            Presented::Nothing | Presented::Unknown | Presented::Dpop(_) => return None,
            _ if presented.length() > CREDENTIALS_BYTES_MAX => return None,
            Presented::Simple { name, password } => self.key_of_password(name, password),
            Presented::Bearer(key) if key.starts_with(API_KEY_PREFIX) => self.key_of_api_key(key),
            Presented::Bearer(token) => self.key_of_token(token),
        };
        self.cache.get(&cache_key, now)?.ok().filter(|identity| identity.bound.is_none())
    }

    /// What a token says.
    pub(super) async fn claims(&self, token: &str) -> Result<TokenClaims, Denied> {
        let Some(tokens) = self.tokens.as_ref().filter(|_| token.len() <= CREDENTIALS_BYTES_MAX) else {
            return Err(Denied::Wrong);
        };
        let now = (self.clock)();
        let read = tokens.verify(token, now).await?;
        if read.bound.is_some() {
            return Err(Denied::Wrong);
        }
        let all = tokens.claims(token, now).await?;
        Ok(TokenClaims { subject: read.subject, tenant: read.tenant, all })
    }

    fn key_of_password(&self, name: &str, password: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"password", name.as_bytes(), password.as_bytes()])
    }

    fn key_of_api_key(&self, key: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"key", key.as_bytes()])
    }

    fn key_of_token(&self, token: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"token", token.as_bytes()])
    }

    /// Who asks where nobody need say who they are.
    fn nobody(&self) -> Identity {
        Identity {
            tenant: self.settings.default_tenant.as_str().into(),
            name: SmolStr::default(),
            expires: None,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
            bound: None,
            by: By::Nothing,
            settings: self.number,
        }
    }

    /// Who this is.
    ///
    /// # Errors
    /// Whoever may not ask.
    pub(super) async fn verified(&self, presented: Presented) -> Result<Identity, Denied> {
        if presented.length() > CREDENTIALS_BYTES_MAX {
            return Err(Denied::Wrong);
        }
        match presented {
            Presented::Nothing if self.settings.danger_allow_no_auth => Ok(self.nobody()),
            // Credentials of a kind that is not taken are refused also where none are needed: the caller thinks that
            // they count.
            Presented::Nothing | Presented::Unknown => Err(Denied::Wrong),
            Presented::Simple { name, password } => self.verify_password(&name, password).await,
            Presented::Bearer(token) if token.starts_with(API_KEY_PREFIX) => self.verify_key(token).await,
            Presented::Bearer(token) => {
                let identity = self.verify_token(&token).await?;
                // RFC 9449, 7.2: a token that is bound to a key is no bearer token.
                if identity.bound.is_none() { Ok(identity) } else { Err(Denied::Wrong) }
            }
            Presented::Dpop(shown) => {
                let identity = self.verify_token(&shown.token).await?;
                self.verify_proof(&shown, &identity)?;
                Ok(identity)
            }
        }
    }

    /// Whether whoever asks has the key that their token is bound to.
    fn verify_proof(&self, shown: &PresentedProof, identity: &Identity) -> Result<(), Denied> {
        let bound = identity.bound.as_deref().ok_or(Denied::Wrong)?;
        let addresses: Vec<String> =
            self.settings.addresses.iter().map(|base| format!("{base}{}", shown.path)).collect();
        let now = Moment::of((self.clock)());
        let expected = ProofExpected {
            method: shown.method.as_str(),
            addresses: &addresses,
            token: Some(&shown.token),
            now,
        };
        let share = Share::caller(&format!("{} {}", identity.tenant, identity.name));
        let read = CheckedProof::read(&shown.proof, &expected).and_then(|it| it.made_since(&self.proofs));
        let taken = read.and_then(|proof| match proof.thumbprint() == bound {
            true => proof.take(&self.proofs, now, &[share]).map(TakenProof::keep),
            false => Err(NotProved::Key),
        });
        match taken {
            Ok(_) => Ok(()),
            Err(NotProved::Full) => Err(Denied::Busy),
            Err(why) => {
                tracing::debug!(%why, "a proof was refused");
                Err(Denied::Wrong)
            }
        }
    }

    async fn verify_password(&self, name: &str, password: String) -> Result<Identity, Denied> {
        if self.names.is_empty() {
            return Err(Denied::Wrong);
        }
        let cache_key = self.key_of_password(name, &password);
        let user = self.names.get(name).copied();
        self.verify_secret(cache_key, user, secret::Kind::Password, password).await
    }

    async fn verify_key(&self, key: String) -> Result<Identity, Denied> {
        if self.keys.is_empty() {
            return Err(Denied::Wrong);
        }
        let cache_key = self.key_of_api_key(&key);
        let id = key.strip_prefix(API_KEY_PREFIX).and_then(|rest| rest.split_once('_'));
        let user = id.and_then(|(id, _)| self.keys.get(id)).copied();
        self.verify_secret(cache_key, user, secret::Kind::ApiKey, key).await
    }

    /// A user that does not exist takes as long to be refused as one that does: names are not to be found out by time.
    async fn verify_secret(
        &self,
        cache_key: cache::CacheKey,
        user: Option<usize>,
        kind: secret::Kind,
        secret: String,
    ) -> Result<Identity, Denied> {
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let turn = self.secrets.turn().await?;
        // Meanwhile, somebody may have come with the same.
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let is_right = self.secrets.is_right(&turn, user, kind, secret).await?;
        let user = user.filter(|_| is_right).and_then(|user| self.settings.users.get(user));
        let verified = match user {
            Some(user) => {
                let identity = self.identity(By::Secret, user.tenant.as_deref(), &user.id, None);
                identity.map(|identity| Identity {
                    may_assert_subjects: user.may_assert_subjects,
                    may_administer: user.may_administer,
                    may_explain: user.may_explain,
                    requests_per_second_max: user.requests_per_second_max,
                    ..identity
                })
            }
            None => Err(Denied::Wrong),
        };
        if verified.is_err() {
            tracing::debug!(?kind, "wrong credentials");
        }
        self.cache.put(cache_key, &verified, Instant::now());
        verified
    }

    async fn verify_token(&self, token: &str) -> Result<Identity, Denied> {
        let Some(tokens) = &self.tokens else { return Err(Denied::Wrong) };
        let cache_key = self.key_of_token(token);
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let now = (self.clock)();
        let verified = match tokens.verify(token, now).await {
            Ok(claims) => {
                let expires = claims
                    .expires
                    .map(|expires| Instant::now() + expires.duration_since(now).unwrap_or_default());
                let identity = self.identity(By::Token, claims.tenant.as_deref(), &claims.subject, expires);
                identity.map(|identity| Identity { bound: claims.bound.map(SmolStr::from), ..identity })
            }
            Err(denied) => Err(denied),
        };
        self.cache.put(cache_key, &verified, Instant::now());
        verified
    }

    fn identity(
        &self,
        by: By,
        tenant: Option<&str>,
        name: &str,
        expires: Option<Instant>,
    ) -> Result<Identity, Denied> {
        let tenant = match tenant {
            Some(tenant) => tenant,
            None if self.settings.reject_without_tenant => return Err(Denied::Wrong),
            None => &self.settings.default_tenant,
        };
        let (tenant, name) = (tenant.into(), name.into());
        let settings = self.number;
        Ok(Identity {
            tenant,
            name,
            expires,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
            bound: None,
            by,
            settings,
        })
    }
}

/// Users by something that not all of them have.
fn places(users: &[UserSettings], of: fn(&UserSettings) -> Option<&String>) -> HashMap<String, usize> {
    users.iter().enumerate().filter_map(|(at, user)| Some((of(user)?.clone(), at))).collect()
}

fn looks(jwt: Option<&JwtSettings>) -> TokenFiles {
    let look = |path: &Option<PathBuf>| {
        let metadata = fs::metadata(path.as_ref()?).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    jwt.map(|jwt| [look(&jwt.keys), look(&jwt.authorities)]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str =
        "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$cgjDW3sW92hlpcDZjp5vwbUFmJaTisOfqz88G4ypUtg";

    fn user(id: &str, tenant: Option<&str>) -> UserSettings {
        UserSettings {
            id: id.to_owned(),
            tenant: tenant.map(str::to_owned),
            name: Some(id.to_owned()),
            password: Some(DIGEST.to_owned()),
            api_key_id: None,
            api_key: None,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
        }
    }

    fn settings(users: Vec<UserSettings>) -> AuthSettings {
        AuthSettings { users, ..AuthSettings::default() }
    }

    fn verifier(settings: &AuthSettings) -> Verifier {
        let clock: Clock = Arc::new(|| SystemTime::UNIX_EPOCH);
        Verifier::new(settings, &clock).unwrap()
    }

    #[test]
    fn who_is_gone_or_changed_no_longer_holds_and_others_do() {
        let first = verifier(&settings(vec![user("a", None), user("b", None), user("c", Some("t"))]));
        let [a, b, c] = ["a", "b", "c"].map(|id| first.identity(By::Secret, None, id, None).unwrap());
        assert!([&a, &b, &c].into_iter().all(|identity| first.holds(identity)));
        let second = first.next(&settings(vec![user("b", Some("t")), user("c", Some("t"))])).unwrap();
        assert_eq!([&a, &b, &c].map(|identity| second.holds(identity)), [false, false, true]);
        let third = second.next(&settings(vec![user("a", None), user("c", Some("t"))])).unwrap();
        assert!(!third.holds(&a), "who came back has to be verified again");
        let again = third.identity(By::Secret, None, "a", None).unwrap();
        assert!(third.holds(&again) && third.holds(&c));
    }

    #[test]
    fn users_without_a_tenant_depend_on_what_that_means() {
        let users = || vec![user("a", None), user("b", Some("t"))];
        let first = verifier(&settings(users()));
        let [a, b] = ["a", "b"].map(|id| first.identity(By::Secret, None, id, None).unwrap());
        let token = first.identity(By::Token, None, "a", None).unwrap();
        let other = AuthSettings { reject_without_tenant: true, ..settings(users()) };
        let second = first.next(&other).unwrap();
        assert_eq!([&a, &b, &token].map(|identity| second.holds(identity)), [false, true, false]);
    }

    #[test]
    fn nobody_is_let_in_for_as_long_as_that_is_allowed() {
        let open = AuthSettings { danger_allow_no_auth: true, ..AuthSettings::default() };
        let first = verifier(&open);
        let nobody = first.nobody();
        assert!(first.next(&open).unwrap().holds(&nobody));
        assert!(!first.next(&AuthSettings::default()).unwrap().holds(&nobody));
    }

    #[test]
    fn what_is_remembered_is_carried_over_where_it_holds() {
        let first = verifier(&settings(vec![user("a", None), user("b", None)]));
        let now = Instant::now();
        let presented =
            |name: &str| Presented::Simple { name: name.to_owned(), password: "secret".to_owned() };
        for name in ["a", "b"] {
            let verified = first.identity(By::Secret, None, name, None);
            first.cache.put(first.key_of_password(name, "secret"), &verified, now);
        }
        let second = first.next(&settings(vec![user("b", None)])).unwrap();
        assert!(second.remembered(&presented("a"), now).is_none());
        assert_eq!(second.remembered(&presented("b"), now).map(|identity| identity.name), Some("b".into()));
    }
}
