//! Whether geometries are simple, and whether areas are made as they must be (OGC Simple Features 6.1.11): rings do not
//! cross or lie on each other, holes lie in their shell and not in each other, and the interior is in one piece.

use std::collections::{HashMap, HashSet};

use super::Refused;
use super::geometry::{Coord, Envelope, Geometry, Polygon, is_closed, without_repeated};
use super::graph::in_polygon;
use super::limits::WorkLeft;
use super::segment::{Location, Segment, SegmentIntersection, each_pair, in_ring, meet, segments, side};

/// Whether no line, ring or point of the geometry meets itself. Lines of one geometry may meet at ends.
pub(super) fn is_simple(geometry: &Geometry, work: &mut WorkLeft) -> Result<bool, Refused> {
    match geometry {
        Geometry::Point(_) => Ok(true),
        Geometry::Line(line) | Geometry::Ring(line) => are_lines_simple(&[line], work),
        Geometry::MultiLine(lines) => {
            are_lines_simple(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>(), work)
        }
        Geometry::MultiPoint(points) => {
            let mut places: Vec<Coord> = points.iter().flatten().copied().collect();
            places.sort();
            Ok(places.windows(2).all(|pair| pair.first() != pair.last()))
        }
        Geometry::Polygon(polygon) => are_rings_simple(polygon, work),
        Geometry::MultiPolygon(polygons) => all(polygons, |polygon| are_rings_simple(polygon, work)),
        Geometry::Collection(members) => all(members, |member| is_simple(member, work)),
    }
}

fn all<T>(items: &[T], mut test: impl FnMut(&T) -> Result<bool, Refused>) -> Result<bool, Refused> {
    for item in items {
        if !test(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn are_rings_simple(polygon: &Polygon, work: &mut WorkLeft) -> Result<bool, Refused> {
    all(&polygon.rings().collect::<Vec<_>>(), |ring| are_lines_simple(&[ring], work))
}

fn are_lines_simple(lines: &[&[Coord]], work: &mut WorkLeft) -> Result<bool, Refused> {
    let lines: Vec<&[Coord]> = lines.iter().map(|line| trimmed(line)).collect();
    let runs: Vec<Vec<usize>> = lines.iter().map(|line| runs(line)).collect();
    let all = lines.iter().enumerate().flat_map(|(at, line)| segments(at, line)).collect();
    let run = |segment: &Segment| runs.get(segment.chain).and_then(|runs| runs.get(segment.at));
    let mut is_simple = true;
    each_pair(all, work, |p, q| {
        let is_one_run = p.chain == q.chain && run(p) == run(q);
        is_simple &= is_one_run || !meets_badly(&lines, p, q);
        Ok(())
    })?;
    Ok(is_simple)
}

/// Without places that are repeated at its ends.
fn trimmed(line: &[Coord]) -> &[Coord] {
    let (mut from, mut to) = (0, line.len());
    while to - from >= 2 && line.get(from) == line.get(from + 1) {
        from += 1;
    }
    while to - from >= 2 && line.get(to - 1) == line.get(to - 2) {
        to -= 1;
    }
    line.get(from..to).unwrap_or_default()
}

/// For each segment the number of the run it is in: segments of one run go to one quadrant, and cannot meet each other.
/// The engine does not compare them: a place that is repeated within a run is none where the line meets itself.
fn runs(line: &[Coord]) -> Vec<usize> {
    let mut runs = Vec::with_capacity(line.len());
    let (mut run, mut known) = (0, None);
    for (from, to) in line.iter().zip(line.iter().skip(1)) {
        let quadrant = (from != to).then_some((to.x >= from.x, to.y >= from.y));
        if quadrant.is_some() && known.is_some() && quadrant != known {
            run += 1;
            known = None;
        }
        known = known.or(quadrant);
        runs.push(run);
    }
    runs
}

fn meets_badly(lines: &[&[Coord]], p: &Segment, q: &Segment) -> bool {
    let place = match meet(p.ends, q.ends) {
        SegmentIntersection::Nowhere => return false,
        SegmentIntersection::Cross(_) | SegmentIntersection::Along(..) => return true,
        SegmentIntersection::Touch(place) => place,
    };
    if !p.ends.contains(&place) || !q.ends.contains(&place) {
        return true;
    }
    let is_own = p.chain == q.chain;
    if is_own && p.at.abs_diff(q.at) <= 1 {
        return false;
    }
    let line = |segment: &Segment| lines.get(segment.chain).copied().unwrap_or_default();
    let is_end = |segment: &Segment| {
        let (line, last) = (line(segment), line(segment).len().saturating_sub(2));
        (segment.at == 0 && line.first() == Some(&place))
            || (segment.at == last && line.last() == Some(&place))
    };
    // The end of a closed line is within it.
    !is_end(p) || !is_end(q) || (!is_own && (is_closed(line(p)) || is_closed(line(q))))
}

/// Whether the geometry is made as it must be.
pub(super) fn is_valid(geometry: &Geometry, work: &mut WorkLeft) -> Result<bool, Refused> {
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => Ok(true),
        Geometry::Line(line) => Ok(has_length(line)),
        Geometry::Ring(ring) => Ok(is_ring(ring) && are_lines_simple(&[ring], work)?),
        Geometry::MultiLine(lines) => Ok(lines.iter().all(|line| has_length(line))),
        Geometry::Polygon(polygon) => is_area(std::slice::from_ref(polygon), work),
        Geometry::MultiPolygon(polygons) => is_area(polygons, work),
        Geometry::Collection(members) => all(members, |member| is_valid(member, work)),
    }
}

fn has_length(line: &[Coord]) -> bool {
    line.is_empty() || line.iter().any(|place| Some(place) != line.first())
}

fn is_ring(ring: &[Coord]) -> bool {
    ring.is_empty() || without_repeated(ring).len() >= 4
}

/// The rings of areas.
struct AreaRings {
    rings: Vec<Vec<Coord>>,
    /// Which polygon each is of.
    of: Vec<usize>,
    /// Which ring meets others at which place.
    touches: HashSet<(usize, [u64; 2])>,
}

fn is_area(polygons: &[Polygon], work: &mut WorkLeft) -> Result<bool, Refused> {
    let mut area = AreaRings { rings: Vec::new(), of: Vec::new(), touches: HashSet::new() };
    for (at, polygon) in polygons.iter().enumerate() {
        for ring in polygon.rings().filter(|ring| !ring.is_empty()) {
            if !is_ring(ring) {
                return Ok(false);
            }
            area.rings.push(without_repeated(ring));
            area.of.push(at);
        }
    }
    Ok(area.meets_well(work)?
        && all(polygons, |polygon| are_holes_in_shell(polygon, work))?
        && all(polygons, |polygon| are_holes_apart(polygon, work))?
        && are_polygons_apart(polygons, work)?
        && area.is_connected())
}

impl AreaRings {
    fn meets_well(&mut self, work: &mut WorkLeft) -> Result<bool, Refused> {
        let AreaRings { rings, of, touches } = self;
        let all = rings.iter().enumerate().flat_map(|(at, ring)| segments(at, ring)).collect();
        let mut meets_well = true;
        each_pair(all, work, |p, q| {
            let touch = bad_or_touch(rings, p, q, &mut meets_well);
            if let Some(place) = touch.filter(|_| of.get(p.chain) == of.get(q.chain)) {
                let bits = [(place.x + 0.0).to_bits(), (place.y + 0.0).to_bits()];
                touches.extend([(p.chain, bits), (q.chain, bits)]);
            }
            Ok(())
        })?;
        Ok(meets_well)
    }

    /// Whether rings of a polygon that touch do not enclose a part of its interior: rings and the places where they
    /// touch have no way around.
    fn is_connected(&self) -> bool {
        let mut places: HashMap<[u64; 2], usize> = HashMap::new();
        let mut parent: Vec<usize> = (0..self.rings.len()).collect();
        for (ring, place) in &self.touches {
            let place = *places.entry(*place).or_insert_with(|| {
                parent.push(parent.len());
                parent.len() - 1
            });
            let (a, b) = (root(&mut parent, *ring), root(&mut parent, place));
            if a == b {
                return false;
            }
            if let Some(slot) = parent.get_mut(a) {
                *slot = b;
            }
        }
        true
    }
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while let Some(above) = parent.get(at).copied() {
        if above == at {
            break;
        }
        let further = parent.get(above).copied().unwrap_or(above);
        if let Some(slot) = parent.get_mut(at) {
            *slot = further;
        }
        at = further;
    }
    at
}

/// Finds that segments of rings meet as they must not, or gives the place where two rings touch.
fn bad_or_touch(rings: &[Vec<Coord>], p: &Segment, q: &Segment, is_well: &mut bool) -> Option<Coord> {
    let place = match meet(p.ends, q.ends) {
        SegmentIntersection::Nowhere => return None,
        SegmentIntersection::Cross(_) | SegmentIntersection::Along(..) => {
            *is_well = false;
            return None;
        }
        SegmentIntersection::Touch(place) => place,
    };
    let ring = |segment: &Segment| rings.get(segment.chain).map(Vec::as_slice).unwrap_or_default();
    if p.chain == q.chain {
        let apart = p.at.abs_diff(q.at);
        *is_well &= apart <= 1 || apart + 2 == ring(p).len();
        return None;
    }
    // The segments that begin at this place tell for those that end there.
    if place == p.ends[1] || place == q.ends[1] {
        return None;
    }
    let around = |segment: &Segment| {
        let [from, to] = segment.ends;
        let ring = ring(segment);
        let before = if segment.at > 0 { segment.at - 1 } else { ring.len().saturating_sub(2) };
        [if place == from { ring.get(before).copied().unwrap_or(from) } else { from }, to]
    };
    *is_well &= !do_cross(place, around(p), around(q));
    Some(place)
}

/// Whether two lines through a place cross there, each given by where it comes from and goes to.
fn do_cross(place: Coord, a: [Coord; 2], b: [Coord; 2]) -> bool {
    let [from, to] = a;
    match b.map(|coord| angle_between(place, from, coord, to)).into() {
        (Some(first), Some(second)) => first != second,
        _ => false,
    }
}

/// Whether a direction lies between two others against the clock; none on one of them.
fn angle_between(center: Coord, from: Coord, at: Coord, to: Coord) -> Option<bool> {
    let is_same = |a: Coord, b: Coord| {
        side(center, a, b) == 0
            && ((a.x > center.x) == (b.x > center.x) && (a.x < center.x) == (b.x < center.x))
            && ((a.y > center.y) == (b.y > center.y) && (a.y < center.y) == (b.y < center.y))
    };
    if is_same(from, at) || is_same(to, at) {
        return None;
    }
    let (from_at, at_to, from_to) = (side(center, from, at), side(center, at, to), side(center, from, to));
    Some(if from_to > 0 { from_at > 0 && at_to > 0 } else { from_at > 0 || at_to > 0 })
}

/// Where a ring is that does not cross another: by the first place of it that does not lie on that.
fn locate_ring(
    ring: &[Coord],
    mut locate: impl FnMut(Coord) -> Result<Location, Refused>,
) -> Result<Location, Refused> {
    for place in ring {
        match locate(*place)? {
            Location::Boundary => {}
            found => return Ok(found),
        }
    }
    let middles = ring.iter().zip(ring.iter().skip(1));
    for (from, to) in middles {
        let middle = Coord::new(f64::midpoint(from.x, to.x), f64::midpoint(from.y, to.y));
        match locate(middle)? {
            Location::Boundary => {}
            found => return Ok(found),
        }
    }
    Ok(Location::Boundary)
}

fn are_holes_in_shell(polygon: &Polygon, work: &mut WorkLeft) -> Result<bool, Refused> {
    let around = Envelope::of(&polygon.shell);
    all(&polygon.holes, |hole| {
        if hole.is_empty() {
            return Ok(true);
        }
        let location = locate_ring(hole, |place| {
            work.spend(polygon.shell.len())?;
            Ok(in_ring(place, &polygon.shell))
        })?;
        Ok(around.covers(&Envelope::of(hole)) && location == Location::Interior)
    })
}

fn are_holes_apart(polygon: &Polygon, work: &mut WorkLeft) -> Result<bool, Refused> {
    let holes: Vec<(Envelope, &[Coord])> =
        polygon.holes.iter().map(|hole| (Envelope::of(hole), hole.as_slice())).collect();
    for (at, (inner_around, inner)) in holes.iter().enumerate() {
        work.spend(holes.len())?;
        for (other, (outer_around, outer)) in holes.iter().enumerate() {
            if at == other || !outer_around.covers(inner_around) {
                continue;
            }
            let location = locate_ring(inner, |place| {
                work.spend(outer.len())?;
                Ok(in_ring(place, outer))
            })?;
            if location == Location::Interior {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn are_polygons_apart(polygons: &[Polygon], work: &mut WorkLeft) -> Result<bool, Refused> {
    let around: Vec<Envelope> = polygons.iter().map(|polygon| Envelope::of(&polygon.shell)).collect();
    for (at, (polygon, inner)) in polygons.iter().zip(&around).enumerate() {
        work.spend(polygons.len())?;
        for (other, (outer, outer_around)) in polygons.iter().zip(&around).enumerate() {
            if at == other || !outer_around.covers(inner) || polygon.shell.is_empty() {
                continue;
            }
            let location = locate_ring(&polygon.shell, |place| in_polygon(place, outer.rings(), work))?;
            if location == Location::Interior {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
