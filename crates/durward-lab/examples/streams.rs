//! What live subscriptions cost: `cargo run --profile quick -p durward-lab --example streams -- 100000`.
//!
//! A hundred departments have a policy each. A subscription has 120 bytes, and its decision needs one attribute: the same
//! for all (`shared`), or one of each subject's own with an obligation of its own (`own`).

#![expect(clippy::print_stdout, reason = "an example")]

use std::sync::{Arc, Mutex, PoisonError};

use durward_lab::streams::{Plan, measure};
use durward_pdp::stream::{
    AttributeFinder, Context, Finder, Invocation, PackedSubscription, PoliciesInForce, Publisher, Reads,
};
use durward_pdp::{Pdp, Value};

/// Policies that want at least this level.
fn policies(least: i64, is_shared: bool) -> Result<Arc<PoliciesInForce>, String> {
    let (attribute, obligation) =
        if is_shared { ("<lab.level>", "") } else { ("subject.id.<lab.level>", "obligation subject.id") };
    let policies = (0..100).map(|department| {
        format!(
            r#"policy "department {department}" permit subject.department == "d{department}"; subject.role == "doctor";
               resource.type == "record"; {attribute} >= {least}; {obligation}"#
        )
    });
    let builder = policies
        .enumerate()
        .fold(Pdp::builder(), |builder, (number, policy)| builder.policy(&format!("{number}.sapl"), policy));
    let pdp =
        builder.build().map_err(|errors| errors.first().map(ToString::to_string).unwrap_or_default())?;
    Ok(PoliciesInForce::of(&Arc::new(pdp)))
}

fn subscription(number: usize) -> PackedSubscription {
    let department = number % 100;
    let text = format!(
        r#"{{"subject":{{"id":"user-{number:08}","role":"doctor","department":"d{department}"}},"action":"read","resource":{{"type":"record","id":{number}}}}}"#
    );
    PackedSubscription::from_json(text.as_bytes()).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Levels that all change at once.
#[derive(Clone, Default)]
struct Levels(Arc<Mutex<Vec<Publisher>>>);

impl Levels {
    fn publish(&self, level: i64) {
        let publishers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        publishers.iter().for_each(|publisher| publisher.publish(Ok(Value::number(level))));
    }
}

impl AttributeFinder for Levels {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name == "lab.level"
    }
    fn reads(&self, _: &Invocation) -> Reads {
        Reads::NOTHING
    }
    fn open(&self, _: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
        publisher.publish(Ok(Value::number(3)));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(publisher);
        Box::new(())
    }
}

fn main() -> Result<(), String> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    for (name, is_shared) in [("shared", true), ("own", false)] {
        let levels = Levels::default();
        let plan = Plan {
            before: policies(2, is_shared)?,
            after: policies(4, is_shared)?,
            finders: vec![Finder::outside(levels.clone())],
            subscription: &subscription,
            count,
            change: Some(&|| levels.publish(5)),
        };
        println!("{name}: {}", measure(&plan));
    }
    Ok(())
}
