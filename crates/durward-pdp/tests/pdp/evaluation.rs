//! Rules, policies and sets: the tables of XACML 3.0, sections 7.6 to 7.14.

use durward_pdp::{Decision, Request};

use crate::write::{
    INTEGER, STRING, SUBJECT, apply, condition, decide, designator, failing, integer, is, must_be, number,
    outcome, pdp, policy, policy_set, rule, target, text, try_pdp,
};

fn numbered() -> Request {
    Request::builder().subject("n", 1).subject("role", "doctor").build()
}

#[test]
fn a_failed_rule_keeps_the_effect_it_might_have_had() {
    for (effect, expected) in [("Permit", "Indeterminate{P}"), ("Deny", "Indeterminate{D}")] {
        for inside in [condition(&failing()), target(&must_be("missing", "x"))] {
            let policies = [policy("p", "3.0 deny-overrides", "", &rule(effect, &inside))];
            assert_eq!(outcome(&policies, &numbered()), expected);
        }
    }
}

#[test]
fn a_set_with_a_failed_target_says_what_it_might_have_said() {
    let failed = must_be("missing", "x");
    for (rules, expected) in [
        (rule("Permit", ""), "Indeterminate{P}"),
        (rule("Deny", ""), "Indeterminate{D}"),
        (rule("Permit", &target(&is("role", "nobody"))), "NotApplicable"),
        (rule("Permit", "") + &rule("Deny", &condition(&failing())), "Indeterminate{DP}"),
    ] {
        let policies = [policy("p", "3.0 deny-overrides", &failed, &rules)];
        assert_eq!(outcome(&policies, &numbered()), expected, "{rules}");
    }
}

#[test]
fn no_match_beats_an_error_within_a_target() {
    let both = must_be("missing", "x") + &is("role", "nobody");
    let policies = [policy("p", "3.0 deny-overrides", &both, &rule("Permit", ""))];
    assert_eq!(outcome(&policies, &numbered()), "NotApplicable");
}

#[test]
fn deny_unless_permit_with_another_target_does_not_apply() {
    let policies = [policy("p", "3.0 deny-unless-permit", &is("role", "nobody"), &rule("Deny", ""))];
    assert_eq!(outcome(&policies, &numbered()), "NotApplicable");
}

#[test]
fn or_and_and_decide_in_spite_of_errors() {
    let yes = apply("1.0 integer-equal", &(number() + &integer(1)));
    let no = apply("1.0 integer-equal", &(number() + &integer(2)));
    for (function, arguments, expected) in [
        ("1.0 or", failing() + &yes, "Permit"),
        ("1.0 or", failing() + &no, "Indeterminate{P}"),
        ("1.0 and", failing() + &no, "NotApplicable"),
        ("1.0 and", failing() + &yes, "Indeterminate{P}"),
        ("1.0 or", String::new(), "NotApplicable"),
        ("1.0 and", String::new(), "Permit"),
        ("1.0 n-of", integer(1) + &failing() + &yes, "Permit"),
        ("1.0 n-of", integer(2) + &failing() + &yes, "Indeterminate{P}"),
        ("1.0 n-of", integer(2) + &no + &no + &failing(), "NotApplicable"),
        ("1.0 n-of", integer(0) + &failing(), "Permit"),
        ("1.0 n-of", integer(3) + &yes + &yes, "Indeterminate{P}"),
    ] {
        let rules = rule("Permit", &condition(&apply(function, &arguments)));
        let policies = [policy("p", "3.0 deny-overrides", "", &rules)];
        assert_eq!(outcome(&policies, &numbered()), expected, "{function} {arguments}");
    }
}

#[test]
fn only_one_applicable_looks_at_targets_alone() {
    let never = rule("Permit", &target(&is("role", "nobody")));
    let doctor = is("role", "doctor");
    let silent = |id| policy(id, "3.0 deny-overrides", &doctor, &never);
    let speaking = |id| policy(id, "3.0 deny-overrides", &doctor, &rule("Permit", ""));
    let elsewhere = policy("other", "3.0 deny-overrides", &is("role", "nobody"), &rule("Deny", ""));
    let broken = policy("broken", "3.0 deny-overrides", &must_be("missing", "x"), &rule("Deny", ""));
    for (children, expected) in [
        (speaking("a") + &elsewhere, "Permit"),
        (speaking("a") + &silent("b"), "Indeterminate{DP}"),
        (silent("a") + &elsewhere, "NotApplicable"),
        (speaking("a") + &broken, "Indeterminate{DP}"),
    ] {
        let policies = [policy_set("s", "1.0 only-one-applicable", "", &children)];
        assert_eq!(outcome(&policies, &numbered()), expected);
    }
}

#[test]
fn on_permit_apply_second_asks_the_first() {
    let says = |id, effect| policy(id, "3.0 deny-overrides", "", &rule(effect, ""));
    let (yes, no) = (says("yes", "Permit"), says("no", "Deny"));
    for (children, expected) in [
        (yes.clone() + &says("then", "Deny"), "Deny"),
        (no.clone() + &says("then", "Permit"), "NotApplicable"),
        (no.clone() + &says("then", "Deny") + &says("else", "Permit"), "Permit"),
        (yes.clone(), "Indeterminate{DP}"),
    ] {
        let policies = [policy_set("s", "3.0 on-permit-apply-second", "", &children)];
        assert_eq!(outcome(&policies, &numbered()), expected);
    }
}

#[test]
fn attributes_of_one_name_are_told_apart_by_type_and_issuer() {
    let rules = rule("Permit", &condition(&apply("1.0 integer-equal", &(number() + &integer(1)))));
    let policies = [policy("p", "3.0 deny-overrides", "", &rules)];
    let mixed = Request::builder().subject("n", "one").subject("n", 1).build();
    assert_eq!(decide(&pdp(&policies), &mixed).decision, Decision::Permit);

    let issued = is("role", "doctor").replace("AttributeId", r#"Issuer="board" AttributeId"#);
    let policies = [policy("p", "3.0 deny-overrides", &issued, &rule("Permit", ""))];
    assert_eq!(decide(&pdp(&policies), &numbered()).decision, Decision::NotApplicable);
}

#[test]
fn a_missing_attribute_is_named() {
    let policies = [policy("p", "3.0 deny-overrides", &must_be("badge", "x"), &rule("Permit", ""))];
    let status = decide(&pdp(&policies), &numbered()).status;
    assert!(status.code.value.ends_with("missing-attribute"), "{status:?}");
    assert!(format!("{status:?}").contains("badge"), "{status:?}");
}

#[test]
fn variables_may_stand_before_their_definitions_and_fail_only_when_used() {
    let variables = format!(
        r#"<VariableDefinition VariableId="a"><VariableReference VariableId="b"/></VariableDefinition>
           <VariableDefinition VariableId="b">{}</VariableDefinition>
           <VariableDefinition VariableId="unused">{}</VariableDefinition>"#,
        apply("1.0 integer-equal", &(number() + &integer(1))),
        failing(),
    );
    let rules = variables + &rule("Permit", &condition(r#"<VariableReference VariableId="a"/>"#));
    let policies = [policy("p", "3.0 deny-overrides", "", &rules)];
    assert_eq!(outcome(&policies, &numbered()), "Permit");
}

#[test]
fn bad_variables_are_refused() {
    let define = |id: &str, inside: &str| {
        format!(r#"<VariableDefinition VariableId="{id}">{inside}</VariableDefinition>"#)
    };
    let refer = |id: &str| format!(r#"<VariableReference VariableId="{id}"/>"#);
    for (variables, expected) in [
        (define("a", &refer("a")), "is defined by itself"),
        (define("a", &refer("b")) + &define("b", &refer("a")), "is defined by itself"),
        (define("a", &refer("nowhere")), "is not defined"),
    ] {
        let policies = [policy("p", "3.0 deny-overrides", "", &(variables + &rule("Permit", "")))];
        let errors = try_pdp(&policies).unwrap_err();
        assert!(errors.iter().any(|error| error.contains(expected)), "{errors:?}");
    }
}

/// A list of a million problems would take more memory than the policies.
#[test]
fn not_more_problems_are_listed_than_anybody_reads() {
    let wrong = rule("Permit", &condition(&apply("1.0 no-such", "")));
    let errors = try_pdp(&[policy("p", "3.0 deny-overrides", "", &wrong.repeat(3_000))]).unwrap_err();
    assert_eq!(errors.len(), 1_001);
    assert!(errors[1_000].contains("more than 1000 problems"), "{}", errors[1_000]);
}

#[test]
fn ill_typed_policies_are_refused_with_the_place() {
    for (inside, expected) in [
        (condition(&integer(1)), "a condition must be a boolean"),
        (condition(&apply("1.0 integer-equal", &integer(1))), "`integer-equal` takes 2 arguments"),
        (condition(&apply("1.0 no-such", "")), "unknown function"),
        (
            condition(&apply("1.0 integer-equal", &(designator("n", INTEGER, "false") + &integer(1)))),
            "one-and-only",
        ),
        (target(&is("role", "x").replace(INTEGER, "y").replace("#string", "#strnig")), "unknown data type"),
    ] {
        let policies = [policy("p", "3.0 deny-overrides", "", &rule("Permit", &inside))];
        let errors = try_pdp(&policies).unwrap_err();
        assert!(
            errors.iter().any(|error| error.contains(expected) && error.starts_with("0.xml:")),
            "{errors:?}"
        );
    }
}

/// A literal that is no regular expression, wherever one may stand.
#[test]
fn a_broken_regular_expression_is_refused_with_the_place() {
    let function = r#"<Function FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-regexp-match"/>"#;
    let bag = designator("role", STRING, "false");
    let one = apply("1.0 string-one-and-only", &bag);
    for inside in [
        target(&is("role", "(a").replace("string-equal", "string-regexp-match")),
        condition(&apply("1.0 string-regexp-match", &(text("(a") + &one))),
        condition(&apply("3.0 any-of", &format!("{function}{}{bag}", text("(a")))),
    ] {
        let policies = [policy("p", "3.0 deny-overrides", "", &rule("Permit", &inside))];
        let errors = try_pdp(&policies).unwrap_err();
        assert!(
            errors.iter().any(|error| error.contains("`(a` is not a regular") && error.starts_with("0.xml:")),
            "{errors:?}"
        );
        let mended = [policies[0].replace("(a", "(a)")];
        let nurse = Request::builder().subject("role", "nuase").build();
        assert_eq!(decide(&pdp(&mended), &nurse).decision, Decision::Permit);
    }
}

#[test]
fn one_decision_does_only_so_much_work() {
    let bag = designator("many", INTEGER, "false");
    let nothing_equal =
        r#"<Function FunctionId="urn:oasis:names:tc:xacml:1.0:function:integer-greater-than"/>"#;
    let inside = condition(&apply("3.0 any-of-any", &format!("{nothing_equal}{bag}{bag}")));
    let policies = [policy("p", "3.0 deny-overrides", "", &rule("Permit", &inside))];
    let mut request = Request::builder();
    for _ in 0..10_000 {
        request = request.subject("many", 7);
    }
    let result = decide(&pdp(&policies), &request.build());
    assert_eq!(result.decision, Decision::Indeterminate);
    assert!(result.status.message.as_deref().unwrap_or_default().contains("steps"));
}

/// A subject that has the role `boss`, or may do it with the attributes `given`.
fn permitted_with(given: &str) -> String {
    let category = r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#anyURI">"#.to_owned();
    let given = given.replace('<', "&lt;");
    let asked =
        apply("3.0 access-permitted", &format!("{category}{SUBJECT}</AttributeValue>{}", text(&given)));
    let boss = apply("1.0 string-is-in", &(text("boss") + &designator("role", STRING, "false")));
    policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&apply("1.0 or", &(boss + &asked)))))
}

#[test]
fn access_permitted_takes_the_content_of_a_category_or_the_whole() {
    let role = format!(
        r#"<Attribute AttributeId="role" IncludeInResult="false"><AttributeValue DataType="{STRING}">boss</AttributeValue></Attribute>"#
    );
    let namespace = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
    let whole = format!(r#"<Attributes xmlns="{namespace}" Category="{SUBJECT}">{role}</Attributes>"#);
    let content = format!("<Content><a/></Content>{role}");
    let prefixed = role.replace("Attribute", "x:Attribute").replace("x:AttributeId", "AttributeId").replacen(
        "<x:Attribute ",
        &format!(r#"<x:Attribute xmlns:x="{namespace}" "#),
        1,
    );
    for given in [role, whole, content, prefixed] {
        assert_eq!(outcome(&[permitted_with(&given)], &numbered()), "Permit", "{given}");
    }
    // Without attributes the question asks itself until it may not any more, and a failure within is no permission.
    assert_eq!(outcome(&[permitted_with("")], &numbered()), "NotApplicable");
    // There is no way out of the category.
    for given in ["</Attributes><Attributes>", "<b/>"] {
        assert_eq!(outcome(&[permitted_with(given)], &numbered()), "Indeterminate{P}", "{given}");
    }
}

/// Policies of XACML 1.1 with the name that its regular expressions have there, asked in XML and in JSON.
#[test]
fn the_regular_expressions_of_1_1_are_known_by_their_name() {
    let designator = format!(
        r#"<SubjectAttributeDesignator AttributeId="urn:oasis:names:tc:xacml:1.0:subject:subject-id" DataType="{STRING}"/>"#
    );
    let function = "urn:oasis:names:tc:xacml:1.0:function:regexp-string-match";
    let target = format!(
        r#"<Subjects><Subject><SubjectMatch MatchId="{function}">{}{designator}</SubjectMatch></Subject></Subjects>
           <Resources><AnyResource/></Resources><Actions><AnyAction/></Actions>"#,
        text("^J.*is$")
    );
    let only = format!(
        r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-one-and-only">{designator}</Apply>"#
    );
    let condition =
        format!(r#"<Condition FunctionId="{function}">{}{only}</Condition>"#, text("Hibbert|ulius"));
    let policy = format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:1.0:policy" PolicyId="p"
             RuleCombiningAlgId="urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:deny-overrides">
             <Target>{target}</Target><Rule RuleId="r" Effect="Permit">{condition}</Rule></Policy>"#
    );
    for (who, expected) in
        [("Julius is", "Permit"), ("Julian is", "NotApplicable"), ("Julius", "NotApplicable")]
    {
        let xml = format!(
            r#"<Request xmlns="urn:oasis:names:tc:xacml:1.0:context"><Subject>
                 <Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:subject:subject-id" DataType="{STRING}">
                   <AttributeValue>{who}</AttributeValue></Attribute></Subject><Resource/><Action/></Request>"#
        );
        let json = format!(
            r#"{{"Request": {{"AccessSubject": {{"Attribute": [{{"AttributeId":
                 "urn:oasis:names:tc:xacml:1.0:subject:subject-id", "Value": "{who}"}}]}}}}}}"#
        );
        let requests =
            [Request::from_xml(xml.as_bytes()).unwrap(), Request::from_json(json.as_bytes()).unwrap()];
        for request in requests {
            assert_eq!(outcome(std::slice::from_ref(&policy), &request), expected, "{who}");
        }
    }
}
