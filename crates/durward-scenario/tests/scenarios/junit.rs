//! Reports in JUnit's form.

use std::cell::Cell;
use std::time::Duration;

use durward_scenario::report::{
    JunitCase, JunitOutcome, JunitProblem, JunitSuite, junit as write, junit_suites,
};
use durward_scenario::{NoFiles, TestSuite, TestText};

use crate::documents;
use crate::junit_reader::read_junit;

const POLICY: &str = "policy \"d\" permit subject == 1;";

const TESTS: &str = "requirement \"one\" {
    scenario \"passes\" when 1 attempts 2 on 3 expect permit;
    scenario \"fails\" when 2 attempts 2 on 3 expect permit;
}
requirement \"two\" {
    scenario \"errs\" given - document \"nowhere\" when 1 attempts 2 on 3 expect permit;
}";

#[test]
fn every_file_is_a_suite_and_every_scenario_a_test() {
    let test = |path: &str, text: &str| TestText { path: path.into(), text: text.as_bytes().to_vec() };
    let moment = Cell::new(0_u64);
    // Each look at this clock is a quarter of a second later than the last one.
    let clock = || Duration::from_millis(250 * moment.replace(moment.get() + 1));
    let suite = TestSuite::new(documents(&[("d", POLICY)]), &NoFiles).timed_by(&clock);
    let report =
        suite.run(&[test("a.sapltest", TESTS), test("b.sapltest", "requirement"), test("c.sapltest", TESTS)]);
    let text = write("durward test", &junit_suites(&report), Duration::from_secs(2));
    let root = read_junit(&text);
    assert_eq!(root.attribute("name"), "durward test");
    assert_eq!(root.attribute("time"), "2.000");
    let counts = ["tests", "failures", "errors"].map(|name| root.attribute(name));
    assert_eq!(counts, ["7", "2", "3"]);
    let names: Vec<&str> = root.children.iter().map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, ["a.sapltest", "b.sapltest", "c.sapltest"]);
    let first = &root.children[0];
    assert_eq!(first.attribute("time"), "0.750");
    let passed = first.case("passes");
    assert_eq!((passed.attribute("classname"), passed.attribute("time")), ("one", "0.250"));
    assert!(passed.children.is_empty());
    let failure = &first.case("fails").children[0];
    assert_eq!((&*failure.name, failure.attribute("type")), ("failure", "unexpected"));
    assert!(
        failure.attribute("message").starts_with("expected: permit; came: {\"decision\":"),
        "{failure:?}"
    );
    assert!(failure.text.starts_with("a.sapltest:3:"), "{failure:?}");
    assert!(failure.text.contains("\nexpected: permit\ncame: "), "{failure:?}");
    let error = &first.case("errs").children[0];
    assert_eq!((&*error.name, error.attribute("type")), ("error", "not-played"));
    assert!(error.attribute("message").contains("`nowhere`"), "{error:?}");
    let unreadable = &root.children[1].case("the file can be read").children[0];
    assert_eq!((&*unreadable.name, unreadable.attribute("type")), ("error", "unreadable"));
    assert!(unreadable.text.starts_with("b.sapltest:1:12: error: "), "{unreadable:?}");
}

/// Names come from whoever writes tests, and values from policies.
#[test]
fn whatever_a_name_holds_the_report_is_xml() {
    let odd = "<a> & \"b\" 'c' ]]> \u{0} \u{1b}[31m \u{7f} \u{85} \u{fffe} \u{202e} \t\r\n é \u{1F600}";
    let problem = || JunitProblem { kind: odd.into(), message: odd.into(), text: odd.into() };
    let outcomes = [
        JunitOutcome::Passed,
        JunitOutcome::Noted(odd.into()),
        JunitOutcome::Failed(problem()),
        JunitOutcome::Error(problem()),
    ];
    let case =
        |outcome| JunitCase { name: odd.into(), class_name: odd.into(), outcome, time: Duration::ZERO };
    let suite = JunitSuite { name: odd.into(), cases: outcomes.into_iter().map(case).collect() };
    let root = read_junit(&write(odd, &[suite], Duration::ZERO));
    let came = "<a> & \"b\" 'c' ]]> \u{fffd} \u{fffd}[31m \u{fffd} \u{fffd} \u{fffd} \u{fffd} \t\u{fffd}\n é \u{1F600}";
    assert_eq!(root.attribute("name"), came);
    for case in root.all("testcase") {
        assert_eq!((case.attribute("name"), case.attribute("classname")), (came, came));
        for inner in &case.children {
            assert_eq!(inner.text, came);
        }
    }
    assert_eq!(root.all("failure")[0].attribute("message"), came);
}

#[test]
fn nothing_tested_is_a_report_too() {
    let root = read_junit(&write("durward test", &[], Duration::ZERO));
    assert!(root.children.is_empty());
}
