//! Placeholders in braces and secrets of a target's table, replaced for one node.

use std::collections::BTreeMap;
use std::{env, fs};

/// What a node's words stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Placeholders {
    /// By name without braces: `port`, `nats.address`.
    values: BTreeMap<String, String>,
}

impl Placeholders {
    /// Gives a word a meaning.
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// Takes over what a part's words mean, behind its name: `{port}` of `nats` is `{nats.port}` here.
    pub(super) fn take_part(&mut self, part: &str, words: &Placeholders) {
        for (name, value) in &words.values {
            self.values.insert(format!("{part}.{name}"), value.clone());
        }
    }

    /// Takes over what other words mean.
    pub(super) fn take(&mut self, words: &Placeholders) {
        self.values.extend(words.values.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// What a word stands for; empty of one that means nothing.
    pub(super) fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The text with its words and secrets replaced. Secrets are added to those that no error may tell.
    ///
    /// # Errors
    /// A word that means nothing, a secret that is not there.
    pub(super) fn fill(&self, text: &str, secrets: &mut HiddenValues) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            let (before, here) = rest.split_at_checked(at).unwrap_or((rest, ""));
            filled.push_str(before);
            let (value, length) = self.one(here, secrets)?;
            filled.push_str(&value);
            rest = here.get(length..).unwrap_or_default();
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// What stands for the begin of a text, which is `$` or `{`, and how long that begin is.
    fn one(&self, here: &str, secrets: &mut HiddenValues) -> Result<(String, usize), String> {
        if let Some((inner, length)) = between(here, "${", "}") {
            if inner.starts_with("env.") || inner.starts_with("file:") {
                return Ok((secrets.read(inner)?, length));
            }
            // A variable of a shell's: it is left alone, with its braces.
            return Ok((here.get(..length).unwrap_or_default().to_owned(), length));
        }
        if let Some((inner, length)) = between(here, "{{", "}}").filter(|(inner, _)| is_word(inner)) {
            return Ok((format!("{{{inner}}}"), length));
        }
        match between(here, "{", "}").filter(|(inner, _)| is_word(inner)) {
            Some((inner, length)) => match self.values.get(inner) {
                Some(value) => Ok((value.clone(), length)),
                None => Err(self.unknown(inner)),
            },
            None => Ok((here.chars().take(1).collect(), 1)),
        }
    }

    fn unknown(&self, word: &str) -> String {
        // Names of one's own, as in {port.NAME}, are known by where they are used.
        let names: Vec<&str> = self.values.keys().map(String::as_str).collect();
        format!(
            "`{{{word}}}` means nothing here; there are {} (and {{{{{word}}}}} is the text itself)",
            names.join(", ")
        )
    }
}

/// The names of ports of a node's own that texts use: `admin` of `{port.admin}`.
pub(super) fn port_names<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut names = Vec::new();
    for text in texts {
        for (at, _) in text.match_indices("{port.") {
            let here = text.get(at..).unwrap_or_default();
            let name = between(here, "{port.", "}").filter(|(inner, _)| is_word(inner));
            names.extend(name.map(|(inner, _)| inner.to_owned()));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The inner text of a begin such as `{x}`, and how long it is with its marks.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, usize)> {
    let (inner, _) = text.strip_prefix(open)?.split_once(close)?;
    Some((inner, open.len() + inner.len() + close.len()))
}

/// Words are of letters, digits, dots, lines: other braces belong to JSON, configurations and shells.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// What came from the environment and from files: never recorded, and taken out of errors.
#[derive(Clone, Default)]
pub(super) struct HiddenValues {
    /// Value, and how the scenario calls it.
    values: Vec<(String, String)>,
}

/// A secret is not looked for in logs if it is shorter: it would be found everywhere.
const SECRET_BYTES_MIN: usize = 4;

impl HiddenValues {
    fn read(&mut self, name: &str) -> Result<String, String> {
        let value = match name.split_once(['.', ':']) {
            Some(("env", variable)) => env::var(variable)
                .map_err(|_| format!("the environment variable `{variable}` is not set (or no text)"))?,
            Some((_, path)) => {
                let text =
                    fs::read_to_string(path).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
                text.strip_suffix('\n')
                    .map(|text| text.strip_suffix('\r').unwrap_or(text))
                    .unwrap_or(&text)
                    .to_owned()
            }
            None => return Err(format!("`${{{name}}}` is neither ${{env.NAME}} nor ${{file:PATH}}")),
        };
        if value.len() >= SECRET_BYTES_MIN {
            self.values.push((value.clone(), format!("${{{name}}}")));
        }
        Ok(value)
    }

    /// The text with each secret called by its name.
    pub(super) fn hide(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (value, name)| text.replace(value, name))
    }
}

/// Names only.
impl std::fmt::Debug for HiddenValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(_, name)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Placeholders {
        let mut nats = Placeholders::default();
        nats.set("port", "4222");
        let mut words = Placeholders::default();
        words.set("port", "40001");
        words.set("node", "2");
        words.take_part("nats", &nats);
        words
    }

    #[test]
    fn words_are_replaced_and_other_braces_left() {
        let table = [
            ("--port={port}", "--port=40001"),
            ("{node}{nats.port}", "24222"),
            ("{{port}} {{{port}}}", "{port} {{port}}"),
            (
                r#"{"a":{"b":1}} { } {} {1} $x ${x} ${y:-z} $"#,
                r#"{"a":{"b":1}} { } {} {1} $x ${x} ${y:-z} $"#,
            ),
            ("caf\u{e9} {port} \u{fc}{", "caf\u{e9} 40001 \u{fc}{"),
            ("server { listen {port}; }", "server { listen 40001; }"),
        ];
        for (text, wanted) in table {
            let filled = words().fill(text, &mut HiddenValues::default()).unwrap();
            assert_eq!(filled, wanted, "{text}");
        }
    }

    #[test]
    fn unknown_words_and_missing_secrets_are_errors() {
        let wrong = |text: &str| words().fill(text, &mut HiddenValues::default()).unwrap_err();
        assert!(wrong("a {prot}").contains("`{prot}` means nothing here; there are nats.port, node, port"));
        assert!(wrong("${env.DURWARD_LAB_NOT_SET}").contains("`DURWARD_LAB_NOT_SET` is not set"));
        assert!(wrong("${file:/no/such}").contains("`/no/such` cannot be read"));
    }

    #[test]
    fn secrets_are_filled_in_and_hidden() {
        let file = env::temp_dir().join(format!("durward-lab-secret-{}", std::process::id()));
        fs::write(&file, "s3cret {port}\n").unwrap();
        let name = format!("${{file:{}}}", file.display());
        let mut secrets = HiddenValues::default();
        // What a secret holds is text: no word in it is replaced.
        assert_eq!(words().fill(&format!("-p {name}"), &mut secrets).unwrap(), "-p s3cret {port}");
        fs::remove_file(&file).unwrap();
        assert_eq!(secrets.hide("login with s3cret {port} failed"), format!("login with {name} failed"));
        assert!(!format!("{secrets:?}").contains("s3cret"));
    }

    #[test]
    fn ports_of_ones_own_are_found_where_they_are_used() {
        let names = port_names(["--a={port.admin} {port.x}", "{port} {port.admin}", "{port."]);
        assert_eq!(names, ["admin", "x"]);
    }
}
