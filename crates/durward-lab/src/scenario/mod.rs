//! The scenario file: what is asked of which target, by whom, how often, and what is to come of it.
//!
//! [`Scenario::read`] reads the TOML text; `load::Plan` makes requests of it. What a scenario names by `${env.NAME}` and
//! `${file:PATH}` is looked up only then, so it is neither in the scenario nor in a record.
//!
//! ```
//! use durward_lab::scenario::Scenario;
//!
//! let scenario = Scenario::read(r#"
//!     name = "home page"
//!     [target]
//!     addresses = ["http://127.0.0.1:8080"]
//!     [load]
//!     users = [1, 10, 100]
//!     measure = "10s"
//!     [[steps]]
//!     path = "/"
//! "#).unwrap();
//! assert_eq!(scenario.load.users.0, [1, 10, 100]);
//!
//! let error = Scenario::read("[load]\nusres = 3").unwrap_err();
//! assert_eq!(error.to_string(), "line 2: `usres` is unknown; did you mean `users`?");
//! ```

mod builtin;
mod check;
mod data;
mod error;
mod folder;
mod load;
mod schema;
mod search;
mod step;
pub mod template;
#[cfg(test)]
mod tests;
mod threshold;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use builtin::BUILT_INS;
pub(crate) use check::USERS_MAX;
pub use data::{DataOrder, DataSpec, DataTable};
pub use error::ScenarioError;
pub use folder::ScenarioFolder;
pub(crate) use folder::SentScenario;
pub use load::{
    ArrivalShape, ArrivalSpec, Distribution, HttpVersion, LoadSpec, NodeChoice, RateStep, ThinkTime, WarmUp,
};
pub use schema::schema;
pub(crate) use search::SearchTrial;
pub use search::{SearchSpec, ShareOfLimit};
pub use step::{Capture, Expect, HoldFor, ScenarioStep};
pub use threshold::{ThresholdBound, ThresholdLimit, ThresholdMetric, Thresholds};
pub use value::{DurationValue, NumberValue, OneOrMany};

use crate::agent::Named;
use crate::target::TargetSpec;

/// A scenario as it stands in its file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What reports call it.
    #[serde(default)]
    pub name: String,
    /// What every random choice follows from.
    #[serde(default = "one")]
    pub seed: u64,
    /// What is measured.
    #[serde(default)]
    pub target: TargetSpec,
    /// Who asks, how often, for how long.
    pub load: LoadSpec,
    /// Values that are varied: each combination is a curve of its own. `${vary.NAME}` stands for the value.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub vary: BTreeMap<String, Vec<toml::Value>>,
    /// Tables whose columns requests are filled with.
    #[serde(default)]
    pub data: BTreeMap<String, DataSpec>,
    /// How servers prove themselves, where addresses begin with `https://`.
    #[serde(default)]
    pub tls: Tls,
    /// Which agents make the load, beside those that the command line names.
    #[serde(default)]
    pub agents: Vec<Named>,
    /// How connections of RSocket introduce themselves, where addresses begin with `rsocket://` or `rsockets://`.
    #[serde(default)]
    pub rsocket: Rsocket,
    /// What each user does, over and over.
    #[schemars(with = "Vec<ScenarioStep>")]
    pub steps: Vec<Spanned<ScenarioStep>>,
    /// What must hold, else the command exits 1.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// The text it was read from.
    #[serde(skip)]
    pub text: String,
    /// Where the files it names are: the folder of the scenario file.
    #[serde(skip)]
    pub folder: ScenarioFolder,
}

fn one() -> u64 {
    1
}

/// How connections of RSocket introduce themselves. Texts may hold `${env.NAME}`, `${file:PATH}` and `${vary.NAME}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rsocket {
    /// A bearer token or an API key.
    pub token: Option<String>,
    /// A name, with `password`.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// How often the server is asked whether it lives.
    pub keep_alive: DurationValue,
    /// How long it may be silent.
    pub lifetime: DurationValue,
}

impl Default for Rsocket {
    fn default() -> Rsocket {
        let time = |seconds| DurationValue(std::time::Duration::from_secs(seconds));
        Rsocket { token: None, user: None, password: None, keep_alive: time(20), lifetime: time(90) }
    }
}

/// How servers prove themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// A file of PEM certificates that are trusted, instead of the system's.
    pub ca: Option<PathBuf>,
    /// The name that certificates must bear, instead of the host of the address.
    pub server_name: Option<String>,
    /// Takes any certificate: for test servers that signed their own.
    pub danger_any_certificate: bool,
}

impl Scenario {
    /// Reads the text of a scenario file and checks what can be checked without its files.
    ///
    /// # Errors
    /// No TOML, an unknown key (with the nearest that exists), a value that is not allowed, a capture that no step makes:
    /// with line and key.
    pub fn read(text: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| ScenarioError::of_toml(text, &error))?;
        text.clone_into(&mut scenario.text);
        if scenario.name.is_empty() {
            "scenario".clone_into(&mut scenario.name);
        }
        scenario.expand()?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The same scenario, whose files are in this folder.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Scenario {
        Scenario { folder: ScenarioFolder::at(folder), ..self }
    }

    /// Every step, those within loops too, with the line where the outermost of them begins.
    pub fn all_steps(&self) -> Vec<(usize, &ScenarioStep)> {
        let mut all = Vec::new();
        for step in &self.steps {
            let line = error::line_at(&self.text, step.span().start);
            step.get_ref().visit(&mut |one| all.push((line, one)));
        }
        all
    }

    /// The combinations of what is varied: label and values. One without a label where nothing is.
    pub fn variants(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let mut all = vec![(String::new(), BTreeMap::new())];
        for (name, values) in &self.vary {
            let with = |(label, known): &(String, BTreeMap<String, String>), value: &toml::Value| {
                let text = value.as_str().map_or_else(|| serde_json::json!(value).to_string(), str::to_owned);
                let comma = if label.is_empty() { "" } else { ", " };
                let label = format!("{label}{comma}{name} {text}");
                let mut known = known.clone();
                known.insert(name.clone(), text);
                (label, known)
            };
            all = all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect();
        }
        all
    }
}
