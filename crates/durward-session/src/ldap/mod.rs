//! Users in an LDAP directory: OpenLDAP, OpenDJ, Active Directory.
//!
//! A login is a search and a bind. The search finds the one entry that has the typed name in one of the login attributes; the bind
//! asks the directory whether the password is that entry's. What the entry holds becomes the account, with the groups, which are looked for
//! after the bind: whoever does not have the password learns nothing by how long that takes, or that it fails, and costs no search for it.
//!
//! # What is not believed
//!
//! - What was typed: it is escaped where it goes into a filter, and is no part of a name of an entry.
//! - An empty password: a directory takes a bind without one for "nobody in particular", and says yes (RFC 4513, 5.1.2). So does a
//!   password with a zero byte, where a server in C may see the end.
//! - More than one entry: nobody gets in.
//! - An entry that is not below the base: a directory that answers another question than was asked is not asked for anybody's
//!   password.
//! - An entry that has another name than was typed: directories take more names for one than are counted as one (full width, accents),
//!   and each such name would be a further guess. It is nobody's.
//! - Groups elsewhere than below the groups' base, whatever they are called.
//! - Answers without an end: a server that sends more than a MiB for one is hung up on.
//! - Referrals: see [`LdapReferrals`].
//!
//! Whether a user may log in at all, the entry says (`standing`), also where no password is shown.
//!
//! What the directory says of a password that is right (it must be changed, it is over, there are so many logins left) is asked with the bind
//! (`policy`); a user who must change it does so as themselves, and no other account of ours may change anything.

mod address;
mod connect;
mod dn;
mod entry;
mod lookup;
mod places;
mod policy;
mod pool;
mod search;
mod settings;
mod standing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::session::{UsedCode, User};
use durward_identity::user::{Account, LoginFailure, Password, PasswordCheck, PasswordRules};
use durward_identity::{Entropy, IdentityError, Moment, SystemEntropy};
use ldap3::{Scope, SearchEntry};

use self::connect::{LdapConnector, LdapOperation, LdapReply};
use self::entry::{EntryRequirements, filter_of_name};
pub use self::lookup::LdapLookup;
pub use self::places::{LDAP_PLACE, LdapPlace, places_of_base, places_of_filter};
use self::policy::{PasswordPolicy, PolicyError};
use self::pool::{ConnectionPurpose, LdapPool, LdapUnavailable};
pub use self::search::LdapSearch;
pub use self::settings::{
    ATTRIBUTES_MAX, CONNECTIONS_MAX, LdapGroups, LdapMember, LdapMembership, LdapReferrals, LdapScope,
    LdapSecurity, LdapSettings, SERVERS_MAX,
};
use self::standing::Standing;
use crate::Clock;
use crate::directory::{DirectoryFault, DirectoryFuture, PasswordRejection, UserDirectory};
use crate::secret::read_secret;
use crate::seldom::Seldom;

/// How many referrals of one answer are followed.
const REFERRALS_MAX: usize = 4;

/// How many groups a user may have. Whoever has more does not get in, because some would have to be left out.
const GROUPS_MAX: usize = 1000;

/// When to come again when too many ask.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Users in an LDAP directory.
pub struct LdapDirectory(Arc<LdapDirectoryInner>);

struct LdapDirectoryInner {
    settings: LdapSettings,
    clock: Clock,
    pool: LdapPool,
    /// The name of an entry that is not there, for the time that a bind takes.
    nobody: String,
    /// What new passwords must be beside what the directory wants.
    rules: PasswordRules,
    of_several: Seldom,
    of_other_names: Seldom,
}

/// An entry of a user, and the server that it was found at where that is not just any.
struct FoundEntry {
    entry: SearchEntry,
    server: Option<usize>,
}

impl LdapDirectory {
    /// A directory that is not connected yet: files that are named are read here, the network is for later.
    ///
    /// # Errors
    /// A setting is wrong, a file cannot be read or does not hold what it should, or there is no randomness.
    pub fn new(settings: LdapSettings, clock: Clock) -> Result<LdapDirectory, IdentityError> {
        LdapDirectory::with_password_rules(settings, PasswordRules::default(), clock)
    }

    /// The same, with rules that new passwords must keep beside those of the directory.
    ///
    /// # Errors
    /// As [`LdapDirectory::new`].
    pub fn with_password_rules(
        settings: LdapSettings,
        rules: PasswordRules,
        clock: Clock,
    ) -> Result<LdapDirectory, IdentityError> {
        settings.check()?;
        let search_as = match &settings.search_as {
            Some((dn, path)) => Some((dn.clone(), read_secret(path)?)),
            None => None,
        };
        let connector = LdapConnector::new(&settings)?;
        let LdapSettings { connections_max, answer_within, rest, .. } = settings;
        let pool =
            LdapPool::new(connector, settings.addresses()?, search_as, connections_max, answer_within, rest);
        let mut name = [0; 8];
        SystemEntropy.fill(&mut name)?;
        let nobody = format!("cn=nobody-{:016x},{}", u64::from_be_bytes(name), settings.base);
        Ok(LdapDirectory(Arc::new(LdapDirectoryInner {
            settings,
            clock,
            pool,
            nobody,
            rules,
            of_several: Seldom::default(),
            of_other_names: Seldom::default(),
        })))
    }
}

impl UserDirectory for LdapDirectory {
    fn check<'a>(
        &'a self,
        _: Moment,
        user: &'a User,
        password: Password<'a>,
    ) -> DirectoryFuture<'a, PasswordCheck> {
        let (inner, user) = (Arc::clone(&self.0), user.clone());
        let password = String::from_utf8_lossy(password.expose()).into_owned();
        contained(async move { inner.check(&user, password).await })
    }

    fn account<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        let (inner, user) = (Arc::clone(&self.0), user.clone());
        contained(async move {
            match inner.find(ConnectionPurpose::Session, &user).await? {
                Some(found) => Ok(Some(inner.account(ConnectionPurpose::Session, &user, &found).await?)),
                None => Ok(None),
            }
        })
    }

    /// Directories have no second steps.
    fn check_code<'a>(&'a self, _: Moment, _: &'a User, _: &'a str) -> DirectoryFuture<'a, Option<UsedCode>> {
        Box::pin(async { Ok(None) })
    }

    fn changes_passwords(&self) -> bool {
        self.0.settings.change_passwords
    }

    fn change_password<'a>(
        &'a self,
        user: &'a User,
        old: Password<'a>,
        new: Password<'a>,
    ) -> DirectoryFuture<'a, Result<(), PasswordRejection>> {
        let (inner, user) = (Arc::clone(&self.0), user.clone());
        let [old, new] = [old, new].map(|one| String::from_utf8_lossy(one.expose()).into_owned());
        contained(async move { inner.change_password(&user, old, new).await })
    }

    fn password_since<'a>(&'a self, user: &'a User) -> DirectoryFuture<'a, Option<Moment>> {
        let (inner, user) = (Arc::clone(&self.0), user.clone());
        contained(async move {
            let found = inner.find(ConnectionPurpose::Session, &user).await?;
            Ok(found.and_then(|found| entry::password_since(&found.entry)))
        })
    }

    fn folded(&self, name: &str) -> Option<String> {
        Some(entry::folded(name))
    }

    fn load(&self) -> (usize, usize) {
        self.0.pool.load()
    }
}

/// Runs as a task: what the crate for the protocol does with an answer that is none of LDAP ends there.
fn contained<'a, T: Send + 'static>(
    work: impl Future<Output = Result<T, DirectoryFault>> + Send + 'static,
) -> DirectoryFuture<'a, T> {
    let task = tokio::spawn(work);
    Box::pin(async move {
        task.await
            .unwrap_or_else(|_| Err(IdentityError::new("the directory's answer cannot be understood").into()))
    })
}

impl From<LdapUnavailable> for DirectoryFault {
    fn from(why: LdapUnavailable) -> DirectoryFault {
        match why {
            LdapUnavailable::Busy => DirectoryFault::Busy { retry_after: RETRY_AFTER },
            LdapUnavailable::Failed(message) => DirectoryFault::Failed(IdentityError::new(message)),
        }
    }
}

impl LdapDirectoryInner {
    async fn check(&self, user: &User, password: String) -> Result<PasswordCheck, DirectoryFault> {
        if password.is_empty() || password.contains('\0') {
            return Ok(PasswordCheck::Wrong(LoginFailure::Password));
        }
        let Some(found) = self.find(ConnectionPurpose::Login, user).await? else {
            let nobody = LdapOperation::Bind { dn: self.nobody.clone(), password };
            self.pool.ask(ConnectionPurpose::Login, &nobody, None).await?;
            return Ok(PasswordCheck::Wrong(LoginFailure::UnknownUser));
        };
        let dn = found.entry.dn.clone();
        let question = LdapOperation::Bind { dn: dn.clone(), password: password.clone() };
        let mut reply = self.pool.ask(ConnectionPurpose::Login, &question, found.server).await?;
        if let LdapReply::Elsewhere(urls) = &reply {
            let Some((server, other)) = self.servers_of(urls).into_iter().next() else {
                return Err(failed("the directory refers to servers that are not asked: see `referrals`"));
            };
            let dn = other.unwrap_or(dn);
            reply = self
                .pool
                .ask(ConnectionPurpose::Login, &LdapOperation::Bind { dn, password }, Some(server))
                .await?;
        }
        match reply {
            LdapReply::Bound(policy) => {
                // Some say in the entry what they do not look at with a bind. A lock that is over is there until somebody binds.
                let standing = Standing::of(&found.entry, (self.clock)());
                if standing == Standing::Disabled {
                    return Ok(PasswordCheck::Wrong(LoginFailure::Disabled));
                }
                let mut account = self.account(ConnectionPurpose::Login, user, &found).await?;
                account.disabled = false;
                account.must_change_password = self.must_change(policy);
                Ok(PasswordCheck::Right(Box::new(account)))
            }
            LdapReply::WrongPassword => Ok(PasswordCheck::Wrong(LoginFailure::Password)),
            LdapReply::PasswordOver => Ok(PasswordCheck::Wrong(LoginFailure::PasswordOver)),
            LdapReply::NotAllowed => Ok(PasswordCheck::Wrong(LoginFailure::Disabled)),
            LdapReply::Elsewhere(_) | LdapReply::Found { .. } | LdapReply::Changed(_) => {
                Err(failed("the directory refers in a circle"))
            }
        }
    }

    /// Whether a password that is right must be changed. One that is over and lets its user in some times more is a reason only where they
    /// can change it here: the directory lets them in, and nobody is helped by keeping them out.
    fn must_change(&self, policy: PasswordPolicy) -> bool {
        let is_running_out = policy.logins_left.is_some() || policy.error == Some(PolicyError::Expired);
        policy.error == Some(PolicyError::ChangeAfterReset)
            || is_running_out && self.settings.change_passwords
    }

    async fn change_password(
        self: Arc<Self>,
        user: &User,
        old: String,
        new: String,
    ) -> Result<Result<(), PasswordRejection>, DirectoryFault> {
        let is_text = |password: &String| !password.is_empty() && !password.contains('\0');
        if !self.settings.change_passwords || !is_text(&old) || !is_text(&new) {
            return Ok(Err(PasswordRejection::NotAllowed));
        }
        // Our list of breached passwords is a file.
        let (rules, password) = (self.rules.clone(), new.clone());
        let checked = tokio::task::spawn_blocking(move || {
            Password::new(&password).map(|password| rules.check(&password))
        });
        if let Err(refusal) = checked.await.map_err(|error| failed(&error.to_string()))?? {
            return Ok(Err(PasswordRejection::Rules(refusal)));
        }
        let Some(found) = self.find(ConnectionPurpose::Session, user).await? else {
            return Ok(Err(PasswordRejection::OldIsWrong));
        };
        let mut dn = found.entry.dn.clone();
        let mut server = found.server;
        // The entry may be elsewhere: one referral, as for a login.
        for _ in 0..2 {
            let change = LdapOperation::ChangePassword { dn: dn.clone(), old: old.clone(), new: new.clone() };
            match self.pool.ask(ConnectionPurpose::Login, &change, server).await? {
                LdapReply::Changed(changed) => return Ok(changed),
                LdapReply::WrongPassword => return Ok(Err(PasswordRejection::OldIsWrong)),
                LdapReply::PasswordOver | LdapReply::NotAllowed => {
                    return Ok(Err(PasswordRejection::NotAllowed));
                }
                LdapReply::Elsewhere(urls) => {
                    let Some((other, there)) = self.servers_of(&urls).into_iter().next() else { break };
                    (server, dn) = (Some(other), there.unwrap_or(dn));
                }
                LdapReply::Found { .. } | LdapReply::Bound(_) => break,
            }
        }
        Err(failed("the directory refers to servers that are not asked: see `referrals`"))
    }

    /// The one entry of a user: by what may be typed, or, where a session has the user's one name already, by that and nothing else, for it may
    /// be somebody else's address.
    async fn find(&self, whom: ConnectionPurpose, user: &User) -> Result<Option<FoundEntry>, DirectoryFault> {
        let LdapSettings { base, scope, user_filter, login_attributes, name_attribute, .. } = &self.settings;
        let names = match whom {
            ConnectionPurpose::Login => login_attributes,
            ConnectionPurpose::Session => std::slice::from_ref(name_attribute),
        };
        let wanted = EntryRequirements::of(&self.settings);
        let filter = filter_of_name(user_filter, names, user.subject());
        let question = |base: &str| LdapOperation::Search {
            base: base.to_owned(),
            scope: scope.scope(),
            filter: filter.clone(),
            attributes: wanted.attributes(),
            entries_max: 1,
        };
        let (entries, are_all) = self.search(whom, &question, base).await?;
        let mut entries = entries.into_iter();
        let Some((entry, server, base)) = entries.next() else { return Ok(None) };
        if !are_all || entries.next().is_some() {
            if self.of_several.is_due() {
                tracing::warn!(
                    "several entries of the directory have the same login name: nobody gets in with it"
                );
            }
            return Ok(None);
        }
        if !dn::is_below(&entry.dn, &base) {
            return Err(failed("the directory answers with an entry that was not asked for"));
        }
        if !entry::has_name(&entry, names, user.subject()) {
            if self.of_other_names.is_due() {
                tracing::warn!(
                    entry = %entry.dn.escape_default(),
                    "the directory answers with an entry whose name is another than was typed: nobody gets in with that"
                );
            }
            return Ok(None);
        }
        Ok(Some(FoundEntry { entry, server }))
    }

    /// What an entry comes to, with its groups.
    async fn account(
        &self,
        whom: ConnectionPurpose,
        user: &User,
        found: &FoundEntry,
    ) -> Result<Account, DirectoryFault> {
        let wanted = EntryRequirements::of(&self.settings);
        let now = (self.clock)();
        let mut account = wanted.account(user, &found.entry, now).map_err(DirectoryFault::Failed)?;
        account.groups = self.groups(whom, &wanted, found, &account).await?;
        Ok(account)
    }

    /// Entries with the server they are of, where they were referred to, and the base that they must be below.
    async fn search(
        &self,
        whom: ConnectionPurpose,
        question: &(impl Fn(&str) -> LdapOperation + Sync),
        base: &str,
    ) -> Result<(Vec<(SearchEntry, Option<usize>, String)>, bool), DirectoryFault> {
        let LdapReply::Found { entries, mut are_all, referrals } =
            self.pool.ask(whom, &question(base), None).await?
        else {
            return Err(failed("the directory answers another question"));
        };
        let mut found: Vec<_> = entries.into_iter().map(|entry| (entry, None, base.to_owned())).collect();
        for (server, other) in self.servers_of(&referrals) {
            let base = other.unwrap_or_else(|| base.to_owned());
            let reply = self.pool.ask(whom, &question(&base), Some(server)).await?;
            if let LdapReply::Found { entries, are_all: are_all_there, .. } = reply {
                are_all &= are_all_there;
                found.extend(entries.into_iter().map(|entry| (entry, Some(server), base.clone())));
            }
        }
        Ok((found, are_all))
    }

    /// The servers that referrals mean, and the entries to search below; none where they are not to be followed.
    fn servers_of(&self, referrals: &[String]) -> Vec<(usize, Option<String>)> {
        match self.settings.referrals {
            LdapReferrals::Never => Vec::new(),
            LdapReferrals::SameHosts => {
                let known = referrals.iter().filter_map(|url| {
                    let (address, dn) = address::referral(url)?;
                    Some((self.pool.server_of(&address)?, dn))
                });
                known.take(REFERRALS_MAX).collect()
            }
        }
    }

    async fn groups(
        &self,
        whom: ConnectionPurpose,
        wanted: &EntryRequirements<'_>,
        FoundEntry { entry, server }: &FoundEntry,
        account: &Account,
    ) -> Result<Vec<String>, DirectoryFault> {
        let Some(groups) = &self.settings.groups else { return Ok(Vec::new()) };
        let (filter, name_attribute) = match &groups.membership {
            LdapMembership::OfUser(attribute) => {
                return Ok(wanted.groups_of_user(entry, attribute, &groups.base));
            }
            LdapMembership::OfGroup { filter, attribute, holds, name_attribute } => {
                let member = match holds {
                    LdapMember::Dn => entry.dn.as_str(),
                    LdapMember::Name => account.subject.as_str(),
                };
                (filter_of_name(filter, std::slice::from_ref(attribute), member), name_attribute)
            }
        };
        let question = LdapOperation::Search {
            base: groups.base.clone(),
            scope: Scope::Subtree,
            filter,
            attributes: vec![name_attribute.clone()],
            entries_max: GROUPS_MAX,
        };
        match self.pool.ask(whom, &question, *server).await? {
            LdapReply::Found { entries, are_all: true, .. } => {
                let below = entries.iter().filter(|entry| dn::is_below(&entry.dn, &groups.base));
                Ok(below.flat_map(|entry| entry::values(entry, name_attribute)).collect())
            }
            LdapReply::Found { are_all: false, .. } => {
                Err(failed(&format!("a user is in more than {GROUPS_MAX} groups")))
            }
            LdapReply::Bound(_)
            | LdapReply::Changed(_)
            | LdapReply::WrongPassword
            | LdapReply::PasswordOver
            | LdapReply::NotAllowed
            | LdapReply::Elsewhere(_) => Err(failed("the directory answers another question")),
        }
    }
}

fn failed(message: &str) -> DirectoryFault {
    DirectoryFault::Failed(IdentityError::new(message))
}

impl fmt::Debug for LdapDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LdapDirectory({:?}, {})", self.0.settings.servers, self.0.settings.base)
    }
}
