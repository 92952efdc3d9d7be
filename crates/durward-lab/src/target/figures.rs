//! What a node used: readings of its group and processes, and the difference of two.

use std::collections::BTreeMap;
use std::time::Instant;

use super::cgroup::{CgroupVersion, Controller};
use super::processes::{self, NodeProcess, ProcessSums};
use super::text;
use crate::record::{NodeUse, UsedSample};

/// What is read for every sample: counters, cheap.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterReader {
    pub(super) at: Instant,
    pub(super) cpu_s: f64,
    pub(super) memory_bytes: u64,
    pub(super) periods: u64,
    pub(super) throttled_periods: u64,
    pub(super) throttled_s: f64,
}

/// What is read at the borders only.
#[derive(Clone, Debug, Default)]
pub(super) struct BorderReader {
    pub(super) sums: ProcessSums,
    /// Counters by the name that they have in records.
    pub(super) counters: BTreeMap<&'static str, f64>,
}

/// Where a node's processor time is counted.
fn source(member: &NodeProcess) -> &'static str {
    if member.group.version(Controller::Cpuacct) == Ok(CgroupVersion::One) {
        "cgroup v1"
    } else if member.group.unified("cpu.stat").is_some() {
        "cgroup v2"
    } else {
        "/proc"
    }
}

#[expect(clippy::cast_precision_loss, reason = "counters below 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Reads what samples need.
pub(super) fn quick(member: &NodeProcess) -> CounterReader {
    let group = &member.group;
    let at = Instant::now();
    let unified = group.unified("cpu.stat").unwrap_or_default();
    let throttling = match group.version(Controller::Cpu) {
        Ok(CgroupVersion::One) => group.read(Controller::Cpu, "cpu.stat").unwrap_or_default(),
        Ok(CgroupVersion::Two) | Err(_) => unified.clone(),
    };
    let v1_ns = group.number(Controller::Cpuacct, "cpuacct.usage");
    let cpu_s = v1_ns.map(|ns| float(ns) / 1e9);
    let cpu_s = cpu_s.or_else(|| text::flat(&unified, "usage_usec").map(|us| float(us) / 1e6));
    let memory = memory_now(member);
    let (cpu_s, memory_bytes) = match (cpu_s, memory) {
        (Some(cpu_s), Some(memory)) => (cpu_s, memory),
        (cpu_s, memory) => {
            let (of_processes, resident) = processes::cpu_and_resident(&member.pids());
            (cpu_s.unwrap_or(of_processes), memory.unwrap_or(resident))
        }
    };
    let throttled_s = text::flat(&throttling, "throttled_usec").map(|us| float(us) / 1e6);
    let throttled_s =
        throttled_s.or_else(|| text::flat(&throttling, "throttled_time").map(|ns| float(ns) / 1e9));
    CounterReader {
        at,
        cpu_s,
        memory_bytes,
        periods: text::flat(&throttling, "nr_periods").unwrap_or(0),
        throttled_periods: text::flat(&throttling, "nr_throttled").unwrap_or(0),
        throttled_s: throttled_s.unwrap_or(0.0),
    }
}

fn memory_now(member: &NodeProcess) -> Option<u64> {
    let number = |file| member.group.number(Controller::Memory, file);
    number("memory.current").or_else(|| number("memory.usage_in_bytes"))
}

/// The most memory there was: since the node started in version 2, since [`reset_peak`] in version 1.
fn memory_peak(member: &NodeProcess) -> Option<u64> {
    let number = |file| member.group.number(Controller::Memory, file);
    number("memory.peak").or_else(|| number("memory.max_usage_in_bytes"))
}

/// Lets the peak of memory begin anew, where the kernel can do that for all readers (version 1).
pub(super) fn reset_peak(member: &NodeProcess) {
    if member.group.version(Controller::Memory) == Ok(CgroupVersion::One) {
        // Where it cannot be written the peak is that since the start.
        let _ = member.group.set(Controller::Memory, "memory.max_usage_in_bytes", "0");
    }
}

/// Reads everything else.
pub(super) fn full(member: &NodeProcess) -> BorderReader {
    let group = &member.group;
    let sums = processes::sums(&member.pids());
    let mut counters = BTreeMap::new();
    for (file, some_name, full_name) in [
        ("cpu.pressure", "pressure_cpu_some_us", "pressure_cpu_full_us"),
        ("memory.pressure", "pressure_memory_some_us", "pressure_memory_full_us"),
        ("io.pressure", "pressure_io_some_us", "pressure_io_full_us"),
    ] {
        if let Some((some, all)) = group.unified(file).and_then(|text| text::pressure(&text)) {
            counters.insert(some_name, float(some));
            counters.insert(full_name, float(all));
        }
    }
    let io = match group.version(Controller::Io) {
        Ok(CgroupVersion::One) => group
            .read(Controller::Io, "blkio.throttle.io_service_bytes_recursive")
            .or_else(|| group.read(Controller::Io, "blkio.throttle.io_service_bytes"))
            .map(|text| text::io_v1(&text)),
        Ok(CgroupVersion::Two) => group.read(Controller::Io, "io.stat").map(|text| text::io_v2(&text)),
        Err(_) => None,
    };
    let (read, written) = io.unwrap_or((sums.read_bytes, sums.written_bytes));
    let counted = [
        ("io_read_bytes", float(read)),
        ("io_written_bytes", float(written)),
        ("context_switches", float(sums.context_switches + sums.context_switches_forced)),
        ("context_switches_forced", float(sums.context_switches_forced)),
        ("major_faults", float(sums.major_faults)),
        ("run_queue_wait_s", sums.wait_s),
    ];
    counters.extend(counted);
    let events = group.read(Controller::Memory, "memory.events");
    let events = events.or_else(|| group.read(Controller::Memory, "memory.oom_control"));
    if let Some(kills) = events.and_then(|text| text::flat(&text, "oom_kill")) {
        counters.insert("oom_kills", float(kills));
    }
    if let Some((received, sent)) = own_network(member) {
        counters.insert("net_in_bytes", float(received));
        counters.insert("net_out_bytes", float(sent));
    }
    BorderReader { sums, counters }
}

/// Bytes through the interfaces of a node that has a network of its own, as containers have. One that shares the machine's
/// cannot be told from others.
fn own_network(member: &NodeProcess) -> Option<(u64, u64)> {
    let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let pid = member.pid.to_string();
    if space(&pid)? == space("self")? {
        return None;
    }
    let interfaces = text::interfaces(&std::fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?);
    let outside = interfaces.iter().filter(|(name, _)| name.as_str() != "lo").map(|(_, bytes)| bytes);
    Some(outside.fold((0, 0), |(received, sent), bytes| (received + bytes.0, sent + bytes.1)))
}

/// What was used between two readings. Counters that went backwards, since a process ended that was in them, count as nothing.
pub(super) fn used(
    member: &NodeProcess,
    begin: (&CounterReader, &BorderReader),
    end: (&CounterReader, &BorderReader),
    samples: Vec<UsedSample>,
) -> NodeUse {
    let (before, after) = (begin.0, end.0);
    let mut more = BTreeMap::new();
    for (name, value) in &end.1.counters {
        let earlier = begin.1.counters.get(name).copied().unwrap_or(0.0);
        more.insert((*name).to_owned(), (value - earlier).max(0.0));
    }
    let sums = &end.1.sums;
    for (name, value) in [
        ("resident_bytes", sums.resident_bytes),
        ("proportional_bytes", sums.proportional_bytes),
        ("threads", sums.threads),
        ("processes", sums.processes),
        ("sockets", sums.sockets),
        ("open_files", sums.files),
    ] {
        more.insert(name.to_owned(), float(value));
    }
    let sampled = samples.iter().map(|sample| sample.memory_bytes).max().unwrap_or(0);
    let sampled = sampled.max(before.memory_bytes).max(after.memory_bytes);
    NodeUse {
        source: source(member).to_owned(),
        cpu_s: (after.cpu_s - before.cpu_s).max(0.0),
        cores: member.cores,
        throttled_s: (after.throttled_s - before.throttled_s).max(0.0),
        throttled_periods: after.throttled_periods.saturating_sub(before.throttled_periods),
        periods: after.periods.saturating_sub(before.periods),
        memory_bytes: after.memory_bytes,
        memory_peak_bytes: memory_peak(member).unwrap_or(sampled),
        memory_max_bytes: member.memory_max_bytes,
        more,
        samples,
    }
}

/// One sample of the time between two readings.
pub(super) fn sample(begun: Instant, before: &CounterReader, after: &CounterReader) -> UsedSample {
    let passed = after.at.saturating_duration_since(before.at).as_secs_f64();
    let periods = after.periods.saturating_sub(before.periods);
    let throttled = after.throttled_periods.saturating_sub(before.throttled_periods);
    UsedSample {
        at_s: after.at.saturating_duration_since(begun).as_secs_f64(),
        cpus: if passed > 0.0 { ((after.cpu_s - before.cpu_s) / passed).max(0.0) } else { 0.0 },
        memory_bytes: after.memory_bytes,
        throttled: if periods > 0 { float(throttled) / float(periods) } else { 0.0 },
    }
}
