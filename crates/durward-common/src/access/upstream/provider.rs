//! One provider: its code is exchanged for an ID token, which is verified with its keys.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use durward_jwt::{Base64Url, Jws, JwsAlgorithm};
use durward_net::connect::Connector;
use durward_net::http::{HttpClient, HttpError, read_within};
use durward_net::tls::Trust;
use durward_session::identity::Moment;
use durward_session::read_secret;
use durward_settings::upstream::is_guarded;
use durward_settings::{ConfigError, UpstreamClientAuth, UpstreamSettings};
use durward_wire::percent::form_encoded;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::verify::{self, IdTokenRules};
use super::{BroughtCode, EndedUpstream, Endpoints, NotVouched, Vouched};
use crate::access::published::{NotPublished, Published};

/// How long connecting to a provider may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// How long an answer may take, with its body.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Most bytes of an answer: tokens with hundreds of groups.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How many logins a provider is asked about at once. Browsers of more are told that it does not answer.
const AT_ONCE_MAX: usize = 64;

/// The longest error of a provider that is repeated.
const ERROR_LENGTH_MAX: usize = 64;

/// One provider.
pub struct Provider {
    settings: UpstreamSettings,
    algorithms: Vec<JwsAlgorithm>,
    secret: Option<String>,
    published: Published,
    http: HttpClient,
    places: Semaphore,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("id", &self.settings.id).finish_non_exhaustive()
    }
}

/// What a provider answers to a code.
struct Tokens {
    id_token: String,
    access_token: String,
}

impl Provider {
    /// # Errors
    /// A secret or authorities that cannot be used.
    pub(super) fn new(settings: &UpstreamSettings) -> Result<Provider, ConfigError> {
        let wrong = |name: &str, message: String| {
            ConfigError::of_setting(&format!("identity.upstreams.{}.{name}", settings.id), message)
        };
        let trust = match &settings.authorities {
            Some(path) => Trust::Only(path, "identity.upstreams.authorities"),
            None => Trust::Authorities(None, "identity.upstreams.authorities"),
        };
        let connector = Connector::trusting(trust, CONNECT_TIME_MAX)
            .map_err(|error| wrong("authorities", error.to_string()))?;
        let secret = settings.client_secret_path.as_deref().map(read_secret).transpose();
        let secret = secret.map_err(|error| wrong("client_secret_path", format!("is {error}")))?;
        Ok(Provider {
            settings: settings.clone(),
            algorithms: settings.algorithms.iter().filter_map(|name| JwsAlgorithm::of(name)).collect(),
            secret,
            published: Published::of(&settings.issuer, connector.clone()),
            http: HttpClient::new(connector, Duration::from_secs(30), 4),
            places: Semaphore::new(AT_ONCE_MAX),
        })
    }

    /// What is set about this provider.
    pub fn settings(&self) -> &UpstreamSettings {
        &self.settings
    }

    /// Where it is asked for what.
    ///
    /// # Errors
    /// It cannot be asked, or leads to where others could read along.
    pub async fn endpoints(&self) -> Result<Endpoints, NotVouched> {
        let metadata = self.published.metadata().await.map_err(|_| unreachable("its metadata"))?;
        let guarded = |name: &str, endpoint: &Option<String>| match endpoint {
            Some(endpoint) if !self.is_guarded_as_issuer(endpoint) => Err(NotVouched::Unreachable(format!(
                "its `{name}` is `{endpoint}`, which is not over `https`"
            ))),
            other => Ok(other.clone()),
        };
        let wanted = |name: &str, endpoint: &Option<String>| {
            let missing = || NotVouched::Unreachable(format!("its metadata has no `{name}`"));
            guarded(name, endpoint)?.ok_or_else(missing)
        };
        Ok(Endpoints {
            authorization: wanted("authorization_endpoint", &metadata.authorization_endpoint)?,
            token: wanted("token_endpoint", &metadata.token_endpoint)?,
            userinfo: guarded("userinfo_endpoint", &metadata.userinfo_endpoint)?,
            end_session: guarded("end_session_endpoint", &metadata.end_session_endpoint)?,
            says_issuer: metadata.says_issuer,
        })
    }

    /// Who took care to protect the issuer must not lose it with an endpoint. Endpoints may have a query.
    fn is_guarded_as_issuer(&self, endpoint: &str) -> bool {
        let is_as_good = endpoint.starts_with("https://") || self.settings.issuer.starts_with("http://");
        is_as_good && is_guarded(endpoint.split('?').next().unwrap_or_default())
    }

    /// What the provider says about whoever it gave this code to.
    ///
    /// # Errors
    /// See [`NotVouched`].
    pub async fn exchange(&self, brought: BroughtCode<'_>) -> Result<Vouched, NotVouched> {
        let endpoints = self.endpoints().await?;
        let place = self.places.try_acquire();
        let _one_of_few = place.map_err(|_| unreachable("too many logins wait for it"))?;
        let Tokens { id_token, access_token } = self.tokens(&endpoints.token, brought).await?;
        let (mut claims, algorithm) = self.signed(&id_token, &["JWT"]).await?;
        let rules = IdTokenRules {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            access_token: &access_token,
            algorithm,
            brought,
        };
        verify::id_token(&claims, &rules).map_err(|why| NotVouched::Refused(format!("ID token: {why}")))?;
        if self.settings.userinfo {
            let more = self.userinfo(endpoints.userinfo.as_deref(), &access_token).await?;
            // Another user's claims would be put under this one's name (OpenID Connect Core, 5.3.2).
            if more.get("sub") != claims.get("sub") {
                return Err(NotVouched::Refused("userinfo is about somebody else".to_owned()));
            }
            for (name, value) in more {
                // What is signed counts more.
                claims.entry(name).or_insert(value);
            }
        }
        Ok(Vouched { claims, id_token })
    }

    /// Sessions that have ended there (OpenID Connect Back-Channel Logout, 2.6).
    ///
    /// # Errors
    /// See [`NotVouched`].
    pub async fn read_logout_token(&self, text: &str, now: Moment) -> Result<EndedUpstream, NotVouched> {
        let (claims, _) = self.signed(text, &["JWT", "logout+jwt"]).await?;
        let UpstreamSettings { issuer, client_id, .. } = &self.settings;
        verify::logout_token(&claims, (issuer, client_id), now)
            .map_err(|why| NotVouched::Refused(format!("logout token: {why}")))
    }

    /// The claims of a token that the provider has signed, and by what. Its kind is one of these, where it says one.
    async fn signed(
        &self,
        text: &str,
        kinds: &[&str],
    ) -> Result<(Map<String, Value>, JwsAlgorithm), NotVouched> {
        let refused = |why: &str| NotVouched::Refused(why.to_owned());
        let token = Jws::read(text, Base64Url::Exact).map_err(|why| refused(&why.to_string()))?;
        let is_kind = |kind: &str| kinds.iter().any(|one| one.eq_ignore_ascii_case(kind));
        if !token.kind().is_none_or(is_kind) {
            return Err(refused("the token is of another kind (`typ`)"));
        }
        let algorithm = token.algorithm().filter(|algorithm| self.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or_else(|| refused("the token's `alg` is not among `algorithms`"))?;
        let keys = self.published.for_token(token.key_id(), algorithm).await.map_err(|why| match why {
            NotPublished::Unknown => refused("the provider has no such key"),
            NotPublished::Unreachable => unreachable("its keys"),
        })?;
        let verified = keys.iter().find_map(|key| token.verify(key, &[algorithm]).ok());
        let claims = verified.and_then(|verified| verified.claims().ok());
        Ok((claims.ok_or_else(|| refused("the token's signature is wrong"))?, algorithm))
    }

    async fn tokens(&self, endpoint: &str, brought: BroughtCode<'_>) -> Result<Tokens, NotVouched> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", brought.code),
            ("redirect_uri", brought.redirect_uri),
            ("code_verifier", brought.verifier),
        ];
        let id = self.settings.client_id.as_str();
        let secret = self.secret.as_deref().unwrap_or_default();
        let mut authorization = None;
        match self.settings.shows() {
            UpstreamClientAuth::Basic => authorization = Some(basic(id, secret)),
            UpstreamClientAuth::Post => form.extend([("client_id", id), ("client_secret", secret)]),
            UpstreamClientAuth::None => form.push(("client_id", id)),
        }
        let mut body = String::new();
        for (name, value) in form {
            if !body.is_empty() {
                body.push('&');
            }
            body.push_str(name);
            body.push('=');
            form_encoded(value, &mut body);
        }
        let (status, answer) = self.ask(Method::POST, endpoint, authorization, body).await?;
        if status != StatusCode::OK {
            return Err(not_given(status, &answer));
        }
        let get = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        match (get("id_token"), get("access_token")) {
            (Some(id_token), Some(access_token)) => Ok(Tokens { id_token, access_token }),
            (None, _) => Err(unreachable("an ID token: it gave none")),
            (_, None) => Err(unreachable("an access token: it gave none")),
        }
    }

    async fn userinfo(&self, endpoint: Option<&str>, token: &str) -> Result<Map<String, Value>, NotVouched> {
        let endpoint = endpoint.ok_or_else(|| unreachable("`userinfo`: its metadata has none"))?;
        let bearer = format!("Bearer {token}");
        match self.ask(Method::GET, endpoint, Some(bearer), String::new()).await? {
            (StatusCode::OK, claims) => Ok(claims),
            (status, _) => Err(unreachable(&format!("`userinfo`: it answers {}", status.as_u16()))),
        }
    }

    /// Asks, and gives the answer, which is an object of JSON; an empty one, where it says that something failed in another way.
    async fn ask(
        &self,
        method: Method,
        endpoint: &str,
        authorization: Option<String>,
        body: String,
    ) -> Result<(StatusCode, Map<String, Value>), NotVouched> {
        let uri: Uri = endpoint.parse().map_err(|_| unreachable("an address that is none"))?;
        let mut request = Request::new(Full::new(Bytes::from(body)));
        if method == Method::POST {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(header::CONTENT_TYPE, form);
        }
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::try_from(authorization).map_err(|_| unreachable("a good token"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let ask = async {
            let answer = self.http.send(request).await?;
            let status = answer.status();
            Ok::<_, HttpError>((status, read_within(answer.into_body(), ANSWER_BYTES_MAX).await?))
        };
        let answer = timeout(ANSWER_TIME_MAX, ask).await.map_err(|_| unreachable("an answer in time"))?;
        let (status, body) = answer.map_err(|error| NotVouched::Unreachable(error.to_string()))?;
        match serde_json::from_slice(&body) {
            Ok(Value::Object(members)) => Ok((status, members)),
            Ok(_) | Err(_) if status != StatusCode::OK => Ok((status, Map::new())),
            Ok(_) | Err(_) => Err(unreachable("an object of JSON")),
        }
    }
}

/// A provider that does not give what it should.
fn unreachable(what: &str) -> NotVouched {
    NotVouched::Unreachable(format!("it cannot be asked for {what}"))
}

/// RFC 6749, 2.3.1: both are encoded before they are put together.
fn basic(id: &str, secret: &str) -> String {
    let mut both = String::new();
    form_encoded(id, &mut both);
    both.push(':');
    form_encoded(secret, &mut both);
    format!("Basic {}", BASE64_STANDARD.encode(both))
}

/// Why there is no token. That the code is not good is the fault of whoever brought it; all else is for the operator.
fn not_given(status: StatusCode, answer: &Map<String, Value>) -> NotVouched {
    let error = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if error == "invalid_grant" {
        return NotVouched::Refused("the provider does not take the code".to_owned());
    }
    let error = if error.len() <= ERROR_LENGTH_MAX && error.bytes().all(is_plain) { error } else { "" };
    unreachable(&format!("tokens: it answers {} {error}", status.as_u16()))
}
