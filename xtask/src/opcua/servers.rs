//! Servers of others behind `durward opcua gate`, with durward's client before it.

use super::Checks;
use super::clients::done;
use super::install::{self, Installed};
use super::parts::{Durward, PATIENCE, Running, eventually, free_port};
use super::puppet::Puppet;
use crate::clients::Missing;
use std::path::Path;
use std::time::{Duration, Instant};

/// As whom the gate comes to the server, which lets in nobody else.
const USER: [&str; 2] = ["gate", "the gate's own"];
const ANNA: [&str; 2] = ["anna", "Anna's own secret"];
const BERT: [&str; 2] = ["bert", "Bert's own secret"];

const TANK: &str = "nsu=urn:durward:peer;s=Tank";
const LEVEL: &str = "nsu=urn:durward:peer;s=Tank.Level";
const SET_POINT: &str = "nsu=urn:durward:peer;s=Tank.SetPoint";
const SECRET: &str = "nsu=urn:durward:peer;s=Tank.Secret";
const DOUBLE: &str = "nsu=urn:durward:peer;s=Tank.Double";
const FORBIDDEN: &str = "nsu=urn:durward:peer;s=Tank.Forbidden";

/// As short as it may be; clients renew after eight of them.
const TOKEN_LIFETIME_S: u64 = 10;

const POLICIES: &str = r#"
set "the tank"
first or abstain errors propagate

policy "operators see all but the secret"
permit
    action in ["browse", "read"];
    "operator" in subject.roles;
    resource.node != "nsu=urn:durward:peer;s=Tank.Secret";

policy "operators write the set point"
permit
    action == "write";
    "operator" in subject.roles;
    resource.node == "nsu=urn:durward:peer;s=Tank.SetPoint";

policy "operators double"
permit
    action == "call";
    "operator" in subject.roles;
    resource.node in ["nsu=urn:durward:peer;s=Tank", "nsu=urn:durward:peer;s=Tank.Double"];
"#;

/// Everything that runs.
struct Site<'i> {
    durward: Durward,
    installed: &'i Installed,
    server_port: u16,
    url: String,
    server: Option<Running>,
    /// Gate and authorization service.
    _durward: [Running; 2],
}

/// All checks with the server.
///
/// # Errors
///
/// What did not start.
pub(super) fn check(
    checks: &mut Checks,
    installed: &Installed,
    binary: &Path,
    folder: &Path,
) -> Result<(), String> {
    let mut site = Site::start(installed, binary, folder)?;
    let read = eventually(PATIENCE, || site.anna("read", &[LEVEL]));
    let read = read.and_then(|text| number(&text));
    let is_reached = read.is_ok();
    checks.note("read", read);
    if !is_reached {
        return Err("nothing behind the gate is reached".to_owned());
    }
    let browsed = site.anna("browse", &[TANK]);
    checks.note("browse", browsed.clone().and_then(|text| has(&text, "Level")));
    checks.note("what may not be browsed is not there", browsed.and_then(|text| has_not(&text, "Secret")));
    checks.note("write", site.anna("write", &[SET_POINT, "6.25"]).map(drop));
    let read = site.anna("read", &[SET_POINT]);
    checks.note("what was written is read", read.and_then(|text| equals(&text, "6.25")));
    let called = site.anna("call", &[TANK, DOUBLE, "21"]);
    checks.note("call", called.and_then(|text| equals(&text, "42")));
    checks.note("subscription", site.anna("watch", &[LEVEL, "--count", "3", "--interval", "100"]).map(drop));
    for (what, command, words) in [
        ("a read that is not granted is refused", "read", &[SECRET][..]),
        ("a write that is not granted is refused", "write", &[SECRET, "7"]),
        ("a write to what may be read only is refused", "write", &[LEVEL, "7"]),
        ("a call that is not granted is refused", "call", &[TANK, FORBIDDEN, "1"]),
        ("a subscription that is not granted is refused", "watch", &[SECRET, "--count", "1"]),
    ] {
        checks.note(what, refused(&site.anna(command, words)));
    }
    checks.note("a wrong password is refused", refused(&site.ask(["anna", "guessed"], "read", &[LEVEL])));
    // By index: who has no rights cannot look the namespace up.
    checks.note("who has no rights is refused", refused(&site.ask(BERT, "read", &["ns=2;s=Tank.Level"])));
    let mut other = site.other_client()?;
    if let Some(other) = &mut other {
        site.hidden_write(checks, other)?;
        done(other.tell(&["open", &site.url, "user", ANNA[0], ANNA[1]]))?;
    }
    site.renewal_and_restart(checks, other)
}

impl<'i> Site<'i> {
    fn start(installed: &'i Installed, binary: &Path, folder: &Path) -> Result<Site<'i>, String> {
        let durward = Durward::new(binary, folder)?;
        durward.certify("authority", "urn:durward:peer:authority")?;
        durward.certify("gate", "urn:durward:peer:gate")?;
        durward.certify("client", "urn:durward:peer:client")?;
        durward.certify("server", installed.server_uri)?;
        durward.certify("other", "urn:durward:peer:asyncua")?;
        for (one, other) in [
            ("authority", "gate"),
            ("authority", "client"),
            ("gate", "authority"),
            ("gate", "client"),
            ("gate", "other"),
            ("gate", "server"),
            ("client", "authority"),
            ("client", "gate"),
            ("server", "gate"),
            ("server", "other"),
        ] {
            durward.trust(one, other)?;
        }
        for ([name, password], group) in [(ANNA, "operator"), (BERT, "guest")] {
            let added = durward
                .run(&["users", "add", name, "--users", "users.journal", "--group", group], password)?;
            if !added.status.success() {
                return Err(String::from_utf8_lossy(&added.stderr).into_owned());
            }
        }
        let (server_port, authority_port, gate_port) = (free_port()?, free_port()?, free_port()?);
        std::fs::create_dir_all(folder.join("policies")).map_err(|error| format!("no folder: {error}"))?;
        durward.write("policies/tank.sapl", POLICIES)?;
        durward.write_secret("gate.password", USER[1])?;
        durward.write("durward.toml", &settings(server_port, authority_port, gate_port))?;
        let server = Site::server(&durward, installed, server_port)?;
        let mut authority = durward.start("authority", &["opcua", "authority"])?;
        authority.until("the authorization service listens")?;
        let mut gate = durward.start("gate", &["opcua", "gate"])?;
        gate.until("the gate listens")?;
        let url = format!("opc.tcp://127.0.0.1:{gate_port}");
        Ok(Site { durward, installed, server_port, url, server: Some(server), _durward: [gate, authority] })
    }

    fn server(durward: &Durward, installed: &Installed, port: u16) -> Result<Running, String> {
        let mut command = installed.server(&durward.folder.join("server"), port, USER);
        let mut server = Running::start(&mut command, &durward.folder.join("server.log"))?;
        server.until("ready")?;
        Ok(server)
    }

    /// What durward's client says, or why it does not.
    fn ask(&self, [name, password]: [&str; 2], command: &str, words: &[&str]) -> Result<String, String> {
        let common = ["opcua", command, &self.url, "--pki", "client", "--user", name, "--timeout", "10"];
        let output = self.durward.run(&[&common, words].concat(), password)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn anna(&self, command: &str, words: &[&str]) -> Result<String, String> {
        self.ask(ANNA, command, words)
    }

    /// A client whose messages can be made by hand, where it can be had.
    fn other_client(&self) -> Result<Option<Puppet>, String> {
        match install::asyncua() {
            Ok(asyncua) => Puppet::start(asyncua.client(&self.durward.folder.join("other"))).map(Some),
            Err(Missing::Tool(why)) => {
                println!("skipped  the hidden write, and a long session by password: {why}");
                Ok(None)
            }
            Err(Missing::Broken(why)) => Err(why),
        }
    }

    /// A Write of two entries, both to a node that is granted. The first one's value is a structure whose length covers more than the
    /// structure: a whole entry for another node. Who skips by length sees nothing of it, who reads by type writes that node.
    fn hidden_write(&self, checks: &mut Checks, other: &mut Puppet) -> Result<(), String> {
        let server = format!("opc.tcp://127.0.0.1:{}", self.server_port);
        let (allowed, hidden) = ("ns=2;s=Tank.SetPoint", "ns=2;s=Tank.Secret");
        other.tell(&["open", &self.url, "user", ANNA[0], ANNA[1]])?;
        let through = other.tell(&["smuggle", allowed, hidden, "13"]);
        other.tell(&["open", &server, "user", USER[0], USER[1]])?;
        let left = other.tell(&["read", hidden])?;
        let result = match left.first().and_then(|word| word.parse::<f64>().ok()) {
            Some(value) if (value - 1.0).abs() < 1e-9 => Ok(()),
            _ => Err(format!("it is {left:?} now; the Write gave {through:?}")),
        };
        checks.note("a write hidden in a structure is not done", result);
        // Whether it would have worked: how this server reads is no fault of the gate.
        let direct = other.tell(&["smuggle", allowed, hidden, "14"]);
        let is_tricked = other.tell(&["read", hidden])?.first().is_some_and(|word| word.starts_with("14"));
        let verdict = if is_tricked { "falls for it" } else { "does not fall for it" };
        println!("        {:10}  without the gate the server {verdict} ({direct:?})", checks.peer);
        Ok(())
    }

    /// A client that watches while its token ends, several times, and while the server is started again.
    fn renewal_and_restart(&mut self, checks: &mut Checks, other: Option<Puppet>) -> Result<(), String> {
        let words = [
            "opcua",
            "watch",
            &self.url,
            "--pki",
            "client",
            "--user",
            ANNA[0],
            "--password-file",
            "anna.password",
            "--interval",
            "200",
            LEVEL,
        ];
        self.durward.write_secret("anna.password", ANNA[1])?;
        let watch = self.durward.start("watch", &words)?;
        let count = || watch.said().lines().filter(|line| line.parse::<f64>().is_ok()).count();
        let more = |than: usize| {
            eventually(PATIENCE / 2, || {
                if count() > than {
                    Ok(())
                } else {
                    Err(format!("no value came after {than}: {}", watch.said()))
                }
            })
        };
        let (start, begun) = (Instant::now(), more(2));
        checks.note("a client watches", begun);
        std::thread::sleep(Duration::from_secs(TOKEN_LIFETIME_S + 2).saturating_sub(start.elapsed()));
        checks.note("on and on, with one token after the other", more(count() + 2));
        if let Some(mut other) = other {
            let read = other.tell(&["read", "ns=2;s=Tank.Level"]);
            checks.note("a user by password goes on when the first token has ended", done(read));
        }
        drop(self.server.take());
        self.server = Some(Site::server(&self.durward, self.installed, self.server_port)?);
        checks.note("and when the server was started again", more(count() + 2));
        let read = eventually(PATIENCE / 2, || self.anna("read", &[LEVEL]));
        checks.note("read from the server that was started again", read.map(drop));
        Ok(())
    }
}

fn settings(server: u16, authority: u16, gate: u16) -> String {
    format!(
        r#"
identity.users = "users.journal"

[opcua.authority]
listen = "127.0.0.1:{authority}"
pki = "authority"
token_lifetime_s = {TOKEN_LIFETIME_S}

[[opcua.authority.resources]]
id = "urn:durward:peer:gate"
certificate = "gate/own/certs/application.der"

[opcua.gate]
listen = "127.0.0.1:{gate}"
pki = "gate"
upstream = "opc.tcp://127.0.0.1:{server}"
upstream_user = "{}"
upstream_password_path = "gate.password"
authority = "opc.tcp://127.0.0.1:{authority}"
issuer = "urn:durward:peer:authority"
keys = "opcua-authority/jwks.json"
"#,
        USER[0]
    )
}

fn number(text: &str) -> Result<(), String> {
    text.parse::<f64>().map(drop).map_err(|_| format!("no number: {text}"))
}

fn equals(text: &str, expected: &str) -> Result<(), String> {
    if text == expected { Ok(()) } else { Err(format!("it is {text}, not {expected}")) }
}

fn has(text: &str, name: &str) -> Result<(), String> {
    if text.lines().any(|line| line.ends_with(name)) {
        Ok(())
    } else {
        Err(format!("no `{name}` in {text:?}"))
    }
}

fn has_not(text: &str, name: &str) -> Result<(), String> {
    if text.contains(name) { Err(format!("`{name}` is in {text:?}")) } else { Ok(()) }
}

/// Whether it was refused as a matter of rights.
fn refused(answer: &Result<String, String>) -> Result<(), String> {
    const STATUSES: [&str; 5] = [
        "BadUserAccessDenied",
        "BadNodeIdUnknown",
        "BadNotReadable",
        "BadNotWritable",
        "BadIdentityTokenRejected",
    ];
    match answer {
        Ok(text) => Err(format!("it was not refused: {text}")),
        Err(why) if STATUSES.iter().any(|status| why.contains(status)) => Ok(()),
        Err(why) => Err(format!("it was refused otherwise: {why}")),
    }
}
