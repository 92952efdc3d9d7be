//! Stops processes with all that they started.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::launch::TargetProcess;

/// After SIGKILL there is nothing to wait for but the kernel.
const KILL_WITHIN: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Asks them all to end (SIGTERM), kills what still runs after so long, and removes their control groups.
pub(super) fn stop(processes: &[&TargetProcess], within: Duration) {
    for (signal, within) in [(Signal::TERM, within), (Signal::KILL, KILL_WITHIN)] {
        let left: Vec<&&TargetProcess> =
            processes.iter().filter(|process| !process.left().is_empty()).collect();
        if left.is_empty() {
            break;
        }
        left.iter().for_each(|process| process.signal(signal));
        wait(&left, signal, within);
    }
    processes.iter().for_each(|process| process.remove_group());
}

fn wait(left: &[&&TargetProcess], signal: Signal, within: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < within {
        let running: Vec<&&&TargetProcess> =
            left.iter().filter(|process| !process.left().is_empty()).collect();
        if running.is_empty() {
            return;
        }
        if signal == Signal::KILL {
            // A process may have been started between being listed and being killed.
            running.iter().for_each(|process| process.signal(signal));
        }
        thread::sleep(PAUSE);
    }
}
