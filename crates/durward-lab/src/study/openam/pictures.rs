//! The figures of the paper, with ours in them.

use super::super::{PointDigest, StudyDigest};
use super::fits::{self, MeasuredCurve};
use super::paper::{self, CURVES, OwnCurve};
use crate::draw::{AxisSpec, Chart, Colour, Dash, Scale, Spot, count, time};
use crate::record::nodes_in_words;
use crate::report::Document;

/// Places of a drawn law.
const PLACES: u32 = 60;

fn axis(label: &str, scale: Scale, format: fn(f64) -> String) -> AxisSpec {
    AxisSpec { label: label.to_owned(), scale, format }
}

/// A law in users served, from 1 to the greatest load.
fn law(of: &crate::fit::Law, greatest: f64) -> Vec<(f64, f64)> {
    (0..=PLACES)
        .map(|at| 1.0 + (greatest - 1.0).max(0.0) * f64::from(at) / f64::from(PLACES))
        .map(|users| (users, of.x(users) / of.lambda))
        .collect()
}

/// Figures 3 to 6: users served of each node against users of each node. Ours with marks and lines, the paper's law dashed.
pub(super) fn capacity(document: &mut Document, digest: &StudyDigest, figure: u32, caption: &str) {
    let mut seen: Vec<OwnCurve> = Vec::new();
    let title = format!("Figure {figure}: users served of each node");
    let description = "Measured here with marks, the law that the paper prints dashed.";
    let mut chart = Chart::new(
        &title,
        description,
        axis("users of each node", Scale::Linear, count),
        axis("users effectively served of each node", Scale::Linear, count),
    );
    let of_figure = CURVES.iter().filter(|curve| curve.figure == figure);
    let mut number = 0;
    for printed in of_figure {
        if seen.contains(&printed.ours) {
            continue;
        }
        seen.push(printed.ours);
        let Some(ours) = fits::curve(digest, printed.ours) else { continue };
        let greatest = ours.points.iter().map(|(users, ..)| *users).fold(0.0, f64::max);
        chart.series(&format!("here: {}", name(printed)), number, Dash::Solid, spots(&ours));
        let label = format!("paper: {}", printed.label);
        chart.curve(&label, Colour::Series(number), Dash::Dashed, law(&printed.law(), greatest));
        number += 1;
    }
    if number > 0 {
        document.figure(&format!("openam-figure-{figure}"), chart.scene(), caption);
    }
}

/// What ours is beside a curve of the paper, in a few words.
pub(super) fn name(printed: &paper::PaperCurve) -> String {
    let nodes = nodes_in_words(printed.instances);
    match (printed.figure, printed.ours) {
        (3, _) => format!("{} % logouts", printed.logout_percent),
        (_, OwnCurve { configuration: "sticky", .. }) => format!("{nodes}, sticky"),
        (_, OwnCurve { configuration: "random", .. }) => format!("{nodes}, not sticky"),
        (6, OwnCurve { run: "logout", .. }) => "assured-read".to_owned(),
        (6, OwnCurve { run, .. }) => run.to_owned(),
        _ => nodes,
    }
}

fn spots(curve: &MeasuredCurve<'_>) -> Vec<Spot> {
    let spot = |(users, served, point): &(f64, f64, &PointDigest)| Spot {
        x: *users,
        y: *served,
        is_hollow: !fits::counts(point),
        title: format!("{} users of each node: {} served", count(*users), count(*served)),
    };
    curve.points.iter().map(spot).collect()
}

/// Figures 7 to 9: residence times by kind of request.
pub(super) fn residence(
    document: &mut Document,
    digest: &StudyDigest,
    figure: u32,
    what: &str,
    ours: OwnCurve,
) {
    let Some(curve) = fits::curve(digest, ours) else { return };
    let title = format!("Figure {figure}: residence times, {what}");
    let mut chart = Chart::new(
        &title,
        "90th and 99th percentile by kind of request, against users of each node.",
        axis("users of each node", Scale::Linear, count),
        axis("time since the request was due", Scale::Log, time),
    );
    for (number, kind) in ["login", "verify", "logout"].into_iter().enumerate() {
        let of = |of: fn(&super::super::StepDigest) -> f64| -> Vec<Spot> {
            let step = |point: &PointDigest| point.step(kind).filter(|step| step.answered > 0).map(of);
            let at = |(users, _, point): &(f64, f64, &PointDigest)| {
                step(point).map(|ms| Spot {
                    x: *users,
                    y: ms * 1e6,
                    is_hollow: !fits::counts(point),
                    title: format!("{kind}, {} users of each node: {}", count(*users), time(ms * 1e6)),
                })
            };
            curve.points.iter().filter_map(at).collect()
        };
        chart.series(&format!("{kind}: p99"), number, Dash::Solid, of(|step| step.p99_ms));
        let p90 = of(|step| step.p90_ms).iter().map(|spot| (spot.x, spot.y)).collect();
        chart.curve(&format!("{kind}: p90"), Colour::Series(number), Dash::Dashed, p90);
    }
    let caption = "The paper gives no numbers; in its figure p90 stays level and p99 grows without bound.";
    document.figure(&format!("openam-figure-{figure}"), chart.scene(), caption);
}

/// The law of nodes, and Amdahl's beside it, as the paper's figure 10 has them.
pub(super) fn nodes(document: &mut Document, digest: &StudyDigest) {
    let mut chart = Chart::new(
        "Throughput by nodes, and the laws",
        "Requests a second of 1 to 8 nodes in equal slices of a core, with users who do not pause.",
        axis("nodes", Scale::Linear, count),
        axis("right answers a second", Scale::Linear, count),
    );
    let curves = [
        ("nodes", "sticky", "assured-read, sticky"),
        ("nodes", "random", "assured-read, not sticky"),
        ("nodes-best-effort", "sticky", "best-effort, sticky"),
        ("nodes-best-effort", "random", "best-effort, not sticky"),
    ];
    for (number, (prefix, balance, label)) in curves.into_iter().enumerate() {
        let points = fits::of_nodes(digest, prefix, balance);
        if points.is_empty() {
            continue;
        }
        let mut spots: Vec<Spot> = points
            .iter()
            .map(|point| Spot {
                x: count_of(point.nodes),
                y: point.throughput(),
                is_hollow: !fits::counts(point),
                title: format!("{}: {}/s", nodes_in_words(point.nodes), count(point.throughput())),
            })
            .collect();
        spots.sort_by(|one, other| one.x.total_cmp(&other.x));
        let greatest = spots.iter().map(|spot| spot.x).fold(1.0, f64::max);
        chart.series(label, number, Dash::Solid, spots);
        let fits = fits::by_nodes(&points).map(|report| report.fits);
        let drawn = |law: &crate::fit::Law| law_in_x(law, greatest);
        let usl = fits.as_ref().and_then(|fits| fits.usl.as_ref()).map(|fit| drawn(&fit.law));
        let amdahl = fits.as_ref().and_then(|fits| fits.amdahl.as_ref()).map(|fit| drawn(&fit.law));
        let colour = Colour::Series(number);
        chart.curve("", colour, Dash::Dashed, usl.unwrap_or_default());
        chart.curve("", colour, Dash::Dotted, amdahl.unwrap_or_default());
    }
    for (label, dash) in [("dashed: the law", Dash::Dashed), ("dotted: Amdahl's", Dash::Dotted)] {
        chart.curve(label, Colour::Ink, dash, Vec::new());
    }
    if !chart.items.is_empty() && chart.legend.len() > 2 {
        let caption = "The paper's figure 10 compares its law with Amdahl's, by users; by nodes the paper has three points and \
             no fit.";
        document.figure("openam-figure-10", chart.scene(), caption);
    }
}

fn law_in_x(of: &crate::fit::Law, greatest: f64) -> Vec<(f64, f64)> {
    law(of, greatest).into_iter().map(|(n, c)| (n, c * of.lambda)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 nodes")]
fn count_of(nodes: usize) -> f64 {
    nodes as f64
}
