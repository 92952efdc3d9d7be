//! A request of XACML that is decided as it was read gets what the plain evaluator says: whatever attributes it has, in
//! whatever order, of other types, of issuers, several times, or with several values.

use std::fmt::Write as _;

use durward_pdp::{IndexKind, Pdp, Request};

use durward_testdata::TestShift;

const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
const URI: &str = "http://www.w3.org/2001/XMLSchema#anyURI";
const FUNCTION: &str = "urn:oasis:names:tc:xacml:1.0:function:";
const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const IDS: [&str; 4] = ["role", "an-identifier-that-is-rather-long", "kind", "owner"];
const VALUES: [&str; 4] = ["doctor", "nurse", "a-value-that-is-rather-long", "x"];

fn match_of(chance: &mut TestShift) -> String {
    let (short, data_type) = [("string", STRING), ("anyURI", URI)][chance.index(2)];
    let issuer = ["", "", "", r#" Issuer="hr""#][chance.index(4)];
    let must = ["false", "false", "false", "true"][chance.index(4)];
    format!(
        r#"<Match MatchId="{FUNCTION}{short}-equal"><AttributeValue DataType="{data_type}">{}</AttributeValue><AttributeDesignator
        Category="{}" AttributeId="{}" DataType="{data_type}" MustBePresent="{must}"{issuer}/></Match>"#,
        chance.of(&VALUES),
        chance.of(&[SUBJECT, RESOURCE]),
        chance.of(&IDS),
    )
}

fn policy(chance: &mut TestShift) -> String {
    let algorithm = chance.of(&["deny-overrides", "permit-overrides", "first-applicable"]);
    let version = if algorithm == "first-applicable" { "1.0" } else { "3.0" };
    let mut rules = String::new();
    for number in 0..2 + chance.index(8) {
        let effect = chance.of(&["Permit", "Deny"]);
        let matches: String = (0..1 + chance.index(3)).map(|_| match_of(chance)).collect();
        write!(
            rules,
            r#"<Rule RuleId="{number}" Effect="{effect}"><Target><AnyOf><AllOf>{matches}</AllOf></AnyOf></Target></Rule>"#
        )
        .unwrap();
    }
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
        RuleCombiningAlgId="urn:oasis:names:tc:xacml:{version}:rule-combining-algorithm:{algorithm}"><Target/>{rules}</Policy>"#
    )
}

/// All attributes with one text each; now and then one of them is not like that.
fn request(chance: &mut TestShift) -> String {
    let odd = chance.index(20);
    let mut attributes = [SUBJECT, RESOURCE].map(|_| Vec::new());
    for (number, id) in IDS.iter().chain(&IDS).enumerate() {
        let mut attribute = |data_type: &str, values: &str, issuer: &str| {
            let text =
                format!(r#"{{"AttributeId":"{id}","DataType":"{data_type}","Value":[{values}]{issuer}}}"#);
            attributes[number / IDS.len()].push(text);
        };
        let (one, other) = (format!("{:?}", chance.of(&VALUES)), format!("{:?}", chance.of(&VALUES)));
        match if number == odd { chance.index(8) } else { 8 } {
            0 => {}
            1 => attribute(URI, &one, ""),
            2 => attribute(STRING, &format!("{one},{other}"), ""),
            3 => attribute(STRING, &one, r#","Issuer":"hr""#),
            4 => attribute(STRING, &one, r#","Issuer":"somebody""#),
            5 => {
                attribute(STRING, &one, "");
                attribute(STRING, &other, "");
            }
            6 => attribute(STRING, "", ""),
            7 => attribute(STRING, &format!("{one},{other},{one}"), ""),
            _ => attribute(STRING, &one, ""),
        }
    }
    if odd == 19 {
        attributes[0].reverse();
    }
    let category = |(category, attributes): (&str, &Vec<String>)| {
        format!(r#"{{"CategoryId":"{category}","Attribute":[{}]}}"#, attributes.join(","))
    };
    let categories: Vec<String> = [SUBJECT, RESOURCE].into_iter().zip(&attributes).map(category).collect();
    format!(r#"{{"Request":{{"Category":[{}]}}}}"#, categories.join(","))
}

#[test]
fn requests_as_read_are_decided_as_the_plain_evaluator_decides_them() {
    let mut chance = TestShift::at(0x51ab);
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for _ in 0..60 {
        let policy = policy(&mut chance);
        let build = |kind| Pdp::builder().policy("p.xml", policy.clone()).index(kind).build().unwrap();
        let plain = build(IndexKind::Scan);
        let others = [build(IndexKind::Diagram), build(IndexKind::Auto)];
        for _ in 0..60 {
            let text = request(&mut chance);
            let read = Request::from_json(text.as_bytes()).unwrap();
            let expected = plain.decide(&read);
            for pdp in &others {
                let mut encoded = read.clone();
                pdp.encode(&mut encoded);
                for (way, asked) in [("as read", &read), ("encoded", &encoded)] {
                    let answer = pdp.decide(asked).results[0].decision;
                    assert_eq!(answer, expected.results[0].decision, "{way} {pdp:?}\n{policy}\n{text}");
                }
            }
            *seen.entry(expected.results[0].decision.as_str().to_owned()).or_default() += 1;
        }
    }
    assert!(seen.len() == 4 && seen.values().all(|count| *count > 100), "{seen:?}");
}
