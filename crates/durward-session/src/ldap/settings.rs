//! Where the directory is, and where in it users and groups are.

use std::path::PathBuf;
use std::time::Duration;

use durward_identity::IdentityError;
#[cfg(feature = "ldap")]
use ldap3::Scope;

use super::address::LdapAddress;

/// How many servers may be named.
pub const SERVERS_MAX: usize = 16;

/// How many connections of one kind there may be.
pub const CONNECTIONS_MAX: usize = 1024;

/// How many attributes may be asked for.
pub const ATTRIBUTES_MAX: usize = 64;

/// How users of a directory are found and recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapSettings {
    /// Servers with the same content, in the order in which they are preferred: `ldaps://a.example.org`,
    /// `ldap://b.example.org:389`.
    pub servers: Vec<String>,
    /// What keeps passwords secret on the way.
    pub security: LdapSecurity,
    /// The certificates, in PEM, that servers' certificates are held to, in the place of the system's.
    pub ca_file: Option<PathBuf>,
    /// The account that searches: a name (DN) and a file that holds its password. Default: anonymous.
    pub search_as: Option<(String, PathBuf)>,
    /// Below which entry users are.
    pub base: String,
    /// How far below.
    pub scope: LdapScope,
    /// What users have in common. Default: `(objectClass=person)`.
    pub user_filter: String,
    /// The attributes that hold what may be typed as a name. Default: `uid`.
    pub login_attributes: Vec<String>,
    /// The attribute that holds a user's one name, whatever was typed. Default: `uid`.
    pub name_attribute: String,
    /// What else is asked for, for decisions.
    pub attributes: Vec<String>,
    /// Where groups are. Default: there are none.
    pub groups: Option<LdapGroups>,
    /// What becomes of "ask elsewhere".
    pub referrals: LdapReferrals,
    /// Whether users whose password must be changed are let change it in the directory, as themselves. Default: no.
    pub change_passwords: bool,
    /// How long a connection may take to be made, TLS included. Default: 2 seconds.
    pub connect_within: Duration,
    /// How long one answer may take. Default: 3 seconds.
    pub answer_within: Duration,
    /// How many connections there may be for the searches of logins, as many for their passwords, and as many
    /// for what is asked about sessions. Default: 16.
    pub connections_max: usize,
    /// How long a server that failed is asked last. Default: 30 seconds.
    pub rest: Duration,
}

/// What keeps passwords secret on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LdapSecurity {
    /// `ldaps://` is under TLS from the beginning, `ldap://` before anything is said (`StartTLS`).
    #[default]
    Tls,
    /// Nothing for `ldap://`: whoever is on the way reads passwords. For tests, and for a directory on the same machine.
    DangerPlainText,
}

/// How far below the base users are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LdapScope {
    /// Anywhere.
    #[default]
    Subtree,
    /// Directly.
    OneLevel,
}

#[cfg(feature = "ldap")]
impl LdapScope {
    pub(super) fn scope(self) -> Scope {
        match self {
            LdapScope::Subtree => Scope::Subtree,
            LdapScope::OneLevel => Scope::OneLevel,
        }
    }
}

/// Where groups are, and how one belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapGroups {
    /// Below which entry groups are. Others do not count, whatever they are called.
    pub base: String,
    /// How one belongs to them.
    pub membership: LdapMembership,
}

/// How one belongs to groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LdapMembership {
    /// An attribute of the user holds the names (DN) of their groups: `memberOf`. A group is called what its DN begins with.
    OfUser(String),
    /// An attribute of the group holds its members.
    OfGroup {
        /// What groups have in common, such as `(objectClass=groupOfNames)`.
        filter: String,
        /// The attribute with the members: `member`, `uniqueMember`, `memberUid`.
        attribute: String,
        /// What stands in it.
        holds: LdapMember,
        /// The attribute with the group's name. Usually `cn`.
        name_attribute: String,
    },
}

/// What names a member in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LdapMember {
    /// The DN of the user's entry.
    Dn,
    /// The user's name, as in `memberUid`.
    Name,
}

/// What becomes of a server's answer that one should ask elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LdapReferrals {
    /// Nobody else is asked. Whoever is only there is unknown.
    #[default]
    Never,
    /// They are followed to the servers that the settings name, and to no others: to nobody else is a password shown.
    SameHosts,
}

impl LdapSettings {
    /// Settings for servers and a base, with everything else as usual.
    pub fn new(servers: Vec<String>, base: &str) -> LdapSettings {
        LdapSettings {
            servers,
            security: LdapSecurity::default(),
            ca_file: None,
            search_as: None,
            base: base.to_owned(),
            scope: LdapScope::default(),
            user_filter: "(objectClass=person)".to_owned(),
            login_attributes: vec!["uid".to_owned()],
            name_attribute: "uid".to_owned(),
            attributes: Vec::new(),
            groups: None,
            referrals: LdapReferrals::default(),
            change_passwords: false,
            connect_within: Duration::from_secs(2),
            answer_within: Duration::from_secs(3),
            connections_max: 16,
            rest: Duration::from_secs(30),
        }
    }

    /// Looks whether the settings can be used at all.
    ///
    /// # Errors
    /// What is wrong, and with which setting.
    pub fn check(&self) -> Result<(), IdentityError> {
        self.addresses()?;
        is_dn("base", &self.base)?;
        is_filter("user_filter", &self.user_filter)?;
        if self.login_attributes.is_empty() || self.login_attributes.len() > ATTRIBUTES_MAX {
            return wrong(format!("`login_attributes` must hold 1 to {ATTRIBUTES_MAX} names"));
        }
        if self.attributes.len() > ATTRIBUTES_MAX {
            return wrong(format!("`attributes` may hold at most {ATTRIBUTES_MAX} names"));
        }
        for name in self.login_attributes.iter().chain([&self.name_attribute]).chain(&self.attributes) {
            is_attribute(name)?;
        }
        if let Some((dn, _)) = &self.search_as {
            is_dn("search_as", dn)?;
        }
        if let Some(groups) = &self.groups {
            groups.check()?;
        }
        for (name, time) in [("connect_within", self.connect_within), ("answer_within", self.answer_within)] {
            if time < Duration::from_millis(50) || time > Duration::from_secs(60) {
                return wrong(format!("`{name}` may be 50 ms to 60 s"));
            }
        }
        if self.connections_max == 0 || self.connections_max > CONNECTIONS_MAX {
            return wrong(format!("`connections_max` may be 1 to {CONNECTIONS_MAX}"));
        }
        Ok(())
    }

    /// The servers, read.
    pub(super) fn addresses(&self) -> Result<Vec<LdapAddress>, IdentityError> {
        if self.servers.is_empty() || self.servers.len() > SERVERS_MAX {
            return wrong(format!("`servers` must name 1 to {SERVERS_MAX} LDAP servers"));
        }
        self.servers.iter().map(|server| LdapAddress::read(server, self.security)).collect()
    }
}

impl LdapGroups {
    fn check(&self) -> Result<(), IdentityError> {
        is_dn("groups.base", &self.base)?;
        match &self.membership {
            LdapMembership::OfUser(attribute) => is_attribute(attribute),
            LdapMembership::OfGroup { filter, attribute, name_attribute, .. } => {
                is_filter("groups.filter", filter)?;
                is_attribute(attribute)?;
                is_attribute(name_attribute)
            }
        }
    }
}

fn wrong<T>(message: String) -> Result<T, IdentityError> {
    Err(IdentityError::new(message))
}

pub(super) fn is_dn(setting: &str, dn: &str) -> Result<(), IdentityError> {
    match super::dn::Dn::read(dn) {
        Some(dn) if !dn.is_empty() => Ok(()),
        Some(_) | None => wrong(format!(
            "`{setting}`: `{}` is no name of an entry such as `ou=people,dc=example,dc=org`",
            dn.escape_default()
        )),
    }
}

pub(super) fn is_filter(setting: &str, filter: &str) -> Result<(), IdentityError> {
    if filter.starts_with('(') && can_be_parsed(filter) {
        return Ok(());
    }
    wrong(format!("`{setting}`: `{}` is no filter such as `(objectClass=person)`", filter.escape_default()))
}

#[cfg(feature = "ldap")]
fn can_be_parsed(filter: &str) -> bool {
    ldap3::parse_filter(filter).is_ok()
}

/// Nobody is asked, and hence nothing wrong.
#[cfg(not(feature = "ldap"))]
fn can_be_parsed(_: &str) -> bool {
    true
}

/// A name, or a number with dots; no option. What holds passwords is not for decisions.
pub(super) fn is_attribute(name: &str) -> Result<(), IdentityError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
        return wrong(format!("`{}` is no name of an attribute", name.escape_default()));
    }
    let secret =
        ["userpassword", "unicodepwd", "authpassword", "sambantpassword", "krbprincipalkey", "2.5.4.35"];
    if secret.contains(&name.to_ascii_lowercase().as_str()) {
        return wrong(format!("the attribute `{name}` holds passwords and is not asked for"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> LdapSettings {
        LdapSettings::new(vec!["ldaps://ldap.example.org".to_owned()], "ou=people,dc=example,dc=org")
    }

    fn refused(change: impl Fn(&mut LdapSettings)) -> String {
        let mut settings = settings();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    }

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        settings().check().unwrap();
        assert!(refused(|it| it.servers.clear()).contains("`servers`"));
        assert!(refused(|it| it.base = String::new()).contains("`base`"));
        #[cfg(feature = "ldap")]
        assert!(refused(|it| it.user_filter = "(uid={user}".to_owned()).contains("`user_filter`"));
        assert!(refused(|it| it.user_filter = "uid=*".to_owned()).contains("`user_filter`"));
        assert!(refused(|it| it.login_attributes.clear()).contains("`login_attributes`"));
        assert!(refused(|it| it.name_attribute = "uid)(x".to_owned()).contains("uid)(x"));
        assert!(refused(|it| it.answer_within = Duration::ZERO).contains("`answer_within`"));
        assert!(refused(|it| it.connections_max = 0).contains("`connections_max`"));
    }

    #[test]
    fn passwords_are_not_asked_for() {
        assert!(refused(|it| it.attributes = vec!["userPassword".to_owned()]).contains("userPassword"));
    }
}
