//! Files of tests: what is read, and what is refused.

use durward_sapl::syntax::sapltest::parse_tests;
use durward_sapl::syntax::sapltest::tree::{
    DecisionMatcher, DecisionName, DutyMatcher, ExpectedKind, Given, GivenKind, Matcher, NodeMatcher,
    Outcome, Scenario, TestFile, TextMatcher, VerificationTarget,
};
use durward_sapl::syntax::tree::{DefaultDecision, Mode};
use smol_str::SmolStr;

use crate::shown::show;

fn file(text: &str) -> TestFile {
    let parsed = parse_tests(text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    parsed.tree
}

/// The scenario of a file that has no other, from what stands between its name and its `;`.
fn scenario(parts: &str) -> Scenario {
    let mut file = file(&format!("requirement \"r\" {{ scenario \"s\" {parts}; }}"));
    file.requirements.remove(0).scenarios.remove(0)
}

const WHEN: &str = "when 1 attempts 2 on 3";

fn given(item: &str) -> GivenKind {
    let mut given: Vec<Given> = scenario(&format!("given - {item} {WHEN} expect permit")).given;
    assert_eq!(given.len(), 1, "{item}");
    given.remove(0).kind
}

fn expected(text: &str) -> ExpectedKind {
    let mut steps = scenario(&format!("{WHEN} expect {text}")).expectation.steps;
    assert_eq!(steps.len(), 1, "{text}");
    steps.remove(0).kind
}

#[test]
fn a_file_with_everything() {
    let file = file(include_str!("../../../../fuzz/seeds/sapl_syntax/tests"));
    let requirement = &file.requirements[0];
    assert_eq!((requirement.name.text.as_str(), requirement.given.len()), ("r", 5));
    let scenario = &requirement.scenarios[0];
    assert_eq!((scenario.given.len(), scenario.then.len(), scenario.verify.len()), (2, 1, 2));
    assert_eq!(scenario.expectation.steps.len(), 3);
}

#[test]
fn requirements_hold_scenarios() {
    let text = "requirement \"a\" { given - document \"d\" scenario \"1\" when 1 attempts 2 on 3 expect deny; \
                scenario \"2\" when 1 attempts 2 on 3 expect deny; } requirement \"b\" { scenario \"1\" when 1 \
                attempts 2 on 3 expect deny; }";
    let file = file(text);
    let names: Vec<(&str, usize, usize)> = file
        .requirements
        .iter()
        .map(|one| (one.name.text.as_str(), one.given.len(), one.scenarios.len()))
        .collect();
    assert_eq!(names, [("a", 1, 2), ("b", 0, 1)]);
    assert_eq!(
        file.requirements[1].scenarios[0].span.text(text),
        "scenario \"1\" when 1 attempts 2 on 3 expect deny"
    );
}

#[test]
fn what_can_be_given() {
    assert!(matches!(given("document \"d\""), GivenKind::Document(name) if name.text == "d"));
    assert!(matches!(given("documents \"d\""), GivenKind::Documents(names) if names.len() == 1));
    assert!(matches!(given("documents \"d\", \"e\""), GivenKind::Documents(names) if names.len() == 2));
    assert!(matches!(given("variables {\"a\": 1}"), GivenKind::Variables(value) if show(&value) == "{a:1}"));
    assert!(matches!(given("secrets {}"), GivenKind::Secrets(value) if show(&value) == "{}"));
    assert!(matches!(given("configuration \"p\""), GivenKind::Configuration(path) if path.text == "p"));
    assert!(
        matches!(given("pdp-configuration \"p\""), GivenKind::PdpConfiguration(path) if path.text == "p")
    );
    assert!(matches!(given("low-latency-mode false"), GivenKind::LowLatencyMode(false)));
    let algorithm = given("unanimous strict or suspend");
    assert!(matches!(algorithm, GivenKind::Algorithm(algorithm) if algorithm.mode == Mode::UnanimousStrict
            && algorithm.default == DefaultDecision::Suspend));
}

#[test]
fn functions_and_attributes_are_replaced() {
    let GivenKind::Function(mock) = given("function time.of maps to \"x\"") else { panic!() };
    assert_eq!((mock.call.parameters, mock.call.name.segments.len()), (None, 2));
    let GivenKind::Function(mock) = given("function f.g() maps to error") else { panic!() };
    assert_eq!((mock.call.parameters, mock.result), (Some(Vec::new()), Outcome::Error(None)));
    let GivenKind::Function(mock) = given("function f.g(any, -1, matching number -1) maps to error(\"m\")")
    else {
        panic!()
    };
    let parameters = mock.call.parameters.unwrap_or_default();
    assert!(matches!(&parameters[..], [
        Matcher::Any,
        Matcher::Value(one),
        Matcher::Matching(NodeMatcher::Number(Some(number))),
    ] if show(one) == "(Minus 1)" && number == "-1"));
    assert!(matches!(mock.result, Outcome::Error(Some(message)) if message.text == "m"));
    let GivenKind::Attribute(mock) = given("attribute \"m\" <a.b>") else { panic!() };
    assert!(mock.attribute.entity.is_none() && mock.attribute.parameters.is_none() && mock.emits.is_none());
    let GivenKind::Attribute(mock) = given("attribute \"m\" {\"id\": 1}.<a.b(any)> emits undefined") else {
        panic!()
    };
    assert!(matches!(mock.attribute.entity, Some(Matcher::Value(entity)) if show(&entity) == "{id:1}"));
    assert!(matches!(mock.emits, Some(Outcome::Value(value)) if show(&value) == "undefined"));
    for entity in ["any", "1", "\"a\"", "matching text", "matching array where [null]"] {
        let GivenKind::Attribute(mock) = given(&format!("attribute \"m\" {entity}.<a.b>")) else { panic!() };
        assert!(mock.attribute.entity.is_some(), "{entity}");
    }
}

/// SAPL's grammar of tests has fewer keywords than that of documents; what is a keyword of both stays one.
#[test]
fn keywords_of_documents_are_names_here() {
    for word in [
        "import",
        "as",
        "set",
        "policy",
        "var",
        "schema",
        "enforced",
        "transform",
        "has",
        "all",
        "each",
        "for",
    ] {
        let GivenKind::Function(mock) = given(&format!("function json.{word}(any) maps to 1")) else {
            panic!()
        };
        assert_eq!(mock.call.name.segments[1].text, word);
        let GivenKind::Attribute(mock) = given(&format!("attribute \"m\" any.<{word}.x> emits 1")) else {
            panic!()
        };
        assert_eq!(mock.attribute.name.segments[0].text, word);
    }
    for word in
        ["permit", "deny", "suspend", "obligation", "advice", "true", "null", "undefined", "in", "any"]
    {
        let text = format!(
            "requirement \"r\" {{ scenario \"s\" given - function json.{word} maps to 1 {WHEN} expect permit; }}"
        );
        let said = parse_tests(&text).diagnostics;
        assert_eq!(said[0].message, format!("`{word}` is a keyword and cannot be part of a name"), "{word}");
    }
}

#[test]
fn subscriptions_in_words_or_without() {
    for text in [
        "when subject {\"a\": -1} attempts action [] on resource \"r\" in environment {} with secrets {}",
        "when {\"a\": -1} attempts [] on \"r\" in {} with secrets {}",
    ] {
        let subscription = scenario(&format!("{text} expect permit")).subscription;
        let parts = [
            Some(subscription.subject),
            Some(subscription.action),
            Some(subscription.resource),
            subscription.environment,
            subscription.secrets,
        ];
        let parts: Vec<String> = parts.iter().flatten().map(show).collect();
        assert_eq!(parts, ["{a:(Minus 1)}", "[]", "\"r\"", "{}", "{}"], "{text}");
    }
}

#[test]
fn decisions_are_expected_whole() {
    for (word, decision) in [
        ("permit", DecisionName::Permit),
        ("deny", DecisionName::Deny),
        ("suspend", DecisionName::Suspend),
        ("indeterminate", DecisionName::Indeterminate),
        ("not-applicable", DecisionName::NotApplicable),
    ] {
        let text = format!("{word} with obligations 1, {{}} with resource null with advice 3");
        let ExpectedKind::Decision(whole) = expected(&text) else { panic!() };
        assert_eq!((whole.decision, whole.obligations.len(), whole.advice.len()), (decision, 2, 1));
        assert!(whole.resource.is_some());
        assert!(matches!(expected(word), ExpectedKind::Decision(whole) if whole.obligations.is_empty()));
    }
}

#[test]
fn decisions_are_expected_one_after_the_other() {
    let scenario = scenario(&format!(
        "{WHEN} expect - permit once - deny 3 times - suspend with advice -1 - decision any \
         then - attribute \"m\" emits -1 - attribute \"n\" emits error expect permit then - attribute \"m\" emits 1 expect deny"
    ));
    let times: Vec<Option<u32>> = scenario
        .expectation
        .steps
        .iter()
        .map(|step| match step.kind {
            ExpectedKind::Times { times, .. } => Some(times),
            _ => None,
        })
        .collect();
    assert_eq!(times, [Some(1), Some(3), None, None]);
    let emissions: Vec<usize> = scenario.then.iter().map(|then| then.emissions.len()).collect();
    assert_eq!(emissions, [2, 1]);
}

#[test]
fn decisions_are_expected_in_part() {
    let ExpectedKind::Matching(matchers) = expected(
        "decision any, is not-applicable, with obligation, with obligation equals 1, with advice matching text, with advice \
         containing key \"k\", with obligation containing key \"k\" with value matching null, with resource, with \
         resource equals {}, with resource matching object",
    ) else {
        panic!()
    };
    assert!(matches!(
        &matchers[..],
        [
            DecisionMatcher::Any,
            DecisionMatcher::Is(DecisionName::NotApplicable),
            DecisionMatcher::Obligation(None),
            DecisionMatcher::Obligation(Some(DutyMatcher::Equals(_))),
            DecisionMatcher::Advice(Some(DutyMatcher::Matching(NodeMatcher::Text(None)))),
            DecisionMatcher::Advice(Some(DutyMatcher::Containing { value: None, .. })),
            DecisionMatcher::Obligation(Some(DutyMatcher::Containing { value: Some(NodeMatcher::Null), .. })),
            DecisionMatcher::Resource(None),
            DecisionMatcher::Resource(Some(DutyMatcher::Equals(_))),
            DecisionMatcher::Resource(Some(DutyMatcher::Matching(NodeMatcher::Object(None)))),
        ]
    ));
}

#[test]
fn texts_are_matched_in_many_ways() {
    let text = |text: &str| durward_sapl::syntax::tree::Text {
        span: durward_sapl::syntax::Span::default(),
        text: SmolStr::from(text),
    };
    for (written, matcher) in [
        ("\"a\"", TextMatcher::Is(text("a"))),
        ("null", TextMatcher::Null),
        ("blank", TextMatcher::Blank),
        ("empty", TextMatcher::Empty),
        ("null-or-empty", TextMatcher::NullOrEmpty),
        ("null-or-blank", TextMatcher::NullOrBlank),
        ("equal to \"a\" with compressed whitespace", TextMatcher::EqualCompressed(text("a"))),
        ("equal to \"a\" case-insensitive", TextMatcher::EqualIgnoringCase(text("a"))),
        ("with regex \"a\"", TextMatcher::Regex(text("a"))),
        ("starting with \"a\"", TextMatcher::Starting { text: text("a"), ignoring_case: false }),
        ("ending with \"a\" case-insensitive", TextMatcher::Ending { text: text("a"), ignoring_case: true }),
        (
            "containing \"a\" case-insensitive",
            TextMatcher::Containing { text: text("a"), ignoring_case: true },
        ),
        ("containing stream \"a\", \"b\" in order", TextMatcher::InOrder(vec![text("a"), text("b")])),
        ("with length 3", TextMatcher::Length(3)),
    ] {
        let GivenKind::Function(mock) = given(&format!("function f.g(matching text {written}) maps to 1"))
        else {
            panic!()
        };
        let parameters = mock.call.parameters.unwrap_or_default();
        let [Matcher::Matching(NodeMatcher::Text(Some(read)))] = &parameters[..] else { panic!("{written}") };
        assert_eq!(without_places(read), without_places(&matcher), "{written}");
    }
}

/// A matcher in words, its places left out.
fn without_places(matcher: &TextMatcher) -> String {
    let words = format!("{matcher:?}");
    let mut pieces = words.split("span: Span { start: ");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    out.extend(pieces.filter_map(|piece| piece.split_once('}')).map(|(_, rest)| rest));
    out
}

#[test]
fn calls_are_counted() {
    let verify = scenario(&format!(
        "{WHEN} expect permit verify - function f.g is called once - function f.g(any) is called 0 times - attribute \
         <a.b> is called 2 times - attribute \"x\".<a.b(1)> is never called"
    ))
    .verify;
    assert_eq!(verify.iter().map(|one| one.times).collect::<Vec<_>>(), [1, 0, 2, 0]);
    assert!(
        matches!(&verify[3].target, VerificationTarget::Attribute(attribute) if attribute.entity.is_some())
    );
}

#[test]
fn mistakes_are_told_where_they_are() {
    for (text, about, message, help) in [
        ("", "", "expected `requirement`, found the end of the text", ""),
        (
            "requirment \"r\" {}",
            "requirment",
            "expected `requirement`, found `requirment`",
            "did you mean `requirement`?",
        ),
        ("requirement r {}", "r", "expected the requirement's name in quotation marks, found `r`", ""),
        ("requirement \"r\" { }", "}", "expected `scenario`, found `}`", ""),
        (
            "requirement \"r\" { scenario \"s\" expect permit; }",
            "expect",
            "expected `when`, found `expect`",
            "",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect allow; }",
            "allow",
            "expected `decision` or `permit`, `deny`, `suspend`, `indeterminate` or `not-applicable`, found `allow`",
            "",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit }",
            "}",
            "expected `;` after the scenario, found `}`",
            "",
        ),
        (
            "requirement \"r\" { scenario \"s\" when subject.a attempts 2 on 3 expect permit; }",
            ".",
            "expected a value: `{`, `[`, a text, a number, `true`, `false`, `null` or `undefined`, found `.`",
            "",
        ),
        (
            "requirement \"r\" { given - deny-overrides scenario \"s\" when 1 attempts 2 on 3 expect permit; }",
            "deny",
            "expected what is given: `document`, `function`, `attribute`, an algorithm, ..., found `deny`",
            "what SAPL 3 called `deny-overrides` is `priority deny or abstain errors propagate`",
        ),
        (
            "requirement \"r\" { given - variables [] scenario \"s\" when 1 attempts 2 on 3 expect permit; }",
            "[",
            "expected an object: `{`, found `[`",
            "",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect - permit 1.5 times; }",
            "1.5",
            "this is no count",
            "write a whole number from 0 to 4294967295",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit;",
            "",
            "expected `scenario` or `}`, found the end of the text",
            "the `{` in line 1 is not closed",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit; } requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit; }",
            "\"r\"",
            "another requirement of this file is called `r`",
            "give it another name",
        ),
        (
            "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit; scenario \"s\" when 1 attempts 2 on 3 expect permit; }",
            "\"s\"",
            "another scenario of this requirement is called `s`",
            "give it another name",
        ),
    ] {
        let diagnostics = parse_tests(text).diagnostics;
        let said: Vec<(&str, &str, &str)> = diagnostics
            .iter()
            .map(|one| (one.span.text(text), one.message.as_str(), one.help.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(said, [(about, message, help)], "{text}");
    }
}

#[test]
fn a_broken_scenario_leaves_the_others() {
    let good = |name: &str| format!("scenario \"{name}\" when 1 attempts 2 on 3 expect permit;");
    let text = format!(
        "requirement \"a\" {{ given - document - function f.g maps 1 - document \"d\" {} scenario \"b\" when ; {} }} \
         requirement \"b\" {{ {} {{ }} requirement \"c\" {{ {} }}",
        good("a"),
        good("c"),
        good("d"),
        good("e"),
    );
    let parsed = parse_tests(&text);
    assert_eq!(parsed.diagnostics.len(), 4, "{:#?}", parsed.diagnostics);
    let scenarios: Vec<&str> = parsed
        .tree
        .requirements
        .iter()
        .flat_map(|one| &one.scenarios)
        .map(|one| one.name.text.as_str())
        .collect();
    assert_eq!(scenarios, ["a", "c", "d", "e"]);
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let value = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse_tests(&format!("requirement \"r\" {{ scenario \"s\" when {value}")).has_errors());
    }
    let matcher = "array where [".repeat(100_000);
    assert!(
        parse_tests(&format!("requirement \"r\" {{ given - function f.g(matching {matcher}")).has_errors()
    );
}
