//! Tests of policies: playing any of them ends without a panic, and the pages of the report hold no tag that they do not
//! write themselves.

use durward_scenario::report::{coverage, pages, scenarios, sonar};
use durward_scenario::{Documents, NoFiles, Suite, TestText};

/// With something of everything that a scenario can answer for.
const DOCUMENTS: [(&str, &str); 3] = [
    (
        "a",
        "policy \"a\" permit subject == 1; f.g(subject) > 1; <a.b> in [1, limit]; transform resource |- f.g(action)",
    ),
    (
        "b",
        "subject schema {} set \"b\" first or deny for action != 2 policy \"x\" deny true; |<a.b(1)>; policy \"y\" suspend",
    ),
    (
        "c",
        "policy \"c\" deny subject.<user.level(\"u\")> == undefined || f.g() == 1; obligation resource.* advice environment",
    ),
];

/// What pages consist of.
const TAGS: [&str; 30] = [
    "!doctype", "html", "head", "meta", "title", "link", "body", "main", "h1", "h2", "h3", "h4", "p",
    "section", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "a", "ul", "li", "pre", "mark",
    "br", "/", "?",
];

pub(crate) fn run(input: &[u8]) {
    let mut documents = Documents::default();
    for (name, text) in DOCUMENTS {
        documents.add(name, name, text.as_bytes());
    }
    // What comes from the input as a document is not named by the tests, and stands in the pages all the same.
    documents.add("input", "input", input);
    let tests = [TestText { path: "<test>".into(), text: input.to_vec() }];
    let report = Suite::new(documents, &NoFiles).run(&tests);
    let shown = scenarios(&report) + &coverage(&report.coverage);
    assert!(!shown.contains(|one: char| (one.is_control() && one != '\n') || one == '\u{202E}'), "{shown:?}");
    assert!(sonar(&report.coverage).ends_with("</coverage>\n"));
    for page in pages(&report).iter().filter(|page| page.name.ends_with(".html")) {
        for tag in page.text.split('<').skip(1) {
            let name = tag.strip_prefix('/').unwrap_or(tag).split(['>', ' ']).next().unwrap_or_default();
            assert!(TAGS.contains(&name), "<{tag}");
        }
    }
}
