//! Geometries as the library `geo` computes with them, and what can be told of them at sight.

use std::cmp::Ordering;

/// A place. Two are equal when they lie on each other in the plane; the height is carried along.
///
/// INVARIANT: ordinates that were read are 0 or between [`ORDINATE_MIN`] and [`ORDINATE_MAX`] without their sign, so
/// that predicates neither overflow nor underflow, and sorting by them has one order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coord {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: Option<f64>,
}

/// The largest ordinate that is read: the product of three fits in a double.
pub(super) const ORDINATE_MAX: f64 = 1e100;

/// The smallest ordinate that is read beside 0: products of differences stay exact.
pub(super) const ORDINATE_MIN: f64 = 1e-100;

impl Coord {
    pub(super) const fn new(x: f64, y: f64) -> Coord {
        Coord { x, y, z: None }
    }

    pub(super) fn distance(self, other: Coord) -> f64 {
        hypot(self.x - other.x, self.y - other.y)
    }

    pub(super) fn is_in_range(self) -> bool {
        let fits = |v: f64| v == 0.0 || (ORDINATE_MIN..=ORDINATE_MAX).contains(&v.abs());
        fits(self.x) && fits(self.y) && self.z.is_none_or(f64::is_finite)
    }
}

impl PartialEq for Coord {
    fn eq(&self, other: &Coord) -> bool {
        self.x == other.x && self.y == other.y
    }
}

impl Eq for Coord {}

impl Ord for Coord {
    /// From west to east, then from south to north.
    fn cmp(&self, other: &Coord) -> Ordering {
        // Adding zero makes -0 and 0 one number.
        let by = |a: f64, b: f64| (a + 0.0).total_cmp(&(b + 0.0));
        by(self.x, other.x).then_with(|| by(self.y, other.y))
    }
}

impl PartialOrd for Coord {
    fn partial_cmp(&self, other: &Coord) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A polygon: rings repeat their first place at their end. Without a shell it is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Polygon {
    pub(super) shell: Vec<Coord>,
    pub(super) holes: Vec<Vec<Coord>>,
}

impl Polygon {
    pub(super) fn rings(&self) -> impl Iterator<Item = &[Coord]> {
        std::iter::once(self.shell.as_slice()).chain(self.holes.iter().map(Vec::as_slice))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Geometry {
    Point(Option<Coord>),
    Line(Vec<Coord>),
    /// A closed line of its own type: the boundary of a polygon.
    Ring(Vec<Coord>),
    Polygon(Polygon),
    MultiPoint(Vec<Option<Coord>>),
    MultiLine(Vec<Vec<Coord>>),
    MultiPolygon(Vec<Polygon>),
    Collection(Vec<Geometry>),
}

/// A geometry and the number of its reference system, which is carried along and not used.
#[derive(Clone, Debug)]
pub(super) struct GeometryWithSrid {
    pub(super) geometry: Geometry,
    pub(super) srid: i32,
}

/// A part of a geometry that is no collection.
pub(super) enum SimpleGeometry<'a> {
    Point(Coord),
    Line(&'a [Coord]),
    Polygon(&'a Polygon),
}

/// The smallest upright rectangle around places. Around none it is upside down, and meets nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Envelope {
    pub(super) low: Coord,
    pub(super) high: Coord,
}

impl Envelope {
    pub(super) fn of<'a>(coords: impl IntoIterator<Item = &'a Coord>) -> Envelope {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut envelope = Envelope { low: Coord::new(low, low), high: Coord::new(high, high) };
        for coord in coords {
            envelope.low = Coord::new(envelope.low.x.min(coord.x), envelope.low.y.min(coord.y));
            envelope.high = Coord::new(envelope.high.x.max(coord.x), envelope.high.y.max(coord.y));
        }
        envelope
    }

    pub(super) fn meets(&self, other: &Envelope) -> bool {
        self.low.x <= other.high.x
            && self.high.x >= other.low.x
            && self.low.y <= other.high.y
            && self.high.y >= other.low.y
    }

    pub(super) fn covers(&self, other: &Envelope) -> bool {
        self.low.x <= other.low.x
            && self.high.x >= other.high.x
            && self.low.y <= other.low.y
            && self.high.y >= other.high.y
    }

    pub(super) fn distance(&self, other: &Envelope) -> f64 {
        let gap = |low: f64, high: f64| f64::max(low - high, 0.0);
        let dx = gap(other.low.x, self.high.x).max(gap(self.low.x, other.high.x));
        let dy = gap(other.low.y, self.high.y).max(gap(self.low.y, other.high.y));
        hypot(dx, dy)
    }
}

impl Geometry {
    /// The name that GeoJSON has for it, and `LinearRing`, for which GeoJSON has none.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Geometry::Point(_) => "Point",
            Geometry::Line(_) => "LineString",
            Geometry::Ring(_) => "LinearRing",
            Geometry::Polygon(_) => "Polygon",
            Geometry::MultiPoint(_) => "MultiPoint",
            Geometry::MultiLine(_) => "MultiLineString",
            Geometry::MultiPolygon(_) => "MultiPolygon",
            Geometry::Collection(_) => "GeometryCollection",
        }
    }

    /// Whether it is of one of the types that hold others.
    pub(super) fn is_multiple(&self) -> bool {
        match self {
            Geometry::Point(_) | Geometry::Line(_) | Geometry::Ring(_) | Geometry::Polygon(_) => false,
            Geometry::MultiPoint(_)
            | Geometry::MultiLine(_)
            | Geometry::MultiPolygon(_)
            | Geometry::Collection(_) => true,
        }
    }

    /// How many members it has; one that holds no others has itself.
    pub(super) fn member_count(&self) -> usize {
        match self {
            Geometry::Point(_) | Geometry::Line(_) | Geometry::Ring(_) | Geometry::Polygon(_) => 1,
            Geometry::MultiPoint(points) => points.len(),
            Geometry::MultiLine(lines) => lines.len(),
            Geometry::MultiPolygon(polygons) => polygons.len(),
            Geometry::Collection(members) => members.len(),
        }
    }

    /// Its members, in order.
    pub(super) fn members(&self) -> Vec<Geometry> {
        match self {
            Geometry::Point(_) | Geometry::Line(_) | Geometry::Ring(_) | Geometry::Polygon(_) => {
                vec![self.clone()]
            }
            Geometry::MultiPoint(points) => points.iter().copied().map(Geometry::Point).collect(),
            Geometry::MultiLine(lines) => lines.iter().cloned().map(Geometry::Line).collect(),
            Geometry::MultiPolygon(polygons) => polygons.iter().cloned().map(Geometry::Polygon).collect(),
            Geometry::Collection(members) => members.clone(),
        }
    }

    /// Calls with everything in it that is no collection and not empty, in order.
    pub(super) fn each_simple<'a>(&'a self, visit: &mut impl FnMut(SimpleGeometry<'a>)) {
        match self {
            Geometry::Point(point) => {
                if let Some(coord) = point {
                    visit(SimpleGeometry::Point(*coord));
                }
            }
            Geometry::Line(line) | Geometry::Ring(line) => {
                if !line.is_empty() {
                    visit(SimpleGeometry::Line(line));
                }
            }
            Geometry::Polygon(polygon) => {
                if !polygon.shell.is_empty() {
                    visit(SimpleGeometry::Polygon(polygon));
                }
            }
            Geometry::MultiPoint(points) => {
                points.iter().flatten().for_each(|coord| visit(SimpleGeometry::Point(*coord)));
            }
            Geometry::MultiLine(lines) => {
                lines
                    .iter()
                    .filter(|line| !line.is_empty())
                    .for_each(|line| visit(SimpleGeometry::Line(line)));
            }
            Geometry::MultiPolygon(polygons) => {
                let polygons = polygons.iter().filter(|polygon| !polygon.shell.is_empty());
                polygons.for_each(|polygon| visit(SimpleGeometry::Polygon(polygon)));
            }
            Geometry::Collection(members) => members.iter().for_each(|member| member.each_simple(visit)),
        }
    }

    /// Every place in it, in order.
    pub(super) fn coords(&self) -> Vec<Coord> {
        let mut coords = Vec::new();
        self.each_simple(&mut |simple| match simple {
            SimpleGeometry::Point(coord) => coords.push(coord),
            SimpleGeometry::Line(line) => coords.extend(line),
            SimpleGeometry::Polygon(polygon) => polygon.rings().for_each(|ring| coords.extend(ring)),
        });
        coords
    }

    pub(super) fn is_empty(&self) -> bool {
        let mut is_empty = true;
        self.each_simple(&mut |_| is_empty = false);
        is_empty
    }

    pub(super) fn envelope(&self) -> Envelope {
        Envelope::of(&self.coords())
    }

    /// 0 of points, 1 of lines, 2 of areas, the highest of a collection, -1 where there is nothing.
    pub(super) fn dimension(&self) -> i8 {
        match self {
            Geometry::Point(_) | Geometry::MultiPoint(_) => 0,
            Geometry::Line(_) | Geometry::Ring(_) | Geometry::MultiLine(_) => 1,
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) => 2,
            Geometry::Collection(members) => members.iter().map(Geometry::dimension).max().unwrap_or(-1),
        }
    }
}

/// The longest side of a right triangle, as Java computes it (fdlibm's `hypot`): within one unit in the last place.
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let high = |number: f64| f64::from_bits(number.to_bits() & !u64::from(u32::MAX));
    let (long, short) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    if short == 0.0 || long / short > 2_f64.powi(60) {
        return long + short;
    }
    let gap = long - short;
    if gap > short {
        let top = high(long);
        let rest = long - top;
        return (top * top - (short * -short - rest * (long + top))).sqrt();
    }
    let (twice, short_top) = (long + long, high(short));
    let (top, short_rest) = (high(twice), short - short_top);
    let rest = twice - top;
    (top * short_top - (gap * -gap - (top * short_rest + rest * short))).sqrt()
}

/// Without places that repeat the one before them.
pub(super) fn without_repeated(coords: &[Coord]) -> Vec<Coord> {
    let mut kept = coords.to_vec();
    kept.dedup();
    kept
}

/// Whether a line ends where it begins.
pub(super) fn is_closed(line: &[Coord]) -> bool {
    !line.is_empty() && line.first() == line.last()
}
