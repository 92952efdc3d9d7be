//! Monitored items (Part 4, 5.13).
//!
//! The server gets handles of the gate's own instead of the client's, so that each notification is of exactly one item, and so of one node,
//! whatever handles the client chose.

use opcua_types::{ObjectId, StatusCode};

use super::access::ResolvedRights;
use super::event::{put_filter, put_filter_result};
use super::pending::{RequestPlan, ResponseRepair};
use super::put::PutEncoded;
use super::read::read_value_id;
use super::service::ServiceKind;
use super::splice::{EntryFilter, FilteredRequest, ResultShape, SplicedResults, count_within};
use super::subscription::MediatedItem;
use super::subscriptions::mend_statuses;
use super::walk::{DecodeError, ExtensionEncoding, ExtensionObjectView, WalkResult, Walker};
use super::{Mediator, PlannedRequest, UpstreamRequest};
use crate::permission::SessionRights;

/// `MonitoringMode`: disabled, sampling, reporting.
const DISABLED: i32 = 0;
const REPORTING: i32 = 2;

/// How many items a request of the gate's own names at most: servers limit that.
const ITEMS_PER_REQUEST: usize = 1000;

/// Items that are being made.
#[derive(Debug)]
pub(super) struct PendingCreate {
    subscription: u32,
    pub(super) sieve: EntryFilter,
    /// The handles of those that went upstream.
    handles: Vec<u32>,
}

/// Items that are being changed.
#[derive(Debug)]
pub(super) struct PendingModify {
    subscription: u32,
    pub(super) sieve: EntryFilter,
    /// The gate's handles of those that went upstream, and the client's new ones.
    handles: Vec<(u32, u32)>,
}

/// `MonitoringParameters` (Part 4, 7.21).
struct MonitoringParameters<'a> {
    client_handle: u32,
    sampling: &'a [u8],
    filter: ExtensionObjectView<'a>,
    filter_bytes: &'a [u8],
    queue: &'a [u8],
}

impl<'a> MonitoringParameters<'a> {
    fn read(walker: &mut Walker<'a>) -> WalkResult<Self> {
        let client_handle = walker.u32()?;
        let sampling = walker.take(8)?;
        let at = walker.at();
        let filter = walker.extension()?;
        let filter_bytes = walker.since(at);
        let queue = walker.take(4 + 1)?;
        Ok(MonitoringParameters { client_handle, sampling, filter, filter_bytes, queue })
    }

    /// With the gate's handle, and the filter of events completed.
    fn put(&self, handle: u32, is_for_events: bool, out: &mut Vec<u8>) -> Result<(), StatusCode> {
        out.put_u32(handle);
        out.put_bytes(self.sampling);
        if is_for_events {
            put_filter(&self.filter, out)?;
        } else {
            check_value_filter(&self.filter)?;
            out.put_bytes(self.filter_bytes);
        }
        out.put_bytes(self.queue);
        Ok(())
    }
}

/// The filter of an item for values. It is walked by its type, since more stands behind it: so only filters of the standard pass (Part 4, 7.22).
fn check_value_filter(filter: &ExtensionObjectView<'_>) -> Result<(), StatusCode> {
    let walked = if filter.encoding == ExtensionEncoding::None {
        return Ok(());
    } else if filter.is(ObjectId::DataChangeFilter_Encoding_DefaultBinary) {
        // Trigger, deadband.
        filter.by_type(|walker| walker.take(4 + 4 + 8).map(drop))
    } else if filter.is(ObjectId::AggregateFilter_Encoding_DefaultBinary) {
        filter.by_type(|walker| {
            walker.take(8)?;
            walker.skip_node_id()?;
            // Interval, configuration.
            walker.take(8 + 5).map(drop)
        })
    } else if filter.is(ObjectId::EventFilter_Encoding_DefaultBinary) {
        return Err(StatusCode::BadFilterNotAllowed);
    } else {
        return Err(StatusCode::BadMonitoredItemFilterUnsupported);
    };
    walked.map(drop).map_err(|DecodeError| StatusCode::BadMonitoredItemFilterInvalid)
}

/// Adds an entry to a list; what was written of a refused one is taken back.
fn put_entry<T>(
    sieve: &mut EntryFilter,
    out: &mut Vec<u8>,
    entry: impl FnOnce(&mut Vec<u8>) -> Result<T, StatusCode>,
) -> Option<T> {
    let start = out.len();
    let written = entry(out);
    if written.is_err() {
        out.truncate(start);
    }
    let status = written.as_ref().err().copied();
    sieve.note(status.map_or(Ok(()), Err));
    written.ok()
}

impl Mediator {
    pub(super) fn create_items<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let room = self.room();
        let items_left = self.limits.monitored_items.saturating_sub(self.subscriptions.item_count());
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let mut walker = Walker::of_request(body);
        let id = walker.u32()?;
        let subscription = self.subscriptions.own_mut(id)?;
        let timestamps = walker.i32()?;
        let count = count_within(&mut walker, room)?;
        let mut sieve = EntryFilter::default();
        let mut made: Vec<(u32, MediatedItem)> = Vec::new();
        let mut entries = Vec::new();
        for _ in 0..count {
            let at = walker.at();
            let (node, attribute) = read_value_id(&mut walker)?;
            let value_id = walker.since(at);
            let mode = walker.i32()?;
            let parameters = MonitoringParameters::read(&mut walker)?;
            let item = put_entry(&mut sieve, &mut entries, |out| {
                let item =
                    MediatedItem::new(lens.real(&node).clone(), attribute, parameters.client_handle, mode)?;
                lens.rule(item.permission, &node)?;
                check_mode(mode)?;
                if made.len() >= items_left {
                    return Err(StatusCode::BadTooManyMonitoredItems);
                }
                let handle = subscription.reserve_handle();
                out.put_bytes(value_id);
                out.put_i32(mode);
                parameters.put(handle, item.is_for_events(), out)?;
                Ok((handle, item))
            });
            made.extend(item);
        }
        walker.end()?;
        if sieve.refuses_all() {
            return Ok(RequestPlan::Answer(ResultShape::CreateItem.refuse_all(&sieve)));
        }
        let out = list_of(id, timestamps, sieve.forwarded(), &entries);
        let handles = made.iter().map(|(handle, _)| *handle).collect();
        subscription.items.extend(made);
        let pending = PendingCreate { subscription: id, sieve, handles };
        Ok(RequestPlan::Forward(out.into(), ResponseRepair::CreateItems(pending)))
    }

    pub(super) fn mend_create_items(&mut self, pending: &PendingCreate, body: &[u8]) -> WalkResult<Vec<u8>> {
        let mut ids = Vec::new();
        let mut handles = pending.handles.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        let subscription = self.subscriptions.own(pending.subscription).ok();
        pending.sieve.merge(&mut walker, &mut out, ResultShape::CreateItem, |_, walker, out| {
            let handle = *handles.next().ok_or(DecodeError)?;
            let at = walker.at();
            let status = walker.status()?;
            let id = walker.u32()?;
            // Sampling interval, length of the queue.
            walker.take(8 + 4)?;
            out.put_bytes(walker.since(at));
            ids.push((handle, (!status.is_bad()).then_some(id)));
            put_result_of_filter(subscription.and_then(|own| own.item(handle)), walker, out)
        })?;
        walker.end()?;
        if let Ok(subscription) = self.subscriptions.own_mut(pending.subscription) {
            for (handle, id) in ids {
                match id {
                    Some(id) => subscription.made(handle, id),
                    None => subscription.forget(handle),
                }
            }
        }
        Ok(out)
    }

    /// The request failed as a whole.
    pub(super) fn forget_items(&mut self, pending: &PendingCreate) {
        if let Ok(subscription) = self.subscriptions.own_mut(pending.subscription) {
            pending.handles.iter().for_each(|handle| subscription.forget(*handle));
        }
    }

    pub(super) fn modify_items<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let room = self.room();
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let mut walker = Walker::of_request(body);
        let id = walker.u32()?;
        let subscription = self.subscriptions.own_mut(id)?;
        let timestamps = walker.i32()?;
        let count = count_within(&mut walker, room)?;
        let mut sieve = EntryFilter::default();
        let mut handles = Vec::new();
        let mut entries = Vec::new();
        for _ in 0..count {
            let item_id = walker.u32()?;
            let parameters = MonitoringParameters::read(&mut walker)?;
            let modified = put_entry(&mut sieve, &mut entries, |out| {
                let (handle, item) = subscription.by_id(item_id)?;
                lens.rule(item.permission, &item.node)?;
                out.put_u32(item_id);
                parameters.put(handle, item.is_for_events(), out)?;
                Ok((handle, parameters.client_handle))
            });
            handles.extend(modified);
        }
        walker.end()?;
        if sieve.refuses_all() {
            return Ok(RequestPlan::Answer(ResultShape::ModifyItem.refuse_all(&sieve)));
        }
        let out = list_of(id, timestamps, sieve.forwarded(), &entries);
        let pending = PendingModify { subscription: id, sieve, handles };
        Ok(RequestPlan::Forward(out.into(), ResponseRepair::ModifyItems(pending)))
    }

    pub(super) fn mend_modify_items(&mut self, pending: &PendingModify, body: &[u8]) -> WalkResult<Vec<u8>> {
        let mut modified = Vec::new();
        let mut handles = pending.handles.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        let subscription = self.subscriptions.own(pending.subscription).ok();
        pending.sieve.merge(&mut walker, &mut out, ResultShape::ModifyItem, |_, walker, out| {
            let (handle, client_handle) = *handles.next().ok_or(DecodeError)?;
            let at = walker.at();
            if !walker.status()?.is_bad() {
                modified.push((handle, client_handle));
            }
            walker.take(8 + 4)?;
            out.put_bytes(walker.since(at));
            put_result_of_filter(subscription.and_then(|own| own.item(handle)), walker, out)
        })?;
        walker.end()?;
        if let Ok(subscription) = self.subscriptions.own_mut(pending.subscription) {
            for (handle, client_handle) in modified {
                if let Some(item) = subscription.items.get_mut(&handle) {
                    item.client_handle = client_handle;
                }
            }
        }
        Ok(out)
    }

    /// An item is enabled only where its right is granted still.
    pub(super) fn set_monitoring_mode<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let room = self.room();
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let mut walker = Walker::new(body);
        let subscription = self.subscriptions.own_mut(walker.u32()?)?;
        let mode = walker.i32()?;
        check_mode(mode)?;
        let sifted = FilteredRequest::new(body, &mut walker, room, |_, walker| {
            let id = walker.u32()?;
            Ok(subscription.by_id(id).and_then(|(_, item)| {
                if mode != DISABLED {
                    lens.rule(item.permission, &item.node)?;
                }
                // What is sent upstream later, as rights change, goes by this: so it is noted now, in the order of sending.
                item.mode = mode;
                item.is_suspended = false;
                Ok(())
            }))
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::Status, |sieve| SplicedResults::plain(ResultShape::Status, sieve)))
    }

    /// All items of an own subscription are own: the server checks the links.
    pub(super) fn set_triggering<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        self.subscriptions.own(walker.u32()?)?;
        walker.u32()?;
        let mut links = || -> Result<usize, StatusCode> {
            let count = count_within(&mut walker, self.room())?;
            walker.take(count.checked_mul(4).ok_or(DecodeError)?)?;
            Ok(count)
        };
        let (added, removed) = (links()?, links()?);
        walker.end()?;
        Ok(RequestPlan::Forward(body.into(), ResponseRepair::Triggering(added, removed)))
    }

    pub(super) fn delete_items<'a>(&mut self, body: &'a [u8]) -> PlannedRequest<'a> {
        let room = self.room();
        let mut ids = Vec::new();
        let mut walker = Walker::new(body);
        let id = walker.u32()?;
        let subscription = self.subscriptions.own_mut(id)?;
        let sifted = FilteredRequest::new(body, &mut walker, room, |_, walker| {
            let item = walker.u32()?;
            Ok(subscription.by_id(item).map(|_| ids.push(item)))
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::Status, |sieve| ResponseRepair::DeleteItems {
            subscription: id,
            sieve,
            ids,
        }))
    }

    pub(super) fn mend_delete_items(
        &mut self,
        subscription: u32,
        sieve: &EntryFilter,
        ids: &[u32],
        body: &[u8],
    ) -> WalkResult<Vec<u8>> {
        let mut deleted = Vec::new();
        let out = mend_statuses(sieve, ids, body, |id| deleted.push(id))?;
        if let Ok(subscription) = self.subscriptions.own_mut(subscription) {
            deleted.into_iter().for_each(|id| subscription.delete(id));
        }
        Ok(out)
    }

    /// The rights have changed: requests that disable the items whose right ended, and that enable again those whose right is back.
    ///
    /// This spares the server work. It is not what protects: every notification is checked when it is delivered.
    pub fn on_rights_changed(&mut self, rights: &dyn SessionRights) -> Vec<UpstreamRequest> {
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let mut requests = Vec::new();
        for (subscription_id, subscription) in self.subscriptions.iter_mut() {
            let mut by_mode: [(i32, Vec<u32>); 3] = [DISABLED, 1, REPORTING].map(|mode| (mode, Vec::new()));
            for item in subscription.items.values_mut() {
                let Some(id) = item.id else { continue };
                let is_granted = lens.has(item.permission, &item.node);
                if is_granted != item.is_suspended {
                    continue;
                }
                item.is_suspended = !is_granted;
                let mode = if is_granted { item.mode } else { DISABLED };
                by_mode.iter_mut().filter(|(of, _)| *of == mode).for_each(|(_, ids)| ids.push(id));
            }
            for (mode, ids) in by_mode {
                requests
                    .extend(ids.chunks(ITEMS_PER_REQUEST).map(|ids| set_mode(subscription_id, mode, ids)));
            }
        }
        requests
    }
}

fn check_mode(mode: i32) -> Result<(), StatusCode> {
    if (DISABLED..=REPORTING).contains(&mode) { Ok(()) } else { Err(StatusCode::BadMonitoringModeInvalid) }
}

fn put_result_of_filter(
    item: Option<&MediatedItem>,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<()> {
    if item.is_none_or(MediatedItem::is_for_events) {
        return put_filter_result(walker, out);
    }
    let at = walker.at();
    walker.skip_extension()?;
    out.put_bytes(walker.since(at));
    Ok(())
}

fn list_of(subscription: u32, timestamps: i32, count: usize, entries: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() + 12);
    out.put_u32(subscription);
    out.put_i32(timestamps);
    out.put_count(count);
    out.put_bytes(entries);
    out
}

fn set_mode(subscription: u32, mode: i32, items: &[u32]) -> UpstreamRequest {
    let mut body = Vec::new();
    body.put_u32(subscription);
    body.put_i32(mode);
    body.put_count(items.len());
    items.iter().for_each(|item| body.put_u32(*item));
    UpstreamRequest { service: ServiceKind::SetMonitoringMode, body }
}
