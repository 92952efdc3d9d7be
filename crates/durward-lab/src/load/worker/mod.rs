//! One thread of the generator: an event loop over its users' timers and its connections' sockets.

mod ask;
mod pool;
mod receive;
mod streams;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::mpsc::Sender;

use mio::{Events, Poll};

use super::LoadSetup;
use super::arrivals::ArrivalSchedule;
use super::balance::NodeBalance;
use super::cause::FailureCause;
use super::clock::{LoadClock, NEVER, SocketWait, TIMER, thread_cpu_s};
use super::plan::{LoadPlan, ns};
use super::stream::NonblockingSocket;
use super::tally::{SecondTally, ThreadTally};
use super::user::{LoadUser, NONE, NextAction};
use super::wire::WireConnection;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Events taken at once.
const EVENTS: usize = 1024;
/// Arrivals that wait for a place; those beyond are counted as never sent at once.
const BACKLOG_MAX: usize = 1 << 20;
/// How often is looked for requests whose time is over: at most, and at least.
const SWEEP_NS: (u64, u64) = (1_000_000, 100_000_000);
/// A user whose whole program asks nothing tries again after this.
const EMPTY_TURN_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What all threads of a load share.
#[derive(Debug)]
pub(super) struct WorkerShared {
    pub(super) clock: LoadClock,
    pub(super) nodes: NodeBalance,
}

/// One thread of the generator.
#[derive(Debug)]
pub(super) struct LoadWorker<'l> {
    setup: &'l LoadSetup<'l>,
    plan: &'l LoadPlan,
    shared: &'l WorkerShared,
    poll: Poll,
    sleep: SocketWait,
    users: Vec<LoadUser>,
    /// What each user has under way, by user.
    flights: Vec<Option<RequestInFlight>>,
    connections: Vec<LoadConnection>,
    /// Numbers of connections that are closed and may be used anew.
    free: Vec<u32>,
    /// Numbers of those that are being closed.
    closed: Vec<u32>,
    pools: Vec<NodeConnections>,
    /// When users send their next request.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// When users close the streams that they hold; those whose stream is gone by then mean nothing.
    holds: BinaryHeap<Reverse<(u64, u32)>>,
    /// Users who go on now.
    ready: VecDeque<u32>,
    arrivals: Option<WorkerArrivals>,
    in_flight: usize,
    /// Connections that carry several requests and have something to write.
    unwritten: Vec<u32>,
    is_closing: bool,
    /// Requests that this thread numbers: its own number, and so many further on each time.
    request_number: u64,
    request_stride: u64,
    buffers: WorkerBuffers,
    tally: ThreadTally,
    second: SecondTally,
    /// Processor time of this thread when the second began.
    second_cpu_s: f64,
    seconds: Sender<SecondTally>,
}

#[derive(Debug)]
struct WorkerBuffers {
    read: Box<[u8]>,
    request: Vec<u8>,
    body: Vec<u8>,
}

/// A connection, or room for one.
#[derive(Debug, Default)]
struct LoadConnection {
    stream: Option<NonblockingSocket>,
    is_open: bool,
    node: u32,
    /// The user whose own it is.
    owner: u32,
    /// What could not be written yet.
    out: Vec<u8>,
    wire: WireConnection,
    /// Whether it is among those of its pool that take a request.
    is_listed: bool,
    /// Whether it is among those that have something to write.
    is_unwritten: bool,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct RequestInFlight {
    user: u32,
    request: u32,
    due: u64,
    sent: u64,
    deadline: u64,
    connection: u32,
    /// By which its connection knows it.
    handle: u32,
    /// Of a stream whose first event came.
    held: Option<HeldStream>,
}

/// A stream that is held.
#[derive(Clone, Copy, Debug)]
struct HeldStream {
    /// When it is closed; [`NEVER`] where only events end it.
    until: u64,
    /// When its last event came.
    last: u64,
    /// How many more events may come before it is closed.
    left: u64,
}

/// Connections of one node that users share.
#[derive(Debug, Default)]
struct NodeConnections {
    /// Those that take a request; of HTTP/1.1 the one that was used last is at the end.
    idle: VecDeque<u32>,
    open: usize,
    /// Users who wait for one.
    waiting: VecDeque<u32>,
}

#[derive(Debug)]
struct WorkerArrivals {
    schedule: ArrivalSchedule,
    /// Every so many arrivals one is this thread's.
    stride: usize,
    next: Option<u64>,
    backlog: VecDeque<u64>,
    /// Places that are free.
    idle: VecDeque<u32>,
}

impl WorkerArrivals {
    fn take(&mut self) -> Option<u64> {
        let due = self.next?;
        // Other threads and agents take those between.
        self.next = self.schedule.by_ref().nth(self.stride - 1);
        Some(due)
    }
}

impl<'l> LoadWorker<'l> {
    /// The thread of this number. No socket is opened yet.
    pub(super) fn new(
        setup: &'l LoadSetup<'l>,
        shared: &'l WorkerShared,
        number: usize,
        seconds: Sender<SecondTally>,
    ) -> io::Result<LoadWorker<'l>> {
        let (plan, threads) = (setup.plan, setup.threads);
        let poll = Poll::new()?;
        let sleep = SocketWait::new(&poll)?;
        let share = setup.share.of_thread(number, threads);
        let users: Vec<LoadUser> =
            share.numbers(setup.users).map(|user| LoadUser::new(user, setup.seed, plan)).collect();
        let arrivals = setup.schedule.clone().map(|mut schedule| {
            let next = schedule.by_ref().nth(usize::try_from(share.number).unwrap_or(usize::MAX));
            let idle = (0..u32::try_from(users.len()).unwrap_or(NONE)).collect();
            let stride = usize::try_from(share.of).unwrap_or(usize::MAX);
            WorkerArrivals { schedule, stride, next, backlog: VecDeque::new(), idle }
        });
        let flights = users.iter().map(|_| None).collect();
        let mut worker = LoadWorker {
            setup,
            plan,
            shared,
            poll,
            sleep,
            users,
            flights,
            connections: Vec::new(),
            free: Vec::new(),
            closed: Vec::new(),
            pools: plan.nodes.iter().map(|_| NodeConnections::default()).collect(),
            timers: BinaryHeap::new(),
            holds: BinaryHeap::new(),
            ready: VecDeque::new(),
            arrivals,
            in_flight: 0,
            unwritten: Vec::new(),
            is_closing: false,
            request_number: share.number,
            request_stride: share.of,
            buffers: WorkerBuffers {
                read: vec![0; READ_BYTES].into(),
                request: Vec::new(),
                body: Vec::new(),
            },
            tally: ThreadTally::new(plan.requests.len(), plan.nodes.len()),
            second: SecondTally::default(),
            second_cpu_s: 0.0,
            seconds,
        };
        if worker.arrivals.is_none() {
            worker.stagger();
        }
        Ok(worker)
    }

    /// Users begin one after the other over the ramp, and at a random moment of their first pause.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts saturate; a ramp is less than a week"
    )]
    fn stagger(&mut self) {
        let ramp = ns(self.setup.load.ramp.0) as f64;
        let pause = match (self.setup.load.pace, self.setup.load.think) {
            (Some(pace), _) => ns(pace.0),
            (
                None,
                crate::scenario::ThinkTime::Constant(mean) | crate::scenario::ThinkTime::Exponential(mean),
            ) => ns(mean.0),
            (None, crate::scenario::ThinkTime::None) => 0,
        };
        for (at, user) in self.users.iter_mut().enumerate() {
            let share = user.number as f64 / self.setup.users.max(1) as f64;
            let start = share * ramp + user.random.unit() * pause as f64;
            self.timers.push(Reverse((start as u64, u32::try_from(at).unwrap_or(NONE))));
        }
    }

    /// Makes load until measuring has ended and the last answers have come.
    pub(super) fn run(mut self) -> io::Result<ThreadTally> {
        let mut events = Events::with_capacity(EVENTS);
        let sweep_every = self
            .plan
            .requests
            .iter()
            .map(|request| request.timeout_ns / 50)
            .min()
            .unwrap_or(SWEEP_NS.1)
            .clamp(SWEEP_NS.0, SWEEP_NS.1);
        let mut next_sweep = sweep_every;
        let (mut cpu_from, mut cpu_to) = (None, None);
        self.shared.clock.wait();
        loop {
            let now = self.shared.clock.now();
            let (from, to) = self.shared.clock.borders();
            if now >= from && cpu_from.is_none() {
                cpu_from = Some(thread_cpu_s());
            }
            if !self.is_closing {
                self.fire(now.min(to.saturating_sub(1)));
            }
            self.go_on_all();
            if now >= to && !self.is_closing {
                cpu_to = Some(thread_cpu_s());
                self.close_for(from, to);
            }
            self.write_all();
            if self.is_closing && self.in_flight == 0 {
                break;
            }
            if now >= self.shared.clock.abandon() {
                self.sweep(NEVER, &FailureCause::CutShort);
            }
            if now >= next_sweep {
                self.sweep(now, &FailureCause::Timeout);
                self.tick();
                self.write_all();
                next_sweep = now + sweep_every;
            }
            self.roll(now);
            let wake = self
                .wake()
                .min(next_sweep)
                .min(if now < from { from } else { NEVER })
                .min(if now < to { to } else { NEVER });
            let wake = if self.ready.is_empty() { wake } else { 0 };
            match self.sleep.poll(&mut self.poll, &mut events, self.shared.clock.now(), wake) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                if event.token() != TIMER {
                    self.serve(event.token().0 - 1, event.is_read_closed() || event.is_error());
                    self.go_on_all();
                }
            }
        }
        self.tally.cpu_s = cpu_to.zip(cpu_from).map_or(0.0, |(to, from)| to - from);
        self.tally.connections = self.connections.iter().filter(|one| one.stream.is_some()).count() as u64;
        let mut last = std::mem::take(&mut self.second);
        last.cpu_s = thread_cpu_s() - self.second_cpu_s;
        // Whoever listens may have gone.
        let _ = self.seconds.send(last);
        Ok(self.tally)
    }

    /// When something is to be done unless a socket wakes first.
    fn wake(&self) -> u64 {
        let timer = self.timers.peek().map_or(NEVER, |Reverse((due, _))| *due);
        let arrival = self.arrivals.as_ref().and_then(|arrivals| arrivals.next).unwrap_or(NEVER);
        let hold = self.holds.peek().map_or(NEVER, |Reverse((until, _))| *until);
        let second = (self.second.number + 1) * SECOND_NS - self.setup.second_shift;
        if self.is_closing { second } else { timer.min(hold).min(arrival).min(second) }
    }

    /// Tells of seconds that are over.
    fn roll(&mut self, now: u64) {
        let number = (now + self.setup.second_shift) / SECOND_NS;
        if number > self.second.number {
            let mut over =
                std::mem::replace(&mut self.second, SecondTally { number, ..SecondTally::default() });
            let cpu_s = thread_cpu_s();
            over.cpu_s = cpu_s - std::mem::replace(&mut self.second_cpu_s, cpu_s);
            let _ = self.seconds.send(over);
        }
    }

    /// Sends what is due by now.
    fn fire(&mut self, now: u64) {
        while let Some(Reverse((due, user))) =
            self.timers.peek().copied().filter(|Reverse((due, _))| *due <= now)
        {
            self.timers.pop();
            let is_ready = self.users.get(user as usize).is_some_and(|user| user.request != NONE);
            if is_ready {
                self.ask(user);
            } else {
                if let Some(user) = self.users.get_mut(user as usize) {
                    (user.due, user.free_since) = (due, due);
                }
                self.go_on(user);
            }
        }
        while let Some(Reverse((until, user))) =
            self.holds.peek().copied().filter(|Reverse((until, _))| *until <= now)
        {
            self.holds.pop();
            self.let_go(user, until);
        }
        self.take_arrivals(now);
    }

    fn take_arrivals(&mut self, now: u64) {
        loop {
            let Some(arrivals) = &mut self.arrivals else { return };
            if arrivals.next.is_none_or(|due| due > now) {
                return;
            }
            let Some(due) = arrivals.take() else { return };
            if let Some(place) = arrivals.idle.pop_front() {
                self.arrive(place, due);
            } else if arrivals.backlog.len() < BACKLOG_MAX {
                arrivals.backlog.push_back(due);
                let backlog = arrivals.backlog.len();
                self.note_backlog(backlog);
            } else {
                self.not_sent(self.plan.first(), due, 1);
            }
        }
    }

    /// An arrival takes a place.
    fn arrive(&mut self, place: u32, due: u64) {
        if let Some(user) = self.users.get_mut(place as usize) {
            (user.due, user.is_first) = (due, true);
        }
        self.go_on(place);
    }

    /// The place is free for the next arrival.
    fn leave(&mut self, place: u32) {
        let Some(arrivals) = &mut self.arrivals else { return };
        match arrivals.backlog.pop_front() {
            Some(due) => {
                if let Some(user) = self.users.get_mut(place as usize) {
                    (user.due, user.is_first) = (due, true);
                }
                self.ready.push_back(place);
            }
            None => arrivals.idle.push_back(place),
        }
    }

    /// Users who are ready go on; those who become so meanwhile have their turn next time.
    fn go_on_all(&mut self) {
        for _ in 0..self.ready.len() {
            let Some(user) = self.ready.pop_front() else { return };
            self.go_on(user);
        }
    }

    /// A user does what comes next: asks, waits, or begins again.
    fn go_on(&mut self, number: u32) {
        if self.is_closing {
            return;
        }
        let is_open = self.arrivals.is_some();
        let Some(user) = self.users.get_mut(number as usize) else { return };
        for _ in 0..2 {
            match user.next(self.plan) {
                NextAction::Ask(request) => return self.plan_request(number, request),
                NextAction::TurnOver if is_open => return self.leave(number),
                NextAction::TurnOver => {}
            }
        }
        // Nothing to ask in a whole turn: chance may have it otherwise next time.
        let again = self.shared.clock.now() + EMPTY_TURN_NS;
        user.request = NONE;
        self.timers.push(Reverse((again, number)));
    }

    /// Decides when a user's next request is due, and sends it if that is now.
    fn plan_request(&mut self, number: u32, request: usize) {
        let load = self.setup.load;
        let Some(user) = self.users.get_mut(number as usize) else { return };
        user.request = u32::try_from(request).unwrap_or(NONE);
        let step_think = self.plan.requests.get(request).and_then(|request| request.think);
        if std::mem::take(&mut user.is_first) {
            // Due when the user began or the arrival came.
        } else if let (Some(pace), None, false) = (load.pace, step_think, self.arrivals.is_some()) {
            user.due += ns(pace.0);
        } else {
            let mut pause = user.think(step_think.unwrap_or(load.think));
            if user.has_to_pause && self.arrivals.is_none() {
                pause = pause.max(ns(load.error_pause.0));
            }
            user.due = user.free_since + pause;
        }
        user.has_to_pause = false;
        let due = user.due;
        if due > self.shared.clock.now() {
            self.timers.push(Reverse((due, number)));
        } else {
            self.ask(number);
        }
    }

    /// Ends asking: what is due and was not sent is counted.
    fn close_for(&mut self, from: u64, to: u64) {
        self.is_closing = true;
        self.let_go_all();
        let mut waiting: Vec<u32> = Vec::new();
        for (node, pool) in self.pools.iter_mut().enumerate() {
            for user in pool.waiting.drain(..) {
                self.shared.nodes.count(node, -1);
                waiting.push(user);
            }
        }
        for number in &waiting {
            let Some(user) = self.users.get(*number as usize) else { continue };
            self.not_sent(user.request as usize, user.due, 1);
        }
        let backlog =
            self.arrivals.as_mut().map(|arrivals| std::mem::take(&mut arrivals.backlog)).unwrap_or_default();
        for due in backlog {
            self.not_sent(self.plan.first(), due, 1);
        }
        let Some(pace) = self.setup.load.pace.map(|pace| ns(pace.0)).filter(|_| self.arrivals.is_none())
        else {
            return;
        };
        // Further requests of users who are behind their pace.
        let flying = self.flights.iter().flatten().map(|flight| flight.user);
        let behind: Vec<u32> = flying.chain(waiting).collect();
        for number in behind {
            let Some(user) = self.users.get(number as usize) else { continue };
            let (request, mut due) = (user.request as usize, user.due + pace);
            due += from.saturating_sub(due).div_ceil(pace) * pace;
            let count = to.saturating_sub(due).div_ceil(pace);
            self.not_sent(request, due, count);
        }
    }

    /// Counts requests that were due from this moment on and never sent.
    fn not_sent(&mut self, request: usize, due: u64, count: u64) {
        if self.is_measured(due)
            && let Some(step) = self.tally.steps.get_mut(request)
        {
            step.not_sent += count;
        }
    }

    fn note_backlog(&mut self, backlog: usize) {
        if self.is_measured(self.shared.clock.now()) {
            self.tally.backlog_max = self.tally.backlog_max.max(backlog as u64);
        }
    }

    /// Whether a request that was due then counts.
    fn is_measured(&self, due: u64) -> bool {
        let (from, to) = self.shared.clock.borders();
        (from..to).contains(&due)
    }
}
