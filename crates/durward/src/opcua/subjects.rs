//! durward's users as the authorization service knows them: the file of `durward users`, groups as roles, attributes as they are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use durward_opcua::authority::decide::{Client, Subject, SubjectKind};
use durward_opcua::authority::{Credential, SubjectRefusal, Subjects, User};
use durward_session::identity::session::User as Named;
use durward_session::identity::user::{Account, Checked, Directory, HashCosts, Password, UserStore};
use durward_session::identity::{IdentityError, Moment, SystemEntropy};
use serde_json::Value as Json;

use crate::failure::{Failure, without_number};

/// The realm of users who name none.
const REALM: &str = "/";

/// How names of subjects begin that are no users.
const APPLICATION: &str = "application:";

/// The users of a file. What others change in it is taken in before the next question.
pub(super) struct UserFile {
    directory: Directory,
}

impl UserFile {
    /// Opens the file, which is begun where there is none.
    ///
    /// # Errors
    /// It cannot be opened, or holds what is no user.
    pub(super) fn open(path: &Path, costs: HashCosts) -> Result<UserFile, Failure> {
        let opened = Directory::open(path, costs, Arc::new(SystemEntropy));
        let directory = opened.map_err(|error| Failure::new(without_number(&error.to_string())))?;
        Ok(UserFile { directory })
    }

    fn catch_up(&self) -> Result<(), SubjectRefusal> {
        if self.directory.is_behind() {
            self.directory.catch_up().map_err(unavailable)?;
        }
        Ok(())
    }

    fn account(&self, name: &str) -> Result<Account, SubjectRefusal> {
        self.catch_up()?;
        let user = named(name)?;
        let account = self.directory.account(&user).map_err(unavailable)?;
        account.filter(is_let_in).ok_or(SubjectRefusal::Disabled)
    }
}

/// Nobody who needs a second step comes in by the password alone: OPC UA has no place for a code.
fn is_let_in(account: &Account) -> bool {
    !account.disabled && account.second_step.is_none()
}

fn named(name: &str) -> Result<Named, SubjectRefusal> {
    if name.starts_with(APPLICATION) {
        return Err(SubjectRefusal::Rejected);
    }
    Named::new(REALM, name).map_err(|_| SubjectRefusal::Rejected)
}

fn unavailable(error: IdentityError) -> SubjectRefusal {
    tracing::error!(%error, "the file of users cannot be read");
    SubjectRefusal::Unavailable
}

impl Subjects for UserFile {
    fn login(&self, credential: &Credential<'_>, now: Moment) -> Result<User, SubjectRefusal> {
        let Credential::Password { name, password } = credential else {
            return Err(SubjectRefusal::Rejected);
        };
        self.catch_up()?;
        let user = named(name)?;
        let password = std::str::from_utf8(password).map_err(|_| SubjectRefusal::Rejected)?;
        let password = Password::new(password).map_err(|_| SubjectRefusal::Rejected)?;
        match self.directory.check(now, &user, &password).map_err(unavailable)? {
            Checked::Right(account) if is_let_in(&account) => Ok(User::Name(Arc::from(*name))),
            Checked::Right(_) => Err(SubjectRefusal::Disabled),
            Checked::Wrong(_) => Err(SubjectRefusal::Rejected),
        }
    }

    fn subject(&self, user: &User, client: &Client, _now: Moment) -> Result<Subject, SubjectRefusal> {
        match user {
            // Its channel has proven it; what it may do is for the policies to say.
            User::Anonymous => Ok(Subject {
                name: format!("{APPLICATION}{}", client.application_uri).into(),
                kind: SubjectKind::Application,
                roles: Vec::new(),
                attributes: BTreeMap::new(),
                session: None,
            }),
            User::Name(name) => {
                let account = self.account(name)?;
                let attributes = account.attributes.into_iter();
                Ok(Subject {
                    name: Arc::clone(name),
                    kind: SubjectKind::User,
                    roles: account.groups.into_iter().map(Arc::from).collect(),
                    attributes: attributes.map(|(name, values)| (name, Json::from(values))).collect(),
                    session: None,
                })
            }
            User::Certificate(_) | User::Token(_) => Err(SubjectRefusal::Rejected),
        }
    }
}
