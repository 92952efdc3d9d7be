//! The services on subscriptions (Part 4, 5.14), apart from Publish.

use durward_identity::Moment;
use opcua_types::{
    CreateSubscriptionRequest, CreateSubscriptionResponse, DeleteSubscriptionsRequest,
    DeleteSubscriptionsResponse, ModifySubscriptionRequest, ModifySubscriptionResponse,
    SetPublishingModeRequest, SetPublishingModeResponse, StatusCode, TransferResult,
    TransferSubscriptionsRequest, TransferSubscriptionsResponse,
};

use super::cycle::{PlantSubscription, SubscriptionTerms};
use super::quota::ClientQuota;
use crate::authority::MethodCaller;
use crate::plant::limits;
use crate::plant::server::{PlantServer, good, operations};

impl PlantServer {
    pub(crate) fn create_subscription(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: CreateSubscriptionRequest = self.codec.decode(body)?;
        let quota = self.guard.quota(caller)?;
        if let Some(quota) = &quota {
            self.subscriptions.make_room(caller, quota)?;
        }
        if !self.subscriptions.has_room(caller.session) {
            return Err(StatusCode::BadTooManySubscriptions);
        }
        let terms = SubscriptionTerms::revised(
            request.requested_publishing_interval,
            request.requested_lifetime_count,
            request.requested_max_keep_alive_count,
            request.max_notifications_per_publish,
            request.priority,
        );
        let terms = quota.map_or(terms, |quota| terms.within(quota.lifetime));
        let enabled = request.publishing_enabled;
        let subscription_id =
            self.subscriptions.add(|id| PlantSubscription::new(id, caller, terms, enabled, now));
        self.codec.encode(&CreateSubscriptionResponse {
            response_header: good(request.request_header.request_handle, now),
            subscription_id,
            revised_publishing_interval: terms.interval_ms as f64,
            revised_lifetime_count: terms.lifetime_count,
            revised_max_keep_alive_count: terms.keep_alive_count,
        })
    }

    pub(crate) fn modify_subscription(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: ModifySubscriptionRequest = self.codec.decode(body)?;
        let quota = self.guard.quota(caller)?;
        let terms = SubscriptionTerms::revised(
            request.requested_publishing_interval,
            request.requested_lifetime_count,
            request.requested_max_keep_alive_count,
            request.max_notifications_per_publish,
            request.priority,
        );
        let terms = quota.map_or(terms, |quota| terms.within(quota.lifetime));
        self.subscriptions.of(caller.session, request.subscription_id)?.modify(terms, now);
        self.codec.encode(&ModifySubscriptionResponse {
            response_header: good(request.request_header.request_handle, now),
            revised_publishing_interval: terms.interval_ms as f64,
            revised_lifetime_count: terms.lifetime_count,
            revised_max_keep_alive_count: terms.keep_alive_count,
        })
    }

    pub(crate) fn set_publishing_mode(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: SetPublishingModeRequest = self.codec.decode(body)?;
        let ids = operations(request.subscription_ids, limits::OPERATIONS_MAX)?;
        let results = ids.into_iter().map(|id| match self.subscriptions.of(caller.session, id) {
            Ok(subscription) => {
                subscription.enabled = request.publishing_enabled;
                StatusCode::Good
            }
            Err(status) => status,
        });
        let results = Some(results.collect());
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&SetPublishingModeResponse { response_header, results, diagnostic_infos: None })
    }

    pub(crate) fn delete_subscriptions(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: DeleteSubscriptionsRequest = self.codec.decode(body)?;
        let ids = operations(request.subscription_ids, limits::OPERATIONS_MAX)?;
        let results = ids.into_iter().map(|id| match self.subscriptions.of(caller.session, id).map(|_| ()) {
            Ok(()) => {
                self.subscriptions.remove(id);
                StatusCode::Good
            }
            Err(status) => status,
        });
        let results = Some(results.collect());
        self.refuse_without_subscription(caller.session);
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&DeleteSubscriptionsResponse { response_header, results, diagnostic_infos: None })
    }

    pub(crate) fn transfer_subscriptions(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: TransferSubscriptionsRequest = self.codec.decode(body)?;
        let quota = self.guard.quota(caller)?;
        let ids = operations(request.subscription_ids, limits::OPERATIONS_MAX)?;
        let results = ids.into_iter().map(|id| {
            match self.transfer(caller, id, request.send_initial_values, quota.as_ref()) {
                Ok(available) => TransferResult {
                    status_code: StatusCode::Good,
                    available_sequence_numbers: Some(available),
                },
                Err(status_code) => TransferResult { status_code, available_sequence_numbers: None },
            }
        });
        let results = Some(results.collect());
        self.tell_endings(now);
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&TransferSubscriptionsResponse { response_header, results, diagnostic_infos: None })
    }

    fn transfer(
        &mut self,
        caller: &MethodCaller,
        id: u32,
        send_initial_values: bool,
        quota: Option<&ClientQuota>,
    ) -> Result<Vec<u32>, StatusCode> {
        let room = self.subscriptions.has_room(caller.session);
        let subscription = self.subscriptions.all.get_mut(&id).ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        if !subscription.caller.is_same_client(caller) {
            return Err(StatusCode::BadUserAccessDenied);
        }
        // From another application of the same user, it counts for this one from now on.
        let is_of_another = !subscription.caller.is_same_application(caller);
        let (items, queued) = (subscription.items.len(), subscription.reserved());
        if let Some(quota) = quota.filter(|_| is_of_another) {
            self.subscriptions.make_room(caller, quota)?;
            let room = self.subscriptions.room(caller, quota);
            if items > room.items || queued > room.queued {
                return Err(StatusCode::BadTooManyMonitoredItems);
            }
        }
        let subscription = self.subscriptions.all.get_mut(&id).ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        let earlier = subscription.session.filter(|session| *session != caller.session);
        if subscription.session != Some(caller.session) && !room {
            return Err(StatusCode::BadTooManySubscriptions);
        }
        subscription.session = Some(caller.session);
        subscription.caller = caller.clone();
        subscription.heard();
        if send_initial_values {
            subscription.items.values_mut().for_each(super::item::PlantItem::repeat);
        }
        let available = subscription.available();
        if let Some(session) = earlier {
            self.subscriptions.queue(session).tell(id, StatusCode::GoodSubscriptionTransferred);
        }
        Ok(available)
    }
}
