//! What the targets of these tests do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, exit};
use std::time::Duration;
use std::{env, fs, hint, process, thread};

use durward_lab::process::thread_time;
use durward_lab::target::TargetSpec;

/// Started by the other tests, with a role; nothing by itself.
#[test]
#[ignore = "the other tests start it as their target"]
fn play() {
    let Ok(role) = env::var("ROLE") else { return };
    match role.as_str() {
        "answer" => serve(),
        "busy" => {
            thread::spawn(|| {
                loop {
                    hint::black_box(0);
                }
            });
            serve();
        }
        "eat" => {
            thread::spawn(eat);
            serve();
        }
        "child-eats" => {
            thread::spawn(|| {
                let mut child = Command::new(env::current_exe().unwrap())
                    .args(["--exact", "child::play", "--ignored", "--nocapture"])
                    .env("ROLE", "eat-only")
                    .spawn()
                    .unwrap();
                child.wait()
            });
            serve();
        }
        "eat-only" => eat(),
        "never" => thread::sleep(Duration::MAX),
        "die" => {
            eprintln!("cannot read settings\npassword is {}\n", env::var("PASSWORD").unwrap_or_default());
            exit(3);
        }
        "die-later" => {
            thread::spawn(|| {
                thread::sleep(Duration::from_millis(300));
                eprintln!("that is it");
                exit(7);
            });
            serve();
        }
        "start" => start_and_wait(),
        "describe" => describe(),
        other => panic!("there is no role {other}"),
    }
}

/// Answers HTTP: its environment, its directory, metrics, and JMX as Jolokia does.
fn serve() {
    let port: u16 = env::var("PORT").unwrap().parse().unwrap();
    let address = env::var("LISTEN").unwrap_or_else(|_| format!("127.0.0.1:{port}"));
    let listener = TcpListener::bind(address).unwrap();
    let mut asked = 0;
    for stream in listener.incoming().flatten() {
        // Nobody who only connects, to see whether it is ready, may stop it.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        asked += answer(stream, asked).unwrap_or(0);
    }
}

fn answer(mut stream: TcpStream, asked: u64) -> Option<u64> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|length| *length > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1)?;
    let (status, text) = match path {
        "/up" => ("200 OK", "up".to_owned()),
        "/node" => ("200 OK", env::var("NODE").unwrap_or_default()),
        "/file" => ("200 OK", fs::read_to_string("etc/settings").unwrap_or_default()),
        "/pid" => ("200 OK", process::id().to_string()),
        "/spin" => {
            work();
            ("200 OK", String::new())
        }
        "/metrics" => (
            "200 OK",
            format!("# TYPE asked_total counter\nasked_total {asked}\n# TYPE level gauge\nlevel 7\n"),
        ),
        "/jolokia" => ("200 OK", jolokia(&body, asked)),
        _ => ("404 Not Found", String::new()),
    };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len())
        .ok()?;
    Some(u64::from(path == "/up"))
}

fn jolokia(body: &[u8], asked: u64) -> String {
    let questions: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap();
    let answers = questions.into_iter().map(|question| {
        let value = match question["attribute"].as_str() {
            Some("HeapMemoryUsage") => serde_json::json!({"used": 1000 + asked}),
            Some("Asked") => serde_json::json!(asked),
            _ => return serde_json::json!({"request": question, "status": 404}),
        };
        serde_json::json!({"request": question, "value": value, "status": 200})
    });
    serde_json::Value::Array(answers.collect()).to_string()
}

/// Uses 0.3 s of a processor, however long that takes on a busy machine.
fn work() {
    let begun = thread_time().unwrap();
    while thread_time().unwrap() < begun + Duration::from_millis(300) {
        for at in 0..10_000 {
            hint::black_box(at);
        }
    }
}

/// Takes a mebibyte after the other, and writes to it.
fn eat() {
    let mut eaten = Vec::new();
    loop {
        eaten.push(vec![1u8; 1 << 20]);
        hint::black_box(&eaten);
        thread::sleep(Duration::from_millis(2));
    }
}

/// Starts the target of the table in `TABLE`, says its name, and waits to be killed.
fn start_and_wait() {
    let running = table().start(2).unwrap();
    println!("started {}", running.directory().unwrap().display());
    thread::sleep(Duration::MAX);
}

/// Starts the target of the table in `TABLE` and tells what can be seen of it, as JSON in one line.
fn describe() {
    let told = match table().start(1) {
        Ok(running) => {
            let watch = running.watch();
            thread::sleep(Duration::from_millis(300));
            let used = watch.end();
            let directory = running.directory().unwrap();
            let info = running.info();
            let notes = running.stop();
            serde_json::json!({"info": info, "used": used, "notes": notes, "is_removed": !directory.exists()})
        }
        Err(error) => serde_json::json!({"error": error.to_string()}),
    };
    println!("told {told}");
}

fn table() -> TargetSpec {
    serde_json::from_str(&env::var("TABLE").unwrap()).unwrap()
}
