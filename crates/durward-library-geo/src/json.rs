//! Geometries from GeoJSON and to it, as JTS, the library of the Java engine, reads and writes them.
//!
//! Ordinates are doubles, written with eight digits behind the point unless they are very small or large, and a
//! geometry at the top says its reference system, `EPSG:4326` unless the one that was read said another. Missing
//! ordinates are 0. Whatever is wrong is one fault: `Invalid GeoJSON geometry.`

use durward_functions::document::{not_json, of_double};
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::value::{Object, ObjectBuilder};

use super::Refused;
use super::geometry::{Coord, Geometry, GeometryWithSrid, Polygon, is_closed};
use super::limits::{INPUT_BYTES_MAX, check_size};

/// The reference system of a geometry that names none: longitude and latitude.
pub(super) const WGS84: i32 = 4326;

/// The geometry that this object says.
///
/// # Errors
/// It says none, or one beyond the limits.
pub(super) fn read(value: &Value) -> Result<GeometryWithSrid, Refused> {
    let Value::Object(object) = value else { return Err(Refused::Invalid) };
    if not_json(value, 0).is_some() || text_length(value)? > INPUT_BYTES_MAX {
        return Err(Refused::Invalid);
    }
    let srid = srid(object)?;
    let geometry = geometry(object)?;
    check_size(&geometry)?;
    Ok(GeometryWithSrid { geometry, srid })
}

/// How many bytes the value has as JSON; numbers that the engine's reader does not read are refused.
fn text_length(value: &Value) -> Result<usize, Refused> {
    let separated = |lengths: usize, count: usize| lengths + count.saturating_sub(1) + 2;
    match value {
        Value::Number(number) => {
            if number.scale() == 0 && number.to_i64().is_none() {
                return Err(Refused::Invalid);
            }
            Ok(value.to_json().len())
        }
        Value::Array(elements) => {
            let lengths: Result<usize, Refused> = elements.iter().map(text_length).sum();
            Ok(separated(lengths?, elements.len()))
        }
        Value::Object(object) => {
            let mut lengths = 0;
            for (key, element) in object.iter() {
                lengths += Value::Text(key.clone()).to_json().len() + 1 + text_length(element)?;
            }
            Ok(separated(lengths, object.len()))
        }
        other => Ok(other.to_json().len()),
    }
}

/// The number in `"crs": {"properties": {"name": "EPSG:4326"}}`.
fn srid(object: &Object) -> Result<i32, Refused> {
    let crs = match object.get("crs") {
        None | Some(Value::Null) => return Ok(WGS84),
        Some(Value::Object(crs)) => crs,
        Some(_) => return Err(Refused::Invalid),
    };
    let Some(Value::Object(properties)) = crs.get("properties") else { return Err(Refused::Invalid) };
    let Some(Value::Text(name)) = properties.get("name") else { return Err(Refused::Invalid) };
    name.split(':').nth(1).and_then(|code| code.parse().ok()).ok_or(Refused::Invalid)
}

fn geometry(object: &Object) -> Result<Geometry, Refused> {
    let Some(Value::Text(name)) = object.get("type") else { return Err(Refused::Invalid) };
    // Null is as good as missing.
    let coordinates = object.get("coordinates").filter(|value| !matches!(value, Value::Null));
    match (name.as_str(), coordinates) {
        ("Point", None) => Ok(Geometry::Point(None)),
        ("Point", Some(place)) => point(place),
        ("LineString", None) => Ok(Geometry::Line(Vec::new())),
        ("LineString", Some(places)) => Ok(Geometry::Line(checked_line(coords(places)?)?)),
        ("Polygon", None) => Ok(Geometry::Polygon(Polygon::default())),
        ("Polygon", Some(rings)) if array(rings)?.is_empty() => Ok(Geometry::Polygon(Polygon::default())),
        ("Polygon", Some(rings)) => Ok(Geometry::Polygon(polygon(rings)?)),
        ("MultiPoint", None) => Ok(Geometry::MultiPoint(Vec::new())),
        ("MultiPoint", Some(places)) => {
            Ok(Geometry::MultiPoint(coords(places)?.into_iter().map(Some).collect()))
        }
        ("MultiLineString", Some(lines)) => {
            let lines = array(lines)?.iter().map(|line| checked_line(coords(line)?));
            Ok(Geometry::MultiLine(lines.collect::<Result<_, _>>()?))
        }
        ("MultiPolygon", Some(polygons)) => {
            let polygons = array(polygons)?.iter().map(polygon);
            Ok(Geometry::MultiPolygon(polygons.collect::<Result<_, _>>()?))
        }
        ("GeometryCollection", _) => members(object, "geometries", geometry),
        ("FeatureCollection", _) => members(object, "features", feature),
        ("Feature", _) => feature(object),
        (_, Some(_) | None) => Err(Refused::Invalid),
    }
}

fn members(
    object: &Object,
    key: &str,
    member: impl Fn(&Object) -> Result<Geometry, Refused>,
) -> Result<Geometry, Refused> {
    let members = object.get(key).ok_or(Refused::Invalid).and_then(array)?.iter().map(|value| match value {
        Value::Object(object) => member(object),
        _ => Err(Refused::Invalid),
    });
    Ok(Geometry::Collection(members.collect::<Result<_, _>>()?))
}

fn feature(object: &Object) -> Result<Geometry, Refused> {
    let Some(Value::Object(inner)) = object.get("geometry") else { return Err(Refused::Invalid) };
    geometry(inner)
}

fn array(value: &Value) -> Result<&[Value], Refused> {
    let Value::Array(elements) = value else { return Err(Refused::Invalid) };
    Ok(elements)
}

fn point(place: &Value) -> Result<Geometry, Refused> {
    let ordinates = array(place)?;
    Ok(Geometry::Point(if ordinates.is_empty() { None } else { Some(coord(place)?) }))
}

fn coord(place: &Value) -> Result<Coord, Refused> {
    let ordinate = |value: &Value| match value {
        Value::Number(number) => Ok(number.to_f64()),
        _ => Err(Refused::Invalid),
    };
    let mut ordinates = array(place)?.iter().map(ordinate);
    let mut next = || ordinates.next().transpose();
    let coord = Coord { x: next()?.unwrap_or(0.0), y: next()?.unwrap_or(0.0), z: next()? };
    if coord.is_in_range() { Ok(coord) } else { Err(Refused::Invalid) }
}

fn coords(places: &Value) -> Result<Vec<Coord>, Refused> {
    // A ring or line of null has no places.
    if matches!(places, Value::Null) {
        return Ok(Vec::new());
    }
    array(places)?.iter().map(coord).collect()
}

/// A line has two places, or none.
pub(super) fn checked_line(line: Vec<Coord>) -> Result<Vec<Coord>, Refused> {
    if line.len() == 1 { Err(Refused::Invalid) } else { Ok(line) }
}

/// A ring has three places, of which the last is the first, or none.
pub(super) fn checked_ring(ring: Vec<Coord>) -> Result<Vec<Coord>, Refused> {
    let is_ring = ring.is_empty() || (ring.len() >= 3 && is_closed(&ring));
    if is_ring { Ok(ring) } else { Err(Refused::Invalid) }
}

/// A polygon of rings.
pub(super) fn checked_polygon(shell: Vec<Coord>, holes: Vec<Vec<Coord>>) -> Result<Polygon, Refused> {
    let is_polygon = !shell.is_empty() || holes.iter().all(Vec::is_empty);
    if is_polygon { Ok(Polygon { shell, holes }) } else { Err(Refused::Invalid) }
}

fn polygon(rings: &Value) -> Result<Polygon, Refused> {
    let mut rings = array(rings)?.iter().map(|ring| checked_ring(coords(ring)?));
    let shell = rings.next().ok_or(Refused::Invalid)??;
    checked_polygon(shell, rings.collect::<Result<_, _>>()?)
}

/// The geometry as an object.
///
/// # Errors
/// A collection holds an empty member of a kind that the engine writes as no JSON, or an ordinate is too large.
pub(super) fn write(shape: &GeometryWithSrid) -> Result<Value, Refused> {
    let mut object = members_of(&shape.geometry)?;
    let name = Value::Text(format!("EPSG:{}", shape.srid).into());
    let properties = Value::object([("name", name)]);
    object.insert("crs", Value::object([("type", Value::Text("name".into())), ("properties", properties)]));
    Ok(Value::Object(object.finish().into()))
}

fn members_of(geometry: &Geometry) -> Result<ObjectBuilder, Refused> {
    let mut object = ObjectBuilder::with_capacity(3);
    object.insert("type", Value::Text(geometry.type_name().into()));
    let (key, value) = match geometry {
        Geometry::Point(None) => ("coordinates", Value::array([])),
        Geometry::Point(Some(coord)) => ("coordinates", written(*coord)?),
        Geometry::Line(line) | Geometry::Ring(line) => {
            ("coordinates", sequence(line)?.unwrap_or_else(|| Value::array([])))
        }
        Geometry::Polygon(polygon) => ("coordinates", rings(polygon)?),
        Geometry::MultiPoint(points) => (
            "coordinates",
            list(points, |point| point.map_or_else(|| Ok(None), |coord| written(coord).map(Some)))?,
        ),
        Geometry::MultiLine(lines) => ("coordinates", list(lines, |line| sequence(line))?),
        Geometry::MultiPolygon(polygons) => {
            ("coordinates", list(polygons, |polygon| rings(polygon).map(Some))?)
        }
        Geometry::Collection(members) => {
            let members = members.iter().map(|member| Ok(Value::Object(members_of(member)?.finish().into())));
            ("geometries", Value::array(members.collect::<Result<Vec<_>, Refused>>()?))
        }
    };
    object.insert(key, value);
    Ok(object)
}

/// A list of what is written one by one. The engine writes a gap for what has no places: a list of one gap is an empty
/// list, and of more it is no JSON.
fn list<T>(elements: &[T], written: impl Fn(&T) -> Result<Option<Value>, Refused>) -> Result<Value, Refused> {
    let written: Vec<Option<Value>> = elements.iter().map(written).collect::<Result<_, _>>()?;
    if written.iter().all(Option::is_some) || written.len() == 1 {
        return Ok(Value::array(written.into_iter().flatten()));
    }
    Err(Refused::Invalid)
}

fn sequence(coords: &[Coord]) -> Result<Option<Value>, Refused> {
    if coords.is_empty() {
        return Ok(None);
    }
    let written: Result<Vec<_>, _> = coords.iter().map(|coord| written(*coord)).collect();
    Ok(Some(Value::array(written?)))
}

fn rings(polygon: &Polygon) -> Result<Value, Refused> {
    let rings: Vec<&[Coord]> = polygon.rings().collect();
    list(&rings, |ring| sequence(ring))
}

fn written(coord: Coord) -> Result<Value, Refused> {
    let ordinates = [Some(coord.x), Some(coord.y), coord.z];
    let numbers: Result<Vec<_>, _> = ordinates.into_iter().flatten().map(ordinate).collect();
    Ok(Value::array(numbers?))
}

/// Eight digits behind the point, of numbers from a thousandth up to ten millions and of all far below zero.
fn ordinate(x: f64) -> Result<Value, Refused> {
    const SCALE: f64 = 1e8;
    let mut rounded = x;
    if x.abs() >= 1e-3 && x < 1e7 {
        rounded = (x * SCALE + 0.5).floor() / SCALE;
        #[expect(clippy::cast_possible_truncation, reason = "what Java does")]
        let whole = rounded as i64;
        #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "what Java does")]
        if whole as f64 == rounded {
            return Ok(jvm::number(Decimal::from(whole)));
        }
    }
    of_double(rounded).map_err(|_| Refused::Invalid)
}
