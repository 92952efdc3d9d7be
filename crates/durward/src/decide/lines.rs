//! Many requests, one per line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use durward_lab::embedded::{self, RequestText};
use durward_pdp::sapl::{self, Decision, Subscription};
use durward_pdp::xacml::request::Version;
use durward_pdp::xacml::response::Status;
use durward_pdp::{Pdp, Request, Response};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::expected::Recorded;
use super::name_of;
use crate::failure::{BAD_INPUT, Failure, Outcome, SUCCESS, complain};
use crate::ignore_closed;
use crate::policies::decision_of;
use crate::wire::{Form, Format};

/// Longest line: a request of the largest size, with every character escaped, and room for the rest.
const LINE_BYTES_MAX: u64 = 32 << 20;

/// One line. Other members are none of our business.
#[derive(Deserialize)]
struct Line<'l> {
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

/// What became of one line.
struct Answer<'l> {
    /// The identifier as written; `null` without one.
    id: &'l str,
    what: What,
    problem: Option<String>,
}

/// The answer in the language of the question.
enum What {
    Response {
        form: Form,
        version: Version,
        response: Response,
        /// The request, where there is one.
        request: Option<Box<Request>>,
    },
    Decision {
        decision: Decision,
        /// The subscription, where there is one.
        subscription: Option<Box<Subscription>>,
    },
}

impl What {
    /// The decision in the language's own word.
    fn word(&self) -> String {
        match self {
            What::Response { response, .. } => decision_of(response),
            What::Decision { decision, .. } => decision.outcome.as_str().to_owned(),
        }
    }

    /// The decision as an object, where the language has such.
    fn whole(&self) -> Option<String> {
        match self {
            What::Response { .. } => None,
            What::Decision { decision, .. } => Some(decision.to_json()),
        }
    }
}

/// Answers every line, in order.
pub(super) fn answer(pdp: &Pdp, path: &Path, format: Format, explain: bool) -> Outcome {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut bad = 0u64;
    let result = for_each_line(path, |number, line, is_last_for_now| {
        let answer = answer_line(pdp, line, format);
        bad += u64::from(report(path, number, &answer));
        write_answer(&mut out, pdp, &answer, explain)?;
        // Whoever feeds us line by line waits for the answer.
        if is_last_for_now { out.flush() } else { Ok(()) }
    });
    match result {
        Err(LineError::Output(error)) => ignore_closed(Err(error))?,
        Err(LineError::Input(failure)) => return Err(failure),
        Ok(()) => ignore_closed(out.flush())?,
    }
    Ok(ExitCode::from(if bad > 0 { BAD_INPUT } else { SUCCESS }))
}

/// Compares every answer with what was recorded.
pub(super) fn compare(pdp: &Pdp, path: &Path, format: Format, recorded: &Path) -> Outcome {
    let mut recorded = Recorded::read(recorded)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut bad = 0u64;
    let result = for_each_line(path, |number, line, _| {
        let answer = answer_line(pdp, line, format);
        bad += u64::from(report(path, number, &answer));
        match recorded.compare(answer.id, &answer.what.word(), answer.what.whole().as_deref()) {
            Some(difference) => writeln!(out, "{difference}"),
            None => Ok(()),
        }
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
fn report(path: &Path, number: u64, answer: &Answer<'_>) -> bool {
    if let Some(problem) = &answer.problem {
        complain(format_args!("{}:{number}: {problem}", name_of(path)));
    }
    answer.problem.is_some()
}

fn answer_line<'l>(pdp: &Pdp, line: &'l [u8], format: Format) -> Answer<'l> {
    let parsed: Line<'l> = match serde_json::from_slice(line) {
        Ok(parsed) => parsed,
        Err(error) => {
            let problem = format!("not a JSON object with `id` and `request`: {error}");
            return refuse("null", format.answer(Form::Json), problem);
        }
    };
    let id = parsed.id.map_or("null", RawValue::get);
    if let (Some(subscription), None) = (parsed.subscription, parsed.request) {
        return answer_subscription(pdp, id, subscription.get());
    }
    let (text, form) = match request_text(&parsed, format) {
        Ok(found) => found,
        Err(problem) => return refuse(id, format.answer(Form::Json), problem),
    };
    match form.read(&text) {
        Ok(request) => {
            let (form, version, response) = (format.answer(form), request.version, pdp.decide(&request));
            let what = What::Response { form, version, response, request: Some(Box::new(request)) };
            Answer { id, what, problem: None }
        }
        Err(error) => refuse(id, format.answer(form), error.to_string()),
    }
}

fn answer_subscription<'l>(pdp: &Pdp, id: &'l str, text: &str) -> Answer<'l> {
    match Subscription::from_json(text.as_bytes()) {
        Ok(subscription) => {
            let decision = pdp.decide_once(&subscription);
            let what = What::Decision { decision, subscription: Some(Box::new(subscription)) };
            Answer { id, what, problem: None }
        }
        Err(error) => {
            let decision = Decision::plain(sapl::Outcome::Indeterminate);
            let what = What::Decision { decision, subscription: None };
            Answer { id, what, problem: Some(error.to_string()) }
        }
    }
}

fn refuse(id: &str, form: Form, problem: String) -> Answer<'_> {
    let response = Response::indeterminate(Status::syntax_error(problem.clone()));
    let what = What::Response { form, version: Version::V3, response, request: None };
    Answer { id, what, problem: Some(problem) }
}

/// The text of a line's request. `xml` and `json` are the same request in two forms: the form of the answer says
/// which one is read.
fn request_text<'l>(line: &Line<'l>, format: Format) -> Result<(Cow<'l, [u8]>, Form), String> {
    let by_form = if format == Format::Json { line.json.or(line.xml) } else { line.xml.or(line.json) };
    let Some(raw) = line.request.or(by_form) else {
        return Err("there is no `request` and no `subscription`".to_owned());
    };
    let raw = raw.get();
    if raw.starts_with('{') {
        return Ok((Cow::Borrowed(raw.as_bytes()), Form::Json));
    }
    let text: String =
        serde_json::from_str(raw).map_err(|_| "`request` is neither a text nor an object".to_owned())?;
    let form = Form::of(text.as_bytes()).ok_or("`request` is neither XML nor JSON")?;
    Ok((Cow::Owned(text.into_bytes()), form))
}

fn write_answer(out: &mut impl Write, pdp: &Pdp, answer: &Answer<'_>, explain: bool) -> io::Result<()> {
    let written = match &answer.what {
        What::Decision { decision, .. } => decision.to_json(),
        What::Response { form, version, response, .. } => {
            let written = form.write(response, *version);
            if *form == Form::Xml { serde_json::to_string(&written)? } else { written }
        }
    };
    let (id, decision) = (answer.id, answer.what.word());
    write!(out, "{{\"id\":{id},\"decision\":\"{decision}\",\"response\":{written}")?;
    let explanation = match &answer.what {
        What::Response { request: Some(request), .. } if explain => Some(pdp.explain(request)),
        What::Decision { subscription: Some(subscription), .. } if explain => {
            Some(pdp.explain_subscription(subscription))
        }
        What::Response { .. } | What::Decision { .. } => None,
    };
    if let Some(explanation) = explanation {
        write!(out, ",\"explanation\":{}", explanation.to_json())?;
    }
    out.write_all(b"}\n")
}

/// Why going through the lines ended early.
pub(super) enum LineError {
    /// The lines cannot be read.
    Input(Failure),
    /// What was made of them cannot be written.
    Output(io::Error),
}

impl From<Failure> for LineError {
    fn from(failure: Failure) -> LineError {
        LineError::Input(failure)
    }
}

/// Calls `each` with the number and bytes of every line that is not blank, and whether the next line may take a
/// while to come.
pub(super) fn for_each_line(
    path: &Path,
    mut each: impl FnMut(u64, &[u8], bool) -> io::Result<()>,
) -> Result<(), LineError> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| Failure::unreadable(path, &error))?)
    };
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::unreadable(path, &error))?;
        if read == 0 {
            break;
        }
        if read as u64 == LINE_BYTES_MAX {
            let message = format!("{}:{number}: a line of more than {LINE_BYTES_MAX} bytes", name_of(path));
            return Err(Failure::new(message).hint("each request stands on a line of its own").into());
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            each(number, &line, input.buffer().is_empty()).map_err(LineError::Output)?;
        }
    }
    Ok(())
}

/// The requests of all lines, as text: for measuring with them.
pub(crate) fn read_request_texts(path: &Path) -> Result<Vec<RequestText>, Failure> {
    let mut texts = Vec::new();
    let mut problem = None;
    let result = for_each_line(path, |number, line, _| {
        let name = format!("{}:{number}", name_of(path));
        match request_text_of(line) {
            Ok((text, form)) => texts.push(RequestText { name, text, form }),
            Err(error) => {
                let _ = problem.get_or_insert_with(|| format!("{name}: {error}"));
            }
        }
        Ok(())
    });
    match result {
        Err(LineError::Input(failure)) => return Err(failure),
        // Nothing is written here.
        Err(LineError::Output(_)) | Ok(()) => {}
    }
    match problem {
        Some(problem) => {
            Err(Failure::new(problem)
                .hint("a line is {\"id\": ..., \"request\": ...}, or has a `subscription`"))
        }
        None => Ok(texts),
    }
}

fn request_text_of(line: &[u8]) -> Result<(Vec<u8>, embedded::Form), String> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if let (Some(subscription), None) = (line.subscription, line.request) {
        return Ok((subscription.get().as_bytes().to_vec(), embedded::Form::Subscription));
    }
    let (text, form) = request_text(&line, Format::Auto)?;
    let form = match form {
        Form::Xml => embedded::Form::Xml,
        Form::Json => embedded::Form::Json,
    };
    Ok((text.into_owned(), form))
}
