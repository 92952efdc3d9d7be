//! Where browsers may be sent: to this service and to hosts that somebody named, and to nobody who only wrote themselves into an address.

use hyper::Uri;

/// Whether an address is a path of this service, or leads to a host of which this is true. Hosts are in small letters.
pub fn leads_to(url: &str, is_own: impl Fn(&str) -> bool) -> bool {
    // Browsers read a backslash as a slash, and leave out control characters.
    if url
        .contains(|character: char| character == '\\' || character.is_control() || character.is_whitespace())
    {
        return false;
    }
    if url.starts_with('/') {
        return !url.starts_with("//");
    }
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_plain = uri.authority().is_some_and(|authority| {
        let port = authority.as_str().strip_prefix(authority.host());
        let is_port = |port: &str| port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        !authority.as_str().contains('@') && port.is_some_and(|port| port.is_empty() || is_port(port))
    });
    let host = uri.host().filter(|_| is_web && is_plain).map(str::to_ascii_lowercase);
    host.is_some_and(|host| is_own(&host))
}
