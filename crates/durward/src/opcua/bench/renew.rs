//! Renewals: table 3, requests while a renewal is under way, and figure 5.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_opcua::crypto::SecretFormat;
use durward_opcua::session::{ClientIdentity, ClientSession};
use tokio::task::JoinHandle;

use super::BenchScale;
use super::access::in_ms;
use super::connect::{token_length, warm};
use super::paper;
use super::report::{AimBound, BenchAim, BenchChart, BenchPart, OpcuaBenchReport};
use super::session::{TokenSession, read, reading, tag, user};
use super::times::{MicrosecondTimes, ms, ratio};
use super::world::{BenchProcesses, GateName};
use crate::failure::CommandError;
use crate::opcua::application;

/// All times of table 3 are a hundredth of the paper's: reads come as often for each renewal.
const HUNDREDTH: f64 = 0.01;
/// Tokens are renewed at this part of their life.
const RENEWED_AT: f64 = 0.8;
/// Reads come 10 to 2,000 ms after each other in the paper.
const PAUSE_MS: (f64, f64) = (10.0, 2_000.0);
/// The length of a role's name.
const ROLE_BYTES: usize = 240;
/// The sizes of figure 5, in bytes of the token.
pub(super) const SIZES: [usize; 6] = [512, 1_024, 2_048, 4_096, 8_192, 12_288];

/// A user whose token is about so long, by the names of the roles.
pub(super) fn sized_user(size: usize) -> (String, Vec<String>) {
    let roles = size.saturating_sub(512) * 3 / 4 / ROLE_BYTES;
    let filler = |number: usize| format!("{number:0>ROLE_BYTES$}");
    (format!("size-{size}"), ["operator".to_owned()].into_iter().chain((0..roles).map(filler)).collect())
}

/// A session that is renewed.
struct RenewedSession {
    session: Arc<ClientSession>,
    tokens: Arc<TokenSession>,
    resource: String,
}

impl RenewedSession {
    async fn open(world: &BenchProcesses<'_>, gate: GateName) -> Result<RenewedSession, CommandError> {
        let tokens = Arc::new(world.tokens(&ClientIdentity::Anonymous).await?);
        let place = world.gate(gate)?;
        let token = tokens.request(place.uri()).await.map_err(application::failure)?;
        let session = Arc::new(place.enter(&token).await?);
        warm(&session).await?;
        Ok(RenewedSession { session, tokens, resource: place.uri().to_owned() })
    }

    /// Fetches a token and activates again, while others go on.
    fn renew(&self) -> JoinHandle<Result<Duration, CommandError>> {
        let (session, tokens) = (Arc::clone(&self.session), Arc::clone(&self.tokens));
        let resource = self.resource.clone();
        tokio::spawn(async move {
            let begun = Instant::now();
            let token = tokens.request(&resource).await.map_err(application::failure)?;
            session.activate(&token).await.map_err(application::failure)?;
            Ok(begun.elapsed())
        })
    }
}

async fn done<T>(task: JoinHandle<Result<T, CommandError>>) -> Result<T, CommandError> {
    task.await.map_err(|error| CommandError::new(error.to_string()))?
}

/// Between 0 and 1, evenly and the same each time.
fn spread(number: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    (number as f64 * GOLDEN).fract()
}

/// Table 3: reads while tokens are renewed as often as they end.
pub(super) async fn table_3(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let mut part = BenchPart::new("table-3", "Table 3: reads, by how soon tokens end");
    let mut measured = Vec::new();
    for (expiry_s, ..) in paper::TABLE_3 {
        let every = Duration::from_secs_f64(f64::from(expiry_s) * RENEWED_AT * HUNDREDTH);
        let renewed = RenewedSession::open(world, GateName::Always).await?;
        let (mut times, mut next, mut renewals) =
            (MicrosecondTimes::default(), Instant::now() + every, Vec::new());
        for number in 0..scale.of(1_000, 30) {
            if Instant::now() >= next {
                next += every;
                renewals.push(renewed.renew());
            }
            let begun = Instant::now();
            read(&renewed.session, &reading(&[tag(0)])).await.map_err(application::failure)?;
            times.add(begun.elapsed());
            let (least, most) = PAUSE_MS;
            let pause = (least + (most - least) * spread(number)) * HUNDREDTH;
            tokio::time::sleep(Duration::from_secs_f64(pause / 1e3)).await;
        }
        let count = renewals.len();
        for renewal in renewals {
            done(renewal).await?;
        }
        part.times(format!("expiry of {expiry_s} s"), &times);
        measured.push((times, count));
    }
    let Some((calm, _)) = measured.last().cloned() else { return Ok(()) };
    let [.., (_, paper_mean, paper_sd, paper_max)] = paper::TABLE_3;
    let rows = measured.iter().zip(paper::TABLE_3).map(|((times, renewals), (expiry_s, mean, sd, max))| {
        let mut row = vec![format!("{expiry_s} s"), renewals.to_string()];
        row.extend(times.cells());
        row.push(ms(times.max()));
        row.push(format!("{} / {}", ratio(times.mean(), calm.mean()), ratio(mean, paper_mean)));
        row.push(format!("{} / {}", ratio(times.sd(), calm.sd()), ratio(sd, paper_sd)));
        row.push(format!("{} / {}", ratio(times.max(), calm.max()), ratio(max, paper_max)));
        row
    });
    let columns = [
        "expiry in the paper",
        "renewals",
        "mean ms",
        "sd",
        "p50",
        "p99",
        "max",
        "mean, of the last row: here / paper",
        "sd",
        "max",
    ];
    part.table("Reads with an encrypted token", &columns, rows.collect());
    part.say(
        "Every time is a hundredth of the paper's (reads 0.1 to 20 ms after each other, tokens of 80, 280 and 960 ms, renewed at 80 %), so \
         that the number of reads per renewal is the same.",
    );
    report.parts.push(part);
    Ok(())
}

/// Reads while the same session's renewal is under way, and while none is.
pub(super) async fn renewal(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let mut part = BenchPart::new("renewal", "Reads while a renewal is under way");
    let mut rows = Vec::new();
    for (name, gate) in [("sent once", GateName::Once), ("encrypted", GateName::Always)] {
        let renewed = RenewedSession::open(world, gate).await?;
        let length = token_length(world, gate).await?;
        let [mut during, mut quiet, mut took] =
            [MicrosecondTimes::default(), MicrosecondTimes::default(), MicrosecondTimes::default()];
        for _ in 0..scale.of(400, 10) {
            let renewal = renewed.renew();
            let before = during.count();
            while !renewal.is_finished() {
                during.add(one_read(&renewed.session).await?);
            }
            took.add(done(renewal).await?);
            tokio::time::sleep(Duration::from_millis(2)).await;
            for _ in before..during.count() {
                quiet.add(one_read(&renewed.session).await?);
            }
        }
        for (what, times) in [("during", &during), ("quiet", &quiet), ("renewal", &took)] {
            part.times(format!("{name}, {what}"), times);
        }
        let times = during.p99() / quiet.p99();
        part.number(format!("{name}, p99 times"), times);
        rows.push(vec![
            format!("{name}, {length} bytes"),
            during.count().to_string(),
            ms(took.p50()),
            ms(during.p50()),
            ms(during.p99()),
            ms(during.max()),
            ms(quiet.p50()),
            ms(quiet.p99()),
            ms(quiet.max()),
            ratio(during.p99(), quiet.p99()),
        ]);
        if gate == GateName::Once {
            let what = "reads while the token is renewed, relative to reads after it, p99";
            report.aims.push(BenchAim::new(what, " times", times, AimBound::AtMost(1.5)));
        }
        part.say(format!("A renewal with a token that is {name} takes {} (p50).", in_ms(took.p50())));
    }
    let columns = [
        "token",
        "reads",
        "renewal: p50 ms",
        "during: p50",
        "p99",
        "max",
        "quiet: p50",
        "p99",
        "max",
        "p99, times",
    ];
    part.table("Reads one after the other, on the session that is renewed", &columns, rows);
    part.say("A renewal requests a token on the kept session and activates with it; after each renewal, the same number of \
         reads is measured (quiet).");
    report.parts.push(part);
    Ok(())
}

async fn one_read(session: &ClientSession) -> Result<Duration, CommandError> {
    let begun = Instant::now();
    read(session, &reading(&[tag(0)])).await.map_err(application::failure)?;
    Ok(begun.elapsed())
}

/// Figure 5: activations by the size of the token.
pub(super) async fn figure_5(
    world: &BenchProcesses<'_>,
    scale: BenchScale,
    report: &mut OpcuaBenchReport,
) -> Result<(), CommandError> {
    let mut part = BenchPart::new("figure-5", "Figure 5: activation, by the size of the token");
    let ways = [
        ("encrypted as in the paper", GateName::Always, SecretFormat::Legacy),
        ("encrypted, RsaEncryptedSecret", GateName::Always, SecretFormat::RsaEncryptedSecret),
        ("sent once", GateName::Once, SecretFormat::Legacy),
    ];
    let mut lines: Vec<(String, Vec<(f64, f64)>)> =
        ways.iter().map(|(name, ..)| ((*name).to_owned(), Vec::new())).collect();
    let mut rows = Vec::new();
    for size in SIZES {
        let (name, _) = sized_user(size);
        let tokens = world.tokens(&user(&name)).await?;
        let mut row = Vec::new();
        for ((way, gate, format), (_, line)) in ways.iter().zip(&mut lines) {
            let place = world.gate(*gate)?.with_format(*format);
            let token = tokens.request(place.uri()).await.map_err(application::failure)?;
            let ClientIdentity::Issued { token: text } = &token else { continue };
            if row.is_empty() {
                row.push(text.len().to_string());
            }
            let session = place.enter(&token).await?;
            let mut times = MicrosecondTimes::default();
            for _ in 0..scale.of(100, 3) {
                let begun = Instant::now();
                session.activate(&token).await.map_err(application::failure)?;
                times.add(begun.elapsed());
            }
            let _ = session.close(true).await;
            part.times(format!("{way}, {} bytes", text.len()), &times);
            line.push((text.len() as f64, times.p50() / 1e3));
            row.extend([ms(times.p50()), ms(times.p99())]);
        }
        tokens.close().await;
        rows.push(row);
    }
    let columns = [
        "token, bytes",
        "encrypted: p50 ms",
        "p99",
        "RsaEncryptedSecret: p50 ms",
        "p99",
        "once: p50 ms",
        "p99",
    ];
    part.table("Activating again with the same token", &columns, rows);
    part.chart(BenchChart {
        name: "activation-by-size",
        title: "Activation, by the size of the token",
        caption: "Encrypted block by block, a token costs an RSA operation of the gate for each 214 bytes; sent once, or in an \
                  RsaEncryptedSecret, its size does not matter. In the paper this shows only above 4,000 bytes, because other \
                  operations take 200 ms there.",
        x: "bytes of the token",
        y: "ms, half of all activations",
        labels: Vec::new(),
        series: lines,
    });
    part.say(
        "A gate refuses longer tokens by their length, before it decrypts anything (the paper goes to 256 kB).",
    );
    report.parts.push(part);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_spread_evenly() {
        let mean = (0..1_000).map(spread).sum::<f64>() / 1_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!((0..1_000).all(|number| (0.0..1.0).contains(&spread(number))));
    }

    #[test]
    fn users_differ_in_the_roles_that_fill_their_tokens() {
        let roles = SIZES.map(|size| sized_user(size).1);
        assert!(
            roles
                .iter()
                .all(|roles| roles[0] == "operator" && roles.len() <= durward_opcua::token::ROLES_MAX)
        );
        assert!(
            roles.windows(2).all(|pair| pair[0].len() < pair[1].len()),
            "{:?}",
            roles.map(|roles| roles.len())
        );
    }
}
