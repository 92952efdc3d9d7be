//! The examples of the manual's pages that teach by example, typed as a reader would type them.
//!
//! Such a page is `docs/sapl-tour.md`, `docs/documents.md` or `docs/from-*.md`. Its blocks are followed in order, in a new directory that has the example
//! policies `documents/`:
//!
//! - A block after a line that ends with a path and a colon, as in "`first/read.sapl`:", is written to that file.
//! - A block `sh` has commands. Each begins with `$ ` and goes on after `\` at the end of a line. The lines up to the next command are
//!   all that it prints, to standard output and standard error.
//! - Any other block `sapl` is an excerpt: each of its paragraphs is in one of the example policies.
//! - All other blocks are only read.
//!
//! With DURWARD_BLESS set, the pages are rewritten with what the commands print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::binary;
use crate::durward;

/// The example policies that pages use, in the repository.
fn documents() -> PathBuf {
    durward_testdata::workspace().join("crates/durward/policies/documents")
}

/// A new directory with a copy of them.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-pages-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(directory.join("documents")).unwrap();
    for entry in fs::read_dir(documents()).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), directory.join("documents").join(entry.file_name())).unwrap();
    }
    directory
}

/// The page with what its commands really print.
fn replayed(page: &str, directory: &Path) -> String {
    let mut replayed = String::new();
    let mut file = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        replayed += &format!("{line}\n");
        let Some(language) = line.strip_prefix("```") else {
            if !line.is_empty() {
                file = file_named(line);
            }
            continue;
        };
        let body = lines.by_ref().take_while(|line| *line != "```");
        let body: String = body.map(|line| format!("{line}\n")).collect();
        match file.take() {
            _ if language == "sh" => replayed += &session(&body, directory),
            Some(file) => {
                write(&directory.join(file), &body);
                replayed += &body;
            }
            None => {
                assert!(language != "sapl" || is_excerpt(&body, directory), "no policy has\n{body}");
                replayed += &body;
            }
        }
        replayed += "```\n";
    }
    replayed
}

/// The path at the end of a line, before a colon.
fn file_named(line: &str) -> Option<&str> {
    let (_, name) = line.strip_suffix("`:")?.rsplit_once('`')?;
    (name.contains('/') && !name.contains(' ')).then_some(name)
}

/// Whether each paragraph is in one of the example policies.
fn is_excerpt(text: &str, directory: &Path) -> bool {
    let files = fs::read_dir(directory.join("documents")).unwrap();
    let policies: Vec<String> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    text.split("\n\n").all(|part| policies.iter().any(|policy| policy.contains(part.trim_end())))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The commands of a block, each with what it prints.
fn session(block: &str, directory: &Path) -> String {
    let mut session = String::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        // Other lines are what the page says that the command prints.
        let Some(begin) = line.strip_prefix("$ ") else { continue };
        let mut command = begin.to_owned();
        while command.ends_with('\\') {
            command += &format!("\n{}", lines.next().unwrap());
        }
        session += &format!("$ {command}\n{}", printed(&command, directory));
    }
    session
}

/// What a shell prints for a command, with the tested binary in front of its path.
fn printed(command: &str, directory: &Path) -> String {
    let binary = PathBuf::from(binary());
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(directory).env("PATH", path);
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let mut printed = String::from_utf8(output.stdout).unwrap();
    if !printed.is_empty() && !printed.ends_with('\n') {
        printed.push('\n');
    }
    printed
}

/// Follows a page of the manual.
#[track_caller]
fn follow(name: &str) {
    let path = durward_testdata::workspace().join("docs").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let directory = directory(name);
    let replayed = replayed(&page, &directory);
    fs::remove_dir_all(directory).unwrap();
    assert!(replayed.contains("\n$ "), "{name} has no command");
    if std::env::var_os("DURWARD_BLESS").is_some() {
        fs::write(&path, &replayed).unwrap();
    } else if replayed != page {
        let differing = page.lines().zip(replayed.lines()).enumerate().find(|(_, (said, came))| said != came);
        panic!("docs/{name}: {differing:?}; if it should, run with DURWARD_BLESS=1");
    }
}

#[test]
fn the_tour_prints_what_it_says() {
    follow("sapl-tour.md");
}

#[test]
fn the_page_about_documents_prints_what_it_says() {
    follow("documents.md");
}

#[test]
fn pages_for_users_of_other_systems_print_what_they_say() {
    let docs = fs::read_dir(durward_testdata::workspace().join("docs")).unwrap();
    let names = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("from-") && name.ends_with(".md")).collect();
    names.sort();
    assert!(!names.is_empty());
    names.iter().for_each(|name| follow(name));
}

#[test]
fn the_document_application_is_clean_tested_and_covered() {
    let documents = documents();
    let documents = documents.to_str().unwrap();
    durward(&["fmt", "--check", documents]).exits(0);
    durward(&["check", "--strict", documents]).exits(0);
    let gates = ["--policy-set-hit-ratio=100", "--policy-hit-ratio=100", "--condition-hit-ratio=100"];
    durward(&[&["test", "--no-html", "--dir", documents][..], &gates].concat()).exits(0);
}

#[test]
fn a_page_that_says_something_else_is_found() {
    let directory = directory("convention");
    let page = "Put this into `a/b.txt`:\n\n```text\none\n```\n\n```sh\n$ cat a/b.txt\none\n$ cat \\\n    a/b.txt; echo two >&2\n```\n";
    let expected = page.replace("two >&2\n", "two >&2\none\ntwo\n");
    assert_eq!(replayed(page, &directory), expected);
    assert_eq!(replayed(&expected, &directory), expected);
    fs::remove_dir_all(directory).unwrap();
}
