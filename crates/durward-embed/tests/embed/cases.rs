//! The table of cases, as the packages for other languages read it.

use durward_embed::DecisionPoint;
use serde_json::Value as Json;

fn cases() -> Vec<Json> {
    serde_json::from_str(include_str!("../cases.json")).unwrap()
}

fn list<'c>(case: &'c Json, name: &str) -> &'c [Json] {
    case[name].as_array().map_or(&[], Vec::as_slice)
}

fn texts(policies: &Json) -> Vec<(String, String)> {
    let text = |(name, text): (&String, &Json)| (name.clone(), text.as_str().unwrap().to_owned());
    policies.as_object().unwrap().iter().map(text).collect()
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

fn hold(case: &Json, pdp: &DecisionPoint) {
    for row in list(case, "decide") {
        let subscription = row[0].to_string();
        let decision = pdp.decide(subscription.as_bytes()).unwrap();
        assert_eq!(json(&decision.to_json()), row[1], "{}: {subscription}", case["name"]);
        let explained = pdp.explain(subscription.as_bytes()).unwrap();
        assert_eq!(json(&explained.json)[0]["outcome"], row[1]["decision"], "{}", explained.text);
    }
    for row in list(case, "requests") {
        let response = pdp.decide_request(row[0].as_str().unwrap().as_bytes()).unwrap();
        assert_eq!(json(&response), row[1], "{}", case["name"]);
        let explained = pdp.explain_request(row[0].as_str().unwrap().as_bytes()).unwrap();
        let decision = &row[1]["Response"][0]["Decision"];
        assert_eq!(&json(&explained.json)[0]["outcome"], decision, "{}", explained.text);
    }
    for row in list(case, "xml_requests") {
        let response = pdp.decide_request(row[0].as_str().unwrap().as_bytes()).unwrap();
        assert!(response.contains(row[1].as_str().unwrap()), "{}: {response}", case["name"]);
    }
    for row in list(case, "refused") {
        let refused = pdp.decide(row[0].as_str().unwrap().as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(row[1].as_str().unwrap()), "{}: {refused}", case["name"]);
    }
    for row in list(case, "refused_requests") {
        let refused = pdp.decide_request(row[0].as_str().unwrap().as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(row[1].as_str().unwrap()), "{}: {refused}", case["name"]);
    }
}

#[test]
fn every_case_of_the_table_holds() {
    let mut count = 0;
    for case in cases() {
        if !case["policies"].is_null() {
            hold(&case, &crate::from_texts(texts(&case["policies"])).unwrap());
        }
        for row in list(&case, "broken") {
            let error = crate::from_texts(texts(&row[0])).unwrap_err().to_string();
            assert!(error.starts_with(row[1].as_str().unwrap()), "{}: {error}", case["name"]);
        }
        count += 1;
    }
    assert!(count > 5);
}

#[test]
fn many_are_decided_in_their_order() {
    let pdp = crate::from_texts([("p.sapl", "policy \"p\" permit subject == \"anna\";")]).unwrap();
    let ask = |who: &str| format!(r#"{{"subject":"{who}","action":1,"resource":1}}"#);
    let asked = [ask("anna"), "no JSON".to_owned(), ask("bob")];
    let decisions = pdp.decide_many(asked.iter().map(String::as_bytes));
    let outcomes: Vec<Option<String>> = decisions
        .into_iter()
        .map(|decision| decision.ok().map(|decision| decision.outcome.to_string()))
        .collect();
    assert_eq!(outcomes, [Some("PERMIT".to_owned()), None, Some("DENY".to_owned())]);
}

#[test]
fn a_question_that_is_too_long_is_refused() {
    let pdp = crate::from_texts([("p.sapl", "policy \"p\" permit")]).unwrap();
    let long =
        format!(r#"{{"subject":"{}","action":1,"resource":1}}"#, "a".repeat(durward_embed::TEXT_BYTES_MAX));
    let why = "longer than the 4194304 that are read";
    assert!(pdp.decide(long.as_bytes()).unwrap_err().to_string().contains(why));
    assert!(pdp.decide_request(long.as_bytes()).unwrap_err().to_string().contains(why));
    assert!(pdp.watch(long.as_bytes()).unwrap_err().to_string().contains(why));
}

#[test]
fn policies_of_a_folder_are_read_again() {
    let folder = std::env::temp_dir().join(format!("durward-embed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("p.sapl");
    std::fs::write(&file, "policy \"p\" permit").unwrap();
    let pdp = DecisionPoint::open(&folder, crate::clock()).unwrap();
    let decide = || pdp.decide(br#"{"subject":1,"action":1,"resource":1}"#).unwrap().outcome.to_string();
    assert_eq!(decide(), "PERMIT");
    std::fs::write(&file, "policy \"p\" denyy").unwrap();
    assert!(pdp.reload().unwrap_err().to_string().contains("p.sapl:1:"));
    assert_eq!(decide(), "PERMIT");
    std::fs::write(&file, "policy \"p\" deny").unwrap();
    pdp.reload().unwrap();
    assert_eq!(decide(), "DENY");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(pdp.reload().is_err());
    assert_eq!(decide(), "DENY");
    let texts = crate::from_texts([("p.sapl", "policy \"p\" permit")]).unwrap();
    assert!(texts.reload().unwrap_err().to_string().contains("given as texts"));
}

#[test]
fn files_that_the_host_has_read_are_taken_as_those_of_a_folder() {
    let request = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"/>"#;
    let files = |policy: &str| [("p/b.xml", request.to_owned()), ("p/a.sapl", policy.to_owned())];
    let folder = std::path::Path::new("p");
    let pdp = DecisionPoint::from_folder(folder, files("policy \"p\" permit"), crate::clock()).unwrap();
    assert_eq!(pdp.snapshot().documents, 1);
    assert_eq!(pdp.replace_folder(folder, files("policy \"p\" deny")).unwrap().id, 2);
    let empty = pdp.replace_folder(folder, [("p/b.xml", request)]).unwrap_err();
    assert!(empty.to_string().starts_with("p: no policies here"), "{empty}");
    assert_eq!(pdp.decide(br#"{"subject":1,"action":1,"resource":1}"#).unwrap().outcome.to_string(), "DENY");
    assert!(durward_embed::is_policy_file(std::path::Path::new("p/q/c.xml"), 1));
    assert!(!durward_embed::is_policy_file(std::path::Path::new("p/q/c.sapl"), 1));
}
