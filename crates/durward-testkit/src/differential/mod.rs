//! Every index, every way to ask, against the plain evaluator: recorded questions, those of the scenarios that are
//! measured with, and random policies of both languages.
//!
//! "Plain" is a decision point that was built with [`PdpBuilder::plain`]: no index, no atoms, nothing computed ahead that
//! could be left for the question, nothing remembered. The others are asked each question as it was read and once more
//! encoded, and, in SAPL, with attribute finders that have yet to answer. What is compared is the whole answer as text:
//! decision, status, obligations and advice in their order, transformed resource, policies that applied.

mod case;
mod contest;
mod hostile;
mod plan_cases;
mod plan_lines;
mod plans;
mod recorded;
mod sapl;
mod scenarios;
mod text;
mod xacml;

use std::fmt;
use std::path::PathBuf;

use durward_pdp::{Counting, IndexSettings, PdpBuilder};

pub use case::DifferentialCase;
pub use contest::{ContestQuestion, Disagreement, EvaluatorContest, QuestionError};
pub use durward_testdata::TestRandom;
pub use plan_cases::{PlanCase, plan_cases};
pub use plan_lines::{PlanLineError, is_filter, plan_line};
pub use plans::{PlanCount, PlanDifference, compare_plans};
pub use text::ShrinkableText;

/// How much to ask.
#[derive(Clone, Debug)]
pub struct DifferentialPlan {
    /// At least so many questions, all sources together.
    pub questions: u64,
    /// What is drawn is drawn from this.
    pub seed: u64,
    /// The folder of recorded data; without it nothing recorded is asked.
    pub data: Option<PathBuf>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComparedCount {
    /// Sets of policies.
    pub sets: u64,
    /// Questions, each counted once however many were asked it.
    pub questions: u64,
    /// Answers compared with the plain evaluator's.
    pub answers: u64,
}

/// A difference, with what it takes to see it again.
#[derive(Clone, Debug)]
pub struct DifferentialFailure {
    /// Where the policies and the question come from.
    pub origin: String,
    /// Both, where they are random as small as they could be made.
    pub case: Option<DifferentialCase>,
    /// Who says what.
    pub disagreement: Disagreement,
}

impl fmt::Display for DifferentialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { who, plain, found } = &self.disagreement;
        writeln!(f, "{}: `{who}` differs from the plain evaluator", self.origin)?;
        if let Some(case) = &self.case {
            writeln!(f, "{case}")?;
        }
        write!(f, "--- the plain evaluator\n{plain}\n--- {who}\n{found}")
    }
}

/// Questions for each random set of policies.
const QUESTIONS_EACH: u64 = 40;

/// Runs all sources, one after another; `tell` hears how much each compared.
///
/// # Errors
/// The first difference.
pub fn run(
    plan: &DifferentialPlan,
    mut tell: impl FnMut(&str, ComparedCount),
) -> Result<ComparedCount, Box<DifferentialFailure>> {
    let mut total = ComparedCount::default();
    let mut note = |source: &str, count: ComparedCount| {
        total.add(count);
        tell(source, count);
        total.questions
    };
    if let Some(data) = &plan.data {
        for (source, count) in recorded::run(data, plan.questions / 5)? {
            note(&source, count);
        }
    }
    for (source, count) in scenarios::run(plan.seed, plan.questions / 5)? {
        note(&source, count);
    }
    let asked = note("", ComparedCount::default());
    let left = plan.questions.saturating_sub(asked);
    note("random policies of SAPL", random(plan.seed, left / 2, &SAPL)?);
    note("random policies of XACML", random(plan.seed, left - left / 2, &XACML)?);
    Ok(total)
}

impl ComparedCount {
    fn add(&mut self, other: ComparedCount) {
        self.sets += other.sets;
        self.questions += other.questions;
        self.answers += other.answers;
    }
}

/// Where random policies and questions come from.
struct PolicyLanguage {
    name: &'static str,
    policies: fn(&mut TestRandom) -> Vec<(String, ShrinkableText)>,
    question: fn(&mut TestRandom) -> ShrinkableText,
    besides: fn(PdpBuilder) -> PdpBuilder,
}

const SAPL: PolicyLanguage = PolicyLanguage {
    name: "SAPL",
    policies: sapl::policies,
    question: sapl::subscription,
    besides: |builder| builder,
};

const XACML: PolicyLanguage = PolicyLanguage {
    name: "XACML",
    policies: xacml::policies,
    question: xacml::request,
    besides: |builder| builder.source(xacml::SubjectSource),
};

fn random(
    seed: u64,
    questions: u64,
    language: &PolicyLanguage,
) -> Result<ComparedCount, Box<DifferentialFailure>> {
    let mut count = ComparedCount::default();
    let mut number = 0_u64;
    while count.questions < questions {
        let mut random = TestRandom::new(seed.wrapping_add(number.wrapping_mul(0x1_0000_0001)));
        count.add(random_set(&mut random, language).map_err(|mut difference| {
            difference.origin = format!("random policies of {}, seed {seed}, set {number}", language.name);
            difference
        })?);
        number += 1;
    }
    Ok(count)
}

/// Asks one random set of policies.
fn random_set(
    random: &mut TestRandom,
    language: &PolicyLanguage,
) -> Result<ComparedCount, Box<DifferentialFailure>> {
    let settings = settings(random);
    let mut documents = (language.policies)(random);
    let make = |documents: &[(String, ShrinkableText)]| case::builder(documents, &language.besides);
    let shown = |documents: &[(String, ShrinkableText)], question: ShrinkableText, disagreement| {
        let case = DifferentialCase { documents: documents.to_vec(), question }
            .smaller(&language.besides, &settings);
        let disagreement = case.disagreement(&language.besides, &settings).unwrap_or(disagreement);
        Box::new(DifferentialFailure { origin: String::new(), case: Some(case), disagreement })
    };
    let build = |documents: &[(String, ShrinkableText)]| {
        EvaluatorContest::build(&|| make(documents), Some(&settings)).map_err(|disagreement| {
            shown(documents, (language.question)(&mut TestRandom::new(0)), disagreement)
        })
    };
    let mut contest = build(&documents)?;
    if contest.is_none() {
        // What is refused for itself spoils the others no longer.
        let configuration = documents.first().cloned();
        documents.retain(|one| {
            let alone: Vec<_> = configuration.iter().filter(|other| other.0 != one.0).cloned().collect();
            let is_policy = one.0 != "pdp.json";
            !is_policy || make(&[alone, vec![one.clone()]].concat()).plain().build().is_ok()
        });
        contest = build(&documents)?;
    }
    let Some(contest) = contest else { return Ok(ComparedCount::default()) };
    let mut count = ComparedCount { sets: 1, ..ComparedCount::default() };
    let mut asked = Vec::new();
    for _ in 0..QUESTIONS_EACH {
        let text = (language.question)(random);
        let Ok(question) = ContestQuestion::read(&text.to_string()) else { continue };
        match contest.ask(&question) {
            Ok(0) => {}
            Ok(answers) => count.add(ComparedCount { sets: 0, questions: 1, answers }),
            Err(disagreement) => return Err(shown(&documents, text, disagreement)),
        }
        asked.push((text, question));
    }
    let (texts, questions): (Vec<ShrinkableText>, Vec<ContestQuestion>) = asked.into_iter().unzip();
    count.answers += contest.ask_together(&questions).map_err(|(number, disagreement)| {
        shown(&documents, texts.get(number).cloned().unwrap_or_default(), disagreement)
    })?;
    Ok(count)
}

/// Indexes that may be too small for the policies.
fn settings(random: &mut TestRandom) -> IndexSettings {
    let defaults = IndexSettings::default();
    IndexSettings {
        bloom_bits: random.of(&[64, 128, 512]),
        bloom_hashes: random.of(&[0, 1, 4, 100]),
        counting: if random.percent(50) { Counting::On } else { Counting::Off },
        canonical_ways_max: random.of(&[0, 1, 3, defaults.canonical_ways_max]),
        canonical_conjunctions_max: random.of(&[0, 2, 9, defaults.canonical_conjunctions_max]),
        diagram_nodes_max: random.of(&[0, 1, 5, defaults.diagram_nodes_max]),
        diagram_entries_max: random.of(&[0, 7, 50, defaults.diagram_entries_max]),
        necessary_atoms_max: random.of(&[0, 1, 3, defaults.necessary_atoms_max]),
    }
}
