//! What a point cost the target, and what was near its limit.

use crate::draw::{bytes, count, percent};
use crate::record::{MeasuredPoint, NodeUse, RunRecord};

/// A resource this full is what stops more.
const SATURATED: f64 = 0.9;
/// More periods held back than this share, and the quota is what stops more.
const THROTTLED: f64 = 0.1;
const MIB: f64 = 1_048_576.0;

/// What was used for requests with a right answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// Microseconds of processor time a request: the same number of core-seconds a million requests.
    pub(super) cpu_us: f64,
    /// Memory of all nodes at its peak.
    pub(super) memory_peak_bytes: f64,
    /// Memory held, times how long, for a million requests, in MiB and seconds.
    pub(super) memory_mib_s: f64,
    /// Bytes sent and received a million requests, in MiB; `None` where that was not seen.
    pub(super) network_mib: Option<f64>,
}

/// What a point cost; `None` where not every node that had load was seen, or nothing was answered.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
pub(super) fn cost(point: &MeasuredPoint) -> Option<Cost> {
    let used = used(point)?;
    let answered = point.answered() as f64;
    if answered <= 0.0 {
        return None;
    }
    let sum = |of: fn(&NodeUse) -> f64| used.iter().map(|used| of(used)).sum::<f64>();
    let memory = sum(|used| used.memory_bytes as f64);
    let more = |used: &NodeUse, name: &str| used.more.get(name).copied();
    let network: Option<f64> =
        used.iter().map(|used| Some(more(used, "net_out_bytes")? + more(used, "net_in_bytes")?)).sum();
    Some(Cost {
        cpu_us: sum(|used| used.cpu_s) / answered * 1e6,
        memory_peak_bytes: sum(|used| used.memory_peak_bytes.max(used.memory_bytes) as f64),
        memory_mib_s: memory / MIB * point.measured_s / answered * 1e6,
        network_mib: network.map(|bytes| bytes / MIB / answered * 1e6),
    })
}

fn used(point: &MeasuredPoint) -> Option<Vec<&NodeUse>> {
    let loaded =
        || point.by_node.iter().filter(|node| node.answered + node.failed > 0 || node.used.is_some());
    let used: Option<Vec<&NodeUse>> = loaded().map(|node| node.used.as_ref()).collect();
    used.filter(|used| !used.is_empty())
}

/// How full the processor of the busiest node was, from 0 to 1.
pub(super) fn busy(point: &MeasuredPoint) -> Option<f64> {
    let of = |used: &NodeUse| used.cpu_s / (used.cores * point.measured_s);
    used(point)?.into_iter().map(of).filter(|busy| busy.is_finite()).max_by(f64::total_cmp)
}

/// The greatest share of periods in which a quota held a node back.
#[expect(clippy::cast_precision_loss, reason = "periods are few")]
pub(super) fn throttled(point: &MeasuredPoint) -> Option<f64> {
    let of = |used: &NodeUse| used.throttled_periods as f64 / (used.periods.max(1) as f64);
    used(point)?.into_iter().map(of).max_by(f64::total_cmp)
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
fn memory(point: &MeasuredPoint) -> Option<f64> {
    let of = |used: &NodeUse| {
        let max = used.memory_max_bytes.filter(|max| *max > 0)?;
        Some(used.memory_peak_bytes.max(used.memory_bytes) as f64 / max as f64)
    };
    used(point)?.into_iter().filter_map(of).max_by(f64::total_cmp)
}

/// What saturates first, named only where the machine shows it.
pub(super) fn bottleneck(record: &RunRecord, point: &MeasuredPoint) -> String {
    let generator = point.generator.busy;
    let of_limit = of_limit(record, point);
    if generator >= SATURATED || of_limit.is_some_and(|share| share >= SATURATED) {
        return "Why: the generator itself was at its limit there, so the target may do more than this."
            .to_owned();
    }
    let Some(busy) = busy(point) else {
        return "Why: not known. What the target used of its machine could not be seen, so nothing is named."
            .to_owned();
    };
    let throttled = throttled(point).unwrap_or(0.0);
    if throttled >= THROTTLED {
        let (share, busy) = (percent(throttled), percent(busy));
        return format!(
            "Why: the quota of processor time saturates first. It held a node back in {share} of its periods, with {busy} of its \
             cores used; such stalls also stretch the percentiles."
        );
    }
    if busy >= SATURATED {
        return format!(
            "Why: the processor saturates first. The busiest node had {} of its cores in use.",
            percent(busy)
        );
    }
    if let Some(memory) = memory(point).filter(|memory| *memory >= SATURATED) {
        return format!("Why: memory is the first to fill: {} of its limit at the peak.", percent(memory));
    }
    format!(
        "Why: nothing that was watched was near its limit (the busiest node used {} of its cores, the generator {} of its own). \
         What holds the target back is not shown by the machine: the load may have been too small, or requests wait for a lock, a \
         pool or another service.",
        percent(busy),
        percent(generator)
    )
}

/// How much of what the generator can do a point asked of it.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
pub(super) fn of_limit(record: &RunRecord, point: &MeasuredPoint) -> Option<f64> {
    let limit = record.generator_limit.as_ref()?.requests_per_s;
    let sent = (point.answered() + point.failed()) as f64 / point.measured_s;
    Some(sent / limit).filter(|share| share.is_finite())
}

/// What it costs, in words.
pub(super) fn cost_in_words(point: &MeasuredPoint) -> String {
    let Some(cost) = cost(point) else {
        return "Cost: not known, since what the target used of its machine could not be seen.".to_owned();
    };
    let network = cost.network_mib.map(|mib| format!(" {} over the network,", bytes(mib * MIB)));
    format!(
        "Cost: {} us of processor time a request. A million requests take {} core-seconds,{} and {} of memory for a second \
         (together {} at the peak).",
        count(cost.cpu_us),
        count(cost.cpu_us),
        network.unwrap_or_default(),
        bytes(cost.memory_mib_s * MIB),
        bytes(cost.memory_peak_bytes)
    )
}

/// How near the generator was to its own limit, in words.
#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
pub(super) fn generator_in_words(record: &RunRecord, point: &MeasuredPoint) -> String {
    let late = crate::draw::time(point.generator.lateness.percentile_ns(99.0) as f64);
    let late = if point.generator.lateness.count() == 0 {
        "how late it sent is not known".to_owned()
    } else {
        format!("99 of 100 requests were sent no more than {late} late")
    };
    let busy = percent(point.generator.busy);
    match (&record.generator_limit, of_limit(record, point)) {
        (Some(limit), Some(share)) => format!(
            "The generator was at {} of its own limit ({} requests/s against a server that does nothing) and used {busy} of its \
             cores; {late}.",
            percent(share),
            count(limit.requests_per_s)
        ),
        _ => format!(
            "The generator used {busy} of its cores; {late}. Its own limit was not measured, so it is not known how close it was."
        ),
    }
}
