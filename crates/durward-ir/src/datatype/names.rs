//! `rfc822Name`: electronic mail addresses.

use std::hash::{Hash, Hasher};

use smol_str::SmolStr;

use crate::datatype::Reason;

/// An e-mail address (RFC 2821, section 4.1.2, `Mailbox`): local part case-sensitive, domain not.
///
/// Beyond the letter of the RFC, other scripts are accepted in both parts (RFC 6531) and a domain of one label.
#[derive(Clone, Debug)]
pub struct Rfc822Name {
    text: SmolStr,
    at: usize,
}

impl Rfc822Name {
    pub(crate) fn parse(text: &str) -> Result<Rfc822Name, Reason> {
        // A quoted local part may hold an `@`, a domain may not.
        let at = text.rfind('@').ok_or("it has no `@`")?;
        let (local, domain) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        if !is_local_part(local) {
            return Err("what stands before the `@` is no local part");
        }
        if !is_domain(domain) {
            return Err("what stands after the `@` is no domain");
        }
        Ok(Rfc822Name { text: text.into(), at })
    }

    /// The address as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the `@`.
    pub fn local_part(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// What stands after the `@`.
    pub fn domain(&self) -> &str {
        self.text.get(self.at + 1..).unwrap_or_default()
    }

    /// Whether this address is one that `pattern` selects: a whole address, a domain, or a dot and a
    /// domain for every address in it and below it (XACML 3.0, A.3.14, `rfc822Name-match`).
    pub fn matches(&self, pattern: &str) -> bool {
        if let Some(at) = pattern.rfind('@') {
            let (local, domain) = (pattern.get(..at).unwrap_or_default(), pattern.get(at + 1..));
            return self.local_part() == local
                && domain.is_some_and(|domain| same_domain(self.domain(), domain));
        }
        let Some(parent) = pattern.strip_prefix('.') else { return same_domain(self.domain(), pattern) };
        let (own, parent) = (self.domain().to_lowercase(), parent.to_lowercase());
        let below = own.strip_suffix(&parent).is_some_and(|below| below.ends_with('.'));
        own == parent || (!parent.is_empty() && below)
    }
}

impl PartialEq for Rfc822Name {
    fn eq(&self, other: &Rfc822Name) -> bool {
        self.local_part() == other.local_part() && same_domain(self.domain(), other.domain())
    }
}

impl Eq for Rfc822Name {}

impl Hash for Rfc822Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.local_part().hash(state);
        self.domain().to_lowercase().hash(state);
    }
}

fn same_domain(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

fn is_local_part(local: &str) -> bool {
    match local.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').is_some_and(is_quoted_content),
        None => local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_char)),
    }
}

fn is_quoted_content(content: &str) -> bool {
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { Some(c).filter(|c| *c != '"') };
        if escaped.is_none_or(char::is_control) {
            return false;
        }
    }
    true
}

fn is_atom_char(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && !r#"()<>@,;:\".[]"#.contains(c)
}

fn is_domain(domain: &str) -> bool {
    match domain.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(is_address_literal),
        None => domain.split('.').all(is_label),
    }
}

fn is_address_literal(literal: &str) -> bool {
    !literal.is_empty() && literal.bytes().all(|b| b.is_ascii_graphic() && !b"[]\\@".contains(&b))
}

fn is_label(label: &str) -> bool {
    let edges = [label.chars().next(), label.chars().next_back()];
    edges.iter().all(|edge| edge.is_some_and(|c| c != '-'))
        && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || (!c.is_ascii() && is_atom_char(c)))
}
