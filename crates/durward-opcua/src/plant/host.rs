//! A server between sessions that ask and a clock that ticks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;
use tokio::sync::oneshot;

use super::server::{Answer, Delivery, Server};
use super::subscription::Ticket;
use crate::authority::{Caller, SessionId};

/// How often time passes for the server.
const TICK: Duration = Duration::from_millis(10);

type Response = Result<Vec<u8>, StatusCode>;
type Clock = Box<dyn Fn() -> Moment + Send + Sync>;

/// Answers requests of many sessions at the same time. Services that change nothing share the server.
pub struct Host {
    server: RwLock<Server>,
    /// Requests that wait for their response, by ticket. Whose future is dropped finds nobody at the other end.
    waiting: Mutex<HashMap<Ticket, oneshot::Sender<Response>>>,
    clock: Clock,
}

impl Host {
    /// A host of this server, with this clock.
    pub fn new(server: Server, clock: impl Fn() -> Moment + Send + Sync + 'static) -> Arc<Host> {
        Arc::new(Host {
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
    pub fn with<T>(&self, look: impl FnOnce(&Server) -> T) -> T {
        look(&self.server.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the server: sets values, raises events.
    pub fn with_mut<T>(&self, change: impl FnOnce(&mut Server) -> T) -> T {
        change(&mut self.server.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers a request; see [`Server::answer`]. A publish request waits as long as it takes.
    ///
    /// # Errors
    /// The service's status code.
    pub async fn answer(&self, caller: &Caller, type_id: u32, body: &[u8]) -> Response {
        let now = self.now();
        if let Some(response) = self.with(|server| server.look(caller, type_id, body, now)) {
            return response;
        }
        match self.start(caller, type_id, body, now)? {
            Started::Now(response) => Ok(response),
            Started::Calls(calls) => calls.finish().await,
            // The sender is dropped where the session is closed.
            Started::Later(response) => response.await.unwrap_or(Err(StatusCode::BadSessionClosed)),
        }
    }

    fn start(&self, caller: &Caller, type_id: u32, body: &[u8], now: Moment) -> Result<Started, StatusCode> {
        let mut server = self.server.write().unwrap_or_else(PoisonError::into_inner);
        let answer = server.answer(caller, type_id, body, now);
        let started = match answer {
            Ok(Answer::Now(response)) => Ok(Started::Now(response)),
            Ok(Answer::Calls(calls)) => Ok(Started::Calls(calls)),
            Ok(Answer::Later(ticket)) => {
                let (sender, receiver) = oneshot::channel();
                // Under the server's lock: no tick can deliver before the ticket is known.
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, sender);
                Ok(Started::Later(receiver))
            }
            Err(status) => Err(status),
        };
        self.hand_over(server.take_deliveries());
        started
    }

    fn hand_over(&self, deliveries: Vec<Delivery>) {
        if deliveries.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for Delivery { ticket, response } in deliveries {
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
    fn given_up(&self) -> Vec<Ticket> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let given_up: Vec<Ticket> =
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

    /// A session is over; see [`Server::close_session`]. Its requests that wait end with `BadSessionClosed`.
    pub fn close_session(&self, session: SessionId, delete_subscriptions: bool) {
        let tickets = self.with_mut(|server| server.close_session(session, delete_subscriptions));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for ticket in tickets {
            waiting.remove(&ticket);
        }
    }

    /// The session has another user; see [`Server::change_user`].
    pub fn change_user(&self, caller: &Caller) {
        self.with_mut(|server| server.change_user(caller));
    }
}

/// What became of a request at once.
enum Started {
    Now(Vec<u8>),
    Calls(super::server::PendingCalls),
    Later(oneshot::Receiver<Response>),
}
