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
mod random;
mod recorded;
mod sapl;
mod scenarios;
mod text;
mod xacml;

use std::fmt;
use std::path::PathBuf;

use durward_pdp::{Counting, IndexSettings, PdpBuilder};

pub use case::Case;
pub use contest::{Contest, Disagreement, Question};
pub use random::Random;
pub use text::Text;

/// How much to ask.
#[derive(Clone, Debug)]
pub struct Plan {
    /// At least so many questions, all sources together.
    pub questions: u64,
    /// What is drawn is drawn from this.
    pub seed: u64,
    /// The folder of recorded data; without it nothing recorded is asked.
    pub data: Option<PathBuf>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Sets of policies.
    pub sets: u64,
    /// Questions, each counted once however many were asked it.
    pub questions: u64,
    /// Answers compared with the plain evaluator's.
    pub answers: u64,
}

/// A difference, with what it takes to see it again.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Where the policies and the question come from.
    pub origin: String,
    /// Both, where they are random as small as they could be made.
    pub case: Option<Case>,
    /// Who says what.
    pub disagreement: Disagreement,
}

impl fmt::Display for Difference {
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
pub fn run(plan: &Plan, mut tell: impl FnMut(&str, Count)) -> Result<Count, Box<Difference>> {
    let mut total = Count::default();
    let mut note = |source: &str, count: Count| {
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
    let asked = note("", Count::default());
    let left = plan.questions.saturating_sub(asked);
    note("random policies of SAPL", random(plan.seed, left / 2, &SAPL)?);
    note("random policies of XACML", random(plan.seed, left - left / 2, &XACML)?);
    Ok(total)
}

impl Count {
    fn add(&mut self, other: Count) {
        self.sets += other.sets;
        self.questions += other.questions;
        self.answers += other.answers;
    }
}

/// Where random policies and questions come from.
struct Language {
    name: &'static str,
    policies: fn(&mut Random) -> Vec<(String, Text)>,
    question: fn(&mut Random) -> Text,
    besides: fn(PdpBuilder) -> PdpBuilder,
}

const SAPL: Language = Language {
    name: "SAPL",
    policies: sapl::policies,
    question: sapl::subscription,
    besides: |builder| builder,
};

const XACML: Language = Language {
    name: "XACML",
    policies: xacml::policies,
    question: xacml::request,
    besides: |builder| builder.source(xacml::Source),
};

fn random(seed: u64, questions: u64, language: &Language) -> Result<Count, Box<Difference>> {
    let mut count = Count::default();
    let mut number = 0_u64;
    while count.questions < questions {
        let mut random = Random::new(seed.wrapping_add(number.wrapping_mul(0x1_0000_0001)));
        count.add(random_set(&mut random, language).map_err(|mut difference| {
            difference.origin = format!("random policies of {}, seed {seed}, set {number}", language.name);
            difference
        })?);
        number += 1;
    }
    Ok(count)
}

/// Asks one random set of policies.
fn random_set(random: &mut Random, language: &Language) -> Result<Count, Box<Difference>> {
    let settings = settings(random);
    let mut documents = (language.policies)(random);
    let make = |documents: &[(String, Text)]| case::builder(documents, &language.besides);
    let shown = |documents: &[(String, Text)], question: Text, disagreement| {
        let case = Case { documents: documents.to_vec(), question }.smaller(&language.besides, &settings);
        let disagreement = case.disagreement(&language.besides, &settings).unwrap_or(disagreement);
        Box::new(Difference { origin: String::new(), case: Some(case), disagreement })
    };
    let build = |documents: &[(String, Text)]| {
        Contest::build(&|| make(documents), Some(&settings))
            .map_err(|disagreement| shown(documents, (language.question)(&mut Random::new(0)), disagreement))
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
    let Some(contest) = contest else { return Ok(Count::default()) };
    let mut count = Count { sets: 1, ..Count::default() };
    let mut asked = Vec::new();
    for _ in 0..QUESTIONS_EACH {
        let text = (language.question)(random);
        let Ok(question) = Question::read(&text.to_string()) else { continue };
        match contest.ask(&question) {
            Ok(0) => {}
            Ok(answers) => count.add(Count { sets: 0, questions: 1, answers }),
            Err(disagreement) => return Err(shown(&documents, text, disagreement)),
        }
        asked.push((text, question));
    }
    let (texts, questions): (Vec<Text>, Vec<Question>) = asked.into_iter().unzip();
    count.answers += contest.ask_together(&questions).map_err(|(number, disagreement)| {
        shown(&documents, texts.get(number).cloned().unwrap_or_default(), disagreement)
    })?;
    Ok(count)
}

/// Indexes that may be too small for the policies.
fn settings(random: &mut Random) -> IndexSettings {
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
