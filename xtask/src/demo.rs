//! The README's first command, as a reader would follow it: start the demo, type the curl lines it prints.

use crate::process;
use crate::release;
use crate::report::Outcome;
use crate::tools::CURL;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// How many curl lines the README promises.
const CURL_LINES: usize = 3;

/// Longest from the start of the program to the last curl line.
const START_S_MAX: u64 = 20;

/// Starts `durward demo`, reads its curl lines, runs each, wants a decision from each.
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
    for line in &lines {
        println!("$ {line}");
        let answer = process::output_of(Command::new("sh").args(["-c", line]))?;
        println!("{}", answer.trim_end());
        if !["Permit", "Deny", "NotApplicable"].iter().any(|decision| answer.contains(decision)) {
            return Err(format!("no decision from `{line}`"));
        }
    }
    Ok(lines.len())
}

/// The demo's lines as they come, read by a thread so that a silent program can be given up on, and a talking one
/// never waits for us.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody listens any more once the curl lines are known: read on, so that the pipe stays empty.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Collects the curl lines; one that ends in a backslash goes on in the next.
fn curl_lines(lines: &Receiver<String>) -> Result<Vec<String>, String> {
    let deadline = Instant::now() + Duration::from_secs(START_S_MAX);
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    while found.len() < CURL_LINES {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|_| {
            format!("the demo printed {} curl lines within {START_S_MAX} s, not {CURL_LINES}", found.len())
        })?;
        let line = line.trim();
        let text = match open.take() {
            Some(begun) => format!("{begun} {line}"),
            None if line.starts_with("curl ") => line.to_owned(),
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
        let text = "listening\n  curl a\n  curl b \\\n    -d c\nand\ncurl d\ncurl e\n";
        let found = curl_lines(&lines_of(text.as_bytes())).unwrap();
        assert_eq!(found, ["curl a", "curl b -d c", "curl d"]);
    }

    #[test]
    fn a_demo_that_ends_early_is_noticed() {
        assert!(curl_lines(&lines_of("curl a\n".as_bytes())).unwrap_err().contains("1 curl lines"));
    }
}
