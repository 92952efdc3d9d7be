//! `durward lab study`: from the command to a report with the paper beside ours.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary::binary;
use crate::{command, durward};

/// A directory of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-cli-study-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn study(folder: &Folder, more: &[&str]) -> Vec<String> {
    let mut all = ["lab", "study", "openam", "--out"].map(str::to_owned).to_vec();
    all.push(folder.path("out"));
    all.extend(more.iter().map(|word| (*word).to_owned()));
    all
}

fn run(folder: &Folder, more: &[&str]) -> crate::Ran {
    durward(&study(folder, more).iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether the stores can be started, without which there is one node only.
fn has_stores() -> bool {
    let program = std::env::var_os("DURWARD_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    durward_testdata::has_program(program, "--version", "set DURWARD_NATS_SERVER")
}

#[test]
fn the_openam_study_is_run_reported_gone_on_with_and_drawn_anew() {
    let folder = Folder::new("openam");
    let mut runs = vec!["logout", "none", "nodes-1", "dummy-users"];
    if has_stores() {
        runs.extend(["two-nodes", "nodes-2"]);
    }
    let tiny: Vec<&str> = ["--points", "2,4,6", "--seconds", "1"]
        .into_iter()
        .chain(runs.iter().flat_map(|run| ["--only", run]))
        .collect();
    let page = folder.path("docs");
    let ran = run(&folder, &[&tiny[..], &["--page", &page]].concat()).exits(0);
    assert!(ran.stderr.starts_with(&format!("{} runs, about ", runs.len())), "{}", ran.stderr);
    for name in ["index.html", "openam-figure-3.svg", "study-openam.md", "study-openam.json"] {
        assert!(
            ran.stdout.contains(name) && folder.0.join("out").join(name).exists(),
            "{name}: {}",
            ran.stdout
        );
    }
    let (html, markdown) = (folder.text("out/index.html"), folder.text("docs/study-openam.md"));
    for words in ["2.47e-9", "Not sticky (x3)", "1,224", "49 %", "OpenAM 16.0.5 as recorded"] {
        assert!(html.contains(words) && markdown.contains(words), "{words}");
    }
    // Every kind of request was answered, and nothing failed.
    let digest: serde_json::Value = serde_json::from_str(&folder.text("docs/study-openam.json")).unwrap();
    for run in digest["runs"].as_array().unwrap() {
        for point in run["points"].as_array().unwrap() {
            let all = &point["steps"][0];
            assert!(all["answered"].as_u64() > Some(0) && all["failed"].is_null(), "{run}");
        }
    }
    // Nothing of this machine's directories.
    assert!(!folder.text("docs/study-openam.json").contains(&binary()));
    let again = run(&folder, &[&tiny[..], &["--resume"]].concat()).exits(0);
    assert_eq!(again.stderr.matches("recorded before").count(), runs.len() - 1, "{}", again.stderr);
    let figures = folder.path("docs/study-openam.json");
    let drawn = folder.path("drawn");
    durward(&["lab", "study", "openam", "--redraw", &figures, "--out", &drawn]).exits(0);
    assert_eq!(folder.text("drawn/study-openam.md"), markdown);
}

#[test]
fn an_interrupt_reports_what_was_measured_and_resume_goes_on() {
    let folder = Folder::new("interrupt");
    let words = |seconds: &'static str| {
        let all =
            ["--only", "dummy-users", "--only", "none", "--points", "2,4", "--quiet", "--seconds", seconds];
        study(&folder, &all)
    };
    let begun = Instant::now();
    let child = command(&words("30").iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(6));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("incomplete: dummy-users: the run was stopped"), "{said}");
    assert!(said.contains("incomplete: none: the study was stopped before it"), "{said}");
    assert!(folder.text("out/index.html").contains("is not whole"));
    let mut resumed = words("0.5");
    resumed.push("--resume".to_owned());
    durward(&resumed.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    assert!(!folder.text("out/index.html").contains("is not whole"));
}

#[test]
fn stores_that_do_not_start_fail_their_runs_only() {
    let folder = Folder::new("stores");
    // It tells a version and is no server.
    let tiny = ["--nats-server", "/bin/true", "--points", "2", "--seconds", "0.4", "--quiet"];
    let ran = run(&folder, &[&tiny[..], &["--only", "none", "--only", "two-nodes"]].concat()).exits(1);
    assert!(ran.stdout.contains("incomplete: two-nodes: "), "{}", ran.stdout);
    assert!(folder.text("out/index.html").contains("`two-nodes` is not whole"));
    let ran = run(&folder, &[&tiny[..], &["--only", "two-nodes"]].concat()).exits(2);
    assert!(ran.stderr.contains("nothing was measured; run `two-nodes`: "), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_studied_is_bad_input() {
    let folder = Folder::new("bad");
    let ran = run(&folder, &["--only", "no-such-run"]).exits(2);
    assert!(ran.stderr.contains("`no-such-run` is no run of this study"), "{}", ran.stderr);
    assert!(ran.stderr.contains("its runs are dummy-users, logout, two-nodes"), "{}", ran.stderr);
    let ran = run(&folder, &["--nats-server", "/no/such/program"]).exits(2);
    assert!(ran.stderr.contains("cannot run /no/such/program"), "{}", ran.stderr);
    let ran = run(&folder, &["--openam", "http://127.0.0.1:1/openam"]).exits(2);
    assert!(ran.stderr.contains("OPENAM_PASSWORD is not set"), "{}", ran.stderr);
    let figures = folder.path("figures.json");
    fs::write(&figures, "{\"study\": 3}").unwrap();
    let ran = run(&folder, &["--redraw", &figures]).exits(2);
    assert!(ran.stderr.contains("not the figures of a study"), "{}", ran.stderr);
    for bad in [["--points", "0"], ["--seconds", "0"], ["--nodes", "0"]] {
        run(&folder, &bad).exits(2);
    }
    let listed = run(&folder, &["--list"]).exits(0).stdout;
    assert!(listed.contains("three-nodes") && listed.lines().last().unwrap().starts_with("all "), "{listed}");
    assert!(!folder.0.join("out").exists());
}
