//! What this process, its threads, and another process take of the machine. Nodes of a target, with all that they started, are seen by
//! [`crate::target`].

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::target::text::kilobytes;

/// The resident set in bytes; `None` where the system does not tell (it does on Linux).
pub fn resident_bytes() -> Option<u64> {
    // `status` is up to some hundred kilobytes behind for each thread; `smaps_rollup` counts exactly.
    read("/proc/self/smaps_rollup", "Rss").or_else(|| read("/proc/self/status", "VmRSS"))
}

/// What a process took of the machine so far.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    /// How long its threads ran on cores.
    pub ran: Duration,
    /// Its resident set in bytes.
    pub resident_bytes: Option<u64>,
}

/// What another process took so far; `None` where the system does not tell. Threads that have ended do not count.
pub fn usage(process: u32) -> Option<ProcessUsage> {
    // Threads come and go meanwhile; one that has just come has not run.
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let ran: Duration = threads.filter_map(|thread| ran_of(&thread.path().join("schedstat"))).sum();
    let resident_bytes = read(&format!("/proc/{process}/smaps_rollup"), "Rss");
    (ran > Duration::ZERO).then_some(ProcessUsage { ran, resident_bytes })
}

/// How long this thread has run on a core so far; `None` where the system does not tell (it does on Linux).
pub fn thread_time() -> Option<Duration> {
    ran_of(Path::new("/proc/thread-self/schedstat"))
}

/// The number by which the system knows this thread; `None` where it does not tell.
pub fn thread_id() -> Option<u32> {
    let path = fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok()
}

/// How long a thread of this process has run on a core so far; `None` where the system does not tell.
pub fn time_of_thread(thread: u32) -> Option<Duration> {
    ran_of(Path::new(&format!("/proc/self/task/{thread}/schedstat")))
}

fn ran_of(path: &Path) -> Option<Duration> {
    let text = fs::read_to_string(path).ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    // A kernel built or started without this statistic writes three zeros.
    (text.trim() != "0 0 0").then(|| Duration::from_nanos(nanoseconds))
}

fn read(path: &str, name: &str) -> Option<u64> {
    kilobytes(&fs::read_to_string(path).ok()?, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_process_that_works_is_seen_to() {
        let Some(before) = usage(std::process::id()) else { return };
        assert!(before.resident_bytes > Some(0));
        // The system counts at its ticks only, some milliseconds apart: work until one has passed.
        let begun = Instant::now();
        while usage(std::process::id()).unwrap().ran <= before.ran {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "a minute of work was not counted: {before:?}"
            );
        }
    }

    #[test]
    fn memory_that_is_written_to_is_resident() {
        let Some(before) = resident_bytes() else { return };
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident_bytes().unwrap();
        assert!(after >= before + (32 << 20), "{before} {after} {}", block.len());
    }
}
