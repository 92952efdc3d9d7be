//! How far geometries are from each other, and where they are nearest: in the plane, and on the globe between those
//! places.

use geographiclib_rs::{Geodesic, InverseGeodesic};

use super::Refused;
use super::geometry::{Coord, Envelope, Geometry, Polygon, SimpleGeometry};
use super::graph::in_polygon;
use super::limits::WorkLeft;
use super::segment::{Location, SegmentIntersection, distance_to, meet};

/// The nearest two places of two geometries that are known so far.
struct NearestPoints {
    distance: f64,
    /// Whatever is at most so far apart is near enough.
    enough: f64,
    places: Option<[Coord; 2]>,
}

/// What a geometry is made of.
struct GeometryParts<'a> {
    lines: Vec<&'a [Coord]>,
    points: Vec<Coord>,
    polygons: Vec<&'a Polygon>,
    /// The first place of each part.
    firsts: Vec<Coord>,
}

impl<'a> GeometryParts<'a> {
    fn of(geometry: &'a Geometry) -> GeometryParts<'a> {
        let mut parts =
            GeometryParts { lines: Vec::new(), points: Vec::new(), polygons: Vec::new(), firsts: Vec::new() };
        geometry.each_simple(&mut |simple| match simple {
            SimpleGeometry::Point(coord) => {
                parts.points.push(coord);
                parts.firsts.push(coord);
            }
            SimpleGeometry::Line(line) => {
                parts.lines.push(line);
                parts.firsts.extend(line.first());
            }
            SimpleGeometry::Polygon(polygon) => {
                parts.lines.extend(polygon.rings().filter(|ring| !ring.is_empty()));
                parts.polygons.push(polygon);
                parts.firsts.extend(polygon.shell.first());
            }
        });
        parts
    }
}

/// How far two geometries are from each other; 0 where one is empty.
pub(super) fn distance(a: &Geometry, b: &Geometry, work: &mut WorkLeft) -> Result<f64, Refused> {
    if a.is_empty() || b.is_empty() {
        return Ok(0.0);
    }
    Ok(nearest(a, b, 0.0, work)?.distance)
}

/// Whether two geometries are at most so far from each other.
pub(super) fn is_within(a: &Geometry, b: &Geometry, most: f64, work: &mut WorkLeft) -> Result<bool, Refused> {
    // The engine's envelope of nothing lies from 0 to -1.
    let envelope = |geometry: &Geometry| match geometry.is_empty() {
        true => Envelope { low: Coord::new(0.0, 0.0), high: Coord::new(-1.0, -1.0) },
        false => geometry.envelope(),
    };
    if envelope(a).distance(&envelope(b)) > most {
        return Ok(false);
    }
    if a.is_empty() || b.is_empty() {
        return Ok(0.0 <= most);
    }
    Ok(nearest(a, b, most, work)?.distance <= most)
}

/// How far two geometries are from each other on an ellipsoid, between the places that are nearest in the plane, in
/// meters.
///
/// # Errors
/// One is empty, or a latitude is none.
pub(super) fn on_globe(
    a: &Geometry,
    b: &Geometry,
    ellipsoid: [f64; 2],
    work: &mut WorkLeft,
) -> Result<f64, Refused> {
    if a.is_empty() || b.is_empty() {
        return Err(Refused::Invalid);
    }
    let [from, to] = nearest(a, b, 0.0, work)?.places.ok_or(Refused::Invalid)?;
    if from.y.abs() > 90.0 || to.y.abs() > 90.0 {
        return Err(Refused::Invalid);
    }
    let [axis, inverse_flattening] = ellipsoid;
    Ok(Geodesic::new(axis, 1.0 / inverse_flattening).inverse(from.y, from.x, to.y, to.x))
}

fn nearest(a: &Geometry, b: &Geometry, enough: f64, work: &mut WorkLeft) -> Result<NearestPoints, Refused> {
    let mut nearest = NearestPoints { distance: f64::MAX, enough, places: None };
    let (first, second) = (GeometryParts::of(a), GeometryParts::of(b));
    if let (Geometry::Point(Some(from)), Geometry::Point(Some(to))) = (a, b) {
        nearest.take(from.distance(*to), [*from, *to]);
        return Ok(nearest);
    }
    for (within, other) in [(&first, &second), (&second, &first)] {
        nearest.look_inside(within, other, work)?;
    }
    if !nearest.is_done() {
        nearest.look_between(&first, &second, work)?;
    }
    Ok(nearest)
}

impl NearestPoints {
    fn is_done(&self) -> bool {
        self.distance <= self.enough
    }

    fn take(&mut self, distance: f64, places: [Coord; 2]) {
        if distance < self.distance {
            self.distance = distance;
            self.places = Some(places);
        }
    }

    /// Whether a part of the other begins inside an area.
    fn look_inside(
        &mut self,
        within: &GeometryParts,
        other: &GeometryParts,
        work: &mut WorkLeft,
    ) -> Result<(), Refused> {
        for place in &other.firsts {
            for polygon in &within.polygons {
                if self.is_done() {
                    return Ok(());
                }
                if in_polygon(*place, polygon.rings(), work)? != Location::Exterior {
                    self.take(0.0, [*place, *place]);
                }
            }
        }
        Ok(())
    }

    fn look_between(
        &mut self,
        a: &GeometryParts,
        b: &GeometryParts,
        work: &mut WorkLeft,
    ) -> Result<(), Refused> {
        for line in &a.lines {
            for other in &b.lines {
                self.lines(line, other, work)?;
            }
        }
        for line in &a.lines {
            for point in &b.points {
                self.line_and_point(line, *point, false, work)?;
            }
        }
        for line in &b.lines {
            for point in &a.points {
                self.line_and_point(line, *point, true, work)?;
            }
        }
        work.spend(a.points.len().saturating_mul(b.points.len()))?;
        for from in &a.points {
            for to in &b.points {
                if !self.is_done() {
                    self.take(from.distance(*to), [*from, *to]);
                }
            }
        }
        Ok(())
    }

    fn lines(&mut self, line: &[Coord], other: &[Coord], work: &mut WorkLeft) -> Result<(), Refused> {
        work.spend(1)?;
        if self.is_done() {
            return Ok(());
        }
        work.spend(line.len() + other.len())?;
        let around = Envelope::of(other);
        if Envelope::of(line).distance(&around) > self.distance {
            return Ok(());
        }
        for (from, to) in line.iter().zip(line.iter().skip(1)) {
            let envelope = Envelope::of([from, to]);
            if envelope.distance(&around) > self.distance {
                continue;
            }
            work.spend(other.len())?;
            for (other_from, other_to) in other.iter().zip(other.iter().skip(1)) {
                if envelope.distance(&Envelope::of([other_from, other_to])) > self.distance {
                    continue;
                }
                let (p, q) = ([*from, *to], [*other_from, *other_to]);
                let distance = between(p, q);
                if distance < self.distance {
                    self.take(distance, closest(p, q));
                }
                if self.is_done() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn line_and_point(
        &mut self,
        line: &[Coord],
        point: Coord,
        is_turned: bool,
        work: &mut WorkLeft,
    ) -> Result<(), Refused> {
        work.spend(line.len())?;
        if self.is_done() || Envelope::of(line).distance(&Envelope::of([&point])) > self.distance {
            return Ok(());
        }
        for (from, to) in line.iter().zip(line.iter().skip(1)) {
            let segment = [*from, *to];
            let distance = distance_to(point, segment);
            if distance < self.distance {
                let on_line = closest_on(segment, point);
                self.take(distance, if is_turned { [point, on_line] } else { [on_line, point] });
            }
            if self.is_done() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// How far two segments are from each other.
fn between(p: [Coord; 2], q: [Coord; 2]) -> f64 {
    let ([a, b], [c, d]) = (p, q);
    if a == b {
        return distance_to(a, q);
    }
    if c == d {
        return distance_to(d, p);
    }
    if do_cross(p, q) {
        return 0.0;
    }
    distance_to(a, q).min(distance_to(b, q)).min(distance_to(c, p)).min(distance_to(d, p))
}

fn do_cross(p: [Coord; 2], q: [Coord; 2]) -> bool {
    let ([a, b], [c, d]) = (p, q);
    if !Envelope::of(&p).meets(&Envelope::of(&q)) {
        return false;
    }
    let divisor = (b.x - a.x) * (d.y - c.y) - (b.y - a.y) * (d.x - c.x);
    if divisor == 0.0 {
        return false;
    }
    let r = ((a.y - c.y) * (d.x - c.x) - (a.x - c.x) * (d.y - c.y)) / divisor;
    let s = ((a.y - c.y) * (b.x - a.x) - (a.x - c.x) * (b.y - a.y)) / divisor;
    (0.0..=1.0).contains(&r) && (0.0..=1.0).contains(&s)
}

/// The places where two segments are nearest to each other.
fn closest(p: [Coord; 2], q: [Coord; 2]) -> [Coord; 2] {
    if let Some(met) = met(p, q) {
        return [met, met];
    }
    let candidates = [
        [closest_on(p, q[0]), q[0]],
        [closest_on(p, q[1]), q[1]],
        [p[0], closest_on(q, p[0])],
        [p[1], closest_on(q, p[1])],
    ];
    let mut best = candidates[0];
    for pair in candidates {
        if pair[0].distance(pair[1]) < best[0].distance(best[1]) {
            best = pair;
        }
    }
    best
}

fn met(p: [Coord; 2], q: [Coord; 2]) -> Option<Coord> {
    match meet(p, q) {
        SegmentIntersection::Nowhere => None,
        SegmentIntersection::Cross(place)
        | SegmentIntersection::Touch(place)
        | SegmentIntersection::Along(place, _) => Some(place),
    }
}

/// The place of a segment that is nearest to another.
fn closest_on(segment: [Coord; 2], place: Coord) -> Coord {
    let [from, to] = segment;
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx * dx + dy * dy;
    let factor = if place == from {
        0.0
    } else if place == to {
        1.0
    } else {
        ((place.x - from.x) * dx + (place.y - from.y) * dy) / length
    };
    if factor > 0.0 && factor < 1.0 {
        return Coord::new(from.x + factor * dx, from.y + factor * dy);
    }
    if from.distance(place) < to.distance(place) { from } else { to }
}
