//! The formula of Homebrew, from its template and the archives that there are.

use crate::dist::files::text;
use crate::dist::sums::{names, read, sha256};
use std::path::Path;

/// Its file's name.
pub(crate) const NAME: &str = "durward.rb";

/// Fills the template in, for the archives in a folder, which are fetched from `url`; without a repository the project is where these are.
///
/// # Errors
/// There is no archive.
pub(crate) fn make(
    folder: &Path,
    version: &str,
    url: &str,
    repository: Option<&str>,
) -> Result<String, String> {
    let url = url.trim_end_matches('/');
    let mut archives = Vec::new();
    for name in names(folder)? {
        let target =
            name.strip_prefix(&format!("durward-{version}-")).and_then(|rest| rest.strip_suffix(".tar.gz"));
        if let Some(target) = target {
            archives.push((target.to_owned(), sha256(&read(folder, &name)?)));
        }
    }
    if archives.is_empty() {
        return Err(format!("no archive of {version} for a formula in `{}`", folder.display()));
    }
    let filled = fill(&text("packaging/homebrew/durward.rb")?, &archives);
    Ok(filled
        .replace("@VERSION@", version)
        .replace("@HOMEPAGE@", repository.unwrap_or(homepage(url)))
        .replace("@URL@", url))
}

/// The project that has a release, on forges that keep releases below `/releases/` or `/-/releases/`.
fn homepage(url: &str) -> &str {
    let project = url.split("/releases/").next().unwrap_or(url);
    project.strip_suffix("/-").unwrap_or(project)
}

/// Each block between `# for TARGET...` and `# end`, for the first of its targets that there is an archive for.
fn fill(template: &str, archives: &[(String, String)]) -> String {
    let mut out = String::new();
    // Outside of a block; within one, its archive.
    let mut block: Option<Option<&(String, String)>> = None;
    for line in template.lines() {
        let mark = line.trim_start();
        if let Some(targets) = mark.strip_prefix("# for ") {
            let of = |target: &str| archives.iter().find(|(other, _)| other == target);
            block = Some(targets.split(' ').find_map(of));
        } else if mark == "# end" {
            block = None;
        } else if line.starts_with('#') {
            // What the template says about itself.
        } else {
            match block {
                Some(Some((target, sum))) => {
                    out.push_str(&line.replace("@TARGET@", target).replace("@SHA256@", sum));
                    out.push('\n');
                }
                Some(None) => {}
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_its_first_archive_or_is_left_out() {
        let template = "# about\na\n  # for x y\n  @TARGET@ @SHA256@\n  # end\n  # for z\n  z\n  # end\nb\n";
        let archives = [("y".to_owned(), "1".to_owned()), ("w".to_owned(), "2".to_owned())];
        assert_eq!(fill(template, &archives), "a\n  y 1\nb\n");
    }

    #[test]
    fn the_project_is_above_its_releases() {
        assert_eq!(homepage("https://a.example/b/c/releases/download/v1"), "https://a.example/b/c");
        assert_eq!(homepage("https://a.example/b/c/-/releases/v1/downloads"), "https://a.example/b/c");
        assert_eq!(homepage("https://a.example/b"), "https://a.example/b");
    }
}
