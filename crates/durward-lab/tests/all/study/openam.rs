//! Studies: what is run, what is not run again, and pages held to the figures and papers that they are made of.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durward_lab::draw::svg_file;
use durward_lab::load::NullServer;
use durward_lab::report::Document;
use durward_lab::run::{NoWatcher, RunOptions, RunWatcher};
use durward_lab::scenario::Scenario;
use durward_lab::study::openam::paper::{CURVES, TEXT};
use durward_lab::study::openam::{OPENAM_RECORDED, OpenAmSetup};
use durward_lab::study::{
    self, EarlierRecords, RunAction, Study, StudyDigest, StudyError, StudyProgress, StudyRun, openam,
};
use serde_json::Value;

/// A directory of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-study-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keeps what it is told, and stops the study when a run of this name begins.
#[derive(Default)]
struct Told {
    doings: Vec<(String, RunAction)>,
    stop: Arc<AtomicBool>,
    stop_at: &'static str,
}

impl StudyProgress for Told {
    fn run(&mut self, _: usize, _: usize, run: &StudyRun, what: &RunAction) {
        if run.name == self.stop_at {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.doings.push((run.name.clone(), what.clone()));
    }

    fn watcher(&mut self, _: &Scenario) -> Box<dyn RunWatcher> {
        Box::new(NoWatcher)
    }
}

impl Told {
    fn measured(&self) -> Vec<&str> {
        let is_measured = |(_, doing): &&(String, RunAction)| matches!(doing, RunAction::Measuring(_));
        self.doings.iter().filter(is_measured).map(|(name, _)| name.as_str()).collect()
    }
}

fn scenario(url: &str, measure: &str) -> String {
    format!(
        "[target]\naddresses = [{url:?}]\n[load]\nusers = [1, 2]\nwarm_up = \"0s\"\nmeasure = {measure:?}\n[[steps]]\nname = \"page\"\npath = \"/\"\n"
    )
}

fn of(runs: Vec<StudyRun>) -> Study {
    Study { name: "example", form: "quick".to_owned(), runs, document: |digest| Document::new(&digest.study) }
}

fn options(stop: &Arc<AtomicBool>) -> RunOptions {
    RunOptions { generator_limit: Duration::ZERO, stop: Arc::clone(stop), ..RunOptions::default() }
}

fn run(
    study: &Study,
    folder: &Path,
    earlier: EarlierRecords,
    told: &mut Told,
) -> Result<StudyDigest, StudyError> {
    let options = options(&told.stop);
    study::run(study, folder, earlier, &options, told)
}

#[test]
fn a_run_that_cannot_start_does_not_end_a_study() {
    let (folder, server) = (Folder::new("start"), NullServer::start().unwrap());
    let broken = "[target]\ncommand = [\"/no/such/program\"]\n[load]\nusers = 1\n[[steps]]\npath = \"/\"\n";
    let runs = vec![
        StudyRun::new("broken", "a server that is not there", broken.to_owned()),
        StudyRun::left_out("absent", "a peer", "not installed"),
        StudyRun::new("pages", "a page", scenario(&server.url(), "100ms")),
    ];
    let mut told = Told::default();
    let digest = run(&of(runs.clone()), &folder.0, EarlierRecords::Replaced, &mut told).unwrap();
    let failed: Vec<&str> = digest.runs.iter().filter_map(|run| run.failed.as_deref()).collect();
    assert!(failed[0].contains("/no/such/program") && failed[1] == "not installed", "{failed:?}");
    let pages = digest.run("pages").unwrap();
    assert_eq!((pages.points.len(), pages.points[1].load_number()), (2, 2.0));
    assert!(pages.points[0].throughput() > 0.0 && digest.run("broken").is_none());
    assert_eq!(StudyDigest::read(&digest.to_json().unwrap()).unwrap(), digest);
    let error =
        run(&of(runs[..2].to_vec()), &folder.0, EarlierRecords::Replaced, &mut Told::default()).unwrap_err();
    assert!(error.to_string().starts_with("nothing was measured; run `broken`: "), "{error}");
}

#[test]
fn a_study_goes_on_where_it_was_stopped() {
    let (folder, server) = (Folder::new("resume"), NullServer::start().unwrap());
    let runs = |measure| {
        let text = |measure| scenario(&server.url(), measure);
        vec![
            StudyRun::new("first", "", text("100ms")),
            StudyRun::new("second", "", text(measure)),
            StudyRun::new("third", "", text("100ms")),
        ]
    };
    let mut told = Told { stop_at: "second", ..Told::default() };
    let digest = run(&of(runs("150ms")), &folder.0, EarlierRecords::Kept, &mut told).unwrap();
    assert_eq!(told.measured(), ["first", "second"]);
    assert!(digest.runs[1].cut_short.is_some() && digest.runs[2].failed.is_some(), "{digest:?}");
    let mut told = Told::default();
    let whole = run(&of(runs("150ms")), &folder.0, EarlierRecords::Kept, &mut told).unwrap();
    assert_eq!(told.measured(), ["second", "third"]);
    assert_eq!(whole.runs[0], digest.runs[0], "a record that is whole was measured again");
    assert!(whole.runs.iter().all(|run| run.points.len() == 2 && run.cut_short.is_none()));
    // Another scenario under the same name is another run.
    let mut told = Told::default();
    run(&of(runs("120ms")), &folder.0, EarlierRecords::Kept, &mut told).unwrap();
    assert_eq!(told.measured(), ["second"]);
    let mut told = Told::default();
    run(&of(runs("120ms")), &folder.0, EarlierRecords::Replaced, &mut told).unwrap();
    assert_eq!(told.measured().len(), 3);
}

#[test]
fn a_scenario_that_is_none_is_found_before_anything_is_run() {
    let (folder, server) = (Folder::new("broken"), NullServer::start().unwrap());
    let runs = vec![
        StudyRun::new("good", "", scenario(&server.url(), "100ms")),
        StudyRun::new("bad", "", "[load]\nusres = 1".to_owned()),
    ];
    let mut told = Told::default();
    let error = run(&of(runs), &folder.0, EarlierRecords::Replaced, &mut told).unwrap_err();
    assert_eq!(error.to_string(), "run `bad`: line 2: `usres` is unknown; did you mean `users`?");
    assert!(told.doings.is_empty());
}

/// The facts of the papers, where they are.
fn facts(name: &str) -> Option<Value> {
    let text = fs::read_to_string(durward_testdata::recorded("usl")?.join(name)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn the_openam_paper_is_told_as_it_is_printed() {
    let Some(facts) = facts("openam-study.json") else { return };
    let printed = facts["configurations"].as_array().unwrap();
    assert_eq!(printed.len(), CURVES.len());
    for (curve, printed) in CURVES.iter().zip(printed) {
        let number = |key: &str| printed[key].as_f64().unwrap();
        assert_eq!(
            (curve.label, f64::from(curve.figure)),
            (printed["label_as_printed"].as_str().unwrap(), number("figure"))
        );
        assert_eq!((curve.sigma, curve.kappa), (number("sigma"), number("kappa")), "{curve:?}");
        assert_eq!(curve.instances as f64, number("instances"));
        assert_eq!(f64::from(curve.logout_percent), number("logout_percent"));
        let derived = &printed["derived"];
        assert_eq!(curve.p_star(), derived["p_star_by_the_study_formula"].as_f64().unwrap(), "{curve:?}");
        let capacity = curve.law().x_star().unwrap() / derived["capacity_at_n_star_users"].as_f64().unwrap();
        assert!((capacity - 1.0).abs() < 1e-4, "{curve:?}");
    }
    let text = &facts["printed_in_the_text"];
    assert_eq!(text[0]["load_per_instance"], TEXT.load_per_instance);
    let served =
        ["one", "two", "three"].map(|nodes| text[0]["users_effectively_served"][nodes].as_u64().unwrap());
    assert_eq!(served, TEXT.users_served.map(u64::from));
    assert_eq!(text[1]["load"], TEXT.mix_load);
    assert_eq!(text[1]["throughput_of_20_percent_logout_as_part_of_0_percent"], TEXT.mix_share);
    assert_eq!(text[3]["dummy_users_empty_requests"]["kappa"], TEXT.generator_kappa);
}

#[test]
fn the_openam_that_was_recorded_is_told_as_it_was() {
    let Some(facts) = facts("openam16-recorded.json") else { return };
    for (calls, users, rate) in OPENAM_RECORDED {
        let points = facts["sets"][calls]["points"].as_array().unwrap();
        assert!(points.contains(&serde_json::json!([users, rate])), "{calls}: {users}, {rate}");
    }
    let all: usize =
        facts["sets"].as_object().unwrap().values().map(|set| set["points"].as_array().unwrap().len()).sum();
    assert_eq!(all, OPENAM_RECORDED.len());
}

/// Every number of the page is made of the figures beside it: who changes one must make the other again.
#[test]
fn the_page_of_the_openam_study_comes_of_its_figures() {
    let docs = durward_testdata::workspace().join("docs");
    let text = fs::read_to_string(docs.join("study-openam.json")).unwrap();
    let digest = StudyDigest::read(&text).unwrap();
    let study = openam::study(&OpenAmSetup::default());
    let document = (study.document)(&digest);
    let page = fs::read_to_string(docs.join("study-openam.md")).unwrap();
    let again = "docs/study-openam.md is not what its JSON says: run `durward lab study openam --redraw docs/study-openam.json --page docs`";
    assert!(page == study::markdown(&document, "pictures"), "{again}");
    for figure in document.figures() {
        let picture = fs::read_to_string(docs.join(format!("pictures/{}.svg", figure.name))).unwrap();
        assert!(picture == svg_file(&figure.scene), "{again}");
    }
    // Of a run of this study, not of another one.
    assert!(digest.runs.iter().any(|run| run.points.iter().any(|point| point.nodes == 3)), "no three nodes");
}
