//! The head of a stream: `|<`.

use durward_pdp::stream::{Finder, FinderOptions, Invocation, finders::TimeFinder};

use crate::world::{Ask, World, attribute, number, take, value};

fn head(name: &str) -> Ask {
    Ask::Value(Invocation { head: true, ..attribute(name) })
}

#[test]
fn the_first_value_stays_and_its_source_is_closed() {
    let mut world = World::new();
    let mut first = world.subscribe(head("src.a"));
    assert_eq!(take(&mut first), None);
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut first).unwrap(), "1");
    assert_eq!(world.sources.count("src.a"), (0, 1));
    drop(first);
    world.settle();
    assert_eq!(world.streams.info().streams, 0);
}

#[test]
fn a_newcomer_gets_the_first_value_that_it_could_see() {
    let mut world = World::new();
    let mut whole = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.settle();
    let mut early = world.subscribe(head("src.a"));
    world.sources.publish("src.a", number(2));
    world.settle();
    let mut late = world.subscribe(Ask::All(vec![head("src.a"), value("src.a")]));
    world.sources.publish("src.a", number(3));
    world.settle();
    assert_eq!(world.sources.count("src.a"), (1, 1));
    assert_eq!(take(&mut early).unwrap(), "1");
    assert_eq!(take(&mut late).unwrap(), "2 3");
    assert_eq!(take(&mut whole).unwrap(), "3");
}

#[test]
fn those_who_wait_for_a_head_together_share_it() {
    let mut world = World::new();
    let mut both: Vec<_> = (0..2).map(|_| world.subscribe(head("src.a"))).collect();
    assert_eq!(world.streams.info().streams, 2);
    drop(both.pop());
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut both[0]).unwrap(), "1");
}

#[test]
fn nobody_waiting_for_a_head_closes_its_source() {
    let mut world = World::new();
    let first = world.subscribe(head("src.a"));
    drop(first);
    world.settle();
    assert_eq!(world.sources.count("src.a"), (0, 1));
    assert_eq!(world.streams.info().streams, 0);
}

#[test]
fn a_fresh_head_has_a_source_of_its_own() {
    let mut world = World::new();
    let fresh = FinderOptions { fresh: true, ..FinderOptions::default() };
    let ask = || Ask::Value(Invocation { head: true, options: fresh, ..attribute("src.a") });
    let _both = [world.subscribe(ask()), world.subscribe(ask())];
    assert_eq!(world.sources.count("src.a"), (2, 2));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(world.sources.count("src.a"), (0, 2));
}

#[test]
fn the_head_of_a_clock_is_when_one_looked() {
    let mut world = World::new();
    world.streams.set_finders(vec![Finder::timed(TimeFinder::default())], 0);
    let mut first = world.subscribe(head("time.now"));
    world.run(5_000);
    let mut second = world.subscribe(head("time.now"));
    world.run(5_000);
    assert_eq!(take(&mut first).unwrap(), r#""1970-01-01T00:00:00Z""#);
    assert_eq!(take(&mut second).unwrap(), r#""1970-01-01T00:00:05Z""#);
    assert_eq!(world.streams.info().streams, 2);
}
