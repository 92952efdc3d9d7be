//! Publish and Republish (Part 4, 5.14.5 and 5.14.6), and what is due as time passes.

use std::cmp::Reverse;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{
    NotificationMessage, PublishRequest, PublishResponse, RepublishRequest, RepublishResponse, StatusCode,
    SubscriptionAcknowledgement,
};

use super::cycle::DuePublish;
use super::{LateResponseTicket, ParkedPublish};
use crate::authority::{CallerSessionId, MethodCaller};
use crate::plant::codec::date_time;
use crate::plant::limits;
use crate::plant::server::{LateResponse, PlantServer, good};

impl PlantServer {
    pub(crate) fn publish(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<LateResponseTicket, StatusCode> {
        let request: PublishRequest = self.codec.decode(body)?;
        let session = caller.session;
        let has_ending =
            self.subscriptions.queues.get(&session).is_some_and(|queue| !queue.endings.is_empty());
        if self.subscriptions.count_of(session) == 0 && !has_ending {
            return Err(StatusCode::BadNoSubscription);
        }
        let acknowledged = request.subscription_acknowledgements.unwrap_or_default();
        if acknowledged.len() > limits::OPERATIONS_MAX {
            return Err(StatusCode::BadTooManyOperations);
        }
        let acknowledged: Vec<StatusCode> =
            acknowledged.iter().map(|one| self.acknowledge(session, one)).collect();
        let hint = request.request_header.timeout_hint;
        let parked = ParkedPublish {
            ticket: self.subscriptions.ticket(),
            handle: request.request_header.request_handle,
            acknowledged: (!acknowledged.is_empty()).then_some(acknowledged),
            deadline: (hint != 0).then(|| now.plus(Duration::from_millis(u64::from(hint)))),
        };
        let ticket = parked.ticket;
        let queue = self.subscriptions.queue(session);
        queue.requests.push_back(parked);
        // The client keeps more requests waiting than it needs: the oldest goes back (5.14.5.1).
        let excess = if queue.requests.len() > limits::PUBLISH_REQUESTS_MAX {
            queue.requests.pop_front()
        } else {
            None
        };
        if let Some(oldest) = excess {
            self.outbox.push(LateResponse {
                ticket: oldest.ticket,
                response: Err(StatusCode::BadTooManyPublishRequests),
            });
        }
        for subscription in
            self.subscriptions.all.values_mut().filter(|subscription| subscription.session == Some(session))
        {
            subscription.heard();
        }
        self.tell_endings(now);
        self.serve_late(session, now);
        Ok(ticket)
    }

    fn acknowledge(&mut self, session: CallerSessionId, what: &SubscriptionAcknowledgement) -> StatusCode {
        match self
            .subscriptions
            .of(session, what.subscription_id)
            .map(|found| found.acknowledge(what.sequence_number))
        {
            Ok(true) => StatusCode::Good,
            Ok(false) => StatusCode::BadSequenceNumberUnknown,
            Err(status) => status,
        }
    }

    pub(crate) fn republish(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: RepublishRequest = self.codec.decode(body)?;
        let subscription = self.subscriptions.of(caller.session, request.subscription_id)?;
        let message = subscription
            .kept(request.retransmit_sequence_number)
            .ok_or(StatusCode::BadMessageNotAvailable)?;
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&RepublishResponse { response_header, notification_message: message.clone() })
    }

    /// Samples, and publishes what is due.
    pub(crate) fn publish_due(&mut self, now: Moment) {
        self.time_out_requests(now);
        self.sample(now);
        let mut order: Vec<(Reverse<u8>, u64, u32)> = self
            .subscriptions
            .all
            .values()
            .map(|one| (Reverse(one.terms.priority), one.served, one.id))
            .collect();
        order.sort_unstable();
        for (_, _, id) in order {
            self.cycle(id, now);
        }
        self.tell_endings(now);
    }

    fn cycle(&mut self, id: u32, now: Moment) {
        let Some(subscription) = self.subscriptions.all.get_mut(&id) else { return };
        let session = subscription.session;
        let queue = session.and_then(|session| self.subscriptions.queues.get(&session));
        let request_waits = queue.is_some_and(|queue| !queue.requests.is_empty());
        match subscription.cycle(now, request_waits) {
            DuePublish::No | DuePublish::Quiet => {}
            DuePublish::Message => self.send(id, now),
            DuePublish::Expired => {
                self.subscriptions.remove(id);
                if let Some(session) = session {
                    self.subscriptions.queue(session).tell(id, StatusCode::BadTimeout);
                }
            }
        }
    }

    /// Sends messages as long as there are notifications and requests. What is left makes the subscription late.
    fn send(&mut self, id: u32, now: Moment) {
        loop {
            let Some(subscription) = self.subscriptions.all.get_mut(&id) else { return };
            let queue = subscription.session.and_then(|session| self.subscriptions.queues.get_mut(&session));
            let Some(request) = queue.and_then(|queue| queue.requests.pop_front()) else {
                subscription.late = true;
                return;
            };
            let (message, more) = subscription.message(now);
            subscription.served = self.subscriptions.next_ticket;
            self.subscriptions.next_ticket += 1;
            let available = subscription.available();
            self.respond(request, id, available, more, message, now);
            if !more {
                return;
            }
        }
    }

    /// A request came: the subscriptions that waited for one go first, by priority.
    fn serve_late(&mut self, session: CallerSessionId, now: Moment) {
        let of_session =
            self.subscriptions.all.values().filter(|one| one.session == Some(session) && one.late);
        let mut late: Vec<(Reverse<u8>, u64, u32)> =
            of_session.map(|one| (Reverse(one.terms.priority), one.served, one.id)).collect();
        late.sort_unstable();
        for (_, _, id) in late {
            self.send(id, now);
        }
    }

    fn respond(
        &mut self,
        request: ParkedPublish,
        subscription_id: u32,
        available: Vec<u32>,
        more_notifications: bool,
        notification_message: NotificationMessage,
        now: Moment,
    ) {
        let response = PublishResponse {
            response_header: good(request.handle, now),
            subscription_id,
            available_sequence_numbers: Some(available),
            more_notifications,
            notification_message,
            results: request.acknowledged,
            diagnostic_infos: None,
        };
        let response = self.codec.encode(&response);
        self.outbox.push(LateResponse { ticket: request.ticket, response });
    }

    /// Tells sessions of subscriptions that they have no more, as far as requests are there for it.
    pub(crate) fn tell_endings(&mut self, now: Moment) {
        let sessions: Vec<CallerSessionId> = self
            .subscriptions
            .queues
            .iter()
            .filter(|(_, queue)| !queue.endings.is_empty())
            .map(|(session, _)| *session)
            .collect();
        for session in sessions {
            loop {
                let queue = self.subscriptions.queue(session);
                if queue.requests.is_empty() {
                    break;
                }
                let Some((id, status)) = queue.endings.pop_front() else { break };
                let Some(request) = queue.requests.pop_front() else { break };
                let message = NotificationMessage::status_change(1, date_time(now), status);
                self.respond(request, id, Vec::new(), false, message, now);
            }
            self.refuse_without_subscription(session);
        }
    }

    /// Requests that no subscription can answer any more go back.
    pub(crate) fn refuse_without_subscription(&mut self, session: CallerSessionId) {
        if self.subscriptions.count_of(session) > 0 {
            return;
        }
        let Some(queue) =
            self.subscriptions.queues.get_mut(&session).filter(|queue| queue.endings.is_empty())
        else {
            return;
        };
        for request in queue.requests.drain(..) {
            self.outbox
                .push(LateResponse { ticket: request.ticket, response: Err(StatusCode::BadNoSubscription) });
        }
    }

    /// Requests whose client waits no longer go back (7.33, timeoutHint).
    fn time_out_requests(&mut self, now: Moment) {
        for queue in self.subscriptions.queues.values_mut() {
            let is_over = |request: &ParkedPublish| request.deadline.is_some_and(|deadline| now >= deadline);
            for request in queue.requests.iter().filter(|request| is_over(request)) {
                self.outbox
                    .push(LateResponse { ticket: request.ticket, response: Err(StatusCode::BadTimeout) });
            }
            queue.requests.retain(|request| !is_over(request));
        }
    }

    fn sample(&mut self, now: Moment) {
        // The items are taken out while they are sampled: reading needs the rest of the server.
        let mut all = std::mem::take(&mut self.subscriptions.all);
        for subscription in all.values_mut() {
            let caller = &subscription.caller;
            for item in subscription.items.values_mut().filter(|item| item.is_due(now)) {
                let value = self.read_value(caller, &item.what, item.timestamps(), now);
                item.sample(value, now);
            }
        }
        self.subscriptions.all = all;
    }
}
