//! Whether a server is ready: a path answers with 200, or a connection is taken.

use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use super::error::TargetError;
use super::http::get;
use super::launch::TargetProcess;

/// One attempt may take so long: a server that is starting may take a connection and answer nothing.
const ATTEMPT_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(25);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadyCheck {
    /// Host and port take a connection.
    Tcp(String),
    /// A URL answers with status 200.
    Http(String),
}

impl ReadyCheck {
    /// Reads `tcp`, `/path` or a URL, for a server at this address.
    ///
    /// # Errors
    /// Another text.
    pub(super) fn read(text: &str, scheme: &str, address: &str) -> Result<ReadyCheck, String> {
        match text {
            "tcp" => Ok(ReadyCheck::Tcp(address.to_owned())),
            path if path.starts_with('/') && scheme.starts_with("rsocket") => {
                Err(format!("`{path}` is a path, and the node speaks RSocket: write \"tcp\" or a URL"))
            }
            path if path.starts_with('/') => Ok(ReadyCheck::Http(format!("{scheme}://{address}{path}"))),
            url if url.starts_with("http://") || url.starts_with("https://") => {
                Ok(ReadyCheck::Http(url.to_owned()))
            }
            other => Err(format!("`{other}` is neither \"tcp\", nor a path such as \"/health\", nor a URL")),
        }
    }

    /// Asks until it is ready, the time is over, or a process of the target has ended, which `check` tells: a node may wait for
    /// another that is gone.
    pub(super) fn wait(
        &self,
        what: &str,
        within: Duration,
        process: Option<&TargetProcess>,
        check: &dyn Fn() -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let begun = Instant::now();
        loop {
            check()?;
            let left = within.saturating_sub(begun.elapsed());
            let problem = match self.attempt(left.clamp(Duration::from_millis(100), ATTEMPT_MAX)) {
                Ok(()) => return check(),
                Err(problem) => problem,
            };
            if begun.elapsed() + PAUSE >= within {
                let problem = format!("{problem}; it was given {:.1} s", within.as_secs_f64());
                let log = process.map(TargetProcess::last_lines).unwrap_or_default();
                return Err(TargetError::NotReady { what: what.to_owned(), problem, log });
            }
            thread::sleep(PAUSE);
        }
    }

    fn attempt(&self, timeout: Duration) -> Result<(), String> {
        match self {
            ReadyCheck::Tcp(address) => {
                let found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
                let mut last = format!("{address} is no address");
                for one in found {
                    match TcpStream::connect_timeout(&one, timeout) {
                        Ok(_) => return Ok(()),
                        Err(error) => last = format!("{address} takes no connection: {error}"),
                    }
                }
                Err(last)
            }
            ReadyCheck::Http(url) => match get(url, timeout) {
                Ok(answer) if answer.status == 200 => Ok(()),
                Ok(answer) => Err(format!("{url} answers status {}", answer.status)),
                Err(error) => Err(format!("{url}: {error}")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read() {
        let read = |text| ReadyCheck::read(text, "https", "127.0.0.1:1");
        assert_eq!(read("tcp"), Ok(ReadyCheck::Tcp("127.0.0.1:1".into())));
        assert_eq!(read("/up"), Ok(ReadyCheck::Http("https://127.0.0.1:1/up".into())));
        assert_eq!(read("http://other/x"), Ok(ReadyCheck::Http("http://other/x".into())));
        assert!(read("up").unwrap_err().contains("`up` is neither"));
    }
}
