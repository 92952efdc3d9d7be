//! `durward lab agent`: real processes, killed where it hurts.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::{command, durward};

/// A directory with a key and a scenario, and a server that counts what it is asked.
struct Bench {
    folder: PathBuf,
    asked: Arc<AtomicU64>,
    headers: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    /// With these lines of `[load]`.
    fn new(name: &str, load: &str) -> Bench {
        let folder = std::env::temp_dir().join(format!("durward-agent-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, headers) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let bench = Bench { folder, asked: Arc::clone(&asked), headers: Arc::clone(&headers) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, headers) = (Arc::clone(&asked), Arc::clone(&headers));
                thread::spawn(move || {
                    let mut out = stream.try_clone().unwrap();
                    for line in BufReader::new(stream).lines().map_while(Result::ok) {
                        if line.starts_with("Authorization") {
                            headers.lock().unwrap().push(line.clone());
                        }
                        if line.is_empty() {
                            asked.fetch_add(1, Ordering::Relaxed);
                            if out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").is_err() {
                                return;
                            }
                        }
                    }
                });
            }
        });
        durward(&["lab", "agent", "--new-key", &bench.path("agent.key")]).exits(0);
        let text = format!(
            "name = \"agents\"\n[target]\naddresses = [\"{url}\"]\n[load]\nwarm_up = \"100ms\"\n{load}\n[[steps]]\npath = \"/\"\n\
             headers.Authorization = \"Bearer ${{env.DURWARD_TEST_SECRET}}\"\n"
        );
        std::fs::write(bench.path("agents.toml"), text).unwrap();
        bench
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// A run steered at these agents.
    fn leader(&self, agents: &[&Agent], more: &[&str]) -> Command {
        let (file, out, key) = (self.path("agents.toml"), self.path("out"), self.path("agent.key"));
        let mut words =
            vec!["lab", "run", &file, "--out", &out, "--skip-generator-limit", "--agent-key", &key];
        agents.iter().for_each(|agent| words.extend(["--agent", agent.address.as_str()]));
        words.extend(more);
        let mut command = command(&words);
        command.env("DURWARD_TEST_SECRET", "hunter2").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn record(&self) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.path("out/record.json")).unwrap()).unwrap()
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits until load is made.
    fn is_loaded(&self) {
        let (before, until) = (self.asked(), Instant::now() + Duration::from_secs(30));
        while self.asked() < before + 20 {
            assert!(Instant::now() < until, "no load came");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until no load is made any more; how long that took.
    fn is_left_alone(&self) -> Duration {
        let begun = Instant::now();
        loop {
            let (before, at) = (self.asked(), begun.elapsed());
            thread::sleep(Duration::from_millis(300));
            if self.asked() == before {
                return at;
            }
            assert!(at < Duration::from_secs(30), "load is still made");
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// An agent of its own process.
struct Agent {
    child: Child,
    address: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    fn start(bench: &Bench) -> Agent {
        let key = bench.path("agent.key");
        let mut child =
            command(&["lab", "agent", "--listen", "127.0.0.1:0", "--key", &key, "--threads", "1"])
                .env_remove("DURWARD_TEST_SECRET")
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("agent listens on ").unwrap().to_owned();
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Agent { child, address, said }
    }

    fn says(&self, what: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        while !self.said.lock().unwrap().iter().any(|line| line.contains(what)) {
            assert!(Instant::now() < until, "`{what}` is not in {:?}", self.said.lock().unwrap());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(name: &str, child: &Child) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn two_agents_measure_one_run() {
    let bench = Bench::new("two", "arrivals = { rate = [100, 200] }\nmeasure = \"500ms\"");
    let agents = [Agent::start(&bench), Agent::start(&bench)];
    let output = bench.leader(&[&agents[0], &agents[1]], &[]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let record = bench.record();
    for point in record["points"].as_array().unwrap() {
        let rate = point["load"]["arrivals"].as_f64().unwrap();
        assert_eq!(
            point["steps"][0]["answered"].as_f64(),
            Some(rate / 2.0),
            "{}",
            point["steps"][0]["failed"]
        );
        let by_agent = point["generator"]["agents"].as_array().unwrap();
        assert_eq!(by_agent.iter().map(|agent| agent["requests"].as_f64().unwrap()).sum::<f64>(), rate / 2.0);
    }
    let names: Vec<&str> = record["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|machine| machine["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["local", &agents[0].address, &agents[1].address]);
    // Both clocks are one clock here: what is said of it is as small as it is said to be uncertain, but for their steps.
    let (ahead, uncertain) =
        (&record["machines"][1]["clock_ahead_us"], &record["machines"][1]["clock_uncertain_us"]);
    assert!(
        ahead.as_i64().unwrap().unsigned_abs() <= 2 * uncertain.as_u64().unwrap() + 50,
        "{ahead} {uncertain}"
    );
    // A secret of the leader's environment reaches the target, and no file and no line.
    assert!(bench.headers.lock().unwrap().iter().all(|line| line == "Authorization: Bearer hunter2"));
    let lines = agents.iter().flat_map(|agent| agent.said.lock().unwrap().clone()).collect::<String>();
    assert!(
        !record.to_string().contains("hunter2") && !lines.contains("hunter2") && !said.contains("hunter2")
    );
    agents[0].says("waits for the next run");
    let report = bench.path("report");
    durward(&["lab", "report", &bench.path("out/record.json"), "--out", &report]).exits(0);
    let page = std::fs::read_to_string(format!("{report}/index.html")).unwrap();
    assert!(
        page.contains(&agents[0].address) && page.contains("known to"),
        "the report names agents and their clocks"
    );
}

#[test]
fn an_agent_that_is_killed_is_said_and_ends_the_run() {
    let bench = Bench::new("killed", "users = [4, 8]\nthink = \"5ms\"\nmeasure = \"60s\"");
    let (staying, mut going) = (Agent::start(&bench), Agent::start(&bench));
    let child = bench.leader(&[&staying, &going], &[]).spawn().unwrap();
    bench.is_loaded();
    thread::sleep(Duration::from_millis(500));
    going.child.kill().unwrap();
    let killed = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lost = format!("agent `{}` was lost", going.address);
    assert!(said.contains(&format!("cut short: {lost}")), "{said}");
    let record = bench.record();
    let points = record["points"].as_array().unwrap();
    assert_eq!(points.len(), 1);
    let mark = points[0]["marks"][0].to_string();
    assert!(mark.contains("cut_short") && mark.contains(&lost) && mark.contains("is missing"), "{mark}");
    assert!(points[0]["steps"][0]["answered"].as_u64() > Some(0));
    assert!(bench.is_left_alone() < Duration::from_secs(3));
    staying.says("waits for the next run");
}

#[test]
fn agents_stop_when_their_leader_is_killed_stopped_or_interrupted() {
    let bench = Bench::new("leader", "users = 4\nthink = \"5ms\"\nmeasure = \"60s\"");
    let agent = Agent::start(&bench);
    for (how, seconds) in [("-KILL", 3), ("-STOP", 5), ("-INT", 4)] {
        let mut child = bench.leader(&[&agent], &["-q"]).spawn().unwrap();
        bench.is_loaded();
        // Past the warm-up, so that something is measured.
        thread::sleep(Duration::from_millis(500));
        signal(how, &child);
        let time = bench.is_left_alone();
        assert!(time < Duration::from_secs(seconds), "{how}: {time:?}");
        if how == "-INT" {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("cut short: the run was stopped"), "{said}");
            assert!(bench.record()["points"][0]["steps"][0]["answered"].as_u64() > Some(0));
        } else {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    agent.says("it was not heard of for 2 s");
}

#[test]
fn wrong_keys_and_absent_agents_are_bad_input() {
    let bench = Bench::new("wrong", "users = 1\nmeasure = \"1s\"");
    let agent = Agent::start(&bench);
    let (file, out, key) = (bench.path("agents.toml"), bench.path("out"), bench.path("agent.key"));
    let other = bench.path("other.key");
    durward(&["lab", "agent", "--new-key", &other]).exits(0);
    let run = |words: &[&str]| {
        let output = command(&["lab", "run", &file, "--out", &out])
            .args(words)
            .env("DURWARD_TEST_SECRET", "x")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run(&["--agent", &agent.address, "--agent-key", &other]);
    assert!(
        said.contains(&format!("agent `{}` refuses: the proof of the key is wrong", agent.address)),
        "{said}"
    );
    agent.says("refused: the proof of the key is wrong");
    let said = run(&["--agent", &agent.address]);
    assert!(said.contains("has no key") && said.contains("--agent-key FILE"), "{said}");
    let said = run(&["--agent", "127.0.0.1:1", "--agent-key", &key]);
    assert!(said.contains("agent `127.0.0.1:1` cannot be reached"), "{said}");
    let said = run(&["--agent", &agent.address, "--agent", &agent.address, "--agent-key", &key]);
    assert!(said.contains("is named twice"), "{said}");
    assert_eq!(bench.asked(), 0, "nobody without the key has load made");
    let text = std::fs::read_to_string(&key).unwrap();
    durward(&["lab", "agent", "--new-key", &key]).exits(2);
    assert_eq!(std::fs::read_to_string(&key).unwrap(), text);
    durward(&["lab", "agent", "--listen", "127.0.0.1:0"]).exits(2);
    durward(&["lab", "agent", "--listen", "nowhere", "--key", &key]).exits(2);
    durward(&["lab", "agent", "--listen", "127.0.0.1:0", "--key", &file]).exits(2);
}

#[test]
fn a_scenario_names_agents_and_their_key() {
    let bench = Bench::new("named", "users = 2\nthink = \"10ms\"\nmeasure = \"300ms\"");
    let agent = Agent::start(&bench);
    let file = bench.path("agents.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let table = format!(
        "[[agents]]\naddress = \"{}\"\nkey = \"agent.key\"\n[[agents]]\naddress = \"local\"\n",
        agent.address
    );
    std::fs::write(&file, format!("{text}{table}")).unwrap();
    let output = command(&["lab", "run", &file, "--out", &bench.path("out"), "--skip-generator-limit", "-q"])
        .env("DURWARD_TEST_SECRET", "hunter2")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let record = bench.record();
    let agents = record["points"][0]["generator"]["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, [agent.address.as_str(), "local"]);
    assert!(agents.iter().all(|agent| agent["requests"].as_u64() > Some(5)), "{agents:?}");
}
