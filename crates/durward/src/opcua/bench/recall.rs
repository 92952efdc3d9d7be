//! Recalled rights: how long they are still served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use durward_opcua::session::{ClientIdentity, ClientSession};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::BenchScale;
use super::report::{AimBound, BenchAim, BenchPart, OpcuaBenchReport};
use super::role::AnonymousAccess;
use super::session::{TokenSession, ValueArrival, read, reading, tag, user, watch, write, writing};
use super::times::{MicrosecondTimes, ms};
use super::world::{BenchGround, BenchProcesses, BenchSetup, GateName};
use crate::failure::CommandError;
use crate::opcua::application;

/// Users whose rights are recalled at about the same time.
const USERS: usize = 20;
/// How often cutoffs are published.
const PUBLISHING: Duration = Duration::from_millis(250);
/// How often each session reads, and how often watched values change and are published.
const READ_EVERY: Duration = Duration::from_millis(4);
const CHANGE_EVERY: Duration = Duration::from_millis(10);
/// After the interval, to see what still comes.
const AFTER: Duration = Duration::from_millis(150);

/// What was served after a right was recalled.
struct ServedAfterRecall {
    /// From the recall to the last read that was begun and answered with a value; zero where there was none.
    read: Duration,
    /// To the last value of the subscription.
    value: Duration,
    /// Whether reads were refused at the end.
    is_refused: bool,
}

impl ServedAfterRecall {
    fn is_in_time(&self) -> bool {
        self.is_refused && self.read <= PUBLISHING && self.value <= PUBLISHING
    }
}

/// Recalls rights of users who read and watch.
pub(super) async fn run(
    ground: &BenchGround,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let count = scale.recalls;
    let users = (0..USERS).map(|number| (name(number), vec!["operator".to_owned()])).collect();
    let setup = BenchSetup {
        users,
        gates: vec![GateName::Closing, GateName::Once],
        anonymous: AnonymousAccess::WithNothing,
        publishing: PUBLISHING,
        ..BenchSetup::default()
    };
    let mut world = BenchProcesses::start(ground, &setup).await?;
    let mut sources = Vec::new();
    for number in 0..USERS {
        sources.push(Arc::new(world.tokens(&user(&name(number))).await?));
    }
    let writer = world.plant.enter(&ClientIdentity::Anonymous).await?;
    let changing = tokio::spawn(change(writer));
    let mut all = Vec::new();
    // By turns: at a gate where the session ends with the right, and at one where it goes on as nobody's.
    let mut turn = 0;
    while all.len() < count {
        let gate = if turn % 2 == 0 { GateName::Closing } else { GateName::Once };
        let users = USERS.min(count - all.len());
        all.extend(batch(&mut world, gate, &sources, users, turn).await?);
        turn += 1;
    }
    changing.abort();
    report_tries(&all, report);
    Ok(())
}

fn name(number: usize) -> String {
    format!("user-{number}")
}

/// Changes what is watched.
async fn change(writer: ClientSession) {
    let nodes: Vec<_> = (0..USERS).map(tag).collect();
    let mut value = 0.0;
    while write(&writer, &writing(&nodes, value)).await.is_ok() {
        value += 1.0;
        tokio::time::sleep(CHANGE_EVERY).await;
    }
}

/// A user who reads and watches.
struct ActiveUser {
    name: String,
    session: Arc<ClientSession>,
    arrivals: mpsc::UnboundedReceiver<ValueArrival>,
    is_over: Arc<AtomicBool>,
    /// When the last read was begun that gave a value, and whether the last one of all was refused.
    reads: JoinHandle<(Instant, bool)>,
}

async fn batch(
    world: &mut BenchProcesses<'_>,
    gate: GateName,
    sources: &[Arc<TokenSession>],
    users: usize,
    turn: usize,
) -> Result<Vec<ServedAfterRecall>, CommandError> {
    let mut opening = JoinSet::new();
    for (number, source) in sources.iter().enumerate().take(users) {
        let (place, source) = (world.gate(gate)?.clone(), Arc::clone(source));
        opening.spawn(async move {
            let token = source.request(place.uri()).await.map_err(application::failure)?;
            let session = Arc::new(place.enter(&token).await?);
            active(number, session).await
        });
    }
    let mut all = Vec::new();
    while let Some(opened) = opening.join_next().await {
        all.push(opened.map_err(|error| CommandError::new(error.to_string()))??);
    }
    // Anywhere within the publishing interval.
    tokio::time::sleep(PUBLISHING.mul_f64((turn as f64 * 0.618_033_988_749_895).fract())).await;
    let mut recalled = Vec::new();
    for one in &all {
        let command = format!("recall {}", one.name);
        tokio::task::block_in_place(|| world.authority_process.command(&command))?;
        recalled.push(Instant::now());
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    tokio::time::sleep(PUBLISHING + AFTER).await;
    let mut tried = Vec::new();
    for (one, recalled) in all.into_iter().zip(recalled) {
        tried.push(one.end(recalled).await?);
    }
    Ok(tried)
}

async fn active(number: usize, session: Arc<ClientSession>) -> Result<ActiveUser, CommandError> {
    let mut arrivals = watch(&session, &[tag(number)], CHANGE_EVERY).await.map_err(application::failure)?;
    for _ in 0..3 {
        let late = || CommandError::new("a subscription did not begin");
        let came = tokio::time::timeout(Duration::from_secs(10), arrivals.recv()).await;
        came.ok().flatten().ok_or_else(late)?;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let reads = tokio::spawn(reads(Arc::clone(&session), number, Arc::clone(&is_over)));
    Ok(ActiveUser { name: name(number), session, arrivals, is_over, reads })
}

async fn reads(session: Arc<ClientSession>, number: usize, is_over: Arc<AtomicBool>) -> (Instant, bool) {
    let (mut last, mut is_refused) = (Instant::now(), false);
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        is_refused = read(&session, &reading(&[tag(number)])).await.is_err();
        if !is_refused {
            last = begun;
        }
        tokio::time::sleep(READ_EVERY).await;
    }
    (last, is_refused)
}

impl ActiveUser {
    async fn end(mut self, recalled: Instant) -> Result<ServedAfterRecall, CommandError> {
        self.is_over.store(true, Ordering::Relaxed);
        let (last_read, is_refused) =
            self.reads.await.map_err(|error| CommandError::new(error.to_string()))?;
        let mut last_value = recalled;
        while let Ok(arrival) = self.arrivals.try_recv() {
            if arrival.value.status.is_none_or(|status| status.is_good()) && arrival.value.value.is_some() {
                last_value = arrival.at;
            }
        }
        let _ = self.session.close(true).await;
        Ok(ServedAfterRecall {
            read: last_read.saturating_duration_since(recalled),
            value: last_value.saturating_duration_since(recalled),
            is_refused,
        })
    }
}

fn report_tries(all: &[ServedAfterRecall], report: &mut OpcuaBenchReport) {
    let mut part = BenchPart::new("recall", "Revoked rights");
    let in_time = all.iter().filter(|tried| tried.is_in_time()).count();
    let reads: MicrosecondTimes = all.iter().map(|tried| tried.read).collect();
    let values: MicrosecondTimes = all.iter().map(|tried| tried.value).collect();
    let row = |name: &str, times: &MicrosecondTimes| {
        vec![name.to_owned(), ms(times.p50()), ms(times.p99()), ms(times.max())]
    };
    let rows = vec![
        row("a successful read (when it began)", &reads),
        row("a value from a running monitored item", &values),
    ];
    part.table(
        format!("The last of these after a revocation, in {} tries", all.len()),
        &["what", "p50 ms", "p99", "max"],
        rows,
    );
    part.times("last read", &reads);
    part.times("last value", &values);
    part.number("tries", all.len());
    part.number("in_time", in_time);
    part.number("refused", all.iter().filter(|tried| tried.is_refused).count());
    part.say(format!(
        "{in_time} of {} revoked rights were refused within one publishing interval ({} ms), running monitored items included; \
         alternately at a gate that ends such sessions and at one where they continue as anonymous sessions.",
        all.len(),
        PUBLISHING.as_millis()
    ));
    report.parts.push(part);
    let late = (all.len() - in_time) as f64;
    let what = "revoked rights that were served for longer than a publishing interval";
    report.aims.push(BenchAim::new(what, "", late, AimBound::AtMost(0.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_for_longer_than_an_interval_is_late() {
        let tried = |read: u64, value: u64, is_refused| ServedAfterRecall {
            read: Duration::from_millis(read),
            value: Duration::from_millis(value),
            is_refused,
        };
        assert!(tried(250, 0, true).is_in_time());
        for late in [tried(251, 0, true), tried(0, 251, true), tried(0, 0, false)] {
            assert!(!late.is_in_time());
        }
        let mut report = OpcuaBenchReport::default();
        report_tries(&[tried(1, 1, true), tried(300, 1, true)], &mut report);
        assert!(!report.is_every_aim_reached());
        assert!(report.text().contains("1 of 2 revoked rights were refused within"), "{}", report.text());
    }
}
