//! Requests: table 2, what the gate adds to a request, reads a core, values of subscriptions, and what asking for a right costs.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_opcua::error::Error;
use durward_opcua::permission::{Permission, SessionRights};
use durward_opcua::session::{ClientIdentity, ClientSession};
use durward_opcua::token::{
    Cutoffs, Feed, FeedMessage, GrantVerdict, Grants, IssueRequest, NodeTable, RightsClock, StalenessLimits,
    TableNode, TableRows, Thumbprint, TokenRights, TokenVerifier,
};
use durward_session::identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_session::identity::{Moment, SystemEntropy};
use opcua_types::{NodeId, ReadRequest};
use tokio::task::JoinSet;

use super::connect::warm;
use super::report::{AimBound, BenchAim, BenchPart, OpcuaBenchReport};
use super::session::{ValueArrival, execute, node, read, reading, tag, watch, write, writing};
use super::times::{MicrosecondTimes, ms, ratio};
use super::world::{BenchProcess, BenchProcesses, GateName};
use super::{BenchScale, paper};
use crate::failure::CommandError;
use crate::opcua::application;

/// Requests that follow each other before it is the other session's turn.
const BLOCK: usize = 50;
/// Clients that read at the same time.
const CLIENTS: usize = 16;
/// Reads at a time where they are pipelined.
const PIPELINED: usize = 32;

async fn with_token(world: &BenchProcesses<'_>, gate: GateName) -> Result<ClientSession, CommandError> {
    let tokens = world.tokens(&ClientIdentity::Anonymous).await?;
    let place = world.gate(gate)?;
    let token = tokens.request(place.uri()).await.map_err(application::failure)?;
    tokens.close().await;
    place.enter(&token).await
}

#[derive(Clone, Copy)]
enum AccessRequest {
    Read,
    Write,
    Execute,
}

impl AccessRequest {
    async fn send(self, session: &ClientSession) -> Result<(), Error> {
        match self {
            AccessRequest::Read => read(session, &reading(&[tag(0)])).await.map(drop),
            AccessRequest::Write => write(session, &writing(&[tag(0)], 1.0)).await,
            AccessRequest::Execute => execute(session).await,
        }
    }
}

/// Requests on sessions in turns.
async fn in_turns<const N: usize>(
    request: AccessRequest,
    sessions: [&ClientSession; N],
    count: usize,
) -> Result<[MicrosecondTimes; N], CommandError> {
    let mut all = std::array::from_fn(|_| MicrosecondTimes::default());
    let mut left = count;
    while left > 0 {
        for (session, times) in sessions.into_iter().zip(&mut all) {
            for _ in 0..BLOCK.min(left) {
                let begun = Instant::now();
                request.send(session).await.map_err(application::failure)?;
                times.add(begun.elapsed());
            }
        }
        left = left.saturating_sub(BLOCK);
    }
    Ok(all)
}

/// Table 2: requests at a gate, without and with a token.
pub(super) async fn table_2(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let none = world.gate(GateName::Once)?.enter(&ClientIdentity::Anonymous).await?;
    let token = with_token(world, GateName::Once).await?;
    warm(&none).await?;
    warm(&token).await?;
    let mut part = BenchPart::new("table-2", "Table 2: requests, without and with a token");
    let columns = [
        "request",
        "none: mean ms",
        "sd",
        "p50",
        "p99",
        "token: mean ms",
        "sd",
        "p50",
        "p99",
        "times, here",
        "paper",
    ];
    for (load, paper) in [("low", &paper::TABLE_2_LOW), ("high", &paper::TABLE_2_HIGH)] {
        let running = (load == "high").then(|| world.load(GateName::Once)).transpose()?;
        let mut rows = Vec::new();
        for (request, (name, paper_none, paper_token)) in
            [AccessRequest::Read, AccessRequest::Write, AccessRequest::Execute].into_iter().zip(paper)
        {
            let [without, with] = in_turns(request, [&none, &token], scale.of(4_000, 60)).await?;
            part.times(format!("{load}, {name}, no token"), &without);
            part.times(format!("{load}, {name}, token"), &with);
            let mut row = vec![(*name).to_owned()];
            row.extend(without.cells());
            row.extend(with.cells());
            row.push(ratio(with.mean(), without.mean()));
            row.push(ratio(*paper_token, *paper_none));
            rows.push(row);
        }
        drop(running);
        part.table(format!("{load} load"), &columns, rows);
    }
    report.parts.push(part);
    Ok(())
}

/// What a gate adds to a read, and how many reads it takes a core for a second to mediate.
pub(super) async fn gate(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let plain = Arc::new(world.plant.enter(&ClientIdentity::Anonymous).await?);
    let gated = Arc::new(with_token(world, GateName::Once).await?);
    warm(&plain).await?;
    warm(&gated).await?;
    let mut part = BenchPart::new("gate", "What the gate costs");
    let (_relay, place) = world.relay()?;
    let relayed = Arc::new(place.enter(&ClientIdentity::Anonymous).await?);
    warm(&relayed).await?;
    let sessions: [&ClientSession; 3] = [&plain, &relayed, &gated];
    let [direct, passed_on, through] = in_turns(AccessRequest::Read, sessions, scale.of(10_000, 100)).await?;
    let row = |name: &str, times: &MicrosecondTimes| {
        let mut row = vec![name.to_owned()];
        row.extend(times.cells());
        row
    };
    let rows = vec![
        row("the server itself", &direct),
        row("through a process that only forwards bytes", &passed_on),
        row("through the gate", &through),
    ];
    part.table("A read of one value", &["read", "mean ms", "sd", "p50", "p99"], rows);
    part.times("read, the server itself", &direct);
    part.times("read, bytes passed on", &passed_on);
    part.times("read, through the gate", &through);
    let more = through.p50() - direct.p50();
    part.number("more_us_p50", more);
    let mediation = through.p50() - passed_on.p50();
    part.number("mediation_us_p50", mediation);
    part.say(format!(
        "A process between client and server costs {:.0} us on this machine, whatever it does, because there are two more \
         waits for the network. Reading and checking requests and responses in the gate costs {mediation:.0} us beside that.",
        passed_on.p50() - direct.p50()
    ));
    report.aims.push(BenchAim::new(
        "added latency of a request through the gate, p50",
        " us",
        more,
        AimBound::AtMost(60.0),
    ));

    let process = world.gate_process(GateName::Once)?;
    let time = Duration::from_secs_f64(scale.seconds(4.0, 0.3));
    let mut rows = Vec::new();
    let mut clients = vec![Arc::clone(&gated)];
    for _ in 1..CLIENTS {
        let client = Arc::new(with_token(world, GateName::Once).await?);
        warm(&client).await?;
        clients.push(client);
    }
    let alone = clients.get(..1).unwrap_or_default();
    // Of a gate that waits for each read of its only client, the system's waking takes more than the reads: no aim.
    let all: [(_, &[_], _, _); 3] = [
        ("one at a time", alone, 1, None),
        (
            "16 clients, each one at a time",
            &clients,
            1,
            Some("reads per second and core of the gate, 16 clients"),
        ),
        (
            "pipelined, 32 at a time",
            alone,
            PIPELINED,
            Some("reads per second and core of the gate, pipelined"),
        ),
    ];
    for (name, sessions, at_once, aim) in all {
        let rate = rate(sessions, process, at_once, time).await?;
        part.number(format!("{name}, reads/s"), rate.per_s.round());
        part.number(format!("{name}, reads/s a core of the gate"), rate.per_core_s.round());
        rows.push(vec![
            name.to_owned(),
            format!("{:.0}", rate.per_s),
            format!("{:.2}", rate.cores),
            format!("{:.1}", 1e6 / rate.per_core_s),
            format!("{:.0}", rate.per_core_s),
        ]);
        if let Some(aim) = aim {
            report.aims.push(BenchAim::new(aim, "/s", rate.per_core_s, AimBound::AtLeast(20_000.0)));
        }
    }
    let columns =
        ["reads", "reads/s", "cores of the gate", "us of a core per read", "reads/s per core of the gate"];
    part.table("Reads through the gate, and the processor time of its process", &columns, rows);
    part.say(
        "Client, gate and server share this machine; the cores of the gate are the processor time of its process.",
    );
    report.parts.push(part);
    Ok(())
}

struct AccessRate {
    per_s: f64,
    /// Cores that the gate had.
    cores: f64,
    per_core_s: f64,
}

async fn rate(
    sessions: &[Arc<ClientSession>],
    process: &BenchProcess,
    at_once: usize,
    time: Duration,
) -> Result<AccessRate, CommandError> {
    let (begun, before) = (Instant::now(), process.used()?);
    let mut asking = JoinSet::new();
    for session in sessions {
        for number in 0..at_once {
            let (session, request) = (Arc::clone(session), reading(&[tag(number % 10)]));
            asking.spawn(async move { reads_until(&session, &request, begun + time).await });
        }
    }
    let mut count = 0_u32;
    while let Some(done) = asking.join_next().await {
        let done = done.map_err(|error| CommandError::new(error.to_string()))?;
        count += done.map_err(application::failure)?;
    }
    let (passed, after) = (begun.elapsed().as_secs_f64(), process.used()?);
    let ran = after.ran.saturating_sub(before.ran).as_secs_f64();
    let count = f64::from(count);
    Ok(AccessRate { per_s: count / passed, cores: ran / passed, per_core_s: count / ran.max(1e-9) })
}

async fn reads_until(session: &ClientSession, request: &ReadRequest, until: Instant) -> Result<u32, Error> {
    let mut count = 0;
    while Instant::now() < until {
        read(session, request).await?;
        count += 1;
    }
    Ok(count)
}

/// Values that a subscription brings, from the server itself and through the gate.
pub(super) async fn subscriptions(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    const ITEMS: usize = 50;
    let every = Duration::from_millis(10);
    let plain = Arc::new(world.plant.enter(&ClientIdentity::Anonymous).await?);
    let writer = world.plant.enter(&ClientIdentity::Anonymous).await?;
    let gated = Arc::new(with_token(world, GateName::Once).await?);
    let mut part = BenchPart::new("subscriptions", "Subscriptions");
    // What the plant does not move by itself.
    let one = [node("Boiler.Burner.SetPoint")];
    let mut direct = watch(&plain, &one, every).await.map_err(application::failure)?;
    let mut through = watch(&gated, &one, every).await.map_err(application::failure)?;
    let mut all = [MicrosecondTimes::default(), MicrosecondTimes::default()];
    for number in 0..scale.of(400, 8) {
        let value = (number % 99) as f64 + 0.6;
        let written = Instant::now();
        write(&writer, &writing(&one, value)).await.map_err(application::failure)?;
        for (arrivals, times) in [&mut direct, &mut through].into_iter().zip(&mut all) {
            times.add(arrival(arrivals, value).await?.duration_since(written));
        }
        // Not in step with the publishing interval.
        tokio::time::sleep(Duration::from_micros(5_000 + 617 * (number as u64 % 17))).await;
    }
    let [direct_times, through_times] = &all;
    let mut rows = Vec::new();
    for (name, times) in [("from the server itself", direct_times), ("through the gate", through_times)] {
        part.times(format!("value {name}"), times);
        let mut row = vec![name.to_owned()];
        row.extend(times.cells());
        rows.push(row);
    }
    let caption =
        "Time from writing a value at the server until a subscription delivers it; published every 10 ms";
    part.table(caption, &["value", "mean ms", "sd", "p50", "p99"], rows);
    drop((direct, through));

    let nodes: Vec<NodeId> = (0..ITEMS).map(tag).collect();
    let mut arrivals = watch(&gated, &nodes, every).await.map_err(application::failure)?;
    let process = world.gate_process(GateName::Once)?;
    let (begun, before) = (Instant::now(), process.used()?);
    let time = Duration::from_secs_f64(scale.seconds(4.0, 0.3));
    let (mut value, mut count) = (0.0, 0_u32);
    while begun.elapsed() < time {
        value += 1.0;
        write(&writer, &writing(&nodes, value)).await.map_err(application::failure)?;
        tokio::time::sleep(every).await;
        while arrivals.try_recv().is_ok() {
            count += 1;
        }
    }
    let ran = process.used()?.ran.saturating_sub(before.ran).as_secs_f64();
    let per_s = f64::from(count) / begun.elapsed().as_secs_f64();
    let each_us = ran * 1e6 / f64::from(count.max(1));
    part.number("values/s", per_s.round());
    part.number("gate_us_each", each_us);
    part.say(format!(
        "{ITEMS} values every 10 ms through the gate: {per_s:.0} values/s came, for {each_us:.2} us of a core of the gate \
         each; the gate checks the right for each value."
    ));
    report.parts.push(part);
    Ok(())
}

/// Waits for a value.
async fn arrival(
    arrivals: &mut tokio::sync::mpsc::UnboundedReceiver<ValueArrival>,
    value: f64,
) -> Result<Instant, CommandError> {
    let late = || CommandError::new("a subscription did not bring a value that was written");
    let until = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let next = tokio::time::timeout_at(until, arrivals.recv()).await;
        let next = next.ok().flatten().ok_or_else(late)?;
        let number = next.value.value.as_ref().and_then(opcua_types::Variant::as_f64);
        if number.is_some_and(|number| (number - value).abs() < 0.5) {
            return Ok(next.at);
        }
    }
}

/// What one question for a right costs, in this process: the same code that the gate runs for each node of each service.
pub(super) fn rights(scale: BenchScale, report: &mut OpcuaBenchReport) -> Result<(), CommandError> {
    const NODES: u32 = 1_000;
    const PLANT: &str = "urn:bench:plant";
    let wrong = |error: &dyn std::fmt::Display| CommandError::new(error.to_string());
    let now = Moment::from_ms(1_700_000_000_000);
    let nodes: Vec<NodeId> = (0..NODES).map(|number| NodeId::new(2, format!("Tag{number:05}"))).collect();
    let of = |node: &NodeId| TableNode::new(PLANT, node.identifier.clone());
    let table: Result<Vec<TableNode>, _> = nodes.iter().map(of).collect();
    let table = NodeTable::new(table.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
    let mut grants = Grants::none(&table);
    for row in 0..NODES {
        grants.set(row, Permission::Read, GrantVerdict::Granted);
    }
    let lifetime = Duration::from_secs(3_600);
    let key = SigningKey::generate(Algorithm::Es256).map_err(|error| wrong(&error))?;
    let keys = SigningKeys::new(lifetime).with(key, now, now).map_err(|error| wrong(&error))?;
    let client = Thumbprint::of(b"client");
    let issue = IssueRequest {
        issuer: "urn:bench:authority",
        subject: "anna",
        resource: "urn:bench:gate",
        lifetime,
        client,
        roles: &[],
        session: None,
        policy: "1",
        grants: &grants,
        live: None,
    };
    let token = issue.sign(&keys, now, &SystemEntropy).map_err(|error| wrong(&error))?;
    let verifying = keys.verifying(now).map_err(|error| wrong(&error))?;
    let verifier = TokenVerifier::new(verifying, "urn:bench:authority", "urn:bench:gate", lifetime);
    let verified = verifier.verify(now, token.as_bytes(), client, &table).map_err(|error| wrong(&error))?;
    let watch = RightsClock::new(StalenessLimits::new(Duration::from_secs(3)), now);
    let mut feed = Feed::default();
    let cutoffs = Arc::new(Cutoffs::default());
    let first = FeedMessage::Snapshot { epoch: 1, sequence: 0, time: now, question: 0, cutoffs };
    feed.hear(now, Duration::from_secs(5), 0, first);
    watch.publish(feed);
    let rows = TableRows::new(Arc::new(table), &["http://opcfoundation.org/UA/", "urn:server", PLANT]);
    let rights = TokenRights::new(Arc::new(verified), Arc::new(rows), Arc::new(watch), None);
    let mut rounds = MicrosecondTimes::default();
    for _ in 0..scale.of(400, 20) {
        let begun = Instant::now();
        let granted =
            nodes.iter().filter(|node| rights.rule(Permission::Read, black_box(node)).is_granted()).count();
        let time = begun.elapsed();
        if granted != nodes.len() {
            return Err(CommandError::new("a right that was granted was refused"));
        }
        rounds.add(time);
    }
    // A round is so many questions: microseconds of a round are nanoseconds of a question.
    let (median, slow) = (rounds.p50() * 1e3 / f64::from(NODES), rounds.p99() * 1e3 / f64::from(NODES));
    let mut part = BenchPart::new("rights", "Asking for a right");
    let row = vec![format!("one of {NODES} nodes"), format!("{median:.1}"), format!("{slow:.1}")];
    part.table("One permission on one node", &["right", "ns, p50 of rounds", "p99"], vec![row]);
    part.number("ns_p50", median);
    report.aims.push(BenchAim::new("asking for a right, p50", " ns", median, AimBound::AtMost(100.0)));
    report.parts.push(part);
    Ok(())
}

/// Milliseconds with a unit, for sentences.
pub(super) fn in_ms(microseconds: f64) -> String {
    format!("{} ms", ms(microseconds))
}
