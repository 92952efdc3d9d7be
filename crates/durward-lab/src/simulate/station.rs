//! A node or a store: cores, and what waits for them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::deployment::{DeploymentNodes, Discipline};
use super::future::JobId;

/// A node or the store.
#[derive(Debug)]
pub(super) struct Station {
    cores: u32,
    /// How many requests are worked on.
    working: u32,
    /// Those that wait for a core.
    pub(super) waiting: VecDeque<JobId>,
    /// Whether it is up.
    pub(super) is_up: bool,
    /// Logins that are worked on or wait for a core, and those that wait for their turn to do so.
    pub(super) logins: u32,
    pub(super) logins_waiting: VecDeque<JobId>,
    /// Reads that wait for the answer to a question to the store, and those that wait for the next question.
    pub(super) heard_by: Vec<JobId>,
    pub(super) asked_next: Vec<JobId>,
    pub(super) is_asking: bool,
    /// Where cores are not always there, or shared.
    pub(super) clock: Option<Box<VirtualClock>>,
    pub(super) figures: StationFigures,
    since: u64,
    /// Nanoseconds that a request costs more which finds it idle.
    wake: u64,
}

/// What is measured of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StationFigures {
    /// Core-nanoseconds of work.
    pub(super) busy: f64,
    /// Nanoseconds times waiting requests.
    pub(super) waited: f64,
    pub(super) waiting_max: usize,
    pub(super) answered: u64,
    pub(super) failed: u64,
    /// Nanoseconds in which its quota held it back.
    pub(super) throttled: f64,
}

impl Station {
    /// One whose cores are always there, one request each.
    pub(super) fn new(cores: u32) -> Station {
        Station {
            cores,
            working: 0,
            waiting: VecDeque::new(),
            is_up: true,
            logins: 0,
            logins_waiting: VecDeque::new(),
            heard_by: Vec::new(),
            asked_next: Vec::new(),
            is_asking: false,
            clock: None,
            figures: StationFigures::default(),
            since: 0,
            wake: 0,
        }
    }

    /// A node. `phase`, from 0 to 1, is where in its period the quota of this one begins.
    pub(super) fn node(nodes: &DeploymentNodes, phase: f64) -> Station {
        let is_plain = nodes.quota.is_none() && nodes.discipline == Discipline::Fifo && nodes.stall_s <= 0.0;
        let clock = (!is_plain).then(|| Box::new(VirtualClock::new(nodes, phase)));
        Station { clock, wake: super::world::ns(nodes.wake_ms / 1e3), ..Station::new(nodes.cores) }
    }

    /// Whether another request can be worked on now.
    pub(super) fn has_room(&self) -> bool {
        self.clock.as_ref().is_some_and(|clock| clock.is_sharing) || self.working < self.cores
    }

    /// Whether so many requests wait that another one would be refused.
    pub(super) fn is_full(&self, waiting_max: u32) -> bool {
        self.working as usize + self.waiting.len() >= self.cores as usize + waiting_max as usize
    }

    /// How many requests are worked on or wait for it.
    pub(super) fn working_and_waiting(&self) -> usize {
        self.working as usize + self.waiting.len() + self.logins_waiting.len()
    }

    /// Brings what is measured up to this moment.
    pub(super) fn advance(&mut self, now: u64) {
        let passed = (now - self.since) as f64;
        self.since = now;
        let waiting = self.waiting.len() + self.logins_waiting.len();
        self.figures.waited += passed * waiting as f64;
        self.figures.waiting_max = self.figures.waiting_max.max(waiting);
        match &mut self.clock {
            None => self.figures.busy += passed * f64::from(self.working),
            Some(clock) => {
                clock.advance(now, self.working);
                self.figures.busy += std::mem::take(&mut clock.busy);
                self.figures.throttled += std::mem::take(&mut clock.throttled);
            }
        }
    }

    /// How much longer a request takes that finds it idle, now: nothing where it is not.
    pub(super) fn waking(&self) -> u64 {
        if self.working == 0 { self.wake } else { 0 }
    }

    /// Takes up a request that a core works on for `service` nanoseconds. When it is done, where the station's clock does not tell.
    pub(super) fn begin(&mut self, now: u64, job: JobId, service: u64) -> Option<u64> {
        self.advance(now);
        self.working += 1;
        match &mut self.clock {
            None => Some(now + service),
            Some(clock) => {
                clock.begin(job, service);
                None
            }
        }
    }

    /// One request is done.
    pub(super) fn end(&mut self, now: u64) {
        self.advance(now);
        self.working = self.working.saturating_sub(1);
    }

    /// The station dies, or comes back with nothing to do.
    pub(super) fn clear(&mut self, now: u64) {
        self.advance(now);
        self.working = 0;
        self.logins = 0;
        self.waiting.clear();
        self.logins_waiting.clear();
        self.heard_by.clear();
        self.asked_next.clear();
        self.is_asking = false;
        if let Some(clock) = &mut self.clock {
            clock.jobs.clear();
        }
    }

    /// What a station with a clock has done by now. Only then.
    pub(super) fn ticked(&mut self, now: u64) -> Vec<JobId> {
        self.advance(now);
        let Some(clock) = &mut self.clock else { return Vec::new() };
        let done = clock.done();
        self.working = self.working.saturating_sub(done.len() as u32);
        clock.hold_back(now);
        done
    }

    /// When it has to be looked at next, and the version of that moment; `None`: when something else happens.
    pub(super) fn next_tick(&mut self, now: u64) -> Option<(u64, u32)> {
        let clock = self.clock.as_mut()?;
        clock.version = clock.version.wrapping_add(1);
        clock.next(now, self.working).map(|at| (at, clock.version))
    }
}

/// Cores that are shared, or not always there. Work is counted in virtual time, which runs as fast as one request gets on: requests
/// end in the order of virtual time, however often its speed changes.
#[derive(Debug)]
pub(super) struct VirtualClock {
    cores: f64,
    is_sharing: bool,
    quota: Option<CfsQuota>,
    pub(super) is_stalled: bool,
    /// Virtual nanoseconds, and up to when they are counted.
    passed: f64,
    since: u64,
    /// When a request is done, in virtual time, as bits: those of numbers from 0 on are in the same order. Then in which order they came.
    jobs: BinaryHeap<Reverse<(u64, u64, u64)>>,
    ids: Vec<Option<JobId>>,
    free: Vec<u64>,
    count: u64,
    pub(super) version: u32,
    /// Since it was last asked: core-nanoseconds of work, nanoseconds held back.
    busy: f64,
    throttled: f64,
}

/// As Linux' CFS bandwidth control: a budget for each period, spent at full speed.
#[derive(Debug)]
struct CfsQuota {
    /// Core-nanoseconds a period.
    budget: f64,
    period: u64,
    left: f64,
    period_end: u64,
    is_spent: bool,
}

/// Less than this, in nanoseconds, is rounding.
const ROUNDING_NS: f64 = 0.75;

impl VirtualClock {
    fn new(nodes: &DeploymentNodes, phase: f64) -> VirtualClock {
        let period = ((nodes.period_s * 1e9) as u64).max(1);
        let quota = nodes.quota.map(|cores| {
            let budget = cores * period as f64;
            CfsQuota {
                budget,
                period,
                left: budget,
                period_end: (phase * period as f64) as u64 + 1,
                is_spent: false,
            }
        });
        VirtualClock {
            cores: f64::from(nodes.cores),
            is_sharing: nodes.discipline == Discipline::Sharing,
            quota,
            is_stalled: false,
            passed: 0.0,
            since: 0,
            jobs: BinaryHeap::new(),
            ids: Vec::new(),
            free: Vec::new(),
            count: 0,
            version: 0,
            busy: 0.0,
            throttled: 0.0,
        }
    }

    /// How many cores work when nothing holds them back, and how fast one of so many requests gets on.
    fn speed(&self, working: u32) -> (f64, f64) {
        let busy = f64::from(working).min(self.cores);
        if self.is_stalled || working == 0 { (0.0, 0.0) } else { (busy, busy / f64::from(working)) }
    }

    fn advance(&mut self, now: u64, working: u32) {
        let (busy, speed) = self.speed(working);
        let held = match &mut self.quota {
            None => 0,
            Some(quota) => quota.advance(self.since, now, busy),
        };
        let ran = (now - self.since - held) as f64;
        self.passed += ran * speed;
        self.busy += ran * busy;
        self.throttled += held as f64;
        self.since = now;
    }

    fn begin(&mut self, job: JobId, service: u64) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.ids.push(None);
            self.ids.len() as u64 - 1
        });
        if let Some(id) = self.ids.get_mut(slot as usize) {
            *id = Some(job);
        }
        self.count += 1;
        self.jobs.push(Reverse(((self.passed + service as f64).to_bits(), self.count, slot)));
    }

    fn done(&mut self) -> Vec<JobId> {
        let mut done = Vec::new();
        while let Some(Reverse((end, _, slot))) = self.jobs.peek().copied() {
            if f64::from_bits(end) > self.passed + ROUNDING_NS {
                break;
            }
            self.jobs.pop();
            self.free.push(slot);
            done.extend(self.ids.get_mut(slot as usize).and_then(Option::take));
        }
        done
    }

    fn hold_back(&mut self, now: u64) {
        if let Some(quota) = &mut self.quota
            && quota.left <= ROUNDING_NS
            && now < quota.period_end
        {
            quota.is_spent = true;
        }
    }

    /// The next moment at which a request ends, or the quota is spent or renewed.
    fn next(&self, now: u64, working: u32) -> Option<u64> {
        let (busy, speed) = self.speed(working);
        if busy <= 0.0 {
            return None;
        }
        if let Some(quota) = self.quota.as_ref().filter(|quota| quota.is_spent) {
            return Some(quota.period_end.max(now));
        }
        let Reverse((end, ..)) = self.jobs.peek()?;
        let ends = now + ((f64::from_bits(*end) - self.passed).max(0.0) / speed).ceil() as u64;
        Some(self.quota.as_ref().map_or(ends, |quota| ends.min(quota.spent_at(now, busy))))
    }
}

impl CfsQuota {
    /// Spends what so many busy cores need from one moment to another. How long they were held back, in nanoseconds.
    ///
    /// INVARIANT: it is called at the moment at which the budget is spent, so that between two calls it is either spent or lasts.
    fn advance(&mut self, since: u64, now: u64, busy: f64) -> u64 {
        if now < self.period_end {
            if self.is_spent {
                return if busy > 0.0 { now - since } else { 0 };
            }
            self.left -= busy * (now - since) as f64;
            return 0;
        }
        let held = if self.is_spent && busy > 0.0 { self.period_end - since } else { 0 };
        self.is_spent = false;
        let begin = self.period_end + (now - self.period_end) / self.period * self.period;
        self.left = self.budget - busy * (now - begin.max(since + held)) as f64;
        self.period_end = begin + self.period;
        held
    }

    /// When so many busy cores have spent it, if they go on; the end of time where they never do.
    fn spent_at(&self, now: u64, busy: f64) -> u64 {
        let in_this = now + (self.left.max(0.0) / busy).ceil() as u64;
        let in_next = (self.budget / busy).ceil() as u64;
        match () {
            () if in_this < self.period_end => in_this,
            () if in_next < self.period => self.period_end + in_next,
            () => u64::MAX,
        }
    }
}
