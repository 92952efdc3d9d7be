//! What is known of a user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::password::StoredPassword;
use super::totp::{RecoveryCodes, Totp};
use crate::passkey::Passkeys;
use crate::session::User;
use crate::{IdentityError, Moment};

/// A user account: the name, the stored password, and the attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The realm; the root realm is `/`, which is meant where a file to be imported names none.
    #[serde(default = "root")]
    pub realm: String,
    /// The name in the realm.
    pub subject: String,
    /// The hash of the password; without one, nobody can log in with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<StoredPassword>,
    /// When the user was given this password, or another device of the second step or passkey or one less, in milliseconds since 1970: sessions that began
    /// before are over. 0 is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub password_since_ms: u64,
    /// When the user was given this password, in milliseconds since 1970, where that is not what `password_since_ms` says: another device or
    /// passkey has ended sessions since. Else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub password_given_ms: u64,
    /// Whether the user may not log in.
    #[serde(default)]
    pub disabled: bool,
    /// Whether the user must choose another password before they get a session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_change_password: bool,
    /// Names and values, for decisions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Vec<String>>,
    /// What the user belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The second step of a login, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_step: Option<SecondStep>,
    /// The passkeys, each of which can be the second step of a login, or the only one.
    #[serde(default, skip_serializing_if = "Passkeys::is_nothing")]
    pub passkeys: Passkeys,
    /// The accounts at other OpenID providers that log in as this user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<AccountLink>,
    /// What a directory elsewhere calls the user's entry, for as long as there is one, where it says so: another entry that has the same name
    /// later is another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// An account at another OpenID provider. What its provider calls it (`sub`) names nobody else there, ever; a name or an e-mail address may
/// be another's tomorrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountLink {
    /// The provider.
    pub issuer: String,
    /// What it calls the account.
    pub subject: String,
}

impl Account {
    /// A user of whom nothing is known.
    pub fn new(user: &User) -> Account {
        Account {
            realm: user.realm().to_owned(),
            subject: user.subject().to_owned(),
            password: None,
            password_since_ms: 0,
            password_given_ms: 0,
            disabled: false,
            must_change_password: false,
            attributes: BTreeMap::new(),
            groups: Vec::new(),
            second_step: None,
            passkeys: Passkeys::default(),
            links: Vec::new(),
            entry: None,
        }
    }

    /// Whether this account at another provider logs in as this user.
    pub fn is_linked(&self, link: &AccountLink) -> bool {
        self.links.contains(link)
    }

    /// The user's name.
    ///
    /// # Errors
    /// The account was read from elsewhere, and its name is none.
    pub fn user(&self) -> Result<User, IdentityError> {
        User::new(&self.realm, &self.subject)
    }

    /// Whether a password alone is not enough for the user's full level: they have a device, or a passkey.
    pub fn has_second_step(&self) -> bool {
        self.second_step.is_some() || !self.passkeys.is_empty()
    }

    /// Whether this is a second step of a user who is kept elsewhere, and no user: nobody logs in by it. Whoever gets one where nothing was
    /// kept before has sessions that began without it.
    pub(super) fn is_only_steps(&self) -> bool {
        self.password.is_none() && self.has_second_step()
    }

    /// Whether two states of an account have the same devices and passkeys, whatever was used of them.
    pub fn has_same_steps(&self, other: &Account) -> bool {
        let device = |account: &Account| account.second_step.as_ref().map(|step| step.totp.clone());
        device(self) == device(other) && self.passkeys.are_same(&other.passkeys)
    }

    /// Gives the user another password. Their sessions from before are over.
    pub fn set_password(&mut self, password: StoredPassword, now: Moment) {
        self.password = Some(password);
        self.password_since_ms = now.ms();
        self.password_given_ms = 0;
    }

    /// Gives the user a password that they chose themselves: what was to be changed is changed.
    pub fn set_chosen_password(&mut self, password: StoredPassword, now: Moment) {
        self.set_password(password, now);
        self.must_change_password = false;
    }

    /// Has the user's sessions from before be over, and leaves them the password, which is as old as it was.
    pub fn end_sessions(&mut self, now: Moment) {
        if self.password.is_some() && self.password_given_ms == 0 && self.password_since_ms < now.ms() {
            self.password_given_ms = self.password_since_ms;
        }
        self.password_since_ms = now.ms();
    }

    /// When the user was given their password. 0 is not known.
    pub fn password_given(&self) -> Moment {
        let given = if self.password_given_ms == 0 { self.password_since_ms } else { self.password_given_ms };
        Moment::from_ms(given)
    }

    /// Whether what is kept here belongs to the entry that a directory elsewhere calls so. What was kept before the directory said how it calls
    /// entries belongs to whoever has the name.
    pub fn is_of_entry(&self, entry: Option<&str>) -> bool {
        self.entry.as_deref().is_none_or(|own| entry == Some(own))
    }

    /// Whether the user's sessions end when this becomes of the account: they were disabled, removed, renamed or given another password,
    /// device or passkey.
    pub(super) fn loses_sessions(&self, after: Option<&Account>) -> bool {
        after.is_none_or(|after| {
            after.disabled && !self.disabled
                || after.password_since_ms != self.password_since_ms
                // Two changes may be made in one millisecond.
                || !after.has_same_steps(self)
                || (&after.realm, &after.subject) != (&self.realm, &self.subject)
        })
    }
}

pub(super) fn root() -> String {
    "/".to_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Codes that a device shows, and some on paper for when it is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondStep {
    /// How codes are made.
    pub totp: Totp,
    /// The time step of the last code that was used: no code of this or an earlier step is taken again.
    #[serde(default)]
    pub used: Option<u64>,
    /// The recovery codes that are left.
    #[serde(default)]
    pub recovery: RecoveryCodes,
}
