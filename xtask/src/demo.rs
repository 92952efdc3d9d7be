//! The README's first command, as a reader would follow it: start the demo, type the curl lines it prints.

use crate::release;
use crate::report::Outcome;
use crate::tools::CURL;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// What the curl lines that the README promises are answered with: first three questions, then a session from its login, which is
/// not shown, to its logout, of which a live decision tells.
const ANSWERS: [&str; 7] = [
    r#""Decision":"Permit""#,
    r#""Decision":"Deny""#,
    r#""Obligations""#,
    "",
    r#""valid":true"#,
    r#""decision":"PERMIT""#,
    r#""decision":"DENY""#,
];

/// Longest from the start of the program to the last curl line, and from a line to its answer.
const ANSWER_S_MAX: u64 = 20;

/// Starts `durward demo`, reads its curl lines, types them one after the other, and wants an answer to each.
pub(crate) fn check() -> Outcome {
    if let Err(missing) = CURL.get() {
        return Outcome::Skipped(missing);
    }
    let Ok(binary) = release::binary() else { return Outcome::Failed("no binary".to_owned()) };
    let mut command = Command::new(binary);
    let started = command.arg("demo").stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let mut demo = match started {
        Ok(demo) => demo,
        Err(error) => return Outcome::Failed(format!("cannot start the demo: {error}")),
    };
    let result = follow(&mut demo);
    let ended = demo.kill().and_then(|()| demo.wait());
    match (result, ended) {
        (Ok(answers), Ok(_)) => Outcome::Passed(format!("{answers} questions answered")),
        (Err(message), _) => Outcome::Failed(message),
        (_, Err(error)) => Outcome::Failed(format!("cannot end the demo: {error}")),
    }
}

fn follow(demo: &mut Child) -> Result<usize, String> {
    let output = demo.stdout.take().ok_or("no output to read")?;
    let lines = curl_lines(&lines_of(output))?;
    let mut shell = Command::new("sh");
    let mut shell = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start a shell: {error}"))?;
    let result = type_in(&mut shell, &lines);
    let ended = shell.kill().and_then(|()| shell.wait());
    result.and(ended.map(|_| lines.len()).map_err(|error| format!("cannot end the shell: {error}")))
}

/// Types each line when the one before it was answered, as a person would: the token is kept in the shell.
fn type_in(shell: &mut Child, lines: &[String]) -> Result<(), String> {
    let mut input = shell.stdin.take().ok_or("no shell to type into")?;
    let answers = lines_of(shell.stdout.take().ok_or("no answers to read")?);
    for (line, wanted) in lines.iter().zip(ANSWERS) {
        println!("$ {line}");
        // Most answers end without a line's end.
        writeln!(input, "{line}\necho").map_err(|error| format!("cannot type `{line}`: {error}"))?;
        let deadline = Instant::now() + Duration::from_secs(ANSWER_S_MAX);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = answers
                .recv_timeout(left)
                .map_err(|_| format!("`{line}` was not answered with `{wanted}` within {ANSWER_S_MAX} s"))?;
            println!("{answer}");
            if answer.contains(wanted) {
                break;
            }
        }
    }
    Ok(())
}

/// A program's lines as they come, read by a thread so that a silent program can be given up on, and a talking one
/// never waits for us.
pub(crate) fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody listens any more once what was waited for is known: read on, so that the pipe stays empty.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Collects the curl lines; one that ends in a backslash goes on in the next.
fn curl_lines(lines: &Receiver<String>) -> Result<Vec<String>, String> {
    let deadline = Instant::now() + Duration::from_secs(ANSWER_S_MAX);
    let wanted = ANSWERS.len();
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    while found.len() < wanted {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|_| {
            format!("the demo printed {} curl lines within {ANSWER_S_MAX} s, not {wanted}", found.len())
        })?;
        let line = line.trim();
        let text = match open.take() {
            Some(begun) => format!("{begun} {line}"),
            None if line.contains("curl ") && !line.starts_with('#') => line.to_owned(),
            None => continue,
        };
        match text.strip_suffix('\\') {
            Some(begun) => open = Some(begun.trim_end().to_owned()),
            None => found.push(text),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curl_lines_may_be_continued() {
        let text = "listening\n  curl a\n# curl\n  T=$(curl b \\\n    -d c)\nand\ncurl d\ncurl e\ncurl f\ncurl g\ncurl h\ncurl i\n";
        let found = curl_lines(&lines_of(text.as_bytes())).unwrap();
        assert_eq!(found, ["curl a", "T=$(curl b -d c)", "curl d", "curl e", "curl f", "curl g", "curl h"]);
    }

    #[test]
    fn a_demo_that_ends_early_is_noticed() {
        assert!(curl_lines(&lines_of("curl a\n".as_bytes())).unwrap_err().contains("1 curl lines"));
    }
}
