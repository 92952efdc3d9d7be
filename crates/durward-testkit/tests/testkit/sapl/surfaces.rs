//! A sample of the generated cases over HTTP and over RSocket: each case is a tenant of one server.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use durward_net::client::{Client, Credentials, ServerAddress, Settings as ClientSettings};
use durward_pdp::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::json;
use durward_pdp::sapl::Subscription;
use durward_server::{Server, Settings};
use durward_testkit::cases::{EngineCase, ExpectedAnswer, normal, read};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Every so many cases of each file is asked: some four hundred tenants.
const STEP: usize = 43;

const FILES: [&str; 7] =
    ["known", "sets", "configurations", "expressions", "functions", "parsers", "jsonschema"];

/// Argon2id of `secret`, with little memory so that tests are quick.
const SECRET: &str =
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$cgjDW3sW92hlpcDZjp5vwbUFmJaTisOfqz88G4ypUtg";

#[test]
fn generated_cases_decide_over_the_wire_as_recorded() {
    let Some(folder) = durward_testdata::recorded("sapl/random") else { return };
    let cases: Vec<EngineCase> = FILES
        .iter()
        .flat_map(|file| read(&folder.join(format!("{file}.jsonl"))).unwrap().into_iter().step_by(STEP))
        .collect();
    let node = Node::start(&cases);
    let runtime = runtime();
    let mut differences = Vec::new();
    for case in &cases {
        for (surface, address) in node.addresses() {
            let settings = ClientSettings {
                credentials: Credentials::Basic { user: case.id.clone(), password: "secret".to_owned() },
                answer_time_max: Duration::from_secs(60),
                ..ClientSettings::default()
            };
            let mut client = Client::new(address, &settings).unwrap();
            let ask = |subscription: &str| {
                let subscription = Subscription::from_json(subscription.as_bytes()).unwrap();
                match runtime.block_on(client.decide_once(&subscription)) {
                    Ok(decision) => decision.to_json(),
                    Err(error) => error.to_string(),
                }
            };
            let number = if surface == "RSocket" { plain } else { as_written };
            let found = as_served(case, number).compare(ask);
            differences.extend(found.iter().map(|difference| format!("{difference} over {surface}")));
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// A tenant whose policies are refused is answered INDETERMINATE; numbers are written as the surface writes them.
fn as_served(case: &EngineCase, number: fn(&Decimal) -> Decimal) -> EngineCase {
    let expected = match &case.expected {
        ExpectedAnswer::Refused => {
            vec![r#"{"decision":"INDETERMINATE"}"#.to_owned(); case.subscriptions.len()]
        }
        ExpectedAnswer::Decisions(decisions) => {
            decisions.iter().map(|decision| renumbered(decision, number)).collect()
        }
    };
    EngineCase {
        id: case.id.clone(),
        about: case.about.clone(),
        configuration: case.configuration.clone(),
        documents: case.documents.clone(),
        subscriptions: case.subscriptions.clone(),
        expected: ExpectedAnswer::Decisions(expected),
    }
}

fn as_written(number: &Decimal) -> Decimal {
    number.clone()
}

/// Protobuf messages carry numbers without exponents.
fn plain(number: &Decimal) -> Decimal {
    Decimal::parse(&number.to_plain()).unwrap()
}

fn renumbered(decision: &str, number: fn(&Decimal) -> Decimal) -> String {
    normal(&map_numbers(&json::read(decision).unwrap(), number).to_json()).unwrap()
}

fn map_numbers(value: &Value, number: fn(&Decimal) -> Decimal) -> Value {
    let map = |value: &Value| map_numbers(value, number);
    if let Value::Number(found) = value {
        Value::Number(number(found))
    } else if let Value::Array(items) = value {
        Value::Array(items.iter().map(map).collect())
    } else if let Value::Object(members) = value {
        Value::Object(Arc::new(members.iter().map(|(key, member)| (key.clone(), map(member))).collect()))
    } else {
        value.clone()
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server with a directory of policies for each case, until it is dropped.
struct Node {
    http: SocketAddr,
    rsocket: SocketAddr,
    directory: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    fn start(cases: &[EngineCase]) -> Node {
        let directory = std::env::temp_dir().join(format!("durward-testkit-{}", std::process::id()));
        for case in cases {
            write(&directory.join(&case.id), case);
        }
        let mut settings = Settings::from_toml(&settings(cases), "test.toml").unwrap();
        settings.policies.path.clone_from(&directory);
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            runtime().block_on(async move {
                #[expect(clippy::disallowed_methods, reason = "a test is the caller who brings the clock")]
                let server = Server::bind(settings, Arc::new(std::time::SystemTime::now)).unwrap();
                tell.send((server.address(), server.rsocket_address().unwrap())).unwrap();
                server.serve(async { drop(stopped.await) }).await.unwrap();
            });
        });
        let (http, rsocket) = told.recv().unwrap();
        Node { http, rsocket, directory, stop: Some(stop), thread: Some(thread) }
    }

    fn addresses(&self) -> [(&'static str, ServerAddress); 2] {
        [
            ("HTTP", ServerAddress::http(&format!("http://{}", self.http)).unwrap()),
            ("RSocket", ServerAddress::rsocket(&self.rsocket.to_string(), false).unwrap()),
        ]
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn write(directory: &Path, case: &EngineCase) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("pdp.json"), &case.configuration).unwrap();
    for (number, document) in case.documents.iter().enumerate() {
        fs::write(directory.join(format!("p{number:05}.sapl")), document).unwrap();
    }
}

fn settings(cases: &[EngineCase]) -> String {
    let users = cases.iter().map(|EngineCase { id, .. }| {
        format!("[[auth.users]]\nid = '{id}'\ntenant = '{id}'\nname = '{id}'\npassword = '{SECRET}'\n")
    });
    format!(
        "server.listen = '127.0.0.1:0'\nsapl.http = true\nrsocket.listen = '127.0.0.1:0'\n\
         policies.source = 'directories'\n{}",
        users.collect::<String>()
    )
}
