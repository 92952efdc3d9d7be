//! Addresses in proofs, in the one form in which they are compared (RFC 9449, 4.3; RFC 3986, 6.2.2 and 6.2.3).

/// The address without query and fragment: scheme and host in small letters, no port that the scheme has anyway, a path, escapes only
/// where they are needed. `None` for what is no address over HTTP, names a user, or goes up and down in its path: what two readers could
/// take for two places is none here.
pub(super) fn normal(address: &str) -> Option<String> {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte)) {
        return None;
    }
    let (scheme, rest) = address.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "https" => "443",
        "http" => "80",
        _ => return None,
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        // The last colon of an address of IPv6 is within its brackets.
        Some((host, port)) if !port.contains(']') => (host, port),
        Some(_) | None => (authority.as_str(), ""),
    };
    if host.is_empty() || host.contains(['@', '%']) || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let port = if port.is_empty() || port == usual { String::new() } else { format!(":{port}") };
    let path = escaped_where_needed(path)?;
    if path.split('/').any(|segment| segment == "." || segment == "..") {
        return None;
    }
    let slash = if path.is_empty() { "/" } else { "" };
    Some(format!("{scheme}://{host}{port}{path}{slash}"))
}

/// RFC 3986, 6.2.2.1 and 6.2.2.2: escapes of letters that need none are undone, the others have capitals.
fn escaped_where_needed(path: &str) -> Option<String> {
    let mut normal = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        normal.push_str(before);
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(digits, 16).ok()?;
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            normal.push(char::from(byte));
        } else {
            normal.push('%');
            normal.push_str(&digits.to_ascii_uppercase());
        }
        rest = after.get(2..)?;
    }
    normal.push_str(rest);
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_one_form() {
        for (address, form) in [
            ("https://server.example.com/token", "https://server.example.com/token"),
            ("HTTPS://Server.Example.COM:443/token?a=b#c", "https://server.example.com/token"),
            ("https://a:/x", "https://a/x"),
            ("http://a:80", "http://a/"),
            ("http://a:443/", "http://a:443/"),
            ("https://a#x", "https://a/"),
            ("https://[::1]:8443/x", "https://[::1]:8443/x"),
            ("https://[::1]/x", "https://[::1]/x"),
            ("https://a/%7euser/%c3%a4/%2F", "https://a/~user/%C3%A4/%2F"),
            ("https://a/x//y/", "https://a/x//y/"),
        ] {
            assert_eq!(normal(address).as_deref(), Some(form), "{address}");
        }
    }

    #[test]
    fn what_could_be_two_places_is_none() {
        for address in [
            "",
            "/token",
            "a/token",
            "ftp://a/token",
            "https:/a/token",
            "https:///token",
            "https://:443/token",
            "https://a:b/token",
            "https://a:1:2@b/token",
            "https://user@a/token",
            "https://a%2eb/token",
            "https://a/x/../token",
            "https://a/./token",
            "https://a/%2e%2E/token",
            "https://a/%zz",
            "https://a/%",
            "https://a/%4",
            "https://a\\b/token",
            "https://a/to ken",
            "https://a/t\u{f6}ken",
        ] {
            assert_eq!(normal(address), None, "{address}");
        }
    }
}
