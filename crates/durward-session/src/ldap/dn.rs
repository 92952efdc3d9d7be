//! Names of entries, as far as they must be compared: where one lies below another, and what it begins with.

/// A name of an entry: pairs of attribute and value, the innermost first. Compared without case and without spaces at the ends, which
/// holds for all attributes that names are made of in practice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dn(Vec<String>);

impl Dn {
    /// Reads `cn=a,ou=b,dc=c`; nothing if it is no name.
    pub(super) fn read(text: &str) -> Option<Dn> {
        if text.is_empty() {
            return Some(Dn(Vec::new()));
        }
        split(text, ',').into_iter().map(part).collect::<Option<Vec<String>>>().map(Dn)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is `base`, or lies somewhere below it.
    pub(super) fn is_below(&self, base: &Dn) -> bool {
        self.0.ends_with(&base.0)
    }
}

/// Whether one name lies below another; not so if one of them is none.
pub(super) fn is_below(dn: &str, base: &str) -> bool {
    matches!((Dn::read(dn), Dn::read(base)), (Some(dn), Some(base)) if dn.is_below(&base))
}

/// The first value of a name: `admins` of `cn=admins,ou=groups`.
pub(super) fn first_value(dn: &str) -> Option<String> {
    let first = split(dn, ',').into_iter().next()?;
    let first = split(first, '+').into_iter().next()?;
    let (_, value) = first.split_once('=')?;
    unescape(trim(value))
}

fn part(text: &str) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let value = unescape(trim(value))?;
    let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).collect();
    Some(format!("{}={}", name.to_ascii_lowercase(), words.join(" ").to_lowercase()))
}

/// Cuts at a mark that has no backslash before it.
pub(super) fn split(text: &str, mark: char) -> Vec<&str> {
    let mut is_escaped = false;
    text.split(|c: char| {
        let is_cut = c == mark && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_cut
    })
    .collect()
}

/// Without spaces at the ends, save for an escaped one.
fn trim(value: &str) -> &str {
    let value = value.trim_start_matches(' ');
    let trimmed = value.trim_end_matches(' ');
    let is_escaped = trimmed.len() < value.len() && trimmed.ends_with('\\') && !trimmed.ends_with("\\\\");
    if is_escaped { value.get(..=trimmed.len()).unwrap_or(value) } else { trimmed }
}

/// Undoes `\,` and `\2c`.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let hex = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = rest.get(2..)?;
            }
            None => {
                let (escaped, more) = rest.split_first()?;
                bytes.push(*escaped);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_lies_below_another_whatever_case_and_spaces() {
        let base = "ou=people,dc=example,dc=org";
        for below in ["uid=anna,ou=people,dc=example,dc=org", "UID=x , OU=People, dc=EXAMPLE,dc=org", base] {
            assert!(is_below(below, base), "{below}");
        }
        for not in [
            "uid=anna,ou=other,dc=example,dc=org",
            "dc=example,dc=org",
            "uid=a\\,ou=people\\,dc=example\\,dc=org",
            "uid=a,xou=people,dc=example,dc=org",
            "uid=anna,ou=people,dc=example,dc=org,dc=evil",
            "",
            "nonsense",
        ] {
            assert!(!is_below(not, base), "{not}");
        }
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(first_value("cn=a\\, b,dc=x").as_deref(), Some("a, b"));
        assert_eq!(first_value("cn=a\\2c b,dc=x").as_deref(), Some("a, b"));
        assert_eq!(first_value("cn=admins+l=x,dc=y").as_deref(), Some("admins"));
        assert_eq!(first_value("cn=a\\ ,dc=y").as_deref(), Some("a "));
        assert_eq!(first_value("cn=\\c3,dc=y"), None);
        assert_eq!(first_value("admins"), None);
        assert!(is_below("uid=a,ou=x\\2cy,dc=z", "ou=x\\,y,dc=z"));
    }
}
