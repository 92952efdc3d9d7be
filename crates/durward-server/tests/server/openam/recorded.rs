//! The calls that were recorded from OpenAM 16, made again in their order: the same status, the headers that matter, and the same
//! bodies up to tokens, handles and times. Where we differ is a list, which may only become shorter.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::world::{RECORDED, World};
use crate::support::{Reply, workspace};

/// Headers that are compared where OpenAM has them.
const HEADERS: [&str; 7] = [
    "x-frame-options",
    "content-type",
    "content-api-version",
    "expires",
    "pragma",
    "cache-control",
    "location",
];

pub(super) struct Recorded {
    pub(super) title: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    pub(super) status: u16,
    pub(super) answer_headers: Vec<(String, String)>,
    pub(super) answer: String,
}

/// The words of a command line as a shell takes them, of which only `\` is used.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => words.last_mut().unwrap().extend(characters.next()),
            ' ' => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

fn read(text: &str) -> Vec<Recorded> {
    text.split("### ").skip(1).map(read_one).collect()
}

fn read_one(text: &str) -> Recorded {
    let text = text.replace("\r\n", "\n");
    let (title, rest) = text.split_once('\n').unwrap();
    let (command, rest) = rest.split_once('\n').unwrap();
    let (head, answer) = rest.split_once("\n\n").unwrap();
    let mut head = head.lines();
    let status = head.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let mut call = Recorded {
        title: title.to_owned(),
        method: "GET".to_owned(),
        path: String::new(),
        headers: Vec::new(),
        body: String::new(),
        status,
        answer_headers: head.map(header).collect(),
        answer: answer.trim_end().to_owned(),
    };
    let mut words = words(command).into_iter().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-i" => {}
            "-X" => call.method = words.next().unwrap(),
            "-H" => call.headers.push(header(&words.next().unwrap())),
            "-b" => call.headers.push(("cookie".to_owned(), words.next().unwrap())),
            "-d" => call.body = words.next().unwrap(),
            url => call.path = url.strip_prefix("http://openam.local:8081").unwrap().to_owned(),
        }
    }
    // `-H Name:` takes the header away.
    call.headers.retain(|(_, value)| !value.is_empty());
    call
}

/// Recorded tokens, and ours in their place.
struct Tokens<'w> {
    world: &'w World,
    administrators: BTreeSet<String>,
    ours: RefCell<BTreeMap<String, String>>,
}

impl<'w> Tokens<'w> {
    /// Tokens in the headers of calls that say so are an administrator's.
    fn new(world: &'w World, calls: &[Recorded]) -> Tokens<'w> {
        let by_administrators = calls.iter().filter(|call| call.title.contains("admin"));
        let tokens = by_administrators.flat_map(|call| &call.headers).flat_map(|(_, value)| found(value));
        Tokens { world, administrators: tokens.collect(), ours: RefCell::default() }
    }

    fn ours(&self, recorded: &str) -> String {
        if let Some(ours) = self.ours.borrow().get(recorded) {
            return ours.clone();
        }
        let ours = match recorded {
            id if id.starts_with("eyJ") => {
                let reply = self.world.post("/json/authenticate", &[], "");
                reply.json()["authId"].as_str().unwrap().to_owned()
            }
            // Never anybody's.
            unknown if unknown.contains("XXXX") => unknown.to_owned(),
            token if self.administrators.contains(token) => self.world.token("amadmin"),
            _ => self.world.token("demo"),
        };
        self.ours.borrow_mut().insert(recorded.to_owned(), ours.clone());
        ours
    }

    /// A text of a call with our tokens in it.
    fn put_into(&self, text: &str) -> String {
        found(text).into_iter().fold(text.to_owned(), |text, token| text.replace(&token, &self.ours(&token)))
    }
}

/// The tokens and `authId`s in a text.
fn found(text: &str) -> Vec<String> {
    let is_of_token = |character: char| character.is_ascii_alphanumeric() || "-_.*".contains(character);
    let words = text.split(|character| !is_of_token(character));
    words
        .filter(|word| word.len() > 40 && (word.starts_with("AQIC") || word.starts_with("eyJ")))
        .map(str::to_owned)
        .collect()
}

/// A body with nothing in it that is different each time.
fn alike(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("tokenId" | "authId" | "sessionHandle" | "_rev", Value::String(_)) => "(token)".into(),
        // What is wrong with JSON, each parser says in its own words.
        (_, Value::String(text)) if text.contains("[Source: ") => "(words of a parser)".into(),
        (name, Value::String(_)) if name.ends_with("Time") => "(time)".into(),
        ("maxtime", number) => (number.as_i64().unwrap() > 7_000).into(),
        ("idletime", number) => (number.as_i64().unwrap() < 100).into(),
        // How many sessions there are, is another matter.
        ("result", Value::Array(rows)) if rows.iter().all(Value::is_object) => {
            let row = rows.first().map(|row| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
            format!("rows of {row:?}").into()
        }
        ("resultCount", _) => "(count)".into(),
        (_, Value::Object(object)) => {
            let fields = object.iter().map(|(name, value)| {
                let name = if name.starts_with("shandle:") && (name.len() > 20 || name.contains('(')) {
                    "(handle)"
                } else {
                    name
                };
                (name.to_owned(), alike(name, value))
            });
            fields.collect()
        }
        (_, Value::Array(values)) => values.iter().map(|value| alike("", value)).collect(),
        (_, Value::String(text)) => without_tokens(text).into(),
        (_, value) => value.clone(),
    }
}

fn body(text: &str) -> String {
    let is_pretty = text.starts_with("{\n");
    match serde_json::from_str::<Value>(text) {
        Ok(value) if !is_pretty => alike("", &value).to_string(),
        Ok(_) => text.lines().filter(|line| !line.contains("\"_rev\"")).collect(),
        Err(_) => without_tokens(text.trim_end()),
    }
}

/// Ours begin in another way than OpenAM's, and nothing else is as long.
fn without_tokens(text: &str) -> String {
    let is_of_token = |character: char| character.is_ascii_alphanumeric() || "-_.*".contains(character);
    let words = text.split(|character| !is_of_token(character)).filter(|word| word.len() > 60);
    let tokens = words.map(|word| word.strip_prefix("ID.").unwrap_or(word));
    tokens.fold(text.to_owned(), |text, token| text.replace(token, "(token)"))
}

/// The cookie's name, whether it has a value, and where it is for.
fn cookies(headers: &[&str]) -> BTreeSet<String> {
    let cookie = |text: &&str| {
        let (pair, rest) = text.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        let rest: Vec<&str> = rest.split(';').map(str::trim).collect();
        let places = rest.iter().filter(|part| part.starts_with("Domain=") || part.starts_with("Path="));
        let is_ended = rest.contains(&"Max-Age=0");
        format!("{name} empty {} ended {is_ended} {:?}", value.is_empty(), places.collect::<Vec<_>>())
    };
    // What sticks users to one server, and what keeps a login under way on it, there is no need for.
    headers.iter().filter(|text| text.starts_with("iPlanetDirectoryPro=")).map(cookie).collect()
}

/// What differs, in words.
pub(super) fn differences(call: &Recorded, reply: &Reply) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, recorded: String, ours: String| {
        if recorded != ours {
            found.push(format!("{what}: recorded {recorded}, ours {ours}"));
        }
    };
    compare("status", call.status.to_string(), reply.status.to_string());
    compare("body", body(&call.answer), body(&reply.text()));
    for name in HEADERS {
        let recorded = call.answer_headers.iter().filter(|(other, _)| other == name);
        let recorded: BTreeSet<&str> = recorded.map(|(_, value)| value.as_str()).collect();
        if !recorded.is_empty() && !reply.all(name).iter().any(|ours| recorded.contains(ours)) {
            compare(name, format!("{recorded:?}"), format!("{:?}", reply.all(name)));
        }
    }
    let recorded = call.answer_headers.iter().filter(|(name, _)| name == "set-cookie");
    let recorded: Vec<&str> = recorded.map(|(_, value)| value.as_str()).collect();
    // That of the device is ours alone.
    let ours = reply.all("set-cookie").into_iter().filter(|cookie| !cookie.starts_with("durward_device="));
    let (recorded, ours) = (cookies(&recorded), cookies(&ours.collect::<Vec<&str>>()));
    compare("cookies", format!("{recorded:?}"), format!("{ours:?}"));
    found
}

/// The calls that are known to be answered otherwise: file, title (all that begin so, where it ends with `*`), why.
pub(super) struct KnownDifferences {
    rows: Vec<(String, String)>,
    used: BTreeSet<usize>,
}

impl KnownDifferences {
    pub(super) fn read() -> KnownDifferences {
        let text = fs::read_to_string(workspace("conformance/openam.tsv")).unwrap();
        let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let row = |line: &str| {
            let [file, title, _why] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            (file.to_owned(), title.to_owned())
        };
        KnownDifferences { rows: rows.map(row).collect(), used: BTreeSet::new() }
    }

    /// Whether a call is among them; from here on its row is of use.
    pub(super) fn covers(&mut self, file: &str, title: &str) -> bool {
        let is_it = |(of, known): &(String, String)| {
            of == file && known.strip_suffix('*').map_or(known == title, |start| title.starts_with(start))
        };
        let found = self.rows.iter().position(is_it);
        self.used.extend(found);
        found.is_some()
    }

    /// Rows of some files that no call has needed.
    pub(super) fn idle(&self, is_of: impl Fn(&str) -> bool) -> Vec<&(String, String)> {
        let rows = self.rows.iter().enumerate().filter(|(index, _)| !self.used.contains(index));
        rows.map(|(_, row)| row).filter(|(file, _)| is_of(file)).collect()
    }
}

#[test]
fn recorded_calls_are_answered_as_openam_answered_them_save_those_that_are_listed() {
    let Some(data) = durward_testdata::recorded("openam") else { return };
    let mut files: Vec<PathBuf> = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut known = KnownDifferences::read();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let world = World::new(RECORDED);
        let calls = read(&fs::read_to_string(file).unwrap());
        let tokens = Tokens::new(&world, &calls);
        for call in &calls {
            let headers: Vec<(&str, String)> =
                call.headers.iter().map(|(name, value)| (name.as_str(), tokens.put_into(value))).collect();
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let (path, body) = (tokens.put_into(&call.path), tokens.put_into(&call.body));
            let reply = world.server.send(&call.method, &path, &headers, body.as_bytes());
            let found = differences(call, &reply);
            if !found.is_empty() && !known.covers(&name, &call.title) {
                wrong.push(format!("{name}: {}\n    {}", call.title, found.join("\n    ")));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {count} calls:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "{count}");
    let idle = known.idle(|file| file.ends_with(".txt"));
    assert!(idle.is_empty(), "these are answered alike now; take them off the list: {idle:?}");
}
