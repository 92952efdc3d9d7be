//! Whose request it is where proxies stand in front: the address that throttles and records go by.
//!
//! A proxy adds the address it was called from at the end of a header field. What stands before that was there when the request came to
//! it: anybody may have written it. So the list is read from its end, through proxies that the settings trust, up to the first
//! address that is none of theirs; and it is not read at all where whoever connects is none.

use std::net::{IpAddr, SocketAddr};

use durward_settings::{ForwardedBy, ServerSettings};
use hyper::header::{self, HeaderMap, HeaderName};

/// How many trusted proxies may stand in a row; the next one counts as the client.
const HOPS_MAX: usize = 16;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client: who connects, unless that is a proxy that is trusted and says somebody else.
///
/// Where an entry cannot be understood, the proxy that wrote it is the client: its callers then share its delays, and nobody escapes
/// them by a header.
pub(super) fn client(settings: &ServerSettings, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
    let is_trusted = |address: IpAddr| settings.trusted_proxies.iter().any(|one| one.contains(address));
    if !is_trusted(peer.ip()) {
        return peer;
    }
    let name = match settings.forwarded_by {
        ForwardedBy::XForwardedFor => &X_FORWARDED_FOR,
        ForwardedBy::Forwarded => &header::FORWARDED,
    };
    let fields: Vec<_> = headers.get_all(name).iter().collect();
    let mut client = peer;
    let entries = fields.iter().rev().flat_map(|field| field.as_bytes().rsplit(|byte| *byte == b','));
    for entry in entries.take(HOPS_MAX) {
        let Some(address) =
            std::str::from_utf8(entry).ok().and_then(|entry| read(settings.forwarded_by, entry))
        else {
            break;
        };
        client = SocketAddr::new(address, 0);
        if !is_trusted(address) {
            break;
        }
    }
    client
}

fn read(by: ForwardedBy, entry: &str) -> Option<IpAddr> {
    match by {
        ForwardedBy::XForwardedFor => node(entry.trim_matches([' ', '\t'])),
        ForwardedBy::Forwarded => {
            let mut pairs = entry.split(';').map(|pair| pair.trim().split_once('='));
            let mut named = pairs.by_ref().flatten().filter(|(name, _)| name.eq_ignore_ascii_case("for"));
            let (_, value) = named.next()?;
            // Which of two counts must not depend on who looks.
            if named.next().is_some() {
                return None;
            }
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            node(quoted.unwrap_or(value))
        }
    }
}

/// An address, perhaps with a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80` (RFC 7239, 6). `unknown` and names
/// that proxies make up are none.
fn node(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn settings(by: &str) -> ServerSettings {
        let text = format!(
            "server.trusted_proxies = ['10.0.0.0/8', '2001:db8:1::/48', '192.0.2.7']\nserver.forwarded_by = '{by}'\n"
        );
        durward_settings::Settings::from_toml(&text, "test.toml").unwrap().server
    }

    /// The client of a request from `peer` with these fields.
    fn client_of(by: &str, peer: &str, name: &HeaderName, fields: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(name, HeaderValue::from_bytes(field.as_bytes()).unwrap());
        }
        let peer = SocketAddr::new(peer.parse().unwrap(), 4711);
        client(&settings(by), peer, &headers).ip().to_string()
    }

    #[test]
    fn the_last_address_that_is_no_trusted_proxys_is_the_client() {
        let proxy = "10.1.2.3";
        for (fields, found) in [
            (&["203.0.113.9"][..], "203.0.113.9"),
            (&["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            (&["1.1.1.1", "203.0.113.9, 10.9.9.9"], "203.0.113.9"),
            (&["203.0.113.9,10.9.9.9,192.0.2.7"], "203.0.113.9"),
            (&["203.0.113.9:8080"], "203.0.113.9"),
            (&["[2001:db8::1]:80"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["2001:db8::1, 2001:db8:1::5"], "2001:db8::1"),
            (&["::ffff:203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9, ::ffff:10.0.0.1"], "203.0.113.9"),
            (&["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
            (&[], proxy),
        ] {
            assert_eq!(client_of("x-forwarded-for", proxy, &X_FORWARDED_FOR, fields), found, "{fields:?}");
        }
    }

    #[test]
    fn what_cannot_be_understood_leaves_the_proxy_that_wrote_it() {
        let proxy = "10.1.2.3";
        let long = "1.2.3.4,".repeat(10_000);
        let many = "10.0.0.1,".repeat(1000) + "10.0.0.2";
        for (fields, found) in [
            (&[""][..], proxy),
            (&["unknown"], proxy),
            (&["_hidden"], proxy),
            (&["203.0.113.9, nobody"], proxy),
            (&["203.0.113.9, 999.1.1.1, 10.9.9.9"], "10.9.9.9"),
            (&["203.0.113.9,"], proxy),
            (&["203.0.113.9 10.0.0.1"], proxy),
            (&["[203.0.113.9"], proxy),
            (&["2001:db8::1]:80"], proxy),
            (&["203.0.113.9:99999"], proxy),
            (&["\"203.0.113.9\""], proxy),
            (&["203.0.113.9\u{a0}"], proxy),
            (&[long.as_str()], proxy),
            (&[many.as_str()], "10.0.0.1"),
        ] {
            assert_eq!(client_of("x-forwarded-for", proxy, &X_FORWARDED_FOR, fields), found, "{fields:?}");
        }
    }

    #[test]
    fn nobody_else_is_believed_and_no_other_field() {
        let of = |by, peer, name: &HeaderName| client_of(by, peer, name, &["203.0.113.9"]);
        assert_eq!(of("x-forwarded-for", "198.51.100.4", &X_FORWARDED_FOR), "198.51.100.4");
        assert_eq!(of("x-forwarded-for", "11.0.0.1", &X_FORWARDED_FOR), "11.0.0.1");
        assert_eq!(of("x-forwarded-for", "192.0.2.8", &X_FORWARDED_FOR), "192.0.2.8");
        assert_eq!(of("forwarded", "10.0.0.1", &X_FORWARDED_FOR), "10.0.0.1");
        let forwarded = client_of("x-forwarded-for", "10.0.0.1", &header::FORWARDED, &["for=203.0.113.9"]);
        assert_eq!(forwarded, "10.0.0.1");
        assert_eq!(of("x-forwarded-for", "::ffff:10.0.0.1", &X_FORWARDED_FOR), "203.0.113.9");
    }

    #[test]
    fn the_field_of_the_standard_is_read_likewise() {
        let proxy = "10.1.2.3";
        for (fields, found) in [
            (&["for=203.0.113.9"][..], "203.0.113.9"),
            (&["For=\"[2001:db8::1]:80\";proto=https;by=10.0.0.1"], "2001:db8::1"),
            (&["by=10.0.0.1; for=203.0.113.9"], "203.0.113.9"),
            (&["for=1.1.1.1, for=203.0.113.9;proto=http, for=10.9.9.9"], "203.0.113.9"),
            (&["for=1.1.1.1", "for=203.0.113.9"], "203.0.113.9"),
            (&["for=unknown"], proxy),
            (&["for=\"_x, for=1.1.1.1\""], proxy),
            (&["for=1.1.1.1;for=203.0.113.9"], proxy),
            (&["proto=https"], proxy),
            (&["203.0.113.9"], proxy),
        ] {
            assert_eq!(client_of("forwarded", proxy, &header::FORWARDED, fields), found, "{fields:?}");
        }
    }
}
