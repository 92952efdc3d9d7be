//! `durward decide --remote`: a server's decisions, what is said where there is none, and nothing that could be taken for
//! a permit.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::serve::Running;
use crate::{Ran, command, data, durward, ran, write_secret};

const ADA: &str = r#"{"name": "ada", "role": "doctor", "wards": [3, 4]}"#;
const ASK: [&str; 6] = ["-s", ADA, "-a", "\"read\"", "-r", r#"{"ward": 5}"#];

/// A server with a policy directory of its own, answering over HTTP and on a Unix socket.
struct World {
    folder: PathBuf,
    server: Option<Running>,
}

impl World {
    fn start(name: &str, auth: &str) -> World {
        let folder = std::env::temp_dir().join(format!("durward-remote-{name}-{}", std::process::id()));
        let policies = folder.join("policies");
        std::fs::create_dir_all(&policies).unwrap();
        for file in ["doctors.sapl", "pdp.json"] {
            std::fs::copy(data("wards").join(file), policies.join(file)).unwrap();
        }
        let (policies, socket) = (policies.display(), folder.join("sock"));
        let config = format!(
            "sapl.http = true\nrsocket.socket = '{}'\npolicies.path = '{policies}'\nserver.listen = '127.0.0.1:0'\n{auth}\n",
            socket.display()
        );
        std::fs::write(folder.join("durward.toml"), config).unwrap();
        let config = folder.join("durward.toml").display().to_string();
        let server = Some(Running::start(&["serve", "--config", &config], "address="));
        World { folder, server }
    }

    fn open(name: &str) -> World {
        World::start(name, "auth.danger_allow_no_auth = true")
    }

    /// The flags that lead to each of its doors.
    fn doors(&self) -> [[String; 3]; 2] {
        let url = format!("http://{}", self.server.as_ref().unwrap().address);
        let socket = self.folder.join("sock").display().to_string();
        [["--remote".into(), "--url".into(), url], ["--remote".into(), "--rsocket".into(), socket]]
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn decide(door: &[String], more: &[&str]) -> Vec<String> {
    let door = door.iter().map(String::as_str);
    ["decide"].into_iter().chain(door).chain(more.iter().copied()).map(str::to_owned).collect()
}

fn run(door: &[String], more: &[&str]) -> Ran {
    let words = decide(door, more);
    durward(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_server_decides_as_policies_here_do() {
    let world = World::open("same");
    let lines = ["--requests", "wards.jsonl"];
    let here = durward(&[&["decide", "--policies", "wards"][..], &lines].concat()).exits(0);
    for door in world.doors() {
        assert_eq!(run(&door, &ASK).exits(0).stdout, "{\"decision\":\"DENY\"}\n");
        assert_eq!(run(&door, &lines).exits(0).stdout, here.stdout);
    }
}

#[test]
fn recorded_decisions_are_compared() {
    let world = World::open("expect");
    let recorded = world.folder.join("recorded.jsonl");
    let answers = durward(&["decide", "--policies", "wards", "--requests", "wards.jsonl"]).exits(0).stdout;
    std::fs::write(&recorded, answers.replace(r#""decision":"DENY","#, r#""decision":"PERMIT","#)).unwrap();
    for door in world.doors() {
        let ran = run(&door, &["--requests", "wards.jsonl", "--expect", recorded.to_str().unwrap()]).exits(1);
        assert!(ran.stdout.contains(": expected PERMIT, got DENY\n"), "{}", ran.stdout);
    }
}

#[test]
fn lines_that_are_no_questions_are_indeterminate() {
    let world = World::open("lines");
    let asks = world.folder.join("asks.jsonl");
    std::fs::write(
        &asks,
        "{\"id\":1,\"request\":\"<Request/>\"}\n{\"id\":2,\"subscription\":{\"subject\":1}}\nx\n",
    )
    .unwrap();
    for door in world.doors() {
        let ran = run(&door, &["--requests", asks.to_str().unwrap()]).exits(2);
        assert_eq!(ran.stdout.matches("\"decision\":\"INDETERMINATE\"").count(), 6, "{}", ran.stdout);
        assert!(ran.stderr.contains(":2: the subscription lacks `action`"), "{}", ran.stderr);
    }
}

/// Lines as they are printed.
fn watch(door: &[String]) -> (Child, std::io::Lines<BufReader<std::process::ChildStdout>>) {
    let words = decide(door, &[&["--watch"][..], &ASK].concat());
    let mut command = command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[test]
fn a_watched_decision_is_printed_whenever_it_changes() {
    let mut world = World::open("watch");
    let mut watching = world.doors().map(|door| watch(&door));
    for (_, lines) in &mut watching {
        assert_eq!(lines.next().unwrap().unwrap(), "{\"decision\":\"DENY\"}");
    }
    std::fs::write(world.folder.join("policies/all.sapl"), "policy \"all\" permit").unwrap();
    std::fs::remove_file(world.folder.join("policies/doctors.sapl")).unwrap();
    for (_, lines) in &mut watching {
        assert_eq!(lines.next().unwrap().unwrap(), "{\"decision\":\"PERMIT\"}");
    }
    // The last line is no permit, and the exit code no success.
    world.server = None;
    for (mut child, mut lines) in watching {
        assert_eq!(lines.next().unwrap().unwrap(), "{\"decision\":\"INDETERMINATE\"}");
        assert!(lines.next().is_none());
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
}

#[test]
fn the_exit_code_says_the_decision() {
    let world = World::open("code");
    for door in world.doors() {
        run(&door, &[&["--exit-code"][..], &ASK].concat()).exits(2);
        run(&door, &["--exit-code", "-s", ADA, "-a", "\"read\"", "-r", "{\"ward\": 3}"]).exits(4);
        run(&door, &["--exit-code", "-s", ADA, "-a", "\"read\"", "-r", "{"]).exits(1);
    }
}

#[test]
fn no_server_is_no_decision() {
    for door in [["--url", "http://127.0.0.1:1"], ["--rsocket", "127.0.0.1:1"], ["--rsocket", "./no.sock"]] {
        let door = ["--remote".to_owned(), door[0].to_owned(), door[1].to_owned()];
        let ran = run(&door, &ASK).exits(2);
        assert_eq!(ran.stdout, "{\"decision\":\"INDETERMINATE\"}\n");
        assert!(ran.stderr.contains("hint: the server was not reached"), "{}", ran.stderr);
        run(&door, &[&["--exit-code"][..], &ASK].concat()).exits(1);
        assert_eq!(run(&door, &[&["--watch"][..], &ASK].concat()).exits(2).stdout, ran.stdout);
        let ran = run(&door, &["--requests", "wards.jsonl"]).exits(2);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn credentials_come_from_the_environment_a_file_or_a_flag() {
    let key = durward_key();
    let world = World::start(
        "auth",
        &format!("[[auth.users]]\nid = 'robot'\napi_key_id = 'abcdefghij'\napi_key = '{key}'"),
    );
    let token = world.folder.join("token");
    write_secret(&token, "sapl_abcdefghij_secret\n");
    for door in world.doors() {
        let refused = run(&door, &ASK).exits(2);
        assert!(refused.stderr.contains("hint: the credentials are at fault"), "{}", refused.stderr);
        run(&door, &[&["--token", "sapl_abcdefghij_secret"][..], &ASK].concat()).exits(0);
        run(&door, &[&["--token-file", token.to_str().unwrap()][..], &ASK].concat()).exits(0);
        run(&door, &[&["--basic-auth", "robot:secret"][..], &ASK].concat()).exits(2);
        let words = decide(&door, &ASK);
        let mut command = command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        ran(command.env("DURWARD_BEARER_TOKEN", "sapl_abcdefghij_secret").output().unwrap()).exits(0);
    }
}

/// Argon2id of `secret`, with little memory so that tests are quick.
fn durward_key() -> &'static str {
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$I4WrJVLzXtTUcnjNjiwcbnb3Tb7TwFxpTeOSQ4Mvhf8"
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let remote = ["decide", "--remote", "--url", "http://127.0.0.1:1"];
    for wrong in [
        &["--policies", "wards"][..],
        &["--explain"],
        &["--index", "scan"],
        &["--rsocket", "127.0.0.1:7000"],
        &["--token", "a", "--basic-auth", "b:c"],
        &["--watch", "--requests", "wards.jsonl"],
        &["--watch", "--exit-code"],
        &["--rsocket-tls"],
        &["--timeout", "0"],
    ] {
        durward(&[&remote[..], wrong, &ASK].concat()).exits(if wrong.contains(&"--exit-code") {
            1
        } else {
            2
        });
    }
    durward(&["decide", "--url", "http://127.0.0.1:1"]).exits(2);
    durward(&["decide", "--remote", "-s", "1", "-a", "1", "-r", "1"]).exits(2).complains(
        "there is no address of a server",
        "give `--url URL` or `--rsocket HOST:PORT`, or set DURWARD_URL",
    );
    durward(&[
        "decide",
        "--remote",
        "--url",
        "http://pdp.example.org",
        "--token",
        "x",
        "-s",
        "1",
        "-a",
        "1",
        "-r",
        "1",
    ])
    .exits(2)
    .complains(
        "these credentials would be sent unencrypted, for everybody on the way to read",
        "use `https://` or `--rsocket-tls`; `--danger-insecure` sends them all the same",
    );
}
