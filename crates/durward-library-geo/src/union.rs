//! The union of all that one geometry holds.

use super::Refused;
use super::geometry::{Coord, Geometry, Polygon, SimpleGeometry};
use super::graph::LocatedArea;
use super::limits::WorkLeft;
use super::overlay::{OverlayOperation, build, combine};
use super::segment::Location;

/// One geometry of all members: areas that overlap or touch become one, lines lose what areas cover, points what
/// anything covers.
///
/// # Errors
/// An area crosses itself, or it takes too long.
pub(super) fn union_of_members(geometry: &Geometry, work: &mut WorkLeft) -> Result<Geometry, Refused> {
    let (mut points, mut lines, mut polygons) = (Vec::new(), Vec::new(), Vec::new());
    geometry.each_simple(&mut |simple| match simple {
        SimpleGeometry::Point(coord) => points.push(coord),
        SimpleGeometry::Line(line) => lines.push(line.to_vec()),
        SimpleGeometry::Polygon(polygon) => polygons.push(polygon.clone()),
    });
    let areas = union_of_polygons(polygons, work)?;
    let lines = (!lines.is_empty()).then_some(Geometry::MultiLine(lines));
    let united = match (lines, areas) {
        (Some(lines), Some(areas)) => Some(combine(&lines, &areas, OverlayOperation::Union, work)?),
        // Lines are cut where they meet by uniting them with nothing.
        (Some(lines), None) => {
            Some(combine(&lines, &Geometry::MultiPoint(Vec::new()), OverlayOperation::Union, work)?)
        }
        (None, areas) => areas,
    };
    with_points(points, united, work)
}

/// Unites neighbours, and what comes of them, until one is left.
fn union_of_polygons(polygons: Vec<Polygon>, work: &mut WorkLeft) -> Result<Option<Geometry>, Refused> {
    let mut areas: Vec<Geometry> = polygons.into_iter().map(Geometry::Polygon).collect();
    while areas.len() > 1 {
        let mut united = Vec::with_capacity(areas.len().div_ceil(2));
        let mut rest = areas.into_iter();
        while let Some(first) = rest.next() {
            united.push(match rest.next() {
                Some(second) => combine(&first, &second, OverlayOperation::Union, work)?,
                None => first,
            });
        }
        areas = united;
    }
    Ok(areas.pop())
}

fn with_points(
    mut points: Vec<Coord>,
    united: Option<Geometry>,
    work: &mut WorkLeft,
) -> Result<Geometry, Refused> {
    points.sort();
    points.dedup();
    let Some(united) = united else {
        return Ok(build(points, Vec::new(), Vec::new()).unwrap_or(Geometry::Collection(Vec::new())));
    };
    let area = LocatedArea::new(&united);
    let mut outside = Vec::new();
    for point in points {
        if area.locate(point, work)? == Location::Exterior {
            outside.push(point);
        }
    }
    let (mut lines, mut polygons) = (Vec::new(), Vec::new());
    united.each_simple(&mut |simple| match simple {
        SimpleGeometry::Point(coord) => outside.push(coord),
        SimpleGeometry::Line(line) => lines.push(line.to_vec()),
        SimpleGeometry::Polygon(polygon) => polygons.push(polygon.clone()),
    });
    Ok(build(outside, lines, polygons).unwrap_or(Geometry::Collection(Vec::new())))
}
