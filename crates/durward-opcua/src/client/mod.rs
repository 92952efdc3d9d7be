//! The client that keeps a token: a session with the authorization service, a token, a session with a resource that stands on it.
//!
//! ```text
//!   TokenClient --> requests ----------------------> session with the resource
//!        |                                                  ^ activates, activates again
//!      driver (protocol::Client decides) --------------------'
//!        '--> session with the authorization service --> tokens
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `settings` | what is set |
//! | `issuer`, `resource` | discovery: where tokens come from |
//! | `authority` | the session with the authorization service |
//! | `claims` | a token as the client sees it |
//! | `fetch` | tokens for one user, for a gate |
//! | `driver` | what happens to the machine, what the machine says |
//! | `shared`, `requester`, `failure` | requests while sessions come and go |
//! | `calls` | services in types |
//! | `convert` | values from text by the types that the server tells |
//! | `publish`, `watch` | subscriptions that follow the client |
//! | `text` | text forms for the command line |
//!
//! The client does not interpret what the token grants: that is between the authorization service and the gate.

mod authority;
mod calls;
mod claims;
mod convert;
mod driver;
mod failure;
mod fetch;
mod issuer;
mod publish;
mod requester;
mod resource;
mod settings;
mod shared;
pub mod text;
mod watch;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use opcua_types::{
    BinaryDecodable, BinaryEncodable, DataValue, DateTime, MessageInfo, NodeId, QualifiedName, ReadValueId,
    ReferenceDescription, UAString, Variant,
};
use tokio::sync::{mpsc, watch as state};

pub use calls::{BrowseFilter, HISTORY_VALUES_MAX, REFERENCES_MAX, attribute_of, value_of};
pub use claims::AccessToken;
pub use fetch::{FetchedToken, fetch_token, renew_token};
pub use issuer::{Issuer, JWT_TOKEN_TYPE, PROFILE_OPCUA, jwt_policies};
pub use settings::{RenewalJitter, TokenAuthoritySettings, TokenClientSettings, TokenFlow};
pub use shared::ClientStatus;
pub use watch::{ValueWatch, WatchEvent, WatchGap, WatchSettings};

use crate::error::Error;
use driver::{ClientDriver, DriverEvent};
use publish::SubscriptionRouter;
use requester::{ClientRequester, Resend};
use shared::ClientShared;

/// A client with a token. Many requests can be under way at a time; they go on while the token is renewed.
pub struct TokenClient {
    shared: Arc<ClientShared>,
    router: Arc<SubscriptionRouter>,
}

impl TokenClient {
    /// Starts a client, which then connects, and connects again, until it is stopped or dropped.
    pub fn start(settings: TokenClientSettings) -> TokenClient {
        let (events, happened) = mpsc::unbounded_channel();
        let shared = Arc::new(ClientShared {
            settings,
            live: ArcSwapOption::empty(),
            token: Mutex::default(),
            status: state::Sender::new(ClientStatus::default()),
            events,
        });
        let router = Arc::new(SubscriptionRouter::default());
        tokio::spawn(ClientDriver::new(Arc::clone(&shared)).run(happened));
        tokio::spawn(publish::pump(Arc::clone(&shared), Arc::clone(&router)));
        TokenClient { shared, router }
    }

    /// Starts a client and waits for its session, no longer than the settings' patience. For whoever wants to hear at once what is wrong.
    ///
    /// A gate that has just begun refuses every token until it has heard from the authorization service and has seen its server: that is waited for.
    ///
    /// # Errors
    /// Why there is no session: the first thing that failed and does not pass by itself; after that time, the last thing.
    pub async fn connect(settings: TokenClientSettings) -> Result<TokenClient, Error> {
        let within = settings.patience;
        let client = TokenClient::start(settings);
        let mut status = client.status();
        let has_failed = |status: &ClientStatus| status.error.is_some() && !status.may_pass;
        let decided = status.wait_for(|status| status.is_active || has_failed(status));
        let _ = tokio::time::timeout(within, decided).await;
        let status = status.borrow().clone();
        match status.error.filter(|_| !status.is_active) {
            Some(error) => Err(error),
            None => client.ready(within).await.map(|()| client),
        }
    }

    /// Waits until requests can be sent.
    ///
    /// # Errors
    /// What stands in the way: no token is given, the token is not taken, there is no connection in time.
    pub async fn ready(&self, within: Duration) -> Result<(), Error> {
        self.shared.ready(within, true).await.map(drop)
    }

    /// How it stands, and how it stood between two looks, in counters.
    pub fn status(&self) -> state::Receiver<ClientStatus> {
        self.shared.status.subscribe()
    }

    /// The token that it has now.
    pub fn token(&self) -> Option<Arc<AccessToken>> {
        self.shared.token()
    }

    /// Renews the channel to the resource now, instead of when its time comes.
    pub fn renew_channel(&self) {
        if let Some(live) = self.shared.usable() {
            live.session.channel().renew();
        }
    }

    /// Sends any request on the session, once.
    ///
    /// # Errors
    /// A fault, as its code; no session; no answer.
    pub async fn request<Q, R>(&self, request: &Q) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo + Sync,
        R: BinaryDecodable + MessageInfo + Send,
    {
        self.shared.ask(request, Resend::No).await
    }

    /// Reads attributes ([`value_of`], [`attribute_of`]); each with its own status.
    ///
    /// # Errors
    /// The service as a whole failed. A read is sent once more when the session was lost under it.
    pub async fn read(&self, nodes: Vec<ReadValueId>) -> Result<Vec<DataValue>, Error> {
        calls::read(&*self.shared, nodes).await
    }

    /// Reads the values of nodes; each with its own status.
    ///
    /// # Errors
    /// As of [`TokenClient::read`].
    pub async fn read_values(&self, nodes: &[NodeId]) -> Result<Vec<DataValue>, Error> {
        self.read(nodes.iter().map(value_of).collect()).await
    }

    /// Writes a value. Sent once: if the session is lost under it, it may have been written or not.
    ///
    /// # Errors
    /// What the server said.
    pub async fn write(&self, node: &NodeId, value: Variant) -> Result<(), Error> {
        calls::write(&*self.shared, node, value).await
    }

    /// Writes a value given as text, as the variable's data type and rank want it.
    ///
    /// # Errors
    /// `BadTypeMismatch` for a text that is no such value; what the server said.
    pub async fn write_text(&self, node: &NodeId, text: &str) -> Result<(), Error> {
        let value = convert::for_variable(&*self.shared, node, text).await?;
        self.write(node, value).await
    }

    /// Calls a method. Sent once.
    ///
    /// # Errors
    /// What the server said of the call, and which argument is wrong.
    pub async fn call(
        &self,
        object: &NodeId,
        method: &NodeId,
        inputs: Vec<Variant>,
    ) -> Result<Vec<Variant>, Error> {
        calls::call(&*self.shared, object, method, inputs).await
    }

    /// Calls a method with arguments given as text, as its `InputArguments` want them.
    ///
    /// # Errors
    /// `BadArgumentsMissing`, `BadTooManyArguments` or `BadTypeMismatch` with the names of the arguments; as of [`TokenClient::call`].
    pub async fn call_text(
        &self,
        object: &NodeId,
        method: &NodeId,
        inputs: &[String],
    ) -> Result<Vec<Variant>, Error> {
        let inputs = convert::for_method(&*self.shared, method, inputs).await?;
        self.call(object, method, inputs).await
    }

    /// The references of a node, over all continuation points, at most [`REFERENCES_MAX`].
    ///
    /// # Errors
    /// What the server said.
    pub async fn browse(
        &self,
        node: &NodeId,
        wanted: &BrowseFilter,
    ) -> Result<Vec<ReferenceDescription>, Error> {
        calls::browse(&*self.shared, node, wanted).await
    }

    /// Follows browse names from a node on, over hierarchical references.
    ///
    /// # Errors
    /// `BadNoMatch`; what the server said.
    pub async fn translate(&self, start: &NodeId, path: &[QualifiedName]) -> Result<NodeId, Error> {
        calls::translate(&*self.shared, start, path).await
    }

    /// The node that a text names (see [`text::parse_node`]). Names of a path without a namespace are of any.
    ///
    /// # Errors
    /// A text that names no node; a namespace that the server does not have; a path that leads nowhere, or to several nodes.
    pub async fn node(&self, text: &str) -> Result<NodeId, Error> {
        convert::node(&*self.shared, text).await
    }

    /// Values as they were, raw: from `start` to `end`, at most `max` (0: as many as [`HISTORY_VALUES_MAX`]).
    ///
    /// # Errors
    /// What the server said.
    pub async fn history(
        &self,
        node: &NodeId,
        start: DateTime,
        end: DateTime,
        max: usize,
    ) -> Result<Vec<DataValue>, Error> {
        calls::history(&*self.shared, node, start, end, max).await
    }

    /// Watches values. Goes on over renewals, reconnections and restarts, and says where values may be missing.
    pub fn watch(&self, nodes: Vec<NodeId>, settings: WatchSettings) -> ValueWatch {
        watch::start(Arc::clone(&self.shared), Arc::clone(&self.router), nodes, settings)
    }

    /// Closes both sessions and ends everything.
    pub async fn stop(&self) {
        let _ = self.shared.events.send(DriverEvent::Stop);
        let _ = self.status().wait_for(|status| status.is_stopped).await;
    }
}

/// Stops, without waiting for it.
impl Drop for TokenClient {
    fn drop(&mut self) {
        let _ = self.shared.events.send(DriverEvent::Stop);
    }
}

impl fmt::Debug for TokenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenClient").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// A browse name.
pub fn browse_name(namespace_index: u16, name: &str) -> QualifiedName {
    QualifiedName { namespace_index, name: UAString::from(name) }
}
