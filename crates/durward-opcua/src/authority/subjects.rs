//! The user directory of the authorization service: from credentials to attributes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use durward_identity::user::{HashCosts, Password, StoredPassword};
use durward_identity::{IdentityError, Moment, SystemEntropy};

use super::CallerUser;
use super::decide::{SubjectKind, TokenClientApplication, TokenSubject};
use super::feed::NAME_BYTES_MAX;
use crate::crypto::Certificate;
use crate::token::Thumbprint;

/// Credentials of a login.
pub enum Credential<'c> {
    /// A name and a password, decrypted.
    Password {
        /// The name.
        name: &'c str,
        /// The password.
        password: &'c [u8],
    },
    /// A certificate. That its owner has the key is proven; whether it is trusted is not.
    Certificate(&'c Certificate),
    /// The token of a durward session.
    Session(&'c [u8]),
}

/// Secrets do not show.
impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Password { name, .. } => write!(f, "Password of `{name}`"),
            Credential::Certificate(certificate) => write!(f, "Certificate {}", certificate.thumbprint_hex()),
            Credential::Session(_) => f.write_str("Session"),
        }
    }
}

/// Why authentication failed, or no longer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectRefusal {
    /// The credential proves nothing: a wrong password, an unknown name, a certificate that nobody trusts, a session that has ended.
    Rejected,
    /// The user is known, and may not come in (now).
    Disabled,
    /// The directory does not answer.
    Unavailable,
}

/// A directory of users. Called on threads that may wait.
pub trait Subjects: Send + Sync + 'static {
    /// Checks a credential that came by an application, by its ApplicationUri, and says whose it is. For a durward session, [`CallerUser::Token`] holds the handle of the session.
    ///
    /// # Errors
    /// It does not prove who somebody is. A wrong password and an unknown name are the same, and take as long.
    fn login(
        &self,
        application: &str,
        credential: &Credential<'_>,
        now: Moment,
    ) -> Result<CallerUser, SubjectRefusal>;

    /// The facts about a user who was proven earlier, or for [`CallerUser::Anonymous`] about the application itself: as they are now. Asked again
    /// for every token, so that nobody gets one who is no longer there.
    ///
    /// # Errors
    /// The user, the session or the application is not known, or not any more.
    fn subject(
        &self,
        user: &CallerUser,
        client: &TokenClientApplication,
        now: Moment,
    ) -> Result<TokenSubject, SubjectRefusal>;
}

/// How names of subjects that are no users begin, so that no user is taken for one.
const APPLICATION: &str = "application:";
const CERTIFICATE: &str = "certificate:";

struct SubjectEntry {
    password: StoredPassword,
    roles: Vec<Arc<str>>,
}

#[derive(Default)]
struct SubjectTableState {
    users: HashMap<Arc<str>, SubjectEntry>,
    certificates: HashMap<Thumbprint, Vec<Arc<str>>>,
    applications: HashMap<Arc<str>, Vec<Arc<str>>>,
}

/// Users, certificates and applications with their roles, in memory: for the demo and tests. Applications that are not listed get no roles
/// and are known all the same, because their channel has proven them.
pub struct SubjectTable {
    known: RwLock<SubjectTableState>,
    costs: HashCosts,
    /// What the password of somebody unknown is compared with, so that it takes as long.
    nobody: StoredPassword,
}

impl SubjectTable {
    /// Nobody. Passwords are hashed at these costs.
    ///
    /// # Errors
    /// Costs that cannot be used, or no randomness.
    pub fn new(costs: HashCosts) -> Result<SubjectTable, IdentityError> {
        let nobody =
            StoredPassword::hash(&Password::new("nobody has this password")?, costs, &SystemEntropy)?;
        Ok(SubjectTable { known: RwLock::default(), costs, nobody })
    }

    /// Adds a user, or replaces one.
    ///
    /// # Errors
    /// A name that is empty, too long or of the form of other subjects; a password that cannot be one.
    pub fn set_user(&self, name: &str, password: &str, roles: &[&str]) -> Result<(), IdentityError> {
        let taken = name.starts_with(APPLICATION) || name.starts_with(CERTIFICATE);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || taken {
            let rule =
                format!("1 to {NAME_BYTES_MAX} bytes, not beginning with `{APPLICATION}` or `{CERTIFICATE}`");
            return Err(IdentityError::new(format!("a user's name has {rule}")));
        }
        let password = StoredPassword::hash(&Password::new(password)?, self.costs, &SystemEntropy)?;
        let entry = SubjectEntry { password, roles: shared(roles) };
        self.write(|known| known.users.insert(Arc::from(name), entry));
        Ok(())
    }

    /// Removes a user.
    pub fn remove_user(&self, name: &str) {
        self.write(|known| known.users.remove(name));
    }

    /// Adds a certificate of a user (DER), or replaces its roles.
    pub fn set_certificate(&self, certificate: &[u8], roles: &[&str]) {
        self.write(|known| known.certificates.insert(Thumbprint::of(certificate), shared(roles)));
    }

    /// Sets the roles of an application, by its ApplicationUri.
    pub fn set_application(&self, uri: &str, roles: &[&str]) {
        self.write(|known| known.applications.insert(Arc::from(uri), shared(roles)));
    }

    fn write<T>(&self, change: impl FnOnce(&mut SubjectTableState) -> T) {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<T>(&self, look: impl FnOnce(&SubjectTableState) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn check(&self, name: &str, password: &[u8]) -> Option<CallerUser> {
        let password = Password::new(std::str::from_utf8(password).ok()?).ok()?;
        let stored = self.read(|known| known.users.get(name).map(|entry| entry.password.clone()));
        let is_right = stored.as_ref().unwrap_or(&self.nobody).is_of(&password);
        (is_right && stored.is_some()).then(|| CallerUser::Name(Arc::from(name)))
    }
}

fn shared(roles: &[&str]) -> Vec<Arc<str>> {
    roles.iter().map(|role| Arc::from(*role)).collect()
}

impl Subjects for SubjectTable {
    fn login(
        &self,
        _: &str,
        credential: &Credential<'_>,
        _now: Moment,
    ) -> Result<CallerUser, SubjectRefusal> {
        let user = match credential {
            Credential::Password { name, password } => self.check(name, password),
            Credential::Certificate(certificate) => {
                let thumbprint = Thumbprint::of(certificate.der());
                let is_known = self.read(|known| known.certificates.contains_key(&thumbprint));
                is_known.then(|| CallerUser::Certificate(Arc::from(certificate.der())))
            }
            Credential::Session(_) => None,
        };
        user.ok_or(SubjectRefusal::Rejected)
    }

    fn subject(
        &self,
        user: &CallerUser,
        client: &TokenClientApplication,
        _now: Moment,
    ) -> Result<TokenSubject, SubjectRefusal> {
        let (name, kind, roles) = match user {
            CallerUser::Anonymous => {
                let roles = self.read(|known| known.applications.get(&client.application_uri).cloned());
                let name = format!("{APPLICATION}{}", client.application_uri).into();
                (name, SubjectKind::Application, Some(roles.unwrap_or_default()))
            }
            CallerUser::Name(name) => {
                let roles = self.read(|known| known.users.get(name).map(|entry| entry.roles.clone()));
                (Arc::clone(name), SubjectKind::User, roles)
            }
            CallerUser::Certificate(der) => {
                let thumbprint = Thumbprint::of(der);
                let roles = self.read(|known| known.certificates.get(&thumbprint).cloned());
                (format!("{CERTIFICATE}{thumbprint}").into(), SubjectKind::Certificate, roles)
            }
            CallerUser::Token(handle) => (Arc::clone(handle), SubjectKind::Session, None),
        };
        let roles = roles.ok_or(SubjectRefusal::Disabled)?;
        Ok(TokenSubject { name, kind, roles, attributes: BTreeMap::new(), session: None, ends: None })
    }
}
