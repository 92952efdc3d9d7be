//! Makes the plan of a scenario: fills in what does not change, checks what only a whole scenario can tell.

use std::collections::BTreeMap;

use regex::bytes::Regex;

use super::super::address::TargetNode;
use super::super::wire::{AnswerWants, LoadProtocol};
use super::{
    AnswerCheck, CaptureCondition, CaptureSource, ExpectedValue, PlanOp, PlannedRequest, RequestPiece,
    StreamHold, ns,
};
use crate::scenario::template::{self, TemplateFilter, TemplatePart, TemplateReference};
use crate::scenario::{
    Capture, DataOrder, DataTable, DurationValue, NumberValue, Scenario, ScenarioError, ScenarioFolder,
    ScenarioStep,
};

pub(super) struct PlanCompiler<'s> {
    vary: &'s BTreeMap<String, String>,
    pub(super) folder: &'s ScenarioFolder,
    pub(super) nodes: &'s [TargetNode],
    timeout: DurationValue,
    pub(super) keep_alive: bool,
    /// What is spoken to all nodes.
    pub(super) protocol: LoadProtocol,
    pub(super) ops: Vec<PlanOp>,
    pub(super) requests: Vec<PlannedRequest>,
    pub(super) captures: Vec<String>,
    pub(super) loop_count: usize,
    pub(super) tables: Vec<(String, DataTable, DataOrder)>,
}

impl<'s> PlanCompiler<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        vary: &'s BTreeMap<String, String>,
        nodes: &'s [TargetNode],
    ) -> Result<PlanCompiler<'s>, ScenarioError> {
        let read = |(name, data): (&String, &crate::scenario::DataSpec)| {
            Ok((name.clone(), data.read(name, &scenario.folder)?, data.order))
        };
        let mut captures: Vec<String> =
            scenario.all_steps().iter().flat_map(|(_, step)| step.capture.keys().cloned()).collect();
        captures.sort();
        captures.dedup();
        let mut compiler = PlanCompiler {
            vary,
            folder: &scenario.folder,
            nodes,
            timeout: scenario.load.timeout,
            keep_alive: scenario.load.keep_alive,
            ops: Vec::new(),
            requests: Vec::new(),
            captures,
            loop_count: 0,
            tables: scenario.data.iter().map(read).collect::<Result<_, _>>()?,
            protocol: LoadProtocol::Http1,
        };
        compiler.protocol = compiler.protocol_of(scenario)?;
        Ok(compiler)
    }

    pub(super) fn step(&mut self, step: &ScenarioStep) -> Result<(), ScenarioError> {
        let at = |problem: String| ScenarioError::at(step.label(), problem);
        let percent = self.number(step.percent.as_ref(), 100.0).map_err(at)?;
        let times = self.number(step.repeat.as_ref(), 1.0).map_err(at)?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(at(format!("has the share {percent}, which is not from 0 to 100 per cent")));
        }
        if !(0.0..=1e9).contains(&times) || times.fract() != 0.0 {
            return Err(at(format!("is repeated {times} times, which is no whole number from 0 on")));
        }
        let condition = match step.only_if.as_deref() {
            None => CaptureCondition::Always,
            Some(name) => match (self.capture(name.trim_start_matches('!')), name.starts_with('!')) {
                (capture, false) => CaptureCondition::Has(capture),
                (capture, true) => CaptureCondition::Lacks(capture),
            },
        };
        let guard = self.ops.len();
        let percent = if times == 0.0 { 0.0 } else { percent };
        self.ops.push(PlanOp::Unless { condition, percent, to: 0 });
        let back = self.ops.len();
        if step.is_group() {
            step.steps.iter().try_for_each(|step| self.step(step))?;
        } else {
            let request = self.request(step).map_err(at)?;
            self.ops.push(PlanOp::Ask(self.requests.len()));
            self.requests.push(request);
        }
        if times > 1.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 10^9")]
            self.ops.push(PlanOp::Again { times: times as u32, counter: self.loop_count, back });
            self.loop_count += 1;
        }
        let end = self.ops.len();
        if let Some(PlanOp::Unless { to, .. }) = self.ops.get_mut(guard) {
            *to = end;
        }
        Ok(())
    }

    fn number(&self, number: Option<&NumberValue>, otherwise: f64) -> Result<f64, String> {
        match number {
            None => Ok(otherwise),
            Some(NumberValue::Fixed(number)) => Ok(*number),
            Some(NumberValue::Text(text)) => {
                let pieces = self.pieces(text)?;
                let written = match pieces.as_slice() {
                    [RequestPiece::Text(text)] => String::from_utf8_lossy(text).into_owned(),
                    _ => return Err(format!("has `{text}` where a number must be known before the run")),
                };
                written.trim().parse().map_err(|_| format!("has `{written}` where a number must be"))
            }
        }
    }

    fn capture(&self, name: &str) -> usize {
        self.captures.iter().position(|known| known == name).unwrap_or(0)
    }

    /// Text with all filled in that does not change.
    pub(super) fn pieces(&self, text: &str) -> Result<Vec<RequestPiece>, String> {
        let parts = template::parse(text).map_err(|error| error.to_string())?;
        let parts = template::fill(parts, &mut |reference| self.known(reference))?;
        parts.into_iter().map(|part| self.piece(part)).collect()
    }

    fn known(&self, reference: &TemplateReference) -> Result<Option<String>, String> {
        match reference {
            TemplateReference::Vary(name) => match self.vary.get(name) {
                Some(value) => Ok(Some(value.clone())),
                None => Err(format!("needs `vary.{name}`, which is not there")),
            },
            TemplateReference::Environment(name) => match self.folder.variable(name) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("needs the environment variable `{name}`, which is not set")),
            },
            TemplateReference::File(path) => {
                let text = self.folder.read_text(path.as_ref()).map_err(|error| {
                    let path = self.folder.join(path.as_ref());
                    format!("needs the file {}, which cannot be read: {error}", path.display())
                })?;
                Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            TemplateReference::Capture(_)
            | TemplateReference::Data(..)
            | TemplateReference::User
            | TemplateReference::Request => Ok(None),
        }
    }

    fn piece(&self, part: TemplatePart) -> Result<RequestPiece, String> {
        Ok(match part {
            TemplatePart::Text(text) => RequestPiece::Text(text.into_bytes()),
            TemplatePart::Value(TemplateReference::Capture(name), filter) => {
                RequestPiece::Capture(self.capture(&name), filter)
            }
            TemplatePart::Value(TemplateReference::User, _) => RequestPiece::User,
            TemplatePart::Value(TemplateReference::Request, _) => RequestPiece::Request,
            TemplatePart::Value(TemplateReference::Data(table, column), filter) => {
                self.cell(table.as_deref(), &column, filter)?
            }
            TemplatePart::Value(
                TemplateReference::Vary(_) | TemplateReference::Environment(_) | TemplateReference::File(_),
                _,
            ) => RequestPiece::Text(Vec::new()),
        })
    }

    fn cell(
        &self,
        table: Option<&str>,
        column: &str,
        filter: TemplateFilter,
    ) -> Result<RequestPiece, String> {
        let mut found = self
            .tables
            .iter()
            .enumerate()
            .filter(|(_, (name, _, _))| table.is_none_or(|table| table == name));
        let mut cells = found.by_ref().filter_map(|(at, (_, data, _))| {
            Some((at, data.columns.iter().position(|name| name == column)?))
        });
        match (cells.next(), cells.next()) {
            (Some((table, column)), None) => Ok(RequestPiece::Data { table, column, filter }),
            (Some(_), Some(_)) => {
                Err(format!("needs `data.{column}`, which several tables have; write `data.TABLE.{column}`"))
            }
            (None, _) => Err(format!("needs the column `{column}`, which no such table of `data` has")),
        }
    }

    fn request(&self, step: &ScenarioStep) -> Result<PlannedRequest, String> {
        let (check, mut wants) = self.check(step)?;
        wants.is_head = step.method() == "HEAD";
        wants.events = step.events.is_some();
        let timeout = step.timeout.unwrap_or(self.timeout);
        let hold = step.events.as_ref().map(|events| StreamHold {
            // Nothing said: the first one is all that is wanted.
            time_ns: events.hold.map(|time| ns(time.0)),
            count: events.count.unwrap_or(if events.hold.is_some() { u64::MAX } else { 1 }),
        });
        Ok(PlannedRequest {
            name: step.label(),
            form: self.form(step)?,
            wants,
            check,
            think: step.think,
            timeout_ns: ns(timeout.0),
            hold,
        })
    }

    fn check(&self, step: &ScenarioStep) -> Result<(AnswerCheck, AnswerWants), String> {
        let mut wants = AnswerWants::default();
        let expected = |value: &toml::Value| match value.as_str() {
            Some(text) => self.pieces(text).map(ExpectedValue::Text),
            None => serde_json::to_value(value).map(ExpectedValue::Value).map_err(|error| error.to_string()),
        };
        let mut check = AnswerCheck {
            statuses: step.expect.status.0.clone(),
            contains: step
                .expect
                .contains
                .0
                .iter()
                .map(|text| self.pieces(text))
                .collect::<Result<_, _>>()?,
            forget: step.forget.0.iter().map(|name| self.capture(name)).collect(),
            forget_on_error: step.forget_on_error.0.iter().map(|name| self.capture(name)).collect(),
            ..AnswerCheck::default()
        };
        for (pointer, value) in &step.expect.json {
            check.json.push((pointer.clone(), expected(value)?));
        }
        for (name, capture) in &step.capture {
            let extract = extract(capture, &mut wants)?;
            check.captures.push((self.capture(name), name.clone(), extract));
        }
        let reads =
            |(_, _, extract): &(usize, String, CaptureSource)| !matches!(extract, CaptureSource::Header(..));
        wants.body = !check.json.is_empty() || !check.contains.is_empty() || check.captures.iter().any(reads);
        Ok((check, wants))
    }
}

fn extract(capture: &Capture, wants: &mut AnswerWants) -> Result<CaptureSource, String> {
    let regex = capture.regex.as_deref().map(Regex::new).transpose().map_err(|error| error.to_string())?;
    Ok(match (&capture.json, &capture.header, regex) {
        (Some(pointer), _, _) => CaptureSource::Json(pointer.clone()),
        (None, Some(header), regex) => {
            wants.headers.push(header.clone());
            CaptureSource::Header(wants.headers.len() - 1, regex)
        }
        (None, None, Some(regex)) => CaptureSource::Body(regex),
        (None, None, None) => return Err("has a capture that says nothing".to_owned()),
    })
}
