//! Readers meanwhile: each sees the policies before a change or those after it, and never a mix.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{IndexKind, Pdp};

use super::{ALWAYS, put, remove};

/// Two documents always change together; a reader that saw one of them changed and the other not would see both permit,
/// or neither.
#[test]
fn no_reader_sees_half_a_change() {
    let only = |name: &str| format!("policy \"{name}\" permit subject == \"x\"; obligation \"{name}\"");
    let mut builder =
        Pdp::builder().index(IndexKind::Diagram).changing_within(ALWAYS).policy("a0.sapl", only("a0"));
    for number in 0..50 {
        let text = format!("policy \"other{number}\" permit subject == \"y{number}\";");
        builder = builder.policy(&format!("other{number:02}.sapl"), text);
    }
    let pdp = builder.build().map_err(|errors| errors[0].to_string()).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut asked =
                    Subscription::from_json(br#"{"subject":"x","action":1,"resource":1}"#).unwrap();
                let mut seen = 0;
                while !is_over.load(Ordering::Relaxed) || seen < 100 {
                    let decision = pdp.decide_once(&asked);
                    assert_eq!((decision.outcome, decision.obligations().len()), (Outcome::Permit, 1));
                    seen += 1;
                    if seen % 10 == 0 {
                        pdp.encode_subscription(&mut asked);
                    }
                }
            });
        }
        let (mut old, mut new) = ("a0", "b0");
        for round in 0..300 {
            let changes = [remove(&format!("{old}.sapl")), put(&format!("{new}.sapl"), &only(new))];
            pdp.change(&changes).map_err(|errors| errors[0].to_string()).unwrap();
            std::mem::swap(&mut old, &mut new);
            if round % 100 == 99 {
                pdp.settle().unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
