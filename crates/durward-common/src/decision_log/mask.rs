//! Messages of errors without the values that they quote.
//!
//! Messages are made of words of ours and of values of the question: in backticks or quotation marks, behind a colon, or
//! as they are. What may be a value is left out, and some of our words with it.

/// What stands for what was left out.
const GAP: &str = "…";

/// Beyond so many characters a message is cut.
pub(super) const MESSAGE_LENGTH_MAX: usize = 500;

/// Words behind which a name follows in backticks that is no value.
const BEFORE_NAMES: [&str; 5] =
    ["attribute ", "function ", "attribute source for ", "attribute finder of ", "key "];

/// The message, with a gap wherever a value may be.
pub(super) fn masked(message: &str) -> String {
    // SAPL's functions put values between their words without any mark: `Invalid timezone Mars for time 12:00.`
    let is_unmarked =
        message.starts_with(|letter: char| letter.is_ascii_uppercase()) && !message.contains('`');
    if is_unmarked {
        return leading_words(message);
    }
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, marked)) = rest.find(['`', '"', ':']).map(|at| rest.split_at(at)) {
        push_words(&mut out, before);
        if marked.starts_with(':') {
            // What follows may be somebody else's message.
            out.push_str(": …");
            return out;
        }
        let quoted = marked.strip_prefix('`').and_then(|after| after.split_once('`'));
        if let Some((name, after)) = quoted.filter(|(name, _)| is_name(before, name)) {
            out.extend(["`", name, "`"]);
            rest = after;
            continue;
        }
        // A value may hold the mark itself: it ends with the last one there is.
        out.push_str(GAP);
        rest =
            marked.strip_prefix('`').and_then(|after| after.rsplit_once('`')).map_or("", |(_, after)| after);
    }
    push_words(&mut out, rest);
    out
}

fn is_name(before: &str, quoted: &str) -> bool {
    durward_library::is_known(quoted) || BEFORE_NAMES.iter().any(|words| before.ends_with(words))
}

/// Words of letters; everything else may be a value.
fn push_words(out: &mut String, text: &str) {
    for piece in text.split_inclusive(' ') {
        let word = piece.trim_end_matches([' ', ',', '.', ';', ')']).trim_start_matches('(');
        let is_plain =
            word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-' || letter == '\'');
        out.push_str(if is_plain { piece } else { GAP });
        if !is_plain && piece.ends_with(' ') {
            out.push(' ');
        }
    }
}

/// The first two words, if they are words, and what follows is left out: `Invalid timezone …`.
fn leading_words(message: &str) -> String {
    let words = message.split(' ').take(2);
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_alphabetic());
    let mut out: Vec<&str> = words.take_while(is_word).collect();
    out.push(GAP);
    out.join(" ")
}

/// The message, no longer than it may be.
pub(super) fn cut(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_LENGTH_MAX) {
        Some((at, _)) => format!("{}{GAP}", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use durward_pdp::Value;
    use durward_pdp::ir::datatype::Decimal;

    use super::*;

    #[test]
    fn our_words_stay_and_values_go() {
        for (message, expected) in [
            ("division by zero", "division by zero"),
            ("a number is needed, but `\"old\"` is a text", "a number is needed, but … is a text"),
            (
                "a number is needed, but `\"a` is a text, `b\"` is a text",
                "a number is needed, but … is a text",
            ),
            ("attribute `role` is missing", "attribute `role` is missing"),
            (
                "argument 1 of `string.length` must be a text, not a number",
                "argument … of `string.length` must be a text, not a number",
            ),
            (
                "the attribute source for `role` failed: ldap://u:p@host is down",
                "the attribute source for `role` failed: …",
            ),
            ("Invalid timezone Mars for time 12:00.", "Invalid timezone …"),
            ("-7.5 is not a whole number of 64 bits", "… is not a whole number of … bits"),
            ("`zebra is not closed", "…"),
        ] {
            assert_eq!(masked(message), expected);
        }
    }

    /// Every function of every library, called with values that can be told from words of ours.
    #[test]
    fn no_message_of_a_function_shows_a_value() {
        let text = |text: &str| Value::Text(text.into());
        let number = |text: &str| Value::Number(Decimal::parse(text).unwrap());
        let values = [
            text("zebra"),
            text("zebra `zebra` \"zebra\": zebra"),
            text("12:zebra"),
            number("7531.5"),
            Value::array([text("zebra"), number("7531.5")]),
            Value::object([("zebra", text("zebra"))]),
        ];
        let mut count = 0;
        for function in durward_library::all() {
            for one in &values {
                for other in &values {
                    for arity in (0..=5).filter(|arity| function.takes_count(*arity)) {
                        let mut arguments = vec![other.clone(); arity];
                        arguments.iter_mut().take(1).for_each(|first| *first = one.clone());
                        let Err(fault) = function.call(&arguments) else { continue };
                        let masked = masked(&fault.message);
                        let shows = masked.contains("zebra") || masked.contains("7531");
                        assert!(!shows, "{}: {} -> {masked}", function.name, fault.message);
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 1000, "only {count} errors were met");
    }
}
