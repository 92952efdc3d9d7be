//! A real RabbitMQ with files of its own, which goes with its test.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Directory, PATIENCE};

/// What starts it without looking for another user, as the program in `PATH` does.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

const HOW: &str = "apt-get install rabbitmq-server mosquitto-clients";

pub(super) struct RabbitMq {
    pub(super) mqtt: u16,
    directory: Directory,
    children: Vec<Child>,
}

fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// Whether it is there, and a client of MQTT.
pub(super) fn is_there() -> bool {
    let has_client = durward_testdata::has_program("mosquitto_pub", "--help", HOW);
    if !Path::new(PROGRAM).exists() {
        durward_testdata::skip(format_args!("no {PROGRAM}: {HOW}"));
        return false;
    }
    has_client
}

impl RabbitMq {
    /// Starts it with this configuration, whose usual ports and the port of durward are replaced.
    pub(super) fn start(configuration: &str, durward: u16) -> RabbitMq {
        let directory = Directory::new();
        let [amqp, mqtt, names, nodes] = free_ports();
        let mut text = configuration.to_owned();
        for (from, to) in [(":5672", amqp), (":1883", mqtt), (":8080", durward)] {
            text = text.replace(from, &format!(":{to}"));
        }
        directory.write("rabbitmq.conf", &text);
        directory.write("enabled_plugins", "[rabbitmq_auth_backend_http,rabbitmq_mqtt].\n");
        let path = |name: &str| directory.path(name).display().to_string();
        // The daemon that the node would start would outlive it.
        let mut epmd = Command::new("epmd");
        epmd.args(["-port", &names.to_string(), "-address", "127.0.0.1"]);
        let mut node = Command::new(PROGRAM);
        node.envs([
            ("HOME", path("")),
            ("ERL_EPMD_PORT", names.to_string()),
            ("RABBITMQ_NODENAME", format!("durward{amqp}@localhost")),
            ("RABBITMQ_DIST_PORT", nodes.to_string()),
            ("RABBITMQ_MNESIA_BASE", path("data")),
            ("RABBITMQ_LOG_BASE", path("log")),
            ("RABBITMQ_LOGS", "-".to_owned()),
            ("RABBITMQ_CONFIG_FILE", path("rabbitmq.conf")),
            ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", path("enabled_plugins")),
            ("RABBITMQ_GENERATED_CONFIG_DIR", path("generated")),
            ("RABBITMQ_PID_FILE", path("pid")),
        ]);
        let mut rabbit = RabbitMq { mqtt, directory, children: Vec::new() };
        for command in [&mut epmd, &mut node] {
            let log = std::fs::File::create(rabbit.directory.path(&format!("out{}", rabbit.children.len())))
                .unwrap();
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            rabbit.children.push(command.spawn().unwrap());
        }
        rabbit.wait();
        rabbit
    }

    fn wait(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.mqtt)).is_err()
            || !self.log().contains("Server startup complete")
        {
            assert!(begun.elapsed() < 3 * PATIENCE, "RabbitMQ does not start: {}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path("out1")).unwrap_or_default()
    }

    /// Publishes once; whether the broker took it.
    pub(super) fn publishes(&self, user: &str, password: &str, topic: &str) -> bool {
        let mut publish = self.client("mosquitto_pub", user, password, topic);
        publish.args(["-m", "20", "-q", "1"]).status().unwrap().success()
    }

    /// A client that ends with the first message.
    pub(super) fn subscriber(&self, user: &str, password: &str, topic: &str) -> Child {
        let mut subscribe = self.client("mosquitto_sub", user, password, topic);
        subscribe.args(["-C", "1", "-W", "60"]).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn client(&self, program: &str, user: &str, password: &str, topic: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["-h", "127.0.0.1", "-p", &self.mqtt.to_string(), "-t", topic]);
        if !user.is_empty() {
            command.args(["-u", user, "-P", password]);
        }
        command.stderr(Stdio::null());
        command
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // Asked first: a shell stands before the node, and hands that on.
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
                thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
