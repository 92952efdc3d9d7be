//! Who asks: a client shows its secret, in the header or in the body (RFC 6749, 2.3.1).

use std::net::IpAddr;
use std::sync::Arc;

use durward_common::access::auth::{Authenticator, Denied, Presented};
use durward_common::base::Clock;
use durward_common::base::metrics::Metrics;
use durward_session::identity::Moment;
use durward_session::identity::session::User;
use durward_session::{SecretAttempt, SecretAttempts, Service, ServiceSettings};
use durward_settings::{AuthSettings, ConfigError, OauthClientSettings, UserSettings};
use hyper::header::{self, HeaderMap};

use durward_wire::percent::form_decoded as decoded;

use super::form::Form;
use super::refusal::Refusal;

/// The clients, and what verifies their secrets: the same as for callers of SAPL's protocols, with its own bounds and memory.
pub struct Clients {
    clients: Vec<OauthClientSettings>,
    secrets: Authenticator,
}

/// Who has to wait after wrong secrets. It outlasts the clients, which settings may change while the server runs.
pub(super) struct Guesses {
    attempts: SecretAttempts,
    service: Option<Service>,
}

/// What the audit says that was tried.
const SECRET: &str = "secret of an OAuth client";

impl Guesses {
    /// Counted as guesses at passwords are, by `identity.user_failures_free` and its kin.
    pub(super) fn new(service: Option<&Service>, clock: &Clock) -> Guesses {
        let clock = Arc::clone(clock);
        let moments: durward_session::Clock = Arc::new(move || Moment::of(clock()));
        let attempts = match service {
            Some(service) => SecretAttempts::new(service.settings(), moments),
            None => SecretAttempts::new(&ServiceSettings::default(), moments),
        };
        Guesses { attempts, service: service.cloned() }
    }

    async fn begin(&self, client: &User, address: IpAddr) -> Result<SecretAttempt, Refusal> {
        match self.attempts.begin(client, address).await {
            Ok(attempt) => Ok(attempt),
            Err(refused) => {
                if let Some(service) = &self.service {
                    service.audit_refused_secret(client, address, &refused, SECRET).await;
                }
                Err(Refusal::delayed(refused.retry_after()))
            }
        }
    }

    async fn note_wrong(&self, client: &User, address: IpAddr) {
        if let Some(service) = &self.service {
            service.audit_wrong_secret(client, address, SECRET).await;
        }
    }
}

impl Clients {
    /// # Errors
    /// A digest that cannot be read.
    pub(super) fn new(
        clients: &[OauthClientSettings],
        metrics: &Arc<Metrics>,
        clock: &Clock,
    ) -> Result<Clients, ConfigError> {
        let user = |client: &OauthClientSettings| UserSettings {
            id: client.id.clone(),
            tenant: None,
            name: Some(client.id.clone()),
            password: client.secret.clone(),
            api_key_id: None,
            api_key: None,
            may_assert_subjects: false,
            may_administer: false,
            may_explain: false,
            requests_per_second_max: None,
        };
        let users = clients.iter().filter(|client| client.secret.is_some()).map(user).collect();
        let settings = AuthSettings { users, ..AuthSettings::default() };
        let secrets = Authenticator::new(&settings, metrics, clock);
        let secrets = secrets.map_err(|error| ConfigError {
            message: error.message.replace("auth.users.", "oauth.clients.").replace(".password`", ".secret`"),
            ..error
        })?;
        Ok(Clients { clients: clients.to_vec(), secrets })
    }

    /// All of them.
    pub(super) fn all(&self) -> &[OauthClientSettings] {
        &self.clients
    }

    /// The client of a name.
    pub(super) fn find(&self, id: &str) -> Option<&OauthClientSettings> {
        self.clients.iter().find(|client| client.id == id)
    }

    /// Which client asks.
    ///
    /// # Errors
    /// None that there is, one that shows a secret in two ways, or one that has to wait after wrong ones.
    pub(super) async fn authenticate(
        &self,
        guesses: &Guesses,
        address: IpAddr,
        headers: &HeaderMap,
        form: &Form,
    ) -> Result<&OauthClientSettings, Refusal> {
        let Some((name, password)) = shown(headers, form)? else {
            // RFC 6749, 2.1: a public client can only say who it is.
            let known = form.get("client_id").and_then(|id| self.find(id)).filter(|client| client.public);
            return known.ok_or_else(unshown);
        };
        // What cannot be a name is nobody's, as at logins.
        let Ok(client) = User::new("/", &name) else { return Err(wrong()) };
        // Before what is remembered is looked at: a delay that a right secret passes would let others go on guessing.
        let attempt = guesses.begin(&client, address).await?;
        match self.secrets.verify(Presented::Simple { name, password }).await {
            Ok(identity) => {
                attempt.succeeded();
                self.find(&identity.name).ok_or_else(wrong)
            }
            Err(Denied::Wrong) => {
                attempt.failed();
                guesses.note_wrong(&client, address).await;
                Err(wrong())
            }
            Err(Denied::Busy) => {
                attempt.undecided();
                Err(Refusal::unavailable("too many secrets are being verified; try again"))
            }
        }
    }
}

fn wrong() -> Refusal {
    Refusal::client("there is no such client, or its secret is another")
}

fn unshown() -> Refusal {
    Refusal::client("show a client's id and secret: Basic, or `client_id` and `client_secret`")
}

/// The name and the secret that are shown. Nothing where no secret is.
fn shown(headers: &HeaderMap, form: &Form) -> Result<Option<(String, String)>, Refusal> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let (id, secret) = (form.get("client_id"), form.get("client_secret"));
    let Some(field) = fields.next() else {
        return match (id, secret) {
            (Some(id), Some(secret)) => Ok(Some((id.to_owned(), secret.to_owned()))),
            (_, None) => Ok(None),
            (None, Some(_)) => Err(unshown()),
        };
    };
    if fields.next().is_some() || secret.is_some() {
        return Err(Refusal::request("a client shows its secret once, and in one way"));
    }
    let Presented::Simple { name, password } = Presented::from_header(field.to_str().ok()) else {
        return Err(Refusal::client("a client authenticates with Basic, or in the body"));
    };
    let (Some(name), Some(password)) = (decoded(name.as_bytes()), decoded(password.as_bytes())) else {
        return Err(Refusal::client("the id and the secret in Basic are escaped as in a form"));
    };
    if id.is_some_and(|id| id != name) {
        return Err(Refusal::request("`client_id` names another client than `Authorization`"));
    }
    Ok(Some((name, password)))
}
