//! The links between the documents: each leads to a file that is there, and to a heading of it.

use crate::metadata;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Links in the project's documents that lead nowhere.
pub(crate) fn findings() -> Result<Vec<String>, String> {
    let root = metadata::root();
    let mut found = Vec::new();
    let mut headings: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    for path in documents(&root)? {
        let text = read(&path)?;
        let folder = path.parent().unwrap_or(&root);
        for link in links(&text) {
            let name = path.strip_prefix(&root).unwrap_or(&path).display();
            let target = if link.file.is_empty() { path.clone() } else { folder.join(link.file) };
            let Ok(target) = target.canonicalize() else {
                found.push(format!("`{name}` links to `{}`, which is not there", link.file));
                continue;
            };
            let Some(anchor) =
                link.anchor.filter(|_| target.extension().is_some_and(|ending| ending == "md"))
            else {
                continue;
            };
            if !headings.contains_key(&target) {
                headings.insert(target.clone(), anchors(&read(&target)?));
            }
            if !headings.get(&target).is_some_and(|headings| headings.contains(anchor)) {
                found.push(format!(
                    "`{name}` links to `{}#{anchor}`, and there is no such heading",
                    link.file
                ));
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn documents(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for folder in [root.to_path_buf(), root.join("docs"), root.join("fuzz")] {
        let entries = std::fs::read_dir(&folder)
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
        let files = entries.filter_map(Result::ok).map(|entry| entry.path());
        paths.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    paths.sort();
    Ok(paths)
}

/// Where `[words](file#anchor)` leads.
#[derive(Debug, PartialEq)]
struct Link<'t> {
    /// Empty: the document itself.
    file: &'t str,
    anchor: Option<&'t str>,
}

impl<'t> Link<'t> {
    fn of(target: &'t str) -> Link<'t> {
        match target.split_once('#') {
            Some((file, anchor)) => Link { file, anchor: Some(anchor) },
            None => Link { file: target, anchor: None },
        }
    }
}

/// The links of a document; other sites are theirs to keep.
fn links(text: &str) -> impl Iterator<Item = Link<'_>> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.filter(|target| !target.contains("://") && !target.contains(['`', '\n', ' ']));
    targets.filter(|target| !target.is_empty()).map(Link::of)
}

/// What the headings of a document are called in links, as forges make it: small letters, hyphens for spaces, no punctuation, and a number
/// where there was the same before.
fn anchors(text: &str) -> HashSet<String> {
    let mut is_code = false;
    let mut known: HashSet<String> = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if is_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let letter = |letter: char| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        };
        let name: String = title.trim().to_lowercase().chars().filter_map(letter).collect();
        let count = counts.entry(name.clone()).or_default();
        known.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere() {
        assert_eq!(findings().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn only_links_to_ours_are_followed() {
        let text = "[a](b.md) [c](https://d.example/) [e](f/g.md#h) [i](#j) ![k](l.png) `x[y](z w)`";
        let link = |file, anchor| Link { file, anchor };
        let expected =
            [link("b.md", None), link("f/g.md", Some("h")), link("", Some("j")), link("l.png", None)];
        assert_eq!(links(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn headings_are_called_as_forges_call_them() {
        let text = "# The first: `a_b`, 2.0\n#no\n```sh\n# a comment\n```\n## Same\n## Same\n";
        let mut names: Vec<String> = anchors(text).into_iter().collect();
        names.sort();
        assert_eq!(names, ["same", "same-1", "the-first-a_b-20"]);
    }
}
