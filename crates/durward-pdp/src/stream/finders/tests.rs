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

#[test]
fn a_certificate_changes_at_the_ends_of_its_validity() {
    let finder = X509Finder::new(|text| match text {
        "good" => Ok(Validity { from_ms: 100, until_ms: 200 }),
        _ => Err(durward_ir::Fault::processing("no certificate")),
    });
    let read = |name: &str, entity: Value, now| {
        let invocation = Invocation::entity(entity, name, []);
        assert!(finder.serves(&invocation));
        finder.read(&invocation, &Context::default(), 0, now)
    };
    for (now, is_valid, next) in [(99, "false", Some(100)), (100, "true", Some(200)), (200, "false", None)] {
        let reading = read("x509.isCurrentlyValid", text("good"), now);
        assert_eq!((reading.value.unwrap().to_json().as_str(), reading.next_ms), (is_valid, next));
        let is_expired = read("x509.isExpired", text("good"), now).value.unwrap().to_json();
        assert_ne!(is_expired, is_valid);
    }
    assert!(read("x509.isExpired", text("bad"), 0).value.is_err());
    assert!(read("x509.isExpired", Value::Null, 0).value.is_err());
}

/// A token is its payload, as the pairs of a claim and a number; the header tells the trust.
fn token(trust: Trust, claims: &[(&str, i64)]) -> Token {
    let payload = Value::object(claims.iter().map(|(key, value)| (*key, Value::number(*value))));
    Token { header: Value::object([("alg", text("none"))]), payload, trust }
}

/// The state of a token at this second, and when it changes.
fn state_of(
    token: Option<Token>,
    config: &[(&str, Value)],
    opened_s: i64,
    now_s: i64,
) -> (String, Option<i64>) {
    let finder = JwtFinder::new(move |_, _| token.clone());
    let config = Value::object(config.iter().map(|(key, value)| (*key, value.clone())));
    let surroundings =
        Surroundings { variables: Value::object([("jwt", config)]), ..Surroundings::default() };
    let context = Context {
        secrets: Some(Arc::new(Value::object([("jwt", text("a.b.c")), ("other", text("a.b.c"))]))),
        surroundings: Some(Arc::new(surroundings)),
    };
    let invocation = Invocation::environment("jwt.token", []);
    let reading = finder.read(&invocation, &context, opened_s * 1_000, now_s * 1_000);
    let Ok(Value::Object(object)) = reading.value else { panic!("{:?}", reading.value) };
    let Some(Value::Text(state)) = object.get("validity") else { panic!("{object:?}") };
    let is_valid = matches!(object.get("valid"), Some(Value::Boolean(true)));
    assert_eq!(is_valid, state == "VALID");
    (state.to_string(), reading.next_ms.map(|next| next / 1_000))
}

#[test]
fn a_token_ripens_and_expires() {
    let given = token(Trust::Trusted, &[("nbf", 100), ("exp", 200)]);
    for (now, state, next) in [
        (99, "IMMATURE", Some(100)),
        (100, "VALID", Some(200)),
        (199, "VALID", Some(200)),
        (200, "EXPIRED", None),
    ] {
        assert_eq!(state_of(Some(given.clone()), &[], 0, now), (state.into(), next), "{now}");
    }
    let skew = [("clockSkewSeconds", Value::number(10))];
    assert_eq!(state_of(Some(given.clone()), &skew, 0, 90), ("VALID".into(), Some(210)));
    assert_eq!(state_of(Some(token(Trust::Trusted, &[])), &[], 0, 1), ("VALID".into(), None));
}

#[test]
fn tokens_that_can_never_be_valid_say_why() {
    let given = |trust, claims: &[(&str, i64)]| Some(token(trust, claims));
    let longest = [("maxTokenLifetimeSeconds", Value::number(50))];
    for (given, config, state) in [
        (given(Trust::Trusted, &[("nbf", 200), ("exp", 100)]), &[][..], "NEVER_VALID"),
        (given(Trust::Trusted, &[("iat", 0), ("exp", 51)]), &longest[..], "NEVER_VALID"),
        (given(Trust::Trusted, &[("exp", 61)]), &longest[..], "NEVER_VALID"),
        (given(Trust::Trusted, &[("exp", 60)]), &longest[..], "VALID"),
        (given(Trust::Untrusted, &[("exp", 100)]), &[][..], "UNTRUSTED"),
        (given(Trust::Incompatible, &[]), &[][..], "INCOMPATIBLE"),
        (given(Trust::Incomplete, &[]), &[][..], "INCOMPLETE"),
        (None, &[][..], "MALFORMED"),
    ] {
        assert_eq!(state_of(given, config, 10, 20).0, state);
    }
    let mut odd = token(Trust::Trusted, &[]);
    odd.payload = Value::object([("exp", text("tomorrow"))]);
    assert_eq!(state_of(Some(odd), &[], 10, 20).0, "MALFORMED");
    assert_eq!(
        state_of(given(Trust::Trusted, &[]), &[("secretsKey", text("absent"))], 10, 20).0,
        "MISSING_TOKEN"
    );
}

#[test]
fn the_times_of_a_token_are_shown_as_dates() {
    let finder = JwtFinder::new(|_, _| Some(token(Trust::Trusted, &[("exp", 4_102_444_800), ("n", 1)])));
    let secrets = Some(Arc::new(Value::object([("mine", text("a.b.c"))])));
    let context = Context { secrets, surroundings: None };
    let invocation = Invocation::environment("jwt.token", [text("mine")]);
    let reading = finder.read(&invocation, &context, 0, 0);
    assert_eq!(
        reading.value.unwrap().to_json(),
        r#"{"header":{"alg":"none"},"payload":{"exp":"2100-01-01T00:00:00Z","n":1},"valid":true,"validity":"VALID"}"#
    );
}
