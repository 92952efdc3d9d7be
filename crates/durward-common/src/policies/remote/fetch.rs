//! One question to a server of bundles.

use std::path::PathBuf;
use std::time::Duration;

use durward_files::{SecretReaders, read_secret_text};
use durward_net::connect::Connector;
use durward_net::http::{HttpClient, HttpError, read_within};
use durward_settings::{ConfigError, Settings};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use tokio::time::timeout;

/// How many redirects one request follows.
const REDIRECTS_MAX: usize = 5;
/// Longest file with credentials.
const CREDENTIALS_BYTES_MAX: u64 = 64 * 1024;
/// Longest ETag that is kept.
const ETAG_BYTES_MAX: usize = 1024;
/// How long a connection is kept for the next question.
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
/// Idle connections that are kept: as many as there are tenants whose bundles are fetched at once.
const IDLE_MAX: usize = usize::MAX;

/// Asks a server of bundles.
pub(super) struct Fetcher {
    /// Without a slash at the end.
    base: String,
    http: HttpClient,
    header: HeaderName,
    credentials: Option<Credentials>,
    answer_time: Duration,
    bytes_max: usize,
    may_be_http: bool,
    follows_redirects: bool,
}

/// What shows who asks.
enum Credentials {
    Known(HeaderValue),
    /// Read again for each question, so that it can be renewed.
    InFile(PathBuf),
}

/// What a server says.
pub(super) enum Answer {
    /// Nothing has changed.
    Same,
    New {
        bytes: Vec<u8>,
        etag: Option<HeaderValue>,
    },
}

/// Scheme, host and port.
#[derive(PartialEq, Eq)]
struct Origin(Option<String>, Option<String>, Option<u16>);

impl Fetcher {
    /// # Errors
    /// An address, a header field or authorities that cannot be used.
    pub(super) fn new(settings: &Settings) -> Result<Fetcher, ConfigError> {
        let (remote, sources) = (&settings.remote_bundles, &settings.sources);
        let wrong = |name: &str, message: String| ConfigError::of_setting(name, message);
        let connector = Connector::new(sources.authorities.as_deref(), sources.connect_time_max())
            .map_err(|error| wrong("sources.authorities", error.to_string()))?;
        let base = remote.url.clone().unwrap_or_default().trim_end_matches('/').to_owned();
        check_address(&base).map_err(|message| wrong("remote_bundles.url", message.into()))?;
        if base.contains(['?', '#']) {
            return Err(wrong(
                "remote_bundles.url",
                "has a query or a fragment; tenants' names are appended".into(),
            ));
        }
        let header = HeaderName::from_bytes(remote.auth_header.as_bytes())
            .map_err(|_| wrong("remote_bundles.auth_header", "is no name of a header field".into()))?;
        let credentials = match (&remote.auth_value, &remote.auth_value_path) {
            (Some(text), _) => Some(Credentials::Known(
                secret(text).map_err(|message| wrong("remote_bundles.auth_value", message.into()))?,
            )),
            (None, Some(path)) => Some(Credentials::InFile(path.clone())),
            (None, None) => None,
        };
        let http = HttpClient::new(connector, IDLE_TIME_MAX, IDLE_MAX);
        Ok(Fetcher {
            base,
            http,
            header,
            credentials,
            answer_time: remote.answer_time(),
            bytes_max: settings.bundles.archive_bytes_max,
            may_be_http: remote.danger_allow_http,
            follows_redirects: remote.follow_redirects,
        })
    }

    /// Asks for the bundle of a tenant, unless it is the one with this ETag.
    ///
    /// # Errors
    /// Why there was no answer that means anything, without credentials.
    pub(super) async fn fetch(&self, tenant: &str, etag: Option<&HeaderValue>) -> Result<Answer, String> {
        // Nothing in a tenant's name needs to be encoded.
        let address = format!("{}/{tenant}", self.base);
        let ask = async {
            let response = self.follow(&address, etag).await?;
            self.read(response).await
        };
        let answer = timeout(self.answer_time, ask).await;
        answer.unwrap_or_else(|_| Err("no answer within the time allowed".into()))
    }

    /// Asks, and asks elsewhere if told so and allowed.
    async fn follow(&self, address: &str, etag: Option<&HeaderValue>) -> Result<Response<Incoming>, String> {
        let mut uri: Uri = address.parse().map_err(|_| "its address cannot be used".to_owned())?;
        let home = origin(&uri);
        for _ in 0..=REDIRECTS_MAX {
            let response = self.ask(&uri, etag, origin(&uri) == home).await?;
            let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            if !is_redirect {
                return Ok(response);
            }
            if !self.follows_redirects {
                return Err("redirects are not followed; ask the new address, or set \
                            `remote_bundles.follow_redirects`"
                    .into());
            }
            uri = self.elsewhere(&uri, response.headers().get(LOCATION))?;
        }
        Err(format!("more than {REDIRECTS_MAX} redirects"))
    }

    /// Credentials are sent only to where the settings say, never to where a server says.
    async fn ask(
        &self,
        uri: &Uri,
        etag: Option<&HeaderValue>,
        is_home: bool,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/octet-stream"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("durward/", env!("CARGO_PKG_VERSION"))));
        if let Some(etag) = etag {
            headers.insert(IF_NONE_MATCH, etag.clone());
        }
        match &self.credentials {
            Some(credentials) if is_home => drop(headers.insert(&self.header, credentials.value()?)),
            Some(_) | None => {}
        }
        self.http.send(request).await.map_err(|error| error.to_string())
    }

    fn elsewhere(&self, from: &Uri, location: Option<&HeaderValue>) -> Result<Uri, String> {
        let not_understood = || "a redirect that is not understood".to_owned();
        let location = location.and_then(|value| value.to_str().ok()).ok_or_else(not_understood)?;
        let address = if location.starts_with('/') && !location.starts_with("//") {
            let authority = from.authority().ok_or_else(not_understood)?;
            format!("{}://{authority}{location}", from.scheme_str().unwrap_or("https"))
        } else {
            location.to_owned()
        };
        check_address(&address).map_err(|message| format!("a redirect to an address that {message}"))?;
        if !address.starts_with("https://") && !self.may_be_http {
            return Err("a redirect to an address that is not `https`".into());
        }
        address.parse().map_err(|_| not_understood())
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, String> {
        match response.status() {
            StatusCode::NOT_MODIFIED => return Ok(Answer::Same),
            StatusCode::OK => {}
            status => return Err(format!("HTTP {}", status.as_u16())),
        }
        let etag = response.headers().get(ETAG).filter(|etag| etag.len() <= ETAG_BYTES_MAX).cloned();
        let read = read_within(response.into_body(), self.bytes_max).await;
        let bytes = read.map_err(|error| match error {
            HttpError::Network(_) => error.to_string(),
            HttpError::TooLarge(bytes_max) => {
                format!("more than {bytes_max} bytes; see `bundles.archive_bytes_max`")
            }
        })?;
        if bytes.is_empty() { Err("an empty answer".into()) } else { Ok(Answer::New { bytes, etag }) }
    }
}

impl Credentials {
    fn value(&self) -> Result<HeaderValue, String> {
        match self {
            Credentials::Known(value) => Ok(value.clone()),
            Credentials::InFile(path) => {
                let text = read_secret_text(path, SecretReaders::OwnerAndGroup, CREDENTIALS_BYTES_MAX);
                let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                secret(text.trim()).map_err(|message| format!("{}: {message}", path.display()))
            }
        }
    }
}

fn secret(text: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(text).map_err(|_| "holds what no header field may have")?;
    value.set_sensitive(true);
    Ok(value)
}

fn origin(uri: &Uri) -> Origin {
    let scheme = uri.scheme_str().map(str::to_ascii_lowercase);
    let usual = if scheme.as_deref() == Some("http") { 80 } else { 443 };
    Origin(scheme, uri.host().map(str::to_ascii_lowercase), uri.port_u16().or(Some(usual)))
}

/// # Errors
/// What is wrong with it, after `that`.
fn check_address(address: &str) -> Result<(), &'static str> {
    let Ok(uri) = address.parse::<Uri>() else { return Err("is none") };
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) if authority.as_str().contains('@') => {
            Err("holds a user; put credentials into `remote_bundles.auth_value_path`")
        }
        (Some("http" | "https"), Some(_)) => Ok(()),
        _ => Err("is none of `https` or `http`"),
    }
}
