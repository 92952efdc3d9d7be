//! `goto` and `gotoOnFail`: where a client wants its user to be sent. OpenAM says any address back to it, unless it was told which are
//! good; here only those of this server, of the cookie's domain under TLS, and of `openam.goto_origins`. Origins are compared as browsers
//! do: another port is another's, and what is sent in plain text is anybody's.

use durward_settings::{OpenamSettings, WebOrigin};
use hyper::header;
use hyper::http::uri::Authority;

use super::{Call, text_of};

/// The hosts that browsers take for safe without TLS.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What the query says under this name, if it leads to a place of this service.
pub(super) fn wanted<'c>(call: &'c Call<'_>, name: &str) -> Option<&'c str> {
    call.query.get(name).filter(|url| is_own(call, url))
}

/// Whether an address is of this service.
pub(super) fn is_own(call: &Call<'_>, url: &str) -> bool {
    let head = &call.head;
    let host = head.uri.authority().map(Authority::as_str);
    leads_to(url, host.or_else(|| text_of(&head.headers, header::HOST.as_str())), call.settings)
}

/// `host` is this server's, with the port where it has one, as the browser asked for it.
fn leads_to(url: &str, host: Option<&str>, settings: &OpenamSettings) -> bool {
    // Browsers read a backslash as a slash, and leave out control characters.
    if url
        .contains(|character: char| character == '\\' || character.is_control() || character.is_whitespace())
    {
        return false;
    }
    if url.starts_with('/') {
        return !url.starts_with("//");
    }
    let Some(there) = WebOrigin::read(url) else { return false };
    let is_listed = settings.goto_origins.iter().any(|text| WebOrigin::read(text).as_ref() == Some(&there));
    is_listed || is_here(&there, host, settings) || is_of_domain(&there, &settings.cookie_domain)
}

/// Whether an origin is that of this server. A proxy may add TLS, so it is that of the host by either scheme; without TLS only where the cookie
/// goes without it as well.
fn is_here(there: &WebOrigin, host: Option<&str>, settings: &OpenamSettings) -> bool {
    let is_safe = there.is_https || !settings.cookie_secure || LOOPBACK.contains(&there.host.as_str());
    let scheme = if there.is_https { "https" } else { "http" };
    let here = host.and_then(|host| WebOrigin::read(&format!("{scheme}://{host}")));
    is_safe && here.as_ref() == Some(there)
}

fn is_of_domain(there: &WebOrigin, domain: &str) -> bool {
    let domain = domain.trim_start_matches('.').to_ascii_lowercase();
    let is_below = there.host == domain || there.host.ends_with(&format!(".{domain}"));
    !domain.is_empty() && is_below && there.is_https && there.port == 443
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> OpenamSettings {
        let goto_origins = vec!["https://other.example:8443".to_owned(), "http://old.example".to_owned()];
        OpenamSettings { cookie_domain: "example.org".to_owned(), goto_origins, ..OpenamSettings::default() }
    }

    #[test]
    fn addresses_of_others_are_not_said_back() {
        let good = [
            "/app",
            "/app?x=https://evil.example/",
            "https://www.example.org/app",
            "https://EXAMPLE.org:443/",
            "http://localhost:8080/x",
            "https://localhost:8080/x",
            "https://other.example:8443/x?y",
            "http://old.example/",
            "http://old.example:80/x",
        ];
        for url in good {
            assert!(leads_to(url, Some("localhost:8080"), &settings()), "{url}");
        }
        let bad = [
            "",
            "app",
            "//evil.example/",
            "/\\evil.example/",
            "/\t/evil.example/",
            "https://evil.example/",
            "https://evilexample.org/",
            "https://example.org@evil.example/",
            "https://example.org.evil.example/",
            "javascript:alert(1)",
            "ftp://example.org/",
        ];
        for url in bad {
            assert!(!leads_to(url, Some("localhost"), &settings()), "{url}");
            assert!(!leads_to(url, None, &OpenamSettings::default()), "{url}");
        }
    }

    /// What else listens on a host is somebody else's, and so is what is read on the way.
    #[test]
    fn another_port_or_no_tls_is_another_origin() {
        for url in [
            "http://EXAMPLE.org/",
            "http://www.example.org/app",
            "https://www.example.org:8443/",
            "http://localhost/x",
            "http://localhost:1/x",
            "https://other.example/x",
            "http://other.example:8443/x",
            "https://old.example/",
            "http://old.example:8080/",
        ] {
            assert!(!leads_to(url, Some("localhost:8080"), &settings()), "{url}");
        }
        let (own, plain) = (Some("id.example.net"), "http://id.example.net/app");
        assert!(leads_to("https://id.example.net/app", own, &settings()));
        assert!(!leads_to("https://id.example.net:8443/app", own, &settings()));
        assert!(!leads_to(plain, own, &settings()));
        assert!(leads_to(plain, own, &OpenamSettings { cookie_secure: false, ..settings() }));
    }
}
