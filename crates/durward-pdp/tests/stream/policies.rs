//! Policies and finders that are replaced under living subscriptions.

use std::sync::Arc;

use durward_pdp::Value;
use durward_pdp::stream::{Finder, Invocation, Surroundings};

use crate::world::{Ask, Rules, Sources, World, attribute, number, take, value, values};

fn rules(name: &str, variable: i64) -> Arc<Rules> {
    let variables = Value::object([("v", number(variable))]);
    let surroundings = Surroundings { variables, ..Surroundings::default() };
    Arc::new(Rules { name: name.into(), surroundings })
}

#[test]
fn other_policies_decide_everything_again_with_the_values_that_are_there() {
    let mut world = World::new();
    let mut with = world.subscribe(value("src.a"));
    let mut without = world.subscribe(Ask::Nothing);
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!((take(&mut with).as_deref(), take(&mut without).as_deref()), (Some("1"), Some("nothing")));
    world.streams.replace(Arc::new(Rules { name: "new ".into(), ..Rules::default() }), world.now);
    world.settle();
    assert_eq!(
        (take(&mut with).as_deref(), take(&mut without).as_deref()),
        (Some("new 1"), Some("new nothing"))
    );
    assert_eq!(world.sources.count("src.a"), (1, 1));
    world.streams.replace(Arc::new(Rules { name: "new ".into(), ..Rules::default() }), world.now);
    world.settle();
    assert_eq!((take(&mut with), take(&mut without)), (None, None));
}

#[test]
fn more_than_fits_a_slice_is_decided_in_several_ticks() {
    let mut world = World::new();
    let mut many: Vec<_> = (0..5_000).map(|_| world.subscribe(Ask::Nothing)).collect();
    many.iter_mut().for_each(|one| assert!(take(one).is_some()));
    world.streams.replace(rules("new ", 0), world.now);
    assert_eq!(world.streams.tick(world.now), Some(world.now));
    let first = many.iter_mut().filter_map(take).count();
    assert!((1..5_000).contains(&first), "{first}");
    world.settle();
    assert_eq!(first + many.iter_mut().filter_map(take).count(), 5_000);
}

#[test]
fn finders_that_read_variables_see_the_new_ones() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.context"));
    world.streams.replace(rules("", 1), world.now);
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), r#"[{"v":1},undefined]"#);
    world.streams.replace(rules("new ", 1), world.now);
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), r#"new [{"v":1},undefined]"#);
    let (open, opened) = world.sources.count("src.context");
    assert_eq!(open, 1);
    world.streams.replace(rules("", 2), world.now);
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), r#"[{"v":2},undefined]"#);
    assert_eq!(world.sources.count("src.context"), (1, opened + 1));
}

#[test]
fn other_policies_take_heads_again() {
    let mut world = World::new();
    let head = Invocation { head: true, ..attribute("src.a") };
    let mut subscription = world.subscribe(Ask::All(vec![Ask::Value(head), value("src.a")]));
    world.sources.publish("src.a", number(1));
    world.settle();
    world.sources.publish("src.a", number(2));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "1 2");
    world.streams.replace(rules("", 1), world.now);
    world.settle();
    // The finder reads variables, which changed, so its source is opened again too.
    world.sources.publish("src.a", number(3));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "3 3");
    assert_eq!(world.sources.count("src.a").0, 1);
}

#[test]
fn values_hold_until_another_finder_has_one() {
    let mut world = World::new();
    let mut subscription = world.subscribe(values(&["src.a", "foo.b"]));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "1 undefined");
    let other = Sources::default();
    world.streams.set_finders(vec![Finder::outside(other.clone())], world.now);
    world.settle();
    assert_eq!(take(&mut subscription), None);
    assert_eq!((other.count("src.a"), world.sources.count("src.a").0), ((1, 1), 0));
    other.publish("src.a", number(2));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "2 undefined");
}

#[test]
fn a_finder_that_stays_is_not_disturbed() {
    let mut world = World::new();
    let finder = Finder::outside(world.sources.clone());
    world.streams.set_finders(vec![finder.clone()], world.now);
    let _subscription = world.subscribe(value("src.a"));
    let other = Finder::timed(durward_pdp::stream::finders::TimeFinder::default());
    world.streams.set_finders(vec![other, finder], world.now);
    world.settle();
    assert_eq!(world.sources.count("src.a"), (1, 1));
}

#[test]
fn a_finder_that_goes_makes_its_attributes_undefined_and_one_that_comes_is_asked() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "1");
    world.streams.set_finders(Vec::new(), world.now);
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "undefined");
    assert_eq!(world.sources.count("src.a"), (0, 1));
    world.streams.set_finders(vec![Finder::outside(world.sources.clone())], world.now);
    world.settle();
    world.sources.publish("src.a", number(2));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "2");
}
