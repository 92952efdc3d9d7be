//! Policies to measure with, and questions to ask of them: the scenarios that SAPL's own benchmark generates, number for
//! number, so that rates can be compared.
//!
//! A scenario is named after its kind and size: `hospital-300` are the policies of a hospital with 300 departments. Graphs
//! are random with an edge in twenty, drawn from `java.util.Random` with the seed 42, as SAPL's benchmark draws them;
//! subscriptions are drawn from another with the seed 1,000,042. The same name always gives the same scenario.
//!
//! ```
//! use durward_lab::scenario::Scenario;
//!
//! let hospital = Scenario::named("hospital-5")?;
//! assert_eq!((hospital.policies.len(), hospital.subscriptions.len()), (170, 500));
//! # Ok::<(), durward_lab::scenario::UnknownScenario>(())
//! ```

mod gdrive;
mod github;
mod hospital;
mod random;
mod small;
mod tinytodo;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use random::JavaRandom;

/// The greatest size of a hospital, which then has 990,005 policies.
pub const HOSPITAL_SIZE_MAX: usize = 30_000;

/// The greatest size of the other scenarios, whose graphs grow with its square.
pub const SCENARIO_SIZE_MAX: usize = 1_000;

/// What a name may be, for messages.
pub const SCENARIO_NAMES: &str = "baseline, rbac, hospital-N, github-N, gdrive-N, tinytodo-N";

/// How many subscriptions a scenario with random ones has.
const SUBSCRIPTIONS: usize = 500;
/// What graphs are drawn from.
const GRAPH_SEED: u64 = 42;
/// What subscriptions are drawn from.
const SUBSCRIPTION_SEED: u64 = GRAPH_SEED + 1_000_000;

/// Policies, what they know, and what they are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name that it was made from.
    pub name: String,
    /// SAPL documents, in the order of their numbers.
    pub policies: Vec<String>,
    /// The variables of `pdp.json`: an object.
    pub variables: Json,
    /// Subscriptions, each an object with `subject`, `action` and `resource`.
    pub subscriptions: Vec<Json>,
}

/// A name that is no scenario's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScenario(String);

impl fmt::Display for UnknownScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownScenario(name) = self;
        write!(
            f,
            "`{name}` is no scenario: one of {SCENARIO_NAMES}, N from 1 to {SCENARIO_SIZE_MAX}, of hospital to {HOSPITAL_SIZE_MAX}"
        )
    }
}

impl std::error::Error for UnknownScenario {}

impl Scenario {
    /// Makes the scenario of this name.
    ///
    /// # Errors
    /// A name that is not one of [`SCENARIO_NAMES`], or a size that is not 1 to [`SCENARIO_SIZE_MAX`] or [`HOSPITAL_SIZE_MAX`].
    pub fn named(name: &str) -> Result<Scenario, UnknownScenario> {
        let unknown = || UnknownScenario(name.to_owned());
        let parts = match name {
            "baseline" => small::baseline(),
            "rbac" => small::rbac(),
            _ => {
                let (kind, size) = name.split_once('-').ok_or_else(unknown)?;
                let size = size.parse().map_err(|_| unknown())?;
                let size_max = if kind == "hospital" { HOSPITAL_SIZE_MAX } else { SCENARIO_SIZE_MAX };
                if !(1..=size_max).contains(&size) {
                    return Err(unknown());
                }
                match kind {
                    "hospital" => hospital::generate(size),
                    "github" => github::generate(size),
                    "gdrive" => gdrive::generate(size),
                    "tinytodo" => tinytodo::generate(size),
                    _ => return Err(unknown()),
                }
            }
        };
        let Parts { policies, variables, subscriptions } = parts;
        Ok(Scenario { name: name.to_owned(), policies, variables: Json::Object(variables), subscriptions })
    }

    /// The text of `pdp.json`: a deny counts more than a permit, no answer is a deny, errors are passed on.
    pub fn configuration(&self) -> String {
        let configuration = json!({
            "algorithm": {
                "votingMode": "PRIORITY_DENY",
                "defaultDecision": "DENY",
                "errorHandling": "PROPAGATE",
            },
            "compilerFlags": { "indexing": "AUTO" },
            "variables": self.variables,
        });
        format!("{configuration:#}\n")
    }

    /// Writes `policy-0001.sapl` and so on, `pdp.json`, and `subscriptions.jsonl` with lines `{"id", "subscription"}`.
    /// The directory is made if it is not there.
    ///
    /// # Errors
    /// What the system says; files that were written stay.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        for (number, policy) in (1..).zip(&self.policies) {
            fs::write(directory.join(format!("policy-{number:04}.sapl")), policy)?;
        }
        fs::write(directory.join("pdp.json"), self.configuration())?;
        let lines: String = self
            .subscriptions
            .iter()
            .enumerate()
            .map(|(id, subscription)| format!("{{\"id\":{id},\"subscription\":{subscription}}}\n"))
            .collect();
        fs::write(directory.join("subscriptions.jsonl"), lines)
    }
}

/// What the kinds make.
struct Parts {
    policies: Vec<String>,
    variables: Map<String, Json>,
    subscriptions: Vec<Json>,
}

fn subscription(subject: impl Into<Json>, action: &str, resource: impl Into<Json>) -> Json {
    json!({ "subject": subject.into(), "action": action, "resource": resource.into() })
}

/// Subscriptions: this one, and then random ones.
fn subscriptions(first: Json, mut draw: impl FnMut(&mut JavaRandom) -> Json) -> Vec<Json> {
    let mut random = JavaRandom::new(SUBSCRIPTION_SEED);
    let mut all = vec![first];
    all.extend((1..SUBSCRIPTIONS).map(|_| draw(&mut random)));
    all
}

/// `PREFIX0`, `PREFIX1` and so on, each there with the probability of an edge.
fn some_of(random: &mut JavaRandom, count: usize, prefix: &str) -> Vec<String> {
    (0..count).filter(|_| random.is_edge()).map(|number| format!("{prefix}{number}")).collect()
}

/// `PREFIX0_ROLE`, `PREFIX1_ROLE` and so on, each there with the probability of an edge, in a random role.
fn some_roles(random: &mut JavaRandom, count: usize, prefix: &str, roles: &[&str]) -> Vec<String> {
    let mut some = Vec::new();
    for number in 0..count {
        if random.is_edge() {
            some.push(format!("{prefix}{number}_{}", random.one_of(roles)));
        }
    }
    some
}
