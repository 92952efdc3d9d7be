//! Internet addresses as `java.net.InetAddress` reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address that a text with colons is. Groups may have any number of zeros in front, a zone behind `%` does not count
/// if it is a number, and an address that maps one of IPv4 is that one. `None` where Java throws.
pub fn ipv6(text: &str) -> Option<IpAddr> {
    let address = match text.split_once('%') {
        None => text,
        // Names of interfaces would have to be those of this machine.
        Some((address, zone)) => {
            zone.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
            zone.parse::<i32>().ok()?;
            address
        }
    };
    let groups = match address.split_once("::") {
        None => groups(address)?,
        Some((start, end)) => around(groups_or_none(start)?, &groups_or_none(end)?)?,
    };
    let segments: [u16; 8] = groups.try_into().ok()?;
    let address = Ipv6Addr::from(segments);
    Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
}

fn groups_or_none(text: &str) -> Option<Vec<u16>> {
    if text.is_empty() { Some(Vec::new()) } else { groups(text) }
}

/// Zeros between both parts: at least one group of them.
fn around(mut start: Vec<u16>, end: &[u16]) -> Option<Vec<u16>> {
    let zeros = 8_usize.checked_sub(start.len() + end.len()).filter(|zeros| *zeros > 0)?;
    start.extend(std::iter::repeat_n(0, zeros));
    start.extend(end);
    Some(start)
}

fn groups(text: &str) -> Option<Vec<u16>> {
    let (start, dotted) = match text.rsplit_once(':') {
        Some((start, last)) if last.contains('.') => (start, Some(last)),
        None if text.contains('.') => ("", Some(text)),
        Some(_) | None => (text, None),
    };
    let mut groups = Vec::new();
    if !start.is_empty() || dotted.is_none() {
        for group in start.split(':') {
            groups.push(self::group(group)?);
        }
    }
    if let Some(dotted) = dotted {
        let [a, b, c, d] = ipv4(dotted)?.octets();
        groups.extend([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]);
    }
    Some(groups)
}

fn group(text: &str) -> Option<u16> {
    let is_hex = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(text, 16).ok())?
}

/// Four numbers, with or without zeros in front, of 15 characters at most.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    if text.len() > 15 {
        return None;
    }
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let octets: Option<Vec<u8>> =
        text.split('.').map(|part| is_number(part).then(|| part.parse().ok())?).collect();
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::ipv6;

    fn read(text: &str) -> Option<String> {
        ipv6(text).map(|address| address.to_string())
    }

    #[test]
    fn addresses_are_read_as_java_reads_them() {
        for (text, address) in [
            ("::", "::"),
            ("::1", "::1"),
            ("1::", "1::"),
            ("2001:DB8::1", "2001:db8::1"),
            ("2001:0db8:000000:0:0:0:0:1", "2001:db8::1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("::ffff:0a00:1", "10.0.0.1"),
            ("1:2:3:4:5:6:1.2.3.04", "1:2:3:4:5:6:102:304"),
            ("fe80::1%3", "fe80::1"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ] {
            assert_eq!(read(text).as_deref(), Some(address), "{text}");
        }
        for text in [
            "",
            ":",
            ":::",
            "1",
            "1:2",
            "1::2::3",
            "::12345",
            "::1.2.3",
            "::1.2.3.256",
            "fe80::1%",
            "fe80::1%eth9",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8",
            "::g",
            "1:2:3:4:5:6:7:",
            ":1:2:3:4:5:6:7",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
