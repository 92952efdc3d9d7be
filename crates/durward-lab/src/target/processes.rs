//! The processes of one node, and what `/proc` tells of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::cgroup::Cgroup;
use super::limits::AppliedLimits;
use super::text::{self, ProcessStat};

/// A clock tick of `/proc`, in seconds: Linux shows 100 a second on every machine (`USER_HZ`).
pub(super) const TICK_S: f64 = 0.01;

/// A node, as those see it who measure: its first process and its group.
#[derive(Debug)]
pub(super) struct NodeProcess {
    pub(super) pid: u32,
    pub(super) group: Cgroup,
    /// How many cores it may use.
    pub(super) cores: f64,
    /// Its limit of memory in bytes; `None` where it has none of its own.
    pub(super) memory_max_bytes: Option<u64>,
}

impl NodeProcess {
    pub(super) fn of_group(pid: u32, group: Cgroup, applied: &AppliedLimits) -> NodeProcess {
        NodeProcess { pid, group, cores: applied.cores, memory_max_bytes: applied.memory_bytes }
    }

    /// A server that was not started here, but runs on this machine.
    pub(super) fn elsewhere(pid: u32) -> NodeProcess {
        let cores = u32::try_from(super::cores::allowed().len()).map_or(1.0, f64::from);
        NodeProcess { pid, group: Cgroup::default(), cores, memory_max_bytes: None }
    }

    /// Its processes: all in its group; else its first one's descendants, process group and session.
    pub(super) fn pids(&self) -> Vec<u32> {
        if self.group.holds_processes() { self.group.members() } else { family(&all(), self.pid) }
    }
}

/// All processes of the machine.
pub(super) fn all() -> Vec<ProcessStat> {
    numbers(Path::new("/proc")).into_iter().filter_map(one).collect()
}

/// One process; `None` where it has ended.
pub(super) fn one(pid: u32) -> Option<ProcessStat> {
    text::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether a process is there and no zombie.
pub(super) fn is_running(pid: u32) -> bool {
    one(pid).is_some_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

/// The entries of a directory that are numbers: processes, threads.
pub(super) fn numbers(directory: &Path) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process with its descendants, and those that share its process group or session (which a program that runs in the
/// background keeps after its parent has ended).
pub(super) fn family(all: &[ProcessStat], first: u32) -> Vec<u32> {
    let is_near = |stat: &&ProcessStat| stat.pid == first || stat.group == first || stat.session == first;
    let mut family: BTreeSet<u32> = all.iter().filter(is_near).map(|stat| stat.pid).collect();
    loop {
        let children = all.iter().filter(|stat| family.contains(&stat.parent) && !family.contains(&stat.pid));
        let children: Vec<u32> = children.map(|stat| stat.pid).collect();
        if children.is_empty() {
            return family.into_iter().collect();
        }
        family.extend(children);
    }
}

/// Processes that have a variable with this value in the environment that they were started with.
pub(super) fn marked(variable: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{variable}={value}");
    let has = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    numbers(Path::new("/proc")).into_iter().filter(has).collect()
}

/// What `/proc` tells of some processes, summed up. Those that ended are missing, but for the time of children that were
/// waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessSums {
    pub(super) cpu_s: f64,
    pub(super) resident_bytes: u64,
    /// Each shared page counts by its share.
    pub(super) proportional_bytes: u64,
    pub(super) threads: u64,
    pub(super) processes: u64,
    pub(super) sockets: u64,
    pub(super) files: u64,
    pub(super) major_faults: u64,
    pub(super) context_switches: u64,
    pub(super) context_switches_forced: u64,
    /// How long threads were ready and waited for a core.
    pub(super) wait_s: f64,
    /// Of disks.
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

/// Processor time and memory only: cheap enough for every sample.
pub(super) fn cpu_and_resident(pids: &[u32]) -> (f64, u64) {
    let mut ticks = 0;
    let mut resident = 0;
    for pid in pids {
        ticks += one(*pid).map_or(0, |stat| stat.ticks);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        resident += text::kilobytes(&status, "VmRSS").unwrap_or(0);
    }
    (seconds(ticks), resident)
}

#[expect(clippy::cast_precision_loss, reason = "no machine runs 2^53 ticks")]
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 * TICK_S
}

/// Everything. Milliseconds for a process of many threads, connections or mappings.
pub(super) fn sums(pids: &[u32]) -> ProcessSums {
    let mut sums = ProcessSums::default();
    let mut ticks = 0;
    for pid in pids {
        let Some(stat) = one(*pid) else { continue };
        ticks += stat.ticks;
        sums.processes += 1;
        sums.threads += stat.threads;
        sums.major_faults += stat.major_faults;
        let directory = format!("/proc/{pid}");
        let read = |file: &str| fs::read_to_string(format!("{directory}/{file}")).unwrap_or_default();
        let memory = read("smaps_rollup");
        sums.resident_bytes += text::kilobytes(&memory, "Rss").unwrap_or(0);
        sums.proportional_bytes += text::kilobytes(&memory, "Pss").unwrap_or(0);
        let io = read("io");
        sums.read_bytes += text::field(&io, "read_bytes").unwrap_or(0);
        sums.written_bytes += text::field(&io, "write_bytes").unwrap_or(0);
        count_files(&directory, &mut sums);
        count_threads(&directory, &mut sums);
    }
    sums.cpu_s = seconds(ticks);
    sums
}

fn count_files(directory: &str, sums: &mut ProcessSums) {
    for entry in fs::read_dir(format!("{directory}/fd")).into_iter().flatten().flatten() {
        sums.files += 1;
        let target = fs::read_link(entry.path()).unwrap_or_default();
        sums.sockets += u64::from(target.to_str().is_some_and(|name| name.starts_with("socket:")));
    }
}

fn count_threads(directory: &str, sums: &mut ProcessSums) {
    for thread in numbers(Path::new(&format!("{directory}/task"))) {
        let read =
            |file: &str| fs::read_to_string(format!("{directory}/task/{thread}/{file}")).unwrap_or_default();
        let status = read("status");
        sums.context_switches += text::field(&status, "voluntary_ctxt_switches").unwrap_or(0);
        sums.context_switches_forced += text::field(&status, "nonvoluntary_ctxt_switches").unwrap_or(0);
        let waited = read("schedstat").split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok());
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of waiting, to three digits")]
        waited.into_iter().for_each(|ns: u64| sums.wait_s += ns as f64 / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found_by_parents_groups_and_sessions() {
        let stat = |pid, parent, group, session| ProcessStat {
            pid,
            parent,
            group,
            session,
            ..ProcessStat::default()
        };
        // 10 started 11, which started 12 in a session of its own; 13 was orphaned but kept the group; 14 is of nobody.
        let all = [
            stat(12, 11, 12, 12),
            stat(10, 1, 10, 5),
            stat(11, 10, 10, 5),
            stat(13, 1, 10, 5),
            stat(14, 1, 5, 5),
        ];
        assert_eq!(family(&all, 10), [10, 11, 12, 13]);
        assert!(family(&all, 99).is_empty());
    }

    #[test]
    fn this_process_is_told_of() {
        let sums = sums(&[std::process::id()]);
        assert!(sums.resident_bytes > 0 && sums.threads >= 1 && sums.files >= 1, "{sums:?}");
        assert_eq!(sums.processes, 1);
        assert!(is_running(std::process::id()));
        assert!(!is_running(u32::MAX));
    }
}
