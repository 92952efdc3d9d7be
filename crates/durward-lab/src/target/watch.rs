//! Sees what nodes use between the borders of a measurement.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::figures::{self, BorderReader, CounterReader};
use super::pages::NodePages;
use super::processes::NodeProcess;
use crate::record::{NodeUse, UsedSample};

/// What is watched of one node or part.
#[derive(Clone, Debug)]
pub(super) struct WatchedNode {
    /// A part's name; empty for nodes.
    pub(super) part: String,
    /// `None` where its processes are not on this machine, or cannot be found.
    pub(super) member: Option<Arc<NodeProcess>>,
    /// Its pages of metrics.
    pub(super) pages: NodePages,
}

/// Sees what nodes and parts use, with samples on a thread of its own, and exactly at the borders: when it was made, and
/// when [`UsageWatch::end`] is called. The borders themselves are read by whoever calls.
#[derive(Debug)]
pub struct UsageWatch {
    watched: Vec<WatchedNode>,
    begun: Instant,
    before: Vec<Option<(CounterReader, BorderReader)>>,
    pages: Vec<BTreeMap<String, super::pages::PageValue>>,
    samples: Arc<Mutex<Vec<Vec<UsedSample>>>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl UsageWatch {
    pub(super) fn begin(watched: Vec<WatchedNode>, every: Duration) -> UsageWatch {
        // What takes long, and makes the target work, comes before the border.
        let pages = watched.iter().map(|one| one.pages.read()).collect();
        let members: Vec<Option<Arc<NodeProcess>>> = watched.iter().map(|one| one.member.clone()).collect();
        let full: Vec<Option<BorderReader>> =
            members.iter().map(|one| one.as_deref().map(figures::full)).collect();
        members.iter().flatten().for_each(|member| figures::reset_peak(member));
        let begun = Instant::now();
        let quick: Vec<Option<CounterReader>> =
            members.iter().map(|one| one.as_deref().map(figures::quick)).collect();
        let before = quick.iter().copied().zip(full).map(|(quick, full)| quick.zip(full)).collect();
        let samples = Arc::new(Mutex::new(vec![Vec::new(); watched.len()]));
        let (stop, stopped) = channel();
        let kept = Arc::clone(&samples);
        let sampler = move || sample(&members, begun, &quick, every, &kept, &stopped);
        // Without a thread there are no samples; the borders are read all the same.
        let thread = thread::Builder::new().name("lab-watch".to_owned()).spawn(sampler).ok();
        UsageWatch { watched, begun, before, pages, samples, stop: Some(stop), thread }
    }

    /// What each node used last, for those who look on meanwhile: `None` where nothing can be seen, or no sample was taken yet.
    pub fn latest(&self) -> Vec<Option<UsedSample>> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = self.watched.iter().zip(samples.iter()).filter(|(one, _)| one.part.is_empty());
        nodes.map(|(_, samples)| samples.last().copied()).collect()
    }

    /// How many cores each node may use and its limit of memory in bytes: `None` where nothing can be seen.
    pub fn limits(&self) -> Vec<Option<(f64, Option<u64>)>> {
        let nodes = self.watched.iter().filter(|one| one.part.is_empty());
        nodes.map(|one| one.member.as_deref().map(|member| (member.cores, member.memory_max_bytes))).collect()
    }

    /// What each node used until now: one a node, in their order; `None` where nothing can be seen of it, such as at an
    /// address on another machine.
    pub fn end(self) -> Vec<Option<NodeUse>> {
        self.end_with_parts().0
    }

    /// The same, and what each part of `before` used that stays, by its name.
    pub fn end_with_parts(mut self) -> (Vec<Option<NodeUse>>, Vec<(String, NodeUse)>) {
        let quick: Vec<Option<CounterReader>> =
            self.watched.iter().map(|one| one.member.as_deref().map(figures::quick)).collect();
        self.join();
        let samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut nodes, mut parts) = (Vec::new(), Vec::new());
        let before = std::mem::take(&mut self.before).into_iter().zip(std::mem::take(&mut self.pages));
        for (((one, (before, pages)), quick), samples) in
            self.watched.iter().zip(before).zip(quick).zip(samples)
        {
            let used = self.of_one(one, before.as_ref(), quick.as_ref(), samples);
            let used = with_pages(used, one.pages.difference(&pages));
            if one.part.is_empty() {
                nodes.push(used);
            } else if let Some(used) = used {
                parts.push((one.part.clone(), used));
            }
        }
        (nodes, parts)
    }

    fn of_one(
        &self,
        one: &WatchedNode,
        before: Option<&(CounterReader, BorderReader)>,
        after: Option<&CounterReader>,
        mut samples: Vec<UsedSample>,
    ) -> Option<NodeUse> {
        let (member, before, after) = (one.member.as_deref()?, before?, after?);
        // A sample may have been taken while the border was read.
        let end_s = after.at.saturating_duration_since(self.begun).as_secs_f64();
        samples.retain(|sample| sample.at_s < end_s);
        let full = figures::full(member);
        Some(figures::used(member, (&before.0, &before.1), (after, &full), samples))
    }

    fn join(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It panics nowhere; if it did, its samples would end there.
            let _ = thread.join();
        }
    }
}

impl Drop for UsageWatch {
    fn drop(&mut self) {
        self.join();
    }
}

fn with_pages(used: Option<NodeUse>, pages: BTreeMap<String, f64>) -> Option<NodeUse> {
    if pages.is_empty() {
        return used;
    }
    // A node elsewhere can have metrics, though nothing else is seen of it.
    let mut used = used.unwrap_or_else(|| NodeUse { source: "metrics".to_owned(), ..NodeUse::default() });
    used.more.extend(pages);
    Some(used)
}

fn sample(
    members: &[Option<Arc<NodeProcess>>],
    begun: Instant,
    first: &[Option<CounterReader>],
    every: Duration,
    kept: &Mutex<Vec<Vec<UsedSample>>>,
    stopped: &Receiver<()>,
) {
    let mut last = first.to_vec();
    let mut next = begun + every;
    loop {
        match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let taken: Vec<Option<CounterReader>> =
            members.iter().map(|one| one.as_deref().map(figures::quick)).collect();
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        for ((samples, before), after) in kept.iter_mut().zip(&last).zip(&taken) {
            if let (Some(before), Some(after)) = (before, after) {
                samples.push(figures::sample(begun, before, after));
            }
        }
        last = taken;
        // A machine too busy to sample in time takes fewer samples, not several at once.
        next = (next + every).max(Instant::now());
    }
}
