//! Spans and log records in the JSON of OTLP: that of protocol buffers, but for numbers of traces and spans, which are hexadecimal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durward_settings::OtlpSettings;
use durward_wire::trace::SpanId;
use serde_json::{Value, json};

use super::{DecisionSpan, LogRecord, RequestSpan, Told};

/// `SPAN_KIND_INTERNAL`, `SPAN_KIND_SERVER`.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;

/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// `SEVERITY_NUMBER_INFO`, `SEVERITY_NUMBER_WARN`.
const INFO: u8 = 9;
const WARN: u8 = 13;

/// It is known whether the parent is of another service (`SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK`), and it is.
const REMOTE_KNOWN: u32 = 0x100;
const REMOTE: u32 = 0x200;

/// What stands around the spans of a batch, or around its log records.
pub(super) struct Envelope {
    traces: String,
    logs: String,
}

const ENDING: &str = "]}]}]}";

impl Envelope {
    pub(super) fn new(settings: &OtlpSettings) -> Envelope {
        let own = [
            ("service.name", settings.service_name.as_str()),
            ("service.version", env!("CARGO_PKG_VERSION")),
        ];
        let more = settings.resource.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let attributes: Vec<Value> =
            own.into_iter().chain(more).map(|(key, value)| text(key, value)).collect();
        let resource = json!({ "attributes": attributes });
        let scope = json!({ "name": "durward", "version": env!("CARGO_PKG_VERSION") });
        let begin = |of: &str, scopes: &str, items: &str| {
            format!(r#"{{"{of}":[{{"resource":{resource},"{scopes}":[{{"scope":{scope},"{items}":["#)
        };
        Envelope {
            traces: begin("resourceSpans", "scopeSpans", "spans"),
            logs: begin("resourceLogs", "scopeLogs", "logRecords"),
        }
    }

    pub(super) fn traces(&self, spans: &[String]) -> String {
        [&self.traces, spans.join(",").as_str(), ENDING].concat()
    }

    pub(super) fn logs(&self, records: &[String]) -> String {
        [&self.logs, records.join(",").as_str(), ENDING].concat()
    }
}

pub(super) fn request(span: &RequestSpan<'_>) -> String {
    let RequestSpan { trace, method, route, status, request_id, client, time, duration } = span;
    let mut out = json!({
        "traceId": trace.own.trace.to_string(),
        "spanId": trace.own.span.to_string(),
        "flags": flags(trace.own.flags, trace.caller.is_some()),
        "name": format!("{method} {route}"),
        "kind": SERVER,
        "startTimeUnixNano": nanoseconds(begin(*time, *duration)),
        "endTimeUnixNano": nanoseconds(*time),
        "attributes": [
            text("http.request.method", method),
            text("http.route", route),
            number("http.response.status_code", i64::from(*status)),
            text("client.address", &client.to_string()),
            text("durward.request_id", request_id),
        ],
    });
    with(&mut out, "parentSpanId", trace.caller.map(|caller| caller.to_string().into()));
    with(&mut out, "traceState", trace.state.as_deref().map(Value::from));
    with(&mut out, "status", (*status >= 500).then(|| json!({ "code": ERROR })));
    out.to_string()
}

/// `own` is the number of the span where there is a request span around it.
pub(super) fn decision(span: &DecisionSpan<'_>, own: SpanId) -> String {
    let DecisionSpan { trace, of, snapshot, policies, error, time, duration } = span;
    let policies: Vec<Value> = policies.iter().map(|id| json!({ "stringValue": id })).collect();
    let mut attributes = told(of);
    attributes.push(number("durward.snapshot", i64::try_from(*snapshot).unwrap_or(i64::MAX)));
    attributes.push(json!({ "key": "durward.policies", "value": { "arrayValue": { "values": policies } } }));
    let (id, parent) = match of.is_inner {
        true => (own, Some(trace.own.span)),
        false => (trace.own.span, trace.caller),
    };
    let is_remote = !of.is_inner && parent.is_some();
    let mut out = json!({
        "traceId": trace.own.trace.to_string(),
        "spanId": id.to_string(),
        "flags": flags(trace.own.flags, is_remote),
        "name": "decide",
        "kind": if of.is_inner { INTERNAL } else { SERVER },
        "startTimeUnixNano": nanoseconds(begin(*time, duration.unwrap_or_default())),
        "endTimeUnixNano": nanoseconds(*time),
        "attributes": attributes,
    });
    with(&mut out, "parentSpanId", parent.map(|parent| parent.to_string().into()));
    with(&mut out, "traceState", trace.state.as_deref().map(Value::from));
    with(&mut out, "status", error.as_ref().map(|message| json!({ "code": ERROR, "message": message })));
    out.to_string()
}

pub(super) fn log(record: &LogRecord<'_>) -> String {
    let LogRecord { trace, of, line, is_error, time } = record;
    let (severity, word) = if *is_error { (WARN, "WARN") } else { (INFO, "INFO") };
    json!({
        "timeUnixNano": nanoseconds(*time),
        "observedTimeUnixNano": nanoseconds(*time),
        "severityNumber": severity,
        "severityText": word,
        "eventName": "durward.decision",
        "body": { "stringValue": line },
        "attributes": told(of),
        "traceId": trace.own.trace.to_string(),
        "spanId": trace.own.span.to_string(),
        "flags": u32::from(trace.own.flags),
    })
    .to_string()
}

fn told(of: &Told<'_>) -> Vec<Value> {
    vec![
        text("durward.surface", of.surface),
        text("durward.route", of.route),
        text("durward.tenant", of.tenant),
        text("durward.request_id", of.request_id),
        text("durward.decision", of.decision),
    ]
}

fn flags(own: u8, is_remote: bool) -> u32 {
    u32::from(own) | REMOTE_KNOWN | if is_remote { REMOTE } else { 0 }
}

fn begin(end: SystemTime, duration: Duration) -> SystemTime {
    end.checked_sub(duration).unwrap_or(UNIX_EPOCH)
}

/// Numbers of 64 bits are texts.
fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()).to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn with(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::traces::Traces;

    #[test]
    fn a_batch_is_one_document() {
        let traces = Traces::new(true);
        let mut trace = traces.begin();
        trace.caller = Some(traces.span());
        trace.state = Some("a=1".into());
        let of = Told {
            surface: "xacml",
            route: "/pdp",
            tenant: "default",
            request_id: "r\"1",
            decision: "Permit",
            is_inner: true,
        };
        let (time, duration) =
            (UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789), Duration::from_micros(5));
        let own = traces.span();
        let span = DecisionSpan {
            trace: &trace,
            of,
            snapshot: 3,
            policies: vec!["p"],
            error: None,
            time,
            duration: Some(duration),
        };
        let settings = OtlpSettings {
            resource: [("deployment.environment.name".to_owned(), "test".to_owned())].into(),
            ..OtlpSettings::default()
        };
        let text = Envelope::new(&settings).traces(&[decision(&span, own), decision(&span, own)]);
        let document: Value = serde_json::from_str(&text).unwrap();
        let resource = &document["resourceSpans"][0]["resource"]["attributes"];
        assert_eq!(resource[0], json!({"key": "service.name", "value": {"stringValue": "durward"}}));
        assert_eq!(resource[2]["key"], "deployment.environment.name");
        let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        assert_eq!((spans.len(), &spans[0]), (2, &spans[1]));
        assert_eq!(spans[0]["startTimeUnixNano"], "1700000000123451789");
        assert_eq!(spans[0]["endTimeUnixNano"], "1700000000123456789");
        assert_eq!(spans[0]["parentSpanId"], trace.own.span.to_string());
        assert_eq!((&spans[0]["flags"], &spans[0]["traceState"]), (&json!(0x101), &json!("a=1")));
        let record = LogRecord { trace: &trace, of, line: "{\"a\":1}", is_error: true, time };
        let text = Envelope::new(&settings).logs(&[log(&record)]);
        let document: Value = serde_json::from_str(&text).unwrap();
        let record = &document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        assert_eq!(record["body"]["stringValue"], "{\"a\":1}");
        assert_eq!(
            (&record["severityNumber"], &record["traceId"]),
            (&json!(13), &json!(trace.own.trace.to_string()))
        );
    }
}
