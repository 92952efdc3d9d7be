//! Control groups: one for each node, below this process's own, in every hierarchy that there is.

mod group;
mod layout;
mod parent;
#[cfg(test)]
mod tests;

pub(super) use group::{Cgroup, CgroupVersion};
pub(super) use layout::CgroupLayout;
pub(super) use parent::CgroupParent;

/// What limits or counts something. Version 1 has other names for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Controller {
    /// Quotas of processor time.
    Cpu,
    /// Counts processor time; of version 1 only, where version 2 counts it in every group.
    Cpuacct,
    /// Which processors.
    Cpuset,
    Memory,
    Pids,
    /// Disks: `blkio` in version 1.
    Io,
}

impl Controller {
    const ALL: [Controller; 6] = [
        Controller::Cpu,
        Controller::Cpuacct,
        Controller::Cpuset,
        Controller::Memory,
        Controller::Pids,
        Controller::Io,
    ];

    fn name(self, version: CgroupVersion) -> &'static str {
        match (self, version) {
            (Controller::Cpu, _) => "cpu",
            (Controller::Cpuacct, _) => "cpuacct",
            (Controller::Cpuset, _) => "cpuset",
            (Controller::Memory, _) => "memory",
            (Controller::Pids, _) => "pids",
            (Controller::Io, CgroupVersion::One) => "blkio",
            (Controller::Io, CgroupVersion::Two) => "io",
        }
    }
}
