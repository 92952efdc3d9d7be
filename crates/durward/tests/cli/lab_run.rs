//! `durward lab init`, `run` and `rerun`: from an address to a record.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary::binary;
use crate::{command, durward};

/// A directory of a test's own.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that answers `{}` to whatever it is asked without a body, for as long as the test runs.
pub(crate) fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if line.is_empty()
                        && out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// A scenario that `init` wrote, made short.
fn scenario(folder: &Folder, url: &str) -> String {
    let file = folder.path("own.toml");
    let said = durward(&["lab", "init", url, "--out", &file]).exits(0).stdout;
    assert!(said.contains("answered 200") && said.contains(&format!("durward lab run {file}\n")), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    let short = text
        .replace("[1, 2, 5, 10, 20, 50]", "[1, 2]")
        .replace("\"2s\"", "\"0s\"")
        .replace("\"5s\"", "\"200ms\"");
    assert_ne!(short, text);
    std::fs::write(&file, short).unwrap();
    file
}

#[test]
fn what_init_writes_can_be_run_and_run_again() {
    let folder = Folder::new("again");
    let file = scenario(&folder, &format!("{}/page?a=1", server()));
    let out = folder.path("out");
    let ran = durward(&["lab", "run", &file, "--out", &out, "--skip-generator-limit"]).exits(0);
    assert!(ran.stderr.contains("[2/2]"), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[1].contains("1 user") && lines[2].contains("2 users"), "{}", ran.stdout);
    assert!(ran.stdout.contains("threshold kept   errors <= 1%"), "{}", ran.stdout);
    let record = format!("{out}/record.json");
    let again = folder.path("again");
    let ran = durward(&["lab", "rerun", &record, "--out", &again, "--json", "--skip-generator-limit", "-q"])
        .exits(0);
    assert_eq!(ran.stderr, "");
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (first, second) = (read(&std::fs::read_to_string(&record).unwrap()), read(&ran.stdout));
    assert_eq!(first["about"]["scenario"], second["about"]["scenario"]);
    assert_eq!(second["points"].as_array().unwrap().len(), 2);
    assert!(second["about"]["started_unix_ms"].as_u64().unwrap() > 1_700_000_000_000);
    // An earlier record is kept.
    durward(&["lab", "rerun", &record, "--out", &out, "--skip-generator-limit", "-q"]).exits(0);
    assert!(PathBuf::from(format!("{out}/record.before.json")).exists());
}

#[test]
fn broken_thresholds_are_a_difference() {
    let folder = Folder::new("broken");
    let file = scenario(&folder, &server());
    let text = std::fs::read_to_string(&file).unwrap().replace("errors = \"1%\"", "rate = 100000000");
    std::fs::write(&file, text).unwrap();
    let ran = durward(&["lab", "run", &file, "--out", &folder.path("out"), "--skip-generator-limit", "-q"])
        .exits(1);
    assert!(ran.stdout.contains("threshold BROKEN rate >= 100000000/s"), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_run_is_bad_input() {
    let folder = Folder::new("bad");
    let file = folder.path("bad.toml");
    std::fs::write(&file, "[load]\nusres = 1\n").unwrap();
    let ran = durward(&["lab", "run", &file]).exits(2);
    assert_eq!(
        ran.stderr,
        format!("durward: error: {file}: line 2: `usres` is unknown; did you mean `users`?\n")
    );
    std::fs::write(
        &file,
        "[target]\naddresses = [\"http://192.0.2.1\"]\n[load]\nusers = 1\n[[steps]]\npath = \"/\"\n",
    )
    .unwrap();
    let (record, before) = (folder.path("out/record.json"), folder.path("out/record.before.json"));
    std::fs::create_dir_all(folder.path("out")).unwrap();
    std::fs::write(&record, "earlier").unwrap();
    durward(&["lab", "run", &file, "--out", &folder.path("out")]).exits(2).complains(
        "`192.0.2.1` is not this machine: load it only with leave, by `--i-may-load 192.0.2.1`",
        "load on servers of others is an attack: ask them first",
    );
    // A run that does not start leaves the record of the one before where it is.
    assert_eq!(std::fs::read_to_string(record).unwrap(), "earlier");
    assert!(!PathBuf::from(before).exists());
    let ran = durward(&["lab", "run", &file, "--out", "/proc/no-such-directory"]).exits(2);
    assert!(
        ran.stderr.starts_with("durward: error: cannot write to /proc/no-such-directory: "),
        "{}",
        ran.stderr
    );
    durward(&["lab", "init", "http://127.0.0.1:1/", "--out", &folder.path("new.toml")]).exits(2);
    durward(&["lab", "init", &server(), "--out", &file]).exits(2);
}

/// What was never answered took no time that could be told.
#[test]
fn without_an_answer_there_are_no_percentiles() {
    let folder = Folder::new("refused");
    let file = scenario(&folder, &server());
    let (head, rest) = {
        let text = std::fs::read_to_string(&file).unwrap();
        let (head, rest) = text.split_once("addresses = [").unwrap();
        (head.to_owned(), rest.split_once(']').unwrap().1.to_owned())
    };
    // It takes connections and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    thread::spawn(move || silent.incoming().for_each(drop));
    // No threshold says that something has to be answered.
    let rest = rest.replace("errors = \"1%\"", "");
    std::fs::write(&file, format!("{head}addresses = [\"http://{address}\"]{rest}")).unwrap();
    let ran = durward(&["lab", "run", &file, "--out", &folder.path("out"), "--skip-generator-limit", "-q"])
        .exits(1);
    let line = ran.stdout.lines().find(|line| line.contains("1 user ")).unwrap_or_default();
    assert!(line.contains('–') && !line.contains("0.00 ms") && line.contains("100.00%"), "{}", ran.stdout);
    assert!(ran.stdout.contains("not one request was answered as expected"), "{}", ran.stdout);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let folder = Folder::new("interrupt");
    let file = scenario(&folder, &server());
    let text = std::fs::read_to_string(&file).unwrap().replace("\"200ms\"", "\"60s\"");
    std::fs::write(&file, text).unwrap();
    let out = folder.path("out");
    let begun = Instant::now();
    let child = command(&["lab", "run", &file, "--out", &out, "--skip-generator-limit", "-q"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cut short: the run was stopped"), "{said}");
    assert!(
        std::fs::read_to_string(format!("{out}/record.json"))
            .unwrap()
            .contains("\"cut_short\":\"the run was stopped\"")
    );
}

/// From a command to a record of its nodes, and from that to everything that reads records.
#[test]
fn this_program_is_measured_as_one_node_and_as_two() {
    let folder = Folder::new("nodes");
    let policies = folder.path("policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::write(folder.path("policies/all.sapl"), "policy \"all\" permit").unwrap();
    let (program, file, out) = (binary(), folder.path("nodes.toml"), folder.path("out"));
    let text = format!(
        "name = \"nodes\"\n[target]\ncommand = [{program:?}, \"serve\", \"--policies\", {policies:?}, \"--listen\", \"127.0.0.1:{{port}}\"]\n\
         ready = \"/health/ready\"\nnodes = [1, 2]\n[load]\nusers = [2, 4]\nbalance = \"round-robin\"\nwarm_up = \"100ms\"\n\
         measure = \"1s\"\n[[steps]]\nname = \"live\"\npath = \"/health/live\"\n"
    );
    std::fs::write(&file, text).unwrap();
    durward(&["lab", "run", &file, "--out", &out, "--skip-generator-limit"]).exits(0);
    let record = folder.path("out/record.json");
    let read: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    let points = read["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        let by_node = point["by_node"].as_array().unwrap();
        assert_eq!(by_node.len() as u64, point["nodes"].as_u64().unwrap());
        // Each node answered, and used processor time and memory of its own.
        for node in by_node {
            assert!(node["answered"].as_u64() > Some(0), "{node}");
            assert!(
                node["used"]["cpu_s"].as_f64() > Some(0.0) && node["used"]["memory_bytes"].as_u64() > Some(0)
            );
        }
    }
    let report = folder.path("report");
    durward(&["lab", "report", &record, "--out", &report]).exits(0);
    let page = std::fs::read_to_string(folder.path("report/index.html")).unwrap();
    assert!(page.contains("1 node") && page.contains("2 nodes") && page.contains("4 users"));
    // Two points a curve are no law, and without one there is no plan.
    let fitted = durward(&["lab", "fit", &record, "--json"]).exits(1).stdout;
    assert!(fitted.contains("few-points"), "{fitted}");
    let planned = durward(&["lab", "plan", &record, "--rate", "100"]).exits(1).stdout;
    assert!(planned.starts_with("No plan: no law was fitted"), "{planned}");
    let said = durward(&["lab", "compare", &record, &record]).exits(0).stdout;
    assert!(said.contains("1 node, 2 users"), "{said}");
    let simulated =
        durward(&["lab", "simulate", "--from", &record, "--nodes", "3", "--seconds", "2"]).exits(0);
    assert!(simulated.stdout.contains("3 nodes"), "{}", simulated.stdout);
}
