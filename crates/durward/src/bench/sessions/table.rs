//! What was measured, as tables.

use durward_bench::sessions::{
    LoginFlood, LogoutDelays, SessionMeasurement, SessionMemory, UserAction, ValidationMeasurement, WaitTimes,
};

use super::place::PasswordHashing;
use super::{Arguments, AtUserCount, SessionBenchReport};
use crate::bench::{counted, grouped};

/// All tables, one below the other.
pub(super) fn of(report: &SessionBenchReport, arguments: &Arguments) -> String {
    let mut text = head(arguments);
    let has_rates = !(report.validate.is_empty() && report.login.is_empty() && report.mix.is_empty());
    if has_rates {
        text.push_str(&format!(
            "\n{:<22} {:>5} {:>9} {:>21} {:>9} {:>9} {:>9} {:>9}\n",
            "", "users", "a second", "min .. max", "p50 us", "p95 us", "p99 us", "node us"
        ));
    }
    for AtUserCount { users, measured } in &report.validate {
        validation(&mut text, *users, measured);
    }
    for (hash, AtUserCount { users, measured }) in &report.login {
        let name = hash.map_or_else(|| "login".to_owned(), |hash| format!("login, {}", words(hash)));
        line(&mut text, &name, *users, measured, measured.of(UserAction::Login));
    }
    for AtUserCount { users, measured } in &report.mix {
        let name = format!("mix, {} % logouts", arguments.logout_percent);
        line(&mut text, &name, *users, measured, None);
        measured.waits.iter().for_each(|waits| part(&mut text, waits));
    }
    if has_rates {
        text.push_str("\nnode us: what cores of the nodes did for one answer\n");
    }
    if let Some(AtUserCount { users, measured }) = &report.flood {
        flood(&mut text, *users, measured);
    }
    if let Some(logouts) = &report.logouts {
        text.push_str(&seen(logouts));
    }
    if let Some(memory) = &report.memory {
        resident(&mut text, memory);
    }
    text
}

fn head(arguments: &Arguments) -> String {
    if !arguments.at.is_empty() {
        return format!("{} running\n", counted(arguments.at.len(), "node", [" that was", "s that were"]));
    }
    let nodes = counted(usize::from(arguments.nodes), "node", ["", "s"]);
    match &arguments.config {
        Some(config) => format!("{nodes} with {}\n", config.display()),
        None => format!("{nodes}, mode {}\n", arguments.mode.name()),
    }
}

fn words(hash: PasswordHashing) -> &'static str {
    match hash {
        PasswordHashing::Argon2id => "Argon2id",
        PasswordHashing::Cheap => "cheap hash",
    }
}

fn us(nanoseconds: u64) -> String {
    format!("{:.0}", nanoseconds as f64 / 1_000.0)
}

fn line(text: &mut String, name: &str, users: u16, measured: &SessionMeasurement, waits: Option<&WaitTimes>) {
    let rate = &measured.rate;
    let range = format!("{} .. {}", grouped(rate.min), grouped(rate.max));
    let wait = |pick: fn(&WaitTimes) -> u64| waits.map_or_else(String::new, |waits| us(pick(waits)));
    let cpu = measured.cpu_ns.map_or_else(String::new, |cpu| format!("{:.1}", cpu as f64 / 1_000.0));
    text.push_str(&format!(
        "{name:<22} {users:>5} {:>9} {range:>21} {:>9} {:>9} {:>9} {cpu:>9}\n",
        grouped(rate.median),
        wait(|waits| waits.p50_ns),
        wait(|waits| waits.p95_ns),
        wait(|waits| waits.p99_ns),
    ));
}

fn part(text: &mut String, waits: &WaitTimes) {
    text.push_str(&format!(
        "  {:<48} {:>20} {:>9} {:>9}\n",
        format!("{}, {} times", waits.act.name(), grouped(waits.answered as f64)),
        us(waits.p50_ns),
        us(waits.p95_ns),
        us(waits.p99_ns),
    ));
}

fn validation(text: &mut String, users: u16, measured: &ValidationMeasurement) {
    line(text, "validate", users, &measured.nodes, measured.nodes.of(UserAction::Validate));
    if let Some(bare) = &measured.bare {
        line(text, "  a bare server", users, bare, bare.of(UserAction::Validate));
        let part = measured.nodes.rate.median / bare.rate.median * 100.0;
        let cpu = bare.cpu_ns.zip(measured.nodes.cpu_ns).map(|(bare, nodes)| nodes as f64 / bare as f64);
        let cpu = cpu.map_or_else(String::new, |times| format!(", at {times:.2} times its cost"));
        text.push_str(&format!("  {part:.0} % of that{cpu}\n"));
    }
    if let Some(busy) = measured.nodes.busy {
        text.push_str(&format!("  nodes ran {:.0} % of the time of a core\n", busy * 100.0));
    }
}

fn flood(text: &mut String, users: u16, flood: &LoginFlood) {
    let wait = |measured: &SessionMeasurement, pick: fn(&WaitTimes) -> u64| {
        measured.of(UserAction::Validate).map_or(0, pick)
    };
    text.push_str(&format!(
        "\na flood of logins (Argon2id unless set otherwise), {users} users validate\n\
         {} logins/s can be done, {} came a second\n",
        grouped(flood.capacity_per_s),
        grouped(flood.offered_per_s)
    ));
    for (name, measured) in [("without", &flood.calm), ("with", &flood.flooded)] {
        text.push_str(&format!(
            "  {name:<8} {:>9} validations/s, p50 {} us, p99 {} us\n",
            grouped(measured.rate.median),
            us(wait(measured, |waits| waits.p50_ns)),
            us(wait(measured, |waits| waits.p99_ns)),
        ));
    }
    let answers: Vec<String> = flood
        .logins
        .iter()
        .map(|(status, count)| format!("{} times {status}", grouped(*count as f64)))
        .collect();
    text.push_str(&format!(
        "  {:.0} % kept; logins were answered {}\n",
        flood.kept() * 100.0,
        answers.join(", ")
    ));
}

fn seen(logouts: &LogoutDelays) -> String {
    let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    format!(
        "\n{} logouts refused on all other nodes: p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms after the answer\n\
         {} of them were accepted once more by some node that was asked after it\n",
        grouped(logouts.count as f64),
        ms(logouts.p50_ns),
        ms(logouts.p99_ns),
        ms(logouts.max_ns),
        grouped(logouts.accepted_after as f64)
    )
}

fn resident(text: &mut String, memory: &SessionMemory) {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let sessions = memory.sessions as f64;
    text.push_str(&format!(
        "\n{} sessions, made in {:.1} s; {} of them validated afterwards\n",
        grouped(sessions),
        memory.time.as_secs_f64(),
        grouped(memory.checked as f64)
    ));
    for node in &memory.nodes {
        text.push_str(&format!(
            "  process {}: {:.1} MiB resident before, {:.1} MiB after: {:.0} bytes a session\n",
            node.process,
            mib(node.before),
            mib(node.after),
            node.per_session(memory.sessions)
        ));
    }
}
