//! Policies and requests made to hurt: no budget buys a Permit, and nothing takes for ever or overflows the stack.

use durward_pdp::{Decision, IndexKind, Pdp, Request};

use crate::write::{
    STRING, apply, condition, designator, is, pdp, policy, policy_set, rule, target, text, try_pdp,
};

fn role(value: &str) -> Request {
    Request::builder().subject("role", value).build()
}

/// A subject with very many roles, the last of which is `bad`.
fn many_roles(count: usize) -> Request {
    let roles: Vec<String> = (1..count).map(|at| format!("r{at}")).chain(["bad".into()]).collect();
    let request =
        roles.iter().fold(Request::builder(), |request, role| request.subject("role", role.as_str()));
    request.build()
}

fn variables(definitions: &[String], then: &str) -> String {
    let defined: Vec<String> = definitions
        .iter()
        .enumerate()
        .map(|(at, inside)| {
            format!(r#"<VariableDefinition VariableId="v{at}">{inside}</VariableDefinition>"#)
        })
        .collect();
    policy("p", "3.0 deny-unless-permit", "", then).replacen(
        "</Target>",
        &format!("</Target>{}", defined.concat()),
        1,
    )
}

fn variable(at: usize) -> String {
    format!(r#"<VariableReference VariableId="v{at}"/>"#)
}

fn first() -> String {
    let role = apply("1.0 string-one-and-only", &designator("role", STRING, "false"));
    apply("1.0 string-equal", &(text("x") + &role))
}

/// Under permit-unless-deny an error permits. Whoever makes the request long enough that the budget is spent before
/// the rule that denies is reached must not get a Permit for it.
#[test]
fn a_spent_budget_is_never_a_permit() {
    let denied = (0..99).map(|at| {
        rule("Deny", &target(&is("role", &format!("worse{at}")))).replace("\"r\"", &format!("\"r{at}\""))
    });
    let rules = denied.collect::<String>() + &rule("Deny", &target(&is("role", "bad")));
    let policy = policy("p", "3.0 permit-unless-deny", "", &rules);
    let request = many_roles(99_999);
    for index in [IndexKind::Scan, IndexKind::Bloom, IndexKind::Canonical, IndexKind::Diagram] {
        let pdp = Pdp::builder().index(index).policy("p.xml", policy.as_str()).build().unwrap();
        let result = pdp.decide(&request).results.remove(0);
        assert!(
            matches!(result.decision, Decision::Deny | Decision::Indeterminate),
            "{index:?}: {:?}",
            result.decision
        );
        assert_eq!(pdp.decide(&role("good")).results[0].decision, Decision::Permit);
    }
}

#[test]
fn a_spent_budget_says_so() {
    let both = designator("role", STRING, "false").repeat(2);
    let function = r#"<Function FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-greater-than"/>"#;
    let none = apply("1.0 not", &apply("1.0 any-of-all", &(function.to_owned() + &both)));
    let pdp = pdp(&[policy("p", "3.0 permit-unless-deny", "", &rule("Deny", &condition(&none)))]);
    let roles: Vec<String> = (0..20_000).map(|_| "same".to_owned()).collect();
    let request =
        roles.iter().fold(Request::builder(), |request, role| request.subject("role", role.as_str()));
    let result = pdp.decide(&request.build()).results.remove(0);
    assert_eq!(result.decision, Decision::Deny);
    let request = (0..20_000)
        .fold(Request::builder(), |request, at| request.subject("role", format!("{at:05}").as_str()));
    let result = pdp.decide(&request.build()).results.remove(0);
    assert_eq!(result.decision, Decision::Indeterminate);
    assert_eq!(result.status.message.as_deref(), Some("the decision takes more than 5000000 steps"));
}

/// Patterns out of a request are compiled when they are met; each can take milliseconds.
#[test]
fn patterns_in_a_request_are_counted() {
    let function = r#"<Function FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-regexp-match"/>"#;
    let any = apply("3.0 any-of", &(function.to_owned() + &designator("role", STRING, "false") + &text("x")));
    let pdp = pdp(&[policy("p", "3.0 deny-unless-permit", "", &rule("Permit", &condition(&any)))]);
    let request = (0..5_000)
        .fold(Request::builder(), |request, at| request.subject("role", format!("[a-c]{at}y").as_str()));
    let result = pdp.decide(&request.build()).results.remove(0);
    assert_eq!(result.decision, Decision::Indeterminate);
}

/// Thirty variables that each use the one before twice are a walk through a billion expressions.
#[test]
fn variables_that_fan_out_are_refused() {
    let doubled = |at: usize| apply("1.0 or", &variable(at - 1).repeat(2));
    let chain = |count: usize| {
        let definitions: Vec<String> =
            (0..count).map(|at| if at == 0 { first() } else { doubled(at) }).collect();
        variables(&definitions, &rule("Permit", &condition(&variable(count - 1))))
    };
    let errors = try_pdp(&[chain(40)]).unwrap_err();
    assert!(errors[0].contains("policy `p` has more than 20000000 elements"), "{errors:?}");
    assert_eq!(pdp(&[chain(16)]).decide(&role("y")).results[0].decision, Decision::Deny);
}

#[test]
fn variables_that_refer_to_each_other_nest_no_deeper_than_the_stack() {
    let negated = |at: usize| apply("1.0 not", &variable(at - 1));
    for count in [10_000, 450] {
        let mut definitions: Vec<String> =
            (0..count).map(|at| if at == 0 { first() } else { negated(at) }).collect();
        let then = rule("Permit", &condition(&variable(count - 1)));
        let forwards = variables(&definitions, &then);
        // Defined last first: lowering follows each reference before it has lowered what it refers to.
        definitions.reverse();
        let backwards = definitions.iter().enumerate().fold(
            policy("p", "3.0 deny-unless-permit", "", &then),
            |policy, (at, inside)| {
                let definition = format!(
                    r#"<VariableDefinition VariableId="v{}">{inside}</VariableDefinition></Target>"#,
                    count - 1 - at
                );
                policy.replacen("</Target>", &definition, 1)
            },
        );
        // `</Target>` was the mark to insert before; it stands behind the variables now.
        let backwards = backwards.replacen("</Target>", "", 1).replacen("<Target>", "<Target/>", 1);
        for policy in [forwards, backwards] {
            let errors = try_pdp(&[policy]).unwrap_err();
            assert!(errors.iter().any(|error| error.contains("nest more than 400 deep")), "{errors:?}");
        }
    }
}

#[test]
fn variables_that_only_name_each_other_do_not_overflow_the_stack() {
    let count = 10_000;
    let definitions: Vec<String> =
        (0..count).map(|at| if at + 1 == count { first() } else { variable(at + 1) }).collect();
    let policy = variables(&definitions, &rule("Permit", &condition(&variable(0))));
    let errors = try_pdp(&[policy]).unwrap_err();
    assert!(errors.iter().any(|error| error.contains("nest more than 400 deep")), "{errors:?}");
}

/// Each document nests a hundred sets, and refers to the next.
#[test]
fn sets_nest_no_deeper_than_the_stack_over_all_documents() {
    let nested = |document: usize, inside: &str| {
        (0..100).rev().fold(inside.to_owned(), |inside, at| {
            policy_set(&format!("s{document}-{at}"), "3.0 deny-overrides", "", &inside)
        })
    };
    let documents = |count: usize| -> Vec<String> {
        let next = |at: usize| format!("<PolicySetIdReference>s{at}-0</PolicySetIdReference>");
        let last = policy("p", "3.0 deny-overrides", "", &rule("Permit", ""));
        (0..count).map(|at| nested(at, &if at + 1 == count { last.clone() } else { next(at + 1) })).collect()
    };
    for mut policies in [documents(40), documents(5)] {
        for _ in 0..2 {
            let errors = try_pdp(&policies).unwrap_err();
            assert!(errors.iter().any(|error| error.contains("nest more than 400 deep")), "{errors:?}");
            policies.reverse();
        }
    }
    assert_eq!(pdp(&documents(3)).decide(&role("y")).results[0].decision, Decision::Permit);
}

/// More regular expressions in targets than are kept of those that requests bring.
#[test]
fn many_regular_expressions_in_targets_each_match_what_they_say() {
    let rules: String = (0..200)
        .map(|at| {
            let matching =
                is("role", &format!("^[a-z]+-{at}$")).replace("string-equal", "string-regexp-match");
            rule("Permit", &target(&matching)).replace("\"r\"", &format!("\"r{at}\""))
        })
        .collect();
    let pdp = pdp(&[policy("p", "3.0 deny-unless-permit", "", &rules)]);
    for _ in 0..100 {
        assert_eq!(pdp.decide(&role("user-199")).results[0].decision, Decision::Permit);
        assert_eq!(pdp.decide(&role("user-200")).results[0].decision, Decision::Deny);
    }
}
