//! Batches are answered as single questions are, and by one set of policies.

use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::{IndexKind, Pdp, Request, Response, Value};

use crate::write::{SUBJECT, is, policy, policy_set, rule, target};

const POLICIES: [(&str, &str); 2] = [
    ("read.sapl", r#"policy "read" permit action == "read"; obligation { "log": subject }"#),
    ("secret.sapl", r#"policy "secret" deny resource.level > subject.clearance;"#),
];

fn pdp(index: IndexKind) -> Pdp {
    let builder = POLICIES.iter().fold(Pdp::builder(), |builder, (name, text)| builder.policy(name, *text));
    builder.index(index).build().map_err(|errors| errors[0].to_string()).unwrap()
}

/// Permits with obligations, denies, and errors.
fn questions() -> Vec<Subscription> {
    let mut all = Vec::new();
    for number in 0..150 {
        let action = ["read", "write"][number % 2];
        let level = ["1", "5", "\"high\""][number % 3];
        let text = format!(
            r#"{{"subject":{{"id":{number},"clearance":3}},"action":"{action}","resource":{{"level":{level}}}}}"#
        );
        all.push(Subscription::from_json(text.as_bytes()).unwrap());
    }
    all
}

/// None of them encoded, two of three, and all.
#[test]
fn a_batch_is_answered_as_single_questions_are() {
    let is_encoded: [fn(usize) -> bool; 3] = [|_| false, |number| number % 3 != 1, |_| true];
    for index in IndexKind::ALL {
        let pdp = pdp(index);
        for is_encoded in is_encoded {
            let mut asked = questions();
            let encoded = asked.iter_mut().enumerate().filter(|(number, _)| is_encoded(*number));
            encoded.for_each(|(_, one)| pdp.encode_subscription(one));
            let mut decisions = vec![Decision::plain(Outcome::Indeterminate); asked.len()];
            assert_eq!(pdp.decide_batch(&asked, &mut decisions), asked.len());
            for (one, decision) in asked.iter().zip(&decisions) {
                assert_eq!(pdp.decide_once(one).to_json(), decision.to_json());
            }
        }
    }
}

const ROLES: [&str; 3] = ["nurse", "doctor", "somebody of no role"];
const WARDS: [&str; 3] = ["3", "4", "a ward with a long name"];

/// The first policy that applies decides.
fn set_of_wards() -> String {
    let child =
        |id: &str, role: &str, rules: &str| policy(id, "1.0 first-applicable", &is("role", role), rules);
    let permit = rule("Permit", &target(&is("ward", "a ward with a long name")));
    let children = [
        child("nurses", "nurse", &(permit + &rule("Deny", ""))),
        child("doctors", "doctor", &rule("Permit", &target(&is("ward", "3")))),
        policy("rest", "1.0 first-applicable", "", &rule("Deny", &target(&is("ward", "3")))),
    ];
    policy_set("s", "1.0 first-applicable", "", &children.concat())
}

/// They are walked side by side through the sets of which the first that applies decides, too.
#[test]
fn requests_are_answered_as_single_ones_are_where_the_first_policy_that_applies_decides() {
    let set = set_of_wards();
    let mut requests = Vec::new();
    for role in ROLES {
        for ward in WARDS {
            requests.push(Request::builder().subject("role", role).subject("ward", ward).build());
            requests.push(
                Request::builder().subject("role", role).subject("ward", ward).subject("role", "x").build(),
            );
        }
    }
    let scan = Pdp::builder().policy("s.xml", set.as_str()).index(IndexKind::Scan).build().unwrap();
    for index in IndexKind::ALL {
        let pdp = Pdp::builder().policy("s.xml", set.as_str()).index(index).build().unwrap();
        let mut responses = vec![Response { results: Default::default() }; requests.len()];
        assert_eq!(pdp.decide_requests(&requests, &mut responses), requests.len());
        for (request, response) in requests.iter().zip(&responses) {
            assert_eq!(scan.decide(request).to_json(), response.to_json());
            assert_eq!(pdp.decide(request).to_json(), response.to_json());
        }
    }
}

/// Some are encoded, some are answered with echoes; some mean two decisions or ask for the policies, and are not walked beside the others.
fn mixed_request(pdp: &Pdp, number: usize) -> Request {
    let builder =
        Request::builder().subject("role", ROLES[number % 3]).subject("ward", WARDS[number / 3 % 3]);
    let builder = match number % 7 {
        2 => builder.return_policy_ids(),
        4 => builder.include_in_result(SUBJECT, "ward"),
        _ => builder,
    };
    let mut request = builder.build();
    match number % 5 {
        1 => pdp.encode(&mut request),
        3 => {
            request.categories.begin_category(SUBJECT.into(), None);
            request.categories.begin_attribute("role".into(), None, false);
            request.categories.push_value(Value::text("doctor"));
        }
        _ => {}
    }
    request
}

/// More than are walked side by side at once, and no multiple of that: each answer stands in the place of its request.
#[test]
fn a_long_mixed_batch_of_requests_is_answered_as_single_ones_are() {
    let set = set_of_wards();
    for index in IndexKind::ALL {
        let pdp = Pdp::builder().policy("s.xml", set.as_str()).index(index).build().unwrap();
        let requests: Vec<Request> = (0..77).map(|number| mixed_request(&pdp, number)).collect();
        let mut responses = vec![Response { results: Default::default() }; requests.len()];
        assert_eq!(pdp.decide_requests(&requests, &mut responses), requests.len());
        assert!(responses.iter().any(|response| response.results.len() == 2));
        for (number, (request, response)) in requests.iter().zip(&responses).enumerate() {
            assert_eq!(pdp.decide(request).to_json(), response.to_json(), "{index}, {number}");
        }
    }
}

#[test]
fn requests_are_answered_as_single_ones_are() {
    let pdp = pdp(IndexKind::Auto);
    let clearance = |level: &str| Request::builder().subject("clearance", level).build();
    let requests: Vec<Request> = ["1", "2", "3"].map(clearance).into();
    let mut responses = vec![Response { results: Default::default() }; 3];
    assert_eq!(pdp.decide_requests(&requests, &mut responses), 3);
    for (request, response) in requests.iter().zip(&responses) {
        assert_eq!(pdp.decide(request).to_json(), response.to_json());
    }
}

#[test]
fn the_shorter_slice_ends_a_batch() {
    let pdp = pdp(IndexKind::Auto);
    let asked = questions();
    let mut decisions = vec![Decision::plain(Outcome::Suspend); asked.len()];
    assert_eq!(pdp.decide_batch(&asked[..2], &mut decisions), 2);
    assert!(decisions[2..].iter().all(|rest| rest.outcome == Outcome::Suspend));
    assert_eq!(pdp.decide_batch(&asked, &mut decisions[..1]), 1);
    assert_eq!(pdp.decide_batch(&[], &mut []), 0);
}
