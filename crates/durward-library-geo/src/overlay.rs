//! Unions, intersections and differences of geometries: the edges of both as a graph, and of that what belongs to the
//! result.
//!
//! Rings, lines and points come out in the order in which JTS, the library of the Java engine, gives them, and begin at
//! the same places. JTS tries inputs that it cannot cut cleanly again with places moved together; here they are refused.
#![expect(
    clippy::indexing_slicing,
    reason = "edges, nodes and rings are numbered by the graph that holds them"
)]

use super::Refused;
use super::geometry::{Coord, Envelope, Geometry, GeometryWithSrid, Polygon};
use super::graph::{LocatedArea, PlanarGraph, reverse};
use super::limits::WorkLeft;
use super::noding::{self, EdgeLabel, is_counterclockwise};
use super::segment::{Location, in_ring};

/// Which of what both geometries have is in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverlayOperation {
    Intersection,
    Union,
    Difference,
    SymDifference,
}

impl OverlayOperation {
    fn takes(self, first: Option<Location>, second: Option<Location>) -> bool {
        let is_in = |location| matches!(location, Some(Location::Interior | Location::Boundary));
        let (first, second) = (is_in(first), is_in(second));
        match self {
            OverlayOperation::Intersection => first && second,
            OverlayOperation::Union => first || second,
            OverlayOperation::Difference => first && !second,
            OverlayOperation::SymDifference => first != second,
        }
    }

    fn dimension(self, a: &Geometry, b: &Geometry) -> i8 {
        let (a, b) = (a.dimension(), b.dimension());
        match self {
            OverlayOperation::Intersection => a.min(b),
            OverlayOperation::Union | OverlayOperation::SymDifference => a.max(b),
            OverlayOperation::Difference => a,
        }
    }
}

/// Combines two geometries.
///
/// # Errors
/// One is a collection of mixed members where the engine takes none, an area crosses itself, or it takes too long.
pub(super) fn overlay(
    a: &GeometryWithSrid,
    b: &GeometryWithSrid,
    operation: OverlayOperation,
    work: &mut WorkLeft,
) -> Result<GeometryWithSrid, Refused> {
    let empty = || {
        Ok(GeometryWithSrid {
            geometry: nothing(operation.dimension(&a.geometry, &b.geometry)),
            srid: a.srid,
        })
    };
    match (a.geometry.is_empty(), b.geometry.is_empty(), operation) {
        (true, true, _) | (true, _, OverlayOperation::Intersection | OverlayOperation::Difference) => {
            return empty();
        }
        (_, true, OverlayOperation::Intersection) => return empty(),
        (true, false, OverlayOperation::Union | OverlayOperation::SymDifference) => return Ok(b.clone()),
        (
            false,
            true,
            OverlayOperation::Union | OverlayOperation::SymDifference | OverlayOperation::Difference,
        ) => {
            return Ok(a.clone());
        }
        (false, false, _) => {}
    }
    let is_mixed = |shape: &GeometryWithSrid| matches!(shape.geometry, Geometry::Collection(_));
    if operation == OverlayOperation::Intersection {
        if let Geometry::Collection(members) = &a.geometry {
            return members_of(members, a.srid, b, work);
        }
    } else if is_mixed(a) || is_mixed(b) {
        return Err(Refused::Invalid);
    }
    let geometry = combine(&a.geometry, &b.geometry, operation, work)?;
    Ok(GeometryWithSrid { geometry, srid: a.srid })
}

/// What each member of a collection has in common with a geometry.
fn members_of(
    members: &[Geometry],
    srid: i32,
    other: &GeometryWithSrid,
    work: &mut WorkLeft,
) -> Result<GeometryWithSrid, Refused> {
    let mut met = Vec::new();
    for member in members {
        let member = GeometryWithSrid { geometry: member.clone(), srid };
        let geometry = overlay(&member, other, OverlayOperation::Intersection, work)?.geometry;
        if !geometry.is_empty() {
            met.push(geometry);
        }
    }
    Ok(GeometryWithSrid { geometry: Geometry::Collection(met), srid })
}

/// An empty geometry of a dimension.
pub(super) fn nothing(dimension: i8) -> Geometry {
    match dimension {
        0 => Geometry::Point(None),
        1 => Geometry::Line(Vec::new()),
        2 => Geometry::Polygon(Polygon::default()),
        _ => Geometry::Collection(Vec::new()),
    }
}

/// Combines two geometries that are not empty.
pub(super) fn combine(
    a: &Geometry,
    b: &Geometry,
    operation: OverlayOperation,
    work: &mut WorkLeft,
) -> Result<Geometry, Refused> {
    let noding = noding::node([a, b], work)?;
    let graph = PlanarGraph::new(noding, [&LocatedArea::new(a), &LocatedArea::new(b)], work)?;
    let mut result = Overlay::new(graph, operation);
    result.choose_area_edges();
    let polygons = result.polygons(work)?;
    let lines = result.lines(&polygons, work)?;
    let points = result.points(&polygons, &lines, work)?;
    let built = build(points, lines, polygons);
    Ok(built.unwrap_or_else(|| nothing(operation.dimension(a, b))))
}

/// The simplest geometry that holds these; none of nothing.
pub(super) fn build(
    mut points: Vec<Coord>,
    mut lines: Vec<Vec<Coord>>,
    mut polygons: Vec<Polygon>,
) -> Option<Geometry> {
    match (points.len(), lines.len(), polygons.len()) {
        (0, 0, 0) => None,
        (1, 0, 0) => points.pop().map(|coord| Geometry::Point(Some(coord))),
        (0, 1, 0) => lines.pop().map(Geometry::Line),
        (0, 0, 1) => polygons.pop().map(Geometry::Polygon),
        (_, 0, 0) => Some(Geometry::MultiPoint(points.into_iter().map(Some).collect())),
        (0, _, 0) => Some(Geometry::MultiLine(lines)),
        (0, 0, _) => Some(Geometry::MultiPolygon(polygons)),
        _ => {
            let points = points.into_iter().map(|coord| Geometry::Point(Some(coord)));
            let lines = lines.into_iter().map(Geometry::Line);
            let polygons = polygons.into_iter().map(Geometry::Polygon);
            Some(Geometry::Collection(points.chain(lines).chain(polygons).collect()))
        }
    }
}

/// What is chosen of a graph.
struct Overlay {
    graph: PlanarGraph,
    operation: OverlayOperation,
    /// Of directed edges: whether an area of the result lies right of it.
    in_result: Vec<bool>,
    /// Of edges: whether they are in the result, as lines or around areas.
    edge_in_result: Vec<bool>,
}

fn is_area(label: &EdgeLabel) -> bool {
    label.iter().any(|sides| sides.beside.is_some())
}

/// An edge of a line, and of no area unless it lies outside of that.
fn is_line(label: &EdgeLabel) -> bool {
    let outside = Some(Location::Exterior);
    label.iter().any(|sides| sides.beside.is_none())
        && label.iter().all(|sides| {
            sides.beside.is_none_or(|beside| sides.on == outside && beside == [outside, outside])
        })
}

fn is_inside_both(label: &EdgeLabel) -> bool {
    let inside = Some(Location::Interior);
    label.iter().all(|sides| sides.beside == Some([inside, inside]))
}

impl Overlay {
    fn new(graph: PlanarGraph, operation: OverlayOperation) -> Overlay {
        let in_result = vec![false; graph.directed.len()];
        let edge_in_result = vec![false; graph.edges.len()];
        Overlay { graph, operation, in_result, edge_in_result }
    }

    fn label(&self, directed: usize) -> &EdgeLabel {
        &self.graph.directed[directed].label
    }

    fn choose_area_edges(&mut self) {
        for at in 0..self.in_result.len() {
            let label = self.label(at);
            let right = |of: usize| label[of].beside.and_then(|[_, right]| right);
            self.in_result[at] =
                is_area(label) && !is_inside_both(label) && self.operation.takes(right(0), right(1));
        }
        for at in (0..self.in_result.len()).step_by(2) {
            if self.in_result[at] && self.in_result[reverse(at)] {
                self.in_result[at] = false;
                self.in_result[reverse(at)] = false;
            }
        }
    }

    fn polygons(&mut self, work: &mut WorkLeft) -> Result<Vec<Polygon>, Refused> {
        let rings = Rings::new(&self.graph, &self.in_result)?;
        for at in 0..self.in_result.len() {
            if self.in_result[at] {
                self.edge_in_result[at / 2] = true;
            }
        }
        place_holes(rings, work)
    }

    fn lines(&mut self, polygons: &[Polygon], work: &mut WorkLeft) -> Result<Vec<Vec<Coord>>, Refused> {
        let covered = self.covered_lines(polygons, work)?;
        let mut lines = Vec::new();
        for at in (0..self.in_result.len()).step_by(2) {
            let label = self.label(at);
            let is_taken = self.operation.takes(label[0].on, label[1].on);
            let is_chosen = if is_line(label) {
                is_taken && !covered[at / 2]
            } else {
                // Where areas touch along an edge.
                is_taken
                    && self.operation == OverlayOperation::Intersection
                    && !is_inside_both(label)
                    && !self.edge_in_result[at / 2]
            };
            if is_chosen {
                lines.push(at / 2);
            }
        }
        for edge in &lines {
            self.edge_in_result[*edge] = true;
        }
        Ok(lines.into_iter().map(|edge| self.graph.edges[edge].coords.clone()).collect())
    }

    /// Which edges of lines lie in areas of the result: told from the areas around their nodes, or by looking.
    fn covered_lines(&self, polygons: &[Polygon], work: &mut WorkLeft) -> Result<Vec<bool>, Refused> {
        let mut covered: Vec<Option<bool>> = vec![None; self.graph.edges.len()];
        for node in &self.graph.nodes {
            self.cover_around(&node.star, &mut covered);
        }
        let result = Geometry::MultiPolygon(polygons.to_vec());
        let area = LocatedArea::new(&result);
        let mut all = Vec::with_capacity(covered.len());
        for (edge, covered) in covered.into_iter().enumerate() {
            let is_covered = match covered {
                Some(covered) => covered,
                None if is_line(self.label(edge * 2)) => {
                    let place = self.graph.edges[edge].coords[0];
                    area.locate(place, work)? != Location::Exterior
                }
                None => false,
            };
            all.push(is_covered);
        }
        Ok(all)
    }

    fn cover_around(&self, star: &[usize], covered: &mut [Option<bool>]) {
        let of_area = |at: &&usize| !is_line(self.label(**at));
        let is_side = |at: usize| self.in_result[at] || self.in_result[reverse(at)];
        let Some(first) = star.iter().filter(of_area).find(|at| is_side(**at)) else { return };
        // An area of the result lies right of its edges.
        let mut is_inside = self.in_result[*first];
        for at in star {
            if is_line(self.label(*at)) {
                covered[*at / 2] = Some(is_inside);
            } else if self.in_result[reverse(*at)] {
                is_inside = true;
            } else if self.in_result[*at] {
                is_inside = false;
            }
        }
    }

    fn points(
        &self,
        polygons: &[Polygon],
        lines: &[Vec<Coord>],
        work: &mut WorkLeft,
    ) -> Result<Vec<Coord>, Refused> {
        let result = Geometry::Collection(vec![
            Geometry::MultiLine(lines.to_vec()),
            Geometry::MultiPolygon(polygons.to_vec()),
        ]);
        let area = LocatedArea::new(&result);
        let mut points = Vec::new();
        for node in &self.graph.nodes {
            let is_met = node.star.iter().any(|at| self.edge_in_result[*at / 2]);
            let is_asked = node.star.is_empty() || self.operation == OverlayOperation::Intersection;
            if is_met || !is_asked || !self.operation.takes(node.label[0], node.label[1]) {
                continue;
            }
            if area.locate(node.coord, work)? == Location::Exterior {
                points.push(node.coord);
            }
        }
        Ok(points)
    }
}

/// A ring of a result. Shells go with the clock.
struct Ring {
    coords: Vec<Coord>,
    shell: Option<usize>,
}

impl Ring {
    fn is_hole(&self) -> bool {
        is_counterclockwise(&self.coords)
    }
}

/// The rings around areas of the result.
struct Rings<'a> {
    graph: &'a PlanarGraph,
    in_result: &'a [bool],
    /// Behind each directed edge, the next of its ring.
    next: Vec<Option<usize>>,
    ring_of: Vec<Option<usize>>,
    rings: Vec<Ring>,
    shells: Vec<usize>,
    free_holes: Vec<usize>,
}

impl<'a> Rings<'a> {
    fn new(graph: &'a PlanarGraph, in_result: &'a [bool]) -> Result<Rings<'a>, Refused> {
        let none = vec![None; in_result.len()];
        let mut rings = Rings {
            graph,
            in_result,
            next: none.clone(),
            ring_of: none,
            rings: Vec::new(),
            shells: Vec::new(),
            free_holes: Vec::new(),
        };
        for node in &graph.nodes {
            rings.link(&node.star)?;
        }
        rings.trace()?;
        Ok(rings)
    }

    /// Behind every edge that comes in, the next that goes out, against the clock: rings as large as can be.
    fn link(&mut self, star: &[usize]) -> Result<(), Refused> {
        let mut incoming = None;
        for out in star {
            match incoming {
                None if self.in_result[reverse(*out)] => incoming = Some(reverse(*out)),
                Some(from) if self.in_result[*out] => {
                    self.next[from] = Some(*out);
                    incoming = None;
                }
                None | Some(_) => {}
            }
        }
        if let Some(from) = incoming {
            let first = star.iter().find(|out| self.in_result[**out]);
            self.next[from] = Some(*first.ok_or(Refused::Invalid)?);
        }
        Ok(())
    }

    fn trace(&mut self) -> Result<(), Refused> {
        let mut whole = Vec::new();
        let mut number = 0;
        for start in 0..self.in_result.len() {
            if !self.in_result[start] || self.ring_of[start].is_some() {
                continue;
            }
            let edges = self.walk(start, number)?;
            if self.touches_itself(&edges, number) {
                self.trace_minimal(&edges, number)?;
            } else {
                whole.push(self.add(&edges));
            }
            number += 1;
        }
        for ring in whole {
            if self.rings[ring].is_hole() {
                self.free_holes.push(ring);
            } else {
                self.shells.push(ring);
            }
        }
        Ok(())
    }

    /// The edges of the ring that begins with this one.
    fn walk(&mut self, start: usize, number: usize) -> Result<Vec<usize>, Refused> {
        let mut edges = Vec::new();
        let mut at = start;
        loop {
            if self.ring_of[at].is_some() {
                return Err(Refused::Invalid);
            }
            self.ring_of[at] = Some(number);
            edges.push(at);
            at = self.next[at].ok_or(Refused::Invalid)?;
            if at == start {
                return Ok(edges);
            }
        }
    }

    fn touches_itself(&self, edges: &[usize], number: usize) -> bool {
        edges.iter().any(|at| {
            let star = &self.graph.nodes[self.graph.origin[*at]].star;
            star.iter().filter(|out| self.ring_of[**out] == Some(number)).count() > 1
        })
    }

    fn add(&mut self, edges: &[usize]) -> usize {
        let mut coords: Vec<Coord> = Vec::new();
        for at in edges {
            let edge = &self.graph.edges[*at / 2].coords;
            let skipped = usize::from(!coords.is_empty());
            if *at % 2 == 0 {
                coords.extend(edge.iter().skip(skipped));
            } else {
                coords.extend(edge.iter().rev().skip(skipped));
            }
        }
        self.rings.push(Ring { coords, shell: None });
        self.rings.len() - 1
    }

    /// Parts a ring that touches itself into rings that do not: behind every edge the next that goes out with the clock.
    fn trace_minimal(&mut self, edges: &[usize], number: usize) -> Result<(), Refused> {
        let mut next = std::collections::HashMap::new();
        for at in edges {
            let star = &self.graph.nodes[self.graph.origin[*at]].star;
            let is_own = |directed: usize| self.ring_of[directed] == Some(number);
            let mut incoming = None;
            for out in star.iter().rev() {
                match incoming {
                    None if is_own(reverse(*out)) => incoming = Some(reverse(*out)),
                    Some(from) if is_own(*out) => {
                        next.insert(from, *out);
                        incoming = None;
                    }
                    None | Some(_) => {}
                }
            }
            if let Some(from) = incoming {
                let first = star.iter().rev().find(|out| is_own(**out));
                next.insert(from, *first.ok_or(Refused::Invalid)?);
            }
        }
        let mut parts = Vec::new();
        for start in edges {
            let mut part = Vec::new();
            let mut at = *start;
            while let Some(behind) = next.remove(&at) {
                part.push(at);
                at = behind;
            }
            if !part.is_empty() {
                parts.push(self.add(&part));
            }
        }
        self.place_parts(parts)
    }

    fn place_parts(&mut self, parts: Vec<usize>) -> Result<(), Refused> {
        let (holes, shells): (Vec<usize>, Vec<usize>) =
            parts.into_iter().partition(|ring| self.rings[*ring].is_hole());
        match shells.as_slice() {
            [] => self.free_holes.extend(holes),
            [shell] => {
                for hole in holes {
                    self.rings[hole].shell = Some(*shell);
                }
                self.shells.push(*shell);
            }
            [_, _, ..] => return Err(Refused::Invalid),
        }
        Ok(())
    }
}

/// Gives every hole to the smallest shell around it.
fn place_holes(rings: Rings<'_>, work: &mut WorkLeft) -> Result<Vec<Polygon>, Refused> {
    let Rings { mut rings, shells, free_holes, .. } = rings;
    let envelopes: Vec<(usize, Envelope)> =
        shells.iter().map(|shell| (*shell, Envelope::of(&rings[*shell].coords))).collect();
    let parted: Vec<usize> = (0..rings.len()).filter(|ring| rings[*ring].shell.is_some()).collect();
    for hole in &free_holes {
        work.spend(shells.len())?;
        let shell = shell_around(&rings, &rings[*hole].coords, &envelopes, work)?;
        rings[*hole].shell = Some(shell.ok_or(Refused::Invalid)?);
    }
    let mut place = vec![usize::MAX; rings.len()];
    let mut polygons = Vec::with_capacity(shells.len());
    for (at, shell) in shells.iter().enumerate() {
        place[*shell] = at;
        polygons.push(Polygon { shell: std::mem::take(&mut rings[*shell].coords), holes: Vec::new() });
    }
    // Holes of rings that were parted come first, then the others, in their order.
    for hole in parted.into_iter().chain(free_holes) {
        if let Some(shell) = rings[hole].shell {
            polygons[place[shell]].holes.push(std::mem::take(&mut rings[hole].coords));
        }
    }
    Ok(polygons)
}

fn shell_around(
    rings: &[Ring],
    hole: &[Coord],
    shells: &[(usize, Envelope)],
    work: &mut WorkLeft,
) -> Result<Option<usize>, Refused> {
    let envelope = Envelope::of(hole);
    let mut smallest: Option<(usize, Envelope)> = None;
    for (shell, around) in shells {
        if *around == envelope || !around.covers(&envelope) {
            continue;
        }
        let coords = &rings[*shell].coords;
        work.spend(coords.len())?;
        // A place of the hole that is none of the shell tells.
        let inside =
            hole.iter().map(|place| in_ring(*place, coords)).find(|place| *place != Location::Boundary);
        work.spend(coords.len())?;
        let is_inside = inside.unwrap_or(Location::Boundary) != Location::Exterior;
        if is_inside && smallest.is_none_or(|(_, known)| known.covers(around)) {
            smallest = Some((*shell, *around));
        }
    }
    Ok(smallest.map(|(shell, _)| shell))
}
