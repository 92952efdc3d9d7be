//! Characters that turn the direction in which a text is read: what is shown then is not what is there ("trojan source",
//! CVE-2021-42574). The one list of them (Unicode Standard Annex 9, 2.1 to 2.7).

/// Whether a character turns the direction of what follows it: an embedding, an override, an isolate, or the end of one.
pub const fn turns_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character does so, or is a mark that is not seen and moves those beside it: what nothing shows that is meant for people.
pub const fn bears_on_direction(character: char) -> bool {
    turns_direction(character) || matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All characters with the property `Bidi_Control` (Unicode 16, PropList.txt).
    #[test]
    fn the_list_is_unicodes() {
        let listed: Vec<char> =
            ('\0'..=char::MAX).filter(|character| bears_on_direction(*character)).collect();
        let unicodes = [
            '\u{61C}', '\u{200E}', '\u{200F}', '\u{202A}', '\u{202B}', '\u{202C}', '\u{202D}', '\u{202E}',
            '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
        ];
        assert_eq!(listed, unicodes);
        assert_eq!(unicodes.iter().filter(|character| turns_direction(**character)).count(), 9);
    }
}
