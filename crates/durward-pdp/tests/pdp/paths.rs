//! Functions that look into the content (XACML 3.0, A.3.15 and A.3.16; XACML 2.0, A.3.14), where a target or another
//! function calls them: the examples of XACML 1.0 and 2.0 use `xpath-node-match` as a `MatchId`. Once such policies were
//! loaded, and always Indeterminate.

use durward_pdp::{IndexKind, Pdp, Request};

use crate::write::{STRING, condition, outcome, policy, rule};

const XACML: &str = "urn:oasis:names:tc:xacml:";
const XPATH: &str = "urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const URI: &str = "http://www.w3.org/2001/XMLSchema#anyURI";

/// A policy of XACML 2.0 with this match of the resource and this condition; it permits.
fn policy_2(matching: &str, condition: &str) -> String {
    let resources = match matching {
        "" => String::new(),
        matching => format!("<Resources><Resource>{matching}</Resource></Resources>"),
    };
    let condition = match condition {
        "" => String::new(),
        condition => format!("<Condition>{condition}</Condition>"),
    };
    format!(
        r#"<Policy xmlns="{XACML}2.0:policy:schema:os" xmlns:md="urn:record" PolicyId="p"
             RuleCombiningAlgId="{XACML}1.0:rule-combining-algorithm:deny-overrides"><Target>{resources}</Target>
             <Rule RuleId="r" Effect="Permit">{condition}</Rule></Policy>"#
    )
}

fn designator_2() -> String {
    format!(r#"<ResourceAttributeDesignator AttributeId="{XACML}1.0:resource:xpath" DataType="{STRING}"/>"#)
}

fn matching_2(function: &str, path: &str) -> String {
    format!(
        r#"<ResourceMatch MatchId="{XACML}1.0:function:{function}"><AttributeValue DataType="{STRING}">{path}</AttributeValue>{}</ResourceMatch>"#,
        designator_2()
    )
}

/// A request of XACML 2.0 about these nodes of the record.
fn request_2(paths: &[&str]) -> Request {
    let values: String =
        paths.iter().map(|path| format!("<AttributeValue>{path}</AttributeValue>")).collect();
    let attribute = match paths {
        [] => String::new(),
        _ => format!(
            r#"<Attribute AttributeId="{XACML}1.0:resource:xpath" DataType="{STRING}">{values}</Attribute>"#
        ),
    };
    let text = format!(
        r#"<Request xmlns="{XACML}2.0:context:schema:os"><Subject/><Resource><ResourceContent>
             <md:record xmlns:md="urn:record"><md:patient><md:name>Bart</md:name></md:patient><md:bill/></md:record>
           </ResourceContent>{attribute}</Resource><Action/><Environment/></Request>"#
    );
    Request::from_xml(text.as_bytes()).unwrap()
}

const NAME: &str = "xmlns(md=urn:record) xpointer(//md:record/md:patient/md:name)";
const PATIENT: &str = "xmlns(md=urn:record) xpointer(//md:patient)";
const BILL: &str = "xmlns(md=urn:record) xpointer(//md:bill)";

#[test]
fn the_path_functions_of_2_0_match_in_targets() {
    for (function, path, nodes, expected) in [
        // The standard's own example: the name lies under the patient.
        ("xpath-node-match", "//md:patient", &[NAME][..], "Permit"),
        ("xpath-node-match", "//md:patient", &[PATIENT], "Permit"),
        ("xpath-node-match", "//md:patient", &[BILL], "NotApplicable"),
        ("xpath-node-match", "//md:patient", &[BILL, NAME], "Permit"),
        ("xpath-node-match", "//md:nothing", &[NAME], "NotApplicable"),
        ("xpath-node-match", "//md:patient", &[], "NotApplicable"),
        ("xpath-node-equal", "//md:patient", &[PATIENT], "Permit"),
        ("xpath-node-equal", "//md:patient", &[NAME], "NotApplicable"),
        // A path over the request as it is, without prefixes.
        ("xpath-node-equal", "//md:patient", &["//*[local-name() = 'patient']"], "Permit"),
        // No path, and a prefix that nobody declares: errors, unless another value is true.
        ("xpath-node-equal", "//md:patient", &["//("], "Indeterminate{P}"),
        ("xpath-node-equal", "//md:patient", &["//md:patient"], "Indeterminate{P}"),
        ("xpath-node-equal", "//md:patient", &["//(", PATIENT], "Permit"),
    ] {
        let policies = [policy_2(&matching_2(function, path), "")];
        assert_eq!(outcome(&policies, &request_2(nodes)), expected, "{function} {path} {nodes:?}");
        for index in IndexKind::ALL {
            let pdp = Pdp::builder().policy("p.xml", policies[0].as_str()).index(index).build().unwrap();
            let decision = pdp.decide(&request_2(nodes)).results[0].decision;
            assert!(expected.starts_with(decision.as_str()), "{function} {path} {nodes:?} {index}");
        }
    }
}

#[test]
fn the_path_functions_of_2_0_are_applied_by_others() {
    let apply = |function: &str, inside: &str| {
        format!(r#"<Apply FunctionId="{XACML}1.0:function:{function}">{inside}</Apply>"#)
    };
    let named = |function: &str| format!(r#"<Function FunctionId="{XACML}1.0:function:{function}"/>"#);
    let text = |path: &str| format!(r#"<AttributeValue DataType="{STRING}">{path}</AttributeValue>"#);
    let number = |count: u8| {
        format!(
            r#"<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">{count}</AttributeValue>"#
        )
    };
    let bag = |paths: &[&str]| apply("string-bag", &paths.iter().map(|path| text(path)).collect::<String>());
    let over = |kind: &str, function: &str, first: &str, second: &str| {
        apply(kind, &format!("{}{first}{second}", named(function)))
    };
    for (expression, nodes, expected) in [
        (
            over("any-of", "xpath-node-match", &text("//md:patient"), &designator_2()),
            &[BILL, NAME][..],
            "Permit",
        ),
        (
            over("all-of", "xpath-node-match", &text("//md:patient"), &designator_2()),
            &[BILL, NAME],
            "NotApplicable",
        ),
        (over("all-of", "xpath-node-match", &text("//md:record"), &designator_2()), &[BILL, NAME], "Permit"),
        // The literals of a bag have the prefixes of the policy, too.
        (
            over("any-of-any", "xpath-node-equal", &bag(&["//md:bill", "//md:name"]), &designator_2()),
            &[NAME],
            "Permit",
        ),
        (
            over("all-of-any", "xpath-node-equal", &bag(&["//md:bill", "//md:name"]), &designator_2()),
            &[NAME],
            "NotApplicable",
        ),
        (
            apply(
                "integer-is-in",
                &format!(
                    "{}{}",
                    number(2),
                    apply(
                        "map",
                        &format!("{}{}", named("xpath-node-count"), bag(&["//md:bill", "//md:record/*"]))
                    )
                ),
            ),
            &[],
            "Permit",
        ),
    ] {
        let policies = [policy_2("", &expression)];
        assert_eq!(outcome(&policies, &request_2(nodes)), expected, "{expression}");
    }
}

/// An XPath expression over the resource's content.
fn path_3(path: &str) -> String {
    format!(r#"<AttributeValue DataType="{XPATH}" XPathCategory="{RESOURCE}">{path}</AttributeValue>"#)
}

fn request_3(path: &str) -> Request {
    let text = format!(
        r#"<Request xmlns="{XACML}3.0:core:schema:wd-17" CombinedDecision="false" ReturnPolicyIdList="false">
             <Attributes Category="{RESOURCE}"><Content><r xmlns=""><a><b/></a><c/></r></Content>
               <Attribute AttributeId="node" IncludeInResult="false">{}</Attribute>
               <Attribute AttributeId="category" IncludeInResult="false">
                 <AttributeValue DataType="{URI}">{RESOURCE}</AttributeValue></Attribute>
             </Attributes></Request>"#,
        path_3(path)
    );
    Request::from_xml(text.as_bytes()).unwrap()
}

fn designator_3(id: &str, data_type: &str) -> String {
    format!(
        r#"<AttributeDesignator Category="{RESOURCE}" AttributeId="{id}" DataType="{data_type}" MustBePresent="false"/>"#
    )
}

#[test]
fn the_path_functions_of_3_0_match_in_targets_and_are_applied_by_others() {
    for (function, path, node, expected) in [
        ("xpath-node-match", "//a", "//b", "Permit"),
        ("xpath-node-match", "//a", "//c", "NotApplicable"),
        ("xpath-node-equal", "//a", "//a", "Permit"),
        ("xpath-node-equal", "//a", "//b", "NotApplicable"),
    ] {
        let node_of_request = designator_3("node", XPATH);
        let target = format!(
            r#"<AnyOf><AllOf><Match MatchId="{XACML}3.0:function:{function}">{}{node_of_request}</Match></AllOf></AnyOf>"#,
            path_3(path)
        );
        let by_target = policy("p", "3.0 deny-overrides", &target, &rule("Permit", ""));
        assert_eq!(outcome(&[by_target], &request_3(node)), expected, "{function} {path} {node}");
        let applied = format!(
            r#"<Apply FunctionId="{XACML}3.0:function:any-of"><Function FunctionId="{XACML}3.0:function:{function}"/>{}{node_of_request}</Apply>"#,
            path_3(path)
        );
        let by_condition = policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&applied)));
        assert_eq!(outcome(&[by_condition], &request_3(node)), expected, "{function} {path} {node}");
    }
}

#[test]
fn access_permitted_matches_in_targets() {
    // Permitted where the category is empty of nodes: asked about itself without content, so that the nested question
    // does not ask again.
    let nothing = "&lt;Attribute AttributeId=&quot;none&quot; IncludeInResult=&quot;false&quot;>\
                   &lt;AttributeValue DataType=&quot;http://www.w3.org/2001/XMLSchema#string&quot;>x&lt;/AttributeValue>\
                   &lt;/Attribute>";
    let applied = format!(
        r#"<Apply FunctionId="{XACML}3.0:function:any-of"><Function FunctionId="{XACML}3.0:function:access-permitted"/>{}<AttributeValue DataType="{STRING}">{nothing}</AttributeValue></Apply>"#,
        designator_3("category", URI)
    );
    let is_asked = format!(
        r#"<Apply FunctionId="{XACML}1.0:function:integer-equal"><Apply FunctionId="{XACML}1.0:function:anyURI-bag-size">{}</Apply><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">0</AttributeValue></Apply>"#,
        designator_3("category", URI)
    );
    let alone = policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&is_asked)));
    assert_eq!(outcome(std::slice::from_ref(&alone), &request_3("//a")), "NotApplicable");
    let either = format!(r#"<Apply FunctionId="{XACML}1.0:function:or">{is_asked}{applied}</Apply>"#);
    let both = policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&either)));
    assert_eq!(outcome(&[both], &request_3("//a")), "Permit");
}

/// Whoever asks makes the bag as long as they like: a question beyond the budget must not withdraw a Deny.
#[test]
fn nobody_buys_a_permit_with_many_decisions_within_one() {
    let of_resource = |id: &str| {
        format!(
            r#"<AttributeDesignator Category="{RESOURCE}" AttributeId="{id}" DataType="{STRING}" MustBePresent="false"/>"#
        )
    };
    let any_permitted = format!(
        r#"<Apply FunctionId="{XACML}3.0:function:any-of"><Function FunctionId="{XACML}3.0:function:access-permitted"/><AttributeValue DataType="{URI}">{RESOURCE}</AttributeValue>{}</Apply>"#,
        of_resource("related")
    );
    let is_bad = format!(
        r#"<Apply FunctionId="{XACML}3.0:function:any-of"><Function FunctionId="{XACML}1.0:function:string-equal"/><AttributeValue DataType="{STRING}">bad</AttributeValue>{}</Apply>"#,
        of_resource("x")
    );
    let rules = [("related", any_permitted), ("bad", is_bad)]
        .map(|(id, is)| rule("Deny", &condition(&is)).replacen("RuleId=\"", &format!("RuleId=\"{id}-"), 1));
    let pdp = crate::write::pdp(&[policy("p", "3.0 permit-unless-deny", "", &rules.concat())]);
    let bad = format!(
        r#"<Attribute AttributeId="x" IncludeInResult="false"><AttributeValue DataType="{STRING}">bad</AttributeValue></Attribute>"#
    );
    let about = |bad_ones: usize, more: &[&str]| {
        let values: Vec<&str> =
            std::iter::repeat_n(bad.as_str(), bad_ones).chain(more.iter().copied()).collect();
        let json = serde_json::json!({"Request": {"Resource": {"Attribute": [
            {"AttributeId": "related", "DataType": "string", "Value": values}
        ]}}});
        let request = Request::from_json(json.to_string().as_bytes()).unwrap();
        pdp.decide(&request).results[0].decision.as_str()
    };
    assert_eq!([about(0, &[]), about(3, &[]), about(3, &[""])], ["Permit", "Permit", "Deny"]);
    assert_eq!(about(31, &[""]), "Deny");
    assert_eq!(about(32, &[""]), "Indeterminate");
    assert_eq!(about(1_000, &[""]), "Indeterminate");
}

#[test]
fn a_count_is_no_match() {
    let errors =
        crate::write::try_pdp(&[policy_2(&matching_2("xpath-node-count", "//md:patient"), "")]).unwrap_err();
    assert!(errors.iter().any(|error| error.contains("xpath-node-count")), "{errors:?}");
}
