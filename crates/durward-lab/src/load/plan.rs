//! What a scenario comes to for one curve: a small program that each user runs, with requests whose fixed parts are written.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use regex::bytes::Regex;

use super::address::Node;
use super::http::Wants;
use crate::scenario::template::{self, Filter, Part, Reference};
use crate::scenario::{Capture, DataOrder, Number, Scenario, ScenarioError, Step, Table, Think, Time};

/// What stands for captures while the generator is measured against a server that answers nothing to capture.
const STAND_IN: &str = "durward-lab-stand-in-0123456789ab";

/// What each user does, for all nodes.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program; at its end it begins again.
    pub(super) ops: Vec<Op>,
    /// What is asked, in the order of the scenario.
    pub(super) requests: Vec<Request>,
    /// How many captures and loops a user has.
    pub(super) capture_count: usize,
    pub(super) loop_count: usize,
    pub(super) tables: Vec<(Table, DataOrder)>,
    pub(super) nodes: Vec<Node>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op {
    /// Goes on at `to` unless the condition holds and chance has it.
    Unless { condition: Condition, percent: f64, to: usize },
    /// Asks.
    Ask(usize),
    /// Goes back so many times in all.
    Again { times: u32, counter: usize, back: usize },
}

/// What captures must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    Has(usize),
    Lacks(usize),
}

/// One request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) name: String,
    /// By node: the head up to the length of the body.
    heads: Vec<Vec<Piece>>,
    body: Vec<Piece>,
    has_length: bool,
    pub(super) wants: Wants,
    pub(super) check: Check,
    /// The user thinks so long before it; `None`: as `load.think` says.
    pub(super) think: Option<Think>,
    pub(super) timeout_ns: u64,
}

/// Part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Capture(usize, Filter),
    Data { table: usize, column: usize, filter: Filter },
    User,
    Request,
}

/// What a right answer is, and what is taken from it.
#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) statuses: Vec<u16>,
    pub(super) json: Vec<(String, Expected)>,
    pub(super) contains: Vec<Vec<Piece>>,
    pub(super) captures: Vec<(usize, String, Extract)>,
    pub(super) forget: Vec<usize>,
    pub(super) forget_on_error: Vec<usize>,
}

/// What stands at a JSON pointer.
#[derive(Debug)]
pub(super) enum Expected {
    Value(serde_json::Value),
    Text(Vec<Piece>),
}

/// Where a capture is.
#[derive(Debug)]
pub(super) enum Extract {
    Json(String),
    /// The number of the header among [`Wants::headers`].
    Header(usize, Option<Regex>),
    Body(Regex),
}

/// What fills a request.
pub(super) struct Fill<'u> {
    pub(super) captures: &'u [Option<Box<str>>],
    pub(super) rows: &'u [u32],
    pub(super) user: u64,
    pub(super) request: u64,
}

impl Plan {
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
        nodes: &[Node],
    ) -> Result<Plan, ScenarioError> {
        let mut compiler = Compiler::new(scenario, vary, nodes)?;
        for (line, step) in scenario.outer_steps() {
            compiler.step(step).map_err(|error| error.in_line(line))?;
        }
        let Compiler { ops, requests, captures, loop_count, tables, .. } = compiler;
        let tables = tables.into_iter().map(|(_, table, order)| (table, order)).collect();
        Ok(Plan { ops, requests, capture_count: captures.len(), loop_count, tables, nodes: nodes.to_vec() })
    }

    /// The same requests, whose answers may be anything: for a server that does nothing.
    pub(crate) fn blind(mut self) -> Plan {
        for request in &mut self.requests {
            request.check = Check::default();
            request.wants = Wants { is_head: request.wants.is_head, ..Wants::default() };
            let pieces = request.heads.iter_mut().flatten().chain(&mut request.body);
            for piece in pieces {
                if matches!(piece, Piece::Capture(..)) {
                    *piece = Piece::Text(STAND_IN.as_bytes().to_vec());
                }
            }
        }
        self.ops.retain(|op| matches!(op, Op::Ask(_)));
        self
    }

    /// The request that a turn begins with, as far as that is the same for all.
    pub(super) fn first(&self) -> usize {
        let first =
            self.ops.iter().find_map(|op| if let Op::Ask(request) = op { Some(*request) } else { None });
        first.unwrap_or(0)
    }
}

impl Scenario {
    fn outer_steps(&self) -> Vec<(usize, &Step)> {
        let lines = self.all_steps();
        let line_of =
            |step: &Step| lines.iter().find(|(_, one)| std::ptr::eq(*one, step)).map_or(1, |(line, _)| *line);
        self.steps.iter().map(|step| (line_of(step.get_ref()), step.get_ref())).collect()
    }
}

struct Compiler<'s> {
    vary: &'s BTreeMap<String, String>,
    folder: &'s Path,
    nodes: &'s [Node],
    timeout: Time,
    keep_alive: bool,
    ops: Vec<Op>,
    requests: Vec<Request>,
    captures: Vec<String>,
    loop_count: usize,
    tables: Vec<(String, Table, DataOrder)>,
}

impl<'s> Compiler<'s> {
    fn new(
        scenario: &'s Scenario,
        vary: &'s BTreeMap<String, String>,
        nodes: &'s [Node],
    ) -> Result<Compiler<'s>, ScenarioError> {
        let read = |(name, data): (&String, &crate::scenario::Data)| {
            Ok((name.clone(), data.read(name, &scenario.folder)?, data.order))
        };
        let mut captures: Vec<String> =
            scenario.all_steps().iter().flat_map(|(_, step)| step.capture.keys().cloned()).collect();
        captures.sort();
        captures.dedup();
        Ok(Compiler {
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
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), ScenarioError> {
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
            None => Condition::Always,
            Some(name) => match (self.capture(name.trim_start_matches('!')), name.starts_with('!')) {
                (capture, false) => Condition::Has(capture),
                (capture, true) => Condition::Lacks(capture),
            },
        };
        let guard = self.ops.len();
        let percent = if times == 0.0 { 0.0 } else { percent };
        self.ops.push(Op::Unless { condition, percent, to: 0 });
        let back = self.ops.len();
        if step.is_group() {
            step.steps.iter().try_for_each(|step| self.step(step))?;
        } else {
            let request = self.request(step).map_err(at)?;
            self.ops.push(Op::Ask(self.requests.len()));
            self.requests.push(request);
        }
        if times > 1.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 10^9")]
            self.ops.push(Op::Again { times: times as u32, counter: self.loop_count, back });
            self.loop_count += 1;
        }
        let end = self.ops.len();
        if let Some(Op::Unless { to, .. }) = self.ops.get_mut(guard) {
            *to = end;
        }
        Ok(())
    }

    fn number(&self, number: Option<&Number>, otherwise: f64) -> Result<f64, String> {
        match number {
            None => Ok(otherwise),
            Some(Number::Fixed(number)) => Ok(*number),
            Some(Number::Text(text)) => {
                let pieces = self.pieces(text)?;
                let written = match pieces.as_slice() {
                    [Piece::Text(text)] => String::from_utf8_lossy(text).into_owned(),
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
    fn pieces(&self, text: &str) -> Result<Vec<Piece>, String> {
        let parts = template::parse(text)?;
        let parts = template::fill(parts, &mut |reference| self.known(reference))?;
        parts.into_iter().map(|part| self.piece(part)).collect()
    }

    fn known(&self, reference: &Reference) -> Result<Option<String>, String> {
        match reference {
            Reference::Vary(name) => match self.vary.get(name) {
                Some(value) => Ok(Some(value.clone())),
                None => Err(format!("needs `vary.{name}`, which is not there")),
            },
            Reference::Environment(name) => match std::env::var(name) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(format!("needs the environment variable `{name}`, which is not set")),
            },
            Reference::File(path) => {
                let path = self.folder.join(path);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    format!("needs the file {}, which cannot be read: {error}", path.display())
                })?;
                Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            Reference::Capture(_) | Reference::Data(..) | Reference::User | Reference::Request => Ok(None),
        }
    }

    fn piece(&self, part: Part) -> Result<Piece, String> {
        Ok(match part {
            Part::Text(text) => Piece::Text(text.into_bytes()),
            Part::Value(Reference::Capture(name), filter) => Piece::Capture(self.capture(&name), filter),
            Part::Value(Reference::User, _) => Piece::User,
            Part::Value(Reference::Request, _) => Piece::Request,
            Part::Value(Reference::Data(table, column), filter) => {
                self.cell(table.as_deref(), &column, filter)?
            }
            Part::Value(Reference::Vary(_) | Reference::Environment(_) | Reference::File(_), _) => {
                Piece::Text(Vec::new())
            }
        })
    }

    fn cell(&self, table: Option<&str>, column: &str, filter: Filter) -> Result<Piece, String> {
        let mut found = self
            .tables
            .iter()
            .enumerate()
            .filter(|(_, (name, _, _))| table.is_none_or(|table| table == name));
        let mut cells = found.by_ref().filter_map(|(at, (_, data, _))| {
            Some((at, data.columns.iter().position(|name| name == column)?))
        });
        match (cells.next(), cells.next()) {
            (Some((table, column)), None) => Ok(Piece::Data { table, column, filter }),
            (Some(_), Some(_)) => {
                Err(format!("needs `data.{column}`, which several tables have; write `data.TABLE.{column}`"))
            }
            (None, _) => Err(format!("needs the column `{column}`, which no such table of `data` has")),
        }
    }

    fn request(&self, step: &Step) -> Result<Request, String> {
        let body = self.body(step)?;
        let method = step.method();
        let has_length = !body.is_empty() || !matches!(method, "GET" | "HEAD" | "DELETE" | "OPTIONS");
        let heads = self.nodes.iter().map(|node| self.head(step, node)).collect::<Result<_, _>>()?;
        let (check, mut wants) = self.check(step)?;
        wants.is_head = method == "HEAD";
        let timeout = step.timeout.unwrap_or(self.timeout);
        Ok(Request {
            name: step.label(),
            heads,
            body,
            has_length,
            wants,
            check,
            think: step.think,
            timeout_ns: ns(timeout.0),
        })
    }

    fn body(&self, step: &Step) -> Result<Vec<Piece>, String> {
        if let Some(path) = &step.body_file {
            let path = self.folder.join(path);
            let bytes = std::fs::read(&path)
                .map_err(|error| format!("needs {}, which cannot be read: {error}", path.display()))?;
            return Ok(vec![Piece::Text(bytes)]);
        }
        match (&step.json, &step.body) {
            (Some(value), _) => self.pieces(&json_text(value)?),
            (None, Some(body)) => self.pieces(body),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn head(&self, step: &Step, node: &Node) -> Result<Vec<Piece>, String> {
        let path = step.path.as_deref().unwrap_or("/");
        // Braces of addresses are no templates.
        let escaped = |text: &str| text.replace("${", "$${");
        let mut head = format!(
            "{} {}{path} HTTP/1.1\r\nHost: {}\r\n",
            step.method(),
            escaped(&node.base),
            escaped(&node.authority)
        );
        let has = |name: &str| step.headers.keys().any(|key| key.eq_ignore_ascii_case(name));
        for (name, value) in &step.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if step.json.is_some() && !has("content-type") {
            head += "Content-Type: application/json\r\n";
        }
        if !has("user-agent") {
            head += "User-Agent: durward-lab\r\n";
        }
        if !has("accept") {
            head += "Accept: */*\r\n";
        }
        if !self.keep_alive {
            head += "Connection: close\r\n";
        }
        let pieces = self.pieces(&head)?;
        let lines = pieces.iter().map(|piece| {
            if let Piece::Text(text) = piece { text.iter().filter(|byte| **byte == b'\n').count() } else { 0 }
        });
        if lines.sum::<usize>() != head.matches('\n').count() {
            return Err("has a secret or a varied value with a line break in its path or headers".to_owned());
        }
        Ok(pieces)
    }

    fn check(&self, step: &Step) -> Result<(Check, Wants), String> {
        let mut wants = Wants::default();
        let expected = |value: &toml::Value| match value.as_str() {
            Some(text) => self.pieces(text).map(Expected::Text),
            None => serde_json::to_value(value).map(Expected::Value).map_err(|error| error.to_string()),
        };
        let mut check = Check {
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
            ..Check::default()
        };
        for (pointer, value) in &step.expect.json {
            check.json.push((pointer.clone(), expected(value)?));
        }
        for (name, capture) in &step.capture {
            let extract = extract(capture, &mut wants)?;
            check.captures.push((self.capture(name), name.clone(), extract));
        }
        let reads = |(_, _, extract): &(usize, String, Extract)| !matches!(extract, Extract::Header(..));
        wants.body = !check.json.is_empty() || !check.contains.is_empty() || check.captures.iter().any(reads);
        Ok((check, wants))
    }
}

fn extract(capture: &Capture, wants: &mut Wants) -> Result<Extract, String> {
    let regex = capture.regex.as_deref().map(Regex::new).transpose().map_err(|error| error.to_string())?;
    Ok(match (&capture.json, &capture.header, regex) {
        (Some(pointer), _, _) => Extract::Json(pointer.clone()),
        (None, Some(header), regex) => {
            wants.headers.push(header.clone());
            Extract::Header(wants.headers.len() - 1, regex)
        }
        (None, None, Some(regex)) => Extract::Body(regex),
        (None, None, None) => return Err("has a capture that says nothing".to_owned()),
    })
}

/// A value as JSON, in which every `${NAME}` without a filter is written as JSON needs it.
fn json_text(value: &toml::Value) -> Result<String, String> {
    fn quoted(value: &toml::Value) -> Result<serde_json::Value, String> {
        Ok(match value {
            toml::Value::String(text) => {
                let parts = template::parse(text)?;
                // Escaped only once: the quotes around it are written with the rest.
                let write = |part: &Part| match part {
                    Part::Text(text) => text.replace("${", "$${"),
                    Part::Value(reference, Filter::Plain) => format!("${{{}|json}}", name_of(reference)),
                    Part::Value(reference, Filter::Url) => format!("${{{}|url}}", name_of(reference)),
                    Part::Value(reference, Filter::Json) => format!("${{{}|json}}", name_of(reference)),
                    Part::Value(reference, Filter::Base64) => format!("${{{}|base64}}", name_of(reference)),
                };
                parts.iter().map(write).collect::<String>().into()
            }
            toml::Value::Array(all) => all.iter().map(quoted).collect::<Result<Vec<_>, _>>()?.into(),
            toml::Value::Table(table) => {
                let pairs = table.iter().map(|(key, value)| Ok((key.clone(), quoted(value)?)));
                serde_json::Value::Object(pairs.collect::<Result<_, String>>()?)
            }
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_) => serde_json::to_value(value).map_err(|error| error.to_string())?,
        })
    }
    Ok(quoted(value)?.to_string())
}

fn name_of(reference: &Reference) -> String {
    match reference {
        Reference::Capture(name) => name.clone(),
        Reference::Data(Some(table), column) => format!("data.{table}.{column}"),
        Reference::Data(None, column) => format!("data.{column}"),
        Reference::Vary(name) => format!("vary.{name}"),
        Reference::Environment(name) => format!("env.{name}"),
        Reference::File(path) => format!("file:{path}"),
        Reference::User => "user".to_owned(),
        Reference::Request => "request".to_owned(),
    }
}

/// Nanoseconds of a time; as many as there are at most.
pub(super) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A capture that a request needs is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing;

impl Request {
    /// Appends the request to a node.
    pub(super) fn write(
        &self,
        node: usize,
        fill: &Fill<'_>,
        tables: &[(Table, DataOrder)],
        body: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Missing> {
        let head = self.heads.get(node).ok_or(Missing)?;
        for piece in head {
            let start = out.len();
            write(piece, fill, tables, out)?;
            if !matches!(piece, Piece::Text(_)) {
                drop_controls(out, start);
            }
        }
        match self.body.as_slice() {
            [] if self.has_length => out.extend_from_slice(b"Content-Length: 0\r\n\r\n"),
            [] => out.extend_from_slice(b"\r\n"),
            [Piece::Text(text)] => {
                write_length(out, text.len());
                out.extend_from_slice(text);
            }
            pieces => {
                body.clear();
                pieces.iter().try_for_each(|piece| write(piece, fill, tables, body))?;
                write_length(out, body.len());
                out.extend_from_slice(body);
            }
        }
        Ok(())
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
pub(super) fn text_of(pieces: &[Piece], fill: &Fill<'_>, tables: &[(Table, DataOrder)]) -> Vec<u8> {
    let mut out = Vec::new();
    // A capture that is missing makes the text one that no answer has to contain: what it was is unknown.
    let _ = pieces.iter().try_for_each(|piece| write(piece, fill, tables, &mut out));
    out
}

fn write(
    piece: &Piece,
    fill: &Fill<'_>,
    tables: &[(Table, DataOrder)],
    out: &mut Vec<u8>,
) -> Result<(), Missing> {
    match piece {
        Piece::Text(text) => out.extend_from_slice(text),
        Piece::User => write_number(out, fill.user),
        Piece::Request => write_number(out, fill.request),
        Piece::Capture(capture, filter) => {
            let value = fill.captures.get(*capture).and_then(Option::as_deref).ok_or(Missing)?;
            template::write(out, value, *filter);
        }
        Piece::Data { table, column, filter } => {
            let row = fill.rows.get(*table).copied().unwrap_or(0) as usize;
            let rows = tables.get(*table).map(|(table, _)| &table.rows);
            let cell = rows.and_then(|rows| rows.get(row)?.get(*column)).ok_or(Missing)?;
            template::write(out, cell, *filter);
        }
    }
    Ok(())
}
