//! One load while it goes on, as the leader follows it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::super::link::{AgentEvent, AgentLink};
use super::super::message::{AgentResult, ToAgent, ToLeader};
use super::merge;
use crate::load::{LoadObserver, LoadResult, LoadSetup, SecondCount};

/// How often whoever attends is asked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// From the word to measure until it begins: it must have come to all by then.
const NOTICE_NS: u64 = 1_000_000_000;
/// An agent that was told to stop and has not done so is given up. It waits two seconds for its last answers.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);
const SECOND_NS: u64 = 1_000_000_000;

/// A load that agents make.
pub(super) struct AgentLoad<'c> {
    setup: &'c LoadSetup<'c>,
    begun: Instant,
    threads: Vec<usize>,
    seconds: SecondCount,
    /// When measuring begins and ends, in nanoseconds since the load began.
    from: Option<u64>,
    to: Option<u64>,
    has_begun: bool,
    has_ended: bool,
    stopped: Option<(String, Instant)>,
    not_level: Option<String>,
    /// By agent: what came of it; the inner `None` of one that was lost.
    parts: Vec<Option<Option<AgentResult>>>,
    pub(super) lost: Option<String>,
}

impl<'c> AgentLoad<'c> {
    /// One that begins then, on so many threads of each agent.
    pub(super) fn new(setup: &'c LoadSetup<'c>, begun: Instant, threads: Vec<usize>) -> AgentLoad<'c> {
        let from = setup.measured_from();
        AgentLoad {
            setup,
            begun,
            seconds: SecondCount::new(threads.len(), setup.second_shift()),
            from,
            to: from.map(|from| from + setup.measure_ns()),
            has_begun: false,
            has_ended: false,
            stopped: None,
            not_level: None,
            parts: threads.iter().map(|_| None).collect(),
            threads,
            lost: None,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Until all agents have ended or are lost.
    pub(super) fn follow(
        &mut self,
        links: &[AgentLink],
        events: &Receiver<(usize, AgentEvent)>,
        attend: &mut dyn LoadObserver,
    ) {
        while self.parts.iter().any(Option::is_none) {
            let wait = self.look(links, attend).min(LOOK);
            match events.recv_timeout(wait) {
                Ok((number, event)) => self.take(number, event, links, attend),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.tell(attend, true);
        if !self.has_ended {
            attend.end();
        }
    }

    /// Heeds the borders of the measurement, and whoever wants it to end. How long until the next border.
    fn look(&mut self, links: &[AgentLink], attend: &mut dyn LoadObserver) -> Duration {
        let now = self.now();
        if self.from.is_some_and(|from| now >= from) && !self.has_begun {
            self.has_begun = true;
            attend.begin();
        }
        if self.to.is_some_and(|to| now >= to) && !self.has_ended {
            self.has_ended = true;
            attend.end();
        }
        if self.stopped.is_none()
            && !self.has_ended
            && let Some(why) = attend.must_stop()
        {
            self.stop(&why, links);
        }
        if let Some((_, since)) = &self.stopped
            && since.elapsed() > STOP_TIME_MAX
        {
            for (number, link) in links.iter().enumerate() {
                self.lose(number, &format!("agent `{}` did not stop", link.name), links);
            }
        }
        let border = [self.from, self.to].into_iter().flatten().find(|border| *border > now);
        Duration::from_nanos(border.map_or(u64::MAX, |border| border - now))
    }

    fn stop(&mut self, why: &str, links: &[AgentLink]) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some((why.to_owned(), Instant::now()));
        self.to = Some(self.now().min(self.to.unwrap_or(u64::MAX)));
        links.iter().for_each(|link| link.send(ToAgent::Stop { why: why.to_owned() }));
    }

    fn take(&mut self, number: usize, event: AgentEvent, links: &[AgentLink], attend: &mut dyn LoadObserver) {
        if let Some(problem) = super::problem(&event) {
            let name = links.get(number).map_or("", |link| link.name.as_str());
            return self.lose(number, &format!("agent `{name}` {problem}"), links);
        }
        match event {
            AgentEvent::Said(ToLeader::Second(tally)) => {
                self.seconds.take(&tally);
                self.tell(attend, false);
                self.look_whether_level(links);
            }
            AgentEvent::Said(ToLeader::Done(part)) => {
                if let Some(place) = self.parts.get_mut(number).filter(|place| place.is_none()) {
                    *place = Some(Some(*part));
                    self.seconds.leave();
                }
            }
            // What belongs to no load.
            AgentEvent::Said(_) | AgentEvent::Compared | AgentEvent::Lost(_) => {}
        }
    }

    /// An agent measures no more: neither do the others, since what is asked of the target is not the load any more.
    fn lose(&mut self, number: usize, why: &str, links: &[AgentLink]) {
        let Some(place) = self.parts.get_mut(number).filter(|place| place.is_none()) else { return };
        *place = Some(None);
        self.seconds.leave();
        let _ = self.lost.get_or_insert_with(|| why.to_owned());
        self.stop(&format!("{why}; what it measured of this point is missing"), links);
    }

    fn tell(&mut self, attend: &mut dyn LoadObserver, is_over: bool) {
        while let Some(tally) = self.seconds.next(is_over) {
            let (number, tally) = (tally.number, tally.clone());
            attend.second(&tally.second(self.seconds.at_s(number, self.from)), &tally);
        }
    }

    /// Where the warm-up ends by itself: says when measuring begins, once all seconds together are level.
    fn look_whether_level(&mut self, links: &[AgentLink]) {
        if self.from.is_some() || self.stopped.is_some() {
            return;
        }
        let Some(level) = self.seconds.level(self.setup.ramp_s()) else { return };
        self.not_level = level.err();
        let from = ((self.now() + NOTICE_NS) / SECOND_NS + 1) * SECOND_NS;
        (self.from, self.to) = (Some(from), Some(from + self.setup.measure_ns()));
        links.iter().for_each(|link| link.send(ToAgent::Measure { from_ns: from }));
    }

    /// What came of it, of all agents together.
    pub(super) fn measured(self, links: &[AgentLink]) -> LoadResult {
        let parts = self.parts.into_iter().map(Option::flatten);
        let parts = links.iter().zip(self.threads).zip(parts);
        let parts = parts.filter_map(|((link, threads), part)| Some((link, threads, part?)));
        let mut all = merge::merged(parts.map(|(link, threads, part)| merge::AgentReport {
            name: link.name.clone(),
            threads,
            clock_uncertain_us: link.difference().uncertain_us,
            part,
        }));
        all.seconds = self.seconds.record(self.from);
        all.stopped = self.stopped.map(|(why, _)| why);
        all.not_level = self.not_level;
        all
    }
}
