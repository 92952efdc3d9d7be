//! Further calls that were made of OpenAM 16, in `conformance/openam`: made again here, and compared as the recorded ones are. Where
//! we differ is in `conformance/openam.tsv` too.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use durward_session::ServiceSettings;
use serde_json::{Value, json};

use super::recorded::{KnownDifferences, Recorded, differences};
use super::world::{RECORDED, World};
use crate::support::workspace;

/// A call, and whether what came before it counts: otherwise all tokens are new.
struct Observed {
    call: Recorded,
    goes_on: bool,
}

/// Lines that begin with a sign, without it.
fn lines<'t>(block: &'t str, sign: &str) -> Vec<&'t str> {
    let lines = block.lines().filter_map(|line| line.strip_prefix(sign));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect()
}

/// Headers up to an empty line, and what comes after it.
fn parted(lines: &[&str]) -> (Vec<(String, String)>, String) {
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let header = |line: &&str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.strip_prefix(' ').unwrap_or(value).to_owned())
    };
    let headers = lines[..end].iter().map(header).collect();
    (headers, lines.get(end + 1..).unwrap_or_default().join("\n"))
}

fn read(block: &str) -> Observed {
    let title = block.lines().next().unwrap();
    let (asked, answered) = (lines(block, ">"), lines(block, "<"));
    let (method, path) = asked[0].split_once(' ').unwrap();
    let (headers, body) = parted(&asked[1..]);
    let (answer_headers, answer) = parted(&answered[1..]);
    let then = title.strip_prefix("then: ");
    let call = Recorded {
        title: then.unwrap_or(title).to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body,
        status: answered[0].parse().unwrap(),
        answer_headers,
        answer,
    };
    Observed { call, goes_on: then.is_some() }
}

/// What stands in braces in a call.
struct Names<'w> {
    world: &'w World,
    known: RefCell<BTreeMap<String, String>>,
}

impl Names<'_> {
    fn put_into(&self, text: &str) -> String {
        let mut put = text.to_owned();
        for name in [
            "demo",
            "other",
            "admin",
            "sales",
            "dead",
            "authId",
            "authIdUsed",
            "authIdForged",
            "handle",
            "otherHandle",
            "salespassword",
            "demo%",
        ] {
            let place = format!("{{{name}}}");
            if put.contains(&place) {
                put = put.replace(&place, &self.get(name));
            }
        }
        put
    }

    fn get(&self, name: &str) -> String {
        let known = self.known.borrow().get(name).cloned();
        known.unwrap_or_else(|| {
            let made = self.make(name);
            self.known.borrow_mut().insert(name.to_owned(), made.clone());
            made
        })
    }

    fn make(&self, name: &str) -> String {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match name {
            "demo%" => self.get("demo").bytes().map(|byte| format!("%{byte:02X}")).collect(),
            "demo" | "other" => self.world.token("demo"),
            "admin" => self.world.token("amadmin"),
            "salespassword" => "salespassword".to_owned(),
            "sales" => {
                let reply = self.world.login_at("/json/sales/authenticate", "demo", "salespassword");
                text(&reply.json()["tokenId"])
            }
            "dead" => {
                let token = self.world.token("demo");
                let by = [("iPlanetDirectoryPro", token.as_str())];
                assert_eq!(self.world.post("/json/sessions?_action=logout", &by, "").status, 200);
                token
            }
            "handle" | "otherHandle" => {
                let token = self.get(if name == "handle" { "demo" } else { "other" });
                let by = [("iPlanetDirectoryPro", token.as_str())];
                text(
                    &self.world.post("/json/sessions?_action=getSessionInfo", &by, "").json()["sessionHandle"],
                )
            }
            _ => self.auth_id(name),
        }
    }

    fn auth_id(&self, name: &str) -> String {
        let mut asked = self.world.post("/json/authenticate", &[], "").json();
        let auth_id = asked["authId"].as_str().unwrap().to_owned();
        if name == "authIdUsed" {
            asked["callbacks"][0]["input"][0]["value"] = "demo".into();
            asked["callbacks"][1]["input"][0]["value"] = "changeit".into();
            let json = [("Content-Type", "application/json")];
            assert_eq!(self.world.post("/json/authenticate", &json, asked.to_string()).status, 200);
        }
        let (said, tag) = auth_id.rsplit_once('.').unwrap();
        let other = if tag.starts_with('A') { "B" } else { "A" };
        if name == "authIdForged" { format!("{said}.{other}{}", &tag[1..]) } else { auth_id }
    }
}

fn world(file: &str) -> World {
    let properties =
        if file == "session-properties" { vec!["color".to_owned(), "shape".to_owned()] } else { Vec::new() };
    World::with(&format!("{RECORDED}\ncookie_secure = false"), |settings| ServiceSettings {
        settable_properties: properties,
        ..settings
    })
}

/// The titles of the calls in a file that were answered otherwise, each with how; and how many calls there are.
fn replayed(file: &str) -> (Vec<(String, Vec<String>)>, usize) {
    let text = fs::read_to_string(workspace(&format!("conformance/openam/{file}.txt"))).unwrap();
    let world = world(file);
    let mut names = Names { world: &world, known: RefCell::default() };
    let mut differing = Vec::new();
    let calls: Vec<Observed> = text.split("### ").skip(1).map(read).collect();
    let titles: BTreeSet<&str> = calls.iter().map(|observed| observed.call.title.as_str()).collect();
    assert_eq!(titles.len(), calls.len(), "{file}: two calls have one title");
    for Observed { call, goes_on } in &calls {
        if !goes_on {
            names = Names { world: &world, known: RefCell::default() };
        }
        let headers: Vec<(&str, String)> =
            call.headers.iter().map(|(name, value)| (name.as_str(), names.put_into(value))).collect();
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (path, body) = (names.put_into(&call.path), names.put_into(&call.body));
        let reply = world.server.send(&call.method, &path, &headers, body.as_bytes());
        let found = differences(call, &reply);
        if !found.is_empty() {
            differing.push((call.title.clone(), found));
        }
    }
    (differing, calls.len())
}

#[test]
fn observed_calls_are_answered_as_openam_answered_them_save_those_that_are_listed() {
    let mut known = KnownDifferences::read();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut files: Vec<String> = fs::read_dir(workspace("conformance/openam"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    for file in &files {
        let (differing, calls) = replayed(file);
        count += calls;
        for (title, found) in differing {
            if !known.covers(file, &title) {
                wrong.push(format!("{file}: {title}\n    {}", found.join("\n    ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} calls:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 1000, "{count}");
    let idle = known.idle(|file| files.contains(&file.to_owned()));
    assert!(idle.is_empty(), "these are answered alike now; take them off the list: {idle:?}");
}

#[test]
fn a_call_is_read_with_its_headers_and_its_body() {
    let text = "then: a call\n> POST /x\n> A: b\n>\n> {\"c\":1}\n< 200\n< d: e\n<\n< {\"f\":2}\n";
    let Observed { call, goes_on } = read(text);
    assert!(goes_on);
    assert_eq!((call.title.as_str(), call.method.as_str(), call.path.as_str()), ("a call", "POST", "/x"));
    assert_eq!(call.headers, [("a".to_owned(), "b".to_owned())]);
    assert_eq!((call.status, call.body.as_str()), (200, "{\"c\":1}"));
    assert_eq!(serde_json::from_str::<Value>(&call.answer).unwrap(), json!({"f": 2}));
}
