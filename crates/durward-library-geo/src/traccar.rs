//! The library `traccar`: what a Traccar server answers, as GeoJSON. The answers themselves come from attributes.

use durward_functions::document::not_json;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Object;
use durward_ir::value::Value;

use super::geometry::{Coord, Geometry, GeometryWithSrid, Polygon};
use super::{check_input, json, made, wkt};

/// The functions of the library `traccar`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("traccar.traccarPositionToGeoJSON", &[Object], position,
        "A position (`longitude`, `latitude`, perhaps `altitude`) as a point."),
    row("traccar.traccarGeofenceToGeoJson", &[Object], geofence,
        "The `area` of a geofence, well-known text of latitudes before longitudes, as a geometry."),
];

fn position(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(position)] = arguments else { return unchecked() };
    if let Some(reason) = arguments.first().and_then(|value| not_json(value, 0)) {
        return Err(Fault::processing(reason));
    }
    let ordinate = |name: &str| match position.get(name) {
        Some(Value::Number(number)) => Some(number.to_f64()),
        _ => None,
    };
    let needed = |name: &str| {
        let missing = format!("Expected a Traccar position object, but there is no valid {name} field.");
        ordinate(name).ok_or_else(|| Fault::processing(missing))
    };
    let coord = Coord { x: needed("longitude")?, y: needed("latitude")?, z: ordinate("altitude") };
    if !coord.is_in_range() {
        return Err(Fault::processing("the position is beyond the range of places"));
    }
    made(&GeometryWithSrid { geometry: Geometry::Point(Some(coord)), srid: json::WGS84 })
}

fn geofence(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(geofence)] = arguments else { return unchecked() };
    if let Some(reason) = arguments.first().and_then(|value| not_json(value, 0)) {
        return Err(Fault::processing(reason));
    }
    let Some(Value::Text(area)) = geofence.get("area") else {
        return Err(Fault::processing("The geofence has no `area` of text."));
    };
    check_input(area)?;
    made(&GeometryWithSrid { geometry: turned(wkt::read(area)?), srid: json::WGS84 })
}

/// With longitudes before latitudes.
fn turned(geometry: Geometry) -> Geometry {
    let turn = |place: Coord| Coord { x: place.y, y: place.x, z: place.z };
    let line = |line: Vec<Coord>| -> Vec<Coord> { line.into_iter().map(turn).collect() };
    let area = |polygon: Polygon| Polygon {
        shell: line(polygon.shell),
        holes: polygon.holes.into_iter().map(line).collect(),
    };
    match geometry {
        Geometry::Point(place) => Geometry::Point(place.map(turn)),
        Geometry::Line(places) => Geometry::Line(line(places)),
        Geometry::Ring(places) => Geometry::Ring(line(places)),
        Geometry::Polygon(polygon) => Geometry::Polygon(area(polygon)),
        Geometry::MultiPoint(places) => {
            Geometry::MultiPoint(places.into_iter().map(|place| place.map(turn)).collect())
        }
        Geometry::MultiLine(lines) => Geometry::MultiLine(lines.into_iter().map(line).collect()),
        Geometry::MultiPolygon(polygons) => Geometry::MultiPolygon(polygons.into_iter().map(area).collect()),
        Geometry::Collection(members) => Geometry::Collection(members.into_iter().map(turned).collect()),
    }
}
