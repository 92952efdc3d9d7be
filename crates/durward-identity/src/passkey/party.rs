//! Who this server is to browsers and authenticators: the relying party, and the origins of its pages.

use ring::digest::{SHA256, digest};

use crate::IdentityError;
use crate::error::failed;

/// The longest name of a domain.
const DOMAIN_LENGTH_MAX: usize = 253;

/// The longest name that authenticators need to keep (5.4.3).
const NAME_LENGTH_MAX: usize = 64;

/// What origins of Android's apps begin with.
const ANDROID: &str = "android:apk-key-hash:";

/// The relying party. Passkeys are bound to its identifier, a domain: with another one, all of them are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    id: String,
    name: String,
    // INVARIANT: not empty; each as browsers write origins (RFC 6454, 6.2).
    origins: Vec<String>,
}

impl RelyingParty {
    /// A relying party with the domain `id`, called `name`, whose passkeys are used on pages of these origins.
    ///
    /// # Errors
    /// The identifier is no domain, the name is empty or too long, or an origin is none of the domain's or not secure.
    pub fn new(id: &str, name: &str, origins: Vec<String>) -> Result<RelyingParty, IdentityError> {
        if !is_domain(id) {
            return failed(format!(
                "`{id}` is no domain in lower case, such as `example.org` or `localhost`"
            ));
        }
        if name.is_empty() || name.chars().count() > NAME_LENGTH_MAX {
            return failed(format!("a name has 1 to {NAME_LENGTH_MAX} characters"));
        }
        if origins.is_empty() {
            return failed("there is no origin; one is such as `https://login.example.org`");
        }
        match origins.iter().find(|origin| !is_origin_of(origin, id)) {
            Some(origin) => failed(format!(
                "`{origin}` is no origin of `{id}`: `https://`, the domain or one below it, and the port where it is not 443; \
                 no path; `http://` for `localhost` alone"
            )),
            None => Ok(RelyingParty { id: id.to_owned(), name: name.to_owned(), origins }),
        }
    }

    /// The domain.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What users see.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// What authenticators sign.
    pub(super) fn id_hash(&self) -> Vec<u8> {
        digest(&SHA256, self.id.as_bytes()).as_ref().to_vec()
    }
}

/// A domain as browsers write it. The address of a machine is none (5.4.2), and neither is what browsers call a number.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= DOMAIN_LENGTH_MAX
        && text.split('.').all(is_label)
        && last.contains(|it: char| !it.is_ascii_digit())
}

fn is_origin_of(origin: &str, id: &str) -> bool {
    if let Some(hash) = origin.strip_prefix(ANDROID) {
        return !hash.is_empty() && hash.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    }
    let (is_secure, rest) = match (origin.strip_prefix("https://"), origin.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return false,
    };
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (rest, None),
    };
    let usual = if is_secure { 443 } else { 80 };
    let is_port = port.is_none_or(|port| {
        !port.starts_with('0')
            && port.bytes().all(|it| it.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|it| it != usual)
    });
    let is_of_domain = host == id || host.strip_suffix(id).is_some_and(|before| before.ends_with('.'));
    is_domain(host) && is_port && is_of_domain && (is_secure || host == "localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(id: &str, origin: &str) -> Result<RelyingParty, IdentityError> {
        RelyingParty::new(id, "Example", vec![origin.to_owned()])
    }

    #[test]
    fn origins_are_secure_and_of_the_domain() {
        for (id, origin) in [
            ("example.org", "https://example.org"),
            ("example.org", "https://login.example.org:8443"),
            ("localhost", "http://localhost:8080"),
            ("example.org", "android:apk-key-hash:abc-_1"),
        ] {
            assert!(party(id, origin).is_ok(), "{id} {origin}");
        }
        for (id, origin) in [
            ("example.org", "http://example.org"),
            ("example.org", "https://example.org/"),
            ("example.org", "https://example.org:443"),
            ("example.org", "https://example.org:0443"),
            ("example.org", "https://example.org:99999"),
            ("example.org", "https://evilexample.org"),
            ("example.org", "https://example.org.evil.org"),
            ("example.org", "https://EXAMPLE.org"),
            ("example.org", "https://user@example.org"),
            ("example.org", "example.org"),
            ("example.org", "android:apk-key-hash:"),
            ("Example.org", "https://example.org"),
            ("127.0.0.1", "https://127.0.0.1"),
            ("example.org.", "https://example.org."),
            ("", "https://"),
            ("https://example.org", "https://example.org"),
        ] {
            assert!(party(id, origin).is_err(), "{id} {origin}");
        }
        assert!(RelyingParty::new("example.org", "", vec!["https://example.org".to_owned()]).is_err());
        assert!(RelyingParty::new("example.org", "Example", Vec::new()).is_err());
    }
}
