//! `durward lab study luas`: engines as servers, their decisions compared, then measured.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;

use serde_json::Value;

use crate::{Ran, durward};

/// A directory of a test's own, with a policy that permits `read` and denies all else, and questions about it.
struct Folder(PathBuf);

const POLICY: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
 RuleCombiningAlgId="urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:first-applicable"><Target/>
<Rule RuleId="read" Effect="Permit"><Target><AnyOf><AllOf>
<Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">read</AttributeValue>
<AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:action"
 AttributeId="urn:oasis:names:tc:xacml:1.0:action:action-id" DataType="http://www.w3.org/2001/XMLSchema#string"
 MustBePresent="false"/></Match></AllOf></AnyOf></Target></Rule>
<Rule RuleId="else" Effect="Deny"><Target/></Rule></Policy>"#;

fn question(action: &str) -> String {
    format!(
        r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false" ReturnPolicyIdList="false"><Attributes Category="urn:oasis:names:tc:xacml:3.0:attribute-category:action"><Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:action:action-id" IncludeInResult="false"><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">{action}</AttributeValue></Attribute></Attributes></Request>"#
    )
}

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-study-luas-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("in")).unwrap();
        let folder = Folder(path);
        let asked = [("1", "read", "Permit"), ("2", "write", "Deny"), ("3", "delete", "Deny")];
        let line = |value: Value| value.to_string() + "\n";
        let questions =
            asked.map(|(id, action, _)| line(serde_json::json!({ "id": id, "xml": question(action) })));
        let right =
            asked.map(|(id, _, decision)| line(serde_json::json!({ "id": id, "decision": decision })));
        fs::write(folder.0.join("in/policy.xml"), POLICY).unwrap();
        fs::write(folder.0.join("in/requests.jsonl"), questions.concat()).unwrap();
        fs::write(folder.0.join("in/decisions.jsonl"), right.concat()).unwrap();
        folder
    }

    /// Runs the study with bursts of ten for a second.
    fn study(&self, more: &[&str]) -> Ran {
        let (policies, out) = (self.path("in"), self.path("out"));
        let all = [
            "lab",
            "study",
            "luas",
            "--points",
            "10",
            "--seconds",
            "1",
            "--policies",
            &policies,
            "--out",
            &out,
        ];
        durward(&[&all, more].concat())
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn digest(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.0.join("out/study-luas.json")).unwrap()).unwrap()
    }

    fn page(&self) -> String {
        fs::read_to_string(self.0.join("out/study-luas.md")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A decision point that permits everything, for as long as the test runs.
fn permits_everything() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                let mut lines = BufReader::new(stream);
                let mut length = 0;
                let mut line = String::new();
                while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line == "\r\n" {
                        let mut body = vec![0; length];
                        lines.read_exact(&mut body).unwrap();
                        let answer = "<Response><Result><Decision>Permit</Decision></Result></Response>";
                        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
                        if out.write_all((head + answer).as_bytes()).is_err() {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

fn engine<'v>(digest: &'v Value, name: &str) -> &'v Value {
    digest["facts"]["engines"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

#[test]
fn durward_alone_is_measured_beside_the_paper() {
    let folder = Folder::new("alone");
    let only = ["--only", "durward-cold", "--only", "durward-warm"];
    let ran = folder.study(&only).exits(0);
    assert!(ran.stderr.contains("decides 3 questions"), "{}", ran.stderr);
    let digest = folder.digest();
    let durward = engine(&digest, "durward");
    assert_eq!((durward["asked"].as_u64(), durward["wrong"].as_u64()), (Some(3), Some(0)));
    for name in ["durward-cold", "durward-warm"] {
        let run = digest["runs"].as_array().unwrap().iter().find(|run| run["name"] == name).unwrap();
        let all = &run["points"][0]["steps"][0];
        assert_eq!(all["answered"], 10, "{name}: {run}");
    }
    let page = folder.page();
    for part in [
        "Every engine answered every request",
        "81051.1 ms",
        "| 660 MB |",
        "gave the right decision",
        "all right",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert!(fs::read(folder.0.join("out/index.html")).unwrap().len() > 1000);
    // What was measured and asked is not done again.
    let ran = folder.study(&[&only[..], &["--resume"]].concat()).exits(0);
    assert!(ran.stderr.contains("recorded before"), "{}", ran.stderr);
    assert_eq!(folder.digest()["runs"], digest["runs"]);
}

#[test]
fn an_engine_that_decides_wrongly_is_not_fast() {
    let folder = Folder::new("wrong");
    let engine_word = format!("yes={}", permits_everything());
    let ran =
        folder.study(&["--engine", &engine_word, "--only", "yes-cold", "--only", "durward-cold"]).exits(0);
    let first = "to `2` it says Permit, and right is Deny";
    assert!(ran.stderr.contains(&format!("WRONG: yes: 2 of 3 decisions; {first}")), "{}", ran.stderr);
    let digest = folder.digest();
    assert_eq!(engine(&digest, "yes")["wrong"], 2);
    let page = folder.page();
    let verdict: String = page.lines().filter(|line| line.starts_with('>')).collect();
    assert!(verdict.contains("yes decides 2 of 3 questions wrongly"), "{verdict}");
    assert!(!verdict.contains("yes 0.") && verdict.contains("durward"), "{verdict}");
    assert!(page.contains("| yes (WRONG) |") && page.contains(first), "{page}");
    // Wrong answers are failures of the load as well.
    let run = digest["runs"].as_array().unwrap().iter().find(|run| run["name"] == "yes-cold").unwrap();
    let failed = run["points"][0]["steps"][0]["failed"].as_object().unwrap();
    assert!(failed.keys().any(|cause| cause.starts_with("wrong answer")), "{failed:?}");
}

#[test]
fn an_engine_that_does_not_start_is_told() {
    let folder = Folder::new("absent");
    let absent = ["--engine", "mine=/no/such/program {port}", "--only", "mine-cold"];
    let ran = folder.study(&absent).exits(2);
    assert!(
        ran.stderr.contains("no engine can be measured: mine: ") && ran.stderr.contains("/no/such/program"),
        "{}",
        ran.stderr
    );
    folder.study(&[&absent[..], &["--only", "durward-cold"]].concat()).exits(0);
    assert!(folder.page().contains("mine was not measured: "), "{}", folder.page());
    folder.study(&["--engine", "far=http://192.0.2.1", "--only", "far-cold"]).exits(2);
}

#[test]
fn what_cannot_be_measured_is_bad_input() {
    let folder = Folder::new("bad");
    let ran = folder.study(&["--engine", "mine=./pdp", "--list"]).exits(2);
    assert!(ran.stderr.contains("must be told where to listen"), "{}", ran.stderr);
    let ran = folder.study(&["--only", "nobody-cold"]).exits(2);
    assert!(
        ran.stderr.contains("`nobody-cold` is no run of this study") && ran.stderr.contains("att-warm"),
        "{}",
        ran.stderr
    );
    let listed = folder.study(&["--list"]).exits(0);
    assert!(
        listed.stdout.contains("authzforce-cold") && listed.stdout.contains("Balana 1.2.24"),
        "{}",
        listed.stdout
    );
    fs::remove_file(folder.0.join("in/requests.jsonl")).unwrap();
    let ran = folder.study(&[]).exits(2);
    assert!(ran.stderr.contains("no questions: a file `requests*.jsonl`"), "{}", ran.stderr);
}

/// Balana from Maven Central, built into the user's cache.
#[test]
fn an_engine_of_others_is_built_and_measured() {
    let how = "apt-get install default-jdk-headless maven";
    if !["java", "mvn"].iter().all(|program| durward_testdata::has_program(program, "-version", how)) {
        return;
    }
    let folder = Folder::new("balana");
    folder.study(&["--only", "balana-cold"]).exits(0);
    let digest = folder.digest();
    let balana = engine(&digest, "balana");
    assert_eq!((balana["asked"].as_u64(), balana["wrong"].as_u64()), (Some(3), Some(0)), "{balana}");
    let jars = balana["shipped"].as_array().unwrap().iter().find(|part| part["what"] == "all jars").unwrap();
    assert!(jars["bytes"].as_u64().unwrap() > 500_000, "{balana}");
    let all = &digest["runs"][0]["points"][0]["steps"][0];
    assert_eq!(all["answered"], 10, "{digest}");
}
