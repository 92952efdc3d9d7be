//! What of a record is one curve, and what of it is chosen to be shown.

use crate::fit::LoadUnit;
use crate::record::{MeasuredPoint, PointLoad, RunRecord, nodes_in_words};

/// Points of one configuration, and where N are not nodes, of one number of nodes.
pub(super) struct Group<'r> {
    /// What tells it from the others; empty of the only one.
    pub(super) label: String,
    pub(super) points: Vec<&'r MeasuredPoint>,
}

/// The groups of a record, in the order of their first points; the same that fits are made of.
pub(super) fn groups(record: &RunRecord, by: LoadUnit) -> Vec<Group<'_>> {
    let mut found: Vec<(&str, Option<usize>, Vec<&MeasuredPoint>)> = Vec::new();
    for point in &record.points {
        let nodes = (by != LoadUnit::Nodes).then_some(point.nodes);
        match found.iter_mut().find(|(name, of, _)| *name == point.configuration && *of == nodes) {
            Some((_, _, points)) => points.push(point),
            None => found.push((&point.configuration, nodes, vec![point])),
        }
    }
    let is_alone = found.len() == 1;
    let has_sizes = |name: &str| found.iter().filter(|(other, ..)| *other == name).count() > 1;
    let label = |name: &str, nodes: Option<usize>| {
        let size = nodes.filter(|_| has_sizes(name)).map(nodes_in_words).unwrap_or_default();
        let name = if is_alone { String::new() } else { name.to_owned() };
        [name, size].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    };
    let labels: Vec<String> = found.iter().map(|(name, nodes, _)| label(name, *nodes)).collect();
    labels.into_iter().zip(found).map(|(label, (_, _, points))| Group { label, points }).collect()
}

/// All points by configuration, nodes, load and replicate: they are measured in an order by chance.
pub(super) fn in_order(record: &RunRecord) -> Vec<&MeasuredPoint> {
    let mut points: Vec<&MeasuredPoint> = record.points.iter().collect();
    points.sort_by(|one, other| {
        let by_name = one.configuration.cmp(&other.configuration).then(one.nodes.cmp(&other.nodes));
        by_name.then(load_of(one).total_cmp(&load_of(other))).then(one.replicate.cmp(&other.replicate))
    });
    points
}

/// The number that a point stands at.
#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users or nodes")]
pub(super) fn n_of(point: &MeasuredPoint, by: LoadUnit) -> f64 {
    match by {
        LoadUnit::Nodes => point.nodes as f64,
        LoadUnit::Concurrency => point.concurrency(),
        LoadUnit::Users | LoadUnit::Unknown => load_of(point),
    }
}

/// Users, or arrivals a second.
#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users")]
pub(super) fn load_of(point: &MeasuredPoint) -> f64 {
    match point.load {
        PointLoad::Users(users) => users as f64,
        PointLoad::Arrivals(rate) => rate,
    }
}

/// A load in words.
pub(super) fn load_in_words(load: PointLoad) -> String {
    match load {
        PointLoad::Users(1) => "1 user".to_owned(),
        PointLoad::Users(users) => format!("{} users", crate::draw::whole(users as f64)),
        PointLoad::Arrivals(rate) => format!("{} arrivals/s", crate::draw::count(rate)),
    }
}

/// A point in words: configuration, nodes, load, replicate.
pub(super) fn point_in_words(point: &MeasuredPoint) -> String {
    let mut parts = Vec::new();
    if !point.configuration.is_empty() {
        parts.push(crate::draw::shortened(&point.configuration, 60));
    }
    parts.push(nodes_in_words(point.nodes));
    parts.push(load_in_words(point.load));
    if point.replicate > 0 {
        parts.push(format!("replicate {}", point.replicate + 1));
    }
    parts.join(", ")
}

/// The point of the greatest throughput among those that count; of all where none counts.
pub(super) fn best(record: &RunRecord) -> Option<&MeasuredPoint> {
    let by_rate =
        |one: &&MeasuredPoint, other: &&MeasuredPoint| one.throughput().total_cmp(&other.throughput());
    let counts = record.points.iter().filter(|point| point.is_fitted() && point.answered() > 0);
    counts.max_by(by_rate).or_else(|| record.points.iter().max_by(by_rate))
}

/// At most so many of these, evenly from the first to the last.
pub(super) fn evenly<T>(all: &[T], count_max: usize) -> impl Iterator<Item = &T> {
    let (count, wanted) = (all.len(), count_max.min(all.len()));
    (0..wanted).filter_map(move |number| all.get(number * (count - 1) / (wanted - 1).max(1)))
}

/// The names of all steps, in the order of their first appearance.
pub(super) fn step_names(record: &RunRecord) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for step in record.points.iter().flat_map(|point| &point.steps) {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    names
}
