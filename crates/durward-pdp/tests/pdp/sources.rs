//! Attribute sources and the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use durward_pdp::record::Recording;
use durward_pdp::{AttributeName, AttributeSource, Decision, Pdp, Request, SourceError, Value};

use crate::write::{apply, condition, decide, is, policy, rule, target};

/// Knows `role` and `ward`, counts how often it is asked.
struct Directory {
    asked: Arc<AtomicUsize>,
    answer: Result<Vec<Value>, SourceError>,
}

impl AttributeSource for Directory {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == "role" || name.id == "ward"
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.answer.clone()
    }
}

fn with_directory(policy: &str, answer: Result<Vec<Value>, SourceError>) -> (Pdp, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let directory = Directory { asked: Arc::clone(&asked), answer };
    (Pdp::builder().policy("p.xml", policy).source(directory).build().unwrap(), asked)
}

fn permit(target_of_rule: &str) -> String {
    policy("p", "3.0 deny-overrides", "", &rule("Permit", &target(target_of_rule)))
}

#[test]
fn a_source_is_asked_only_for_what_the_request_lacks_and_the_decision_reads() {
    let (pdp, asked) = with_directory(&permit(&is("role", "doctor")), Ok(vec![Value::text("doctor")]));
    assert_eq!(pdp.decide(&Request::builder().build()).results[0].decision, Decision::Permit);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let given = Request::builder().subject("role", "nurse").build();
    assert_eq!(pdp.decide(&given).results[0].decision, Decision::NotApplicable);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn what_one_answer_makes_matter_is_asked_in_another_round() {
    let (pdp, asked) =
        with_directory(&permit(&(is("role", "x") + &is("ward", "x"))), Ok(vec![Value::text("x")]));
    assert_eq!(pdp.decide(&Request::builder().build()).results[0].decision, Decision::Permit);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_source_that_knows_nothing_leaves_the_bag_empty() {
    let (pdp, asked) = with_directory(&permit(&is("role", "doctor")), Ok(vec![Value::integer(7)]));
    assert_eq!(pdp.decide(&Request::builder().build()).results[0].decision, Decision::NotApplicable);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// Why it fails may name addresses and entries of a directory: operators are told, whoever asks is not.
#[test]
fn a_source_that_fails_permits_nothing_and_only_operators_are_told_why() {
    let request = Request::builder().build();
    for (failed, code) in [
        (SourceError::new("ldap://10.0.0.7: no entry `cn=x,ou=secret`"), "processing-error"),
        (SourceError::missing(role(), "ldap://10.0.0.7 needs it"), "missing-attribute"),
    ] {
        let (pdp, _) = with_directory(&permit(&is("role", "doctor")), Err(failed.clone()));
        let result = pdp.decide(&request).results.remove(0);
        assert_eq!(result.decision, Decision::Indeterminate);
        assert!(result.status.code.value.ends_with(code), "{:?}", result.status);
        assert_eq!(result.status.message.as_deref(), Some("the attribute source for `role` failed"));
        let whole = format!("the attribute source for `role` failed: {}", failed.message);
        let (response, records) = pdp.decide_recorded(&request, Recording::default());
        assert_eq!(response.results[0].status.message, result.status.message);
        assert_eq!(records[0].failures[0].message, whole);
        let explained = pdp.explain(&request).to_string();
        assert!(explained.contains(&whole), "{explained}");
    }
}

fn role() -> AttributeName {
    AttributeName {
        category: "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject".into(),
        id: "role".into(),
        data_type: durward_pdp::DataType::Text,
        issuer: None,
    }
}

/// Notes what it is asked, and says it cannot say.
#[derive(Default)]
struct Noting(std::sync::Mutex<Vec<String>>);

impl AttributeSource for Noting {
    fn provides(&self, _: &AttributeName) -> bool {
        true
    }

    fn values(&self, name: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        self.0.lock().unwrap().push(name.id.to_string());
        Err(SourceError::missing(name.clone(), "not yet"))
    }
}

#[test]
fn a_source_beside_is_asked_first_and_for_all_that_is_wanted_at_once() {
    let both =
        permit(&is("role", "x")).replace("</Policy>", &rule("Deny", &target(&is("ward", "x")))) + "</Policy>";
    let (pdp, asked) = with_directory(&both, Ok(vec![Value::text("x")]));
    let noting = Noting::default();
    let result = pdp.decide_with(&Request::builder().build(), &noting).results.remove(0);
    assert_eq!(result.decision, Decision::Indeterminate);
    assert!(result.status.code.value.ends_with("missing-attribute"), "{:?}", result.status);
    let mut names = noting.0.into_inner().unwrap();
    names.sort();
    assert_eq!(names, ["role", "ward"]);
    assert_eq!(asked.load(Ordering::Relaxed), 0, "the source that is asked first has failed");
    // What no source of the decision point provides, the one beside is not asked for either.
    let none = Pdp::builder().policy("p.xml", permit(&is("role", "x"))).build().unwrap();
    let noting = Noting::default();
    none.decide_with(&Request::builder().build(), &noting);
    assert!(noting.0.into_inner().unwrap().is_empty());
}

const ENVIRONMENT: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";
const CURRENT_DATE: &str = "urn:oasis:names:tc:xacml:1.0:environment:current-date";

fn on_the_day(day: &str) -> String {
    let date = "http://www.w3.org/2001/XMLSchema#date";
    let current = format!(
        r#"<AttributeDesignator Category="{ENVIRONMENT}" AttributeId="{CURRENT_DATE}" DataType="{date}" MustBePresent="true"/>"#
    );
    let today = apply("1.0 date-one-and-only", &current);
    let day = format!(r#"<AttributeValue DataType="{date}">{day}</AttributeValue>"#);
    policy(
        "p",
        "3.0 deny-overrides",
        "",
        &rule("Permit", &condition(&apply("1.0 date-equal", &(today + &day)))),
    )
}

#[test]
fn the_time_comes_from_the_clock_unless_the_request_brings_its_own() {
    let pdp = Pdp::builder()
        .policy("p.xml", on_the_day("2001-09-09Z"))
        .clock(|| UNIX_EPOCH + Duration::from_secs(1_000_000_000))
        .build()
        .unwrap();
    assert_eq!(decide(&pdp, &Request::builder().build()).decision, Decision::Permit);
    let own = Value::parse(durward_pdp::DataType::Date, "2020-01-01Z").unwrap();
    let request = Request::builder().attribute(ENVIRONMENT, CURRENT_DATE, own).build();
    assert_eq!(decide(&pdp, &request).decision, Decision::NotApplicable);
}

/// A source that knows the day and nothing else.
struct Day(&'static str);

impl AttributeSource for Day {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == CURRENT_DATE
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(vec![Value::parse(durward_pdp::DataType::Date, self.0).unwrap()])
    }
}

#[test]
fn without_a_clock_a_source_may_say_the_time() {
    for (day, expected) in [("2001-09-09Z", Decision::Permit), ("2001-09-10Z", Decision::NotApplicable)] {
        let pdp = Pdp::builder().policy("p.xml", on_the_day("2001-09-09Z")).source(Day(day)).build().unwrap();
        assert_eq!(decide(&pdp, &Request::builder().build()).decision, expected, "{day}");
    }
}

#[test]
fn policies_that_need_the_time_need_a_clock() {
    let errors = Pdp::builder().policy("p.xml", on_the_day("2001-09-09Z")).build().unwrap_err();
    assert!(errors[0].to_string().contains("clock"), "{}", errors[0]);
    let no_time = policy("p", "3.0 deny-overrides", "", &rule("Permit", ""));
    assert!(Pdp::builder().policy("p.xml", no_time).build().is_ok());
}

/// Whoever leaves decisions on the time to somebody else announces it, and sees which they are.
#[test]
fn policies_that_need_the_time_need_no_clock_where_a_source_announces_it() {
    let late = on_the_day("2001-09-09Z");
    let pdp = Pdp::builder().policy("p.xml", late).source(Noting::default()).build().unwrap();
    let noting = Noting::default();
    let result = pdp.decide_with(&Request::builder().build(), &noting).results.remove(0);
    assert_eq!(result.decision, Decision::Indeterminate);
    assert_eq!(noting.0.into_inner().unwrap(), [CURRENT_DATE]);
}
