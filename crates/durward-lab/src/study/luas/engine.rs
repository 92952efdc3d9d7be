//! The engines of the study: what starts each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::build::{ALL, JavaEngine};

/// An engine that is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyEngine {
    /// Its name: letters, digits and `-`.
    pub name: String,
    /// What reports call it.
    pub title: String,
    /// How it is started.
    pub start: EngineStart,
}

/// How an engine is started.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineStart {
    /// Durward: the program.
    Durward(String),
    /// An engine in Java that is built here, by its name; `anew`: it reads its policies for every request.
    Java {
        /// `balana`, `att`, `authzforce`.
        name: String,
        /// Whether it reads its policies for every request.
        is_anew: bool,
    },
    /// A command; `{port}` is where it must listen, `{policies}` the folder with the policy set.
    Command(Vec<String>),
    /// The image of a container, and the port where it listens.
    Image(String, u16),
    /// A server that runs already.
    Address(String),
}

/// What is wrong with an engine that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(String);

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}

/// Something that must be brought to a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFile {
    /// What it is.
    pub what: String,
    /// How large it is.
    pub bytes: u64,
}

/// The name of the engine that shows what reading policies for every request does.
pub(super) const ANEW: &str = "att-anew";

/// Those of the study: durward, Balana, AT&T, AuthzForce, and AT&T reading its policies for every request.
pub fn known(durward: &str, version: &str) -> Vec<StudyEngine> {
    let mut all = vec![StudyEngine {
        name: "durward".to_owned(),
        title: format!("durward {version}"),
        start: EngineStart::Durward(durward.to_owned()),
    }];
    all.extend(ALL.map(|java| StudyEngine {
        name: java.name.to_owned(),
        title: java.title.to_owned(),
        start: EngineStart::Java { name: java.name.to_owned(), is_anew: false },
    }));
    let att = ALL.into_iter().find(|java| ANEW.starts_with(java.name));
    all.extend(att.map(|java| StudyEngine {
        name: ANEW.to_owned(),
        title: format!("{}, policies read for every request", java.title),
        start: EngineStart::Java { name: java.name.to_owned(), is_anew: true },
    }));
    all
}

impl StudyEngine {
    /// Reads `NAME=COMMAND`, `NAME=URL` or `NAME=image:PORT:IMAGE`. Words of a command are told apart by blanks; quotes hold them
    /// together.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn read(text: &str) -> Result<StudyEngine, EngineError> {
        StudyEngine::parse(text).map_err(EngineError)
    }

    fn parse(text: &str) -> Result<StudyEngine, String> {
        let (name, what) = text
            .split_once('=')
            .ok_or_else(|| "write NAME=COMMAND, NAME=URL or NAME=image:PORT:IMAGE".to_owned())?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("`{name}` is no name: letters, digits and `-`"));
        }
        let start = if what.starts_with("http://") || what.starts_with("https://") {
            EngineStart::Address(what.trim_end_matches('/').to_owned())
        } else if let Some(image) = what.strip_prefix("image:") {
            let parts =
                image.split_once(':').and_then(|(port, image)| Some((port.parse::<u16>().ok()?, image)));
            let (port, image) =
                parts.filter(|(port, image)| *port > 0 && !image.is_empty()).ok_or_else(|| {
                    format!(
                        "`{what}` is no image: write image:8080:REGISTRY/NAME, with the port where it listens"
                    )
                })?;
            EngineStart::Image(image.to_owned(), port)
        } else {
            let words = words(what)?;
            if !words.iter().any(|word| word.contains("{port}") || word.contains("{address}")) {
                return Err(
                    "a command must be told where to listen: put `{port}` or `{address}` into it".to_owned()
                );
            }
            EngineStart::Command(words)
        };
        Ok(StudyEngine { name: name.to_owned(), title: name.to_owned(), start })
    }

    /// Whether it reads its policies for every request.
    pub(super) fn is_anew(&self) -> bool {
        matches!(&self.start, EngineStart::Java { is_anew: true, .. })
    }

    /// The engine in Java that it is made of.
    pub(super) fn java(&self) -> Option<JavaEngine> {
        match &self.start {
            EngineStart::Java { name, .. } => ALL.into_iter().find(|java| java.name == name),
            EngineStart::Durward(_)
            | EngineStart::Command(_)
            | EngineStart::Image(..)
            | EngineStart::Address(_) => None,
        }
    }

    /// The `[target]` table of its scenarios, without limits.
    pub(super) fn target(&self, cache: &Path, policies: &str) -> String {
        let list = |words: &[String]| toml::Value::from(words.to_vec()).to_string();
        let with = |words: &[String], ready: &str| format!("command = {}\nready = \"{ready}\"", list(words));
        let how = match &self.start {
            EngineStart::Durward(program) => {
                let words = [program.as_str(), "serve", "--policies", policies, "--listen", "{address}"];
                with(&words.map(str::to_owned), "/health/ready")
            }
            EngineStart::Java { is_anew, .. } => {
                let flag = if *is_anew { "--serve-anew" } else { "--serve" };
                let words = self.java().map(|java| java.command(cache, policies, flag)).unwrap_or_default();
                with(&words, "/health")
            }
            EngineStart::Command(words) => {
                let words: Vec<String> =
                    words.iter().map(|word| word.replace("{policies}", policies)).collect();
                with(&words, "tcp")
            }
            EngineStart::Image(image, port) => {
                format!("image = {}\nimage_port = {port}", toml::Value::from(image.as_str()))
            }
            EngineStart::Address(url) => format!("addresses = {}", list(std::slice::from_ref(url))),
        };
        format!("name = {}\n{how}\n", toml::Value::from(self.title.as_str()))
    }

    /// Whether limits can be set for it: not for a server that runs already.
    pub(super) fn is_limited(&self) -> bool {
        !matches!(self.start, EngineStart::Address(_))
    }
}

/// The words of a command line. Quotes of both kinds hold blanks; nothing else has a meaning.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote {open} is not closed in `{text}`"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_read_from_words() {
        let engine = StudyEngine::read("mine=./pdp --at '{address}' \"--in={policies}\"").unwrap();
        let words = ["./pdp", "--at", "{address}", "--in={policies}"].map(str::to_owned).to_vec();
        assert_eq!((engine.name.as_str(), &engine.start), ("mine", &EngineStart::Command(words)));
        let target = engine.target(Path::new("/cache"), "/p");
        assert!(target.contains("\"--in=/p\"") && target.contains("{address}"), "{target}");
        assert_eq!(
            StudyEngine::read("a=http://[::1]:80/x/").unwrap().start,
            EngineStart::Address("http://[::1]:80/x".into())
        );
        assert_eq!(
            StudyEngine::read("luas=image:8080:x/luas:1").unwrap().start,
            EngineStart::Image("x/luas:1".into(), 8080)
        );
        for (wrong, why) in [
            ("mine", "write NAME=COMMAND"),
            ("=x {port}", "is no name"),
            ("a b=x {port}", "is no name"),
            ("a=./pdp", "told where to listen"),
            ("a=./pdp '{port}", "is not closed"),
            ("a=image:x", "is no image"),
            ("a=image:0:x", "is no image"),
        ] {
            assert!(StudyEngine::read(wrong).unwrap_err().to_string().contains(why), "{wrong}");
        }
    }
}
