//! The area around geometries: the geometry itself, a rectangle along every segment and a fan of triangles at every
//! corner, united.
//!
//! A quarter circle has eight edges, as in JTS, the library of the Java engine, so that corners of results are its
//! corners. JTS draws one line around everything and keeps what lies inside of it; before that it drops corners of the
//! input that are small beside the width, which is not done here.

use std::f64::consts::{FRAC_PI_2, PI};

use super::Refused;
use super::geometry::{Coord, Geometry, Polygon, SimpleGeometry, hypot, is_closed, without_repeated};
use super::limits::WorkLeft;
use super::noding::is_counterclockwise;
use super::overlay::{OverlayOperation, build, combine, nothing};
use super::segment::{SegmentIntersection, meet, side};
use super::union::union_of_members;

/// The angle of one edge of a circle.
const STEP: f64 = FRAC_PI_2 / 8.0;

/// Pieces of a buffer, and where the engine begins to draw around each part of the geometry.
#[derive(Default)]
struct BufferPieces {
    areas: Vec<Polygon>,
    starts: Vec<Coord>,
}

/// The area at most so far from a geometry, or with a negative width, within it and at least so far from its boundary.
///
/// # Errors
/// An area crosses itself, or it takes too long.
pub(super) fn buffer(geometry: &Geometry, width: f64, work: &mut WorkLeft) -> Result<Geometry, Refused> {
    if !width.is_finite() {
        return Err(Refused::Invalid);
    }
    let mut pieces = BufferPieces::default();
    let mut parts = Vec::new();
    geometry.each_simple(&mut |simple| parts.push(simple));
    for part in parts {
        pieces.add(&part, width, work)?;
    }
    if pieces.areas.is_empty() {
        return Ok(nothing(2));
    }
    let united = union_of_members(&Geometry::MultiPolygon(pieces.areas), work)?;
    if width == 0.0 {
        return in_order(&united, work);
    }
    Ok(begun_at(united, &pieces.starts, width.abs()))
}

/// Areas with rings that touch brought into order, by uniting them with nothing; what has no area is dropped.
fn in_order(areas: &Geometry, work: &mut WorkLeft) -> Result<Geometry, Refused> {
    let united = combine(areas, &Geometry::MultiPoint(Vec::new()), OverlayOperation::Union, work)?;
    let mut polygons = Vec::new();
    united.each_simple(&mut |simple| {
        if let SimpleGeometry::Polygon(polygon) = simple {
            polygons.push(polygon.clone());
        }
    });
    Ok(build(Vec::new(), Vec::new(), polygons).unwrap_or_else(|| nothing(2)))
}

impl BufferPieces {
    fn add(&mut self, part: &SimpleGeometry, width: f64, work: &mut WorkLeft) -> Result<(), Refused> {
        match part {
            SimpleGeometry::Polygon(polygon) => self.add_polygon(polygon, width, work),
            SimpleGeometry::Point(_) | SimpleGeometry::Line(_) if width <= 0.0 => Ok(()),
            SimpleGeometry::Point(place) => {
                self.add_circle(*place, width);
                Ok(())
            }
            SimpleGeometry::Line(line) => {
                self.add_line(&without_repeated(line), width);
                Ok(())
            }
        }
    }

    fn push(&mut self, mut ring: Vec<Coord>) {
        ring.dedup();
        ring.extend(ring.first().copied());
        if ring.len() > 3 {
            self.areas.push(Polygon { shell: ring, holes: Vec::new() });
        }
    }

    fn add_circle(&mut self, center: Coord, width: f64) {
        let ring: Vec<Coord> = fan(center, 0.0, -2.0 * PI, width).collect();
        self.starts.extend(ring.first());
        self.push(ring);
    }

    /// A line from both sides, with half circles at its ends.
    fn add_line(&mut self, line: &[Coord], width: f64) {
        let (Some(first), Some(last)) = (line.first(), line.last()) else { return };
        if line.len() < 2 {
            self.add_circle(*first, width);
            return;
        }
        let back: Vec<Coord> = line.iter().rev().copied().collect();
        if is_closed(line) && line.len() > 3 {
            for ring in [line, back.as_slice()] {
                self.add_ring(ring, width);
                if let [first, second, .., before, _] = ring {
                    self.starts.push(corner_of(*before, *first, *second, width));
                }
            }
            return;
        }
        self.add_side(line, width);
        self.add_side(&back, width);
        for (end, path) in [(*last, line), (*first, back.as_slice())] {
            if let [.., before, _] = path {
                let angle = (end.y - before.y).atan2(end.x - before.x);
                let mut ring = vec![offset(end, *before, end, width), end];
                ring.push(offset(end, end, *before, width));
                ring.extend(fan(end, angle - FRAC_PI_2, PI, width).skip(1));
                self.push(ring);
            }
        }
        match line {
            [from, corner, to, ..] => self.starts.push(corner_of(*from, *corner, *to, width)),
            [from, to] => self.starts.push(offset(*to, *from, *to, width)),
            _ => {}
        }
    }

    /// The left side of a line: rectangles, and fans where it turns right.
    fn add_side(&mut self, line: &[Coord], width: f64) {
        for (from, to) in line.iter().zip(line.iter().skip(1)) {
            let along = [offset(*to, *from, *to, width), offset(*from, *from, *to, width)];
            self.push(vec![*from, *to, along[0], along[1]]);
        }
        for corner in line.windows(3) {
            if let [before, at, after] = corner {
                self.add_corner(*before, *at, *after, width);
            }
        }
    }

    fn add_corner(&mut self, before: Coord, at: Coord, after: Coord, width: f64) {
        let turns_back = side(before, at, after) == 0
            && (after.x - at.x) * (at.x - before.x) + (after.y - at.y) * (at.y - before.y) < 0.0;
        if side(before, at, after) >= 0 && !turns_back {
            return;
        }
        let normal = |from: Coord, to: Coord| (to.y - from.y).atan2(to.x - from.x) + FRAC_PI_2;
        let (start, end) = (normal(before, at), normal(at, after));
        let turn = (start - end).rem_euclid(2.0 * PI);
        let mut ring = vec![at, offset(at, before, at, width)];
        ring.extend(fan(at, start, -turn, width).skip(1));
        ring.push(offset(at, at, after, width));
        self.push(ring);
    }

    fn add_polygon(&mut self, polygon: &Polygon, width: f64, work: &mut WorkLeft) -> Result<(), Refused> {
        let mut rim = BufferPieces::default();
        for (at, ring) in polygon.rings().enumerate() {
            let mut ring = without_repeated(ring);
            // The left side of a ring is outside the area: a shell goes with the clock, a hole against it.
            let is_turned = is_counterclockwise(&ring) == (at == 0);
            if is_turned {
                ring.reverse();
            }
            if width < 0.0 {
                ring.reverse();
            }
            rim.add_ring(&ring, width.abs());
            if let [first, second, .., before, _] = ring.as_slice() {
                let corner = corner_of(*before, *first, *second, width.abs());
                let is_fan = side(*before, *first, *second) < 0;
                // The engine keeps the direction of the input.
                let turned = offset(*first, *first, *second, width.abs());
                rim.starts.push(if is_fan && is_turned != (width < 0.0) { turned } else { corner });
            }
        }
        if width >= 0.0 {
            self.areas.push(polygon.clone());
            self.areas.append(&mut rim.areas);
            self.starts.append(&mut rim.starts);
            return Ok(());
        }
        self.starts.append(&mut rim.starts);
        let rim_area = union_of_members(&Geometry::MultiPolygon(rim.areas), work)?;
        let rest =
            combine(&Geometry::Polygon(polygon.clone()), &rim_area, OverlayOperation::Difference, work)?;
        rest.each_simple(&mut |simple| {
            if let SimpleGeometry::Polygon(polygon) = simple {
                self.areas.push(polygon.clone());
            }
        });
        Ok(())
    }

    fn add_ring(&mut self, ring: &[Coord], width: f64) {
        if width == 0.0 {
            return;
        }
        self.add_side(ring, width);
        if let [first, second, .., before, _] = ring {
            self.add_corner(*before, *first, *second, width);
        }
    }
}

/// A place left of the line from one place to another, as far as the buffer is wide.
fn offset(place: Coord, from: Coord, to: Coord, width: f64) -> Coord {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = hypot(dx, dy);
    let (ux, uy) = (width * dx / length, width * dy / length);
    Coord::new(place.x - uy, place.y + ux)
}

/// Where the left sides of two segments meet in front of a corner, or where the first ends behind it.
fn corner_of(before: Coord, at: Coord, after: Coord, width: f64) -> Coord {
    let first = [offset(before, before, at, width), offset(at, before, at, width)];
    let second = [offset(at, at, after, width), offset(after, at, after, width)];
    match meet(first, second) {
        SegmentIntersection::Cross(place) if side(before, at, after) > 0 => place,
        _ => first[1],
    }
}

/// Places of an arc, without its end.
fn fan(center: Coord, start: f64, turn: f64, width: f64) -> impl Iterator<Item = Coord> {
    let count = (turn.abs() / STEP + 0.5).floor();
    let step = turn / count.max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most thirty-two")]
    let count = count as u32;
    (0..count).map(move |at| {
        let angle = start + f64::from(at) * step;
        Coord::new(center.x + width * snapped(angle.cos()), center.y + width * snapped(angle.sin()))
    })
}

/// A sine or cosine that would be 0 but for rounding is.
fn snapped(ratio: f64) -> f64 {
    if ratio.abs() < 5e-16 { 0.0 } else { ratio }
}

/// With shells that begin where the engine's do, the easternmost first.
fn begun_at(geometry: Geometry, starts: &[Coord], width: f64) -> Geometry {
    let begin = |mut polygon: Polygon| {
        let is_near = |start: &Coord, place: &Coord| start.distance(*place) <= width * 1e-9;
        let position = |start: &Coord| polygon.shell.iter().position(|place| is_near(start, place));
        let start = starts.iter().find_map(position);
        if let Some(start) = start {
            polygon.shell.pop();
            polygon.shell.rotate_left(start);
            polygon.shell.extend(polygon.shell.first().copied());
        }
        polygon
    };
    match geometry {
        Geometry::Polygon(polygon) => Geometry::Polygon(begin(polygon)),
        Geometry::MultiPolygon(polygons) => {
            let mut polygons: Vec<Polygon> = polygons.into_iter().map(begin).collect();
            let east = |polygon: &Polygon| polygon.shell.iter().map(|place| place.x).fold(f64::MIN, f64::max);
            polygons.sort_by(|a, b| east(b).total_cmp(&east(a)));
            Geometry::MultiPolygon(polygons)
        }
        other => other,
    }
}
