//! durward's users and sessions as the authorization service knows them: realms from files and LDAP, the throttle of all logins, groups as
//! roles, attributes as they are.
//!
//! Whoever got a token is looked at again for as long as it may live: when a session ends, a user is disabled or changes groups, the
//! tokens of before are recalled ([`TokenRevocation`]).

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durward_opcua::authority::decide::{SubjectKind, TokenClientApplication, TokenSubject};
use durward_opcua::authority::{AuthorizationService, CallerUser, Credential, SubjectRefusal, Subjects};
use durward_opcua::channel::{PeerRole, PeerTrust as _};
use durward_opcua::crypto::Certificate;
use durward_opcua::pki::CertificateDirectory as UserDirectory;
use durward_opcua::token::{CutoffTarget, Thumbprint};
use durward_session::identity::session::{Session, SessionId, User as Named};
use durward_session::identity::user::{Account, Directory, HashCosts, UserStore};
use durward_session::identity::{IdentityError, Moment, SystemEntropy};
use durward_session::{Failed, Login, LoginRequest, Purpose, Refused, Service, SessionNews, Wanted};
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::failure::{CommandError, without_number};

/// How names of subjects begin that are no users.
const APPLICATION: &str = "application:";

/// How often a session is looked at that may end without being told.
const SESSION_EVERY: Duration = Duration::from_secs(2);

/// How often a user is looked at. A directory may be a network away.
const USER_EVERY: Duration = Duration::from_secs(10);

/// The users of a session service. Called on threads that may wait.
pub(super) struct SessionUsers {
    service: Service,
    /// Of users who name none.
    realm: String,
    /// Whose certificates are trusted as those of users.
    certificates: Option<UserDirectory>,
    runtime: Handle,
    watched: Arc<WatchedHolders>,
}

/// Whose tokens are to end.
pub(super) type TokenRevocation = mpsc::UnboundedReceiver<CutoffTarget<Arc<str>>>;

impl SessionUsers {
    /// The users of a service, in this realm where they name none, and what is to be recalled because one of them has changed. Whoever
    /// gets a token is looked at for `lifetime` after that. Needs a runtime.
    pub(super) fn new(
        service: Service,
        realm: &str,
        certificates: Option<UserDirectory>,
        lifetime: Duration,
    ) -> (SessionUsers, TokenRevocation) {
        let (sender, recall) = mpsc::unbounded_channel();
        let runtime = Handle::current();
        let watched = WatchedHolders {
            service: service.clone(),
            runtime: runtime.clone(),
            lifetime,
            subjects: Mutex::default(),
            sender,
        };
        let (realm, watched) = (realm.to_owned(), Arc::new(watched));
        (SessionUsers { service, realm, certificates, runtime, watched }, recall)
    }

    /// The user whom a trusted certificate says.
    fn certificate(&self, certificate: &Certificate, now: Moment) -> Result<CallerUser, SubjectRefusal> {
        let directory = self.certificates.as_ref().ok_or(SubjectRefusal::Rejected)?;
        directory.check(&[certificate.der()], PeerRole::User, now).map_err(|error| {
            tracing::info!(subject = certificate.subject(), %error, "a user's certificate is not taken");
            SubjectRefusal::Rejected
        })?;
        let name = certificate.common_name().ok_or(SubjectRefusal::Rejected)?;
        self.runtime.block_on(self.watched.user(&self.named(name)?))?;
        Ok(CallerUser::Certificate(Arc::from(certificate.der())))
    }

    /// The name of a session's user in policies and tokens. Of another realm it begins with that: nobody has the name of another realm's user.
    fn name_of(&self, facts: &IssueFacts) -> Option<String> {
        subject_name(&self.realm, &facts.realm, &facts.user)
    }

    fn named(&self, name: &str) -> Result<Named, SubjectRefusal> {
        subject_name(&self.realm, &self.realm, name).ok_or(SubjectRefusal::Rejected)?;
        Named::new(&self.realm, name).map_err(|_| SubjectRefusal::Rejected)
    }

    async fn password(
        &self,
        name: &str,
        password: &[u8],
        from: IpAddr,
    ) -> Result<CallerUser, SubjectRefusal> {
        self.named(name)?;
        let password = std::str::from_utf8(password).map_err(|_| SubjectRefusal::Rejected)?;
        let mut request = LoginRequest::new(&self.realm, name, password, from);
        request.wanted = Wanted::Recognition;
        match self.service.login(request).await {
            Ok(Login::Recognized(account)) if is_let_in(&account) => {
                Ok(CallerUser::Name(Arc::from(account.subject)))
            }
            // OPC UA has no place for a code, nor for another password: nobody who needs one comes in by the password alone.
            Ok(
                Login::Recognized(_)
                | Login::Granted(..)
                | Login::CodeNeeded(_)
                | Login::PasswordChangeNeeded(_),
            )
            | Err(Refused::PasswordOver) => Err(SubjectRefusal::Disabled),
            Err(Refused::Wrong | Refused::UnknownRealm) => Err(SubjectRefusal::Rejected),
            Err(refused) => {
                tracing::warn!(user = name, %refused, "a login came to nothing");
                Err(SubjectRefusal::Unavailable)
            }
        }
    }

    async fn session(&self, token: &[u8]) -> Result<CallerUser, SubjectRefusal> {
        let token = std::str::from_utf8(token).map_err(|_| SubjectRefusal::Rejected)?;
        let (who, _) = self.service.session(token, Purpose::Use).await.map_err(|failed| refusal(&failed))?;
        let handle: Arc<str> = Arc::from(who.id.to_string());
        let news = self.service.news_of(&who);
        // What came before somebody listened shows at a second look.
        if self.service.has_ended(&who) {
            return Err(SubjectRefusal::Rejected);
        }
        self.watched.session(&handle, TokenHolder { user: who.user, id: who.id }, news);
        Ok(CallerUser::Token(handle))
    }
}

impl Subjects for SessionUsers {
    fn login(
        &self,
        application: &str,
        credential: &Credential<'_>,
        now: Moment,
    ) -> Result<CallerUser, SubjectRefusal> {
        match credential {
            Credential::Password { name, password } => {
                let from = address_of(application);
                self.runtime.block_on(self.password(name, password, from))
            }
            Credential::Session(token) => self.runtime.block_on(self.session(token)),
            Credential::Certificate(certificate) => self.certificate(certificate, now),
        }
    }

    fn subject(
        &self,
        user: &CallerUser,
        client: &TokenClientApplication,
        now: Moment,
    ) -> Result<TokenSubject, SubjectRefusal> {
        match user {
            // Its channel has proven it; what it may do is for the policies to say.
            CallerUser::Anonymous => Ok(TokenSubject {
                name: format!("{APPLICATION}{}", client.application_uri).into(),
                kind: SubjectKind::Application,
                roles: Vec::new(),
                attributes: BTreeMap::new(),
                session: None,
                ends: None,
            }),
            CallerUser::Name(name) => {
                let named = self.named(name)?;
                let facts = self.runtime.block_on(self.watched.user(&named))?;
                self.watched.name(name, named, &facts);
                Ok(facts.subject(Arc::clone(name), SubjectKind::User, None))
            }
            CallerUser::Token(handle) => {
                let facts = self.runtime.block_on(self.watched.holder(handle))?;
                let name = Arc::from(self.name_of(&facts).ok_or(SubjectRefusal::Rejected)?);
                Ok(facts.subject(name, SubjectKind::Session, Some(Arc::clone(handle))))
            }
            CallerUser::Certificate(der) => {
                let certificate = Certificate::from_der(der).map_err(|_| SubjectRefusal::Rejected)?;
                // Trust may have ended since.
                self.certificate(&certificate, now)?;
                let name: Arc<str> = Arc::from(certificate.common_name().unwrap_or_default());
                let named = self.named(&name)?;
                let facts = self.runtime.block_on(self.watched.user(&named))?;
                self.watched.name(&name, named, &facts);
                Ok(facts.subject(name, SubjectKind::Certificate, None))
            }
        }
    }
}

/// What the throttle of logins takes for the address: an application of OPC UA is known by its certificate, whatever address it comes from, so
/// its guesses count as its own. An address of no network (RFC 4193, `fd`), made of the ApplicationUri.
fn address_of(application: &str) -> IpAddr {
    let mut octets = [0xfd; 16];
    let digest = Thumbprint::of(application.as_bytes()).to_string();
    octets.iter_mut().skip(1).zip(digest.bytes()).for_each(|(to, from)| *to = from);
    IpAddr::V6(Ipv6Addr::from(octets))
}

/// Nobody who needs a second step comes in by the password alone.
fn is_let_in(account: &Account) -> bool {
    !account.disabled && !account.has_second_step()
}

fn refusal(failed: &Failed) -> SubjectRefusal {
    if failed.is_temporary() {
        tracing::warn!(%failed, "it cannot be said who a user is");
        return SubjectRefusal::Unavailable;
    }
    if matches!(failed, Failed::Token(_)) { SubjectRefusal::Rejected } else { SubjectRefusal::Disabled }
}

/// Names of users that other subjects could have are nobody's.
fn subject_name(own_realm: &str, realm: &str, user: &str) -> Option<String> {
    let is_taken = user.starts_with(APPLICATION) || user.starts_with('/');
    match realm == own_realm {
        _ if is_taken => None,
        true => Some(user.to_owned()),
        false => Some(format!("/{}:{user}", realm.trim_start_matches('/'))),
    }
}

/// What tokens are issued on.
#[derive(Clone, Debug, PartialEq)]
struct IssueFacts {
    realm: String,
    user: String,
    roles: Vec<String>,
    attributes: BTreeMap<String, Json>,
    ends: Option<Moment>,
}

impl IssueFacts {
    fn of(account: Account) -> IssueFacts {
        let attributes = account.attributes.into_iter();
        IssueFacts {
            realm: account.realm,
            user: account.subject,
            roles: account.groups,
            attributes: attributes.map(|(name, values)| (name, Json::from(values))).collect(),
            ends: None,
        }
    }

    fn with_session(mut self, session: &Session) -> IssueFacts {
        let properties: BTreeMap<&str, &str> = session.properties.iter().collect();
        let told = json!({"level": session.level.0, "properties": properties});
        self.attributes.insert("session".to_owned(), told);
        self.ends = Some(session.ends);
        self
    }

    fn subject(self, name: Arc<str>, kind: SubjectKind, session: Option<Arc<str>>) -> TokenSubject {
        let roles = self.roles.into_iter().map(Arc::from).collect();
        TokenSubject { name, kind, roles, attributes: self.attributes, session, ends: self.ends }
    }
}

/// A user of a file, as the service would see them who came by password. Nothing where there is no such user, or the password alone does
/// not let them in.
///
/// # Errors
/// The file cannot be read, or holds what is no user.
pub(super) fn of_file(
    path: &Path,
    costs: HashCosts,
    realm: &str,
    name: &str,
) -> Result<Option<TokenSubject>, CommandError> {
    let failed = |error: IdentityError| CommandError::new(without_number(&error.to_string())).at(path);
    let directory = Directory::open(path, costs, Arc::new(SystemEntropy)).map_err(failed)?;
    let Ok(user) = Named::new(realm, name) else { return Ok(None) };
    let account = directory.account(&user).map_err(failed)?.filter(is_let_in);
    Ok(account.map(|account| IssueFacts::of(account).subject(Arc::from(name), SubjectKind::User, None)))
}

/// Whose session it is.
#[derive(Clone)]
struct TokenHolder {
    user: Named,
    id: SessionId,
}

/// Somebody who got a token, or is about to.
struct HolderEntry {
    holder: TokenHolder,
    /// What the next token is issued on, and the last one was.
    facts: Option<IssueFacts>,
    /// How long a token of this may live.
    until: Moment,
}

/// All who may have tokens, by the handle of the session or the name of the user.
struct WatchedHolders {
    service: Service,
    runtime: Handle,
    lifetime: Duration,
    subjects: Mutex<HashMap<HolderKey, HolderEntry>>,
    sender: mpsc::UnboundedSender<CutoffTarget<Arc<str>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum HolderKey {
    Session(Arc<str>),
    Name(Arc<str>),
}

impl WatchedHolders {
    fn subjects(&self) -> MutexGuard<'_, HashMap<HolderKey, HolderEntry>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn user(&self, named: &Named) -> Result<IssueFacts, SubjectRefusal> {
        let account = self.service.account(named).await.map_err(|failed| refusal(&failed))?;
        account.filter(is_let_in).map(IssueFacts::of).ok_or(SubjectRefusal::Disabled)
    }

    /// The facts about whom a session is of. They are those that the next token is issued on.
    async fn holder(&self, handle: &Arc<str>) -> Result<IssueFacts, SubjectRefusal> {
        let key = HolderKey::Session(Arc::clone(handle));
        let holder = self.subjects().get(&key).map(|entry| entry.holder.clone());
        let holder = holder.ok_or(SubjectRefusal::Disabled)?;
        let facts = self.of_session(&holder).await?;
        self.take(&key, &facts);
        Ok(facts)
    }

    async fn of_session(&self, holder: &TokenHolder) -> Result<IssueFacts, SubjectRefusal> {
        let TokenHolder { user, id } = holder;
        let session = self.service.standing(user, *id).await.map_err(|refused| refusal(&refused.into()))?;
        let session = session.ok_or(SubjectRefusal::Disabled)?;
        let account = self.service.account(user).await.map_err(|failed| refusal(&failed))?;
        // A second step, where there is one, was taken as far as the session's level says.
        let account = account.filter(|account| !account.disabled).ok_or(SubjectRefusal::Disabled)?;
        Ok(IssueFacts::of(account).with_session(&session))
    }

    /// Looks at a session until it ends.
    fn session(self: &Arc<WatchedHolders>, handle: &Arc<str>, holder: TokenHolder, news: SessionNews) {
        let key = HolderKey::Session(Arc::clone(handle));
        let mut subjects = self.subjects();
        // Who comes again is known by what the last token was issued on.
        if !subjects.contains_key(&key) {
            subjects
                .insert(key.clone(), HolderEntry { holder, facts: None, until: Moment::from_ms(u64::MAX) });
            self.runtime.spawn(Arc::clone(self).look(key, Some(news)));
        }
    }

    /// Looks at a user for as long as a token that is issued now may live.
    fn name(self: &Arc<WatchedHolders>, name: &Arc<str>, named: Named, facts: &IssueFacts) {
        let key = HolderKey::Name(Arc::clone(name));
        let until = self.service.now().plus(self.lifetime);
        let id = SessionId([0; 16]);
        let holder = TokenHolder { user: named, id };
        let mut subjects = self.subjects();
        let is_new = !subjects.contains_key(&key);
        let entry = subjects.entry(key.clone()).or_insert(HolderEntry { holder, facts: None, until });
        entry.until = until;
        drop(subjects);
        self.take(&key, facts);
        if is_new {
            self.runtime.spawn(Arc::clone(self).look(key, None));
        }
    }

    /// Takes what the next token is issued on. Where the last one was issued on something else, it is recalled.
    fn take(&self, key: &HolderKey, facts: &IssueFacts) {
        let mut subjects = self.subjects();
        let Some(entry) = subjects.get_mut(key) else { return };
        let before = entry.facts.replace(facts.clone());
        if before.is_some_and(|before| before != *facts) {
            self.recall(key);
        }
    }

    async fn look(self: Arc<WatchedHolders>, key: HolderKey, mut news: Option<SessionNews>) {
        loop {
            match &mut news {
                Some(news) => tokio::select! {
                    is_there = news.next() => if !is_there { return },
                    () = tokio::time::sleep(SESSION_EVERY) => {}
                },
                None => tokio::time::sleep(USER_EVERY).await,
            }
            if !self.still(&key).await {
                return;
            }
        }
    }

    /// Whether there is more to look at. What has changed is recalled.
    async fn still(&self, key: &HolderKey) -> bool {
        let known = self.subjects().get(key).map(|entry| (entry.holder.clone(), entry.until));
        let Some((holder, until)) = known else { return false };
        if until < self.service.now() {
            self.subjects().remove(key);
            return false;
        }
        let facts = match key {
            HolderKey::Session(_) => self.of_session(&holder).await,
            HolderKey::Name(_) => self.user(&holder.user).await,
        };
        match facts {
            Ok(facts) => {
                self.take(key, &facts);
                true
            }
            // Nobody knows: what was issued holds until it ends.
            Err(SubjectRefusal::Unavailable) => true,
            Err(SubjectRefusal::Disabled | SubjectRefusal::Rejected) => {
                self.subjects().remove(key);
                self.recall(key);
                false
            }
        }
    }

    fn recall(&self, key: &HolderKey) {
        let target = match key {
            HolderKey::Session(handle) => CutoffTarget::Session(Arc::clone(handle)),
            HolderKey::Name(name) => CutoffTarget::Subject(Arc::clone(name)),
        };
        // Nobody takes it only when the service is ending.
        let _ = self.sender.send(target);
    }
}

/// Recalls what is to be recalled, until there is nobody any more who says so.
pub(super) async fn recall(mut recall: TokenRevocation, service: AuthorizationService) {
    while let Some(target) = recall.recv().await {
        tracing::info!(of = %target, "a user or session has changed or ended: tokens are revoked");
        if let Err(error) = service.revoke(target).await {
            tracing::error!(%error, "tokens are revoked, and a restart may forget it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::subject_name;

    #[test]
    fn nobody_has_the_name_of_another_realms_user_or_of_an_application() {
        assert_eq!(subject_name("/", "/", "anna").as_deref(), Some("anna"));
        assert_eq!(subject_name("/", "/partners", "anna").as_deref(), Some("/partners:anna"));
        assert_eq!(subject_name("/plant", "/", "anna").as_deref(), Some("/:anna"));
        for taken in ["/partners:anna", "application:urn:plant:hmi"] {
            assert_eq!(subject_name("/", "/", taken), None);
            assert_eq!(subject_name("/", "/partners", taken), None);
        }
    }
}
