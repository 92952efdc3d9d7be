//! `x500Name`: distinguished names.
//!
//! Written here because the crates for it come with ASN.1 and certificates, while a policy needs only text to
//! comparable parts: RFC 2253 with the leniencies of RFC 4514 and the older `;` and quoted forms.

use std::hash::{Hash, Hasher};

use smol_str::SmolStr;

use crate::datatype::Reason;

/// A distinguished name (RFC 2253, RFC 4514), such as `cn=Ann Lee,ou=Research+l=Kiel,c=DE`.
///
/// Equal when the relative names match one by one: types without regard to case (and an OID as its short name),
/// values without regard to case and to the amount of white space, several pairs of one relative name in any
/// order (XACML 3.0, A.3.1, `x500Name-equal`).
#[derive(Clone, Debug)]
pub struct X500Name {
    text: SmolStr,
    names: Box<[RelativeName]>,
}

/// One relative name. INVARIANT: sorted, so that order does not matter in comparisons.
type RelativeName = Box<[(SmolStr, Content)]>;

/// What an attribute holds, made comparable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Content {
    /// Lower case, single inner spaces.
    Text(SmolStr),
    /// A BER encoding of something other than text, written `#hex`.
    Encoded(Box<[u8]>),
}

impl X500Name {
    pub(crate) fn parse(text: &str) -> Result<X500Name, Reason> {
        let names = if text.is_empty() { Box::default() } else { Scanner { rest: text }.names()? };
        Ok(X500Name { text: text.into(), names })
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this name ends in `suffix`, relative name by relative name: `o=Medico,c=US` is an ending of
    /// `cn=Ann,o=Medico,c=US` (XACML 3.0, A.3.14, `x500Name-match`).
    pub fn ends_with(&self, suffix: &X500Name) -> bool {
        self.names.ends_with(&suffix.names)
    }
}

impl PartialEq for X500Name {
    fn eq(&self, other: &X500Name) -> bool {
        self.names == other.names
    }
}

impl Eq for X500Name {}

impl Hash for X500Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names.hash(state);
    }
}

/// What ends an attribute value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `,` or `;`: another relative name follows.
    Name,
    /// `+`: another pair of the same relative name follows.
    Pair,
    End,
}

struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn names(mut self) -> Result<Box<[RelativeName]>, Reason> {
        let mut names = Vec::new();
        loop {
            let (name, separator) = self.relative_name()?;
            names.push(name);
            if separator == Separator::End {
                return Ok(names.into_boxed_slice());
            }
        }
    }

    fn relative_name(&mut self) -> Result<(RelativeName, Separator), Reason> {
        let mut pairs = Vec::with_capacity(1);
        loop {
            let kind = self.attribute_type()?;
            let content = self.content()?;
            pairs.push((kind, content));
            let separator = self.separator()?;
            if separator != Separator::Pair {
                pairs.sort();
                return Ok((pairs.into_boxed_slice(), separator));
            }
        }
    }

    fn attribute_type(&mut self) -> Result<SmolStr, Reason> {
        let (kind, rest) = self.rest.split_once('=').ok_or("every part is `type=value`")?;
        self.rest = rest;
        normal_type(kind.trim()).ok_or("what stands before a `=` is no attribute type")
    }

    fn content(&mut self) -> Result<Content, Reason> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('#') => self.encoded(),
            Some('"') => self.quoted(),
            _ => self.plain(),
        }
    }

    fn encoded(&mut self) -> Result<Content, Reason> {
        let end = self.rest.find([',', ';', '+']).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        let digits = digits.trim_end().trim_start_matches('#');
        match crate::datatype::parse_hex(digits) {
            Ok(octets) if !octets.is_empty() => Ok(decode(&octets)),
            Ok(_) | Err(_) => Err("pairs of hexadecimal digits must follow `#`"),
        }
    }

    fn quoted(&mut self) -> Result<Content, Reason> {
        let mut octets = Vec::new();
        self.next();
        loop {
            match self.next().ok_or("a quotation mark is not closed")? {
                '"' => break,
                '\\' => octets.extend(self.escaped()?.as_bytes()),
                c => push(&mut octets, c),
            }
        }
        self.rest = self.rest.trim_start();
        normal_text(octets)
    }

    fn plain(&mut self) -> Result<Content, Reason> {
        let mut octets = Vec::new();
        while let Some(c) = self.rest.chars().next() {
            match c {
                ',' | ';' | '+' => break,
                '"' | '<' | '>' => return Err("`\"`, `<` and `>` must be escaped with `\\`"),
                _ => self.next(),
            };
            match c {
                '\\' => octets.extend(self.escaped()?.as_bytes()),
                _ => push(&mut octets, c),
            }
        }
        normal_text(octets)
    }

    /// What follows a `\`: a special character, or two digits that stand for one octet of UTF-8.
    fn escaped(&mut self) -> Result<Escaped, Reason> {
        const BROKEN: Reason = "`\\` must be followed by a special character or two hexadecimal digits";
        let first = self.next().ok_or(BROKEN)?;
        if ",=+<>#;\"\\ ".contains(first) {
            return Ok(Escaped([u8::try_from(first).map_err(|_| BROKEN)?]));
        }
        let high = first.to_digit(16).ok_or(BROKEN)?;
        let low = self.next().and_then(|c| c.to_digit(16)).ok_or(BROKEN)?;
        Ok(Escaped([u8::try_from(high * 16 + low).map_err(|_| BROKEN)?]))
    }

    fn separator(&mut self) -> Result<Separator, Reason> {
        match self.next() {
            None => Ok(Separator::End),
            Some(',' | ';') => Ok(Separator::Name),
            Some('+') => Ok(Separator::Pair),
            Some(_) => Err("a `,` or `+` must follow a value"),
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }
}

/// One octet that an escape stands for.
struct Escaped([u8; 1]);

impl Escaped {
    fn as_bytes(&self) -> [u8; 1] {
        self.0
    }
}

fn push(octets: &mut Vec<u8>, c: char) {
    octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Short names and the OIDs they stand for: RFC 2253, section 2.3, RFC 4514, section 3, and what certificates
/// use besides.
const TYPES: [(&str, &str); 15] = [
    ("2.5.4.3", "cn"),
    ("2.5.4.4", "sn"),
    ("2.5.4.5", "serialnumber"),
    ("2.5.4.6", "c"),
    ("2.5.4.7", "l"),
    ("2.5.4.8", "st"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "o"),
    ("2.5.4.11", "ou"),
    ("2.5.4.12", "title"),
    ("2.5.4.42", "givenname"),
    ("0.9.2342.19200300.100.1.25", "dc"),
    ("0.9.2342.19200300.100.1.1", "uid"),
    ("1.2.840.113549.1.9.1", "emailaddress"),
    ("e", "emailaddress"),
];

fn normal_type(kind: &str) -> Option<SmolStr> {
    let lower = kind.to_ascii_lowercase();
    let dotted = lower.strip_prefix("oid.").unwrap_or(&lower);
    let is_oid = dotted.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()));
    let is_name = lower.starts_with(|c: char| c.is_ascii_alphabetic())
        && lower.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !is_oid && !is_name {
        return None;
    }
    let written = if is_oid { dotted } else { lower.as_str() };
    let short = TYPES.iter().find(|(other, _)| *other == written).map(|(_, short)| *short);
    Some(SmolStr::from(short.unwrap_or(written)))
}

fn normal_text(octets: Vec<u8>) -> Result<Content, Reason> {
    let text = String::from_utf8(octets).map_err(|_| "the escaped octets are not UTF-8")?;
    Ok(Content::Text(fold(&text)))
}

/// Lower case, white space outside removed and inside reduced to single spaces (RFC 3280, section 4.1.2.4).
fn fold(text: &str) -> SmolStr {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    SmolStr::from(folded)
}

/// Takes the text out of the BER encoding of a UTF8String, PrintableString or IA5String, so that it equals the
/// same value written plainly; anything else stays an encoding.
fn decode(octets: &[u8]) -> Content {
    let content = match octets {
        [0x0c | 0x13 | 0x16, length @ 0..=0x7f, content @ ..] if content.len() == usize::from(*length) => {
            content
        }
        [0x0c | 0x13 | 0x16, 0x81, length, content @ ..] if content.len() == usize::from(*length) => content,
        _ => return Content::Encoded(octets.into()),
    };
    std::str::from_utf8(content)
        .map_or_else(|_| Content::Encoded(octets.into()), |text| Content::Text(fold(text)))
}
