//! A client of another stack in a process of its own: it is told what to do in lines, and answers each with one. Words are separated by tabs.
//!
//! | line | answer after `ok` |
//! |---|---|
//! | `issuer URL` | the `issuerEndpointUrl` of the endpoint's policy for tokens |
//! | `token URL NAME PASSWORD RESOURCE` | a token, from `RequestAccessToken` of the authorization service at that URL |
//! | `open URL WHO` | nothing: there is a session, the only one |
//! | `renew WHO` | nothing: the session was activated again |
//! | `read NODE`, `write NODE NUMBER`, `call OBJECT METHOD NUMBER...` | the value; nothing; the outputs |
//! | `browse NODE` | the names of what it refers to |
//! | `watch NODE` | nothing: it is in a subscription, the only one |
//! | `next MS` | the next value, the name of a bad status, or `silent` |
//! | `close` | nothing |
//!
//! `WHO` is `anonymous`, `user NAME PASSWORD` or `token TEXT`. What does not work is answered by `no` and the name of the status code, or
//! words where the stack has none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Longest for an answer, virtual machines that start on a busy machine included.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// The program, running. Ended when dropped.
pub(super) struct Puppet {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// An answer: the words after `ok`, or why not.
pub(super) type Answer = Result<Vec<String>, String>;

impl Puppet {
    pub(super) fn start(mut command: Command) -> Result<Puppet, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("the client does not start: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the client has no input and output".to_owned());
        };
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
    pub(super) fn tell(&mut self, words: &[&str]) -> Answer {
        let line = words.join("\t");
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).map_err(|_| "the client is gone")?;
        loop {
            let line = self.lines.recv_timeout(ANSWER_TIME_MAX).map_err(|_| "the client does not answer")?;
            let mut words = line.split('\t').map(str::to_owned);
            match words.next().as_deref() {
                Some("ok") => return Ok(words.collect()),
                Some("no") => return Err(words.collect::<Vec<String>>().join(" ")),
                // What a stack prints by itself.
                _ => {}
            }
        }
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
