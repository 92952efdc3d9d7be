//! What live subscriptions cost, with policies that only stand for real ones: `cargo run --profile quick -p durward-lab
//! --example streams -- 100000`.
//!
//! Each decision reads a subscription of 120 bytes from its text, looks at four of its values and at one attribute: the
//! same for all (`shared`), or one of each subject's own (`own`).

#![expect(clippy::print_stdout, reason = "an example")]

use std::sync::{Arc, Mutex, PoisonError};

use durward_lab::streams::{Plan, measure};
use durward_pdp::Value;
use durward_pdp::ir::json;
use durward_pdp::stream::{
    AttributeFinder, Context, Decider, Finder, Invocation, Known, Outcome, Publisher, Reads, Step,
};

struct Policies {
    least: i64,
    is_shared: bool,
}

/// A decision with an obligation of the subject's own, or none.
#[derive(PartialEq)]
struct Decision(bool, Option<Box<str>>);

impl Outcome for Decision {
    fn digest(&self) -> u64 {
        let text = self.1.as_deref().unwrap_or_default();
        Value::Text(text.into()).content_hash() ^ u64::from(self.0)
    }
    fn is_identical(&self, other: &Decision) -> bool {
        self == other
    }
}

impl Decider for Policies {
    type Subscription = Box<[u8]>;
    type Decision = Decision;

    fn step(&self, subscription: &Box<[u8]>, known: &dyn Known) -> Step<Decision> {
        let Ok(Value::Object(asked)) = json::read(subscription) else {
            return Step::Decided(Decision(false, None));
        };
        let (Some(Value::Object(subject)), Some(Value::Object(resource))) =
            (asked.get("subject"), asked.get("resource"))
        else {
            return Step::Decided(Decision(false, None));
        };
        let invocation = match subject.get("id") {
            Some(id) if !self.is_shared => Invocation::entity(id.clone(), "lab.level", []),
            Some(_) | None => Invocation::environment("lab.level", []),
        };
        let Some(level) = known.get(&invocation) else { return Step::Needs(vec![invocation]) };
        let is_doctor = matches!(subject.get("role"), Some(Value::Text(role)) if role == "doctor");
        let is_record = matches!(resource.get("type"), Some(Value::Text(kind)) if kind == "record");
        let level = if let Ok(Value::Number(level)) = level { level.to_i64() } else { None };
        let is_permitted = is_doctor && is_record && level.is_some_and(|level| level >= self.least);
        let obligation = subject.get("id").filter(|_| !self.is_shared).map(|id| id.to_json().into());
        Step::Decided(Decision(is_permitted, obligation))
    }

    fn indeterminate(&self, _: &str) -> Decision {
        Decision(false, None)
    }
}

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

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    for (name, is_shared) in [("shared", true), ("own", false)] {
        let levels = Levels::default();
        let plan = Plan {
            before: Arc::new(Policies { least: 2, is_shared }),
            after: Arc::new(Policies { least: 4, is_shared }),
            finders: vec![Finder::outside(levels.clone())],
            subscription: &|number| {
                let text = format!(
                    r#"{{"subject":{{"id":"user-{number:08}","role":"doctor","department":"d{}"}},"action":"read","resource":{{"type":"record","id":{number}}}}}"#,
                    number % 100
                );
                text.into_bytes().into_boxed_slice()
            },
            count,
            change: Some(&|| levels.publish(5)),
        };
        println!("{name}: {}", measure(&plan));
    }
}
