//! What is there for people at a terminal alone: colour, and a line that says what takes long.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::binary::binary;
use crate::durward;

/// Runs a command line in a terminal of its own of this size, types `keys` after a second, and returns all that was written to
/// the terminal. `script` of util-linux makes the terminal.
pub(crate) fn in_terminal(line: &str, (columns, rows): (u16, u16), keys: &str) -> Option<String> {
    if !durward_testdata::has_program("script", "--version", "apt-get install bsdutils") {
        return None;
    }
    let line = format!(
        "stty cols {columns} rows {rows}; before=$(stty -g); {line}; echo status=$?; [ \"$before\" = \"$(stty -g)\" ] && echo as-before"
    );
    let mut child = Command::new("script")
        .args(["-q", "-c", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let keys = keys.to_owned();
    let typing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1_500));
        let _ = input.write_all(keys.as_bytes());
        // The terminal stays until all was written to it.
        std::thread::sleep(Duration::from_secs(5));
    });
    let mut written = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut written).unwrap();
    child.wait().unwrap();
    drop(typing);
    Some(String::from_utf8_lossy(&written).into_owned())
}

/// A new directory with a policy and a test of it.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-terminal-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("p.sapl"), "policy \"p\" permit subject == 1;").unwrap();
    let test =
        "requirement \"r\" { given - document \"p\" scenario \"s\" when 1 attempts 2 on 3 expect permit; }";
    fs::write(directory.join("p.sapltest"), test).unwrap();
    directory
}

#[test]
fn what_a_person_reads_at_a_terminal_has_colour() {
    let directory = directory("colour");
    let (program, path) = (binary(), directory.display());
    for (words, expected) in [
        (
            format!("decide --policies {path} -s 1 -a 1 -r 1 --explain"),
            "\u{1b}[32mPERMIT\u{1b}[0m: policy `p`",
        ),
        (format!("decide --policies {path} -s 2 -a 1 -r 1 --explain"), "\u{1b}[31mDENY\u{1b}[0m: decision"),
        (format!("test --dir {path} --no-html"), "    \u{1b}[32mpass\u{1b}[0m   s"),
        (
            format!("decide --policies {path}/nothing -s 1 -a 1 -r 1"),
            "durward: \u{1b}[1m\u{1b}[31merror\u{1b}[0m: ",
        ),
    ] {
        let Some(written) = in_terminal(&format!("{program} {words}"), (100, 30), "") else { return };
        assert!(written.contains(expected), "{words}: {written}");
        let Some(written) = in_terminal(&format!("NO_COLOR=1 {program} {words}"), (100, 30), "") else {
            return;
        };
        assert!(!written.contains('\u{1b}'), "{words}: {written}");
        let Some(written) = in_terminal(&format!("{program} {words} --color never"), (100, 30), "") else {
            return;
        };
        assert!(!written.contains('\u{1b}'), "{words}: {written}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_pipe_has_colour_only_where_it_is_asked_for() {
    let directory = directory("pipe");
    let path = directory.display().to_string();
    let asked = ["decide", "--policies", path.as_str(), "-s", "1", "-a", "1", "-r", "1", "--explain"];
    assert!(!durward(&asked).exits(0).stdout.contains('\u{1b}'));
    let coloured = durward(&[&asked[..], &["--color", "always"]].concat()).exits(0).stdout;
    let (json, explanation) = coloured.split_once("\n\n").unwrap();
    assert_eq!(json, "{\"decision\":\"PERMIT\"}");
    assert!(explanation.contains("\u{1b}[32mPERMIT\u{1b}[0m"), "{explanation}");
    assert!(durward(&["check", "--color", "sometimes", "."]).exits(2).stderr.contains("sometimes"));
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(feature = "lab")]
#[test]
fn what_takes_long_says_so_at_a_terminal() {
    let directory = directory("progress");
    let requests = directory.join("asks.jsonl");
    let line = "{\"id\":1,\"subscription\":{\"subject\":1,\"action\":1,\"resource\":1}}\n";
    fs::write(&requests, line).unwrap();
    let line = format!(
        "{} bench embedded --policies {}/p.sapl --requests {} --index scan --seconds 4",
        binary(),
        directory.display(),
        requests.display()
    );
    let Some(written) = in_terminal(&line, (100, 30), "") else { return };
    assert!(written.contains("measuring the index `scan`, 1 of 1 ... "), "{written}");
    // The line is gone before the result.
    assert!(written.contains("\u{1b}[K1 policy, 1 request"), "{written}");
    let Some(written) = in_terminal(&format!("{line} 2> {}/errors", directory.display()), (100, 30), "")
    else {
        return;
    };
    assert!(!written.contains("measuring"), "{written}");
    assert_eq!(fs::read_to_string(directory.join("errors")).unwrap(), "");
    fs::remove_dir_all(directory).unwrap();
}
