//! Connections: tables 1, 4 and 5, a server without a gate, the signature of the token, and who decides.

use std::time::{Duration, Instant};

use durward_opcua::session::ClientIdentity;
use durward_session::identity::jwt::Algorithm;

use super::BenchScale;
use super::paper::{self, PaperStep};
use super::report::{AimBound, BenchAim, BenchChart, BenchPart, OpcuaBenchReport};
use super::role::{DecisionSource, plant_user};
use super::session::{TokenSession, execute, read, reading, tag};
use super::times::{MicrosecondTimes, ms, ratio};
use super::world::{BenchGround, BenchProcesses, BenchSetup, GateName, SLOW};
use crate::failure::CommandError;
use crate::opcua::application;

/// Between two connections, so that the end of one is no part of the next.
const PAUSE: Duration = Duration::from_millis(5);

/// How a client connects to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectMethod {
    /// Anonymously.
    None,
    /// With a token, as the paper begins: a new session with the authorization service each time, the token encrypted.
    Start,
    /// The session with the authorization service is kept.
    Keep,
    /// The token is not encrypted a second time.
    Single,
    /// Both.
    Both,
    /// Both, and the token is asked for while the session opens, as durward's client does.
    Meanwhile,
}

impl ConnectMethod {
    pub(super) const ALL: [ConnectMethod; 6] = [
        ConnectMethod::None,
        ConnectMethod::Start,
        ConnectMethod::Keep,
        ConnectMethod::Single,
        ConnectMethod::Both,
        ConnectMethod::Meanwhile,
    ];

    fn name(self) -> &'static str {
        match self {
            ConnectMethod::None => "no token",
            ConnectMethod::Start => "token, no optimization",
            ConnectMethod::Keep => "keep the session to the authorization service",
            ConnectMethod::Single => "single encryption",
            ConnectMethod::Both => "both",
            ConnectMethod::Meanwhile => "both, the token asked for while the session opens",
        }
    }

    fn gate(self) -> GateName {
        match self {
            ConnectMethod::None | ConnectMethod::Single | ConnectMethod::Both | ConnectMethod::Meanwhile => {
                GateName::Once
            }
            ConnectMethod::Start | ConnectMethod::Keep => GateName::Always,
        }
    }
}

/// Times of the steps of connections.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectTimes {
    open: MicrosecondTimes,
    request: MicrosecondTimes,
    activate: MicrosecondTimes,
    pub(super) total: MicrosecondTimes,
}

impl ConnectTimes {
    fn named(&self) -> [(&'static str, &MicrosecondTimes); 4] {
        [
            ("open session", &self.open),
            ("request token", &self.request),
            ("activate session", &self.activate),
            ("total", &self.total),
        ]
    }
}

/// Connections in each of these ways, in turns.
pub(super) async fn rounds(
    world: &BenchProcesses<'_>,
    ways: &[ConnectMethod],
    count: usize,
) -> Result<Vec<ConnectTimes>, CommandError> {
    let kept = world.tokens(&ClientIdentity::Anonymous).await?;
    let mut all = vec![ConnectTimes::default(); ways.len()];
    // The first ones find nothing in any cache.
    for number in 0..count + 2 {
        for (way, steps) in ways.iter().zip(&mut all) {
            let mut one = ConnectTimes::default();
            connect(world, *way, &kept, &mut one).await?;
            if number >= 2 {
                steps.open.extend(one.open);
                steps.request.extend(one.request);
                steps.activate.extend(one.activate);
                steps.total.extend(one.total);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    kept.close().await;
    Ok(all)
}

async fn connect(
    world: &BenchProcesses<'_>,
    way: ConnectMethod,
    kept: &TokenSession,
    steps: &mut ConnectTimes,
) -> Result<(), CommandError> {
    let gate = world.gate(way.gate())?;
    let begun = Instant::now();
    let open = async { gate.open().await.map(|session| (session, Instant::now())) };
    let ask = || kept.request(gate.uri());
    let mut closing = None;
    let ((session, opened), identity) = match way {
        ConnectMethod::Meanwhile => tokio::try_join!(open, ask()).map_err(application::failure)?,
        ConnectMethod::None => (open.await.map_err(application::failure)?, ClientIdentity::Anonymous),
        ConnectMethod::Keep | ConnectMethod::Both => {
            let session = open.await.map_err(application::failure)?;
            (session, ask().await.map_err(application::failure)?)
        }
        ConnectMethod::Start | ConnectMethod::Single => {
            let session = open.await.map_err(application::failure)?;
            let tokens = closing.insert(world.tokens(&ClientIdentity::Anonymous).await?);
            (session, tokens.request(gate.uri()).await.map_err(application::failure)?)
        }
    };
    let asked = Instant::now();
    session.activate(&identity).await.map_err(application::failure)?;
    let active = Instant::now();
    steps.open.add(opened - begun);
    steps.request.add(asked - opened);
    steps.activate.add(active - asked);
    steps.total.add(active - begun);
    let _ = session.close(true).await;
    if let Some(tokens) = closing {
        tokens.close().await;
    }
    Ok(())
}

/// Connections to a server without a gate: what connections of other stacks are compared with.
pub(super) async fn direct(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let (_process, plant) = BenchProcesses::plant(ground).await?;
    let ways = [("anonymous", ClientIdentity::Anonymous), ("user and password", plant_user())];
    let mut all = [MicrosecondTimes::default(), MicrosecondTimes::default()];
    for number in 0..scale.of(300, 5) + 2 {
        for ((_, identity), times) in ways.iter().zip(&mut all) {
            let begun = Instant::now();
            let session = plant.enter(identity).await?;
            let time = begun.elapsed();
            let _ = session.close(true).await;
            if number >= 2 {
                times.add(time);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    let mut part = BenchPart::new("direct", "Connecting to a server itself");
    let mut rows = Vec::new();
    for ((name, _), times) in ways.iter().zip(&all) {
        part.times(*name, times);
        let mut row = vec![(*name).to_owned()];
        row.extend(times.cells());
        row.push(ms(times.max()));
        rows.push(row);
    }
    let columns = ["connect", "mean ms", "sd", "p50", "p99", "max"];
    part.table("Client and server of durward, without a gate", &columns, rows);
    part.say("TCP, channel, session and activation; endpoints are known. RSA-2048, Basic256Sha256, SignAndEncrypt, loopback.");
    report.parts.push(part);
    Ok(())
}

/// Steps without and with a token beside the paper's, all as multiples of the total without a token at that load.
fn step_rows(none: &ConnectTimes, token: &ConnectTimes, paper: &[PaperStep; 4]) -> Vec<Vec<String>> {
    let [.., total] = paper;
    let paper_total = total.none.0;
    let rows = none.named().into_iter().zip(token.named()).zip(paper);
    rows.map(|(((_, none_times), (_, token_times)), printed)| {
        let mut row = vec![printed.name.to_owned()];
        row.extend(none_times.cells());
        row.extend(token_times.cells());
        row.push(ratio(token_times.mean(), none.total.mean()));
        row.push(ratio(printed.token.0, paper_total));
        row
    })
    .collect()
}

const STEP_COLUMNS: [&str; 11] = [
    "step",
    "none: mean ms",
    "sd",
    "p50",
    "p99",
    "token: mean ms",
    "sd",
    "p50",
    "p99",
    "of total without: here",
    "paper",
];

/// Keeps the times of every step.
fn keep_numbers(part: &mut BenchPart, load: &str, ways: &[ConnectMethod], all: &[ConnectTimes]) {
    for (way, steps) in ways.iter().zip(all) {
        for (name, times) in steps.named() {
            part.times(format!("{load}, {}, {name}", way.name()), times);
        }
    }
}

/// Table 1 and table 5, at low and high load.
pub(super) async fn tables_1_and_5(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let low = rounds(world, &ConnectMethod::ALL, scale.of(200, 4)).await?;
    let load = world.load(GateName::Once)?;
    let high = rounds(world, &ConnectMethod::ALL, scale.of(100, 4)).await?;
    drop(load);
    report.parts.push(table_1(&low, &high));
    report.parts.push(table_5(&low, &high));
    if let [none, .., meanwhile] = low.as_slice() {
        let times = meanwhile.total.p50() / none.total.p50();
        let what = "connecting with a token (kept session, sent once), relative to anonymous connects, p50";
        report.aims.push(BenchAim::new(what, " times", times, AimBound::AtMost(1.05)));
    }
    Ok(())
}

fn table_1(low: &[ConnectTimes], high: &[ConnectTimes]) -> BenchPart {
    let mut part = BenchPart::new("table-1", "Table 1: connecting, without and with a token");
    for (load, all, paper) in [("low", low, &paper::TABLE_1_LOW), ("high", high, &paper::TABLE_1_HIGH)] {
        keep_numbers(&mut part, load, &ConnectMethod::ALL, all);
        if let [none, start, ..] = all {
            part.table(format!("{load} load"), &STEP_COLUMNS, step_rows(none, start, paper));
        }
    }
    part.say(
        "Without a token: an anonymous session at the gate. With a token: a new session with the authorization service each time, and the \
         token encrypted within the encrypted channel, as the paper begins. The last two columns are relative to the total \
         without a token at the same load, because milliseconds of a Raspberry Pi and of this machine cannot be compared. An activation at the gate \
         opens a session with the server behind it as well, with and without a token.",
    );
    part
}

fn table_5(low: &[ConnectTimes], high: &[ConnectTimes]) -> BenchPart {
    let mut part = BenchPart::new("table-5", "Table 5: the paper's optimizations");
    let columns = ["step", "mean ms", "sd", "p50", "p99", "of total without: here", "paper"];
    let mut bars = (Vec::new(), Vec::new(), Vec::new());
    let loads = [
        ("low", low, &paper::TABLE_1_LOW, &paper::TABLE_5_LOW),
        ("high", high, &paper::TABLE_1_HIGH, &paper::TABLE_5_HIGH),
    ];
    for (load, all, table_1, table_5) in loads {
        let (Some(none), [.., paper_total]) = (all.first(), table_1) else { continue };
        for (at, (way, steps)) in ConnectMethod::ALL.into_iter().zip(all).skip(1).enumerate() {
            let printed = |row: usize| match at.checked_sub(1) {
                None => table_1.get(row).map(|step| step.token.0),
                Some(column) => table_5.get(row).and_then(|(_, means)| means.get(column)).copied(),
            };
            let rows = steps.named().into_iter().enumerate().map(|(row, (name, times))| {
                let mut cells = vec![name.to_owned()];
                cells.extend(times.cells());
                cells.push(ratio(times.mean(), none.total.mean()));
                cells.push(printed(row).map_or_else(String::new, |mean| ratio(mean, paper_total.none.0)));
                cells
            });
            part.table(format!("{}, {load} load", way.name()), &columns, rows.collect());
            let x = bars.0.len() as f64;
            bars.0.push(format!("{}, {load}", way.name()));
            bars.1.push((x, steps.total.mean() / none.total.mean()));
            bars.2.extend(printed(3).map(|mean| (x, mean / paper_total.none.0)));
        }
    }
    part.say(
        "The last table of each load is how durward's client connects: it requests the token on its kept session while it \
         opens the session with the gate. Its second step is the remaining wait for the token.",
    );
    part.chart(BenchChart {
        name: "connect",
        title: "Connecting with a token, in anonymous connects",
        caption: "A mark at 1 is as fast as connecting without a token. Total of a connection, mean, at low and high load.",
        x: "times the total without a token",
        y: "",
        labels: bars.0,
        series: vec![("here".to_owned(), bars.1), ("the paper".to_owned(), bars.2)],
    });
    part
}

/// Table 4: plant and gates on 40 % of a core.
pub(super) async fn table_4(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let world = match BenchProcesses::start_slowed(ground, &BenchSetup::default(), Some(SLOW)).await {
        Ok(world) => world,
        Err(failure) => {
            report.left_out.push(format!("table 4, a resource server on 40 % of a core: {failure}"));
            return Ok(());
        }
    };
    let mut part = BenchPart::new("table-4", "Table 4: a slower resource server");
    let ways = [ConnectMethod::None, ConnectMethod::Start, ConnectMethod::Both];
    let session = world.gate(GateName::Once)?;
    let token = world.tokens(&ClientIdentity::Anonymous).await?;
    let identity = token.request(session.uri()).await.map_err(application::failure)?;
    let session = session.enter(&identity).await?;
    let mut reads = Vec::new();
    for (load, paper, slow_read) in [
        ("low", &paper::TABLE_4_LOW, paper::SLOW_READ.first()),
        ("high", &paper::TABLE_4_HIGH, paper::SLOW_READ.last()),
    ] {
        let running = (load == "high").then(|| world.load(GateName::Once)).transpose()?;
        let all = rounds(&world, &ways, scale.of(60, 3)).await?;
        keep_numbers(&mut part, load, &ways, &all);
        if let [none, start, both] = all.as_slice() {
            part.table(format!("{load} load"), &STEP_COLUMNS, step_rows(none, start, paper));
            part.table(
                format!("{load} load, with both optimizations"),
                &STEP_COLUMNS,
                step_rows(none, both, paper),
            );
        }
        let mut times = MicrosecondTimes::default();
        for number in 0..scale.of(1_000, 20) {
            let begun = Instant::now();
            read(&session, &reading(&[tag(number % 10)])).await.map_err(application::failure)?;
            times.add(begun.elapsed());
        }
        drop(running);
        part.times(format!("{load}, read with a token"), &times);
        let mut row = vec![format!("{load} load")];
        row.extend(times.cells());
        row.extend(slow_read.map(|(mean, sd)| format!("{mean} ± {sd}")));
        reads.push(row);
    }
    let columns = ["read with a token", "mean ms", "sd", "p50", "p99", "the paper's, at 600 MHz"];
    part.table("A read with a token (section 6.5)", &columns, reads);
    part.say(format!(
        "Plant and gates have 40 % of one core together ({}), in place of the paper's clock of 600 MHz instead of 1.5 GHz. As \
         in the paper, client and authorization service are not slowed.",
        world.quota_means
    ));
    report.parts.push(part);
    Ok(())
}

/// How the token is signed.
pub(super) async fn algorithms(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let mut part = BenchPart::new("algorithms", "The signature of the token");
    let mut rows = Vec::new();
    for (name, algorithm) in
        [("RS256", Algorithm::Rs256), ("ES256", Algorithm::Es256), ("EdDSA", Algorithm::EdDsa)]
    {
        let setup = BenchSetup { algorithm, gates: vec![GateName::Once], ..BenchSetup::default() };
        let world = BenchProcesses::start(ground, &setup).await?;
        let all = rounds(&world, &[ConnectMethod::None, ConnectMethod::Both], scale.of(150, 3)).await?;
        let length = token_length(&world, GateName::Once).await?;
        if let [none, both] = all.as_slice() {
            for (step, times) in both.named() {
                part.times(format!("{name}, {step}"), times);
            }
            rows.push(vec![
                name.to_owned(),
                length.to_string(),
                ms(both.request.p50()),
                ms(both.request.p99()),
                ms(both.activate.p50()),
                ms(both.activate.p99()),
                ms(both.total.p50()),
                ratio(both.total.p50(), none.total.p50()),
            ]);
        }
    }
    let columns = [
        "signature",
        "token, bytes",
        "request: p50 ms",
        "p99",
        "activate: p50 ms",
        "p99",
        "total: p50 ms",
        "relative to anonymous",
    ];
    part.table("Connecting with a token, kept session, sent once", &columns, rows);
    report.parts.push(part);
    Ok(())
}

pub(super) async fn token_length(world: &BenchProcesses<'_>, gate: GateName) -> Result<usize, CommandError> {
    let tokens = world.tokens(&ClientIdentity::Anonymous).await?;
    let token = tokens.request(world.gate(gate)?.uri()).await.map_err(application::failure)?;
    tokens.close().await;
    Ok(match token {
        ClientIdentity::Issued { token } | ClientIdentity::Jwt { token, .. } => token.len(),
        ClientIdentity::Anonymous | ClientIdentity::UserName { .. } | ClientIdentity::Certificate(_) => 0,
    })
}

/// What a decision costs: what the paper leaves out.
pub(super) async fn decisions(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let mut part = BenchPart::new("decisions", "A real decision in the authorization service");
    let mut rows = Vec::new();
    for (name, decisions) in [
        ("everything is granted, without a decision", DecisionSource::Fixed),
        ("a decision for each token", DecisionSource::Each),
        ("a cached decision (the default)", DecisionSource::Kept),
    ] {
        let setup = BenchSetup { decisions, gates: vec![GateName::Once], ..BenchSetup::default() };
        let world = BenchProcesses::start(ground, &setup).await?;
        let (tokens, gate) = (world.tokens(&ClientIdentity::Anonymous).await?, world.gate(GateName::Once)?);
        let mut times = MicrosecondTimes::default();
        for number in 0..scale.of(300, 5) + 2 {
            let begun = Instant::now();
            tokens.request(gate.uri()).await.map_err(application::failure)?;
            if number >= 2 {
                times.add(begun.elapsed());
            }
        }
        part.times(name, &times);
        let mut row = vec![name.to_owned()];
        row.extend(times.cells());
        rows.push(row);
    }
    part.table("RequestAccessToken on a kept session", &["decision", "mean ms", "sd", "p50", "p99"], rows);
    part.say(
        "One token is a decision for each node of the server and each of the 17 permissions of OPC UA, by policies of SAPL. The \
         paper does not include the time of the decision.",
    );
    report.parts.push(part);
    Ok(())
}

/// Calls once, so that everything that is asked for is there.
pub(super) async fn warm(session: &durward_opcua::session::ClientSession) -> Result<(), CommandError> {
    for _ in 0..20 {
        read(session, &reading(&[tag(0)])).await.map_err(application::failure)?;
        execute(session).await.map_err(application::failure)?;
    }
    Ok(())
}
