//! `cargo xtask gateways`: what a gateway's check of each request costs, with the configurations that the manual prints.
//!
//! Each gateway runs twice in front of the same application: as the manual has it, and without what asks (`proxies`). In each round both get the
//! same loads (`load`), in turns: a rate that both can make, which shows what a check adds to the time of a request, and users who never
//! pause, which shows what a core makes of it; processor time is that of the gateway and, with the check, of durward. `calls` is Envoy's
//! check over gRPC without an Envoy: many at a time on one connection, beside a server that answers with the same bytes and decides nothing.

mod calls;
mod load;
mod proxies;
mod server;
mod table;
mod upstream;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_testdata::gateways::{Asking, GatewayKind};

use crate::metadata::Metadata;
use crate::release;
use load::{Driver, Measured};
use proxies::Proxy;
use server::Server;
use table::{CallsRow, GatewayRow, Results};
use upstream::Upstream;

const USAGE: &str = "`cargo xtask gateways [--only nginx|caddy|haproxy|envoy|envoy-http|calls] [--rounds N] [--seconds N] [--rate N] \
                     [--users N] [--binary DURWARD] [--driver DURWARD] [--checks PROGRAM] [--json FILE]`";

/// What `--only` names beside gateways.
const CALLS: &str = "calls";

/// What is measured, and how long.
#[derive(Debug)]
struct Plan {
    only: Option<String>,
    rounds: usize,
    seconds: u32,
    /// Requests a second where latency is looked at.
    rate: u32,
    users: u32,
    /// What is measured.
    binary: Option<PathBuf>,
    /// What makes the load; needs the feature `lab`.
    driver: Option<PathBuf>,
    /// The example `envoy_checks` of durward-bench.
    checks: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan {
            only: None,
            rounds: 5,
            seconds: 3,
            rate: 1_000,
            users: 16,
            binary: None,
            driver: None,
            checks: None,
            json: None,
        };
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned());
        for pair in words.chunks(2) {
            match pair {
                ["--only", name] => plan.only = Some((*name).to_owned()),
                ["--rounds", text] => plan.rounds = number(text)? as usize,
                ["--seconds", text] => plan.seconds = number(text)?,
                ["--rate", text] => plan.rate = number(text)?,
                ["--users", text] => plan.users = number(text)?,
                ["--binary", path] => plan.binary = Some(absolute(path)?),
                ["--driver", path] => plan.driver = Some(absolute(path)?),
                ["--checks", path] => plan.checks = Some(absolute(path)?),
                ["--json", path] => plan.json = Some(PathBuf::from(path)),
                _ => return Err(USAGE.to_owned()),
            }
        }
        let names = GatewayKind::ALL.map(GatewayKind::name);
        let is_known = plan.only.as_deref().is_none_or(|name| name == CALLS || names.contains(&name));
        if is_known { Ok(plan) } else { Err(USAGE.to_owned()) }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| format!("`{path}`: {error}"))
}

/// `cargo xtask gateways [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let binary = match &plan.binary {
        Some(path) => path.clone(),
        None => release::dist()?,
    };
    let folder = Metadata::read()?.target_directory.join("gateways");
    fresh(&folder)?;
    let server = Server::start(&binary, &folder.join("durward"))?;
    let mut results = Results::default();
    let kinds = GatewayKind::ALL.into_iter().filter(|kind| plan.wants(kind.name()));
    for kind in kinds {
        match proxies::program(kind) {
            Ok(program) => {
                results.gateways.push(gateway(&plan, &binary, &server, (kind, &program), &folder)?)
            }
            Err(missing) => println!("{} is left out: {missing}", kind.name()),
        }
    }
    if plan.wants(CALLS) {
        results.calls = Some(calls(&plan, &server)?);
    }
    println!("\nmedians of {} rounds of {} s, in turns\n\n{}", plan.rounds, plan.seconds, results.table());
    if let Some(path) = &plan.json {
        let text = format!("{:#}\n", results.json(plan.rounds, plan.seconds));
        fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One gateway, with its check and without.
fn gateway(
    plan: &Plan,
    binary: &Path,
    server: &Server,
    (kind, program): (GatewayKind, &Path),
    folder: &Path,
) -> Result<GatewayRow, String> {
    let driver = Driver {
        program: plan.driver.as_deref().unwrap_or(binary),
        cookie: &server.cookie(),
        seconds: plan.seconds,
        rate: plan.rate,
        users: plan.users,
    };
    let application = Upstream::start()?;
    let folder = folder.join(kind.name());
    let start = |asking: Asking, name: &str| {
        let folder = folder.join(name);
        fresh(&folder)?;
        Proxy::start((kind, program), asking, (server.address, application.address), &folder)
    };
    let (checked, bare) = (start(Asking::Each, "checked")?, start(Asking::None, "bare")?);
    for proxy in [&checked, &bare] {
        proxy.passes(&server.cookie())?;
    }
    if checked.status("")? == 200 {
        return Err(format!("{} lets everybody through", kind.name()));
    }
    let mut row = GatewayRow::new(kind.name());
    for _ in 0..plan.rounds {
        let with = driver.measure(checked.address, &[checked.id(), server.id()], &folder)?;
        let without = driver.measure(bare.address, &[bare.id()], &folder)?;
        println!("{}: {} with the check, {} without", kind.name(), shown(&with), shown(&without));
        row.rounds.push((with, without));
    }
    Ok(row)
}

fn shown(measured: &Measured) -> String {
    let Measured { p50_ms, p99_ms, per_core } = measured;
    format!("p50 {p50_ms:.3} ms, p99 {p99_ms:.3} ms, {per_core:.0}/s a core")
}

/// Envoy's calls, at durward and at a bare server.
fn calls(plan: &Plan, server: &Server) -> Result<CallsRow, String> {
    let program = match &plan.checks {
        Some(path) => path.clone(),
        None => calls::build()?,
    };
    let caller = calls::Caller { program: &program, token: &server.token };
    let answer = caller.ask(server.address, server.id(), 1)?.answer;
    let bare = calls::Bare::start(&program, &answer)?;
    let mut row = CallsRow::default();
    for _ in 0..plan.rounds {
        let ours = caller.ask(server.address, server.id(), plan.seconds)?;
        let theirs = caller.ask(bare.address, bare.id(), plan.seconds)?;
        println!("calls: {:.0}/s a core, bare {:.0}/s a core", ours.per_core(), theirs.per_core());
        row.rounds.push((ours.per_core(), theirs.per_core()));
    }
    Ok(row)
}

/// A folder with nothing in it.
fn fresh(folder: &Path) -> Result<(), String> {
    let emptied = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    emptied.map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_values_and_names_are_known() {
        let plan = Plan::of(&["--only", "calls", "--rounds", "2"]).unwrap();
        assert!(plan.rounds == 2 && plan.wants("calls") && !plan.wants("nginx"));
        assert!(Plan::of(&[]).unwrap().wants("envoy-http"));
        for words in [&["--rounds"][..], &["--rounds", "0"], &["--only", "traefik"], &["--quick", "1"]] {
            assert!(Plan::of(words).is_err(), "{words:?}");
        }
    }
}
