//! What every client is asked to do and what must come back: the one table, the same for all languages.

use super::Transport;
use super::puppet::Puppet;
use super::server::Server;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Longest for a decision to come, a change of policy or a client's pause before it tries again included.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long nothing may come where nothing changes: several keep-alives of the server.
const QUIET: Duration = Duration::from_millis(1500);

/// What must come back, as JSON.
type Expected = &'static str;

/// Who asks: `NAME may ACTION`.
type Asks = &'static str;

/// A row of the table.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    credentials: Credentials,
    steps: &'static [Step],
}

/// With what the client connects.
enum Credentials {
    Password,
    WrongPassword,
    Key,
    WrongKey,
    NoKey,
    None,
}

/// What is done, and what must come of it.
enum Step {
    Once(Asks, Expected),
    AllOnce(&'static [(&'static str, Asks)], Expected),
    Open(&'static str, Asks),
    OpenAll(&'static str, &'static [(&'static str, Asks)]),
    Next(Expected),
    /// So many, in any order.
    Several(&'static [Expected]),
    /// This sooner or later, nothing but INDETERMINATE before it.
    Until(Expected),
    Silence,
    Close,
    /// A policy changes.
    Write(&'static str, &'static str),
    /// The server has refused somebody: what came of the last steps is not for another reason.
    Refused,
    Stop,
    Start,
}

use Step::{AllOnce, Close, Next, Once, Open, OpenAll, Refused, Several, Silence, Start, Stop, Until, Write};

const READING: &str = r#"policy "reading"
permit
    subject.name == "alice" && action == "read";
obligation
    { "type": "log", "level": 7, "share": 0.25 }
advice
    "hint"
"#;

const READING_DENIED: &str = r#"policy "reading"
deny
    subject.name == "alice" && action == "read";
advice
    "not now"
"#;

const READING_BY_BOB: &str = r#"policy "reading" permit subject.name == "bob" && action == "read";"#;

const BROKEN: &str = r#"policy "reading" permit subject.name == "#;

const REPLACING: &str = r#"policy "replacing"
permit
    subject.name == "carol" && action == "read";
transform
    { "title": resource.title, "pages": [1, 2], "none": null }
"#;

const SUSPENDING: &str = r#"policy "suspending" suspend subject.name == "dave";"#;

const LISTENING: &str = r#"policy "listening" permit subject.name == "erin";"#;

const POLICIES: [(&str, &str); 4] = [
    ("reading.sapl", READING),
    ("replacing.sapl", REPLACING),
    ("suspending.sapl", SUSPENDING),
    ("listening.sapl", LISTENING),
];

const ALICE: Expected =
    r#"{"decision":"PERMIT","obligations":[{"type":"log","level":7,"share":0.25}],"advice":["hint"]}"#;
const ALICE_DENIED: Expected = r#"{"decision":"DENY","advice":["not now"]}"#;
const CAROL: Expected =
    r#"{"decision":"PERMIT","resource":{"title":"Grüße 😀 \"","pages":[1,2],"none":null}}"#;
const PERMIT: Expected = r#"{"decision":"PERMIT"}"#;
const DENY: Expected = r#"{"decision":"DENY"}"#;
const SUSPEND: Expected = r#"{"decision":"SUSPEND"}"#;
const INDETERMINATE: Expected = r#"{"decision":"INDETERMINATE"}"#;

const TWO: &[(&str, Asks)] = &[("second", "bob may read"), ("first", "alice may read")];
const BOTH: Expected = r#"{"first":{"decision":"PERMIT","obligations":[{"type":"log","level":7,"share":0.25}],"advice":["hint"]},"second":{"decision":"DENY"}}"#;
const BOTH_CHANGED: Expected = r#"{"first":{"decision":"DENY"},"second":{"decision":"PERMIT"}}"#;
const FIRST: Expected = r#"{"subscriptionId":"first","decision":{"decision":"PERMIT","obligations":[{"type":"log","level":7,"share":0.25}],"advice":["hint"]}}"#;
const FIRST_DENIED: Expected =
    r#"{"subscriptionId":"first","decision":{"decision":"DENY","advice":["not now"]}}"#;
const SECOND: Expected = r#"{"subscriptionId":"second","decision":{"decision":"DENY"}}"#;

const fn with_password(name: &'static str, steps: &'static [Step]) -> Scenario {
    Scenario { name, credentials: Credentials::Password, steps }
}

/// SAPL's clients do not raise an error when they are refused: they say INDETERMINATE.
const fn refused(name: &'static str, credentials: Credentials) -> Scenario {
    let steps = &[
        Once("alice may read", INDETERMINATE),
        Open("decide", "alice may read"),
        Next(INDETERMINATE),
        Silence,
        Close,
        Refused,
    ];
    Scenario { name, credentials, steps }
}

/// For clients that are given decisions, in the order they are played.
pub(super) const DECIDED: &[Scenario] = &[
    with_password(
        "one decision",
        &[Once("alice may read", ALICE), Once("bob may read", DENY), Once("alice may write", DENY)],
    ),
    with_password("a suspension", &[Once("dave may read", SUSPEND)]),
    with_password("a resource replaced", &[Once("carol may read", CAROL)]),
    with_password("several at once", &[AllOnce(TWO, BOTH)]),
    with_password(
        "a stream while policies change",
        &[
            Open("decide", "alice may read"),
            Next(ALICE),
            Write("reading.sapl", READING_DENIED),
            Next(ALICE_DENIED),
            Write("reading.sapl", BROKEN),
            Silence,
            Write("reading.sapl", READING),
            Next(ALICE),
            Write("other.sapl", r#"policy "other" permit action == "other";"#),
            Silence,
            Close,
        ],
    ),
    with_password(
        "several, told together",
        &[
            OpenAll("multi-decide-all", TWO),
            Next(BOTH),
            Write("reading.sapl", READING_BY_BOB),
            Next(BOTH_CHANGED),
            Close,
        ],
    ),
    with_password(
        "several, told one by one",
        &[
            OpenAll("multi-decide", TWO),
            Several(&[FIRST, SECOND]),
            Write("reading.sapl", READING_DENIED),
            Next(FIRST_DENIED),
            Silence,
            Close,
        ],
    ),
    with_password(
        "the server started again",
        &[
            Open("decide", "alice may read"),
            Next(ALICE),
            Stop,
            Write("reading.sapl", READING_BY_BOB),
            Start,
            Until(DENY),
            Close,
            Once("bob may read", PERMIT),
        ],
    ),
    Scenario {
        name: "an API key",
        credentials: Credentials::Key,
        steps: &[Once("alice may read", ALICE), Open("decide", "alice may read"), Next(ALICE), Close],
    },
    refused("a wrong password", Credentials::WrongPassword),
    refused("a wrong API key", Credentials::WrongKey),
    refused("a token that is none", Credentials::NoKey),
    refused("no credentials", Credentials::None),
];

const LISTENING_SUSPENDED: &str = r#"policy "listening" suspend subject.name == "erin";"#;
const LISTENING_DENIED: &str = r#"policy "listening" deny subject.name == "erin";"#;

/// For programs that a package guards: what their callers see.
pub(super) const ENFORCED: &[Scenario] = &[
    with_password("a guarded call", &[Once("erin may read", r#"{"status":200,"body":{"plain":true}}"#)]),
    with_password(
        "a guarded call with another answer",
        &[Once(
            "carol may read",
            r#"{"status":200,"body":{"title":"Grüße 😀 \"","pages":[1,2],"none":null}}"#,
        )],
    ),
    with_password("a guarded call that is denied", &[Once("bob may read", r#"{"status":403}"#)]),
    // Alice may, and a duty comes with it that this program does not know.
    with_password("a duty that nobody takes", &[Once("alice may read", r#"{"status":403}"#)]),
    with_password(
        "a guarded stream",
        &[
            Open("stream", "erin may read"),
            Next("\"AccessGrantedSignal\""),
            Next("\"item\""),
            Write("listening.sapl", LISTENING_SUSPENDED),
            Next("\"AccessSuspendedSignal\""),
            Silence,
            Write("listening.sapl", LISTENING),
            Next("\"AccessGrantedSignal\""),
            Next("\"item\""),
            Write("listening.sapl", LISTENING_DENIED),
            Next("\"denied\""),
            Close,
        ],
    ),
    Scenario {
        name: "a guard with a wrong password",
        credentials: Credentials::WrongPassword,
        steps: &[Once("carol may read", r#"{"status":403}"#), Refused],
    },
];

/// Where a scenario is played.
pub(super) struct Stage<'s> {
    pub(super) server: &'s mut Server,
    pub(super) puppet: &'s mut Puppet,
    pub(super) transport: Transport,
}

impl Stage<'_> {
    /// Plays one from the start, with the policies as they were.
    ///
    /// # Errors
    ///
    /// The first thing that was not as it should be.
    pub(super) fn play(&mut self, scenario: &Scenario) -> Result<(), String> {
        // A server of its own: no scenario sees what another left, and no policy is still being taken up.
        self.server.stop()?;
        self.server.clear()?;
        for (name, text) in POLICIES {
            self.server.write(name, text)?;
        }
        self.server.run()?;
        let port = match self.transport {
            Transport::Http => self.server.http,
            Transport::Rsocket => self.server.rsocket,
        };
        let credentials = scenario.credentials.to_json();
        let transport = self.transport.name();
        let connect =
            json!({ "do": "connect", "transport": transport, "port": port, "credentials": credentials });
        self.puppet.tell(&connect)?;
        for (number, step) in scenario.steps.iter().enumerate() {
            self.step(step).map_err(|why| format!("step {}: {why}", number + 1))?;
        }
        self.server.is_sound()
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Once(asks, expected) => self.once("once", &question(asks), expected),
            AllOnce(asks, expected) => self.once("all-once", &questions(asks), expected),
            Open(what, asks) => self.open(what, &question(asks)),
            OpenAll(what, asks) => self.open(what, &questions(asks)),
            Next(expected) => same(&self.next()?, &read(expected)?),
            Several(expected) => self.several(expected),
            Until(expected) => self.until(&read(expected)?),
            Silence => self.silence(),
            Close => self.puppet.tell(&json!({ "do": "close" })).map(drop),
            Write(name, text) => self.server.write(name, text),
            Refused if self.server.refusals() == 0 => Err("the server refused nobody".to_owned()),
            Refused => Ok(()),
            Stop => self.server.stop(),
            Start => self.server.run(),
        }
    }

    fn once(&mut self, what: &str, ask: &Value, expected: Expected) -> Result<(), String> {
        let answer = self.puppet.tell(&json!({ "do": what, "ask": ask }))?;
        let why =
            answer.get("why").and_then(Value::as_str).map(|why| format!(" ({why})")).unwrap_or_default();
        let same = same(answer.get("answer").unwrap_or(&Value::Null), &read(expected)?);
        same.map_err(|difference| format!("{difference}{why}"))
    }

    fn open(&mut self, what: &str, ask: &Value) -> Result<(), String> {
        self.puppet.tell(&json!({ "do": "open", "what": what, "ask": ask })).map(drop)
    }

    fn next(&mut self) -> Result<Value, String> {
        self.puppet.next(PATIENCE)?.ok_or_else(|| "nothing comes".to_owned())
    }

    fn several(&mut self, expected: &[Expected]) -> Result<(), String> {
        let mut missing = expected.iter().map(|one| read(one)).collect::<Result<Vec<_>, _>>()?;
        while !missing.is_empty() {
            let answer = self.next()?;
            let Some(place) = missing.iter().position(|one| same(&answer, one).is_ok()) else {
                return Err(format!("{answer} was not expected"));
            };
            missing.swap_remove(place);
        }
        Ok(())
    }

    fn until(&mut self, expected: &Value) -> Result<(), String> {
        let (end, meanwhile) = (Instant::now() + PATIENCE, read(INDETERMINATE)?);
        while Instant::now() < end {
            let answer = self.next()?;
            if answer != meanwhile {
                return same(&answer, expected);
            }
        }
        Err(format!("{expected} does not come"))
    }

    fn silence(&mut self) -> Result<(), String> {
        match self.puppet.next(QUIET)? {
            None => Ok(()),
            // Clients that try again may say again that they know nothing.
            Some(answer) if answer == read(INDETERMINATE)? => Ok(()),
            Some(answer) => Err(format!("{answer} where nothing changed")),
        }
    }
}

impl Credentials {
    fn to_json(&self) -> Value {
        match self {
            Credentials::Password => json!({ "username": "anna", "secret": "s3cret" }),
            Credentials::WrongPassword => json!({ "username": "anna", "secret": "wrong" }),
            Credentials::Key => json!({ "token": "sapl_abcdefghij_0123456789" }),
            Credentials::WrongKey => json!({ "token": "sapl_abcdefghij_wrong" }),
            Credentials::NoKey => json!({ "token": "a.b.c" }),
            Credentials::None => json!({}),
        }
    }
}

/// A subscription with something of everything in it.
fn question(asks: Asks) -> Value {
    let (name, action) = asks.split_once(" may ").unwrap_or((asks, "read"));
    json!({
        "subject": { "name": name, "age": 41, "roles": ["a", null, true, -1.5e-3, []] },
        "action": action,
        "resource": { "title": "Grüße 😀 \"", "size": 1.5 },
        "environment": { "hour": 9 },
        "secrets": { "token": "t" },
    })
}

fn questions(asks: &[(&str, Asks)]) -> Value {
    Value::Object(asks.iter().map(|(id, asks)| ((*id).to_owned(), question(asks))).collect::<Map<_, _>>())
}

fn read(expected: Expected) -> Result<Value, String> {
    serde_json::from_str(expected).map_err(|error| format!("the table: {error}"))
}

fn same(answer: &Value, expected: &Value) -> Result<(), String> {
    if answer == expected { Ok(()) } else { Err(format!("{answer} instead of {expected}")) }
}
