//! What is translated: a scenario, read from the files that `durward bench generate` wrote.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The kinds of scenarios that there are translations of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rbac,
    Hospital,
    Github,
    Gdrive,
    Tinytodo,
}

/// Policies, what they know, and what they are asked.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) kind: Kind,
    /// The texts of the policies, in order.
    pub(super) policies: Vec<String>,
    /// The variables of `pdp.json`.
    pub(super) variables: Value,
    /// Objects with `subject`, `action` and `resource`.
    pub(super) subscriptions: Vec<Value>,
}

impl Source {
    /// Reads the scenario of this name in a folder.
    pub(super) fn read(name: &str, folder: &Path) -> Result<Source, String> {
        let kind = match name.split('-').next() {
            Some("rbac") => Kind::Rbac,
            Some("hospital") => Kind::Hospital,
            Some("github") => Kind::Github,
            Some("gdrive") => Kind::Gdrive,
            Some("tinytodo") => Kind::Tinytodo,
            _ => return Err(format!("there is no translation of `{name}`")),
        };
        let mut paths: Vec<_> = fs::read_dir(folder)
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "sapl"))
            .collect();
        paths.sort();
        let policies = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        let configuration = parsed(&read(&folder.join("pdp.json"))?)?;
        let lines = read(&folder.join("subscriptions.jsonl"))?;
        let subscriptions = lines.lines().map(|line| Ok(member(&parsed(line)?, "subscription")?.clone()));
        Ok(Source {
            kind,
            policies,
            variables: configuration.get("variables").cloned().unwrap_or_default(),
            subscriptions: subscriptions.collect::<Result<_, String>>()?,
        })
    }

    /// What lies directly above each thing, in the order of the file.
    pub(super) fn graph(&self) -> Result<Vec<(&str, Vec<&str>)>, String> {
        let name = if self.kind == Kind::Hospital { "staffGraph" } else { "entityGraph" };
        let nodes = object(member(&self.variables, name)?)?;
        nodes.map(|(node, above)| Ok((node, strings(above)?))).collect()
    }

    /// What lies above each thing at any distance, itself included.
    pub(super) fn closure(&self) -> Result<BTreeMap<&str, BTreeSet<&str>>, String> {
        let graph: BTreeMap<&str, Vec<&str>> = self.graph()?.into_iter().collect();
        let reach = |start| {
            let mut seen = BTreeSet::from([start]);
            let mut open = vec![start];
            while let Some(above) = open.pop().and_then(|node| graph.get(node)) {
                open.extend(above.iter().filter(|node| seen.insert(**node)));
            }
            seen
        };
        Ok(graph.keys().map(|node| (*node, reach(*node))).collect())
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}`: {error}"))
}

/// A member of an object.
pub(super) fn member<'v>(value: &'v Value, name: &str) -> Result<&'v Value, String> {
    value.get(name).ok_or_else(|| format!("no `{name}` in `{value}`"))
}

/// A member of an object that is a string.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str, String> {
    string(member(value, name)?)
}

/// Names and members of an object.
pub(super) fn object(value: &Value) -> Result<impl Iterator<Item = (&str, &Value)>, String> {
    let members = value.as_object().ok_or_else(|| format!("no object: `{value}`"))?;
    Ok(members.iter().map(|(name, value)| (name.as_str(), value)))
}

/// The strings of an array.
pub(super) fn strings(value: &Value) -> Result<Vec<&str>, String> {
    array(value)?.iter().map(string).collect()
}

/// The elements of an array.
pub(super) fn array(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("no array: `{value}`"))
}

fn string(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("no string: `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_lies_above_is_found_at_any_distance_and_round_in_circles() {
        let variables = json!({ "entityGraph": { "a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"] } });
        let source = Source { kind: Kind::Github, policies: vec![], variables, subscriptions: vec![] };
        let closure = source.closure().unwrap();
        let above = |node: &str| closure[node].iter().copied().collect::<Vec<_>>().join("");
        assert_eq!([above("a"), above("d")], ["abc", "abcd"]);
    }
}
