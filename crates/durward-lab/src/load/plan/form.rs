//! What a request is written as, in each protocol: the parts that do not change are written once, before the load.

use bytes::BytesMut;
use durward_wire::rsocket::Credentials;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};

use super::super::address::TargetNode;
use super::super::cause::FailureCause;
use super::super::wire::sapl::{self, SaplMessage};
use super::super::wire::{LoadProtocol, RsocketSetup};
use super::compile::PlanCompiler;
use super::{FillSource, MissingCapture, RequestPiece, drop_controls, text_of, write, write_length};
use crate::scenario::template::{self, TemplateFilter, TemplatePart, TemplateReference};
use crate::scenario::{DataOrder, DataTable, HttpVersion, Scenario, ScenarioError, ScenarioStep};

/// What a request is written as.
#[derive(Debug)]
pub(in super::super) enum RequestForm {
    Http1(Http1Form),
    Http2(Box<Http2Form>),
    Rsocket(RsocketForm),
}

/// Text of HTTP/1.1.
#[derive(Debug)]
pub(in super::super) struct Http1Form {
    /// By node: the head up to the length of the body.
    heads: Vec<Vec<RequestPiece>>,
    body: Vec<RequestPiece>,
    has_length: bool,
}

/// A request of HTTP/2.
#[derive(Debug)]
pub(in super::super) struct Http2Form {
    method: Method,
    /// By node: the whole URI, read where it does not change.
    uris: Vec<(Vec<RequestPiece>, Option<Uri>)>,
    /// Headers that do not change.
    fixed: HeaderMap,
    filled: Vec<(HeaderName, Vec<RequestPiece>)>,
    body: Vec<RequestPiece>,
    has_length: bool,
}

/// A request of RSocket, with a message of SAPL.
#[derive(Debug)]
pub(in super::super) struct RsocketForm {
    pub(in super::super) route: String,
    pub(in super::super) is_stream: bool,
    /// How many items of a stream are asked for at once.
    pub(in super::super) demand: u32,
    /// What is answered.
    pub(in super::super) message: SaplMessage,
    /// The question as JSON.
    question: Vec<RequestPiece>,
    /// The same as it is sent, where it does not change.
    written: Option<Vec<u8>>,
}

impl RequestForm {
    /// Calls this for all that is filled in when a request is sent.
    pub(super) fn each_piece(&mut self, mut see: impl FnMut(&mut RequestPiece)) {
        match self {
            RequestForm::Http1(form) => form.heads.iter_mut().flatten().chain(&mut form.body).for_each(see),
            RequestForm::Http2(form) => {
                let uris = form.uris.iter_mut().flat_map(|(pieces, _)| pieces);
                let filled = form.filled.iter_mut().flat_map(|(_, pieces)| pieces);
                uris.chain(filled).chain(&mut form.body).for_each(&mut see);
            }
            RequestForm::Rsocket(form) => form.question.iter_mut().for_each(see),
        }
    }
}

impl Http1Form {
    /// Appends the request to a node.
    pub(in super::super) fn write(
        &self,
        node: usize,
        fill: &FillSource<'_>,
        tables: &[(DataTable, DataOrder)],
        body: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), MissingCapture> {
        let head = self.heads.get(node).ok_or(MissingCapture)?;
        for piece in head {
            let start = out.len();
            write(piece, fill, tables, out)?;
            if !matches!(piece, RequestPiece::Text(_)) {
                drop_controls(out, start);
            }
        }
        match self.body.as_slice() {
            [] if self.has_length => out.extend_from_slice(b"Content-Length: 0\r\n\r\n"),
            [] => out.extend_from_slice(b"\r\n"),
            [RequestPiece::Text(text)] => {
                write_length(out, text.len());
                out.extend_from_slice(text);
            }
            pieces => {
                body.clear();
                pieces.iter().try_for_each(|piece| write(piece, fill, tables, body))?;
                write_length(out, body.len());
                out.extend_from_slice(body);
            }
        }
        Ok(())
    }
}

impl Http2Form {
    /// The head of the request to a node; its body is put into `body`.
    pub(in super::super) fn build(
        &self,
        node: usize,
        fill: &FillSource<'_>,
        tables: &[(DataTable, DataOrder)],
        body: &mut Vec<u8>,
    ) -> Result<http::Request<()>, FailureCause> {
        let (pieces, fixed) = self.uris.get(node).ok_or(MissingCapture)?;
        let mut request = http::Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = match fixed {
            Some(uri) => uri.clone(),
            None => {
                let text = filled(pieces, fill, tables)?;
                Uri::try_from(text.as_slice()).map_err(|_| FailureCause::Unwritable)?
            }
        };
        let mut headers = self.fixed.clone();
        for (name, pieces) in &self.filled {
            let value = HeaderValue::from_bytes(&filled(pieces, fill, tables)?);
            headers.insert(name.clone(), value.map_err(|_| FailureCause::Unwritable)?);
        }
        body.clear();
        self.body.iter().try_for_each(|piece| write(piece, fill, tables, body))?;
        if self.has_length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// A path or a header's value, without control characters of captures and tables.
fn filled(
    pieces: &[RequestPiece],
    fill: &FillSource<'_>,
    tables: &[(DataTable, DataOrder)],
) -> Result<Vec<u8>, MissingCapture> {
    let mut out = Vec::new();
    for piece in pieces {
        let start = out.len();
        write(piece, fill, tables, &mut out)?;
        if !matches!(piece, RequestPiece::Text(_)) {
            drop_controls(&mut out, start);
        }
    }
    Ok(out)
}

impl RsocketForm {
    /// The message of the question.
    pub(in super::super) fn data<'d>(
        &'d self,
        fill: &FillSource<'_>,
        tables: &[(DataTable, DataOrder)],
        room: &'d mut Vec<u8>,
    ) -> Result<&'d [u8], FailureCause> {
        if let Some(written) = &self.written {
            return Ok(written);
        }
        room.clear();
        self.question.iter().try_for_each(|piece| write(piece, fill, tables, room))?;
        let mut out = BytesMut::new();
        sapl::write(self.message, room, &mut out).map_err(|_| FailureCause::Unwritable)?;
        room.clear();
        room.extend_from_slice(&out);
        Ok(room)
    }
}

impl PlanCompiler<'_> {
    /// What is spoken to the nodes: all of them speak the same.
    pub(super) fn protocol_of(&self, scenario: &Scenario) -> Result<LoadProtocol, ScenarioError> {
        let rsocket = self.nodes.iter().filter(|node| node.is_rsocket).count();
        if rsocket == 0 {
            return Ok(match scenario.load.http {
                HttpVersion::One => LoadProtocol::Http1,
                HttpVersion::Two => LoadProtocol::Http2,
            });
        }
        let wrong = |key: &str, problem: &str| Err(ScenarioError::at(key, problem));
        if rsocket < self.nodes.len() {
            return wrong(
                "target.addresses",
                "are all of RSocket or all of HTTP: measure one after the other",
            );
        }
        if scenario.load.http == HttpVersion::Two {
            return wrong("load.http", "is for HTTP, and the addresses are of RSocket");
        }
        if !scenario.load.keep_alive {
            return wrong("load.keep_alive", "is for HTTP/1.1; connections of RSocket are kept");
        }
        let text = |key: &str, value: &Option<String>| {
            let pieces = value.as_deref().map(|value| self.pieces(value)).transpose();
            let known = pieces.and_then(|pieces| pieces.map(|pieces| fixed_text(&pieces)).transpose());
            known.map_err(|problem| ScenarioError::at(format!("rsocket.{key}"), problem))
        };
        let (user, password) =
            (text("user", &scenario.rsocket.user)?, text("password", &scenario.rsocket.password)?);
        let credentials = match (text("token", &scenario.rsocket.token)?, user) {
            (Some(token), _) => Credentials::Bearer(token.into()),
            (None, Some(user)) => {
                Credentials::Simple { user: user.into(), password: password.unwrap_or_default().into() }
            }
            (None, None) => Credentials::None,
        };
        let (keep_alive, lifetime) = (scenario.rsocket.keep_alive.0, scenario.rsocket.lifetime.0);
        Ok(LoadProtocol::Rsocket(RsocketSetup { credentials, keep_alive, lifetime }))
    }

    /// What a step is written as.
    pub(super) fn form(&self, step: &ScenarioStep) -> Result<RequestForm, String> {
        match (&self.protocol, &step.rsocket) {
            (LoadProtocol::Rsocket(_), Some(_)) => self.rsocket(step),
            (LoadProtocol::Http1, None) => self.http1(step),
            (LoadProtocol::Http2, None) => self.http2(step),
            (LoadProtocol::Rsocket(_), None) => {
                let name = self.nodes.first().map_or("", |node| &node.name);
                Err(format!(
                    "is a request of HTTP, and `{name}` speaks RSocket: `use` a step such as `sapl-rsocket-decide-once`"
                ))
            }
            (LoadProtocol::Http1 | LoadProtocol::Http2, Some(_)) => {
                let name = self.nodes.first().map_or("", |node| &node.name);
                Err(format!(
                    "asks over RSocket, and `{name}` speaks HTTP: write the address as `rsocket://host:port`"
                ))
            }
        }
    }

    fn http1(&self, step: &ScenarioStep) -> Result<RequestForm, String> {
        let body = self.body(step)?;
        let heads = self.nodes.iter().map(|node| self.head(step, node)).collect::<Result<_, _>>()?;
        Ok(RequestForm::Http1(Http1Form { heads, has_length: has_length(step, &body), body }))
    }

    fn http2(&self, step: &ScenarioStep) -> Result<RequestForm, String> {
        let body = self.body(step)?;
        let method = Method::from_bytes(step.method().as_bytes()).map_err(|error| error.to_string())?;
        let uri = |node: &TargetNode| {
            let scheme = if node.is_tls { "https" } else { "http" };
            let path = step.path.as_deref().unwrap_or("/");
            let pieces = self.pieces(&format!(
                "{scheme}://{}{}{path}",
                escaped(&node.authority),
                escaped(&node.base)
            ))?;
            let fixed = match pieces.as_slice() {
                [RequestPiece::Text(text)] => {
                    let wrong = |error| format!("has the path `{path}`, which is none: {error}");
                    Some(Uri::try_from(text.as_slice()).map_err(wrong)?)
                }
                _ => None,
            };
            Ok((pieces, fixed))
        };
        let uris = self.nodes.iter().map(uri).collect::<Result<_, String>>()?;
        let (mut fixed, mut filled) = (HeaderMap::new(), Vec::new());
        for (name, value) in headers(step) {
            let wrong =
                |problem: String| format!("has the header `{name}`, which HTTP/2 does not take: {problem}");
            if ["keep-alive", "proxy-connection", "upgrade"].contains(&name.to_ascii_lowercase().as_str()) {
                return Err(wrong("it is of one connection".to_owned()));
            }
            let known = HeaderName::from_bytes(name.as_bytes()).map_err(|error| wrong(error.to_string()))?;
            match self.pieces(&value)?.as_slice() {
                [RequestPiece::Text(text)] => {
                    let text = HeaderValue::from_bytes(text).map_err(|error| wrong(error.to_string()))?;
                    fixed.insert(known, text);
                }
                pieces => filled.push((known, pieces.to_vec())),
            }
        }
        let has_length = has_length(step, &body);
        Ok(RequestForm::Http2(Box::new(Http2Form { method, uris, fixed, filled, body, has_length })))
    }

    fn rsocket(&self, step: &ScenarioStep) -> Result<RequestForm, String> {
        let route = step.rsocket.clone().unwrap_or_default();
        let message = match route.as_str() {
            "multi-decide" => SaplMessage::Identified,
            "multi-decide-all" | "multi-decide-all-once" => SaplMessage::Multi,
            _ => SaplMessage::Decision,
        };
        let question = self.body(step)?;
        let written = match question.as_slice() {
            [RequestPiece::Text(text)] => {
                let mut out = BytesMut::new();
                sapl::write(message, text, &mut out)?;
                Some(out.to_vec())
            }
            _ => None,
        };
        let demand = step.events.as_ref().and_then(|events| events.request_n);
        Ok(RequestForm::Rsocket(RsocketForm {
            is_stream: !route.ends_with("-once"),
            route,
            demand: demand.unwrap_or(durward_wire::rsocket::frame::UNBOUNDED),
            message,
            question,
            written,
        }))
    }

    fn body(&self, step: &ScenarioStep) -> Result<Vec<RequestPiece>, String> {
        if let Some(path) = &step.body_file {
            let bytes = self.folder.read(path).map_err(|error| {
                format!("needs {}, which cannot be read: {error}", self.folder.join(path).display())
            })?;
            return Ok(vec![RequestPiece::Text(bytes.to_vec())]);
        }
        match (&step.json, &step.body) {
            (Some(value), _) => self.pieces(&json_text(value)?),
            (None, Some(body)) => self.pieces(body),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn head(&self, step: &ScenarioStep, node: &TargetNode) -> Result<Vec<RequestPiece>, String> {
        let path = step.path.as_deref().unwrap_or("/");
        let mut head = format!(
            "{} {}{path} HTTP/1.1\r\nHost: {}\r\n",
            step.method(),
            escaped(&node.base),
            escaped(&node.authority)
        );
        for (name, value) in headers(step) {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.keep_alive {
            head += "Connection: close\r\n";
        }
        let pieces = self.pieces(&head)?;
        let lines = pieces.iter().map(|piece| {
            if let RequestPiece::Text(text) = piece {
                text.iter().filter(|byte| **byte == b'\n').count()
            } else {
                0
            }
        });
        if lines.sum::<usize>() != head.matches('\n').count() {
            return Err("has a secret or a varied value with a line break in its path or headers".to_owned());
        }
        Ok(pieces)
    }
}

/// Braces of addresses are no templates.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// Whether the length of a body is said, even of none.
fn has_length(step: &ScenarioStep, body: &[RequestPiece]) -> bool {
    !body.is_empty() || !matches!(step.method(), "GET" | "HEAD" | "DELETE" | "OPTIONS")
}

/// The headers of a step, with those that it leaves to the generator.
fn headers(step: &ScenarioStep) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        step.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let has = |name: &str| step.headers.keys().any(|key| key.eq_ignore_ascii_case(name));
    let accept = if step.events.is_some() { "text/event-stream" } else { "*/*" };
    let own = [
        ("Content-Type", "application/json", step.json.is_some()),
        ("User-Agent", "durward-lab", true),
        ("Accept", accept, true),
    ];
    for (name, value, is_meant) in own {
        if is_meant && !has(name) {
            all.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}

/// The text of pieces that are known before the run.
fn fixed_text(pieces: &[RequestPiece]) -> Result<Vec<u8>, String> {
    if pieces.iter().all(|piece| matches!(piece, RequestPiece::Text(_))) {
        let fill = FillSource { captures: &[], rows: &[], user: 0, request: 0 };
        Ok(text_of(pieces, &fill, &[]))
    } else {
        Err("is known before the run: `${env.NAME}`, `${file:PATH}`, `${vary.NAME}`".to_owned())
    }
}

/// A value as JSON, in which every `${NAME}` without a filter is written as JSON needs it.
fn json_text(value: &toml::Value) -> Result<String, String> {
    fn quoted(value: &toml::Value) -> Result<serde_json::Value, String> {
        Ok(match value {
            toml::Value::String(text) => {
                let parts = template::parse(text).map_err(|error| error.to_string())?;
                // Escaped only once: the quotes around it are written with the rest.
                let write = |part: &TemplatePart| match part {
                    TemplatePart::Text(text) => text.replace("${", "$${"),
                    TemplatePart::Value(reference, TemplateFilter::Plain) => {
                        format!("${{{}|json}}", name_of(reference))
                    }
                    TemplatePart::Value(reference, TemplateFilter::Url) => {
                        format!("${{{}|url}}", name_of(reference))
                    }
                    TemplatePart::Value(reference, TemplateFilter::Json) => {
                        format!("${{{}|json}}", name_of(reference))
                    }
                    TemplatePart::Value(reference, TemplateFilter::Base64) => {
                        format!("${{{}|base64}}", name_of(reference))
                    }
                };
                parts.iter().map(write).collect::<String>().into()
            }
            toml::Value::Array(all) => all.iter().map(quoted).collect::<Result<Vec<_>, _>>()?.into(),
            toml::Value::Table(table) => {
                let pairs = table.iter().map(|(key, value)| Ok((key.clone(), quoted(value)?)));
                serde_json::Value::Object(pairs.collect::<Result<_, String>>()?)
            }
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_) => serde_json::to_value(value).map_err(|error| error.to_string())?,
        })
    }
    Ok(quoted(value)?.to_string())
}

fn name_of(reference: &TemplateReference) -> String {
    match reference {
        TemplateReference::Capture(name) => name.clone(),
        TemplateReference::Data(Some(table), column) => format!("data.{table}.{column}"),
        TemplateReference::Data(None, column) => format!("data.{column}"),
        TemplateReference::Vary(name) => format!("vary.{name}"),
        TemplateReference::Environment(name) => format!("env.{name}"),
        TemplateReference::File(path) => format!("file:{path}"),
        TemplateReference::User => "user".to_owned(),
        TemplateReference::Request => "request".to_owned(),
    }
}
