//! What a live session costs in memory, and a validation in time: `cargo run --profile optimised -p durward-identity --example memory`.
//!
//! Arguments: how many sessions (a million), and how many users they are of (as many). Each thread validates a thousand of the
//! sessions, two thousand times.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    reason = "it measures, and tells what"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use durward_identity::protocol::{AskId, AskOutcome, NodeEffect, NodeEvent, NodeSettings, SessionNode};
use durward_identity::session::{
    ClusterKey, Level, Properties, Refusal, Scratch, SessionSettings, SessionTable, User,
};
use durward_identity::{Moment, SystemEntropy};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let users: u64 = arguments.next().map_or(Ok(count), |text| text.parse())?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let mut now = Moment::from_ms(u64::try_from(since.as_millis())?);
    let sessions = Arc::new(SessionTable::new(SessionSettings::default()));
    let cluster = ClusterKey::new([7; 32])?;
    let mut node =
        SessionNode::new(NodeSettings::default(), sessions.clone(), cluster, Arc::new(SystemEntropy))?;
    let mut effects = Vec::new();
    node.handle(now, NodeEvent::Tick, &mut effects);
    now = now.plus(std::time::Duration::from_secs(3));
    node.handle(now, NodeEvent::Tick, &mut effects);

    let before = resident_bytes()?;
    let mut some = Vec::new();
    let began = Instant::now();
    for number in 0..count {
        let user = User::new("/", &format!("user{:07}", number % users.max(1)))?;
        effects.clear();
        let login =
            NodeEvent::Login { ask: AskId(number), user, level: Level(0), properties: Properties::new() };
        node.handle(now, login, &mut effects);
        let token = effects.drain(..).find_map(|effect| match effect {
            NodeEffect::Answer { answer: AskOutcome::Token { token, .. }, .. } => Some(token),
            _ => None,
        });
        // Each kept token takes memory of its own: few, from all over the table.
        if number % (count / 1_000).max(1) == 0 {
            some.extend(token);
        }
    }
    let login_ns = began.elapsed().as_nanos() / u128::from(count.max(1));
    let each = resident_bytes()?.saturating_sub(before) / count.max(1);
    println!("{count} sessions of {users} users: {each} bytes each, {login_ns} ns a login");

    for threads in [1, 2] {
        println!("{} ns a validation, {threads} at a time", validation_ns(&sessions, now, &some, threads)?);
    }
    Ok(())
}

/// How much of a core a validation takes, with so many threads at it.
fn validation_ns(
    sessions: &SessionTable,
    now: Moment,
    tokens: &[String],
    threads: u32,
) -> Result<u64, Box<dyn Error>> {
    const ROUNDS: usize = 2_000;
    let round = || -> Result<u64, Refusal> {
        let mut scratch = Scratch::new();
        let began = core_ns();
        for token in (0..ROUNDS).flat_map(|_| tokens) {
            sessions.validate(now, token, &mut scratch)?;
        }
        Ok(core_ns().saturating_sub(began))
    };
    let total = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(round)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(Refusal::Unavailable)))
            .sum::<Result<u64, Refusal>>()
    })?;
    Ok(total / (ROUNDS * tokens.len().max(1)) as u64 / u64::from(threads))
}

/// What this thread has had of a core (Linux).
fn core_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Of this process (Linux).
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
