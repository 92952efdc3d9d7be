//! What the readers of TOML and JSON say of a mistake, in the words of whoever wrote the text.

use durward_pdp::ir::near::nearest;
use durward_pdp::xacml::wording::{of_json, of_toml};

/// What things are called, and how a value of a wrong kind is told.
pub struct Words {
    name: &'static str,
    of_kinds: fn(&str) -> String,
}

/// Those of a configuration.
pub(super) const SETTINGS: Words = Words { name: "setting", of_kinds: of_toml };

/// Those of a theme or a language.
pub const PAGES: Words = Words { name: "key", of_kinds: of_toml };

/// Those of a body in JSON.
pub const BODY: Words = Words { name: "member", of_kinds: of_json };

/// The reader's message on one line; for an unknown name, the one that was probably meant.
pub fn in_our_words(message: &str, words: &Words) -> String {
    let message = message.trim().replace('\n', ", ");
    let (message, place) = match message.rsplit_once(" at line ") {
        Some((message, place)) => {
            (message.to_owned(), format!(" (line {})", place.replace(" column ", ", column ")))
        }
        None => (message, String::new()),
    };
    let told = unknown_name(&message, words)
        .or_else(|| unknown_choice(&message))
        .or_else(|| missing(&message, words));
    told.unwrap_or_else(|| (words.of_kinds)(&message)) + &place
}

fn unknown_name(message: &str, Words { name: noun, .. }: &Words) -> Option<String> {
    let (word, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(match nearest(word, names.iter().copied()) {
        Some(name) => format!("unknown {noun} `{word}`; did you mean `{name}`?"),
        None if names.is_empty() => format!("unknown {noun} `{word}`; there are none here"),
        None => format!("unknown {noun} `{word}`; there are {}", names.join(", ")),
    })
}

fn unknown_choice(message: &str) -> Option<String> {
    let (word, rest) = message.strip_prefix("unknown variant `")?.split_once('`')?;
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let all = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(match nearest(word, names.iter().copied()) {
        Some(name) => format!("`{word}` is none of {all}; did you mean `{name}`?"),
        None => format!("`{word}` is none of {all}"),
    })
}

fn missing(message: &str, Words { name: noun, .. }: &Words) -> Option<String> {
    let name = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(format!("the {noun} `{name}` is missing here"))
}

#[cfg(test)]
mod tests {
    use crate::Settings;

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
            (
                "server.workers = 'two'",
                "t:1:18: the string \"two\" stands where a whole number from 0 on is expected",
            ),
            (
                "server.workers = -1",
                "t:1:18: the number `-1` stands where a whole number from 0 on is expected",
            ),
            ("server = 7", "t:1:10: the number `7` stands where a table is expected"),
            ("policies.watch = 'yes'", "t:1:18: the string \"yes\" stands where a boolean is expected"),
            (
                "policies.source = 'remote-bundels'",
                "t:1:19: `remote-bundels` is none of `directory`, `directories`, `bundle`, \
              `bundles`, `remote-bundles`; did you mean `remote-bundles`?",
            ),
            ("[[attributes]]\nvalues = []", "t:1:1: the setting `id` is missing here"),
            (
                "[[attributes]]\nid = 'a'\nvalues = 'b'",
                "t:3:10: the string \"b\" stands where an array is expected",
            ),
        ] {
            assert_eq!(Settings::from_toml(text, "t").unwrap_err().to_string(), message, "{text}");
        }
    }
}
