//! `docs/limits.md`: every limit with its value and its reason, read from the constants themselves.
//!
//! A limit is a documented constant whose name ends in `_MAX` or `_CAP`, or a documented field whose name ends in
//! `_max` and whose text says `Default: ...`.

use crate::metadata;
use crate::sources::{is_tests, sources, up_to_tests};
use std::path::Path;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate` from the constants in the sources. -->

# Limits

Everything that comes from outside, and everything that grows, has a limit. If a policy exceeds a limit, durward refuses it when it is
loaded; if a request does, durward refuses it; if an evaluation does, the decision is Indeterminate. It is never Permit. If a plan does, it is not exact, and selects
fewer rows.

Names in capitals are constants. Names in small letters are fields with their defaults, most of them settings of
[configuration.md](configuration.md). The last column is the source file, below `src` of the crate.

";

/// An index refuses nothing: past its limits it only spares less work.
const CRATES: [&str; 29] = [
    "durward-ir",
    "durward-jwt",
    "durward-functions",
    "durward-library-formats",
    "durward-library-time",
    "durward-library-geo",
    "durward-library-crypto",
    "durward-library",
    "durward-xacml",
    "durward-xacml-policies",
    "durward-subscription",
    "durward-sapl",
    "durward-plan",
    "durward-pdp",
    "durward-bundle",
    "durward-session-table",
    "durward-identity",
    "durward-session",
    "durward-wire",
    "durward-net",
    "durward-sources",
    "durward-entities",
    "durward-settings",
    "durward-common",
    "durward-logins",
    "durward-server",
    "durward-opcua",
    "durward-scenario",
    "durward",
];

/// What `durward check` and explanations look for has bounds, too, but what is beyond them is only looked at less closely.
const ADVICE_ONLY: [&str; 5] = [
    "durward-ir/src/finding.rs",
    "durward-ir/src/near.rs",
    "durward-pdp/src/explain/near.rs",
    "durward-sapl/src/check/",
    "durward-xacml-policies/src/check/",
];

/// Lengths of messages, thresholds between two ways to do the same, and what happens beyond a limit: no input is refused for them.
const NO_LIMITS: [&str; 24] = [
    "AUTO_SCAN_NODES_MAX",
    "CACHE_SIZE_MAX",
    "COMPARED_MAX",
    "EXACT_INTEGER_MAX",
    "EXACT_MAX",
    "FIELDS_MAX",
    "LINEAR_MAX",
    "LISTED_MAX",
    "LIST_MAX",
    "LITERAL_MAX",
    "MADE_BYTES_MAX",
    "MESSAGE_LENGTH_MAX",
    "PREFIXES_MAX",
    "QUOTED_CHARS_MAX",
    "QUOTE_LENGTH_MAX",
    "RSA_SMALL_BITS_MAX",
    "SCAN_SIZE_MAX",
    "SETTLE_LOOKS_MAX",
    "SHARED_LENGTH_MAX",
    "STAGES_MAX",
    "TOUCHED_MAX",
    "UNQUOTED_LENGTH_MAX",
    "WORKERS_AUTOMATIC_MAX",
    "beyond_max",
];

#[derive(Debug, PartialEq, Eq)]
struct Limit {
    name: String,
    value: String,
    reason: String,
}

pub(crate) fn write() -> Result<String, String> {
    let mut out = INTRODUCTION.to_owned();
    let crates = metadata::root().join("crates");
    for name in CRATES {
        let folder = crates.join(name).join("src");
        let mut rows = String::new();
        for path in sources(&folder).into_iter().filter(|path| !is_left_out(path)) {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
            let source = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
            rows.extend(limits_in(&text).iter().map(|limit| row(limit, &source)));
        }
        if !rows.is_empty() {
            out.push_str(&section(name, &rows));
        }
    }
    Ok(out.trim_end().to_owned() + "\n")
}

fn is_left_out(path: &Path) -> bool {
    let name = path.to_string_lossy();
    is_tests(path) || ADVICE_ONLY.iter().any(|part| name.contains(part))
}

fn section(name: &str, rows: &str) -> String {
    format!("## {name}\n\n| limit | value | why | source |\n|---|---|---|---|\n{rows}\n")
}

fn row(limit: &Limit, source: &str) -> String {
    let Limit { name, value, reason } = limit;
    format!("| `{name}` | {value} | {} | `{source}` |\n", reason.replace('|', "\\|"))
}

fn limits_in(text: &str) -> Vec<Limit> {
    let mut found = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for (_, line) in up_to_tests(text) {
        let line = line.trim();
        if let Some(said) = line.strip_prefix("///") {
            words.push(said.trim());
        } else if !line.starts_with("#[") {
            found.extend(limit(line, &plain(&words)));
            words.clear();
        }
    }
    found
}

/// The sentences of a doc comment, its links taken out of their brackets.
fn plain(words: &[&str]) -> String {
    words.join(" ").replace("[`", "`").replace("`]", "`").trim().to_owned()
}

fn limit(line: &str, reason: &str) -> Option<Limit> {
    if reason.is_empty() {
        return None;
    }
    constant(line, reason).or_else(|| field(line, reason))
}

fn constant(line: &str, reason: &str) -> Option<Limit> {
    let (visibility, rest) = line.split_once("const ")?;
    let (name, value) = rest.strip_suffix(';')?.split_once(" = ")?;
    let name = name.split(':').next()?;
    let is_limit = name.ends_with("_MAX") || name.ends_with("_CAP");
    let is_item = visibility.is_empty() || visibility.starts_with("pub");
    (is_limit && is_item && !NO_LIMITS.contains(&name)).then(|| Limit {
        name: name.to_owned(),
        value: format!("`{value}`"),
        reason: reason.to_owned(),
    })
}

fn field(line: &str, reason: &str) -> Option<Limit> {
    let (name, _) = line.strip_prefix("pub ")?.split_once(": ")?;
    let (_, default) = reason.split_once("Default: ")?;
    let end = [", ", "; ", ". "].iter().filter_map(|end| default.find(end)).min().unwrap_or(default.len());
    (name.ends_with("_max") && !NO_LIMITS.contains(&name)).then(|| Limit {
        name: name.to_owned(),
        value: default.get(..end).unwrap_or(default).trim_end_matches('.').to_owned(),
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_fields_are_limits() {
        let text = "/// Most of [`A`].\n/// Enough.\npub const A_MAX: usize = 1 << 4;\n\
            const B_MAX: usize = 2;\n/// No limit.\nconst C: u8 = 1;\n\
            pub struct L {\n    /// Deepest. Default: 1,200, ten times.\n    pub depth_max: usize,\n}\n";
        let found: Vec<String> = limits_in(text).iter().map(|limit| row(limit, "l.rs")).collect();
        assert_eq!(
            found,
            [
                "| `A_MAX` | `1 << 4` | Most of `A`. Enough. | `l.rs` |\n",
                "| `depth_max` | 1,200 | Deepest. Default: 1,200, ten times. | `l.rs` |\n"
            ]
        );
    }
}
