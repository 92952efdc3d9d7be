//! What a client asks for with a browser (RFC 6749, 4.1.1; OpenID Connect Core, 3.1.2.1): read and checked against the client's
//! settings, whether it came with the browser or was pushed before (RFC 9126).

use durward_session::identity::jwt::is_thumbprint;
use durward_session::identity::session::GrantTurn;
use durward_session::identity::{Entropy, IdentityError, Moment, SystemEntropy};
use durward_settings::{ClientDpop, ClientGrant, OauthClientSettings};
use serde::{Deserialize, Serialize};

use super::Issued;
use super::digest::digest;
use crate::base::parameters::Parameters;

/// What a level of authentication is called in `acr` and `acr_values`, before its number.
pub const ACR: &str = "urn:durward:acr:level:";

/// What a pushed request is called, before what is sealed (RFC 9126, 2.2).
const REQUEST_URI: &str = "urn:ietf:params:oauth:request_uri:";

/// How long a pushed request is good for.
pub const PUSHED_S: u64 = 90;

/// How long a browser's forms are good for, from the request on.
pub const FORMS_S: u64 = 15 * 60;

/// The longest `state`, which goes into an address again.
const STATE_BYTES_MAX: usize = 2048;

/// The longest `nonce`, which goes into the code and the ID token.
const NONCE_BYTES_MAX: usize = 512;

/// The longest `ui_locales`: some dozens of languages.
const LANGUAGES_BYTES_MAX: usize = 256;

/// How many characters a digest by SHA-256 has in Base64.
const CHALLENGE_LENGTH: usize = 43;

/// The purpose of the seal of pushed requests.
const PUSHED: &str = "oauth pushed request";

/// A request that may be granted, once it is known who the user is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// `client_id`.
    pub client: String,
    /// Where the browser is sent back to; one that the client's settings name.
    pub redirect_uri: String,
    /// Given back to the client as it is.
    pub state: Option<String>,
    /// Repeated in the ID token.
    pub nonce: Option<String>,
    /// The digest of what the client shows with the code (RFC 7636).
    pub challenge: Option<String>,
    /// The scopes that are asked for and that the client may have; all of these where none is asked for.
    pub scopes: Vec<String>,
    /// Whom the access token is for, beside `userinfo`.
    pub resources: Vec<String>,
    /// What the user must be asked.
    pub prompt: Prompt,
    /// How long ago the login may be, in seconds.
    pub max_age_s: Option<u64>,
    /// The least level of authentication that is wished for.
    pub level: Option<u8>,
    /// The name that stands in the form at first.
    pub login_hint: Option<String>,
    /// The languages that pages are wished for in, as `Accept-Language` has them.
    #[serde(default)]
    pub languages: Option<String>,
    /// The `sub` of who must be logged in.
    pub subject: Option<String>,
    /// The thumbprint of the key without which the code is worth nothing (RFC 9449, 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What the user is to be asked, whatever is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Nothing: what would have to be asked is an error.
    pub none: bool,
    /// The user logs in, though there is a session.
    pub login: bool,
    /// The user consents, though they did before.
    pub consent: bool,
}

/// An error that the client is told, where the browser comes back to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationError {
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    /// Given back to the client as it is.
    pub state: Option<String>,
    /// The error's code (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6).
    pub error: &'static str,
    /// What is wrong, for whoever wrote the client.
    pub description: &'static str,
}

/// Why a request cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAuthorized {
    /// Nobody knows that the browser may be sent there: the user is told, and nobody else.
    Here(&'static str),
    /// The client is told.
    Client(AuthorizationError),
}

/// A pushed request, which is good once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    id: [u8; 16],
    until_s: u64,
}

impl Pushed {
    /// What is used up when a code is given for it. A browser that came at the last moment may take as long as its forms are good for, so
    /// it is remembered for that long.
    pub fn turn(&self) -> GrantTurn {
        let until = Moment::from_ms(self.until_s.saturating_add(FORMS_S).saturating_mul(1000));
        GrantTurn { holder: self.id, grant: 0, turn: 0, until }
    }
}

#[derive(Serialize, Deserialize)]
struct SealedRequest {
    pushed: Pushed,
    authorization: Authorization,
}

/// What is wrong with a parameter: the error of the protocol, and words for the developer.
type Wrong = (&'static str, &'static str);

const fn request(words: &'static str) -> Wrong {
    ("invalid_request", words)
}

impl Issued {
    /// The client of a name, as it is now.
    pub fn client(&self, id: &str) -> Option<OauthClientSettings> {
        self.clients.load().iter().find(|client| client.id == id).cloned()
    }

    /// What a browser brings: the request itself, or the name of one that was pushed.
    ///
    /// # Errors
    /// See [`NotAuthorized`].
    pub fn authorization(
        &self,
        parameters: &Parameters,
        now: Moment,
    ) -> Result<(Authorization, Option<Pushed>), NotAuthorized> {
        let id =
            parameters.get("client_id").ok_or(NotAuthorized::Here("the parameter `client_id` is missing"))?;
        let client = self.client(id).ok_or(NotAuthorized::Here("there is no such client"))?;
        // Of any other address the client is told that it is not fetched.
        match parameters.get("request_uri").filter(|uri| uri.starts_with(REQUEST_URI)) {
            None => Ok((self.requested(&client, parameters, now)?, None)),
            Some(uri) => {
                let found = self.pushed(uri, &client, now);
                found.map(|(authorization, pushed)| (authorization, Some(pushed))).ok_or(NotAuthorized::Here(
                    "the pushed request is over, was changed, or is another client's: go back to the application",
                ))
            }
        }
    }

    /// What a client asks for, in these parameters.
    ///
    /// # Errors
    /// See [`NotAuthorized`].
    pub fn requested(
        &self,
        client: &OauthClientSettings,
        parameters: &Parameters,
        now: Moment,
    ) -> Result<Authorization, NotAuthorized> {
        let redirect_uri = parameters.get("redirect_uri");
        let redirect_uri =
            redirect_uri.ok_or(NotAuthorized::Here("the parameter `redirect_uri` is missing"))?;
        if !is_registered(client, redirect_uri) {
            return Err(NotAuthorized::Here("the client has no such `redirect_uri`"));
        }
        let state = parameters.get("state");
        let is_short = state.is_none_or(|state| state.len() <= STATE_BYTES_MAX);
        let read = if is_short {
            self.read(client, redirect_uri, parameters, now)
        } else {
            Err(request("`state` is too long"))
        };
        read.map_err(|(error, description)| {
            NotAuthorized::Client(AuthorizationError {
                redirect_uri: redirect_uri.to_owned(),
                state: state.filter(|_| is_short).map(str::to_owned),
                error,
                description,
            })
        })
    }

    fn read(
        &self,
        client: &OauthClientSettings,
        redirect_uri: &str,
        parameters: &Parameters,
        now: Moment,
    ) -> Result<Authorization, Wrong> {
        let get = |name: &str| parameters.get(name);
        can_be_read(parameters)?;
        if !client.may(ClientGrant::AuthorizationCode) {
            return Err(("unauthorized_client", "the client may not use authorization codes"));
        }
        let nonce = get("nonce");
        if nonce.is_some_and(|nonce| nonce.len() > NONCE_BYTES_MAX) {
            return Err(request("`nonce` is too long"));
        }
        let max_age_s = match get("max_age").map(str::parse) {
            None => None,
            Some(Ok(seconds)) => Some(seconds),
            Some(Err(_)) => return Err(request("`max_age` is no number of seconds")),
        };
        let subject = match get("id_token_hint") {
            None => None,
            Some(hint) => {
                let claims = self.keys.read_id_token(hint, &self.issuer, now);
                let sub = claims.as_ref().and_then(|claims| claims.get("sub")?.as_str());
                Some(sub.ok_or(request("`id_token_hint` is no ID token of this issuer"))?.to_owned())
            }
        };
        let mut levels = get("acr_values").unwrap_or_default().split(' ');
        let level = levels.find_map(|value| value.strip_prefix(ACR)?.parse().ok());
        Ok(Authorization {
            client: client.id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            state: get("state").map(str::to_owned),
            nonce: nonce.map(str::to_owned),
            challenge: challenge(client, parameters)?,
            scopes: scopes(client, get("scope")),
            resources: resources(client, parameters)?,
            prompt: prompt(get("prompt"))?,
            max_age_s,
            level,
            login_hint: get("login_hint").map(str::to_owned),
            languages: get("ui_locales").and_then(languages),
            subject,
            key: key(client, get("dpop_jkt"))?,
        })
    }

    /// Seals a request for its client to name (RFC 9126, 2.2).
    ///
    /// # Errors
    /// There are no users, there is no randomness, or the request is too long.
    pub fn push(&self, authorization: Authorization, now: Moment) -> Result<String, IdentityError> {
        let service = self.service.as_ref().ok_or_else(|| IdentityError::new("there are no users"))?;
        let mut id = [0; 16];
        SystemEntropy.fill(&mut id)?;
        let pushed = Pushed { id, until_s: now.ms() / 1000 + PUSHED_S };
        let sealed = serde_json::to_vec(&SealedRequest { pushed, authorization });
        let sealed = sealed.map_err(|error| IdentityError::new(error.to_string()))?;
        Ok(format!("{REQUEST_URI}{}", service.seal(PUSHED, &sealed)?))
    }

    fn pushed(
        &self,
        uri: &str,
        client: &OauthClientSettings,
        now: Moment,
    ) -> Option<(Authorization, Pushed)> {
        let sealed = self.service.as_ref()?.unseal(PUSHED, uri.strip_prefix(REQUEST_URI)?)?;
        let SealedRequest { pushed, authorization } = serde_json::from_slice(&sealed).ok()?;
        let is_good = pushed.until_s > now.ms() / 1000
            && authorization.client == client.id
            // Settings may have changed meanwhile.
            && is_registered(client, &authorization.redirect_uri)
            && client.may(ClientGrant::AuthorizationCode);
        is_good.then_some((authorization, pushed))
    }
}

/// Whether there is nothing that would have to be understood, and is not.
fn can_be_read(parameters: &Parameters) -> Result<(), Wrong> {
    let get = |name: &str| parameters.get(name);
    match get("response_type") {
        Some("code") => {}
        Some(_) => return Err(("unsupported_response_type", "`response_type` must be `code`")),
        None => return Err(request("the parameter `response_type` is missing")),
    }
    if !matches!(get("response_mode"), None | Some("query")) {
        return Err(request("`response_mode` must be `query`"));
    }
    for (name, error) in
        [("request", "request_not_supported"), ("registration", "registration_not_supported")]
    {
        if get(name).is_some() {
            return Err((error, "a parameter is not supported: push the request instead"));
        }
    }
    if get("request_uri").is_some() {
        return Err(("request_uri_not_supported", "`request_uri` names a pushed request, and nothing else"));
    }
    Ok(())
}

/// Those of `ui_locales` (OpenID Connect Core, 3.1.2.1). It is a wish: what is too long, or no list of languages, is passed over.
fn languages(locales: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b' ');
    let is_list = locales.len() <= LANGUAGES_BYTES_MAX && locales.bytes().all(is_part);
    is_list.then(|| locales.split(' ').filter(|tag| !tag.is_empty()).collect::<Vec<_>>().join(","))
}

/// RFC 7636, 4.3. A challenge that is not digested protects nothing from who sees the request: `plain` is refused.
fn challenge(client: &OauthClientSettings, parameters: &Parameters) -> Result<Option<String>, Wrong> {
    let method = parameters.get("code_challenge_method");
    let Some(challenge) = parameters.get("code_challenge") else {
        if client.public || method.is_some() {
            return Err(request("the parameter `code_challenge` is missing (RFC 7636)"));
        }
        return Ok(None);
    };
    if method != Some("S256") {
        return Err(request("`code_challenge_method` must be `S256`"));
    }
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if challenge.len() != CHALLENGE_LENGTH || !challenge.bytes().all(is_digit) {
        return Err(request("`code_challenge` is no digest by SHA-256 in Base64 for URLs"));
    }
    Ok(Some(challenge.to_owned()))
}

/// Those that the client may have: others are passed over (OpenID Connect Core, 3.1.2.1). All of them where none is named.
fn scopes(client: &OauthClientSettings, wanted: Option<&str>) -> Vec<String> {
    let Some(wanted) = wanted else { return client.scopes.clone() };
    let mut scopes: Vec<String> = Vec::new();
    for scope in wanted.split(' ') {
        if client.scopes.iter().any(|known| known == scope) && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

fn resources(client: &OauthClientSettings, parameters: &Parameters) -> Result<Vec<String>, Wrong> {
    let mut resources: Vec<String> = Vec::new();
    for resource in parameters.all("resource").chain(parameters.all("audience")) {
        if !client.audiences.iter().any(|known| known == resource) {
            return Err(("invalid_target", "the client may not ask for tokens for that `resource`"));
        }
        if !resources.iter().any(|known| known == resource) {
            resources.push(resource.to_owned());
        }
    }
    Ok(resources)
}

/// The key that the code is to be bound to.
fn key(client: &OauthClientSettings, wanted: Option<&str>) -> Result<Option<String>, Wrong> {
    match wanted {
        None => Ok(None),
        Some(_) if client.dpop == ClientDpop::Off => {
            Err(request("`dpop_jkt` is there, and DPoP is off for this client"))
        }
        Some(key) if is_thumbprint(key) => Ok(Some(key.to_owned())),
        Some(_) => Err(request("`dpop_jkt` is no digest by SHA-256 in Base64 for URLs")),
    }
}

fn prompt(wanted: Option<&str>) -> Result<Prompt, Wrong> {
    let mut prompt = Prompt::default();
    for one in wanted.unwrap_or_default().split(' ').filter(|one| !one.is_empty()) {
        match one {
            "none" => prompt.none = true,
            // Who chooses an account says whose it is by logging in.
            "login" | "select_account" => prompt.login = true,
            "consent" => prompt.consent = true,
            _ => return Err(request("`prompt` is none of `none`, `login`, `consent`, `select_account`")),
        }
    }
    if prompt.none && (prompt.login || prompt.consent) {
        return Err(request("`prompt` is `none` and something else"));
    }
    Ok(prompt)
}

/// Whether the client has this address: letter by letter, but for the port of this very machine (RFC 8252, 7.3).
pub fn is_registered(client: &OauthClientSettings, asked: &str) -> bool {
    let without_port = loopback(asked);
    client
        .redirect_uris
        .iter()
        .any(|known| known == asked || (without_port.is_some() && loopback(known) == without_port))
}

/// Host and path of an address on this very machine, without its port. `localhost` may be another machine.
fn loopback(uri: &str) -> Option<(&'static str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let host = ["127.0.0.1", "[::1]"].into_iter().find(|host| rest.starts_with(host))?;
    let rest = rest.strip_prefix(host)?;
    let path = match rest.strip_prefix(':') {
        None => rest,
        Some(port) => {
            let path = port.trim_start_matches(|digit: char| digit.is_ascii_digit());
            let digits = port.len() - path.len();
            (1..=5).contains(&digits).then_some(path)?
        }
    };
    (path.is_empty() || path.starts_with(['/', '?'])).then_some((host, path))
}

/// Whether this is what the challenge was made of (RFC 7636, 4.6).
pub(super) fn meets(challenge: &str, verifier: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (43..=128).contains(&verifier.len())
        && verifier.bytes().all(is_letter)
        && digest(verifier.as_bytes()) == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(uris: &[&str]) -> OauthClientSettings {
        let text = format!("id = 'c'\npublic = true\nredirect_uris = {uris:?}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn that_a_pushed_request_was_used_is_known_for_as_long_as_a_form_of_it_is_good() {
        let pushed = Pushed { id: [1; 16], until_s: 1_000 };
        // A browser that came in the last second has a form for as long as this.
        let last_form_ends = Moment::from_ms((999 + FORMS_S) * 1000);
        assert!(pushed.turn().until >= last_form_ends);
    }

    #[test]
    fn addresses_are_compared_letter_by_letter_but_for_the_port_of_this_machine() {
        let client = client(&[
            "https://app.example/cb?x=1",
            "http://127.0.0.1/cb",
            "http://[::1]:1/",
            "org.example.app:/cb",
        ]);
        for uri in [
            "https://app.example/cb?x=1",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:49152/cb",
            "http://[::1]:2/",
            "org.example.app:/cb",
        ] {
            assert!(is_registered(&client, uri), "{uri}");
        }
        for uri in [
            "https://app.example/cb",
            "https://app.example/cb?x=1&y=2",
            "https://app.example/cb?x=1/",
            "https://app.example:443/cb?x=1",
            "https://APP.example/cb?x=1",
            "https://app.example.evil/cb?x=1",
            "http://app.example/cb?x=1",
            "http://127.0.0.1:49152/cb/x",
            "http://127.0.0.1:/cb",
            "http://127.0.0.1:123456/cb",
            "http://127.0.0.1:1@evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://127.0.0.1evil/cb",
            "http://localhost:1/cb",
            "https://127.0.0.1:1/cb",
            "org.example.app:/cb/",
            "",
        ] {
            assert!(!is_registered(&client, uri), "{uri}");
        }
    }

    /// RFC 7636, appendix B.
    #[test]
    fn a_verifier_meets_the_challenge_that_was_made_of_it() {
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(meets(challenge, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert!(!meets(challenge, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"));
        assert!(!meets(challenge, challenge) && !meets("", "") && !meets(challenge, ""));
    }

    #[test]
    fn what_is_to_be_asked_does_not_contradict_itself() {
        assert!(prompt(None).is_ok() && prompt(Some("login consent")).is_ok());
        assert!(prompt(Some("none login")).is_err() && prompt(Some("always")).is_err());
    }
}
