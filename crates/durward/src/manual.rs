//! What the manual, the README, help and messages tell people to type is there: commands, flags, documents.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory, Parser};
use durward_pdp::ir::combine::Combines;
use durward_pdp::{Algorithm, DataType};
use durward_testdata::workspace;

use crate::Arguments;

/// The flags that texts name in their own right and that are not durward's.
const FLAGS_OF_OTHERS: [&str; 24] = [
    "--features",
    "--release",
    "--path",
    "--data",
    "--check",
    "--no-auth",
    "--machine",
    "--rounds",
    "--only",
    "--bless",
    "--target",
    "--binary",
    "--checks",
    "--driver",
    "--generator",
    "--maintainer",
    "--repository",
    "--profile",
    "--reproducible",
    "--static",
    "--asan",
    "--memory",
    "--allow-read",
    "--web.enable-remote-write-receiver",
];

/// The files with this ending below a directory, with their texts.
fn texts(directory: &Path, ending: &str, found: &mut Vec<(String, String)>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            texts(&path, ending, found);
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The documents that people read.
fn manual() -> Vec<(String, String)> {
    let mut found = Vec::new();
    texts(&workspace().join("docs"), "md", &mut found);
    for name in ["README.md", "ARCHITECTURE.md"] {
        found.push((name.to_owned(), fs::read_to_string(workspace().join(name)).unwrap()));
    }
    found
}

/// The words of a line of a shell up to what ends the command; `None` for what only a shell could say.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), character) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '|' | '&' | ';' | '>' | '<') => break,
            (None, '#') if word.is_none() => break,
            (None, '$' | '*' | '`') => return None,
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, character) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Some(words)
}

/// The commands that stand in fenced blocks, each in one line.
fn commands_of_blocks(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_inside = false;
    let mut begun = String::new();
    for line in text.lines() {
        if let Some(part) = line.strip_suffix('\\') {
            begun = format!("{begun}{} ", part.trim());
            continue;
        }
        let whole = std::mem::take(&mut begun) + line.trim_start();
        let line = whole.as_str();
        if line.starts_with("```") {
            is_inside = !is_inside;
        } else if is_inside {
            commands.extend(command_in(line));
        }
    }
    commands
}

/// `durward ...` at the beginning of a line, or behind a pipe.
fn command_in(line: &str) -> Option<String> {
    let line = line.trim_start().trim_start_matches("$ ");
    let line =
        line.split_once("| durward ").map_or(line, |(before, _)| line.get(before.len() + 2..).unwrap());
    let rest = line.strip_prefix("durward ")?;
    let first = rest.split_whitespace().next()?;
    // Behind some blanks stands what an example does.
    let line = line.split("   ").next()?;
    let command = Arguments::command();
    (first.starts_with('-') || command.find_subcommand(first).is_some()).then(|| line.to_owned())
}

/// What of a command is not there: a command or a flag. Values are not looked at.
fn absent(command: &Command, words: &[String]) -> Option<String> {
    let mut at = command;
    let mut is_free = false;
    for word in words {
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) {
            is_free = true;
            let flag = flag.split('=').next().unwrap();
            let is_flag = |argument: &clap::Arg| {
                argument.get_long() == Some(flag)
                    || argument.get_all_aliases().is_some_and(|all| all.contains(&flag))
            };
            if !matches!(flag, "help" | "version") && !at.get_arguments().any(is_flag) {
                return Some(format!("`{}` has no flag `--{flag}`", at.get_name()));
            }
        } else if let Some(next) = at.find_subcommand(word).filter(|_| !is_free) {
            at = next;
        } else if at.has_subcommands() && !is_free && word.bytes().all(|it| it.is_ascii_lowercase()) {
            return Some(format!("`{}` has no command `{word}`", at.get_name()));
        }
    }
    None
}

/// `durward ...` in backticks.
fn inline(text: &str) -> impl Iterator<Item = Vec<String>> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter_map(|span| words(span.trim_end_matches("...").strip_prefix("durward ")?))
}

fn all_help(command: &Command, found: &mut Vec<(String, String)>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    found.push((format!("help of {}", command.get_name()), help));
    command.get_subcommands().for_each(|command| all_help(command, found));
}

#[test]
fn commands_that_stand_in_blocks_can_be_typed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, text) in manual() {
        lines.extend(commands_of_blocks(&text).into_iter().map(|line| (name.clone(), line)));
    }
    let mut help = Vec::new();
    all_help(&Arguments::command(), &mut help);
    for (name, text) in &help {
        let examples = text.lines().filter(|line| line.starts_with("  durward "));
        lines.extend(examples.filter_map(|line| Some((name.clone(), command_in(line)?))));
    }
    for (name, line) in lines {
        let Some(words) = words(&line).filter(|words| !words.iter().any(|word| word.contains("..."))) else {
            continue;
        };
        count += 1;
        if let Err(error) = Arguments::try_parse_from(&words)
            && error.use_stderr()
        {
            wrong.push(format!("{name}: {line}: {}", error.to_string().lines().next().unwrap()));
        }
    }
    assert!(count > 50, "{count}");
    assert_eq!(wrong, Vec::<String>::new());
}

/// Those in running text, and in messages and comments of the sources: the command and its flags are there.
#[test]
fn commands_that_are_named_are_there() {
    let mut all = manual();
    texts(&workspace().join("crates"), "rs", &mut all);
    texts(&workspace().join("xtask/src"), "rs", &mut all);
    // These tests name what is not there.
    all.retain(|(name, _)| !name.ends_with("manual.rs"));
    let command = Arguments::command();
    let mut count = 0;
    let mut wrong = Vec::new();
    for (name, text) in &all {
        for words in text.lines().flat_map(inline) {
            count += 1;
            wrong.extend(
                absent(&command, &words).map(|wrong| format!("{name}: {}: {wrong}", words.join(" "))),
            );
        }
    }
    assert!(count > 100, "{count}");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn flags_that_are_named_are_there() {
    fn flags(command: &Command, found: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            found.extend(argument.get_long().into_iter().chain(aliases).map(|flag| format!("--{flag}")));
        }
        command.get_subcommands().for_each(|command| flags(command, found));
    }
    let mut known: Vec<String> = FLAGS_OF_OTHERS.map(str::to_owned).to_vec();
    flags(&Arguments::command(), &mut known);
    known.extend(["--help", "--version"].map(str::to_owned));
    let mut wrong = Vec::new();
    for (name, text) in manual() {
        for span in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let flag = span.split([' ', '=']).next().unwrap();
            if flag.strip_prefix("--").is_some_and(|name| name.starts_with(|it: char| it.is_alphabetic()))
                && !known.iter().any(|known| known == flag)
            {
                wrong.push(format!("{name}: `{span}`"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Messages send people to the manual.
#[test]
fn documents_that_messages_name_are_there() {
    let mut all = Vec::new();
    texts(&workspace().join("crates"), "rs", &mut all);
    let mut wrong = Vec::new();
    for (name, text) in &all {
        for piece in text.split("docs/").skip(1) {
            let is_part = |it: &char| it.is_ascii_lowercase() || *it == '-';
            let document: String = piece.chars().take_while(is_part).collect();
            let is_document = piece.get(document.len()..).is_some_and(|rest| rest.starts_with(".md"));
            if is_document && !workspace().join(format!("docs/{document}.md")).is_file() {
                wrong.push(format!("{name}: docs/{document}.md"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The table of combining algorithms is whole, and holds nothing else; and so is the list of data types.
#[test]
fn the_manual_lists_what_messages_say_it_does() {
    let text = fs::read_to_string(workspace().join("docs/xacml.md")).unwrap();
    let (_, table) = text.split_once("## Combining algorithms\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let mut listed = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in cells[1].split('`').skip(1).step_by(2) {
            listed.extend(cells[3].split(", ").map(|what| (cells[2], name, what)));
        }
    }
    let names: std::collections::BTreeSet<&str> = listed.iter().map(|(_, name, _)| *name).collect();
    for version in ["1.0", "1.1", "2.0", "3.0"] {
        for name in &names {
            for (what, kind, combines) in
                [("rules", "rule", Combines::Rules), ("policies", "policy", Combines::Policies)]
            {
                let uri = format!("urn:oasis:names:tc:xacml:{version}:{kind}-combining-algorithm:{name}");
                let is_listed = listed.contains(&(version, *name, what));
                assert_eq!(Algorithm::from_uri(&uri, combines).is_some(), is_listed, "{uri}");
            }
        }
    }
    assert_eq!(listed.len(), 24);
    for data_type in DataType::ALL {
        assert!(text.contains(&format!("`{}`", data_type.uri())), "{}", data_type.uri());
    }
}

#[test]
fn what_is_not_there_is_found() {
    let command = Arguments::command();
    let check = |line: &str| absent(&command, &inline(line).next().unwrap());
    assert_eq!(check("see `durward users del --help`"), Some("`users` has no command `del`".into()));
    assert_eq!(check("`durward decide --polices x`"), Some("`decide` has no flag `--polices`".into()));
    assert_eq!(check("`durward decide --stream`"), None);
    let block =
        commands_of_blocks("durward x\n```sh\necho a | durward users add \\\n  anna\n# durward x\n```\n");
    assert_eq!(block, ["durward users add anna"]);
    assert_eq!(words("durward test 'a b' # c").unwrap(), ["durward", "test", "a b"]);
}
