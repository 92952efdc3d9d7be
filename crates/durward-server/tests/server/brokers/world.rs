//! What the manual says about brokers: its files, with other addresses, and users to log in with.

use std::fs;
use std::sync::{Arc, Mutex};

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::Value;

use crate::support::{Directory, TestServer, workspace};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

pub(super) const PASSWORD: &str = "a long password";

/// The files of the section of the manual with this heading.
pub(super) fn manual(heading: &str) -> Vec<(String, String)> {
    let page = fs::read_to_string(workspace("docs/brokers.md")).unwrap();
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let texts = section.split("cat > ").skip(1);
    let file = |text: &str| {
        let (name, text) = text.split_once(" <<'END'\n").unwrap();
        (name.to_owned(), text.split_once("END\n").unwrap().0.to_owned())
    };
    texts.map(file).collect()
}

/// The text of one of them.
pub(super) fn file<'f>(files: &'f [(String, String)], name: &str) -> &'f str {
    &files.iter().find(|(other, _)| other == name).unwrap().1
}

/// A directory with the policies and the users: `line1` and `line2`, devices, `ada` of the staff, `gone`, who may not log in, and one with a
/// name that would be a wildcard.
pub(super) fn directory(files: &[(String, String)]) -> Directory {
    let directory = Directory::new();
    for (name, text) in files {
        directory.write(name, text);
    }
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new(PASSWORD).unwrap(), CHEAP, &SystemEntropy).unwrap();
    for (name, group) in
        [("line1", "devices"), ("line2", "devices"), ("ada", "staff"), ("gone", "devices"), ("+", "devices")]
    {
        let (password, groups) = (Some(password.clone()), vec![group.to_owned()]);
        let disabled = name == "gone";
        users
            .put(Account { password, groups, disabled, ..Account::new(&User::new("/", name).unwrap()) })
            .unwrap();
    }
    directory
}

/// The settings of the manual, behind others. Hashes are cheap, and guesses are not delayed.
pub(super) fn settings(files: &[(String, String)], more: &str) -> String {
    let cheap = "[identity]\nhash_memory_kib = 8\nhash_passes = 1\nuser_failures_free = 1000\naddress_failures_free = 1000\n";
    more.to_owned() + &file(files, "durward.toml").replace("[identity]\n", cheap)
}

/// A server with the files of a section.
pub(super) fn start(heading: &str, more: &str) -> TestServer {
    let files = manual(heading);
    let server = TestServer::start_in(directory(&files), &settings(&files, more)).unwrap();
    server.eventually("users can log in", |server| server.get("/health/ready").status == 200);
    server
}

/// A token of a session of this user.
pub(super) fn session(server: &TestServer, user: &str) -> String {
    let body = serde_json::json!({ "user": user, "password": PASSWORD }).to_string();
    let json = [("Content-Type", "application/json")];
    let token = Mutex::new(String::new());
    server.eventually("a login", |server| {
        let reply = server.send("POST", "/v1/login", &json, body.as_bytes());
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        *token.lock().unwrap() = answer["token"].as_str().unwrap_or_default().to_owned();
        reply.status == 200
    });
    token.into_inner().unwrap()
}
