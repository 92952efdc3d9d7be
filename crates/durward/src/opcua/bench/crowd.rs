//! Many sessions with tokens that end soon: the memory of the gate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_opcua::session::{ClientIdentity, ClientSession};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::BenchScale;
use super::report::{AimBound, BenchAim, BenchPart, OpcuaBenchReport};
use super::session::{KnownServer, TokenSession, read, reading, tag};
use super::times::{MicrosecondTimes, ms};
use super::world::{BenchGround, BenchProcesses, BenchSetup, GateName};
use crate::failure::CommandError;
use crate::opcua::application;

/// How often each session is renewed.
const EVERY: Duration = Duration::from_secs(10);
/// A session that misses a renewal is over before the next one.
const TOKEN_LIFETIME: Duration = Duration::from_secs(19);
/// Sessions that are opened at the same time, and kept sessions with the authorization service.
const OPENERS: usize = 4;
/// How often the gate's memory is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a renewal.
enum RenewalOutcome {
    Renewed(Duration),
    Failed(String),
}

/// Opens the sessions, has each renewed every 10 s, and looks at the gate.
pub(super) async fn run(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let sessions = scale.of(1_000, 20);
    let time = Duration::from_secs_f64(scale.seconds(30.0, 2.0));
    let setup = BenchSetup {
        token_lifetime: TOKEN_LIFETIME,
        gates: vec![GateName::Closing],
        ..BenchSetup::default()
    };
    let world = BenchProcesses::start(ground, &setup).await?;
    let (gate, process) = (world.gate(GateName::Closing)?, world.gate_process(GateName::Closing)?);
    let resident = || Ok::<u64, CommandError>(process.used()?.resident_bytes.unwrap_or_default());
    let empty = resident()?;
    let (sender, mut happened) = mpsc::unbounded_channel();
    let begun = Instant::now();
    let mut running = JoinSet::new();
    open(&world, gate, sessions, &sender, &mut running).await?;
    let opening = begun.elapsed();
    drop(sender);

    let (opened, mut most) = (resident()?, 0);
    let (before, measured) = (process.used()?.ran, Instant::now());
    while measured.elapsed() < time {
        tokio::time::sleep(LOOK).await;
        most = most.max(resident()?);
    }
    let cores = process.used()?.ran.saturating_sub(before).as_secs_f64() / measured.elapsed().as_secs_f64();
    running.shutdown().await;
    let (mut times, mut failures) = (MicrosecondTimes::default(), Vec::new());
    while let Some(what) = happened.recv().await {
        match what {
            RenewalOutcome::Renewed(time) => times.add(time),
            RenewalOutcome::Failed(why) => failures.push(why),
        }
    }
    if let Some(why) = failures.first() {
        let count = failures.len();
        return Err(CommandError::new(format!("{count} of {sessions} sessions were not renewed: {why}")));
    }
    report.parts.push(part(sessions, opening, [empty, opened, most], &times, cores));
    let what = "memory of the gate with 1,000 sessions, each renewed every 10 s";
    // A short form has fewer sessions: what it says is only that all were renewed.
    if !scale.is_quick {
        report.aims.push(BenchAim::new(what, " MiB", mib(most), AimBound::AtMost(64.0)));
    }
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn part(
    sessions: usize,
    opening: Duration,
    resident: [u64; 3],
    times: &MicrosecondTimes,
    cores: f64,
) -> BenchPart {
    let [empty, opened, most] = resident;
    let mut part = BenchPart::new("crowd", format!("{sessions} sessions, each renewed every 10 s"));
    let rows = [
        ("without sessions", empty),
        ("when all sessions were open", opened),
        ("maximum, while all were renewed", most),
    ];
    for (name, bytes) in rows {
        part.number(format!("resident, {name}"), bytes);
    }
    let each = most.saturating_sub(empty) as f64 / sessions.max(1) as f64 / 1_024.0;
    let rows = rows.map(|(name, bytes)| vec![name.to_owned(), format!("{:.1}", mib(bytes))]);
    part.table("Memory of the gate's process", &["resident", "MiB"], rows.into());
    part.times("renewal", times);
    part.number("cores_of_the_gate", cores);
    part.say(format!(
        "All were opened in {:.1} s. A session needs {each:.0} KiB; each has its own session with the server behind the gate. {} renewals took \
         {} ms (p50) and {} ms (p99), {cores:.2} cores of the gate, and none failed.",
        opening.as_secs_f64(),
        times.count(),
        ms(times.p50()),
        ms(times.p99()),
    ));
    part
}

/// Opens so many sessions; each is renewed from then on.
async fn open(
    world: &BenchProcesses<'_>,
    gate: &KnownServer,
    sessions: usize,
    sender: &mpsc::UnboundedSender<RenewalOutcome>,
    running: &mut JoinSet<()>,
) -> Result<(), CommandError> {
    let mut tokens = Vec::new();
    for _ in 0..OPENERS {
        tokens.push(Arc::new(world.tokens(&ClientIdentity::Anonymous).await?));
    }
    let mut opened = 0;
    while opened < sessions {
        let mut opening = JoinSet::new();
        for tokens in tokens.iter().take(sessions - opened) {
            let (gate, tokens) = (gate.clone(), Arc::clone(tokens));
            opening.spawn(async move {
                let token = tokens.request(gate.uri()).await.map_err(application::failure)?;
                Ok::<_, CommandError>((gate.enter(&token).await?, tokens))
            });
        }
        while let Some(done) = opening.join_next().await {
            let (session, tokens) = done.map_err(|error| CommandError::new(error.to_string()))??;
            // Renewals are spread over the interval as sessions that came at any time are.
            let first = EVERY.mul_f64((opened as f64 * 0.618_033_988_749_895).fract()).max(EVERY / 10);
            running.spawn(keep(session, tokens, gate.uri().to_owned(), first, sender.clone()));
            opened += 1;
        }
    }
    Ok(())
}

/// Renews a session again and again, and reads once in between.
async fn keep(
    session: ClientSession,
    tokens: Arc<TokenSession>,
    resource: String,
    first: Duration,
    sender: mpsc::UnboundedSender<RenewalOutcome>,
) {
    tokio::time::sleep(first).await;
    loop {
        let next = Instant::now() + EVERY;
        let begun = Instant::now();
        let renewed = async {
            let token = tokens.request(&resource).await?;
            session.activate(&token).await?;
            let took = begun.elapsed();
            read(&session, &reading(&[tag(0)])).await.map(|_| took)
        };
        match renewed.await {
            Ok(took) => drop(sender.send(RenewalOutcome::Renewed(took))),
            Err(error) => {
                let _ = sender.send(RenewalOutcome::Failed(error.to_string()));
                return;
            }
        }
        tokio::time::sleep_until(next.into()).await;
    }
}
