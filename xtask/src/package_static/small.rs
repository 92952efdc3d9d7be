//! The minimal build is small on the disk and in memory: it serves the policies of CONTINUE, and each of the recorded requests is answered as
//! recorded.

use crate::package_static::asked::lines;
use crate::package_static::cross::mebibytes;
use crate::package_static::http::Connection;
use crate::package_static::plan::{PROFILE_SHIPPED, StaticPlan};
use crate::package_static::program::{Program, Server};
use crate::report::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Most bytes of the minimal build. It is carried to edge devices over slow lines.
const BINARY_BYTES_MAX: u64 = 5 << 20;

/// Most memory it takes while it answers requests about 298 rules: what such a device has for it.
const MEMORY_BYTES_MAX: u64 = 8 << 20;

/// Weighs the binary, and has it serve those policies.
pub(crate) fn check(plan: &StaticPlan, binary: &Path, target: &str, size: u64) -> Outcome {
    // Other profiles are for those who wait for the build.
    if plan.profile == PROFILE_SHIPPED && size > BINARY_BYTES_MAX {
        return Outcome::Failed(format!("{}, more than {}", mebibytes(size), mebibytes(BINARY_BYTES_MAX)));
    }
    let data = match durward_testdata::find("xacml/continue") {
        Ok(data) => data,
        Err(missing) => return Outcome::Skipped(missing.to_string()),
    };
    let served = Program::of(binary, target).and_then(|program| serves(&program, &data));
    served.map_or_else(Outcome::Failed, Outcome::Passed)
}

fn serves(program: &Program, data: &Path) -> Result<String, String> {
    let server = program.serve(&data.join("continue-a-3.0.xml"))?;
    let start = memory(&server)?;
    let asked = ask(&server, data)?;
    let now = memory(&server)?;
    if program.is_emulated() {
        return Ok(format!("{asked} requests of CONTINUE, in an emulator, whose memory says nothing"));
    }
    let said = format!(
        "{asked} requests of CONTINUE; resident {} at the start, {} then, at most {}",
        mebibytes(start.now),
        mebibytes(now.now),
        mebibytes(now.most)
    );
    if now.most > MEMORY_BYTES_MAX {
        Err(format!("{said}, more than {}", mebibytes(MEMORY_BYTES_MAX)))
    } else {
        Ok(said)
    }
}

/// Asks all recorded requests; how many.
fn ask(server: &Server, data: &Path) -> Result<usize, String> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut decisions = BTreeMap::new();
    for line in lines(&data.join("decisions.jsonl"))? {
        decisions.insert(text(&line, "id"), text(&line, "decision"));
    }
    let mut connection = Connection::open(&server.address)?;
    let mut asked = 0;
    for name in ["requests-single.jsonl", "requests-core.jsonl"] {
        for line in lines(&data.join(name))? {
            let (id, Some(request)) = (text(&line, "id"), text(&line, "xml")) else {
                return Err(format!("`{name}` has a line without a request"));
            };
            let answer = connection.post("/pdp", "application/xacml+xml", &request)?;
            let Some(Some(decision)) = decisions.get(&id) else {
                return Err(format!("no decision is recorded of {id:?}"));
            };
            if !answer.contains(&format!("<Decision>{decision}</Decision>")) {
                return Err(format!("{id:?} is not answered with {decision}: {answer}"));
            }
            asked += 1;
        }
    }
    Ok(asked)
}

/// Bytes of memory that a process takes.
struct Memory {
    now: u64,
    most: u64,
}

fn memory(server: &Server) -> Result<Memory, String> {
    let path = format!("/proc/{}/status", server.id());
    let status = std::fs::read_to_string(&path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
    let bytes = |name: &str| kibibytes(&status, name).map(|count| count << 10);
    match (bytes("VmRSS:"), bytes("VmHWM:")) {
        (Some(now), Some(most)) => Ok(Memory { now, most }),
        _ => Err(format!("`{path}` does not say how much memory the server takes")),
    }
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_system_says_it() {
        let status = "Name:\tdurward\nVmHWM:\t    7204 kB\nVmRSS:\t    6100 kB\n";
        assert_eq!((kibibytes(status, "VmHWM:"), kibibytes(status, "VmRSS:")), (Some(7204), Some(6100)));
        assert_eq!(kibibytes(status, "VmSwap:"), None);
    }
}
