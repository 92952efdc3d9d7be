//! The arrows between the folders of the server: what a table of `ARCHITECTURE.md` says, against the paths in the sources of its crates.
//!
//! A folder is what the table lists; files below it that no longer row claims belong to it. Paths are read out of the text: those that
//! begin with `crate::` or a crate of [`CRATES`], and those by which `super::` leaves a folder. Tests are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::arrows::Arrows;
use crate::sources::{is_tests, sources, up_to_tests};

/// The crates that have folders of the table, from below: a path that begins with one is read as if it began with `crate`.
pub(crate) const CRATES: [&str; 3] = ["durward-common", "durward-logins", "durward-server"];

/// A source file: its path below `src`, with `/`, and its text.
type File = (String, String);

/// The sources below a crate's `src`, tests left out.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn files(src: &Path) -> Result<Vec<File>, String> {
    let paths = sources(src).into_iter().filter(|path| !is_tests(path));
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        let below = path.strip_prefix(src).unwrap_or(&path);
        let parts: Vec<String> =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        Ok((parts.join("/"), text))
    };
    paths.map(read).collect()
}

/// Compares the table with the sources, in both directions, and looks for circles.
pub(crate) fn findings(said: &Arrows, files: &[File]) -> Vec<String> {
    if said.is_empty() {
        return vec!["there is no table of folders in ARCHITECTURE.md".to_owned()];
    }
    let mut tree = Tree { folders: said.keys().cloned().collect(), ..Tree::default() };
    files.iter().for_each(|file| tree.read(file));
    let mut found = std::mem::take(&mut tree.found);
    for (folder, used) in said {
        for gone in used.iter().filter(|used| !tree.uses(folder, used)) {
            found.push(format!("`{folder}` does not use `{gone}`, though ARCHITECTURE.md says so"));
        }
        if !tree.filled.contains(folder) {
            found.push(format!("ARCHITECTURE.md has a row for the folder `{folder}`, in which no file is"));
        }
    }
    for ((folder, used), place) in &tree.arrows {
        if !said.get(folder).is_some_and(|said| said.contains(used)) {
            found.push(format!(
                "`{folder}` uses `{used}` ({place}): not in the table of folders in ARCHITECTURE.md"
            ));
        }
    }
    found.extend(circle(&tree.arrows));
    found
}

/// What was found in the sources.
#[derive(Default)]
struct Tree {
    folders: BTreeSet<String>,
    /// Folders with a file in them.
    filled: BTreeSet<String>,
    /// Who uses whom, and the first place where that shows.
    arrows: BTreeMap<(String, String), String>,
    found: Vec<String>,
}

impl Tree {
    /// The folder that a path of modules or of files lies in: the longest that is listed.
    fn folder_of(&self, path: &[&str]) -> Option<String> {
        (1..=path.len())
            .rev()
            .filter_map(|length| path.get(..length))
            .map(|path| path.join("/"))
            .find(|folder| self.folders.contains(folder))
    }

    fn uses(&self, folder: &str, used: &str) -> bool {
        self.arrows.contains_key(&(folder.to_owned(), used.to_owned()))
    }

    fn read(&mut self, (path, text): &File) {
        let module = module_of(path);
        let own = self.folder_of(&module);
        match &own {
            Some(own) => drop(self.filled.insert(own.clone())),
            None if is_root(path, &self.folders) => {}
            None => self.found.push(format!("`{path}` lies in no folder of the table in ARCHITECTURE.md")),
        }
        for (line, used) in paths(text) {
            let Some(used) = resolved(&module, &used) else { continue };
            let used: Vec<&str> = used.iter().map(String::as_str).collect();
            let place = format!("{path}:{line}");
            match (&own, self.folder_of(&used)) {
                // What stands above the folders may name them all: it gives them to the world.
                (None, _) => {}
                (Some(own), Some(used)) if *own == used => {}
                (Some(own), Some(used)) => drop(self.arrows.entry((own.clone(), used)).or_insert(place)),
                (Some(_), None) => self.found.push(format!(
                    "{place}: `crate::{}` lies in no folder of the table in ARCHITECTURE.md; name it where it is",
                    used.join("::")
                )),
            }
        }
    }
}

/// Whether a file only gathers folders: `lib.rs`, and `mod.rs` above folders that are listed.
fn is_root(path: &str, folders: &BTreeSet<String>) -> bool {
    let above = path.strip_suffix("mod.rs");
    path == "lib.rs" || above.is_some_and(|above| folders.iter().any(|folder| folder.starts_with(above)))
}

/// `a/b/mod.rs` and `a/b.rs` are the module `a::b`.
fn module_of(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Vec::new() } else { path.split('/').collect() }
}

/// Whether it is `crate` or a crate of [`CRATES`]: what follows is a path in the folders.
fn is_root_name(word: &str) -> bool {
    word == "crate" || CRATES.contains(&word.replace('_', "-").as_str())
}

/// The path from the crate's root on; `None` where it begins neither there nor above the module it stands in.
fn resolved(module: &[&str], path: &[String]) -> Option<Vec<String>> {
    let steps = path.iter().take_while(|step| *step == "super").count();
    let rest = path.get(steps..)?;
    if steps == 0 {
        let (first, rest) = path.split_first()?;
        return is_root_name(first).then(|| rest.to_vec());
    }
    let above = module.get(..module.len().checked_sub(steps)?)?;
    Some(above.iter().map(|part| (*part).to_owned()).chain(rest.iter().cloned()).collect())
}

/// Every path that begins with `crate`, a crate of [`CRATES`] or `super`, with its line; what stands in braces is several.
fn paths(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut words = Vec::new();
    for (number, line) in up_to_tests(text) {
        let code = outside_quotes(line);
        words.extend(split(&code).into_iter().map(|word| (number, word)));
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((number, word)) = words.get(at) {
        let is_begun = word == "super" || is_root_name(word);
        // `in crate::a` says who may see something, and uses nothing.
        let is_sight = at > 0 && words.get(at - 1).is_some_and(|(_, before)| before == "in");
        if is_begun && !is_sight {
            let mut all = Vec::new();
            at = tree(&words, at, &[], &mut all);
            found.extend(all.into_iter().filter(|path| path.len() > 1).map(|path| (*number, path)));
        } else {
            at += 1;
        }
    }
    found
}

/// Reads a path from `at` on, below `above`; gives where it ends.
fn tree(words: &[(usize, String)], mut at: usize, above: &[String], all: &mut Vec<Vec<String>>) -> usize {
    let word = |at: usize| words.get(at).map(|(_, word)| word.as_str());
    let mut path = above.to_vec();
    loop {
        match word(at) {
            Some("{") => {
                at += 1;
                while !matches!(word(at), None | Some("}")) {
                    at = tree(words, at, &path, all);
                    // `as C` is no path.
                    while !matches!(word(at), None | Some("," | "}")) {
                        at += 1;
                    }
                    if word(at) == Some(",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(name) if is_name(name) => path.push(name.to_owned()),
            Some(_) | None => break,
        }
        at += 1;
        if word(at) != Some("::") {
            break;
        }
        at += 1;
    }
    if path.len() > above.len() {
        all.push(path);
    }
    at
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

/// Names, `::`, and all other characters alone.
fn split(code: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for character in code.chars() {
        let is_part = character.is_alphanumeric() || character == '_';
        match words.last_mut() {
            Some(last) if is_part && is_open => last.push(character),
            Some(last) if character == ':' && last == ":" => last.push(character),
            Some(_) | None if character.is_whitespace() => {}
            Some(_) | None => words.push(character.into()),
        }
        is_open = is_part;
    }
    words
}

/// The line without its comment and without what stands between quotation marks.
fn outside_quotes(line: &str) -> String {
    let code = line.split("//").next().unwrap_or(line);
    code.split('"').step_by(2).collect()
}

/// One circle, if there is any: each uses the next, the last the first.
fn circle(arrows: &BTreeMap<(String, String), String>) -> Option<String> {
    let mut left: BTreeSet<&str> =
        arrows.keys().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    // Whoever uses nobody that is left is in no circle.
    loop {
        let uses_one =
            |folder: &str| arrows.keys().any(|(from, to)| from == folder && left.contains(to.as_str()));
        let free: Vec<&str> = left.iter().copied().filter(|folder| !uses_one(folder)).collect();
        if free.is_empty() {
            break;
        }
        for folder in free {
            left.remove(folder);
        }
    }
    let mut way = vec![*left.first()?];
    loop {
        let last = *way.last()?;
        let next = arrows.keys().find(|(from, to)| from == last && left.contains(to.as_str()));
        let (_, next) = next?;
        if let Some(at) = way.iter().position(|folder| folder == next) {
            let names: Vec<String> =
                way.get(at..)?.iter().chain([&next.as_str()]).map(|name| format!("`{name}`")).collect();
            return Some(format!("folders use each other in a circle: {}", names.join(" -> ")));
        }
        way.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rows: &[(&str, &[&str])]) -> Arrows {
        let row = |(folder, used): &(&str, &[&str])| {
            ((*folder).to_owned(), used.iter().map(|used| (*used).to_owned()).collect())
        };
        rows.iter().map(row).collect()
    }

    fn tree(files: &[(&str, &str)]) -> Vec<File> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    /// `base` <- `doors/one`, `doors/two` <- `serve`.
    fn good() -> Vec<File> {
        tree(&[
            ("lib.rs", "mod base;\npub use serve::Server;"),
            ("base/mod.rs", "pub(crate) struct Clock;"),
            ("doors/mod.rs", "mod one;\nmod two;"),
            ("doors/one/mod.rs", "use crate::base::Clock;\nmod inner;"),
            (
                "doors/one/inner.rs",
                "use super::Door;\n// use crate::serve::Server;\nlet a = \"crate::serve\";",
            ),
            ("doors/two.rs", "use durward_common::{\n    base::Clock,\n};"),
            (
                "serve/mod.rs",
                "use crate::doors::{one::Door, two};\n#[cfg(test)]\nmod tests {\n use crate::x::Y; }",
            ),
        ])
    }

    const GOOD: [(&str, &[&str]); 4] = [
        ("base", &[]),
        ("doors/one", &["base"]),
        ("doors/two", &["base"]),
        ("serve", &["doors/one", "doors/two"]),
    ];

    fn with(path: &str, text: &str) -> Vec<String> {
        let mut files = good();
        files.retain(|(other, _)| other != path);
        files.extend(tree(&[(path, text)]));
        findings(&said(&GOOD), &files)
    }

    #[test]
    fn a_tree_that_is_as_the_table_says_passes() {
        assert_eq!(findings(&said(&GOOD), &good()), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_that_is_not_listed_is_found_with_its_place() {
        let found = with("doors/one/inner.rs", "\nfn f() { crate::doors::two::g() }");
        let wanted = "`doors/one` uses `doors/two` (doors/one/inner.rs:2): not in the table";
        assert!(found.len() == 1 && found.iter().all(|one| one.starts_with(wanted)), "{found:?}");
    }

    #[test]
    fn an_arrow_to_a_folder_of_another_crate_is_found() {
        let found = with("doors/one/inner.rs", "use durward_common::doors::two::g;");
        assert!(found.iter().any(|one| one.starts_with("`doors/one` uses `doors/two`")), "{found:?}");
    }

    #[test]
    fn an_arrow_by_the_way_up_is_one_too() {
        let found = with("doors/one/inner.rs", "use super::super::two::Door;");
        assert!(found.iter().any(|one| one.starts_with("`doors/one` uses `doors/two`")), "{found:?}");
    }

    #[test]
    fn an_arrow_that_is_only_listed_is_found() {
        let found = with("doors/two.rs", "");
        assert_eq!(found, ["`doors/two` does not use `base`, though ARCHITECTURE.md says so"]);
    }

    #[test]
    fn a_circle_is_found_also_where_all_of_it_is_listed() {
        let mut files = good();
        files.extend(tree(&[("base/more.rs", "pub(in crate::base) struct A;\nuse crate::serve::Server;")]));
        let mut rows = said(&GOOD);
        rows.insert("base".to_owned(), BTreeSet::from(["serve".to_owned()]));
        let found = findings(&rows, &files);
        assert_eq!(found, ["folders use each other in a circle: `base` -> `serve` -> `doors/one` -> `base`"]);
    }

    #[test]
    fn what_lies_outside_all_folders_is_found() {
        let found = with("more.rs", "");
        assert_eq!(found, ["`more.rs` lies in no folder of the table in ARCHITECTURE.md"]);
        let found = with("doors/two.rs", "use crate::{Clock, base::Clock as C};");
        assert!(found.len() == 1 && found.iter().all(|one| one.contains("`crate::Clock` lies in no folder")));
        let mut rows = said(&GOOD);
        rows.insert("gone".to_owned(), BTreeSet::new());
        let found = findings(&rows, &good());
        assert!(found.len() == 1 && found.iter().all(|one| one.contains("`gone`, in which no file is")));
    }

    #[test]
    fn braces_within_braces_are_several_paths() {
        let found = paths("use crate::{a::{self, B}, c};\nlet x = super::d::E { f: crate::g::h() };");
        let found: Vec<String> =
            found.iter().map(|(line, path)| format!("{line} {}", path.join("::"))).collect();
        let wanted = ["1 crate::a::self", "1 crate::a::B", "1 crate::c", "2 super::d::E", "2 crate::g::h"];
        assert_eq!(found, wanted);
    }
}
