//! Time of a load: nanoseconds since it began, the borders of what is measured, and sleep that ends when it should.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

/// The token of the timer among those of connections.
pub(super) const TIMER: Token = Token(0);

/// No moment yet.
pub(super) const NEVER: u64 = u64::MAX;

/// Shared by all threads of a load.
#[derive(Debug)]
pub(super) struct LoadClock {
    begun: OnceLock<Instant>,
    from: AtomicU64,
    to: AtomicU64,
    /// When requests under way are given up.
    abandon: AtomicU64,
}

/// Not yet begun; the borders are set later.
impl Default for LoadClock {
    fn default() -> LoadClock {
        let never = || AtomicU64::new(NEVER);
        LoadClock { begun: OnceLock::new(), from: never(), to: never(), abandon: never() }
    }
}

impl LoadClock {
    /// Says when the load begins. What is said first counts.
    pub(super) fn begin(&self, at: Instant) {
        // Only a load that cannot be made is begun twice.
        let _ = self.begun.set(at);
    }

    /// Waits until the load begins.
    pub(super) fn wait(&self) {
        let begun = *self.begun.wait();
        thread::sleep(begun.saturating_duration_since(Instant::now()));
    }

    /// Nanoseconds since the load began; 0 until then.
    pub(super) fn now(&self) -> u64 {
        self.begun.get().map_or(0, |begun| super::plan::ns(begun.elapsed()))
    }

    /// Between which moments requests must be due to count.
    pub(super) fn borders(&self) -> (u64, u64) {
        (self.from.load(Ordering::Relaxed), self.to.load(Ordering::Relaxed))
    }

    /// Says when measuring begins and ends. Both must lie in the future, so that all threads heed them alike.
    pub(super) fn measure(&self, from: u64, to: u64) {
        self.to.store(to, Ordering::Relaxed);
        self.from.store(from, Ordering::Relaxed);
    }

    /// Ends measuring and asking at this moment, if it would not have ended earlier, and gives up what is under way later.
    pub(super) fn stop(&self, at: u64, abandon: u64) {
        self.to.fetch_min(at, Ordering::Relaxed);
        self.abandon.store(abandon, Ordering::Relaxed);
    }

    /// When requests under way are given up.
    pub(super) fn abandon(&self) -> u64 {
        self.abandon.load(Ordering::Relaxed)
    }
}

/// Processor time of this thread so far, in seconds.
pub(super) fn thread_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a run does not take 2^53 s")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    seconds
}

/// Waits for sockets until a moment. `epoll` knows milliseconds only; the rest is a timer's of the system.
#[derive(Debug)]
pub(super) struct SocketWait {
    #[cfg(target_os = "linux")]
    timer: rustix::fd::OwnedFd,
    /// The moment that the timer is armed for: what wakes the poll meanwhile leaves it armed.
    #[cfg(target_os = "linux")]
    armed: u64,
}

impl SocketWait {
    /// A timer that wakes this poll.
    #[cfg(target_os = "linux")]
    pub(super) fn new(poll: &Poll) -> io::Result<SocketWait> {
        use rustix::fd::AsRawFd;
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        poll.registry().register(
            &mut mio::unix::SourceFd(&timer.as_raw_fd()),
            TIMER,
            mio::Interest::READABLE,
        )?;
        Ok(SocketWait { timer, armed: NEVER })
    }

    /// Systems whose poll is exact by itself.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(_: &Poll) -> io::Result<SocketWait> {
        Ok(SocketWait {})
    }

    /// Waits until sockets have something, or until a moment; both in nanoseconds since the load began.
    #[cfg(target_os = "linux")]
    pub(super) fn poll(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        now: u64,
        wake: u64,
    ) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        /// Below this, arming a timer takes as long as the wait.
        const TOO_SHORT: Duration = Duration::from_micros(5);
        /// From this on, the poll wakes this much early and the rest is waited for apart.
        const EXACT: Duration = Duration::from_millis(2);
        let time = Duration::from_nanos(wake.saturating_sub(now));
        if time < TOO_SHORT {
            return poll.poll(events, Some(Duration::ZERO));
        }
        if time > EXACT {
            let whole = u64::try_from(time.as_millis()).unwrap_or(1000).saturating_sub(1);
            return poll.poll(events, Some(Duration::from_millis(whole)));
        }
        if self.armed != wake {
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let value = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
            let _ = timerfd_settime(
                &self.timer,
                TimerfdTimerFlags::empty(),
                &Itimerspec { it_interval: zero, it_value: value },
            )?;
            self.armed = wake;
        }
        poll.poll(events, Some(EXACT))
    }

    /// Waits until sockets have something, or until a moment; both in nanoseconds since the load began.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn poll(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        now: u64,
        wake: u64,
    ) -> io::Result<()> {
        poll.poll(events, Some(Duration::from_nanos(wake.saturating_sub(now))))
    }
}
