//! SAPL policies and subscriptions made to hurt: values that hold one another many times over are small in memory, but
//! without end for whoever walks them.

use durward_pdp::Pdp;
use durward_pdp::sapl::Subscription;

const PLAIN: &str = r#"{"subject":"s","action":"a","resource":"r"}"#;

/// What is decided, which includes the time to read the policies.
#[track_caller]
fn decided(policies: &[String], subscription: &str) -> String {
    let mut builder = Pdp::builder();
    for (number, policy) in policies.iter().enumerate() {
        builder = builder.policy(&format!("{number}.sapl"), policy.as_str());
    }
    let pdp = builder.build().map_err(|errors| errors[0].to_string()).unwrap();
    let subscription = Subscription::from_json(subscription.as_bytes()).unwrap();
    pdp.decide_once(&subscription).to_json()
}

fn policy(condition: &str) -> String {
    format!("policy \"p\" permit {condition};")
}

/// `inner`, put into an array with itself this many times.
fn doubled(inner: &str, times: usize) -> String {
    (0..times).fold(format!("[{inner}]"), |value, _| format!("({value} :: [@, @])"))
}

const INDETERMINATE: &str = r#"{"decision":"INDETERMINATE"}"#;

#[test]
fn values_that_double_are_compared_as_often_as_the_budget_allows() {
    let (one, other) = (doubled("subject", 20), doubled("subject", 20));
    let condition = format!("({one})[0] == ({other})[0]");
    assert_eq!(decided(&[policy(&condition)], PLAIN), r#"{"decision":"PERMIT"}"#);
    let many = format!("array.range(1, 9000)[?(([@] :: {one}) == ([@] :: {other}))] == 1");
    assert_eq!(decided(&[policy(&many)], PLAIN), INDETERMINATE);
    let search = format!("{one} in ({other} :: [@, @, @])");
    assert_ne!(decided(&[policy(&search)], PLAIN), r#"{"decision":"PERMIT"}"#);
}

#[test]
fn what_functions_make_of_shared_values_is_limited_too() {
    let product =
        (0..100).fold("[[subject]]".to_owned(), |value, _| format!("({value} :: array.crossProduct(@, @))"));
    for condition in [format!("{product} == {product}"), format!("standard.toString({product}) == 1")] {
        assert_eq!(decided(&[policy(&condition)], PLAIN), INDETERMINATE);
    }
    let constant = product.replace("subject", "1");
    assert_eq!(decided(&[policy(&format!("{constant} == 1"))], PLAIN), INDETERMINATE);
}

#[test]
fn long_arrays_are_not_searched_for_each_of_many() {
    let numbers =
        |start: usize| (start..start + 200_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let subscription =
        format!(r#"{{"subject":[{}],"action":[{}],"resource":1}}"#, numbers(1_000_000), numbers(2_000_000));
    for condition in
        ["subject any in action", "subject[?(@ in action)] == []", "!(subject[?([@] in action)] == [])"]
    {
        assert_eq!(decided(&[policy(condition)], &subscription), INDETERMINATE, "{condition}");
    }
}

#[test]
fn what_is_written_of_all_policies_together_is_limited() {
    let subject = format!("[{}]", vec![r#""some text of no great length""#; 50_000].join(","));
    let subscription = format!(r#"{{"subject":{subject},"action":1,"resource":1}}"#);
    let policies: Vec<String> =
        (0..1_000).map(|at| format!("policy \"p{at}\" permit obligation [subject, {at}]")).collect();
    assert_eq!(decided(&policies, &subscription), INDETERMINATE);
    assert!(decided(policies.get(..10).unwrap(), &subscription).contains("PERMIT"));
}
