//! What the word before the cursor may become.

use std::collections::BTreeSet;

use durward_pdp::library;
use durward_pdp::sapl::syntax::KEYWORDS;
use durward_pdp::stream::finders;

use super::session::COMMANDS;

/// Where the word begins, and what it may become: commands behind `:`, attributes behind `<`, else functions, keywords and the
/// names that are bound. `text` ends at the cursor.
pub(super) fn candidates(text: &str, names: &[String]) -> (usize, Vec<String>) {
    let mut backwards = text.char_indices().rev();
    let start = backwards.find(|(_, it)| !is_part(*it)).map_or(0, |(at, it)| at + it.len_utf8());
    let (before, word) = text.split_at(start);
    let mut all = BTreeSet::new();
    if before.trim() == ":" {
        all.extend(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()));
    } else {
        let is_asked_for = before.trim() == ":doc";
        if before.ends_with('<') || is_asked_for {
            all.extend(finders::attributes().iter().map(|attribute| attribute.name.to_string()));
        }
        // Names with other characters are in the library, and cannot be called.
        let functions =
            library::all().map(|function| function.name).filter(|name| name.chars().all(is_called));
        all.extend(functions.map(str::to_owned));
        if !is_asked_for {
            all.extend(KEYWORDS.into_iter().map(str::to_owned));
            all.extend(names.iter().cloned());
        }
    }
    (start, all.into_iter().filter(|name| name.starts_with(word)).collect())
}

fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '.')
}

fn is_called(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> (usize, Vec<String>) {
        candidates(text, &["limit".to_owned(), "subject".to_owned()])
    }

    #[test]
    fn the_word_before_the_cursor_is_completed() {
        assert_eq!(complete("1 + string.toLow"), (4, vec!["string.toLowerCase".to_owned()]));
        assert_eq!(complete("\"ä\" + lim"), (7, vec!["limit".to_owned()]));
        assert_eq!(complete("undef"), (0, vec!["undefined".to_owned()]));
        assert_eq!(complete("nothing.like").1, Vec::<String>::new());
    }

    #[test]
    fn attributes_stand_behind_their_sign() {
        assert!(complete("1 + <time.no").1.contains(&"time.now".to_owned()));
        assert!(!complete("1 + time.no").1.contains(&"time.now".to_owned()));
    }

    #[test]
    fn commands_stand_behind_colons() {
        assert_eq!(complete(":sub"), (1, vec!["subject".to_owned()]));
        assert_eq!(complete(":doc time.hourO").1, ["time.hourOf"]);
        assert!(!complete(":doc lim").1.contains(&"limit".to_owned()));
    }
}
