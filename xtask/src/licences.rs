//! What the crates from outside may be: the licences, sources and bans of `deny.toml`, checked over
//! `cargo metadata`. cargo-deny does more (security advisories), but takes minutes to install.

use crate::metadata::{self, Metadata, Package};
use std::collections::{BTreeMap, BTreeSet};

/// The only place crates come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates so large that a second version is worth a talk.
const ONCE: [&str; 9] =
    ["hyper", "jiff", "quick-xml", "regex", "regex-automata", "rustls", "serde", "serde_json", "tokio"];

/// The lists of `deny.toml` that are used here.
#[derive(Debug)]
pub(crate) struct Rules {
    allowed: BTreeSet<String>,
    denied: BTreeSet<String>,
}

impl Rules {
    /// Reads `deny.toml`.
    pub(crate) fn read() -> Result<Rules, String> {
        let path = metadata::root().join("deny.toml");
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("cannot read `deny.toml`: {error}"))?;
        let rules = Rules { allowed: strings(&text, "allow = ["), denied: strings(&text, "deny = [") };
        if rules.allowed.is_empty() || rules.denied.is_empty() {
            return Err("`deny.toml` has no list `allow` or no list `deny`".to_owned());
        }
        Ok(rules)
    }
}

/// The quoted strings of a list that starts on a line of its own and ends with `]` on one.
fn strings(text: &str, start: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| *line != start).skip(1).take_while(|line| *line != "]");
    let code = lines.map(|line| line.split('#').next().unwrap_or(line));
    code.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Everything about the crates from outside that the rules forbid.
pub(crate) fn findings(metadata: &Metadata, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata.packages.values().filter(|package| !package.member) {
        found.extend(finding(package, rules));
    }
    found.extend(repeated(metadata));
    found
}

fn finding(package: &Package, rules: &Rules) -> Option<String> {
    let Package { name, version, .. } = package;
    if package.source.as_deref() != Some(REGISTRY) {
        return Some(format!("`{name}` {version} does not come from crates.io"));
    }
    if rules.denied.contains(name) {
        return Some(format!("`{name}` {version} is kept out by `deny.toml`"));
    }
    match &package.licence {
        None => Some(format!("`{name}` {version} names no licence")),
        Some(licence) if allows(licence, &rules.allowed) => None,
        Some(licence) => {
            Some(format!("`{name}` {version} is under `{licence}`, which `deny.toml` does not allow"))
        }
    }
}

fn repeated(metadata: &Metadata) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata.packages.values() {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let twice = versions.iter().filter(|(name, versions)| ONCE.contains(*name) && versions.len() > 1);
    twice.map(|(name, versions)| format!("`{name}` comes in versions {}", versions.join(", "))).collect()
}

/// Whether an SPDX expression can be met with the allowed licences. `/` is the old way to write `OR`.
///
/// Splitting on the operators outside parentheses, `OR` first, is their precedence: `AND` binds tighter.
fn allows(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.trim();
    if allowed.contains(expression) {
        return true;
    }
    for (operators, all) in [([" OR ", "/"], false), ([" AND ", " AND "], true)] {
        let parts = split_outside(expression, operators);
        if parts.len() > 1 {
            let mut verdicts = parts.iter().map(|part| allows(part, allowed));
            return if all { verdicts.all(|ok| ok) } else { verdicts.any(|ok| ok) };
        }
    }
    match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => allows(inner, allowed),
        None => false,
    }
}

fn split_outside<'a>(expression: &'a str, operators: [&str; 2]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let rest = expression.get(at..).unwrap_or_default();
        if depth == 0
            && at >= start
            && let Some(operator) = operators.iter().find(|operator| rest.starts_with(**operator))
        {
            parts.extend(expression.get(start..at));
            start = at + operator.len();
        }
    }
    parts.extend(expression.get(start..));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_from_outside_is_allowed() {
        let found = findings(&Metadata::read().unwrap(), &Rules::read().unwrap());
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }

    #[test]
    fn licences_are_alternatives_or_conditions() {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
        let met = [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "MIT AND ISC",
            "(MIT OR GPL-3.0) AND ISC",
            "GPL-3.0 OR Apache-2.0 WITH LLVM-exception",
            "(GPL-3.0 AND X) OR (MIT AND (ISC OR X))",
        ];
        for expression in met {
            assert!(allows(expression, &allowed), "{expression}");
        }
        let unmet = [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "Apache-2.0",
            "MIT+",
            "()",
            "(MIT",
        ];
        for expression in unmet {
            assert!(!allows(expression, &allowed), "{expression}");
        }
    }
}
