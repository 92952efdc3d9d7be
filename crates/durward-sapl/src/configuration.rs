//! The configuration of a directory of policies: `pdp.json`.

use std::sync::Arc;

use durward_ir::combine::{ErrorHandling, Mode, Voting};
use durward_ir::json;
use durward_ir::program::Effect;
use durward_ir::structure::kind_of;
use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use crate::document::Problem;

/// What a configuration says besides the policies.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// How the documents are combined.
    pub voting: Voting,
    /// How the policies are to be prepared.
    pub flags: Flags,
    variables: Arc<Object>,
}

/// How policies are to be prepared. Those that have no meaning here are read and have none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flags {
    /// The index that is asked for, as written; `AUTO` if none is.
    pub indexing: SmolStr,
    /// How many documents there may be; as many as memory holds if nothing is written.
    pub max_policy_documents: Option<u64>,
    /// How large all documents together may be; as large as memory holds if nothing is written.
    pub max_total_size_megabytes: Option<u64>,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            indexing: SmolStr::new_static("AUTO"),
            max_policy_documents: None,
            max_total_size_megabytes: None,
        }
    }
}

impl Default for Configuration {
    fn default() -> Configuration {
        Configuration { voting: Voting::DEFAULT, flags: Flags::default(), variables: Arc::default() }
    }
}

impl Configuration {
    /// A configuration with these variables.
    pub fn new(voting: Voting, variables: Object) -> Configuration {
        Configuration { voting, flags: Flags::default(), variables: Arc::new(variables) }
    }

    /// All variables.
    pub fn variables(&self) -> &Arc<Object> {
        &self.variables
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    /// Says so, where there is more than the flags allow.
    ///
    /// # Errors
    /// There are more documents, or more bytes in all of them.
    pub fn check_size(&self, documents: usize, bytes: usize) -> Result<(), Problem> {
        let problem = |message| {
            let help = Some("raise the limit in `pdp.json`, or leave it out".to_owned());
            Err(Problem { source: SmolStr::default(), line: 0, column: 0, message, help })
        };
        match (self.flags.max_policy_documents, self.flags.max_total_size_megabytes) {
            (Some(most), _) if documents as u64 > most => {
                problem(format!("there are {documents} documents, and `maxPolicyDocuments` is {most}"))
            }
            (_, Some(most)) if bytes as u64 > most << 20 => {
                problem(format!("the documents have {bytes} bytes, and `maxTotalSizeMegabytes` is {most}"))
            }
            _ => Ok(()),
        }
    }

    /// Reads a `pdp.json`, in which comments may stand; `source` is how messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it, keys that must not be there included. Unknown keys mean nothing.
    pub fn read(source: &str, text: &str) -> Result<Configuration, Vec<Problem>> {
        let mut reading = Reading { source: SmolStr::new(source), problems: Vec::new() };
        let configuration = reading.configuration(text);
        if reading.problems.is_empty() { Ok(configuration) } else { Err(reading.problems) }
    }
}

struct Reading {
    source: SmolStr,
    problems: Vec<Problem>,
}

impl Reading {
    fn problem(&mut self, message: impl Into<String>, help: Option<&str>) {
        self.problem_at(0, 0, message, help);
    }

    fn problem_at(&mut self, line: u32, column: u32, message: impl Into<String>, help: Option<&str>) {
        let (source, help) = (self.source.clone(), help.map(str::to_owned));
        self.problems.push(Problem { source, line, column, message: message.into(), help });
    }

    fn configuration(&mut self, text: &str) -> Configuration {
        let mut configuration = Configuration::default();
        let object = match json::read_configuration(text) {
            Ok(Value::Object(object)) => object,
            Ok(other) => {
                self.problem(format!("a configuration is an object, not {}", kind_of(&other)), None);
                return configuration;
            }
            Err(error) => {
                let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                self.problem_at(number(error.line), number(error.column), error.reason, None);
                return configuration;
            }
        };
        self.refuse_keys(&object);
        if let Some(algorithm) = object.get("algorithm").filter(|algorithm| !is_null(algorithm)) {
            configuration.voting = self.algorithm(algorithm);
        }
        for key in ["compilerFlags", "compilerOptions"] {
            if let Some(flags) = object.get(key).filter(|flags| !is_null(flags)) {
                configuration.flags = self.flags(key, flags);
            }
        }
        match object.get("variables") {
            None | Some(Value::Null) => {}
            Some(Value::Object(variables)) => configuration.variables = variables.clone(),
            Some(other) => {
                self.problem(format!("`variables` must be an object, not {}", kind_of(other)), None);
            }
        }
        configuration
    }

    fn refuse_keys(&mut self, object: &Object) {
        if object.contains_key("configurationId") {
            let help = "remove it: the identifier comes from the directory";
            self.problem("`configurationId` cannot be set here", Some(help));
        }
        if object.contains_key("secrets") {
            let help = "put secrets into `secrets.json`, which only attribute finders read";
            self.problem("`secrets` do not belong here", Some(help));
        }
    }

    /// All three parts are needed: what is left out must not decide.
    fn algorithm(&mut self, algorithm: &Value) -> Voting {
        let Value::Object(object) = algorithm else {
            let help = algorithm.as_text().and_then(in_words_of_today);
            let message = format!("`algorithm` must be an object, not {}", kind_of(algorithm));
            self.problem(message, help.as_deref());
            return Voting::DEFAULT;
        };
        let modes = [
            ("PRIORITY_DENY", Mode::Priority(Effect::Deny)),
            ("PRIORITY_PERMIT", Mode::Priority(Effect::Permit)),
            ("PRIORITY_SUSPEND", Mode::Priority(Effect::Suspend)),
            ("UNANIMOUS", Mode::Unanimous),
            ("UNANIMOUS_STRICT", Mode::UnanimousStrict),
            ("UNIQUE", Mode::Unique),
        ];
        let defaults = [
            ("DENY", Some(Effect::Deny)),
            ("PERMIT", Some(Effect::Permit)),
            ("SUSPEND", Some(Effect::Suspend)),
            ("ABSTAIN", None),
        ];
        let errors = [("ABSTAIN", ErrorHandling::Abstain), ("PROPAGATE", ErrorHandling::Propagate)];
        let mode = self.choice(object, "votingMode", &modes);
        let default = self.choice(object, "defaultDecision", &defaults);
        let errors = self.choice(object, "errorHandling", &errors);
        Voting {
            mode: mode.unwrap_or(Voting::DEFAULT.mode),
            default: default.unwrap_or(Voting::DEFAULT.default),
            errors: errors.unwrap_or(Voting::DEFAULT.errors),
        }
    }

    fn choice<T: Copy>(&mut self, object: &Object, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let help = format!("there are {}", names.join(", "));
        let Some(value) = object.get(key) else {
            self.problem(format!("`algorithm` lacks `{key}`"), Some(&help));
            return None;
        };
        let written = value.as_text().unwrap_or_default();
        let chosen = choices.iter().find(|(name, _)| *name == written).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let help = match (key, written) {
                ("votingMode", "FIRST") => "documents have no order, so only sets can combine by `first`",
                _ => help.as_str(),
            };
            self.problem(format!("`{key}` cannot be `{}`", value.lexical()), Some(help));
        }
        chosen
    }

    fn flags(&mut self, key: &str, flags: &Value) -> Flags {
        let mut read = Flags::default();
        let Value::Object(object) = flags else {
            self.problem(format!("`{key}` must be an object, not {}", kind_of(flags)), None);
            return read;
        };
        match object.get("indexing") {
            None => {}
            Some(Value::Text(name)) if ["AUTO", "NAIVE", "CANONICAL", "SMTDD"].contains(&name.as_str()) => {
                read.indexing = name.clone();
            }
            Some(other) => {
                let help = "there are AUTO, NAIVE, CANONICAL, SMTDD";
                self.problem(format!("`indexing` cannot be `{}`", other.lexical()), Some(help));
            }
        }
        self.count(object, "maxPolicyDocuments", &mut read.max_policy_documents);
        self.count(object, "maxTotalSizeMegabytes", &mut read.max_total_size_megabytes);
        read
    }

    fn count(&mut self, object: &Object, key: &str, count: &mut Option<u64>) {
        let Some(value) = object.get(key) else { return };
        let whole = value.as_number().and_then(|number| u64::try_from(number.to_i64()?).ok());
        match whole.filter(|whole| *whole > 0) {
            Some(whole) => *count = Some(whole),
            None => self.problem(format!("`{key}` must be a whole number from 1"), None),
        }
    }
}

/// The combining algorithms of SAPL 3, with what SAPL 4 calls their mode and their default.
const OLD_ALGORITHMS: [(&str, &str, &str); 5] = [
    ("DENY_OVERRIDES", "PRIORITY_DENY", "ABSTAIN"),
    ("PERMIT_OVERRIDES", "PRIORITY_PERMIT", "ABSTAIN"),
    ("ONLY_ONE_APPLICABLE", "UNIQUE", "ABSTAIN"),
    ("DENY_UNLESS_PERMIT", "PRIORITY_PERMIT", "DENY"),
    ("PERMIT_UNLESS_DENY", "PRIORITY_DENY", "PERMIT"),
];

/// The way out of an algorithm written as in SAPL 3.
fn in_words_of_today(old: &str) -> Option<String> {
    let name = old.replace('-', "_").to_ascii_uppercase();
    let (_, mode, default) = OLD_ALGORITHMS.iter().find(|(old, ..)| *old == name)?;
    Some(format!(
        "what SAPL 3 called `{name}` is {{\"votingMode\": \"{mode}\", \"defaultDecision\": \"{default}\", \
         \"errorHandling\": \"PROPAGATE\"}}"
    ))
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null)
}
