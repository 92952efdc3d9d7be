//! Names of XML (Namespaces in XML 1.0, section 4; XML 1.0, fifth edition, section 2.3).

/// Whether a name without a colon may start with this.
pub(super) fn starts_name(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}'
        | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// Whether a name may go on with this.
pub(super) fn continues_name(character: char) -> bool {
    starts_name(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Whether this is a name without a colon.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(starts_name) && characters.all(continues_name)
}

/// Prefix ("" where there is none) and local part of a name with at most one colon; `None` for what is no name.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    match name.split_once(':') {
        None => is_name(name).then_some(("", name)),
        Some((prefix, local)) => (is_name(prefix) && is_name(local)).then_some((prefix, local)),
    }
}
