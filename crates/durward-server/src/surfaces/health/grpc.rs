//! `grpc.health.v1`: the same as `/health/ready`, for gateways that ask over gRPC.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use durward_common::base::standing::Standing;
use durward_common::policies::InForce;
use durward_common::surfaces::http::Form;
use durward_common::surfaces::http::events::Body;
use durward_common::surfaces::http::grpc::{Messages, check_form, failure, replies, reply};
use durward_common::surfaces::http::incoming::Incoming;
use durward_session::Service;
use durward_wire::grpc::health::{Serving, read_request, write_response};
use durward_wire::grpc::{Code, put_message, read_one};
use hyper::{Response, StatusCode};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Surface;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrpcAsk {
    Check,
    Watch,
}

/// The services that are known; the first is the server as a whole.
const SERVICES: [&str; 2] = ["", "envoy.service.auth.v3.Authorization"];

/// How often a watch looks whether something has changed.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether the server can decide.
#[derive(Clone)]
pub(super) struct Pulse {
    pub(super) policies: Arc<InForce>,
    pub(super) service: Option<Service>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Pulse {
    pub(super) fn is_serving(&self) -> bool {
        let lacks =
            |service: &Service| service.outlook().lack.is_some() || service.clocks().fault().is_some();
        !*self.stop.borrow() && self.has_policies() && !self.service.as_ref().is_some_and(lacks)
    }

    fn has_policies(&self) -> bool {
        let is_loaded = |standing| matches!(standing, Standing::Loaded | Standing::Stale);
        self.policies.pdp().is_some()
            || (self.policies.is_by_tenant()
                && self.policies.tenants.all().values().any(|tenant| is_loaded(tenant.standing())))
    }

    fn serving(&self) -> Serving {
        if self.is_serving() { Serving::Serving } else { Serving::NotServing }
    }
}

impl Surface {
    /// Answers a call of `grpc.health.v1.Health`.
    pub(crate) async fn grpc(&self, ask: GrpcAsk, request: hyper::Request<Incoming>) -> Response<Body> {
        if let Err(problem) = check_form(&request) {
            return problem.into_answer(Form::Json).map(Body::Whole);
        }
        let bytes = match self.bodies.receive(request.into_body()).await {
            Ok(bytes) => bytes,
            Err(problem) => {
                let code = match problem.status() {
                    StatusCode::PAYLOAD_TOO_LARGE => Code::ResourceExhausted,
                    _ => Code::Unavailable,
                };
                return failure(code, &problem.told());
            }
        };
        let service = match read_one(&bytes, bytes.len()) {
            Ok(message) => read_request(message).map_err(|wrong| (Code::InvalidArgument, wrong.message)),
            Err(wrong) => Err((wrong.code(), wrong.as_str())),
        };
        let is_known = match service {
            Ok(service) => SERVICES.contains(&service),
            Err((code, message)) => return failure(code, message),
        };
        match ask {
            GrpcAsk::Check if is_known => reply(|out| write_response(out, self.pulse().serving())),
            GrpcAsk::Check => failure(Code::NotFound, "there is no such service"),
            GrpcAsk::Watch => replies(Box::new(Watch::new(self.pulse(), is_known))),
        }
    }
}

/// Says how a service stands, and whenever that changes.
struct Watch {
    pulse: Pulse,
    is_known: bool,
    said: Option<Serving>,
    timer: Interval,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Watch {
    fn new(pulse: Pulse, is_known: bool) -> Watch {
        let mut timer = interval(PAUSE);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = pulse.stop.clone();
        let stopped = Box::pin(async move {
            // A server that is gone has stopped.
            let _ = stop.wait_for(|is_stopping| *is_stopping).await;
        });
        Watch { pulse, is_known, said: None, timer, stopped }
    }
}

impl Messages for Watch {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Result<Bytes, Code>> {
        loop {
            if self.stopped.as_mut().poll(task).is_ready() {
                return Poll::Ready(Err(Code::Unavailable));
            }
            // The first tick is at once.
            ready!(self.timer.poll_tick(task));
            let serving = if self.is_known { self.pulse.serving() } else { Serving::ServiceUnknown };
            if self.said.replace(serving) == Some(serving) {
                continue;
            }
            let mut out = BytesMut::with_capacity(8);
            put_message(&mut out, |out| write_response(out, serving));
            return Poll::Ready(Ok(out.freeze()));
        }
    }
}
