//! Subscriptions to measure with: a hundred departments have a policy each. A subscription has 120 bytes, and its decision
//! needs one attribute: the same for all, or one of each subject's own with an obligation of its own.

use std::sync::{Arc, Mutex, PoisonError};

use durward_pdp::stream::{
    AttributeFinder, Context, Finder, Invocation, PackedSubscription, PoliciesInForce, Publisher, Reads,
};
use durward_pdp::{Pdp, PolicyError, Value};

use super::{StreamMeasurement, StreamPlan, measure};

/// Which attribute a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamAttribute {
    /// One for all.
    Shared,
    /// Each subject's own; decisions differ by an obligation, too.
    Own,
}

/// Measures so many subscriptions on this thread. The new policies permit nobody any more; then the attribute changes, and
/// permits everybody again.
///
/// # Errors
/// None, unless the policies here are wrong.
pub fn measure_departments(
    count: usize,
    attribute: StreamAttribute,
) -> Result<StreamMeasurement, Vec<PolicyError>> {
    let levels = AttributeLevels::default();
    let plan = StreamPlan {
        before: policies(2, attribute)?,
        after: policies(4, attribute)?,
        finders: vec![Finder::outside(levels.clone())],
        subscription: &subscription,
        count,
        change: Some(&|| levels.publish(5)),
    };
    Ok(measure(&plan))
}

/// Policies that want at least this level.
fn policies(least: i64, attribute: StreamAttribute) -> Result<Arc<PoliciesInForce>, Vec<PolicyError>> {
    let (attribute, obligation) = match attribute {
        StreamAttribute::Shared => ("<lab.level>", ""),
        StreamAttribute::Own => ("subject.id.<lab.level>", "obligation subject.id"),
    };
    let policies = (0..100).map(|department| {
        format!(
            r#"policy "department {department}" permit subject.department == "d{department}"; subject.role == "doctor";
               resource.type == "record"; {attribute} >= {least}; {obligation}"#
        )
    });
    let builder = policies
        .enumerate()
        .fold(Pdp::builder(), |builder, (number, policy)| builder.policy(&format!("{number}.sapl"), policy));
    Ok(PoliciesInForce::of(&Arc::new(builder.build()?)))
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
struct AttributeLevels(Arc<Mutex<Vec<Publisher>>>);

impl AttributeLevels {
    fn publish(&self, level: i64) {
        let publishers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        publishers.iter().for_each(|publisher| publisher.publish(Ok(Value::number(level))));
    }
}

impl AttributeFinder for AttributeLevels {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subscription_is_decided_again_twice() {
        for attribute in [StreamAttribute::Shared, StreamAttribute::Own] {
            let measured = measure_departments(300, attribute).unwrap();
            assert_eq!((measured.subscriptions, measured.replaced, measured.changed), (300, 300, 300));
        }
    }
}
