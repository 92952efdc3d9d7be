//! Which trace each request belongs to: that of its caller, if they name one as W3C Trace Context has it, else a new one.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use durward_net::trace::{TRACEPARENT, TRACESTATE, Trace};
use durward_session::Lanes;
use durward_wire::trace::{SpanId, TraceId, TraceParent, state};
use hyper::header::HeaderMap;

/// Gives requests traces, and numbers of spans.
#[derive(Debug)]
pub struct Traces {
    /// How many numbers were given, in lanes: one number would be every core's.
    given: Lanes<AtomicU64>,
    /// Numbers are keyed digests of those: nobody can guess the next, and those of two processes do not meet.
    hashers: [RandomState; 3],
    /// Whether new traces are recorded here.
    samples: bool,
}

impl Traces {
    /// Those of a run. `samples` says whether traces that begin here are recorded.
    pub fn new(samples: bool) -> Traces {
        Traces {
            given: Lanes::default(),
            hashers: [RandomState::new(), RandomState::new(), RandomState::new()],
            samples,
        }
    }

    /// The trace of a request with these fields, with a span for it.
    pub fn of(&self, headers: &HeaderMap) -> Trace {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let parent = match (parents.next(), parents.next()) {
            (Some(only), None) => TraceParent::read(only.as_bytes()),
            // Which of two counts must not depend on who looks.
            (None, _) | (Some(_), Some(_)) => None,
        };
        let Some(parent) = parent else { return self.begin() };
        let own = TraceParent { span: self.span(), ..parent };
        let states = headers.get_all(TRACESTATE).iter().map(|field| field.as_bytes());
        Trace { own, caller: Some(parent.span), state: state(states).map(Arc::from) }
    }

    /// A trace that begins here.
    pub fn begin(&self) -> Trace {
        let number = self.next();
        let [high, low, _] = &self.hashers;
        let halves = [high.hash_one(number), low.hash_one(number)];
        let mut bytes = [0; 16];
        for (part, half) in bytes.chunks_exact_mut(8).zip(halves) {
            part.copy_from_slice(&half.to_be_bytes());
        }
        let own = match TraceId::new(bytes) {
            Some(trace) => TraceParent::new(trace, self.span(), self.samples),
            // Once in 2^128.
            None => return self.begin(),
        };
        Trace { own, caller: None, state: None }
    }

    /// The number of a span that no span had before.
    pub fn span(&self) -> SpanId {
        loop {
            let [.., hasher] = &self.hashers;
            if let Some(span) = SpanId::new(hasher.hash_one(self.next()).to_be_bytes()) {
                return span;
            }
        }
    }

    /// A number that no call before was given: each lane has those that leave its own number when divided by their count.
    fn next(&self) -> u64 {
        let (number, lane) = self.given.mine();
        let before = lane.fetch_add(1, Ordering::Relaxed);
        before.wrapping_mul(Lanes::<AtomicU64>::COUNT as u64).wrapping_add(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(fields: &[(&'static str, &'static str)]) -> Trace {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Traces::new(false).of(&headers)
    }

    #[test]
    fn a_request_goes_on_with_the_trace_of_its_caller_or_begins_one() {
        let trace = of(&[("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2")]);
        assert_eq!(trace.own.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.caller.unwrap().to_string(), "00f067aa0ba902b7");
        assert_ne!(Some(trace.own.span), trace.caller, "a span of its own");
        assert!(trace.own.is_sampled());
        assert_eq!(trace.state.as_deref(), Some("a=1,b=2"));
        // What vendors say is passed on only with the trace that they say it of.
        let new: [&[(&'static str, &'static str)]; 4] = [
            &[],
            &[("tracestate", "a=1")],
            &[("traceparent", "00-garbage"), ("tracestate", "a=1")],
            &[("traceparent", PARENT), ("traceparent", PARENT), ("tracestate", "a=1")],
        ];
        for fields in new {
            let trace = of(fields);
            assert_ne!(trace.own.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
            assert_eq!((trace.caller, trace.state.clone(), trace.own.is_sampled()), (None, None, false));
        }
        let unreadable = of(&[("traceparent", PARENT), ("tracestate", "a")]);
        assert_eq!((unreadable.state.clone(), unreadable.caller.is_some()), (None, true));
    }

    #[test]
    fn no_number_is_given_twice() {
        let traces = Traces::new(true);
        let all: Vec<Trace> = (0..10_000).map(|_| traces.begin()).collect();
        assert_eq!(all.iter().map(|trace| trace.own.trace).collect::<HashSet<_>>().len(), all.len());
        assert_eq!(all.iter().map(|trace| trace.own.span).collect::<HashSet<_>>().len(), all.len());
        assert!(all.iter().all(|trace| trace.own.is_sampled()));
    }
}
