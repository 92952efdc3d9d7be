//! What live subscriptions cost: memory each, and time when policies or attributes change.
//!
//! Times are those that the thread ran on a core, where the system tells them, so that other processes do not count.

mod departments;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use durward_pdp::stream::{BrokerSettings, Decider, Finder, Streams, Subscription};

pub use departments::{StreamAttribute, measure_departments};
use durward_lab::process::{resident_bytes, thread_time};

/// What is to be measured.
pub struct StreamPlan<'a, P: Decider> {
    /// The policies that the subscriptions begin with.
    pub before: Arc<P>,
    /// The policies that replace them.
    pub after: Arc<P>,
    /// Where attributes come from.
    pub finders: Vec<Finder>,
    /// The subscription of a number.
    pub subscription: &'a dyn Fn(usize) -> P::Subscription,
    /// How many there are.
    pub count: usize,
    /// Changes attributes, so that subscriptions are decided again.
    pub change: Option<&'a dyn Fn()>,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct StreamMeasurement {
    /// How many subscriptions there were.
    pub subscriptions: usize,
    /// By how much the resident set grew; `None` where the system does not tell.
    pub bytes: Option<u64>,
    /// Taking the subscriptions, and their first decisions.
    pub subscribing: Duration,
    /// Deciding all of them again after the policies were replaced, and waking those whose decision changed.
    pub replacing: Duration,
    /// How many decisions the replacement changed.
    pub replaced: u64,
    /// Deciding again all that use an attribute that changed.
    pub changing: Option<Duration>,
    /// How many decisions that changed.
    pub changed: u64,
    /// The longest that the lock was held, by the clock on the wall.
    pub longest_tick: Duration,
}

/// Wakes nobody, and counts how often.
#[derive(Default)]
struct WakeCount(AtomicU64);

impl Wake for WakeCount {
    fn wake(self: Arc<WakeCount>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Measures on this thread.
pub fn measure<P: Decider>(plan: &StreamPlan<'_, P>) -> StreamMeasurement {
    let mut live = LiveSubscriptions::new(plan);
    let before = resident_bytes();
    let subscribing = timed(|| live.subscribe(plan));
    let bytes = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    live.listen();
    let replacing = timed(|| {
        live.streams.replace(Arc::clone(&plan.after), NOW_MS);
        live.drive();
    });
    let replaced = live.news();
    live.listen();
    let changing = plan.change.map(|change| {
        timed(|| {
            change();
            live.drive();
        })
    });
    StreamMeasurement {
        subscriptions: plan.count,
        bytes,
        subscribing,
        replacing,
        replaced,
        changing,
        changed: live.news(),
        longest_tick: live.longest_tick,
    }
}

/// Nothing here depends on the time.
const NOW_MS: i64 = 1_700_000_000_000;

struct LiveSubscriptions<P: Decider> {
    streams: Streams<P>,
    subscriptions: Vec<Subscription<P>>,
    woken: Arc<WakeCount>,
    longest_tick: Duration,
}

impl<P: Decider> LiveSubscriptions<P> {
    fn new(plan: &StreamPlan<'_, P>) -> LiveSubscriptions<P> {
        let streams = Streams::new(Arc::clone(&plan.before), BrokerSettings::default(), 0, || {});
        streams.set_finders(plan.finders.clone(), NOW_MS);
        LiveSubscriptions {
            streams,
            subscriptions: Vec::new(),
            woken: Arc::default(),
            longest_tick: Duration::ZERO,
        }
    }

    fn subscribe(&mut self, plan: &StreamPlan<'_, P>) {
        self.subscriptions.reserve_exact(plan.count);
        for number in 0..plan.count {
            self.subscriptions.extend(self.streams.subscribe((plan.subscription)(number), NOW_MS).ok());
        }
        self.drive();
    }

    /// Every subscriber takes its news and waits for more.
    fn listen(&mut self) {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut task = Context::from_waker(&waker);
        for subscription in &mut self.subscriptions {
            while subscription.poll_next(&mut task).is_ready() {}
        }
        self.woken.0.store(0, Ordering::Relaxed);
    }

    fn drive(&mut self) {
        loop {
            let start = Instant::now();
            let next = self.streams.tick(NOW_MS);
            self.longest_tick = self.longest_tick.max(start.elapsed());
            if next != Some(NOW_MS) {
                return;
            }
        }
    }

    /// How many were woken since they listened.
    fn news(&self) -> u64 {
        self.woken.0.load(Ordering::Relaxed)
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let (start, ran) = (Instant::now(), thread_time());
    work();
    match ran.zip(thread_time()) {
        Some((before, after)) => after.saturating_sub(before),
        None => start.elapsed(),
    }
}

impl fmt::Display for StreamMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |time: Duration| time.as_nanos() / self.subscriptions.max(1) as u128;
        writeln!(f, "{} live subscriptions", self.subscriptions)?;
        if let Some(bytes) = self.bytes {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            writeln!(
                f,
                "  memory       {mebibytes:.1} MiB, {} bytes each",
                bytes / self.subscriptions.max(1) as u64
            )?;
        }
        writeln!(f, "  subscribing  {:.0?}, {} ns each", self.subscribing, each(self.subscribing))?;
        let replacing = (self.replacing, each(self.replacing), self.replaced);
        writeln!(
            f,
            "  new policies {:.0?}, {} ns each, {} decisions changed",
            replacing.0, replacing.1, replacing.2
        )?;
        if let Some(changing) = self.changing {
            writeln!(
                f,
                "  an attribute {changing:.0?}, {} ns each, {} decisions changed",
                each(changing),
                self.changed
            )?;
        }
        write!(f, "  longest tick {:.1?}", self.longest_tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_pdp::Value;
    use durward_pdp::stream::{Answer, Invocation, KnownAttributes, Step};

    /// Permits by number.
    struct Numbers(u64);

    #[derive(PartialEq)]
    struct Permit(bool);

    impl Answer for Permit {
        fn equals(&self, other: &Permit) -> bool {
            self == other
        }
        fn hash(&self, state: &mut dyn std::hash::Hasher) {
            state.write_u8(u8::from(self.0));
        }
        fn is_identical(&self, other: &Permit) -> bool {
            self == other
        }
    }

    impl Decider for Numbers {
        type Subscription = u64;
        type Decision = Permit;

        fn step(&self, number: &u64, known: &dyn KnownAttributes) -> Step<Permit> {
            let invocation = Invocation::environment("absent.at.all", []);
            match known.get(&invocation) {
                Some(Ok(Value::Undefined)) => Step::Decided(Permit(number.is_multiple_of(self.0))),
                Some(_) => Step::Decided(Permit(false)),
                None => Step::Needs(vec![invocation]),
            }
        }

        fn indeterminate(&self, _: &str) -> Permit {
            Permit(false)
        }
    }

    #[test]
    fn what_a_replacement_changes_is_counted() {
        let plan = StreamPlan {
            before: Arc::new(Numbers(1)),
            after: Arc::new(Numbers(2)),
            finders: Vec::new(),
            subscription: &|number| number as u64,
            count: 5_000,
            change: None,
        };
        let measured = measure(&plan);
        assert_eq!((measured.subscriptions, measured.replaced, measured.changed), (5_000, 2_500, 0));
        assert!(measured.to_string().contains("2500 decisions changed"));
    }
}
