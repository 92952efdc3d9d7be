//! Tests and documents that nobody means well with.

use durward_scenario::report::{coverage, pages, scenarios, sonar};
use durward_scenario::{CALLS_MAX, NoFiles, STAND_INS_MAX, TestDocuments, TestReport, TestSuite, TestText};

use crate::{documents, errs, fails};

fn run_bytes(test: &[u8]) -> TestReport {
    let tests = [TestText { path: "t".into(), text: test.to_vec() }];
    TestSuite::new(documents(&[("d", "policy \"d\" permit subject == 1;")]), &NoFiles).run(&tests)
}

#[test]
fn any_bytes_are_a_test_or_a_problem_with_its_place() {
    let report = run_bytes(b"requirement \"r\" {\n \xff }");
    assert_eq!(report.files[0].problems.as_deref(), Some("t:2: the text is not UTF-8\n"));
    let report = run_bytes(b"requirement \"r\" {\n scenari \"s\" }");
    let problems = report.files[0].problems.clone().unwrap_or_default();
    assert!(problems.starts_with("t:1:18: error: "), "{problems}");
    assert_eq!(report.count().unreadable, 1);
    let long = vec![b' '; (2 << 20) + 1];
    assert!(run_bytes(&long).files[0].problems.clone().unwrap_or_default().contains("more than"));
}

#[test]
fn pieces_of_a_test_never_panic() {
    let whole = include_str!("../../../../fuzz/seeds/sapl_syntax/tests");
    for (end, _) in whole.char_indices() {
        let report = run_bytes(whole.get(..end).unwrap_or_default().as_bytes());
        let shown = scenarios(&report) + &coverage(&report.coverage) + &sonar(&report.coverage);
        assert!(!shown.is_empty() && !pages(&report).is_empty());
    }
}

#[test]
fn calls_are_not_kept_without_end() {
    let numbers: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let list = numbers.join(",");
    let policy = format!("policy \"d\" permit ([{list}] :: ([{list}] :: my.test(@))) == 1;");
    let parts = "when 1 attempts 2 on 3 expect permit verify - function my.test(any) is called once";
    let said = fails(&policy, "- function my.test(any) maps to 1", parts);
    assert!(said.contains(&format!("more than {CALLS_MAX} times")), "{said}");
}

#[test]
fn documents_that_cannot_be_read_are_left_out_of_the_pages() {
    let mut documents = TestDocuments::default();
    documents.add("a.sapl", "a", b"policy \"a");
    documents.add("b.sapl", "b", b"\xff");
    documents.add("c.sapl", "c", b"");
    let report = TestSuite::new(documents, &NoFiles).run(&[]);
    assert_eq!((pages(&report).len(), report.coverage.branches().percent()), (2, 100.0));
}

#[test]
fn names_cannot_steer_a_terminal() {
    let test =
        "requirement \"\u{1b}[31m\u{202e}\" { scenario \"\u{7}\" when 1 attempts 2 on 3 expect deny; }";
    let shown = scenarios(&run_bytes(test.as_bytes()));
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
}

#[test]
fn stand_ins_and_what_is_verified_are_counted() {
    let given: String = (0..=STAND_INS_MAX + 1).map(|at| format!("- attribute \"{at}\" <a.b>\n")).collect();
    let said = errs("policy \"d\" permit", &given, "when 1 attempts 2 on 3 expect permit");
    assert_eq!(said, format!("a scenario replaces at most {STAND_INS_MAX} functions and attributes"));
    let verify = " - attribute <a.b> is never called".repeat(STAND_INS_MAX + 1);
    let said =
        errs("policy \"d\" permit", "", &format!("when 1 attempts 2 on 3 expect permit verify{verify}"));
    assert_eq!(said, format!("a scenario verifies at most {STAND_INS_MAX} functions and attributes"));
}

#[test]
fn a_file_of_very_many_scenarios_is_played_in_bounded_time() {
    let one = "scenario \"@\" when 1 attempts 2 on 3 expect permit;";
    let many: String = (0..20_000).map(|at| one.replace('@', &at.to_string())).collect();
    let report = run_bytes(format!("requirement \"r\" {{ {many} }}").as_bytes());
    assert_eq!(report.count().passed, 20_000);
}
