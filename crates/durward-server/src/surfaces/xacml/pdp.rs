//! `POST /pdp`: a request in, decisions out (REST profile of XACML 3.0, version 1.1, section 2.2).
//!
//! Every request that is XACML at all is answered with 200 and a decision, Indeterminate included; 400 is for what
//! cannot be read as a request, with the place (section 2.2.2).

use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use durward_common::access::auth::Identity;
use durward_common::access::subject::attributes::{self, NO_SESSIONS, Named, WithTokens};
use durward_common::decision_log::{Caller, DecidedRequest, Surface as Way};
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::negotiate::{MediaType, Offer, choose};
use durward_common::surfaces::http::problem::{Problem, form_of_problems};
use durward_common::surfaces::http::{Answer, Authenticated, Form, text_answer, text_of};
use durward_net::trace::Trace;
use durward_pdp::record::Record;
use durward_pdp::xacml::encoding::Utf16;
use durward_pdp::xacml::request::{Limits, RawRequest, RequestError, RequestErrorKind, Version};
use durward_pdp::xacml::response::Status;
use durward_pdp::{AttributeSource, Pdp, Request, Response};
use hyper::StatusCode;
use hyper::header;

use super::Surface;
use super::dialect::Dialect;
use super::wire::{read_request, write_response};
use durward_sources::{AttributeSources, Rounds};
use durward_wire::http1::DirectRequest;

const XACML_XML: &str = "xacml+xml";

/// What a body says it is.
#[derive(Clone, Copy, Debug)]
struct Declared {
    form: Form,
    /// The form in which the answer goes out unless another one is asked for.
    like: Offer,
    /// Whether it says that it is in UTF-16; in which order of bytes, the body itself tells (RFC 7303, 3).
    is_utf_16: bool,
}

/// One request, and what answers it.
pub(super) struct Call<'c> {
    pub(super) surface: &'c Surface,
    /// Who calls.
    pub(super) client: SocketAddr,
    /// What the request is called in logs.
    pub(super) id: &'c str,
    pub(super) trace: &'c Trace,
    /// Who they are, where they have to say.
    pub(super) caller: Option<Identity>,
}

/// Answers one request.
pub(super) async fn answer(
    mut call: Call<'_>,
    dialect: Dialect,
    request: hyper::Request<Incoming>,
) -> Answer {
    let (head, body) = request.into_parts();
    let accept = text_of(&head.headers, &header::ACCEPT);
    let refusal = |problem: Problem, otherwise| dialect.refusal(problem, form_of_problems(accept, otherwise));
    match call.surface.caller(&head).await {
        Ok(caller) => call.caller = caller,
        Err(problem) => return refusal(unread(&call, body, problem).await, Form::Json),
    }
    let call = &call;
    let client = Some(call.client.ip());
    if !call.surface.rates.allows(call.caller.as_ref(), client, Instant::now()) {
        return refusal(unread(call, body, Problem::too_many()).await, Form::Json);
    }
    let is_coded = head.headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    let declared = match text_of(&head.headers, &header::CONTENT_TYPE) {
        _ if is_coded => Err(unsupported("send the body without `Content-Encoding`")),
        content_type => declared(content_type),
    };
    let declared = match declared {
        Ok(declared) => declared,
        Err(problem) => return refusal(unread(call, body, problem).await, Form::Json),
    };
    let Some(offer) = choose(accept, &offers(declared)) else {
        let detail = "an answer can be `application/xacml+xml`, `application/xml`, `text/xml`, \
                      `application/xacml+json` or `application/json`, and `Accept` wants none of them";
        let problem = Problem::new(StatusCode::NOT_ACCEPTABLE, detail);
        return refusal(unread(call, body, problem).await, declared.form);
    };
    let none = || Problem::unavailable("there are no policies in force; see /health/ready");
    if call.surface.policies.pdp().is_none() {
        return refusal(unread(call, body, none()).await, declared.form);
    }
    let bytes = match call.surface.bodies.receive(body).await {
        Ok(bytes) => bytes,
        Err(problem) => return refusal(problem, declared.form),
    };
    let Some(pdp) = call.surface.policies.pdp().clone() else { return refusal(none(), declared.form) };
    let to = To { dialect, offer, length: bytes.len() };
    let answered = match guarded(call, || read(call, &pdp, declared, &bytes, dialect)) {
        Ok(ParsedRequest::Decided(response, took)) => {
            guarded(call, || Ok(counted(call, &pdp, (Version::V3, &response), took, to)))
        }
        Ok(ParsedRequest::Whole(request)) => decide(call, &pdp, request, to).await,
        Ok(ParsedRequest::Unreadable(status)) => Ok(told(call, &pdp, Decided::nothing(status), to)),
        Ok(ParsedRequest::WithTokens(request, tokens)) => match name(call, request, tokens).await {
            Ok(named) => decide_named(call, &pdp, named, to).await,
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    let mut answer = answered.unwrap_or_else(|problem| refusal(problem, declared.form));
    if call.caller.is_some() {
        answer.extensions_mut().insert(Authenticated);
    }
    answer
}

/// As [`Surface::answer_direct`].
pub(super) fn answer_direct(
    surface: &Surface,
    request: &DirectRequest<'_>,
    client: Option<IpAddr>,
) -> Option<DirectAnswer> {
    if !surface.answers_directly() || !surface.bodies.may_have(request.body.len()) {
        return None;
    }
    let declared = declared(request.content_type).ok().filter(|declared| !declared.is_utf_16)?;
    let now = Instant::now();
    let caller = surface.remembered(request.authorization, now)?;
    // Whoever asks too often is refused by the library, undecided.
    if !surface.lets_assert(caller.as_ref()) || !surface.rates.has_room_directly(caller.as_ref(), client, now)
    {
        return None;
    }
    let offer = choose(request.accept, &offers(declared))?;
    let pdp = surface.policies.pdp();
    let pdp = pdp.as_ref()?;
    let look = |raw: &RawRequest<'_>| {
        decide_raw(pdp, raw).or_else(|| {
            let begun = Instant::now();
            let request = raw.to_request().filter(|_| attributes::is_without_sessions(raw.named()))?;
            Some((pdp.decide(&request), begun.elapsed()))
        })
    };
    let decide = || {
        let (response, took) =
            look_at(declared.form, request.body, &surface.request_limits, look).flatten()?;
        let text = write_response(form_of(offer), Version::V3, &response);
        Some((response, took, text))
    };
    let (response, took, text) = catch_unwind(AssertUnwindSafe(decide)).ok()??;
    if !surface.rates.allows(caller.as_ref(), client, now) {
        return None;
    }
    if caller.is_some() {
        surface.metrics.authenticated("ok");
    }
    count(surface, pdp, &response, took, request.request_id.unwrap_or_default());
    Some(DirectAnswer { media_type: media_type(Version::V3, offer), text })
}

/// How an answer goes out.
#[derive(Clone, Copy)]
struct To {
    dialect: Dialect,
    offer: Offer,
    /// Bytes of the request, for the decision log.
    length: usize,
}

/// A panic is a mistake of ours; it must cost one request, not the process and not the connection.
fn guarded<T>(call: &Call<'_>, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        call.surface.metrics.panics.inc();
        tracing::error!(request_id = %call.id, "a request ended in a panic; please report it");
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "a mistake in durward; nothing was decided"))
    })
}

/// A small body is taken first, so that the connection can go on.
async fn unread(call: &Call<'_>, body: Incoming, problem: Problem) -> Problem {
    match call.surface.bodies.receive(body).await {
        Ok(_) => problem,
        Err(_) => problem.closing(),
    }
}

/// What reading a body gives: its request, the decision already, or the reason why it cannot be read.
enum ParsedRequest {
    /// It was decided from its text alone, in this time.
    Decided(Response, Duration),
    Whole(Request),
    /// Subjects are named by tokens.
    WithTokens(Request, WithTokens),
    /// The decision is Indeterminate with this status.
    Unreadable(Status),
}

fn read(
    call: &Call<'_>,
    pdp: &Pdp,
    declared: Declared,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<ParsedRequest, Problem> {
    let Declared { form, is_utf_16, .. } = declared;
    if is_utf_16 && Utf16::of_document(bytes).is_none() {
        let detail = "`Content-Type` says that the body is in UTF-16, and it is not";
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let has_short_ids = form == Form::Json && (dialect.has_short_ids() || call.surface.json_short_ids);
    let read = match dialect.read(form, bytes) {
        Some(read) => read,
        None => match read_plain(call, pdp, (form, has_short_ids), bytes) {
            Some(PlainRequest::Decided(response, took)) => return Ok(ParsedRequest::Decided(response, took)),
            Some(PlainRequest::Whole(request)) => Ok(*request),
            None => read_request(form, bytes, &call.surface.request_limits),
        },
    };
    let mut request = match read {
        Ok(request) => request,
        Err(error) => {
            let status = dialect.status_of(form, &error).map(Ok);
            let status = status.unwrap_or_else(|| status_of_unreadable(call, form, &error, bytes));
            return status.map(ParsedRequest::Unreadable);
        }
    };
    if has_short_ids {
        request.expand_short_ids();
    }
    let lets_assert = call.surface.lets_assert(call.caller.as_ref());
    match attributes::looked_at(&request, lets_assert).map_err(wrong_subject)? {
        None => Ok(ParsedRequest::Whole(request)),
        Some(tokens) => Ok(ParsedRequest::WithTokens(request, tokens)),
    }
}

/// A request that [`RawRequest`] reads, as most are.
enum PlainRequest {
    Decided(Response, Duration),
    Whole(Box<Request>),
}

/// Decides from the text of a request alone, unless somebody wants to see the whole of it. `None` says nothing about the text.
fn read_plain(
    call: &Call<'_>,
    pdp: &Pdp,
    (form, has_short_ids): (Form, bool),
    bytes: &[u8],
) -> Option<PlainRequest> {
    let is_seen = has_short_ids || call.surface.shows_requests(call.caller.as_ref());
    let look = |raw: &RawRequest<'_>| {
        let decided = if is_seen { None } else { decide_raw(pdp, raw) };
        match decided {
            Some((response, took)) => Some(PlainRequest::Decided(response, took)),
            None => raw.to_request().map(|request| PlainRequest::Whole(Box::new(request))),
        }
    };
    look_at(form, bytes, &call.surface.request_limits, look).flatten()
}

/// Decides from the text of a request alone, in so much time; `None` where policies look deeper, or a subject may be named by a token.
fn decide_raw(pdp: &Pdp, raw: &RawRequest<'_>) -> Option<(Response, Duration)> {
    if !attributes::is_without_sessions(raw.named()) {
        return None;
    }
    let begun = Instant::now();
    pdp.decide_raw_request(raw).map(|response| (response, begun.elapsed()))
}

/// What `look` makes of a request that [`RawRequest`] reads.
fn look_at<T>(
    form: Form,
    bytes: &[u8],
    limits: &Limits,
    look: impl FnOnce(&RawRequest<'_>) -> T,
) -> Option<T> {
    match form {
        Form::Xml => RawRequest::with_xml(bytes, limits, look),
        Form::Json => RawRequest::with_json(bytes, limits, look),
    }
}

/// What is wrong with how a subject is named is the caller's mistake, and nothing is decided.
fn wrong_subject(why: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, why)
}

async fn name(call: &Call<'_>, request: Request, tokens: WithTokens) -> Result<Named, Problem> {
    let subjects = call.surface.subjects.as_ref().ok_or_else(|| wrong_subject(NO_SESSIONS.to_owned()))?;
    Box::pin(tokens.named(request, subjects)).await.map_err(wrong_subject)
}

async fn decide(call: &Call<'_>, pdp: &Pdp, request: Request, to: To) -> Result<Answer, Problem> {
    let decided = Decided::by(call, pdp, request).await?;
    guarded(call, || Ok(told(call, pdp, decided, to)))
}

async fn decide_named(call: &Call<'_>, pdp: &Pdp, mut named: Named, to: To) -> Result<Answer, Problem> {
    let request = std::mem::replace(&mut named.request, Request::builder().build());
    let mut decided = Decided::by(call, pdp, request).await?;
    guarded(call, || {
        named.settle(&mut decided.request, &mut decided.response);
        Ok(told(call, pdp, decided, to))
    })
}

/// Writes, counts, and hands the decision log an entry for each result.
fn told(call: &Call<'_>, pdp: &Pdp, decided: Decided, to: To) -> Answer {
    let answer = counted(call, pdp, (decided.request.version, &decided.response), decided.duration, to);
    if call.surface.recorder.is_on() {
        record(call, pdp, decided, to);
    }
    answer
}

/// Counts, and writes: in XML in this version.
fn counted(
    call: &Call<'_>,
    pdp: &Pdp,
    (version, response): (Version, &Response),
    duration: Duration,
    to: To,
) -> Answer {
    count(call.surface, pdp, response, duration, call.id);
    let own = to.dialect.written(response);
    own.unwrap_or_else(|| written(version, response, to.offer))
}

fn count(surface: &Surface, pdp: &Pdp, response: &Response, duration: Duration, request_id: &str) {
    if let Some(note) = pdp.first_mismatch(durward_pdp::RequestLanguage::Xacml) {
        tracing::warn!(request_id, "{note}");
    }
    surface.metrics.decided(response.results.iter().map(|result| result.decision), duration);
}

fn record(call: &Call<'_>, pdp: &Pdp, decided: Decided, to: To) {
    let Decided { request, response, records, duration } = decided;
    let caller = Caller {
        surface: Way::Xacml,
        route: to.dialect.route(),
        request_id: call.id,
        client: Some(call.client),
        tenant: &call.surface.tenant,
        name: call.caller.as_ref().map_or("", |caller| caller.name.as_str()),
        trace: call.trace,
    };
    let (snapshot, length) = (pdp.snapshot().id, to.length);
    let decided = DecidedRequest { request, response, records, snapshot, duration, length };
    call.surface.recorder.results(&caller, decided);
}

/// A request with its response.
struct Decided {
    request: Request,
    response: Response,
    /// For each result, where decisions are recorded.
    records: Vec<Record>,
    duration: Duration,
}

impl Decided {
    async fn by(call: &Call<'_>, pdp: &Pdp, request: Request) -> Result<Decided, Problem> {
        let surface = call.surface;
        let begun = Instant::now();
        let (response, records) = match &surface.sources {
            None => guarded(call, || {
                Ok(match surface.recorder.is_on() {
                    true => pdp.decide_recorded(&request, surface.recorder.recording()),
                    false => (pdp.decide(&request), Vec::new()),
                })
            })?,
            Some(sources) => Decided::with(call, pdp, &request, sources).await?,
        };
        Ok(Decided { request, response, records, duration: begun.elapsed() })
    }

    /// Decides with what attribute sources know; the records are those of the last round.
    async fn with(
        call: &Call<'_>,
        pdp: &Pdp,
        request: &Request,
        sources: &AttributeSources,
    ) -> Result<(Response, Vec<Record>), Problem> {
        let mut records = Vec::new();
        let decide = |source: &dyn AttributeSource| {
            guarded(call, || {
                if !call.surface.recorder.is_on() {
                    return Ok(pdp.decide_with(request, source));
                }
                let (response, recorded) =
                    pdp.decide_recorded_with(request, source, call.surface.recorder.recording());
                records = recorded;
                Ok(response)
            })
        };
        Ok(match sources.decide(decide).await? {
            Rounds::Enough(response) => (response, records),
            // What the last round lacked is not why it ended.
            Rounds::TooMany(message) => {
                let snapshot = records.first().map_or_else(|| pdp.snapshot().id, |record| record.snapshot);
                let records = vec![Record::failed(snapshot, &message)];
                (Response::indeterminate(Status::processing_error(message)), records)
            }
        })
    }

    /// Indeterminate, because the request cannot be read.
    fn nothing(status: Status) -> Decided {
        let request = Request::builder().build();
        let response = Response::indeterminate(status);
        Decided { request, response, records: Vec::new(), duration: Duration::ZERO }
    }
}

/// What becomes of a request that cannot be read: a status for an Indeterminate answer where only a value is wrong
/// (XACML 3.0, 7.3), else a problem.
fn status_of_unreadable(
    call: &Call<'_>,
    form: Form,
    error: &RequestError,
    bytes: &[u8],
) -> Result<Status, Problem> {
    match error.kind {
        RequestErrorKind::Value => Ok(error.status()),
        RequestErrorKind::IllFormed | RequestErrorKind::Structure => Err(match in_other_form(form, bytes) {
            Some(detail) => Problem::new(StatusCode::BAD_REQUEST, detail),
            None if form == Form::Json && is_subscription(bytes) => {
                let detail =
                    "this is a SAPL subscription, not an XACML request; send it to /api/pdp/decide-once";
                Problem::new(StatusCode::BAD_REQUEST, detail)
            }
            None => Problem::request(StatusCode::BAD_REQUEST, error),
        }),
        RequestErrorKind::Limit => {
            call.surface.metrics.limit_hit("limits.request");
            Err(Problem::request(StatusCode::PAYLOAD_TOO_LARGE, error))
        }
    }
}

/// What is said of JSON that is sent as XML, and the reverse: the mistake is in the header, not in the body.
fn in_other_form(form: Form, bytes: &[u8]) -> Option<&'static str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    match (form, bytes.first()) {
        (Form::Xml, Some(b'{' | b'[')) => Some(
            "the body is JSON, and `Content-Type` says XML; send it with `Content-Type: application/xacml+json`",
        ),
        (Form::Json, _) if bytes.starts_with(b"<") || Utf16::of_document(bytes).is_some() => Some(
            "the body is XML, and `Content-Type` says JSON; send it with `Content-Type: application/xacml+xml`",
        ),
        (Form::Xml | Form::Json, _) => None,
    }
}

/// Whether a body is what SAPL's clients send.
fn is_subscription(bytes: &[u8]) -> bool {
    let Ok(value) = durward_pdp::ir::json::read(bytes) else { return false };
    let has = |name: &str| {
        value.as_object().is_some_and(|object| object.iter().any(|(key, _)| key.as_str() == name))
    };
    ["subject", "action", "resource"].into_iter().all(has)
}

fn written(version: Version, response: &Response, offer: Offer) -> Answer {
    let text = write_response(form_of(offer), version, response);
    text_answer(media_type(version, offer), text)
}

fn form_of(offer: Offer) -> Form {
    if offer.sub.ends_with("json") { Form::Json } else { Form::Xml }
}

fn media_type(version: Version, offer: Offer) -> &'static str {
    match (offer.main, offer.sub) {
        ("application", XACML_XML) => match version {
            Version::V1 => "application/xacml+xml; version=1.0",
            Version::V2 => "application/xacml+xml; version=2.0",
            Version::V3 => "application/xacml+xml; version=3.0",
        },
        ("application", "xml") => "application/xml",
        ("text", "xml") => "text/xml; charset=utf-8",
        ("application", "xacml+json") => "application/xacml+json",
        _ => "application/json",
    }
}

/// The forms of an answer, the request's own first.
fn offers(declared: Declared) -> [Offer; 6] {
    let version = declared.like.version.or(Some("3.0"));
    let xacml_xml = Offer { main: "application", sub: XACML_XML, version };
    let [xml, text, xacml_json, json] =
        [("application", "xml"), ("text", "xml"), ("application", "xacml+json"), ("application", "json")]
            .map(|(main, sub)| Offer { main, sub, version: None });
    match declared.form {
        Form::Xml => [declared.like, xacml_xml, xml, text, xacml_json, json],
        Form::Json => [declared.like, xacml_json, json, xacml_xml, xml, text],
    }
}

/// Reads `Content-Type`.
fn declared(content_type: Option<&str>) -> Result<Declared, Problem> {
    let media_type = content_type.and_then(MediaType::parse);
    let Some(media_type) = media_type else {
        return Err(unsupported(&format!("say in `Content-Type` what the body is: {TAKEN}")));
    };
    let charset = media_type.parameter("charset");
    let is_utf_16 = charset.is_some_and(is_utf_16);
    if charset.is_some_and(|charset| !is_utf_16 && !is_utf_8(charset)) {
        return Err(unsupported("send the body in UTF-8, or, if it is XML, in UTF-16"));
    }
    let offer = |main, sub, version| Offer { main, sub, version };
    let known = [
        ("application", XACML_XML, Form::Xml),
        ("application", "xml", Form::Xml),
        ("text", "xml", Form::Xml),
        ("application", "xacml+json", Form::Json),
        ("application", "json", Form::Json),
    ];
    let Some((main, sub, form)) = known.into_iter().find(|(main, sub, _)| media_type.is(main, sub)) else {
        return Err(unsupported(&format!("the body can be {TAKEN}")));
    };
    let version = match media_type.parameter("version") {
        _ if sub != XACML_XML => None,
        None | Some("3.0") => Some("3.0"),
        Some("2.0") => Some("2.0"),
        Some("1.0" | "1.1") => Some("1.0"),
        Some(_) => return Err(unsupported("the versions of XACML known here are 1.0, 1.1, 2.0 and 3.0")),
    };
    if is_utf_16 && form == Form::Json {
        return Err(unsupported("JSON is sent in UTF-8 (RFC 8259, 8.1)"));
    }
    Ok(Declared { form, like: offer(main, sub, version), is_utf_16 })
}

fn unsupported(detail: &str) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
}

const TAKEN: &str = "`application/xacml+xml`, `application/xml`, `text/xml`, `application/xacml+json` or \
                     `application/json`";

fn is_utf_8(charset: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known))
}

fn is_utf_16(charset: &str) -> bool {
    ["utf-16", "utf-16le", "utf-16be"].iter().any(|known| charset.eq_ignore_ascii_case(known))
}
