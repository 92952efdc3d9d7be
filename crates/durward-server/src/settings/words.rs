//! What the readers of TOML and JSON say of a mistake, in the words of whoever wrote the text.

/// What things are called.
pub(crate) struct Words {
    name: &'static str,
    table: &'static str,
}

/// Those of a configuration.
pub(super) const SETTINGS: Words = Words { name: "setting", table: "a table" };

/// Those of a body in JSON.
pub(crate) const BODY: Words = Words { name: "member", table: "an object" };

/// What types of the program are called in the file.
const KINDS: [(&[&str], &str); 6] = [
    (&["u8", "u16", "u32", "u64", "usize", "i64", "i32"], "a whole number from 0"),
    (&["a boolean", "bool"], "`true` or `false`"),
    (&["a string", "string", "path string", "a borrowed string", "str"], "a text in quotes"),
    (&["a sequence", "sequence"], "a list, `[...]`"),
    (&["f64", "f32", "float"], "a number"),
    (&["string or table", "enum"], "one of the texts that the manual lists"),
];

/// The reader's message on one line; for an unknown name, the one that was probably meant.
pub(crate) fn in_our_words(message: &str, words: &Words) -> String {
    let message = message.trim().replace('\n', ", ");
    let (message, place) = match message.rsplit_once(" at line ") {
        Some((message, place)) => {
            (message.to_owned(), format!(" (line {})", place.replace(" column ", ", column ")))
        }
        None => (message, String::new()),
    };
    let told = unknown_name(&message, words)
        .or_else(|| unknown_choice(&message))
        .or_else(|| missing(&message, words))
        .or_else(|| of_wrong_kind(&message, words));
    told.unwrap_or(message) + &place
}

fn unknown_name(message: &str, Words { name: noun, .. }: &Words) -> Option<String> {
    let (word, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(match nearest(word, &names) {
        Some(name) => format!("unknown {noun} `{word}`; did you mean `{name}`?"),
        None if names.is_empty() => format!("unknown {noun} `{word}`; there are none here"),
        None => format!("unknown {noun} `{word}`; there are {}", names.join(", ")),
    })
}

fn unknown_choice(message: &str) -> Option<String> {
    let (word, rest) = message.strip_prefix("unknown variant `")?.split_once('`')?;
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let all = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(match nearest(word, &names) {
        Some(name) => format!("`{word}` is none of {all}; did you mean `{name}`?"),
        None => format!("`{word}` is none of {all}"),
    })
}

fn missing(message: &str, Words { name: noun, .. }: &Words) -> Option<String> {
    let name = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(format!("the {noun} `{name}` is missing here"))
}

/// `invalid type: integer `7`, expected a string`, and the same of values.
fn of_wrong_kind(message: &str, words: &Words) -> Option<String> {
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = kinds.iter().find_map(|words| message.strip_prefix(words))?;
    let (found, wanted) = rest.rsplit_once(", expected ")?;
    // A length is that of a list.
    let found = if message.starts_with("invalid length ") { "sequence" } else { found };
    Some(format!("{} stands where {} is expected", of_found(found, words), of_wanted(wanted, words)))
}

/// `integer `7`` is `7`; what has no value to show is named.
fn of_found(found: &str, Words { table, .. }: &Words) -> String {
    match found {
        "map" | "table" => (*table).to_owned(),
        "sequence" | "array" => "a list".to_owned(),
        _ => match found.split_once(' ') {
            Some((_, value)) => format!("`{}`", value.trim_matches(['`', '"'])),
            None => format!("`{found}`"),
        },
    }
}

fn of_wanted(wanted: &str, Words { table, .. }: &Words) -> String {
    let of_kind = KINDS.iter().find(|(names, _)| names.contains(&wanted)).map(|(_, kind)| *kind);
    let is_section = ["struct ", "internally tagged", "a struct", "a map", "map"]
        .iter()
        .any(|words| wanted.starts_with(words));
    match of_kind {
        Some(kind) => kind.to_owned(),
        None if is_section => (*table).to_owned(),
        None if wanted.starts_with("enum ") => "one of the texts that the manual lists".to_owned(),
        None if wanted.starts_with("a nonzero") || wanted.starts_with("nonzero") => {
            "a whole number from 1".to_owned()
        }
        None => wanted.to_owned(),
    }
}

/// The name that shares most pairs of neighbouring letters with a word, if that is at least half of them.
fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let pairs = |text: &str| -> Vec<[u8; 2]> {
        text.as_bytes().windows(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok()).collect()
    };
    let of_word = pairs(word);
    let likeness = |name: &str| {
        let of_name = pairs(name);
        let shared = of_word.iter().filter(|pair| of_name.contains(pair)).count();
        2 * shared * 100 / (of_word.len() + of_name.len()).max(1)
    };
    names
        .iter()
        .map(|name| (likeness(name), *name))
        .filter(|(likeness, _)| *likeness >= 50)
        .max()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    /// Words of the program that nobody wrote into a file.
    const OURS: [&str; 12] = [
        "invalid type",
        "invalid value",
        "expected u",
        "struct ",
        "variant",
        "sequence",
        "untagged",
        " field",
        "enum ",
        "usize",
        "f64",
        "Settings",
    ];

    #[test]
    fn whatever_is_put_in_the_place_of_a_setting_no_type_of_the_program_is_named() {
        let table = toml::Table::try_from(Settings::default()).unwrap();
        let mut names = Vec::new();
        for (section, settings) in &table {
            names.push(section.clone());
            names.extend(
                settings.as_table().into_iter().flatten().map(|(name, _)| format!("{section}.{name}")),
            );
        }
        names.extend(
            ["rsocket.listen", "policies.root", "identity.nats", "auth.jwt", "xacml.authzforce_domain"]
                .map(String::from),
        );
        assert!(names.len() > 100, "{}", names.len());
        for name in names {
            for value in ["7", "-1", "1.5", "true", "'x'", "[7]", "[]", "{}", "{ x = 1 }", "1979-05-27"] {
                let Err(error) = Settings::from_toml(&format!("{name} = {value}"), "t") else { continue };
                let message = error.to_string();
                let found = OURS.iter().find(|word| message.contains(**word));
                assert_eq!(found, None, "{name} = {value}: {message}");
            }
        }
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_file() {
        for (text, message) in [
            ("server.workers = 'two'", "t:1:18: `two` stands where a whole number from 0 is expected"),
            ("server.workers = -1", "t:1:18: `-1` stands where a whole number from 0 is expected"),
            ("server = 7", "t:1:10: `7` stands where a table is expected"),
            ("policies.watch = 'yes'", "t:1:18: `yes` stands where `true` or `false` is expected"),
            (
                "policies.source = 'remote-bundels'",
                "t:1:19: `remote-bundels` is none of `directory`, `directories`, `bundle`, \
              `bundles`, `remote-bundles`; did you mean `remote-bundles`?",
            ),
            ("[[attributes]]\nvalues = []", "t:1:1: the setting `id` is missing here"),
            (
                "[[attributes]]\nid = 'a'\nvalues = 'b'",
                "t:3:10: `b` stands where a list, `[...]` is expected",
            ),
        ] {
            assert_eq!(Settings::from_toml(text, "t").unwrap_err().to_string(), message, "{text}");
        }
    }
}
