//! Convex hulls: a Graham scan from the southernmost place, with the clock.

use std::cmp::Ordering;

use super::geometry::{Coord, Geometry, Polygon};
use super::segment::{in_box, side};
use durward_functions::jvm::hash_table_order;

/// The smallest convex geometry around all places: a point, a line or a polygon.
pub(super) fn convex_hull(geometry: &Geometry) -> Geometry {
    let mut places = geometry.coords();
    places.sort();
    places.dedup();
    match places.as_slice() {
        [] => Geometry::Collection(Vec::new()),
        [only] => Geometry::Point(Some(*only)),
        [_, _] => {
            // The engine keeps the two in a hash table.
            let mut line = distinct(geometry.coords());
            hash_table_order(&mut line, |place| hash_code(*place));
            Geometry::Line(line)
        }
        _ => around(places),
    }
}

/// In the order in which they come first.
fn distinct(coords: Vec<Coord>) -> Vec<Coord> {
    let mut distinct: Vec<Coord> = Vec::new();
    for coord in coords {
        if !distinct.contains(&coord) {
            distinct.push(coord);
        }
    }
    distinct
}

/// `Coordinate.hashCode`.
fn hash_code(place: Coord) -> i32 {
    let of = |ordinate: f64| {
        let bits = ordinate.to_bits();
        let folded = (bits ^ (bits >> 32)) & u64::from(u32::MAX);
        u32::try_from(folded).unwrap_or_default().cast_signed()
    };
    let step = |hash: i32, ordinate| 37_i32.wrapping_mul(hash).wrapping_add(of(ordinate));
    step(step(17, place.x), place.y)
}

/// Of three places and more.
fn around(mut places: Vec<Coord>) -> Geometry {
    let south = |a: &Coord, b: &Coord| a.y.total_cmp(&b.y).then_with(|| a.x.total_cmp(&b.x));
    places.sort_by(south);
    let Some(origin) = places.first().copied() else { return Geometry::Collection(Vec::new()) };
    let rest = places.get_mut(1..).unwrap_or_default();
    rest.sort_by(|a, b| match side(origin, *a, *b) {
        0 => south(a, b),
        1 => Ordering::Greater,
        _ => Ordering::Less,
    });
    let mut hull: Vec<Coord> = places.iter().take(3).copied().collect();
    for place in places.iter().skip(3) {
        while let [.., before, last] = hull.as_slice() {
            if side(*before, *last, *place) <= 0 {
                break;
            }
            hull.pop();
        }
        hull.push(*place);
    }
    hull.push(origin);
    line_or_polygon(&hull)
}

/// Without places between others.
fn line_or_polygon(hull: &[Coord]) -> Geometry {
    let mut ring: Vec<Coord> = Vec::new();
    for (place, next) in hull.iter().zip(hull.iter().skip(1)) {
        let is_between = ring
            .last()
            .is_some_and(|before| side(*before, *place, *next) == 0 && in_box(*before, *next, *place));
        if place != next && !is_between {
            ring.push(*place);
        }
    }
    ring.extend(hull.last());
    if ring.len() <= 3 {
        ring.truncate(2);
        return Geometry::Line(ring);
    }
    Geometry::Polygon(Polygon { shell: ring, holes: Vec::new() })
}
