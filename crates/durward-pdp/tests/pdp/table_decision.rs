//! A decision without evaluation is what the plain evaluator says: of random policies as people write them, many at once,
//! asked with short, long, whole, broken, missing and nested values; as read, encoded, side by side, and by a decider.

use durward_pdp::ir::Value;
use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Invocation, Reading};
use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::{IndexKind, Pdp, PolicyText};
use durward_testdata::TestShift;

const GROUPS: &str = r#"{"ann":{"staff":1,"a group with a long name":2},"bob":{"staff":{}},"cid":{},
    "somebody with a very long name":{"all":null}}"#;

const PARTS: [&str; 7] = [
    "subject.role",
    "subject.id",
    "resource.type",
    "action",
    "subject.clearance",
    "resource.sensitivity",
    "resource.a_property_with_a_long_name",
];
const VALUES: [&str; 16] = [
    r#""ann""#,
    r#""bob""#,
    r#""doctor""#,
    r#""nurse""#,
    r#""somebody with a very long name""#,
    r#""somebody else with a long name""#,
    r#""fifteen letters""#,
    r#""""#,
    "0",
    "3",
    "3.0",
    "2.5",
    "-9223372036854775809",
    "true",
    "null",
    r#"["ann",{"role":"doctor"}]"#,
];

fn condition(chance: &mut TestShift) -> String {
    let part = chance.of(&PARTS);
    match chance.index(13) {
        0..5 => format!("{part} == {}", chance.of(&VALUES)),
        5 => format!("{part} in [{}, {}]", chance.of(&VALUES), chance.of(&VALUES)),
        6 => format!("{part} {} {}", chance.of(&["<", "<=", ">", ">="]), chance.of(&PARTS)),
        7 => format!("{} {} {part}", chance.of(&["3", "2.5", "-1"]), chance.of(&["<", "<=", ">", ">="])),
        8 => format!("groups[(subject.id)] has {}", chance.of(&[r#""staff""#, r#""all""#, r#""nothing""#])),
        9 => format!("!({part} == {})", chance.of(&VALUES)),
        10 => format!("({part} == {} || {})", chance.of(&VALUES), condition(chance)),
        11 => format!("subject.id.<clinic.shift> == {}", chance.of(&VALUES)),
        _ => format!("{part} != {}", chance.of(&VALUES)),
    }
}

fn policy(number: usize, chance: &mut TestShift) -> String {
    let effect = chance.of(&["permit", "deny", "permit", "deny", "suspend"]);
    let conditions: Vec<String> = (0..chance.index(4)).map(|_| condition(chance)).collect();
    let body = conditions.iter().map(|condition| format!("{condition};")).collect::<String>();
    let duty = if chance.index(6) == 0 { "obligation { \"do\": subject }" } else { "" };
    format!("policy \"{number}\" {effect} {body} {duty}")
}

fn algorithm(chance: &mut TestShift) -> String {
    let mode =
        chance.of(&["PRIORITY_DENY", "PRIORITY_PERMIT", "FIRST", "UNANIMOUS", "UNIQUE", "PRIORITY_DENY"]);
    let default = chance.of(&["DENY", "PERMIT", "ABSTAIN"]);
    let errors = chance.of(&["PROPAGATE", "ABSTAIN"]);
    // Documents of a directory have no order.
    let mode = if mode == "FIRST" { "UNANIMOUS_STRICT" } else { mode };
    format!(
        r#"{{"algorithm":{{"votingMode":"{mode}","defaultDecision":"{default}","errorHandling":"{errors}"}},
            "variables":{{"groups":{GROUPS}}}}}"#
    )
}

fn policies(chance: &mut TestShift) -> Vec<PolicyText> {
    let text = |name: String, text: String| PolicyText { name, text: text.into_bytes() };
    let mut all = vec![text("pdp.json".into(), algorithm(chance))];
    let count = 1 + chance.index(40);
    for number in 0..count {
        let sapl = if chance.index(8) == 0 {
            let inner: Vec<String> = (0..3).map(|inner| policy(1000 * number + inner, chance)).collect();
            let algorithm = chance.of(&["first or abstain errors propagate", "priority permit or deny"]);
            let target =
                if chance.index(2) == 0 { format!("for {}", condition(chance)) } else { String::new() };
            format!("set \"set {number}\" {algorithm} {target} {}", inner.join("\n"))
        } else {
            policy(number, chance)
        };
        all.push(text(format!("{number:02}.sapl"), sapl));
    }
    all
}

fn subscription(chance: &mut TestShift) -> String {
    let mut object = |keys: &[&str]| {
        if chance.index(12) == 0 {
            return chance.of(&VALUES).to_owned();
        }
        let mut entries: Vec<String> = Vec::new();
        for key in keys {
            if chance.index(8) > 0 {
                entries.push(format!("\"{key}\":{}", chance.of(&VALUES)));
            }
        }
        if chance.index(12) == 0 {
            entries.extend((0..20).map(|number| format!("\"more{number}\":{number}")));
        }
        format!("{{{}}}", entries.join(","))
    };
    let subject = object(&["role", "id", "clearance"]);
    let resource = object(&["type", "sensitivity", "a_property_with_a_long_name", "a_property_with_another"]);
    format!(r#"{{"subject":{subject},"action":{},"resource":{resource}}}"#, chance.of(&VALUES))
}

fn said(decision: &Decision) -> String {
    format!("{decision:?}")
}

#[test]
fn what_is_decided_from_tables_is_what_the_plain_evaluator_says() {
    let mut chance = TestShift::at(0x9e37);
    let (mut asked, mut outcomes) = (0, std::collections::BTreeMap::<String, usize>::new());
    for _ in 0..250 {
        let texts = policies(&mut chance);
        let built = IndexKind::ALL.map(|kind| Pdp::builder().policies(texts.clone()).index(kind).build());
        // What can never be evaluated is refused.
        let Ok(pdps) = built.into_iter().collect::<Result<Vec<Pdp>, _>>() else { continue };
        let plain = Pdp::builder().policies(texts.clone()).index(IndexKind::Scan).build().unwrap();
        let asking: Vec<String> = (0..40).map(|_| subscription(&mut chance)).collect();
        let read = |text: &String| Subscription::from_json(text.as_bytes()).unwrap();
        let subscriptions: Vec<Subscription> = asking.iter().map(read).collect();
        let expected: Vec<Decision> =
            subscriptions.iter().map(|asked| plain.decide_known(asked).decision).collect();
        for pdp in &pdps {
            let mut encoded = subscriptions.clone();
            encoded.iter_mut().for_each(|asked| pdp.encode_subscription(asked));
            let mut decider = pdp.decider();
            for (way, asked) in [("as read", &subscriptions), ("encoded", &encoded)] {
                let mut together = vec![Decision::plain(Outcome::Suspend); asked.len()];
                pdp.decide_batch(asked, &mut together);
                for (at, asked) in asked.iter().enumerate() {
                    let context = || {
                        let texts: Vec<_> =
                            texts.iter().map(|text| String::from_utf8_lossy(&text.text)).collect();
                        format!("{way} {pdp:?}\n{texts:#?}\n{}", asking[at])
                    };
                    let expected = said(&expected[at]);
                    assert_eq!(said(&pdp.decide_once(asked)), expected, "one by one, {}", context());
                    assert_eq!(said(&together[at]), expected, "together, {}", context());
                    assert_eq!(said(&decider.decide_once(asked)), expected, "by a decider, {}", context());
                    let text = pdp.decide_json(asking[at].as_bytes()).unwrap();
                    assert_eq!(said(&text), expected, "from its text, {}", context());
                }
            }
        }
        asked += asking.len();
        for decision in expected {
            *outcomes.entry(decision.outcome.as_str().to_owned()).or_default() += 1;
        }
    }
    assert!(
        asked > 4_000 && outcomes.len() == 5 && outcomes.values().all(|count| *count > 50),
        "{outcomes:?}"
    );
}

/// The text of a subscription as some client may write it: in any order, with white space, escapes, keys that come twice
/// or mean nothing, and mistakes.
fn text(chance: &mut TestShift) -> String {
    let value = |chance: &mut TestShift| match chance.index(12) {
        0 => r#""an\tescape""#.to_owned(),
        1 => r#"{"role":"doctor","inner":{"a":[1,2,{}]}}"#.to_owned(),
        2 => r#"{"role":"doctor","id":1e2,"role":"nurse"}"#.to_owned(),
        3 => r#"{"r\u006fle":"doctor"}"#.to_owned(),
        4 => "{ }".to_owned(),
        5 => format!("{{{}}}", (0..30).map(|key| format!("\"k{key}\":1")).collect::<Vec<_>>().join(" ,\n")),
        6 => chance.of(&["01", "nul", "\"\u{1}\"", "\"half", "[1,]", "{\"a\" 1}", "\"\\ud800\""]).to_owned(),
        _ => chance.of(&VALUES).to_owned(),
    };
    let mut keys = vec!["subject", "action", "resource"];
    for more in ["environment", "secrets", "subject", "purpose"] {
        if chance.index(5) == 0 {
            keys.insert(chance.index(keys.len() + 1), more);
        }
    }
    if chance.index(10) == 0 {
        keys.swap_remove(chance.index(3));
    }
    let entries: Vec<String> = keys.iter().map(|key| format!("\"{key}\" :\t{}", value(chance))).collect();
    let end = chance.of(&["", " \n", "", "", "x"]);
    format!(" {{{}}}{end}", entries.join(" , "))
}

#[test]
fn a_text_read_without_its_values_is_the_same_subscription() {
    let mut chance = TestShift::at(0x7e77);
    let (mut raw, mut whole, mut wrong) = (0, 0, 0);
    for _ in 0..20_000 {
        let text = text(&mut chance);
        let read = Subscription::from_json(text.as_bytes());
        match (durward_pdp::ir::json::read_subscription(text.as_bytes()), read) {
            (Ok(found), Ok(read)) => {
                raw += 1;
                let found = Subscription::from_raw(found);
                assert_eq!(format!("{found:?}"), format!("{read:?}"), "{text}");
                assert_eq!(found.secrets().to_json(), read.secrets().to_json(), "{text}");
            }
            (Err(_), Ok(_)) => whole += 1,
            (Err(_), Err(_)) => wrong += 1,
            (Ok(_), Err(error)) => panic!("{error}: {text}"),
        }
    }
    assert!(raw > 1_000 && whole > 1_000 && wrong > 1_000, "{raw} {whole} {wrong}");
}

/// A subscription, of which every attribute finder says the same, or has not said anything yet.
struct Told<'a>(&'a Subscription, Option<Value>);

impl Attributes for Told<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.0.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.0.part(path)
    }

    fn found(&self, _: &Invocation) -> Option<Evaluated<Value>> {
        self.1.clone().map(Ok)
    }
}

/// The server answers what lacks nothing, and has everything else wait for attributes.
#[test]
fn what_is_attempted_lacks_what_the_evaluator_lacks_and_stands_otherwise() {
    let mut chance = TestShift::at(0x5eed);
    let (mut standing, mut lacking) = (0, 0);
    for _ in 0..150 {
        let texts = policies(&mut chance);
        let built = IndexKind::ALL.map(|kind| Pdp::builder().policies(texts.clone()).index(kind).build());
        let Ok(pdps) = built.into_iter().collect::<Result<Vec<Pdp>, _>>() else { continue };
        let plain = Pdp::builder().policies(texts.clone()).index(IndexKind::Scan).build().unwrap();
        for _ in 0..20 {
            let text = subscription(&mut chance);
            let read = Subscription::from_json(text.as_bytes()).unwrap();
            let says = [Value::Undefined, Value::Boolean(true), Value::text("ann"), Value::text("doctor")];
            let told = says.map(|says| said(&plain.decide_known(&Told(&read, Some(says))).decision));
            for pdp in &pdps {
                let mut encoded = read.clone();
                pdp.encode_subscription(&mut encoded);
                for (way, asked) in [("as read", &read), ("encoded", &encoded)] {
                    let attempt = pdp.attempt_once(asked);
                    let evaluated = pdp.decide_known(&Told(asked, None));
                    let context = || {
                        let texts: Vec<_> =
                            texts.iter().map(|text| String::from_utf8_lossy(&text.text)).collect();
                        format!("{way} {pdp:?}\n{texts:#?}\n{text}")
                    };
                    assert_eq!(attempt.needs, evaluated.needs, "{}", context());
                    if attempt.needs.is_empty() {
                        standing += 1;
                        let decision = said(&attempt.decision);
                        assert!(told.iter().all(|told| *told == decision), "{}", context());
                    } else {
                        lacking += 1;
                    }
                }
            }
        }
    }
    assert!(standing > 5_000 && lacking > 1_000, "{standing} {lacking}");
}
