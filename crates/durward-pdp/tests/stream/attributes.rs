//! How streams of attribute values are fed.

use durward_pdp::Value;
use durward_pdp::stream::finders::TimeFinder;
use durward_pdp::stream::{BrokerSettings, Finder, FinderOptions, Invocation, Late};

use crate::world::{Ask, Question, World, attribute, number, take, text, value, values};

fn with(name: &str, options: FinderOptions) -> Ask {
    Ask::Value(Invocation { options, ..attribute(name) })
}

#[test]
fn the_first_decision_waits_for_every_value() {
    let mut world = World::new();
    let mut both = world.subscribe(values(&["src.a", "src.b"]));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut both), None);
    world.sources.publish("src.b", number(2));
    world.settle();
    assert_eq!(take(&mut both).unwrap(), "1 2");
    assert_eq!(take(&mut both), None);
}

#[test]
fn equal_invocations_share_a_source_until_nobody_is_left() {
    let mut world = World::new();
    let first = world.subscribe(value("src.a"));
    let second = world.subscribe(values(&["src.a", "src.b"]));
    assert_eq!(world.sources.count("src.a"), (1, 1));
    drop(first);
    world.settle();
    assert_eq!(world.sources.count("src.a"), (1, 1));
    drop(second);
    world.settle();
    assert_eq!(world.sources.count("src.a"), (0, 1));
    assert_eq!(world.sources.count("src.b"), (0, 1));
    assert_eq!(world.streams.info().streams, 0);
}

#[test]
fn other_options_entities_or_arguments_are_other_streams() {
    let world = World::new();
    let asks = [
        value("src.a"),
        with("src.a", FinderOptions { retries: 0, ..FinderOptions::default() }),
        Ask::Value(Invocation::environment("src.a", [number(1)])),
        Ask::Value(Invocation::entity(Value::Null, "src.a", [])),
        Ask::Value(Invocation::entity(number(1), "src.a", [])),
        Ask::Value(Invocation::environment("src.a", [Value::number(1)])),
    ];
    let _all: Vec<_> = asks.into_iter().map(|ask| world.subscribe(ask)).collect();
    assert_eq!(world.sources.count("src.a"), (5, 5));
}

#[test]
fn a_fresh_stream_is_shared_with_nobody() {
    let mut world = World::new();
    let fresh = with("src.a", FinderOptions { fresh: true, ..FinderOptions::default() });
    let mut subscriptions: Vec<_> = [fresh.clone(), fresh.clone(), Ask::All(vec![fresh.clone(), fresh])]
        .map(|ask| world.subscribe(ask))
        .into();
    // Within one subscription it is one and the same.
    assert_eq!(world.sources.count("src.a"), (3, 3));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut subscriptions[2]).unwrap(), "1 1");
}

#[test]
fn subscriptions_with_other_secrets_never_share_a_stream_that_reads_them() {
    let mut world = World::new();
    let ask = |secret: Value| Question { ask: value("src.context"), secrets: secret };
    let mut subscriptions: Vec<_> = [text("hers"), text("his"), text("his"), Value::Undefined]
        .map(|secret| world.subscribe(ask(secret)))
        .into();
    world.settle();
    assert_eq!(world.sources.count("src.context"), (3, 3));
    let found: Vec<_> = subscriptions.iter_mut().map(|one| take(one).unwrap()).collect();
    assert_eq!(found, [r#"[{},"hers"]"#, r#"[{},"his"]"#, r#"[{},"his"]"#, "[{},undefined]"]);
}

#[test]
fn a_grace_period_keeps_sources_for_those_who_come_back() {
    let mut world = World::with(BrokerSettings { grace_ms: 3_000, ..BrokerSettings::default() });
    let first = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.settle();
    drop(first);
    world.run(2_999);
    let mut second = world.subscribe(value("src.a"));
    assert_eq!(take(&mut second).unwrap(), "1");
    world.run(10_000);
    drop(second);
    world.run(2_999);
    assert_eq!(world.sources.count("src.a"), (1, 1));
    world.run(1);
    assert_eq!(world.sources.count("src.a"), (0, 1));
}

#[test]
fn without_a_finder_the_value_is_undefined_at_once() {
    let world = World::new();
    assert_eq!(take(&mut world.subscribe(value("foo.bar"))).unwrap(), "undefined");
}

#[test]
fn a_source_that_is_late_makes_the_value_undefined_and_is_opened_again() {
    let mut world = World::new();
    let mut late = world.subscribe(value("src.a"));
    world.run(2_999);
    assert_eq!(take(&mut late), None);
    world.run(1);
    assert_eq!(take(&mut late).unwrap(), "undefined");
    assert_eq!(world.sources.count("src.a"), (0, 1));
    world.run(1_500);
    assert_eq!(world.sources.count("src.a"), (1, 2));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut late).unwrap(), "1");
}

#[test]
fn a_source_that_is_late_may_stay_open() {
    let mut world = World::with(BrokerSettings { late: Late::StaysOpen, ..BrokerSettings::default() });
    let mut late = world.subscribe(value("src.a"));
    world.run(60_000);
    assert_eq!(take(&mut late).unwrap(), "undefined");
    assert_eq!(world.sources.count("src.a"), (1, 1));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut late).unwrap(), "1");
}

#[test]
fn a_completed_source_is_opened_again_after_the_poll_interval() {
    let mut world = World::new();
    let mut polled = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.sources.publisher("src.a").complete();
    world.run(29_999);
    assert_eq!(take(&mut polled).unwrap(), "1");
    assert_eq!(world.sources.count("src.a"), (0, 1));
    world.run(1);
    assert_eq!(world.sources.count("src.a"), (1, 2));
    assert_eq!(take(&mut polled), None);
    world.sources.publish("src.a", number(2));
    world.settle();
    assert_eq!(take(&mut polled).unwrap(), "2");
}

#[test]
fn an_empty_source_makes_the_value_undefined() {
    let mut world = World::new();
    let mut empty = world.subscribe(value("src.a"));
    world.sources.publisher("src.a").complete();
    world.settle();
    assert_eq!(take(&mut empty).unwrap(), "undefined");
}

#[test]
fn a_failed_source_is_tried_again_ever_more_slowly_before_the_value_is_an_error() {
    let mut world = World::new();
    let mut failing = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut failing).unwrap(), "1");
    for (retry, pause) in [1_000, 2_000, 4_000].into_iter().enumerate() {
        world.sources.publisher("src.a").fail("down");
        world.run(pause / 2 - 1);
        assert_eq!(world.sources.count("src.a"), (0, retry + 1), "too early");
        world.run(pause + 1);
        assert_eq!(world.sources.count("src.a"), (1, retry + 2), "too late");
        assert_eq!(take(&mut failing), None, "the last value holds");
    }
    world.sources.publisher("src.a").fail("down");
    world.settle();
    assert_eq!(take(&mut failing).unwrap(), "error(the attribute `src.a` failed, after 3 retries: down)");
    world.run(30_000);
    assert_eq!(world.sources.count("src.a"), (1, 5));
    world.sources.publish("src.a", number(2));
    world.settle();
    assert_eq!(take(&mut failing).unwrap(), "2");
}

#[test]
fn the_pauses_of_sources_that_fail_together_differ() {
    let mut world = World::new();
    let names: Vec<String> = (0..20).map(|n| format!("src.n{n}")).collect();
    let _all: Vec<_> = names.iter().map(|name| world.subscribe(value(name))).collect();
    names.iter().for_each(|name| world.sources.publisher(name).fail("down"));
    world.run(1_000);
    let early = names.iter().filter(|name| world.sources.count(name).0 == 1).count();
    assert!((1..20).contains(&early), "{early}");
    world.run(500);
    assert!(names.iter().all(|name| world.sources.count(name) == (1, 2)));
}

#[test]
fn without_retries_a_failure_is_an_error_at_once() {
    let mut world = World::new();
    let mut failing =
        world.subscribe(with("src.a", FinderOptions { retries: 0, ..FinderOptions::default() }));
    world.sources.publisher("src.a").fail("down");
    world.settle();
    assert!(take(&mut failing).unwrap().starts_with("error("));
}

#[test]
fn an_error_may_be_a_value() {
    let mut world = World::new();
    let mut erring = world.subscribe(value("src.a"));
    world.sources.publish_error("src.a", "no such user");
    world.settle();
    assert_eq!(take(&mut erring).unwrap(), "error(no such user)");
    assert_eq!(world.sources.count("src.a"), (1, 1));
}

#[test]
fn a_finder_that_panics_has_failed() {
    let mut world = World::new();
    let mut failing =
        world.subscribe(with("src.panic", FinderOptions { retries: 0, ..FinderOptions::default() }));
    world.settle();
    assert!(take(&mut failing).unwrap().contains("panicked"));
}

#[test]
fn a_source_that_publishes_while_it_is_opened_is_heard_at_once() {
    let world = World::new();
    assert_eq!(take(&mut world.subscribe(values(&["src.sync1", "src.sync2"]))).unwrap(), r#""sync" "sync""#);
}

#[test]
fn what_a_source_says_after_it_was_closed_is_not_heard() {
    let mut world = World::new();
    let mut first = world.subscribe(value("src.a"));
    let old = world.sources.publisher("src.a");
    drop(first);
    world.settle();
    first = world.subscribe(value("src.a"));
    old.publish(Ok(number(1)));
    old.complete();
    world.settle();
    assert!(old.is_closed());
    assert_eq!(take(&mut first), None);
    assert_eq!(world.sources.count("src.a"), (1, 2));
}

#[test]
fn a_source_without_pause_cannot_keep_the_driver_busy() {
    let mut world = World::new();
    let options = FinderOptions { poll_interval_ms: 0, backoff_ms: 0, ..FinderOptions::default() };
    let _polled = world.subscribe(with("src.a", options));
    for _ in 0..20 {
        world.sources.publisher("src.a").complete();
        world.run(10);
    }
    assert_eq!(world.sources.count("src.a"), (1, 21));
}

#[test]
fn a_clock_that_goes_back_delays_and_does_no_harm() {
    let mut world = World::new();
    world.now = 1_000_000;
    let mut late = world.subscribe(value("src.a"));
    world.now = 0;
    world.run(10_000);
    assert_eq!(take(&mut late), None);
    world.now = 1_003_000;
    world.run(0);
    assert_eq!(take(&mut late).unwrap(), "undefined");
}

#[test]
fn the_time_is_told_to_the_millisecond() {
    let mut world = World::new();
    world.streams.set_finders(vec![Finder::timed(TimeFinder::default())], 0);
    let after = Invocation::environment("time.nowIsAfter", [text("1970-01-01T00:00:05Z")]);
    let mut after = world.subscribe(Ask::Value(after));
    assert_eq!(take(&mut after).unwrap(), "false");
    world.run(4_999);
    assert_eq!(take(&mut after), None);
    world.run(1);
    assert_eq!(take(&mut after).unwrap(), "true");
    let mut toggle =
        world.subscribe(Ask::Value(Invocation::environment("time.toggle", [number(1_000), number(500)])));
    let seen: Vec<_> = (0..6)
        .map(|_| {
            let found = take(&mut toggle);
            world.run(500);
            found
        })
        .collect();
    let seen: Vec<_> = seen.iter().map(|found| found.as_deref()).collect();
    assert_eq!(seen, [Some("true"), None, Some("false"), Some("true"), None, Some("false")]);
}

#[test]
fn newcomers_see_what_is_due_before_the_driver_does() {
    let mut world = World::new();
    world.streams.set_finders(vec![Finder::timed(TimeFinder::default())], 0);
    let after = Ask::Value(Invocation::environment("time.nowIsAfter", [text("1970-01-01T00:00:05Z")]));
    let mut early = world.subscribe(after.clone());
    world.now = 6_000;
    assert_eq!(take(&mut world.subscribe(after)).unwrap(), "true");
    assert_eq!(take(&mut early).unwrap(), "false");
    world.settle();
    assert_eq!(take(&mut early).unwrap(), "true");
}
