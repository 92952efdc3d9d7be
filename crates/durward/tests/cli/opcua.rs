//! `durward opcua`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::serve::Running;
use crate::{Ran, command, durward, ran, write_secret};

/// A directory that is gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-opcua-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn certificates_are_made_shown_and_trusted() {
    let folder = Folder::new("pki");
    let (own, other) = (folder.path("own"), folder.path("other"));
    let create = |dir: &str, uri: &str| {
        let words = ["opcua", "pki", "create", "--dir", dir, "--application-uri", uri, "--host", "plc.test"];
        durward(&words)
    };
    let made = create(&own, "urn:test:gate").exits(0).stdout;
    assert!(made.contains("urn:test:gate, ") && made.contains("plc.test"), "{made}");
    create(&other, "urn:test:historian").exits(0);
    // A key is never replaced.
    let again = create(&own, "urn:test:gate").exits(2);
    assert!(again.stderr.contains("there is a certificate in own/certs already"), "{}", again.stderr);

    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(
        shown.starts_with("own       ") && shown.contains(": 1824 more days") && shown.lines().count() == 1,
        "{shown}"
    );

    let certificate = folder.0.join("other/own/certs/application.der");
    let trusted = durward(&["opcua", "pki", "trust", "--dir", &own, &certificate.display().to_string()])
        .exits(0)
        .stdout;
    assert!(trusted.contains("urn:test:historian"), "{trusted}");
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(
        shown.lines().any(|line| line.starts_with("trusted   ") && line.contains("urn:test:historian")),
        "{shown}"
    );
}

#[test]
fn a_rejected_certificate_is_trusted_by_the_beginning_of_its_thumbprint() {
    let folder = Folder::new("rejected");
    let (own, other) = (folder.path("own"), folder.path("other"));
    for (dir, uri) in [(&own, "urn:test:gate"), (&other, "urn:test:client")] {
        durward(&["opcua", "pki", "create", "--dir", dir, "--application-uri", uri]).exits(0);
    }
    let der = fs::read(folder.0.join("other/own/certs/application.der")).unwrap();
    fs::write(folder.0.join("own/rejected/certs/client.der"), der).unwrap();
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("rejected  ")).unwrap();
    let thumbprint = &line["rejected  ".len()..][..40];
    assert!(
        line.contains("urn:test:client") && thumbprint.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{line}"
    );

    durward(&["opcua", "pki", "trust", "--dir", &own, &thumbprint[..4]]).exits(2).complains(
        &format!("`{}` is neither a file nor a thumbprint of 6 digits or more", &thumbprint[..4]),
        "`durward opcua pki show` lists what was rejected",
    );
    durward(&["opcua", "pki", "trust", "--dir", &own, &thumbprint[..12]]).exits(0);
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(shown.lines().any(|line| line.starts_with("trusted   ") && line.contains(thumbprint)), "{shown}");
}

#[test]
fn what_is_no_directory_or_certificate_is_bad_input() {
    let folder = Folder::new("bad");
    let dir = folder.path("none");
    durward(&["opcua", "pki", "show", "--dir", &dir]).exits(2).complains(
        &format!("there is no directory {dir}"),
        "`durward opcua pki create` makes one with a certificate in it",
    );
    assert!(!folder.0.join("none").exists());
    let empty = folder.path("empty");
    fs::create_dir_all(&empty).unwrap();
    let shown = durward(&["opcua", "pki", "show", "--dir", &empty]).exits(1).stdout;
    assert!(shown.starts_with("own       none"), "{shown}");
    let junk = folder.path("junk.der");
    fs::write(&junk, b"no certificate").unwrap();
    durward(&["opcua", "pki", "trust", "--dir", &empty, &junk]).exits(2);
    durward(&["opcua", "pki", "create", "--dir", &empty, "--application-uri", ""]).exits(2);
}

/// `durward demo opcua`, ended when dropped.
struct Demo {
    child: Child,
    /// What it printed.
    text: String,
    /// Held: who writes to a closed pipe may fail.
    _output: BufReader<ChildStdout>,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

impl Demo {
    fn start() -> Demo {
        let mut command = command(&["demo", "opcua", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("Ctrl-C") {
            assert!(output.read_line(&mut text).unwrap() > 0, "ended without saying what to try: {text}");
        }
        Demo { child, text, _output: output }
    }

    /// The line below this heading, as it is printed.
    fn line(&self, heading: &str) -> &str {
        let lines: Vec<&str> = self.text.lines().collect();
        let at = lines.iter().position(|line| line.starts_with(&format!("# {heading}"))).unwrap();
        lines[at + 1]
    }

    /// Types a line into a shell, where `durward` is the binary under test.
    fn shell(line: &str) -> Command {
        let binary = Path::new(command(&[]).get_program()).parent().unwrap().to_owned();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(line).env("PATH", path).stdin(Stdio::null());
        shell
    }

    fn types(&self, heading: &str) -> Ran {
        self.types_with(heading, "")
    }

    fn types_with(&self, heading: &str, more: &str) -> Ran {
        ran(Demo::shell(&format!("{} {more}", self.line(heading))).output().unwrap())
    }
}

/// The whole of it as a newcomer meets it: plant, gate, authorization service and client as processes, policies of SAPL.
#[test]
fn what_the_demo_prints_works_as_it_is_printed() {
    let demo = Demo::start();
    let around = demo.types("Anna, an operator, looks around").exits(0).stdout;
    assert!(around.lines().any(|line| line == "ns=2;s=Boiler.Motor\tObject\tMotor"), "{around}");

    let read = demo.types("She reads").exits(0).stdout;
    let lines: Vec<&str> = read.lines().collect();
    assert!(lines[0].starts_with("ns=2;s=Boiler.Temperature\t"), "{read}");
    assert_eq!(lines[1], "ns=2;s=Boiler.Mode\tAutomatic");

    demo.types("She sets").exits(0);
    let json = demo.types_with("She reads", "--json").exits(0).stdout;
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(last["value"], "Manual", "{json}");
    assert_eq!(last["status"], "Good", "{json}");

    let refused = demo.types("What is measured").exits(1);
    assert!(
        refused.stderr.contains("BadUserAccessDenied") && refused.stdout.is_empty(),
        "{}",
        refused.stderr
    );
    let explained = demo.types_with("What is measured", "--explain").exits(1).stderr;
    assert!(explained.contains("the token is of anna (operator), until "), "{explained}");
    demo.types("She starts the motor").exits(0);

    let part = demo.types("Bert, a guest").exits(1);
    assert!(
        part.stdout.starts_with("ns=2;s=Boiler.Temperature\t") && part.stdout.lines().count() == 1,
        "{}",
        part.stdout
    );
    assert!(part.stderr.contains("ns=2;s=Boiler.Mode: BadUserAccessDenied"), "{}", part.stderr);

    let token = demo.types("What his token says").exits(0).stdout;
    assert!(token.contains("sub\tbert\n") && token.contains("aud\turn:durward:demo:gate\n"), "{token}");

    let watched = demo.types_with("He watches", "--count 2 --interval 50").exits(0).stdout;
    assert_eq!(watched.lines().count(), 2, "{watched}");
    assert!(watched.lines().all(|line| line.parse::<f64>().is_ok()), "{watched}");
}

/// A policy that is changed ends what is watched: nobody has to come back for a token.
#[test]
fn a_right_that_the_policies_take_away_ends_what_is_watched() {
    let demo = Demo::start();
    let mut watch = Demo::shell(&format!("exec {} --interval 50", demo.line("He watches")));
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut values = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    assert!(values.read_line(&mut first).unwrap() > 0 && first.trim().parse::<f64>().is_ok(), "{first}");
    let line = demo.line("He watches").replace("bert", "anna");
    let mut other = Demo::shell(&format!("exec {line} --interval 50"));
    let mut other = other.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut others = BufReader::new(other.stdout.take().unwrap());
    assert!(others.read_line(&mut first).unwrap() > 0);
    let changed = Demo::shell(demo.line("While he watches")).status().unwrap();
    assert!(changed.success());
    // It ends by itself.
    let ended = watch.wait().unwrap();
    let mut complaint = String::new();
    watch.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(ended.code(), Some(1), "{complaint}");
    assert!(complaint.contains("BadUserAccessDenied"), "{complaint}");
    demo.types("Bert, a guest").exits(1);
    // Others keep theirs, and what they watch goes on.
    demo.types("She reads").exits(0);
    for _ in 0..20 {
        assert!(others.read_line(&mut first).unwrap() > 0, "it has ended: {:?}", other.try_wait());
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn what_a_client_cannot_be_asked_is_bad_input() {
    let folder = Folder::new("client");
    let pki = folder.path("pki");
    durward(&["opcua", "read", "opc.tcp://127.0.0.1:1", "--pki", &pki, "i=2258"]).exits(2).complains(
        &format!("there is no directory {pki}"),
        "`durward opcua pki create` makes one with a certificate in it",
    );
    fs::create_dir_all(&pki).unwrap();
    durward(&["opcua", "read", "opc.tcp://127.0.0.1:1", "--pki", &pki, "i=2258"]).exits(2).complains(
        &format!("there is no certificate in {pki}/own/certs"),
        "`durward opcua pki create` makes one with a certificate in it",
    );
    durward(&["opcua", "pki", "create", "--dir", &pki, "--application-uri", "urn:test:client"]).exits(0);
    let ask = |words: &[&str]| {
        let all = [&["opcua"], words, &["--pki", &pki]].concat();
        durward(&all).exits(2).stderr
    };
    let wrong = ask(&["read", "opc.tcp://127.0.0.1:1", "boiler"]);
    assert!(wrong.contains("`boiler`"), "{wrong}");
    // Nobody listens on port 1.
    let nobody = ask(&["read", "opc.tcp://127.0.0.1:1", "i=2258", "--timeout", "5"]);
    assert!(nobody.starts_with("durward: error: opc.tcp://127.0.0.1:1: "), "{nobody}");
    let scheme = ask(&["browse", "http://127.0.0.1:1", "--timeout", "5"]);
    assert!(scheme.contains("opc.tcp://host:port"), "{scheme}");
    let password = ask(&["read", "opc.tcp://127.0.0.1:1", "i=2258", "--user", "anna"]);
    assert!(password.contains("the password is empty"), "{password}");
}

/// A plant, a gate and `durward serve` with the authorization service in it, each a process.
struct Site {
    folder: Folder,
    serve: Running,
    gate: String,
    _others: [Running; 2],
}

impl Site {
    fn start(name: &str) -> Site {
        let folder = Folder::new(name);
        let pki = |of: &str| folder.path(&format!("pki-{of}"));
        for of in ["plant", "gate", "authority", "client"] {
            let (dir, uri) = (pki(of), format!("urn:test:{of}"));
            durward(&["opcua", "pki", "create", "--dir", &dir, "--application-uri", &uri]).exits(0);
        }
        for (one, other) in [
            ("plant", "gate"),
            ("gate", "plant"),
            ("gate", "authority"),
            ("gate", "client"),
            ("authority", "gate"),
            ("authority", "client"),
            ("client", "gate"),
            ("client", "authority"),
        ] {
            let certificate = folder.path(&format!("pki-{other}/own/certs/application.der"));
            durward(&["opcua", "pki", "trust", "--dir", &pki(one), &certificate]).exits(0);
        }
        let create = ["opcua", "pki", "create", "--application-uri", "urn:test:person", "--name"];
        for who in ["anna", "eve"] {
            durward(&[&create[..], &[who, "--dir", &pki(who)]].concat()).exits(0);
        }
        let certificate = folder.path("pki-anna/own/certs/application.der");
        fs::create_dir(pki("users")).unwrap();
        durward(&["opcua", "pki", "trust", "--dir", &pki("users"), &certificate]).exits(0);
        let password = folder.path("anna.password");
        write_secret(&password, "correct horse\n");
        let users = folder.path("users.journal");
        let add = ["users", "add", "anna", "--users", &users, "--group", "operator"];
        durward(&[&add[..], &["--password-file", &password]].concat()).exits(0);
        fs::create_dir(folder.0.join("policies")).unwrap();
        let policy =
            "policy \"operators\" permit action in [\"browse\", \"read\"]; \"operator\" in subject.roles;";
        fs::write(folder.0.join("policies/plant.sapl"), policy).unwrap();
        let config = folder.path("durward.toml");
        let text = "policies.path = \"policies\"\nserver.listen = \"127.0.0.1:0\"\n\
             [identity]\nusers = \"users.journal\"\ndata = \"sessions\"\n\
             [opcua.authority]\nin_serve = true\nuser_pki = \"pki-users\"\nlisten = \"127.0.0.1:0\"\n\
             [[opcua.authority.resources]]\nid = \"urn:test:gate\"\n\
             certificate = \"pki-gate/own/certs/application.der\"\n";
        fs::write(&config, text).unwrap();

        let plant = Running::start(
            &["opcua", "plant", "--pki", &pki("plant"), "--listen", "127.0.0.1:0"],
            "opc.tcp://",
        );
        let serve = Running::start(&["serve", "--config", &config], "address=");
        let authority = serve.text().split("opc.tcp://").nth(1).unwrap();
        let authority =
            authority.split(|it: char| !it.is_ascii_digit() && !".:".contains(it)).next().unwrap();
        let gate = Running::start(
            &[
                "opcua",
                "gate",
                "--pki",
                &pki("gate"),
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                &format!("opc.tcp://{}", plant.address()),
                "--authority",
                &format!("opc.tcp://{authority}"),
                "--issuer",
                "urn:test:authority",
                "--keys",
                &folder.path("opcua-authority/jwks.json"),
            ],
            "opc.tcp://",
        );
        let url = format!("opc.tcp://{}", gate.address());
        Site { folder, serve, gate: url, _others: [plant, gate] }
    }

    /// Answers of the server's to a POST: the body.
    fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.serve.address()).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: durward.test\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{answer}");
        body.to_owned()
    }

    fn as_client<'w>(&'w self, words: &[&'w str], pki: &'w str) -> Vec<&'w str> {
        let (verb, rest) = words.split_first().unwrap();
        [&["opcua", verb, &self.gate], rest, &["--pki", pki, "--timeout", "40"]].concat()
    }
}

const TEMPERATURE: &str = "ns=2;s=Boiler.Temperature";

/// Who is logged in over HTTP needs no password for OPC UA, and has rights for as long as the session lives.
#[test]
fn rights_end_with_the_session_that_they_were_given_for() {
    let site = Site::start("session");
    let json = "Content-Type: application/json\r\n";
    let login = site.post("/v1/login", json, r#"{"user": "anna", "password": "correct horse"}"#);
    let login: serde_json::Value = serde_json::from_str(&login).unwrap();
    let token = login["token"].as_str().unwrap();
    let (file, pki) = (site.folder.path("session"), site.folder.path("pki-client"));
    write_secret(&file, &format!("{token}\n"));

    let session = ["--session-file", &file];
    let read = durward(&site.as_client(&["read", TEMPERATURE, session[0], session[1]], &pki)).exits(0).stdout;
    assert!(read.trim().parse::<f64>().is_ok(), "{read}");

    let words = ["watch", TEMPERATURE, session[0], session[1], "--interval", "50"];
    let mut watch = command(&site.as_client(&words, &pki));
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut values = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    assert!(values.read_line(&mut first).unwrap() > 0, "nothing is watched");
    // Who does not read on holds up who writes.
    std::thread::spawn(move || std::io::copy(&mut values, &mut std::io::sink()));

    site.post("/v1/sessions/logout", &format!("Authorization: Bearer {token}\r\n"), "");
    let ended = watch.wait().unwrap();
    let mut complaint = String::new();
    watch.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(!ended.success(), "{complaint}");
    let refused = durward(&site.as_client(&["read", TEMPERATURE, session[0], session[1]], &pki)).exits(1);
    assert!(refused.stderr.contains("BadIdentityTokenRejected"), "{}", refused.stderr);
}

/// A user's certificate counts where it is trusted as that of a user, and says whose it is.
#[test]
fn a_user_comes_by_certificate() {
    let site = Site::start("certificate");
    let pki = site.folder.path("pki-client");
    let (anna, eve) = (site.folder.path("pki-anna"), site.folder.path("pki-eve"));
    let read = durward(&site.as_client(&["read", TEMPERATURE, "--user-pki", &anna], &pki)).exits(0).stdout;
    assert!(read.trim().parse::<f64>().is_ok(), "{read}");
    let refused = durward(&site.as_client(&["read", TEMPERATURE, "--user-pki", &eve], &pki)).exits(1);
    assert!(refused.stderr.contains("BadIdentityTokenRejected"), "{}", refused.stderr);
}

/// A user who is disabled loses what a token grants them, without anybody telling the authorization service.
#[test]
fn a_user_who_is_disabled_loses_his_rights() {
    let site = Site::start("disabled");
    let (password, pki) = (site.folder.path("anna.password"), site.folder.path("pki-client"));
    let who = ["--user", "anna", "--password-file", &password];
    let words = ["watch", TEMPERATURE, who[0], who[1], who[2], who[3], "--interval", "50"];
    let mut watch = command(&site.as_client(&words, &pki));
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut values = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    assert!(values.read_line(&mut first).unwrap() > 0, "nothing is watched");
    // Who does not read on holds up who writes.
    std::thread::spawn(move || std::io::copy(&mut values, &mut std::io::sink()));
    durward(&["users", "disable", "anna", "--users", &site.folder.path("users.journal")]).exits(0);
    assert!(!watch.wait().unwrap().success());
}

const SHIFT: &str = "set \"plant\"
first or abstain errors propagate

policy \"everybody looks around\"
permit action == \"browse\";

policy \"operators write by day\"
permit action == \"write\"; \"operator\" in subject.roles; <time.now> != \"never\";
";

#[test]
fn a_right_is_explained_by_the_policies() {
    let folder = Folder::new("explain");
    let policies = folder.path("plant.sapl");
    fs::write(&policies, SHIFT).unwrap();
    let explain = |words: &[&str]| {
        let fixed =
            ["opcua", "explain", "--policies", &policies, "--resource", "urn:plant:gate", "--user", "anna"];
        durward(&[&fixed, words].concat())
    };
    let node = "nsu=urn:plant;s=Mode";
    let granted = explain(&["--role", "operator", "browse", node]).exits(0).stdout;
    assert!(
        granted.starts_with("anna (user; operator): browse on nsu=urn:plant;s=Mode: granted by the token"),
        "{granted}"
    );
    assert!(granted.contains("`everybody looks around`"), "{granted}");
    let left = explain(&["--role", "operator", "write", node]).exits(0).stdout;
    assert!(left.contains("left to the gate, which grants it at this moment"), "{left}");
    let refused = explain(&["--role", "guest", "--json", "write", node]).exits(1).stdout;
    let told: serde_json::Value = serde_json::from_str(&refused).unwrap();
    assert_eq!(
        (&told["token"], &told["permission"], &told["roles"][0]),
        (&"refused".into(), &"write".into(), &"guest".into())
    );
    let wrong = explain(&["--role", "guest", "fly", node]).exits(2).stderr;
    assert!(wrong.contains("one of browse, "), "{wrong}");
    let wrong = explain(&["--role", "guest", "read", "ns=2;s=Mode"]).exits(2).stderr;
    assert!(wrong.contains("write `nsu=URI;`"), "{wrong}");
    let nobody = explain(&["read", node]).exits(2).stderr;
    assert!(nobody.contains("`identity.users` is not set"), "{nobody}");
}

#[test]
fn a_signing_key_is_put_beside_the_one_in_use() {
    let folder = Folder::new("keys");
    let config = folder.path("durward.toml");
    fs::write(&config, "opcua.authority.data = 'data'\nopcua.authority.key_overlap_s = 60").unwrap();
    let keys = |words: &[&str]| {
        let (verb, rest) = words.split_first().unwrap();
        durward(&[&["opcua", "keys", verb, "--config", &config], rest].concat())
    };
    let public = || -> Vec<String> {
        let text = fs::read_to_string(folder.0.join("data/jwks.json")).unwrap();
        let jwks: serde_json::Value = serde_json::from_str(&text).unwrap();
        jwks["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    };
    let first = keys(&["show"]).exits(0).stdout;
    assert_eq!(first.lines().count(), 1, "{first}");
    assert!(first.starts_with(&public()[0]), "{first}");
    let made = keys(&["rotate"]).exits(0).stdout;
    let all = public();
    assert_eq!(all.len(), 2);
    assert!(made.starts_with(&format!("{} signs from ", all[1])), "{made}");
    let shown = keys(&["show", "--json"]).exits(0).stdout;
    assert!(
        shown.lines().all(|line| line.contains("\"algorithm\":\"ES256\"")) && shown.lines().count() == 2,
        "{shown}"
    );
    write_secret(folder.0.join("bad.pem"), "no key");
    let bad = folder.path("bad.pem");
    assert!(keys(&["rotate", "--key", &bad]).exits(2).stderr.contains("bad.pem"));
    assert_eq!(public(), all);
}
