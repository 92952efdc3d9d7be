//! An address of a server, as it is written in settings and in referrals.

use std::fmt;

use durward_identity::IdentityError;

use super::settings::LdapSecurity;

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsStart {
    /// Before anything else.
    Tls,
    /// After a first question in plain text whether it may.
    StartTls,
    /// Never.
    DangerPlainText,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LdapAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: TlsStart,
}

impl LdapAddress {
    /// Reads `ldap://HOST[:PORT]` or `ldaps://HOST[:PORT]`.
    ///
    /// # Errors
    /// It is neither.
    pub(super) fn read(text: &str, security: LdapSecurity) -> Result<LdapAddress, IdentityError> {
        let shown = text.escape_default();
        let parts = parts(text).filter(|(_, rest)| rest.is_empty() || *rest == "/");
        let Some((mut address, _)) = parts else {
            return Err(IdentityError::new(format!(
                "`servers`: `{shown}` is no address such as `ldaps://ldap.example.org`"
            )));
        };
        address.security = match (address.security, security) {
            (TlsStart::Tls, _) => TlsStart::Tls,
            (TlsStart::StartTls | TlsStart::DangerPlainText, LdapSecurity::Tls) => TlsStart::StartTls,
            (TlsStart::StartTls | TlsStart::DangerPlainText, LdapSecurity::DangerPlainText) => {
                TlsStart::DangerPlainText
            }
        };
        Ok(address)
    }

    /// Whether a referral means this server.
    pub(super) fn is_meant_by(&self, other: &LdapAddress) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(&other.host)
    }
}

impl fmt::Display for LdapAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.security == TlsStart::Tls { "ldaps" } else { "ldap" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// The server of an LDAP URL and what follows it.
fn parts(text: &str) -> Option<(LdapAddress, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let (security, default_port) = match scheme.to_ascii_lowercase().as_str() {
        "ldap" => (TlsStart::StartTls, 389),
        "ldaps" => (TlsStart::Tls, 636),
        _ => return None,
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end)?;
    let (host, port) = match authority.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:_".contains(c);
    if host.is_empty() || !host.chars().all(is_host) {
        return None;
    }
    let port = port.map_or(Some(default_port), |port| port.parse().ok())?;
    Some((LdapAddress { host: host.to_owned(), port, security }, rest))
}

/// Reads a referral: the server, and below which entry to search there, where it says so.
pub(super) fn referral(url: &str) -> Option<(LdapAddress, Option<String>)> {
    let (address, rest) = parts(url)?;
    let dn = rest.strip_prefix('/').unwrap_or_default().split('?').next().unwrap_or_default();
    let dn = unescape(dn)?;
    Some((address, (!dn.is_empty()).then_some(dn)))
}

/// Undoes `%20`.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        // `from_str_radix` takes a sign.
        if !code.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LdapAddress, IdentityError> {
        LdapAddress::read(text, LdapSecurity::Tls)
    }

    #[test]
    fn addresses_have_a_port_and_are_under_tls_unless_that_is_called_dangerous() {
        let address = read("ldaps://ldap.example.org").unwrap();
        assert_eq!((address.port, address.security), (636, TlsStart::Tls));
        assert_eq!(read("ldap://a:1389/").unwrap().security, TlsStart::StartTls);
        assert_eq!(read("ldap://[::1]").unwrap().host, "::1");
        let plain = LdapAddress::read("ldap://a", LdapSecurity::DangerPlainText).unwrap();
        assert_eq!(plain.security, TlsStart::DangerPlainText);
        let wrong = [
            "",
            "a",
            "http://a",
            "ldap://",
            "ldap://a:x",
            "ldap://a:99999",
            "ldap://u@a",
            "ldap://a/dc=x",
            "ldap://[::1",
        ];
        for wrong in wrong {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn referrals_name_a_server_and_an_entry() {
        let (address, dn) = referral("ldap://b.example.org/ou=more%20people,dc=x??sub").unwrap();
        assert_eq!((address.host.as_str(), dn.as_deref()), ("b.example.org", Some("ou=more people,dc=x")));
        assert_eq!(referral("ldap://b").unwrap().1, None);
        assert_eq!(referral("ldap://b/%zz"), None);
        assert_eq!(referral("ldap://b/%e4"), None);
        assert_eq!(referral("ldap://b/%+1"), None);
    }
}
