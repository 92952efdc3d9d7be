//! A binary is asked what a newcomer asks: its version, decisions from files, decisions over HTTP. The policies are those that `durward init` writes.

use crate::metadata;
use crate::package_static::Kind;
use crate::package_static::http::Connection;
use crate::package_static::program::Program;
use serde_json::Value;
use std::path::Path;

/// The policies that `durward init` writes, and requests for those in XACML.
const PROJECT: &str = "crates/durward/project";

const SUBSCRIPTION: &str =
    r#"{"subject": {"role": "doctor", "name": "ada"}, "action": "read", "resource": {"type": "record"}}"#;

/// The media type of requests in JSON.
const XACML_JSON: &str = "application/xacml+json";

/// Asks all of it, in a folder that may be emptied; what there is to know.
///
/// # Errors
/// What was answered wrongly.
pub(crate) fn check(kind: Kind, program: &Program, room: &Path) -> Result<String, String> {
    let _ = std::fs::remove_dir_all(room);
    std::fs::create_dir_all(room).map_err(|error| format!("cannot make `{}`: {error}", room.display()))?;
    let version = program.prints(&["--version"], room)?;
    if !version.starts_with("durward ") {
        return Err(format!("`durward --version` prints `{}`", version.trim()));
    }
    let project = metadata::root().join(PROJECT);
    let xacml = project.join("records.xml");
    if kind == Kind::Full {
        decides_sapl(program, room, &project.join("records.sapl"))?;
    }
    decides_xacml(program, room, &xacml)?;
    let server = program.serve(&xacml)?;
    let mut connection = Connection::open(&server.address)?;
    let asked = requests(&project)?;
    for (request, decision) in &asked {
        let answer = connection.post("/pdp", XACML_JSON, request)?;
        expect(&answer, &format!("\"Decision\":\"{decision}\""), request)?;
    }
    refuses(&mut connection)?;
    let how = if program.is_emulated() { "in an emulator" } else { "on this machine" };
    Ok(format!("{}, {} requests over HTTP, {how}", version.trim(), asked.len()))
}

fn decides_sapl(program: &Program, room: &Path, policies: &Path) -> Result<(), String> {
    let path = policies.display().to_string();
    let value = program.prints(&["eval", "[1, 2, 3][1] + 40"], room)?;
    expect(&value, "42", "an expression")?;
    let words = [
        "decide",
        "--policies",
        &path,
        "-s",
        r#"{"role": "doctor", "name": "ada"}"#,
        "-a",
        r#""read""#,
        "-r",
        r#"{"type": "record"}"#,
    ];
    expect(&program.prints(&words, room)?, "\"PERMIT\"", "a subscription")?;
    let server = program.serve(policies)?;
    let mut connection = Connection::open(&server.address)?;
    let answer = connection.post("/api/pdp/decide-once", "application/json", SUBSCRIPTION)?;
    expect(&answer, "\"PERMIT\"", "a subscription over HTTP")
}

fn decides_xacml(program: &Program, room: &Path, policies: &Path) -> Result<(), String> {
    let path = policies.display().to_string();
    for (request, decision) in requests(&metadata::root().join(PROJECT))? {
        let file = room.join("request.json");
        std::fs::write(&file, &request)
            .map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
        let words = ["decide", "--policies", &path, "--request", "request.json"];
        expect(&program.prints(&words, room)?, &format!("\"Decision\":\"{decision}\""), &request)?;
    }
    Ok(())
}

/// What is no request is refused, and the connection goes on.
fn refuses(connection: &mut Connection) -> Result<(), String> {
    let wrong = [
        ("/nothing", XACML_JSON, "{}", " 404 "),
        ("/pdp", "text/plain", "{}", " 415 "),
        ("/pdp", XACML_JSON, "{\"Request\": 1}", " 400 "),
        ("/pdp", "application/xacml+xml", "<Request>", " 400 "),
    ];
    for (path, media_type, body, status) in wrong {
        match connection.post(path, media_type, body) {
            Err(why) if why.contains(status) => {}
            other => return Err(format!("`{body}` as `{media_type}` at `{path}`: {other:?}")),
        }
    }
    Ok(())
}

/// Requests and their decisions, in one order.
fn requests(project: &Path) -> Result<Vec<(String, String)>, String> {
    let requests = lines(&project.join("requests.jsonl"))?;
    let decisions = lines(&project.join("decisions.jsonl"))?;
    let pair = |(request, decision): (&Value, &Value)| {
        let request = request.get("request")?.to_string();
        Some((request, decision.get("decision")?.as_str()?.to_owned()))
    };
    let pairs: Option<Vec<_>> = requests.iter().zip(&decisions).map(pair).collect();
    match pairs {
        Some(pairs) if !pairs.is_empty() => Ok(pairs),
        _ => Err(format!("no requests in `{}`", project.display())),
    }
}

/// The objects of a file of lines.
///
/// # Errors
/// It cannot be read, or a line is no JSON.
pub(crate) fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let cannot = |why: String| format!("cannot read `{}`: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| cannot(error.to_string()))).collect()
}

fn expect(answer: &str, wanted: &str, to: &str) -> Result<(), String> {
    let found: String = answer.chars().filter(|character| !character.is_whitespace()).collect();
    if found.contains(wanted) {
        Ok(())
    } else {
        Err(format!("no `{wanted}` in the answer to {to}: {answer}"))
    }
}
