//! Decisions that follow one another.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_embed::{DecisionPoint, Watch, Watched};

const ASKED: &[u8] = br#"{"subject":"anna","action":"read","resource":1}"#;

/// Far longer than anything takes: what is late fails by its answer.
const LONG: Option<Duration> = Some(Duration::from_secs(60));

fn pdp(policy: &str) -> DecisionPoint {
    crate::from_texts([("p.sapl", policy)]).unwrap()
}

fn next(watch: &Watch, limit: Option<Duration>) -> String {
    match watch.next(limit) {
        Watched::Decision(decision) => decision.outcome.to_string(),
        Watched::Nothing => "nothing".to_owned(),
        Watched::Closed => "closed".to_owned(),
    }
}

#[test]
fn other_policies_give_another_decision() {
    let pdp = pdp("policy \"p\" permit");
    let watch = pdp.watch(ASKED).unwrap();
    assert_eq!(next(&watch, LONG), "PERMIT");
    assert_eq!(next(&watch, Some(Duration::ZERO)), "nothing");
    pdp.replace([("p.sapl", "policy \"p\" deny")]).unwrap();
    assert_eq!(next(&watch, LONG), "DENY");
    assert!(pdp.replace([("p.sapl", "policy")]).is_err());
    assert_eq!(next(&watch, Some(Duration::from_millis(50))), "nothing");
}

/// Also what was decided and not yet fetched is gone, and no thread has to come to it first.
#[test]
fn no_watch_permits_what_policies_permitted_before() {
    let pdp = pdp("policy \"p\" permit");
    let watches: Vec<Watch> = (0..2_000).map(|_| pdp.watch(ASKED).unwrap()).collect();
    pdp.replace([("p.sapl", "policy \"p\" deny")]).unwrap();
    for watch in &watches {
        assert_eq!(next(watch, Some(Duration::ZERO)), "DENY");
    }
    pdp.replace([("p.sapl", "policy \"p\" permit")]).unwrap();
    assert!(watches.iter().all(|watch| next(watch, Some(Duration::ZERO)) == "PERMIT"));
}

#[test]
fn time_gives_another_decision() {
    let pdp = pdp("policy \"p\" permit time.secondOf(<time.now>) % 2 == 0;");
    let watch = pdp.watch(ASKED).unwrap();
    let first = next(&watch, LONG);
    let second = next(&watch, LONG);
    assert_ne!(first, second);
    assert_eq!(next(&watch, LONG), first);
}

#[test]
fn whoever_waits_is_told_when_it_is_closed() {
    let pdp = pdp("policy \"p\" permit");
    let watch = Arc::new(pdp.watch(ASKED).unwrap());
    assert_eq!(next(&watch, LONG), "PERMIT");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let watch = Arc::clone(&watch);
            thread::spawn(move || next(&watch, None))
        })
        .collect();
    watch.close();
    for thread in waiting {
        assert_eq!(thread.join().unwrap(), "closed");
    }
    assert_eq!(next(&watch, None), "closed");
}

#[test]
fn a_watch_outlives_its_decision_point() {
    let watch = {
        let pdp = pdp("policy \"p\" permit");
        pdp.watch(ASKED).unwrap()
    };
    assert_eq!(next(&watch, LONG), "PERMIT");
    assert_eq!(next(&watch, Some(Duration::from_millis(10))), "nothing");
}

#[test]
fn a_watch_follows_whatever_was_put_in_force_last_by_many() {
    let pdp = pdp("policy \"p\" permit");
    let watch = pdp.watch(ASKED).unwrap();
    thread::scope(|scope| {
        for policy in ["policy \"p\" permit", "policy \"p\" deny"] {
            let pdp = &pdp;
            scope.spawn(move || (0..200).for_each(|_| drop(pdp.replace([("p.sapl", policy)]).unwrap())));
        }
    });
    let last = pdp.decide(ASKED).unwrap().outcome.to_string();
    let mut seen = String::new();
    while let Watched::Decision(decision) = watch.next(Some(Duration::from_secs(2))) {
        seen = decision.outcome.to_string();
    }
    assert_eq!(seen, last);
}

/// One that nobody serves is undefined, whichever way is asked.
#[test]
fn a_watch_decides_about_attributes_as_a_single_decision_does() {
    for policy in ["policy \"p\" permit <far.away> == undefined;", "policy \"p\" permit <far.away> == 1;"] {
        let pdp = pdp(policy);
        let watch = pdp.watch(ASKED).unwrap();
        assert_eq!(next(&watch, LONG), pdp.decide(ASKED).unwrap().outcome.to_string(), "{policy}");
    }
}

#[test]
fn a_host_without_threads_learns_when_to_drive_watches() {
    let pdp = pdp("policy \"p\" permit time.secondOf(<time.now>) % 2 == 0;");
    assert_eq!(pdp.tick(), None);
    let watch = pdp.watch(ASKED).unwrap();
    assert!(pdp.tick().is_some());
    watch.close();
}
