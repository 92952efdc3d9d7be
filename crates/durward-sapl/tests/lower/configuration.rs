//! `pdp.json` and subscriptions.

use durward_ir::combine::{ErrorHandling, Mode, Voting};
use durward_sapl::{Configuration, Subscription};

fn refused(text: &str) -> String {
    let problems = Configuration::read("pdp.json", text).err().unwrap_or_default();
    problems.iter().map(std::string::ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_written_is_the_default() {
    let configuration = Configuration::read("pdp.json", "{} // nothing\n").unwrap();
    assert_eq!(configuration.voting, Voting::DEFAULT);
    assert!(configuration.variable("x").is_none());
}

#[test]
fn algorithms_and_variables_are_read_comments_and_all() {
    let text = r#"{
        # how to combine
        "algorithm": {"votingMode": "UNIQUE", "defaultDecision": "ABSTAIN", "errorHandling": "ABSTAIN"},
        "variables": {"x": 1.50} /* that is all */
    }"#;
    let configuration = Configuration::read("pdp.json", text).unwrap();
    let voting = Voting { mode: Mode::Unique, default: None, errors: ErrorHandling::Abstain };
    assert_eq!(configuration.voting, voting);
    assert_eq!(configuration.variable("x").unwrap().to_json(), "1.5");
}

#[test]
fn an_algorithm_is_written_whole_or_not_at_all() {
    let found = refused(r#"{"algorithm": "DENY_OVERRIDES"}"#);
    assert!(
        found.contains("what SAPL 3 called `DENY_OVERRIDES` is {\"votingMode\": \"PRIORITY_DENY\", "),
        "{found}"
    );
    assert!(!refused(r#"{"algorithm": "MAJORITY"}"#).contains("SAPL 3"));
    let found = refused(r#"{"algorithm": {"votingMode": "UNIQUE", "defaultDecision": "MAYBE"}}"#);
    assert!(found.contains("`defaultDecision` cannot be `MAYBE`"), "{found}");
    assert!(found.contains("`algorithm` lacks `errorHandling`; there are ABSTAIN, PROPAGATE"), "{found}");
}

#[test]
fn documents_have_no_order() {
    let first =
        r#"{"algorithm": {"votingMode": "FIRST", "defaultDecision": "DENY", "errorHandling": "ABSTAIN"}}"#;
    assert!(refused(first).contains("only sets can combine by `first`"));
}

#[test]
fn what_does_not_belong_there_is_refused() {
    assert!(refused(r#"{"configurationId": "x"}"#).contains("`configurationId` cannot be set here"));
    assert!(refused(r#"{"secrets": {}}"#).contains("`secrets` do not belong here"));
    assert!(refused("[]").contains("a configuration is an object, not an array"));
    assert!(refused("{\"variables\": 1}").contains("`variables` must be an object"));
    assert!(refused("{\n  \"a\": }").starts_with("pdp.json:2:8:"));
}

#[test]
fn flags_set_limits() {
    let text = r#"{"compilerFlags": {"maxPolicyDocuments": 2, "indexing": "NAIVE", "lowLatencyMode": true}}"#;
    let configuration = Configuration::read("pdp.json", text).unwrap();
    assert!(configuration.check_size(2, 0).is_ok());
    assert!(configuration.check_size(3, 0).unwrap_err().message.contains("there are 3 documents"));
    assert!(refused(r#"{"compilerFlags": {"indexing": "BEST"}}"#).contains("`indexing` cannot be `BEST`"));
}

#[test]
fn subscriptions_have_three_parts_at_least() {
    let read = |text: &str| Subscription::from_json(text.as_bytes()).map_err(|error| error.to_string());
    assert!(read(r#"{"subject":1,"action":2,"resource":null,"more":3}"#).is_ok());
    assert_eq!(read(r#"{"subject":1,"action":2}"#).unwrap_err(), "the subscription lacks `resource`");
    assert_eq!(read("[]").unwrap_err(), "a subscription is an object");
    let twice = r#"{"subject":{"id":1,"id":2},"action":2,"resource":3}"#;
    assert_eq!(read(twice).unwrap_err(), "line 1, column 25: the key `id` is there twice");
    let secrets = r#"{"subject":1,"action":2,"resource":3,"secrets":4}"#;
    assert_eq!(read(secrets).unwrap_err(), "`secrets` must be an object");
}
