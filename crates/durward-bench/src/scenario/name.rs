//! Names of scenarios.

use std::fmt;
use std::str::FromStr;

use super::{ScenarioParts, gdrive, github, hospital, levels, scatter, small, synth, tinytodo};

/// What a name may be, for messages.
pub const SCENARIO_NAMES: &str =
    "baseline, rbac, hospital-N, github-N, gdrive-N, tinytodo-N, synth-N, scatter-N, levels-N";

/// The name of a scenario: its kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioName {
    kind: &'static ScenarioKind,
    size: usize,
}

/// Everything about a kind of scenario.
#[derive(Debug, PartialEq, Eq)]
struct ScenarioKind {
    name: &'static str,
    /// The greatest size; 0 of what has none.
    size_max: usize,
    scenario: ScenarioMaker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScenarioMaker {
    Baseline,
    Rbac,
    Hospital,
    Github,
    Gdrive,
    Tinytodo,
    Synth,
    Scatter,
    Levels,
}

/// Graphs of `github` and its like grow with the square of their size. A hospital of the greatest size has 990,005 policies.
const KINDS: [ScenarioKind; 9] = [
    ScenarioKind { name: "baseline", size_max: 0, scenario: ScenarioMaker::Baseline },
    ScenarioKind { name: "rbac", size_max: 0, scenario: ScenarioMaker::Rbac },
    ScenarioKind { name: "hospital", size_max: 30_000, scenario: ScenarioMaker::Hospital },
    ScenarioKind { name: "github", size_max: 1_000, scenario: ScenarioMaker::Github },
    ScenarioKind { name: "gdrive", size_max: 1_000, scenario: ScenarioMaker::Gdrive },
    ScenarioKind { name: "tinytodo", size_max: 1_000, scenario: ScenarioMaker::Tinytodo },
    ScenarioKind { name: "synth", size_max: 1_000_000, scenario: ScenarioMaker::Synth },
    ScenarioKind { name: "scatter", size_max: 1_000_000, scenario: ScenarioMaker::Scatter },
    ScenarioKind { name: "levels", size_max: 1_000_000, scenario: ScenarioMaker::Levels },
];

/// A name that is no scenario's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScenario {
    name: String,
    /// The greatest size of the kind, if that is what was wrong.
    size_max: Option<usize>,
}

impl fmt::Display for UnknownScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownScenario { name, size_max } = self;
        match size_max {
            Some(most) => write!(f, "`{name}` is no scenario: its size is a number from 1 to {most}"),
            None => write!(f, "`{name}` is no scenario: one of {SCENARIO_NAMES}, where N is the size"),
        }
    }
}

impl std::error::Error for UnknownScenario {}

impl FromStr for ScenarioName {
    type Err = UnknownScenario;

    fn from_str(text: &str) -> Result<ScenarioName, UnknownScenario> {
        let unknown = |size_max| UnknownScenario { name: text.to_owned(), size_max };
        let (kind, size) = match text.split_once('-') {
            Some((kind, size)) => (kind, Some(size)),
            None => (text, None),
        };
        let kind = KINDS.iter().find(|known| known.name == kind && (known.size_max > 0) == size.is_some());
        let kind = kind.ok_or_else(|| unknown(None))?;
        let Some(size) = size else { return Ok(ScenarioName { kind, size: 0 }) };
        // Only as it is written by us, so that two names are never the same scenario.
        let size = size.parse().ok().filter(|parsed: &usize| parsed.to_string() == size);
        let size = size.filter(|size| (1..=kind.size_max).contains(size));
        size.map(|size| ScenarioName { kind, size }).ok_or_else(|| unknown(Some(kind.size_max)))
    }
}

impl fmt::Display for ScenarioName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.size_max {
            0 => f.write_str(self.kind.name),
            _ => write!(f, "{}-{}", self.kind.name, self.size),
        }
    }
}

impl ScenarioName {
    /// What it is made of.
    pub(super) fn generate(&self) -> ScenarioParts {
        match self.kind.scenario {
            ScenarioMaker::Baseline => small::baseline(),
            ScenarioMaker::Rbac => small::rbac(),
            ScenarioMaker::Hospital => hospital::generate(self.size),
            ScenarioMaker::Github => github::generate(self.size),
            ScenarioMaker::Gdrive => gdrive::generate(self.size),
            ScenarioMaker::Tinytodo => tinytodo::generate(self.size),
            ScenarioMaker::Synth => synth::generate(self.size),
            ScenarioMaker::Scatter => scatter::generate(self.size),
            ScenarioMaker::Levels => levels::generate(self.size),
        }
    }
}
