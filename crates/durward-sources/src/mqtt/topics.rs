//! Topic filters of MQTT (version 5, section 4.7).

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;

/// The most topic filters of one attribute.
const FILTERS_MAX: usize = 1_000;

/// The longest topic filter, in bytes: MQTT writes its length into two.
const FILTER_BYTES_MAX: usize = 65_535;

/// The topic filters that an entity is: a text, or an array of them.
///
/// # Errors
/// Something else, or too many.
pub(super) fn filters(entity: &Value) -> Evaluated<Vec<String>> {
    let one = std::slice::from_ref(entity);
    let values = entity.as_array().map_or(one, |values| values);
    if values.is_empty() || values.len() > FILTERS_MAX {
        return Err(Fault::processing(format!("{} topics; write 1 to {FILTERS_MAX}", values.len())));
    }
    let filter = |value: &Value| {
        let text = value.as_text().ok_or_else(|| Fault::processing("a topic is not a text"))?;
        let wrong = || Fault::processing(format!("`{text}` is no topic of MQTT"));
        if is_filter(text) { Ok(text.to_owned()) } else { Err(wrong()) }
    };
    values.iter().map(filter).collect()
}

/// `+` and `#` stand for whole levels, and `#` for the last ones.
fn is_filter(text: &str) -> bool {
    let mut levels = text.split('/').rev();
    let last = levels.next().unwrap_or_default();
    let is_level = |level: &str| level == "+" || !level.contains(['+', '#']);
    !text.is_empty()
        && text.len() <= FILTER_BYTES_MAX
        && !text.contains('\0')
        && (last == "#" || is_level(last))
        && levels.all(is_level)
}

/// Whether a topic is one that a filter means.
pub(super) fn matches(filter: &str, topic: &str) -> bool {
    let filter = unshared(filter);
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut topics = topic.split('/');
    for level in filter.split('/') {
        if level == "#" {
            return true;
        }
        match topics.next() {
            Some(_) if level == "+" => {}
            Some(topic) if topic == level => {}
            Some(_) | None => return false,
        }
    }
    topics.next().is_none()
}

/// The filter that a shared subscription, `$share/group/filter`, is about.
fn unshared(filter: &str) -> &str {
    filter.strip_prefix("$share/").and_then(|rest| rest.split_once('/')).map_or(filter, |(_, filter)| filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_levels() {
        for (filter, topic, is_match) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/b", "a", false),
            ("a/+", "a/b", true),
            ("a/+", "a/", true),
            ("a/+", "a", false),
            ("a/+/c", "a/b/c", true),
            ("+", "/a", false),
            ("+/+", "/a", true),
            ("a/#", "a/b/c", true),
            ("a/#", "a", true),
            ("#", "ä/b", true),
            ("#", "$SYS/a", false),
            ("+/a", "$SYS/a", false),
            ("$SYS/#", "$SYS/a", true),
            ("$share/g/a/+", "a/b", true),
        ] {
            assert_eq!(matches(filter, topic), is_match, "{filter} {topic}");
        }
    }

    #[test]
    fn filters_are_checked_before_a_broker_sees_them() {
        for text in ["a", "/", "a/+/b", "+", "#", "a/#", "ä b"] {
            assert!(is_filter(text), "{text}");
        }
        for text in ["", "a#", "#/a", "a+", "a/b+/c", "a\0"] {
            assert!(!is_filter(text), "{text}");
        }
        assert!(filters(&Value::array([])).is_err());
        assert!(filters(&Value::array([Value::Null])).is_err());
    }
}
