//! Exit codes are alike in all commands: 0 done, 1 differences or problems found, 2 bad input.

use std::fs;
use std::path::PathBuf;

use crate::durward;

/// A command as help lists it.
struct Listed {
    name: String,
    is_left_out: bool,
}

/// The commands below these words.
fn listed(words: &[&str]) -> Vec<Listed> {
    let help = durward(&[words, &["--help"]].concat()).exits(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let mut found: Vec<Listed> = Vec::new();
    for line in named {
        if let Some(first) = line.split(' ').next().filter(|first| !first.is_empty()) {
            found.push(Listed { name: first.to_owned(), is_left_out: false });
        }
        // What is said of a command may go on below it.
        if let Some(last) = found.last_mut() {
            last.is_left_out |= line.contains("(left out");
        }
    }
    found
}

/// Walks all commands, however deep they are.
fn walk(words: &mut Vec<String>, visited: &mut usize) {
    let known: Vec<&str> = words.iter().map(String::as_str).collect();
    let wrong = [&known[..], &["--no-such-flag"]].concat();
    let ran = durward(&wrong).exits(2);
    assert!(ran.stderr.starts_with("durward: error: "), "{known:?}: {}", ran.stderr);
    *visited += 1;
    for next in listed(&known) {
        words.push(next.name);
        if next.is_left_out {
            let known: Vec<&str> = words.iter().map(String::as_str).collect();
            assert!(durward(&known).exits(2).stderr.contains("built without the feature"));
        } else {
            walk(words, visited);
        }
        words.pop();
    }
}

#[test]
fn wrong_flags_are_bad_input_in_every_command() {
    let mut visited = 0;
    walk(&mut Vec::new(), &mut visited);
    assert!(visited > 20, "{visited}");
}

/// The rows of the table in the manual.
fn rows() -> Vec<String> {
    let manual = fs::read_to_string(durward_testdata::workspace().join("docs/README.md")).unwrap();
    let (_, table) = manual.split_once("## Exit codes\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

#[test]
fn the_manual_lists_every_command() {
    let commands: Vec<String> = listed(&[]).into_iter().map(|listed| listed.name).collect();
    assert_eq!(rows(), commands);
}

/// A folder with a file for each code.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("durward-exit-codes-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let files = [
        ("tidy/p.sapl", "policy \"p\"\npermit\n    subject == 1;\n"),
        ("untidy/p.sapl", "policy \"p\" permit subject == 1;"),
        ("broken/p.sapl", "policy"),
        ("good/t.sapltest", "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect permit; }"),
        ("bad/t.sapltest", "requirement \"r\" { scenario \"s\" when 1 attempts 2 on 3 expect deny; }"),
        ("unreadable/t.sapltest", "requirement"),
        ("asks.jsonl", r#"{"id":1,"subscription":{"subject":1,"action":2,"resource":3}}"#),
        ("same.jsonl", r#"{"id":1,"decision":"PERMIT"}"#),
        ("others.jsonl", r#"{"id":1,"decision":"DENY"}"#),
        ("no-record", "this is no line of a record\n"),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Every command with a code for each of its ends; words that begin with `@` are paths in the folder.
const ENDS: &[(&str, i32)] = &[
    ("init @new", 0),
    ("init @new", 2),
    ("check @tidy", 0),
    ("check @broken", 1),
    ("check @nowhere", 2),
    ("test --no-html --dir @tidy --testdir @good", 0),
    ("test --no-html --dir @tidy --testdir @bad", 1),
    ("test --no-html --dir @tidy --testdir @good --condition-hit-ratio 100", 1),
    ("test --no-html --dir @tidy --testdir @unreadable", 2),
    ("test --no-html --dir @tidy --testdir @tidy", 2),
    ("decide --policies @tidy -s 1 -a 2 -r 3", 0),
    ("decide --policies @tidy -s 2 -a 2 -r 3", 0),
    ("decide --policies @tidy --requests @asks.jsonl --expect @same.jsonl", 0),
    ("decide --policies @tidy --requests @asks.jsonl --expect @others.jsonl", 1),
    ("decide --policies @broken -s 1 -a 2 -r 3", 2),
    ("decide --policies @tidy --request @nowhere", 2),
    // These are the decision's, as the manual says.
    ("decide --exit-code --policies @tidy -s 1 -a 2 -r 3", 0),
    ("decide --exit-code --policies @tidy -s 2 -a 2 -r 3", 2),
    ("decide --exit-code --policies @nowhere -s 1 -a 2 -r 3", 1),
    ("eval 1+1", 0),
    ("eval 1/0", 1),
    ("eval 1+", 2),
    ("serve --policies @nowhere", 2),
    ("fmt --check @tidy", 0),
    ("fmt --check @untidy", 1),
    ("fmt --check @broken", 2),
    ("fmt --check @nowhere", 2),
    ("demo --listen everywhere", 2),
    ("demo --policies-to @demo", 0),
    ("demo --policies-to @demo", 2),
    ("bundle keygen -o @signing", 0),
    ("bundle verify -b @nowhere -k @signing.pub", 2),
    ("users list --users @nowhere/users", 2),
    ("generate apikey -i robots", 0),
    ("generate apikey -i robots -p ../up", 2),
    ("audit verify @no-record", 1),
    ("audit verify @nowhere", 2),
];

#[test]
fn every_command_ends_as_the_manual_says() {
    let folder = folder();
    for (line, code) in ENDS {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| match word.strip_prefix('@') {
                Some(name) => folder.join(name).display().to_string(),
                None => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = durward(&words);
        assert_eq!(ran.code, *code, "{line}\n{}\n{}", ran.stdout, ran.stderr);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(feature = "full")]
#[test]
fn commands_of_features_end_alike() {
    for line in [
        "lab fit nowhere.json",
        "lab run nowhere.toml",
        "lab report nowhere.json --out out",
        "lab compare nowhere.json nowhere.json",
        "bench report --in nowhere.json --out out",
        "bench embedded --policies nowhere --requests asks.jsonl",
        "opcua pki show --dir nowhere",
    ] {
        durward(&line.split(' ').collect::<Vec<_>>()).exits(2);
    }
}
