//! What a request is for: method, host, path and query, as the gateway had them from its client.
//!
//! A path is normalised once: each segment is decoded, and what would end a segment or be decoded a second time is encoded again. Whatever a
//! gateway, durward and an application could read in different ways is refused, unless the settings let it through.

use std::borrow::Cow;

use durward_settings::DoorAllow;
use durward_settings::doors::is_method;
use durward_wire::percent::{Stray, decoded};
use smallvec::SmallVec;

/// Oddities of a target, or those that are let through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oddities(u8);

impl Oddities {
    pub(super) fn of(allowed: &[DoorAllow]) -> Oddities {
        allowed.iter().fold(Oddities::default(), |all, one| all.with(*one))
    }

    fn with(self, one: DoorAllow) -> Oddities {
        Oddities(self.0 | (1 << one as u8))
    }

    fn add(&mut self, one: DoorAllow) {
        *self = self.with(one);
    }

    pub(super) fn and(self, others: Oddities) -> Oddities {
        Oddities(self.0 | others.0)
    }

    /// Whether all of these are among the others.
    pub(super) fn are_in(self, allowed: Oddities) -> bool {
        self.0 & !allowed.0 == 0
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) method: &'a str,
    pub(super) scheme: &'a str,
    /// In small letters, without port.
    pub(super) host: Cow<'a, str>,
    /// The host as it was written, with its port.
    pub(super) authority: &'a str,
    /// Path and query as they came.
    pub(super) raw: &'a str,
    /// Behind the `?`.
    pub(super) query: Option<&'a str>,
    /// The normalised path: the raw one, where it is that already.
    pub(super) path: Cow<'a, str>,
    pub(super) oddities: Oddities,
}

/// As many segments as usual paths have.
const SEGMENTS: usize = 8;

/// The target cannot be told for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclear;

impl<'a> Target<'a> {
    /// # Errors
    /// It is of a form that clients and servers could read in different ways, and that no setting lets through.
    pub(super) fn read(
        method: &'a str,
        scheme: &'a str,
        authority: &'a str,
        raw: &'a str,
    ) -> Result<Target<'a>, Unclear> {
        let is_plain = raw.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !is_method(method) || !matches!(scheme, "http" | "https" | "ws" | "wss") || !is_plain {
            return Err(Unclear);
        }
        let host = host(authority)?;
        let (raw_path, query) = match raw.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (raw, None),
        };
        let mut oddities = Oddities::default();
        let path = if is_normal(raw_path) {
            Cow::Borrowed(raw_path)
        } else {
            Cow::Owned(normalised(raw_path, &mut oddities)?)
        };
        Ok(Target { method, scheme, host, authority, raw, query, path, oddities })
    }

    /// The segments of the normalised path.
    pub(super) fn segments(&self) -> SmallVec<[&str; SEGMENTS]> {
        self.path.strip_prefix('/').unwrap_or(&self.path).split('/').collect()
    }
}

/// Letters, digits and some other bytes.
struct ByteSet([bool; 256]);

impl ByteSet {
    #[expect(clippy::indexing_slicing, reason = "it is made when it is compiled")]
    const fn alphanumeric_and(others: &[u8]) -> ByteSet {
        let mut has = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            has[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        let mut at = 0;
        while at < others.len() {
            has[others[at] as usize] = true;
            at += 1;
        }
        ByteSet(has)
    }

    fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)) == Some(&true)
    }
}

static IN_AUTHORITY: ByteSet = ByteSet::alphanumeric_and(b"-._:[]");
static IN_NORMAL_PATH: ByteSet = ByteSet::alphanumeric_and(b"/-_.~");

/// A host without its port, in small letters.
fn host(authority: &str) -> Result<Cow<'_, str>, Unclear> {
    if authority.is_empty() || !authority.bytes().all(|byte| IN_AUTHORITY.has(byte)) {
        return Err(Unclear);
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inner, after) = rest.split_once(']').ok_or(Unclear)?;
            (inner, after.strip_prefix(':').or((after.is_empty()).then_some("")))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let port = port.ok_or(Unclear)?;
    let is_port = port.is_empty() || port.parse::<u16>().is_ok();
    let host = host.strip_suffix('.').unwrap_or(host);
    let has_gap = host.split('.').any(str::is_empty);
    if !is_port || has_gap || host.contains(['[', ']']) {
        return Err(Unclear);
    }
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(Cow::Owned(host.to_ascii_lowercase()));
    }
    Ok(Cow::Borrowed(host))
}

/// Whether a path is as [`normalised`] would write it, by a short look: most are.
fn is_normal(raw: &str) -> bool {
    // Nothing empty, no `.` and no `..`: what begins with a dot gets a longer look.
    let begins_oddly = |pair: &[u8]| matches!(pair, [b'/', b'/' | b'.']);
    raw.starts_with('/')
        && raw.bytes().all(|byte| IN_NORMAL_PATH.has(byte))
        && !raw.as_bytes().windows(2).any(begins_oddly)
}

fn normalised(raw: &str, oddities: &mut Oddities) -> Result<String, Unclear> {
    let rest = raw.strip_prefix('/').ok_or(Unclear)?;
    let mut path = String::with_capacity(raw.len());
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() && segments.peek().is_some() {
            oddities.add(DoorAllow::DoubleSlash);
        }
        path.push('/');
        write_segment(segment, oddities, &mut path)?;
    }
    Ok(path)
}

fn write_segment(segment: &str, oddities: &mut Oddities, path: &mut String) -> Result<(), Unclear> {
    let text = decoded_text(segment)?;
    // Also behind a `;`, as some servers leave out what follows it, and between slashes of any kind.
    let has_dots =
        text.split(['/', '\\']).any(|part| matches!(part.split(';').next().unwrap_or_default(), "." | ".."));
    if has_dots || text.chars().any(char::is_control) {
        return Err(Unclear);
    }
    for character in text.chars() {
        match character {
            ';' => oddities.add(DoorAllow::Semicolon),
            '/' => oddities.add(DoorAllow::EncodedSlash),
            '%' => oddities.add(DoorAllow::EncodedPercent),
            '\\' => oddities.add(DoorAllow::Backslash),
            _ => {}
        }
        match character {
            '/' => path.push_str("%2F"),
            '%' => path.push_str("%25"),
            '\\' => path.push_str("%5C"),
            '?' => path.push_str("%3F"),
            '#' => path.push_str("%23"),
            other => path.push(other),
        }
    }
    Ok(())
}

fn decoded_text(segment: &str) -> Result<Cow<'_, str>, Unclear> {
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let bytes = decoded(segment.as_bytes(), Stray::Refused).ok_or(Unclear)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Unclear)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Option<(String, Oddities)> {
        let target = Target::read("GET", "https", "a.example", raw).ok()?;
        Some((target.path.into_owned(), target.oddities))
    }

    #[test]
    fn a_path_is_decoded_once() {
        for (raw, path) in [
            ("/", "/"),
            ("/papers/7", "/papers/7"),
            ("/papers/7/", "/papers/7/"),
            ("/p%61pers/%37?x=%2F..", "/papers/7"),
            ("/m%C3%BCller/a%20b", "/müller/a b"),
            ("/what%3F/%23", "/what%3F/%23"),
            ("/...", "/..."),
            ("/a+b", "/a+b"),
        ] {
            assert_eq!(read(raw), Some((path.to_owned(), Oddities::default())), "{raw}");
        }
    }

    /// A path that gets a short look is one that the long look leaves as it is.
    #[test]
    fn what_looks_normal_is() {
        let parts = ["/", "a", "B9", ".", "..", "-_~", "%61", "%2f", ";", "\\", "?", "*", "ä"];
        let count = parts.len();
        for number in 0..count.pow(4) {
            let at = |place: u32| parts[number / count.pow(place) % count];
            let raw = format!("/{}{}{}{}", at(0), at(1), at(2), at(3));
            if is_normal(&raw) {
                let mut oddities = Oddities::default();
                assert_eq!(normalised(&raw, &mut oddities).as_deref(), Ok(raw.as_str()));
                assert_eq!(oddities, Oddities::default(), "{raw}");
            }
        }
        assert!(is_normal("/papers/7.pdf") && is_normal("/") && !is_normal("papers"));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused_or_named() {
        for raw in [
            "",
            "*",
            "papers",
            "http://a.example/",
            "/a b",
            "/a\tb",
            "/ä",
            "/a#b",
            "/..",
            "/../a",
            "/a/..",
            "/a/.",
            "/a/./b",
            "/%2e%2e/a",
            "/%2E./a",
            "/.%2e",
            "/..;/a",
            "/..;x=1/a",
            "/%2e%2e%3b/a",
            "/a%2f..%2fb",
            "/a%5c..%5cb",
            "/..\\a",
            "/a%00b",
            "/a%0d%0ab",
            "/a%7f",
            "/a%",
            "/a%2",
            "/a%zz",
            "/%ff",
            "/%c0%ae%c0%ae/a",
            "/%c2%80",
        ] {
            assert_eq!(read(raw), None, "{raw}");
        }
        for (raw, path, allow) in [
            ("/a;b/c", "/a;b/c", DoorAllow::Semicolon),
            ("/a%3Bb", "/a;b", DoorAllow::Semicolon),
            ("//a", "//a", DoorAllow::DoubleSlash),
            ("/a//b", "/a//b", DoorAllow::DoubleSlash),
            ("/a%2fb", "/a%2Fb", DoorAllow::EncodedSlash),
            ("/a%252fb", "/a%252fb", DoorAllow::EncodedPercent),
            ("/%252e%252e/b", "/%252e%252e/b", DoorAllow::EncodedPercent),
            ("/a\\b", "/a%5Cb", DoorAllow::Backslash),
            ("/a%5cb", "/a%5Cb", DoorAllow::Backslash),
        ] {
            let found = read(raw).unwrap();
            assert_eq!(found, (path.to_owned(), Oddities::of(&[allow])), "{raw}");
            assert!(!found.1.are_in(Oddities::default()) && found.1.are_in(Oddities::of(&[allow])));
        }
    }

    #[test]
    fn hosts_and_methods_have_one_form() {
        let host =
            |authority: &str| Some(Target::read("GET", "http", authority, "/").ok()?.host.into_owned());
        for (authority, found) in [
            ("A.Example:8443", Some("a.example")),
            ("a.example.", Some("a.example")),
            ("[::1]:80", Some("::1")),
            ("[::1]", Some("::1")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("", None),
            (":80", None),
            ("a:b", None),
            ("a.example:80:90", None),
            ("a.example, b.example", None),
            ("a.example/b", None),
            ("user@a.example", None),
            ("[::1", None),
            ("a.example..", None),
            (".a.example", None),
            ("a..example", None),
        ] {
            assert_eq!(host(authority).as_deref(), found, "{authority}");
        }
        for method in ["get", "GET ", "", "G\u{e4}T", "GET\r\nX: y"] {
            assert_eq!(Target::read(method, "http", "a", "/").err(), Some(Unclear), "{method:?}");
        }
        assert!(Target::read("GET", "ftp", "a", "/").is_err());
    }
}
