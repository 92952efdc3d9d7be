//! What the study's figures come to, number by number beside the paper's.

mod beside;
mod laws;
mod printed;
mod setup;

use super::super::{PointDigest, StudyDigest};
use super::paper::{OwnCurve, REQUESTS_PER_S};
use super::{SLICE, fits};
use crate::draw::{percent, whole};
use crate::fit;
use crate::record::nodes_in_words;
use crate::report::{Block, Document};

const ONE: OwnCurve = OwnCurve { run: "logout", configuration: "logout_percent 5" };
const THREE: OwnCurve = OwnCurve { run: "three-nodes", configuration: "sticky" };
const THREE_NOT_STICKY: OwnCurve = OwnCurve { run: "three-nodes", configuration: "random" };
const NONE: OwnCurve = OwnCurve { run: "none", configuration: "" };

/// The report of a study that was run.
pub(super) fn document(digest: &StudyDigest) -> Document {
    let mut document = Document::new("The OpenAM study, run again with durward");
    document.text(
        "T. Heyman, D. Preuveneers and W. Joosen measured in 2014 how far OpenAM 11 scales, and fitted the Universal Scalability Law \
         (Scalability Analysis of the OpenAM Access Control System with the Universal Scalability Law, FiCloud 2014, doi \
         10.1109/FiCloud.2014.89). `durward lab study openam` runs the same study with durward in OpenAM's place, by the same calls \
         (`/identity/authenticate`, `isTokenValid`, `logout` of OpenAM 11), and wrote this page.",
    );
    document.blocks.push(Block::Verdict(verdict(digest)));
    document.blocks.extend(warnings(digest).into_iter().map(Block::Warning));
    setup::about(&mut document, digest);
    printed::curves(&mut document, digest);
    printed::numbers(&mut document, digest);
    printed::figures(&mut document, digest);
    laws::law(&mut document, digest);
    beside::openam(&mut document, digest);
    beside::differences(&mut document);
    beside::answers(&mut document, digest);
    points(&mut document, digest);
    again(&mut document, digest);
    document
}

/// What came of it, where it was measured.
fn verdict(digest: &StudyDigest) -> Vec<String> {
    let mut said = Vec::new();
    if let Some((load, most)) = fits::curve(digest, ONE).and_then(|curve| curve.best()) {
        said.push(format!(
            "One node of durward in {SLICE} of a core, 5 % logouts, assured-read: at most {} users effectively served ({} requests/s), \
             at {} users. The paper's OpenAM on a whole Core 2 Duo: 1266, by its fit.",
            whole(most),
            whole(most * REQUESTS_PER_S),
            whole(load)
        ));
    }
    let three = (fits::curve(digest, THREE), fits::curve(digest, THREE_NOT_STICKY));
    if let (Some(sticky), Some(not)) = three
        && let (Some((_, with)), Some((_, without))) = (sticky.best(), not.best())
    {
        said.push(format!(
            "Sticky or not, three nodes: without stickiness durward serves {} of what it serves with it at best; the paper's OpenAM, by \
             its fits, 2 %.",
            percent(without / with)
        ));
    }
    for (prefix, name) in [("nodes", "assured-read"), ("nodes-best-effort", "best-effort")] {
        let points = fits::of_nodes(digest, prefix, "sticky");
        match (fits::limited_by_machine(&points), fits::by_nodes(&points)) {
            (Some(why), _) => {
                said.push(format!("By nodes, {name}, sticky: nothing can be said here; {why}."))
            }
            (None, Some(report)) => said.push(format!("By nodes, {name}, sticky: {}", report.verdict)),
            (None, None) => {}
        }
    }
    if said.is_empty() {
        said.push("Too little was measured to say anything.".to_owned());
    }
    said
}

/// What makes figures doubtful.
fn warnings(digest: &StudyDigest) -> Vec<String> {
    let mut said = Vec::new();
    for run in &digest.runs {
        if let Some(why) = run.failed.as_ref().or(run.cut_short.as_ref()) {
            said.push(format!("`{}` is not whole: {why}", run.name));
        }
    }
    let missing: Vec<&str> = distinct(digest, |target| &target.limits_missing);
    if !missing.is_empty() {
        said.push(format!("Limits that are not in force: {}.", missing.join("; ")));
    }
    let points: Vec<&PointDigest> = digest.runs.iter().flat_map(|run| &run.points).collect();
    let disturbed = points.iter().filter(|point| !point.is_fitted()).count();
    if disturbed > 0 {
        said.push(format!(
            "{disturbed} of {} points have a mark: a neighbour, the generator, or errors were in them. Other processes had {} of the \
             processors at the median point, and {} at the worst. Fits here leave out errors and points cut short, not neighbours.",
            points.len(),
            percent(quantile(&points, 0.5)),
            percent(quantile(&points, 1.0))
        ));
    }
    said
}

/// Of the shares of the processors that others had.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of some hundred points"
)]
fn quantile(points: &[&PointDigest], at: f64) -> f64 {
    let mut shares: Vec<f64> =
        points.iter().filter_map(|point| point.machine.get("others_share")).copied().collect();
    shares.sort_by(f64::total_cmp);
    let place = (shares.len().saturating_sub(1) as f64 * at).round() as usize;
    shares.get(place).copied().unwrap_or(0.0)
}

fn distinct<'d>(
    digest: &'d StudyDigest,
    of: fn(&'d crate::record::TargetInfo) -> &'d [String],
) -> Vec<&'d str> {
    let mut found: Vec<&str> = Vec::new();
    for text in digest.runs.iter().flat_map(|run| &run.targets).flat_map(of) {
        if !found.contains(&text.as_str()) {
            found.push(text);
        }
    }
    found
}

/// `0`, `2.47e-9`, `0.0113`.
fn coefficient(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{small:.2e}"),
        value => fit::number(value),
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), percent)
}

/// Every point.
fn points(document: &mut Document, digest: &StudyDigest) {
    let mut rows = Vec::new();
    for run in &digest.runs {
        for point in &run.points {
            let all = point.step("all").cloned().unwrap_or_default();
            let marks: Vec<String> = point.marks.iter().map(ToString::to_string).collect();
            rows.push(vec![
                run.name.clone(),
                point.configuration.clone(),
                nodes_in_words(point.nodes),
                whole(point.load_number()),
                whole(point.throughput()),
                fit::number(all.p50_ms),
                fit::number(all.p90_ms),
                fit::number(all.p99_ms),
                percent(point.error_share()),
                share(point.busy()),
                share(point.machine.get("others_share").copied()),
                marks.join("; "),
            ]);
        }
    }
    document.heading("Every point");
    let columns = [
        "run",
        "configuration",
        "nodes",
        "users",
        "answers/s",
        "p50 ms",
        "p90",
        "p99",
        "failed",
        "nodes busy",
        "others had",
        "marks",
    ];
    document.table(
        "All that was measured; times of all kinds of requests together, since due",
        &columns,
        3,
        rows,
    );
}

fn again(document: &mut Document, digest: &StudyDigest) {
    document.heading("Run it again");
    let form = if digest.form == "full" { "--full" } else { "--quick" };
    document
        .blocks
        .push(Block::Code(format!("durward lab study openam {form} --out openam-study --page docs")));
    document.text(&format!(
        "This page was made by durward {} from `study-openam.json`, which that command writes beside it. The records, with whole \
         histograms, are in `openam-study/records`; `durward lab report` draws each. Use an idle machine: other processes \
         change the figures, and cause marks.",
        digest.version
    ));
}
