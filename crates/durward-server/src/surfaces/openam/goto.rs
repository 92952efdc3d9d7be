//! `goto` and `gotoOnFail`: where a client wants its user to be sent. OpenAM says any address back to it, unless it was told which are
//! good; here only those that are of this service.

use hyper::header;

use super::{Call, text_of};
use crate::surfaces::http::links;

/// What the query says under this name, if it leads to this host, or to one that the cookie is for.
pub(super) fn wanted<'c>(call: &'c Call<'_>, name: &str) -> Option<&'c str> {
    call.query.get(name).filter(|url| is_own(call, url))
}

/// Whether an address leads to this host, or to one that the cookie is for.
pub(super) fn is_own(call: &Call<'_>, url: &str) -> bool {
    let head = &call.head;
    let host = head.uri.host().or_else(|| text_of(&head.headers, header::HOST.as_str()));
    leads_to(url, host.map(without_port), &call.settings.cookie_domain)
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(host, _)| host)
}

fn leads_to(url: &str, host: Option<&str>, domain: &str) -> bool {
    let domain = domain.trim_start_matches('.').to_ascii_lowercase();
    links::leads_to(url, |there| {
        let is_of_domain = !domain.is_empty() && (there == domain || there.ends_with(&format!(".{domain}")));
        is_of_domain || host.is_some_and(|host| host.eq_ignore_ascii_case(there))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_others_are_not_said_back() {
        let good = [
            "/app",
            "/app?x=https://evil.example/",
            "https://www.example.org/app",
            "http://EXAMPLE.org:8080/",
            "http://localhost:1/x",
        ];
        for url in good {
            assert!(leads_to(url, Some("localhost"), "example.org"), "{url}");
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
            assert!(!leads_to(url, Some("localhost"), "example.org"), "{url}");
            assert!(!leads_to(url, None, ""), "{url}");
        }
    }

    #[test]
    fn the_port_is_no_part_of_the_host() {
        assert_eq!(without_port("a.example:8080"), "a.example");
        assert_eq!(without_port("a.example"), "a.example");
        assert_eq!(without_port("[::1]:80"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
    }
}
