//! Addresses, and which of them credentials may be sent to.

use std::fmt::{self, Write};

use hyper::Uri;

use crate::connect::Endpoint;

/// An absolute address, read once and strictly: what is checked is what is connected to.
#[derive(Clone, Debug)]
pub struct Url {
    scheme: Scheme,
    /// Where to connect to.
    pub endpoint: Endpoint,
    /// Path and query, from the `/` on.
    pub target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    Ws,
    Wss,
}

/// Why a text is no address. The text is not repeated: its path and query may hold what others must not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlError(String);

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UrlError {}

fn wrong(message: impl Into<String>) -> UrlError {
    UrlError(message.into())
}

impl Scheme {
    const ALL: [(&'static str, Scheme); 4] =
        [("http", Scheme::Http), ("https", Scheme::Https), ("ws", Scheme::Ws), ("wss", Scheme::Wss)];

    fn is_encrypted(self) -> bool {
        match self {
            Scheme::Https | Scheme::Wss => true,
            Scheme::Http | Scheme::Ws => false,
        }
    }
}

impl Url {
    /// Reads an address.
    ///
    /// # Errors
    /// A text that is no such address.
    pub fn read(text: &str) -> Result<Url, UrlError> {
        let text = text.split('#').next().unwrap_or_default();
        if let Some(odd) = text.chars().find(|c| c.is_whitespace() || c.is_control() || *c == '\\') {
            return Err(wrong(format!("the address holds {odd:?}; encode it as `%{:02X}`", u32::from(odd))));
        }
        let uri: Uri = encoded(text).parse().map_err(|_| wrong("the address cannot be read"))?;
        let written = uri.scheme_str().unwrap_or_default();
        let scheme = Scheme::ALL.into_iter().find(|(name, _)| written.eq_ignore_ascii_case(name));
        let Some((_, scheme)) = scheme else {
            return Err(wrong("the address begins with none of `http://`, `https://`, `ws://`, `wss://`"));
        };
        let authority = uri.authority().ok_or_else(|| wrong("the address has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("the address holds a user; put credentials into the secrets"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() || host.contains('%') {
            return Err(wrong("the address has no host"));
        }
        let has_port = !authority.as_str().ends_with(authority.host());
        let port = match authority.port_u16() {
            Some(port) => port,
            None if has_port => return Err(wrong("the address has a port that is none")),
            None if scheme.is_encrypted() => 443,
            None => 80,
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let slash = if target.starts_with('/') { "" } else { "/" };
        let endpoint = Endpoint { is_encrypted: scheme.is_encrypted(), host, port };
        Ok(Url { scheme, endpoint, target: format!("{slash}{target}") })
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether this lies below another: same scheme, host and port, and the other's path up to the end of a segment.
    pub fn is_within(&self, base: &Url) -> bool {
        let prefix = base.path().trim_end_matches('/');
        let path = self.path();
        let is_below = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.scheme == base.scheme && self.endpoint == base.endpoint && is_below && !climbs(path)
    }

    /// As the crates below want it, who each know only their own two schemes.
    ///
    /// # Errors
    /// None that [`Url::read`] would not have given.
    pub fn uri(&self, plain: &str, encrypted: &str) -> Result<Uri, UrlError> {
        let scheme = if self.endpoint.is_encrypted { encrypted } else { plain };
        let text = format!("{scheme}://{}{}", self.endpoint, self.target);
        text.parse().map_err(|_| wrong("the address cannot be read"))
    }
}

/// Whether a server could understand a path as one that lies elsewhere: `..`, also encoded, also before a `;`.
fn climbs(path: &str) -> bool {
    let plain = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    plain.split('/').any(|segment| matches!(segment.split(';').next(), Some("." | "..")))
}

/// Letters of other alphabets encoded, as browsers do; all else as it is.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii() {
            out.push(char::from(byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_within(base: &str, url: &str) -> bool {
        let (Ok(base), Ok(url)) = (Url::read(base), Url::read(url)) else { return false };
        url.is_within(&base)
    }

    #[test]
    fn an_address_lies_within_its_base() {
        for (base, url) in [
            ("https://api.corp", "https://api.corp/x"),
            ("https://api.corp", "https://API.corp:443"),
            ("https://api.corp/", "https://api.corp?q=1"),
            ("https://api.corp/v1", "https://api.corp/v1"),
            ("https://api.corp/v1/", "https://api.corp/v1?q=1"),
            ("https://api.corp/v1", "https://api.corp/v1/x"),
            ("ws://api.corp:81", "ws://api.corp:81/x"),
            ("http://[::1]:8080", "http://[::1]:8080/x"),
        ] {
            assert!(is_within(base, url), "{base} {url}");
        }
    }

    #[test]
    fn other_schemes_hosts_ports_and_paths_are_elsewhere() {
        for (base, url) in [
            ("https://api.corp", "http://api.corp"),
            ("https://api.corp", "wss://api.corp"),
            ("https://api.corp", "https://api.corp.evil.com"),
            ("https://api.corp", "https://api.corp:444"),
            ("https://api.corp", "https://api.corp@evil.com/"),
            ("https://api.corp", "https://api.corp\\.evil.com/"),
            ("https://api.corp/v1", "https://api.corp/v10"),
            ("https://api.corp/v1", "https://api.corp/v1/../admin"),
            ("https://api.corp/v1", "https://api.corp/v1/%2E%2e/admin"),
            ("https://api.corp/v1", "https://api.corp/v1/..%2fadmin"),
            ("https://api.corp/v1", "https://api.corp/v1/..;/admin"),
            ("https://api.corp/v1", "https://api.corp/V1/x"),
            ("https://api.corp/v1", "https://api.corp?/v1"),
        ] {
            assert!(!is_within(base, url), "{base} {url}");
        }
    }

    #[test]
    fn what_is_no_address_is_said_without_its_content() {
        for text in [
            "",
            "/x",
            "api.corp",
            "ftp://a/SECRET",
            "http:///SECRET",
            "http://bad host/SECRET",
            "http://user:SECRET@host/",
            "http://host:99999/SECRET",
            "http://host:x/SECRET",
            "http://[::1/SECRET",
            "http://%41/SECRET",
            "https://",
        ] {
            let Err(message) = Url::read(text) else { panic!("{text}") };
            let message = message.to_string();
            assert!(!message.contains("SECRET"), "{message}");
        }
    }

    #[test]
    fn other_alphabets_are_encoded_and_fragments_dropped() {
        assert_eq!(
            Url::read("http://h/hänschen?a=ü#x").map(|url| url.target).unwrap(),
            "/h%C3%A4nschen?a=%C3%BC"
        );
        assert_eq!(Url::read("http://h?a=1").map(|url| url.target).unwrap(), "/?a=1");
    }
}
