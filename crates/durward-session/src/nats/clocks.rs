//! Compares this node's clock with those of others, and with the store's.
//!
//! Each node says once a second, outside of the stream, what time it is, and of every other node it heard: which time that one said last, and when by
//! its own clock it heard it. Who hears an answer to what it said itself has four times, and by these how far the other clock is ahead and how long both
//! ways took, as in NTP (RFC 5905, 8). Answers that took too long say nothing. All is signed; what is repeated is not looked at, since each message has a
//! number.
//!
//! The store's clock is seen by this node's questions about freshness, which come back with the time at which the stream's leader took them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{HeaderMap, Message, Subscriber};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use durward_identity::Moment;
use futures_util::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::NatsShared;
use super::peers::FROM;
use super::sign::SignedSubject;
use crate::clocks::{ClockReport, ClockStanding, NodeClock};
use crate::seldom::Seldom;
use crate::store::NodeLink;

/// How often a node says what time it is.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// How soon a node that was not heard before is answered: at most once in this time.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// A node that was not heard for so long is gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Answers that took longer say nothing of clocks.
const ROUND_TRIP_MS_MAX: u64 = 2_000;

/// How many nodes are compared.
const NODES_MAX: usize = 256;

/// How many of its own messages a node remembers, to know answers to them.
const SAID_MAX: usize = 8;

/// How many times of the store are looked at together.
const STORE_TIMES_MAX: usize = 10;

/// The longest name of a host that is told.
const HOST_LENGTH_MAX: usize = 64;

/// The form of the message that is written and read.
const VERSION: u8 = 1;

/// How far the store's clock was ahead when its messages came, the newest last. They were on their way for a while, so the largest is nearest to
/// the truth.
#[derive(Default)]
pub(super) struct StoreTimes(Mutex<VecDeque<i64>>);

impl StoreTimes {
    pub(super) fn note(&self, taken_ms: i64, now: Moment) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= STORE_TIMES_MAX {
            times.pop_front();
        }
        times.push_back(taken_ms.saturating_sub(signed(now.ms())));
    }

    fn ahead_ms(&self) -> Option<i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().max()
    }
}

/// What a node says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClockMessage {
    /// Which of the node's, from 1 on.
    count: u64,
    at: Moment,
    host: String,
    answers: Vec<ClockAnswer>,
}

/// That another node was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockAnswer {
    node: u64,
    /// Which of its messages.
    count: u64,
    /// When, by the clock of whoever answers.
    heard: Moment,
}

impl ClockMessage {
    fn to_bytes(&self) -> Bytes {
        let mut to = BytesMut::new();
        to.put_u8(VERSION);
        to.put_u64(self.count);
        to.put_u64(self.at.ms());
        to.put_u8(u8::try_from(self.host.len()).unwrap_or(0));
        to.put_slice(self.host.as_bytes());
        for answer in &self.answers {
            to.put_u64(answer.node);
            to.put_u64(answer.count);
            to.put_u64(answer.heard.ms());
        }
        to.freeze()
    }

    fn from_bytes(mut from: &[u8]) -> Option<ClockMessage> {
        if from.try_get_u8().ok()? != VERSION {
            return None;
        }
        let (count, at) = (from.try_get_u64().ok()?, Moment::from_ms(from.try_get_u64().ok()?));
        let length = usize::from(from.try_get_u8().ok()?);
        let (host, mut rest) = from.split_at_checked(length)?;
        let host = std::str::from_utf8(host).ok()?.to_owned();
        let mut answers = Vec::new();
        while !rest.is_empty() && answers.len() < NODES_MAX {
            let (node, count) = (rest.try_get_u64().ok()?, rest.try_get_u64().ok()?);
            answers.push(ClockAnswer { node, count, heard: Moment::from_ms(rest.try_get_u64().ok()?) });
        }
        Some(ClockMessage { count, at, host, answers })
    }
}

/// Another node.
#[derive(Debug)]
struct Peer {
    host: String,
    count: u64,
    /// By this node's clock, for the answer.
    heard: Moment,
    /// By what no setting of a clock changes, to forget it.
    last: Instant,
    measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Measured {
    ahead_ms: i64,
    round_trip_ms: u64,
}

/// What a node heard and said.
struct ClockExchange {
    node: u64,
    host: String,
    said: VecDeque<(u64, Moment)>,
    count: u64,
    peers: BTreeMap<u64, Peer>,
}

impl ClockExchange {
    fn new(node: u64, host: String) -> ClockExchange {
        ClockExchange { node, host, said: VecDeque::new(), count: 0, peers: BTreeMap::new() }
    }

    fn say(&mut self, now: Moment) -> ClockMessage {
        self.count += 1;
        if self.said.len() >= SAID_MAX {
            self.said.pop_front();
        }
        self.said.push_back((self.count, now));
        let answers = self.peers.iter().map(|(node, peer)| ClockAnswer {
            node: *node,
            count: peer.count,
            heard: peer.heard,
        });
        let answers = answers.collect();
        ClockMessage { count: self.count, at: now, host: self.host.clone(), answers }
    }

    /// Takes in what another node says. Whether it was not heard before.
    fn hear(&mut self, node: u64, message: ClockMessage, now: Moment, last: Instant) -> bool {
        let known = self.peers.get(&node);
        let is_old = known.is_some_and(|peer| message.count <= peer.count);
        if node == self.node || is_old || known.is_none() && self.peers.len() >= NODES_MAX {
            return false;
        }
        let is_new = known.is_none();
        let measured = self.measure(&message, now).or_else(|| known.and_then(|peer| peer.measured));
        let ClockMessage { count, host, .. } = message;
        self.peers.insert(node, Peer { host, count, heard: now, last, measured });
        is_new
    }

    fn measure(&self, message: &ClockMessage, now: Moment) -> Option<Measured> {
        let answer = message.answers.iter().find(|answer| answer.node == self.node)?;
        let (_, said) = self.said.iter().find(|(count, _)| *count == answer.count)?;
        let [said, heard, answered, now] = [*said, answer.heard, message.at, now].map(|it| signed(it.ms()));
        let round_trip_ms = now.saturating_sub(said).saturating_sub(answered.saturating_sub(heard));
        let round_trip_ms = u64::try_from(round_trip_ms).ok().filter(|it| *it <= ROUND_TRIP_MS_MAX)?;
        let ahead_ms = heard.saturating_sub(said).midpoint(answered.saturating_sub(now));
        Some(Measured { ahead_ms, round_trip_ms })
    }

    fn forget(&mut self, now: Instant) {
        self.peers.retain(|_, peer| now.duration_since(peer.last) < FORGOTTEN_AFTER);
    }

    fn report(&self, store_ahead_ms: Option<i64>) -> ClockReport {
        let nodes = self.peers.iter().filter_map(|(node, peer)| {
            let Measured { ahead_ms, round_trip_ms } = peer.measured?;
            Some(NodeClock { node: format!("{}-{:04x}", peer.host, node >> 48), ahead_ms, round_trip_ms })
        });
        let mut nodes: Vec<NodeClock> = nodes.collect();
        nodes.sort_by(|one, other| one.node.cmp(&other.node));
        ClockReport { nodes, store_ahead_ms }
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Compares clocks for as long as it is asked to.
pub(super) async fn compare(shared: Arc<NatsShared>, name: String, node: NodeLink) {
    let subject = shared.subjects.clock();
    loop {
        match shared.client.subscribe(subject.clone()).await {
            Ok(heard) => exchange(&shared, &name, &subject, heard, &node).await,
            Err(error) => tracing::debug!("clocks cannot be compared: {error}"),
        }
        sleep(SAY_EVERY).await;
    }
}

async fn exchange(shared: &NatsShared, name: &str, subject: &str, mut heard: Subscriber, node: &NodeLink) {
    let own = u64::from_str_radix(name, 16).unwrap_or_default();
    let mut exchange = ClockExchange::new(own, host());
    let mut teller = ClockTeller::default();
    let mut turns = interval(SAY_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = turns.tick() => {
                let message = exchange.say((shared.clock)());
                say(shared, name, subject, &message).await;
                exchange.forget(Instant::now());
            }
            message = heard.next() => {
                let Some(message) = message else { return };
                let Some((from, message)) = opened(shared, name, &message) else { continue };
                if exchange.hear(from, message, (shared.clock)(), Instant::now()) {
                    // A node that starts is to know soon, before it is used.
                    turns.reset_after(ANSWER_WITHIN);
                }
            }
        }
        let report = exchange.report(shared.store_times.ahead_ms());
        teller.tell(&report);
        node.compared(report);
    }
}

async fn say(shared: &NatsShared, name: &str, subject: &str, message: &ClockMessage) {
    let mut headers = HeaderMap::new();
    headers.insert(FROM, name);
    let signed = shared.signer.sign(SignedSubject::Clock { node: name }, &message.to_bytes());
    let sent = shared.client.publish_with_headers(subject.to_owned(), headers, signed);
    // Without a connection there is nobody to compare with.
    let _ = tokio::time::timeout(SAY_EVERY, sent).await;
}

fn opened(shared: &NatsShared, name: &str, message: &Message) -> Option<(u64, ClockMessage)> {
    let node = message.headers.as_ref()?.get(FROM)?.as_str();
    if node == name {
        return None;
    }
    // What no node has signed is told of where records come.
    let content = shared.signer.open(SignedSubject::Clock { node }, &message.payload)?;
    Some((u64::from_str_radix(node, 16).ok()?, ClockMessage::from_bytes(content)?))
}

/// What this machine is called, for operators who read of it elsewhere.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::env::var("HOSTNAME"));
    let is_fit = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let host: String = name.unwrap_or_default().trim().chars().filter(is_fit).take(HOST_LENGTH_MAX).collect();
    if host.is_empty() { "node".to_owned() } else { host }
}

/// Says in the log how the clock stands, when that changes and from time to time while something is wrong.
#[derive(Default)]
struct ClockTeller {
    standing: ClockStanding,
    again: Seldom,
}

impl ClockTeller {
    fn tell(&mut self, report: &ClockReport) {
        let standing = report.standing();
        let is_other = standing != self.standing;
        let is_again = standing != ClockStanding::Agrees && self.again.is_due();
        self.standing = standing;
        if !is_other && !is_again {
            return;
        }
        match standing {
            ClockStanding::Agrees => tracing::info!("the clocks of all nodes agree again"),
            ClockStanding::Doubtful => tracing::warn!(
                "clocks differ by more than half of what they may; this node compared its own, and {}",
                report.told()
            ),
            ClockStanding::Wrong => tracing::error!("not ready: {}", report.fault().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes; each hears what the other says after so long.
    struct Two {
        one: ClockExchange,
        other: ClockExchange,
        ahead_ms: i64,
        now: u64,
        began: Instant,
    }

    impl Two {
        fn new(ahead_ms: i64) -> Two {
            let exchange = |node| ClockExchange::new(node, "host".to_owned());
            Two {
                one: exchange(1 << 48),
                other: exchange(2 << 48),
                ahead_ms,
                now: 1_700_000_000_000,
                began: Instant::now(),
            }
        }

        fn clocks(&self) -> (Moment, Moment) {
            (Moment::from_ms(self.now), Moment::from_ms(self.now.saturating_add_signed(self.ahead_ms)))
        }

        fn round(&mut self, there_ms: u64, back_ms: u64) -> ClockReport {
            let said = self.one.say(self.clocks().0);
            self.now += there_ms;
            let (clock, began) = (self.clocks().1, self.began);
            self.other.hear(1 << 48, said, clock, began);
            self.now += 300;
            let said = self.other.say(self.clocks().1);
            self.now += back_ms;
            let (clock, began) = (self.clocks().0, self.began);
            self.one.hear(2 << 48, said, clock, began);
            self.one.report(None)
        }
    }

    #[test]
    fn how_far_another_clock_is_ahead_is_known_up_to_half_of_the_way_there_and_back() {
        for ahead_ms in [0, 400_000, -400_000] {
            let report = Two::new(ahead_ms).round(10, 30);
            let clock =
                NodeClock { node: "host-0002".to_owned(), ahead_ms: ahead_ms - 10, round_trip_ms: 40 };
            assert_eq!(report.nodes, [clock]);
        }
    }

    #[test]
    fn an_answer_that_took_too_long_or_comes_again_changes_nothing() {
        let mut two = Two::new(400_000);
        assert_eq!(two.round(10, ROUND_TRIP_MS_MAX).nodes, []);
        let before = two.round(10, 10).nodes;
        assert_eq!(before.len(), 1);
        assert_eq!(two.round(ROUND_TRIP_MS_MAX, 10).nodes, before, "the last one that can be believed");
        // Somebody repeats what they heard, much later.
        let (clock, began) = (two.clocks().1, two.began);
        let repeated = two.other.say(clock);
        two.one.hear(2 << 48, repeated.clone(), two.clocks().0, began);
        let heard = two.one.peers[&(2 << 48)].heard;
        two.now += 60_000;
        two.one.hear(2 << 48, repeated, two.clocks().0, began);
        assert_eq!(two.one.peers[&(2 << 48)].heard, heard);
    }

    #[test]
    fn a_node_that_says_nothing_any_more_is_forgotten() {
        let mut two = Two::new(0);
        two.round(1, 1);
        two.one.forget(two.began + FORGOTTEN_AFTER - Duration::from_millis(1));
        assert_eq!(two.one.report(None).nodes.len(), 1);
        two.one.forget(two.began + FORGOTTEN_AFTER);
        assert_eq!(two.one.report(None).nodes, []);
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_short_is_not() {
        let answer = |node| ClockAnswer { node, count: 7, heard: Moment::from_ms(8) };
        let (host, answers) = ("host".to_owned(), vec![answer(1), answer(2)]);
        let message = ClockMessage { count: 3, at: Moment::from_ms(4), host, answers };
        let bytes = message.to_bytes();
        assert_eq!(ClockMessage::from_bytes(&bytes), Some(message.clone()));
        for length in 0..bytes.len() {
            assert_ne!(ClockMessage::from_bytes(&bytes[..length]), Some(message.clone()));
        }
    }

    #[test]
    fn of_the_stores_times_the_one_that_was_on_its_way_for_the_shortest_counts() {
        let times = StoreTimes::default();
        assert_eq!(times.ahead_ms(), None);
        for (taken_ms, now_ms) in [(1_000, 1_900), (2_000, 2_005), (3_000, 3_400)] {
            times.note(taken_ms, Moment::from_ms(now_ms));
        }
        assert_eq!(times.ahead_ms(), Some(-5));
        for _ in 0..STORE_TIMES_MAX {
            times.note(0, Moment::from_ms(60_000));
        }
        assert_eq!(times.ahead_ms(), Some(-60_000), "a clock that was set is followed");
    }
}
