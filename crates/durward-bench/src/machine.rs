//! What a measurement ran on: numbers of different machines say nothing about each other.

use std::fs;
use std::thread;

/// A machine, as far as it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name; `None` where the system does not tell (it does on Linux on x86-64).
    pub processor: Option<String>,
    /// How many threads can run at once.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system and the processor's architecture: `linux x86_64`.
    pub system: String,
}

impl Machine {
    /// This machine.
    pub fn this() -> Machine {
        Machine {
            processor: first("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: first("/proc/meminfo", "MemTotal").as_deref().and_then(kilobytes),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// What stands behind the first `NAME:` of a file.
fn first(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

/// Bytes of `24564 kB`.
fn kilobytes(text: &str) -> Option<u64> {
    text.strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_core_and_a_system() {
        let machine = Machine::this();
        assert!(machine.cores >= 1 && machine.system.contains(' '), "{machine:?}");
        assert_eq!((kilobytes("2 kB"), kilobytes("2"), kilobytes("x kB")), (Some(2048), None, None));
    }
}
