//! What a scenario comes to for one curve: a small program that each user runs, with requests whose fixed parts are written.

mod compile;
mod form;

use std::collections::BTreeMap;
use std::time::Duration;

use regex::bytes::Regex;

use super::address::TargetNode;
use super::wire::{AnswerWants, LoadProtocol};
use crate::scenario::template::{self, TemplateFilter};
use crate::scenario::{DataOrder, DataTable, Scenario, ScenarioError, ScenarioStep, ThinkTime};
use compile::PlanCompiler;
pub(super) use form::RequestForm;

/// What stands for captures while the generator is measured against a server that answers nothing to capture.
const STAND_IN: &str = "durward-lab-stand-in-0123456789ab";

/// What each user does, for all nodes.
#[derive(Debug)]
pub(crate) struct LoadPlan {
    /// The program; at its end it begins again.
    pub(super) ops: Vec<PlanOp>,
    /// What is asked, in the order of the scenario.
    pub(super) requests: Vec<PlannedRequest>,
    /// How many captures and loops a user has.
    pub(super) capture_count: usize,
    pub(super) loop_count: usize,
    pub(super) tables: Vec<(DataTable, DataOrder)>,
    pub(super) nodes: Vec<TargetNode>,
    /// What is spoken to all of them.
    pub(super) protocol: LoadProtocol,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlanOp {
    /// Goes on at `to` unless the condition holds and chance has it.
    Unless { condition: CaptureCondition, percent: f64, to: usize },
    /// Asks.
    Ask(usize),
    /// Goes back so many times in all.
    Again { times: u32, counter: usize, back: usize },
}

/// What captures must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaptureCondition {
    Always,
    Has(usize),
    Lacks(usize),
}

/// One request.
#[derive(Debug)]
pub(super) struct PlannedRequest {
    pub(super) name: String,
    /// What is written.
    pub(super) form: RequestForm,
    pub(super) wants: AnswerWants,
    pub(super) check: AnswerCheck,
    /// The user thinks so long before it; `None`: as `load.think` says.
    pub(super) think: Option<ThinkTime>,
    pub(super) timeout_ns: u64,
    /// How long its stream is held; `None` where one answer is expected.
    pub(super) hold: Option<StreamHold>,
}

/// How long a stream is held, from its first item on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamHold {
    /// For so long; `None`: as long as items come in time, until there were `count`.
    pub(super) time_ns: Option<u64>,
    /// Until so many items came.
    pub(super) count: u64,
}

/// Part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestPiece {
    Text(Vec<u8>),
    Capture(usize, TemplateFilter),
    Data { table: usize, column: usize, filter: TemplateFilter },
    User,
    Request,
}

/// What a right answer is, and what is taken from it.
#[derive(Debug, Default)]
pub(super) struct AnswerCheck {
    pub(super) statuses: Vec<u16>,
    pub(super) json: Vec<(String, ExpectedValue)>,
    pub(super) contains: Vec<Vec<RequestPiece>>,
    pub(super) captures: Vec<(usize, String, CaptureSource)>,
    pub(super) forget: Vec<usize>,
    pub(super) forget_on_error: Vec<usize>,
}

/// What stands at a JSON pointer.
#[derive(Debug)]
pub(super) enum ExpectedValue {
    Value(serde_json::Value),
    Text(Vec<RequestPiece>),
}

/// Where a capture is.
#[derive(Debug)]
pub(super) enum CaptureSource {
    Json(String),
    /// The number of the header among [`AnswerWants::headers`].
    Header(usize, Option<Regex>),
    Body(Regex),
}

/// What fills a request.
pub(super) struct FillSource<'u> {
    pub(super) captures: &'u [Option<Box<str>>],
    pub(super) rows: &'u [u32],
    pub(super) user: u64,
    pub(super) request: u64,
}

impl LoadPlan {
    /// What reports call the steps that ask, in the order of the scenario.
    pub(crate) fn step_names(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(|request| request.name.as_str())
    }

    /// The addresses of nodes, in their order.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// Makes requests of a scenario's steps for these nodes, with these values of what is varied.
    ///
    /// # Errors
    /// A file or variable that is not there, a column that no table has, a number that is none.
    pub(crate) fn new(
        scenario: &Scenario,
        vary: &BTreeMap<String, String>,
        nodes: &[TargetNode],
    ) -> Result<LoadPlan, ScenarioError> {
        let mut compiler = PlanCompiler::new(scenario, vary, nodes)?;
        for (line, step) in scenario.outer_steps() {
            compiler.step(step).map_err(|error| error.in_line(line))?;
        }
        let PlanCompiler { ops, requests, captures, loop_count, tables, protocol, .. } = compiler;
        let tables = tables.into_iter().map(|(_, table, order)| (table, order)).collect();
        let nodes = nodes.to_vec();
        Ok(LoadPlan { ops, requests, capture_count: captures.len(), loop_count, tables, nodes, protocol })
    }

    /// The same requests, whose answers may be anything: for a server that does nothing.
    pub(crate) fn blind(mut self) -> LoadPlan {
        for request in &mut self.requests {
            request.check = AnswerCheck::default();
            request.wants = AnswerWants { is_head: request.wants.is_head, ..AnswerWants::default() };
            // Over RSocket a stream stays one, and is given up after its first item.
            let is_stream = matches!(&request.form, RequestForm::Rsocket(form) if form.is_stream);
            request.hold = is_stream.then_some(StreamHold { time_ns: None, count: 1 });
            request.form.each_piece(|piece| {
                if matches!(piece, RequestPiece::Capture(..)) {
                    *piece = RequestPiece::Text(STAND_IN.as_bytes().to_vec());
                }
            });
        }
        self.ops.retain(|op| matches!(op, PlanOp::Ask(_)));
        self
    }

    /// The request that a turn begins with, as far as that is the same for all.
    pub(super) fn first(&self) -> usize {
        let first =
            self.ops.iter().find_map(|op| if let PlanOp::Ask(request) = op { Some(*request) } else { None });
        first.unwrap_or(0)
    }
}

impl Scenario {
    fn outer_steps(&self) -> Vec<(usize, &ScenarioStep)> {
        let lines = self.all_steps();
        let line_of = |step: &ScenarioStep| {
            lines.iter().find(|(_, one)| std::ptr::eq(*one, step)).map_or(1, |(line, _)| *line)
        };
        self.steps.iter().map(|step| (line_of(step.get_ref()), step.get_ref())).collect()
    }
}

/// Nanoseconds of a time; as many as there are at most.
pub(super) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A capture that a request needs is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MissingCapture;

impl From<MissingCapture> for super::cause::FailureCause {
    fn from(_: MissingCapture) -> super::cause::FailureCause {
        super::cause::FailureCause::NoCapture
    }
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"Content-Length: ");
    write_number(out, length as u64);
    out.extend_from_slice(b"\r\n\r\n");
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    use std::io::Write;
    // Writing into memory does not fail.
    let _ = write!(out, "{number}");
}

/// Values from answers and tables cannot end a line of the head, so they cannot add headers or requests.
fn drop_controls(out: &mut Vec<u8>, start: usize) {
    let has = out.get(start..).unwrap_or_default().iter().any(|byte| *byte < 0x20 || *byte == 0x7f);
    if has {
        let tail: Vec<u8> = out.drain(start..).filter(|byte| *byte >= 0x20 && *byte != 0x7f).collect();
        out.extend_from_slice(&tail);
    }
}

/// Appends pieces as text, such as what an answer must contain.
pub(super) fn text_of(
    pieces: &[RequestPiece],
    fill: &FillSource<'_>,
    tables: &[(DataTable, DataOrder)],
) -> Vec<u8> {
    let mut out = Vec::new();
    // A capture that is missing makes the text one that no answer has to contain: what it was is unknown.
    let _ = pieces.iter().try_for_each(|piece| write(piece, fill, tables, &mut out));
    out
}

fn write(
    piece: &RequestPiece,
    fill: &FillSource<'_>,
    tables: &[(DataTable, DataOrder)],
    out: &mut Vec<u8>,
) -> Result<(), MissingCapture> {
    match piece {
        RequestPiece::Text(text) => out.extend_from_slice(text),
        RequestPiece::User => write_number(out, fill.user),
        RequestPiece::Request => write_number(out, fill.request),
        RequestPiece::Capture(capture, filter) => {
            let value = fill.captures.get(*capture).and_then(Option::as_deref).ok_or(MissingCapture)?;
            template::write(out, value, *filter);
        }
        RequestPiece::Data { table, column, filter } => {
            let row = fill.rows.get(*table).copied().unwrap_or(0) as usize;
            let rows = tables.get(*table).map(|(table, _)| &table.rows);
            let cell = rows.and_then(|rows| rows.get(row)?.get(*column)).ok_or(MissingCapture)?;
            template::write(out, cell, *filter);
        }
    }
    Ok(())
}
