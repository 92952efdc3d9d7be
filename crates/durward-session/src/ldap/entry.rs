//! From a typed name to a filter, and from an entry to an account.

use std::collections::BTreeMap;

use durward_identity::session::User;
use durward_identity::user::Account;
use durward_identity::{IdentityError, Moment, hex};
use ldap3::{SearchEntry, ldap_escape};

use super::settings::{LdapMembership, LdapSettings};
use super::standing::{self, Standing};
use super::{dn, policy};

/// What directories call an entry for as long as it is there, whatever its name becomes: RFC 4530, Active Directory, 389 Directory Server.
const LASTING: [&str; 3] = ["entryUUID", "objectGUID", "nsUniqueId"];

/// The longest of these that is taken, in bytes: a UUID has 36.
const LASTING_BYTES_MAX: usize = 128;

/// What an entry of a user must hold, and what else is wanted of it.
pub(super) struct EntryRequirements<'s> {
    settings: &'s LdapSettings,
}

/// All that match `filter` and have `name` in one of the attributes. The name means itself, whatever is in it (RFC 4515, 3).
pub(super) fn filter_of_name(filter: &str, attributes: &[String], name: &str) -> String {
    let name = ldap_escape(name);
    let any: String = attributes.iter().map(|attribute| format!("({attribute}={name})")).collect();
    format!("(&{filter}(|{any}))")
}

/// The values of an attribute, whose name is written in any case.
pub(super) fn values(entry: &SearchEntry, attribute: &str) -> Vec<String> {
    let all = entry.attrs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    all.flat_map(|(_, values)| values.iter().cloned()).collect()
}

/// The one value of an attribute, whether it is text or not.
pub(super) fn bytes<'e>(entry: &'e SearchEntry, attribute: &str) -> Option<&'e [u8]> {
    let texts = entry.attrs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    let others = entry.bin_attrs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    let texts = texts.flat_map(|(_, values)| values.iter().map(String::as_bytes));
    let mut found = texts.chain(others.flat_map(|(_, values)| values.iter().map(Vec::as_slice)));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// What the directory calls the entry for good, where it says so.
pub(super) fn lasting_name(entry: &SearchEntry) -> Option<String> {
    LASTING.iter().find_map(|attribute| {
        let value = bytes(entry, attribute).filter(|value| (1..=LASTING_BYTES_MAX).contains(&value.len()))?;
        let is_text = *attribute != "objectGUID" && value.iter().all(u8::is_ascii_graphic);
        let text = String::from_utf8(value.to_ascii_lowercase()).ok().filter(|_| is_text);
        Some(format!("{attribute}:{}", text.unwrap_or_else(|| hex(value))))
    })
}

/// Whether an entry has a name in one of these attributes.
pub(super) fn has_name(entry: &SearchEntry, attributes: &[String], name: &str) -> bool {
    let name = folded(name);
    attributes.iter().any(|attribute| values(entry, attribute).iter().any(|value| folded(value) == name))
}

/// When the password of an entry was given, where the directory says so.
pub(super) fn password_since(entry: &SearchEntry) -> Option<Moment> {
    let [changed, last_set] =
        [policy::CHANGED, policy::LAST_SET].map(|name| values(entry, name).into_iter().next());
    policy::since(changed.as_deref(), last_set.as_deref())
}

/// A name as directories compare it: without case, and spaces count once.
pub(super) fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<&str>>().join(" ").to_lowercase()
}

impl<'s> EntryRequirements<'s> {
    pub(super) fn of(settings: &'s LdapSettings) -> EntryRequirements<'s> {
        EntryRequirements { settings }
    }

    /// What to ask for. All of it: whoever asks for nothing gets everything.
    pub(super) fn attributes(&self) -> Vec<String> {
        let LdapSettings { login_attributes, name_attribute, attributes, groups, .. } = self.settings;
        let of_groups = groups.as_ref().and_then(|groups| match &groups.membership {
            LdapMembership::OfUser(attribute) => Some(attribute),
            LdapMembership::OfGroup { .. } => None,
        });
        let all = login_attributes.iter().chain([name_attribute]).chain(attributes).chain(of_groups);
        let mut all: Vec<String> = all.cloned().collect();
        all.extend([policy::CHANGED, policy::LAST_SET].map(str::to_owned));
        all.extend(LASTING.into_iter().chain(standing::attributes()).map(str::to_owned));
        all.sort();
        all.dedup();
        all
    }

    /// The account that an entry is, under the directory's name for it.
    ///
    /// # Errors
    /// It has not one name.
    pub(super) fn account(
        &self,
        user: &User,
        entry: &SearchEntry,
        now: Moment,
    ) -> Result<Account, IdentityError> {
        let LdapSettings { name_attribute, attributes, .. } = self.settings;
        let names = values(entry, name_attribute);
        let [name] = names.as_slice() else {
            return Err(IdentityError::new(format!(
                "the entry `{}` has {} values of `{name_attribute}` where one is wanted",
                entry.dn.escape_default(),
                names.len()
            )));
        };
        let mut account = Account::new(&User::new(user.realm(), name)?);
        account.password_since_ms = password_since(entry).map_or(0, Moment::ms);
        account.entry = lasting_name(entry);
        account.disabled = Standing::of(entry, now) != Standing::Active;
        let known: BTreeMap<String, Vec<String>> =
            attributes.iter().map(|name| (name.clone(), values(entry, name))).collect();
        account.attributes = known.into_iter().filter(|(_, values)| !values.is_empty()).collect();
        Ok(account)
    }

    /// The groups that an entry says it is in.
    pub(super) fn groups_of_user(&self, entry: &SearchEntry, attribute: &str, base: &str) -> Vec<String> {
        let groups = values(entry, attribute).into_iter().filter(|group| dn::is_below(group, base));
        groups.filter_map(|group| dn::first_value(&group)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn what_is_typed_never_changes_the_filter() {
        let attributes = ["uid".to_owned(), "mail".to_owned()];
        let filter = |name: &str| filter_of_name("(objectClass=person)", &attributes, name);
        assert_eq!(filter("anna"), "(&(objectClass=person)(|(uid=anna)(mail=anna)))");
        for typed in
            ["*", "a*", "anna)(uid=*", "*)(|(uid=*", "\\2a", "a\0b", "(", ")", "\\", "ä)(", "&", "!(x=y)"]
        {
            let filter = filter(typed);
            let inside = filter.trim_start_matches("(&(objectClass=person)(|(uid=");
            let inside = inside.split(")(mail=").next().unwrap();
            assert!(!inside.contains(['*', '(', ')', '\0']), "{typed:?}: {filter}");
            assert!(ldap3::parse_filter(&filter).is_ok(), "{typed:?}: {filter}");
        }
    }

    fn entry(attributes: &[(&str, &[&str])]) -> SearchEntry {
        let attrs: HashMap<String, Vec<String>> = attributes
            .iter()
            .map(|(name, values)| {
                ((*name).to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
            })
            .collect();
        SearchEntry { dn: "uid=anna,ou=people,dc=x".to_owned(), attrs, bin_attrs: HashMap::new() }
    }

    #[test]
    fn the_directorys_name_counts_and_not_what_was_typed() {
        let mut settings = LdapSettings::new(vec!["ldaps://a".to_owned()], "dc=x");
        settings.login_attributes = vec!["uid".to_owned(), "mail".to_owned()];
        settings.attributes = vec!["mail".to_owned()];
        let wanted = EntryRequirements::of(&settings);
        let entry = entry(&[("UID", &["anna"]), ("mail", &["Anna@example.org"]), ("other", &["x"])]);
        assert!(
            has_name(&entry, &settings.login_attributes, "anna@EXAMPLE.org")
                && has_name(&entry, &settings.login_attributes, "ANNA")
        );
        assert!(!has_name(&entry, &settings.login_attributes, "eva"));
        let typed = User::new("/", "anna@EXAMPLE.org").unwrap();
        let account = wanted.account(&typed, &entry, Moment::default()).unwrap();
        assert_eq!((account.realm.as_str(), account.subject.as_str()), ("/", "anna"));
        assert_eq!(account.attributes.keys().collect::<Vec<_>>(), ["mail"]);
    }

    /// Failures are counted by the folded name: whatever is taken for a name must fold to the same.
    #[test]
    fn whatever_is_taken_for_a_name_is_folded_alike() {
        let settings = LdapSettings::new(vec!["ldaps://a".to_owned()], "dc=x");
        let entry = entry(&[("uid", &["Anna  van Ek"])]);
        for typed in ["anna van ek", " ANNA van  EK ", "Anna\tVan Ek", "anna vanek", "annavan ek", "anna"] {
            let is_alike = folded(typed) == folded("Anna  van Ek");
            assert_eq!(has_name(&entry, &settings.login_attributes, typed), is_alike, "{typed:?}");
        }
        assert!(has_name(&entry, &settings.login_attributes, " ANNA van  EK "));
    }

    #[test]
    fn what_an_entry_is_called_for_good_is_read_as_text_or_as_bytes() {
        let named = |attributes: &[(&str, &[&str])]| lasting_name(&entry(attributes));
        let uuid = "entryUUID:597ae2f6-16a6-1027-98f4-d28b5365dc14";
        assert_eq!(named(&[("entryuuid", &["597AE2F6-16a6-1027-98f4-d28b5365dc14"])]).as_deref(), Some(uuid));
        assert_eq!(named(&[("nsUniqueId", &["a-b"])]).as_deref(), Some("nsUniqueId:a-b"));
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[("entryUUID", &[])]), None);
        assert_eq!(named(&[("entryUUID", &[""])]), None);
        assert_eq!(named(&[("entryUUID", &["a", "b"])]), None);
        // Sixteen bytes, which by chance may be text.
        assert_eq!(named(&[("objectGUID", &["ab"])]).as_deref(), Some("objectGUID:6162"));
        let mut entry = entry(&[]);
        entry.bin_attrs.insert("objectGUID".to_owned(), vec![vec![0xff, 0]]);
        assert_eq!(lasting_name(&entry).as_deref(), Some("objectGUID:ff00"));
    }

    #[test]
    fn an_entry_without_one_name_is_nobody() {
        let settings = LdapSettings::new(vec!["ldaps://a".to_owned()], "dc=x");
        let user = User::new("/", "anna").unwrap();
        for names in [&[][..], &["anna", "eva"]] {
            let entry = entry(&[("uid", names)]);
            let account = EntryRequirements::of(&settings).account(&user, &entry, Moment::default());
            assert!(account.is_err());
        }
    }

    #[test]
    fn groups_elsewhere_do_not_count() {
        let settings = LdapSettings::new(vec!["ldaps://a".to_owned()], "dc=x");
        let entry = entry(&[(
            "memberOf",
            &["cn=doctors,ou=groups,dc=x", "cn=administrators,ou=people,dc=x", "cn=a\\,b,ou=Groups,dc=x"],
        )]);
        let mut groups =
            EntryRequirements::of(&settings).groups_of_user(&entry, "memberof", "ou=groups,dc=x");
        groups.sort();
        assert_eq!(groups, ["a,b", "doctors"]);
    }
}
