//! What of documents is covered.

use durward_scenario::{CoveredElement, TestReport};

use crate::run;

const SET: &str = r#"set "s" first or abstain
for resource == "here"
policy "a" permit subject == 1; action == 2;
policy "b" deny true;
policy "c" suspend false; subject == 3;
"#;

/// Plays questions against one document; each line is a subject, an action and a resource.
fn play(document: &str, questions: &[(&str, &str, &str)]) -> TestReport {
    let scenarios: String = questions
        .iter()
        .enumerate()
        .map(|(at, (subject, action, resource))| {
            format!("scenario \"{at}\" when {subject} attempts {action} on {resource} expect decision any; ")
        })
        .collect();
    run(&[("d", document)], &format!("requirement \"r\" {{ given - document \"d\" {scenarios} }}"))
}

fn elements(report: &TestReport) -> &[CoveredElement] {
    &report.coverage.documents[0].elements
}

/// Name, looked at, applied, not applicable, failed; then how often each condition was true, false, failed.
fn counts(element: &CoveredElement) -> (String, Vec<[u64; 3]>) {
    let CoveredElement { name, looked_at, applied, not_applicable, failed, conditions, .. } = element;
    let conditions = conditions.iter().map(|it| [it.times_true, it.times_false, it.times_failed]);
    (format!("{name} {looked_at} {applied} {not_applicable} {failed}"), conditions.collect())
}

#[test]
fn conditions_count_up_to_the_first_that_is_false() {
    let policy = "policy \"p\" permit subject == 1; action == 2; resource == 3;";
    let report = play(policy, &[("1", "2", "3"), ("0", "2", "3"), ("1", "0", "3"), ("1", "2", "0")]);
    let expected = ("p 4 1 3 0".to_owned(), vec![[3, 1, 0], [2, 1, 0], [1, 1, 0]]);
    assert_eq!(counts(&elements(&report)[0]), expected);
    assert_eq!(report.coverage.branches().to_string(), "100 % (8 of 8)");
    assert_eq!(report.coverage.conditions().to_string(), "100 % (3 of 3)");
}

#[test]
fn what_a_set_does_not_ask_is_not_looked_at() {
    let report = play(SET, &[("1", "2", "\"here\""), ("1", "2", "\"there\"")]);
    let counted: Vec<_> = elements(&report).iter().map(counts).collect();
    assert_eq!(counted[0], ("s 2 1 1 0".to_owned(), vec![[1, 1, 0]]));
    assert_eq!(counted[1], ("a 1 1 0 0".to_owned(), vec![[1, 0, 0], [1, 0, 0]]));
    // The first that applies ends it.
    assert_eq!(counted[2], ("b 0 0 0 0".to_owned(), vec![[0, 0, 0]]));
    assert_eq!(report.coverage.policy_sets().to_string(), "100 % (1 of 1)");
    assert_eq!(report.coverage.policies().to_string(), "33.3 % (1 of 3)");
}

#[test]
fn constant_conditions_need_be_met_only() {
    let report =
        play(SET, &[("1", "2", "\"here\""), ("0", "2", "\"here\""), ("1", "0", "\"here\""), ("1", "2", "0")]);
    let b = &elements(&report)[2];
    assert!(b.conditions[0].is_constant && b.conditions[0].outcomes().is_full() && b.outcomes().is_full());
    let counted: Vec<_> = elements(&report).iter().map(counts).collect();
    assert_eq!(counted[1], ("a 3 1 2 0".to_owned(), vec![[2, 1, 0], [1, 1, 0]]));
    assert_eq!(counted[2], ("b 2 2 0 0".to_owned(), vec![[2, 0, 0]]));
}

#[test]
fn failures_are_neither_true_nor_false() {
    let report = play("policy \"p\" permit 1/subject > 0; action == 2;", &[("0", "2", "3"), ("0", "0", "3")]);
    assert_eq!(counts(&elements(&report)[0]), ("p 2 0 1 1".to_owned(), vec![[0, 0, 2], [1, 1, 0]]));
    assert_eq!(report.coverage.policies().covered, 0);
}

#[test]
fn a_schema_that_is_not_met_ends_it() {
    let policy = "subject enforced schema {\"type\": \"number\"} policy \"p\" permit action == 2;";
    let report = play(policy, &[("1", "2", "3"), ("\"x\"", "2", "3")]);
    assert_eq!(counts(&elements(&report)[0]), ("p 2 1 1 0".to_owned(), vec![[1, 0, 0]]));
}

#[test]
fn looking_does_not_change_what_is_counted() {
    let policy = "policy \"d\" permit string.length(subject) == 3; <a.b> == 1;";
    let test = "requirement \"r\" { given - document \"d\" - attribute \"m\" <a.b> emits 1
        scenario \"s\" when \"abc\" attempts 2 on 3 expect permit
        verify - function string.length(any) is called once - attribute <a.b> is called once; }";
    assert_eq!(run(&[("d", policy)], test).count().passed, 1);
}

#[test]
fn documents_that_no_scenario_uses_count_too() {
    let texts = [("d", "policy \"d\" permit"), ("e", "policy \"e\" permit subject == 1;")];
    let test =
        "requirement \"r\" { given - document \"d\" scenario \"s\" when 1 attempts 2 on 3 expect permit; }";
    let report = run(&texts, test);
    assert_eq!(report.coverage.policies().to_string(), "50 % (1 of 2)");
    assert_eq!(report.coverage.branches().to_string(), "20 % (1 of 5)");
    let text = durward_scenario::report::coverage(&report.coverage);
    assert!(text.contains("not covered\n  e.sapl:1:1: policy `e` was never looked at\n"), "{text}");
}

#[test]
fn nothing_to_cover_is_covered() {
    let report = run(
        &[("d", "policy \"d\" permit")],
        "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit; }",
    );
    assert_eq!(report.coverage.policy_sets().percent(), 100.0);
    assert_eq!(report.coverage.conditions().percent(), 100.0);
}

/// The four ratios of gates.
fn gates(report: &TestReport) -> [String; 4] {
    let gates = report.coverage.gates();
    [gates.policy_sets, gates.policies, gates.conditions, gates.branches].map(|ratio| ratio.to_string())
}

/// SAPL counts entries by where they are written: each condition, each target, and one for what the document comes to.
#[test]
fn gates_count_as_sapl_does() {
    // Of documents that no scenario met, nothing is asked, and policies of a set are none by themselves.
    let texts = [("d", "policy \"d\" permit"), ("e", "policy \"e\" permit subject == 1;")];
    let test =
        "requirement \"r\" { given - document \"d\" scenario \"s\" when 1 attempts 2 on 3 expect permit; }";
    assert_eq!(gates(&run(&texts, test)), ["none", "100 % (1 of 1)", "100 % (1 of 1)", "100 % (1 of 1)"]);
    // Conditions, and with the document's own entry: permit and not applicable.
    let policy = "policy \"p\" permit subject == 1; action == 2;";
    let once = play(policy, &[("1", "2", "3")]);
    assert_eq!(gates(&once), ["none", "100 % (1 of 1)", "0 % (0 of 3)", "50 % (3 of 6)"]);
    let twice = play(policy, &[("1", "2", "3"), ("0", "2", "3")]);
    assert_eq!(gates(&twice), ["none", "100 % (1 of 1)", "66.6 % (2 of 3)", "83.3 % (5 of 6)"]);
    // A condition that was not come to is no condition yet.
    let never = play(policy, &[("0", "2", "3")]);
    assert_eq!(gates(&never), ["none", "0 % (0 of 1)", "0 % (0 of 2)", "50 % (2 of 4)"]);
    // A target needs to hold only; `a` with its two conditions gives the set's own entry its kind.
    let set = play(SET, &[("1", "2", "\"here\"")]);
    assert_eq!(gates(&set), ["100 % (1 of 1)", "none", "25 % (1 of 4)", "57.1 % (4 of 7)"]);
    let closed = play(SET, &[("1", "2", "\"there\"")]);
    assert_eq!(gates(&closed), ["0 % (0 of 1)", "none", "0 % (0 of 2)", "0 % (0 of 2)"]);
}

/// Conditions without attributes are looked at before those with one, whatever their order.
#[test]
fn conditions_count_in_the_order_of_the_engine() {
    let policy = "policy \"d\" permit <a.b> == 1; action == 2;";
    let test = "requirement \"r\" { given - document \"d\" - attribute \"m\" <a.b> emits 1
        scenario \"s\" when 1 attempts 0 on 3 expect not-applicable; }";
    let report = run(&[("d", policy)], test);
    assert_eq!(counts(&elements(&report)[0]).1, [[0, 0, 0], [0, 1, 0]]);
}
