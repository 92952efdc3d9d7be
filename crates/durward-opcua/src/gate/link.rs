//! A client's session and its upstream session, with the mediator between them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use opcua_types::StatusCode;
use tokio::runtime::Handle;

use super::audit::{GateAuditKind, GateCounters};
use super::core::{GateCore, GateSessionCell};
use super::exchange::{EarlyResponse, put_type};
use super::head::NO_HEADER;
use super::mediate::service::ServiceKind;
use super::mediate::{Mediator, UpstreamRequest};
use super::names::NamespaceNames;
use super::owners::SubscriptionTransfer;
use super::upstream::UpstreamSession;
use crate::protocol::GateSessionId;
use crate::wire;

/// Handles of requests begin here: apart from those of the client's end, which counts from 1.
const FIRST_REQUEST: u32 = 0x4000_0000;

/// A client's session and its upstream session.
pub(super) struct SessionLink {
    pub(super) core: Weak<GateCore>,
    cell: Weak<GateSessionCell>,
    pub(super) id: GateSessionId,
    pub(super) session: UpstreamSession,
    names: ArcSwap<NamespaceNames>,
    /// Held from the mediator's word on a request until it is sent: they go upstream in the order in which they were mediated.
    sending: Mutex<()>,
    mediator: Mutex<Mediator>,
    pub(super) next_request: AtomicU32,
    has_subscriptions: AtomicBool,
    /// Messages of subscriptions that are being made or taken over: the server may send one before the response that tells of the subscription.
    early: Mutex<Vec<EarlyResponse>>,
    is_closed: AtomicBool,
    pub(super) is_rejoining: AtomicBool,
}

impl SessionLink {
    pub(super) fn new(
        core: &Arc<GateCore>,
        id: GateSessionId,
        cell: &Arc<GateSessionCell>,
        session: UpstreamSession,
        names: Arc<NamespaceNames>,
    ) -> Arc<SessionLink> {
        let owners =
            Arc::new(SubscriptionTransfer { core: Arc::downgrade(core), id, cell: Arc::downgrade(cell) });
        Arc::new(SessionLink {
            core: Arc::downgrade(core),
            cell: Arc::downgrade(cell),
            id,
            session,
            names: ArcSwap::new(names),
            sending: Mutex::default(),
            mediator: Mutex::new(Mediator::new(core.settings.mediation, owners)),
            next_request: AtomicU32::new(FIRST_REQUEST),
            has_subscriptions: AtomicBool::new(false),
            early: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_rejoining: AtomicBool::new(false),
        })
    }

    /// What the indexes of namespaces mean in this session.
    pub(super) fn names(&self) -> Arc<NamespaceNames> {
        self.names.load_full()
    }

    /// The server has added namespaces.
    pub(super) fn follow_names(&self, names: Arc<NamespaceNames>) {
        self.names.store(Arc::clone(&names));
        // Another user who comes in at this moment finds either; with the fewer names, the nodes of the new ones are unknown.
        if let Some(user) = self.cell.upgrade().and_then(|cell| cell.user()) {
            user.follow_names(&names);
        }
    }

    pub(super) fn mediator(&self) -> MutexGuard<'_, Mediator> {
        self.mediator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sending(&self) -> MutexGuard<'_, ()> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session may receive has changed: the server does not sample any more what is not delivered, and says anew what is again. Without,
    /// a value that changed in between would not be seen until it changes again.
    pub(super) fn rights_changed(&self, core: &GateCore) {
        let Some(user) = self.cell.upgrade().and_then(|cell| cell.user()) else { return };
        if self.is_closed() {
            return;
        }
        core.with_rights(&user, true, |rights| {
            let _sending = self.sending();
            let requests = self.mediator().on_rights_changed(rights);
            for UpstreamRequest { service, body } in requests {
                let request = self.own_request(core, service, &body);
                // How it ends changes nothing of what is delivered.
                drop(self.session.channel().start(request, |_| {}));
            }
        });
    }

    /// A request of the gate's own, with a body of the mediator's.
    fn own_request(&self, core: &GateCore, service: ServiceKind, body: &[u8]) -> Bytes {
        let token = self.session.token();
        let mut request = BytesMut::with_capacity(token.len() + body.len() + 64);
        put_type(&mut request, service.request_id());
        request.extend_from_slice(token);
        request.extend_from_slice(&wire::datetime(core.watch.now()).checked_ticks().to_le_bytes());
        request.extend_from_slice(&self.next_request.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        // No diagnostics, no audit entry, no timeout.
        request.extend_from_slice(&0_u32.to_le_bytes());
        request.extend_from_slice(&(-1_i32).to_le_bytes());
        request.extend_from_slice(&0_u32.to_le_bytes());
        request.extend_from_slice(&NO_HEADER);
        request.extend_from_slice(body);
        request.freeze()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes the upstream session, once.
    pub(super) fn close(self: &Arc<SessionLink>, delete_subscriptions: bool) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let link = Arc::clone(self);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { link.session.close(delete_subscriptions).await });
        }
    }

    /// The server does not have the session any more: the client's ends as well, so that it learns of its subscriptions.
    pub(super) fn lost(&self, why: StatusCode) {
        self.end(&format!("the server behind the gate has lost the session ({why}): connect again"));
    }

    /// Ends the client's session, which cannot go on as it was.
    pub(super) fn end(&self, reason: &str) {
        let (Some(core), Some(cell)) = (self.core.upgrade(), self.cell.upgrade()) else { return };
        if self.is_closed() || cell.flags.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        GateCounters::count(&core.figures.upstream_lost);
        core.tell(core.watch.now(), Some(&cell), GateAuditKind::Ended { reason });
        cell.close();
    }

    fn early(&self) -> MutexGuard<'_, Vec<EarlyResponse>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a message that came too early; gives back one that did not.
    pub(super) fn keep_early(&self, early: EarlyResponse) -> Option<EarlyResponse> {
        let mediator = self.mediator();
        let is_new = |id| !mediator.has_subscription(id);
        if !mediator.awaits_subscription() || !early.subscription().is_some_and(is_new) {
            return Some(early);
        }
        // INVARIANT: no more than there are Publish requests under way, which the mediator bounds. Locked in the mediator's lock: whoever sees that
        // nothing is awaited any more takes this as well.
        self.early().push(early);
        None
    }

    /// A subscription has come, or will not.
    pub(super) fn take_early(&self) -> Vec<EarlyResponse> {
        std::mem::take(&mut *self.early())
    }

    /// Tells the machine whether there are subscriptions, when that has changed.
    pub(super) fn tell_subscriptions(&self, core: &GateCore) {
        let has = self.mediator().subscription_count() > 0;
        if self.has_subscriptions.swap(has, Ordering::AcqRel) != has {
            core.subscribed(self.id, has);
        }
    }
}
