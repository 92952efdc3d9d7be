//! Each finding on the smallest policy that has it, and on its neighbour that has not.

use super::*;
use crate::policy::{Limits, read_policy};

const XACML: &str = "urn:oasis:names:tc:xacml:";

fn document(name: &str, text: &str) -> Document {
    match read_policy(name, text.as_bytes(), &Limits::default()) {
        Ok(document) => document,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// A policy of this algorithm (`1.0:first-applicable`) with this inside.
fn policy_named(id: &str, algorithm: &str, inside: &str) -> String {
    let (version, name) = algorithm.split_once(':').unwrap();
    let target = if inside.contains("<!--target-->") { "" } else { "<Target/>" };
    format!(
        r#"<Policy xmlns="{XACML}3.0:core:schema:wd-17" PolicyId="{id}" Version="1.0"
             RuleCombiningAlgId="{XACML}{version}:rule-combining-algorithm:{name}">{target}
{inside}</Policy>"#
    )
}

fn set_named(id: &str, version: &str, inside: &str) -> String {
    format!(
        r#"<PolicySet xmlns="{XACML}3.0:core:schema:wd-17" PolicySetId="{id}" Version="{version}"
             PolicyCombiningAlgId="{XACML}1.0:policy-combining-algorithm:first-applicable"><Target/>
{inside}</PolicySet>"#
    )
}

fn rule(id: &str, effect: &str, inside: &str) -> String {
    format!(r#"<Rule RuleId="{id}" Effect="{effect}">{inside}</Rule>"#)
}

fn attribute(category: &str, id: &str, must_be_present: bool) -> String {
    format!(
        r#"<AttributeDesignator Category="{XACML}{category}" AttributeId="{id}"
             DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="{must_be_present}"/>"#
    )
}

fn role(must_be_present: bool) -> String {
    attribute("1.0:subject-category:access-subject", "role", must_be_present)
}

fn literal(text: &str) -> String {
    format!(r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">{text}</AttributeValue>"#)
}

fn is_role(text: &str) -> String {
    matching(text, &role(false))
}

fn matching(text: &str, attribute: &str) -> String {
    format!(r#"<Match MatchId="{XACML}1.0:function:string-equal">{}{attribute}</Match>"#, literal(text))
}

/// A target of `AnyOf`s of `AllOf`s of `Match`es.
fn target(clauses: &[&[&[&str]]]) -> String {
    let mut text = String::from("<!--target--><Target>");
    for alternatives in clauses {
        text.push_str("<AnyOf>");
        for matches in *alternatives {
            text.push_str(&format!("<AllOf>{}</AllOf>", matches.concat()));
        }
        text.push_str("</AnyOf>");
    }
    text + "</Target>"
}

fn apply(function: &str, arguments: &[String]) -> String {
    format!(r#"<Apply FunctionId="{XACML}{function}">{}</Apply>"#, arguments.concat())
}

fn condition(expression: &str) -> String {
    format!("<Condition>{expression}</Condition>")
}

fn only_role_is(text: &str) -> String {
    apply(
        "1.0:function:string-equal",
        &[apply("1.0:function:string-one-and-only", &[role(true)]), literal(text)],
    )
}

fn obligation(on: &str) -> String {
    format!(
        r#"<ObligationExpressions><ObligationExpression ObligationId="log" FulfillOn="{on}"/></ObligationExpressions>"#
    )
}

/// The codes found in one policy, with the identifiers in backticks of their messages.
fn found(algorithm: &str, inside: &str) -> Vec<String> {
    found_in(&[&policy_named("p", algorithm, inside)])
}

fn found_in(texts: &[&str]) -> Vec<String> {
    let documents: Vec<Document> =
        texts.iter().enumerate().map(|(number, text)| document(&format!("{number}.xml"), text)).collect();
    let findings = check(&documents, &Settings::default());
    findings.iter().map(|it| format!("{} {}", it.code, first_quoted(&it.message))).collect()
}

fn first_quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_default()
}

const FIRST: &str = "1.0:first-applicable";
const DENY_OVERRIDES: &str = "3.0:deny-overrides";
const NOTHING: [&str; 0] = [];

#[test]
fn a_rule_after_an_unconditional_one_is_unreachable_under_first_applicable_only() {
    let guarded = rule("guarded", "Deny", &target(&[&[&[&is_role("a")]]]).replace("<!--target-->", ""));
    let rules = format!("{}{}{guarded}", rule("all", "Permit", ""), rule("more", "Permit", "<Target/>"));
    assert_eq!(found(FIRST, &rules), ["unreachable-rule more", "unreachable-rule guarded"]);
    let fitting = format!("{guarded}{}", rule("all", "Permit", ""));
    assert_eq!(found(FIRST, &fitting), NOTHING);
    assert_eq!(found(DENY_OVERRIDES, &fitting), NOTHING);
}

#[test]
fn a_rule_is_unreachable_behind_one_with_the_same_or_fewer_clauses() {
    let of = |id: &str, clauses: &[&[&[&str]]], condition: &str| {
        rule(id, "Permit", &format!("{}{condition}", target(clauses).replace("<!--target-->", "")))
    };
    let (a, b) = (is_role("a"), is_role("b"));
    let is_c = condition(&only_role_is("c"));
    for (first, second, shadowed) in [
        (of("1", &[&[&[&a]]], ""), of("2", &[&[&[&a]]], ""), true),
        (of("1", &[&[&[&a]]], ""), of("2", &[&[&[&a]]], &is_c), true),
        (of("1", &[&[&[&a]]], &is_c), of("2", &[&[&[&a]]], &is_c), true),
        (of("1", &[&[&[&a]]], &is_c), of("2", &[&[&[&a]]], ""), false),
        (of("1", &[&[&[&a]]], ""), of("2", &[&[&[&b]]], ""), false),
        // An `AllOf` of two matches is stricter than one of them, however it is split.
        (of("1", &[&[&[&b]]], ""), of("2", &[&[&[&a, &b]]], ""), true),
        (of("1", &[&[&[&a]], &[&[&b]]], ""), of("2", &[&[&[&b, &a]]], ""), true),
        (of("1", &[&[&[&a, &b]]], ""), of("2", &[&[&[&b]]], ""), false),
        // Alternatives are a clause of their own, in any order.
        (of("1", &[&[&[&a], &[&b]]], ""), of("2", &[&[&[&b], &[&a]]], ""), true),
        (of("1", &[&[&[&a], &[&b]]], ""), of("2", &[&[&[&b]]], ""), false),
    ] {
        let found = found(FIRST, &format!("{first}{second}"));
        assert_eq!(
            found.contains(&"unreachable-rule 2".to_owned()),
            shadowed,
            "{first}\n{second}\n{found:?}"
        );
        assert!(!found.contains(&"unreachable-rule 1".to_owned()));
    }
}

#[test]
fn rules_that_the_algorithm_ignores_are_ineffective() {
    let guard = target(&[&[&[&is_role("a")]]]).replace("<!--target-->", "");
    let permit = rule("permit", "Permit", &guard);
    let deny = rule("deny", "Deny", &guard);
    let logged = rule("deny", "Deny", &format!("{guard}{}", obligation("Deny")));
    assert_eq!(found("3.0:deny-unless-permit", &format!("{permit}{deny}")), ["ineffective-rule deny"]);
    assert_eq!(found("3.0:deny-unless-permit", &format!("{permit}{logged}")), NOTHING);
    assert_eq!(found("3.0:permit-unless-deny", &format!("{deny}{permit}")), ["ineffective-rule permit"]);
    let never = rule("never", "Deny", "");
    assert_eq!(found(DENY_OVERRIDES, &format!("{permit}{never}")), ["ineffective-rule permit"]);
    assert_eq!(found("3.0:permit-overrides", &format!("{permit}{never}")), NOTHING);
}

#[test]
fn a_rule_with_a_false_condition_never_applies() {
    let constant =
        r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#boolean"> false </AttributeValue>"#;
    assert_eq!(found(FIRST, &rule("r", "Permit", &condition(constant))), ["unreachable-rule r"]);
}

#[test]
fn duties_for_an_effect_that_cannot_come_up_are_idle() {
    assert_eq!(found(FIRST, &rule("r", "Permit", &obligation("Deny"))), ["idle-obligation log"]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &obligation("Permit"))), NOTHING);
    let of_policy = rule("r", "Permit", "") + &obligation("Deny");
    assert_eq!(found(FIRST, &of_policy), ["idle-obligation log"]);
    assert_eq!(found("3.0:deny-unless-permit", &of_policy), NOTHING);
}

#[test]
fn nothing_is_asked_after_a_policy_that_always_answers() {
    let always = policy_named("always", "3.0:deny-unless-permit", &rule("r", "Permit", ""));
    let other = policy_named("other", FIRST, &rule("r", "Permit", &condition(&only_role_is("a"))));
    assert_eq!(found_in(&[&set_named("s", "1", &format!("{always}{other}"))]), ["unreachable-policy always"]);
    assert_eq!(found_in(&[&set_named("s", "1", &format!("{other}{always}"))]), NOTHING);
}

#[test]
fn two_values_for_one_attribute_are_needed_at_once_within_a_conjunction() {
    let (a, b) = (is_role("a"), is_role("b"));
    let rules = rule("r", "Permit", "");
    let with = |clauses: &[&[&[&str]]]| found(FIRST, &format!("{}{rules}", target(clauses)));
    assert_eq!(with(&[&[&[&a, &b]]]), ["needs-several-values role"]);
    assert_eq!(with(&[&[&[&a]], &[&[&b]]]), ["needs-several-values role"]);
    assert_eq!(with(&[&[&[&a], &[&b]]]), NOTHING);
    let action = |text: &str| {
        matching(
            text,
            &attribute("3.0:attribute-category:action", &format!("{XACML}1.0:action:action-id"), false),
        )
    };
    let text =
        policy_named("p", FIRST, &format!("{}{rules}", target(&[&[&[&action("read"), &action("write")]]])));
    let findings = check(&[document("p.xml", &text)], &Settings::default());
    assert_eq!(findings.iter().map(|it| it.severity).collect::<Vec<_>>(), [Severity::Warning]);
}

#[test]
fn an_alternative_stricter_than_another_is_redundant() {
    let (a, b) = (is_role("a"), is_role("b"));
    let rules = rule("r", "Permit", "");
    let with = |clauses: &[&[&[&str]]]| found(FIRST, &format!("{}{rules}", target(clauses)));
    assert_eq!(with(&[&[&[&a], &[&a]]]), ["redundant-alternative AllOf"]);
    assert!(with(&[&[&[&a, &b], &[&a]]]).contains(&"redundant-alternative AllOf".to_owned()));
    assert_eq!(with(&[&[&[&a], &[&b]]]), NOTHING);
}

#[test]
fn one_value_cannot_equal_two_texts() {
    let both = apply("1.0:function:and", &[only_role_is("a"), only_role_is("b")]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &condition(&both))), ["never-true role"]);
    let either = apply("1.0:function:or", &[only_role_is("a"), only_role_is("b")]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &condition(&either))), NOTHING);
}

#[test]
fn must_be_present_is_odd_in_targets_and_counts_and_its_absence_in_one_and_only() {
    let required = matching("a", &role(true));
    let targeted = format!("{}{}", target(&[&[&[&required]]]), rule("r", "Permit", ""));
    assert_eq!(found(FIRST, &targeted), ["must-be-present-in-target role"]);
    let number = r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">0</AttributeValue>"#;
    let count = |present| {
        let size = apply("1.0:function:string-bag-size", &[role(present)]);
        condition(&apply("1.0:function:integer-equal", &[size, number.to_owned()]))
    };
    assert_eq!(found(FIRST, &rule("r", "Permit", &count(true))), ["must-be-present-in-bag-size role"]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &count(false))), NOTHING);
    let only = |present| {
        let only = apply("1.0:function:string-one-and-only", &[role(present)]);
        condition(&apply("1.0:function:string-equal", &[only, literal("a")]))
    };
    assert_eq!(found(FIRST, &rule("r", "Permit", &only(false))), ["may-be-absent-in-one-and-only role"]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &only(true))), NOTHING);
}

#[test]
fn a_variable_used_only_by_unused_ones_is_unused() {
    let variable = |id: &str, inside: &str| {
        format!(r#"<VariableDefinition VariableId="{id}">{inside}</VariableDefinition>"#)
    };
    let reference = |id: &str| format!(r#"<VariableReference VariableId="{id}"/>"#);
    let inside = [
        variable("used", &only_role_is("a")),
        variable("lonely", &reference("inner")),
        variable("inner", &only_role_is("b")),
        variable("chained", &reference("used")),
        rule("r", "Permit", &condition(&reference("chained"))),
    ];
    assert_eq!(found(FIRST, &inside.concat()), ["unused-variable lonely", "unused-variable inner"]);
}

#[test]
fn deprecated_identifiers_name_their_successor() {
    let old = format!("{XACML}1.0:function:any-of");
    let inner = format!(r#"<Function FunctionId="{XACML}1.0:function:string-equal"/>"#);
    let any = apply("1.0:function:any-of", &[inner, literal("a"), role(false)]);
    assert_eq!(found(FIRST, &rule("r", "Permit", &condition(&any))), [format!("deprecated-id {old}")]);
    assert_eq!(
        found("3.0:ordered-deny-overrides", &rule("r", "Permit", "")),
        ["ordered-algorithm ordered-deny-overrides"]
    );
    assert_eq!(
        found("1.1:ordered-deny-overrides", &rule("r", "Permit", "")),
        ["legacy-algorithm ordered-deny-overrides"]
    );
    assert_eq!(found("1.0:deny-overrides", &rule("r", "Permit", "")), ["legacy-algorithm deny-overrides"]);
}

/// Once 1,068 of 1,133 hints stood on documents of 1.x and 2.0, and recommended what those do not have.
#[test]
fn a_document_is_recommended_only_what_its_version_has() {
    let duration = r#"<AttributeValue DataType="http://www.w3.org/2002/WD">x</AttributeValue>"#.replace(
        "http://www.w3.org/2002/WD",
        "http://www.w3.org/TR/2002/WD-xquery-operators-20020816#dayTimeDuration",
    );
    let functions = [
        ("1.0:function:any-of", ""),
        ("1.0:function:dayTimeDuration-equal", ""),
        ("1.0:function:xpath-node-count", ""),
        ("2.0:function:uri-string-concatenate", ""),
        ("1.0:function:regexp-string-match", "1.0:function:string-regexp-match"),
        ("2.0:function:url-string-concatenate", "2.0:function:uri-string-concatenate"),
    ];
    let calls: String =
        functions.map(|(function, _)| apply(function, std::slice::from_ref(&duration))).concat();
    let of = |namespace: &str, version: &str, condition: &str| {
        let text = format!(
            r#"<Policy xmlns="{XACML}{namespace}" PolicyId="p" {version}
                 RuleCombiningAlgId="{XACML}1.1:rule-combining-algorithm:ordered-deny-overrides"><Target/>
                 <Rule RuleId="r" Effect="Permit">{condition}</Rule></Policy>"#
        );
        let findings = check(&[document("p.xml", &text)], &Settings::default());
        let hints = findings.into_iter().filter(|it| it.severity == Severity::Hint);
        hints.map(|it| format!("{} {}", it.code, it.help.unwrap_or_default())).collect::<Vec<_>>()
    };
    let call = format!(r#"FunctionId="{XACML}1.0:function:and""#);
    let in_2 = format!("<Condition><Apply {call}>{calls}</Apply></Condition>");
    assert_eq!(of("1.0:policy", "", &format!("<Condition {call}>{calls}</Condition>")), NOTHING);
    let of_2: Vec<String> = functions
        .into_iter()
        .filter(|(_, successor)| !successor.is_empty())
        .map(|(_, successor)| format!("deprecated-id use `{XACML}{successor}`"))
        .collect();
    assert_eq!(of("2.0:policy:schema:os", "", &in_2), of_2);
    let of_3 = of("3.0:core:schema:wd-17", "Version=\"1.0\"", &in_2);
    assert!(of_3.len() > functions.len() && of_3[0].starts_with("legacy-algorithm"), "{of_3:?}");
}

#[test]
fn a_hint_about_an_identifier_is_given_once_with_the_number_of_places() {
    let old = condition(&apply("1.0:function:dayTimeDuration-equal", &[]));
    let rules: String = (0..7).map(|number| rule(&number.to_string(), "Permit", &old)).collect();
    let text = policy_named("p", "1.0:deny-overrides", &rules);
    let findings = check(&[document("a.xml", &text), document("b.xml", &text)], &Settings::default());
    let messages: Vec<String> = findings
        .iter()
        .filter(|it| it.severity == Severity::Hint && it.source == "a.xml")
        .map(|it| format!("{}:{} {}", it.line, it.code, it.message))
        .collect();
    assert_eq!(
        messages,
        [
            "1:legacy-algorithm `deny-overrides` of XACML 1.0 treats errors differently from that of 3.0"
                .to_owned(),
            format!(
                "3:deprecated-id function `{XACML}1.0:function:dayTimeDuration-equal` is deprecated; 7 places in this document"
            ),
        ]
    );
}

/// Every attribute and category identifier of the standards and of their profiles here is taken as it is, and those
/// that have a home have it in every version.
#[test]
fn no_identifier_of_a_standard_is_taken_for_a_mistyped_one() {
    let (subject, resource, action, environment) = (
        "1.0:subject-category:access-subject",
        "3.0:attribute-category:resource",
        "3.0:attribute-category:action",
        "3.0:attribute-category:environment",
    );
    let mut names = Vec::new();
    for id in [
        "1.0:subject:subject-id",
        "1.0:subject:subject-id-qualifier",
        "1.0:subject:key-info",
        "1.0:subject:name-format",
        "1.0:subject:authentication-time",
        "1.0:subject:authentication-method",
        "1.0:subject:request-time",
        "1.0:subject:session-start-time",
        "1.0:subject:authn-locality:ip-address",
        "1.0:subject:authn-locality:dns-name",
        "2.0:subject:role",
    ] {
        for category in [
            subject,
            "1.0:subject-category:recipient-subject",
            "1.0:subject-category:intermediary-subject",
            "1.0:subject-category:codebase",
            "1.0:subject-category:requesting-machine",
        ] {
            names.push((category, id));
        }
    }
    for id in [
        "1.0:resource:resource-id",
        "1.0:resource:resource-location",
        "1.0:resource:simple-file-name",
        "1.0:resource:resource-type",
        "1.0:resource:xpath",
        "1.0:resource:ufs-path",
        "1.0:resource:scope",
        "1.0:resource:target-namespace",
        "2.0:resource:target-namespace",
        "2.0:resource:scope",
        "2.0:resource:document-id",
        "2.0:resource:resource-parent",
        "2.0:resource:resource-ancestor",
        "2.0:resource:resource-ancestor-or-self",
        "3.0:content-selector",
        "3.0:profile:multiple:content-selector",
    ] {
        names.push((resource, id));
    }
    for id in ["action-id", "implied-action", "action-namespace"].map(|id| format!("1.0:action:{id}")) {
        names.push((action, String::leak(id)));
    }
    for id in ["current-time", "current-date", "current-dateTime"].map(|id| format!("1.0:environment:{id}")) {
        names.push((environment, String::leak(id)));
    }
    for (category, id) in names {
        let matches = matching("a", &attribute(category, &format!("{XACML}{id}"), false));
        let inside = format!("{}{}", target(&[&[&[&matches]]]), rule("r", "Permit", ""));
        assert_eq!(found(FIRST, &inside), NOTHING, "{category} {id}");
    }
}

/// Who thinks in XPath 2.0 loses a Deny without a word.
#[test]
fn a_path_that_compares_a_text_by_order_is_a_warning() {
    let selector = |path: &str| {
        format!(
            r#"<AttributeSelector Category="{XACML}3.0:attribute-category:resource" Path="{path}"
                 DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>"#
        )
    };
    for (path, expected) in [
        ("/r/d[@until &lt; '2020-06-01']/text()", &["never-true 2020-06-01"][..]),
        ("/r/d[not(@a or 'x' >= @until)]/text()", &["never-true x"]),
        ("(//d[@a > 'b'] | //e)[1]/text()", &["never-true b"]),
        ("/r/d[@until &lt; '20']/text()", &[]),
        ("/r/d[@until = '2020-06-01']/text()", &[]),
        ("/r/d[@a &lt; @b]/text()", &[]),
    ] {
        let called = apply("1.0:function:string-is-in", &[literal("a"), selector(path)]);
        assert_eq!(found(FIRST, &rule("r", "Deny", &condition(&called))), expected, "{path}");
        let matched = target(&[&[&[&matching("a", &selector(path))]]]);
        assert_eq!(found(FIRST, &format!("{matched}{}", rule("r", "Deny", ""))), expected, "{path}");
    }
}

#[test]
fn a_call_that_its_literals_make_fail_is_a_warning() {
    let number = |value: &str| {
        format!(
            r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">{value}</AttributeValue>"#
        )
    };
    let only = apply("1.0:function:string-one-and-only", &[role(true)]);
    let cut = |text: &str, begin: &str, end: &str| {
        let cut = apply("3.0:function:string-substring", &[text.to_owned(), number(begin), number(end)]);
        found(
            FIRST,
            &rule("r", "Permit", &condition(&apply("1.0:function:string-equal", &[cut, literal("a")]))),
        )
    };
    assert_eq!(cut(&only, "-1", "2"), ["always-fails string-substring"]);
    assert_eq!(cut(&literal("abc"), "0", "9"), ["always-fails string-substring"]);
    assert_eq!(cut(&only, "0", "9"), NOTHING);
    assert_eq!(cut(&literal("abc"), "0", "-1"), NOTHING);
    let divided = apply("1.0:function:integer-divide", &[number("1"), number("0")]);
    let compared = condition(&apply("1.0:function:integer-equal", &[divided, number("1")]));
    assert_eq!(found(FIRST, &rule("r", "Permit", &compared)), ["always-fails integer-divide"]);
}

#[test]
fn unknown_functions_and_data_types_name_the_one_that_may_be_meant() {
    let helps = |inside: &str| {
        let document = document("p.xml", &policy_named("p", FIRST, inside));
        let findings = check(&[document], &Settings::default());
        let named = |it: &Finding| (it.code, it.severity, it.help.clone().unwrap_or_default());
        findings.iter().map(named).collect::<Vec<_>>()
    };
    for (wrong, meant) in [
        ("1.0:function:string-equals", "1.0:function:string-equal"),
        ("3.0:function:string-equal", "1.0:function:string-equal"),
        ("1.0:function:string-one-and-olny", "1.0:function:string-one-and-only"),
    ] {
        let help = format!("did you mean `{XACML}{meant}`?");
        let inside = rule("r", "Permit", &condition(&apply(wrong, &[])));
        assert_eq!(helps(&inside), [("unknown-function", Severity::Error, help)]);
    }
    let value = r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#sting">a</AttributeValue>"#;
    let help = "did you mean `http://www.w3.org/2001/XMLSchema#string`?".to_owned();
    assert_eq!(
        helps(&rule("r", "Permit", &condition(value))),
        [("unknown-data-type", Severity::Error, help)]
    );
}

#[test]
fn identifiers_with_a_letter_wrong_are_pointed_at() {
    let with = |category: &str, id: &str| {
        let matches = matching("a", &attribute(category, id, false));
        found(FIRST, &format!("{}{}", target(&[&[&[&matches]]]), rule("r", "Permit", "")))
    };
    let wrong = "3.0:attribute-category:resources";
    assert_eq!(with(wrong, "type"), [format!("mistyped-id {XACML}{wrong}")]);
    let action = "3.0:attribute-category:action";
    assert_eq!(with(action, "type"), NOTHING);
    let id = format!("{XACML}1.0:action:actionid");
    assert_eq!(with(action, &id), [format!("mistyped-id {id}")]);
    let resource_id = format!("{XACML}1.0:resource:resource-id");
    assert_eq!(with(action, &resource_id), [format!("unusual-category {resource_id}")]);
    assert_eq!(with("2.0:conformance-test:category", "x"), NOTHING);
}

#[test]
fn a_root_that_is_silent_outside_its_target_surprises() {
    let with_target = format!("{}{}", target(&[&[&[&is_role("a")]]]), rule("r", "Permit", ""));
    let policy = policy_named("p", "3.0:deny-unless-permit", &with_target);
    assert_eq!(found_in(&[&policy]), ["silent-outside-target deny-unless-permit"]);
    assert_eq!(found_in(&[&set_named("s", "1", &policy)]), NOTHING);
}

#[test]
fn references_are_followed_across_documents() {
    let policy = policy_named("read-records", FIRST, &rule("r", "Permit", ""));
    let to = |element: &str, id: &str| set_named("s", "1", &format!("<{element}>{id}</{element}>"));
    assert_eq!(found_in(&[&policy, &to("PolicyIdReference", "read-records")]), NOTHING);
    let documents = [document("a.xml", &policy), document("b.xml", &to("PolicyIdReference", "read-record"))];
    let findings = check(&documents, &Settings::default());
    assert_eq!(findings[0].code, "missing-reference");
    assert_eq!(findings[0].help.as_deref(), Some("did you mean `read-records`?"));
    let documents =
        [document("a.xml", &policy), document("b.xml", &to("PolicySetIdReference", "read-records"))];
    let findings = check(&documents, &Settings::default());
    assert_eq!(findings[0].help.as_deref(), Some("it is a policy: use `PolicyIdReference`"));
    assert!(check(&documents, &Settings { is_incomplete: true, root: None }).is_empty());
}

#[test]
fn documents_no_root_leads_to_are_never_used() {
    let (old, new) =
        (set_named("s", "1", "<PolicyIdReference>p</PolicyIdReference>"), set_named("s", "2", ""));
    let policy = policy_named("p", FIRST, &rule("r", "Permit", ""));
    assert_eq!(found_in(&[&old, &new, &policy]), ["never-used s", "empty-policy s", "never-used p"]);
    let documents = [
        document("a.xml", &policy),
        document("b.xml", &set_named("other", "1", &policy.replace("\"p\"", "\"q\""))),
    ];
    let settings = Settings { root: Some("other"), is_incomplete: false };
    let findings = check(&documents, &settings);
    assert_eq!(findings.iter().map(|it| it.code).collect::<Vec<_>>(), ["never-used"]);
}

#[test]
fn one_identifier_twice_is_an_error_among_documents() {
    let policy = policy_named("p", FIRST, &rule("r", "Permit", ""));
    let documents = [document("a.xml", &policy), document("b.xml", &policy)];
    let findings = check(&documents, &Settings::default());
    assert_eq!((findings[0].code, findings[0].severity), ("duplicate-id", Severity::Error));
    let repeated = [document("a.xml", &set_named("s", "1", &policy.repeat(2)))];
    let copied =
        [document("a.xml", &set_named("s", "1", &policy)), document("b.xml", &set_named("t", "1", &policy))];
    for (documents, severity) in [(repeated.as_slice(), Severity::Error), (&copied, Severity::Warning)] {
        let findings = check(documents, &Settings::default());
        let is_it = |it: &Finding| (it.code, it.severity) == ("duplicate-id", severity);
        assert!(findings.iter().any(is_it), "{findings:?}");
    }
    let rules = rule("r", "Permit", &condition(&only_role_is("a"))) + &rule("r", "Deny", "");
    assert_eq!(found(FIRST, &rules), ["duplicate-rule-id r"]);
}

#[test]
fn thousands_of_hints_do_not_hide_a_warning() {
    let hinted = |number: u32| {
        let attribute =
            attribute("1.0:subject-category:access-subject", &format!("attribute {number}"), false);
        let only = apply("1.0:function:string-one-and-only", &[attribute]);
        condition(&apply("1.0:function:string-equal", &[only, literal("a")]))
    };
    let mut rules: String =
        (0..1_200).map(|number| rule(&format!("r{number}"), "Permit", &hinted(number))).collect();
    rules.push_str(&rule("last", "Permit", &obligation("Deny")));
    let found = found(DENY_OVERRIDES, &rules);
    assert_eq!(found.iter().filter(|it| it.starts_with("may-be-absent")).count(), 1_000);
    assert_eq!(found.iter().filter(|it| it.starts_with("more-left-out")).count(), 1);
    assert!(found.contains(&"idle-obligation log".to_owned()));
}

#[test]
fn errors_at_a_place_already_spoken_of_are_not_repeated() {
    let finding = |severity, column| Finding {
        severity,
        code: "c",
        source: "a.xml".into(),
        line: 3,
        column,
        message: "m".into(),
        help: None,
    };
    let merged = merge(
        vec![finding(Severity::Error, 5), finding(Severity::Warning, 9)],
        [finding(Severity::Error, 5), finding(Severity::Error, 9)],
    );
    assert_eq!(merged.iter().map(|it| it.column).collect::<Vec<_>>(), [5, 9, 9]);
}
