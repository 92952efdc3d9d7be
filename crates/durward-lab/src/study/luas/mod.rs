//! The Luas study: decision points as HTTP servers of one core and 512 MB each, under the bursts of the paper (`paper`).
//!
//! [`prepare`] builds what can be built here, lets each engine decide every question once, and gives a [`Study`] of what is then
//! measured: each engine freshly started, as the paper's containers were, and warm. Luas itself cannot be had any more.

mod agree;
mod build;
mod conference;
mod engine;
mod figures;
mod page;
pub mod paper;
mod pictures;
mod policies;

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

pub use engine::{EngineError, EngineFile, EngineStart, StudyEngine, known};
pub use policies::{PoliciesError, StudyPolicies, StudyQuestion};

use super::{Study, StudyDigest, StudyRun};
use crate::report::Document;
use agree::EngineAnswers;
use paper::{BURSTS, CORES, MEMORY, SENT, TIMEOUT_ATT_S, TIMEOUT_S, USERS};

/// Seconds that are watched after a fresh start: five of bursts, and as many of rest.
const COLD_S: f64 = 10.0;
/// Seconds of bursts before a warm engine is measured, and while it is.
const WARM_S: (f64, f64) = (10.0, 5.0);
/// How often each load is measured in the full form.
const FULL_REPEAT: u32 = 3;
/// So many questions show whether an engine that reads its policies for every request is right.
const ANEW_QUESTIONS: usize = 20;
/// What the study writes for the engines, below its directory.
const INPUT: &str = "input";

/// What is measured, and where.
#[derive(Clone, Debug)]
pub struct LuasSetup {
    /// Whether each load is measured several times.
    pub is_full: bool,
    /// Requests in all, in place of the paper's 500 to 2000.
    pub sent: Option<Vec<u64>>,
    /// Seconds of warm-up of a warm engine, and of measuring, in place of the study's own.
    pub seconds: Option<(f64, f64)>,
    /// In their order.
    pub engines: Vec<StudyEngine>,
    /// What they get.
    pub policies: StudyPolicies,
    /// Where engines are built.
    pub cache: PathBuf,
    /// The study's directory, from the root.
    pub directory: PathBuf,
    /// Names of the runs that are wanted; empty: all.
    pub only: Vec<String>,
    /// Whether what an earlier start found out counts.
    pub is_resumed: bool,
}

/// What is known of the engines beside what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyFacts {
    /// What the policies are, in words.
    pub policies: String,
    /// How many questions were asked.
    pub questions: usize,
    /// Of how many the right decision is known: recorded, or what most engines say.
    pub known: usize,
    /// One for each engine.
    pub engines: Vec<EngineFacts>,
}

/// What is known of an engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Its name.
    pub name: String,
    /// What reports call it.
    pub title: String,
    /// Why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// How many questions it was asked before anything was measured.
    #[serde(default)]
    pub asked: usize,
    /// How many of them it answered wrongly.
    #[serde(default)]
    pub wrong: usize,
    /// The first wrong answer, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// From its start until it was ready, in milliseconds, under its limits.
    #[serde(default)]
    pub ready_ms: f64,
    /// What must be brought to a machine for it.
    #[serde(default)]
    pub shipped: Vec<EngineFile>,
}

/// Why the study cannot be prepared.
#[derive(Debug)]
pub enum PrepareError {
    /// A file cannot be written.
    Write(PathBuf, io::Error),
    /// Of no engine anything can be measured: each with the reason.
    NoEngine(Vec<String>),
    /// Of no question is known what is right.
    NothingKnown,
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrepareError::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            PrepareError::NoEngine(why) => write!(f, "no engine can be measured: {}", why.join("; ")),
            PrepareError::NothingKnown => f.write_str(
                "of no question the right decision is known: none was recorded, and the engines do not agree on any",
            ),
        }
    }
}

impl std::error::Error for PrepareError {}

/// All runs of the study, before it is known which can be made here: to list them.
pub fn study(setup: &LuasSetup) -> Study {
    let runs = setup.engines.iter().flat_map(|engine| setup.runs(engine)).collect();
    let form = if setup.is_full { "full" } else { "quick" };
    Study { name: "luas", form: form.to_owned(), runs, document }
}

/// What the figures of a run of the study come to.
pub fn document(digest: &StudyDigest) -> Document {
    page::document(digest)
}

/// Builds engines, asks them, writes what the runs need. Gives the runs that can be made here, and what [`StudyDigest::facts`] is to
/// hold. An engine that cannot be had or started is left out, and the facts say why.
///
/// # Errors
/// See [`PrepareError`].
pub fn prepare(
    setup: &LuasSetup,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(Study, StudyFacts), PrepareError> {
    let put = |path: &Path, text: &str| {
        let folder = path.parent().unwrap_or(path);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
        written.map_err(|error| PrepareError::Write(path.to_owned(), error))
    };
    put(&setup.policy(), &setup.policies.xml)?;
    let mut facts = Vec::new();
    let mut answers = Vec::new();
    let wanted = |engine: &&StudyEngine| setup.runs(engine).iter().any(|run| setup.is_wanted(run));
    for engine in setup.engines.iter().filter(wanted) {
        match setup.ask(engine, stop, tell) {
            Ok(said) => answers.push((engine, said)),
            Err(why) => {
                tell(&format!("left out: {}: {why}", engine.title));
                facts.push(EngineFacts { missing: Some(why), ..EngineFacts::of(engine) });
            }
        }
    }
    if answers.is_empty() {
        let why =
            |one: &EngineFacts| format!("{}: {}", one.title, one.missing.as_deref().unwrap_or_default());
        return Err(PrepareError::NoEngine(facts.iter().map(why).collect()));
    }
    let questions = &setup.policies.questions;
    let right = agree::right(questions, &answers.iter().map(|(_, said)| said).collect::<Vec<_>>());
    put(&setup.questions(), &with_decisions(questions, &right).ok_or(PrepareError::NothingKnown)?)?;
    for (engine, said) in &answers {
        let (wrong, example) = agree::wrong(questions, &right, said);
        if let Some(example) = &example {
            tell(&format!(
                "WRONG: {}: {wrong} of {} decisions; {example}",
                engine.title,
                said.decisions.len()
            ));
        }
        facts.push(EngineFacts {
            asked: said.decisions.len(),
            wrong,
            example,
            ready_ms: said.ready_ms,
            shipped: setup.shipped(engine),
            ..EngineFacts::of(engine)
        });
    }
    facts.sort_by_key(|one| setup.engines.iter().position(|engine| engine.name == one.name));
    let facts = StudyFacts {
        policies: setup.policies.about.clone(),
        questions: questions.len(),
        known: right.iter().flatten().count(),
        engines: facts,
    };
    let has = |engine: &StudyEngine| answers.iter().any(|(one, _)| one.name == engine.name);
    let runs = setup.engines.iter().filter(|engine| has(engine)).flat_map(|engine| setup.runs(engine));
    let study = Study { runs: runs.filter(|run| setup.is_wanted(run)).collect(), ..study(setup) };
    Ok((study, facts))
}

/// Lines with a question and what is right, for the load; `None` where nothing is known.
fn with_decisions(questions: &[StudyQuestion], right: &[Option<String>]) -> Option<String> {
    let known = questions.iter().zip(right).filter_map(|(question, right)| Some((question, right.as_ref()?)));
    let line = |(question, right): (&StudyQuestion, &String)| {
        // A request may lie on several lines, which the load sends as they are.
        serde_json::json!({ "id": question.id, "xml": question.xml, "decision": right }).to_string() + "\n"
    };
    let text: String = known.map(line).collect();
    (!text.is_empty()).then_some(text)
}

impl EngineFacts {
    fn of(engine: &StudyEngine) -> EngineFacts {
        EngineFacts { name: engine.name.clone(), title: engine.title.clone(), ..EngineFacts::default() }
    }
}

impl LuasSetup {
    fn is_wanted(&self, run: &StudyRun) -> bool {
        self.only.is_empty() || self.only.contains(&run.name)
    }

    fn policy(&self) -> PathBuf {
        self.directory.join(INPUT).join("policies/policy.xml")
    }

    fn questions(&self) -> PathBuf {
        self.directory.join(INPUT).join("questions.jsonl")
    }

    /// Builds an engine and lets it decide every question.
    fn ask(
        &self,
        engine: &StudyEngine,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<EngineAnswers, String> {
        if let Some(java) = engine.java() {
            fs::create_dir_all(&self.cache).map_err(|error| format!("{}: {error}", self.cache.display()))?;
            java.build(&self.cache, stop, tell)?;
        }
        let all = &self.policies.questions;
        let some = all.get(..ANEW_QUESTIONS.min(all.len())).unwrap_or_default();
        let questions = if engine.is_anew() { some } else { all.as_slice() };
        tell(&format!("{} decides {} questions", engine.title, questions.len()));
        let file = self.directory.join(INPUT).join(format!("answers-{}.json", engine.name));
        let scenario = self.scenario(engine, "cold", &self.cold(1));
        EngineAnswers::of(&scenario, questions, &self.policies.fingerprint(), &file, self.is_resumed, stop)
    }

    fn shipped(&self, engine: &StudyEngine) -> Vec<EngineFile> {
        match (&engine.start, engine.java()) {
            (_, Some(java)) => java.shipped(&self.cache),
            (EngineStart::Durward(program), None) => {
                let bytes = fs::metadata(program).map_or(0, |file| file.len());
                vec![EngineFile { what: "the program".to_owned(), bytes }]
            }
            (
                EngineStart::Java { .. }
                | EngineStart::Command(_)
                | EngineStart::Image(..)
                | EngineStart::Address(_),
                None,
            ) => Vec::new(),
        }
    }

    /// What is measured of an engine.
    fn runs(&self, engine: &StudyEngine) -> Vec<StudyRun> {
        let repeat = if self.is_full { FULL_REPEAT } else { 1 };
        let run = |name: &str, about: &str, load: &str| {
            let about = format!("{}, {about}", engine.title);
            StudyRun::new(&format!("{}-{name}", engine.name), &about, self.scenario(engine, name, load))
        };
        if engine.is_anew() {
            // Minutes each: the quick form has the smallest.
            let sent = self.sent.clone().unwrap_or_else(|| {
                SENT.get(..if self.is_full { SENT.len() } else { 1 }).unwrap_or(&SENT).to_vec()
            });
            return sent
                .iter()
                .map(|sent| run(&sent.to_string(), "freshly started", &self.anew(*sent)))
                .collect();
        }
        vec![
            run("cold", "freshly started for each load", &self.cold(repeat)),
            run("warm", "after ten seconds of the same load", &self.warm(repeat)),
        ]
    }

    /// Sizes of bursts that come to so many requests.
    fn bursts(sent: &[u64], bursts: u64) -> Vec<u64> {
        sent.iter().map(|sent| sent.div_ceil(bursts)).collect()
    }

    /// How many bursts fit into so many seconds, the paper's five at most.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a measurement")]
    fn count(seconds: f64) -> u64 {
        (seconds as u64).clamp(1, BURSTS)
    }

    /// As many connections as requests, so that each is sent when it is due: none waits in the generator for one that is slow.
    fn connections(&self) -> u64 {
        self.sent().iter().copied().max().unwrap_or(0).max(USERS)
    }

    fn sent(&self) -> &[u64] {
        self.sent.as_deref().unwrap_or(&SENT)
    }

    fn cold(&self, repeat: u32) -> String {
        let measure = self.seconds.map_or(COLD_S, |(_, measure)| measure);
        let bursts = LuasSetup::count(measure);
        format!(
            "arrivals = {{ burst = {:?}, every = \"1s\", bursts = {bursts} }}\nwarm_up = \"0s\"\nmeasure = \"{measure}s\"\n\
             restart = true\nrepeat = {repeat}\ntimeout = \"{TIMEOUT_S}s\"\n",
            LuasSetup::bursts(self.sent(), bursts)
        )
    }

    fn warm(&self, repeat: u32) -> String {
        let (warm_up, measure) = self.seconds.unwrap_or(WARM_S);
        // All bursts that are due are counted: as many as there are seconds.
        let bursts = LuasSetup::count(measure);
        format!(
            "arrivals = {{ burst = {:?}, every = \"1s\" }}\nwarm_up = \"{warm_up}s\"\nmeasure = \"{measure}s\"\nrepeat = {repeat}\n\
             timeout = \"{TIMEOUT_S}s\"\n",
            LuasSetup::bursts(self.sent(), bursts)
        )
    }

    /// One load of an engine that takes minutes for it: watched until the last answer may come.
    fn anew(&self, sent: u64) -> String {
        let timeout = if sent > 1000 { TIMEOUT_ATT_S } else { TIMEOUT_S };
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let measure = self.seconds.map_or((timeout + BURSTS) as f64, |(_, measure)| measure);
        let bursts = LuasSetup::count(measure);
        format!(
            "arrivals = {{ burst = {:?}, every = \"1s\", bursts = {bursts} }}\nwarm_up = \"0s\"\nmeasure = \"{measure}s\"\n\
             timeout = \"{timeout}s\"\n",
            LuasSetup::bursts(&[sent], bursts)
        )
    }

    /// The scenario of a run.
    fn scenario(&self, engine: &StudyEngine, name: &str, load: &str) -> String {
        let policies = self.policy();
        let policies = policies.parent().unwrap_or(&self.directory).display().to_string();
        let limits = if engine.is_limited() {
            format!("limits = {{ cpus = {CORES:?}, memory = \"{MEMORY}\" }}\nready_within_s = 180\n")
        } else {
            String::new()
        };
        format!(
            "# Policies and questions: {}\nname = {}\nseed = 2020\n\n[target]\n{}{limits}\n[load]\n{load}connections = {}\n\n\
             [data.questions]\nfile = {}\norder = \"next\"\n\n[[steps]]\nname = \"decide\"\npath = \"/pdp\"\nbody = \"${{data.questions.xml}}\"\n\
             headers.Content-Type = \"application/xacml+xml; version=3.0\"\nheaders.Accept = \"application/xacml+xml; version=3.0\"\n\
             expect.status = 200\nexpect.contains = \"Decision>${{data.questions.decision}}<\"\n",
            self.policies.fingerprint(),
            toml::Value::from(format!("Luas study: {}-{name}", engine.name)),
            engine.target(&self.cache, &policies),
            self.connections(),
            toml::Value::from(self.questions().display().to_string()),
        )
    }
}

/// Sixteen digits that change with the texts. Not against anybody who wants them to be the same.
fn fingerprint<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = DefaultHasher::new();
    texts.into_iter().for_each(|text| text.hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}
