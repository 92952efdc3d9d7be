//! What an answer takes that needs more than a look at the question: one evaluation, and the clock if a policy asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durward_embed::DecisionPoint;

const ASKED: &[u8] = br#"{"subject":"anna","action":"read","resource":1}"#;

/// A policy of XACML that reads the time, for which a decision point reads the clock once in each evaluation.
const OF_THE_TIME: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="time" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/>
  <Rule RuleId="before-1970" Effect="Deny"><Target/><Condition>
    <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:dateTime-less-than">
      <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:dateTime-one-and-only">
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:environment"
            AttributeId="urn:oasis:names:tc:xacml:1.0:environment:current-dateTime"
            DataType="http://www.w3.org/2001/XMLSchema#dateTime" MustBePresent="true"/>
      </Apply>
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#dateTime">1970-01-01T00:00:00Z</AttributeValue>
    </Apply></Condition></Rule>
</Policy>"#;

const NOON: &str = r#"policy "noon" permit <time.now> == "1970-01-01T12:00:00Z"; <time.now> == <time.now>;"#;

/// How often the clock is read for one decision, which is a permit.
#[track_caller]
fn readings(policies: &[(&str, &str)]) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let clock = {
        let count = Arc::clone(&count);
        move || -> SystemTime {
            count.fetch_add(1, Ordering::Relaxed);
            UNIX_EPOCH + Duration::from_secs(12 * 3600)
        }
    };
    let pdp = DecisionPoint::from_texts(policies.iter().copied(), Arc::new(clock)).unwrap();
    let before = count.load(Ordering::Relaxed);
    assert_eq!(pdp.decide(ASKED).unwrap().outcome.to_string(), "PERMIT", "{}", text(&pdp));
    count.load(Ordering::Relaxed) - before
}

fn text(pdp: &DecisionPoint) -> String {
    pdp.explain(ASKED).unwrap().text
}

#[test]
fn a_policy_that_asks_for_the_time_has_it_read_once() {
    assert_eq!(readings(&[("noon.sapl", NOON)]), 1);
}

#[test]
fn no_clock_is_read_for_policies_that_do_not_ask() {
    let with_obligation = r#"policy "log" permit subject == "anna"; obligation "log""#;
    assert_eq!(readings(&[("log.sapl", with_obligation)]), 0);
}

/// Such decisions were evaluated once to see that they need the time, and once more with it.
#[test]
fn a_decision_is_evaluated_once() {
    assert_eq!(readings(&[("noon.sapl", NOON), ("time.xml", OF_THE_TIME)]), 2);
}
