//! RSocket, with the requester of durward's client.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use durward_wire::rsocket::Credentials;
use durward_wire::rsocket::requester::{Event, Limits, Requester};
use durward_wire::sapl::protobuf;

use super::load::{ProtocolConnection, ServerAnswer};
use super::{ServerBenchError, ServerPlan};

const LIMITS: Limits = Limits {
    payload_bytes_max: 0xFF_FFFF,
    keep_alive: Duration::from_secs(20),
    lifetime: Duration::from_secs(90),
};

/// Most values in one answer.
const VALUES_MAX: usize = 100_000;

/// All questions as they are sent.
pub(super) fn questions(plan: &ServerPlan<'_>) -> Result<Vec<BytesMut>, ServerBenchError> {
    let question = |subscription| {
        let mut question = BytesMut::new();
        protobuf::write_subscription(&mut question, subscription).map_err(|_| ServerBenchError::Question)?;
        Ok(question)
    };
    plan.questions.iter().map(question).collect()
}

/// One connection.
pub(super) struct RsocketBenchConnection<'q> {
    questions: &'q [BytesMut],
    requester: Requester,
    /// When those under way were due, by their streams. Most are answered in their order.
    due: VecDeque<(u32, Instant)>,
}

impl<'q> RsocketBenchConnection<'q> {
    pub(super) fn new(questions: &'q [BytesMut]) -> RsocketBenchConnection<'q> {
        let requester = Requester::new(LIMITS, &Credentials::None, Instant::now());
        RsocketBenchConnection { questions, requester, due: VecDeque::new() }
    }
}

impl ProtocolConnection for RsocketBenchConnection<'_> {
    fn ask(&mut self, number: usize, due: Instant) {
        let question = self.questions.get(number).map_or(&[][..], |question| question);
        // A connection that is over says so when it is listened to.
        if let Ok(stream) = self.requester.ask(b"decide-once", question) {
            self.due.push_back((stream, due));
        }
    }

    fn in_flight(&self) -> usize {
        self.due.len()
    }

    fn out(&mut self) -> &mut BytesMut {
        self.requester.tick(Instant::now());
        self.requester.out()
    }

    fn input(&mut self) -> &mut BytesMut {
        self.requester.input()
    }

    fn next(&mut self, now: Instant) -> Result<Option<ServerAnswer>, ServerBenchError> {
        while let Some(event) = self.requester.next_event(now) {
            let (stream, is_right) = match event {
                Event::Answer { stream, data, .. } => {
                    (stream, protobuf::read_decision(&data, VALUES_MAX).is_ok())
                }
                Event::Completed { stream } | Event::Failed { stream, .. } => (stream, false),
            };
            let at = self.due.iter().position(|(asked, _)| *asked == stream);
            if let Some((_, due)) = at.and_then(|at| self.due.remove(at)) {
                return Ok(Some(ServerAnswer { due, kind: 0, is_right }));
            }
        }
        match self.requester.closed() {
            Some(closed) => Err(ServerBenchError::Nonsense(format!("{closed:?}"))),
            None => Ok(None),
        }
    }
}
