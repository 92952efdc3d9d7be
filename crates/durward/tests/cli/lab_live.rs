//! `durward lab run` while it goes on: in a terminal, as a page, pushed, and what is left when it has ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use crate::binary::binary;
use crate::lab_run::{Folder, server};
use crate::terminal::in_terminal;
use crate::{command, durward};

/// A scenario of one point; the file's name.
fn scenario(folder: &Folder, measure: &str) -> String {
    let file = folder.path("lab.toml");
    let text = format!(
        "name = \"seen\"\n[target]\naddresses = [{:?}]\n[load]\nusers = 2\nthink = \"1ms\"\nwarm_up = \"0s\"\nmeasure = {measure:?}\n\
         [[steps]]\nname = \"ask\"\npath = \"/\"\n",
        server()
    );
    std::fs::write(&file, text).unwrap();
    file
}

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// What stands behind the dashboard, which must have been taken down as it was put up.
fn behind(written: &str) -> &str {
    let (_, rest) = written.split_once(ENTER).unwrap_or_else(|| panic!("no dashboard: {written}"));
    let (drawn, rest) = rest.split_once(LEAVE).unwrap_or_else(|| panic!("never left: {written}"));
    assert!(drawn.contains("seen"), "{drawn}");
    assert!(rest.contains("\u{1b}[?25h"), "the cursor is not there again: {rest}");
    assert!(!rest.contains(ENTER), "{rest}");
    // The line discipline is what it was.
    assert!(rest.contains("as-before"), "{rest}");
    rest
}

fn line(folder: &Folder, file: &str) -> String {
    let program = binary();
    format!("{program} lab run {file} --out {} --skip-generator-limit", folder.path("out"))
}

#[test]
fn a_terminal_shows_a_dashboard_and_has_the_table_in_the_end() {
    let folder = Folder::new("dashboard");
    let file = scenario(&folder, "2s");
    let Some(written) = in_terminal(&line(&folder, &file), (100, 30), "") else { return };
    let rest = behind(&written);
    assert!(rest.contains("status=0") && rest.contains("record: "), "{rest}");
    assert!(!written.contains("[1/1] measured"), "no plain lines: {written}");
}

#[test]
fn q_and_ctrl_c_stop_a_run_and_keep_what_was_measured() {
    for (name, key) in [("q", "q"), ("ctrl-c", "\u{3}")] {
        let folder = Folder::new(name);
        let file = scenario(&folder, "60s");
        let Some(written) = in_terminal(&line(&folder, &file), (80, 24), key) else { return };
        let rest = behind(&written);
        assert!(rest.contains("status=1") && rest.contains("cut short: the run was stopped"), "{rest}");
        let record = std::fs::read_to_string(folder.path("out/record.json")).unwrap();
        assert!(record.contains("\"answered\""), "{record}");
    }
}

#[test]
fn signals_and_a_second_key_leave_the_terminal_as_it_was() {
    let folder = Folder::new("signal");
    let file = scenario(&folder, "60s");
    let terminated = format!("timeout --foreground -s TERM 2 {}", line(&folder, &file));
    let Some(written) = in_terminal(&terminated, (80, 24), "") else { return };
    assert!(behind(&written).contains("cut short: the run was stopped"), "{written}");
    let Some(written) = in_terminal(&line(&folder, &file), (80, 24), "qq") else { return };
    behind(&written);
}

#[test]
fn tiny_terminals_do_not_break_it() {
    let folder = Folder::new("tiny");
    let file = scenario(&folder, "1s");
    for size in [(1, 1), (20, 3), (0, 0)] {
        let Some(written) = in_terminal(&line(&folder, &file), size, "") else { return };
        assert!(written.contains("status=0") && written.contains(LEAVE), "{size:?}: {written}");
    }
}

#[test]
fn errors_are_seen_behind_the_dashboard() {
    let folder = Folder::new("error");
    let file = folder.path("lab.toml");
    let text = "name = \"seen\"\n[target]\ncommand = [\"sh\", \"-c\", \"sleep 1; exit 7\"]\n[load]\nusers = 1\n[[steps]]\npath = \"/\"\n";
    std::fs::write(&file, text).unwrap();
    let Some(written) = in_terminal(&line(&folder, &file), (80, 24), "") else { return };
    let rest = behind(&written);
    assert!(rest.contains("status=2") && rest.contains("node 1 ended: status 7"), "{rest}");
}

#[test]
fn plain_lines_stay_where_they_are_asked_for_or_nothing_else_can_be_drawn() {
    let folder = Folder::new("plain");
    let file = scenario(&folder, "1s");
    let line = line(&folder, &file);
    for line in [format!("{line} --plain"), format!("TERM=dumb {line}"), format!("{line} 2>&1 | cat")] {
        let Some(written) = in_terminal(&line, (80, 24), "") else { return };
        assert!(written.contains("[1/1] measured") && !written.contains(ENTER), "{written}");
    }
}

#[test]
fn a_page_is_served_while_it_runs_and_the_report_is_linked() {
    let folder = Folder::new("page");
    let file = scenario(&folder, "2s");
    let mut child = command(&["lab", "run", &file, "--out", &folder.path("out"), "--skip-generator-limit"])
        .args(["--page", "--page-stay", "20", "--report"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    let address = first.strip_prefix("page: http://").unwrap().trim_end_matches('/').to_owned();
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || said.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut seconds = 0;
    let mut events = BufReader::new(stream);
    let ending = loop {
        let mut line = String::new();
        assert!(events.read_line(&mut line).unwrap() > 0, "the stream ended before the run");
        seconds += usize::from(line.starts_with("event: second"));
        if line.contains("\"ending\":{") {
            break line;
        }
    };
    assert!(seconds == 2 && ending.contains("\"report\":\"/report/index.html\""), "{seconds}: {ending}");
    // The report is there as long as somebody looks.
    let mut report = TcpStream::connect(&address).unwrap();
    report
        .write_all(
            format!("GET /report/index.html HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .unwrap();
    let mut answer = String::new();
    report.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("<title>seen</title>"),
        "{}",
        &answer[..200]
    );
    let mut said = lines.iter();
    assert!(said.any(|line| line.contains("stays while somebody looks")), "it does not stay");
    drop(events);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("report: "), "{stdout}");
    // Its page is as good as the record.
    let again = folder.path("again");
    let page = folder.path("out/report/index.html");
    let ran = durward(&["lab", "rerun", &page, "--out", &again, "--skip-generator-limit", "-q"]).exits(0);
    assert!(ran.stdout.contains("2 users"), "{}", ran.stdout);
    durward(&["lab", "compare", &page, &folder.path("again/record.json")]);
}

#[test]
fn pages_and_receivers_that_cannot_be_are_bad_input() {
    let folder = Folder::new("cannot");
    let file = scenario(&folder, "1s");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let out = folder.path("out");
    let failed =
        |more: &[&str]| durward(&[&["lab", "run", &file, "--out", &out], more].concat()).exits(2).stderr;
    assert!(failed(&["--page", &address]).contains("cannot serve a page at"));
    assert!(failed(&["--remote-write", "http://u:secret@127.0.0.1/"]).contains("holds a password"));
    assert!(failed(&["--otlp", "127.0.0.1:4318"]).contains("must begin with"));
    let missing = folder.path("missing");
    assert!(
        failed(&["--otlp", "http://127.0.0.1:1", "--otlp-authorization", &missing]).contains("cannot read")
    );
    let stderr = durward(&["lab", "run", "--page", &file]).exits(2).stderr;
    assert!(stderr.contains("write `--page HOST:PORT`, or the scenario before `--page`"), "{stderr}");
}

#[test]
fn what_could_not_be_delivered_is_said_once_and_counted() {
    let folder = Folder::new("undelivered");
    let file = scenario(&folder, "1s");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = durward(&[
        "lab",
        "run",
        &file,
        "--out",
        &folder.path("out"),
        "--skip-generator-limit",
        "--remote-write",
        &format!("http://{free}/api/v1/write"),
    ])
    .exits(0);
    assert_eq!(ran.stderr.matches("does not deliver, and the run goes on").count(), 1, "{}", ran.stderr);
    // How many there were depends on how long the run took.
    let (_, counts) = ran.stderr.split_once(": 0 of ").unwrap_or_else(|| panic!("{}", ran.stderr));
    let (count, rest) = counts.split_once(' ').unwrap();
    assert!(count.parse::<u32>().unwrap() >= 3, "{}", ran.stderr);
    assert!(rest.starts_with(&format!("batches delivered, {count} dropped: ")), "{}", ran.stderr);
}

#[test]
fn the_schema_of_scenarios_is_printed() {
    let schema: serde_json::Value =
        serde_json::from_str(&durward(&["lab", "init", "--schema"]).exits(0).stdout).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert!(schema["properties"]["load"].is_object());
    durward(&["lab", "init"]).exits(2);
}
