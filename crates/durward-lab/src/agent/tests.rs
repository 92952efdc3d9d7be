//! The agent's listener against peers without the key, over real sockets.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::channel::{AgentChannel, ChannelError, server_config};
use super::key::{AgentKey, ProofSide};
use super::message::{AgentHello, LeaderHello, PROTOCOL, ToAgent, ToLeader};
use super::{Address, AgentCrew, AgentHosting, AgentTask, Agents, serve};
use crate::load::{LoadGenerators, LoadObserver, LoadPlan, LoadSetup, LoadShare, SecondTally, TargetNode};
use crate::machine::{MachineFacts, MachineIdentity};
use crate::record::MeasuredSecond;
use crate::run::RunError;
use crate::scenario::{NodeChoice, Scenario, SentScenario, Tls};

/// An agent on a thread of the test.
pub(super) struct Host {
    pub(super) address: SocketAddr,
    pub(super) key: AgentKey,
    said: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
}

impl Host {
    pub(super) fn start(may_load: &[&str]) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (key, said) = (AgentKey::random().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (stop, lines) = (Arc::new(AtomicBool::new(false)), Arc::clone(&said));
        let hosting = AgentHosting {
            key: key.clone(),
            may_load: may_load.iter().map(|host| (*host).to_owned()).collect(),
            threads: None,
            version: "1.0.0".to_owned(),
            now_unix_us: || 0,
            stop: Arc::clone(&stop),
            say: Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())),
        };
        thread::spawn(move || serve(&listener, hosting).unwrap());
        Host { address, key, said, stop }
    }

    fn agents(&self, address: SocketAddr, key: &AgentKey) -> Agents {
        let address = Address { address: address.to_string(), key: Some(key.clone()) };
        Agents { addresses: vec![address], now_unix_us: None }
    }

    pub(super) fn crew(&self, version: &str) -> Result<AgentCrew, RunError> {
        AgentCrew::gather(&self.agents(self.address, &self.key), version, &[])
    }

    /// Why nobody could be steered at this address with this key.
    fn refusal(&self, address: SocketAddr, key: &AgentKey) -> String {
        AgentCrew::gather(&self.agents(address, key), "1.0.0", &[]).map(drop).unwrap_err().to_string()
    }

    /// Waits until the agent has said this.
    fn says(&self, what: &str) {
        let until = Instant::now() + Duration::from_secs(15);
        while !self.said.lock().unwrap().iter().any(|line| line.contains(what)) {
            assert!(Instant::now() < until, "`{what}` is not in {:?}", self.said.lock().unwrap());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A connection that has proven to have the key, and does what the test wants.
    fn leader(&self) -> AgentChannel {
        let socket = TcpStream::connect(self.address).unwrap();
        let mut channel = AgentChannel::connect(socket, soon()).unwrap();
        let proof = self.key.proof(ProofSide::Leader, &channel.binding().unwrap());
        let hello = LeaderHello { protocol: PROTOCOL, version: "1.0.0".into(), proof };
        channel.send(&hello).unwrap();
        let greeting: Option<AgentHello> = channel.receive(Duration::from_secs(5)).unwrap();
        assert!(matches!(greeting, Some(AgentHello::Welcome { .. })), "{greeting:?}");
        channel.trust();
        channel
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

const SCENARIO: &str = "[load]\nusers = 1\nmeasure = \"100ms\"\nwarm_up = \"0s\"\n[[steps]]\npath = \"/\"\n";

#[test]
fn another_key_is_refused() {
    let host = Host::start(&[]);
    let said = host.refusal(host.address, &AgentKey::random().unwrap());
    assert!(said.contains("refuses: the proof of the key is wrong"), "{said}");
    host.says("refused: the proof of the key is wrong");
    // The right one still gets in.
    host.crew("1.0.0").unwrap();
}

#[test]
fn another_version_is_refused_in_words() {
    let host = Host::start(&[]);
    let said = host.crew("2.0.0").map(drop).unwrap_err().to_string();
    let words = "the agent is durward 1.0.0 (protocol 1) and the leader durward 2.0.0 (protocol 1): run the same version";
    assert!(said.contains(words), "{said}");
}

/// Somebody who hands on what both say has two TLS connections, so the leader's proof is of the wrong one.
#[test]
fn somebody_between_is_refused() {
    let host = Host::start(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (between, agent) = (listener.local_addr().unwrap(), host.address);
    let relay = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut leader = AgentChannel::accept(socket, server_config().unwrap(), soon()).unwrap();
        let mut agent = AgentChannel::connect(TcpStream::connect(agent).unwrap(), soon()).unwrap();
        assert_ne!(leader.binding().unwrap(), agent.binding().unwrap());
        let hello: serde_json::Value = leader.receive(Duration::from_secs(5)).unwrap().unwrap();
        agent.send(&hello).unwrap();
        let greeting: serde_json::Value = agent.receive(Duration::from_secs(5)).unwrap().unwrap();
        leader.send(&greeting).unwrap();
        greeting.to_string()
    });
    let said = host.refusal(between, &host.key);
    assert!(said.contains("or somebody is between them"), "{said}");
    assert!(relay.join().unwrap().contains("refused"));
    host.says("refused: the proof of the key is wrong");
}

/// Somebody without the key plays an agent: sends back the leader's own proof, or any.
#[test]
fn an_agent_that_does_not_prove_the_key_is_sent_nothing() {
    let host = Host::start(&[]);
    for is_echo in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let player = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut channel = AgentChannel::accept(socket, server_config().unwrap(), soon()).unwrap();
            let hello: LeaderHello = channel.receive(Duration::from_secs(5)).unwrap().unwrap();
            let proof = if is_echo { hello.proof } else { String::new() };
            let machine = Box::new(MachineFacts::this().info(""));
            channel.send(&AgentHello::Welcome { proof, machine, identity: MachineIdentity::this() }).unwrap();
            channel.trust();
            channel.receive::<ToAgent>(Duration::from_secs(5))
        });
        let said = host.refusal(address, &host.key);
        assert!(said.contains("does not prove to have the key"), "{said}");
        assert!(matches!(player.join().unwrap(), Err(ChannelError::Closed)));
    }
}

#[test]
fn garbage_is_closed_and_said() {
    let host = Host::start(&[]);
    let mut socket = TcpStream::connect(host.address).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // An alert of TLS at most, then the end.
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.len() < 100, "{answer:?}");
    host.says("refused: it does not speak as agents and leaders do");
    // TLS, but no message of ours.
    let mut channel = AgentChannel::connect(TcpStream::connect(host.address).unwrap(), soon()).unwrap();
    channel.send(&"hello").unwrap();
    host.says("refused: it sent what is no message");
    let said = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            // Whoever closes with something unread resets the connection, and what was said is lost.
            let _ = socket.read(&mut [0; 4096]).unwrap();
            socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
            let _ = socket.read(&mut [0; 4096]);
        });
        host.refusal(address, &host.key)
    };
    assert!(said.contains("is no agent of durward"), "{said}");
}

/// Neither those who say nothing nor those who say a byte now and then hold a connection for longer than five seconds.
#[test]
fn slow_strangers_are_closed_in_time() {
    let host = Host::start(&[]);
    let begun = Instant::now();
    let mut silent = TcpStream::connect(host.address).unwrap();
    let mut slow = TcpStream::connect(host.address).unwrap();
    let drip = thread::spawn(move || {
        // The begin of a record of TLS that never becomes whole.
        for byte in [22_u8, 3, 1, 2, 0].into_iter().chain([0; 200]) {
            if slow.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let half = AgentChannel::connect(TcpStream::connect(host.address).unwrap(), soon()).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let _ = silent.read(&mut [0; 64]);
    host.says("refused: it did not prove to have the key in time");
    let held = begun.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(9)).contains(&held), "{held:?}");
    drip.join().unwrap();
    // The third is held open until it is late as well: it connected last.
    let late = || host.said.lock().unwrap().iter().filter(|line| line.contains("in time")).count();
    let until = Instant::now() + Duration::from_secs(10);
    while late() < 3 {
        assert!(Instant::now() < until, "{:?}", host.said.lock().unwrap());
        thread::sleep(Duration::from_millis(20));
    }
    drop(half);
    host.crew("1.0.0").unwrap();
}

#[test]
fn strangers_are_few() {
    let host = Host::start(&[]);
    let all: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(host.address).unwrap()).collect();
    host.says("refused: 16 others have not proven to have the key yet");
    drop(all);
    let until = Instant::now() + Duration::from_secs(10);
    while host.crew("1.0.0").is_err() {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_leader_is_told_to_wait() {
    let host = Host::start(&[]);
    let first = host.crew("1.0.0").unwrap();
    let said = host.crew("1.0.0").map(drop).unwrap_err().to_string();
    assert!(said.contains("serves another run, steered from 127.0.0.1:"), "{said}");
    drop(first);
    host.says("waits for the next run");
    host.crew("1.0.0").unwrap();
}

#[test]
fn long_messages_are_not_read() {
    let host = Host::start(&[]);
    let mut stranger = AgentChannel::connect(TcpStream::connect(host.address).unwrap(), soon()).unwrap();
    stranger.send(&"x".repeat(5000)).unwrap();
    host.says("refused: it sent a message of 5002 bytes, which is too long");
    let mut leader = host.leader();
    leader.send_raw(&u32::MAX.to_be_bytes()).unwrap();
    host.says("it sent a message of 4294967295 bytes, which is too long");
    let mut leader = host.leader();
    let files = vec![("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)];
    leader.send(&ToAgent::Scenario { text: SCENARIO.into(), variables: BTreeMap::new(), files }).unwrap();
    host.says("bytes, and 67108864 are allowed");
    // More than was announced.
    let mut leader = host.leader();
    let files = vec![("a".to_owned(), 2)];
    leader.send(&ToAgent::Scenario { text: SCENARIO.into(), variables: BTreeMap::new(), files }).unwrap();
    leader.send(&ToAgent::Bytes { base64: "AAAA".into() }).unwrap();
    host.says("it sent more bytes than its files have");
}

#[test]
fn a_leader_that_says_nothing_is_given_up() {
    let host = Host::start(&[]);
    let begun = Instant::now();
    let leader = host.leader();
    host.says("it was not heard of for 2 s");
    assert!(begun.elapsed() < Duration::from_secs(6));
    drop(leader);
    let mut leader = host.leader();
    leader.send(&ToAgent::Limit { measure_ms: 1 }).unwrap();
    host.says("it asked for load without a scenario");
}

#[test]
fn what_is_no_scenario_is_said_by_the_agent() {
    let host = Host::start(&[]);
    let mut leader = host.leader();
    let text = "[load]\nusres = 1\n".to_owned();
    leader.send(&ToAgent::Scenario { text, variables: BTreeMap::new(), files: Vec::new() }).unwrap();
    let answer: ToLeader = leader.receive(Duration::from_secs(5)).unwrap().unwrap();
    let ToLeader::Failed { why } = answer else { panic!("{answer:?}") };
    assert!(why.contains("`usres` is unknown"), "{why}");
}

/// Whatever the leader says, only the agent's own list decides.
#[test]
fn the_agent_alone_decides_which_hosts_it_loads() {
    let scenario = Scenario::read(SCENARIO).unwrap();
    // TEST-NET-1 (RFC 5737) belongs to nobody.
    let nodes = [TargetNode::resolve("http://192.0.2.1").unwrap()];
    let plan = LoadPlan::new(&scenario, &BTreeMap::new(), &nodes).unwrap();
    let task = AgentTask {
        vary: BTreeMap::new(),
        balance: NodeChoice::Sticky,
        askers: LoadGenerators::Users(1),
        trial: None,
        seed: 1,
        nodes: vec!["http://192.0.2.1".into()],
        share: LoadShare::default(),
    };
    let (load, folder) = (&scenario.load, &scenario.folder);
    let setup =
        LoadSetup::new(&plan, load, NodeChoice::Sticky, &task.askers, 1, &Tls::default(), folder).unwrap();
    for (may_load, is_allowed) in [(["192.0.2.2"], false), (["192.0.2.1"], true)] {
        let host = Host::start(&may_load);
        let agents = host.agents(host.address, &host.key);
        let mut crew = AgentCrew::gather(&agents, "1.0.0", &["192.0.2.1".to_owned()]).unwrap();
        crew.load(&scenario, &SentScenario::default()).unwrap();
        let measured = crew.measure(&setup, &task, &mut Stopped);
        match measured {
            Ok(_) => assert!(is_allowed),
            Err(error) => {
                let said = error.to_string();
                assert!(!is_allowed && said.contains("started with `--i-may-load 192.0.2.1`"), "{said}");
            }
        }
    }
}

/// Ends at once.
struct Stopped;

impl LoadObserver for Stopped {
    fn second(&mut self, _: &MeasuredSecond, _: &SecondTally) {}
    fn begin(&mut self) {}
    fn end(&mut self) {}
    fn must_stop(&mut self) -> Option<String> {
        Some("the test was over".to_owned())
    }
}
