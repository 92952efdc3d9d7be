//! `docs/cli.md`: what `durward --help` says, and every command's `--help` below it.

use crate::built;
use crate::process;
use std::path::Path;
use std::process::Command;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate` from `durward --help`. -->

# Commands

";

/// Deeper commands than this do not exist: it bounds a program that lists itself.
const DEPTH_MAX: usize = 4;

pub(crate) fn write() -> Result<String, String> {
    let mut out = INTRODUCTION.to_owned();
    describe(&built::binary()?, &mut vec!["durward".to_owned()], &mut out)?;
    Ok(out)
}

fn describe(binary: &Path, path: &mut Vec<String>, out: &mut String) -> Result<(), String> {
    let help = help(binary, path.get(1..).unwrap_or_default())?;
    let name = path.join(" ");
    out.push_str(&format!(
        "{} `{name}`\n\n```text\n{}\n```\n\n",
        "#".repeat(path.len() + 1),
        help.trim_end()
    ));
    if path.len() > DEPTH_MAX {
        return Err(format!("`{name} --help` lists commands without end"));
    }
    for command in commands(&help) {
        path.push(command);
        describe(binary, path, out)?;
        path.pop();
    }
    Ok(())
}

fn help(binary: &Path, words: &[String]) -> Result<String, String> {
    let mut command = Command::new(binary);
    // A terminal's width must not reach the document.
    process::output_of(command.args(words).arg("--help").env("COLUMNS", "110"))
}

/// The names under `Commands:`; each line there begins with two blanks and the name.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = named.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_help() {
        let help = "Usage: x\n\nCommands:\n  decide  One decision\n          in words\n  help    This\n  bench   Measures\n\nOptions:\n  -h";
        assert_eq!(commands(help), ["decide", "bench"]);
    }
}
