//! Decisions per second, latency, build time and memory of a decision point inside this process.
//!
//! Throughput is taken over whole rounds of about 100 ms, with two clock readings per round and thread: a clock
//! reading costs as much as a fast decision. Latency is a pass of its own with a reading around every decision,
//! and what an empty reading shows is reported beside it ([`EmbeddedMeasurement::clock_ns`]).
//!
//! ```
//! use durward_bench::embedded::{RequestFormat, DecisionMode, EmbeddedPlan, RequestText, BuiltPdp, StopCondition};
//! use durward_pdp::Pdp;
//! use std::time::Duration;
//!
//! let policy = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
//!   RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/>
//!   <Rule RuleId="r" Effect="Permit"/></Policy>"#;
//! let request = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
//!   ReturnPolicyIdList="false"><Attributes Category="urn:oasis:names:tc:xacml:3.0:attribute-category:action"/>
//!   </Request>"#;
//! let requests = [RequestText { name: "1".into(), text: request.into(), form: RequestFormat::Xml }];
//! let plan = EmbeddedPlan { mode: DecisionMode::Decide, threads: 1, until: StopCondition::Elapsed(Duration::from_millis(50)) };
//! let subject = BuiltPdp::build(&|| Pdp::builder().policy("p.xml", policy))?;
//! let measured = subject.measure(&requests, &plan)?;
//! assert!(measured.decisions_per_s.median > 0.0);
//! # Ok::<(), durward_bench::embedded::BenchError>(())
//! ```

mod build;
mod latency;
mod throughput;
mod work;

use std::fmt;
use std::time::Duration;

use durward_pdp::{Counting, IndexSettings, IndexStatistics, PdpBuilder, PolicyError};

use crate::MeasurementSpread;
pub use build::BuiltPdp;
pub use latency::DecisionLatency;
pub use throughput::UNCERTAINTY_MAX;
pub use work::{RequestFormat, RequestText};

/// Warming up takes no longer.
const WARM_UP_MAX: Duration = Duration::from_millis(500);

/// What counts as one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionMode {
    /// A request that was read, and encoded for the policies in force ([`durward_pdp::Pdp::encode`]), to a decision.
    Encoded,
    /// A request that was read, to a decision. Like encoded ones, by a [`durward_pdp::Decider`] for each thread.
    Decide,
    /// The text of a request, to the text of the response in the same form.
    Text,
    /// So many encoded requests at once ([`durward_pdp::Pdp::decide_batch`]), to as many decisions. The latency of each is
    /// its share of the batch's.
    Batch(usize),
    /// So many requests that were read, at once ([`durward_pdp::Pdp::decide_requests`], [`durward_pdp::Pdp::decide_batch`]), to as
    /// many decisions.
    ReadBatch(usize),
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCondition {
    /// After this time.
    Elapsed(Duration),
    /// When the median is known: its 95 % interval is narrower than [`UNCERTAINTY_MAX`] of it; or after this time.
    Converged(Duration),
}

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedPlan {
    /// What counts as one decision.
    pub mode: DecisionMode,
    /// How many threads decide at once, each going through all requests; at least one.
    pub threads: usize,
    /// How long throughput is measured. Warming up takes a fifth of it before, half a second at most; latency half of
    /// what it took after.
    pub until: StopCondition,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct EmbeddedMeasurement {
    /// The index in use, and why, as the decision point says it.
    pub index: String,
    /// How many policies were in force.
    pub policies: usize,
    /// Decisions per second of all threads together, over rounds.
    pub decisions_per_s: MeasurementSpread,
    /// Whether the median is known: see [`StopCondition::Converged`].
    pub is_converged: bool,
    /// Decisions per second of each thread.
    pub by_thread: Vec<f64>,
    /// Decisions per second of one thread alone, where there were several: measured just before, the same way.
    pub alone: Option<MeasurementSpread>,
    /// Which part of that time the threads ran on a core, from 0 to 1: what is missing went to other processes.
    /// `None` where the system does not tell.
    pub running: Option<f64>,
    /// How long single decisions took.
    pub latency: DecisionLatency,
    /// What two readings of the clock with nothing between show: contained in every latency, but for batches.
    pub clock_ns: u64,
    /// How long building took, in milliseconds: from policy texts to a decision point ready to answer.
    pub build_ms: MeasurementSpread,
    /// By how much the resident set grew per decision point, over several built one after another; `None` where the
    /// system does not tell.
    pub bytes: Option<u64>,
}

impl EmbeddedMeasurement {
    /// How many bytes a policy takes.
    pub fn bytes_per_policy(&self) -> Option<u64> {
        self.bytes.map(|bytes| bytes / (self.policies as u64).max(1))
    }

    /// How many times one thread's rate all threads come to; `None` of one thread.
    pub fn scaling(&self) -> Option<f64> {
        self.alone.map(|alone| self.decisions_per_s.median / alone.median).filter(|times| times.is_finite())
    }
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum BenchError {
    /// The policies cannot be put in force.
    Policies(Vec<PolicyError>),
    /// A request cannot be read: its name and what is wrong.
    Request(String, String),
    /// There are no requests.
    NoRequests,
    /// There are requests of both languages, which cannot be asked in one batch.
    TwoLanguages,
    /// The measurement was too short for a single round.
    TooShort,
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Policies(errors) => match errors.first() {
                Some(first) => write!(f, "{first}"),
                None => f.write_str("the policies cannot be put in force"),
            },
            BenchError::Request(name, problem) => write!(f, "{name}: {problem}"),
            BenchError::NoRequests => f.write_str("there are no requests to measure with"),
            BenchError::TwoLanguages => f.write_str("a batch cannot hold requests of both languages"),
            BenchError::TooShort => f.write_str("not one round was completed"),
        }
    }
}

impl std::error::Error for BenchError {}

/// What an index does to find the policies for all these requests, each asked once: not timed, since counting takes
/// time of its own.
///
/// # Errors
/// Policies or requests that cannot be used.
pub fn index_work(
    builder: PdpBuilder,
    settings: IndexSettings,
    requests: &[RequestText],
) -> Result<IndexStatistics, BenchError> {
    let settings = IndexSettings { counting: Counting::On, ..settings };
    let pdp = builder.index_settings(settings).build().map_err(BenchError::Policies)?;
    let work = work::BenchRequests::read(requests)?;
    let mut decider = pdp.decider();
    (0..work.len()).for_each(|at| work.decide(&mut decider, at));
    Ok(pdp.index_statistics())
}

impl BuiltPdp {
    /// Measures.
    ///
    /// # Errors
    /// Requests that cannot be used: measuring how they are refused would be no help to anybody.
    pub fn measure(
        &self,
        requests: &[RequestText],
        plan: &EmbeddedPlan,
    ) -> Result<EmbeddedMeasurement, BenchError> {
        let work = work::BenchRequests::read(requests)?;
        let (pdp, steps) = (&self.pdp, work.len());
        match plan.mode {
            DecisionMode::Encoded | DecisionMode::Decide => {
                let work = if plan.mode == DecisionMode::Encoded { work.encoded(pdp) } else { work };
                let work = &work;
                let make = || {
                    let mut decider = pdp.decider();
                    move |at| {
                        work.decide(&mut decider, at);
                        1
                    }
                };
                self.run(&make, steps, plan)
            }
            DecisionMode::Text => {
                let work = &work;
                let make = || {
                    move |at| {
                        work.answer(pdp, at);
                        1
                    }
                };
                self.run(&make, steps, plan)
            }
            DecisionMode::Batch(size) | DecisionMode::ReadBatch(size) => {
                let is_encoded = plan.mode == DecisionMode::Batch(size);
                let work = if is_encoded { work.encoded(pdp) } else { work };
                let batches = &work.into_batches(size)?;
                let make = || {
                    let mut room = batches.room();
                    move |at| batches.decide(pdp, at, &mut room)
                };
                self.run(&make, batches.len(), plan)
            }
        }
    }

    fn run<R: FnMut(usize) -> usize>(
        &self,
        make: &(impl Fn() -> R + Sync),
        steps: usize,
        plan: &EmbeddedPlan,
    ) -> Result<EmbeddedMeasurement, BenchError> {
        let threads = plan.threads.max(1);
        let (StopCondition::Elapsed(limit) | StopCondition::Converged(limit)) = plan.until;
        throughput::rounds(make, steps, threads, StopCondition::Elapsed((limit / 5).min(WARM_UP_MAX)));
        let alone = match threads {
            1 => None,
            _ => MeasurementSpread::of(&throughput::rounds(make, steps, 1, plan.until).rates),
        };
        let rounds = throughput::rounds(make, steps, threads, plan.until);
        let latency = latency::measure(make, steps, threads, rounds.took / 2);
        let info = self.pdp.snapshot();
        let decisions_per_s = MeasurementSpread::of(&rounds.rates).ok_or(BenchError::TooShort)?;
        Ok(EmbeddedMeasurement {
            index: info.index,
            policies: info.policies,
            decisions_per_s,
            is_converged: throughput::is_converged(decisions_per_s),
            by_thread: rounds.by_thread,
            alone,
            running: rounds.running,
            latency,
            clock_ns: latency::clock_ns(),
            build_ms: self.build_ms,
            bytes: self.bytes,
        })
    }
}
