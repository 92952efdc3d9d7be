//! A client package in a process of its own: it is told what to do in lines of JSON, and answers each with one.
//!
//! | `do` | with | answer |
//! |---|---|---|
//! | `connect` | `transport`, `port`, `credentials` | nothing |
//! | `once`, `all-once` | `ask` | `answer`: the decision, or an object of them; `why`, where it is known |
//! | `open` | `what` (`decide`, `multi-decide`, `multi-decide-all`), `ask` | nothing |
//! | `next` | `within_ms` | `answer`, or `silent` |
//! | `close` | | nothing |
//!
//! Decisions are as SAPL writes them in JSON, without fields that are empty. Whatever goes wrong between package and
//! server is the package's answer (INDETERMINATE, mostly); `failed` is what the program itself could not do.

use crate::process::shown;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Longest for an answer, virtual machines that start included.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// The program, running.
pub(super) struct Puppet {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Puppet {
    pub(super) fn start(mut command: Command) -> Result<Puppet, String> {
        println!("$ {}", shown(&command).chars().take(160).collect::<String>());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let cannot = |what: &str| format!("cannot start `{what}`");
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", cannot(&shown(&command))))?;
        let input = child.stdin.take().ok_or_else(|| cannot("its input"))?;
        let output = child.stdout.take().ok_or_else(|| cannot("its output"))?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Puppet { child, input, lines })
    }

    /// Has it do something.
    ///
    /// # Errors
    ///
    /// What it could not do, or that it is gone or silent.
    pub(super) fn tell(&mut self, what: &Value) -> Result<Value, String> {
        writeln!(self.input, "{what}").and_then(|()| self.input.flush()).map_err(|_| "it ended early")?;
        let line = self.lines.recv_timeout(ANSWER_TIME_MAX).map_err(|_| "it does not answer")?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| format!("it says `{line}`"))?;
        match answer.get("failed") {
            Some(why) => Err(why.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer),
        }
    }

    /// What comes next in the open stream; `None` when nothing came in time.
    pub(super) fn next(&mut self, within: Duration) -> Result<Option<Value>, String> {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let mut answer = self.tell(&json!({ "do": "next", "within_ms": within_ms }))?;
        Ok(answer.get_mut("answer").map(Value::take))
    }

    /// Lets it go.
    pub(super) fn end(self) {
        let Puppet { mut child, input, .. } = self;
        drop(input);
        std::thread::sleep(Duration::from_millis(300));
        if let Err(error) = child.kill().and_then(|()| child.wait().map(drop)) {
            println!("cannot end the client: {error}");
        }
    }
}
