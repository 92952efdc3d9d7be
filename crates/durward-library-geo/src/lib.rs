//! The library `geo`: geometries as GeoJSON objects, how they lie to each other, what they measure, and what can be made
//! of them.
//!
//! The engine computes with JTS and GeoTools. Here are the same predicates and constructions over doubles: places that
//! JTS computes with its formulas come out with its digits, and rings begin where its rings begin; `buffer` is the exception
//! (docs/sapl.md has all differences). That is why this is our own code: the order of vertices decides whether two texts
//! are equal in a policy, and a library that orders them otherwise would decide otherwise. Nothing is cached, and every
//! call has a limit of what it may compare. The library [`traccar`] reads what one service has to say in geometries.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

mod buffer;
mod distance;
mod ellipsoid;
mod geometry;
mod graph;
mod hull;
mod json;
mod limits;
mod markup;
mod measure;
mod noding;
mod overlay;
mod relate;
mod segment;
mod table;
#[cfg(test)]
mod tests;
pub mod traccar;
mod union;
mod valid;
mod wkt;

use durward_functions::argument::{array, number, text};
use durward_functions::document::of_double;
use durward_functions::jvm::whole;
use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};

use geometry::{Geometry, GeometryWithSrid};
use limits::{INPUT_BYTES_MAX, MEMBER_PAIRS_MAX, MEMBERS_MAX, VERTICES_MAX, WorkLeft, check_size};
use overlay::OverlayOperation;
use relate::GeometryRelation;

pub use table::FUNCTIONS;

/// Why nothing can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// What was given is no geometry, or none of which this can be computed.
    Invalid,
    /// A geometry has more places or members than are allowed.
    TooComplex,
    /// It would take too long.
    TooCostly,
}

impl From<Refused> for Box<Fault> {
    fn from(refused: Refused) -> Box<Fault> {
        match refused {
            Refused::Invalid => Fault::processing("Invalid GeoJSON geometry."),
            Refused::TooComplex => Fault::processing(format!(
                "Geometry exceeds the maximum of {VERTICES_MAX} vertices or {MEMBERS_MAX} members."
            )),
            Refused::TooCostly => Fault::processing("the geometries are too large to be compared"),
        }
    }
}

fn shape(arguments: &[Value], at: usize) -> Result<GeometryWithSrid, Refused> {
    arguments.get(at).ok_or(Refused::Invalid).and_then(json::read)
}

fn pair(arguments: &[Value]) -> Result<[Geometry; 2], Refused> {
    Ok([shape(arguments, 0)?.geometry, shape(arguments, 1)?.geometry])
}

fn double(number: f64) -> Evaluated<Value> {
    of_double(number).map_err(Fault::processing)
}

/// The result of a construction, if it is not too large.
fn made(shape: &GeometryWithSrid) -> Evaluated<Value> {
    check_size(&shape.geometry)?;
    Ok(json::write(shape)?)
}

fn relation(arguments: &[Value], relation: GeometryRelation) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    Ok(Value::Boolean(relate::holds(relation, &a, &b, &mut WorkLeft::new())?))
}

fn equals_exact(arguments: &[Value]) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    Ok(Value::Boolean(a == b))
}

fn disjoint(arguments: &[Value]) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    Ok(Value::Boolean(!relate::holds(GeometryRelation::Intersects, &a, &b, &mut WorkLeft::new())?))
}

/// Whether the geometry that may hold others, taken as one area, contains the other one.
fn contains(arguments: &[Value], outer: usize) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    let (outer, inner) = if outer == 0 { (a, b) } else { (b, a) };
    let work = &mut WorkLeft::new();
    let outer = if outer.is_multiple() { union::union_of_members(&outer, work)? } else { outer };
    Ok(Value::Boolean(relate::holds(GeometryRelation::Contains, &outer, &inner, work)?))
}

fn is_within_distance(arguments: &[Value]) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    let most = number(arguments, 2)?.to_f64();
    Ok(Value::Boolean(distance::is_within(&a, &b, most, &mut WorkLeft::new())?))
}

fn on_globe(arguments: &[Value], system: &str) -> Result<f64, Refused> {
    let [a, b] = pair(arguments)?;
    let ellipsoid = ellipsoid::of(system).ok_or(Refused::Invalid)?;
    distance::on_globe(&a, &b, ellipsoid, &mut WorkLeft::new())
}

fn is_within_geodesic_distance(arguments: &[Value]) -> Evaluated<Value> {
    let most = number(arguments, 2)?.to_f64();
    Ok(Value::Boolean(on_globe(arguments, "EPSG:4326")? <= most))
}

fn geodesic_distance(arguments: &[Value]) -> Evaluated<Value> {
    double(on_globe(arguments, "EPSG:4326")?)
}

fn geo_distance(arguments: &[Value]) -> Evaluated<Value> {
    let system = text(arguments, 2)?;
    if ellipsoid::of(system).is_none() {
        let shown = durward_functions::limits::shown(system);
        return Err(Fault::processing(format!("`{shown}` is none of the reference systems that are known")));
    }
    double(on_globe(arguments, system)?)
}

fn plane_distance(arguments: &[Value]) -> Evaluated<Value> {
    let [a, b] = pair(arguments)?;
    double(distance::distance(&a, &b, &mut WorkLeft::new())?)
}

fn is_simple(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(valid::is_simple(&shape(arguments, 0)?.geometry, &mut WorkLeft::new())?))
}

fn is_valid(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(valid::is_valid(&shape(arguments, 0)?.geometry, &mut WorkLeft::new())?))
}

fn is_closed(arguments: &[Value]) -> Evaluated<Value> {
    match shape(arguments, 0)?.geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => Ok(Value::Boolean(true)),
        Geometry::Line(line) => Ok(Value::Boolean(geometry::is_closed(&line))),
        Geometry::MultiLine(lines) => {
            let is_closed = !lines.is_empty() && lines.iter().all(|line| geometry::is_closed(line));
            Ok(Value::Boolean(is_closed))
        }
        other @ (Geometry::Ring(_)
        | Geometry::Polygon(_)
        | Geometry::MultiPolygon(_)
        | Geometry::Collection(_)) => {
            let name = other.type_name();
            Err(Fault::processing(format!("Operation isClosed is not applicable for the type {name}.")))
        }
    }
}

fn buffer(arguments: &[Value]) -> Evaluated<Value> {
    let GeometryWithSrid { geometry, srid } = shape(arguments, 0)?;
    let width = number(arguments, 1)?.to_f64();
    made(&GeometryWithSrid { geometry: buffer::buffer(&geometry, width, &mut WorkLeft::new())?, srid })
}

fn boundary(arguments: &[Value]) -> Evaluated<Value> {
    let GeometryWithSrid { geometry, srid } = shape(arguments, 0)?;
    made(&GeometryWithSrid { geometry: measure::boundary(&geometry)?, srid })
}

fn centroid(arguments: &[Value]) -> Evaluated<Value> {
    let GeometryWithSrid { geometry, srid } = shape(arguments, 0)?;
    made(&GeometryWithSrid { geometry: Geometry::Point(measure::centroid(&geometry)), srid })
}

fn convex_hull(arguments: &[Value]) -> Evaluated<Value> {
    let GeometryWithSrid { geometry, srid } = shape(arguments, 0)?;
    made(&GeometryWithSrid { geometry: hull::convex_hull(&geometry), srid })
}

fn union(arguments: &[Value]) -> Evaluated<Value> {
    let mut shapes = (0..arguments.len()).map(|at| shape(arguments, at));
    let Some(first) = shapes.next() else {
        return made(&GeometryWithSrid { geometry: Geometry::Collection(Vec::new()), srid: json::WGS84 });
    };
    let work = &mut WorkLeft::new();
    let mut united = first?;
    for shape in shapes {
        united = overlay::overlay(&united, &shape?, OverlayOperation::Union, work)?;
    }
    made(&united)
}

fn combination(arguments: &[Value], operation: OverlayOperation) -> Evaluated<Value> {
    let (a, b) = (shape(arguments, 0)?, shape(arguments, 1)?);
    made(&overlay::overlay(&a, &b, operation, &mut WorkLeft::new())?)
}

fn length(arguments: &[Value]) -> Evaluated<Value> {
    double(measure::length(&shape(arguments, 0)?.geometry))
}

fn area(arguments: &[Value]) -> Evaluated<Value> {
    double(measure::area(&shape(arguments, 0)?.geometry))
}

/// The members of two collections, if they are few enough to be compared one by one.
fn member_pairs(arguments: &[Value]) -> Result<[Vec<Geometry>; 2], Refused> {
    let [a, b] = pair(arguments)?;
    if a.member_count().saturating_mul(b.member_count()) > MEMBER_PAIRS_MAX {
        return Err(Refused::TooCostly);
    }
    Ok([a.members(), b.members()])
}

fn is_any_equal(geometry: &Geometry, others: &[Geometry], work: &mut WorkLeft) -> Result<bool, Refused> {
    for other in others {
        if relate::holds(GeometryRelation::Equals, geometry, other, work)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn subset(arguments: &[Value]) -> Evaluated<Value> {
    let [these, those] = member_pairs(arguments)?;
    let work = &mut WorkLeft::new();
    let mut is_subset = true;
    for geometry in &these {
        is_subset &= is_any_equal(geometry, &those, work)?;
    }
    Ok(Value::Boolean(is_subset))
}

fn at_least_one_member_of(arguments: &[Value]) -> Evaluated<Value> {
    let [these, those] = member_pairs(arguments)?;
    let work = &mut WorkLeft::new();
    for geometry in &these {
        if is_any_equal(geometry, &those, work)? {
            return Ok(Value::Boolean(true));
        }
    }
    Ok(Value::Boolean(false))
}

fn bag_size(arguments: &[Value]) -> Evaluated<Value> {
    let count = shape(arguments, 0)?.geometry.member_count();
    Ok(whole(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn one_and_only(arguments: &[Value]) -> Evaluated<Value> {
    let GeometryWithSrid { geometry, srid } = shape(arguments, 0)?;
    match (geometry.is_multiple(), geometry.members().as_slice()) {
        (true, [only]) => Ok(json::write(&GeometryWithSrid { geometry: only.clone(), srid })?),
        _ => Err(Fault::processing("Input must be a GeometryCollection containing only one Geometry.")),
    }
}

fn geometry_is_in(arguments: &[Value]) -> Evaluated<Value> {
    let collection = shape(arguments, 1)?.geometry;
    if !collection.is_multiple() {
        let reason = "The second parameter of the geometryIsIn was not a geometry collection.";
        return Err(Fault::processing(reason));
    }
    let geometry = shape(arguments, 0)?.geometry;
    Ok(Value::Boolean(is_any_equal(&geometry, &collection.members(), &mut WorkLeft::new())?))
}

fn geometry_bag(geometries: &[Value]) -> Evaluated<Value> {
    if geometries.len() > MEMBERS_MAX {
        return Err(Refused::TooComplex.into());
    }
    let members: Result<Vec<Geometry>, Refused> =
        geometries.iter().map(|value| Ok(json::read(value)?.geometry)).collect();
    made(&GeometryWithSrid { geometry: Geometry::Collection(members?), srid: 0 })
}

fn flatten_geometry_bag(arguments: &[Value]) -> Evaluated<Value> {
    geometry_bag(array(arguments, 0)?)
}

/// Meters of a mile, as Spatial4j counts them: 0.6 millimeters more than there are.
fn miles_to_meter(miles: f64) -> f64 {
    const MILES_OF_KM: f64 = 0.621_371_192;
    miles * (1.0 / MILES_OF_KM) * 1000.0
}

fn converted(arguments: &[Value], convert: impl Fn(f64) -> f64) -> Evaluated<Value> {
    double(convert(number(arguments, 0)?.to_f64()))
}

fn yard_to_meter(yards: f64) -> f64 {
    miles_to_meter(yards / 1760.0)
}

fn degree_to_meter(degrees: f64) -> f64 {
    const EARTH_KM: f64 = 6_371.008_771_4;
    degrees * (std::f64::consts::PI / 180.0 * EARTH_KM) * 1000.0
}

fn check_input(text: &str) -> Evaluated<()> {
    if text.len() > INPUT_BYTES_MAX {
        let message = format!("Geographic input exceeds the maximum size of {INPUT_BYTES_MAX} bytes.");
        return Err(Fault::processing(message));
    }
    Ok(())
}

fn wkt_to_geojson(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    made(&GeometryWithSrid { geometry: wkt::read(text)?, srid: 0 })
}

/// A geometry of all that a document holds.
fn markup_to_geojson(arguments: &[Value], language: markup::MarkupLanguage) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    let name = language.name();
    let mut found =
        markup::read(text, language).map_err(|_| Fault::processing(format!("Failed to parse {name}.")))?;
    match (found.len(), found.pop()) {
        (1, Some(shape)) => made(&shape),
        (_, None) => Err(Fault::processing(format!("No geometries in {name}."))),
        (_, Some(last)) => {
            found.push(last);
            let members = found.into_iter().map(|shape| shape.geometry).collect();
            made(&GeometryWithSrid { geometry: Geometry::Collection(members), srid: json::WGS84 })
        }
    }
}
