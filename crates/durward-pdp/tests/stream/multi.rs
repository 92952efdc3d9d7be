//! Multi-subscriptions.

use durward_pdp::stream::{MULTI_SUBSCRIPTION_MAX, MultiSubscription, Named, SubscribeError};

use crate::world::{Ask, Found, Question, Rules, World, number, value};

fn subscribe(world: &World, asks: &[(&str, Ask)]) -> Result<MultiSubscription<Rules>, SubscribeError> {
    let named = asks.iter().map(|(name, ask)| ((*name).into(), Question::from(ask.clone())));
    world.streams.subscribe_all(named.collect(), world.now)
}

fn shown(named: Option<Named<Found>>) -> String {
    let named = named.iter().flatten();
    named.map(|(name, found)| format!("{name}={}", found.0)).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_are_given_once_all_are_there_and_whenever_one_changes() {
    let mut world = World::new();
    let mut multi = subscribe(&world, &[("x", value("src.b")), ("a", value("src.a"))]).unwrap();
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(shown(multi.take_all()), "");
    world.sources.publish("src.b", number(2));
    world.settle();
    assert_eq!(shown(multi.take_all()), "x=2 a=1");
    assert_eq!(shown(multi.take_all()), "");
    world.sources.publish("src.a", number(3));
    world.settle();
    assert_eq!(shown(multi.take_all()), "x=2 a=3");
}

#[test]
fn only_changed_pairs_are_given() {
    let mut world = World::new();
    let mut multi = subscribe(&world, &[("x", value("src.b")), ("a", value("src.a"))]).unwrap();
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(shown(multi.take_changed()), "");
    world.sources.publish("src.b", number(2));
    world.settle();
    assert_eq!(shown(multi.take_changed()), "x=2 a=1");
    for (n, seen) in [(3, "a=3"), (3, ""), (4, "a=4")] {
        world.sources.publish("src.a", number(n));
        world.settle();
        assert_eq!(shown(multi.take_changed()), seen);
    }
}

#[test]
fn members_that_use_the_same_attribute_change_together() {
    let mut world = World::new();
    let asks: Vec<(String, Ask)> = (0..200).map(|n| (format!("n{n}"), value("src.a"))).collect();
    let asks: Vec<(&str, Ask)> = asks.iter().map(|(name, ask)| (name.as_str(), ask.clone())).collect();
    let mut multi = subscribe(&world, &asks).unwrap();
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(multi.take_changed().unwrap().len(), 200);
    world.sources.publish("src.a", number(2));
    world.settle();
    let changed = multi.take_changed().unwrap();
    assert!(changed.len() == 200 && changed.iter().all(|(_, found)| found.0 == "2"));
}

#[test]
fn dropping_it_drops_all_of_it() {
    let mut world = World::new();
    let multi = subscribe(&world, &[("x", value("src.b")), ("a", value("src.a"))]).unwrap();
    drop(multi);
    world.settle();
    let info = world.streams.info();
    assert_eq!((info.subscriptions, info.undecided, info.streams, info.sources), (0, 0, 0, 0));
}

#[test]
fn empty_large_and_misnamed_ones_are_refused() {
    let mut world = World::new();
    let count = |count: usize| {
        let asks: Vec<(String, Ask)> = (0..count).map(|n| (format!("n{n}"), Ask::Nothing)).collect();
        let asks: Vec<(&str, Ask)> = asks.iter().map(|(name, ask)| (name.as_str(), ask.clone())).collect();
        subscribe(&world, &asks).err()
    };
    assert_eq!(count(0), Some(SubscribeError::Empty));
    assert_eq!(count(MULTI_SUBSCRIPTION_MAX), None);
    assert_eq!(count(MULTI_SUBSCRIPTION_MAX + 1), Some(SubscribeError::TooMany));
    let twice = [("b", Ask::Nothing), ("a", Ask::Nothing), ("b", Ask::Nothing)];
    assert_eq!(subscribe(&world, &twice).err(), Some(SubscribeError::Twice("b".into())));
    assert_eq!(subscribe(&world, &[(" ", Ask::Nothing)]).err(), Some(SubscribeError::Blank));
    world.settle();
    assert_eq!(world.streams.info().subscriptions, 0);
}
