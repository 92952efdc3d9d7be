//! The finders at chosen moments.

use std::sync::Arc;

use durward_ir::Value;
use durward_ir::datatype::Decimal;
use jiff::Timestamp;

use super::*;
use crate::stream::finder::{Reading, TimedFinder};
use crate::stream::invocation::{Context, Invocation, Surroundings};

fn ms(moment: &str) -> i64 {
    moment.parse::<Timestamp>().unwrap().as_millisecond()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn texts(texts: &[&str]) -> Value {
    Value::array(texts.iter().map(|one| text(one)))
}

fn number(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap())
}

fn read(name: &str, arguments: &[Value], opened: &str, now: &str) -> Reading {
    let finder = TimeFinder::default();
    let invocation = Invocation::environment(format!("time.{name}"), arguments.to_vec());
    assert!(finder.serves(&invocation), "{name}");
    finder.read(&invocation, &Context::default(), ms(opened), ms(now))
}

/// The value as JSON, and when it changes next.
fn check(name: &str, arguments: &[Value], now: &str, expected: &str, next: Option<&str>) {
    let reading = read(name, arguments, now, now);
    assert_eq!(reading.value.unwrap().to_json(), expected, "{name} at {now}");
    assert_eq!(reading.next_ms, next.map(ms), "{name} at {now}");
}

#[test]
fn now_is_written_without_zeros_at_the_end_and_comes_every_interval() {
    check("now", &[], "2026-03-01T12:00:00Z", r#""2026-03-01T12:00:00Z""#, Some("2026-03-01T12:00:01Z"));
    check(
        "now",
        &[number("250")],
        "2026-03-01T12:00:00.120Z",
        r#""2026-03-01T12:00:00.12Z""#,
        Some("2026-03-01T12:00:00.370Z"),
    );
    // A driver that comes late does not shift what follows.
    let late = read("now", &[], "2026-03-01T12:00:00Z", "2026-03-01T12:00:02.3Z");
    assert_eq!(late.next_ms, Some(ms("2026-03-01T12:00:03Z")));
}

#[test]
fn moments_are_reached_in_the_millisecond_they_name() {
    let at = [text("2026-03-01T12:00:00Z")];
    for (now, after, next) in [
        ("2026-03-01T11:59:59.999Z", true, Some("2026-03-01T12:00:00Z")),
        ("2026-03-01T12:00:00Z", false, None),
    ] {
        check("nowIsBefore", &at, now, &after.to_string(), next);
        check("nowIsAfter", &at, now, &(!after).to_string(), next);
    }
    let fraction = [text("2026-03-01T12:00:00.0000001Z")];
    check("nowIsAfter", &fraction, "2026-03-01T12:00:00Z", "false", Some("2026-03-01T12:00:00.001Z"));
}

#[test]
fn between_two_moments_changes_at_both() {
    let (start, end) = ("2026-03-01T12:00:00Z", "2026-03-01T14:00:00+01:00");
    let bounds = [text(start), text(end)];
    check("nowIsBetween", &bounds, "2026-03-01T11:00:00Z", "false", Some(start));
    check("nowIsBetween", &bounds, start, "true", Some(end));
    check("nowIsBetween", &bounds, end, "false", None);
    let backwards = [text(end), text(start)];
    check("nowIsBetween", &backwards, "2026-03-01T12:30:00Z", "false", None);
}

#[test]
fn times_of_day_change_at_the_time_and_at_midnight() {
    let after = [text("17:00")];
    check("localTimeIsAfter", &after, "2026-03-01T16:59:59Z", "false", Some("2026-03-01T17:00:00Z"));
    check("localTimeIsAfter", &after, "2026-03-01T17:00:00Z", "true", Some("2026-03-02T00:00:00Z"));
    check("localTimeIsBefore", &after, "2026-03-02T00:00:00Z", "true", Some("2026-03-02T17:00:00Z"));
    let over_midnight = [text("22:00"), text("06:00:00")];
    for (now, is_in, next) in [
        ("2026-03-01T21:00:00Z", "false", "2026-03-01T22:00:00Z"),
        ("2026-03-01T22:00:00Z", "true", "2026-03-02T00:00:00Z"),
        ("2026-03-02T00:00:00Z", "true", "2026-03-02T06:00:00Z"),
        ("2026-03-02T06:00:00Z", "false", "2026-03-02T22:00:00Z"),
    ] {
        check("localTimeIsBetween", &over_midnight, now, is_in, Some(next));
    }
}

#[test]
fn the_whole_day_and_no_time_at_all_are_as_in_sapl() {
    let (first, last) = ("00:00", "23:59:59.999999999");
    for (start, end, is_in) in
        [(first, last, "true"), (last, first, "true"), (first, first, "false"), (last, last, "false")]
    {
        let reading = read(
            "localTimeIsBetween",
            &[text(start), text(end)],
            "2026-03-01T12:00:00Z",
            "2026-03-01T12:00:00Z",
        );
        assert_eq!(reading.value.unwrap().to_json(), is_in, "{start} {end}");
    }
    for (time, is_after) in [(first, "true"), (last, "false")] {
        let reading =
            read("localTimeIsAfter", &[text(time)], "2026-03-01T23:59:59.999Z", "2026-03-01T23:59:59.999Z");
        assert_eq!(reading.value.unwrap().to_json(), is_after, "{time}");
    }
}

#[test]
fn local_times_follow_clocks_that_are_put_forward_and_back() {
    let night = |now, is_in, next| {
        let bounds = [text("02:30"), text("04:00"), text("Europe/Berlin")];
        check("localTimeIsBetween", &bounds, now, is_in, Some(next));
    };
    // On 29 March 2026, 02:00 is followed by 03:00, which is after 02:30.
    night("2026-03-29T00:30:00Z", "false", "2026-03-29T01:00:00Z");
    night("2026-03-29T01:00:00Z", "true", "2026-03-29T01:30:00Z");
    night("2026-03-29T01:30:00Z", "true", "2026-03-29T02:00:00Z");
    night("2026-03-29T02:00:00Z", "false", "2026-03-29T22:00:00Z");
    // On 25 October, 03:00 is followed by 02:00, which is before 02:30 once more.
    night("2026-10-25T00:30:00Z", "true", "2026-10-25T01:00:00Z");
    night("2026-10-25T01:00:00Z", "false", "2026-10-25T03:00:00Z");
}

#[test]
fn days_and_months_change_at_local_midnight() {
    let week = ["MONDAY", "tuesday", "WEDNESDAY", "THURSDAY", "FRIDAY"];
    // 2026-03-01 is a Sunday.
    check("weekdayIn", &[texts(&week)], "2026-03-01T12:00:00Z", "false", Some("2026-03-02T00:00:00Z"));
    check("weekdayIn", &[texts(&week)], "2026-03-02T00:00:00Z", "true", Some("2026-03-07T00:00:00Z"));
    let in_new_york = [texts(&week), text("America/New_York")];
    check("weekdayIn", &in_new_york, "2026-03-02T04:00:00Z", "false", Some("2026-03-02T05:00:00Z"));
    let weekend = [text("SATURDAY"), text("MONDAY")];
    check("dayOfWeekBetween", &weekend, "2026-03-01T12:00:00Z", "true", Some("2026-03-03T00:00:00Z"));
    let winter = [number("11"), number("3")];
    check("monthBetween", &winter, "2026-03-01T12:00:00Z", "true", Some("2026-04-01T00:00:00Z"));
    check("monthBetween", &winter, "2026-04-01T00:00:00Z", "false", Some("2026-11-01T00:00:00Z"));
    let months = [Value::array([text("JUNE"), number("7")])];
    check("monthIn", &months, "2026-01-31T12:00:00Z", "false", Some("2026-06-01T00:00:00Z"));
    check("monthBetween", &[number("1"), number("12")], "2026-03-01T12:00:00Z", "true", None);
    check("dayOfWeekBetween", &[text("TUESDAY"), text("MONDAY")], "2026-03-01T12:00:00Z", "true", None);
}

#[test]
fn a_toggle_counts_from_when_its_stream_began() {
    for (past, is_on, next) in
        [(0, true, 100), (99, true, 100), (100, false, 300), (299, false, 300), (305, true, 400)]
    {
        let invocation = Invocation::environment("time.toggle", [number("100"), number("200")]);
        let reading = TimeFinder::default().read(&invocation, &Context::default(), 1_000, 1_000 + past);
        assert_eq!(reading.value.unwrap().to_json(), is_on.to_string(), "{past}");
        assert_eq!(reading.next_ms, Some(1_000 + next), "{past}");
    }
}

#[test]
fn unfit_arguments_are_errors() {
    let now = "2026-03-01T12:00:00Z";
    for (name, arguments) in [
        ("now", vec![number("0")]),
        ("now", vec![number("-1")]),
        ("now", vec![text("1000")]),
        ("nowIsAfter", vec![text("2026-03-01")]),
        ("nowIsAfter", vec![text("2026-03-01 12:00:00Z")]),
        ("nowIsAfter", vec![text("2026-03-01T12:00Z")]),
        ("nowIsAfter", vec![text("2026-03-01T12:00:00")]),
        ("nowIsAfter", vec![number("1")]),
        ("localTimeIsAfter", vec![text("9:00")]),
        ("localTimeIsAfter", vec![text("24:00")]),
        ("localTimeIsAfter", vec![text("09:00.5")]),
        ("localTimeIsAfter", vec![text("09:00:00.1234567890")]),
        ("localTimeIsAfter", vec![text("09:00"), text("europe/berlin")]),
        ("localTimeIsAfter", vec![text("09:00"), text("Atlantis")]),
        ("localTimeIsAfter", vec![text("09:00"), text("+19:00")]),
        ("weekdayIn", vec![texts(&[])]),
        ("weekdayIn", vec![texts(&["MON"])]),
        ("monthIn", vec![texts(&["JAN"])]),
        ("monthBetween", vec![number("0"), number("3")]),
        ("toggle", vec![number("100"), number("0")]),
    ] {
        let reading = read(name, &arguments, now, now);
        assert!(reading.value.is_err(), "{name} {arguments:?}");
        assert_eq!(reading.next_ms, None);
    }
}

#[test]
fn zones_may_be_written_as_distances_from_utc() {
    let now = "2026-03-01T12:00:00Z";
    for zone in ["+02:00", "+02", "+2", "UTC+2", "GMT+02:00", "UT+0200", "+02:00:00", "Europe/Kyiv"] {
        let next = Some("2026-03-01T15:00:00Z");
        check("localTimeIsAfter", &[text("17:00"), text(zone)], now, "false", next);
    }
    for zone in ["Z", "UTC", "GMT"] {
        check("localTimeIsAfter", &[text("17:00"), text(zone)], now, "false", Some("2026-03-01T17:00:00Z"));
    }
}

#[test]
fn other_names_entities_and_numbers_of_arguments_are_not_served() {
    let finder = TimeFinder::default();
    for invocation in [
        Invocation::environment("time.then", []),
        Invocation::environment("now", []),
        Invocation::environment("time.now", [number("1"), number("2")]),
        Invocation::environment("time.nowIsAfter", []),
        Invocation::entity(Value::Null, "time.now", []),
    ] {
        assert!(!finder.serves(&invocation), "{invocation:?}");
    }
}

#[test]
fn extreme_numbers_and_clocks_do_no_harm() {
    let finder = TimeFinder::default();
    let most = number("9223372036854775807");
    for now in [i64::MIN, -1, 0, i64::MAX] {
        for (name, arguments) in [
            ("time.toggle", vec![most.clone(), most.clone()]),
            ("time.now", vec![most.clone()]),
            ("time.now", vec![]),
            ("time.weekdayIn", vec![texts(&["MONDAY"])]),
            ("time.localTimeIsAfter", vec![text("12:00")]),
            ("time.nowIsAfter", vec![text("9999-12-30T22:00:00Z")]),
        ] {
            let reading = finder.read(&Invocation::environment(name, arguments), &Context::default(), 0, now);
            assert!(reading.next_ms.is_none_or(|next| next > now), "{name} at {now}");
        }
    }
}

/// What the tests of the library's functions are signed with.
const CERTIFICATE: &str = include_str!("../../../../durward-library-crypto/src/crypto/fixtures/plain.crt");
const TOKENS: &str = include_str!("../../../../durward-library-crypto/src/crypto/fixtures/tokens");
const KEY: &str = include_str!("../../../../durward-library-crypto/src/crypto/fixtures/rsa2048.pub");

#[test]
fn a_certificate_changes_at_the_ends_of_its_validity() {
    let (from, until) = (ms("2024-02-29T12:00:00Z"), ms("2034-03-01T00:00:00Z"));
    let read = |name: &str, entity: Value, now| {
        let invocation = Invocation::entity(entity, name, []);
        assert!(X509Finder.serves(&invocation));
        X509Finder.read(&invocation, &Context::default(), 0, now)
    };
    for (now, is_valid, next) in
        [(from - 1, "false", Some(from)), (from, "true", Some(until)), (until, "false", None)]
    {
        let reading = read("x509.isCurrentlyValid", text(CERTIFICATE), now);
        assert_eq!((reading.value.unwrap().to_json().as_str(), reading.next_ms), (is_valid, next));
        let is_expired = read("x509.isExpired", text(CERTIFICATE), now).value.unwrap().to_json();
        assert_ne!(is_expired, is_valid);
    }
    assert!(read("x509.isExpired", text("bad"), 0).value.is_err());
    assert!(read("x509.isExpired", Value::Null, 0).value.is_err());
}

/// What `jwt.token` says of the token `rs256` with this configuration.
fn token(finder: &JwtFinder, config: Value, arguments: &[Value], now_ms: i64) -> Reading {
    let rs256 = TOKENS.lines().find_map(|line| line.strip_prefix("rs256 ")).unwrap();
    let secrets = Value::object([("jwt", text(rs256)), ("other", text("a.b.c"))]);
    let surroundings =
        Surroundings { variables: Value::object([("jwt", config)]), ..Surroundings::default() };
    let context = Context { secrets: Some(Arc::new(secrets)), surroundings: Some(Arc::new(surroundings)) };
    let invocation = Invocation::environment("jwt.token", arguments.to_vec());
    assert!(finder.serves(&invocation));
    finder.read(&invocation, &context, 0, now_ms)
}

fn validity(reading: &Reading) -> String {
    let value = reading.value.as_ref().unwrap().as_object().unwrap();
    value.get("validity").and_then(Value::as_text).unwrap().to_owned()
}

fn whitelist() -> Value {
    let key: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
    Value::object([("rsa2048", text(&key))])
}

#[test]
fn a_token_is_valid_between_its_times_if_its_key_is_trusted() {
    let (issued, expires) = (1_700_000_000_000, 1_700_003_600_000);
    let config = Value::object([("whitelist", whitelist())]);
    for (now, state, next) in [
        (issued - 1, "IMMATURE", Some(issued)),
        (issued, "VALID", Some(expires)),
        (expires + 1, "EXPIRED", None),
    ] {
        let reading = token(&JwtFinder::default(), config.clone(), &[], now);
        assert_eq!((validity(&reading).as_str(), reading.next_ms), (state, next), "{now}");
    }
    let untrusted = token(&JwtFinder::default(), Value::object::<&str>([]), &[], issued);
    assert_eq!(validity(&untrusted), "UNTRUSTED");
    assert_eq!(validity(&token(&JwtFinder::default(), Value::Null, &[], issued)), "UNTRUSTED");
}

#[test]
fn settings_of_tokens_are_variables() {
    let issued = 1_700_000_000_000;
    let with = |key: &str, value: Value| {
        let config = Value::object([("whitelist", whitelist()), (key, value)]);
        validity(&token(&JwtFinder::default(), config, &[], issued - 10_000))
    };
    assert_eq!(with("clockSkewSeconds", Value::number(10)), "VALID");
    assert_eq!(with("clockSkewSeconds", Value::number(9)), "IMMATURE");
    assert_eq!(with("maxTokenLifetimeSeconds", Value::number(60)), "NEVER_VALID");
    assert_eq!(with("secretsKey", text("other")), "MALFORMED");
    assert_eq!(with("secretsKey", text("missing")), "MISSING_TOKEN");
    let other = token(&JwtFinder::default(), Value::Null, &[text("other")], issued);
    assert_eq!(validity(&other), "MALFORMED");
    assert!(token(&JwtFinder::default(), Value::Null, &[Value::Null], issued).value.is_err());
}

#[test]
fn keys_that_are_not_listed_may_come_from_elsewhere() {
    let finder = JwtFinder::with_keys(|id, config| {
        assert_eq!(id, "rsa2048");
        let key: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
        config.contains_key("publicKeyServer").then(|| durward_library::jwt::TrustedKey::read(&key).unwrap())
    });
    let issued = 1_700_000_000_000;
    let config = Value::object([("publicKeyServer", Value::Null)]);
    assert_eq!(validity(&token(&finder, config, &[], issued)), "VALID");
    assert_eq!(validity(&token(&finder, Value::object::<&str>([]), &[], issued)), "UNTRUSTED");
}
