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

/// The lines before the tests, which stand last, with their numbers. `#[cfg(test)] mod tests;`, which may stand
/// anywhere, ends nothing: its text is in a file of its own ([`is_tests`]).
pub(crate) fn up_to_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let following = text.lines().skip(1).chain([""]);
    let lines = (1..).zip(text.lines().zip(following));
    let before = lines.take_while(|(_, (line, next))| !(*line == "#[cfg(test)]" && next.ends_with('{')));
    before.map(|(number, (line, _))| (number, line))
}

/// Whether a source file holds tests and nothing else.
pub(crate) fn is_tests(path: &Path) -> bool {
    path.file_stem().is_some_and(|name| name == "tests")
        || path.components().any(|part| part.as_os_str() == "tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_written_in_place_end_a_file() {
        let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more {\nc\n}\n";
        let lines: Vec<&str> = up_to_tests(text).map(|(_, line)| line).collect();
        assert_eq!(lines, ["a", "#[cfg(test)]", "mod tests;", "b"]);
    }
}
