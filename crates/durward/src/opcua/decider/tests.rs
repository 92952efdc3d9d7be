//! What becomes a bit of a token, what is left to the gate, in both languages.

use std::collections::BTreeMap;

use durward_opcua::authority::decide::{SubjectKind, TokenClientApplication, TokenSubject};
use durward_opcua::token::{NodeTable, TableNode};
use durward_session::identity::Moment;
use opcua_types::MessageSecurityMode;

use super::super::question::{
    ACTION_ID, APPLICATION_SUBJECT, APPLICATION_URI, KIND, RESOURCE_ID, ROLE, SECURITY_MODE, SERVER,
    SUBJECT_ID,
};
use super::*;

const LEVEL: &str = "nsu=urn:plant;s=Level";
const MODE: &str = "nsu=urn:plant;s=Mode";

fn decider(name: &str, text: &str) -> PolicyDecider {
    let texts = vec![PolicyText { name: name.to_owned(), text: text.into() }];
    let combining = policies::combining("deny-overrides").unwrap();
    PolicyDecider::of(texts, PolicyFiles { paths: Vec::new(), combining }, Duration::from_secs(60)).unwrap()
}

/// What is decided for an operator about browse, read and write of two nodes, in the order of the table.
fn asked(decider: &PolicyDecider) -> RightsDecision {
    let nodes = ["Level", "Mode"].map(|name| TableNode::new("urn:plant", name).unwrap());
    let table = NodeTable::new(nodes).unwrap();
    let subject = TokenSubject {
        name: "anna".into(),
        kind: SubjectKind::User,
        roles: vec!["operator".into(), "smith".into()],
        attributes: BTreeMap::from([("shift".to_owned(), serde_json::json!(["night"]))]),
        session: None,
        ends: None,
    };
    let client = TokenClientApplication {
        application_uri: "urn:plant:hmi".into(),
        certificate_subject: "CN=hmi".into(),
        thumbprint: Thumbprint::of(b"a certificate"),
    };
    let question = RightsQuestion {
        subject: &subject,
        client: &client,
        security_mode: MessageSecurityMode::SignAndEncrypt,
        resource: "urn:plant:gate",
        table: &table,
        permissions: &[Permission::Browse, Permission::Read, Permission::Write],
        now: Moment::from_s(1_780_272_000),
    };
    assert_eq!(question.nodes().collect::<Vec<_>>(), [LEVEL, MODE], "the order that the tests count on");
    decider.decide(&question).unwrap()
}

/// One letter for each verdict: granted, refused, asked.
fn letters(decision: &RightsDecision) -> String {
    let letter = |verdict: &GrantVerdict| match verdict {
        GrantVerdict::Granted => 'g',
        GrantVerdict::Refused => '-',
        GrantVerdict::Ask => 'a',
    };
    decision.verdicts.iter().map(letter).collect()
}

fn sapl(body: &str) -> String {
    letters(&asked(&decider("p.sapl", &format!("policy \"p\"\n{body}"))))
}

#[test]
fn everything_that_is_known_can_be_asked_for_in_sapl() {
    assert_eq!(sapl("permit action == \"read\";"), "-g--g-");
    assert_eq!(sapl(&format!("permit resource.node == \"{MODE}\";")), "---ggg");
    for true_of_all in [
        "subject.name == \"anna\"",
        "subject.kind == \"user\"",
        "\"smith\" in subject.roles",
        "\"night\" in subject.attributes.shift",
        "subject.application.uri == \"urn:plant:hmi\"",
        "subject.application.certificateSubject == \"CN=hmi\"",
        "resource.server == \"urn:plant:gate\"",
        "environment.securityMode == \"SignAndEncrypt\"",
    ] {
        assert_eq!(sapl(&format!("permit {true_of_all};")), "gggggg", "{true_of_all}");
    }
    assert_eq!(sapl("deny action == \"read\";"), "------");
}

/// A bit lives for as long as the token: it must not be decided by what the clock shows now, nor lose what goes along with a Permit.
#[test]
fn what_a_bit_cannot_say_is_left_to_the_gate() {
    assert_eq!(sapl("permit action == \"read\"; <time.now> != \"never\";"), "-a--a-");
    assert_eq!(sapl("permit action == \"read\"; obligation { \"type\": \"log\" }"), "-a--a-");
    assert_eq!(sapl("permit action == \"read\"; transform { \"value\": 1 }"), "-a--a-");
    assert_eq!(sapl("permit action == \"read\"; advice { \"type\": \"log\" }"), "-g--g-");
    assert_eq!(sapl("suspend action == \"read\";"), "-a--a-");
    let live = asked(&decider("p.sapl", "policy \"p\" permit <time.now> != \"never\";"));
    assert_eq!(live.reusable, Duration::ZERO);
    let dead = asked(&decider("p.sapl", "policy \"p\" permit action == \"read\";"));
    assert!(!dead.reusable.is_zero());
    let roles: Vec<&str> = dead.roles.iter().map(|role| &**role).collect();
    assert_eq!(roles, ["operator", "smith"]);
}

/// A policy of XACML that permits where this condition holds.
fn xacml(condition: &str) -> String {
    let text = format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1"
            RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides"><Target/>
            <Rule RuleId="r" Effect="Permit"><Condition>{condition}</Condition></Rule></Policy>"#
    );
    letters(&asked(&decider("p.xml", &text)))
}

fn is(category: &str, id: &str, value: &str) -> String {
    let types = "http://www.w3.org/2001/XMLSchema#string";
    format!(
        r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-is-in">
           <AttributeValue DataType="{types}">{value}</AttributeValue>
           <AttributeDesignator Category="{category}" AttributeId="{id}" DataType="{types}" MustBePresent="false"/></Apply>"#
    )
}

const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const ACTION: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";

#[test]
fn everything_that_is_known_can_be_asked_for_in_xacml() {
    assert_eq!(xacml(&is(ACTION, ACTION_ID, "read")), "-g--g-");
    assert_eq!(xacml(&is(RESOURCE, RESOURCE_ID, MODE)), "---ggg");
    for (category, id, value) in [
        (SUBJECT, SUBJECT_ID, "anna"),
        (SUBJECT, ROLE, "smith"),
        (SUBJECT, KIND, "user"),
        (SUBJECT, "urn:durward:opcua:subject:attribute:shift", "night"),
        (SUBJECT, APPLICATION_URI, "urn:plant:hmi"),
        (SUBJECT, APPLICATION_SUBJECT, "CN=hmi"),
        (RESOURCE, SERVER, "urn:plant:gate"),
        (ENVIRONMENT, SECURITY_MODE, "SignAndEncrypt"),
    ] {
        assert_eq!(xacml(&is(category, id, value)), "gggggg", "{id}");
        assert_eq!(xacml(&is(category, id, "another")), "------", "{id}");
    }
}

/// Without a clock the time would be an empty bag: `not` makes a Permit of that, which must not become a bit.
#[test]
fn what_xacml_asks_the_clock_is_left_to_the_gate() {
    let time = "http://www.w3.org/2001/XMLSchema#time";
    let now = format!(
        r#"<AttributeDesignator Category="{ENVIRONMENT}" DataType="{time}" MustBePresent="false"
            AttributeId="urn:oasis:names:tc:xacml:1.0:environment:current-time"/>"#
    );
    let late = format!(
        r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:time-is-in">
           <AttributeValue DataType="{time}">23:00:00Z</AttributeValue>{now}</Apply>"#
    );
    let function = |name: &str, inner: &str| {
        format!(r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:{name}">{inner}</Apply>"#)
    };
    assert_eq!(xacml(&late), "aaaaaa");
    assert_eq!(xacml(&function("not", &late)), "aaaaaa");
    let read_late = function("and", &format!("{}{late}", is(ACTION, ACTION_ID, "read")));
    assert_eq!(xacml(&read_late), "-a--a-");
}

#[test]
fn changed_files_are_another_version() {
    let folder = std::env::temp_dir().join(format!("durward-opcua-decider-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("p.sapl");
    std::fs::write(&file, "policy \"p\" permit action == \"read\";").unwrap();
    let combining = policies::combining("deny-overrides").unwrap();
    let policies = PolicyFiles { paths: vec![folder.clone()], combining };
    let decider = PolicyDecider::new(policies, Duration::from_secs(60)).unwrap();
    let first = decider.policy_version();
    assert_eq!(letters(&asked(&decider)), "-g--g-");
    assert_eq!(decider.reload().unwrap(), None);

    std::fs::write(&file, "policy \"p\" permit action == \"write\";").unwrap();
    assert_eq!(decider.reload().unwrap(), Some(Arc::clone(&first)));
    assert_ne!(decider.policy_version(), first);
    let decision = asked(&decider);
    assert_eq!((letters(&decision).as_str(), &decision.policy), ("--g--g", &decider.policy_version()));

    // What cannot be read leaves everything as it is.
    std::fs::write(&file, "policy \"p\" permit action ==;").unwrap();
    assert!(decider.reload().is_err());
    assert_eq!(letters(&asked(&decider)), "--g--g");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_policies_of_the_demo_say_what_its_page_says() {
    let text = include_str!("../../../policies/opcua/boiler.sapl");
    let decision = asked(&decider("boiler.sapl", text));
    // An operator sees everything and sets what is neither of these.
    assert_eq!(letters(&decision), "gg-gg-");
}
