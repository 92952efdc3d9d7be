//! Agents against real sockets: what they measure together is what one generator would have.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use durward_lab::agent::{Address, AgentHosting, AgentKey, Agents, LOCAL, serve};
use durward_lab::record::{LatencyRecord, MeasuredPoint, MeasuredSecond, PointWarning, RunRecord};
use durward_lab::run::{NoWatcher, RunOptions, RunPosition, RunSecond, RunWatcher, run};
use durward_lab::scenario::Scenario;

use super::run::server::{Server, ok};

/// Agents on threads of the test, and a key file.
struct Hosts {
    folder: PathBuf,
    agents: Agents,
    stop: Arc<AtomicBool>,
    said: Arc<Mutex<Vec<String>>>,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Hosts {
    fn start(count: usize) -> Hosts {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("durward-lab-agents-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("agent.key");
        AgentKey::write_new(&file).unwrap();
        let key = AgentKey::read(&file).unwrap();
        let (stop, said) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let mut addresses = Vec::new();
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            addresses.push(Address { address, key: Some(key.clone()) });
            let lines = Arc::clone(&said);
            let hosting = AgentHosting {
                key: key.clone(),
                may_load: Vec::new(),
                threads: Some(1),
                version: String::new(),
                now_unix_us: || 0,
                stop: Arc::clone(&stop),
                say: Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())),
            };
            thread::spawn(move || serve(&listener, hosting).unwrap());
        }
        Hosts { folder, agents: Agents { addresses, now_unix_us: None }, stop, said }
    }

    fn options(&self) -> RunOptions {
        RunOptions { generator_limit: Duration::ZERO, agents: self.agents.clone(), ..RunOptions::default() }
    }

    fn run(&self, text: &str) -> RunRecord {
        let scenario = Scenario::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&scenario.in_folder(&self.folder), &self.options(), &mut NoWatcher).unwrap()
    }

    /// The same by this process alone.
    fn run_here(&self, text: &str) -> RunRecord {
        let options = RunOptions { agents: Agents::default(), ..self.options() };
        run(&Scenario::read(text).unwrap().in_folder(&self.folder), &options, &mut NoWatcher).unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn scenario(addresses: &[&str], load: &str, step: &str) -> String {
    format!(
        "[target]\naddresses = {addresses:?}\n[load]\nwarm_up = \"200ms\"\nmeasure = \"1s\"\n{load}\n[[steps]]\nname = \"ask\"\n{step}"
    )
}

/// How many requests were due.
fn due(point: &MeasuredPoint) -> u64 {
    point.answered() + point.failed()
}

#[test]
fn all_arrivals_of_a_log_come_once() {
    let hosts = Hosts::start(2);
    let server = Server::plain();
    let moments: Vec<String> = (0..301).map(|at| format!("{}", f64::from(at) * 0.003)).collect();
    fs::write(hosts.folder.join("times.csv"), moments.join("\n")).unwrap();
    let load = "arrivals = { replay = \"times.csv\" }".to_owned();
    let text =
        scenario(&[&server.url], &load, "path = \"/\"").replace("warm_up = \"200ms\"", "warm_up = \"0s\"");
    let record = hosts.run(&text);
    let point = &record.points[0];
    // The same number everywhere: at the server, in the sum, by agent, by node, second by second.
    assert_eq!((due(point), point.answered(), server.count.load(Ordering::Relaxed)), (301, 301, 301));
    let by_agent: Vec<u64> = point.generator.agents.iter().map(|agent| agent.requests).collect();
    assert_eq!(by_agent, [151, 150]);
    assert_eq!(point.by_node[0].answered, 301);
    assert_eq!(point.seconds.iter().map(|second| second.answered).sum::<u64>(), 301);
    assert_eq!((point.since_due().count(), point.steps[0].since_sent.count()), (301, 301));
    assert_eq!(record.cut_short, None);
    let names: Vec<&str> = record.machines.iter().map(|machine| machine.name.as_str()).collect();
    let addresses: Vec<&str> = hosts.agents.addresses.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(names, [LOCAL, addresses[0], addresses[1]]);
    assert!(
        record.machines[1].cores > 0 && record.machines[1].clock_uncertain_us > 0,
        "{:?}",
        record.machines
    );
}

#[test]
fn arrivals_of_two_agents_are_those_of_one_generator() {
    let hosts = Hosts::start(2);
    let server = Server::plain();
    for shape in [
        "rate = 300",
        "rate = 300, distribution = \"poisson\"",
        "steps = [{ rate = 100, for = \"300ms\" }, { rate = 500, for = \"300ms\" }]",
        "burst = 25, every = \"100ms\"",
    ] {
        let text = scenario(&[&server.url], &format!("arrivals = {{ {shape} }}"), "path = \"/\"");
        let (ours, alone) = (hosts.run(&text), hosts.run_here(&text));
        // Every moment follows from the seed: not about as many, but as many.
        assert_eq!(due(&ours.points[0]), due(&alone.points[0]), "{shape}");
        assert_eq!(ours.points[0].load, alone.points[0].load);
        let agents = &ours.points[0].generator.agents;
        assert!(agents[0].requests.abs_diff(agents[1].requests) <= 1, "{agents:?}");
    }
}

/// Users of the one agent all go to a fast node, those of the other to a slow one.
#[test]
fn percentiles_are_those_of_all_requests_and_no_mean() {
    let hosts = Hosts::start(2);
    let fast = Server::plain();
    let slow = Server::start(|_| {
        thread::sleep(Duration::from_millis(40));
        ok("{}")
    });
    let text = scenario(&[&fast.url, &slow.url], "users = 6\nthink = \"2ms\"", "path = \"/\"");
    let point = hosts.run(&text).points.remove(0);
    assert_eq!(point.by_node.len(), 2);
    let by_node: Vec<u64> = point.by_node.iter().map(|node| node.answered).collect();
    let by_agent: Vec<u64> = point.generator.agents.iter().map(|agent| agent.requests).collect();
    assert_eq!(by_node, by_agent);
    assert_eq!(point.since_due(), LatencyRecord::merged(point.by_node.iter().map(|node| &node.since_due)));
    let percentile = |percent| point.since_due().percentile_ns(percent);
    assert!(percentile(50.0) < 20_000_000 && percentile(99.9) >= 40_000_000, "{by_node:?}");
}

#[test]
fn users_rows_and_secrets_reach_the_target_and_nothing_else() {
    let hosts = Hosts::start(2);
    let (server, asked) = Server::recording(|_| ok("{}"));
    let rows: String = (0..7).map(|at| format!("name-{at}\n")).collect();
    fs::write(hosts.folder.join("people.csv"), format!("name\n{rows}")).unwrap();
    fs::write(hosts.folder.join("secret.txt"), "hunter2\n").unwrap();
    let step = "path = \"/${user}/${data.people.name}/${request}\"\nheaders.Authorization = \"Bearer ${file:secret.txt}\"";
    let text = scenario(&[&server.url], "users = 7\nthink = \"10ms\"", step);
    let record = hosts.run(&format!("{text}\n[data.people]\nfile = \"people.csv\"\n"));
    let asked = asked.lock().unwrap();
    let mut users = BTreeSet::new();
    let mut requests = BTreeSet::new();
    for one in asked.iter() {
        assert_eq!(one.header("authorization"), Some("Bearer hunter2"));
        let parts: Vec<&str> = one.line.split('/').collect();
        assert_eq!(parts[2], format!("name-{}", parts[1]), "each user has a row of their own");
        users.insert(parts[1].to_owned());
        assert!(requests.insert(parts[3].to_owned()), "{} was asked twice", one.line);
    }
    assert_eq!(users.len(), 7);
    let json = record.to_json().unwrap();
    let said = hosts.said.lock().unwrap().join("\n");
    assert!(!json.contains("hunter2") && !said.contains("hunter2"), "{said}");
    // Nor is anything of it where an agent might have put it.
    assert_eq!(fs::read_dir(&hosts.folder).unwrap().count(), 3);
}

#[test]
fn each_second_comes_while_it_goes_on_and_the_limit_is_that_of_all() {
    #[derive(Default)]
    struct Seen(Vec<MeasuredSecond>);
    impl RunWatcher for Seen {
        fn second(&mut self, _: &RunPosition, moment: &RunSecond) {
            // Steps and nodes come from agents as well.
            let steps: u64 = moment.steps.iter().map(|step| step.answered).sum();
            let nodes: u64 = moment.nodes.iter().map(|node| node.answered).sum();
            assert_eq!((steps, nodes), (moment.second.answered, moment.second.answered));
            self.0.push(moment.second);
        }
    }
    let mut hosts = Hosts::start(1);
    hosts.agents.addresses.push(Address { address: LOCAL.into(), key: None });
    let server = Server::plain();
    let text =
        scenario(&[&server.url], "arrivals = { rate = 200 }", "path = \"/\"").replace("\"1s\"", "\"2s\"");
    let options = RunOptions { generator_limit: Duration::from_millis(200), ..hosts.options() };
    let mut seen = Seen::default();
    let record = run(&Scenario::read(&text).unwrap(), &options, &mut seen).unwrap();
    let told: Vec<u64> = seen
        .0
        .iter()
        .filter(|second| second.at_s > -0.001 && second.at_s < 1.9)
        .map(|second| second.answered)
        .collect();
    assert_eq!(told.len(), 2, "{:?}", seen.0);
    assert!(told.iter().all(|answered| answered.abs_diff(200) <= 30), "{told:?}");
    let limits: Vec<f64> = record.machines.iter().filter_map(|machine| machine.requests_per_s).collect();
    let whole = record.generator_limit.unwrap();
    assert!(
        limits.len() == 2 && (limits.iter().sum::<f64>() - whole.requests_per_s).abs() < 1e-6,
        "{limits:?}"
    );
    assert_eq!(record.points[0].generator.agents[1].name, LOCAL);
}

#[test]
fn a_warm_up_that_ends_by_itself_ends_for_all_at_once() {
    let hosts = Hosts::start(2);
    // Waits that are alike whoever else uses the machine.
    let server = Server::start(|_| {
        thread::sleep(Duration::from_millis(20));
        ok("{}")
    });
    let text = scenario(&[&server.url], "arrivals = { rate = 400 }", "path = \"/\"")
        .replace("warm_up = \"200ms\"", "warm_up = \"auto\"");
    let point = hosts.run(&text).points.remove(0);
    assert!(point.warm_up_s >= 5.0 && (point.measured_s - 1.0).abs() < 1e-9, "{}", point.warm_up_s);
    assert_eq!(due(&point), 400);
    let measured: Vec<&MeasuredSecond> =
        point.seconds.iter().filter(|second| second.at_s.abs() < 0.001).collect();
    assert!(measured.len() == 1 && measured[0].answered.abs_diff(400) <= 40, "{measured:?}");
}

#[test]
fn fewer_users_than_agents_are_as_many_all_the_same() {
    let hosts = Hosts::start(3);
    let server = Server::plain();
    let text = scenario(&[&server.url], "users = [1, 2]\npace = \"50ms\"", "path = \"/\"");
    let record = hosts.run(&text);
    for (users, due_at) in [(1, 20), (2, 40)] {
        let load = durward_lab::record::PointLoad::Users(users);
        let point = record.points.iter().find(|point| point.load == load).unwrap();
        assert_eq!(due(point), due_at);
        let busy = point.generator.agents.iter().filter(|agent| agent.requests > 0).count();
        assert_eq!(busy as u64, users);
    }
    let text = scenario(&[&server.url], "arrivals = { rate = 9 }\nconnections = 2", "path = \"/\"");
    let error = run(&Scenario::read(&text).unwrap(), &hosts.options(), &mut NoWatcher).unwrap_err();
    assert!(error.to_string().contains("3 agents cannot share 2 places"), "{error}");
}

/// An agent that is stopped while a point is measured ends the point and the run.
#[test]
fn an_agent_that_ends_is_said_and_ends_the_run() {
    let (staying, going) = (Hosts::start(1), Hosts::start(1));
    // Both with the key of the first.
    let server = Server::plain();
    let mut agents = staying.agents.clone();
    agents.addresses.extend(going.agents.addresses.clone());
    let lost = going.agents.addresses[0].address.clone();
    let stop = Arc::clone(&going.stop);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(2500));
        stop.store(true, Ordering::Relaxed);
    });
    let text = scenario(&[&server.url], "users = [4, 6]\nthink = \"5ms\"", "path = \"/\"")
        .replace("\"1s\"", "\"20s\"");
    let options = RunOptions { agents, ..staying.options() };
    let record = run(&Scenario::read(&text).unwrap(), &options, &mut NoWatcher).unwrap();
    assert_eq!(record.points.len(), 1);
    let point = &record.points[0];
    assert!(point.measured_s < 10.0 && point.answered() > 0 && !point.is_fitted(), "{}", point.measured_s);
    let said = format!("agent `{lost}` says: the agent was stopped");
    let is_said = |mark: &PointWarning| matches!(mark, PointWarning::CutShort(why) if why.starts_with(&said));
    assert!(point.marks.iter().any(is_said), "{:?}", point.marks);
    assert_eq!(record.cut_short, Some(said));
    // What the other one measured is kept.
    assert_eq!(point.generator.agents.len(), 1);
}
