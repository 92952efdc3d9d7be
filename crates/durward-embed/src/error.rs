//! What goes wrong at the border to another language, in the words of whoever wrote the policy or the question.

use std::error::Error;
use std::fmt;
#[cfg(feature = "threads")]
use std::io;

use durward_pdp::sapl::SubscriptionError;
use durward_pdp::xacml::request::RequestError;
use durward_pdp::{PolicyError, ReadError};
use serde_json::{Value as Json, json};

use crate::TEXT_BYTES_MAX;

/// Why policies were not put in force. Those that were in force still are.
#[derive(Debug)]
pub enum LoadError {
    /// Files could not be read.
    Files(ReadError),
    /// The policies are broken: every problem, with its place.
    Policies(Vec<PolicyError>),
    /// There is nothing to read again: the policies were given as texts.
    NoFolder,
}

impl LoadError {
    /// For languages to which an error comes as text: `{"kind": "policy", "message": .., "problems": [..]}`, each problem with `source`,
    /// `line`, `column`, `message` and `help`, where there are any.
    pub fn to_json(&self) -> String {
        let problems: Vec<Json> = match self {
            LoadError::Files(error) => {
                vec![json!({ "source": error.path.display().to_string(), "message": error.message })]
            }
            LoadError::Policies(errors) => errors.iter().map(problem).collect(),
            LoadError::NoFolder => Vec::new(),
        };
        json!({ "kind": "policy", "message": self.to_string(), "problems": problems }).to_string()
    }
}

fn problem(error: &PolicyError) -> Json {
    let has_place = !error.source.is_empty();
    json!({
        "source": has_place.then(|| error.source.as_str()),
        "line": has_place.then_some(error.line),
        "column": has_place.then_some(error.column),
        "message": error.message,
        "help": error.help,
    })
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Files(error) => error.fmt(f),
            LoadError::Policies(errors) => {
                for (number, error) in errors.iter().enumerate() {
                    if number > 0 {
                        f.write_str("\n")?;
                    }
                    error.fmt(f)?;
                }
                Ok(())
            }
            LoadError::NoFolder => {
                f.write_str("the policies were given as texts: there is no file or folder to read again")
            }
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LoadError::Files(error) => Some(error),
            LoadError::Policies(errors) => errors.first().map(|error| error as _),
            LoadError::NoFolder => None,
        }
    }
}

impl From<ReadError> for LoadError {
    fn from(error: ReadError) -> LoadError {
        LoadError::Files(error)
    }
}

impl From<Vec<PolicyError>> for LoadError {
    fn from(errors: Vec<PolicyError>) -> LoadError {
        LoadError::Policies(errors)
    }
}

/// Why a question has no decision. Whoever asked must treat it as a deny.
#[derive(Debug)]
pub enum QuestionError {
    /// The text is no subscription of SAPL.
    Subscription(SubscriptionError),
    /// The text is no request of XACML.
    Request(RequestError),
    /// The text is longer than [`TEXT_BYTES_MAX`]: so many bytes.
    TooLong(usize),
    /// The system gives no thread to watch subscriptions with.
    #[cfg(feature = "threads")]
    NoThread(io::Error),
    /// There are as many watched subscriptions as can be numbered.
    TooMany,
}

impl QuestionError {
    /// For languages to which an error comes as text: `{"kind": "question", "message": ..}`.
    pub fn to_json(&self) -> String {
        json!({ "kind": "question", "message": self.to_string() }).to_string()
    }
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Subscription(error) => error.fmt(f),
            QuestionError::Request(error) => error.fmt(f),
            QuestionError::TooLong(bytes) => {
                write!(f, "a question of {bytes} bytes is longer than the {TEXT_BYTES_MAX} that are read")
            }
            #[cfg(feature = "threads")]
            QuestionError::NoThread(error) => write!(f, "no thread to watch subscriptions with: {error}"),
            QuestionError::TooMany => f.write_str("too many subscriptions are watched"),
        }
    }
}

impl Error for QuestionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            QuestionError::Subscription(error) => Some(error),
            QuestionError::Request(error) => Some(error),
            #[cfg(feature = "threads")]
            QuestionError::NoThread(error) => Some(error),
            QuestionError::TooLong(_) | QuestionError::TooMany => None,
        }
    }
}

impl From<SubscriptionError> for QuestionError {
    fn from(error: SubscriptionError) -> QuestionError {
        QuestionError::Subscription(error)
    }
}

impl From<RequestError> for QuestionError {
    fn from(error: RequestError) -> QuestionError {
        QuestionError::Request(error)
    }
}
