//! OTLP/HTTP metrics (<https://opentelemetry.io/docs/specs/otlp/>) as protobuf: the few messages that gauges and sums need.

use prost::{Message, Oneof};

use super::{MetricBatch, SeriesValue, ValueKind};

const NS_PER_MS: u64 = 1_000_000;
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

/// `opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest`.
#[derive(Clone, PartialEq, Message)]
struct ExportMetricsRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct OtlpResource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<OtlpMetric>,
}

#[derive(Clone, PartialEq, Message)]
struct OtlpScope {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct OtlpMetric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(oneof = "OtlpData", tags = "5, 7")]
    data: Option<OtlpData>,
}

#[derive(Clone, PartialEq, Oneof)]
enum OtlpData {
    #[prost(message, tag = "5")]
    Gauge(OtlpGauge),
    #[prost(message, tag = "7")]
    Sum(OtlpSum),
}

#[derive(Clone, PartialEq, Message)]
struct OtlpGauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<DataPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct OtlpSum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<DataPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct DataPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    /// `as_double`, one of a oneof.
    #[prost(double, optional, tag = "4")]
    value: Option<f64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    /// `string_value`, one of a oneof.
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
}

/// The body of a request with these values.
pub(super) fn request(run: &str, started_unix_ms: u64, batches: &[MetricBatch]) -> Vec<u8> {
    let start_time_unix_nano = started_unix_ms * NS_PER_MS;
    let mut metrics: Vec<OtlpMetric> = Vec::new();
    for batch in batches {
        for measure in &batch.measures {
            let point = DataPoint {
                start_time_unix_nano: if measure.kind == ValueKind::Counter {
                    start_time_unix_nano
                } else {
                    0
                },
                time_unix_nano: batch.at_unix_ms * NS_PER_MS,
                value: Some(measure.value),
                attributes: measure.labels.iter().map(|(key, value)| pair(key, value)).collect(),
            };
            match metrics.iter_mut().find(|metric| metric.name == measure.name) {
                Some(metric) => metric.add(point),
                None => metrics.push(OtlpMetric::new(measure, point)),
            }
        }
    }
    let resource = OtlpResource { attributes: vec![pair("service.name", "durward-lab"), pair("run", run)] };
    let scope_metrics =
        vec![ScopeMetrics { scope: Some(OtlpScope { name: "durward-lab".to_owned() }), metrics }];
    let resource_metrics = vec![ResourceMetrics { resource: Some(resource), scope_metrics }];
    ExportMetricsRequest { resource_metrics }.encode_to_vec()
}

impl OtlpMetric {
    fn new(measure: &SeriesValue, point: DataPoint) -> OtlpMetric {
        let data_points = vec![point];
        let data = match measure.kind {
            ValueKind::Gauge => OtlpData::Gauge(OtlpGauge { data_points }),
            ValueKind::Counter => OtlpData::Sum(OtlpSum {
                data_points,
                aggregation_temporality: CUMULATIVE,
                is_monotonic: true,
            }),
        };
        OtlpMetric { name: measure.name.to_owned(), unit: unit(measure.name).to_owned(), data: Some(data) }
    }

    fn add(&mut self, point: DataPoint) {
        match &mut self.data {
            Some(OtlpData::Gauge(gauge)) => gauge.data_points.push(point),
            Some(OtlpData::Sum(sum)) => sum.data_points.push(point),
            None => {}
        }
    }
}

/// A unit of UCUM, by the end of the name.
fn unit(name: &str) -> &'static str {
    match name.rsplit_once('_').map_or("", |(_, end)| end) {
        "seconds" => "s",
        "bytes" => "By",
        _ => "1",
    }
}

fn pair(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { text: Some(value.to_owned()) }) }
}
