//! What so many nodes can do, by the law that was fitted, with its interval.

use crate::fit::{CurvePoint, ExtrapolationZone, FitReport, Law, LoadUnit};
use crate::record::RunRecord;

/// Which end of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntervalEnd {
    Low,
    Middle,
    High,
}

/// What nodes can do.
#[derive(Clone, Debug)]
pub(super) struct NodeCapacity<'r> {
    law: Law,
    curve: &'r [CurvePoint],
    /// The greatest number of nodes that was measured.
    pub(super) measured_max: f64,
    /// Where the law is not by nodes: what one node does, [`IntervalEnd::Low`] to [`IntervalEnd::High`], and any number is taken to do as many times.
    per_node: Option<[Option<f64>; 3]>,
}

impl<'r> NodeCapacity<'r> {
    /// `None` where nothing was fitted.
    pub(super) fn of(report: &'r FitReport, record: Option<&RunRecord>) -> Option<NodeCapacity<'r>> {
        let law = report.fits.usl.as_ref()?.law;
        let greatest = report.points.iter().map(|point| point.n).fold(0.0, f64::max);
        let capacity = NodeCapacity { law, curve: &report.curve, measured_max: greatest, per_node: None };
        if matches!(report.n_is, LoadUnit::Nodes | LoadUnit::Unknown) {
            return Some(capacity);
        }
        let nodes = record
            .map_or(1, |record| record.points.iter().map(|point| point.nodes).max().unwrap_or(1))
            .max(1);
        let best = law.n_star().map_or(greatest, |peak| peak.min(greatest));
        let each = [IntervalEnd::Low, IntervalEnd::Middle, IntervalEnd::High]
            .map(|end| Some(capacity.on_curve(best, end)? / nodes as f64));
        Some(NodeCapacity { measured_max: nodes as f64, per_node: Some(each), ..capacity })
    }

    /// Whether scaling over nodes is taken to be linear, since it was not measured.
    pub(super) fn is_assumed(&self) -> bool {
        self.per_node.is_some()
    }

    /// Requests a second of so many nodes; `None` where that end of the interval is not known so far out.
    pub(super) fn x(&self, nodes: f64, end: IntervalEnd) -> Option<f64> {
        match &self.per_node {
            None => self.on_curve(nodes, end),
            Some([low, middle, high]) => {
                let each = match end {
                    IntervalEnd::Low => low,
                    IntervalEnd::Middle => middle,
                    IntervalEnd::High => high,
                };
                each.map(|each| each * nodes)
            }
        }
    }

    fn on_curve(&self, n: f64, end: IntervalEnd) -> Option<f64> {
        let of = |point: &CurvePoint| match end {
            IntervalEnd::Low => point.low,
            IntervalEnd::Middle => Some(point.x),
            IntervalEnd::High => point.high,
        };
        if end == IntervalEnd::Middle {
            return Some(self.law.x(n));
        }
        let after = self.curve.iter().position(|point| point.n >= n)?;
        let next = self.curve.get(after)?;
        let Some(before) = after.checked_sub(1).and_then(|at| self.curve.get(at)) else {
            // Before the first point of the curve: in proportion, as the law itself has it there.
            return of(next).map(|x| x * self.law.x(n) / self.law.x(next.n));
        };
        let share = (n - before.n) / (next.n - before.n);
        Some(of(before)? + share * (of(next)? - of(before)?))
    }

    /// The number of nodes that does most: the peak; `None` where more always do more.
    pub(super) fn peak(&self) -> Option<f64> {
        if self.per_node.is_some() { None } else { self.law.n_star().map(|peak| peak.max(1.0)) }
    }

    /// What any number of nodes stays below, where that is.
    pub(super) fn ceiling(&self) -> Option<f64> {
        if self.per_node.is_some() { None } else { self.law.x_star().or_else(|| self.law.asymptote()) }
    }

    /// The least number of nodes that does so much; `None` where none is known to.
    pub(super) fn nodes_for(&self, rate: f64, end: IntervalEnd) -> Option<f64> {
        let most = match (end, self.peak()) {
            (IntervalEnd::Middle, peak) => peak.map_or(super::NODES_MAX, f64::floor),
            // The interval is known where its curve is drawn, and its ends need not peak where the law does.
            (IntervalEnd::Low | IntervalEnd::High, _) if self.per_node.is_none() => {
                let enough = self.curve.iter().find(|point| match end {
                    IntervalEnd::Low => point.low.is_some_and(|x| x >= rate),
                    IntervalEnd::Middle | IntervalEnd::High => point.high.is_some_and(|x| x >= rate),
                })?;
                enough.n.ceil()
            }
            (IntervalEnd::Low | IntervalEnd::High, _) => super::NODES_MAX,
        };
        let does = |nodes: f64| self.x(nodes, end).is_some_and(|x| x >= rate);
        let (mut low, mut high) = (0.0, most.max(1.0));
        if !does(high) {
            high -= 1.0;
            if !does(high) {
                return None;
            }
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if does(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// How far from what was measured so many nodes are.
    pub(super) fn zone(&self, nodes: f64) -> ExtrapolationZone {
        match nodes / self.measured_max {
            times if times <= 1.0 => ExtrapolationZone::Measured,
            times if times <= 2.0 => ExtrapolationZone::Extrapolated,
            _ => ExtrapolationZone::Grey,
        }
    }
}
