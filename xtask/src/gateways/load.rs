//! The loads that a gateway gets, by `durward lab run`, and what they came to.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::generators::{of_durward, of_process};
use crate::lab;
use crate::process::output_of;

/// What makes the loads, and how much.
pub(super) struct Driver<'d> {
    pub(super) program: &'d Path,
    pub(super) cookie: &'d str,
    pub(super) seconds: u32,
    pub(super) rate: u32,
    pub(super) users: u32,
}

/// What came of a gateway's loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// At the rate.
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Requests for each second of processor time, by users who never pause.
    pub(super) per_core: f64,
}

impl Driver<'_> {
    /// Makes both loads; `processes` are those whose time counts.
    ///
    /// # Errors
    /// A load cannot be made, or an answer was not 200.
    pub(super) fn measure(
        &self,
        gateway: SocketAddr,
        processes: &[u32],
        folder: &Path,
    ) -> Result<Measured, String> {
        let at_rate = format!("arrivals = {{ rate = {} }}\nconnections = {}", self.rate, self.users);
        let (_, p50_ms, p99_ms) = self.run(gateway, &at_rate, folder)?;
        let before = used(processes)?;
        let (answered, ..) = self.run(gateway, &format!("users = {}", self.users), folder)?;
        let seconds = used(processes)? - before;
        Ok(Measured { p50_ms, p99_ms, per_core: answered / seconds.max(0.01) })
    }

    /// How many were answered, and the percentiles of their latency.
    fn run(&self, gateway: SocketAddr, load: &str, folder: &Path) -> Result<(f64, f64, f64), String> {
        let scenario = format!(
            "[target]\naddresses = [\"{gateway}\"]\n[load]\n{load}\nthreads = 1\nwarm_up = \"0s\"\nmeasure = \"{}s\"\n\
             [[steps]]\nname = \"page\"\npath = \"/papers/7?page=2\"\nheaders.Cookie = \"{}\"\nheaders.Accept = \"text/html\"\n\
             expect.status = 200\n",
            self.seconds, self.cookie
        );
        let (file, out) = (folder.join("scenario.toml"), folder.join("lab"));
        fs::write(&file, scenario).map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
        let mut command = Command::new(self.program);
        command.args(["lab", "run"]).arg(&file).arg("--out").arg(&out);
        let said = output_of(command.args(["--skip-generator-limit", "--quiet"]))?;
        let seen =
            of_durward(&said).ok_or_else(|| format!("the lab says what is not understood:\n{said}"))?;
        let record = lab::record(&out)?;
        let [point] = record.points.as_slice() else { return Err("the lab has not one point".to_owned()) };
        if point.wrong > 0 || point.right == 0 {
            return Err(format!("{gateway}: {}", point.causes.join(", ")));
        }
        Ok((point.right as f64, seen.p50_ms, seen.p99_ms))
    }
}

/// Processor time of all of them, in seconds.
fn used(processes: &[u32]) -> Result<f64, String> {
    processes.iter().map(|id| of_process(*id)).sum()
}
