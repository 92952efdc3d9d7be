//! Puts a process under limits: by its control group, else by affinity and resource limits. Says which, and never pretends.

use std::fs;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::bytes::Bytes;
use super::cgroup::{Cgroup, CgroupVersion, Controller};
use super::cores::{allowed, of_process, online, pin, pinned_before};
use super::error::{MachineError, TargetError};
use super::spec::NodeLimits;
use super::text;

/// The kernel's own period of a quota, in milliseconds.
const PERIOD_MS: u64 = 100;

/// What came of the limits of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AppliedLimits {
    /// Limits in force, each with its means.
    pub(super) in_force: Vec<String>,
    /// Limits that are not, each with the reason.
    pub(super) missing: Vec<String>,
    /// How many cores it may use.
    pub(super) cores: f64,
    /// Its limit of memory in bytes, where that is in force for the node as a whole.
    pub(super) memory_bytes: Option<u64>,
}

impl NodeLimits {
    /// # Errors
    /// What no machine can do, or this one has not: key and reason.
    pub(super) fn check(&self, key: &str) -> Result<(), TargetError> {
        let wrong =
            |name: &str, problem: String| Err(TargetError::setting(&format!("{key}.{name}"), problem));
        let period = self.cpu_period_ms.unwrap_or(PERIOD_MS);
        if !(1..=1000).contains(&period) {
            return wrong("cpu_period_ms", format!("{period} is not within 1 to 1000"));
        }
        if let Some(cpus) = self.cpus {
            #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
            let least = 1.0 / period as f64;
            if !(cpus >= least && cpus <= 10_000.0) {
                let problem = format!(
                    "{cpus} is no share of cores: from {least} (1 ms of a period of {period} ms) to 10000"
                );
                return wrong("cpus", problem);
            }
        }
        let online = online();
        if let Some(core) = self.cores.iter().find(|core| !online.contains(core)) {
            return wrong(
                "cores",
                format!("core {core} is not on this machine, which has {}", text::list(&online)),
            );
        }
        match self.cores_each {
            Some(each) if each == 0 || each > self.cores.len() => {
                return wrong(
                    "cores_each",
                    format!("{each} is not within 1 and the {} of `cores`", self.cores.len()),
                );
            }
            Some(_) | None => {}
        }
        if self.memory.is_some_and(|memory| memory < Bytes(64 << 10)) {
            return wrong("memory", "no process runs in less than 64k".to_owned());
        }
        if self.swap.is_some() && self.memory.is_none() {
            return wrong("swap", "it needs `memory` beside it".to_owned());
        }
        if self.pids == Some(0) || self.files == Some(0) {
            return wrong("pids", "`pids` and `files` are at least 1".to_owned());
        }
        Ok(())
    }

    /// The cores of the node with this number, from 0. Empty: any.
    fn cores_of(&self, node: usize) -> Vec<usize> {
        match self.cores_each {
            Some(each) => self
                .cores
                .iter()
                .cycle()
                .skip(node * each % self.cores.len().max(1))
                .take(each)
                .copied()
                .collect(),
            None => self.cores.clone(),
        }
    }
}

/// Puts a process, which waits before it becomes node number `node` (from 0), into its group and under its limits.
pub(super) fn apply(limits: &NodeLimits, group: &Cgroup, pid: u32, node: usize) -> AppliedLimits {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return AppliedLimits::default();
    };
    if let Some(cores) = pinned_before() {
        // It came to life where the generator is held. Where this fails, `cores` below tells how few it has.
        let _ = pin(Some(process), &cores);
    }
    let mut work = LimitWork { limits, group, process, node, applied: AppliedLimits::default() };
    let (cpus, cores, memory) = (work.quota(), work.cpuset(), work.memory());
    let (swap, pids) = (work.swap(), work.pids());
    group.enter(pid);
    work.finish_cpus(cpus);
    work.finish_cores(cores);
    work.finish_memory(memory);
    work.finish_other("swap", limits.swap.map(|swap| swap.to_string()), swap, Controller::Memory);
    work.finish_other("pids", limits.pids.map(|pids| pids.to_string()), pids, Controller::Pids);
    work.files();
    let cores = of_process(Some(process)).map_or(1, |cores| cores.len());
    let cores = u32::try_from(cores).map_or(1.0, f64::from);
    work.applied.cores = if work.applied.cores > 0.0 { cores.min(work.applied.cores) } else { cores };
    work.applied
}

/// What a control group says to a limit: the means, or why not; `None` where it was not asked for.
type LimitAttempt = Option<Result<String, MachineError>>;

struct LimitWork<'w> {
    limits: &'w NodeLimits,
    group: &'w Cgroup,
    process: Pid,
    node: usize,
    applied: AppliedLimits,
}

impl LimitWork<'_> {
    fn quota(&self) -> LimitAttempt {
        let cpus = self.limits.cpus?;
        let period_us = self.limits.cpu_period_ms.unwrap_or(PERIOD_MS) * 1000;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: at most 10,000 cores and a second"
        )]
        let quota_us = (cpus * period_us as f64).round() as u64;
        let set = |file: &str, value: &str| self.group.set(Controller::Cpu, file, value);
        Some(self.group.version(Controller::Cpu).and_then(|version| {
            match version {
                CgroupVersion::Two => set("cpu.max", &format!("{quota_us} {period_us}"))
                    .map(|()| format!("cgroup v2, cpu.max = {quota_us} {period_us}")),
                CgroupVersion::One => set("cpu.cfs_period_us", &period_us.to_string())
                    .and_then(|()| set("cpu.cfs_quota_us", &quota_us.to_string()))
                    .map(|()| format!("cgroup v1, cpu.cfs_quota_us = {quota_us} of {period_us}")),
            }
        }))
    }

    fn cpuset(&self) -> LimitAttempt {
        let cores = self.limits.cores_of(self.node);
        if cores.is_empty() {
            return None;
        }
        let list = text::list(&cores);
        let set = |file: &str, value: &str| self.group.set(Controller::Cpuset, file, value);
        Some(self.group.version(Controller::Cpuset).and_then(|version| match version {
            CgroupVersion::Two => set("cpuset.cpus", &list).map(|()| "cgroup v2, cpuset.cpus".to_owned()),
            CgroupVersion::One => {
                // Nothing can enter the group before it has memory nodes too.
                let above =
                    |file| self.group.above(Controller::Cpuset, file).filter(|text| !text.trim().is_empty());
                let mems = above("cpuset.effective_mems").or_else(|| above("cpuset.mems"));
                let mems = mems.unwrap_or_else(|| "0".to_owned());
                set("cpuset.mems", mems.trim())
                    .and_then(|()| set("cpuset.cpus", &list))
                    .map(|()| "cgroup v1, cpuset.cpus".to_owned())
            }
        }))
    }

    fn memory(&self) -> LimitAttempt {
        let memory = self.limits.memory?;
        Some(self.group.version(Controller::Memory).and_then(|version| {
            let (file, name) = match version {
                CgroupVersion::Two => ("memory.max", "cgroup v2, memory.max"),
                CgroupVersion::One => ("memory.limit_in_bytes", "cgroup v1, memory.limit_in_bytes"),
            };
            self.group.set(Controller::Memory, file, &memory.0.to_string()).map(|()| name.to_owned())
        }))
    }

    fn swap(&self) -> LimitAttempt {
        let swap = self.limits.swap?;
        let both = swap.0.saturating_add(self.limits.memory.unwrap_or_default().0);
        let machine_has_none = fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() <= 1);
        Some(self.group.version(Controller::Memory).and_then(|version| {
            let set = |file: &str, value: u64| self.group.set(Controller::Memory, file, &value.to_string());
            match version {
                CgroupVersion::Two => {
                    set("memory.swap.max", swap.0).map(|()| "cgroup v2, memory.swap.max".to_owned())
                }
                CgroupVersion::One => set("memory.memsw.limit_in_bytes", both)
                    .map(|()| "cgroup v1, memory.memsw.limit_in_bytes".to_owned()),
            }
        }))
        .map(|tried| {
            tried.or_else(|because| {
                if machine_has_none { Ok("this machine has no swap".to_owned()) } else { Err(because) }
            })
        })
    }

    fn pids(&self) -> LimitAttempt {
        let pids = self.limits.pids?;
        Some(self.group.version(Controller::Pids).and_then(|version| {
            let means = match version {
                CgroupVersion::One => "cgroup v1, pids.max",
                CgroupVersion::Two => "cgroup v2, pids.max",
            };
            self.group.set(Controller::Pids, "pids.max", &pids.to_string()).map(|()| means.to_owned())
        }))
    }

    /// What a group said, unless the process could not enter it.
    fn entered(
        &self,
        tried: Result<String, MachineError>,
        controller: Controller,
    ) -> Result<String, MachineError> {
        tried.and_then(|means| {
            // Where the machine itself keeps the limit, no group was needed.
            if means.starts_with("cgroup") {
                self.group.version(controller).map(|_| means)
            } else {
                Ok(means)
            }
        })
    }

    fn finish_cpus(&mut self, tried: LimitAttempt) {
        let (Some(cpus), Some(tried)) = (self.limits.cpus, tried) else { return };
        let machine = u32::try_from(online().len()).map_or(1.0, f64::from);
        match self.entered(tried, Controller::Cpu) {
            Ok(_) if cpus > machine => {
                self.applied.missing.push(format!("cpus = {cpus}: this machine has {machine} cores"));
            }
            Ok(means) => {
                self.applied.in_force.push(format!("cpus = {cpus} ({means})"));
                self.applied.cores = cpus;
            }
            Err(because) => {
                self.applied.missing.push(format!("cpus = {cpus}: {because}"));
                if self.limits.cores.is_empty() && cpus <= machine {
                    self.fewer_cores(cpus);
                }
            }
        }
    }

    /// In place of a quota: as many whole cores as hold it, other ones for each node.
    fn fewer_cores(&mut self, cpus: f64) {
        let allowed = allowed();
        let count = (1..=allowed.len())
            .find(|count| u32::try_from(*count).is_ok_and(|count| f64::from(count) >= cpus));
        let count = count.unwrap_or(allowed.len());
        let cores: Vec<usize> = allowed.iter().cycle().skip(self.node * count).take(count).copied().collect();
        if pin(Some(self.process), &cores).is_ok() {
            let list = text::list(&cores);
            self.applied.in_force.push(format!("cores = {list} (affinity), in place of cpus = {cpus}"));
        }
    }

    fn finish_cores(&mut self, tried: LimitAttempt) {
        let Some(tried) = tried else { return };
        let cores = self.limits.cores_of(self.node);
        let list = text::list(&cores);
        let tried = self.entered(tried, Controller::Cpuset).or_else(|because| {
            pin(Some(self.process), &cores)
                .map(|()| format!("affinity, which a process can change for itself; {because}"))
                .map_err(|also| MachineError::new(format!("{because}; {also}")))
        });
        self.say("cores", &list, tried);
    }

    fn finish_memory(&mut self, tried: LimitAttempt) {
        let (Some(memory), Some(tried)) = (self.limits.memory, tried) else { return };
        match self.entered(tried, Controller::Memory) {
            Ok(means) => {
                self.applied.memory_bytes = Some(memory.0);
                self.say("memory", &memory.to_string(), Ok(means));
            }
            Err(because) => {
                self.say("memory", &memory.to_string(), Err(because));
                // The address space (RLIMIT_AS) would be a worse stand-in: Java, Go and Node reserve gigabytes of it.
                let limit = Rlimit { current: Some(memory.0), maximum: Some(memory.0) };
                if prlimit(Some(self.process), Resource::Data, limit).is_ok() {
                    self.applied.in_force.push(format!(
                        "data = {memory} (RLIMIT_DATA: private memory of each process by itself, whose allocations fail \
                         beyond it), in place of memory = {memory}"
                    ));
                }
            }
        }
    }

    fn finish_other(
        &mut self,
        name: &str,
        value: Option<String>,
        tried: LimitAttempt,
        controller: Controller,
    ) {
        let (Some(value), Some(tried)) = (value, tried) else { return };
        // RLIMIT_NPROC counts all processes of the user, also those outside: no stand-in for `pids`.
        let tried = self.entered(tried, controller);
        self.say(name, &value, tried);
    }

    fn files(&mut self) {
        let Some(files) = self.limits.files else { return };
        let limit = Rlimit { current: Some(files), maximum: Some(files) };
        let set = prlimit(Some(self.process), Resource::Nofile, limit);
        let tried = set
            .map(|_| "RLIMIT_NOFILE, each process".to_owned())
            .map_err(|error| MachineError::new(format!("RLIMIT_NOFILE: {error}")));
        self.say("files", &files.to_string(), tried);
    }

    fn say(&mut self, name: &str, value: &str, tried: Result<String, MachineError>) {
        match tried {
            Ok(means) => self.applied.in_force.push(format!("{name} = {value} ({means})")),
            Err(because) => self.applied.missing.push(format!("{name} = {value}: {because}")),
        }
    }
}
