//! The library `mqtt`: whether topics of MQTT match a filter with wildcards.
//!
//! Filters are read as the HiveMQ client, the library of the Java engine, reads them: `+` stands for one level, `#` for
//! the last ones, the level above among them, and `$share/group/` before a filter is not compared. Unlike in brokers,
//! wildcards match topics that begin with `$`.

use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Any;
use durward_ir::value::Value;

/// The longest topic and filter, in bytes, as in MQTT.
const TOPIC_BYTES_MAX: usize = 65_535;

/// How many topics an array may have, as in SAPL.
const TOPICS_MAX: usize = 32;

/// How many bytes the topics of an array may have together, as in SAPL.
const TOPICS_BYTES_MAX: usize = 8_192;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("mqtt.isMatchingAllTopics", &[Any, Any], |a| matching(a, TopicQuantifier::All),
        "Whether the filter matches the topic, or every topic of an array; topics have no wildcards."),
    row("mqtt.isMatchingAtLeastOneTopic", &[Any, Any], |a| matching(a, TopicQuantifier::One),
        "Whether the filter matches the topic, or any topic of an array; topics have no wildcards."),
];

/// How many topics of an array must match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TopicQuantifier {
    All,
    One,
}

fn matching(arguments: &[Value], wanted: TopicQuantifier) -> Evaluated<Value> {
    let [filter, topics] = arguments else { return unchecked() };
    let Value::Text(filter) = filter else {
        return Err(Fault::processing("The wildcard topic must be a text value."));
    };
    let filter = filter_of(filter)?;
    match topics {
        Value::Text(topic) => Ok(Value::Boolean(matches(filter, topic_of(topic)?))),
        Value::Array(topics) => matching_topics(filter, topics, wanted),
        _ => Err(Fault::processing("The topics must be a text value or an array of text values.")),
    }
}

fn matching_topics(filter: &str, topics: &[Value], wanted: TopicQuantifier) -> Evaluated<Value> {
    if topics.len() > TOPICS_MAX {
        let count = topics.len();
        return Err(Fault::processing(format!(
            "MQTT topic count {count} exceeds the limit of {TOPICS_MAX}."
        )));
    }
    let mut bytes = 0;
    let mut texts = Vec::with_capacity(topics.len());
    for topic in topics {
        let Value::Text(topic) = topic else {
            return Err(Fault::processing("All topics must be text values."));
        };
        bytes += topic.len();
        if bytes > TOPICS_BYTES_MAX {
            let message = format!("MQTT topics exceed the limit of {TOPICS_BYTES_MAX} UTF-8 bytes.");
            return Err(Fault::processing(message));
        }
        texts.push(topic);
    }
    // The first that tells ends it: topics behind it are not read, well-formed or not.
    let tells = wanted == TopicQuantifier::One;
    for topic in texts {
        if matches(filter, topic_of(topic)?) == tells {
            return Ok(Value::Boolean(tells));
        }
    }
    Ok(Value::Boolean(!tells))
}

fn malformed() -> Box<Fault> {
    Fault::processing(
        "A topic is not a well-formed MQTT topic. It must be a non-empty string of at most 65535 UTF-8 bytes without \
         null characters or unmatched UTF-16 surrogates.",
    )
}

/// What is compared of a filter.
fn filter_of(text: &str) -> Evaluated<&str> {
    if text.is_empty() || text.len() > TOPIC_BYTES_MAX || text.contains('\0') {
        return Err(malformed());
    }
    let filter = match text.strip_prefix("$share/") {
        Some(shared) => {
            let (group, filter) = shared.split_once('/').ok_or_else(malformed)?;
            if group.is_empty() || filter.is_empty() || group.contains(['+', '#']) {
                return Err(malformed());
            }
            filter
        }
        None => text,
    };
    let mut levels = filter.split('/').peekable();
    while let Some(level) = levels.next() {
        let is_last = levels.peek().is_none();
        let is_wildcard = level == "+" || (level == "#" && is_last);
        if level.contains(['+', '#']) && !is_wildcard {
            return Err(malformed());
        }
    }
    Ok(filter)
}

fn topic_of(text: &str) -> Evaluated<&str> {
    if filter_of(text)?.contains(['+', '#']) {
        let message = "The wildcard topic must not be matched against topics containing wildcards.";
        return Err(Fault::processing(message));
    }
    Ok(text)
}

fn matches(filter: &str, topic: &str) -> bool {
    let mut topic_levels = topic.split('/');
    let mut filter_levels = filter.split('/');
    loop {
        match (filter_levels.next(), topic_levels.next()) {
            (Some("#"), _) | (None, None) => return true,
            (Some("+"), Some(_)) => {}
            (Some(wanted), Some(level)) if wanted == level => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;
    use durward_functions::fixture::call;

    fn check(rows: &[(&str, &str, &str)]) {
        for (filter, topics, expected) in rows {
            let arguments = format!("[{filter}, {topics}]");
            for (name, wanted) in ["All", "AtLeastOne"].into_iter().zip(expected.split(' ').cycle()) {
                let name = match name {
                    "All" => "mqtt.isMatchingAllTopics",
                    _ => "mqtt.isMatchingAtLeastOneTopic",
                };
                let found = match call(FUNCTIONS, name, &arguments) {
                    Ok(value) => value.to_json(),
                    Err(fault) => fault.message.to_string(),
                };
                assert!(found.contains(wanted), "{name} {arguments}: {found}, not {wanted}");
            }
        }
    }

    /// As HiveMQ's client 1.3 answers.
    #[test]
    fn wildcards_stand_for_levels() {
        check(&[
            (r#""a""#, r#""a""#, "true"),
            (r#""a""#, r#""A""#, "false"),
            (r##""#""##, r#""$SYS/a""#, "true"),
            (r#""+""#, r#""$SYS""#, "true"),
            (r#""+""#, r#""/a""#, "false"),
            (r##""a/#""##, r#""a""#, "true"),
            (r##""a/#""##, r#""a//b""#, "true"),
            (r##""/#""##, r#""a""#, "false"),
            (r#""+/+""#, r#""/""#, "true"),
            (r#""a/+""#, r#""a/""#, "true"),
            (r#""a/+""#, r#""a""#, "false"),
            (r##""a/+/#""##, r#""a/b""#, "true"),
            (r##""$share/g/#""##, r#""$share/g/a""#, "true"),
            (r#""$share/g//a""#, r#""/a""#, "true"),
            (r#""$share/g/a""#, r#""$share/g/a""#, "false"),
            (r#""$shared/g/a""#, r#""$shared/g/a""#, "true"),
            (r#""$share""#, r#""$share""#, "true"),
        ]);
    }

    #[test]
    fn malformed_topics_and_filters_are_errors() {
        for filter in [
            "",
            "a+",
            "a/#/b",
            "##",
            "a/b#",
            "$share/",
            "$share/g",
            "$share/g/",
            "$share//a",
            "$share/+/a",
            "a\\u0000",
        ] {
            check(&[
                (&format!("\"{filter}\""), r#""a""#, "well-formed"),
                (r#""a""#, &format!("\"{filter}\""), "well-formed"),
            ]);
        }
        let long = format!("\"{}\"", "a".repeat(65_536));
        check(&[
            (r#""a""#, r##""#""##, "containing"),
            (r#""a""#, r#""$share/g/+""#, "containing"),
            (r#""a""#, &long, "well-formed"),
            (&long, r#""a""#, "well-formed"),
            ("1", r#""a""#, "wildcard"),
            (r#""a""#, "1", "array"),
        ]);
    }

    #[test]
    fn arrays_are_read_until_one_tells() {
        let many = format!("[{}]", vec![r#""a""#; 33].join(","));
        let large = format!("[\"{}\"]", "a".repeat(8_193));
        check(&[
            (r#""+""#, r#"["a", "b"]"#, "true true"),
            (r#""+""#, r#"["a", "b/c"]"#, "false true"),
            (r#""+""#, "[]", "true false"),
            (r##""a""##, r##"["b", "#"]"##, "false containing"),
            (r##""a""##, r##"["a", "#"]"##, "containing true"),
            (r#""+""#, r#"["a", 1]"#, "text text"),
            (r#""+""#, &many, "33 33"),
            (r#""+""#, &large, "8192 8192"),
        ]);
    }
}
