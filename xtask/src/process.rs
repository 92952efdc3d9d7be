//! Other programs: started in the project's root, shown, waited for with a limit.

use crate::metadata;
use crate::report::on_build_machine;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longest a single program may take on the build machine: all of them together have an hour.
const PROGRAM_S_MAX: u64 = 40 * 60;

/// Longest one may take at idle priority, where it waits for all others most of the time.
const IDLE_PROGRAM_S_MAX: u64 = 85 * 60;

static LIMIT: OnceLock<Duration> = OnceLock::new();

/// How long a program of this process may take on the build machine.
pub(crate) fn limit() -> Duration {
    *LIMIT.get_or_init(|| Duration::from_secs(PROGRAM_S_MAX))
}

/// Says that this process runs at idle priority, before it has run anything: its programs may take longer.
pub(crate) fn is_idle() {
    LIMIT.get_or_init(|| Duration::from_secs(IDLE_PROGRAM_S_MAX));
}

/// What cargo tells the program that it runs, which is this one, of its package.
const OF_OUR_PACKAGE: [&str; 4] = ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_MANIFEST_", "CARGO_PKG_"];

/// A cargo command in the project's root; on the build machine it may not change `Cargo.lock`.
///
/// It is told nothing of the package `xtask`: build scripts that look at such variables, as that of `ring` does, would run again after each
/// `cargo` that somebody calls themselves, and all that depends on them be compiled again.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(metadata::root()).args(words);
    without_our_package(&mut command);
    command
}

/// Takes from a command what cargo has told this program of the package `xtask`.
pub(crate) fn without_our_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let is_ours = |name: &str| OF_OUR_PACKAGE.iter().any(|ours| name.starts_with(ours));
        if name.to_str().is_some_and(is_ours) {
            command.env_remove(&name);
        }
    }
}

/// `--locked` where nothing may change by itself.
pub(crate) fn locked() -> &'static [&'static str] {
    if on_build_machine() { &["--locked"] } else { &[] }
}

/// Runs to the end with its output shown.
///
/// # Errors
///
/// In words, when it cannot be started, fails, or takes too long.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    println!("$ {}", shown(command));
    let status = wait(start(command)?, limit())?;
    if status.success() { Ok(()) } else { Err(format!("`{}`: {status}", shown(command))) }
}

/// As [`run`], for cargo: a crate that the compiler warns about is a failure, as lints are. They see all features at once; who builds with few
/// would be the first to see what is wrong then.
pub(crate) fn run_unwarned(command: &mut Command) -> Result<(), String> {
    let mut warned = Vec::new();
    let status = run_seeing(command, limit(), Stream::Errors, |line| {
        warned.extend(crate_warned_about(line).map(str::to_owned));
        Show::Yes
    })?;
    match (status.success(), warned.as_slice()) {
        (true, []) => Ok(()),
        (true, warned) => Err(format!("`{}` warns about {}", shown(command), warned.join(", "))),
        (false, _) => Err(format!("`{}`: {status}", shown(command))),
    }
}

/// Of which crate a line of cargo counts the warnings.
fn crate_warned_about(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("warning: `")?.split_once('`')?;
    rest.contains(" generated ").then_some(name)
}

/// Which output of a program is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output; standard error goes where ours goes.
    Output,
    /// Standard error; standard output is dropped.
    Errors,
    /// Both, in the order in which they were written.
    Both,
}

/// Whether a line that was read is also shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Yes,
    No,
}

/// Runs to the end, on the build machine for `limit` at most; `see` gets one stream line by line and says which lines are shown.
pub(crate) fn run_seeing(
    command: &mut Command,
    limit: Duration,
    stream: Stream,
    mut see: impl FnMut(&str) -> Show,
) -> Result<ExitStatus, String> {
    println!("$ {}", shown(command));
    let cannot = |error: std::io::Error| format!("no pipe to a program: {error}");
    let mut both = None;
    match stream {
        Stream::Output => command.stdout(Stdio::piped()),
        Stream::Errors => command.stdout(Stdio::null()).stderr(Stdio::piped()),
        Stream::Both => {
            let (reader, writer) = std::io::pipe().map_err(cannot)?;
            both = Some(reader);
            command.stdout(writer.try_clone().map_err(cannot)?).stderr(writer)
        }
    };
    let mut child = start(command)?;
    // Our own ends of the pipe: while one is open, the program's output does not end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let watch = std::thread::spawn(move || wait(child, limit));
    let mut read = |lines: &mut dyn BufRead| -> std::io::Result<()> {
        for line in lines.split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if see(&line) == Show::Yes {
                println!("{line}");
            }
        }
        Ok(())
    };
    let result = match (both, output, errors) {
        (Some(both), _, _) => read(&mut BufReader::new(both)),
        (None, Some(output), _) => read(&mut BufReader::new(output)),
        (None, None, Some(errors)) => read(&mut BufReader::new(errors)),
        (None, None, None) => Ok(()),
    };
    result.map_err(|error| format!("cannot read what the program says: {error}"))?;
    watch.join().map_err(|_| "the watch over the program ended early".to_owned())?
}

/// Runs to the end in silence; its standard output.
///
/// # Errors
///
/// In words, with what it wrote to standard error.
pub(crate) fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}`: {}\n{}", shown(command), output.status, said.trim_end()))
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    if let Some(first) = words.first_mut()
        && let Some(name) = first.rsplit('/').next()
        && name == "cargo"
    {
        *first = name.to_owned();
    }
    words.join(" ")
}

/// Starts it. On the build machine as a group of its own, so that all of it can be ended when it hangs; at a
/// terminal within ours, so that Ctrl-C reaches it.
fn start(command: &mut Command) -> Result<Child, String> {
    if on_build_machine() {
        command.process_group(0);
    }
    command.spawn().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))
}

/// Waits; on the build machine for `limit` at most.
fn wait(mut child: Child, limit: Duration) -> Result<ExitStatus, String> {
    let cannot = |error: std::io::Error| format!("cannot wait for a program: {error}");
    if !on_build_machine() {
        return child.wait().map_err(cannot);
    }
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            return Ok(status);
        }
        if start.elapsed() > limit {
            end_group(&child);
            return Err(format!("ended after {} minutes without an answer", limit.as_secs() / 60));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn end_group(child: &Child) {
    // No signal call in std: the `kill` command has it.
    let group = format!("-{}", child.id());
    if let Err(error) = Command::new("kill").args(["-KILL", "--", &group]).status() {
        eprintln!("cannot end the programs of group {group}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_of_a_crate() {
        let line = "warning: `durward-common` (lib) generated 6 warnings (run `cargo fix`)";
        assert_eq!(crate_warned_about(line), Some("durward-common"));
        assert_eq!(crate_warned_about("warning: spurious network error (2 tries remaining)"), None);
        assert_eq!(crate_warned_about("warning: missing documentation for a method"), None);
    }
}
