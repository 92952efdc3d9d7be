//! Where in a filter or in the name of an entry a value may be put, and how it is escaped there.
//!
//! A filter may hold the name of an entry (`(member=uid=...,ou=people)`), and a value in it must end neither the filter's item
//! nor the name's part: it is escaped for the name first (RFC 4514), and what comes of it for the filter (RFC 4515).

use durward_identity::IdentityError;

use super::dn;

/// Stands for a value in the text of a filter or a name.
pub const LDAP_PLACE: char = '\u{0}';

/// The context that a value is inserted into, which decides its escaping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LdapPlace {
    /// A filter.
    Filter,
    /// The name of an entry.
    Dn,
    /// The name of an entry, in a filter.
    DnInFilter,
}

impl LdapPlace {
    /// The value as it may stand there.
    #[cfg(feature = "ldap")]
    pub fn escaped(self, value: &str) -> String {
        match self {
            LdapPlace::Filter => ldap3::ldap_escape(value),
            LdapPlace::Dn => ldap3::dn_escape(value),
            LdapPlace::DnInFilter => ldap3::ldap_escape(ldap3::dn_escape(value)),
        }
        .into_owned()
    }

    /// Stands nowhere: there is no directory to be asked.
    #[cfg(not(feature = "ldap"))]
    pub fn escaped(self, _: &str) -> String {
        String::new()
    }
}

/// What each place of a filter is in. `filter` is one of the operator's, with [`LDAP_PLACE`] for each value.
///
/// # Errors
/// A place where no value can stand: in the name of an attribute, or in the name of an entry where its part needs a `name=`.
pub fn places_of_filter(filter: &str) -> Result<Vec<LdapPlace>, IdentityError> {
    let mut places = Vec::new();
    // In values, parentheses are escaped.
    for item in filter.split(['(', ')']).filter(|item| item.contains(LDAP_PLACE)) {
        let (attribute, value) = item.split_once('=').unwrap_or((item, ""));
        if attribute.contains(LDAP_PLACE) {
            return wrong(
                "`filter` has a place where an attribute is named; values can stand behind `=` only",
            );
        }
        // `\5c` is the backslash.
        let value = value.replace("\\5c", "\\").replace("\\5C", "\\");
        let place = if is_like_dn(&value) { LdapPlace::DnInFilter } else { LdapPlace::Filter };
        if place == LdapPlace::DnInFilter {
            check_parts("filter", &value)?;
        }
        places.extend(value.matches(LDAP_PLACE).map(|_| place));
    }
    Ok(places)
}

/// What each place of the name of an entry is in: of `base`, one of the operator's, with [`LDAP_PLACE`] for each value.
///
/// # Errors
/// A place where no value can stand.
pub fn places_of_base(base: &str) -> Result<Vec<LdapPlace>, IdentityError> {
    check_parts("base", base)?;
    Ok(base.matches(LDAP_PLACE).map(|_| LdapPlace::Dn).collect())
}

/// The parts of a name: `uid=a` and `l=b` of `uid=a+l=b`.
fn parts(dn: &str) -> impl Iterator<Item = &str> {
    dn::split(dn, ',').into_iter().flat_map(|part| dn::split(part, '+'))
}

fn is_like_dn(value: &str) -> bool {
    parts(value).any(is_named)
}

/// Whether it begins with the name of an attribute and `=`.
fn is_named(part: &str) -> bool {
    let name = part.split_once('=').map(|(name, _)| name.trim());
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
    })
}

fn check_parts(setting: &str, dn: &str) -> Result<(), IdentityError> {
    match parts(dn).all(|part| !part.contains(LDAP_PLACE) || is_named(part)) {
        true => Ok(()),
        false => wrong(&format!(
            "`{setting}` has a place in the name of an entry that is no value of it; write it behind `=`, as in `uid={{subject-id}},ou=people`"
        )),
    }
}

fn wrong<T>(message: &str) -> Result<T, IdentityError> {
    Err(IdentityError::new(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4514, 2.4 and RFC 4515, 3.
    #[cfg(feature = "ldap")]
    #[test]
    fn a_value_ends_neither_the_name_nor_the_filter_that_it_stands_in() {
        for (value, in_filter, in_dn, in_both) in [
            ("a,b", "a,b", "a\\2cb", "a\\5c2cb"),
            ("a+b", "a+b", "a\\2bb", "a\\5c2bb"),
            ("a\"b", "a\"b", "a\\22b", "a\\5c22b"),
            ("a\\b", "a\\5cb", "a\\5cb", "a\\5c5cb"),
            ("#a", "#a", "\\23a", "\\5c23a"),
            (" a ", " a ", "\\20a\\20", "\\5c20a\\5c20"),
            ("a\0b", "a\\00b", "a\\00b", "a\\5c00b"),
            ("a*b", "a\\2ab", "a*b", "a\\2ab"),
            ("a(b)", "a\\28b\\29", "a(b)", "a\\28b\\29"),
            ("a=b;<c>", "a=b;<c>", "a\\3db\\3b\\3cc\\3e", "a\\5c3db\\5c3b\\5c3cc\\5c3e"),
            ("ünü", "ünü", "ünü", "ünü"),
        ] {
            assert_eq!(LdapPlace::Filter.escaped(value), in_filter, "{value:?}");
            assert_eq!(LdapPlace::Dn.escaped(value), in_dn, "{value:?}");
            assert_eq!(LdapPlace::DnInFilter.escaped(value), in_both, "{value:?}");
            let base = "ou=people,dc=example,dc=org";
            let dn = format!("uid={},{base}", LdapPlace::Dn.escaped(value));
            assert_eq!(dn::first_value(&dn).as_deref(), Some(value), "{dn}");
            assert!(dn::is_below(&dn, base));
        }
    }

    #[test]
    fn a_place_in_the_name_of_an_entry_is_told_from_one_beside_it() {
        use LdapPlace::{DnInFilter, Filter};
        for (filter, expected) in [
            ("(uid=\0)", &[Filter][..]),
            ("(&(objectClass=person)(|(uid=\0)(mail=\0@example.org)))", &[Filter, Filter]),
            ("(member=\0)", &[Filter]),
            ("(member=uid=\0,ou=people,dc=x)", &[DnInFilter]),
            ("(&(uid=\0)(memberOf=cn=\0,ou=groups\\5c, all,dc=x))", &[Filter, DnInFilter]),
            ("(memberOf:1.2.840.113556.1.4.1941:=CN=a-\0-b,OU=\0,DC=x)", &[DnInFilter, DnInFilter]),
            ("(url=https://x/?q=\0)", &[Filter]),
        ] {
            assert_eq!(places_of_filter(filter).unwrap(), expected, "{filter:?}");
        }
        for filter in ["(\0=x)", "(\0)", "(&\0(a=b))", "(member=\0,ou=people,dc=x)", "(member=uid=x,\0,dc=x)"]
        {
            assert!(places_of_filter(filter).is_err(), "{filter:?}");
        }
        assert_eq!(places_of_base("uid=\0,ou=people,dc=x").unwrap(), [LdapPlace::Dn]);
        assert_eq!(places_of_base("ou=people,dc=x").unwrap(), []);
        for base in ["\0", "\0,ou=people,dc=x", "\0=x,dc=x", "uid=x,\0"] {
            assert!(places_of_base(base).is_err(), "{base:?}");
        }
    }
}
