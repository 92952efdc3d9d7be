//! `durward lab report` and `durward lab compare`.

use std::path::PathBuf;

use durward_lab::record::{
    FORMAT, LatencyRecord, MeasuredPoint, MeasuredSecond, PointLoad, RunRecord, StepResult,
};

use crate::durward;

/// A record of three loads; each request takes so many times as long.
fn record(times: u64) -> String {
    let point = |users: u64| {
        let mut latency = LatencyRecord::default();
        (0..2_000).for_each(|at| latency.record((users * 100_000 + at * 500) * times));
        let step = StepResult {
            name: "get".into(),
            answered: 2_000,
            since_due: latency.clone(),
            since_sent: latency,
            ..StepResult::default()
        };
        let second = |at: u32| MeasuredSecond {
            at_s: f64::from(at),
            answered: 190 + u64::from(at),
            ..MeasuredSecond::default()
        };
        MeasuredPoint {
            nodes: 1,
            load: PointLoad::Users(users),
            measured_s: 10.0,
            steps: vec![step],
            seconds: (0..10).map(second).collect(),
            ..MeasuredPoint::default()
        }
    };
    let points = [1, 2, 4].map(point).into();
    RunRecord { format: FORMAT, points, ..RunRecord::default() }.to_json().unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("durward-lab-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("before.json"), record(1)).unwrap();
    std::fs::write(folder.join("after.json"), record(2)).unwrap();
    folder
}

#[test]
fn a_record_is_reported() {
    let folder = folder("report");
    let [run, out] = ["before.json", "out"].map(|name| folder.join(name).display().to_string());
    #[cfg(feature = "pictures")]
    let (command, drawn) =
        (["lab", "report", &run, "--out", &out, "--pdf"], &["throughput.png", "report.pdf"][..]);
    #[cfg(not(feature = "pictures"))]
    let (command, drawn) = (["lab", "report", &run, "--out", &out], &[][..]);
    let said = durward(&command).exits(0).stdout;
    let always = ["index.html", "throughput.svg", "points.csv", "histograms.hlog"];
    for name in always.iter().chain(drawn) {
        assert!(said.contains(name) && folder.join("out").join(name).exists(), "{name}: {said}");
    }
    let page = std::fs::read_to_string(folder.join("out/index.html")).unwrap();
    assert!(page.contains("How far: at most 200 requests/s"), "{page}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Without what draws it, a PDF is refused by the name of the feature that is missing.
#[cfg(not(feature = "pictures"))]
#[test]
fn a_pdf_names_the_feature_that_draws_it() {
    let folder = folder("pdf");
    let [run, out] = ["before.json", "out"].map(|name| folder.join(name).display().to_string());
    let said = durward(&["lab", "report", &run, "--out", &out, "--pdf"]).exits(2).stderr;
    assert!(said.contains("without the feature `pictures`"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_record_is_not_reported() {
    let folder = folder("none");
    let at = |name: &str| folder.join(name).display().to_string();
    std::fs::write(folder.join("text"), "a").unwrap();
    std::fs::write(folder.join("newer.json"), record(1).replace("\"format\":1", "\"format\":9")).unwrap();
    for (name, words) in [
        ("text", "not a record of `durward lab run`"),
        ("newer.json", "a record of format 9"),
        ("missing.json", "cannot read"),
    ] {
        for command in [
            ["lab", "report", &at(name), "--out", &at("out")],
            ["lab", "compare", &at("before.json"), &at(name), "--json"],
        ] {
            let said = durward(&command).exits(2).stderr;
            assert!(said.contains(words) && said.contains(name), "{said}");
        }
    }
    assert!(!folder.join("out").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_slower_run_fails_the_gate() {
    let folder = folder("compare");
    let [before, after, out] =
        ["before.json", "after.json", "out"].map(|name| folder.join(name).display().to_string());
    let slower =
        durward(&["lab", "compare", &before, &after, "--fail-if-slower", "5%", "--out", &out]).exits(1);
    assert!(slower.stdout.contains("Slower") && slower.stdout.contains("+100 %"), "{}", slower.stdout);
    assert!(folder.join("out/compare-throughput.svg").exists());
    #[cfg(feature = "pictures")]
    assert!(folder.join("out/compare-throughput.png").exists() && folder.join("out/report.pdf").exists());
    durward(&["lab", "compare", &after, &before, "--fail-if-slower", "5%"]).exits(0);
    durward(&["lab", "compare", &before, &after]).exits(0);
    let json =
        durward(&["lab", "compare", &before, &before, "--json", "--fail-if-slower", "0"]).exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["differences"][0]["metric"], "rate");
    durward(&["lab", "compare", &before, &after, "--fail-if-slower", "much"]).exits(2);
    std::fs::remove_dir_all(folder).unwrap();
}
