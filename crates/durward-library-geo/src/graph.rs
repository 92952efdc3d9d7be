//! The edges of two geometries as a graph in the plane, in which every edge and node knows where both geometries are.
#![expect(clippy::indexing_slicing, reason = "edges and nodes are numbered by the graph that holds them")]

use std::cmp::Ordering;

use super::Refused;
use super::geometry::{Coord, Envelope, Geometry, SimpleGeometry, is_closed};
use super::limits::WorkLeft;
use super::noding::{EdgeLabel, EdgeSides, NodedEdge, Noding, flipped};
use super::segment::{Location, in_box, in_ring, side};

/// An edge in one of its directions. Of edge `n` the directions are `2 n` and `2 n + 1`.
pub(super) struct DirectedEdge {
    pub(super) label: EdgeLabel,
    /// The first two places of the edge in this direction.
    pub(super) ends: [Coord; 2],
}

pub(super) struct PlanarNode {
    pub(super) coord: Coord,
    pub(super) label: [Option<Location>; 2],
    /// The edges that begin here, against the clock from the east.
    pub(super) star: Vec<usize>,
}

pub(super) struct PlanarGraph {
    pub(super) edges: Vec<NodedEdge>,
    pub(super) directed: Vec<DirectedEdge>,
    /// In the order of their places.
    pub(super) nodes: Vec<PlanarNode>,
    /// The node at which each directed edge begins.
    pub(super) origin: Vec<usize>,
}

/// The other direction of an edge.
pub(super) const fn reverse(directed: usize) -> usize {
    directed ^ 1
}

impl PlanarGraph {
    /// Builds the graph and finds out where both geometries are, everywhere.
    ///
    /// # Errors
    /// What is left and right of edges contradicts itself, as in areas that cross themselves.
    pub(super) fn new(
        noding: Noding,
        areas: [&LocatedArea; 2],
        work: &mut WorkLeft,
    ) -> Result<PlanarGraph, Refused> {
        let Noding { mut nodes, edges } = noding;
        let mut directed = Vec::with_capacity(edges.len() * 2);
        for edge in &edges {
            let (Some([first, second]), Some([before, last])) =
                (edge.coords.first_chunk(), edge.coords.last_chunk())
            else {
                return Err(Refused::Invalid);
            };
            for (ends, label) in [([*first, *second], edge.label), ([*last, *before], flipped(&edge.label))] {
                nodes.entry(ends[0]).or_default();
                directed.push(DirectedEdge { label, ends });
            }
        }
        let node = |(coord, label)| PlanarNode { coord, label, star: Vec::new() };
        let nodes = nodes.into_iter().map(node).collect();
        let mut graph = PlanarGraph { edges, directed, nodes, origin: Vec::new() };
        graph.build_stars()?;
        graph.label(areas, work)?;
        Ok(graph)
    }

    fn build_stars(&mut self) -> Result<(), Refused> {
        for (at, directed) in self.directed.iter().enumerate() {
            let place = directed.ends[0];
            let node =
                self.nodes.binary_search_by(|node| node.coord.cmp(&place)).map_err(|_| Refused::Invalid)?;
            self.nodes[node].star.push(at);
            self.origin.push(node);
        }
        for node in &mut self.nodes {
            node.star.sort_by(|a, b| direction_order(&self.directed[*a], &self.directed[*b]));
            let equal = |a: &usize, b: &usize| {
                direction_order(&self.directed[*a], &self.directed[*b]) == Ordering::Equal
            };
            if node.star.windows(2).any(|pair| equal(&pair[0], &pair[1])) {
                return Err(Refused::Invalid);
            }
        }
        Ok(())
    }

    fn label(&mut self, areas: [&LocatedArea; 2], work: &mut WorkLeft) -> Result<(), Refused> {
        for PlanarNode { coord, star, .. } in &self.nodes {
            label_star(*coord, star, &mut self.directed, areas, work)?;
        }
        for at in 0..self.directed.len() {
            let other = self.directed[reverse(at)].label;
            for (sides, other) in self.directed[at].label.iter_mut().zip(&other) {
                sides.fill_from(other);
            }
        }
        for node in 0..self.nodes.len() {
            self.label_node(node, areas, work)?;
        }
        Ok(())
    }

    fn label_node(
        &mut self,
        node: usize,
        areas: [&LocatedArea; 2],
        work: &mut WorkLeft,
    ) -> Result<(), Refused> {
        let PlanarNode { coord, label, star } = &mut self.nodes[node];
        for of in 0..2 {
            let is_met = star.iter().any(|at| {
                let on = self.edges[at / 2].label[of].on;
                matches!(on, Some(Location::Interior | Location::Boundary))
            });
            if is_met {
                label[of] = label[of].or(Some(Location::Interior));
            }
            if label[of].is_none() {
                label[of] = Some(areas[of].locate(*coord, work)?);
            }
            for at in star.iter() {
                self.directed[*at].label[of].fill(label[of]);
            }
        }
        Ok(())
    }
}

/// Carries what is known of one edge around a node to the others.
///
/// # Errors
/// What is known contradicts itself.
pub(super) fn label_star(
    coord: Coord,
    star: &[usize],
    directed: &mut [DirectedEdge],
    areas: [&LocatedArea; 2],
    work: &mut WorkLeft,
) -> Result<(), Refused> {
    for of in 0..2 {
        propagate(star, of, directed)?;
    }
    for (of, area) in areas.into_iter().enumerate() {
        let is_folded = star.iter().any(|at| {
            let sides = &directed[*at].label[of];
            sides.beside.is_none() && sides.on == Some(Location::Boundary)
        });
        let mut located = None;
        for at in star {
            if !directed[*at].label[of].any_unknown() {
                continue;
            }
            let location = match located {
                Some(location) => location,
                None if is_folded => Location::Exterior,
                None => area.locate_in_areas(coord, work)?,
            };
            located = Some(location);
            directed[*at].label[of].fill(Some(location));
        }
    }
    Ok(())
}

/// Around a node against the clock: from the right of each edge to its left.
fn propagate(star: &[usize], of: usize, directed: &mut [DirectedEdge]) -> Result<(), Refused> {
    let left = |sides: &EdgeSides| sides.beside.and_then(|[left, _]| left);
    let Some(mut current) = star.iter().rev().find_map(|at| left(&directed[*at].label[of])) else {
        return Ok(());
    };
    for at in star {
        let sides = &mut directed[*at].label[of];
        sides.on = sides.on.or(Some(current));
        match sides.beside {
            Some([left, Some(right)]) => {
                if right != current {
                    return Err(Refused::Invalid);
                }
                current = left.ok_or(Refused::Invalid)?;
            }
            Some([_, None]) => sides.beside = Some([Some(current), Some(current)]),
            None => {}
        }
    }
    Ok(())
}

/// Edges around a node, against the clock from the east.
pub(super) fn direction_order(a: &DirectedEdge, b: &DirectedEdge) -> Ordering {
    let quadrant = |directed: &DirectedEdge| {
        let [from, to] = directed.ends;
        match (to.x >= from.x, to.y >= from.y) {
            (true, true) => 0,
            (false, true) => 1,
            (false, false) => 2,
            (true, false) => 3,
        }
    };
    let [from, to] = b.ends;
    quadrant(a).cmp(&quadrant(b)).then_with(|| side(from, to, a.ends[1]).cmp(&0))
}

/// Where places are relative to a geometry.
pub(super) struct LocatedArea<'a> {
    simples: Vec<Located<'a>>,
}

struct Located<'a> {
    simple: SimpleGeometry<'a>,
    envelope: Envelope,
}

impl<'a> LocatedArea<'a> {
    pub(super) fn new(geometry: &'a Geometry) -> LocatedArea<'a> {
        let mut simples = Vec::new();
        geometry.each_simple(&mut |simple| {
            let envelope = match &simple {
                SimpleGeometry::Point(coord) => Envelope::of([coord]),
                SimpleGeometry::Line(line) => Envelope::of(*line),
                SimpleGeometry::Polygon(polygon) => Envelope::of(&polygon.shell),
            };
            simples.push(Located { simple, envelope });
        });
        LocatedArea { simples }
    }

    /// Relative to the areas alone.
    fn locate_in_areas(&self, place: Coord, work: &mut WorkLeft) -> Result<Location, Refused> {
        for located in self.near(place, work)? {
            let SimpleGeometry::Polygon(polygon) = located.simple else { continue };
            let location = in_polygon(place, polygon.rings(), work)?;
            if location != Location::Exterior {
                return Ok(location);
            }
        }
        Ok(Location::Exterior)
    }

    /// Relative to everything: a place on the boundary of an odd number of members is on the boundary.
    pub(super) fn locate(&self, place: Coord, work: &mut WorkLeft) -> Result<Location, Refused> {
        let (mut is_in, mut boundaries) = (false, 0_usize);
        for located in self.near(place, work)? {
            let location = match &located.simple {
                SimpleGeometry::Point(coord) if *coord == place => Location::Interior,
                SimpleGeometry::Point(_) => Location::Exterior,
                SimpleGeometry::Line(line) => on_line(place, line, work)?,
                SimpleGeometry::Polygon(polygon) => in_polygon(place, polygon.rings(), work)?,
            };
            match location {
                Location::Interior => is_in = true,
                Location::Boundary => boundaries += 1,
                Location::Exterior => {}
            }
        }
        Ok(match boundaries {
            0 if !is_in => Location::Exterior,
            odd if odd % 2 == 1 => Location::Boundary,
            _ => Location::Interior,
        })
    }

    fn near(&self, place: Coord, work: &mut WorkLeft) -> Result<Vec<&Located<'a>>, Refused> {
        work.spend(self.simples.len())?;
        let point = Envelope::of([&place]);
        Ok(self.simples.iter().filter(|located| located.envelope.meets(&point)).collect())
    }
}

/// Where a place is relative to a polygon of these rings, the shell first.
pub(super) fn in_polygon<'a>(
    place: Coord,
    mut rings: impl Iterator<Item = &'a [Coord]>,
    work: &mut WorkLeft,
) -> Result<Location, Refused> {
    let shell = rings.next().unwrap_or_default();
    work.spend(shell.len())?;
    match in_ring(place, shell) {
        Location::Interior => {}
        outside => return Ok(outside),
    }
    for hole in rings {
        work.spend(hole.len())?;
        match in_ring(place, hole) {
            Location::Interior => return Ok(Location::Exterior),
            Location::Boundary => return Ok(Location::Boundary),
            Location::Exterior => {}
        }
    }
    Ok(Location::Interior)
}

fn on_line(place: Coord, line: &[Coord], work: &mut WorkLeft) -> Result<Location, Refused> {
    work.spend(line.len())?;
    let is_end = line.first() == Some(&place) || line.last() == Some(&place);
    if is_end && !is_closed(line) {
        return Ok(Location::Boundary);
    }
    let lies_on =
        |pair: (&Coord, &Coord)| in_box(*pair.0, *pair.1, place) && side(*pair.0, *pair.1, place) == 0;
    let is_on = line.iter().zip(line.iter().skip(1)).any(lies_on);
    Ok(if is_on { Location::Interior } else { Location::Exterior })
}
