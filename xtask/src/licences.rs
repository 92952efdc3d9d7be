//! What the crates from outside may be: the licences, sources and bans of `deny.toml`, checked over
//! `cargo metadata`. cargo-deny does more (security advisories), but takes minutes to install.

use crate::metadata::{self, Metadata, Package};
use std::collections::{BTreeMap, BTreeSet};

/// The only place crates come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The lists of `deny.toml` that are used here.
#[derive(Debug)]
pub(crate) struct Rules {
    allowed: BTreeSet<String>,
    denied: BTreeSet<String>,
    /// Versions beside another one of the same crate: `name@version`, of which the last parts may be left out.
    skipped: BTreeSet<String>,
}

impl Rules {
    /// Reads `deny.toml`.
    pub(crate) fn read() -> Result<Rules, String> {
        let path = metadata::root().join("deny.toml");
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("cannot read `deny.toml`: {error}"))?;
        let skipped = list(&text, "skip = [").filter_map(|line| line.split('"').nth(1).map(str::to_owned));
        let rules = Rules {
            allowed: strings(&text, "allow = ["),
            denied: strings(&text, "deny = ["),
            skipped: skipped.collect(),
        };
        if rules.allowed.is_empty() || rules.denied.is_empty() {
            return Err("`deny.toml` has no list `allow` or no list `deny`".to_owned());
        }
        Ok(rules)
    }
}

/// The quoted strings of a list that starts on a line of its own and ends with `]` on one.
fn strings(text: &str, start: &str) -> BTreeSet<String> {
    list(text, start).flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The lines of such a list, without comments.
fn list<'t>(text: &'t str, start: &str) -> impl Iterator<Item = &'t str> {
    let lines = text.lines().skip_while(move |line| *line != start).skip(1).take_while(|line| *line != "]");
    lines.map(|line| line.split('#').next().unwrap_or(line))
}

/// Everything about the crates from outside that the rules forbid.
pub(crate) fn findings(metadata: &Metadata, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata.packages.values().filter(|package| !package.member) {
        found.extend(finding(package, rules));
    }
    found.extend(repeated(&versions(metadata), &rules.skipped));
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

/// The versions of each crate.
fn versions(metadata: &Metadata) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata.packages.values() {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions
}

/// Crates that come in several versions which the list does not name, and what it names in vain.
fn repeated(versions: &BTreeMap<&str, Vec<&str>>, skipped: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for (name, all) in versions.iter().filter(|(_, all)| all.len() > 1) {
        let is_of = |entry: &str, version: &str| {
            let rest = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('@'));
            let rest = rest.and_then(|wanted| version.strip_prefix(wanted));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let entry = |version: &str| skipped.iter().find(|entry| is_of(entry, version));
        used.extend(all.iter().filter_map(|version| entry(version)).map(String::as_str));
        if all.iter().filter(|version| entry(version).is_none()).count() > 1 {
            found.push(format!(
                "`{name}` comes in versions {}: name who forces that in `skip` of `deny.toml`",
                all.join(", ")
            ));
        }
    }
    let vain = skipped.iter().filter(|entry| !used.contains(entry.as_str()));
    found.extend(
        vain.map(|entry| format!("`{entry}` is in `skip` of `deny.toml`, and comes in no second version")),
    );
    found
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
    fn a_second_version_is_named_and_a_name_is_needed() {
        let versions: BTreeMap<&str, Vec<&str>> =
            [("a", vec!["1.2.3", "1.20.0", "2.0.0"]), ("b", vec!["0.1.0"])].into();
        let check =
            |skipped: &[&str]| repeated(&versions, &skipped.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(check(&["a@1.2", "a@1.20"]), [""; 0]);
        assert_eq!(check(&["a@1"]), [""; 0]);
        assert_eq!(check(&["a@1.2"]).len(), 1);
        assert_eq!(check(&["a@1", "b@0.1"]).len(), 1);
        assert_eq!(check(&["a@1", "a@3"]).len(), 1);
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
