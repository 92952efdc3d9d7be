//! Subscriptions of SAPL, and both languages in one place.

use std::fmt::Write;

use durward_pdp::ir::question::{Attributes, Invocation, NoAttributes, Reading};
use durward_pdp::ir::{AttributeName, attribute::NameKey, fault::Evaluated, path::Path};
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{AttributeSource, IndexKind, Pdp, Request, SourceError, Value};

const READ: &str = r#"{"subject":{"role":"nurse","age":30},"action":"read","resource":"record"}"#;

fn asked(json: &str) -> Subscription {
    Subscription::from_json(json.as_bytes()).unwrap()
}

fn pdp(documents: &[(&str, &str)]) -> Pdp {
    let mut builder = Pdp::builder();
    for (name, text) in documents {
        builder = builder.policy(name, *text);
    }
    builder.build().map_err(|errors| errors[0].to_string()).unwrap()
}

fn decided(documents: &[(&str, &str)], json: &str) -> String {
    pdp(documents).decide_once(&asked(json)).to_json()
}

/// A source that knows everybody's name.
struct Named(Value);

impl AttributeSource for Named {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == "name"
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(vec![self.0.clone()])
    }
}

/// One letter typed in two ways. XACML 3.0, 7.1.1: string operations behave as if their input were in normalization form
/// C. SAPL compares code points, as its engine does.
#[test]
fn texts_are_normalised_in_xacml_and_compared_as_they_are_in_sapl() {
    let (composed, decomposed) = ("Jos\u{e9}", "Jose\u{301}");
    for (written, given) in [(composed, decomposed), (decomposed, composed)] {
        let target = crate::write::is("name", written);
        let policy =
            crate::write::policy("p", "3.0 deny-overrides", &target, &crate::write::rule("Permit", ""));
        let json = format!(
            r#"{{"Request": {{"AccessSubject": {{"Attribute": [{{"AttributeId": "name", "Value": "{given}"}}]}}}}}}"#
        );
        let in_code = Request::builder().subject("name", given).build();
        let in_json = Request::from_json(json.as_bytes()).unwrap();
        let in_xml = Request::from_xml(in_code.to_xml().as_bytes()).unwrap();
        let elsewhere = Request::builder().action("a", "b").build();
        let given = Value::Text(given.into());
        let as_value = Request::builder().subject("name", given.clone()).build();
        let source = Named(given);
        let pdp = Pdp::builder().policy("p.xml", policy.as_str()).source(source).build().unwrap();
        for request in [in_code, in_json, in_xml, as_value, elsewhere] {
            let decision = pdp.decide(&request).results[0].decision;
            assert_eq!(decision.as_str(), "Permit", "{written} {request:?}");
        }
        let sapl = format!(r#"policy "p" permit subject == "{written}";"#);
        let ask = |subject: &str| {
            let json = format!(r#"{{"subject": "{subject}", "action": "a", "resource": "r"}}"#);
            decided(&[("p.sapl", &sapl)], &json)
        };
        let other = if written == composed { decomposed } else { composed };
        assert_eq!(ask(other), r#"{"decision":"DENY"}"#, "{written}");
        assert_eq!(ask(written), r#"{"decision":"PERMIT"}"#, "{written}");
    }
}

/// Nested as deep as is allowed, in every way that nests: the evaluator's recursion fits the stack of a thread.
#[test]
fn the_deepest_expressions_can_be_evaluated() {
    for (start, step) in [
        ("subject.flag", "!BEFORE"),
        ("subject.age", "[BEFORE]"),
        ("subject.age", "subject.list :: (BEFORE)"),
        ("subject.age", "subject.list[?(BEFORE == 1)]"),
        ("subject.age", "subject.list |- { @.x[(BEFORE)] : filter.remove }"),
        ("subject.age", "subject.list |- each filter.replace(BEFORE)"),
        ("subject.age", "{\"a\": BEFORE}.a + 0"),
        ("subject.age", "standard.onErrorMap(BEFORE, 1)"),
        ("subject.flag", "(BEFORE && subject.flag)"),
        ("subject.age", "BEFORE.<a.b>"),
    ] {
        let nested = |depth: usize| {
            let mut text = format!("policy \"p\" permit var x0 = {start};");
            for number in 1..=depth {
                let value = step.replace("BEFORE", &format!("x{}", number - 1));
                write!(text, "var x{number} = {value};").unwrap();
            }
            text + &format!("x{depth} == 1;")
        };
        let can_be_built = |text: &String| Pdp::builder().policy("p.sapl", text.as_str()).build().is_ok();
        let text = (10..41).rev().map(|tens| nested(tens * 10)).find(can_be_built);
        let text = text.unwrap_or_else(|| panic!("{step}"));
        let question = r#"{"subject":{"flag":true,"age":1,"list":[1]},"action":1,"resource":1}"#;
        let found = decided(&[("p.sapl", &text)], question);
        assert!(found.contains("decision"), "{found}");
    }
}

const XACML_NURSES: &str = r#"
<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="x" Version="1"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides">
  <Target/>
  <Rule RuleId="nurses" Effect="Permit">
    <Target><AnyOf><AllOf>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">nurse</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
      </Match>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:integer-less-than">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">18</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="age" DataType="http://www.w3.org/2001/XMLSchema#integer" MustBePresent="false"/>
      </Match>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">read</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:action"
          AttributeId="urn:oasis:names:tc:xacml:1.0:action:action-id"
          DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
      </Match>
    </AllOf></AnyOf></Target>
    <ObligationExpressions>
      <ObligationExpression ObligationId="log" FulfillOn="Permit">
        <AttributeAssignmentExpression AttributeId="level">
          <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">2</AttributeValue>
        </AttributeAssignmentExpression>
      </ObligationExpression>
    </ObligationExpressions>
  </Rule>
</Policy>"#;

#[test]
fn both_languages_answer_one_subscription() {
    let sapl = "policy \"s\" permit subject.age > 18; obligation \"look\"";
    let documents = [("a.sapl", sapl), ("b.xml", XACML_NURSES)];
    assert_eq!(
        decided(&documents, READ),
        r#"{"decision":"PERMIT","obligations":["look",{"id":"log","attributes":[{"id":"level","value":2}]}]}"#
    );
    assert_eq!(decided(&documents, &READ.replace("30", "18")), r#"{"decision":"DENY"}"#);
}

#[test]
fn a_policy_of_sapl_can_refuse_what_one_of_xacml_allows() {
    let sapl = "policy \"s\" deny subject.age < 40;";
    assert_eq!(decided(&[("a.sapl", sapl), ("b.xml", XACML_NURSES)], READ), r#"{"decision":"DENY"}"#);
}

#[test]
fn a_request_of_xacml_is_no_subscription_but_is_answered() {
    let pdp = pdp(&[("a.sapl", "policy \"s\" suspend subject == undefined;"), ("b.xml", XACML_NURSES)]);
    let response = pdp.decide(&Request::builder().subject("role", "clerk").build());
    assert_eq!(response.results[0].decision, durward_pdp::Decision::Indeterminate);
}

#[test]
fn what_no_finder_says_is_undefined() {
    let text = "policy \"p\" permit \"x\".<foo.bar> == undefined;";
    assert_eq!(decided(&[("p.sapl", text)], READ), r#"{"decision":"PERMIT"}"#);
}

/// Knows what one finder says, and of another that it has not said anything.
struct Finders(Subscription);

impl Attributes for Finders {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        NoAttributes.read(name, key);
        self.0.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.0.part(path)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        (invocation.name == "known.one").then(|| Ok(Value::number(1)))
    }
}

#[test]
fn finders_are_asked_for_what_matters() {
    let needs = |conditions: &str| -> Vec<String> {
        let pdp = pdp(&[("p.sapl", &format!("policy \"p\" permit {conditions}"))]);
        let attempt = pdp.decide_known(&Finders(asked(READ)));
        attempt.needs.iter().map(|need| need.name.to_string()).collect()
    };
    assert_eq!(needs("<other.one(action)> == 2;"), ["other.one"]);
    assert!(needs("<other.one> == 2; action == \"write\";").is_empty());
    assert!(needs("<other.one> == 2; <known.one> == 2;").is_empty());
    assert!(needs("<other.one> == 2 || <known.one> == 1;").is_empty());
    assert_eq!(needs("<known.one> == 1; obligation <other.one>"), ["other.one"]);
}

#[test]
fn broken_documents_never_come_into_force() {
    let good = pdp(&[("p.sapl", "policy \"p\" permit")]);
    let broken = durward_pdp::PolicyText { name: "p.sapl".into(), text: b"policy \"p\" permit 1 +".to_vec() };
    let errors = good.replace(&[broken]).unwrap_err();
    assert_eq!((errors[0].line, errors[0].column > 1), (1, true), "{}", errors[0]);
    assert_eq!(good.decide_once(&asked(READ)).outcome, Outcome::Permit);
}

#[test]
fn no_index_changes_the_order_of_obligations() {
    let texts: Vec<String> = (0..40)
        .map(|number| {
            let role = if number % 3 == 0 { "nurse" } else { "clerk" };
            format!("policy \"{number}\" permit subject.role == \"{role}\"; obligation {number}")
        })
        .collect();
    let found: Vec<String> = IndexKind::ALL
        .into_iter()
        .map(|index| {
            let mut builder = Pdp::builder().index(index);
            for (number, text) in texts.iter().enumerate() {
                builder = builder.policy(&format!("{number}.sapl"), text.as_str());
            }
            builder.build().unwrap().decide_once(&asked(READ)).to_json()
        })
        .collect();
    assert!(found[0].contains("[0,3,6,9,12,"), "{}", found[0]);
    assert!(found.iter().all(|one| *one == found[0]), "{found:#?}");
}

/// What cannot hold is left out, and yet a set with it is no constant, which would vote before all others.
#[test]
fn what_is_left_out_does_not_change_the_order_of_obligations() {
    for never in [
        r#"(action == "write" & action in ["read", "write"]); action == "read";"#,
        r#"action in [];"#,
        r#"action in [] || action in {};"#,
        r#"!(action != "read") & (action == "write" || action in []);"#,
    ] {
        let policies = [
            r#"policy "first" permit action == "read"; obligation 1"#.to_owned(),
            format!(
                r#"set "second" unanimous or abstain policy "a" permit obligation 2 policy "b" deny {never}"#
            ),
            r#"policy "third" permit obligation 3"#.to_owned(),
        ];
        for index in IndexKind::ALL {
            let mut builder = Pdp::builder().index(index);
            for (number, text) in policies.iter().enumerate() {
                builder = builder.policy(&format!("{number}.sapl"), text.as_str());
            }
            let decided = builder.build().unwrap().decide_once(&asked(READ)).to_json();
            assert_eq!(decided, r#"{"decision":"PERMIT","obligations":[3,1,2]}"#, "{never} {index}");
        }
    }
}
