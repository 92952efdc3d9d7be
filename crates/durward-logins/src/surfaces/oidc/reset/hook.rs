//! What hands a link over: a program, or an address of HTTP. Neither is told more than JSON on its input, and nothing of that, or of what it
//! answers, goes into a log.

use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use durward_net::connect::Connector;
use durward_net::http::HttpClient;
use durward_session::identity::{IdentityError, hex};
use durward_session::read_secret;
use durward_settings::{ConfigError, Settings};
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use sha2::Sha256;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Where programs are looked for; they get no other variable of our environment, in which there may be secrets.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The field with the signature of what is posted.
const SIGNATURE: &str = "durward-signature";

/// The fewest bytes of a secret.
const SECRET_BYTES_MIN: usize = 16;

/// What hands links over.
pub(super) struct Hook {
    kind: HookKind,
    time_max: Duration,
}

enum HookKind {
    Command(Vec<String>),
    Webhook(Box<Webhook>),
}

struct Webhook {
    http: HttpClient,
    uri: Uri,
    secret: String,
}

/// Why a link was not handed over.
#[derive(Debug)]
pub(super) enum HookError {
    NotStarted(io::ErrorKind),
    TooSlow,
    Exited(ExitStatus),
    Answered(StatusCode),
    Unreachable(String),
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookError::NotStarted(why) => write!(f, "the command cannot be started: {why}"),
            HookError::TooSlow => f.write_str("the hook took too long"),
            HookError::Exited(status) => write!(f, "the command failed: {status}"),
            HookError::Answered(status) => write!(f, "the webhook answered {status}"),
            HookError::Unreachable(why) => write!(f, "the webhook was not reached: {why}"),
        }
    }
}

impl Hook {
    /// # Errors
    /// The secret cannot be read, or the address or the authorities cannot be used.
    pub(super) fn new(settings: &Settings) -> Result<Hook, ConfigError> {
        let reset = &settings.identity.reset;
        let time_max = Duration::from_millis(reset.hook_time_ms_max);
        let wrong = |name: &str, why: String| ConfigError::of_setting(&format!("identity.reset.{name}"), why);
        let Some(webhook) = &reset.webhook else {
            return Ok(Hook { kind: HookKind::Command(reset.command.clone()), time_max });
        };
        let uri = webhook.parse::<Uri>().map_err(|error| wrong("webhook", error.to_string()))?;
        let secret = match &reset.webhook_secret_path {
            Some(path) => read_secret(path),
            None => Err(IdentityError::new("is missing")),
        };
        let secret = secret.map_err(|error| wrong("webhook_secret_path", error.to_string()))?;
        let secret = secret.trim().to_owned();
        if secret.len() < SECRET_BYTES_MIN {
            let why = format!("holds fewer than {SECRET_BYTES_MIN} characters, which can be guessed");
            return Err(wrong("webhook_secret_path", why));
        }
        let sources = &settings.sources;
        let connector = Connector::new(sources.authorities.as_deref(), sources.connect_time_max())
            .map_err(|error| ConfigError::of_setting("sources.authorities", error.to_string()))?;
        let http = HttpClient::new(connector, Duration::ZERO, 0);
        let kind = HookKind::Webhook(Box::new(Webhook { http, uri, secret }));
        Ok(Hook { kind, time_max })
    }

    /// Hands a message over, once.
    ///
    /// # Errors
    /// It was not taken, or not in time.
    pub(super) async fn hand_over(&self, message: Vec<u8>) -> Result<(), HookError> {
        match &self.kind {
            HookKind::Command(words) => run(words, &message, self.time_max).await,
            HookKind::Webhook(webhook) => {
                let posted = timeout(self.time_max, webhook.post(message)).await;
                posted.unwrap_or(Err(HookError::TooSlow))
            }
        }
    }
}

async fn run(words: &[String], message: &[u8], time_max: Duration) -> Result<(), HookError> {
    let (program, arguments) = words.split_first().ok_or(HookError::NotStarted(io::ErrorKind::NotFound))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| HookError::NotStarted(error.kind()))?;
    let group = child.id();
    let Ok(waited) = timeout(time_max, tell(&mut child, message)).await else {
        end(child, group).await;
        return Err(HookError::TooSlow);
    };
    match waited {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(HookError::Exited(status)),
        Err(error) => Err(HookError::NotStarted(error.kind())),
    }
}

/// Writes to a program, and waits for its end.
async fn tell(child: &mut Child, message: &[u8]) -> io::Result<ExitStatus> {
    if let Some(mut input) = child.stdin.take() {
        // One that does not read says by its status whether that is well.
        let _ = input.write_all(message).await;
        let _ = input.shutdown().await;
    }
    child.wait().await
}

/// Ends a program and what it has started.
async fn end(mut child: Child, group: Option<u32>) {
    #[cfg(unix)]
    if let Some(group) = group.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    {
        // It may have ended in this moment.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = group;
    let _ = child.kill().await;
}

impl Webhook {
    /// Redirects are not followed: they are answers that are no success.
    async fn post(&self, message: Vec<u8>) -> Result<(), HookError> {
        let signature = signature(&self.secret, &message).and_then(|text| HeaderValue::try_from(text).ok());
        let signature = signature.ok_or_else(|| HookError::Unreachable("no signature".to_owned()))?;
        let mut request = Request::new(Full::new(Bytes::from(message)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(SIGNATURE, signature);
        let answer = self.http.send(request).await;
        let status = answer.map_err(|error| HookError::Unreachable(error.to_string()))?.status();
        if status.is_success() { Ok(()) } else { Err(HookError::Answered(status)) }
    }
}

/// `sha256=` and the HMAC of a message, in hexadecimal digits.
fn signature(secret: &str, message: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(message);
    Some(format!("sha256={}", hex(&mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_any_tool_does_it() {
        // `printf '{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef`
        assert_eq!(
            signature("0123456789abcdef", br#"{"a":1}"#).unwrap(),
            "sha256=1c76fbb930d3aa8b1633728fae212c68ca68a6752bb319b98be6fe17e86cf5b8"
        );
    }
}
