//! Calls of the session API, and what is to be made of their answers.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// After so long without an answer, nothing is known of what was asked.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What a call came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said<T> {
    Yes(T),
    /// It was decided: no.
    No(String),
    /// Nothing was promised: 503, a broken connection, or no answer in time.
    Nothing(String),
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The values of a header.
    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// What a browser asks, with the cookies that it has; a form where there is a body, whose values need no escape.
///
/// # Errors
/// As [`call`].
pub(crate) async fn browse(
    address: SocketAddr,
    line: &str,
    cookies: &str,
    form: &str,
) -> Result<Answer, String> {
    let headers = format!(
        "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\nCookie: {cookies}\r\n"
    );
    send(address, line, &headers, form).await
}

/// Calls once, over a connection of its own.
///
/// # Errors
/// There was no whole answer in time.
pub(crate) async fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: &str,
    body: &Value,
) -> Result<Answer, String> {
    let bearer = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let headers = format!("Content-Type: application/json\r\n{bearer}");
    send(address, &format!("{method} {path}"), &headers, &body.to_string()).await
}

/// Posts a form, whose values need no escape.
///
/// # Errors
/// As [`call`].
pub(crate) async fn call_form(
    address: SocketAddr,
    path: &str,
    form: &[(&str, &str)],
) -> Result<Answer, String> {
    let pairs: Vec<String> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let headers = "Content-Type: application/x-www-form-urlencoded\r\n";
    send(address, &format!("POST {path}"), headers, &pairs.join("&")).await
}

async fn send(address: SocketAddr, line: &str, headers: &str, body: &str) -> Result<Answer, String> {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok::<String, std::io::Error>(text)
    };
    let text = match timeout(WAIT_MAX, exchange).await {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("no answer in time".to_owned()),
    };
    let cut = || format!("an answer that was cut off: {text}");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(cut)?;
    let (head, length) = (head.to_owned(), head.to_ascii_lowercase());
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    if length.is_some_and(|length| length.parse() != Ok(body.len())) {
        return Err(cut());
    }
    Ok(Answer { status, head, body: body.to_owned() })
}

async fn post(address: SocketAddr, path: &str, token: &str, body: &Value) -> Said<Answer> {
    match call(address, "POST", path, token, body).await {
        Ok(answer) if answer.status == 200 => Said::Yes(answer),
        Ok(answer) if answer.status == 503 => Said::Nothing(answer.body),
        Ok(answer) => Said::No(format!("{} {}", answer.status, answer.body)),
        Err(why) => Said::Nothing(why),
    }
}

/// Logs in; the token.
pub(crate) async fn login(address: SocketAddr, user: &str, password: &str) -> Said<String> {
    match post(address, "/v1/login", "", &json!({ "user": user, "password": password })).await {
        Said::Yes(answer) => Said::Yes(answer.json()["token"].as_str().unwrap().to_owned()),
        Said::No(why) => Said::No(why),
        Said::Nothing(why) => Said::Nothing(why),
    }
}

/// Whether a session lives; it is not used by that.
pub(crate) async fn validate(address: SocketAddr, token: &str) -> Said<()> {
    match post(address, "/v1/sessions/validate", token, &json!({ "touch": false })).await {
        Said::Yes(answer) if answer.json()["valid"] == true => Said::Yes(()),
        Said::Yes(answer) => Said::No(answer.body),
        Said::No(why) => panic!("a validation is answered by yes, no, or 503: {why}"),
        Said::Nothing(why) => Said::Nothing(why),
    }
}

/// Ends a session.
pub(crate) async fn logout(address: SocketAddr, token: &str) -> Said<()> {
    match post(address, "/v1/sessions/logout", token, &json!({})).await {
        Said::Yes(_) => Said::Yes(()),
        Said::No(why) => Said::No(why),
        Said::Nothing(why) => Said::Nothing(why),
    }
}

/// Whether a node says that it is ready, and what it lacks if not.
pub(crate) async fn ready(address: SocketAddr) -> Said<()> {
    match call(address, "GET", "/health/ready", "", &Value::Null).await {
        Ok(answer) if answer.status == 200 => Said::Yes(()),
        Ok(answer) => Said::Nothing(answer.body),
        Err(why) => Said::Nothing(why),
    }
}
