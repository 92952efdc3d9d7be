//! What a target tells of itself: metrics as Prometheus reads them, JMX over HTTP as Jolokia answers it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::http::{HttpAnswer, get, post};

/// Reading is part of a border: one that takes longer is left out.
const TIMEOUT: Duration = Duration::from_secs(5);
/// So many figures of one page are recorded.
const FIGURES_MAX: usize = 2000;
/// Read of every Java machine: mbean, attribute.
const JMX: [(&str, &str); 5] = [
    ("java.lang:type=Memory", "HeapMemoryUsage"),
    ("java.lang:type=Threading", "ThreadCount"),
    ("java.lang:type=OperatingSystem", "ProcessCpuTime"),
    ("java.lang:type=GarbageCollector,name=*", "CollectionCount"),
    ("java.lang:type=GarbageCollector,name=*", "CollectionTime"),
];

/// A figure of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PageValue {
    /// It only grows: its difference is what counts.
    Counter(f64),
    /// It goes up and down: what it is at the end counts.
    Gauge(f64),
    /// It may be either: how far it went, up or down.
    Change(f64),
}

/// The pages of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodePages {
    /// Empty where there is none.
    pub(super) metrics: String,
    pub(super) only: Vec<String>,
    /// Empty where there is none.
    pub(super) jmx: String,
    /// Mbean and attribute.
    pub(super) jmx_read: Vec<(String, String)>,
}

impl NodePages {
    /// Whether they can be read.
    ///
    /// # Errors
    /// Which cannot, and why.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.metrics.is_empty() {
            let figures = self.metrics()?;
            if figures.is_empty() {
                return Err(format!("{} has none of the metrics that were asked for", self.metrics));
            }
        }
        if !self.jmx.is_empty() && self.jmx()?.is_empty() {
            return Err(format!("{} tells none of the attributes that were asked for", self.jmx));
        }
        Ok(())
    }

    /// All figures; those of a page that cannot be read are missing.
    pub(super) fn read(&self) -> BTreeMap<String, PageValue> {
        let mut figures = BTreeMap::new();
        if !self.metrics.is_empty() {
            figures.extend(self.metrics().unwrap_or_default());
        }
        if !self.jmx.is_empty() {
            figures.extend(self.jmx().unwrap_or_default());
        }
        figures
    }

    /// What became of the figures since: differences of counters (those that did not move are left out), gauges as they are
    /// now. A page that cannot be read any more gives `pages_unread`.
    pub(super) fn difference(&self, before: &BTreeMap<String, PageValue>) -> BTreeMap<String, f64> {
        if self.metrics.is_empty() && self.jmx.is_empty() {
            return BTreeMap::new();
        }
        let after = self.read();
        if after.is_empty() {
            return BTreeMap::from([("pages_unread".to_owned(), 1.0)]);
        }
        difference(before, &after)
    }

    fn metrics(&self) -> Result<BTreeMap<String, PageValue>, String> {
        let page = answered(&self.metrics, get(&self.metrics, TIMEOUT))?;
        let mut figures = prometheus(&page);
        if !self.only.is_empty() {
            figures.retain(|name, _| self.only.iter().any(|only| matches(name, only)));
        }
        Ok(figures.into_iter().map(|(name, value)| (format!("metric {name}"), value)).collect())
    }

    fn jmx(&self) -> Result<BTreeMap<String, PageValue>, String> {
        let own = self.jmx_read.iter().map(|(mbean, attribute)| (mbean.as_str(), attribute.as_str()));
        let reads: Vec<Json> = JMX
            .into_iter()
            .chain(own)
            .map(|(mbean, attribute)| json!({"type": "read", "mbean": mbean, "attribute": attribute}))
            .collect();
        let answer = answered(&self.jmx, post(&self.jmx, &Json::Array(reads).to_string(), TIMEOUT))?;
        jolokia(&answer).ok_or_else(|| format!("{} does not answer as Jolokia does", self.jmx))
    }
}

fn answered(url: &str, answer: Result<HttpAnswer, ureq::Error>) -> Result<String, String> {
    let HttpAnswer { status, text } = answer.map_err(|error| format!("{url}: {error}"))?;
    if status == 200 { Ok(text) } else { Err(format!("{url} answers status {status}")) }
}

fn difference(
    before: &BTreeMap<String, PageValue>,
    after: &BTreeMap<String, PageValue>,
) -> BTreeMap<String, f64> {
    let mut changed = BTreeMap::new();
    for (name, value) in after {
        let value = match (*value, before.get(name)) {
            // One that is smaller began anew: it counts from 0.
            (PageValue::Counter(now), Some(PageValue::Counter(then))) if *then <= now => now - then,
            (PageValue::Counter(now), _) => now,
            (PageValue::Change(now), Some(PageValue::Change(then))) => now - then,
            (PageValue::Change(_), _) => continue,
            (PageValue::Gauge(now), _) => {
                changed.insert(name.clone(), now);
                continue;
            }
        };
        if value != 0.0 {
            changed.insert(name.clone(), value);
        }
    }
    let left_out = changed.len().saturating_sub(FIGURES_MAX);
    if left_out > 0 {
        let last = changed.keys().nth(FIGURES_MAX).cloned().unwrap_or_default();
        drop(changed.split_off(&last));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        changed.insert("pages_left_out".to_owned(), left_out as f64);
    }
    changed
}

/// Whether a figure such as `requests_total{code="200"}` has a wanted name: `requests_total`, `requests_*`.
fn matches(figure: &str, wanted: &str) -> bool {
    let name = figure.split('{').next().unwrap_or(figure);
    match wanted.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == wanted,
    }
}

/// Reads the text format of Prometheus (and OpenMetrics, as far as they agree). Lines that are neither are left out.
fn prometheus(text: &str) -> BTreeMap<String, PageValue> {
    let mut gauges = BTreeSet::new();
    let mut counters = BTreeSet::new();
    let mut figures = BTreeMap::new();
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            match declared.split_once(' ') {
                Some((name, "counter" | "histogram" | "summary")) => counters.insert(name),
                Some((name, "gauge")) => gauges.insert(name),
                Some(_) | None => false,
            };
        }
        if line.starts_with('#') {
            continue;
        }
        let Some((figure, number)) = sample(line) else { continue };
        let name = figure.split('{').next().unwrap_or(figure);
        let family = ["_total", "_count", "_sum", "_bucket"].iter().find_map(|end| name.strip_suffix(end));
        let is_counter = if gauges.contains(name) {
            false
        } else if counters.contains(name) {
            // The quantiles of a summary go up and down.
            !figure.contains("quantile=\"")
        } else {
            // Untyped: by its name, as is the custom.
            family.is_some()
        };
        figures.insert(
            figure.to_owned(),
            if is_counter { PageValue::Counter(number) } else { PageValue::Gauge(number) },
        );
    }
    figures
}

/// A name with its labels, and the number behind them. Labels may hold blanks and braces in quotes.
fn sample(line: &str) -> Option<(&str, f64)> {
    let mut quoted = false;
    let mut escaped = false;
    let mut braces = false;
    let end = line.char_indices().find_map(|(at, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => braces = true,
            '}' if !quoted => braces = false,
            ' ' | '\t' if !quoted && !braces => return Some(at),
            _ => {}
        }
        None
    })?;
    let (figure, rest) = line.split_at_checked(end)?;
    let number: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    (number.is_finite() && !figure.is_empty()).then_some((figure, number))
}

/// Reads the answers of Jolokia to several questions: each number, once as it is and once for how far it went (`.. change`), since
/// JMX does not tell counters from others. Questions that failed are left out.
fn jolokia(text: &str) -> Option<BTreeMap<String, PageValue>> {
    let answers: Vec<Json> = serde_json::from_str(text).ok()?;
    let mut figures = BTreeMap::new();
    for answer in &answers {
        let of_request = |name: &str| answer.get("request")?.get(name)?.as_str();
        let (Some(mbean), Some(value)) = (of_request("mbean"), answer.get("value")) else { continue };
        // An answer for a pattern names mbeans and attributes itself.
        let name = match of_request("attribute") {
            Some(attribute) if !mbean.contains('*') => format!("jmx {mbean}/{attribute}"),
            Some(_) | None => "jmx".to_owned(),
        };
        flatten(&name, value, &mut figures);
    }
    Some(figures)
}

fn flatten(name: &str, value: &Json, figures: &mut BTreeMap<String, PageValue>) {
    if let Some(number) = value.as_f64() {
        figures.insert(name.to_owned(), PageValue::Gauge(number));
        figures.insert(format!("{name} change"), PageValue::Change(number));
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let mark = match name {
            "jmx" => ' ',
            _ if name.contains('/') => '.',
            _ => '/',
        };
        flatten(&format!("{name}{mark}{key}"), inner, figures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP http_requests_total Requests.\n# TYPE http_requests_total counter\n\
        http_requests_total{method=\"post\",path=\"/a b\\\"}{\"} 1027 1395066363000\n\
        # TYPE in_flight gauge\nin_flight 3\n\
        # TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"+Inf\"} 5\nwait_seconds_sum 0.25\nwait_seconds_count 5\n\
        # TYPE gc summary\ngc{quantile=\"0.5\"} 0.1\ngc_count 4\n\
        old_total 7\nold_level 8\nodd NaN\ninf +Inf\n\nbroken{a=\"b\nnothing\n";

    #[test]
    fn a_page_of_metrics_is_read() {
        let figures = prometheus(PAGE);
        let wanted = [
            ("gc_count", PageValue::Counter(4.0)),
            ("gc{quantile=\"0.5\"}", PageValue::Gauge(0.1)),
            ("http_requests_total{method=\"post\",path=\"/a b\\\"}{\"}", PageValue::Counter(1027.0)),
            ("in_flight", PageValue::Gauge(3.0)),
            ("old_level", PageValue::Gauge(8.0)),
            ("old_total", PageValue::Counter(7.0)),
            ("wait_seconds_bucket{le=\"+Inf\"}", PageValue::Counter(5.0)),
            ("wait_seconds_count", PageValue::Counter(5.0)),
            ("wait_seconds_sum", PageValue::Counter(0.25)),
        ];
        assert_eq!(figures.iter().map(|(name, value)| (name.as_str(), *value)).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn counters_are_told_by_their_difference() {
        let before = BTreeMap::from([
            ("a".to_owned(), PageValue::Counter(5.0)),
            ("reset".to_owned(), PageValue::Counter(9.0)),
            ("still".to_owned(), PageValue::Counter(1.0)),
            ("level".to_owned(), PageValue::Gauge(1.0)),
            ("heap change".to_owned(), PageValue::Change(9.0)),
        ]);
        let after = BTreeMap::from([
            ("a".to_owned(), PageValue::Counter(7.5)),
            ("reset".to_owned(), PageValue::Counter(2.0)),
            ("still".to_owned(), PageValue::Counter(1.0)),
            ("level".to_owned(), PageValue::Gauge(0.0)),
            ("new".to_owned(), PageValue::Counter(1.0)),
            ("heap change".to_owned(), PageValue::Change(4.0)),
            ("late change".to_owned(), PageValue::Change(4.0)),
        ]);
        let wanted = [("a", 2.5), ("heap change", -5.0), ("level", 0.0), ("new", 1.0), ("reset", 2.0)];
        let found = difference(&before, &after);
        assert_eq!(found.iter().map(|(name, value)| (name.as_str(), *value)).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn pages_that_are_too_long_are_cut_and_it_is_said() {
        let after = (0..FIGURES_MAX + 3).map(|at| (format!("m{at:06}"), PageValue::Counter(1.0))).collect();
        let found = difference(&BTreeMap::new(), &after);
        assert_eq!((found.len(), found["pages_left_out"]), (FIGURES_MAX + 1, 3.0));
    }

    #[test]
    fn metrics_are_chosen_by_name_or_begin() {
        assert!(matches("a_total{x=\"1\"}", "a_total") && matches("a_total", "a_*") && matches("a", "*"));
        assert!(!matches("a_total_sum", "a_total") && !matches("b", "a*"));
    }

    /// An answer of Jolokia 2 (agent of a Java 17), shortened.
    #[test]
    fn answers_of_jolokia_are_read() {
        let text = r#"[
            {"request":{"mbean":"java.lang:type=Memory","attribute":"HeapMemoryUsage","type":"read"},
             "value":{"init":262144000,"committed":100663296,"max":4164943872,"used":21474816},"status":200,"timestamp":1730000000},
            {"request":{"mbean":"java.lang:name=*,type=GarbageCollector","attribute":"CollectionCount","type":"read"},
             "value":{"java.lang:name=G1 Young Generation,type=GarbageCollector":{"CollectionCount":12}},"status":200},
            {"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount","type":"read"},"value":23,"status":200},
            {"request":{"mbean":"no:such=one","attribute":"X","type":"read"},"status":404,"error":"no such"}]"#;
        let figures = jolokia(text).unwrap();
        assert_eq!(figures["jmx java.lang:type=Memory/HeapMemoryUsage.used"], PageValue::Gauge(21_474_816.0));
        assert_eq!(figures["jmx java.lang:type=Threading/ThreadCount change"], PageValue::Change(23.0));
        let young = "jmx java.lang:name=G1 Young Generation,type=GarbageCollector/CollectionCount";
        assert_eq!(figures[young], PageValue::Gauge(12.0));
        assert_eq!(figures.len(), 12);
        assert!(jolokia("{}").is_none() && jolokia("<html>").is_none());
    }
}
