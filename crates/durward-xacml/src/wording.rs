//! What readers say about a text, in the words of whoever wrote it: pieces of it, quoted, and what the readers of JSON and TOML
//! say, without the names of our types.

/// Longest piece of a document quoted in a message, in characters.
const QUOTE_LENGTH_MAX: usize = 60;

/// A piece of a document in backticks, on one line (control characters become blanks), and shortened to 60 characters.
///
/// ```
/// use durward_xacml::wording::quote;
///
/// assert_eq!(quote("a\nb"), "`a b`");
/// ```
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("`");
    let mut characters = text.chars();
    quoted.extend(characters.by_ref().take(QUOTE_LENGTH_MAX).map(|c| if c.is_control() { ' ' } else { c }));
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

/// The message of a reader of JSON; the place behind it stays.
///
/// ```
/// use durward_xacml::wording::of_json;
///
/// assert_eq!(of_json("invalid type: map, expected a string"), "an object stands where a string is expected");
/// assert_eq!(of_json("missing field `Request`"), "missing field `Request`");
/// ```
pub fn of_json(message: &str) -> String {
    let (message, place) = message.split_at(message.rfind(" at line ").unwrap_or(message.len()));
    reworded(message, "an object") + place
}

/// The message of a reader of TOML.
pub fn of_toml(message: &str) -> String {
    reworded(message, "a table")
}

/// `object` is what the format calls names with values.
fn reworded(message: &str, object: &str) -> String {
    if message.contains("untagged enum") {
        return "this has none of the forms that may stand here".to_owned();
    }
    let wrong = ["invalid type: ", "invalid value: ", "invalid length "];
    let Some((beginning, (found, expected))) = wrong.into_iter().find_map(|beginning| {
        Some((beginning, message.strip_prefix(beginning)?.rsplit_once(", expected ")?))
    }) else {
        return message.to_owned();
    };
    let found = match beginning {
        "invalid length " => format!("an array of length {found}"),
        _ => kind(found, object),
    };
    format!("{found} stands where {} is expected", wanted(expected, object))
}

/// What was found.
fn kind(found: &str, object: &str) -> String {
    match found {
        "map" => object.to_owned(),
        "sequence" => "an array".to_owned(),
        "null" | "unit value" => "`null`".to_owned(),
        _ if found.starts_with("string ") => format!("the {}", shortened(found)),
        _ => match found.split_once('`') {
            Some(("boolean ", value)) => format!("the boolean `{value}"),
            Some(("integer " | "floating point ", value)) => format!("the number `{value}"),
            Some(_) | None => shortened(found),
        },
    }
}

/// A quoted text of the user's, shortened.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...\"", text.get(..end).unwrap_or_default()),
    }
}

/// What should stand there.
fn wanted(expected: &str, object: &str) -> String {
    let whole = |most: Option<u32>| match most {
        Some(most) => format!("a whole number from 0 to {most}"),
        None => "a whole number from 0 on".to_owned(),
    };
    match expected {
        "a map" | "map" => object.to_owned(),
        "a sequence" | "sequence" => "an array".to_owned(),
        "u8" => whole(Some(u8::MAX.into())),
        "u16" => whole(Some(u16::MAX.into())),
        "u32" => whole(Some(u32::MAX)),
        "u64" | "u128" | "usize" => whole(None),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "unit" => "`null`".to_owned(),
        "a borrowed string" | "path string" | "a path string" | "string or map" | "variant identifier" => {
            "a string".to_owned()
        }
        _ if expected.starts_with("a nonzero ") => "a whole number from 1 on".to_owned(),
        _ if expected.starts_with("tuple ") => "an array".to_owned(),
        _ if expected.starts_with("struct ") || expected.contains("tagged enum") => object.to_owned(),
        _ if expected.starts_with("enum ") => "a string".to_owned(),
        _ if expected.starts_with("newtype struct ") => "a value".to_owned(),
        _ => expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quote("a\nb"), "`a b`");
        assert_eq!(quote(&"x".repeat(100)).chars().count(), 63);
    }

    #[test]
    fn kinds_are_named_as_the_format_names_them() {
        for (message, expected) in [
            (
                "invalid type: sequence, expected struct RequestJson",
                "an array stands where an object is expected",
            ),
            (
                "invalid type: string \"a, expected b\", expected usize",
                "the string \"a, expected b\" stands where a whole number from 0 on is expected",
            ),
            (
                "invalid value: integer `70000`, expected u16",
                "the number `70000` stands where a whole number from 0 to 65535 is expected",
            ),
            ("invalid type: null, expected a string", "`null` stands where a string is expected"),
            (
                "invalid length 3, expected struct A with 2 elements",
                "an array of length 3 stands where an object is expected",
            ),
            (
                "data did not match any variant of untagged enum Values",
                "this has none of the forms that may stand here",
            ),
            ("trailing comma", "trailing comma"),
            (
                "invalid type: map, expected a boolean at line 3 column 1",
                "an object stands where a boolean is expected at line 3 column 1",
            ),
            ("invalid type: text", "invalid type: text"),
        ] {
            assert_eq!(of_json(message), expected);
        }
        assert_eq!(of_toml("invalid type: map, expected f64"), "a table stands where a number is expected");
        let long = format!("invalid type: string {:?}, expected u8", "x".repeat(500));
        assert!(of_json(&long).len() < 150, "{}", of_json(&long));
    }
}
