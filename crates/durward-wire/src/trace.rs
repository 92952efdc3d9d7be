//! Which trace a request belongs to: `traceparent` and `tracestate` (W3C Trace Context, level 1).
//!
//! ```
//! use durward_wire::trace::TraceParent;
//!
//! let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
//! let parent = TraceParent::read(text.as_bytes()).ok_or("no traceparent")?;
//! assert!(parent.is_sampled());
//! assert_eq!(parent.to_string(), text);
//! assert_eq!(TraceParent::read(b"00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
//! # Ok::<(), &str>(())
//! ```

use std::fmt;

/// How long a `traceparent` of version 00 is.
const LENGTH: usize = 55;

/// Most members of a `tracestate` (3.3.1.1).
const STATE_MEMBERS_MAX: usize = 32;

/// The longest `tracestate` that is passed on; the specification wants at least 512 characters passed on (3.3.1.5).
const STATE_BYTES_MAX: usize = 1024;

/// The number of a trace; never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The number of a part of a trace; never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// A trace, the span in it that asks, and whether that one is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span that asks.
    pub span: SpanId,
    /// As they were sent; those that version 00 knows not are kept out.
    pub flags: u8,
}

/// Whoever asks may have recorded the trace.
const SAMPLED: u8 = 1;

impl TraceId {
    /// `None` for zeros, which name no trace.
    pub fn new(bytes: [u8; 16]) -> Option<TraceId> {
        (bytes != [0; 16]).then_some(TraceId(bytes))
    }
}

impl SpanId {
    /// `None` for zeros, which name no span.
    pub fn new(bytes: [u8; 8]) -> Option<SpanId> {
        (bytes != [0; 8]).then_some(SpanId(bytes))
    }
}

impl TraceParent {
    /// Reads the value of the field. What follows in the text of a later version is passed over (3.2.4); everything else that is not as the
    /// specification has it is no parent, and a trace begins anew.
    pub fn read(text: &[u8]) -> Option<TraceParent> {
        let (known, rest) = text.split_at_checked(LENGTH)?;
        let [version] = hex(known.get(..2)?)?;
        let is_whole = match version {
            0 => rest.is_empty(),
            // Reserved (3.2.2.1).
            0xff => false,
            _ => rest.is_empty() || rest.first() == Some(&b'-'),
        };
        let has_dashes = [2, 35, 52].iter().all(|at| known.get(*at) == Some(&b'-'));
        if !is_whole || !has_dashes {
            return None;
        }
        let [flags] = hex(known.get(53..)?)?;
        Some(TraceParent {
            trace: TraceId::new(hex(known.get(3..35)?)?)?,
            span: SpanId::new(hex(known.get(36..52)?)?)?,
            // A sender sets flags that it does not know to 0 (3.2.2.5).
            flags: flags & SAMPLED,
        })
    }

    /// One whose trace is recorded, or not.
    pub fn new(trace: TraceId, span: SpanId, is_sampled: bool) -> TraceParent {
        TraceParent { trace, span, flags: u8::from(is_sampled) }
    }

    /// Whether whoever asks may have recorded the trace.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// Two small letters or digits a byte; capital letters are none (3.2.2.3).
fn hex<const COUNT: usize>(text: &[u8]) -> Option<[u8; COUNT]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; COUNT];
    let mut pairs = text.chunks_exact(2);
    for byte in &mut bytes {
        let [high, low] = *pairs.next()? else { return None };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    (pairs.next().is_none() && pairs.remainder().is_empty()).then_some(bytes)
}

/// What vendors say of a trace, to be passed on as it is: all fields of the name in their order as one. `None` where one of them is not as the
/// specification has it, or there is nothing to pass on (3.3.1).
pub fn state<'f>(fields: impl Iterator<Item = &'f [u8]>) -> Option<String> {
    let mut all = String::new();
    let mut names: Vec<&str> = Vec::new();
    for field in fields {
        let field = std::str::from_utf8(field).ok()?;
        // Members may be empty.
        for member in field
            .split(',')
            .map(|member| member.trim_matches([' ', '\t']))
            .filter(|member| !member.is_empty())
        {
            let (name, value) = member.split_once('=')?;
            let is_known = names.contains(&name);
            if !is_state_name(name) || !is_state_value(value) || is_known {
                return None;
            }
            names.push(name);
            if names.len() > STATE_MEMBERS_MAX || all.len() + member.len() > STATE_BYTES_MAX {
                return None;
            }
            if !all.is_empty() {
                all.push(',');
            }
            all.push_str(member);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// `key` of 3.3.1.3.1: with an `@` the tenant of a vendor.
fn is_state_name(name: &str) -> bool {
    let is_usual = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
    let is_part =
        |part: &str, length_max: usize| (1..=length_max).contains(&part.len()) && part.bytes().all(is_usual);
    let begins_with_letter = |part: &str| part.starts_with(|letter: char| letter.is_ascii_lowercase());
    match name.split_once('@') {
        Some((tenant, vendor)) => {
            let is_begun =
                tenant.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
            is_begun && is_part(tenant, 241) && begins_with_letter(vendor) && is_part(vendor, 14)
        }
        None => begins_with_letter(name) && is_part(name, 256),
    }
}

/// `value` of 3.3.1.3.2.
fn is_state_value(value: &str) -> bool {
    let is_usual = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    (1..=256).contains(&value.len()) && value.bytes().all(is_usual) && !value.ends_with(' ')
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(text: &str) -> Option<String> {
        TraceParent::read(text.as_bytes()).map(|parent| parent.to_string())
    }

    #[test]
    fn parents_are_read_or_are_none() {
        assert_eq!(read(USUAL).as_deref(), Some(USUAL));
        let unsampled = USUAL.replace("-01", "-00");
        assert_eq!(read(&unsampled), Some(unsampled));
        assert_eq!(
            read(&USUAL.replace("-01", "-ff")).as_deref(),
            Some(USUAL),
            "unknown flags are not passed on"
        );
        // Later versions may say more.
        for later in ["cc-", "01-"] {
            let text = USUAL.replacen("00-", later, 1);
            assert_eq!(read(&text).as_deref(), Some(USUAL));
            assert_eq!(read(&format!("{text}-what-the-future")).as_deref(), Some(USUAL));
            assert_eq!(read(&format!("{text}.what")), None);
        }
        let bad = [
            String::new(),
            USUAL[..54].to_owned(),
            format!("{USUAL}-"),
            format!("{USUAL}-00"),
            format!(" {USUAL}"),
            format!("{USUAL} "),
            USUAL.to_uppercase(),
            USUAL.replacen("00-", "ff-", 1),
            USUAL.replacen("00-", "0g-", 1),
            USUAL.replace('-', "_"),
            USUAL.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            USUAL.replace("00f067aa0ba902b7", &"0".repeat(16)),
            USUAL.replace("4bf9", "4bg9"),
            USUAL.replace("4bf9", "+bf9"),
            USUAL.replace("4bf92f35", "4bf92f\u{e9}"),
        ];
        for text in bad {
            assert_eq!(read(&text), None, "{text}");
        }
        for end in 0..USUAL.len() {
            assert_eq!(read(&USUAL[..end]), None, "{end}");
        }
    }

    fn joined(fields: &[&str]) -> Option<String> {
        state(fields.iter().map(|field| field.as_bytes()))
    }

    #[test]
    fn states_are_passed_on_as_they_are_or_not_at_all() {
        assert_eq!(joined(&["rojo=1,congo=t61rc"]).as_deref(), Some("rojo=1,congo=t61rc"));
        assert_eq!(
            joined(&["rojo=1 ,\tcongo=t61rc", "", ",", "a@b=2"]).as_deref(),
            Some("rojo=1,congo=t61rc,a@b=2")
        );
        assert_eq!(joined(&["0tenant@vendor=x y~!"]).as_deref(), Some("0tenant@vendor=x y~!"));
        assert_eq!(joined(&[]), None);
        for bad in [
            "rojo",
            "rojo=",
            "=1",
            "Rojo=1",
            "0rojo=1",
            "rojo=1=2",
            "rojo=\u{e9}",
            "rojo=1\u{7f}",
            "a@=1",
            "@b=1",
            "a@0b=1",
            "a@b@c=1",
            "a=1,a=2",
            "ok=1,b@",
        ] {
            assert_eq!(joined(&[bad]), None, "{bad}");
        }
        let members: Vec<String> = (0..33).map(|number| format!("a{number}=1")).collect();
        assert!(joined(&[&members[..32].join(",")]).is_some());
        assert_eq!(joined(&[&members.join(",")]), None);
        assert_eq!(joined(&[&format!("{}=1", "a".repeat(257))]), None);
        assert_eq!(joined(&[&format!("a={}", "1".repeat(257))]), None);
        let long: Vec<String> = (0..5).map(|number| format!("a{number}={}", "1".repeat(250))).collect();
        assert_eq!(joined(&[&long.join(",")]), None);
    }
}
