//! The project's own source files, as text.

use std::path::{Path, PathBuf};

/// Every Rust file in a folder and the folders below it, sorted; nothing where there is no folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths = Vec::new();
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            paths.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// The lines before the tests, which stand last, with their numbers.
pub(crate) fn up_to_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
}
