//! A password that was forgotten: who asks learns nothing, a hook hands a link over, and the link is good once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::password_change::{ADMINISTERED, administrator, change};
use super::world::{Browser, FORM, Seen, World, clients, send};
use crate::oauth::world::encoded;
use crate::support::Directory;

const LINK: &str = "identity.reset.link = 'https://id.example.org/oauth2/reset'\n";

/// A world whose hook adds each message to a file, whole: several run at once.
fn with_command(more: &str) -> (World, Directory) {
    let files = Directory::new();
    let out = files.path("out").display().to_string();
    let command =
        format!("identity.reset.command = ['sh', '-c', 'printf \"%s\\n\" \"$(cat)\" >> \"$0\"', '{out}']\n");
    let identity = format!("{ADMINISTERED}{LINK}{command}identity.audit = 'audit'\n{more}");
    (World::with(&identity, &clients()), files)
}

fn count(world: &World, event: &str) -> f64 {
    world.server.metric(&format!("durward_identity_total{{event=\"{event}\"}}"))
}

/// Waits until the hook has been told so often, and what it was told.
fn told(world: &World, files: &Directory, times: usize) -> Vec<Value> {
    let sent = f64::from(u32::try_from(times).unwrap());
    world.server.eventually("the hook was told", |_| count(world, "reset_sent") >= sent);
    let text = std::fs::read_to_string(files.path("out")).unwrap();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), times, "{text}");
    told
}

fn ask(browser: &mut Browser<'_>, name: &str) -> Seen {
    let form = browser.get("/oauth2/reset");
    assert!(form.text.contains("name=\"username\""), "{}", form.text);
    let csrf = form.csrf();
    browser.post("/oauth2/reset", &[("csrf", &csrf), ("username", name)])
}

/// The path of a link.
fn path(message: &Value) -> String {
    let link = message["link"].as_str().unwrap();
    link.strip_prefix("https://id.example.org").unwrap_or_else(|| panic!("{link}")).to_owned()
}

fn choose(browser: &mut Browser<'_>, form: &Seen, password: &str, more: &[(&str, &str)]) -> Seen {
    let csrf = form.csrf();
    let mut fields =
        vec![("csrf", csrf.as_str()), ("new_password", password), ("new_password_again", password)];
    fields.extend(more);
    browser.post("/oauth2/reset", &fields)
}

/// Whether a password lets in.
fn lets_in(world: &World, user: &str, password: &str) -> bool {
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    browser.answer(&form, &[("username", user), ("password", password)]).status == 303
}

#[test]
fn a_user_who_forgot_the_password_chooses_another_one_by_a_link() {
    let (world, files) = with_command("");
    let (browser, _) = world.logged_in();
    let session = browser.session().unwrap().to_owned();
    let bearer = format!("Bearer {session}");
    let of_session = || send(&world.server, "GET", "/v1/session", &[("Authorization", &bearer)], "").status;
    assert_eq!(of_session(), 200);
    let page = world.browser().authorize(&[]);
    assert!(page.text.contains("href=\"/oauth2/reset\""), "{}", page.text);
    let mut stranger = world.browser();
    let sent = ask(&mut stranger, "anna");
    assert_eq!(sent.status, 200, "{}", sent.text);
    let [message] = told(&world, &files, 1).try_into().unwrap();
    for (member, value) in [
        ("event", "password-reset"),
        ("user", "anna"),
        ("realm", "/"),
        ("email", "anna@example.org"),
        ("language", "en"),
    ] {
        assert_eq!(message[member], value, "{message}");
    }
    let expires: jiff::Timestamp = message["expires"].as_str().unwrap().parse().unwrap();
    let left = expires.as_second() - i64::from(world.now().seconds());
    assert!((1700..=1800).contains(&left), "{left}");
    // A program that looks at mail follows the link, and so does the user, in another browser.
    let link = path(&message);
    for _ in 0..3 {
        assert_eq!(send(&world.server, "GET", &link, &[], "").status, 200);
    }
    let mut phone = world.browser();
    let form = phone.get(&link);
    assert!(
        form.text.contains("name=\"new_password\"") && !form.text.contains("name=\"code\""),
        "{}",
        form.text
    );
    let again = choose(&mut phone, &form, "short", &[]);
    assert!(again.text.contains("role=\"alert\""), "{}", again.text);
    assert!(lets_in(&world, "anna", "secret"), "nothing has changed yet");
    let done = choose(&mut phone, &again, "another one", &[]);
    assert_eq!(done.status, 200, "{}", done.text);
    assert!(!done.text.contains("<form"), "{}", done.text);
    assert!(lets_in(&world, "anna", "another one") && !lets_in(&world, "anna", "secret"));
    assert_eq!(of_session(), 401, "sessions of before are over");
    // Used: the link, and the form of before.
    phone.get(&link).stays();
    choose(&mut phone, &form, "a third one", &[]).stays();
    assert!(!lets_in(&world, "anna", "a third one"));
    let audit =
        || std::fs::read_to_string(world.server.directory.path("audit/audit.jsonl")).unwrap_or_default();
    world.server.eventually("it is noted", |_| {
        audit().contains("another password was chosen") && audit().contains("was asked for: handed over")
    });
    let audit = audit();
    let token = link.split_once("token=").unwrap().1;
    for secret in [token, "another one", "secret\""] {
        assert!(!audit.contains(secret), "{secret}");
    }
}

#[test]
fn who_asks_learns_nothing_of_a_name() {
    let (world, files) = with_command("");
    change(&world, "carl", &json!({ "disabled": true }));
    let mut pages = Vec::new();
    for name in ["nobody", "carl", "anna@/nowhere", "", "x\u{0}y", &"n".repeat(5_000), "anna"] {
        let seen = ask(&mut world.browser(), name);
        pages.push((seen.status, seen.text, seen.policy));
    }
    pages.dedup();
    assert_eq!(pages.len(), 1, "{pages:?}");
    let [message] = told(&world, &files, 1).try_into().unwrap();
    assert_eq!(message["user"], "anna");
}

#[test]
fn only_the_browser_that_was_given_a_form_can_send_it() {
    let (world, files) = with_command("");
    let mut browser = world.browser();
    ask(&mut browser, "anna");
    let [message] = told(&world, &files, 1).try_into().unwrap();
    let link = path(&message);
    let form = browser.get(&link);
    let csrf = form.csrf();
    let fields =
        [("csrf", csrf.as_str()), ("new_password", "another one"), ("new_password_again", "another one")];
    let mut other = world.browser();
    other.post("/oauth2/reset", &fields).stays();
    other.get(&link);
    other.post("/oauth2/reset", &fields).stays();
    let body = encoded(&fields);
    for site in ["cross-site", "same-site"] {
        browser.send("POST", "/oauth2/reset", &[FORM, ("Sec-Fetch-Site", site)], &body).stays();
    }
    // A link is no form, and what is in an address changes nothing.
    let token = link.split_once("token=").unwrap().1;
    browser.post("/oauth2/reset", &[("token", token), ("new_password", "another one")]).stays();
    browser.get(&format!("{link}&new_password=another+one&new_password_again=another+one&csrf={csrf}"));
    assert!(lets_in(&world, "anna", "secret"));
    for altered in
        [format!("{link}A"), link.replacen("token=", "token=A", 1), link[..link.len() - 1].to_owned()]
    {
        browser.get(&altered).stays();
    }
    world.pass(901);
    browser.post("/oauth2/reset", &fields).stays();
    world.pass(901);
    browser.get(&link).stays();
    assert!(lets_in(&world, "anna", "secret"));
}

#[test]
fn a_link_is_over_for_a_user_who_was_changed() {
    let (world, files) = with_command("");
    ask(&mut world.browser(), "carl");
    let link = path(&told(&world, &files, 1)[0]);
    let mut browser = world.browser();
    let form = browser.get(&link);
    change(&world, "carl", &json!({ "disabled": true }));
    browser.get(&link).stays();
    choose(&mut browser, &form, "another one", &[]).stays();
    change(&world, "carl", &json!({ "disabled": false, "password": "of the administrator" }));
    choose(&mut browser, &form, "another one", &[]).stays();
    assert!(lets_in(&world, "carl", "of the administrator"));
}

#[test]
fn who_has_a_second_step_gives_a_code() {
    let (world, files) = with_command("");
    ask(&mut world.browser(), "berta");
    let link = path(&told(&world, &files, 1)[0]);
    let mut browser = world.browser();
    let mut form = browser.get(&link);
    for code in [None, Some(("code", "000000"))] {
        let fields: Vec<(&str, &str)> = code.into_iter().collect();
        form = choose(&mut browser, &form, "another one", &fields);
        let is_asked = form.text.contains("name=\"code\"") && form.text.contains("href=\"#code\"");
        assert!(is_asked, "{code:?} {}", form.text);
    }
    let code = world.totp.code(world.now());
    let done = choose(&mut browser, &form, "another one", &[("code", &code)]);
    assert!(done.status == 200 && !done.text.contains("<form"), "{}", done.text);
}

#[test]
fn neither_users_nor_addresses_are_served_without_end() {
    let more = "identity.reset.user_requests_max = 1\nidentity.reset.address_requests_max = 3\n";
    let (world, files) = with_command(more);
    for name in ["anna", "anna", "carl"] {
        assert_eq!(ask(&mut world.browser(), name).status, 200, "{name}");
    }
    assert_eq!(ask(&mut world.browser(), "berta").status, 429);
    let names: Vec<String> =
        told(&world, &files, 2).iter().map(|told| told["user"].as_str().unwrap().to_owned()).collect();
    assert!(names.contains(&"anna".to_owned()) && names.contains(&"carl".to_owned()), "{names:?}");
    world.pass(3600);
    assert_eq!(ask(&mut world.browser(), "berta").status, 200);
}

#[test]
fn an_administrator_makes_a_link_also_where_there_is_no_hook() {
    let world = World::with(&format!("{ADMINISTERED}{LINK}"), &clients());
    assert!(!world.browser().authorize(&[]).text.contains("/oauth2/reset"));
    assert_eq!(world.browser().get("/oauth2/reset").status, 404);
    let bearer = format!("Bearer {}", administrator(&world));
    let made = |path: &str| send(&world.server, "POST", path, &[("Authorization", &bearer)], "");
    let link = path(&made("/v1/users/carl/reset").json());
    let mut browser = world.browser();
    let form = browser.get(&link);
    assert_eq!(choose(&mut browser, &form, "another one", &[]).status, 200);
    assert!(lets_in(&world, "carl", "another one"));
    assert_eq!(made("/v1/users/nobody/reset").status, 404);
    assert_eq!(made("/v1/users/carl/reset?x=1").status, 400);
    assert_eq!(send(&world.server, "POST", "/v1/users/carl/reset", &[], "").status, 401);
    let none = World::with(ADMINISTERED, &clients());
    assert_eq!(none.browser().get(&link).status, 404);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_hangs_is_ended_with_what_it_has_started() {
    let files = Directory::new();
    let pids = files.path("pids").display().to_string();
    let script = "sleep 1000 & echo $$ $! > \"$0.part\"; mv \"$0.part\" \"$0\"; wait";
    let identity = format!(
        "{LINK}identity.reset.command = ['sh', '-c', '{script}', '{pids}']\nidentity.reset.hook_time_ms_max = 500\n"
    );
    let world = World::with(&identity, &clients());
    assert_eq!(ask(&mut world.browser(), "anna").status, 200, "whoever asks does not wait");
    world.server.eventually("it was given up", |_| count(&world, "reset_failed") >= 1.0);
    let pids = std::fs::read_to_string(files.path("pids")).unwrap();
    let is_running = |pid: &str| {
        let state = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        state.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    world.server.eventually("both are gone", |_| !pids.split_whitespace().any(is_running));
    assert!(lets_in(&world, "anna", "secret"));
}

#[test]
fn a_command_that_fails_or_is_not_there_is_counted() {
    for command in ["['false']", "['/no/such/program']"] {
        let world = World::with(&format!("{LINK}identity.reset.command = {command}\n"), &clients());
        assert_eq!(ask(&mut world.browser(), "anna").status, 200);
        world.server.eventually("it is counted", |_| count(&world, "reset_failed") >= 1.0);
        assert_eq!(count(&world, "reset_sent"), 0.0);
    }
}

/// What a webhook was sent: its head, in small letters, and its body.
type Posted = (String, String);

/// Takes requests and answers each with this; nothing where it is empty.
fn webhook(answer: &'static str) -> (u16, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || take(stream, answer, &sender));
        }
    });
    (port, receiver)
}

fn take(mut stream: TcpStream, answer: &str, sender: &Sender<Posted>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let line = line.to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let _ = sender.send((head, String::from_utf8(body).unwrap()));
    if answer.is_empty() {
        // Silent until the other side goes.
        let _ = reader.read(&mut [0]);
    } else {
        let _ = stream.write_all(answer.as_bytes());
    }
}

fn with_webhook(port: u16, more: &str) -> (World, Directory) {
    let files = Directory::new();
    files.write_secret("key", "0123456789abcdef0123456789abcdef\n");
    let key = files.path("key").display().to_string();
    let identity = format!(
        "{LINK}identity.reset.webhook = 'http://127.0.0.1:{port}/reset?a=b'\n\
         identity.reset.webhook_secret_path = '{key}'\n{more}"
    );
    (World::with(&identity, &clients()), files)
}

#[test]
fn a_webhook_is_posted_a_signed_message() {
    let (port, posts) = webhook("HTTP/1.1 204 No Content\r\n\r\n");
    let (world, _files) = with_webhook(port, "");
    ask(&mut world.browser(), "carl");
    let (head, body) = posts.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(head.starts_with("post /reset?a=b http/1.1"), "{head}");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"0123456789abcdef0123456789abcdef").unwrap();
    mac.update(body.as_bytes());
    let signature: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(head.contains(&format!("durward-signature: sha256={signature}")), "{head}");
    let message: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&message["user"], &message["email"]), (&json!("carl"), &json!("carl@example.org")));
    world.server.eventually("it is counted", |_| count(&world, "reset_sent") >= 1.0);
    assert_eq!(world.browser().get(&path(&message)).status, 200);
}

#[test]
fn a_webhook_that_redirects_refuses_is_silent_or_down_is_counted_and_nobody_waits() {
    let (elsewhere, never) = webhook("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let redirect: &'static str = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{elsewhere}/\r\ncontent-length: 0\r\n\r\n"
    )
    .leak();
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for port in
        [webhook(redirect).0, webhook("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n").0, webhook("").0, down]
    {
        let (world, _files) = with_webhook(port, "identity.reset.hook_time_ms_max = 500\n");
        assert_eq!(ask(&mut world.browser(), "carl").status, 200);
        world.server.eventually("it is counted", |_| count(&world, "reset_failed") >= 1.0);
        assert_eq!(count(&world, "reset_sent"), 0.0);
    }
    assert!(never.try_recv().is_err(), "redirects are not followed: they would be told the link");
}
