//! A quota of processor time for processes that run already: what stands for a slower processor.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cgroup::{Cgroup, CgroupParent, CgroupVersion, Controller};
use super::error::MachineError;

/// The shortest quota that the kernel takes, in microseconds. The shorter it is, the more a quota is like a slower clock: work that is
/// shorter than the quota of a period would not be slowed at all.
const QUOTA_US: f64 = 1_000.0;

/// How many were made by this process.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Processes that share a part of a core. Drop it after they have ended: a group with processes in it stays.
#[derive(Debug)]
pub struct CpuQuota {
    group: Cgroup,
    means: String,
    /// Its groups are put back after this one.
    _parent: Arc<CgroupParent>,
}

impl CpuQuota {
    /// Holds processes, and what they start from now on, to so many cores together.
    ///
    /// # Errors
    /// Why this system does not let this process do so, in words.
    pub fn of(processes: &[u32], cpus: f64) -> Result<CpuQuota, MachineError> {
        if !(0.01..=1.0).contains(&cpus) {
            return Err(format!("{cpus} is no part of a core: from 0.01 to 1").into());
        }
        let parent = CgroupParent::shared();
        let name = format!("durward-quota-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut quota =
            CpuQuota { group: Cgroup::make(&parent, &name, false), means: String::new(), _parent: parent };
        quota.means = quota.set(cpus)?;
        processes.iter().for_each(|process| quota.group.enter(*process));
        // A group that was not entered has no version any more.
        quota.group.version(Controller::Cpu)?;
        Ok(quota)
    }

    /// How it is done: `cgroup v2, cpu.max = 1000 2500`.
    pub fn means(&self) -> &str {
        &self.means
    }

    fn set(&self, cpus: f64) -> Result<String, MachineError> {
        let (quota_us, period_us) = (format!("{QUOTA_US:.0}"), format!("{:.0}", QUOTA_US / cpus));
        let set = |file: &str, value: &str| self.group.set(Controller::Cpu, file, value);
        match self.group.version(Controller::Cpu)? {
            CgroupVersion::Two => set("cpu.max", &format!("{quota_us} {period_us}"))
                .map(|()| format!("cgroup v2, cpu.max = {quota_us} {period_us}")),
            CgroupVersion::One => set("cpu.cfs_period_us", &period_us)
                .and_then(|()| set("cpu.cfs_quota_us", &quota_us))
                .map(|()| format!("cgroup v1, cpu.cfs_quota_us = {quota_us} of {period_us}")),
        }
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // What is left is an empty group, or one whose processes go on under their limit.
        let _ = self.group.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use crate::process::usage;

    #[test]
    fn a_part_of_a_core_is_above_nothing_and_no_more_than_one() {
        for wrong in [0.0, 1.5, f64::NAN] {
            assert!(
                CpuQuota::of(&[], wrong).unwrap_err().to_string().contains("no part of a core"),
                "{wrong}"
            );
        }
    }

    /// Where this machine lets nobody make groups, nothing is tried.
    #[test]
    fn a_process_that_works_gets_no_more_than_its_part() {
        let mut busy =
            Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        let held = CpuQuota::of(&[busy.id()], 0.2);
        let used = |time: Duration| {
            let (begun, before) = (Instant::now(), usage(busy.id()).map(|used| used.ran));
            std::thread::sleep(time);
            let after = usage(busy.id()).map(|used| used.ran);
            Some((after?.saturating_sub(before?)).as_secs_f64() / begun.elapsed().as_secs_f64())
        };
        let part = held.is_ok().then(|| used(Duration::from_millis(500))).flatten();
        busy.kill().unwrap();
        busy.wait().unwrap();
        if let Some(part) = part {
            assert!(part < 0.5, "{part} of a core instead of 0.2");
        }
        let Ok(held) = held else { return };
        let paths = held.group.paths().to_vec();
        drop(held);
        assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    }
}
