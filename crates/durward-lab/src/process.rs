//! What this process takes of the machine.

use std::fs;
use std::time::Duration;

/// The resident set in bytes; `None` where the system does not tell (it does on Linux).
pub(crate) fn resident_bytes() -> Option<u64> {
    // `status` is up to some hundred kilobytes behind for each thread; `smaps_rollup` counts exactly.
    read("/proc/self/smaps_rollup", "Rss:").or_else(|| read("/proc/self/status", "VmRSS:"))
}

/// How long this thread has run on a core so far; `None` where the system does not tell (it does on Linux).
pub(crate) fn thread_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn read(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_to_is_resident() {
        let Some(before) = resident_bytes() else { return };
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident_bytes().unwrap();
        assert!(after >= before + (32 << 20), "{before} {after} {}", block.len());
    }
}
