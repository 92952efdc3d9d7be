//! The bill of materials: CycloneDX 1.5 of the crates that are in the binary, with their licences and the hashes of `Cargo.lock`.

use crate::dist::date::rfc_3339;
use crate::dist::product::Product;
use crate::dist::sums::sha256;
use crate::dist::target::Target;
use crate::metadata::{self, Metadata, Package};
use crate::process::{cargo, locked, output_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Its file's name.
pub(crate) fn name(product: &Product) -> String {
    format!("{}.cdx.json", product.stem())
}

/// The crates that are in the binary with all features that ship, by id: what only builds it, as macros do, is not.
///
/// # Errors
/// What cargo says.
pub(crate) fn shipped<'m>(
    metadata: &'m Metadata,
    target: &Target,
) -> Result<BTreeMap<&'m str, &'m Package>, String> {
    let mut command = cargo(&["tree", "--package", "durward", "--features", "full"]);
    command.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]);
    let tree = output_of(command.args(["--target", target.triple()]).args(locked()))?;
    let names: BTreeSet<(&str, &str)> = tree.lines().filter_map(named).collect();
    let packages = metadata.packages.iter();
    let found: BTreeMap<&str, &Package> = packages
        .filter(|(_, package)| names.contains(&(package.name.as_str(), package.version.as_str())))
        .map(|(id, package)| (id.as_str(), package))
        .collect();
    if found.len() == names.len() {
        Ok(found)
    } else {
        Err(format!("cargo tree names {} crates, cargo metadata {} of them", names.len(), found.len()))
    }
}

/// `serde v1.0.0 (*)`.
fn named(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// The text of the bill.
///
/// # Errors
/// `Cargo.lock` cannot be read, or there is no crate `durward`.
pub(crate) fn make(product: &Product, shipped: &BTreeMap<&str, &Package>) -> Result<String, String> {
    let lock = std::fs::read_to_string(metadata::root().join("Cargo.lock"))
        .map_err(|error| format!("cannot read `Cargo.lock`: {error}"))?;
    let hashes = hashes(&lock);
    let root = shipped.values().find(|package| package.name == "durward").ok_or("no crate `durward`")?;
    let mut whole = component(root, None);
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("type".to_owned(), json!("application"));
        fields.insert("hashes".to_owned(), json!([hash(&sha256(&product.binary))]));
        let target = json!([{ "name": "durward:target", "value": product.target.triple() }]);
        fields.insert("properties".to_owned(), target);
    }
    let others: Vec<&Package> =
        shipped.values().copied().filter(|package| package.name != "durward").collect();
    let components: Vec<Value> = others
        .iter()
        .map(|package| {
            component(package, hashes.get(&(package.name.as_str(), package.version.as_str())).copied())
        })
        .collect();
    let dependencies: Vec<Value> = shipped.values().map(|package| dependency(package, shipped)).collect();
    let mut bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "timestamp": rfc_3339(product.time),
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist", "version": product.version }] },
            "component": whole,
        },
        "components": components,
        "dependencies": dependencies,
    });
    let serial = serial(&sha256(bill.to_string().as_bytes()));
    if let Some(fields) = bill.as_object_mut() {
        fields.insert("serialNumber".to_owned(), json!(serial));
    }
    let text = serde_json::to_string_pretty(&bill).map_err(|error| format!("no JSON: {error}"))?;
    Ok(text + "\n")
}

fn component(package: &Package, checksum: Option<&str>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "purl": purl(package),
    });
    if let Some(fields) = component.as_object_mut() {
        if let Some(licence) = &package.licence {
            // `/` is the old way to write `OR`.
            let expression = licence.replace(" / ", "/").replace('/', " OR ");
            fields.insert("licenses".to_owned(), json!([{ "expression": expression }]));
        }
        if let Some(checksum) = checksum {
            fields.insert("hashes".to_owned(), json!([hash(checksum)]));
        }
    }
    component
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn hash(digits: &str) -> Value {
    json!({ "alg": "SHA-256", "content": digits })
}

fn dependency(package: &Package, shipped: &BTreeMap<&str, &Package>) -> Value {
    let used = package.links.iter().filter_map(|id| shipped.get(id.as_str()));
    json!({ "ref": purl(package), "dependsOn": used.map(|used| purl(used)).collect::<BTreeSet<_>>() })
}

/// A UUID of what the bill says, such that one commit has one bill: version 8 of RFC 9562, of the first digits of a hash.
fn serial(hash: &str) -> String {
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The checksums of `Cargo.lock`, by name and version.
fn hashes(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.strip_prefix(" = \"")).and_then(|rest| rest.strip_suffix('"'))
        };
        if let (Some(name), Some(version), Some(sum)) = (value("name"), value("version"), value("checksum")) {
            found.insert((name, version), sum);
        }
    }
    found
}

/// Looks whether a bill is what it says it is, and names the decision point.
///
/// # Errors
/// Says what is not as it should be.
pub(crate) fn verify(bill: &[u8]) -> Result<usize, String> {
    let bill: Value =
        serde_json::from_slice(bill).map_err(|error| format!("the bill is no JSON: {error}"))?;
    let at = |path: &str| bill.pointer(path).and_then(Value::as_str).unwrap_or_default();
    if (at("/bomFormat"), at("/specVersion")) != ("CycloneDX", "1.5") {
        return Err("the bill is not CycloneDX 1.5".to_owned());
    }
    let components = bill.get("components").and_then(Value::as_array).ok_or("the bill has no components")?;
    let field =
        |component: &Value, name: &str| component.get(name).and_then(Value::as_str).map(str::to_owned);
    if !components.iter().any(|component| field(component, "name").as_deref() == Some("durward-pdp")) {
        return Err("the bill does not name `durward-pdp`".to_owned());
    }
    let known: BTreeSet<String> = components.iter().filter_map(|it| field(it, "bom-ref")).collect();
    let wanted = bill.pointer("/dependencies").and_then(Value::as_array).into_iter().flatten();
    for to in wanted.filter_map(|it| it.get("dependsOn")?.as_array()).flatten().filter_map(Value::as_str) {
        if !known.contains(to) {
            return Err(format!("the bill depends on `{to}`, which is no component"));
        }
    }
    let bare = |component: &&Value| {
        let is_ours = field(component, "name").is_some_and(|name| name.starts_with("durward"));
        component.get("licenses").is_none() || (component.get("hashes").is_none() && !is_ours)
    };
    match components.iter().find(bare) {
        Some(bare) => Err(format!("no licence or no hash of {:?}", field(bare, "name"))),
        None => Ok(components.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_belong_to_a_name_and_a_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n\n\
                    [[package]]\nname = \"b\"\nversion = \"2.0.0\"\ndependencies = [\n \"a\",\n]\n";
        assert_eq!(hashes(lock), [(("a", "1.0.0"), "ab")].into());
    }

    #[test]
    fn lines_of_cargo_tree_are_read() {
        assert_eq!(named("serde v1.0.0 (*)"), Some(("serde", "1.0.0")));
        assert_eq!(named("durward v0.1.0 (/a/b)"), Some(("durward", "0.1.0")));
        assert_eq!(named(""), None);
    }

    #[test]
    fn a_bill_without_the_decision_point_is_found() {
        assert!(verify(b"{}").is_err() && verify(b"").is_err());
        let bill = br#"{"bomFormat":"CycloneDX","specVersion":"1.5","components":[]}"#;
        assert_eq!(verify(bill), Err("the bill does not name `durward-pdp`".to_owned()));
    }
}
