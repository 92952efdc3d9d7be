//! What the reader of TOML says of a mistake, in the words of whoever wrote the file.

/// What types of the program are called in the file.
const KINDS: [(&[&str], &str); 7] = [
    (&["u8", "u16", "u32", "u64", "usize", "i64", "i32"], "a whole number from 0"),
    (&["a boolean", "bool"], "`true` or `false`"),
    (&["a string", "string", "path string", "a borrowed string", "str"], "a text in quotes"),
    (&["a sequence", "sequence"], "a list, `[...]`"),
    (&["a map", "map", "a table"], "a table"),
    (&["f64", "f32", "float"], "a number"),
    (&["string or table", "enum"], "one of the texts that the manual lists"),
];

/// The reader's message on one line; for an unknown setting, the one that was probably meant.
pub(super) fn in_our_words(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    let known = [unknown_setting, unknown_choice, missing, of_wrong_kind];
    known.into_iter().find_map(|told| told(&message)).unwrap_or(message)
}

fn unknown_setting(message: &str) -> Option<String> {
    let (word, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(match nearest(word, &names) {
        Some(name) => format!("unknown setting `{word}`; did you mean `{name}`?"),
        None if names.is_empty() => format!("unknown setting `{word}`; there are none here"),
        None => format!("unknown setting `{word}`; there are {}", names.join(", ")),
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

fn missing(message: &str) -> Option<String> {
    let name = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(format!("the setting `{name}` is missing here"))
}

/// `invalid type: integer `7`, expected a string`, and the same of values.
fn of_wrong_kind(message: &str) -> Option<String> {
    let rest = ["invalid type: ", "invalid value: ", "wanted "]
        .iter()
        .find_map(|words| message.strip_prefix(words))?;
    let (found, wanted) = rest.rsplit_once(", expected ").or_else(|| rest.rsplit_once(", wanted "))?;
    Some(format!("{} stands where {} is expected", of_found(found), of_wanted(wanted)))
}

/// `integer `7`` is `7`; what has no value to show is named.
fn of_found(found: &str) -> String {
    match found {
        "map" | "table" => "a table".to_owned(),
        "sequence" | "array" => "a list".to_owned(),
        _ => match found.split_once(' ') {
            Some((_, value)) => format!("`{}`", value.trim_matches(['`', '"'])),
            None => format!("`{found}`"),
        },
    }
}

fn of_wanted(wanted: &str) -> String {
    let of_kind = KINDS.iter().find(|(names, _)| names.contains(&wanted)).map(|(_, kind)| *kind);
    let is_section =
        ["struct ", "internally tagged", "a struct"].iter().any(|words| wanted.starts_with(words));
    match of_kind {
        Some(kind) => kind.to_owned(),
        None if is_section => "a table of settings".to_owned(),
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
            ("server = 7", "t:1:10: `7` stands where a table of settings is expected"),
            ("policies.watch = 'yes'", "t:1:18: `yes` stands where `true` or `false` is expected"),
            (
                "policies.source = 'bundels'",
                "t:1:19: `bundels` is none of `directory`, `directories`, `bundle`, \
              `bundles`, `remote-bundles`; did you mean `bundles`?",
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
