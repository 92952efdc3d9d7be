//! The laws that mean something: by requests under way and by nodes.

use super::super::super::{PointDigest, StudyDigest};
use super::super::{SLICE_OF_MANY, fits, pictures};
use super::{coefficient, share};
use crate::draw::{percent, whole};
use crate::fit::{self, FitReport};
use crate::report::Document;

/// The laws that mean something: by concurrency and by nodes.
pub(super) fn law(document: &mut Document, digest: &StudyDigest) {
    document.heading("What the paper did not fit: concurrency and nodes");
    document.text(
        "The number of users who pause is not a valid N of the law: even a simple queue then gives sigma 0, a kappa above 0, \
         R^2 0.99, and a peak that does not exist. The paper's kappas may be of that kind. The law holds for requests under \
         way (throughput times residence time), and for nodes whose load grows in proportion. So we also measured both, with \
         users who do not pause.",
    );
    let mut rows = Vec::new();
    if let Some(report) = fits::by_concurrency(digest) {
        rows.push(fit_row("one node, by requests under way", &report));
    }
    for (prefix, mode) in [("nodes", "assured-read"), ("nodes-best-effort", "best-effort")] {
        for (balance, name) in [("sticky", "sticky"), ("random", "not sticky")] {
            let points = fits::of_nodes(digest, prefix, balance);
            if let Some(report) = fits::by_nodes(&points) {
                let mut row = fit_row(&format!("nodes, {mode}, {name}"), &report);
                if let (Some(_), Some(refused)) = (fits::limited_by_machine(&points), row.last_mut()) {
                    *refused = format!("{refused} by the fit; the machine was the limit");
                }
                rows.push(row);
            }
        }
    }
    let columns = ["", "points", "lambda /s", "sigma", "kappa", "N*", "greatest N", "X there /s", "refused"];
    document.table("Fits of the law, free lambda", &columns, 1, rows);
    pictures::nodes(document, digest);
    let mut rows = Vec::new();
    for prefix in ["nodes", "nodes-best-effort"] {
        for balance in ["sticky", "random"] {
            let mode = if prefix == "nodes" { "assured-read" } else { "best-effort" };
            let name = if balance == "random" { "not sticky" } else { "sticky" };
            for point in fits::of_nodes(digest, prefix, balance) {
                rows.push(node_row(&format!("{mode}, {name}"), point));
            }
        }
    }
    let columns = [
        "",
        "nodes",
        "answers/s",
        "of each node",
        "p50 ms",
        "p99 ms",
        "CPU us a request",
        "nodes busy",
        "machine busy",
        "generator busy",
    ];
    document.table("Throughput by nodes, two measurements each", &columns, 1, rows);
    document.text(&format!(
        "\"Nodes busy\" is how much of their slices ({SLICE_OF_MANY} of a core each) nodes used. If it falls as nodes are \
         added, something else was the limit: the machine, which stores and generator share (\"machine busy\"), or the stores. \
         Sigma and kappa then describe that limit, and not durward."
    ));
}

fn fit_row(name: &str, report: &FitReport) -> Vec<String> {
    let none = || "–".to_owned();
    let usl = report.fits.usl.as_ref();
    let last = report.points.last();
    let refused: Vec<&str> = report.refused.iter().map(|refusal| refusal.word()).collect();
    vec![
        name.to_owned(),
        report.points.len().to_string(),
        usl.map_or_else(none, |fit| fit::number(fit.law.lambda)),
        usl.map_or_else(none, |fit| coefficient(fit.law.sigma)),
        usl.map_or_else(none, |fit| coefficient(fit.law.kappa)),
        usl.and_then(|fit| fit.n_star).map_or_else(|| "none".to_owned(), fit::number),
        last.map_or_else(none, |point| fit::number(point.n)),
        last.map_or_else(none, |point| fit::number(point.x)),
        if refused.is_empty() { "nothing".to_owned() } else { refused.join(", ") },
    ]
}

fn node_row(name: &str, point: &PointDigest) -> Vec<String> {
    let all = point.step("all").cloned().unwrap_or_default();
    vec![
        name.to_owned(),
        point.nodes.to_string(),
        whole(point.throughput()),
        whole(point.throughput() / f64::from(u32::try_from(point.nodes.max(1)).unwrap_or(1))),
        fit::number(all.p50_ms),
        fit::number(all.p99_ms),
        point.cpu_us_per_request().map_or_else(|| "–".to_owned(), fit::number),
        share(point.busy()),
        share(point.machine.get("busy_share").copied()),
        percent(point.generator_busy),
    ]
}
