//! `durward users` and `durward audit`: users that are added can log in to a server, and the record of that holds.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::serve::Running;
use crate::{Ran, durward, durward_fed};

/// A folder with a configuration, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, mode: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("durward-users-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("policies")).unwrap();
        let settings = format!(
            "[server]\nlisten = '127.0.0.1:0'\n[identity]\nusers = 'users'\nmode = '{mode}'\ndata = 'data'\n\
             audit = 'audit'\nhash_memory_kib = 8\nhash_passes = 1\npassword_length_min = 5\n\
             breached_passwords_path = 'breached.txt'\n"
        );
        fs::write(folder.join("durward.toml"), settings).unwrap();
        fs::write(folder.join("breached.txt"), "password\n123456789\n").unwrap();
        fs::write(folder.join("policies/all.sapl"), "policy \"all\" permit true;\n").unwrap();
        Folder(folder)
    }

    fn config(&self) -> String {
        self.0.join("durward.toml").display().to_string()
    }

    fn users(&self, what: &[&str], password: &str) -> Ran {
        let config = self.config();
        durward_fed(&[&["users"], what, &["--config", &config]].concat(), password)
    }

    fn serve(&self) -> Running {
        Running::start(&["serve", "--config", &self.config()], "address=")
    }

    fn audit(&self) -> String {
        self.0.join("audit/audit.jsonl").display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn post(server: &Running, path: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Logs in; a node that has just started may not have a key yet.
fn login(server: &Running, user: &str, password: &str) -> String {
    let body = format!("{{\"user\":\"{user}\",\"password\":\"{password}\"}}");
    for _ in 0..1_000 {
        let answer = post(server, "/v1/login", "", &body);
        if !answer.starts_with("HTTP/1.1 503") {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never ready");
}

fn token(answer: &str) -> String {
    let (_, rest) = answer.split_once("\"token\":\"").unwrap_or_else(|| panic!("{answer}"));
    rest.split('"').next().unwrap().to_owned()
}

fn verify(file: &str, more: &[&str]) -> Ran {
    durward(&[&["audit", "verify", file], more].concat())
}

#[test]
fn users_are_added_listed_changed_and_removed() {
    let folder = Folder::new("listed", "none");
    folder
        .users(&["add", "anna", "--group", "staff", "--attribute", "clearance=2"], "plain words\n")
        .exits(0);
    let ran = folder.users(&["add", "anna"], "plain words\n").exits(2);
    assert!(ran.stderr.contains("there is a user `anna` already"), "{}", ran.stderr);
    folder.users(&["add", "berta", "--realm", "/sales"], "plain words\n").exits(0);
    folder.users(&["disable", "anna"], "").exits(0);
    folder.users(&["second-step", "anna"], "").exits(0);
    let listed = folder.users(&["list"], "").exits(0).stdout;
    assert_eq!(listed, "/\tanna\tdisabled; second step, 10 recovery codes; staff\n/sales\tberta\t\n");
    assert_eq!(folder.users(&["passkeys", "anna"], "").exits(0).stdout, "");
    let ran = folder.users(&["passkeys", "anna", "--remove", "4f1c2a9b77e0d135"], "").exits(2);
    assert!(ran.stderr.contains("`anna` has no such passkey"), "{}", ran.stderr);
    folder.users(&["passkeys", "anna", "--remove-all"], "").exits(2);
    folder.users(&["enable", "anna"], "").exits(0);
    folder.users(&["second-step", "anna", "--remove"], "").exits(0);
    let ran = folder.users(&["second-step", "anna", "--remove"], "").exits(2);
    assert!(ran.stderr.contains("`anna` has no second step"), "{}", ran.stderr);
    let ran = folder.users(&["second-step", "nobody", "--remove"], "").exits(2);
    assert!(ran.stderr.contains("there is no user `nobody`"), "{}", ran.stderr);
    folder.users(&["remove", "berta", "--realm", "/sales"], "").exits(0);
    folder.users(&["remove", "berta", "--realm", "/sales"], "").exits(2);
    let ran = folder.users(&["add", "carl"], "\n").exits(2);
    assert!(ran.stderr.contains("the password is empty"), "{}", ran.stderr);
    let file = folder.0.join("password.txt").display().to_string();
    crate::write_secret(&file, "from a file\n");
    folder.users(&["add", "dora", "--password-file", &file], "").exits(0);
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let ran = folder.users(&["add", "emil", "--password-file", &file], "").exits(2);
    assert!(ran.stderr.contains("chmod 600"), "{}", ran.stderr);
    let stored = fs::read(folder.0.join("users")).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("plain words"));
}

#[test]
fn an_account_elsewhere_is_linked_to_one_user() {
    let folder = Folder::new("linked", "none");
    for name in ["anna", "berta"] {
        folder.users(&["add", name], "plain words\n").exits(0);
    }
    let account = ["--issuer", "https://idp.example.org", "--subject", "4711"];
    let users = |what: &str, name: &str| folder.users(&[&[what, name], account.as_slice()].concat(), "");
    users("link", "anna").exits(0);
    users("link", "anna").exits(0);
    let ran = users("link", "berta").exits(2);
    assert!(ran.stderr.contains("the account logs in as `anna`"), "{}", ran.stderr);
    let listed = || folder.users(&["list"], "").exits(0).stdout;
    assert_eq!(listed(), "/\tanna\tlinked to 4711 of https://idp.example.org\n/\tberta\t\n");
    users("unlink", "anna").exits(0);
    users("link", "berta").exits(0);
    assert_eq!(listed(), "/\tanna\t\n/\tberta\tlinked to 4711 of https://idp.example.org\n");
    users("link", "nobody").exits(2);
}

#[test]
fn an_import_over_a_user_keeps_what_its_line_does_not_say() {
    let folder = Folder::new("import", "none");
    folder.users(&["add", "anna", "--group", "staff"], "plain words\n").exits(0);
    folder.users(&["second-step", "anna"], "").exits(0);
    folder.users(&["disable", "anna"], "").exits(0);
    let file = folder.0.join("more.jsonl").display().to_string();
    let line = "{\"realm\":\"/\",\"subject\":\"anna\",\"password\":\"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\"}\n";
    fs::write(&file, line).unwrap();
    assert_eq!(folder.users(&["import", &file], "").exits(0).stdout, "1 user\n");
    let listed = || folder.users(&["list"], "").exits(0).stdout;
    assert_eq!(listed(), "/\tanna\tdisabled; second step, 10 recovery codes; staff\n");
    fs::write(&file, "{\"realm\":\"/\",\"subject\":\"anna\",\"disabled\":false,\"groups\":[]}\n").unwrap();
    folder.users(&["import", &file], "").exits(0);
    assert_eq!(listed(), "/\tanna\tsecond step, 10 recovery codes\n");
}

#[test]
fn a_user_that_was_added_logs_in_and_the_record_of_it_holds() {
    let folder = Folder::new("serve", "assured-write");
    folder.users(&["add", "anna"], "secret\n").exits(0);
    fs::write(
        folder.0.join("old.jsonl"),
        "{\"subject\":\"old\",\"password\":\"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\"}\n",
    )
    .unwrap();
    let old = folder.0.join("old.jsonl").display().to_string();
    assert_eq!(folder.users(&["import", &old], "").exits(0).stdout, "1 user\n");
    fs::write(folder.0.join("wrong.jsonl"), "{\"subject\":\"new\"}\n{\"subject\":\"new\",\"group\":[]}\n")
        .unwrap();
    let wrong = folder.0.join("wrong.jsonl").display().to_string();
    let ran = folder.users(&["import", &wrong], "").exits(2);
    assert!(ran.stderr.contains("wrong.jsonl:2:24: unknown field `group`"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("at line"), "{}", ran.stderr);
    let server = folder.serve();
    let kept = token(&login(&server, "anna", "secret"));
    let gone = token(&login(&server, "old", "secret"));
    assert!(login(&server, "anna", "other").starts_with("HTTP/1.1 401"));
    assert!(post(&server, "/v1/sessions/logout", &gone, "{}").starts_with("HTTP/1.1 200"));
    assert_eq!(folder.users(&["list"], "").exits(0).stdout.lines().count(), 2);
    // Killed, not told to end: what was answered is on the disk.
    drop(server);
    let server = folder.serve();
    login(&server, "anna", "secret");
    let is_valid =
        |token: &str| post(&server, "/v1/sessions/validate", token, "{}").contains("\"valid\":true");
    assert!(is_valid(&kept) && !is_valid(&gone));
    drop(server);

    let whole = verify(&folder.audit(), &[]).exits(0).stdout;
    let checkpoint = whole.trim().rsplit(' ').next().unwrap().to_owned();
    verify(&folder.audit(), &["--checkpoint", &checkpoint, "--from-first"]).exits(0);
    let last = checkpoint.split(':').next().unwrap();
    assert!(whole.starts_with(&format!("whole, lines 1 to {last},")), "{whole}");
    // Without its beginning it holds, as where old files were removed; and that shows.
    let rest = folder.0.join("rest.jsonl").display().to_string();
    let text = fs::read_to_string(folder.audit()).unwrap();
    fs::write(&rest, text.split_inclusive('\n').skip(2).collect::<String>()).unwrap();
    let whole = verify(&rest, &[]).exits(0).stdout;
    assert!(whole.starts_with(&format!("whole, lines 3 to {last},")), "{whole}");
    let ran = verify(&rest, &["--from-first"]).exits(1);
    assert!(ran.stderr.contains("should be number 1 and is 3"), "{}", ran.stderr);
    tamper(Path::new(&folder.audit()));
    let ran = verify(&folder.audit(), &[]).exits(1);
    assert!(ran.stderr.contains("was changed"), "{}", ran.stderr);
}

fn is_valid(server: &Running, token: &str) -> bool {
    post(server, "/v1/sessions/validate", token, "{}").contains("\"valid\":true")
}

/// What a server does within a second, whenever it comes to it.
fn eventually_over(server: &Running, token: &str) {
    for _ in 0..6_000 {
        if !is_valid(server, token) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the session goes on");
}

#[test]
fn a_server_that_runs_takes_in_who_was_added_changed_and_removed() {
    let folder = Folder::new("running", "assured-write");
    folder.users(&["add", "anna"], "secret\n").exits(0);
    let server = folder.serve();
    let anna = token(&login(&server, "anna", "secret"));

    folder.users(&["add", "berta"], "hidden\n").exits(0);
    let berta = token(&login(&server, "berta", "hidden"));
    let carl = folder.users(&["add", "carl"], "hidden\n").exits(0);
    drop(carl);

    folder.users(&["passwd", "anna"], "other\n").exits(0);
    assert!(login(&server, "anna", "secret").starts_with("HTTP/1.1 401"), "the old one is none any more");
    let anna_again = token(&login(&server, "anna", "other"));
    eventually_over(&server, &anna);
    assert!(is_valid(&server, &anna_again), "a session with the new password goes on");

    folder.users(&["disable", "berta"], "").exits(0);
    eventually_over(&server, &berta);
    assert!(login(&server, "berta", "hidden").starts_with("HTTP/1.1 401"));
    folder.users(&["enable", "berta"], "").exits(0);
    let berta = token(&login(&server, "berta", "hidden"));
    folder.users(&["remove", "berta"], "").exits(0);
    eventually_over(&server, &berta);

    // While it does not run.
    let carl = token(&login(&server, "carl", "hidden"));
    let anna = token(&login(&server, "anna", "other"));
    drop(server);
    folder.users(&["passwd", "carl"], "another\n").exits(0);
    let server = folder.serve();
    login(&server, "anna", "other");
    eventually_over(&server, &carl);
    assert!(is_valid(&server, &anna) && is_valid(&server, &anna_again));
    let audit = fs::read_to_string(folder.audit()).unwrap();
    for (user, detail) in
        [("berta", "may log in"), ("berta", "disabled"), ("berta", "removed"), ("carl", "may log in")]
    {
        let line = format!(
            "\"kind\":\"user-changed\",\"realm\":\"/\",\"user\":\"{user}\",\"by\":\"durward users\",\"detail\":\"{detail}\""
        );
        assert!(audit.contains(&line), "{line}: {audit}");
    }
}

/// What was done to users while no server ran, or right before it was killed, holds after the next start.
#[test]
fn who_was_disabled_or_removed_stays_out_after_a_restart_and_his_sessions_are_gone() {
    let folder = Folder::new("restarted", "assured-write");
    for name in ["anna", "berta", "carl", "dora", "emil"] {
        folder.users(&["add", name], "secret\n").exits(0);
    }
    let server = folder.serve();
    let session = |name: &str| token(&login(&server, name, "secret"));
    let (anna, others) = (session("anna"), ["berta", "carl", "dora", "emil"].map(session));

    // While it runs: and it is killed once it has taken that in.
    folder.users(&["disable", "berta"], "").exits(0);
    folder.users(&["remove", "carl"], "").exits(0);
    eventually_over(&server, &others[0]);
    eventually_over(&server, &others[1]);
    drop(server);
    // While none runs. Who is there again under his old name and password is not who began the session.
    folder.users(&["disable", "dora"], "").exits(0);
    folder.users(&["remove", "emil"], "").exits(0);
    folder.users(&["add", "emil"], "secret\n").exits(0);

    for _ in 0..2 {
        let server = folder.serve();
        // Whoever gets in shows that it knows its sessions: from then on none of the others' is taken for a living one.
        let emil_again = token(&login(&server, "emil", "secret"));
        for (session, name) in others.iter().zip(["berta", "carl", "dora", "emil"]) {
            assert!(!is_valid(&server, session), "{name}");
        }
        for name in ["berta", "carl", "dora"] {
            let answer = login(&server, name, "secret");
            assert!(answer.starts_with("HTTP/1.1 401"), "{name}: {answer}");
        }
        assert!(is_valid(&server, &anna) && is_valid(&server, &emil_again));
    }
}

fn tamper(file: &Path) {
    let text = fs::read_to_string(file).unwrap().replacen("anna", "anne", 1);
    fs::write(file, text).unwrap();
}

/// A name that is mistyped is no new directory of nobody.
#[test]
fn only_who_adds_begins_a_file_of_users() {
    let path = std::env::temp_dir().join(format!("durward-users-typo-{}.journal", std::process::id()));
    let users = path.to_str().unwrap();
    for words in [
        &["list"][..],
        &["disable", "anna"],
        &["enable", "anna"],
        &["remove", "anna"],
        &["passwd", "anna"],
        &["second-step", "anna"],
        &["passkeys", "anna"],
    ] {
        let all = [&["users"], words, &["--users", users]].concat();
        crate::durward(&all).exits(2).complains(
            &format!("{users}: there is no such file"),
            "`durward users add` and `durward users import` begin one; is the name right?",
        );
        assert!(!path.exists(), "{words:?}");
    }
}

/// By the same settings as over HTTP: both ask the directory.
#[test]
fn passwords_that_are_short_or_breached_are_refused() {
    let folder = Folder::new("rules", "none");
    let hint =
        "`identity.password_length_min` and `identity.breached_passwords_path` say what a password must be";
    let short = folder.users(&["add", "anna"], "four\n").exits(2);
    short.complains("the password is shorter than 5 characters", hint);
    let breached = folder.users(&["add", "anna"], "123456789\n").exits(2);
    let message = "the password is in the list of breached ones, which attackers try first; choose another";
    breached.complains(message, hint);
    folder.users(&["add", "anna"], "five5\n").exits(0);
    folder.users(&["passwd", "anna"], "password\n").exits(2).complains(message, hint);
    // Without its list, no password is given; who must be kept out still is.
    fs::remove_file(folder.0.join("breached.txt")).unwrap();
    let ran = folder.users(&["passwd", "anna"], "fine words\n").exits(2);
    assert!(ran.stderr.contains("identity.breached_passwords_path"), "{}", ran.stderr);
    folder.users(&["disable", "anna"], "").exits(0);
}

#[test]
fn a_user_is_marked_and_gets_a_link_by_commands() {
    let folder = Folder::new("marked", "assured-write");
    folder.users(&["add", "anna", "--must-change"], "for the first day\n").exits(0);
    let listed = || folder.users(&["list"], "").exits(0).stdout;
    assert_eq!(listed(), "/\tanna\tmust change the password\n");
    let ran = folder.users(&["reset-link", "anna"], "").exits(2);
    assert!(ran.stderr.contains("there are no links here"), "{}", ran.stderr);
    let mut settings = fs::read_to_string(folder.config()).unwrap();
    settings +=
        "[identity.reset]\nlink = 'http://127.0.0.1/oauth2/reset'\n[oauth]\nissuer = 'http://127.0.0.1'\n";
    fs::write(folder.config(), settings).unwrap();
    // The secret is made with the first start.
    let ran = folder.users(&["reset-link", "anna"], "").exits(2);
    assert!(ran.stderr.contains("POST /v1/users"), "{}", ran.stderr);
    let server = folder.serve();
    let asked = login(&server, "anna", "for the first day");
    assert!(asked.starts_with("HTTP/1.1 202") && asked.contains("\"password_change\""), "{asked}");
    let link = folder.users(&["reset-link", "anna"], "").exits(0).stdout;
    let page = |link: &str| {
        let path = link.trim().strip_prefix("http://127.0.0.1").unwrap().to_owned();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(page(&link).contains("name=\"new_password\""), "{}", page(&link));
    folder.users(&["must-change", "anna", "--undo"], "").exits(0);
    token(&login(&server, "anna", "for the first day"));
    assert_eq!(listed(), "/\tanna\t\n");
    folder.users(&["passwd", "anna", "--must-change"], "for the second day\n").exits(0);
    assert!(login(&server, "anna", "for the second day").starts_with("HTTP/1.1 202"));
    assert!(page(&link).starts_with("HTTP/1.1 400"), "it was for another password");
    folder.users(&["must-change", "nobody"], "").exits(2);
    folder.users(&["disable", "anna"], "").exits(0);
    folder.users(&["reset-link", "anna"], "").exits(2);
}
