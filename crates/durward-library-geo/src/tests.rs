//! Hostile geometries: whatever is asked, there is an answer in good time, and no panic.

use super::FUNCTIONS;
use durward_functions::fixture::{call, call_with, json};
use durward_ir::Value;
use std::fmt::Write;
use std::time::Instant;

const UNUSUAL: &[&str] = &[
    r#"{"type":"Point","coordinates":[]}"#,
    r#"{"type":"Point","coordinates":[7]}"#,
    r#"{"type":"Point"}"#,
    r#"{"type":"LineString","coordinates":[]}"#,
    r#"{"type":"LineString","coordinates":[[1,1],[1,1]]}"#,
    r#"{"type":"LineString","coordinates":[[0,0],[2,2],[2,0],[0,2]]}"#,
    r#"{"type":"LineString","coordinates":[[0,0],[1,0],[0,0]]}"#,
    r#"{"type":"Polygon","coordinates":[]}"#,
    r#"{"type":"Polygon","coordinates":[[]]}"#,
    r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#,
    r#"{"type":"Polygon","coordinates":[[[0,0],[4,4],[4,0],[0,4],[0,0]]]}"#,
    r#"{"type":"Polygon","coordinates":[[[0,0],[0,0],[0,0],[0,0]]]}"#,
    r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[0,0],[4,0],[4,4],[0,0]]]}"#,
    r#"{"type":"Polygon","coordinates":[[[0,0],[1e-99,0],[0,1e99],[0,0]]]}"#,
    r#"{"type":"Polygon","coordinates":[[[1,1],[1.0000000000000002,1],[1,1.0000000000000002],[1,1]]]}"#,
    r#"{"type":"MultiPoint","coordinates":[[0,0],[0,0],[-0.0,0]]}"#,
    r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[0,0]]],[[[0,0],[4,0],[4,4],[0,0]]]]}"#,
    r#"{"type":"GeometryCollection","geometries":[]}"#,
    r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]]]}]}"#,
    r#"{"type":"Point","coordinates":[1e101,0]}"#,
    r#"{"type":"Point","coordinates":[1e400,0]}"#,
    r#"{"type":"Point","coordinates":[9223372036854775808,0]}"#,
    r#"{"type":"Point","coordinates":[0,0],"crs":{"properties":{"name":"EPSG:"}}}"#,
    r#"{"type":"LinearRing","coordinates":[[0,0],[1,0],[1,1],[0,0]]}"#,
    r#"{"type":1}"#,
    "{}",
];

#[test]
fn unusual_geometries_are_answered_by_every_function() {
    let values: Vec<Value> = UNUSUAL.iter().map(|text| json(text)).collect();
    let numbers: Vec<Value> =
        ["0", "1", "-1", "1e-9", "1e308", "-1e308"].iter().map(|text| json(text)).collect();
    for function in FUNCTIONS {
        for a in &values {
            for b in &values {
                for number in &numbers {
                    let arguments: Vec<Value> = match (function.name, function.parameters.len()) {
                        ("geo.union" | "geo.geometryBag", _) => vec![a.clone(), b.clone()],
                        ("geo.buffer", _) => vec![a.clone(), number.clone()],
                        (_, 1) => vec![a.clone()],
                        (_, 2) => vec![a.clone(), b.clone()],
                        _ => vec![a.clone(), b.clone(), number.clone()],
                    };
                    let _answer = function.call(&arguments);
                    if function.parameters.len() < 3 && function.name != "geo.buffer" {
                        break;
                    }
                }
            }
        }
    }
}

/// Two combs of so many teeth across each other.
fn comb(teeth: usize, is_upright: bool) -> Value {
    let mut text = String::from(r#"{"type":"LineString","coordinates":["#);
    for tooth in 0..teeth {
        let far = if tooth % 2 == 0 { 0 } else { teeth };
        let (x, y) = if is_upright { (tooth, far) } else { (far, tooth) };
        let comma = if tooth == 0 { "" } else { "," };
        let _ = write!(text, "{comma}[{x},{y}]");
    }
    text.push_str("]}");
    json(&text)
}

#[test]
fn geometries_that_cross_everywhere_are_refused_in_good_time() {
    let arguments = [comb(20_000, true), comb(20_000, false)];
    for name in ["geo.intersects", "geo.crosses", "geo.intersection", "geo.union"] {
        let start = Instant::now();
        let answer = call_with(FUNCTIONS, name, &arguments);
        assert!(start.elapsed().as_secs() < 60, "{name}");
        assert!(answer.is_err(), "{name}");
    }
    assert!(call_with(FUNCTIONS, "geo.isSimple", &arguments[..1]).is_ok());
}

#[test]
fn the_engine_s_limits_hold() {
    let many = format!(r#"[{{"type":"MultiPoint","coordinates":[{}]}}]"#, vec!["[1,2]"; 50_001].join(","));
    assert!(call(FUNCTIONS, "geo.bagSize", &many).is_err());
    let most = format!(r#"[{{"type":"MultiPoint","coordinates":[{}]}}]"#, vec!["[1,2]"; 50_000].join(","));
    assert_eq!(
        call(FUNCTIONS, "geo.bagSize", &most).map(|size| size.to_json()).ok().as_deref(),
        Some("50000")
    );
    let deep = |depth: usize| {
        let opened = "GEOMETRYCOLLECTION(".repeat(depth);
        Value::Text(format!("{opened}POINT(1 2){}", ")".repeat(depth)).into())
    };
    assert!(call_with(FUNCTIONS, "geo.wktToGeoJSON", &[deep(127)]).is_ok());
    let fault = call_with(FUNCTIONS, "geo.wktToGeoJSON", &[deep(128)]).unwrap_err();
    assert!(fault.message.contains("nesting exceeds"), "{fault}");
    let long = Value::Text(" ".repeat(4 * 1024 * 1024 + 1).into());
    for name in ["geo.wktToGeoJSON", "geo.kmlToGeoJSON", "geo.gml2ToGeoJSON", "geo.gml3ToGeoJSON"] {
        let fault = call_with(FUNCTIONS, name, std::slice::from_ref(&long)).unwrap_err();
        assert!(fault.message.contains("4194304 bytes"), "{fault}");
    }
    let nested = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(call_with(FUNCTIONS, "geo.kmlToGeoJSON", &[Value::Text(nested.into())]).is_err());
}

/// GeographicLib for Java and for Rust differ in the last digits.
#[test]
fn geodesic_distances_are_those_of_the_engine() {
    for (from, to, meters) in
        [("[0,0]", "[0.001,0.001]", 156.903_471_926_917_43), ("[2,-1.3]", "[5,2]", 494_613.765_151_030_15)]
    {
        let arguments =
            format!(r#"[{{"type":"Point","coordinates":{from}}},{{"type":"Point","coordinates":{to}}}]"#);
        let found = call(FUNCTIONS, "geo.geodesicDistance", &arguments).unwrap();
        let found = found.as_number().map_or(0.0, |number| number.to_f64());
        assert!((found - meters).abs() < meters * 1e-14, "{found}, not {meters}");
    }
}
