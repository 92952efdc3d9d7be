//! Why there is no decision, and whose fault it is.

use std::fmt;

/// Why there is no decision. Every message begins with the server's address, except where the settings are at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// How the client was set up.
    Settings(String),
    /// The question: the server does not take it.
    Question(String),
    /// Who asks: the server does not know or want them.
    Credentials(String),
    /// Nobody: the server has no room now.
    Busy(String),
    /// The server: it answers with what is no decision.
    Server(String),
    /// The way to the server: it is not reached, too slow, or not who it says.
    Network(String),
}

impl ClientError {
    /// What went wrong.
    pub fn message(&self) -> &str {
        match self {
            ClientError::Settings(message)
            | ClientError::Question(message)
            | ClientError::Credentials(message)
            | ClientError::Busy(message)
            | ClientError::Server(message)
            | ClientError::Network(message) => message,
        }
    }

    /// Whether only this question is concerned; otherwise the next one will not fare better.
    pub fn concerns_question_only(&self) -> bool {
        matches!(self, ClientError::Question(_))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for ClientError {}
