//! Pieces of an order are those that evaluating comparisons tells apart.

use super::bound::{Bound, Scale};
use super::derived::{Bag, Domain};
use super::find::Range;
use crate::datatype::Decimal;
use crate::program::SlotId;
use crate::value::{DataType, Value};

fn number(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap())
}

fn scale(bounds: impl IntoIterator<Item = Bound>) -> Scale {
    let mut bounds: Vec<Bound> = bounds.into_iter().collect();
    bounds.sort_by(Bound::order);
    bounds.dedup_by(|one, next| one.order(next).is_eq());
    Scale::new(bounds)
}

/// The pieces from one bound to the other.
fn range(scale: &Scale, low: Option<Bound>, high: Option<Bound>, is_outside: bool) -> (u32, u32, bool) {
    let range = Range {
        source: SlotId(0),
        domain: Domain::Number,
        bag: Bag::Only,
        low,
        high,
        is_outside,
        is_exact: true,
        is_error_if_absent: true,
    };
    let pieces = range.piece_range(scale);
    (pieces.first, pieces.end, pieces.is_exact)
}

#[test]
fn bounds_may_be_open_or_closed_and_constants_the_same() {
    // `< 3`, `<= 3`, `>= 3`, `> 3`, `>= 3.0`: two bounds, three pieces.
    let three = number("3");
    let scale = scale([
        Bound::before(&three).unwrap(),
        Bound::after(&three).unwrap(),
        Bound::before(&number("3.0")).unwrap(),
    ]);
    assert_eq!(scale.pieces(), 3);
    let pieces = ["-7", "2.999", "3", "3.000", "3.001", "4", "99999999999999999999"];
    let pieces = pieces.map(|text| scale.piece(&number(text)));
    assert_eq!(pieces, [0, 0, 1, 1, 2, 2, 2]);
    assert_eq!(range(&scale, None, Bound::before(&three), false), (0, 1, true));
    assert_eq!(range(&scale, None, Bound::after(&three), false), (0, 2, true));
    assert_eq!(range(&scale, Bound::before(&three), None, false), (1, 3, true));
    assert_eq!(range(&scale, Bound::after(&three), None, false), (2, 3, true));
}

#[test]
fn every_number_lies_in_the_piece_that_comparing_says() {
    let constants = ["-10", "-1.5", "-1", "0", "0.1", "2", "9223372036854775807", "9223372036854775808"];
    let wholes = ["-10", "-1", "0", "2", "9223372036854775807"];
    let tested = ["-11", "-10", "-9.5", "-1.5", "-1.25", "-1", "-0.5", "0", "0.1", "0.2", "1", "2", "3"];
    let tested = [tested.as_slice(), &["9223372036854775807", "9223372036854775808", "1e30"]].concat();
    for constants in [constants.as_slice(), &wholes] {
        let numbers = constants.iter().map(|text| number(text));
        let bounds: Vec<Bound> =
            numbers.flat_map(|it| [Bound::before(&it), Bound::after(&it)]).flatten().collect();
        let scale = scale(bounds);
        for text in &tested {
            let value = Decimal::parse(text).unwrap();
            // Two bounds at every constant: those below count twice, one that is equal once.
            let passed = constants.iter().map(|constant| {
                let constant = Decimal::parse(constant).unwrap();
                u32::from(value >= constant) + u32::from(value > constant)
            });
            let passed: u32 = passed.sum();
            assert_eq!(scale.piece(&Value::Number(value.clone())), passed, "{text} among {constants:?}");
            if let Some(integer) = value.to_i64() {
                assert_eq!(scale.piece_of_integer(integer), passed, "{text} among {constants:?}");
            }
        }
    }
}

#[test]
fn a_prefix_is_a_range_of_texts() {
    let prefixes = ["/a", "/a/", "/a/b", "/b", "é", "\u{10ffff}", "/a/bb"];
    let bounds = prefixes
        .iter()
        .flat_map(|prefix| [Bound::before(&Value::text(prefix)), Bound::behind_prefix(prefix)]);
    let scale = scale(bounds.flatten());
    let texts = [
        "",
        "/",
        "/a",
        "/a/",
        "/a/b",
        "/a/bb",
        "/a/bbb",
        "/a/c",
        "/ab",
        "/b",
        "/c",
        "a",
        "é",
        "éa",
        "ê",
        "\u{10ffff}x",
        "/a/b\u{10ffff}",
        "/a\u{0}",
    ];
    for prefix in prefixes {
        let (first, end, is_exact) =
            range(&scale, Bound::before(&Value::text(prefix)), Bound::behind_prefix(prefix), false);
        assert!(is_exact);
        for text in texts {
            let piece = scale.piece_of_text(text);
            assert_eq!((first..end).contains(&piece), text.starts_with(prefix), "`{text}` and `{prefix}`");
        }
    }
}

/// The eight bytes that follow what all begin with tell most apart, and not all.
#[test]
fn long_prefixes_that_differ_late_are_told_apart() {
    let prefixes: Vec<String> =
        (0..100).map(|number| format!("/tenants/of/a/long/name/{number:03}/")).collect();
    let bounds = prefixes
        .iter()
        .flat_map(|prefix| [Bound::before(&Value::text(prefix)), Bound::behind_prefix(prefix)]);
    let scale = scale(bounds.flatten());
    for (at, prefix) in (0..).zip(&prefixes) {
        assert_eq!(scale.piece_of_text(&format!("{prefix}file")), 2 * at + 1);
        assert_eq!(scale.piece_of_text(prefix.trim_end_matches('/')), 2 * at);
    }
    assert_eq!(scale.piece_of_text("/tenants"), 0);
    assert_eq!(scale.piece_of_text("/tenants/x"), scale.pieces() - 1);
}

#[test]
fn a_range_between_bounds_that_were_left_out_is_in_more_pieces_and_its_outside_in_more_too() {
    let bound = |text: &str| Bound::before(&number(text));
    let scale = scale(["10", "20", "30"].into_iter().filter_map(bound));
    // From 15 to 25: somewhere in the pieces from 10 to 20 and from 20 to 30.
    assert_eq!(range(&scale, bound("15"), bound("25"), false), (1, 3, false));
    // The rest may be in any piece, since none lies within.
    assert_eq!(range(&scale, bound("15"), bound("25"), true), (2, 2, false));
    assert_eq!(range(&scale, bound("15"), bound("35"), true), (2, 3, false));
    assert_eq!(range(&scale, bound("10"), bound("30"), true), (1, 3, true));
}

#[test]
fn a_range_without_values_has_no_pieces() {
    let bound = |text: &str| Bound::before(&number(text));
    let scale = scale(["10", "20"].into_iter().filter_map(bound));
    let (first, end, _) = range(&scale, bound("20"), bound("10"), false);
    assert_eq!(end - first, 0);
}

#[test]
fn days_and_times_are_compared_in_their_zones() {
    let time = |text: &str| Value::parse(DataType::Time, text).unwrap();
    let scale =
        scale([Bound::before(&time("08:00:00Z")).unwrap(), Bound::after(&time("18:00:00Z")).unwrap()]);
    let pieces = ["07:59:59Z", "08:00:00", "09:30:00+02:00", "18:00:00Z", "18:00:01Z"];
    assert_eq!(pieces.map(|text| scale.piece(&time(text))), [0, 1, 0, 1, 2]);
    assert!(Bound::before(&Value::Double(f64::NAN)).is_none() && Bound::before(&Value::Null).is_none());
}
