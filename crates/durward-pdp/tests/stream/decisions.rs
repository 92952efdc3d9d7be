//! What subscribers get to see.

use durward_pdp::stream::{Invocation, Once};

use crate::world::{Ask, World, attribute, number, take, text, value, values};

#[test]
fn only_changes_are_given() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    for (given, seen) in [(1, Some("1")), (1, None), (2, Some("2")), (2, None), (1, Some("1"))] {
        world.sources.publish("src.a", number(given));
        world.settle();
        assert_eq!(take(&mut subscription).as_deref(), seen);
    }
}

#[test]
fn an_equal_decision_is_no_change_and_keeps_its_text() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    world.sources.publish("src.a", text("yes"));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), r#""yes""#);
    world.sources.publish("src.a", text("YES"));
    world.settle();
    assert_eq!(take(&mut subscription), None);
    // Another subscriber sees what is there now.
    assert_eq!(take(&mut world.subscribe(value("src.a"))).unwrap(), r#""YES""#);
}

#[test]
fn a_slow_subscriber_sees_only_the_latest() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    for n in 1..=3 {
        world.sources.publish("src.a", number(n));
        world.settle();
    }
    assert_eq!(take(&mut subscription).unwrap(), "3");
    assert_eq!(take(&mut subscription), None);
}

#[test]
fn a_change_that_is_undone_before_it_was_seen_is_none() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    for n in [1, 2, 1] {
        world.sources.publish("src.a", number(n));
        world.settle();
        if n == 1 {
            assert!(take(&mut subscription).is_none_or(|first| first == "1"));
        }
    }
    assert_eq!(take(&mut subscription), None);
}

#[test]
fn what_happens_together_is_decided_together() {
    let mut world = World::new();
    let mut subscription = world.subscribe(values(&["src.a", "src.b"]));
    for n in [1, 2] {
        world.sources.publish("src.a", number(n));
        world.sources.publish("src.b", number(n));
        let before = world.streams.info().decided;
        world.settle();
        assert_eq!(world.streams.info().decided, before + 1);
        assert_eq!(take(&mut subscription).unwrap(), format!("{n} {n}"));
    }
}

#[test]
fn attributes_that_are_no_longer_used_are_released() {
    let mut world = World::new();
    let ask = Ask::If(attribute("src.if"), Box::new(value("src.yes")), Box::new(value("src.no")));
    let mut subscription = world.subscribe(ask);
    assert_eq!(world.sources.count("src.yes"), (0, 0));
    world.sources.publish("src.if", true.then_some(durward_pdp::Value::Boolean(true)).unwrap());
    world.settle();
    assert_eq!(world.sources.count("src.yes"), (1, 1));
    world.sources.publish("src.yes", number(1));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "1");
    world.sources.publish("src.if", durward_pdp::Value::Boolean(false));
    world.settle();
    // The last decision stands, and what it was made of is kept, until the next one is there.
    assert_eq!(take(&mut subscription), None);
    assert_eq!((world.sources.count("src.yes").0, world.sources.count("src.no").0), (1, 1));
    world.sources.publish("src.no", number(2));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "2");
    assert_eq!((world.sources.count("src.yes").0, world.sources.count("src.no").0), (0, 1));
}

#[test]
fn a_value_that_is_no_longer_needed_is_not_waited_for() {
    let mut world = World::new();
    let ask = Ask::If(attribute("src.if"), Box::new(value("src.slow")), Box::new(Ask::Nothing));
    let mut subscription = world.subscribe(ask);
    world.sources.publish("src.if", durward_pdp::Value::Boolean(true));
    world.settle();
    world.sources.publish("src.if", durward_pdp::Value::Boolean(false));
    world.settle();
    assert_eq!(take(&mut subscription).unwrap(), "nothing");
    assert_eq!(world.sources.count("src.slow"), (0, 1));
}

#[test]
fn a_decision_that_panics_is_indeterminate_and_nobody_elses_affair() {
    let mut world = World::new();
    let mut panicking = world.subscribe(Ask::All(vec![value("src.a"), Ask::Panic]));
    let mut other = world.subscribe(value("src.a"));
    world.sources.publish("src.a", number(1));
    world.settle();
    assert!(take(&mut panicking).unwrap().starts_with("indeterminate"));
    assert_eq!(take(&mut other).unwrap(), "1");
}

#[test]
fn needs_without_end_are_indeterminate() {
    let world = World::new();
    assert!(take(&mut world.subscribe(Ask::More)).unwrap().contains("more than 64 times"));
    let many = (0..1_001).map(|n| Ask::Value(Invocation::environment("none.many", [number(n)]))).collect();
    assert!(take(&mut world.subscribe(Ask::All(many))).unwrap().contains("more than 1000 attributes"));
    let enough = (0..1_000).map(|n| Ask::Value(Invocation::environment("none.many", [number(n)]))).collect();
    assert!(take(&mut world.subscribe(Ask::All(enough))).unwrap().starts_with("undefined"));
}

#[test]
fn deciding_once_leaves_nothing_behind() {
    let mut world = World::new();
    let Once::Decided(found) = world.streams.decide_once(Ask::Nothing.into(), 0).unwrap() else { panic!() };
    assert_eq!(found.0, "nothing");
    assert_eq!(world.streams.info().decided, 0);
    let Once::Waiting(mut waiting) = world.streams.decide_once(value("src.a").into(), 0).unwrap() else {
        panic!()
    };
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(take(&mut waiting).unwrap(), "1");
    drop(waiting);
    world.settle();
    let info = world.streams.info();
    assert_eq!((info.subscriptions, info.streams, info.sources, info.undecided), (0, 0, 0, 0));
}

#[test]
fn equal_decisions_of_many_are_kept_once() {
    let world = World::new();
    let mut many: Vec<_> = (0..100).map(|_| world.subscribe(Ask::Nothing)).collect();
    assert_eq!(world.streams.info().decisions, 1);
    let first = many[0].take().unwrap();
    assert!(many[1..].iter_mut().all(|one| std::sync::Arc::ptr_eq(&one.take().unwrap(), &first)));
}

#[test]
fn what_happens_together_is_decided_together_however_much_it_is() {
    let world = World::new();
    let names: Vec<String> = (0..5_000).map(|n| format!("src.n{n}")).collect();
    let _others: Vec<_> = names.iter().map(|name| world.subscribe(value(name))).collect();
    // The first and the last of those that publish.
    let mut subscription = world.subscribe(values(&[&names[0], &names[4_999]]));
    for n in [1, 2] {
        names.iter().for_each(|name| world.sources.publish(name, number(n)));
        let mut seen = Vec::new();
        while world.streams.tick(0) == Some(0) {
            seen.extend(take(&mut subscription));
        }
        assert_eq!(seen, [format!("{n} {n}")]);
    }
}
