//! The links between the documents: each leads to a file that is there.

use crate::metadata;
use std::path::{Path, PathBuf};

/// Links in the project's documents that lead nowhere.
pub(crate) fn findings() -> Result<Vec<String>, String> {
    let root = metadata::root();
    let mut found = Vec::new();
    for path in documents(&root)? {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        let folder = path.parent().unwrap_or(&root);
        for target in targets(&text).filter(|target| !folder.join(target).exists()) {
            let name = path.strip_prefix(&root).unwrap_or(&path).display();
            found.push(format!("`{name}` links to `{target}`, which is not there"));
        }
    }
    Ok(found)
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

/// The files that `[words](target)` leads to, without the place in them; other sites are theirs to keep.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = links
        .filter(|target| !target.contains("://"))
        .map(|target| target.split('#').next().unwrap_or(target));
    files.filter(|target| !target.is_empty() && !target.contains(['`', '\n', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere() {
        assert_eq!(findings().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn only_files_of_ours_are_looked_for() {
        let text = "[a](b.md) [c](https://d.example/) [e](f/g.md#h) [i](#j) ![k](l.png)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["b.md", "f/g.md", "l.png"]);
    }
}
