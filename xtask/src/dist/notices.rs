//! The licences of the crates that are in the binary: most of them ask that their text and their copyright notice go along.

use crate::metadata::Package;
use std::collections::BTreeMap;

/// What the files with licences are called.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// One text, with the crates that each part is about.
pub(crate) fn make<'p>(packages: impl Iterator<Item = &'p Package>) -> String {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in packages.filter(|package| !package.member) {
        let crate_name = format!("{} {}", package.name, package.version);
        list.push_str(&format!("{crate_name}: {}\n", package.licence.as_deref().unwrap_or("none named")));
        for text in of(package) {
            texts.entry(text).or_default().push(crate_name.clone());
        }
    }
    let mut out = format!("The program durward contains these crates, under these licences.\n\n{list}");
    let line = "-".repeat(78);
    for (text, crates) in &texts {
        out.push_str(&format!("\n{line}\n{}\n{line}\n\n{}\n", crates.join(", "), text.trim_end()));
    }
    out
}

fn of(package: &Package) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(&package.folder) else { return Vec::new() };
    let is_one = |name: &str| NAMES.iter().any(|start| name.to_lowercase().starts_with(start));
    let mut paths: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_one(&entry.file_name().to_string_lossy()) && entry.path().is_file())
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let texts = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    // Line ends differ, and nothing else often.
    texts.map(|text| text.replace("\r\n", "\n").trim().to_owned()).filter(|text| !text.is_empty()).collect()
}
