//! Published attributes under living subscriptions.

use std::sync::Arc;

use durward_pdp::stream::finders::TimeFinder;
use durward_pdp::stream::{
    BrokerSettings, Finder, Invocation, PUBLISHED_BYTES_MAX, PUBLISHED_COUNT_MAX, PackedSubscription,
    PoliciesInForce, Repository, RepositoryFull, Streams, Subscription,
};
use durward_pdp::{Pdp, Value};

use crate::world::{number, text};

const POLICY: &str = r#"policy "p" permit subject.<user.presence> == "online"; obligation <site.level(1)>"#;

struct Site {
    repository: Repository,
    streams: Streams<PoliciesInForce>,
}

impl Site {
    fn new() -> Site {
        let pdp = Arc::new(Pdp::builder().policy("p.sapl", POLICY).build().unwrap());
        let streams = Streams::new(PoliciesInForce::of(&pdp), BrokerSettings::default(), 0, || {});
        let repository = Repository::default();
        streams.set_finders(vec![Finder::timed(TimeFinder::default()), repository.finder()], 0);
        Site { repository, streams }
    }

    fn subscribe(&self, who: &str) -> Subscription<PoliciesInForce> {
        let json = format!(r#"{{"subject":"{who}","action":"read","resource":1}}"#);
        self.streams.subscribe(PackedSubscription::from_json(json.as_bytes()).unwrap(), 0).unwrap()
    }

    fn settle(&self) {
        while self.streams.tick(0) == Some(0) {}
    }

    fn publish(&self, attribute: &Invocation, value: Value, until_ms: Option<i64>) {
        self.repository.publish(attribute, value, until_ms).unwrap();
        self.settle();
    }
}

fn presence(who: &str) -> Invocation {
    Invocation::entity(text(who), "user.presence", [])
}

fn take(subscription: &mut Subscription<PoliciesInForce>) -> Option<String> {
    subscription.take().map(|decision| decision.to_json())
}

const DENY: &str = r#"{"decision":"DENY"}"#;
const PERMIT: &str = r#"{"decision":"PERMIT"}"#;

#[test]
fn what_nobody_published_is_undefined_at_once() {
    let site = Site::new();
    assert_eq!(take(&mut site.subscribe("alice")).as_deref(), Some(DENY));
}

#[test]
fn subscribers_see_what_is_published_changed_and_removed() {
    let site = Site::new();
    let (mut alice, mut bob) = (site.subscribe("alice"), site.subscribe("bob"));
    (take(&mut alice), take(&mut bob));
    site.publish(&presence("alice"), text("online"), None);
    assert_eq!(take(&mut alice).as_deref(), Some(PERMIT));
    assert_eq!(take(&mut bob), None, "another entity");
    let level = |argument: i64| Invocation::environment("site.level", [number(argument)]);
    site.publish(&level(2), text("other arguments"), None);
    assert_eq!(take(&mut alice), None);
    site.publish(&level(1), text("high"), None);
    assert_eq!(take(&mut alice).as_deref(), Some(r#"{"decision":"PERMIT","obligations":["high"]}"#));
    assert!(site.repository.remove(&presence("alice")));
    assert!(!site.repository.remove(&presence("alice")));
    site.settle();
    assert_eq!(take(&mut alice).as_deref(), Some(DENY));
}

#[test]
fn values_end_when_they_were_said_to_unless_there_is_a_newer_one() {
    let site = Site::new();
    let mut alice = site.subscribe("alice");
    take(&mut alice);
    site.publish(&presence("alice"), text("online"), Some(1_000));
    site.publish(&presence("bob"), text("online"), Some(500));
    assert_eq!(take(&mut alice).as_deref(), Some(PERMIT));
    assert_eq!(site.repository.expire(500), Some(1_000));
    site.publish(&presence("alice"), text("online"), Some(2_000));
    assert_eq!(site.repository.expire(1_000), Some(2_000));
    site.settle();
    assert_eq!(take(&mut alice), None, "it goes on");
    assert_eq!(site.repository.expire(2_000), None);
    site.settle();
    assert_eq!(take(&mut alice).as_deref(), Some(DENY));
    assert!(site.repository.is_empty());
}

#[test]
fn all_can_be_replaced_at_once() {
    let site = Site::new();
    let (mut alice, mut bob) = (site.subscribe("alice"), site.subscribe("bob"));
    site.publish(&presence("alice"), text("online"), None);
    (take(&mut alice), take(&mut bob));
    site.repository.replace_all([(presence("bob"), text("online"), None)]).unwrap();
    site.settle();
    assert_eq!(take(&mut alice).as_deref(), Some(DENY));
    assert_eq!(take(&mut bob).as_deref(), Some(PERMIT));
}

#[test]
fn there_is_room_for_so_many_and_no_more() {
    let repository = Repository::default();
    for id in 0..PUBLISHED_COUNT_MAX {
        repository.publish(&Invocation::environment(format!("a.b{id}"), []), Value::Null, None).unwrap();
    }
    let one_more = Invocation::environment("a.c", []);
    assert_eq!(repository.publish(&one_more, Value::Null, None), Err(RepositoryFull));
    repository.publish(&Invocation::environment("a.b0", []), text("again"), None).unwrap();
    assert!(repository.remove(&Invocation::environment("a.b0", [])));
    repository.publish(&one_more, Value::Null, None).unwrap();
    let large = text(&"x".repeat(PUBLISHED_BYTES_MAX));
    assert_eq!(repository.publish(&one_more, large.clone(), None), Err(RepositoryFull));
    assert_eq!(repository.replace_all([(one_more, large, None)]), Err(RepositoryFull));
    assert_eq!(repository.len(), PUBLISHED_COUNT_MAX, "nothing has changed");
}

#[test]
fn who_stops_reading_is_forgotten() {
    let site = Site::new();
    for round in 0..100 {
        let alice = site.subscribe(&format!("alice{round}"));
        drop(alice);
        site.settle();
    }
    assert_eq!(site.streams.info().streams, 0);
}
