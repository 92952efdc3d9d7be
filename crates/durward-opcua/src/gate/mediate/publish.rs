//! Publish and Republish (Part 4, 5.14.5 and 5.14.6): every notification is checked at the moment of its delivery.
//!
//! A message of which nothing is left becomes a keep alive. It takes no sequence number of the client's, or the client would miss one. So
//! sequence numbers of both sides differ, and are mapped, as are those available to be asked for again; the gate acknowledges what the client never saw.

use opcua_types::{ObjectId, StatusCode};

use super::access::{Aliases, ResolvedRights};
use super::browse::filter_array;
use super::event::put_fields;
use super::pending::{RequestPlan, ResponseRepair};
use super::put::PutEncoded;
use super::splice::{EntryFilter, count_within};
use super::subscription::{MediatedItem, MediatedSubscription};
use super::subscriptions::MediatedSubscriptions;
use super::walk::{DecodeError, ExtensionObjectView, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::SessionRights;

impl Mediator {
    pub(super) fn publish<'a>(&mut self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        let count = count_within(&mut walker, self.room())?;
        let mut check = walker.clone();
        check.take(count.checked_mul(8).ok_or(DecodeError)?)?;
        check.end()?;
        let mut acknowledged = EntryFilter::default();
        let mut entries = Vec::with_capacity(body.len());
        for _ in 0..count {
            let (id, sequence) = (walker.u32()?, walker.u32()?);
            let own = self.subscriptions.own_mut(id);
            let upstream = own.and_then(|subscription| subscription.acknowledge(sequence));
            if let Ok(upstream) = upstream {
                entries.put_u32(id);
                entries.put_u32(upstream);
            }
            acknowledged.note(upstream.map(drop));
        }
        let mut owed = 0;
        for (id, subscription) in self.subscriptions.iter_mut() {
            for sequence in subscription.take_owed() {
                entries.put_u32(id);
                entries.put_u32(sequence);
                owed += 1;
            }
        }
        let mut out = Vec::with_capacity(entries.len() + 4);
        out.put_count(acknowledged.forwarded() + owed);
        out.put_bytes(&entries);
        Ok(RequestPlan::Forward(out.into(), ResponseRepair::Publish { acknowledged, owed }))
    }

    pub(super) fn republish<'a>(&self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        let (subscription, client_sequence) = (walker.u32()?, walker.u32()?);
        walker.end()?;
        let known = self.subscriptions.own(subscription)?.upstream_sequence(client_sequence);
        let sequence = known.ok_or(StatusCode::BadMessageNotAvailable)?;
        let mut out = Vec::new();
        out.put_u32(subscription);
        out.put_u32(sequence);
        let pending = ResponseRepair::Republish { subscription, sequence, client_sequence };
        Ok(RequestPlan::Forward(out.into(), pending))
    }
}

/// A `NotificationMessage` (Part 4, 7.26), filtered.
struct FilteredNotification<'a> {
    sequence: u32,
    publish_time: &'a [u8],
    was_keep_alive: bool,
    /// The server has deleted the subscription.
    is_last: bool,
    /// How many elements of notification data are left, and their bytes.
    count: usize,
    data: Vec<u8>,
}

impl<'a> FilteredNotification<'a> {
    fn read(source: &NotificationSource<'_>, walker: &mut Walker<'a>) -> WalkResult<Self> {
        let sequence = walker.u32()?;
        let publish_time = walker.take(8)?;
        let count = walker.clone().count()?;
        let mut data = Vec::new();
        let mut is_last = false;
        let kept = filter_array(walker, &mut data, |walker, out| {
            let at = walker.at();
            let notification = walker.extension()?;
            is_last |= tells_of_timeout(&notification);
            source.put_notification(&notification, walker.since(at), out)
        })?;
        Ok(FilteredNotification {
            sequence,
            publish_time,
            was_keep_alive: count == 0,
            is_last,
            count: kept,
            data,
        })
    }

    fn put(&self, sequence: u32, out: &mut Vec<u8>) {
        out.put_u32(sequence);
        out.put_bytes(self.publish_time);
        out.put_bytes(&self.data);
    }
}

/// The life time of the subscription has passed (Part 4, 5.14.1.1): nothing follows. One that went to another session is told so too, but its items
/// are still to be taken from here, whichever of the two is heard of first.
fn tells_of_timeout(notification: &ExtensionObjectView<'_>) -> bool {
    notification.is(ObjectId::StatusChangeNotification_Encoding_DefaultBinary)
        && Walker::new(notification.binary.unwrap_or_default()).status() == Ok(StatusCode::BadTimeout)
}

/// Whose notifications they are.
struct NotificationSource<'a> {
    lens: ResolvedRights<'a>,
    /// `None`: of a subscription that went to another session; only that is told still.
    subscription: Option<&'a MediatedSubscription>,
}

impl NotificationSource<'_> {
    /// Writes what may be delivered of one element of notification data; gives whether anything is left. Unknown kinds are not delivered.
    fn put_notification(
        &self,
        notification: &ExtensionObjectView<'_>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<bool> {
        let body = notification.binary.ok_or(DecodeError)?;
        if notification.is(ObjectId::StatusChangeNotification_Encoding_DefaultBinary) {
            out.put_bytes(bytes);
            return Ok(true);
        }
        let Some(subscription) = self.subscription else { return Ok(false) };
        let mut edited = Vec::with_capacity(body.len());
        let mut walker = Walker::new(body);
        let (encoding, kept) = if notification.is(ObjectId::DataChangeNotification_Encoding_DefaultBinary) {
            let kept = self.put_data_changes(subscription, &mut walker, &mut edited)?;
            (ObjectId::DataChangeNotification_Encoding_DefaultBinary, kept)
        } else if notification.is(ObjectId::EventNotificationList_Encoding_DefaultBinary) {
            let kept = self.put_events(subscription, &mut walker, &mut edited)?;
            (ObjectId::EventNotificationList_Encoding_DefaultBinary, kept)
        } else {
            return Ok(false);
        };
        walker.end()?;
        if kept > 0 {
            out.put_extension(encoding, &edited);
        }
        Ok(kept > 0)
    }

    /// The item of a notification, where it may be delivered now.
    fn granted<'s>(
        &self,
        subscription: &'s MediatedSubscription,
        handle: u32,
        is_event: bool,
    ) -> Option<&'s MediatedItem> {
        let item = subscription.item(handle)?;
        (item.is_for_events() == is_event && self.lens.has(item.permission, &item.node)).then_some(item)
    }

    fn put_data_changes(
        &self,
        subscription: &MediatedSubscription,
        walker: &mut Walker<'_>,
        out: &mut Vec<u8>,
    ) -> WalkResult<usize> {
        let mut stayed = Vec::new();
        let kept = filter_array(walker, out, |walker, out| {
            let handle = walker.u32()?;
            let at = walker.at();
            walker.skip_data_value()?;
            let item = self.granted(subscription, handle, false);
            stayed.push(item.is_some());
            let Some(item) = item else { return Ok(false) };
            out.put_u32(item.client_handle);
            match self.lens.effective(item.attribute, &item.node) {
                Some(effective) => effective.edit(walker.since(at), out),
                None => out.put_bytes(walker.since(at)),
            }
            Ok(true)
        })?;
        let diagnostics = walker.clone().count()?;
        if diagnostics != 0 && diagnostics != stayed.len() {
            return Err(DecodeError);
        }
        let mut stayed = stayed.into_iter();
        filter_array(walker, out, |walker, out| {
            let at = walker.at();
            walker.skip_diagnostic_info()?;
            let stays = stayed.next().unwrap_or(false);
            if stays {
                out.put_bytes(walker.since(at));
            }
            Ok(stays)
        })?;
        Ok(kept)
    }

    fn put_events(
        &self,
        subscription: &MediatedSubscription,
        walker: &mut Walker<'_>,
        out: &mut Vec<u8>,
    ) -> WalkResult<usize> {
        filter_array(walker, out, |walker, out| {
            let handle = walker.u32()?;
            let start = out.len();
            let item = self.granted(subscription, handle, true);
            out.put_u32(item.map_or(0, |item| item.client_handle));
            let stays = put_fields(self.lens, walker, out)? && item.is_some();
            if !stays {
                out.truncate(start);
            }
            Ok(stays)
        })
    }
}

/// The response to Publish: subscription, available sequence numbers, whether more is ready, the message, results of acknowledgements.
pub(super) fn mend_publish(
    rights: &dyn SessionRights,
    aliases: &Aliases,
    subscriptions: &mut MediatedSubscriptions,
    (acknowledged, owed): (&EntryFilter, usize),
    body: &[u8],
) -> WalkResult<Vec<u8>> {
    let lens = ResolvedRights { rights, aliases };
    let mut walker = Walker::new(body);
    let id = walker.u32()?;
    let count = walker.count()?;
    let available = (0..count).map(|_| walker.u32()).collect::<WalkResult<Vec<_>>>()?;
    let more = walker.u8()?;
    if subscriptions.own(id).is_err() && !subscriptions.was_released(id) {
        return Err(DecodeError);
    }
    let source = NotificationSource { lens, subscription: subscriptions.own(id).ok() };
    let message = FilteredNotification::read(&source, &mut walker)?;
    let mut results = Vec::new();
    put_acknowledged(acknowledged, owed, &mut walker, &mut results)?;
    walker.end()?;
    let mut out = Vec::with_capacity(body.len());
    out.put_u32(id);
    match subscriptions.own_mut(id) {
        Ok(subscription) => {
            let sequence = number(subscription, &message);
            let sequences = subscription.client_sequences(&available);
            out.put_count(sequences.len());
            sequences.into_iter().for_each(|sequence| out.put_u32(sequence));
            out.put_u8(more);
            message.put(sequence, &mut out);
        }
        Err(_) if message.count == 0 => return Err(DecodeError),
        Err(_) => {
            out.put_null();
            out.put_u8(more);
            message.put(message.sequence, &mut out);
        }
    }
    out.put_bytes(&results);
    if message.is_last {
        subscriptions.remove(id);
    }
    Ok(out)
}

/// The client's sequence number of a message.
fn number(subscription: &mut MediatedSubscription, message: &FilteredNotification<'_>) -> u32 {
    if message.count > 0 {
        return subscription.send(message.sequence);
    }
    if !message.was_keep_alive {
        subscription.owe(message.sequence);
    }
    subscription.sequence_next()
}

/// Results of the client's acknowledgements; those of the gate's own, which come last, are left out.
///
/// Servers exist that give no results here. What they do with acknowledgements concerns nobody's rights, so they are taken to have succeeded.
fn put_acknowledged(
    sieve: &EntryFilter,
    owed: usize,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<()> {
    let expected = sieve.forwarded() + owed;
    let results = walker.count()?;
    if results != expected && results != 0 {
        return Err(DecodeError);
    }
    out.put_count(sieve.count);
    sieve.each(|_, refused| {
        let status = match refused {
            Some(status) => status,
            None if results == 0 => StatusCode::Good,
            None => walker.status()?,
        };
        out.put_status(status);
        Ok(())
    })?;
    walker.take(results.saturating_sub(sieve.forwarded()).checked_mul(4).ok_or(DecodeError)?)?;
    put_acknowledged_diagnostics(sieve, expected, walker, out)
}

fn put_acknowledged_diagnostics(
    sieve: &EntryFilter,
    expected: usize,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<()> {
    let diagnostics = walker.count()?;
    if diagnostics == 0 {
        out.put_null();
        return Ok(());
    }
    if diagnostics != expected {
        return Err(DecodeError);
    }
    out.put_count(sieve.count);
    sieve.each(|_, refused| {
        let at = walker.at();
        if refused.is_some() {
            out.put_u8(0);
        } else {
            walker.skip_diagnostic_info()?;
            out.put_bytes(walker.since(at));
        }
        Ok(())
    })?;
    (sieve.forwarded()..expected).try_for_each(|_| walker.skip_diagnostic_info())
}

/// A message asked for again, filtered by the rights of now. `None` where nothing is left of it.
pub(super) fn mend_republish(
    rights: &dyn SessionRights,
    aliases: &Aliases,
    subscription: &MediatedSubscription,
    (sequence, client_sequence): (u32, u32),
    body: &[u8],
) -> WalkResult<Option<Vec<u8>>> {
    let source =
        NotificationSource { lens: ResolvedRights { rights, aliases }, subscription: Some(subscription) };
    let mut walker = Walker::new(body);
    let message = FilteredNotification::read(&source, &mut walker)?;
    walker.end()?;
    if message.sequence != sequence {
        return Err(DecodeError);
    }
    if message.count == 0 {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(body.len());
    message.put(client_sequence, &mut out);
    Ok(Some(out))
}
