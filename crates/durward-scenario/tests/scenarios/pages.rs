//! Pages: complete, and nothing in them that documents or tests could have put there.

use durward_scenario::report::{pages, sonar};

use crate::run;

const EVIL: &str = "</title><script>alert(1)</script>";

#[test]
fn whatever_comes_from_texts_is_escaped() {
    let document = format!(
        "policy \"{EVIL}\" permit subject == \"<img src=x onerror=alert(1)>\"; // {EVIL} &amp; 'x'\n"
    );
    let test = format!(
        "requirement \"{EVIL}\" {{ given - document \"d\" scenario \"{EVIL}\" when 1 attempts 2 on 3 \
         expect permit with resource \"{EVIL}\"; }}"
    );
    let report = run(&[("d", &document)], &test);
    for page in pages(&report) {
        assert!(!page.text.contains("<script") && !page.text.contains("<img"), "{}", page.text);
        assert!(!page.text.contains("http://") && !page.text.contains("https://"), "{}", page.name);
    }
    assert!(!sonar(&report.coverage).contains("<script"));
}

#[test]
fn every_line_stands_on_the_page_of_its_document() {
    let document = "policy \"d\"\r\npermit\n\n    subject\n        == 1; /* \u{200E} */ action == 2;\n";
    let test = "requirement \"r\" { given - document \"d\" scenario \"s\" when 1 attempts 0 on 3 expect decision any; }";
    let report = run(&[("d", document)], test);
    let pages = pages(&report);
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(names, ["index.html", "style.css", "document-1.html"]);
    let page = &pages[2].text;
    for line in [
        "<tr class=\"part\" id=\"L1\"><td class=\"line\">1</td><td class=\"code\"><mark class=\"part\" \
         title=\"applied 0×, not applicable 1×\">policy &quot;d&quot;</mark></td>",
        "<tr class=\"\" id=\"L3\"><td class=\"line\">3</td><td class=\"code\"></td>",
        "<mark class=\"part\" title=\"true 1×, false 0×\">subject</mark></td><td class=\"notes\">true 1×, false 0×</td>",
        "<mark class=\"part\" title=\"true 1×, false 0×\">        == 1</mark>; /* \u{FFFD} */ \
         <mark class=\"part\" title=\"true 0×, false 1×\">action == 2</mark>;</td>\
         <td class=\"notes\">true 0×, false 1×</td>",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    assert!(!page.contains("id=\"L6\""));
    assert!(pages[0].text.contains("<a href=\"document-1.html\">d.sapl</a>"));
}

#[test]
fn lines_are_told_to_sonar() {
    let report = run(
        &[("d", "policy \"d\" permit\nsubject == 1;")],
        "requirement \"r\" { given - document \"d\" scenario \"s\" when 1 attempts 0 on 3 expect permit; }",
    );
    let expected = "<coverage version=\"1\">\n  <file path=\"d.sapl\">\n    \
        <lineToCover lineNumber=\"1\" covered=\"true\" branchesToCover=\"2\" coveredBranches=\"1\"/>\n    \
        <lineToCover lineNumber=\"2\" covered=\"true\" branchesToCover=\"2\" coveredBranches=\"1\"/>\n  \
        </file>\n</coverage>\n";
    assert_eq!(sonar(&report.coverage), expected);
}
