//! A plan as text.

use std::fmt;

use super::CapacityPlan;
use crate::fit::ExtrapolationZone;

/// A number with thin groups of three: `11 000 000`; below 100 with up to two digits behind the point.
pub(super) fn grouped(number: f64) -> String {
    if number.abs() < 100.0 {
        let text = format!("{number:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{number:.0}");
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 3] =
        [((1_u64 << 30) as f64, "GiB"), ((1_u64 << 20) as f64, "MiB"), (1024.0, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{} {unit}", grouped(bytes / size)),
        None => format!("{} bytes", grouped(bytes)),
    }
}

fn nodes(count: f64) -> String {
    format!("{} node{}", grouped(count), if count == 1.0 { "" } else { "s" })
}

fn zone(zone: ExtrapolationZone) -> &'static str {
    match zone {
        ExtrapolationZone::Measured => "within what was measured",
        ExtrapolationZone::Extrapolated => "extrapolated, up to twice what was measured",
        ExtrapolationZone::Grey => "far beyond twice what was measured: a guess of the law",
    }
}

pub(super) fn verdict(plan: &CapacityPlan) -> String {
    let rate = format!("{} requests/s", grouped(plan.peak_rate));
    if !plan.refused.is_empty() {
        let words: Vec<&str> = plan.refused.iter().map(|one| one.word()).collect();
        let but = plan.nodes.as_ref().map_or(String::new(), |planned| {
            format!(" The law would say {} for {rate}.", nodes(planned.planned))
        });
        return format!("No plan: the fit is refused ({}).{but}", words.join(", "));
    }
    let Some(planned) = &plan.nodes else { return not_met(plan, &rate) };
    let interval = match (planned.low, planned.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", grouped(low), grouped(high)),
        (Some(low), None) => format!(" (at least {}; above, the interval is open)", grouped(low)),
        (None, Some(high)) => format!(" (at most {})", grouped(high)),
        (None, None) => " (interval unknown)".to_owned(),
    };
    let spare = match plan.goal.may_fail {
        0 => String::new(),
        1 => ", of which one may fail".to_owned(),
        more => format!(", of which {more} may fail"),
    };
    let promise = match plan.promise.as_ref().map(|promise| (promise.asked_ms, promise.is_kept)) {
        Some((Some(asked), Some(true))) => format!(" p99 stays under {} ms.", grouped(asked)),
        Some((Some(asked), Some(false))) => format!(" But p99 does not stay under {} ms.", grouped(asked)),
        Some((Some(asked), None)) => format!(" Whether p99 stays under {} ms is not known.", grouped(asked)),
        Some((None, _)) | None => String::new(),
    };
    format!("{}{interval} carry {rate}{spare}: {}.{promise}", nodes(planned.planned), zone(planned.zone))
}

fn not_met(plan: &CapacityPlan, rate: &str) -> String {
    let mut text = format!("{rate} cannot be met with one cluster.");
    if let Some(furthest) = &plan.furthest {
        let users =
            furthest.users.map_or(String::new(), |users| format!(", {} users", grouped(users.floor())));
        let far = match furthest.nodes {
            Some(peak) => format!(
                " One goes to {} requests/s{users}, with {}: more nodes do less.",
                grouped(furthest.rate),
                nodes(peak)
            ),
            None => format!(
                " One stays below {} requests/s{users}, with any number of nodes.",
                grouped(furthest.rate)
            ),
        };
        text.push_str(&far);
    }
    if let Some(shards) = &plan.shards {
        text.push_str(&format!(
            " {} clusters of {} each would do, {} in all, with a part of the users each that never meets the others.",
            grouped(shards.clusters),
            nodes(shards.nodes_each),
            nodes(shards.nodes)
        ));
    }
    text
}

/// The verdict first, then what it follows from.
impl fmt::Display for CapacityPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.verdict)?;
        self.nodes_in_words(f)?;
        self.promise_in_words(f)?;
        self.resources_in_words(f)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

impl CapacityPlan {
    fn nodes_in_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "peak rate            {} requests/s", grouped(self.peak_rate))?;
        let Some(planned) = &self.nodes else { return Ok(()) };
        writeln!(
            f,
            "nodes                {}, for {}; measured up to {}, {}",
            grouped(planned.planned),
            planned.because_of,
            grouped(planned.measured_max),
            zone(planned.zone)
        )?;
        writeln!(f, "they can do          {} requests/s", grouped(planned.capacity))?;
        writeln!(f, "utilisation          {:.0} %", planned.utilisation * 100.0)?;
        if self.goal.may_fail > 0 {
            writeln!(
                f,
                "after a failure      {:.0} % of the other {}",
                planned.utilisation_after_failure * 100.0,
                nodes(planned.planned - f64::from(self.goal.may_fail))
            )?;
            if planned.sessions_lost >= 1.0 {
                writeln!(
                    f,
                    "                     {} users log in again, unless sessions are replicated",
                    grouped(planned.sessions_lost)
                )?;
            }
        }
        match &self.furthest {
            Some(super::ClusterLimit { nodes: Some(peak), rate, .. }) => {
                writeln!(f, "one cluster goes to  {} requests/s, with {}", grouped(*rate), nodes(*peak))
            }
            Some(super::ClusterLimit { nodes: None, rate, .. }) => {
                writeln!(f, "one cluster          stays below {} requests/s", grouped(*rate))
            }
            None => Ok(()),
        }
    }

    fn promise_in_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(promise) = &self.promise else { return Ok(()) };
        writeln!(
            f,
            "load of a node       {} requests/s, at the peak{}",
            grouped(promise.rate_per_node),
            if self.goal.may_fail > 0 { ", after a failure" } else { "" }
        )?;
        if let (Some(p99), Some(rate)) = (promise.measured_ms, promise.measured_at_rate) {
            writeln!(
                f,
                "p99                  {} ms, measured at {} requests/s of a node",
                grouped(p99),
                grouped(rate)
            )?;
        } else if self.goal.p99_ms.is_some() {
            writeln!(f, "p99                  not measured at this load of a node")?;
        }
        match promise.simulated_ms {
            Some(p99) => writeln!(
                f,
                "                     {} ms, simulated with service times of the lightest load",
                grouped(p99)
            ),
            None => Ok(()),
        }
    }

    fn resources_in_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cores) = &self.cores {
            write!(f, "cores                {}, {} a node", grouped(cores.total), grouped(cores.per_node))?;
            match (cores.busy_at_peak, cores.cpu_us_per_request) {
                (Some(busy), Some(cpu)) => {
                    writeln!(f, "; {} busy at the peak ({} us a request)", grouped(busy), grouped(cpu))?
                }
                _ => writeln!(f)?,
            }
        }
        if let Some(memory) = &self.memory {
            let base = if memory.base_bytes > 0.0 {
                format!("{} without any", bytes(memory.base_bytes))
            } else {
                "besides what a node takes without any, which is not known".to_owned()
            };
            writeln!(
                f,
                "memory               {}, {} a node: {} sessions of {} ({}), {base}",
                bytes(memory.total_bytes),
                bytes(memory.per_node_bytes),
                grouped(memory.sessions),
                bytes(memory.session_bytes),
                memory.session_bytes_are
            )?;
        }
        if let Some(cost) = &self.cost {
            let [low, high] = cost.month_interval.map(|end| end.map_or("?".to_owned(), grouped));
            writeln!(
                f,
                "costs                {} {} a month ({low} to {high}), {} a million requests",
                grouped(cost.month),
                cost.currency,
                grouped(cost.million_requests)
            )?;
        }
        for other in &self.alternatives {
            let but = if other.but.is_empty() { String::new() } else { format!("; {}", other.but) };
            writeln!(
                f,
                "or {:<18}{}, {} cores and {} GiB each: {} a month{but}",
                other.name,
                nodes(other.nodes),
                grouped(other.cores),
                grouped(other.memory_gib),
                grouped(other.month)
            )?;
        }
        if self.alternatives.is_empty() {
            Ok(())
        } else {
            writeln!(f, "note: a node of other size is taken to do as much more as it has cores: measure it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_short() {
        for (number, text) in [
            (0.0, "0"),
            (2.5, "2.5"),
            (61_111.1, "61 111"),
            (11e6, "11 000 000"),
            (120.0, "120"),
            (20.0, "20"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(
            (bytes(512.0), bytes(2048.0), bytes(1.5 * 1073741824.0)),
            ("512 bytes".into(), "2 KiB".into(), "1.5 GiB".into())
        );
    }
}
