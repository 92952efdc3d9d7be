//! What goes wrong at the border to another language, in the words of whoever wrote the policy or the question.

use std::error::Error;
use std::fmt;
use std::io;

use durward_pdp::sapl::SubscriptionError;
use durward_pdp::xacml::request::RequestError;
use durward_pdp::{PolicyError, ReadError};

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
    NoThread(io::Error),
    /// There are as many watched subscriptions as can be numbered.
    TooMany,
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Subscription(error) => error.fmt(f),
            QuestionError::Request(error) => error.fmt(f),
            QuestionError::TooLong(bytes) => {
                write!(f, "a question of {bytes} bytes is longer than the {TEXT_BYTES_MAX} that are read")
            }
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
