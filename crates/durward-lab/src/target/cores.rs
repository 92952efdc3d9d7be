//! The processors of this machine: which there are, how nodes and generator share them.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::bytes::Bytes;
use super::error::MachineError;
use super::processes::numbers;
use super::text;

/// The smallest slice that measures anything: 5 ms of a period of 100.
const SLICE_MIN: f64 = 0.05;
/// The kernel, the sampler and the page cache need some of what is there.
const USED_MAX: f64 = 0.9;

/// The processors on which this process could run before [`Pinned::away_from`] held it; `None` while nothing holds it.
static BEFORE: Mutex<Option<Vec<usize>>> = Mutex::new(None);

/// The processors of this machine that run.
pub(super) fn online() -> Vec<usize> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let of = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse::<usize>().ok()?..=to.parse::<usize>().ok()?)
    };
    let listed: Vec<usize> = text.trim().split(',').filter_map(of).flatten().collect();
    if listed.is_empty() { allowed() } else { listed }
}

/// The processors on which what this process starts may run.
pub(super) fn allowed() -> Vec<usize> {
    pinned_before().or_else(|| of_process(None)).unwrap_or_else(|| vec![0])
}

/// Those of this process before it was pinned; `None` where it is not.
pub(super) fn pinned_before() -> Option<Vec<usize>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The processors on which a process may run; `None`: this thread.
pub(super) fn of_process(pid: Option<Pid>) -> Option<Vec<usize>> {
    let set = sched_getaffinity(pid).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Holds a process (or thread) to processors.
pub(super) fn pin(pid: Option<Pid>, cores: &[usize]) -> Result<(), MachineError> {
    let mut set = CpuSet::new();
    cores.iter().filter(|core| **core < CpuSet::MAX_CPU).for_each(|core| set.set(*core));
    sched_setaffinity(pid, &set)
        .map_err(|error| MachineError::new(format!("affinity cannot be set: {error}")))
}

/// This process, held away from the processors of a target. Dropping it lets it run everywhere again. Nodes that are
/// started meanwhile are not held.
#[derive(Debug)]
pub struct Pinned {
    cores: Vec<usize>,
}

impl Pinned {
    /// Holds all threads of this process, and those that it starts, to other processors than these.
    ///
    /// # Errors
    /// None would be left, it is held already, or the system refuses.
    pub fn away_from(cores: &[usize]) -> Result<Pinned, MachineError> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_some() {
            return Err("this process is held to some cores already".to_owned().into());
        }
        let all = of_process(None).unwrap_or_default();
        let left: Vec<usize> = all.iter().copied().filter(|core| !cores.contains(core)).collect();
        if left.is_empty() {
            return Err(format!("no core is left for the generator beside {}", text::list(cores)).into());
        }
        pin_threads(&left)?;
        *before = Some(all);
        Ok(Pinned { cores: left })
    }

    /// Where it runs now.
    pub fn cores(&self) -> &[usize] {
        &self.cores
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(all) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It could run there before.
            let _ = pin_threads(&all);
        }
    }
}

fn pin_threads(cores: &[usize]) -> Result<(), MachineError> {
    pin(None, cores)?;
    for thread in numbers(Path::new("/proc/self/task")) {
        // One may have ended since it was listed.
        let _ = pin(i32::try_from(thread).ok().and_then(Pid::from_raw), cores);
    }
    Ok(())
}

/// How a machine is shared by the nodes of a target and the generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Slices {
    /// What each node has of a core: for `cpus`.
    pub cpus: f64,
    /// The processors of the nodes: for `cores`.
    pub target_cores: Vec<usize>,
    /// Those that are left to the generator.
    pub generator_cores: Vec<usize>,
}

impl Slices {
    /// Shares this machine between so many nodes, the most of a sweep, which need so much memory each, and a generator that
    /// needs so many cores for itself. A slice is a multiple of 0.05 and no more than a core, so that one node and all of
    /// them are held alike.
    ///
    /// # Errors
    /// It does not fit, in words, with the number of nodes that would.
    pub fn of_this_machine(
        nodes: usize,
        memory_each: Bytes,
        generator_cores: usize,
    ) -> Result<Slices, MachineError> {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = text::kilobytes(&memory, "MemAvailable").unwrap_or(u64::MAX);
        Slices::of(&allowed(), available, nodes, memory_each, generator_cores)
    }

    fn of(
        cores: &[usize],
        available_bytes: u64,
        nodes: usize,
        memory_each: Bytes,
        generator: usize,
    ) -> Result<Slices, MachineError> {
        let count = cores.len();
        let Some((generator_cores, target_cores)) =
            cores.split_at_checked(generator).filter(|(_, rest)| !rest.is_empty())
        else {
            return Err(format!("{generator} of {count} cores for the generator leave none for nodes").into());
        };
        #[expect(clippy::cast_precision_loss, reason = "cores, nodes and bytes of a machine")]
        let (usable, each, room) = (
            target_cores.len() as f64 * USED_MAX,
            memory_each.0.max(1) as f64,
            available_bytes as f64 * USED_MAX,
        );
        #[expect(clippy::cast_precision_loss, reason = "nodes of a machine")]
        let wanted = nodes.max(1) as f64;
        let most = (usable / SLICE_MIN).floor().min((room / each).floor());
        if wanted > most {
            return Err(format!(
                "{nodes} nodes of {memory_each} do not fit: {} cores and {} MiB carry {most} at most",
                target_cores.len(),
                available_bytes >> 20
            )
            .into());
        }
        let steps = (usable / wanted / SLICE_MIN + 1e-9).floor().min(1.0 / SLICE_MIN);
        // Through hundredths: 0.15000000000000002 is no number for a scenario.
        let cpus = (steps * SLICE_MIN * 100.0).round() / 100.0;
        Ok(Slices { cpus, target_cores: target_cores.to_vec(), generator_cores: generator_cores.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_get_equal_slices_beside_the_generator() {
        let of = |cores: usize, nodes, memory, generator| {
            let cores: Vec<usize> = (0..cores).collect();
            Slices::of(&cores, 1 << 30, nodes, Bytes(memory), generator)
        };
        let slices = of(2, 8, 32 << 20, 1).unwrap();
        assert_eq!((slices.cpus, slices.target_cores, slices.generator_cores), (0.1, vec![1], vec![0]));
        assert_eq!(of(2, 6, 0, 1).unwrap().cpus, 0.15);
        assert_eq!(of(2, 18, 0, 1).unwrap().cpus, 0.05);
        // No node has more than a core, or one alone would be held to something else than all.
        assert_eq!(of(16, 2, 0, 4).unwrap().cpus, 1.0);
        assert_eq!(of(16, 2, 0, 4).unwrap().target_cores.len(), 12);
        assert!(
            of(2, 19, 0, 1).unwrap_err().to_string().contains("carry 18 at most"),
            "{:?}",
            of(2, 19, 0, 1)
        );
        assert!(
            of(64, 4, 256 << 20, 1)
                .unwrap_err()
                .to_string()
                .contains("4 nodes of 256M do not fit: 63 cores and 1024 MiB carry 3")
        );
        assert_eq!(
            of(1, 1, 0, 1).unwrap_err().to_string(),
            "1 of 1 cores for the generator leave none for nodes"
        );
    }

    #[test]
    fn a_generator_is_held_away_and_let_go() {
        let all = of_process(None).unwrap();
        if all.len() < 2 {
            eprintln!("not tested: this machine has one core");
            return;
        }
        let pinned = Pinned::away_from(&all[..1]).unwrap();
        assert_eq!((pinned.cores(), of_process(None).unwrap().as_slice()), (&all[1..], &all[1..]));
        // What is started meanwhile may run everywhere.
        assert_eq!(allowed(), all);
        assert!(Pinned::away_from(&all[..1]).is_err());
        drop(pinned);
        assert_eq!(of_process(None).unwrap(), all);
        assert!(Pinned::away_from(&all).unwrap_err().to_string().contains("no core is left"));
    }
}
