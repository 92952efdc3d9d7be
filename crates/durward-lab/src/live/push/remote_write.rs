//! Prometheus remote write 1.0 (<https://prometheus.io/docs/specs/prw/remote_write_spec/>): a protobuf message, compressed by
//! snappy as one block.

use prost::Message;

use super::{MetricBatch, SeriesValue};

/// `prometheus.WriteRequest`.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<PrometheusLabel>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<PrometheusSample>,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusLabel {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusSample {
    #[prost(double, tag = "1")]
    value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// The body of a request with these values, in the order of their times.
pub(super) fn request(run: &str, batches: &[MetricBatch]) -> Vec<u8> {
    let mut timeseries = Vec::new();
    for batch in batches {
        let timestamp = i64::try_from(batch.at_unix_ms).unwrap_or(i64::MAX);
        for measure in &batch.measures {
            let samples = vec![PrometheusSample { value: measure.value, timestamp }];
            timeseries.push(TimeSeries { labels: labels(run, measure), samples });
        }
    }
    let message = WriteRequest { timeseries }.encode_to_vec();
    // It fails of more than 4 GiB only, which no request is.
    snap::raw::Encoder::new().compress_vec(&message).unwrap_or_default()
}

/// Sorted by name, as the specification demands.
fn labels(run: &str, measure: &SeriesValue) -> Vec<PrometheusLabel> {
    let label = |name: &str, value: &str| PrometheusLabel { name: name.to_owned(), value: value.to_owned() };
    let mut labels = vec![label("__name__", measure.name), label("job", "durward-lab"), label("run", run)];
    labels.extend(measure.labels.iter().map(|(name, value)| label(name, value)));
    labels.sort_by(|one, other| one.name.cmp(&other.name));
    labels
}

#[cfg(test)]
mod tests {
    use super::super::ValueKind;
    use super::*;

    #[test]
    fn a_request_is_what_the_specification_says() {
        let labels = vec![("node", "a".to_owned()), ("point", "1".to_owned())];
        let measure = SeriesValue { name: "x_total", kind: ValueKind::Counter, labels, value: 2.5 };
        let body = request("r", &[MetricBatch { at_unix_ms: 1000, measures: vec![measure] }]);
        let message = snap::raw::Decoder::new().decompress_vec(&body).unwrap();
        // By hand, from the definition: field 1 of length 74, in it labels (field 1) and a sample (field 2).
        let mut series = Vec::new();
        for (name, value) in
            [("__name__", "x_total"), ("job", "durward-lab"), ("node", "a"), ("point", "1"), ("run", "r")]
        {
            let length = |text: &str| u8::try_from(text.len()).unwrap();
            let mut label = vec![0x0a, length(name)];
            label.extend(name.as_bytes());
            label.extend([0x12, length(value)]);
            label.extend(value.as_bytes());
            series.extend([0x0a, u8::try_from(label.len()).unwrap()]);
            series.extend(label);
        }
        let mut sample = vec![0x09];
        sample.extend(2.5_f64.to_le_bytes());
        sample.extend([0x10, 0xe8, 0x07]);
        series.extend([0x12, u8::try_from(sample.len()).unwrap()]);
        series.extend(sample);
        let mut expected = vec![0x0a, u8::try_from(series.len()).unwrap()];
        expected.extend(series);
        assert_eq!(message, expected);
    }
}
