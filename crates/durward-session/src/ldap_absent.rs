//! A build without the feature `ldap`: settings of directories are read and looked at, and nobody is asked.

#[path = "ldap/address.rs"]
#[allow(dead_code, reason = "what follows referrals and connects is not there")]
mod address;
#[path = "ldap/dn.rs"]
#[allow(dead_code, reason = "what looks at answers is not there")]
mod dn;
#[path = "ldap/places.rs"]
mod places;
#[path = "ldap/search.rs"]
mod search;
#[path = "ldap/settings.rs"]
mod settings;

use std::convert::Infallible;

use durward_identity::session::{UsedCode, User};
use durward_identity::user::{Account, Password, PasswordCheck, PasswordRules};
use durward_identity::{IdentityError, Moment};

pub use self::places::{LDAP_PLACE, LdapPlace, places_of_base, places_of_filter};
pub use self::search::LdapSearch;
pub use self::settings::{
    ATTRIBUTES_MAX, CONNECTIONS_MAX, LdapGroups, LdapMember, LdapMembership, LdapReferrals, LdapScope,
    LdapSecurity, LdapSettings, SERVERS_MAX,
};
use crate::Clock;
use crate::directory::{DirectoryFuture, UserDirectory};

/// Has no values.
#[derive(Debug)]
pub struct LdapDirectory(Infallible);

/// Has no values.
#[derive(Clone, Debug)]
pub struct LdapLookup(Infallible);

fn absent() -> IdentityError {
    IdentityError::new(
        "a directory is named, and this durward was built without the feature `ldap`; build it with `--features ldap`, or with all: \
         `--features full`",
    )
}

impl LdapDirectory {
    /// # Errors
    /// Always: users whom nobody can ask about must not be promised.
    pub fn new(_: LdapSettings, _: Clock) -> Result<LdapDirectory, IdentityError> {
        Err(absent())
    }

    /// # Errors
    /// Always, for the same reason.
    pub fn with_password_rules(
        _: LdapSettings,
        _: PasswordRules,
        _: Clock,
    ) -> Result<LdapDirectory, IdentityError> {
        Err(absent())
    }
}

impl LdapLookup {
    /// # Errors
    /// Always, for the same reason.
    pub fn new(_: LdapSettings) -> Result<LdapLookup, IdentityError> {
        Err(absent())
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub async fn values(&self, _: LdapSearch) -> Result<Vec<String>, IdentityError> {
        match self.0 {}
    }
}

impl UserDirectory for LdapDirectory {
    fn check<'a>(&'a self, _: Moment, _: &'a User, _: Password<'a>) -> DirectoryFuture<'a, PasswordCheck> {
        match self.0 {}
    }

    fn account<'a>(&'a self, _: &'a User) -> DirectoryFuture<'a, Option<Account>> {
        match self.0 {}
    }

    fn check_code<'a>(&'a self, _: Moment, _: &'a User, _: &'a str) -> DirectoryFuture<'a, Option<UsedCode>> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_directory_is_made_and_the_feature_is_named() {
        let settings = LdapSettings::new(vec!["ldaps://a".to_owned()], "dc=x");
        settings.check().unwrap();
        let clock: Clock = std::sync::Arc::new(Moment::default);
        for error in
            [LdapDirectory::new(settings.clone(), clock).unwrap_err(), LdapLookup::new(settings).unwrap_err()]
        {
            assert!(error.to_string().contains("--features ldap"));
        }
    }
}
