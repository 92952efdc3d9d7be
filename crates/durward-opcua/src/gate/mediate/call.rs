//! Call (Part 4, 5.12.2): the right to call is asked for the object and for the method.
//!
//! Which way a method runs (at once, as a program, asynchronously) does not matter here: it is started by Call, or by writing a value, or by
//! adding a node, and each of these is checked. A method may be named by the id that it has in the object's type; the right on that id is
//! asked then, so who grants `Call` on a type's method grants it on all objects that may be called.
//!
//! Methods that take the number of a subscription get only the session's own.

use opcua_types::{Identifier, NodeId, StatusCode};

use super::pending::ResponseRepair;
use super::put::PutEncoded;
use super::splice::{EntryFilter, FilteredRequest, ResultShape};
use super::subscriptions::MediatedSubscriptions;
use super::walk::{DecodeError, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

/// `GetMonitoredItems` of the server object and of its type.
const GET_MONITORED_ITEMS: [u32; 2] = [11492, 11489];

/// Methods whose first argument is a subscription: `GetMonitoredItems`, `ResendData`, `SetSubscriptionDurable`, each of the server object and of
/// its type; `ConditionRefresh` and `ConditionRefresh2`.
const OF_SUBSCRIPTION: [u32; 8] = [11492, 11489, 12873, 12871, 12749, 12746, 3875, 12912];

fn is_one_of(node: &NodeId, ids: &[u32]) -> bool {
    match &node.identifier {
        Identifier::Numeric(number) => node.namespace == 0 && ids.contains(number),
        Identifier::String(_) | Identifier::Guid(_) | Identifier::ByteString(_) => false,
    }
}

/// Built-in type `UInt32`.
const UINT32: u8 = 7;
/// An array of it.
const UINT32_ARRAY: u8 = 0x80 | UINT32;

impl Mediator {
    pub(super) fn call<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        let mut item_lists = Vec::new();
        let mut walker = Walker::of_request(body);
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |entry, walker| {
            let object = walker.node_id()?;
            let method = walker.node_id()?;
            let at = walker.at();
            walker.skip_array(Walker::skip_variant)?;
            let method = lens.real(&method);
            let verdict =
                lens.rule(Permission::Call, &object).and_then(|()| lens.rule(Permission::Call, method));
            if verdict.is_err() || !is_one_of(method, &OF_SUBSCRIPTION) {
                return Ok(verdict);
            }
            let own = own_subscription(&self.subscriptions, walker.since(at));
            Ok(own.map(|subscription| {
                if is_one_of(method, &GET_MONITORED_ITEMS) {
                    item_lists.push((entry, subscription));
                }
            }))
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::Call, |sieve| ResponseRepair::Call { sieve, item_lists }))
    }
}

/// The subscription that the arguments name first.
fn own_subscription(subscriptions: &MediatedSubscriptions, arguments: &[u8]) -> Result<u32, StatusCode> {
    let mut walker = Walker::new(arguments);
    if walker.count()? == 0 {
        return Err(StatusCode::BadArgumentsMissing);
    }
    if walker.u8()? != UINT32 {
        return Err(StatusCode::BadInvalidArgument);
    }
    let subscription = walker.u32()?;
    subscriptions.own(subscription).map(|_| subscription)
}

/// Results of calls; lists of items are told in the client's own handles.
pub(super) fn mend(
    sieve: &EntryFilter,
    item_lists: &[(u32, u32)],
    subscriptions: &MediatedSubscriptions,
    body: &[u8],
) -> WalkResult<Vec<u8>> {
    let mut walker = Walker::new(body);
    let mut out = Vec::with_capacity(body.len());
    let mut item_lists = item_lists.iter().peekable();
    sieve.merge(&mut walker, &mut out, ResultShape::Call, |entry, walker, out| {
        match item_lists.next_if(|(listed, _)| *listed == entry) {
            Some((_, subscription)) => put_item_list(subscriptions, *subscription, walker, out),
            None => {
                let at = walker.at();
                ResultShape::Call.skip(walker)?;
                out.put_bytes(walker.since(at));
                Ok(())
            }
        }
    })?;
    walker.end()?;
    Ok(out)
}

/// Output of `GetMonitoredItems` (Part 5, 9.1): server handles and client handles.
fn put_item_list(
    subscriptions: &MediatedSubscriptions,
    subscription: u32,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<()> {
    let at = walker.at();
    let status = walker.status()?;
    walker.skip_array(|walker| walker.u32().map(drop))?;
    walker.skip_array(Walker::skip_diagnostic_info)?;
    out.put_bytes(walker.since(at));
    let outputs = walker.count()?;
    if outputs != 2 || status.is_bad() {
        (0..outputs).try_for_each(|_| walker.skip_variant())?;
        if !status.is_bad() {
            return Err(DecodeError);
        }
        out.put_null();
        return Ok(());
    }
    let ids = numbers(walker)?;
    let handles = numbers(walker)?;
    let own = subscriptions.own(subscription).ok();
    let known: Vec<(u32, u32)> = ids
        .into_iter()
        .zip(handles)
        .filter_map(|(id, handle)| Some((id, own?.item(handle)?.client_handle)))
        .collect();
    out.put_count(2);
    put_numbers(out, known.iter().map(|(id, _)| *id));
    put_numbers(out, known.iter().map(|(_, handle)| *handle));
    Ok(())
}

fn numbers(walker: &mut Walker<'_>) -> WalkResult<Vec<u32>> {
    match walker.u8()? {
        0 => Ok(Vec::new()),
        UINT32_ARRAY => {
            let count = walker.count()?;
            (0..count).map(|_| walker.u32()).collect()
        }
        _ => Err(DecodeError),
    }
}

fn put_numbers(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u32>) {
    out.put_u8(UINT32_ARRAY);
    out.put_count(numbers.len());
    numbers.for_each(|number| out.put_u32(number));
}
