//! What was measured, as JSON.

use durward_bench::sessions::{
    LoginFlood, LogoutDelays, SessionMeasurement, SessionMemory, ValidationMeasurement, WaitTimes,
};
use serde_json::{Map, Value as Json, json};

use super::{Arguments, AtUserCount, SessionBenchReport};
use crate::bench::row::{command, machine, rounded};

/// An object with all of it.
pub(super) fn of(report: &SessionBenchReport, arguments: &Arguments) -> String {
    let is_own = arguments.at.is_empty() && arguments.config.is_none();
    let nodes = if arguments.at.is_empty() { usize::from(arguments.nodes) } else { arguments.at.len() };
    let object = json!({
        "nodes": nodes,
        "mode": is_own.then(|| arguments.mode.name()),
        "validate": report.validate.iter().map(validation).collect::<Vec<_>>(),
        "login": report.login.iter().map(|(hash, with)| {
            let mut row = measured(&with.measured, Some(with.users));
            row.insert("hash".to_owned(), hash.map(super::place::PasswordHashing::name).into());
            row
        }).collect::<Vec<_>>(),
        "mix": report.mix.iter().map(|with| {
            let mut row = measured(&with.measured, Some(with.users));
            row.insert("logout_percent".to_owned(), arguments.logout_percent.into());
            row
        }).collect::<Vec<_>>(),
        "flood": report.flood.as_ref().map(flood),
        "logout": report.logouts.as_ref().map(logouts),
        "memory": report.memory.as_ref().map(memory),
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine(),
        "command": command(),
    });
    format!("{object:#}\n")
}

fn validation(with: &AtUserCount<ValidationMeasurement>) -> Map<String, Json> {
    let ValidationMeasurement { nodes, bare } = &with.measured;
    let mut row = measured(nodes, Some(with.users));
    let part = bare.as_ref().map(|bare| rounded(nodes.rate.median / bare.rate.median));
    row.insert("bare".to_owned(), bare.as_ref().map(|bare| measured(bare, None)).into());
    row.insert("of_bare".to_owned(), part.into());
    row
}

fn measured(measured: &SessionMeasurement, users: Option<u16>) -> Map<String, Json> {
    let mut row = Map::new();
    let mut put = |name: &str, value: Json| row.insert(name.to_owned(), value);
    if let Some(users) = users {
        put("users", users.into());
    }
    put("per_s", measured.rate.median.round().into());
    put("min", measured.rate.min.round().into());
    put("max", measured.rate.max.round().into());
    put("failed", measured.failed().into());
    put("cpu_ns", measured.cpu_ns.into());
    put("nodes_busy", measured.busy.map(rounded).into());
    for one in &measured.waits {
        put(one.act.name(), waits(one));
    }
    row
}

fn waits(waits: &WaitTimes) -> Json {
    json!({
        "answered": waits.answered,
        "failed": waits.failed,
        "p50_ns": waits.p50_ns,
        "p95_ns": waits.p95_ns,
        "p99_ns": waits.p99_ns,
        "max_ns": waits.max_ns,
    })
}

fn flood(with: &AtUserCount<LoginFlood>) -> Json {
    let flood = &with.measured;
    let logins: Map<String, Json> =
        flood.logins.iter().map(|(status, count)| (status.to_string(), (*count).into())).collect();
    json!({
        "users": with.users,
        "capacity_per_s": rounded(flood.capacity_per_s),
        "offered_per_s": rounded(flood.offered_per_s),
        "calm": measured(&flood.calm, None),
        "flooded": measured(&flood.flooded, None),
        "kept": rounded(flood.kept()),
        "logins": logins,
        "logins_failed": flood.logins_failed,
    })
}

fn logouts(logouts: &LogoutDelays) -> Json {
    json!({
        "count": logouts.count,
        "accepted_after": logouts.accepted_after,
        "p50_ns": logouts.p50_ns,
        "p99_ns": logouts.p99_ns,
        "max_ns": logouts.max_ns,
    })
}

fn memory(memory: &SessionMemory) -> Json {
    let nodes: Vec<Json> = memory
        .nodes
        .iter()
        .map(|node| {
            json!({
                "process": node.process,
                "before_bytes": node.before,
                "after_bytes": node.after,
                "bytes_per_session": rounded(node.per_session(memory.sessions)),
            })
        })
        .collect();
    json!({
        "sessions": memory.sessions,
        "seconds": rounded(memory.time.as_secs_f64()),
        "checked": memory.checked,
        "nodes": nodes,
    })
}
