//! Load generators: how each is told a load, and what it says of it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::output_of;
use crate::tools::find;

/// What is asked of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// So many users who never pause.
    Users(u32),
    /// So many requests a second over as many connections.
    Rate { rate: u32, users: u32 },
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Users(users) => write!(f, "{users} users who never pause"),
            Load::Rate { rate, users } => write!(f, "{rate} requests/s over {users} connections"),
        }
    }
}

/// What came of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(super) requests: f64,
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Microseconds of processor time a request: the generator's, and the target's.
    pub(super) own_us: f64,
    pub(super) target_us: f64,
}

/// A load generator.
pub(super) enum Peer {
    Durward(PathBuf),
    Wrk(PathBuf),
    Hey(PathBuf),
    K6(PathBuf),
}

impl Peer {
    /// Those that are there.
    pub(super) fn installed(durward: &Path) -> Vec<Peer> {
        let mut all = vec![Peer::Durward(durward.to_owned())];
        let of: fn(PathBuf) -> Peer = Peer::Wrk;
        for (name, of) in [("wrk", of), ("hey", Peer::Hey), ("k6", Peer::K6)] {
            match find(name) {
                Some(path) => all.push(of(path)),
                None => println!("{name} is not on the PATH: left out"),
            }
        }
        all
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Peer::Durward(_) => "durward lab",
            Peer::Wrk(_) => "wrk",
            Peer::Hey(_) => "hey",
            Peer::K6(_) => "k6",
        }
    }

    /// wrk knows no rate.
    pub(super) fn can(&self, load: Load) -> bool {
        !matches!((self, load), (Peer::Wrk(_), Load::Rate { .. }))
    }

    /// Makes the load.
    pub(super) fn run(&self, url: &str, load: Load, seconds: u32, folder: &Path) -> Result<Seen, String> {
        let seconds_text = format!("{seconds}s");
        let (text, read): (String, fn(&str) -> Option<Seen>) = match self {
            Peer::Durward(program) => {
                let file = write(folder, "scenario.toml", &scenario(url, load, seconds))?;
                let out = folder.join("lab");
                let mut command = Command::new(program);
                command.args(["lab", "run"]).arg(file).arg("--out").arg(out);
                (output_of(command.args(["--skip-generator-limit", "--quiet"]))?, of_durward)
            }
            Peer::Wrk(program) => {
                let users = format!("-c{}", load.users());
                let flags = ["-t1", &users, "-d", &seconds_text, "--latency", url];
                (output_of(Command::new(program).args(flags))?, of_wrk)
            }
            Peer::Hey(program) => {
                let users = load.users().to_string();
                let mut command = Command::new(program);
                command.args(["-z", &seconds_text, "-c", &users]);
                if let Load::Rate { rate, users } = load {
                    command.args(["-q", &(rate / users.max(1)).max(1).to_string()]);
                }
                (output_of(command.arg(url))?, of_hey)
            }
            Peer::K6(program) => {
                let file = write(folder, "k6.js", &script(url, load, seconds))?;
                (output_of(Command::new(program).args(["run", "-q"]).arg(file))?, of_k6)
            }
        };
        let mut seen =
            read(&text).ok_or_else(|| format!("{} says nothing that is understood:\n{text}", self.name()))?;
        if seen.requests <= 0.0 {
            seen.requests = seen.rate * f64::from(seconds);
        }
        Ok(seen)
    }
}

impl Load {
    fn users(self) -> u32 {
        match self {
            Load::Users(users) | Load::Rate { users, .. } => users,
        }
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

fn scenario(url: &str, load: Load, seconds: u32) -> String {
    let asked = match load {
        Load::Users(users) => format!("users = {users}"),
        Load::Rate { rate, users } => format!("arrivals = {{ rate = {rate} }}\nconnections = {users}"),
    };
    let (address, path) = url
        .rsplit_once("://")
        .map_or((url, "/"), |(_, rest)| rest.find('/').map_or((url, "/"), |at| rest.split_at(at)));
    format!(
        "[target]\naddresses = [\"{address}\"]\n[load]\n{asked}\nthreads = 1\nwarm_up = \"0s\"\nmeasure = \"{seconds}s\"\n[[steps]]\npath = \"{path}\"\n"
    )
}

fn script(url: &str, load: Load, seconds: u32) -> String {
    let options = match load {
        Load::Users(users) => format!("vus: {users}, duration: '{seconds}s'"),
        Load::Rate { rate, users } => format!(
            "scenarios: {{ rate: {{ executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{seconds}s', preAllocatedVUs: {users}, maxVUs: {users} }} }}"
        ),
    };
    format!(
        "import http from 'k6/http';\n\
         export const options = {{ {options}, summaryTrendStats: ['p(50)', 'p(99)'] }};\n\
         export default function () {{ http.get('{url}'); }}\n\
         export function handleSummary(data) {{\n\
           const of = (metric, value) => data.metrics[metric].values[value];\n\
           return {{ stdout: ['count', 'rate'].map((it) => of('http_reqs', it)).concat(['p(50)', 'p(99)'].map((it) => of('http_req_duration', it))).join(' ') }};\n\
         }}\n"
    )
}

/// The line of the one point: `... 64 users  135092.1  0.44 ms  0.60 ms  0.87 ms  5.00 ms  0.00%  90%`.
pub(crate) fn of_durward(text: &str) -> Option<Seen> {
    let line = text.lines().nth(1)?;
    let (_, rest) = line.split_once("users ").or_else(|| line.split_once("arrivals/s "))?;
    let numbers: Vec<f64> = rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [rate, p50_ms, _, p99_ms, ..] = numbers.as_slice() else { return None };
    Some(Seen { rate: *rate, p50_ms: *p50_ms, p99_ms: *p99_ms, ..Seen::default() })
}

fn of_wrk(text: &str) -> Option<Seen> {
    let after = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word)).map(str::trim);
    let requests = text.lines().find_map(|line| line.trim().split_once(" requests in "))?.0.parse().ok()?;
    let rate = after("Requests/sec:")?.parse().ok()?;
    Some(Seen { requests, rate, p50_ms: ms(after("50%")?)?, p99_ms: ms(after("99%")?)?, ..Seen::default() })
}

/// `115.00us`, `2.46ms`, `1.20s`.
fn ms(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().ok()?;
    match text.get(digits.len()..)? {
        "us" => Some(value / 1e3),
        "ms" => Some(value),
        "s" => Some(value * 1e3),
        _ => None,
    }
}

fn of_hey(text: &str) -> Option<Seen> {
    let line = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word)).map(str::trim);
    let seconds = |word: &str| line(word)?.strip_suffix(" secs")?.parse::<f64>().ok();
    let rate = line("Requests/sec:")?.parse().ok()?;
    let requests = rate * seconds("Total:")?;
    Some(Seen {
        requests,
        rate,
        p50_ms: seconds("50% in")? * 1e3,
        p99_ms: seconds("99% in")? * 1e3,
        ..Seen::default()
    })
}

/// Four numbers, as [`script`] prints them.
fn of_k6(text: &str) -> Option<Seen> {
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [.., requests, rate, p50_ms, p99_ms] = numbers.as_slice() else { return None };
    Some(Seen { requests: *requests, rate: *rate, p50_ms: *p50_ms, p99_ms: *p99_ms, ..Seen::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generator_is_understood() {
        let durward = "configuration  nodes  load  answers/s  p50\n  1  64 users  135092.1  0.44 ms  0.60 ms  0.87 ms  5.00 ms  0.00%  90%\n";
        let wrk = "  Latency Distribution\n     50%  115.00us\n     99%    9.08ms\n  76942 requests in 2.02s, 11.15MB read\nRequests/sec:  38172.98\n";
        let hey =
            "  Total:\t2.0000 secs\n  Requests/sec:\t20541.5\n  50% in 0.0003 secs\n  99% in 0.0035 secs\n";
        let numbers = |seen: Option<Seen>| seen.map(|one| [one.requests, one.rate, one.p50_ms, one.p99_ms]);
        assert_eq!(numbers(of_durward(durward)), Some([0.0, 135_092.1, 0.44, 0.87]));
        assert_eq!(numbers(of_wrk(wrk)), Some([76_942.0, 38_172.98, 0.115, 9.08]));
        assert_eq!(numbers(of_hey(hey)), Some([41_083.0, 20_541.5, 0.3, 3.5]));
        assert_eq!(numbers(of_k6("19756 9874.1 0.41 6.2")), Some([19_756.0, 9_874.1, 0.41, 6.2]));
        assert!([of_durward, of_wrk, of_hey, of_k6].into_iter().all(|read| read("").is_none()));
    }
}
