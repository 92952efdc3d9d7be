//! `[[identity.ldap]]`: users in an LDAP directory.

use std::path::PathBuf;
use std::time::Duration;

use durward_session::identity::IdentityError;
use durward_session::ldap::{
    LdapGroups, LdapMember, LdapMembership, LdapReferrals, LdapScope, LdapSecurity, LdapSettings,
};
use durward_sources::LdapDepth;
use serde::{Deserialize, Serialize};

/// What becomes of "ask elsewhere".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LdapFollow {
    /// Nobody else is asked.
    #[default]
    Never,
    /// Servers that are named here are.
    SameHosts,
}

/// What names a member in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LdapMemberIs {
    /// The name of his entry.
    #[default]
    Dn,
    /// His own name.
    Name,
}

/// Users in an LDAP directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LdapUserSettings {
    /// The realms whose users are in it. Default: the root realm.
    pub realms: Vec<String>,
    /// Servers with the same content, in the order in which they are preferred.
    pub servers: Vec<String>,
    /// Whether `ldap://` stays without TLS. Default: no.
    pub danger_plain_text: bool,
    /// The certificates that servers are held to, in PEM. Default: the system's.
    pub authorities: Option<PathBuf>,
    /// Who searches. Default: nobody.
    pub search_as: Option<String>,
    /// The file with his password. Default: none.
    pub search_password_path: Option<PathBuf>,
    /// Below which entry users are.
    pub base: String,
    /// How far below. Default: anywhere.
    pub scope: LdapDepth,
    /// What users have in common. Default: `(objectClass=person)`.
    pub user_filter: String,
    /// The attributes that hold what may be typed as a name. Default: `uid`.
    pub login_attributes: Vec<String>,
    /// The attribute that holds a user's one name. Default: `uid`.
    pub name_attribute: String,
    /// What else is asked for. Default: nothing.
    pub attributes: Vec<String>,
    /// Below which entry groups are. Default: there are none.
    pub groups_base: Option<String>,
    /// The attribute of users that holds their groups, such as `memberOf`. Default: groups hold their members.
    pub groups_of_user: Option<String>,
    /// What groups have in common. Default: `(objectClass=groupOfNames)`.
    pub groups_filter: String,
    /// The attribute of groups that holds members. Default: `member`.
    pub groups_member: String,
    /// What stands in it. Default: the name of the entry.
    pub groups_member_is: LdapMemberIs,
    /// The attribute of groups with their name. Default: `cn`.
    pub groups_name: String,
    /// What becomes of "ask elsewhere". Default: `never`.
    pub referrals: LdapFollow,
    /// Whether users whose password must be changed may change it in the directory, as themselves. Default: no.
    pub change_passwords: bool,
    /// How long connecting may take, TLS included. Default: 2 seconds.
    pub connect_time_ms_max: u64,
    /// How long an answer may take. Default: 3 seconds.
    pub answer_time_ms_max: u64,
    /// How many connections there may be for the searches of logins, as many for their passwords, and as many for what is asked about sessions. Default: 16.
    pub connections_max: usize,
    /// How long a server that failed is asked last. Default: 30 seconds.
    pub rest_s: u64,
}

impl Default for LdapUserSettings {
    fn default() -> LdapUserSettings {
        let usual = LdapSettings::new(Vec::new(), "");
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        LdapUserSettings {
            realms: vec!["/".to_owned()],
            servers: Vec::new(),
            danger_plain_text: false,
            authorities: None,
            search_as: None,
            search_password_path: None,
            base: String::new(),
            scope: LdapDepth::Subtree,
            user_filter: usual.user_filter,
            login_attributes: usual.login_attributes,
            name_attribute: usual.name_attribute,
            attributes: Vec::new(),
            groups_base: None,
            groups_of_user: None,
            groups_filter: "(objectClass=groupOfNames)".to_owned(),
            groups_member: "member".to_owned(),
            groups_member_is: LdapMemberIs::Dn,
            groups_name: "cn".to_owned(),
            referrals: LdapFollow::Never,
            change_passwords: false,
            connect_time_ms_max: ms(usual.connect_within),
            answer_time_ms_max: ms(usual.answer_within),
            connections_max: usual.connections_max,
            rest_s: usual.rest.as_secs(),
        }
    }
}

impl LdapUserSettings {
    /// The settings as the directory takes them.
    ///
    /// # Errors
    /// What contradicts itself, or cannot be.
    pub fn directory(&self) -> Result<LdapSettings, IdentityError> {
        let settings = LdapSettings {
            servers: self.servers.clone(),
            security: if self.danger_plain_text { LdapSecurity::DangerPlainText } else { LdapSecurity::Tls },
            ca_file: self.authorities.clone(),
            search_as: match (&self.search_as, &self.search_password_path) {
                (Some(dn), Some(path)) => Some((dn.clone(), path.clone())),
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(IdentityError::new("`search_as` and `search_password_path` go together"));
                }
            },
            base: self.base.clone(),
            scope: match self.scope {
                LdapDepth::Subtree => LdapScope::Subtree,
                LdapDepth::OneLevel => LdapScope::OneLevel,
            },
            user_filter: self.user_filter.clone(),
            login_attributes: self.login_attributes.clone(),
            name_attribute: self.name_attribute.clone(),
            attributes: self.attributes.clone(),
            groups: self.groups_base.as_ref().map(|base| self.groups(base)),
            referrals: match self.referrals {
                LdapFollow::Never => LdapReferrals::Never,
                LdapFollow::SameHosts => LdapReferrals::SameHosts,
            },
            change_passwords: self.change_passwords,
            connect_within: Duration::from_millis(self.connect_time_ms_max),
            answer_within: Duration::from_millis(self.answer_time_ms_max),
            connections_max: self.connections_max,
            rest: Duration::from_secs(self.rest_s),
        };
        settings.check()?;
        Ok(settings)
    }

    fn groups(&self, base: &str) -> LdapGroups {
        let membership = match &self.groups_of_user {
            Some(attribute) => LdapMembership::OfUser(attribute.clone()),
            None => LdapMembership::OfGroup {
                filter: self.groups_filter.clone(),
                attribute: self.groups_member.clone(),
                holds: match self.groups_member_is {
                    LdapMemberIs::Dn => LdapMember::Dn,
                    LdapMemberIs::Name => LdapMember::Name,
                },
                name_attribute: self.groups_name.clone(),
            },
        };
        LdapGroups { base: base.to_owned(), membership }
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 2] {
        [&mut self.authorities, &mut self.search_password_path]
    }

    /// Whether passwords go over the network in plain text.
    pub(super) fn is_plain(&self) -> bool {
        self.danger_plain_text && self.servers.iter().any(|server| server.starts_with("ldap://"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LdapSettings, IdentityError> {
        toml::from_str::<LdapUserSettings>(text).unwrap().directory()
    }

    #[test]
    fn a_directory_is_under_tls_unless_that_is_called_dangerous() {
        let base = "servers = ['ldap://a']\nbase = 'dc=x'\n";
        assert_eq!(read(base).unwrap().security, LdapSecurity::Tls);
        let plain = read(&format!("{base}danger_plain_text = true")).unwrap();
        assert_eq!(plain.security, LdapSecurity::DangerPlainText);
    }

    #[test]
    fn what_goes_together_comes_together() {
        let base = "servers = ['ldap://a']\nbase = 'dc=x'\n";
        assert!(read(&format!("{base}search_as = 'cn=a'")).unwrap_err().to_string().contains("go together"));
        let groups =
            read(&format!("{base}groups_base = 'ou=g'\ngroups_of_user = 'memberOf'")).unwrap().groups;
        assert_eq!(groups.unwrap().membership, LdapMembership::OfUser("memberOf".to_owned()));
        assert!(read("base = 'dc=x'").unwrap_err().to_string().contains("`servers`"));
    }
}
