//! Many requests, one per line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use durward_pdp::sapl::{self, Decision, Subscription};
use durward_pdp::xacml::request::Version;
use durward_pdp::xacml::response::Status;
use durward_pdp::xacml::wording;
use durward_pdp::{Pdp, RequestLanguage, Response};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::attributes::CliFinders;
use super::expected::RecordedDecisions;
use super::{name_of, tell};
use crate::console::progress::Progress;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, SUCCESS, complain};
use crate::ignore_closed;
use crate::policies::decision_of;
use crate::wire::{FormArgument, MessageForm};

/// Longest line: a request of the largest size, with every character escaped, and room for the rest.
const LINE_BYTES_MAX: u64 = 32 << 20;

/// After so many lines it is said how many there were.
const TOLD_LINES: u64 = 1_000;

/// One line. Other members are none of our business.
#[derive(Deserialize)]
pub(crate) struct InputLine<'l> {
    #[serde(borrow, default)]
    id: Option<&'l RawValue>,
    #[serde(borrow, default)]
    request: Option<&'l RawValue>,
    #[serde(borrow, default)]
    xml: Option<&'l RawValue>,
    #[serde(borrow, default)]
    json: Option<&'l RawValue>,
    #[serde(borrow, default)]
    subscription: Option<&'l RawValue>,
}

impl<'l> InputLine<'l> {
    /// Reads a line; what is wrong with it, otherwise.
    pub(super) fn read(line: &'l [u8]) -> Result<InputLine<'l>, String> {
        serde_json::from_slice(line)
            .map_err(|error| format!("not a JSON object with `id` and `request`: {}", in_words(&error)))
    }

    /// The identifier as written; `null` without one.
    pub(super) fn id(&self) -> &'l str {
        self.id.map_or("null", RawValue::get)
    }

    /// The text of a question of SAPL, if it is one.
    pub(crate) fn subscription(&self) -> Option<&'l str> {
        self.subscription.filter(|_| self.request.is_none()).map(RawValue::get)
    }
}

/// What is wrong with a JSON text.
pub(crate) fn in_words(error: &serde_json::Error) -> String {
    wording::of_json(&error.to_string())
}

/// What became of one line.
pub(super) struct LineResult<'l> {
    /// The identifier as written; `null` without one.
    pub(super) id: &'l str,
    pub(super) what: LineDecision,
    pub(super) problem: Option<String>,
    /// Why, as JSON, where that was asked for.
    pub(super) explanation: Option<String>,
}

/// Whoever answers lines.
pub(super) trait LineAnswerer {
    /// Answers a line; what is wrong with it is in the answer.
    ///
    /// # Errors
    /// Whatever lets no further line be answered.
    fn answer<'l>(&mut self, line: &'l [u8]) -> Result<LineResult<'l>, CommandError>;
}

/// A decision point in this process.
pub(super) struct LocalPdp<'p> {
    pdp: &'p Pdp,
    finders: &'p CliFinders,
    format: FormArgument,
    explains: bool,
}

impl<'p> LocalPdp<'p> {
    pub(super) fn new(
        pdp: &'p Pdp,
        finders: &'p CliFinders,
        format: FormArgument,
        explains: bool,
    ) -> LocalPdp<'p> {
        LocalPdp { pdp, finders, format, explains }
    }
}

/// The answer in the language of the question.
pub(super) enum LineDecision {
    Response { form: MessageForm, version: Version, response: Response },
    Decision(Decision),
}

impl LineDecision {
    /// The decision in the language's own word.
    fn word(&self) -> String {
        match self {
            LineDecision::Response { response, .. } => decision_of(response),
            LineDecision::Decision(decision) => decision.outcome.as_str().to_owned(),
        }
    }

    /// The decision as an object, where the language has such.
    fn whole(&self) -> Option<String> {
        match self {
            LineDecision::Response { .. } => None,
            LineDecision::Decision(decision) => Some(decision.to_json()),
        }
    }
}

/// Answers every line, in order.
pub(super) fn answer(source: &mut impl LineAnswerer, path: &Path) -> CommandResult {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut bad = 0u64;
    let progress = Progress::beside_output("deciding");
    let result = for_each_line(path, |number, line, is_last_for_now| {
        if number.is_multiple_of(TOLD_LINES) {
            progress.turn_to(format!("deciding: {number} lines"));
        }
        let answer = source.answer(line)?;
        bad += u64::from(report(path, number, &answer));
        write_answer(&mut out, &answer)?;
        // Whoever feeds us line by line waits for the answer.
        if is_last_for_now {
            out.flush()?;
        }
        Ok(())
    });
    match result {
        Err(LineError::Output(error)) => ignore_closed(Err(error))?,
        Err(LineError::Input(failure)) => {
            ignore_closed(out.flush())?;
            return Err(failure);
        }
        Ok(()) => ignore_closed(out.flush())?,
    }
    Ok(ExitCode::from(if bad > 0 { BAD_INPUT } else { SUCCESS }))
}

/// Compares every answer with what was recorded.
pub(super) fn compare(source: &mut impl LineAnswerer, path: &Path, recorded: &Path) -> CommandResult {
    let mut recorded = RecordedDecisions::read(recorded)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut bad = 0u64;
    let progress = Progress::beside_output("comparing");
    let result = for_each_line(path, |number, line, _| {
        if number.is_multiple_of(TOLD_LINES) {
            progress.turn_to(format!("comparing: {number} lines"));
        }
        let answer = source.answer(line)?;
        bad += u64::from(report(path, number, &answer));
        if let Some(difference) =
            recorded.compare(answer.id, &answer.what.word(), answer.what.whole().as_deref())
        {
            writeln!(out, "{difference}")?;
        }
        Ok(())
    });
    match result {
        Err(LineError::Output(error)) => ignore_closed(Err(error))?,
        Err(LineError::Input(failure)) => return Err(failure),
        Ok(()) => ignore_closed(writeln!(out, "{}", recorded.summary()).and_then(|()| out.flush()))?,
    }
    recorded.check_compared()?;
    let code = if bad > 0 { BAD_INPUT } else { recorded.exit_code() };
    Ok(ExitCode::from(code))
}

/// Says what is wrong with a line, if anything is.
fn report(path: &Path, number: u64, answer: &LineResult<'_>) -> bool {
    if let Some(problem) = &answer.problem {
        complain(format_args!("{}:{number}: {problem}", name_of(path)));
    }
    answer.problem.is_some()
}

impl LineAnswerer for LocalPdp<'_> {
    fn answer<'l>(&mut self, line: &'l [u8]) -> Result<LineResult<'l>, CommandError> {
        let json = self.format.answer(MessageForm::Json);
        let line = match InputLine::read(line) {
            Ok(line) => line,
            Err(problem) => return Ok(refuse("null", json, problem)),
        };
        let id = line.id();
        if let Some(subscription) = line.subscription() {
            return Ok(self.answer_subscription(id, subscription));
        }
        Ok(match request_text(&line, self.format) {
            Ok((text, form)) => self.answer_request(id, &text, form),
            Err(problem) => refuse(id, json, problem),
        })
    }
}

impl LocalPdp<'_> {
    fn answer_request<'l>(&self, id: &'l str, text: &[u8], form: MessageForm) -> LineResult<'l> {
        match form.read(text) {
            Ok(request) => {
                tell(self.pdp, RequestLanguage::Xacml);
                let (form, version) = (self.format.answer(form), request.version);
                let explanation = self.explains.then(|| self.pdp.explain(&request).to_json().to_string());
                let what = LineDecision::Response { form, version, response: self.pdp.decide(&request) };
                LineResult { id, what, problem: None, explanation }
            }
            Err(error) => refuse(id, self.format.answer(form), error.to_string()),
        }
    }

    fn answer_subscription<'l>(&self, id: &'l str, text: &str) -> LineResult<'l> {
        match Subscription::from_json(text.as_bytes()) {
            Ok(subscription) => {
                tell(self.pdp, RequestLanguage::Sapl);
                let explain = || self.finders.explain(self.pdp, &subscription).to_json().to_string();
                let explanation = self.explains.then(explain);
                let what = LineDecision::Decision(self.finders.decide(self.pdp, &subscription));
                LineResult { id, what, problem: None, explanation }
            }
            Err(error) => {
                let what = LineDecision::Decision(Decision::plain(sapl::Outcome::Indeterminate));
                LineResult { id, what, problem: Some(error.to_string()), explanation: None }
            }
        }
    }
}

fn refuse(id: &str, form: MessageForm, problem: String) -> LineResult<'_> {
    let response = Response::indeterminate(Status::syntax_error(problem.clone()));
    let what = LineDecision::Response { form, version: Version::V3, response };
    LineResult { id, what, problem: Some(problem), explanation: None }
}

/// The text of a line's request. `xml` and `json` are the same request in two forms: the form of the answer says
/// which one is read.
pub(crate) fn request_text<'l>(
    line: &InputLine<'l>,
    format: FormArgument,
) -> Result<(Cow<'l, [u8]>, MessageForm), String> {
    let by_form = if format == FormArgument::Json { line.json.or(line.xml) } else { line.xml.or(line.json) };
    let Some(raw) = line.request.or(by_form) else {
        return Err("there is no `request` and no `subscription`".to_owned());
    };
    let raw = raw.get();
    if raw.starts_with('{') {
        return Ok((Cow::Borrowed(raw.as_bytes()), MessageForm::Json));
    }
    let text: String =
        serde_json::from_str(raw).map_err(|_| "`request` is neither a text nor an object".to_owned())?;
    let form = MessageForm::of(text.as_bytes()).ok_or("`request` is neither XML nor JSON")?;
    Ok((Cow::Owned(text.into_bytes()), form))
}

fn write_answer(out: &mut impl Write, answer: &LineResult<'_>) -> io::Result<()> {
    let written = match &answer.what {
        LineDecision::Decision(decision) => decision.to_json(),
        LineDecision::Response { form, version, response } => {
            let written = form.write(response, *version);
            if *form == MessageForm::Xml { serde_json::to_string(&written)? } else { written }
        }
    };
    let (id, decision) = (answer.id, answer.what.word());
    write!(out, "{{\"id\":{id},\"decision\":\"{decision}\",\"response\":{written}")?;
    if let Some(explanation) = &answer.explanation {
        write!(out, ",\"explanation\":{explanation}")?;
    }
    out.write_all(b"}\n")
}

/// Why going through the lines ended early.
pub(crate) enum LineError {
    /// The lines cannot be read.
    Input(CommandError),
    /// What was made of them cannot be written.
    Output(io::Error),
}

impl From<io::Error> for LineError {
    fn from(error: io::Error) -> LineError {
        LineError::Output(error)
    }
}

impl From<CommandError> for LineError {
    fn from(failure: CommandError) -> LineError {
        LineError::Input(failure)
    }
}

/// Calls `each` with the number and bytes of every line that is not blank, and whether the next line may take a
/// while to come.
pub(crate) fn for_each_line(
    path: &Path,
    mut each: impl FnMut(u64, &[u8], bool) -> Result<(), LineError>,
) -> Result<(), LineError> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| CommandError::unreadable(path, &error))?)
    };
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| CommandError::unreadable(path, &error))?;
        if read == 0 {
            break;
        }
        if read as u64 == LINE_BYTES_MAX {
            let message = format!("{}:{number}: a line of more than {LINE_BYTES_MAX} bytes", name_of(path));
            return Err(CommandError::new(message).hint("each request stands on a line of its own").into());
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            each(number, &line, input.buffer().is_empty())?;
        }
    }
    Ok(())
}
