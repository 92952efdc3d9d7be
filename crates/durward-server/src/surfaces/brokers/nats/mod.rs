//! The auth callout of NATS: a server asks on `$SYS.REQ.USER.AUTH` who a client is and what it may do, with a signed token, and is answered
//! with one.
//!
//! ```text
//!   request (JWT of the server) --> user (login) --> question --> verdict --> user's JWT (lists, expiry) --> response (JWT)
//! ```
//!
//! Whatever is not understood is answered with an error, or, where it cannot be told whom to answer, not at all: the server then refuses the
//! client. A permit without a list of subjects is one to connect and nothing else.

mod jwt;
mod permissions;
mod request;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_nats::{Client, Message};
use durward_common::access::auth::Identity;
use durward_common::base::Clock;
use durward_common::base::traces::Traces;
use durward_common::decision_log::Surface as Way;
use durward_common::question::Asker;
use durward_pdp::ir::value::ObjectBuilder;
use durward_session::identity::{IdentityError, Moment};
use durward_session::read_secret;
use durward_settings::{NatsCalloutSettings, Settings};
use futures_util::StreamExt;
use serde_json::json;
use smol_str::SmolStr;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use self::jwt::Issuer;
use self::permissions::{PERMISSIONS, Permissions};
use self::request::Request;
use super::expiry::{self, EXPIRES};
use super::user::{BrokerUser, Users, shown};
use super::{Asking, NotLetIn, Surface, add, broker};
use crate::surfaces::callers::{REASON, is_kind};

/// Where servers ask.
const SUBJECT: &str = "$SYS.REQ.USER.AUTH";

/// The group of those who answer: of several nodes, one is asked.
const GROUP: &str = "durward";

/// The field that encrypted requests have.
const ENCRYPTED: &str = "Nats-Server-Xkey";

/// The longest request, in bytes: certificates of clients are part of it.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// What requests are answered with.
struct Callout {
    asker: Arc<Asker>,
    users: Users,
    clock: Clock,
    traces: Arc<Traces>,
    caller: Identity,
    issuer: Issuer,
    settings: NatsCalloutSettings,
    account: String,
}

/// Answers servers until it is dropped.
pub(crate) struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to answer servers, where the settings name some.
///
/// # Errors
/// Files that cannot be used.
pub(crate) fn start(settings: &Settings, surface: &Surface) -> Result<Option<Running>, IdentityError> {
    let Some(nats) = &settings.brokers.nats else { return Ok(None) };
    let path = nats.issuer_seed_path.clone().unwrap_or_default();
    let issuer = Issuer::of_seed(read_secret(&path)?.trim())
        .ok_or_else(|| IdentityError::new("holds no seed of an account (`SA...`)").of(path.display()))?;
    let connection = nats.connection()?;
    let options = durward_session::nats::connect_options(&connection)?;
    let tenant = settings.brokers.callers.tenant.as_ref().unwrap_or(&settings.auth.default_tenant);
    let callout = Arc::new(Callout {
        asker: Arc::clone(&surface.asker),
        users: surface.users.clone(),
        clock: Arc::clone(&surface.clock),
        traces: Arc::clone(&surface.traces),
        caller: Identity::of_program(SmolStr::from(tenant.as_str()), "nats"),
        issuer,
        settings: nats.clone(),
        account: nats.account.clone().unwrap_or_default(),
    });
    let servers = connection.servers;
    Ok(Some(Running(tokio::spawn(async move {
        match options.connect(&servers).await {
            Ok(client) => callout.answer_all(client).await,
            Err(error) => tracing::error!(%error, "NATS cannot be asked for logins"),
        }
    }))))
}

impl Callout {
    async fn answer_all(self: Arc<Self>, client: Client) {
        let mut requests = match client.queue_subscribe(SUBJECT, GROUP.to_owned()).await {
            Ok(requests) => requests,
            Err(error) => return tracing::error!(%error, "NATS does not send logins"),
        };
        let turns = Arc::new(Semaphore::new(self.settings.logins_max));
        while let Some(message) = requests.next().await {
            // Others wait in the client, and what it cannot hold is not answered: the server refuses that.
            let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
            let (callout, client) = (Arc::clone(&self), client.clone());
            tokio::spawn(async move {
                callout.answer(&client, message).await;
                drop(turn);
            });
        }
    }

    async fn answer(&self, client: &Client, message: Message) {
        let Some(reply) = message.reply.clone() else { return };
        if message.headers.as_ref().is_some_and(|headers| headers.get(ENCRYPTED).is_some()) {
            tracing::warn!(
                "a NATS server encrypts its requests (`auth_callout.xkey`), which are not answered"
            );
            return;
        }
        if message.payload.len() > REQUEST_BYTES_MAX {
            return tracing::warn!(bytes = message.payload.len(), "a request of a NATS server is too long");
        }
        let request = match Request::read(&message.payload) {
            Ok(request) => request,
            Err(why) => return tracing::warn!(why, "a request of a NATS server is not answered"),
        };
        let response = self.response(&request).await;
        let Some(response) = response else {
            return tracing::error!("an answer to a NATS server cannot be signed");
        };
        if let Err(error) = client.publish(reply, response.into()).await {
            tracing::warn!(%error, "a NATS server was not answered");
        }
    }

    /// The signed answer.
    async fn response(&self, request: &Request) -> Option<String> {
        let deciding = tokio::time::timeout(self.settings.answer_time_max(), self.user_token(request));
        let outcome = deciding.await.unwrap_or_else(|_| Err(NotLetIn::new("nothing was decided in time")));
        let answer = match outcome {
            Ok(token) => json!({ "type": "authorization_response", "version": 2, "jwt": token }),
            Err(why) => {
                tracing::debug!(request_id = request.user_nkey(), surface = Way::Nats.as_str(), why = %why.0, "denied");
                // The server logs it; what a client is told is the server's own.
                json!({ "type": "authorization_response", "version": 2, "error": "denied" })
            }
        };
        let now = Moment::of((self.clock)());
        self.issuer.signed(now, request.user_nkey(), json!({ "aud": request.server_id(), "nats": answer }))
    }

    /// The token by which the server lets the client in.
    async fn user_token(&self, request: &Request) -> Result<String, NotLetIn> {
        let address: Option<IpAddr> = request.host().parse().ok();
        let user = self.user(request, address).await?;
        let trace = self.traces.begin();
        let asking = Asking {
            asker: &self.asker,
            caller: &self.caller,
            client: address.map(|address| SocketAddr::new(address, 0)),
            request_id: request.user_nkey(),
            trace: &trace,
            way: Way::Nats,
            route: "login",
            length: request.length(),
        };
        let verdict = asking.decide(&user, "login", broker("nats"), context(request)).await?;
        let knows = |kind: &str| [REASON, EXPIRES, PERMISSIONS].iter().any(|known| is_kind(kind, known));
        if !verdict.is_permit_for(knows) {
            return Err(NotLetIn::new("policies do not permit it"));
        }
        let now = Moment::of((self.clock)());
        let mut claims = json!({
            "aud": self.account,
            "name": user.name.as_str(),
            "nats": Permissions::of(&verdict)?.to_claims(),
        });
        if let (Some(until), Some(claims)) = (expiry::of(&verdict, &user, now)?, claims.as_object_mut()) {
            claims.insert("exp".to_owned(), (until.ms() / 1000).into());
        }
        let token = self.issuer.signed(now, request.user_nkey(), claims);
        token.ok_or_else(|| NotLetIn::new("the user's token cannot be signed"))
    }

    /// Whose credentials these are: a token by itself, or a name with a password or a token.
    async fn user(&self, request: &Request, address: Option<IpAddr>) -> Result<BrokerUser, NotLetIn> {
        match (request.name(), request.password(), request.token()) {
            (Some(name), Some(password), None) => self.users.logged_in(name, password, address).await,
            (None, None, Some(token)) => match shown(token) {
                Some(token) => self.users.of_token(None, &token).await,
                None => Err(NotLetIn::new("the token is none of this server")),
            },
            (_, _, _) => Err(NotLetIn::new("there is neither a user with a password nor a token alone")),
        }
    }
}

/// What the server says of the client.
fn context(request: &Request) -> ObjectBuilder {
    let mut context = ObjectBuilder::new();
    for (name, text) in request.facts() {
        add(&mut context, name, Some(text));
    }
    context
}
