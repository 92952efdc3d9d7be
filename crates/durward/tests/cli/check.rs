//! `durward check`.

use crate::durward;
use crate::junit_reader::read_junit;

#[test]
fn policies_without_problems_are_clean() {
    let ran = durward(&["check", "hospital"]).exits(0);
    assert_eq!(ran.stdout, "2 documents: 0 errors, 0 warnings, 0 hints\n");
    assert_eq!(durward(&["check", "hospital", "--format", "json"]).exits(0).stdout, "[]\n");
}

#[test]
fn warnings_are_shown_and_are_no_failure() {
    durward(&["check", "odd"]).exits(0).prints("check-odd.txt");
    let ran = durward(&["check", "odd", "--level", "error"]).exits(0);
    assert_eq!(ran.stdout, "1 document: 0 errors, 2 warnings, 0 hints\n");
}

#[test]
fn errors_fail_and_name_a_way_out() {
    durward(&["check", "broken"]).exits(1).prints("check-broken.txt");
    durward(&["check", "broken", "--format", "json"]).exits(1).prints("check-broken.json");
}

#[test]
fn what_is_no_policy_is_a_problem_of_the_policy() {
    let ran = durward(&["check", "visitor.json"]).exits(1);
    assert!(ran.stdout.starts_with("visitor.json:1:1: error: "), "{}", ran.stdout);
}

#[test]
fn a_missing_file_is_bad_input() {
    durward(&["check", "nowhere"]).exits(2).complains(
        "nowhere: No such file or directory",
        "give a policy file, or a directory with files `*.sapl` or `*.xml`; `durward init` writes a project",
    );
    durward(&["check"]).exits(2);
}

#[test]
fn a_root_leaves_the_others_unused() {
    let ran = durward(&["check", "roots", "--root", "permits"]).exits(0);
    assert!(ran.stdout.contains("`denies` version 1.0 is never used"), "{}", ran.stdout);
    assert!(!durward(&["check", "roots"]).exits(0).stdout.contains("never used"));
    let ran = durward(&["check", "roots", "--root", "others"]).exits(1);
    assert!(ran.stdout.contains("no policy or policy set `others` to start from"), "{}", ran.stdout);
}

#[test]
fn an_index_is_explained_when_asked() {
    for (index, reason) in [("auto", ", because "), ("canonical", "canonical: "), ("diagram", "diagram: ")] {
        let ran = durward(&["check", "hospital", "--index", index]).exits(0);
        assert!(ran.stdout.contains(reason), "{}", ran.stdout);
        assert!(ran.stdout.contains("told apart by no attribute"), "{}", ran.stdout);
    }
    let ran = durward(&["check", "hospital", "--index", "diagram", "--format", "json"]).exits(0);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(report["findings"].as_array().unwrap().is_empty());
    assert!(report["index"]["elements"].as_u64().unwrap() > 0, "{report}");
    durward(&["check", "broken", "--index", "auto"]).exits(1);
    durward(&["check", "hospital", "--index", "tree"]).exits(2);
}

#[test]
fn policies_of_sapl_that_never_have_a_say_are_warnings() {
    let ran = durward(&["check", "dead"]).exits(0);
    for said in [
        "dead/doors.sapl:4:8: warning: policy `visitors` is never asked: `everybody` (line 3) before it",
        "dead/safes.sapl:1:8: warning: policy `safes` never applies: its conditions contradict one another",
        "[unreachable-policy]",
        "2 documents: 0 errors, 2 warnings, 0 hints",
    ] {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
    let ran = durward(&["check", "dead", "--level", "error"]).exits(0);
    assert!(!ran.stdout.contains("never"), "{}", ran.stdout);
}

#[test]
fn names_of_sapl_that_mean_nothing_are_warnings_with_their_place() {
    durward(&["check", "names"]).exits(0).prints("check-names.txt");
    let ran = durward(&["check", "names", "--strict"]).exits(1);
    assert!(
        ran.stdout.contains("names/members.sapl:3:23: warning: there is no variable `blocked`"),
        "{}",
        ran.stdout
    );
    durward(&["check", "hospital", "--strict"]).exits(0);
}

#[test]
fn settings_and_schemas_make_the_check_exact() {
    let said = |flags: &[&str]| durward(&[&["check", "names"], flags].concat()).exits(0).stdout;
    let without = said(&[]);
    assert!(without.contains("[unknown-attribute]") && !without.contains("wriet"), "{without}");
    let with_schema = said(&["--schema-action", "names/action.json"]);
    assert!(
        with_schema.contains("names/writers.sapl:3:15: warning: `action` is never `wriet` by its schema"),
        "{with_schema}"
    );
    let configured = said(&["--config", "names/durward.toml"]);
    assert!(configured.contains("[value-not-in-schema]"), "{configured}");
    assert!(!configured.contains("[unknown-attribute]"), "{configured}");
    let odd = durward(&["check", "names", "--schema-subject", "names/members.sapl"]).exits(2);
    assert!(
        odd.stderr.contains("`--schema-subject` cannot be used: names/members.sapl: line 1"),
        "{}",
        odd.stderr
    );
    durward(&["check", "names", "--config", "names/action.json"]).exits(2);
}

#[test]
fn a_report_in_the_form_of_junit_has_a_suite_for_each_document() {
    let report = |flags: &[&str], code: i32| {
        let ran = durward(&[&["check", "--junit", "-"], flags].concat()).exits(code);
        assert!(ran.stderr.contains(" document"), "{}", ran.stderr);
        read_junit(&ran.stdout)
    };
    let clean = report(&["hospital"], 0);
    assert_eq!(clean.attribute("name"), "durward check");
    assert_eq!((clean.attribute("tests"), clean.attribute("failures")), ("2", "0"));
    assert_eq!(clean.all("testcase")[0].attribute("name"), "nothing is wrong");
    let broken = report(&["broken"], 1);
    let failure = broken.all("failure")[0];
    assert!(failure.text.contains("broken/") && failure.text.contains(": error: "), "{failure:?}");
    assert!(!failure.attribute("type").is_empty() && !failure.attribute("message").is_empty());
    // A warning is a note, or with --strict a failure.
    let noted = report(&["names"], 0);
    assert_eq!(noted.attribute("failures"), "0");
    assert!(noted.all("system-out").iter().any(|note| note.text.contains(": warning: ")), "{noted:?}");
    assert!(!report(&["names", "--strict"], 1).all("failure").is_empty());
}
