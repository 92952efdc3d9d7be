//! Requests of XACML, as they were read and once more encoded.

use durward_pdp::{Decision, IndexKind, Pdp, Request};

use super::allocations;

const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";

/// Policies for so many roles, with these rules in each.
fn policies(roles: usize, rules: &str) -> String {
    let mut text = "<PolicySet xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\" PolicySetId=\"all\" \
        Version=\"1.0\" PolicyCombiningAlgId=\"urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:deny-overrides\">\
        <Target/>"
        .to_owned();
    for role in 0..roles {
        let target = matching("string-equal", &literal(STRING, &format!("r{role}")), &bag("role", STRING));
        text += &format!(
            "<Policy PolicyId=\"p{role}\" Version=\"1.0\" RuleCombiningAlgId=\
             \"urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit\">\
             <Target>{target}</Target>{rules}</Policy>"
        );
    }
    text + "</PolicySet>"
}

fn matching(function: &str, literal: &str, bag: &str) -> String {
    format!(
        "<AnyOf><AllOf><Match MatchId=\"urn:oasis:names:tc:xacml:1.0:function:{function}\">{literal}{bag}</Match>\
         </AllOf></AnyOf>"
    )
}

fn literal(data_type: &str, text: &str) -> String {
    format!("<AttributeValue DataType=\"{data_type}\">{text}</AttributeValue>")
}

fn bag(id: &str, data_type: &str) -> String {
    format!(
        "<AttributeDesignator Category=\"{SUBJECT}\" AttributeId=\"{id}\" DataType=\"{data_type}\" \
         MustBePresent=\"false\"/>"
    )
}

fn apply(function: &str, arguments: &str) -> String {
    format!("<Apply FunctionId=\"urn:oasis:names:tc:xacml:1.0:function:{function}\">{arguments}</Apply>")
}

fn permit(inside: &str) -> String {
    format!("<Rule RuleId=\"r\" Effect=\"Permit\">{inside}</Rule>")
}

fn permit_if(condition: &str) -> String {
    permit(&format!("<Condition>{condition}</Condition>"))
}

fn pdp(text: &str, index: IndexKind) -> Pdp {
    let built = Pdp::builder().policy("p.xml", text).index(index).build();
    built.unwrap_or_else(|errors| panic!("{}\n{text}", errors.first().unwrap()))
}

/// How often deciding allocates, as read and encoded, with the worst index.
fn worst(text: &str, requests: &[Request]) -> [u64; 2] {
    let mut worst = [0, 0];
    for index in IndexKind::ALL {
        let pdp = pdp(text, index);
        for request in requests {
            let mut request = request.clone();
            worst[0] = worst[0].max(allocations(|| pdp.decide(&request)));
            pdp.encode(&mut request);
            worst[1] = worst[1].max(allocations(|| pdp.decide(&request)));
        }
    }
    worst
}

fn single_valued() -> [Request; 3] {
    let request = |role: &str, level: i64| {
        Request::builder().subject("role", role).subject("level", level).subject("name", "ann").build()
    };
    [request("r3", 4), request("r3", 1), request("nobody", 4)]
}

fn multi_valued() -> [Request; 1] {
    let builder = Request::builder().subject("role", "r3").subject("role", "r4").subject("role", "other");
    [builder.subject("level", 4).subject("name", "ann").subject("name", "bob").build()]
}

/// What rules are made of: their name, and a rule.
fn rules() -> Vec<(&'static str, String)> {
    let level = apply("integer-one-and-only", &bag("level", INTEGER));
    let name = apply("string-one-and-only", &bag("name", STRING));
    let is_in = apply("string-is-in", &(literal(STRING, "ann") + &bag("name", STRING)));
    let three = literal(INTEGER, "3");
    let both = literal(STRING, "ann") + &literal(STRING, "cid");
    let members = bag("name", STRING) + &apply("string-bag", &both);
    vec![
        ("always", permit("")),
        ("integer range", permit_if(&apply("integer-greater-than", &(level.clone() + &three)))),
        (
            "integer range in a target",
            permit(&format!(
                "<Target>{}</Target>",
                matching("integer-less-than", &three, &bag("level", INTEGER))
            )),
        ),
        ("text equal", permit_if(&apply("string-equal", &(name.clone() + &literal(STRING, "ann"))))),
        ("is in", permit_if(&is_in)),
        ("and, or, not", permit_if(&apply("and", &(is_in.clone() + &apply("or", &apply("not", &is_in)))))),
        (
            "arithmetic",
            permit_if(&apply(
                "integer-equal",
                &(apply("integer-add", &(level + &three)) + &literal(INTEGER, "7")),
            )),
        ),
        ("at least one member of", permit_if(&apply("string-at-least-one-member-of", &members))),
        ("regular expression", permit_if(&apply("string-regexp-match", &(literal(STRING, "a.*") + &name)))),
    ]
}

#[test]
fn requests_with_one_value_each_do_not_allocate() {
    for (what, rule) in rules() {
        assert_eq!(worst(&policies(12, &rule), &single_valued()), [0, 0], "{what}");
    }
}

/// What wants one value of an attribute with two fails, and says so: that takes two.
#[test]
fn requests_with_several_values_allocate_for_errors_only() {
    for (what, rule) in rules() {
        let most = if ["text equal", "regular expression"].contains(&what) { 2 } else { 0 };
        let [read, encoded] = worst(&policies(12, &rule), &multi_valued());
        assert!(read <= most && encoded <= most, "{what}: {read}, encoded {encoded}");
    }
}

/// The policies of `durward demo`: what goes along with nothing, allocates nothing.
#[test]
fn the_demo_does_not_allocate_without_duties() {
    let conference = include_str!("../../../durward/policies/demo/conference.xml");
    for (kind, action, role) in [
        ("paper", "read", "chair"),
        ("paper", "read", "author"),
        ("review", "write", "reviewer"),
        ("paper", "write", "author"),
    ] {
        let request = Request::builder()
            .subject("urn:oasis:names:tc:xacml:1.0:subject:subject-id", "ann")
            .subject("urn:oasis:names:tc:xacml:2.0:subject:role", role)
            .action("urn:oasis:names:tc:xacml:1.0:action:action-id", action)
            .resource("conference:kind", kind)
            .resource("conference:phase", "reviewing")
            .resource("conference:author", "ann")
            .resource("conference:reviewer", "bob")
            .build();
        let result = &pdp(conference, IndexKind::Scan).decide(&request).results[0];
        let has_duties = !result.obligations.is_empty() || !result.advice.is_empty();
        if matches!(result.decision, Decision::Permit | Decision::Deny | Decision::NotApplicable)
            && !has_duties
        {
            assert_eq!(worst(conference, std::slice::from_ref(&request)), [0, 0], "{kind} {action} {role}");
        }
    }
}
