//! The seam between a node and what carries changes of its users to other nodes.

use durward_identity::protocol::Lack;
use tokio::sync::watch;

use crate::store::{NodeLink, StoreTask};

/// Carries changes of users between nodes.
pub trait UserExchange: Send + 'static {
    /// Works until the node's runtime ends. What is not sent by then is sent after the next start.
    fn run(self: Box<Self>, link: UsersLink) -> StoreTask;
}

/// The way from an exchange to its node.
#[derive(Clone, Debug)]
pub struct UsersLink {
    lack: watch::Sender<Option<Lack>>,
    pub(crate) node: NodeLink,
}

impl UsersLink {
    pub(crate) fn new() -> (UsersLink, UsersView) {
        let (lack, seen) = watch::channel(Some(Lack::Starting));
        // Nothing but complaints goes this way.
        let (node, _) = NodeLink::new();
        let complaint = node.complaint();
        (UsersLink { lack, node }, UsersView { lack: seen, complaint })
    }

    /// What keeps the node from knowing its users as the others do; nothing when it does. Nobody gets a session meanwhile.
    pub fn lacks(&self, lack: Option<Lack>) {
        self.lack.send_if_modified(|known| {
            let is_other = *known != lack;
            *known = lack;
            is_other
        });
    }

    /// Whether nothing is lacking.
    pub fn is_current(&self) -> bool {
        self.lack.borrow().is_none()
    }

    /// Why the store of users cannot be used at the moment, in the operator's words; `None` when it can.
    pub fn complain(&self, message: Option<&str>) {
        self.node.complain(message);
    }
}

/// What a node knows of its exchange.
#[derive(Clone, Debug)]
pub(crate) struct UsersView {
    lack: watch::Receiver<Option<Lack>>,
    complaint: watch::Receiver<Option<String>>,
}

impl UsersView {
    pub(crate) fn lack(&self) -> Option<Lack> {
        *self.lack.borrow()
    }

    pub(crate) fn complaint(&self) -> Option<String> {
        self.complaint.borrow().clone()
    }

    /// Waits until the node knows its users as the others do. `false` when it never will.
    pub(crate) async fn are_current(&self) -> bool {
        self.lack.clone().wait_for(Option::is_none).await.is_ok()
    }
}
