//! The page around the pictures: what was measured, on what, how, and how to read it.

use super::Picture;
use super::axis::{count, time, whole};
use super::other::Other;
use super::row::Row;
use super::svg::escaped;
use crate::embedded::UNCERTAINTY_MAX;

/// Threads that ran less than this part of the time shared their cores with something else.
const BUSY_BELOW: f64 = 0.95;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:60rem;margin:2rem auto;\
padding:0 1rem}h1{margin-bottom:.2rem}h2{margin-top:2.5rem}figure{margin:1rem 0;overflow-x:auto}figcaption{color:#555}\
svg{max-width:100%;height:auto}.wide{overflow-x:auto}table{border-collapse:collapse;font-size:14px}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e2e2e2;white-space:nowrap}\
th{border-bottom:2px solid #999;vertical-align:bottom}.words{text-align:left}code{background:#f6f6f6;padding:.1rem .25rem;\
overflow-wrap:anywhere}.warning{border-left:4px solid #d55e00;padding-left:.8rem}";

/// The page.
pub(super) fn text(rows: &[Row], others: &[Other], pictures: &[Picture]) -> String {
    let figures: String = pictures.iter().map(figure).collect();
    let others_text: String = others.iter().map(Other::table).collect();
    let decisions =
        if rows.is_empty() { String::new() } else { format!("{figures}{}{}", table(rows), reading()) };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>How fast durward decides</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>How fast durward decides</h1>\n{}{}\n{decisions}{others_text}{}</body>\n</html>\n",
        summary(rows),
        warnings(rows),
        commands(rows, others)
    )
}

/// Each of these once, in the order of the first.
fn distinct(rows: &[Row], of: fn(&Row) -> &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for text in rows.iter().map(of) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn summary(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let scenarios = distinct(rows, |row| &row.scenario).join(", ");
    let versions = distinct(rows, |row| &row.version).join(", ");
    let machines = distinct(rows, |row| &row.machine).join("; ");
    format!(
        "<p>{} measurements of durward {} by <code>durward bench embedded</code>: the decision point inside one process, \
         without a network. Machine: {}. What was decided: {}.</p>\n",
        rows.len(),
        escaped(&versions),
        escaped(&machines),
        escaped(&scenarios)
    )
}

/// What makes numbers doubtful stands before them.
fn warnings(rows: &[Row]) -> String {
    let mut all = Vec::new();
    if distinct(rows, |row| &row.machine).len() > 1 {
        all.push(
            "These measurements come from different machines: their numbers say nothing about each other."
                .to_owned(),
        );
    }
    let open = rows.iter().filter(|row| !row.is_converged).count();
    if open > 0 {
        all.push(format!(
            "Of {open} of {} measurements the median is not known to {} %: they ended before. They are marked with * in the \
             table.",
            rows.len(),
            UNCERTAINTY_MAX * 100.0
        ));
    }
    let running = rows.iter().filter_map(|row| row.running).fold(1.0, f64::min);
    if running < BUSY_BELOW {
        all.push(format!(
            "The machine was busy with something else: in one measurement the threads ran only {:.0} % of the time.",
            running * 100.0
        ));
    }
    all.iter().map(|text| format!("<p class=\"warning\">{text}</p>\n")).collect()
}

fn figure(picture: &Picture) -> String {
    let (name, svg) = (&picture.name, &picture.svg);
    format!(
        "<h2>{}</h2>\n<figure>\n{svg}<figcaption>{} (<a href=\"{name}.svg\">SVG</a>, <a href=\"{name}.png\">PNG</a>)\
         </figcaption>\n</figure>\n",
        escaped(&picture.title),
        picture.caption
    )
}

fn table(rows: &[Row]) -> String {
    let mut text = "<h2>All numbers</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"words\">scenario</th>\
                    <th class=\"words\">language</th><th>policies</th><th class=\"words\">index</th>\
                    <th class=\"words\">mode</th><th>threads</th><th>decisions/s</th><th>95 %<br>interval</th><th>times<br>\
                    one thread</th><th>p50</th><th>p99</th><th>p99.9</th><th>build</th><th>bytes/<br>policy</th></tr>\n"
        .to_owned();
    for row in rows {
        let or_none = |number: Option<String>| number.unwrap_or_else(|| "–".to_owned());
        let words = [&row.scenario, &row.language, &row.index, &row.mode].map(|text| escaped(text));
        let [scenario, language, index, mode] = words;
        let [p50, p99, p999] = row.latency_ns.map(time);
        let open = if row.is_converged { "" } else { "*" };
        text.push_str(&format!(
            "<tr><td class=\"words\">{scenario}</td><td class=\"words\">{language}</td><td>{}</td><td class=\"words\">{index}\
             </td><td class=\"words\">{mode}</td><td>{}</td><td>{}{open}</td><td>{}</td><td>{}</td><td>{p50}</td><td>{p99}</td>\
             <td>{p999}</td><td>{}</td><td>{}</td></tr>\n",
            whole(row.policies),
            row.threads,
            whole(row.decisions_per_s),
            or_none(row.interval_percent.map(|percent| format!("{percent:.1} %"))),
            or_none(row.scaling.map(|times| format!("{times:.2}"))),
            time(row.build_ms * 1e6),
            or_none(row.bytes_per_policy.map(count)),
        ));
    }
    text + "</table></div>\n"
}

fn reading() -> &'static str {
    "<h2>How to read this</h2>\n<ul>\n\
     <li>All axes are logarithmic: equal distances are equal ratios. Between two lines of 1 and 10 lies a factor of ten, \
     wherever they are.</li>\n\
     <li><b>decisions/s</b> is the median over rounds of 100 ms that go through all questions, without reading the clock for \
     each. The <b>95 % interval</b> is how wide the range is that holds the median of many more rounds 19 times out of 20; \
     rounds went on until it was narrower than 3 % of the median, or until the time limit.</li>\n\
     <li><b>p50, p99, p99.9</b>: half, 99 of 100, and 999 of 1,000 decisions took no longer. They come from a second pass \
     that reads the clock for each decision, and contain that reading, about 20 ns. In the mode <i>batch</i> each decision \
     has its share of its batch's time.</li>\n\
     <li><b>mode</b>: <i>encoded</i> is a question that was read and looked up ahead for the policies in force, to a decision; \
     <i>decide</i> one that was only read; <i>text</i> is from the question's text to the answer's; <i>batch</i> is many \
     encoded questions in one call.</li>\n\
     <li><b>threads</b> share one decision point; <b>times one thread</b> is what they came to together, against one of them \
     alone.</li>\n\
     <li><b>build</b> is from the texts of all policies to a decision point ready to answer; <b>bytes/policy</b> is by how \
     much the process grew for each, over several decision points.</li>\n\
     <li>Numbers of different machines, or of one machine at different times, say nothing about each other.</li>\n</ul>\n"
}

fn commands(rows: &[Row], others: &[Other]) -> String {
    let lines: String = distinct(rows, |row| &row.command)
        .into_iter()
        .chain(others.iter().filter_map(Other::command))
        .map(|command| format!("<li><code>{}</code></li>\n", escaped(command)))
        .collect();
    format!("<h2>To measure it again</h2>\n<ul>\n{lines}</ul>\n")
}
