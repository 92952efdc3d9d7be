//! A server between sessions that ask and a clock that ticks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;
use tokio::sync::oneshot;

use super::server::{LateResponse, PlantServer, ServerReply};
use super::subscription::LateResponseTicket;
use crate::authority::{CallerSessionId, MethodCaller};

/// How often time passes for the server.
const TICK: Duration = Duration::from_millis(10);

type HostResponse = Result<Vec<u8>, StatusCode>;
type Clock = Box<dyn Fn() -> Moment + Send + Sync>;

/// Answers requests of many sessions at the same time. Services that change nothing share the server.
pub struct PlantHost {
    server: RwLock<PlantServer>,
    /// Requests that wait for their response, by ticket. Whose future is dropped finds nobody at the other end.
    waiting: Mutex<HashMap<LateResponseTicket, oneshot::Sender<HostResponse>>>,
    clock: Clock,
}

impl PlantHost {
    /// A host of this server, with this clock.
    pub fn new(server: PlantServer, clock: impl Fn() -> Moment + Send + Sync + 'static) -> Arc<PlantHost> {
        Arc::new(PlantHost {
            server: RwLock::new(server),
            waiting: Mutex::new(HashMap::new()),
            clock: Box::new(clock),
        })
    }

    /// What the clock shows.
    pub fn now(&self) -> Moment {
        (self.clock)()
    }

    /// Looks at the server.
    pub fn with<T>(&self, look: impl FnOnce(&PlantServer) -> T) -> T {
        look(&self.server.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the server: sets values, raises events.
    pub fn with_mut<T>(&self, change: impl FnOnce(&mut PlantServer) -> T) -> T {
        change(&mut self.server.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers a request; see [`PlantServer::answer`]. A publish request waits as long as it takes.
    ///
    /// # Errors
    /// The service's status code.
    pub async fn answer(&self, caller: &MethodCaller, type_id: u32, body: &[u8]) -> HostResponse {
        let now = self.now();
        if let Some(response) = self.with(|server| server.look(caller, type_id, body, now)) {
            return response;
        }
        match self.start(caller, type_id, body, now)? {
            RequestStart::Now(response) => Ok(response),
            RequestStart::Calls(calls) => calls.finish().await,
            // The sender is dropped where the session is closed.
            RequestStart::Later(response) => response.await.unwrap_or(Err(StatusCode::BadSessionClosed)),
        }
    }

    fn start(
        &self,
        caller: &MethodCaller,
        type_id: u32,
        body: &[u8],
        now: Moment,
    ) -> Result<RequestStart, StatusCode> {
        let mut server = self.server.write().unwrap_or_else(PoisonError::into_inner);
        let answer = server.answer(caller, type_id, body, now);
        let started = match answer {
            Ok(ServerReply::Now(response)) => Ok(RequestStart::Now(response)),
            Ok(ServerReply::Calls(calls)) => Ok(RequestStart::Calls(calls)),
            Ok(ServerReply::Later(ticket)) => {
                let (sender, receiver) = oneshot::channel();
                // Under the server's lock: no tick can deliver before the ticket is known.
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, sender);
                Ok(RequestStart::Later(receiver))
            }
            Err(status) => Err(status),
        };
        self.hand_over(server.take_deliveries());
        started
    }

    fn hand_over(&self, deliveries: Vec<LateResponse>) {
        if deliveries.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for LateResponse { ticket, response } in deliveries {
            if let Some(sender) = waiting.remove(&ticket) {
                // Nobody is there where the request was cancelled; the message can still be asked for by Republish.
                let _ = sender.send(response);
            }
        }
    }

    /// Lets time pass once.
    pub fn tick(&self) {
        let now = self.now();
        let mut server = self.server.write().unwrap_or_else(PoisonError::into_inner);
        // Whoever gave up gets no message that somebody else could have.
        server.withdraw(&self.given_up());
        server.tick(now);
        self.hand_over(server.take_deliveries());
    }

    /// The requests for whose response nobody waits any more.
    fn given_up(&self) -> Vec<LateResponseTicket> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let given_up: Vec<LateResponseTicket> =
            waiting.iter().filter(|(_, sender)| sender.is_closed()).map(|(ticket, _)| *ticket).collect();
        for ticket in &given_up {
            waiting.remove(ticket);
        }
        given_up
    }

    #[cfg(test)]
    pub(super) fn waiting_count(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Lets time pass for ever.
    pub async fn run(&self) {
        let mut interval = tokio::time::interval(TICK);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            self.tick();
        }
    }

    /// A session is over; see [`PlantServer::close_session`]. Its requests that wait end with `BadSessionClosed`.
    pub fn close_session(&self, session: CallerSessionId, delete_subscriptions: bool) {
        let tickets = self.with_mut(|server| server.close_session(session, delete_subscriptions));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for ticket in tickets {
            waiting.remove(&ticket);
        }
    }

    /// The session has another user; see [`PlantServer::change_user`].
    pub fn change_user(&self, caller: &MethodCaller) {
        self.with_mut(|server| server.change_user(caller));
    }
}

/// What became of a request at once.
enum RequestStart {
    Now(Vec<u8>),
    Calls(super::server::PendingCalls),
    Later(oneshot::Receiver<HostResponse>),
}
