//! Policies to measure with, and questions to ask of them.
//!
//! A scenario is named after its kind and size: `hospital-300` are the policies of a hospital with 300 departments. The
//! same name always gives the same scenario. Random numbers are those of `java.util.Random`: policies, and the graphs that
//! they look at, are drawn from the seed 42, questions from 1,000,042.
//!
//! baseline, rbac, hospital, github, gdrive and tinytodo are what SAPL's own benchmark generates, number for number, so that
//! rates can be compared; graphs have an edge in twenty. Beyond 1,000 departments people in a hospital belong to 15
//! teams of others, whatever its size. synth (rules), scatter and levels (policies) are our own. baseline, hospital,
//! synth, scatter and levels can be had as XACML, too ([`XacmlScenario`]).
//!
//! ```
//! use durward_bench::scenario::Scenario;
//!
//! let hospital = Scenario::named("hospital-5")?;
//! assert_eq!((hospital.policies.len(), hospital.subscriptions.len()), (170, 500));
//! # Ok::<(), durward_bench::scenario::UnknownScenario>(())
//! ```

mod gdrive;
mod github;
mod hospital;
mod levels;
mod name;
pub(crate) mod random;
mod rules;
mod sapl;
mod scatter;
mod small;
mod synth;
mod tinytodo;
mod write;
mod xacml;

use serde_json::{Map, Value as Json, json};

pub use name::{SCENARIO_NAMES, ScenarioName, UnknownScenario};
use random::JavaRandom;
use rules::RuleDocument;
pub use xacml::XacmlRequest;

/// How many subscriptions a scenario of SAPL's benchmark has, where they are random.
const SUBSCRIPTIONS: usize = 500;
/// What policies and graphs are drawn from.
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
    /// What no answer becomes.
    pub default: NoAnswerDecision,
    /// Subscriptions, each an object with `subject`, `action` and `resource`.
    pub subscriptions: Vec<Json>,
}

/// A scenario as XACML 3.0: the decisions are those of [`Scenario`] with the same name.
///
/// What a subject belongs to by SAPL's graph, directly or not, is in its attribute `memberOf`, for that is how decision
/// points of XACML learn of it.
#[derive(Clone, Debug, PartialEq)]
pub struct XacmlScenario {
    /// The name that it was made from.
    pub name: String,
    /// Documents, the first of which is the root: it holds the others' policies, or refers to them.
    pub documents: Vec<String>,
    /// How many policies there are in all documents.
    pub policies: usize,
    /// Requests.
    pub requests: Vec<XacmlRequest>,
}

/// What no answer becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswerDecision {
    /// A deny.
    Deny,
    /// It stays one: NOT_APPLICABLE.
    Abstain,
}

impl Scenario {
    /// Makes the scenario of this name.
    ///
    /// # Errors
    /// A name that is not one of [`SCENARIO_NAMES`], or a size that it cannot have.
    pub fn named(name: &str) -> Result<Scenario, UnknownScenario> {
        Ok(Scenario::of(&name.parse()?))
    }

    /// Makes the scenario of this name.
    pub fn of(name: &ScenarioName) -> Scenario {
        let ScenarioParts { policies, variables, default, subscriptions } = name.generate();
        let policies = match policies {
            ScenarioPolicies::Sapl(texts) => texts,
            ScenarioPolicies::Both(documents) => documents.map(|document| sapl::text(&document)).collect(),
        };
        Scenario {
            name: name.to_string(),
            policies,
            variables: Json::Object(variables),
            default,
            subscriptions,
        }
    }

    /// The text of `pdp.json`: a deny counts more than a permit, no answer is [`Scenario::default`], errors are passed on.
    pub fn configuration(&self) -> String {
        let default = match self.default {
            NoAnswerDecision::Deny => "DENY",
            NoAnswerDecision::Abstain => "ABSTAIN",
        };
        let configuration = json!({
            "algorithm": {
                "votingMode": "PRIORITY_DENY",
                "defaultDecision": default,
                "errorHandling": "PROPAGATE",
            },
            "compilerFlags": { "indexing": "AUTO" },
            "variables": self.variables,
        });
        format!("{configuration:#}\n")
    }
}

impl XacmlScenario {
    /// Makes the scenario of this name; `None` where its policies look at what XACML has no word for.
    pub fn of(name: &ScenarioName) -> Option<XacmlScenario> {
        let ScenarioParts { policies, variables, default, subscriptions } = name.generate();
        let ScenarioPolicies::Both(documents) = policies else { return None };
        let mut count = 0;
        let counted = documents.inspect(|_| count += 1);
        let documents = xacml::documents(&name.to_string(), counted, default);
        let membership = GroupMembership::of(&variables);
        let requests = subscriptions.iter().map(|asked| xacml::request(asked, &membership)).collect();
        Some(XacmlScenario { name: name.to_string(), documents, policies: count, requests })
    }
}

/// What the kinds make.
struct ScenarioParts {
    policies: ScenarioPolicies,
    variables: Map<String, Json>,
    default: NoAnswerDecision,
    subscriptions: Vec<Json>,
}

/// Policies that only SAPL can say, or that both languages can. There may be a million.
enum ScenarioPolicies {
    Sapl(Vec<String>),
    Both(Box<dyn Iterator<Item = RuleDocument>>),
}

impl ScenarioParts {
    fn of_sapl(
        policies: Vec<String>,
        variables: Map<String, Json>,
        subscriptions: Vec<Json>,
    ) -> ScenarioParts {
        ScenarioParts {
            policies: ScenarioPolicies::Sapl(policies),
            variables,
            default: NoAnswerDecision::Deny,
            subscriptions,
        }
    }
}

/// Who belongs to what: the graph of a hospital.
struct GroupMembership<'v>(Option<&'v Map<String, Json>>);

impl<'v> GroupMembership<'v> {
    fn of(variables: &'v Map<String, Json>) -> GroupMembership<'v> {
        GroupMembership(variables.get("staffGraph").and_then(Json::as_object))
    }

    /// Everything that somebody belongs to, directly or not, in the order found; `None` where nobody belongs to anything.
    fn groups(&self, person: &Json) -> Option<Vec<&'v str>> {
        let graph = self.0?;
        let direct = |name: &str| graph.get(name).and_then(Json::as_array).into_iter().flatten();
        let mut found: Vec<&str> = direct(person.as_str()?).filter_map(Json::as_str).collect();
        let mut at = 0;
        while let Some(group) = found.get(at).copied() {
            for further in direct(group).filter_map(Json::as_str) {
                if !found.contains(&further) {
                    found.push(further);
                }
            }
            at += 1;
        }
        Some(found)
    }
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
