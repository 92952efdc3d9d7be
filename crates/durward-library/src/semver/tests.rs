use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, values};
use durward_ir::Value;

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

fn results() -> Vec<CallExample<'static>> {
    vec![
        (
            "semver.parse",
            values!["v2.5.8"],
            Ok(
                r#"{"version":"2.5.8","major":2,"minor":5,"patch":8,"isStable":true,"isPreRelease":false,"preRelease":[],"buildMetadata":[]}"#,
            ),
        ),
        (
            "semver.parse",
            values!["1.2.3-alpha+b"],
            Ok(
                r#"{"version":"1.2.3-alpha+b","major":1,"minor":2,"patch":3,"isStable":false,"isPreRelease":true,"preRelease":["alpha"],"buildMetadata":["b"]}"#,
            ),
        ),
        (
            "semver.parse",
            values![" 0.1.0\t"],
            Ok(
                r#"{"version":"0.1.0","major":0,"minor":1,"patch":0,"isStable":false,"isPreRelease":true,"preRelease":[],"buildMetadata":[]}"#,
            ),
        ),
        ("semver.isValid", values!["1.0.0-rc.2+build.456"], Ok("true")),
        ("semver.isValid", values!["1.0.0-x-y.--+01.-"], Ok("true")),
        ("semver.isValid", values!["1.0"], Ok("false")),
        ("semver.isValid", values!["1.0.0-"], Ok("false")),
        ("semver.isValid", values!["1.0.0-01"], Ok("false")),
        ("semver.isValid", values!["01.0.0"], Ok("false")),
        ("semver.isValid", values!["V1.0.0"], Ok("false")),
        ("semver.isValid", values!["2147483648.0.0"], Ok("false")),
        ("semver.isValid", values![""], Ok("false")),
        ("semver.compare", values!["1.2.3", "1.10.0"], Ok("-1")),
        ("semver.compare", values!["1.0.0", "1.0.0-alpha"], Ok("1")),
        ("semver.compare", values!["1.0.0+a", "v1.0.0+b"], Ok("0")),
        ("semver.compare", values!["1.0.0-alpha", "1.0.0-alpha.1"], Ok("-1")),
        ("semver.compare", values!["1.0.0-2", "1.0.0-10"], Ok("-1")),
        ("semver.compare", values!["1.0.0-rc2", "1.0.0-rc10"], Ok("-1")),
        ("semver.compare", values!["1.0.0-aa1bb2cc3", "1.0.0-aa1"], Ok("2")),
        ("semver.equals", values!["1.0.0+build.1", "1.0.0"], Ok("true")),
        ("semver.equals", values!["1.0.0-alpha", "1.0.0-beta"], Ok("false")),
        ("semver.isLower", values!["1.0.0-beta", "1.0.0-rc.1"], Ok("true")),
        ("semver.isHigher", values!["1.0.0", "2.0.0"], Ok("false")),
        ("semver.isLowerOrEqual", values!["1.0.0", "1.0.0"], Ok("true")),
        ("semver.isHigherOrEqual", values!["1.0.0", "1.0.1"], Ok("false")),
        ("semver.isAtLeast", values!["2.0.0", "2.0.0"], Ok("true")),
        ("semver.isAtMost", values!["2.0.1", "2.0.0"], Ok("false")),
        ("semver.isBetween", values!["3.0.0", "1.0.0", "3.0.0"], Ok("true")),
        ("semver.isBetween", values!["3.0.1", "1.0.0", "3.0.0"], Ok("false")),
        ("semver.haveSameMajor", values!["1.0.0", "1.5.3"], Ok("true")),
        ("semver.haveSameMinor", values!["1.2.0", "2.2.0"], Ok("false")),
        ("semver.haveSamePatch", values!["1.2.3-alpha", "1.2.3-beta"], Ok("true")),
        ("semver.isCompatibleWith", values!["0.3.0", "0.2.0"], Ok("false")),
        ("semver.isCompatibleWith", values!["1.5.0", "1.0.0"], Ok("true")),
        ("semver.isPreRelease", values!["1.0.0-alpha"], Ok("true")),
        ("semver.isStable", values!["1.0.0+build"], Ok("true")),
        ("semver.isStable", values!["0.9.0"], Ok("false")),
        ("semver.getMajor", values!["10.20.30"], Ok("10")),
        ("semver.getMinor", values!["10.20.30"], Ok("20")),
        ("semver.getPatch", values!["10.20.30"], Ok("30")),
        ("semver.satisfies", values!["2.5.0", ">=2.0.0 <3.0.0"], Ok("true")),
        (
            "semver.maxSatisfying",
            values![array!["1.5.0", 123, "2.1.0", "2.5.0", "3.0.0"], "^2"],
            Ok(r#""2.5.0""#),
        ),
        ("semver.maxSatisfying", values![array!["1.0.0"], ">>invalid<<"], Ok("null")),
        ("semver.maxSatisfying", values![array![], "not read"], Ok("null")),
        ("semver.minSatisfying", values![array!["2.1.0", "1.5.0", "v2.0.1"], "2.x"], Ok(r#""2.0.1""#)),
        ("semver.coerce", values!["v1.2"], Ok(r#""1.2.0""#)),
        ("semver.coerce", values!["  1.2.3-rc  "], Ok(r#""1.2.3-rc""#)),
        ("semver.coerce", values!["release-007.08.9.10x"], Ok(r#""7.8.9""#)),
        ("semver.coerce", values!["1.12345678901234567"], Ok(r#""1.0.0""#)),
        ("semver.diff", values!["1.0.0", "2.0.0"], Ok(r#""major""#)),
        ("semver.diff", values!["1.0.0", "1.1.0"], Ok(r#""minor""#)),
        ("semver.diff", values!["1.0.0", "1.0.1-x"], Ok(r#""patch""#)),
        ("semver.diff", values!["1.0.0-alpha", "1.0.0"], Ok(r#""prerelease""#)),
        ("semver.diff", values!["2.3.5", "2.3.5+build"], Ok(r#""none""#)),
    ]
}

#[test]
fn functions_of_semver_compute_what_semver4j_computes() {
    let results = results();
    LIBRARY.rows(&results);
    LIBRARY.all_called(&results);
}

#[test]
fn faults_carry_the_message_of_semver4j() {
    LIBRARY.rows(&[
        (
            "semver.parse",
            values!["1.0"],
            Err("Invalid semantic version: Version [1.0] is not valid semver.."),
        ),
        (
            "semver.compare",
            values!["1.0.0", " x "],
            Err("Invalid version in comparison: Version [x] is not valid semver.."),
        ),
        (
            "semver.isBetween",
            values!["1.0.0", "1.0.0", ""],
            Err("Invalid version in comparison: Version [] is not valid semver.."),
        ),
        (
            "semver.getMajor",
            values!["2147483648.0.0"],
            Err("Invalid version: Value [2147483648] is too big.."),
        ),
        (
            "semver.isCompatibleWith",
            values!["1", "1.0.0"],
            Err("Invalid version in comparison: Version [1] is not valid semver.."),
        ),
        ("semver.diff", values!["1.0.0", "1"], Err("Invalid version: Version [1] is not valid semver..")),
        (
            "semver.satisfies",
            values!["1", "*"],
            Err("Invalid version or range: Version [1] is not valid semver.."),
        ),
        (
            "semver.satisfies",
            values!["1.0.0", "<99999999999.0.0"],
            Err("Invalid version or range: Value [99999999999] is too big.."),
        ),
        (
            "semver.maxSatisfying",
            values![array!["1.0.0", "x"], "*"],
            Err("Invalid versions or range: Version [x] is not valid semver.."),
        ),
        ("semver.coerce", values![""], Err("Cannot coerce empty string.")),
        ("semver.coerce", values!["not-a-version"], Err("Cannot coerce to valid semantic version.")),
        ("semver.coerce", values!["99999999999"], Err("Cannot coerce to valid semantic version.")),
        (
            "semver.compare",
            values!["1.0.0-99999999999999999999", "1.0.0-1"],
            Err("Invalid version in comparison: A number in a pre-release is too big.."),
        ),
    ]);
    LIBRARY.faults(&[
        (
            "semver.maxSatisfying",
            values!["1.0.0", "*"],
            "argument 1 of `semver.maxSatisfying` must be an array",
        ),
        ("semver.isValid", values![Value::Null], "argument 1 of `semver.isValid` must be a text"),
        (
            "semver.parse",
            values!["1.0.0-".to_owned().repeat(1000).as_str()],
            "Invalid semantic version: Version is longer",
        ),
        (
            "semver.satisfies",
            values!["1.0.0", " ".repeat(5000).as_str()],
            "Invalid version or range: Range is longer",
        ),
    ]);
}

/// Ranges, with a version each that is in them and one that is not.
#[test]
fn ranges_hold_for_the_versions_of_npm_and_ivy() {
    for (range, inside, outside) in [
        (">=2.0.0", "2.0.0", "1.9.9"),
        ("> 1.2", "1.3.0", "1.2.9"),
        ("<=1", "1.9.9", "2.0.0"),
        ("<1.2.x", "1.1.9", "1.2.0"),
        ("=1.2", "1.2.7", "1.3.0"),
        ("1.2.x", "1.2.5", "1.3.0"),
        ("1.+", "1.9.0", "2.0.0"),
        ("~1.2.3", "1.2.9", "1.3.0"),
        ("~>1", "1.9.9", "2.0.0"),
        ("^1.2.3", "1.9.0", "2.0.0"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("^1.2.3-beta.2", "1.2.3-beta.4", "1.2.4-beta.4"),
        ("1.2.3 - 2.3.4", "2.3.4", "2.3.5"),
        ("1.2 - 2.3", "2.3.9", "2.4.0"),
        ("v1.2.3 - 2.3.4-rc", "2.3.4-rc", "2.3.4"),
        ("1.0.0 || >=2.5.0 || 5.0.0 - 7.2.3", "1.0.0", "2.3.0"),
        ("[1.0,2.0[", "1.0.0", "2.0.0"),
        ("]1.0,)", "1.0.1", "1.0.0"),
        ("(,2.0]", "2.0.0", "2.0.1"),
        ("1.2.3-alpha", "1.2.3-alpha", "1.2.3-beta"),
        ("*", "0.0.0", "0.0.1-alpha"),
        ("latest.integration", "9.9.9", "1.0.0-rc"),
        ("1.0.0||", "1.0.0", "2.0.0"),
        // A part that is not understood is passed over.
        (">=1.0.0 nonsense", "1.0.0", "0.9.0"),
    ] {
        LIBRARY.rows(&[
            ("semver.satisfies", values![inside, range], Ok("true")),
            ("semver.satisfies", values![outside, range], Ok("false")),
        ]);
    }
}

/// What semver4j makes of these is not what npm makes of them; decisions must not differ all the same.
#[test]
fn ranges_that_semver4j_misreads_are_misread_alike() {
    LIBRARY.rows(&[
        ("semver.satisfies", values!["9.9.9", "^0"], Ok("true")),
        ("semver.satisfies", values!["0.0.0", "^0.0"], Ok("false")),
        ("semver.satisfies", values!["1.0.0", "x"], Ok("false")),
        ("semver.satisfies", values!["1.0.0", "||"], Ok("false")),
        ("semver.satisfies", values!["1.0.0", "> =1.0.0"], Ok("true")),
        ("semver.satisfies", values!["0.0.0", "[,1.0]"], Ok("true")),
    ]);
}
