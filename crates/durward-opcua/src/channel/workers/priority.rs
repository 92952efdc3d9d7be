//! Scheduling priority of worker threads. Linux only: elsewhere a priority would apply to the whole process.

use std::time::Duration;

/// By how much threads give way, as `nice` counts.
#[cfg(target_os = "linux")]
pub(super) const NICE: i32 = 5;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerPriority {
    /// Any other thread interrupts it.
    OnlyWhenIdle,
    /// Has a smaller share of the cores.
    GivesWay,
}

#[cfg(target_os = "linux")]
impl WorkerPriority {
    pub(super) fn is_there(self) -> bool {
        true
    }

    /// Of the thread that calls it. Refused, the thread goes on as it is.
    pub(super) fn take(self) {
        use thread_priority::{
            NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
            thread_native_id,
        };
        match self {
            WorkerPriority::OnlyWhenIdle => {
                let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
                let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
            }
            WorkerPriority::GivesWay => {
                let _ = rustix::process::setpriority_process(None, NICE);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl WorkerPriority {
    pub(super) fn is_there(self) -> bool {
        self == WorkerPriority::GivesWay
    }

    pub(super) fn take(self) {}
}

/// The time that this thread had of a core.
pub(super) fn cpu_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}
