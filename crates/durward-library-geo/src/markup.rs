//! Geometries from KML 2.2, GML 2 and GML 3.1 documents, as GeoTools, the library of the Java engine, finds them.
//!
//! Elements count by their names, in the language's namespace or in none. Nothing is fetched: document types and
//! schema locations are not followed, and entities beside those of XML are errors. Curves and surfaces made of pieces
//! are refused: to pass over a geometry would change what a policy sees.

mod tree;

use super::Refused;
use super::geometry::{Coord, Geometry, GeometryWithSrid, Polygon};
use super::json::{checked_line, checked_polygon, checked_ring};
use tree::MarkupElement;

/// A language that documents are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkupLanguage {
    Kml,
    Gml2,
    Gml3,
}

impl MarkupLanguage {
    /// The name that faults say.
    pub(super) const fn name(self) -> &'static str {
        match self {
            MarkupLanguage::Kml => "KML",
            MarkupLanguage::Gml2 | MarkupLanguage::Gml3 => "GML",
        }
    }

    const fn namespace(self) -> &'static str {
        match self {
            MarkupLanguage::Kml => "http://www.opengis.net/kml/2.2",
            MarkupLanguage::Gml2 | MarkupLanguage::Gml3 => "http://www.opengis.net/gml",
        }
    }
}

/// The geometries of a document, in order.
///
/// # Errors
/// It is not well-formed, or a geometry in it is none.
pub(super) fn read(text: &str, language: MarkupLanguage) -> Result<Vec<GeometryWithSrid>, Refused> {
    let root = tree::read(text, language.namespace())?;
    let mut found = Vec::new();
    match language {
        MarkupLanguage::Kml => collect_kml(&root, &mut found)?,
        MarkupLanguage::Gml2 | MarkupLanguage::Gml3 => collect_gml(&root, language, &mut found)?,
    }
    Ok(found.into_iter().map(|geometry| GeometryWithSrid { geometry, srid: 0 }).collect())
}

/// What a feature has, and the features in it.
fn collect_kml(element: &MarkupElement, found: &mut Vec<Geometry>) -> Result<(), Refused> {
    if let Some(geometry) = kml_geometry(element)? {
        found.push(geometry);
        return Ok(());
    }
    if !matches!(element.name.as_str(), "kml" | "Document" | "Folder" | "Placemark") {
        return Ok(());
    }
    for look_at in element.all("LookAt").take(1) {
        found.push(look_at_point(look_at)?);
    }
    if element.name == "Placemark" {
        for child in &element.children {
            if let Some(geometry) = kml_geometry(child)? {
                found.push(geometry);
                return Ok(());
            }
        }
        return Ok(());
    }
    element.children.iter().try_for_each(|child| collect_kml(child, found))
}

/// Where a feature is looked at from: to the engine a point with its longitude behind its latitude.
fn look_at_point(element: &MarkupElement) -> Result<Geometry, Refused> {
    let ordinate = |name: &str| element.all(name).next().map_or(Ok(0.0), |child| number(&child.text));
    let coord = Coord { x: ordinate("latitude")?, y: ordinate("longitude")?, z: Some(ordinate("altitude")?) };
    Ok(Geometry::Point(Some(in_range(coord)?)))
}

fn kml_geometry(element: &MarkupElement) -> Result<Option<Geometry>, Refused> {
    Ok(Some(match element.name.as_str() {
        "Point" => Geometry::Point(Some(*kml_coords(element)?.first().ok_or(Refused::Invalid)?)),
        "LineString" => Geometry::Line(checked_line(kml_coords(element)?)?),
        "LinearRing" => Geometry::Ring(checked_ring(kml_coords(element)?)?),
        "Polygon" => Geometry::Polygon(polygon(element, &kml_coords)?),
        "MultiGeometry" => {
            let mut members = Vec::new();
            for child in &element.children {
                members.extend(kml_geometry(child)?);
            }
            of_one_kind(members)
        }
        _ => return Ok(None),
    }))
}

/// Members of one kind as one geometry of that kind.
fn of_one_kind(members: Vec<Geometry>) -> Geometry {
    let (mut points, mut lines, mut polygons) = (Vec::new(), Vec::new(), Vec::new());
    for member in &members {
        match member {
            Geometry::Point(point) => points.push(*point),
            Geometry::Line(line) | Geometry::Ring(line) => lines.push(line.clone()),
            Geometry::Polygon(polygon) => polygons.push(polygon.clone()),
            Geometry::MultiPoint(_)
            | Geometry::MultiLine(_)
            | Geometry::MultiPolygon(_)
            | Geometry::Collection(_) => {}
        }
    }
    match members.len() {
        0 => Geometry::Collection(members),
        all if all == points.len() => Geometry::MultiPoint(points),
        all if all == lines.len() => Geometry::MultiLine(lines),
        all if all == polygons.len() => Geometry::MultiPolygon(polygons),
        _ => Geometry::Collection(members),
    }
}

fn kml_coords(element: &MarkupElement) -> Result<Vec<Coord>, Refused> {
    let text = &element.all("coordinates").next().ok_or(Refused::Invalid)?.text;
    text.split_ascii_whitespace()
        .map(|tuple| coord(tuple.split(',').filter(|part| !part.is_empty())))
        .collect()
}

fn coord<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Coord, Refused> {
    let mut parts = parts.map(number);
    let mut next = || parts.next().transpose();
    let (x, y) = (next()?.ok_or(Refused::Invalid)?, next()?.ok_or(Refused::Invalid)?);
    in_range(Coord { x, y, z: next()? })
}

fn in_range(coord: Coord) -> Result<Coord, Refused> {
    if coord.is_in_range() { Ok(coord) } else { Err(Refused::Invalid) }
}

fn number(text: &str) -> Result<f64, Refused> {
    text.trim().parse().map_err(|_| Refused::Invalid)
}

/// A polygon of the rings in its boundaries.
fn polygon(
    element: &MarkupElement,
    coords: &impl Fn(&MarkupElement) -> Result<Vec<Coord>, Refused>,
) -> Result<Polygon, Refused> {
    let rings = |names: [&'static str; 2]| {
        let boundaries = element.children.iter().filter(move |child| names.contains(&child.name.as_str()));
        boundaries.flat_map(|boundary| boundary.all("LinearRing")).map(|ring| checked_ring(coords(ring)?))
    };
    let shell = rings(["outerBoundaryIs", "exterior"]).next().ok_or(Refused::Invalid)??;
    checked_polygon(shell, rings(["innerBoundaryIs", "interior"]).collect::<Result<_, _>>()?)
}

/// The document's geometry, or all of its features.
fn collect_gml(
    root: &MarkupElement,
    language: MarkupLanguage,
    found: &mut Vec<Geometry>,
) -> Result<(), Refused> {
    if let Some(geometry) = gml_geometry(root, language)? {
        found.push(geometry);
    } else if root.name == "FeatureCollection" {
        collect_features(root, language, found)?;
    }
    Ok(())
}

fn collect_features(
    element: &MarkupElement,
    language: MarkupLanguage,
    found: &mut Vec<Geometry>,
) -> Result<(), Refused> {
    for child in element.children.iter().filter(|child| child.name != "boundedBy") {
        match gml_geometry(child, language)? {
            Some(geometry) => found.push(geometry),
            None => collect_features(child, language, found)?,
        }
    }
    Ok(())
}

fn gml_geometry(element: &MarkupElement, language: MarkupLanguage) -> Result<Option<Geometry>, Refused> {
    if !element.is_own {
        return Ok(None);
    }
    let coords = |element: &MarkupElement| gml_coords(element, language);
    Ok(Some(match element.name.as_str() {
        "Point" => Geometry::Point(Some(*coords(element)?.first().ok_or(Refused::Invalid)?)),
        "LineString" => Geometry::Line(checked_line(coords(element)?)?),
        "LinearRing" => Geometry::Ring(checked_ring(coords(element)?)?),
        "Polygon" => Geometry::Polygon(polygon(element, &coords)?),
        "MultiPoint" => Geometry::MultiPoint(members(element, language, |geometry| match geometry {
            Geometry::Point(point) => Some(point),
            _ => None,
        })?),
        "MultiLineString" | "MultiCurve" => {
            Geometry::MultiLine(members(element, language, |geometry| match geometry {
                Geometry::Line(line) => Some(line),
                _ => None,
            })?)
        }
        "MultiPolygon" | "MultiSurface" => {
            Geometry::MultiPolygon(members(element, language, |geometry| match geometry {
                Geometry::Polygon(polygon) => Some(polygon),
                _ => None,
            })?)
        }
        "MultiGeometry" => Geometry::Collection(members(element, language, Some)?),
        "Curve" | "Surface" | "OrientableCurve" | "OrientableSurface" | "CompositeCurve"
        | "CompositeSurface" | "PolyhedralSurface" | "Solid" | "MultiSolid" | "Ring" => {
            return Err(Refused::Invalid);
        }
        _ => return Ok(None),
    }))
}

/// The members of a geometry, each of which must be of one kind.
fn members<T>(
    element: &MarkupElement,
    language: MarkupLanguage,
    kind: impl Fn(Geometry) -> Option<T>,
) -> Result<Vec<T>, Refused> {
    let mut members = Vec::new();
    let lists = element.children.iter().filter(|child| child.is_own && child.name.contains("Member"));
    for member in lists.flat_map(|list| &list.children) {
        let geometry = gml_geometry(member, language)?.ok_or(Refused::Invalid)?;
        members.push(kind(geometry).ok_or(Refused::Invalid)?);
    }
    Ok(members)
}

/// The places of an element, in any of the ways to write them.
fn gml_coords(element: &MarkupElement, language: MarkupLanguage) -> Result<Vec<Coord>, Refused> {
    let mut coords = Vec::new();
    for child in &element.children {
        match (child.name.as_str(), language) {
            ("coordinates", _) => coords.extend(gml_tuples(child)?),
            ("coord", _) => {
                let ordinates = ["X", "Y", "Z"].map(|name| child.all(name).next());
                coords.push(coord(ordinates.into_iter().flatten().map(|ordinate| ordinate.text.as_str()))?);
            }
            ("pos", MarkupLanguage::Gml3) => coords.push(coord(child.text.split_ascii_whitespace())?),
            ("posList", MarkupLanguage::Gml3) => coords.extend(position_list(element, child)?),
            ("pointProperty" | "pointRep", MarkupLanguage::Gml3) => {
                for point in child.all("Point") {
                    coords.extend(gml_coords(point, language)?);
                }
            }
            _ => {}
        }
    }
    Ok(coords)
}

/// `x,y x,y`, with other signs where the element says so.
fn gml_tuples(element: &MarkupElement) -> Result<Vec<Coord>, Refused> {
    let sign = |name: &str, usual: &'static str| element.attribute(name).unwrap_or(usual).to_string();
    let (decimal, within, between) = (sign("decimal", "."), sign("cs", ","), sign("ts", " "));
    let tuples = element.text.split(|character: char| {
        between.contains(character) || (between == " " && character.is_ascii_whitespace())
    });
    let tuples = tuples.map(str::trim).filter(|tuple| !tuple.is_empty());
    tuples.map(|tuple| coord(tuple.replace(decimal.as_str(), ".").split(within.as_str()))).collect()
}

/// Ordinates one after the other, two to a place unless it says otherwise.
fn position_list(parent: &MarkupElement, list: &MarkupElement) -> Result<Vec<Coord>, Refused> {
    let named = |element: &MarkupElement| {
        let dimension = element.attribute("srsDimension").or_else(|| element.attribute("dimension"));
        dimension.map(str::to_string)
    };
    let dimension = match named(list).or_else(|| named(parent)).as_deref() {
        None | Some("2") => 2,
        Some("3") => 3,
        Some(_) => return Err(Refused::Invalid),
    };
    let ordinates: Vec<&str> = list.text.split_ascii_whitespace().collect();
    let places = ordinates.chunks_exact(dimension);
    if places.remainder().is_empty() {
        return places.map(|place| coord(place.iter().copied())).collect();
    }
    Err(Refused::Invalid)
}
