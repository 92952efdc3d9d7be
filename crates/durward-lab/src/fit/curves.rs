//! From a record to curves: what N is, which points count, and how much.

use serde::{Deserialize, Serialize};

use super::{LoadUnit, Observation, OmittedPoint};
use crate::record::{MeasuredPoint, PointLoad, PointWarning, RunRecord, nodes_in_words};

/// The points of a record that lie on one curve: of one configuration, and by users or by concurrency of one number of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordCurve {
    /// The configuration, with the number of nodes where the record has several; empty where there is one curve.
    pub name: String,
    /// What N is.
    pub n_is: LoadUnit,
    /// What is fitted, weighted by the spread of replicates.
    pub observations: Vec<Observation>,
    /// What is not.
    pub left_out: Vec<OmittedPoint>,
    /// Residence times and Little's law, load by load.
    pub residence: Vec<Residence>,
}

/// How long requests stay at one load, and whether Little's law holds there: throughput times residence time is how many are
/// under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residence {
    /// The curve's N.
    pub n: f64,
    /// Users, or arrivals a second where [`Residence::is_open`].
    pub load: f64,
    /// Whether the load were arrivals.
    pub is_open: bool,
    /// Nodes that had load.
    pub nodes: usize,
    /// Right answers a second (X).
    pub throughput: f64,
    /// Mean time from sending to the right answer (R), in seconds.
    pub mean_s: f64,
    /// X times R: requests under way on average.
    pub under_way: f64,
    /// X times R as a part of the users: near 1 of users who never pause; less of users who pace themselves. `None` of
    /// arrivals.
    pub little: Option<f64>,
    /// Percentiles by step, since each request was due.
    pub steps: Vec<StepResidence>,
}

/// Residence times of one step, in seconds since requests were due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepResidence {
    /// The step's name.
    pub name: String,
    /// Half of the right answers took no longer.
    pub p50_s: f64,
    /// Of 100 right answers, 90 took no longer.
    pub p90_s: f64,
    /// Of 100 right answers, 99 took no longer.
    pub p99_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// What the record's N is, where the caller does not say: nodes where their number varies; requests under way where users
/// pace themselves or the load are arrivals; users else.
pub fn by(record: &RunRecord) -> LoadUnit {
    let fitted = || record.points.iter().filter(|point| point.is_fitted());
    let mut nodes: Vec<usize> = fitted().map(|point| point.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() >= 3 {
        return LoadUnit::Nodes;
    }
    if fitted().any(is_paced) { LoadUnit::Concurrency } else { LoadUnit::Users }
}

/// Fewer under way than this part of the users: they pause between requests.
const PACED_BELOW: f64 = 0.8;

/// Whether users pause, or come by a schedule.
fn is_paced(point: &MeasuredPoint) -> bool {
    little(point).is_none_or(|part| part < PACED_BELOW)
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users")]
fn little(point: &MeasuredPoint) -> Option<f64> {
    match point.load {
        PointLoad::Users(users) => Some(point.concurrency() / (users.max(1) as f64)),
        PointLoad::Arrivals(_) => None,
    }
}

/// All points of a record as one curve, for records of one configuration: what [`super::of`] takes. Those with a mark that leaves
/// them out are not among them; replicates are weighted by their spread.
pub fn observations(record: &RunRecord, by: LoadUnit) -> Vec<Observation> {
    let mut observations: Vec<Observation> =
        record.points.iter().filter(|point| point.is_fitted()).map(|point| observation(point, by)).collect();
    super::weights::by_spread(&mut observations);
    observations
}

fn observation(point: &MeasuredPoint, by: LoadUnit) -> Observation {
    Observation::new(n_of(point, by), point.throughput())
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users or nodes")]
fn n_of(point: &MeasuredPoint, by: LoadUnit) -> f64 {
    match (by, point.load) {
        (LoadUnit::Nodes, _) => point.nodes as f64,
        (LoadUnit::Concurrency, _) => point.concurrency(),
        (LoadUnit::Users | LoadUnit::Unknown, PointLoad::Users(users)) => users as f64,
        (LoadUnit::Users | LoadUnit::Unknown, PointLoad::Arrivals(rate)) => rate,
    }
}

/// The curves of a record: one for each configuration; by users or concurrency one for each number of nodes as well. By nodes,
/// the points of each number are those of the load with the greatest throughput: what so many nodes can do.
pub fn curves(record: &RunRecord, by: LoadUnit) -> Vec<RecordCurve> {
    let mut groups: Vec<(String, Option<usize>, Vec<&MeasuredPoint>)> = Vec::new();
    for point in &record.points {
        let nodes = (by != LoadUnit::Nodes).then_some(point.nodes);
        match groups.iter_mut().find(|(name, of, _)| *name == point.configuration && *of == nodes) {
            Some((_, _, points)) => points.push(point),
            None => groups.push((point.configuration.clone(), nodes, vec![point])),
        }
    }
    let alone = groups.len() == 1;
    let has_sizes = |name: &str| groups.iter().filter(|(other, ..)| other == name).count() > 1;
    let named: Vec<(String, &Vec<&MeasuredPoint>)> = groups
        .iter()
        .map(|(name, nodes, points)| {
            let size = nodes.filter(|_| has_sizes(name)).map(nodes_in_words);
            let name = if alone { String::new() } else { name.clone() };
            let parts: Vec<String> =
                [name, size.unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
            (parts.join(", "), points)
        })
        .collect();
    named.into_iter().map(|(name, points)| curve(name, points, by)).collect()
}

fn curve(name: String, points: &[&MeasuredPoint], by: LoadUnit) -> RecordCurve {
    let chosen: Vec<&MeasuredPoint> = match by {
        LoadUnit::Nodes => saturated(points),
        LoadUnit::Users | LoadUnit::Concurrency | LoadUnit::Unknown => points.to_vec(),
    };
    let (fitted, marked): (Vec<&MeasuredPoint>, Vec<&MeasuredPoint>) =
        chosen.iter().partition(|point| point.is_fitted());
    let mut observations: Vec<Observation> = fitted.iter().map(|point| observation(point, by)).collect();
    match by {
        // Concurrency is measured, so that replicates have no N in common: those of the same load are one group.
        LoadUnit::Concurrency => super::weights::by_spread_of_groups(&mut observations, &loads(&fitted)),
        LoadUnit::Users | LoadUnit::Nodes | LoadUnit::Unknown => super::weights::by_spread(&mut observations),
    }
    let mut residence: Vec<Residence> = chosen.iter().map(|point| residence_of(point, by)).collect();
    residence.sort_by(|one, other| one.n.total_cmp(&other.n));
    RecordCurve {
        name,
        n_is: by,
        observations,
        left_out: marked.iter().map(|point| left_out(point, by)).collect(),
        residence,
    }
}

/// Points of the same load have the same number.
fn loads(points: &[&MeasuredPoint]) -> Vec<usize> {
    let mut seen: Vec<PointLoad> = Vec::new();
    points
        .iter()
        .map(|point| {
            seen.iter().position(|load| *load == point.load).unwrap_or_else(|| {
                seen.push(point.load);
                seen.len() - 1
            })
        })
        .collect()
}

/// Of each number of nodes, the points of the load under which it did most, by the mean of those that count.
fn saturated<'p>(points: &[&'p MeasuredPoint]) -> Vec<&'p MeasuredPoint> {
    let mut nodes: Vec<usize> = points.iter().map(|point| point.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().flat_map(|nodes| most_of(points, nodes)).collect()
}

fn most_of<'p>(points: &[&'p MeasuredPoint], nodes: usize) -> Vec<&'p MeasuredPoint> {
    let of_nodes: Vec<&MeasuredPoint> = points.iter().copied().filter(|point| point.nodes == nodes).collect();
    let mean = |load: PointLoad| {
        let rates: Vec<f64> = of_nodes
            .iter()
            .filter(|point| point.load == load && point.is_fitted())
            .map(|point| point.throughput())
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "few points")]
        let count = rates.len() as f64;
        if rates.is_empty() { -1.0 } else { rates.iter().sum::<f64>() / count }
    };
    let best =
        of_nodes.iter().map(|point| point.load).max_by(|one, other| mean(*one).total_cmp(&mean(*other)));
    of_nodes.into_iter().filter(|point| Some(point.load) == best).collect()
}

fn left_out(point: &MeasuredPoint, by: LoadUnit) -> OmittedPoint {
    let marks: Vec<String> =
        point.marks.iter().filter(|mark| mark.is_left_out()).map(ToString::to_string).collect();
    OmittedPoint {
        n: n_of(point, by),
        x: point.throughput(),
        because: marks.join("; "),
        generator: point.marks.iter().any(|mark| matches!(mark, PointWarning::GeneratorLimit(_))),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users")]
fn residence_of(point: &MeasuredPoint, by: LoadUnit) -> Residence {
    let (load, is_open) = match point.load {
        PointLoad::Users(users) => (users as f64, false),
        PointLoad::Arrivals(rate) => (rate, true),
    };
    let (throughput, under_way) = (point.throughput(), point.concurrency());
    Residence {
        n: n_of(point, by),
        load,
        is_open,
        nodes: point.nodes,
        throughput,
        mean_s: if throughput > 0.0 { under_way / throughput } else { 0.0 },
        under_way,
        little: little(point),
        steps: point.steps.iter().map(step_residence).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
fn step_residence(step: &crate::record::StepResult) -> StepResidence {
    let seconds = |percent| step.since_due.percentile_ns(percent) as f64 / 1e9;
    StepResidence {
        name: step.name.clone(),
        p50_s: seconds(50.0),
        p90_s: seconds(90.0),
        p99_s: seconds(99.0),
        max_s: step.since_due.max_ns() as f64 / 1e9,
    }
}
