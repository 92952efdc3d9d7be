//! How two geometries lie to each other: the nine intersections of their interiors, boundaries and exteriors (DE-9IM),
//! and the relations that are defined by them.
//!
//! Found as JTS finds them, from what is known around every place where the geometries touch: places where they only
//! cross need no look, so that nothing depends on where rounding puts them.

use std::collections::BTreeMap;

use super::Refused;
use super::geometry::{Coord, Envelope, Geometry, Polygon, SimpleGeometry};
use super::graph::{DirectedEdge, LocatedArea, direction_order, in_polygon, label_star};
use super::limits::WorkLeft;
use super::measure;
use super::noding::{Chains, Crossings, EdgeLabel, EdgeSides, NodedChain, chains, flipped};
use super::segment::{Location, SegmentIntersection, meet};

/// The dimensions of the nine intersections, -1 where there is none. Rows are of the first geometry.
struct IntersectionMatrix([[i8; 3]; 3]);

const I: usize = 0;
const B: usize = 1;
const E: usize = 2;

const fn place(location: Location) -> usize {
    match location {
        Location::Interior => I,
        Location::Boundary => B,
        Location::Exterior => E,
    }
}

impl IntersectionMatrix {
    #[expect(clippy::indexing_slicing, reason = "there are three places, and no fourth is asked for")]
    fn get(&self, row: usize, column: usize) -> i8 {
        self.0[row][column]
    }

    fn raise(&mut self, first: Option<Location>, second: Option<Location>, dimension: i8) {
        if let (Some(first), Some(second)) = (first, second) {
            self.set_least(place(first), place(second), dimension);
        }
    }

    #[expect(clippy::indexing_slicing, reason = "there are three places, and no fourth is asked for")]
    fn set_least(&mut self, row: usize, column: usize, dimension: i8) {
        let cell = &mut self.0[row][column];
        *cell = (*cell).max(dimension);
    }

    /// What holds along an edge, and left and right of it.
    fn raise_edge(&mut self, label: &EdgeLabel) {
        let [first, second] = label;
        self.raise(first.on, second.on, 1);
        if let (Some(first), Some(second)) = (first.beside, second.beside) {
            self.raise(first[0], second[0], 2);
            self.raise(first[1], second[1], 2);
        }
    }

    /// What holds where segments cross within both.
    fn raise_crossing(&mut self, dim_a: i8, dim_b: i8, is_interior: bool) {
        let known: &[(usize, usize, i8)] = match (dim_a, dim_b, is_interior) {
            (2, 2, _) => {
                &[(I, I, 2), (I, B, 1), (I, E, 2), (B, I, 1), (B, B, 0), (B, E, 1), (E, I, 2), (E, B, 1)]
            }
            (2, 1, false) => &[(B, I, 0)],
            (2, 1, true) => &[(B, I, 0), (I, I, 1), (E, I, 1)],
            (1, 2, false) => &[(I, B, 0)],
            (1, 2, true) => &[(I, B, 0), (I, I, 1), (I, E, 1)],
            (1, 1, true) => &[(I, I, 0)],
            _ => &[],
        };
        for (row, column, dimension) in known {
            self.set_least(*row, *column, *dimension);
        }
    }

    fn is(&self, row: usize, column: usize) -> bool {
        self.get(row, column) >= 0
    }

    fn is_contains(&self) -> bool {
        self.is(I, I) && !self.is(E, I) && !self.is(E, B)
    }
}

/// Finds the nine intersections.
///
/// # Errors
/// The geometries are too large, or an area contradicts itself.
fn relate(a: &Geometry, b: &Geometry, work: &mut WorkLeft) -> Result<IntersectionMatrix, Refused> {
    let mut matrix = IntersectionMatrix([[-1; 3]; 3]);
    matrix.set_least(E, E, 2);
    let mut chains = chains([a, b], Crossings::Note, work)?;
    let is_boundary =
        |coord: &Coord| (0..2).any(|of| chains.location(of, *coord) == Some(Location::Boundary));
    if !chains.crossings.is_empty() {
        let is_interior = chains.crossings.iter().any(|coord| !is_boundary(coord));
        matrix.raise_crossing(a.dimension(), b.dimension(), is_interior);
    }
    let areas = [&LocatedArea::new(a), &LocatedArea::new(b)];
    relate_nodes(&mut chains, areas, &mut matrix, work)?;
    relate_edges(&mut chains.chains, areas, &mut matrix, work)?;
    for chain in chains.chains.iter().filter(|chain| !chain.is_met) {
        matrix.raise_edge(&lone_label(chain, [a, b], areas, work)?);
    }
    Ok(matrix)
}

/// Finds where both geometries are at the places where they end or touch.
fn relate_nodes(
    chains: &mut Chains,
    areas: [&LocatedArea; 2],
    matrix: &mut IntersectionMatrix,
    work: &mut WorkLeft,
) -> Result<(), Refused> {
    // A ring that passes a place alone makes it a part of the boundary; once more, and it is none.
    let mut met: BTreeMap<Coord, [Option<Location>; 2]> = BTreeMap::new();
    for chain in &chains.chains {
        for cut in &chain.cuts {
            let [first, second] = met.entry(cut.coord).or_default();
            let known = if chain.of == 0 { first } else { second };
            *known = Some(match (chain.on(), *known) {
                (Location::Boundary, Some(Location::Boundary)) => Location::Interior,
                (Location::Boundary, _) => Location::Boundary,
                (on, known) => known.unwrap_or(on),
            });
        }
    }
    for (coord, [first, second]) in met {
        let [known_first, known_second] = chains.nodes.entry(coord).or_default();
        *known_first = known_first.or(first);
        *known_second = known_second.or(second);
    }
    for (coord, [first, second]) in &chains.nodes {
        let first = first.map_or_else(|| areas[0].locate(*coord, work), Ok)?;
        let second = second.map_or_else(|| areas[1].locate(*coord, work), Ok)?;
        matrix.raise(Some(first), Some(second), 0);
    }
    Ok(())
}

/// Finds where both geometries are along the edges that leave those places, and beside them.
fn relate_edges(
    chains: &mut [NodedChain],
    areas: [&LocatedArea; 2],
    matrix: &mut IntersectionMatrix,
    work: &mut WorkLeft,
) -> Result<(), Refused> {
    let mut stars: BTreeMap<Coord, Vec<DirectedEdge>> = BTreeMap::new();
    for chain in chains {
        chain.add_ends();
        for directed in ends(chain) {
            stars.entry(directed.ends[0]).or_default().push(directed);
        }
    }
    for (coord, mut star) in stars {
        star.sort_by(direction_order);
        let mut bundles = bundle(&star);
        let order: Vec<usize> = (0..bundles.len()).collect();
        label_star(coord, &order, &mut bundles, areas, work)?;
        bundles.iter().for_each(|bundle| matrix.raise_edge(&bundle.label));
    }
    Ok(())
}

/// What leaves the cuts of a chain, backwards and forwards.
fn ends(chain: &NodedChain) -> Vec<DirectedEdge> {
    let mut ends = Vec::with_capacity(chain.cuts.len() * 2);
    for (from, to) in chain.cuts.iter().zip(chain.cuts.iter().skip(1)) {
        let after = chain.coords.get(from.at + 1).filter(|_| from.at != to.at).unwrap_or(&to.coord);
        let before = if to.along == 0.0 { to.at.saturating_sub(1) } else { to.at };
        let before = if from.at >= before { Some(&from.coord) } else { chain.coords.get(before) };
        let before = before.unwrap_or(&from.coord);
        let forward = DirectedEdge { label: chain.label, ends: [from.coord, *after] };
        let backward = DirectedEdge { label: flipped(&chain.label), ends: [to.coord, *before] };
        ends.extend([forward, backward].into_iter().filter(|directed| directed.ends[0] != directed.ends[1]));
    }
    ends
}

/// One edge for all that leave in the same direction.
fn bundle(star: &[DirectedEdge]) -> Vec<DirectedEdge> {
    star.chunk_by(|a, b| direction_order(a, b).is_eq())
        .filter_map(|same| {
            let ends = same.first()?.ends;
            let is_area =
                same.iter().any(|directed| directed.label.iter().any(|sides| sides.beside.is_some()));
            let label = [0, 1].map(|of| bundled_sides(same, of, is_area));
            Some(DirectedEdge { label, ends })
        })
        .collect()
}

#[expect(clippy::indexing_slicing, reason = "of two geometries, and of two sides")]
fn bundled_sides(same: &[DirectedEdge], of: usize, is_area: bool) -> EdgeSides {
    let on = || same.iter().filter_map(|directed| directed.label[of].on);
    let boundaries = on().filter(|on| *on == Location::Boundary).count();
    let on = match boundaries {
        0 => on().find(|on| *on == Location::Interior),
        odd if odd % 2 == 1 => Some(Location::Boundary),
        _ => Some(Location::Interior),
    };
    let beside = |side: usize| {
        let known = || same.iter().filter_map(move |directed| directed.label[of].beside?[side]);
        known().find(|location| *location == Location::Interior).or_else(|| known().next())
    };
    EdgeSides { on, beside: is_area.then(|| [beside(0), beside(1)]) }
}

/// Where the geometries are on a chain that does not meet the other.
fn lone_label(
    chain: &NodedChain,
    geometries: [&Geometry; 2],
    areas: [&LocatedArea; 2],
    work: &mut WorkLeft,
) -> Result<EdgeLabel, Refused> {
    let [first, second] = chain.label;
    let (other, area) = if chain.of == 0 { (geometries[1], areas[1]) } else { (geometries[0], areas[0]) };
    let location = match chain.coords.first() {
        Some(place) if other.dimension() > 0 => area.locate(*place, work)?,
        Some(_) | None => Location::Exterior,
    };
    let everywhere = |sides: EdgeSides| EdgeSides {
        on: Some(location),
        beside: sides.beside.map(|_| [Some(location), Some(location)]),
    };
    Ok(if chain.of == 0 { [first, everywhere(second)] } else { [everywhere(first), second] })
}

/// A relation of two geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeometryRelation {
    Contains,
    Crosses,
    Equals,
    Intersects,
    Overlaps,
    Touches,
}

/// Whether two geometries lie to each other like this.
///
/// # Errors
/// One is a collection of mixed members where the engine takes none, an area contradicts itself, or the geometries are
/// too large.
pub(super) fn holds(
    relation: GeometryRelation,
    a: &Geometry,
    b: &Geometry,
    work: &mut WorkLeft,
) -> Result<bool, Refused> {
    if let Some(known) = at_sight(relation, a, b, work)? {
        return Ok(known);
    }
    if relation == GeometryRelation::Intersects && (is_mixed(a) || is_mixed(b)) {
        return any_intersects(a, b, work);
    }
    // Of all relations only this one looks for collections in the engine.
    if relation == GeometryRelation::Crosses && (is_mixed(a) || is_mixed(b)) {
        return Err(Refused::Invalid);
    }
    let (dim_a, dim_b) = (a.dimension(), b.dimension());
    let matrix = relate(a, b, work)?;
    Ok(match relation {
        GeometryRelation::Contains => matrix.is_contains(),
        GeometryRelation::Equals => {
            dim_a == dim_b && matrix.is_contains() && !matrix.is(I, E) && !matrix.is(B, E)
        }
        GeometryRelation::Intersects => {
            matrix.is(I, I) || matrix.is(I, B) || matrix.is(B, I) || matrix.is(B, B)
        }
        GeometryRelation::Crosses => crosses(&matrix, dim_a, dim_b),
        GeometryRelation::Overlaps => overlaps(&matrix, dim_a, dim_b),
        GeometryRelation::Touches => touches(&matrix, dim_a, dim_b),
    })
}

/// What envelopes, dimensions and rectangles tell.
fn at_sight(
    relation: GeometryRelation,
    a: &Geometry,
    b: &Geometry,
    work: &mut WorkLeft,
) -> Result<Option<bool>, Refused> {
    let (around_a, around_b) = (a.envelope(), b.envelope());
    let (dim_a, dim_b) = (a.dimension(), b.dimension());
    match relation {
        GeometryRelation::Equals if a.is_empty() || b.is_empty() || around_a != around_b => Ok(Some(false)),
        GeometryRelation::Equals => Ok(None),
        GeometryRelation::Contains => {
            let cannot = (dim_b == 2 && dim_a < 2)
                || (dim_b == 1 && dim_a < 1 && measure::length(b) > 0.0)
                || b.is_empty()
                || !around_a.covers(&around_b);
            if !cannot && is_rectangle(a, &around_a) {
                return Ok(Some(!is_in_sides(b, &around_a)));
            }
            Ok(cannot.then_some(false))
        }
        GeometryRelation::Intersects
        | GeometryRelation::Crosses
        | GeometryRelation::Overlaps
        | GeometryRelation::Touches
            if !around_a.meets(&around_b) =>
        {
            Ok(Some(false))
        }
        GeometryRelation::Intersects if is_rectangle(a, &around_a) => {
            meets_rectangle(&around_a, b, work).map(Some)
        }
        GeometryRelation::Intersects if is_rectangle(b, &around_b) => {
            meets_rectangle(&around_b, a, work).map(Some)
        }
        GeometryRelation::Intersects
        | GeometryRelation::Crosses
        | GeometryRelation::Overlaps
        | GeometryRelation::Touches => Ok(None),
    }
}

/// Whether a geometry is an upright rectangle: four corners of its envelope, one side after the other.
fn is_rectangle(geometry: &Geometry, around: &Envelope) -> bool {
    let Geometry::Polygon(Polygon { shell, holes }) = geometry else { return false };
    let is_corner = |place: &Coord| {
        (place.x == around.low.x || place.x == around.high.x)
            && (place.y == around.low.y || place.y == around.high.y)
    };
    let turns = |(from, to): (&Coord, &Coord)| (from.x == to.x) != (from.y == to.y);
    holes.is_empty()
        && shell.len() == 5
        && shell.iter().all(is_corner)
        && shell.iter().zip(shell.iter().skip(1)).all(turns)
}

/// Whether a geometry lies in the sides of a rectangle that covers it.
fn is_in_sides(geometry: &Geometry, around: &Envelope) -> bool {
    let is_on = |place: &Coord| {
        place.x == around.low.x
            || place.x == around.high.x
            || place.y == around.low.y
            || place.y == around.high.y
    };
    let is_along = |(from, to): (&Coord, &Coord)| {
        let vertical = from.x == to.x && (from.x == around.low.x || from.x == around.high.x);
        let horizontal = from.y == to.y && (from.y == around.low.y || from.y == around.high.y);
        if from == to { is_on(from) } else { vertical || horizontal }
    };
    let mut is_in = true;
    geometry.each_simple(&mut |simple| {
        is_in &= match simple {
            SimpleGeometry::Point(place) => is_on(&place),
            SimpleGeometry::Line(line) => line.iter().zip(line.iter().skip(1)).all(is_along),
            SimpleGeometry::Polygon(_) => false,
        }
    });
    is_in
}

/// Whether a geometry has a place in common with an upright rectangle.
fn meets_rectangle(around: &Envelope, geometry: &Geometry, work: &mut WorkLeft) -> Result<bool, Refused> {
    let Envelope { low, high } = *around;
    let corners = [low, Coord::new(high.x, low.y), high, Coord::new(low.x, high.y)];
    let sides = [0, 1, 2, 3].map(|at: usize| [corners.get(at), corners.get((at + 1) % 4)]);
    let meets_side = |from: &Coord, to: &Coord| {
        sides.iter().any(|side| match side {
            [Some(start), Some(end)] => {
                !matches!(meet([**start, **end], [*from, *to]), SegmentIntersection::Nowhere)
            }
            _ => false,
        })
    };
    let meets_line = |line: &[Coord]| {
        let is_inside = |place: &Coord| around.covers(&Envelope::of([place]));
        line.iter().any(is_inside)
            || line.iter().zip(line.iter().skip(1)).any(|(from, to)| meets_side(from, to))
    };
    let mut found = Ok(false);
    geometry.each_simple(&mut |simple| {
        let meets = match simple {
            SimpleGeometry::Point(place) => Ok(around.covers(&Envelope::of([&place]))),
            SimpleGeometry::Line(line) => Ok(meets_line(line)),
            SimpleGeometry::Polygon(polygon) if polygon.rings().any(meets_line) => Ok(true),
            SimpleGeometry::Polygon(polygon) => {
                in_polygon(low, polygon.rings(), work).map(|location| location != Location::Exterior)
            }
        };
        found = match (found, meets) {
            (Ok(found), Ok(meets)) => Ok(found || meets),
            (Err(refused), _) | (_, Err(refused)) => Err(refused),
        };
    });
    found
}

fn is_mixed(geometry: &Geometry) -> bool {
    matches!(geometry, Geometry::Collection(_))
}

fn any_intersects(a: &Geometry, b: &Geometry, work: &mut WorkLeft) -> Result<bool, Refused> {
    let others = b.members();
    for member in a.members() {
        for other in &others {
            work.spend(1)?;
            if holds(GeometryRelation::Intersects, &member, other, work)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn crosses(matrix: &IntersectionMatrix, dim_a: i8, dim_b: i8) -> bool {
    match (dim_a, dim_b) {
        (0, 1 | 2) | (1, 2) => matrix.is(I, I) && matrix.is(I, E),
        (1 | 2, 0) | (2, 1) => matrix.is(I, I) && matrix.is(E, I),
        (1, 1) => matrix.get(I, I) == 0,
        _ => false,
    }
}

fn overlaps(matrix: &IntersectionMatrix, dim_a: i8, dim_b: i8) -> bool {
    match (dim_a, dim_b) {
        (0, 0) | (2, 2) => matrix.is(I, I) && matrix.is(I, E) && matrix.is(E, I),
        (1, 1) => matrix.get(I, I) == 1 && matrix.is(I, E) && matrix.is(E, I),
        _ => false,
    }
}

fn touches(matrix: &IntersectionMatrix, dim_a: i8, dim_b: i8) -> bool {
    // Points have no boundary to touch with.
    let can_touch = (dim_a, dim_b) != (0, 0) && dim_a >= 0 && dim_b >= 0;
    can_touch && !matrix.is(I, I) && (matrix.is(I, B) || matrix.is(B, I) || matrix.is(B, B))
}
