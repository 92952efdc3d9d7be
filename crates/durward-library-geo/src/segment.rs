//! Segments: on which side of one a place is, where two meet, which of many can meet at all, and where a place is
//! relative to a ring.

use super::Refused;
use super::geometry::Coord;
use super::limits::WorkLeft;
use durward_functions::double::Double;

/// 1 when the place is left of the line from `a` to `b`, -1 right of it, 0 on it. Exact.
pub(super) fn side(a: Coord, b: Coord, place: Coord) -> i8 {
    let at = |c: Coord| robust::Coord { x: c.x, y: c.y };
    let turn = robust::orient2d(at(a), at(b), at(place));
    if turn > 0.0 {
        1
    } else if turn < 0.0 {
        -1
    } else {
        0
    }
}

/// Whether the place is in the upright rectangle that two others span.
pub(super) fn in_box(a: Coord, b: Coord, place: Coord) -> bool {
    a.x.min(b.x) <= place.x && place.x <= a.x.max(b.x) && a.y.min(b.y) <= place.y && place.y <= a.y.max(b.y)
}

fn boxes_meet(p: [Coord; 2], q: [Coord; 2]) -> bool {
    let [a, b] = p;
    let [c, d] = q;
    a.x.min(b.x) <= c.x.max(d.x)
        && c.x.min(d.x) <= a.x.max(b.x)
        && a.y.min(b.y) <= c.y.max(d.y)
        && c.y.min(d.y) <= a.y.max(b.y)
}

/// Where two segments meet.
#[derive(Clone, Copy, Debug)]
pub(super) enum SegmentIntersection {
    Nowhere,
    /// They cross within both.
    Cross(Coord),
    /// An end of one lies on the other.
    Touch(Coord),
    /// They lie on each other between these places.
    Along(Coord, Coord),
}

impl SegmentIntersection {
    pub(super) fn coords(self) -> impl Iterator<Item = Coord> {
        let (first, second) = match self {
            SegmentIntersection::Nowhere => (None, None),
            SegmentIntersection::Cross(coord) | SegmentIntersection::Touch(coord) => (Some(coord), None),
            SegmentIntersection::Along(from, to) => (Some(from), Some(to)),
        };
        first.into_iter().chain(second)
    }
}

/// Where the segments from `p[0]` to `p[1]` and from `q[0]` to `q[1]` meet.
pub(super) fn meet(p: [Coord; 2], q: [Coord; 2]) -> SegmentIntersection {
    if !boxes_meet(p, q) {
        return SegmentIntersection::Nowhere;
    }
    let [p1, p2] = p;
    let [q1, q2] = q;
    let sides_q = [side(p1, p2, q1), side(p1, p2, q2)];
    let sides_p = [side(q1, q2, p1), side(q1, q2, p2)];
    let same = |sides: [i8; 2]| matches!(sides, [1, 1] | [-1, -1]);
    if same(sides_q) || same(sides_p) {
        return SegmentIntersection::Nowhere;
    }
    match (sides_q, sides_p) {
        ([0, 0], [0, 0]) => along(p, q),
        ([0, _], _) | ([_, 0], _) | (_, [0, _]) | (_, [_, 0]) => {
            SegmentIntersection::Touch(touch(p, q, sides_q, sides_p))
        }
        _ => SegmentIntersection::Cross(with_height(crossing(p, q), p, q)),
    }
}

/// The end of one segment that lies on the other.
fn touch(p: [Coord; 2], q: [Coord; 2], sides_q: [i8; 2], sides_p: [i8; 2]) -> Coord {
    let [p1, p2] = p;
    let [q1, q2] = q;
    for (end, other) in [(p1, q1), (p1, q2), (p2, q1), (p2, q2)] {
        if end == other {
            return Coord { z: end.z.or(other.z), ..end };
        }
    }
    let (end, segment) = match (sides_q, sides_p) {
        ([0, _], _) => (q1, p),
        ([_, 0], _) => (q2, p),
        (_, [0, _]) => (p1, q),
        _ => (p2, q),
    };
    Coord { z: end.z.or_else(|| height(end, segment)), ..end }
}

/// Where two segments on one line meet.
fn along(p: [Coord; 2], q: [Coord; 2]) -> SegmentIntersection {
    let [p1, p2] = p;
    let [q1, q2] = q;
    let raised = |end: Coord, segment| Coord { z: end.z.or_else(|| height(end, segment)), ..end };
    let (q1_in, q2_in) = (in_box(p1, p2, q1), in_box(p1, p2, q2));
    let (p1_in, p2_in) = (in_box(q1, q2, p1), in_box(q1, q2, p2));
    let (from, to, more) = match (q1_in, q2_in, p1_in, p2_in) {
        (true, true, _, _) => return SegmentIntersection::Along(raised(q1, p), raised(q2, p)),
        (_, _, true, true) => return SegmentIntersection::Along(raised(p1, q), raised(p2, q)),
        (true, _, true, _) => (q1, p1, q2_in || p2_in),
        (true, _, _, true) => (q1, p2, q2_in || p1_in),
        (_, true, true, _) => (q2, p1, q1_in || p2_in),
        (_, true, _, true) => (q2, p2, q1_in || p1_in),
        _ => return SegmentIntersection::Nowhere,
    };
    if from == to && !more {
        return SegmentIntersection::Touch(raised(from, p));
    }
    SegmentIntersection::Along(raised(from, p), raised(to, q))
}

/// Where two segments that cross do so: computed with twice the digits of doubles, then rounded.
fn crossing(p: [Coord; 2], q: [Coord; 2]) -> Coord {
    // Homogeneous coordinates of the lines through both, and of where they meet.
    let line = |[a, b]: [Coord; 2]| {
        let w = Double::product(a.x, b.y) - Double::product(b.x, a.y);
        (Double::difference(a.y, b.y), Double::difference(b.x, a.x), w)
    };
    let ((px, py, pw), (qx, qy, qw)) = (line(p), line(q));
    let w = px * qy - qx * py;
    let met = Coord::new(((py * qw - qy * pw) / w).value(), ((qx * pw - px * qw) / w).value());
    if in_box(p[0], p[1], met) && in_box(q[0], q[1], met) { met } else { nearest_end(p, q) }
}

/// The end of one segment that is nearest to the other.
fn nearest_end(p: [Coord; 2], q: [Coord; 2]) -> Coord {
    let [p1, p2] = p;
    let [q1, q2] = q;
    let mut nearest = (p1, distance_to(p1, q));
    for (end, segment) in [(p2, q), (q1, p), (q2, p)] {
        let distance = distance_to(end, segment);
        if distance < nearest.1 {
            nearest = (end, distance);
        }
    }
    nearest.0
}

fn with_height(place: Coord, p: [Coord; 2], q: [Coord; 2]) -> Coord {
    let z = match (height(place, p), height(place, q)) {
        (Some(a), Some(b)) => Some(f64::midpoint(a, b)),
        (a, b) => a.or(b),
    };
    Coord { z, ..place }
}

/// The height of a segment at a place on it.
fn height(place: Coord, segment: [Coord; 2]) -> Option<f64> {
    let [a, b] = segment;
    let (Some(from), Some(to)) = (a.z, b.z) else { return a.z.or(b.z) };
    if place == a || from == to {
        return Some(from);
    }
    if place == b {
        return Some(to);
    }
    let square = |c: Coord| (c.x - a.x) * (c.x - a.x) + (c.y - a.y) * (c.y - a.y);
    Some(from + (to - from) * (square(place) / square(b)).sqrt())
}

/// How far the place is from the segment.
pub(super) fn distance_to(place: Coord, segment: [Coord; 2]) -> f64 {
    let [a, b] = segment;
    if a == b {
        return place.distance(a);
    }
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let length = dx * dx + dy * dy;
    let r = ((place.x - a.x) * dx + (place.y - a.y) * dy) / length;
    if r <= 0.0 {
        return place.distance(a);
    }
    if r >= 1.0 {
        return place.distance(b);
    }
    let s = ((a.y - place.y) * dx - (a.x - place.x) * dy) / length;
    s.abs() * length.sqrt()
}

/// A segment of a chain of places.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) ends: [Coord; 2],
    /// Which chain, and which segment of it.
    pub(super) chain: usize,
    pub(super) at: usize,
}

/// The segments of a chain.
pub(super) fn segments(chain: usize, coords: &[Coord]) -> impl Iterator<Item = Segment> {
    let pairs = coords.iter().zip(coords.iter().skip(1)).enumerate();
    pairs.map(move |(at, (from, to))| Segment { ends: [*from, *to], chain, at })
}

/// Calls with every pair of segments whose upright rectangles meet, once: a sweep from west to east.
///
/// # Errors
/// There are too many to compare, or what is called fails.
pub(super) fn each_pair(
    mut segments: Vec<Segment>,
    work: &mut WorkLeft,
    mut visit: impl FnMut(&Segment, &Segment) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let west = |segment: &Segment| segment.ends[0].x.min(segment.ends[1].x);
    let east = |segment: &Segment| segment.ends[0].x.max(segment.ends[1].x);
    segments.sort_by(|a, b| west(a).total_cmp(&west(b)));
    let mut open: Vec<Segment> = Vec::new();
    for segment in segments {
        open.retain(|other| east(other) >= west(&segment));
        work.spend(open.len())?;
        for other in &open {
            if boxes_meet(other.ends, segment.ends) {
                // In the order of the chains, whichever lies further west.
                let (first, second) = if (other.chain, other.at) <= (segment.chain, segment.at) {
                    (other, &segment)
                } else {
                    (&segment, other)
                };
                visit(first, second)?;
            }
        }
        open.push(segment);
    }
    Ok(())
}

/// Where a place is relative to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Interior,
    Boundary,
    Exterior,
}

/// Where the place is relative to a ring.
pub(super) fn in_ring(place: Coord, ring: &[Coord]) -> Location {
    let mut crossings = 0_usize;
    for (a, b) in ring.iter().zip(ring.iter().skip(1)) {
        if place == *a || place == *b {
            return Location::Boundary;
        }
        if a.y == place.y && b.y == place.y {
            if a.x.min(b.x) <= place.x && place.x <= a.x.max(b.x) {
                return Location::Boundary;
            }
            continue;
        }
        if (a.y > place.y) == (b.y > place.y) {
            continue;
        }
        // A ray to the east meets the segment when the place is left of it, seen upwards.
        let upwards = if b.y > a.y { 1 } else { -1 };
        match side(*a, *b, place) * upwards {
            0 => return Location::Boundary,
            1 => crossings += 1,
            _ => {}
        }
    }
    if crossings % 2 == 1 { Location::Interior } else { Location::Exterior }
}
