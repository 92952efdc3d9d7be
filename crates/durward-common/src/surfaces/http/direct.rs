//! Answers to requests that the HTTP library does not read.
//!
//! Nearly all that a decision point is asked are the same few lines: a POST to one of a few paths and a small body, which came in one
//! piece. To read such a request into the library's types and to write its answer out of them takes several times as long as deciding, or
//! as looking at the token of a session.
//! So a connection reads them itself ([`durward_wire::http1`]), and answers those whose text alone decides.

/// What a request is answered with, with the status 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectAnswer {
    /// The media type of the text.
    pub media_type: &'static str,
    /// The body.
    pub text: String,
}
