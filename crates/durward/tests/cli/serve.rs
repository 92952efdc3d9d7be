//! `durward serve` and `durward demo`: they start, answer, and end when told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::{command, data, durward, ran};

/// A running server, ended when dropped.
pub(crate) struct Running {
    child: Child,
    /// `127.0.0.1:4711`.
    pub(crate) address: String,
    /// What was read to find the address.
    text: String,
    /// Held: who writes to a closed pipe may fail.
    _output: Option<BufReader<Box<dyn Read>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a command that says on standard output or error where it listens; `mark` stands before the address.
    pub(crate) fn start(arguments: &[&str], mark: &str) -> Running {
        Running::of(command(arguments), mark)
    }

    /// The same by a shell, which has the command and its arguments as `$0` and `$@`.
    fn start_by(script: &str, arguments: &[&str], mark: &str) -> Running {
        let direct = command(arguments);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(direct.get_program()).args(direct.get_args());
        direct.get_current_dir().map(|folder| shell.current_dir(folder));
        Running::of(shell, mark)
    }

    /// The same with a socket that somebody listens on already, as systemd passes it.
    pub(crate) fn on(listener: &TcpListener, arguments: &[&str], mark: &str) -> Running {
        let script = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\"";
        let direct = command(arguments);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(direct.get_program()).args(direct.get_args());
        direct.get_current_dir().map(|folder| shell.current_dir(folder));
        shell.stdin(OwnedFd::from(listener.try_clone().unwrap()));
        Running::spawned(shell, mark)
    }

    fn of(mut command: Command, mark: &str) -> Running {
        command.stdin(Stdio::null());
        Running::spawned(command, mark)
    }

    fn spawned(mut command: Command, mark: &str) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output: Box<dyn Read> = match mark {
            "http://" => Box::new(child.stdout.take().unwrap()),
            _ => Box::new(child.stderr.take().unwrap()),
        };
        let mut running = Running { child, address: String::new(), text: String::new(), _output: None };
        let last = if mark == "http://" { "Ctrl-C" } else { mark };
        let mut output = BufReader::new(output);
        let mut line = String::new();
        while output.read_line(&mut line).unwrap() > 0 {
            if let (Some((_, rest)), true) = (line.split_once(mark), running.address.is_empty()) {
                let end =
                    rest.find(|it: char| !it.is_ascii_digit() && !".:".contains(it)).unwrap_or(rest.len());
                running.address = rest[..end].to_owned();
            }
            running.text.push_str(&line);
            if line.contains(last) {
                running._output = Some(output);
                return running;
            }
            line.clear();
        }
        panic!("ended without saying where it listens: {}", running.text);
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it said until then.
    #[cfg(feature = "opcua")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn post(&self, content_type: &str, body: &str) -> String {
        self.post_to("/pdp", content_type, body)
    }

    /// The whole answer, its head included.
    pub(crate) fn post_to(&self, path: &str, content_type: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Asks the process to end, and gives all that it said.
    pub(crate) fn end_and_read(mut self) -> String {
        self.signal("-TERM");
        let mut text = std::mem::take(&mut self.text);
        self._output.take().unwrap().read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }

    /// Asks the process to end, and waits for its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }
}

#[test]
fn the_demo_prints_questions_that_are_answered_as_it_says() {
    let running = Running::start(&["demo", "--listen", "127.0.0.1:0"], "http://");
    let bodies: Vec<&str> = running
        .text
        .lines()
        .filter(|line| line.starts_with("curl ") && line.contains("/pdp -H"))
        .map(|line| line.split('\'').nth(3).unwrap())
        .collect();
    let answers: Vec<String> =
        bodies.iter().map(|body| running.post("application/xacml+json", body)).collect();
    assert!(answers[0].contains(r#""Decision":"Permit""#), "{}", answers[0]);
    assert!(answers[1].contains(r#""Decision":"Deny""#), "{}", answers[1]);
    assert!(answers[2].contains("Obligations"), "{}", answers[2]);
    assert_eq!(answers.len(), 3);
    assert_eq!(running.end(), Some(0));
}

#[test]
fn a_server_answers_and_ends_when_told() {
    let running = Running::start(&["serve", "--policies", "hospital", "--listen", "127.0.0.1:0"], "address=");
    let request = std::fs::read_to_string(data("hospital/example-request.xml")).unwrap();
    let answer = running.post("application/xacml+xml", &request);
    assert!(answer.contains("<Decision>Permit</Decision>"), "{answer}");
    assert_eq!(running.end(), Some(0));
}

/// A server that takes a thousand connections ran out of files with the usual limit of 1024.
#[cfg(target_os = "linux")]
#[test]
fn a_server_may_open_as_many_files_as_it_is_allowed() {
    let arguments = ["serve", "--policies", "hospital", "--listen", "127.0.0.1:0"];
    let running =
        Running::start_by("ulimit -Sn 200; ulimit -Hn 300; exec \"$0\" \"$@\"", &arguments, "address=");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", running.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = files.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
    assert_eq!(numbers, ["300", "300"]);
    assert_eq!(running.end(), Some(0));
}

#[test]
fn a_configuration_is_read_and_flags_count_more() {
    let directory = std::env::temp_dir().join(format!("durward-cli-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let config = directory.join("durward.toml");
    let roots = data("roots");
    let text = format!("[policies]\npath = '{}'\n[server]\nlisten = '192.0.2.1:80'\n", roots.display());
    std::fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let arguments =
        ["serve", "--config", &config, "--listen", "127.0.0.1:0", "--combining", "permit-overrides"];
    let running = Running::start(&arguments, "address=");
    let answer = running.post("application/xacml+json", r#"{"Request": {"Action": {}}}"#);
    assert!(answer.contains(r#""Decision":"Permit""#), "{answer}");
    assert_eq!(running.end(), Some(0));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_environment_counts_more_than_the_file_and_less_than_flags() {
    let directory = std::env::temp_dir().join(format!("durward-environment-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let config = directory.join("durward.toml");
    std::fs::write(&config, "[policies]\npath = 'nowhere'\n[server]\nlisten = '192.0.2.1:80'\n").unwrap();
    let config = config.display().to_string();
    let mut serve = command(&["serve", "--config", &config, "--combining", "permit-overrides"]);
    serve.env("DURWARD_POLICIES__PATH", data("roots"));
    serve.env("DURWARD_POLICIES__COMBINING", "deny-overrides");
    serve.env("DURWARD_SERVER__LISTEN", "127.0.0.1:0");
    let running = Running::of(serve, "address=");
    let answer = running.post("application/xacml+json", r#"{"Request": {"Action": {}}}"#);
    assert!(answer.contains(r#""Decision":"Permit""#), "{answer}");
    assert_eq!(running.end(), Some(0));
    let mut serve = command(&["serve", "--config", &config]);
    let ran = ran(serve.env("DURWARD_SERVER_LISTEN", "127.0.0.1:0").output().unwrap()).exits(2);
    let message = "DURWARD_SERVER_LISTEN: names no setting; did you mean `DURWARD_SERVER__LISTEN`?";
    assert_eq!(ran.stderr, format!("durward: error: {message}\n"));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_keeps_a_server_from_starting_is_said() {
    let ran = durward(&["serve", "--policies", "nowhere"]).exits(2);
    assert!(ran.stderr.contains("durward: error: nowhere: No such file or directory\n"), "{}", ran.stderr);
    let beyond = ["serve", "--policies", "hospital", "--listen", "192.0.2.1:80"];
    let ran = durward(&beyond).exits(2);
    assert!(ran.stderr.contains("`xacml.danger_allow_no_auth = true`"), "{}", ran.stderr);
    let mut told = command(&beyond);
    let output = told.env("DURWARD_XACML__DANGER_ALLOW_NO_AUTH", "true").output().unwrap();
    let ran = crate::ran(output).exits(2);
    assert!(ran.stderr.contains("durward: error: cannot listen on 192.0.2.1:80: "), "{}", ran.stderr);
    durward(&["serve", "--config", "nothing.toml"]).exits(2);
    durward(&["serve", "--listen", "everywhere"]).exits(2);
}

#[test]
fn the_example_policies_can_be_taken_home() {
    let directory = std::env::temp_dir().join(format!("durward-demo-{}", std::process::id()));
    let path = directory.display().to_string();
    durward(&["demo", "--policies-to", &path]).exits(0);
    let ran = durward(&["check", &path, "--level", "warning"]).exits(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    // What somebody may have changed is left alone.
    let ran = durward(&["demo", "--policies-to", &path]).exits(2);
    assert!(ran.stderr.contains("conference.xml: File exists"), "{}", ran.stderr);
    std::fs::remove_dir_all(directory).unwrap();
}

/// Programs that turn logs over send this to whatever serves.
#[test]
fn a_hang_up_signal_does_not_end_a_server() {
    let running = Running::start(&["demo", "--listen", "127.0.0.1:0"], "http://");
    running.signal("-HUP");
    let answer = running.post("application/xacml+json", "{}");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(running.end(), Some(0));
}
