//! The arrows between the crates: what `ARCHITECTURE.md` says, against what is built.
//!
//! The table in the document is the one place where the arrows are written down; it is read from there, so that
//! document and truth cannot part. An arrow missing from the table and an arrow only in the table both fail. A second table
//! says the same of the folders of the server, which `folders` compares.

use crate::folders;
use crate::metadata::{self, Metadata, Package};
use crate::sources::{is_tests, sources, up_to_tests};
use std::collections::{BTreeMap, BTreeSet};

/// The crates that decide, and the two that know who asks: no clock, no socket, no runtime.
const KERNEL: [&str; 16] = [
    "durward-ir",
    "durward-functions",
    "durward-library-formats",
    "durward-library-time",
    "durward-library-geo",
    "durward-library-crypto",
    "durward-library",
    "durward-xacml",
    "durward-xacml-policies",
    "durward-subscription",
    "durward-sapl",
    "durward-index",
    "durward-plan",
    "durward-pdp",
    "durward-session-table",
    "durward-identity",
];

/// What the kernel must not be built from, at any distance.
const KEPT_OUT: [&str; 10] =
    ["tokio", "mio", "async-std", "smol", "notify", "hyper", "socket2", "reqwest", "rustls", "rand"];

/// What must not be written in the kernel's sources. Addresses (`std::net::IpAddr`) are values, not sockets.
const UNWRITTEN: [&str; 8] = [
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
];

/// The heading of the table's first column in `ARCHITECTURE.md`.
const TABLE_HEADING: &str = "| crate |";

/// The heading of the first column of the table of the server's folders.
const FOLDERS_HEADING: &str = "| folder of the server |";

/// Compares the document's table with the workspace, and looks for what the kernel must not have.
pub(crate) fn findings(metadata: &Metadata, document: &str) -> Vec<String> {
    let mut found = compare(&table(document, TABLE_HEADING), &arrows(metadata));
    let of_crate = |name: &&str| folders::files(&metadata::root().join("crates").join(name).join("src"));
    let files: Result<Vec<_>, String> = folders::CRATES.iter().map(of_crate).collect();
    match files {
        Ok(files) => found.extend(folders::findings(&table(document, FOLDERS_HEADING), &files.concat())),
        Err(error) => found.push(error),
    }
    for package in metadata.members().filter(|package| KERNEL.contains(&package.name.as_str())) {
        found.extend(kept_out(metadata, package));
        found.extend(unwritten(package));
    }
    found
}

/// The text of `ARCHITECTURE.md`.
pub(crate) fn document() -> Result<String, String> {
    let path = metadata::root().join("ARCHITECTURE.md");
    std::fs::read_to_string(&path).map_err(|error| format!("cannot read `ARCHITECTURE.md`: {error}"))
}

/// Who may use whom.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Reads the table below a heading: first column a crate or folder, last column those it may use, all in backticks.
fn table(document: &str, heading: &str) -> Arrows {
    let rows = document.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    rows.take_while(|line| line.starts_with('|')).filter_map(row).collect()
}

fn row(line: &str) -> Option<(String, BTreeSet<String>)> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
    let name = quoted(cells.first()?).into_iter().next()?;
    Some((name, quoted(cells.last()?)))
}

fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn arrows(metadata: &Metadata) -> Arrows {
    let name_of_member =
        |id: &String| metadata.packages.get(id).filter(|used| used.member).map(|used| used.name.clone());
    metadata
        .members()
        .map(|package| (package.name.clone(), package.uses.iter().filter_map(name_of_member).collect()))
        .collect()
}

fn compare(said: &Arrows, built: &Arrows) -> Vec<String> {
    let names: BTreeSet<&String> = said.keys().chain(built.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        match (said.get(name), built.get(name)) {
            (Some(said), Some(built)) => {
                for used in built.difference(said) {
                    found.push(format!("`{name}` uses `{used}`: not in the table of ARCHITECTURE.md"));
                }
                for used in said.difference(built) {
                    found.push(format!("`{name}` does not use `{used}`, though ARCHITECTURE.md says so"));
                }
            }
            (None, _) => found.push(format!("`{name}` has no row in the table of ARCHITECTURE.md")),
            (_, None) => {
                found.push(format!("ARCHITECTURE.md has a row for `{name}`, which is no crate here"))
            }
        }
    }
    found
}

fn kept_out(metadata: &Metadata, package: &Package) -> Vec<String> {
    let reach = metadata.reach(package);
    let out = reach.iter().filter(|used| KEPT_OUT.contains(&used.name.as_str()));
    out.map(|used| {
        format!(
            "`{}` is built from `{}`: the kernel has no clock, socket or runtime",
            package.name, used.name
        )
    })
    .collect()
}

/// Reads the sources up to their tests: a test may hold a clock.
fn unwritten(package: &Package) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources(&package.folder.join("src")).into_iter().filter(|path| !is_tests(path)) {
        let Ok(text) = std::fs::read_to_string(&path) else {
            found.push(format!("cannot read `{}`", path.display()));
            continue;
        };
        for (number, line) in up_to_tests(&text) {
            let code = outside_quotes(line);
            for word in UNWRITTEN.iter().filter(|word| code.contains(**word)) {
                found.push(format!(
                    "{}:{}: `{word}` in the kernel; take it as an argument",
                    path.display(),
                    number
                ));
            }
        }
    }
    found
}

/// The line without its comment and without what stands between quotation marks: a message may name a clock.
fn outside_quotes(line: &str) -> String {
    let code = line.split("//").next().unwrap_or(line);
    code.split('"').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_what_the_document_says() {
        let found = findings(&Metadata::read().unwrap(), &document().unwrap());
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }

    #[test]
    fn every_kernel_crate_there_is_has_been_looked_at() {
        let metadata = Metadata::read().unwrap();
        let kernel = metadata.members().filter(|package| KERNEL.contains(&package.name.as_str()));
        for package in kernel {
            assert!(!sources(&package.folder.join("src")).is_empty(), "{}", package.name);
        }
    }

    #[test]
    fn a_row_is_read_from_its_first_and_last_column() {
        let text = "before\n| crate | what | uses |\n|---|---|---|\n| `a` | uses `x` inside | `b`, `c` |\n| `b` | | - |\nafter";
        let said = table(text, TABLE_HEADING);
        assert_eq!(said.get("a").unwrap().iter().collect::<Vec<_>>(), ["b", "c"]);
        assert!(said.get("b").unwrap().is_empty());
        assert_eq!(said.len(), 2);
    }

    #[test]
    fn an_arrow_too_many_and_one_too_few_are_both_found() {
        let said = table("| crate | uses |\n|---|---|\n| `a` | `b` |\n| `b` | - |", TABLE_HEADING);
        let built =
            table("| crate | uses |\n|---|---|\n| `a` | - |\n| `b` | `a` |\n| `c` | - |", TABLE_HEADING);
        let found = compare(&said, &built);
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn only_code_is_searched() {
        assert_eq!(outside_quotes(r#"let a = b("use X::now", c()); // X::now"#), "let a = b(, c()); ");
    }
}
