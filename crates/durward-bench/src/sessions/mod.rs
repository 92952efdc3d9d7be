//! What sessions cost over the network: logins, validations and logouts at one node or several that share sessions.
//!
//! The load is closed: so many users wait for an answer before each asks again. Requests go to the nodes in no order, as
//! nothing ties a session to one. One thread asks and listens; where it has a core of its own it never sleeps.
//!
//! An answer counts only if it is right: a validation that does not say whose session it is, a login without a token, are
//! counted apart, and never as speed.

mod call;
mod crowd;
mod flood;
mod logouts;
mod memory;
mod rounds;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

pub use call::wait_ready;
pub use crowd::UserAction;
pub use flood::{LoginFlood, flood};
pub use logouts::{LogoutDelays, logouts};
pub use memory::{ResidentMemory, SessionMemory, memory};
pub use rounds::{
    SessionMeasurement, ValidationMeasurement, WaitTimes, login, mix, validate, validation_body,
};

use crate::server::ServerBenchError;

/// A user who can log in.
#[derive(Clone, PartialEq, Eq)]
pub struct BenchPerson {
    user: String,
    /// The body of a login.
    login: String,
}

impl BenchPerson {
    /// A user of the root realm with a password.
    pub fn new(user: &str, password: &str) -> BenchPerson {
        BenchPerson { user: user.to_owned(), login: json!({"user": user, "password": password}).to_string() }
    }

    /// The user's name.
    pub fn name(&self) -> &str {
        &self.user
    }
}

/// Without the password.
impl fmt::Debug for BenchPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").field("user", &self.user).finish_non_exhaustive()
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct BenchSite<'a> {
    /// The nodes, all of which know the same users and sessions.
    pub nodes: &'a [SocketAddr],
    /// Their processes, to see what they take of the machine; none where that is not known.
    pub processes: &'a [u32],
    /// Who logs in.
    pub people: &'a [BenchPerson],
    /// Whether the calling thread has a core to itself: then it never sleeps.
    pub has_own_core: bool,
}

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub struct SessionLoad {
    /// Users that wait for an answer at any moment, each with a connection.
    pub users: usize,
    /// For how long, in rounds.
    pub duration: Duration,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum SessionBenchError {
    /// There is nobody to log in.
    NoPeople,
    /// A connection could not be opened, or broke off.
    Connection(io::Error),
    /// A node says what is no answer of HTTP/1.1.
    Nonsense(String),
    /// A node says what it must not.
    Wrong(String),
    /// Not one request was answered rightly.
    NoAnswers,
    /// What is to be seen on other nodes needs some.
    OneNode,
    /// A logout that was acknowledged has not reached a node in time.
    NotSeen {
        /// The node that still accepts the session.
        node: SocketAddr,
        /// For how long.
        waited: Duration,
    },
    /// The system does not tell the memory of a process, or its number is not known.
    NoProcess,
}

impl SessionBenchError {
    fn wrong(what: &str, status: u16, body: &[u8]) -> SessionBenchError {
        let body = String::from_utf8_lossy(body);
        SessionBenchError::Wrong(format!("{what} was answered {status} {}", body.trim()))
    }
}

impl fmt::Display for SessionBenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionBenchError::NoPeople => f.write_str("there is nobody to log in"),
            SessionBenchError::Connection(error) => write!(f, "a connection failed: {error}"),
            SessionBenchError::Nonsense(what) => write!(f, "no answer of this protocol: {what}"),
            SessionBenchError::Wrong(what) => f.write_str(what),
            SessionBenchError::NoAnswers => f.write_str("not one request was answered rightly"),
            SessionBenchError::OneNode => f.write_str("whether other nodes see a logout needs several nodes"),
            SessionBenchError::NotSeen { node, waited } => {
                let waited = waited.as_secs();
                write!(f, "{node} accepts a session {waited} s after its logout was acknowledged elsewhere")
            }
            SessionBenchError::NoProcess => f.write_str("the memory of the nodes is not known"),
        }
    }
}

impl std::error::Error for SessionBenchError {}

impl From<io::Error> for SessionBenchError {
    fn from(error: io::Error) -> SessionBenchError {
        SessionBenchError::Connection(error)
    }
}

impl From<ServerBenchError> for SessionBenchError {
    fn from(error: ServerBenchError) -> SessionBenchError {
        match error {
            ServerBenchError::Connection(error) => SessionBenchError::Connection(error),
            ServerBenchError::Nonsense(what) => SessionBenchError::Nonsense(what),
            ServerBenchError::NoAnswers | ServerBenchError::NoQuestions | ServerBenchError::Question => {
                SessionBenchError::NoAnswers
            }
        }
    }
}
