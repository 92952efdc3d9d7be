//! What was measured: as tables in Markdown, and as JSON.

use super::load::Measured;
use crate::peers::table::{Quartiles, thousands};
use serde_json::{Value, json};

/// A gateway, with its check and without, in each round.
pub(super) struct GatewayRow {
    name: &'static str,
    pub(super) rounds: Vec<(Measured, Measured)>,
}

impl GatewayRow {
    pub(super) fn new(name: &'static str) -> GatewayRow {
        GatewayRow { name, rounds: Vec::new() }
    }

    fn over(&self, of: impl Fn(&Measured, &Measured) -> f64) -> Quartiles {
        Quartiles::of(self.rounds.iter().map(|(with, without)| of(with, without)))
    }
}

/// Calls at durward and at the bare server, for each second of the server's processor time, in each round.
#[derive(Default)]
pub(super) struct CallsRow {
    pub(super) rounds: Vec<(f64, f64)>,
}

#[derive(Default)]
pub(super) struct Results {
    pub(super) gateways: Vec<GatewayRow>,
    pub(super) calls: Option<CallsRow>,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        if !self.gateways.is_empty() {
            text.push_str(
                "| gateway | p50 without, ms | added | p99 without, ms | added | requests/s a core without | with | ratio, middle half |\n\
                 |---|---:|---:|---:|---:|---:|---:|---|\n",
            );
        }
        for row in &self.gateways {
            let median = |of: fn(&Measured) -> f64| row.over(|_, without| of(without)).median;
            let added = |of: fn(&Measured) -> f64| row.over(|with, without| of(with) - of(without)).median;
            let ratio = row.over(|with, without| with.per_core / without.per_core);
            text.push_str(&format!(
                "| {} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {} | {:.2}, {:.2} to {:.2} |\n",
                row.name,
                median(|one| one.p50_ms),
                added(|one| one.p50_ms),
                median(|one| one.p99_ms),
                added(|one| one.p99_ms),
                thousands(median(|one| one.per_core)),
                thousands(row.over(|with, _| with.per_core).median),
                ratio.median,
                ratio.first,
                ratio.third
            ));
        }
        if let Some(calls) = &self.calls {
            let of = |number: fn(&(f64, f64)) -> f64| Quartiles::of(calls.rounds.iter().map(number));
            let ratio = of(|(ours, bare)| ours / bare);
            text.push_str(&format!(
                "\n| calls on one connection | checks/s a core | a bare server | ratio, middle half |\n|---|---:|---:|---|\n\
                 | Envoy's check over gRPC | {} | {} | {:.2}, {:.2} to {:.2} |\n",
                thousands(of(|(ours, _)| *ours).median),
                thousands(of(|(_, bare)| *bare).median),
                ratio.median,
                ratio.first,
                ratio.third
            ));
        }
        text
    }

    pub(super) fn json(&self, rounds: usize, seconds: u32) -> Value {
        let of = |measured: &Measured| {
            let Measured { p50_ms, p99_ms, per_core } = measured;
            json!({ "p50_ms": p50_ms, "p99_ms": p99_ms, "per_core": per_core })
        };
        let gateway = |row: &GatewayRow| {
            let all =
                row.rounds.iter().map(|(with, without)| json!({ "with": of(with), "without": of(without) }));
            json!({ "gateway": row.name, "rounds": all.collect::<Vec<_>>() })
        };
        let gateways: Vec<Value> = self.gateways.iter().map(gateway).collect();
        let call = |(ours, bare): &(f64, f64)| json!({ "per_core": ours, "bare_per_core": bare });
        let calls = self.calls.as_ref().map(|row| row.rounds.iter().map(call).collect::<Vec<_>>());
        json!({ "rounds": rounds, "seconds": seconds, "gateways": gateways, "calls": calls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_check_adds_is_the_median_of_differences_within_rounds() {
        let measured = |p50_ms: f64, per_core: f64| Measured { p50_ms, p99_ms: 3.0 * p50_ms, per_core };
        // The second round was disturbed, for both alike.
        let mut row = GatewayRow::new("nginx");
        row.rounds = vec![
            (measured(0.5, 5_000.0), measured(0.2, 20_000.0)),
            (measured(5.5, 1_000.0), measured(5.0, 4_000.0)),
            (measured(0.5, 5_000.0), measured(0.25, 10_000.0)),
        ];
        let calls =
            CallsRow { rounds: vec![(50_000.0, 100_000.0), (5_000.0, 20_000.0), (40_000.0, 100_000.0)] };
        let results = Results { gateways: vec![row], calls: Some(calls) };
        let table = results.table();
        let expected = "| nginx | 0.250 | 0.300 | 0.750 | 0.900 | 10,000 | 5,000 | 0.25, 0.25 to 0.38 |\n";
        assert!(table.contains(expected), "{table}");
        assert!(table.contains("| 40,000 | 100,000 | 0.40, 0.33 to 0.45 |\n"), "{table}");
        let json = results.json(3, 1);
        assert_eq!(
            (&json["gateways"][0]["gateway"], &json["calls"][1]["bare_per_core"]),
            (&json!("nginx"), &json!(20_000.0))
        );
    }
}
