//! The attributes of one tag.

use memchr::memchr;

/// More attributes in one tag than any schema allows, namespace declarations included. Bounds the search for
/// repeated ones, which compares each with each.
pub(crate) const TAG_ATTRIBUTES_MAX: usize = 64;

/// One attribute of a tag, as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawAttribute<'a> {
    /// The name with its prefix.
    pub(crate) name: &'a str,
    /// What stands between the quotes.
    pub(crate) value: &'a str,
}

/// What is wrong with the attributes of a tag, and the text at which it is.
#[derive(Debug)]
pub(crate) struct AttributeFault<'a> {
    pub(crate) message: String,
    pub(crate) at: &'a str,
}

/// Splits what follows the name in a tag into attributes, and puts them into `found`.
pub(crate) fn split<'a>(tag: &'a str, found: &mut Vec<RawAttribute<'a>>) -> Result<(), AttributeFault<'a>> {
    found.clear();
    let mut rest = tag;
    loop {
        let name_at = skip_space(rest);
        if name_at.is_empty() {
            return Ok(());
        }
        if name_at.len() == rest.len() {
            return Err(fault("there must be white space before an attribute", name_at));
        }
        let (attribute, after) = one(name_at)?;
        if found.iter().any(|other| other.name == attribute.name) {
            return Err(fault(&format!("attribute `{}` stands twice", attribute.name), name_at));
        }
        if found.len() == TAG_ATTRIBUTES_MAX {
            return Err(fault(&format!("more than {TAG_ATTRIBUTES_MAX} attributes in one tag"), name_at));
        }
        found.push(attribute);
        rest = after;
    }
}

/// The attribute at the start of `text`, and what follows it.
fn one(text: &str) -> Result<(RawAttribute<'_>, &str), AttributeFault<'_>> {
    let is_end = |byte: u8| matches!(byte, b'=' | b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'<');
    let end = text.bytes().position(is_end).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    if name.is_empty() {
        return Err(fault("expected the name of an attribute", text));
    }
    let Some(after) = skip_space(after).strip_prefix('=') else {
        return Err(fault(&format!("expected `=` after `{name}`"), text));
    };
    let quoted = skip_space(after);
    let quote = match quoted.as_bytes().first() {
        Some(quote @ (b'"' | b'\'')) => *quote,
        _ => return Err(fault(&format!("the value of `{name}` must stand in quotes"), text)),
    };
    let inner = quoted.get(1..).unwrap_or_default();
    let end = memchr(quote, inner.as_bytes()).ok_or_else(|| fault("a quote is not closed", text))?;
    let (value, after) = inner.split_at(end);
    if memchr(b'<', value.as_bytes()).is_some() {
        return Err(fault(&format!("`<` in the value of `{name}` must be written `&lt;`"), text));
    }
    Ok((RawAttribute { name, value }, after.get(1..).unwrap_or_default()))
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

fn fault<'a>(message: &str, at: &'a str) -> AttributeFault<'a> {
    AttributeFault { message: message.to_owned(), at }
}
