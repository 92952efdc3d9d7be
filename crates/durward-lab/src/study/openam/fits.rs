//! What is fitted to our points: as the paper did, and as it should be.

use super::super::{PointDigest, RunDigest, StudyDigest};
use super::paper;
use crate::fit::{self, FitOptions, FitReport, Lambda, Law, LoadUnit, Observation};
use crate::record::PointWarning;

/// One of our curves of users who pause, in the paper's units: users of each node, and users effectively served of each.
#[derive(Clone, Debug)]
pub(super) struct MeasuredCurve<'d> {
    /// Users of each node, users served of each node, and the point.
    pub(super) points: Vec<(f64, f64, &'d PointDigest)>,
    /// The paper's own method: transformed, C(1) = 1. `None` with fewer than three points.
    pub(super) as_paper: Option<Law>,
    /// The law in X by users, as it should not be done.
    pub(super) by_users: FitReport,
}

/// Fits that are shown without intervals need no resamples.
const RESAMPLES: usize = 500;

fn options(n_is: LoadUnit, lambda: Lambda) -> FitOptions {
    FitOptions { n_is, lambda, resamples: RESAMPLES, ..FitOptions::default() }
}

/// Whether a point counts. What a neighbour took is said and not left out here: on a machine that others use, nothing would be left.
pub(super) fn counts(point: &PointDigest) -> bool {
    let spoils = |mark: &PointWarning| match mark {
        PointWarning::CutShort(_) | PointWarning::Errors(_) => true,
        PointWarning::GeneratorLimit(_) | PointWarning::Neighbour(_) | PointWarning::NotSteady(_) => false,
    };
    !point.marks.iter().any(spoils)
}

/// The curve of a run and configuration, where at least one point was measured.
pub(super) fn curve<'d>(digest: &'d StudyDigest, ours: paper::OwnCurve) -> Option<MeasuredCurve<'d>> {
    curve_of(digest.run(ours.run)?, ours.configuration)
}

/// The curve of a configuration.
pub(super) fn curve_of<'d>(run: &'d RunDigest, configuration: &str) -> Option<MeasuredCurve<'d>> {
    let of: Vec<&PointDigest> =
        run.points.iter().filter(|point| point.configuration == configuration).collect();
    let first = of.first()?;
    // What one user does where nothing stands in line: X(1) of the paper, which ours is at the least load.
    let (users, _) = per_node(first, first.throughput());
    let each = first.throughput() / (users * nodes(first));
    if each.is_nan() || each <= 0.0 {
        return None;
    }
    let points: Vec<(f64, f64, &PointDigest)> = of
        .iter()
        .map(|point| {
            let (users, served) = per_node(point, point.throughput() / each);
            (users, served, *point)
        })
        .collect();
    let counted = points.iter().filter(|(_, _, point)| counts(point));
    let mut observations: Vec<Observation> =
        counted.map(|(users, served, _)| Observation::new(*users, *served)).collect();
    observations.push(Observation::new(1.0, 1.0));
    let by_users = fit::of(&observations, &options(LoadUnit::Users, Lambda::Free));
    let as_paper =
        by_users.fits.usl_transformed.as_ref().map(|fit| fit.law).filter(|_| observations.len() > 3);
    Some(MeasuredCurve { points, as_paper, by_users })
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 nodes")]
fn nodes(point: &PointDigest) -> f64 {
    point.nodes.max(1) as f64
}

/// Users and something else of each node.
fn per_node(point: &PointDigest, value: f64) -> (f64, f64) {
    (point.load_number() / nodes(point), value / nodes(point))
}

impl MeasuredCurve<'_> {
    /// Users served of each node at this load of each; `None` where it was not measured.
    pub(super) fn served_at(&self, users: f64) -> Option<f64> {
        self.points.iter().find(|(at, ..)| *at == users).map(|(_, served, _)| *served)
    }

    /// The greatest number of users served, and the load at which.
    pub(super) fn best(&self) -> Option<(f64, f64)> {
        let counted = self.points.iter().filter(|(_, _, point)| counts(point));
        counted.map(|(users, served, _)| (*users, *served)).max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// The greatest load up to which all are served but one in twenty.
    pub(super) fn linear_to(&self) -> Option<f64> {
        let served = self.points.iter().take_while(|(users, served, _)| *served >= 0.95 * users);
        served.last().map(|(users, ..)| *users)
    }
}

/// The law by requests under way, of users who do not pause.
pub(super) fn by_concurrency(digest: &StudyDigest) -> Option<FitReport> {
    let run = digest.run("concurrency")?;
    let of = |point: &PointDigest| Observation::new(point.concurrency, point.throughput());
    let observations: Vec<Observation> = run.points.iter().filter(|point| counts(point)).map(of).collect();
    Some(fit::of(&observations, &options(LoadUnit::Concurrency, Lambda::Free)))
}

/// The points of the law of nodes: prefix of the runs' names, and the balance. One node needs none.
pub(super) fn of_nodes<'d>(digest: &'d StudyDigest, prefix: &str, balance: &str) -> Vec<&'d PointDigest> {
    let is_one_of = |run: &&RunDigest| {
        let number = run.name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    };
    let runs = digest.runs.iter().filter(is_one_of);
    let points = runs.flat_map(|run| &run.points);
    points.filter(|point| point.nodes == 1 || point.configuration == balance).collect()
}

/// The law by nodes.
pub(super) fn by_nodes(points: &[&PointDigest]) -> Option<FitReport> {
    let counted = points.iter().filter(|point| counts(point));
    let observations: Vec<Observation> = counted.map(|point| point.observation(nodes(point))).collect();
    (!observations.is_empty()).then(|| fit::of(&observations, &options(LoadUnit::Nodes, Lambda::Free)))
}

/// Nodes that use less of their slices are not what limits.
const BUSY_MIN: f64 = 0.85;

/// Why the law of these points is that of the machine and not of the nodes: they did not get their slices.
pub(super) fn limited_by_machine(points: &[&PointDigest]) -> Option<String> {
    let most = points.iter().max_by_key(|point| point.nodes)?;
    let busy = most.busy().filter(|busy| *busy < BUSY_MIN)?;
    let machine = most.machine.get("busy_share").copied().unwrap_or(0.0);
    Some(format!(
        "at {} nodes they used {} of their slices while the machine was {} busy: the fit describes this machine or the stores, \
         not durward",
        most.nodes,
        crate::draw::percent(busy),
        crate::draw::percent(machine)
    ))
}

/// The fit of the generator's own users.
pub(super) fn of_generator(digest: &StudyDigest) -> Option<(MeasuredCurve<'_>, &RunDigest)> {
    let run = digest.run("dummy-users")?;
    Some((curve_of(run, "")?, run))
}
