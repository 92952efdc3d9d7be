//! The report as pages that need nothing else: one for everything, one for each document with its text.

mod source;

use std::fmt::Write;

use super::escaped;
use crate::coverage::{CoverageRatio, DocumentCoverage, PolicyCoverage};
use crate::suite::{ScenarioOutcome, ScenarioReport, TestFinding, TestReport};

/// One file of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportPage {
    /// The name of the file; all lie in one folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}

const STYLE: &str = include_str!("style.css");

/// All pages; `index.html` is the first to read. Whatever comes from documents or tests is escaped, and the pages ask for
/// nothing from anywhere and run nothing.
pub fn pages(report: &TestReport) -> Vec<ReportPage> {
    let mut pages = vec![
        ReportPage { name: "index.html".to_owned(), text: index(report) },
        ReportPage { name: "style.css".to_owned(), text: STYLE.to_owned() },
    ];
    for (number, document) in report.coverage.documents.iter().enumerate() {
        pages.push(ReportPage { name: page_name(number), text: source::page(document) });
    }
    pages
}

/// Names come from numbers: those of documents could be anything.
fn page_name(number: usize) -> String {
    format!("document-{}.html", number + 1)
}

fn index(report: &TestReport) -> String {
    let mut body = "<h1>Policy tests</h1>\n".to_owned();
    body.push_str(&verdict(report));
    body.push_str(&cards(&report.coverage));
    body.push_str(&documents(&report.coverage));
    body.push_str(&tests(report));
    page("Policy tests", &body)
}

/// A whole page. The policy forbids whatever the page does not bring itself, in case something was not escaped after all.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' 'unsafe-inline'\">\n\
         <title>{}</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n<main>\n{body}</main>\n\
         </body>\n</html>\n",
        escaped(title)
    )
}

fn verdict(report: &TestReport) -> String {
    let count = report.count();
    let is_good = count.failed + count.errors + count.unreadable == 0;
    let class = if is_good { "good" } else { "bad" };
    let mut words = vec![format!("{} passed", count.passed)];
    for (number, what) in
        [(count.failed, "failed"), (count.errors, "with errors"), (count.unreadable, "files not readable")]
    {
        if number > 0 {
            words.push(format!("{number} {what}"));
        }
    }
    format!("<p class=\"verdict {class}\">{}</p>\n", words.join(" · "))
}

fn cards(coverage: &PolicyCoverage) -> String {
    let cards = [
        ("Policy sets", coverage.policy_sets(), "asked at least once"),
        ("Policies", coverage.policies(), "applied at least once"),
        ("Conditions", coverage.conditions(), "both true and false"),
        ("Branches", coverage.branches(), "outcomes that came"),
    ];
    let mut out = "<section class=\"cards\">\n".to_owned();
    for (name, ratio, what) in cards {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            out,
            "<div class=\"card\"><h2>{name}</h2><p class=\"number\">{}</p>{}<p class=\"small\">{} of {} {what}</p></div>",
            percent(ratio),
            bar(ratio),
            ratio.covered,
            ratio.total
        );
    }
    out + "</section>\n"
}

/// Never rounded up: 100 % means all.
fn percent(ratio: CoverageRatio) -> String {
    if ratio.total == 0 { "–".to_owned() } else { format!("{} %", ratio.percent().floor()) }
}

fn bar(ratio: CoverageRatio) -> String {
    let class = match ratio.percent() {
        full if full >= 100.0 => "full",
        most if most >= 70.0 => "most",
        _ => "less",
    };
    format!("<div class=\"bar {class}\"><span style=\"width:{:.1}%\"></span></div>", ratio.percent())
}

fn documents(coverage: &PolicyCoverage) -> String {
    if coverage.documents.is_empty() {
        return String::new();
    }
    let mut out = "<section>\n<h2>Documents</h2>\n<table>\n<thead><tr><th>Document</th><th>Applied</th>\
                   <th>Conditions</th><th>Branches</th><th></th></tr></thead>\n<tbody>\n"
        .to_owned();
    for (number, document) in coverage.documents.iter().enumerate() {
        let applied = document.elements.iter().filter(|element| element.applied > 0).count();
        let conditions = document.conditions().filter(|condition| condition.outcomes().is_full()).count();
        let branches = document.branches();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"{}\">{}</a></td><td>{applied} of {}</td><td>{conditions} of {}</td><td>{}</td><td>{}</td></tr>",
            page_name(number),
            escaped(&document.path),
            document.elements.len(),
            document.conditions().count(),
            percent(branches),
            bar(branches)
        );
    }
    out + "</tbody>\n</table>\n</section>\n"
}

fn tests(report: &TestReport) -> String {
    let mut out = "<section>\n<h2>Scenarios</h2>\n".to_owned();
    for file in &report.files {
        let _ = writeln!(out, "<h3>{}</h3>", escaped(&file.path));
        if let Some(problems) = &file.problems {
            let _ = writeln!(out, "<pre class=\"finding\">{}</pre>", escaped(problems.trim_end()));
        }
        for requirement in &file.requirements {
            let _ = writeln!(out, "<h4>{}</h4>\n<ul class=\"scenarios\">", escaped(&requirement.name));
            requirement.scenarios.iter().for_each(|one| scenario(&mut out, one));
            out.push_str("</ul>\n");
        }
    }
    out + "</section>\n"
}

fn scenario(out: &mut String, scenario: &ScenarioReport) {
    let (class, word, finding) = match &scenario.outcome {
        ScenarioOutcome::Passed => ("good", "pass", None),
        ScenarioOutcome::Failed(finding) => ("bad", "fail", Some(finding)),
        ScenarioOutcome::Error(finding) => ("bad", "error", Some(finding)),
    };
    let _ = write!(out, "<li><span class=\"tag {class}\">{word}</span> {}", escaped(&scenario.name));
    if let Some(TestFinding { line, column, message }) = finding {
        let _ =
            write!(out, "<pre class=\"finding\">line {line}, column {column}\n{}</pre>", escaped(message));
    }
    out.push_str("</li>\n");
}

/// How a document is called in its title.
fn title(document: &DocumentCoverage) -> &str {
    document.path.rsplit(['/', '\\']).next().unwrap_or(&document.path)
}
