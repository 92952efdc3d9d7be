//! One user: a small machine that runs the program of a plan. No thread, no task: some hundred bytes.

use super::plan::{CaptureCondition, FillSource, LoadPlan, PlanOp, ns};
use crate::random::LabRandom;
use crate::scenario::{DataOrder, ThinkTime};

/// No connection, no request.
pub(super) const NONE: u32 = u32::MAX;

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextAction {
    /// Sends this request.
    Ask(usize),
    /// Has come to the end of the program, and begins again.
    TurnOver,
}

/// One user, or a place for one arrival at a time.
#[derive(Debug)]
pub(super) struct LoadUser {
    pub(super) number: u64,
    pub(super) random: LabRandom,
    captures: Box<[Option<Box<str>>]>,
    counters: Box<[u32]>,
    rows: Box<[u32]>,
    op: u32,
    /// The node of a user who sticks to one, and of the request under way.
    pub(super) node: u32,
    /// The connection of a user who has one of their own.
    pub(super) own: u32,
    /// The request that is due, and when it is.
    pub(super) request: u32,
    pub(super) due: u64,
    /// Since when the user could have sent it.
    pub(super) free_since: u64,
    /// Whether the next request is the first of a user or an arrival, due when that begins.
    pub(super) is_first: bool,
    /// Whether the last request failed so that the next should wait.
    pub(super) has_to_pause: bool,
}

impl LoadUser {
    /// A user with this number among all of a run.
    pub(super) fn new(number: u64, seed: u64, plan: &LoadPlan) -> LoadUser {
        let mut user = LoadUser {
            number,
            random: LabRandom::of_part(seed, number),
            captures: vec![None; plan.capture_count].into_boxed_slice(),
            counters: vec![0; plan.loop_count].into_boxed_slice(),
            rows: vec![0; plan.tables.len()].into_boxed_slice(),
            op: 0,
            node: 0,
            own: NONE,
            request: NONE,
            due: 0,
            free_since: 0,
            is_first: true,
            has_to_pause: false,
        };
        for (row, (table, _)) in user.rows.iter_mut().zip(&plan.tables) {
            *row = u32::try_from(number % (table.rows.len().max(1) as u64)).unwrap_or(0);
        }
        user
    }

    /// Runs the program up to the next request or its end.
    pub(super) fn next(&mut self, plan: &LoadPlan) -> NextAction {
        loop {
            let Some(op) = plan.ops.get(self.op as usize) else {
                self.op = 0;
                self.turn_rows(plan);
                return NextAction::TurnOver;
            };
            self.op += 1;
            match op {
                PlanOp::Ask(request) => return NextAction::Ask(*request),
                PlanOp::Unless { condition, percent, to } => {
                    if !self.holds(*condition) || !self.random.happens(*percent) {
                        self.op = u32::try_from(*to).unwrap_or(NONE);
                    }
                }
                PlanOp::Again { times, counter, back } => {
                    if let Some(done) = self.counters.get_mut(*counter) {
                        *done += 1;
                        if *done < *times {
                            self.op = u32::try_from(*back).unwrap_or(NONE);
                        } else {
                            *done = 0;
                        }
                    }
                }
            }
        }
    }

    fn holds(&self, condition: CaptureCondition) -> bool {
        let has = |capture: usize| self.captures.get(capture).is_some_and(Option::is_some);
        match condition {
            CaptureCondition::Always => true,
            CaptureCondition::Has(capture) => has(capture),
            CaptureCondition::Lacks(capture) => !has(capture),
        }
    }

    /// Leaves the rest of a turn: after a request that failed.
    pub(super) fn end_turn(&mut self) {
        self.op = NONE;
        self.counters.fill(0);
    }

    fn turn_rows(&mut self, plan: &LoadPlan) {
        for (row, (table, order)) in self.rows.iter_mut().zip(&plan.tables) {
            let count = table.rows.len().max(1);
            match order {
                DataOrder::User => {}
                DataOrder::Random => *row = u32::try_from(self.random.below(count)).unwrap_or(0),
                DataOrder::Next => *row = u32::try_from((*row as usize + 1) % count).unwrap_or(0),
            }
        }
    }

    /// How long the user thinks, in nanoseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "not below 0; casts saturate"
    )]
    pub(super) fn think(&mut self, think: ThinkTime) -> u64 {
        match think {
            ThinkTime::None => 0,
            ThinkTime::Constant(time) => ns(time.0),
            ThinkTime::Exponential(mean) => self.random.exponential(ns(mean.0) as f64) as u64,
        }
    }

    /// What fills requests.
    pub(super) fn fill(&self, request: u64) -> FillSource<'_> {
        FillSource { captures: &self.captures, rows: &self.rows, user: self.number, request }
    }

    pub(super) fn capture(&mut self, number: usize, value: Box<str>) {
        if let Some(capture) = self.captures.get_mut(number) {
            *capture = Some(value);
        }
    }

    pub(super) fn forget(&mut self, captures: &[usize]) {
        for number in captures {
            if let Some(capture) = self.captures.get_mut(*number) {
                *capture = None;
            }
        }
    }
}
