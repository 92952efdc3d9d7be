//! The README's own commands, as a reader would type them: every `sh` block, in order, in an empty folder; a `text`
//! block right after one is what it prints. Blocks marked `console` are to be read, not run.

use crate::metadata;
use crate::process;
use crate::release;
use crate::report::Outcome;
use std::path::Path;
use std::process::Command;

/// Commands, and what they are said to print.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    commands: String,
    printed: Option<String>,
}

/// Runs the examples with the release binary in front of the path.
pub(crate) fn check() -> Outcome {
    match run() {
        Ok(count) => Outcome::Passed(format!("{count} examples")),
        Err(message) => Outcome::Failed(message),
    }
}

fn run() -> Result<usize, String> {
    let path = metadata::root().join("README.md");
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read `README.md`: {error}"))?;
    let binary = release::binary()?;
    let folder = binary.with_file_name("readme");
    empty(&folder).map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))?;
    let examples = examples(&text);
    for example in &examples {
        compare(example, &folder, &binary)?;
    }
    Ok(examples.len())
}

fn empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)
}

fn compare(example: &Example, folder: &Path, binary: &Path) -> Result<(), String> {
    println!("{}", example.commands.trim_end());
    let path = std::env::var("PATH").unwrap_or_default();
    let programs = binary.parent().unwrap_or(folder).display();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &example.commands]).current_dir(folder).env("PATH", format!("{programs}:{path}"));
    let printed = process::output_of(&mut shell)?;
    println!("{}", printed.trim_end());
    match &example.printed {
        Some(said) if said.trim() != printed.trim() => Err(format!("README.md says it prints\n{said}")),
        _ => Ok(()),
    }
}

fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    // Between a block and the one it explains there are blank lines only.
    let mut is_after_commands = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            match (language, found.last_mut()) {
                ("sh", _) => found.push(Example { commands: body, printed: None }),
                ("text", Some(last)) if is_after_commands => last.printed = Some(body),
                _ => {}
            }
            is_after_commands = language == "sh";
        } else if !line.is_empty() {
            is_after_commands = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_belongs_to_the_commands_right_before_it() {
        let text = "a\n```sh\nb\nc\n```\n\n```text\nd\n```\n```console\ne\n```\n```sh\nf\n```\nwords\n```text\ng\n```\n";
        let found = examples(text);
        assert_eq!(
            found,
            [
                Example { commands: "b\nc\n".to_owned(), printed: Some("d\n".to_owned()) },
                Example { commands: "f\n".to_owned(), printed: None },
            ]
        );
    }
}
