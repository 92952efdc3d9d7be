//! What a measurement ran on: numbers of different machines say nothing about each other.

use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::record::MachineInfo;
use crate::target::text::kilobytes;

/// A machine, as far as it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// The processor's name; `None` where the system does not tell (it does on Linux on x86-64).
    pub processor: Option<String>,
    /// How many threads can run at once.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system and the processor's architecture: `linux x86_64`.
    pub system: String,
}

impl MachineFacts {
    /// As records have it, under a name.
    pub fn info(self, name: &str) -> MachineInfo {
        let MachineFacts { processor, cores, memory_bytes, system } = self;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let system = match (system.split_once(' '), kernel.trim()) {
            (Some((os, architecture)), kernel) if !kernel.is_empty() => {
                format!("{os} {kernel} {architecture}")
            }
            _ => system,
        };
        MachineInfo {
            name: name.to_owned(),
            processor,
            cores,
            memory_bytes,
            system,
            ..MachineInfo::default()
        }
    }

    /// This machine.
    pub fn this() -> MachineFacts {
        MachineFacts {
            processor: first("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: fs::read_to_string("/proc/meminfo")
                .ok()
                .and_then(|text| kilobytes(&text, "MemTotal")),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Which machine a process is on, as far as the system tells: whether two processes see each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineIdentity {
    /// This boot of the kernel.
    boot: Option<String>,
    /// The network: processes of one have one loopback address.
    network: Option<String>,
    /// The processes: those of one know each other by number.
    processes: Option<String>,
    /// The number of the process.
    pub(crate) process: u32,
}

impl MachineIdentity {
    /// Of this process.
    pub(crate) fn this() -> MachineIdentity {
        let link = |path| Some(fs::read_link(path).ok()?.to_string_lossy().into_owned());
        MachineIdentity {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned()),
            network: link("/proc/self/ns/net"),
            processes: link("/proc/self/ns/pid"),
            process: std::process::id(),
        }
    }

    /// Whether a loopback address means the same to both; `None` where the system does not tell.
    pub(crate) fn shares_network(&self, other: &MachineIdentity) -> Option<bool> {
        let (mine, own) = (self.boot.as_ref()?, self.network.as_ref()?);
        Some((mine, own) == (other.boot.as_ref()?, other.network.as_ref()?))
    }

    /// Whether both are on one machine and know each other by number.
    pub(crate) fn shares_processes(&self, other: &MachineIdentity) -> bool {
        self.boot.is_some() && (&self.boot, &self.processes) == (&other.boot, &other.processes)
    }
}

/// What stands behind the first `NAME:` of a file.
fn first(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_core_and_a_system() {
        let machine = MachineFacts::this();
        assert!(machine.cores >= 1 && machine.system.contains(' '), "{machine:?}");
        let info = machine.clone().info("local");
        assert_eq!(
            (info.name.as_str(), info.cores, info.memory_bytes),
            ("local", machine.cores, machine.memory_bytes)
        );
        assert!(info.system.split(' ').count() >= 2, "{info:?}");
    }
}
