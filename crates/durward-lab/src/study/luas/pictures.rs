//! The pictures of the study.

use super::figures::{EngineRow, EngineState, short};
use super::paper::{PDPS, SENT};
use crate::draw::{AxisSpec, Chart, Colour, Dash, Scale, Scene, Spot, whole};

/// The 99th percentile by load, with the paper's; `None` where nothing was measured.
pub(super) fn latency(rows: &[EngineRow<'_>]) -> Option<Scene> {
    let x = AxisSpec { label: "requests in bursts".to_owned(), scale: Scale::Log, format: whole };
    let y = AxisSpec { label: "99th percentile, ms".to_owned(), scale: Scale::Log, format: short };
    let mut chart = Chart::new(
        "Latency under bursts",
        "The 99th percentile of answers by number of requests, each engine cold and warm, with the paper's figures.",
        x,
        y,
    );
    let mut is_empty = true;
    for (number, (label, of)) in series(rows).into_iter().enumerate() {
        let dash = if of.first().is_some_and(|row| row.state == EngineState::Warm) {
            Dash::Dotted
        } else {
            Dash::Solid
        };
        let spot = |row: &&EngineRow<'_>| {
            let p99 = row.spread(|all| all.p99_ms)?;
            Some(Spot {
                x: as_f64(row.sent),
                y: p99.median,
                is_hollow: !row.counts(),
                title: format!("{label}, {} requests: {} ms", row.sent, p99.text()),
            })
        };
        let spots: Vec<Spot> = of.iter().filter_map(spot).collect();
        is_empty &= spots.is_empty();
        chart.series(&label, number, dash, spots);
    }
    if is_empty {
        return None;
    }
    for pdp in &PDPS {
        let points = SENT.iter().zip(pdp.latency_ms).map(|(sent, (_, p99))| (as_f64(*sent), p99)).collect();
        chart.curve(&format!("paper: {}", pdp.name), Colour::Faint, Dash::Dashed, points);
    }
    Some(chart.scene())
}

/// Rows of one engine in one state, of engines that decide rightly.
fn series<'r, 'd>(rows: &'r [EngineRow<'d>]) -> Vec<(String, Vec<&'r EngineRow<'d>>)> {
    let mut all: Vec<(String, Vec<&EngineRow<'_>>)> = Vec::new();
    for row in rows.iter().filter(|row| row.engine.wrong == 0) {
        let label = format!("{}, {}", row.engine.title, row.state.word());
        match all.last_mut().filter(|(last, _)| *last == label) {
            Some((_, of)) => of.push(row),
            None => all.push((label, vec![row])),
        }
    }
    all
}

/// Memory and processor over time, at the greatest load, cold: name, picture, caption.
pub(super) fn resources(rows: &[EngineRow<'_>]) -> Vec<(&'static str, Scene, &'static str)> {
    let greatest =
        rows.iter().filter(|row| row.state == EngineState::Cold).map(|row| row.sent).max().unwrap_or(0);
    let of: Vec<&EngineRow<'_>> =
        rows.iter().filter(|row| row.state == EngineState::Cold && row.sent == greatest).collect();
    let caption_memory = "The paper's figure 2. In percent of 512 MB, what the control group counts: heap, code, and files that were read.";
    let caption_processor = "The paper's figure 3. In percent of one core.";
    let memory = course(&of, greatest, "Memory", "memory, % of 512 MB", |sample| sample.1);
    let processor = course(&of, greatest, "Processor", "processor, % of one core", |sample| sample.2);
    let named =
        [("study-luas-memory", memory, caption_memory), ("study-luas-cpu", processor, caption_processor)];
    named.into_iter().filter_map(|(name, scene, caption)| Some((name, scene?, caption))).collect()
}

fn course(
    rows: &[&EngineRow<'_>],
    sent: u64,
    title: &str,
    label: &str,
    of: fn(&(f64, f64, f64)) -> f64,
) -> Option<Scene> {
    let x =
        AxisSpec { label: "seconds since the first burst".to_owned(), scale: Scale::Linear, format: whole };
    let y = AxisSpec { label: label.to_owned(), scale: Scale::Linear, format: whole };
    let title = format!("{title} with {} requests in five bursts, freshly started", whole(as_f64(sent)));
    let mut chart = Chart::new(&title, "What each server used over time.", x, y);
    let mut is_empty = true;
    for (number, row) in rows.iter().enumerate() {
        let points: Vec<(f64, f64)> = row.course().iter().map(|sample| (sample.0, of(sample))).collect();
        is_empty &= points.is_empty();
        chart.curve(&row.engine.title, Colour::Series(number), Dash::Solid, points);
    }
    (!is_empty).then(|| chart.scene())
}

#[expect(clippy::cast_precision_loss, reason = "loads are small")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
