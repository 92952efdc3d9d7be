//! Clients of others through the gate of `durward demo opcua`, with durward's own plant behind it.

use super::install::Installed;
use super::parts::{Durward, Running, eventually};
use super::puppet::{Answer, Puppet};
use super::{Checks, Peer, Tokens, WhenRefused};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TEMPERATURE: &str = "ns=2;s=Boiler.Temperature";
const SET_POINT: &str = "ns=2;s=Boiler.Burner.SetPoint";
pub(super) const MODE: &str = "ns=2;s=Boiler.Mode";
const MOTOR: &str = "ns=2;s=Boiler.Motor";
const START: &str = "ns=2;s=Boiler.Motor.Start";
const STOP: &str = "ns=2;s=Boiler.Motor.Stop";

/// The shortest life of a channel, of which clients let three quarters go by.
const CHANNEL_RENEWED: Duration = Duration::from_secs(50);
/// Longest until a recalled right is gone: policies are looked at each second, and values come ten times a second.
const RECALL_MAX: Duration = Duration::from_secs(10);

/// A client that comes again and again.
pub(super) struct Visit {
    pub(super) durward: Durward,
    pub(super) plant: PathBuf,
    pub(super) url: String,
    pub(super) puppet: Puppet,
    pub(super) since: Instant,
    /// Ended last.
    _demo: Running,
}

impl Visit {
    pub(super) fn start(installed: &Installed, binary: &Path, folder: &Path) -> Result<Visit, String> {
        let durward = Durward::new(binary, folder)?;
        let mut demo = durward.start("demo", &["demo", "opcua", "--listen", "127.0.0.1:0"])?;
        let welcome = demo.until("Ctrl-C ends it")?;
        let between = |before: &str, after: &str| {
            let found = welcome.split_once(before).and_then(|(_, rest)| rest.split_once(after));
            found.map(|(between, _)| between.to_owned()).ok_or(format!("the demo does not say `{before}`"))
        };
        let url = between("A gate listens on ", " before")?;
        let plant = PathBuf::from(between("Who may do what is in ", "/policies/")?);
        durward.certify("peer", installed.client_uri)?;
        for name in ["gate", "authority"] {
            let directory = plant.join(name).display().to_string();
            durward.trust("peer", &directory)?;
            durward.trust(&directory, "peer")?;
        }
        let puppet = Puppet::start(installed.client(&folder.join("peer")))?;
        Ok(Visit { durward, plant, url, puppet, since: Instant::now(), _demo: demo })
    }

    fn password(&self, name: &str) -> Result<String, String> {
        let path = self.plant.join(format!("{name}.password"));
        let text = fs::read_to_string(&path).map_err(|error| format!("no `{}`: {error}", path.display()))?;
        Ok(text.trim_end().to_owned())
    }

    pub(super) fn open(&mut self, who: &[&str]) -> Answer {
        let url = self.url.clone();
        self.puppet.tell(&[&["open", &url], who].concat())
    }

    pub(super) fn renew(&mut self, who: &[&str]) -> Answer {
        self.puppet.tell(&[&["renew"], who].concat())
    }

    /// Users who cannot hand a token over: the gate gets it for them.
    pub(super) fn by_password(&mut self, checks: &mut Checks) -> Result<(), String> {
        let (anna, bert) = (self.password("anna")?, self.password("bert")?);
        let nobody = self.open(&["anonymous"]);
        checks.note("nobody gets in without a user", refused(nobody, &[]));
        let wrong = self.open(&["user", "anna", "guessed"]);
        checks.note(
            "a wrong password is refused",
            refused(wrong, &["BadUserAccessDenied", "BadIdentityTokenRejected"]),
        );
        let opened = self.open(&["user", "anna", &anna]);
        let is_open = opened.is_ok();
        checks.note("session by password", done(opened));
        if is_open {
            self.as_operator(checks, "by password");
        }
        let opened = self.open(&["user", "bert", &bert]);
        let is_open = opened.is_ok();
        checks.note("session of a guest by password", done(opened));
        if is_open {
            self.as_guest(checks);
        }
        Ok(())
    }

    fn as_operator(&mut self, checks: &mut Checks, how: &str) {
        let read = self.puppet.tell(&["read", TEMPERATURE]);
        checks.note(&format!("read {how}"), number(read).map(drop));
        let written = self.puppet.tell(&["write", SET_POINT, "42.5"]);
        checks.note(&format!("write {how}"), done(written));
        let read = self.puppet.tell(&["read", SET_POINT]);
        let is_new = number(read).and_then(|value| same(value, 42.5));
        checks.note(&format!("what was written is read {how}"), is_new);
        let started = self.puppet.tell(&["call", MOTOR, START]);
        let stopped = self.puppet.tell(&["call", MOTOR, STOP]);
        checks.note(&format!("call {how}"), done(started).and_then(|()| done(stopped)));
        let browsed = self.puppet.tell(&["browse", "ns=2;s=Boiler"]);
        checks.note(&format!("browse {how}"), has(browsed, "Temperature"));
        let refusal = self.puppet.tell(&["write", TEMPERATURE, "20"]);
        checks.note(&format!("a write that is not granted is refused {how}"), refused(refusal, DENIED));
        checks.note(&format!("subscription {how}"), self.values_come(TEMPERATURE));
    }

    fn as_guest(&mut self, checks: &mut Checks) {
        let read = self.puppet.tell(&["read", TEMPERATURE]);
        checks.note("a guest reads what is granted", number(read).map(drop));
        let mode = self.puppet.tell(&["read", MODE]);
        checks.note("a guest reads nothing else", refused(mode, DENIED));
        let written = self.puppet.tell(&["write", SET_POINT, "1"]);
        checks.note("a guest writes nothing", refused(written, DENIED));
        let called = self.puppet.tell(&["call", MOTOR, START]);
        checks.note("a guest calls nothing", refused(called, DENIED));
        let silent = match self.puppet.tell(&["watch", MODE]) {
            Err(why) => refused(Err(why), DENIED),
            Ok(_) => match self.puppet.tell(&["next", "1000"]) {
                Ok(values) if values.iter().any(|value| value == "silent" || value.starts_with("Bad")) => {
                    Ok(())
                }
                other => Err(format!("there is {other:?}")),
            },
        };
        checks.note("a guest watches nothing else", silent);
    }

    fn values_come(&mut self, node: &str) -> Result<(), String> {
        done(self.puppet.tell(&["watch", node]))?;
        for _ in 0..3 {
            number(self.puppet.tell(&["next", "5000"]))?;
        }
        Ok(())
    }

    /// Has the session's values come, for what is looked at later.
    ///
    /// # Errors
    ///
    /// None comes.
    pub(super) fn watch_again(&mut self) -> Result<(), String> {
        self.values_come(TEMPERATURE)
    }

    /// Users with a token, which the client asks for itself.
    pub(super) fn by_token(&mut self, checks: &mut Checks, peer: &Peer) -> Result<(), String> {
        let how = match peer.tokens {
            Tokens::Yes => "by token",
            Tokens::ByHand => "by token, made by hand",
        };
        let (anna, bert) = (self.token("anna"), self.token("bert"));
        checks.note("RequestAccessToken", anna.as_ref().map(drop).map_err(Clone::clone));
        let refusal = self.request("anna", "guessed");
        checks.note(
            "no token for a wrong password",
            refused(refusal, &["BadUserAccessDenied", "BadIdentityTokenRejected"]),
        );
        let (Ok(anna), Ok(bert)) = (anna, bert) else { return Ok(()) };
        let opened = self.open(&["token", &anna]);
        let is_open = opened.is_ok();
        checks.note(&format!("session {how}"), done(opened));
        if !is_open {
            return Ok(());
        }
        self.since = Instant::now();
        self.as_operator(checks, "by token");
        let next = self.token("anna")?;
        let renewed = self.renew(&["token", &next]);
        checks
            .note("the token is renewed in the session", done(renewed).and_then(|()| self.still_reads(MODE)));
        let stolen = self.token_of_another()?;
        for (what, token) in
            [("junk for a token", "eyJhbGciOiJub25lIn0.e30."), ("the token of another application", &stolen)]
        {
            let refusal = self.renew(&["token", token]);
            checks.note(&format!("{what} is refused"), refused(refusal, REJECTED));
            match peer.refused {
                WhenRefused::Stays => {
                    checks.note("and what was in force stays in force", self.still_reads(MODE));
                }
                WhenRefused::Leaves => {
                    done(self.open(&["token", &next]))?;
                    self.since = Instant::now();
                }
            }
        }
        let renewed = self.renew(&["token", &bert]);
        checks.note("a smaller token", done(renewed).and_then(|()| self.still_reads(TEMPERATURE)));
        let mode = self.puppet.tell(&["read", MODE]);
        checks.note("is in force with the next request", refused(mode, DENIED));
        let renewed = self.renew(&["token", &next]);
        checks.note("a larger token", done(renewed).and_then(|()| self.values_come(TEMPERATURE)));
        Ok(())
    }

    pub(super) fn still_reads(&mut self, node: &str) -> Result<(), String> {
        done(self.puppet.tell(&["read", node]))
    }

    fn request(&mut self, name: &str, password: &str) -> Answer {
        let issuer = self.issuer()?;
        let field = |name: &str| issuer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (authority, resource) = (field("ua:authorityUrl"), field("ua:resourceId"));
        self.puppet.tell(&["token", &authority, name, password, &resource])
    }

    /// Where tokens come from, as the gate's policy says it.
    pub(super) fn issuer(&mut self) -> Result<Value, String> {
        let url = self.url.clone();
        let issuer = self.puppet.tell(&["issuer", &url])?.join("");
        serde_json::from_str(&issuer).map_err(|error| format!("`{issuer}`: {error}"))
    }

    pub(super) fn token(&mut self, name: &str) -> Result<String, String> {
        let password = self.password(name)?;
        self.request(name, &password)?.pop().ok_or_else(|| "no token came".to_owned())
    }

    /// A token of the same user for the demo's own client.
    fn token_of_another(&self) -> Result<String, String> {
        let pki = self.plant.join("client").display().to_string();
        let password = self.password("anna")?;
        let words = ["opcua", "token", &self.url, "--pki", &pki, "--user", "anna", "--raw"];
        let output = self.durward.run(&words, &password)?;
        let token = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        if output.status.success() { Ok(token) } else { Err("`durward opcua token` gives none".to_owned()) }
    }

    /// The same session when its channel was renewed; then rights are recalled.
    pub(super) fn long_after(&mut self, checks: &mut Checks) -> Result<(), String> {
        let next = self.token("anna")?;
        std::thread::sleep(CHANNEL_RENEWED.saturating_sub(self.since.elapsed()));
        let subscribed = eventually(RECALL_MAX, || number(self.puppet.tell(&["next", "1000"])).map(drop));
        checks.note("the session goes on over a renewed channel", self.still_reads(MODE));
        checks.note("and the subscription", subscribed);
        let renewed = self.renew(&["token", &next]);
        checks.note("and a token is renewed on it", done(renewed).and_then(|()| self.still_reads(MODE)));
        let bert = self.token("bert")?;
        done(self.open(&["token", &bert]))?;
        self.values_come(TEMPERATURE)?;
        let policies = self.plant.join("policies/boiler.sapl");
        let text = fs::read_to_string(&policies).map_err(|error| format!("no policies: {error}"))?;
        let changed = self.plant.join("changed.sapl");
        fs::write(&changed, text.replace("\"guest\"", "\"nobody\""))
            .and_then(|()| fs::rename(&changed, &policies))
            .map_err(|error| format!("cannot change the policies: {error}"))?;
        let ended = eventually(RECALL_MAX, || match self.puppet.tell(&["next", "1500"]) {
            Ok(values) if values.iter().any(|value| value.parse::<f64>().is_ok()) => {
                Err("values still come".to_owned())
            }
            _ => Ok(()),
        });
        checks.note("a recalled right ends a running subscription", ended);
        let read = self.puppet.tell(&["read", TEMPERATURE]);
        checks.note("and is refused from then on", refused(read, &[]));
        let opened = self.open(&["token", &bert]);
        checks.note("the recalled token is refused", refused(opened, &[]));
        Ok(())
    }
}

/// How a node is refused: as one that may not be used, or that is not there.
const DENIED: &[&str] = &["BadUserAccessDenied", "BadNodeIdUnknown", "BadMethodInvalid"];
/// How a token is refused.
pub(super) const REJECTED: &[&str] =
    &["BadIdentityTokenRejected", "BadIdentityTokenInvalid", "BadUserAccessDenied"];

pub(super) fn done(answer: Answer) -> Result<(), String> {
    answer.map(drop)
}

/// Whether it was refused with one of these statuses, or with any when there are none.
pub(super) fn refused(answer: Answer, statuses: &[&str]) -> Result<(), String> {
    match answer {
        Ok(words) => Err(format!("it was not refused: {words:?}")),
        Err(why) if statuses.is_empty() || statuses.iter().any(|status| why.contains(status)) => Ok(()),
        Err(why) => Err(format!("it was refused otherwise: {why}")),
    }
}

pub(super) fn number(answer: Answer) -> Result<f64, String> {
    let words = answer?;
    let number = words.first().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("no number, but {words:?}"))
}

fn same(value: f64, expected: f64) -> Result<(), String> {
    if (value - expected).abs() < 1e-9 { Ok(()) } else { Err(format!("it is {value}, not {expected}")) }
}

fn has(answer: Answer, name: &str) -> Result<(), String> {
    let names = answer?;
    if names.iter().any(|other| other == name) { Ok(()) } else { Err(format!("no `{name}` in {names:?}")) }
}
