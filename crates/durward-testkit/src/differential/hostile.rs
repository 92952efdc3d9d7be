//! Hostile input: errors at every place of a policy, and functions with absurd arguments.

use super::TestRandom;

/// Calls with a place for each argument.
const FUNCTIONS: [&str; 48] = [
    "array.avg(?)",
    "array.concatenate(?, ?)",
    "array.crossProduct(?, ?)",
    "array.flatten(?)",
    "array.head(?)",
    "array.max(?)",
    "array.median(?)",
    "array.range(?, ?)",
    "array.sort(?)",
    "array.sum(?)",
    "array.toSet(?)",
    "bitwise.bitwiseAnd(?, ?)",
    "bitwise.leftShift(?, ?)",
    "cidr.contains(?, ?)",
    "digest.sha256(?)",
    "encoding.base64Decode(?)",
    "encoding.hexEncode(?)",
    "filter.blacken(?)",
    "filter.replace(?, ?)",
    "graph.isReachable(?, ?, ?)",
    "json.jsonToVal(?)",
    "json.valToJson(?)",
    "jsonschema.isCompliant(?, ?)",
    "math.abs(?)",
    "math.pow(?, ?)",
    "math.round(?)",
    "math.sqrt(?)",
    "object.keys(?)",
    "object.values(?)",
    "patterns.findMatches(?, ?)",
    "patterns.matchGlob(?, ?, ?)",
    "permissions.hasAll(?, ?)",
    "reflect.isEmpty(?)",
    "reflect.isError(?)",
    "reflect.typeOf(?)",
    "semver.isHigher(?, ?)",
    "standard.length(?)",
    "standard.onErrorMap(?, ?)",
    "standard.toString(?)",
    "string.concat(?, ?)",
    "string.contains(?, ?)",
    "string.join(?, ?)",
    "string.substring(?, ?)",
    "string.toLowerCase(?)",
    "time.before(?, ?)",
    "time.durationOfSeconds(?)",
    "time.plusDays(?, ?)",
    "uuid.parse(?)",
];

/// Arguments besides those that policies have at hand.
const ARGUMENTS: [&str; 16] = [
    "null",
    "undefined",
    "true",
    "0.0",
    "-1",
    "1e1",
    "9007199254740993",
    "1e400",
    "\"\"",
    "\"(\"",
    "\"2021-11-08T13:00:00Z\"",
    "\"10.0.0.0/8\"",
    "[]",
    "[[1, \"v1\"], null]",
    "{}",
    "{\"a\": [0.0, 10.0]}",
];

/// A function of some of these parts, and of what it may not expect.
pub(super) fn call(random: &mut TestRandom, parts: &[&'static str]) -> String {
    let mut call = String::new();
    for (at, piece) in random.of(&FUNCTIONS).split('?').enumerate() {
        if at > 0 {
            call += if random.percent(50) { random.of(parts) } else { random.of(&ARGUMENTS) };
        }
        call += piece;
    }
    call
}

/// What fails for most questions, or for all.
pub(super) fn failure(random: &mut TestRandom, part: &str) -> String {
    match random.below(9) {
        0 => format!("limit / {part} > 1"),
        1 => format!("({part} / 0) == 1"),
        2 => format!("{part}[3]"),
        3 => format!("!{part}"),
        4 => format!("\"v1\" < {part}"),
        5 => format!("({part} ^ true)"),
        6 => format!("{part}[?(@)]"),
        7 => format!("(1 / 0) == {part}"),
        // Known to fail when policies are read.
        _ => "1 / 0 > 0".to_owned(),
    }
}
