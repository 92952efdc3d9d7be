//! How two geometries lie to each other: the nine intersections of their interiors, boundaries and exteriors (DE-9IM),
//! and the relations that are defined by them.

use super::Refused;
use super::geometry::Geometry;
use super::graph::{Area, Graph};
use super::limits::Work;
use super::measure;
use super::noding;
use super::segment::Location;

/// The dimensions of the nine intersections, -1 where there is none. Rows are of the first geometry.
pub(super) struct Matrix([[i8; 3]; 3]);

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

impl Matrix {
    #[expect(clippy::indexing_slicing, reason = "there are three places, and no fourth is asked for")]
    fn get(&self, row: usize, column: usize) -> i8 {
        self.0[row][column]
    }

    #[expect(clippy::indexing_slicing, reason = "`place` is one of three")]
    fn raise(&mut self, first: Option<Location>, second: Option<Location>, dimension: i8) {
        let (Some(first), Some(second)) = (first, second) else { return };
        let cell = &mut self.0[place(first)][place(second)];
        *cell = (*cell).max(dimension);
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
pub(super) fn relate(a: &Geometry, b: &Geometry, work: &mut Work) -> Result<Matrix, Refused> {
    let mut matrix = Matrix([[-1; 3]; 3]);
    matrix.raise(Some(Location::Exterior), Some(Location::Exterior), 2);
    let noding = noding::node([a, b], work)?;
    let graph = Graph::new(noding, [&Area::new(a), &Area::new(b)], work)?;
    for node in &graph.nodes {
        matrix.raise(node.label[0], node.label[1], 0);
    }
    for directed in graph.directed.iter().step_by(2) {
        let [first, second] = directed.label;
        matrix.raise(first.on, second.on, 1);
        if let (Some(first), Some(second)) = (first.beside, second.beside) {
            matrix.raise(first[0], second[0], 2);
            matrix.raise(first[1], second[1], 2);
        }
    }
    Ok(matrix)
}

/// A relation of two geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
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
/// As of [`relate`].
pub(super) fn holds(
    relation: Relation,
    a: &Geometry,
    b: &Geometry,
    work: &mut Work,
) -> Result<bool, Refused> {
    let (around_a, around_b) = (a.envelope(), b.envelope());
    let (dim_a, dim_b) = (a.dimension(), b.dimension());
    match relation {
        Relation::Equals if a.is_empty() || b.is_empty() => return Ok(false),
        Relation::Equals if around_a != around_b => return Ok(false),
        Relation::Contains
            if (dim_b == 2 && dim_a < 2)
                || (dim_b == 1 && dim_a < 1 && measure::length(b) > 0.0)
                || !around_a.covers(&around_b)
                || a.is_empty()
                || b.is_empty() =>
        {
            return Ok(false);
        }
        Relation::Intersects if is_mixed(a) || is_mixed(b) => return any_intersects(a, b, work),
        Relation::Intersects | Relation::Crosses | Relation::Overlaps | Relation::Touches
            if !around_a.meets(&around_b) =>
        {
            return Ok(false);
        }
        _ => {}
    }
    let matrix = relate(a, b, work)?;
    Ok(match relation {
        Relation::Contains => matrix.is_contains(),
        Relation::Equals => dim_a == dim_b && matrix.is_contains() && !matrix.is(I, E) && !matrix.is(B, E),
        Relation::Intersects => matrix.is(I, I) || matrix.is(I, B) || matrix.is(B, I) || matrix.is(B, B),
        Relation::Crosses => crosses(&matrix, dim_a, dim_b),
        Relation::Overlaps => overlaps(&matrix, dim_a, dim_b),
        Relation::Touches => touches(&matrix, dim_a, dim_b),
    })
}

fn is_mixed(geometry: &Geometry) -> bool {
    matches!(geometry, Geometry::Collection(_))
}

fn any_intersects(a: &Geometry, b: &Geometry, work: &mut Work) -> Result<bool, Refused> {
    let others = b.members();
    for member in a.members() {
        for other in &others {
            work.spend(1)?;
            if holds(Relation::Intersects, &member, other, work)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn crosses(matrix: &Matrix, dim_a: i8, dim_b: i8) -> bool {
    match (dim_a, dim_b) {
        (0, 1 | 2) | (1, 2) => matrix.is(I, I) && matrix.is(I, E),
        (1 | 2, 0) | (2, 1) => matrix.is(I, I) && matrix.is(E, I),
        (1, 1) => matrix.get(I, I) == 0,
        _ => false,
    }
}

fn overlaps(matrix: &Matrix, dim_a: i8, dim_b: i8) -> bool {
    match (dim_a, dim_b) {
        (0, 0) | (2, 2) => matrix.is(I, I) && matrix.is(I, E) && matrix.is(E, I),
        (1, 1) => matrix.get(I, I) == 1 && matrix.is(I, E) && matrix.is(E, I),
        _ => false,
    }
}

fn touches(matrix: &Matrix, dim_a: i8, dim_b: i8) -> bool {
    // Points have no boundary to touch with.
    let can_touch = (dim_a, dim_b) != (0, 0) && dim_a >= 0 && dim_b >= 0;
    can_touch && !matrix.is(I, I) && (matrix.is(I, B) || matrix.is(B, I) || matrix.is(B, B))
}
