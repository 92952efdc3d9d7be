//! Lengths, areas, centroids and boundaries, computed in the order in which JTS computes them, to the last digit.

use std::collections::BTreeMap;

use super::Refused;
use super::geometry::{Coord, Geometry, Polygon, SimpleGeometry, is_closed};
use super::noding::is_counterclockwise;

fn pairs(coords: &[Coord]) -> impl Iterator<Item = (Coord, Coord)> {
    coords.iter().copied().zip(coords.iter().skip(1).copied())
}

fn line_length(line: &[Coord]) -> f64 {
    pairs(line).map(|(from, to)| from.distance(to)).fold(0.0, |sum, length| sum + length)
}

/// The length of lines and of the rings of areas.
pub(super) fn length(geometry: &Geometry) -> f64 {
    let mut total = 0.0;
    geometry.each_simple(&mut |simple| {
        total += match simple {
            SimpleGeometry::Point(_) => 0.0,
            SimpleGeometry::Line(line) => line_length(line),
            SimpleGeometry::Polygon(polygon) => {
                polygon.rings().map(line_length).fold(0.0, |sum, ring| sum + ring)
            }
        }
    });
    total
}

/// The area within a ring, by the shoelace formula relative to its first place.
fn ring_area(ring: &[Coord]) -> f64 {
    let Some(first) = ring.first() else { return 0.0 };
    let mut sum = 0.0;
    let triples = ring.iter().zip(ring.iter().skip(1)).zip(ring.iter().skip(2));
    for ((before, at), behind) in triples {
        sum += (at.x - first.x) * (before.y - behind.y);
    }
    (sum / 2.0).abs()
}

/// The area of polygons without their holes.
pub(super) fn area(geometry: &Geometry) -> f64 {
    let mut total = 0.0;
    geometry.each_simple(&mut |simple| {
        if let SimpleGeometry::Polygon(polygon) = simple {
            let shell = ring_area(&polygon.shell);
            total += polygon.holes.iter().fold(shell, |area, hole| area - ring_area(hole));
        }
    });
    total
}

/// Sums of places, weighted by what they stand for.
#[derive(Default)]
struct Centroid {
    area_sum: f64,
    area_at: (f64, f64),
    length_sum: f64,
    length_at: (f64, f64),
    points: f64,
    points_at: (f64, f64),
}

/// The centroid of what has the highest dimension.
pub(super) fn centroid(geometry: &Geometry) -> Option<Coord> {
    let mut centroid = Centroid::default();
    geometry.each_simple(&mut |simple| match simple {
        SimpleGeometry::Point(coord) => centroid.add_point(coord),
        SimpleGeometry::Line(line) => centroid.add_line(line),
        SimpleGeometry::Polygon(polygon) => centroid.add_polygon(polygon),
    });
    centroid.get()
}

impl Centroid {
    fn add_point(&mut self, coord: Coord) {
        self.points += 1.0;
        self.points_at.0 += coord.x;
        self.points_at.1 += coord.y;
    }

    fn add_line(&mut self, line: &[Coord]) {
        let mut length = 0.0;
        for (from, to) in pairs(line) {
            let segment = from.distance(to);
            if segment == 0.0 {
                continue;
            }
            length += segment;
            self.length_at.0 += segment * ((from.x + to.x) / 2.0);
            self.length_at.1 += segment * ((from.y + to.y) / 2.0);
        }
        self.length_sum += length;
        if let (true, Some(first)) = (length == 0.0, line.first()) {
            self.add_point(*first);
        }
    }

    fn add_polygon(&mut self, polygon: &Polygon) {
        let Some(base) = polygon.shell.first().copied() else { return };
        for (at, ring) in polygon.rings().enumerate() {
            let is_shell = at == 0;
            let sign = if is_counterclockwise(ring) == is_shell { -1.0 } else { 1.0 };
            for (from, to) in pairs(ring) {
                self.add_triangle(base, from, to, sign);
            }
            self.add_line(ring);
        }
    }

    fn add_triangle(&mut self, a: Coord, b: Coord, c: Coord, sign: f64) {
        let area = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        self.area_at.0 += sign * area * (a.x + b.x + c.x);
        self.area_at.1 += sign * area * (a.y + b.y + c.y);
        self.area_sum += sign * area;
    }

    fn get(&self) -> Option<Coord> {
        if self.area_sum.abs() > 0.0 {
            let of = |sum: f64| sum / 3.0 / self.area_sum;
            return Some(Coord::new(of(self.area_at.0), of(self.area_at.1)));
        }
        if self.length_sum > 0.0 {
            return Some(Coord::new(self.length_at.0 / self.length_sum, self.length_at.1 / self.length_sum));
        }
        (self.points > 0.0)
            .then(|| Coord::new(self.points_at.0 / self.points, self.points_at.1 / self.points))
    }
}

/// The boundary: of an area its rings, of lines the places where an odd number of them end, of points nothing.
///
/// # Errors
/// A collection of mixed members has none.
pub(super) fn boundary(geometry: &Geometry) -> Result<Geometry, Refused> {
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => Ok(Geometry::Collection(Vec::new())),
        Geometry::Line(line) | Geometry::Ring(line) => {
            Ok(Geometry::MultiPoint(match (line.first(), line.last()) {
                (Some(first), Some(last)) if !is_closed(line) => vec![Some(*first), Some(*last)],
                (_, _) => Vec::new(),
            }))
        }
        Geometry::MultiLine(lines) => Ok(line_boundary(lines)),
        Geometry::Polygon(polygon) if polygon.shell.is_empty() => Ok(Geometry::MultiLine(Vec::new())),
        Geometry::Polygon(polygon) if polygon.holes.is_empty() => Ok(Geometry::Ring(polygon.shell.clone())),
        Geometry::Polygon(polygon) => Ok(Geometry::MultiLine(polygon.rings().map(<[_]>::to_vec).collect())),
        Geometry::MultiPolygon(polygons) => {
            let rings = polygons.iter().flat_map(Polygon::rings).filter(|ring| !ring.is_empty());
            Ok(Geometry::MultiLine(rings.map(<[_]>::to_vec).collect()))
        }
        Geometry::Collection(_) => Err(Refused::Invalid),
    }
}

fn line_boundary(lines: &[Vec<Coord>]) -> Geometry {
    let mut ends: BTreeMap<Coord, usize> = BTreeMap::new();
    for line in lines {
        for end in line.first().into_iter().chain(line.last()) {
            *ends.entry(*end).or_default() += 1;
        }
    }
    let odd: Vec<Coord> = ends.into_iter().filter(|(_, count)| count % 2 == 1).map(|(end, _)| end).collect();
    match odd.as_slice() {
        [only] => Geometry::Point(Some(*only)),
        _ => Geometry::MultiPoint(odd.into_iter().map(Some).collect()),
    }
}
