//! The services on monitored items (Part 4, 5.13).

use durward_identity::Moment;
use opcua_types::{
    AttributeId, CreateMonitoredItemsRequest, CreateMonitoredItemsResponse, DataChangeFilter,
    DeleteMonitoredItemsRequest, DeleteMonitoredItemsResponse, EventFilter, ExtensionObject,
    ModifyMonitoredItemsRequest, ModifyMonitoredItemsResponse, MonitoredItemCreateRequest,
    MonitoredItemCreateResult, MonitoredItemModifyRequest, MonitoredItemModifyResult, MonitoringParameters,
    NodeId, ParsedDataChangeFilter, Range, ReadValueId, ReferenceTypeId, SetMonitoringModeRequest,
    SetMonitoringModeResponse, StatusCode, TimestampsToReturn, Variant,
};

use super::cycle::interval_ms;
use super::filter::EventSelection;
use super::item::{ItemFilter, ItemTerms, PlantItem};
use super::quota::QuotaLeft;
use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::limits;
use crate::plant::server::{PlantServer, good, operations};
use crate::plant::services::valid_timestamps;

impl PlantServer {
    pub(crate) fn create_items(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: CreateMonitoredItemsRequest = self.codec.decode(body)?;
        let timestamps = valid_timestamps(request.timestamps_to_return)?;
        let subscription = self.subscriptions.of(caller.session, request.subscription_id)?.id;
        let mut room = self.guard.quota(caller)?.map(|quota| self.subscriptions.room(caller, &quota));
        let items = operations(request.items_to_create, limits::OPERATIONS_MAX)?;
        let results = items.into_iter().map(|item| {
            match self.create_item(caller, subscription, item, timestamps, room.as_mut(), now) {
                Ok(result) => result,
                Err(status_code) => {
                    MonitoredItemCreateResult { status_code, ..MonitoredItemCreateResult::default() }
                }
            }
        });
        let results = Some(results.collect());
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&CreateMonitoredItemsResponse { response_header, results, diagnostic_infos: None })
    }

    fn create_item(
        &mut self,
        caller: &MethodCaller,
        subscription: u32,
        request: MonitoredItemCreateRequest,
        timestamps: TimestampsToReturn,
        room: Option<&mut QuotaLeft>,
        now: Moment,
    ) -> Result<MonitoredItemCreateResult, StatusCode> {
        let what = request.item_to_monitor;
        self.check_monitored(caller, &what, timestamps, now)?;
        let interval = self.subscriptions.of(caller.session, subscription)?.terms.interval_ms;
        let (choice, filter_result) =
            self.choose(&what, request.requested_parameters, interval, timestamps)?;
        if self.subscriptions.reserved + choice.queue_size as usize > limits::QUEUED_MAX {
            return Err(StatusCode::BadTooManyMonitoredItems);
        }
        let (sampling, queue_size) = (choice.sampling_ms, choice.queue_size);
        let subscription = self.subscriptions.of(caller.session, subscription)?;
        if subscription.items.len() >= limits::ITEMS_PER_SUBSCRIPTION_MAX {
            return Err(StatusCode::BadTooManyMonitoredItems);
        }
        if let Some(room) = room {
            room.take(queue_size)?;
        }
        let monitored_item_id = subscription.add(PlantItem::new(what, request.monitoring_mode, choice, now));
        self.subscriptions.reserved += queue_size as usize;
        Ok(MonitoredItemCreateResult {
            status_code: StatusCode::Good,
            monitored_item_id,
            revised_sampling_interval: sampling as f64,
            revised_queue_size: queue_size,
            filter_result,
        })
    }

    /// What is monitored must be there, and the caller may read it. That it has no value just now is no reason to refuse.
    fn check_monitored(
        &self,
        caller: &MethodCaller,
        what: &ReadValueId,
        timestamps: TimestampsToReturn,
        now: Moment,
    ) -> Result<(), StatusCode> {
        let node = self.space.node(&what.node_id).ok_or(StatusCode::BadNodeIdUnknown)?;
        if what.attribute_id == AttributeId::EventNotifier as u32 {
            self.allowed(caller, Permission::ReceiveEvents, &what.node_id)?;
            // The attribute must be there, and its bit for subscriptions set.
            node.attribute(AttributeId::EventNotifier)?;
            return if node.notifies() { Ok(()) } else { Err(StatusCode::BadNotSupported) };
        }
        let value = self.read_value(caller, what, timestamps, now);
        match value.status() {
            StatusCode::BadAttributeIdInvalid
            | StatusCode::BadNotReadable
            | StatusCode::BadDataEncodingInvalid
            | StatusCode::BadDataEncodingUnsupported
            | StatusCode::BadUserAccessDenied
            | StatusCode::BadIndexRangeInvalid => Err(value.status()),
            _ => Ok(()),
        }
    }

    /// What was asked for, revised.
    fn choose(
        &self,
        what: &ReadValueId,
        asked: MonitoringParameters,
        publishing_ms: u64,
        timestamps: TimestampsToReturn,
    ) -> Result<(ItemTerms, ExtensionObject), StatusCode> {
        let (filter, result) = self.filter(what, &asked.filter)?;
        // A negative interval means that of the subscription (5.13.1.2). Events are not sampled.
        let sampling_ms = match (&filter, asked.sampling_interval < 0.0) {
            (ItemFilter::Events(_), _) => 0,
            (ItemFilter::Changes(_), true) => publishing_ms,
            (ItemFilter::Changes(_), false) => interval_ms(asked.sampling_interval),
        };
        let smallest = match filter {
            // 0 asks for the default, which is large for events (5.13.1.5).
            ItemFilter::Events(_) if asked.queue_size == 0 => limits::QUEUE_MAX,
            ItemFilter::Events(_) => asked.queue_size.max(limits::EVENT_QUEUE_MIN),
            ItemFilter::Changes(_) => asked.queue_size.max(1),
        };
        let choice = ItemTerms {
            client_handle: asked.client_handle,
            sampling_ms,
            queue_size: smallest.min(limits::QUEUE_MAX),
            discard_oldest: asked.discard_oldest,
            filter,
            timestamps,
        };
        Ok((choice, result))
    }

    fn filter(
        &self,
        what: &ReadValueId,
        filter: &ExtensionObject,
    ) -> Result<(ItemFilter, ExtensionObject), StatusCode> {
        if what.attribute_id == AttributeId::EventNotifier as u32 {
            let filter = filter.inner_as::<EventFilter>().ok_or(StatusCode::BadEventFilterInvalid)?;
            if self.codec.byte_len(filter) > limits::FILTER_BYTES_MAX {
                return Err(StatusCode::BadEventFilterInvalid);
            }
            let (selection, result) = EventSelection::new(filter, &self.space)?;
            let result = if result.select_clause_results.is_some() {
                ExtensionObject::new(result)
            } else {
                ExtensionObject::null()
            };
            return Ok((ItemFilter::Events(selection), result));
        }
        if filter.is_null() {
            return Ok((ItemFilter::every_change(), ExtensionObject::null()));
        }
        let is_value = what.attribute_id == AttributeId::Value as u32;
        if !is_value || filter.inner_is::<EventFilter>() {
            return Err(StatusCode::BadFilterNotAllowed);
        }
        let filter =
            filter.inner_as::<DataChangeFilter>().ok_or(StatusCode::BadMonitoredItemFilterUnsupported)?;
        Ok((ItemFilter::Changes(self.change_filter(&what.node_id, filter)?), ExtensionObject::null()))
    }

    /// A deadband is for numbers only; one in percent needs the range that they can have (Part 8, 6.2).
    fn change_filter(
        &self,
        node: &NodeId,
        filter: &DataChangeFilter,
    ) -> Result<ParsedDataChangeFilter, StatusCode> {
        if filter.deadband_type == 0 {
            return ParsedDataChangeFilter::parse(filter.clone(), None);
        }
        if !filter.deadband_value.is_finite() {
            return Err(StatusCode::BadDeadbandFilterInvalid);
        }
        let is_number = |value: &Variant| {
            let array = value.as_array();
            array.map_or(value.is_numeric(), |values| values.iter().all(Variant::is_numeric))
        };
        if !self.space.stored(node).is_some_and(is_number) {
            return Err(StatusCode::BadFilterNotAllowed);
        }
        ParsedDataChangeFilter::parse(filter.clone(), self.engineering_range(node))
    }

    fn engineering_range(&self, node: &NodeId) -> Option<(f64, f64)> {
        let mut properties = self.space.targets(node, ReferenceTypeId::HasProperty, true);
        let property = properties.find(|property| property.browse_name.name.as_ref() == "EURange")?;
        let Some(Variant::ExtensionObject(object)) = &property.variable()?.value.value else { return None };
        object.inner_as::<Range>().map(|range| (range.low, range.high))
    }

    pub(crate) fn modify_items(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: ModifyMonitoredItemsRequest = self.codec.decode(body)?;
        let timestamps = valid_timestamps(request.timestamps_to_return)?;
        let subscription = self.subscriptions.of(caller.session, request.subscription_id)?.id;
        let items = operations(request.items_to_modify, limits::OPERATIONS_MAX)?;
        let results = items.into_iter().map(|item| {
            match self.modify_item(caller, subscription, item, timestamps, now) {
                Ok(result) => result,
                Err(status_code) => {
                    MonitoredItemModifyResult { status_code, ..MonitoredItemModifyResult::default() }
                }
            }
        });
        let results = Some(results.collect());
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&ModifyMonitoredItemsResponse { response_header, results, diagnostic_infos: None })
    }

    fn modify_item(
        &mut self,
        caller: &MethodCaller,
        subscription: u32,
        request: MonitoredItemModifyRequest,
        timestamps: TimestampsToReturn,
        now: Moment,
    ) -> Result<MonitoredItemModifyResult, StatusCode> {
        let found = self.subscriptions.of(caller.session, subscription)?;
        let item =
            found.items.get(&request.monitored_item_id).ok_or(StatusCode::BadMonitoredItemIdInvalid)?;
        let (what, interval, held) = (item.what.clone(), found.terms.interval_ms, item.queue_size() as usize);
        let (choice, filter_result) =
            self.choose(&what, request.requested_parameters, interval, timestamps)?;
        let reserved = self.subscriptions.reserved.saturating_sub(held) + choice.queue_size as usize;
        let quota = self.guard.quota(caller)?;
        let room = quota.map_or(usize::MAX, |quota| self.subscriptions.room(caller, &quota).queued);
        let wanted = (choice.queue_size as usize).saturating_sub(held);
        if reserved > limits::QUEUED_MAX || wanted > room {
            return Err(StatusCode::BadTooManyMonitoredItems);
        }
        let (sampling, queue_size) = (choice.sampling_ms, choice.queue_size);
        if let Some(item) =
            self.subscriptions.of(caller.session, subscription)?.items.get_mut(&request.monitored_item_id)
        {
            item.modify(choice, now);
        }
        self.subscriptions.reserved = reserved;
        Ok(MonitoredItemModifyResult {
            status_code: StatusCode::Good,
            revised_sampling_interval: sampling as f64,
            revised_queue_size: queue_size,
            filter_result,
        })
    }

    pub(crate) fn set_monitoring_mode(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: SetMonitoringModeRequest = self.codec.decode(body)?;
        let subscription = self.subscriptions.of(caller.session, request.subscription_id)?;
        let ids = operations(request.monitored_item_ids, limits::OPERATIONS_MAX)?;
        let results = ids.into_iter().map(|id| match subscription.items.get_mut(&id) {
            Some(item) => {
                item.set_mode(request.monitoring_mode, now);
                StatusCode::Good
            }
            None => StatusCode::BadMonitoredItemIdInvalid,
        });
        let results = Some(results.collect());
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&SetMonitoringModeResponse { response_header, results, diagnostic_infos: None })
    }

    pub(crate) fn delete_items(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: DeleteMonitoredItemsRequest = self.codec.decode(body)?;
        let subscription = self.subscriptions.of(caller.session, request.subscription_id)?;
        let ids = operations(request.monitored_item_ids, limits::OPERATIONS_MAX)?;
        let mut freed = 0;
        let results = ids.into_iter().map(|id| match subscription.items.remove(&id) {
            Some(item) => {
                freed += item.queue_size() as usize;
                StatusCode::Good
            }
            None => StatusCode::BadMonitoredItemIdInvalid,
        });
        let results = Some(results.collect());
        self.subscriptions.reserved = self.subscriptions.reserved.saturating_sub(freed);
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&DeleteMonitoredItemsResponse { response_header, results, diagnostic_infos: None })
    }
}
