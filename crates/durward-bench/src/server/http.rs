//! HTTP/1.1, as much of it as our own questions and their answers need.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use durward_pdp::sapl::Subscription;
use durward_wire::sapl::json::subscription_text;

use super::load::{ProtocolConnection, ServerAnswer};
use super::{ServerBenchError, ServerPlan};

/// Longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// All requests as they are sent.
pub(super) fn questions(plan: &ServerPlan<'_>) -> Vec<Vec<u8>> {
    plan.questions.iter().map(|subscription| request(plan.address, subscription)).collect()
}

/// The request that asks a subscription.
pub fn request(host: SocketAddr, subscription: &Subscription) -> Vec<u8> {
    let body = subscription_text(subscription);
    let length = body.len();
    format!(
        "POST /api/pdp/decide-once HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// One connection.
pub(super) struct HttpConnection<'q> {
    questions: &'q [Vec<u8>],
    out: BytesMut,
    input: BytesMut,
    /// When those under way were due; answers come in the same order.
    due: VecDeque<Instant>,
}

impl<'q> HttpConnection<'q> {
    pub(super) fn new(questions: &'q [Vec<u8>]) -> HttpConnection<'q> {
        HttpConnection { questions, out: BytesMut::new(), input: BytesMut::new(), due: VecDeque::new() }
    }
}

impl ProtocolConnection for HttpConnection<'_> {
    fn ask(&mut self, number: usize, due: Instant) {
        self.out.extend_from_slice(self.questions.get(number).map_or(&[], Vec::as_slice));
        self.due.push_back(due);
    }

    fn in_flight(&self) -> usize {
        self.due.len()
    }

    fn out(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    fn next(&mut self, _: Instant) -> Result<Option<ServerAnswer>, ServerBenchError> {
        let Some(head) = head(&self.input)? else { return Ok(None) };
        if self.input.len() < head.bytes + head.body_bytes {
            return Ok(None);
        }
        self.input.advance(head.bytes);
        let is_right = head.status == 200 && self.input.starts_with(b"{\"decision\":\"");
        self.input.advance(head.body_bytes);
        let unasked = || ServerBenchError::Nonsense("an answer that nobody asked for".to_owned());
        let due = self.due.pop_front().ok_or_else(unasked)?;
        Ok(Some(ServerAnswer { due, kind: 0, is_right }))
    }
}

/// What stands before the body of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerHead {
    /// How long it is.
    pub(crate) bytes: usize,
    pub(crate) status: u16,
    /// How long the body is.
    pub(crate) body_bytes: usize,
}

/// Reads the head of an answer; `None` while it is not all there.
///
/// # Errors
/// What is no answer of HTTP/1.1 with a length.
pub(crate) fn head(input: &[u8]) -> Result<Option<AnswerHead>, ServerBenchError> {
    let wrong = |what: &str| ServerBenchError::Nonsense(what.to_owned());
    let Some(end) = memchr::memmem::find(input, b"\r\n\r\n") else {
        let is_too_long = input.len() > HEAD_BYTES_MAX;
        return if is_too_long { Err(wrong("a head without an end")) } else { Ok(None) };
    };
    let head = input.get(..end).and_then(|head| str::from_utf8(head).ok());
    let head = head.ok_or_else(|| wrong("a head that is no text"))?;
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| wrong("no answer of HTTP/1.1"))?;
    let length = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let body_bytes = length.ok_or_else(|| wrong("an answer without a length"))?;
    Ok(Some(AnswerHead { bytes: end + 4, status, body_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_wherever_they_are_cut() {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"decision\":\"DENY\"}";
        let bad = "HTTP/1.1 503 Later\r\ncontent-length: 2\r\n\r\n{}";
        let stream = format!("{good}{bad}{good}");
        let questions = [b"q".to_vec()];
        for size in 1..=stream.len() {
            let mut http = HttpConnection::new(&questions);
            let now = Instant::now();
            (0..3).for_each(|_| http.ask(0, now));
            assert_eq!(&http.out()[..], b"qqq");
            let mut seen = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                http.input().extend_from_slice(piece);
                while let Some(answer) = http.next(now).unwrap() {
                    seen.push(answer.is_right);
                }
            }
            assert_eq!((seen, http.in_flight()), (vec![true, false, true], 0));
        }
    }

    #[test]
    fn what_is_no_answer_is_said_so() {
        for text in
            ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
        {
            assert!(head(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(head(&vec![b'x'; HEAD_BYTES_MAX + 1]).is_err());
        assert_eq!(head(b"HTTP/1.1 200 OK\r\n").unwrap(), None);
    }
}
