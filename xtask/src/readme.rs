//! The README's own examples, as a reader would type them, in order, in an empty folder: every `sh` block is run by a shell, `js` by Node and `python`
//! by Python with the packages of this repository. A `text` block right after one is what it prints; programs say it in comments too, after `// ` or
//! `  # `. Commands that ask port 8080 find the server that the README says to start. Blocks marked `console` are to be read, not run; `rust` is a
//! test of the documentation.

use crate::built;
use crate::demo::lines_of;
use crate::metadata;
use crate::process;
use crate::release;
use crate::report::Outcome;
use crate::tools::{NODE, PYTHON};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the README says that the server answers.
const ADDRESS: &str = "127.0.0.1:8080";

/// Longest until the server says that it answers.
const START_S_MAX: u64 = 20;

/// What runs a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Shell,
    Node,
    Python,
}

impl Language {
    /// By the word behind the fence.
    fn of(word: &str) -> Option<Language> {
        match word {
            "sh" => Some(Language::Shell),
            "js" => Some(Language::Node),
            "python" => Some(Language::Python),
            _ => None,
        }
    }

    /// What begins a comment that says what a line prints.
    fn comment(self) -> Option<&'static str> {
        match self {
            Language::Shell => None,
            Language::Node => Some(" // "),
            Language::Python => Some("  # "),
        }
    }
}

/// A block, and what it is said to print.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    language: Language,
    text: String,
    printed: Option<String>,
}

/// Where examples are run, with the release binary in front of the path.
struct Desk {
    binary: PathBuf,
    folder: PathBuf,
    path: String,
    server: Option<Served>,
}

/// A server, which ends with this.
struct Served {
    server: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended already need not be ended.
        let _ = self.server.kill().and_then(|()| self.server.wait());
    }
}

/// Runs the examples.
pub(crate) fn check() -> Outcome {
    match run() {
        Ok((count, skipped)) if skipped.is_empty() => Outcome::Passed(format!("{count} examples")),
        Ok((_, skipped)) => Outcome::Skipped(skipped.join("; ")),
        Err(message) => Outcome::Failed(message),
    }
}

/// How many were run, and what is missing for the others.
fn run() -> Result<(usize, Vec<String>), String> {
    let path = metadata::root().join("README.md");
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read `README.md`: {error}"))?;
    let binary = release::binary()?;
    let folder = binary.with_file_name("readme");
    empty(&folder).map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))?;
    let programs = binary.parent().unwrap_or(&folder).display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut desk = Desk { binary, folder, path, server: None };
    let (mut count, mut skipped) = (0, Vec::new());
    for example in &examples(&text) {
        match desk.compare(example)? {
            Some(missing) => skipped.push(missing),
            None => count += 1,
        }
    }
    Ok((count, skipped))
}

fn empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)
}

impl Desk {
    /// Runs an example, unless something is missing for it.
    fn compare(&mut self, example: &Example) -> Result<Option<String>, String> {
        println!("{}", example.text.trim_end());
        let mut program = match self.program(example)? {
            Ok(program) => program,
            Err(missing) => return Ok(Some(missing)),
        };
        let printed = process::output_of(program.current_dir(&self.folder).env("PATH", &self.path))?;
        println!("{}", printed.trim_end());
        match &example.printed {
            Some(said) if said.trim() != printed.trim() => Err(format!("README.md says it prints\n{said}")),
            _ => Ok(None),
        }
    }

    /// What runs it; or what is missing.
    fn program(&mut self, example: &Example) -> Result<Result<Command, String>, String> {
        let mut program = match example.language {
            Language::Shell => {
                let text = self.asking_the_server(&example.text)?;
                let mut shell = Command::new("sh");
                shell.args(["-e", "-c", &text]);
                return Ok(Ok(shell));
            }
            Language::Node => match NODE.get() {
                Ok(node) => Command::new(node),
                Err(missing) => return Ok(Err(missing)),
            },
            Language::Python => match PYTHON.get() {
                Ok(python) => Command::new(python),
                Err(missing) => return Ok(Err(missing)),
            },
        };
        if example.language == Language::Node {
            self.copy("bindings/node", "node_modules/durward")?;
            self.copy("bindings/node/lib", "node_modules/durward/lib")?;
            program
                .env("DURWARD_NATIVE", built::library("durward_node")?)
                .arg(self.write("ask.mjs", &example.text)?);
        } else {
            self.copy("bindings/python/python/durward", "python/durward")?;
            let to = self.folder.join("python/durward/_durward.abi3.so");
            let copied = std::fs::copy(built::library("_durward")?, to);
            copied.map_err(|error| format!("cannot copy the extension module: {error}"))?;
            program.env("PYTHONPATH", self.folder.join("python")).arg(self.write("ask.py", &example.text)?);
        }
        Ok(Ok(program))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok(path)
    }

    /// Copies the files of a folder of the repository.
    fn copy(&self, from: &str, to: &str) -> Result<(), String> {
        let (from, to) = (metadata::root().join(from), self.folder.join(to));
        let copied = std::fs::create_dir_all(&to).and_then(|()| {
            for entry in std::fs::read_dir(&from)? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    std::fs::copy(entry.path(), to.join(entry.file_name()))?;
                }
            }
            Ok(())
        });
        copied.map_err(|error| format!("cannot copy `{}`: {error}", from.display()))
    }

    /// The commands with the address of a server in the place of the README's, which somebody else may have.
    fn asking_the_server(&mut self, text: &str) -> Result<String, String> {
        if !text.contains(ADDRESS) {
            return Ok(text.to_owned());
        }
        let served = match self.server.take() {
            Some(served) => served,
            None => self.serve()?,
        };
        let text = text.replace(ADDRESS, &served.address);
        self.server = Some(served);
        Ok(text)
    }

    /// `durward serve --policies policies`, on a free port.
    fn serve(&self) -> Result<Served, String> {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--policies", "policies", "--listen", "127.0.0.1:0"]);
        command.current_dir(&self.folder).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut server = command.spawn().map_err(|error| format!("cannot start the server: {error}"))?;
        let errors = server.stderr.take();
        let mut served = Served { server, address: String::new() };
        let lines = lines_of(errors.ok_or("no log to read")?);
        while served.address.is_empty() {
            let line = lines
                .recv_timeout(Duration::from_secs(START_S_MAX))
                .map_err(|_| "`durward serve` does not say where it answers".to_owned())?;
            served.address = address_in(&line).unwrap_or_default().to_owned();
        }
        Ok(served)
    }
}

/// The address in the line of the log that says where a server answers.
fn address_in(line: &str) -> Option<&str> {
    line.split_once("serving address=")?.1.split_whitespace().next()
}

fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    // Between a block and the one it explains there are blank lines only.
    let mut is_after_commands = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(word) = line.strip_prefix("```") {
            let body: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            let language = Language::of(word);
            match (language, found.last_mut()) {
                (Some(language), _) => {
                    let printed = said_in_comments(language, &body);
                    found.push(Example { language, text: body, printed });
                }
                (None, Some(last)) if word == "text" && is_after_commands => last.printed = Some(body),
                (None, _) => {}
            }
            is_after_commands = language.is_some();
        } else if !line.is_empty() {
            is_after_commands = false;
        }
    }
    found
}

/// What the comments at the ends of a program's lines say that it prints.
fn said_in_comments(language: Language, text: &str) -> Option<String> {
    let comment = language.comment()?;
    let said: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(comment)?.1)).collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(language: Language, text: &str, printed: Option<&str>) -> Example {
        Example { language, text: text.to_owned(), printed: printed.map(str::to_owned) }
    }

    #[test]
    fn output_belongs_to_the_commands_right_before_it() {
        let text = "a\n```sh\nb\nc\n```\n\n```text\nd\n```\n```console\ne\n```\n```sh\nf\n```\nwords\n```text\ng\n```\n";
        let found = examples(text);
        assert_eq!(
            found,
            [example(Language::Shell, "b\nc\n", Some("d\n")), example(Language::Shell, "f\n", None)]
        );
    }

    #[test]
    fn programs_say_in_comments_what_they_print() {
        let text = "```js\na\nlog(b) // true\n```\n```python\n# words\nprint(c)  # True\n```\n```rust,no_run\nd // e\n```\n";
        let found = examples(text);
        assert_eq!(
            found,
            [
                example(Language::Node, "a\nlog(b) // true\n", Some("true")),
                example(Language::Python, "# words\nprint(c)  # True\n", Some("True")),
            ]
        );
    }

    #[test]
    fn the_log_says_where_a_server_answers() {
        let line = "2026-11-29T08:29:43Z  INFO serving address=127.0.0.1:18181 workers=2";
        assert_eq!(address_in(line), Some("127.0.0.1:18181"));
        assert_eq!(address_in("INFO policies in force"), None);
    }
}
