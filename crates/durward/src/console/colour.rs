//! Colour, where a person reads: decisions, errors, results of tests. Never in JSON; in a pipe or file only when asked for.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColourChoice {
    /// Where a terminal shows it, unless NO_COLOR or CLICOLOR=0 is set; CLICOLOR_FORCE is `always`.
    #[default]
    Auto,
    /// Also in pipes and files.
    Always,
    /// Nowhere.
    Never,
}

/// Where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output.
    Standard,
    /// Standard error.
    Errors,
}

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const BROKEN: Style = AnsiColor::Yellow.on_default();
const ASIDE: Style = Style::new().dimmed();

/// What was chosen; once, when the command line was read.
static CHOICE: OnceLock<ColourChoice> = OnceLock::new();

/// Chooses for the whole program.
pub(crate) fn choose(choice: ColourChoice) {
    CHOICE.get_or_init(|| choice);
}

/// Whether what is written there is coloured.
pub(crate) fn is_on(output: Output) -> bool {
    let is_terminal = match output {
        Output::Standard => io::stdout().is_terminal(),
        Output::Errors => io::stderr().is_terminal(),
    };
    is_wanted(CHOICE.get().copied().unwrap_or_default(), is_terminal, |name| std::env::var_os(name))
}

/// <https://no-color.org> and <https://bixense.com/clicolors>; what the flag says counts most.
fn is_wanted(choice: ColourChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value == wanted);
    match choice {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto if is_set("NO_COLOR") => false,
        ColourChoice::Auto if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        ColourChoice::Auto => is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

/// A word before a message on standard error: `durward: error:`.
pub(crate) fn label(word: &str) -> String {
    let style = match word {
        "error" => BAD.bold(),
        "warning" => BROKEN.bold(),
        _ => AnsiColor::Cyan.on_default(),
    };
    if is_on(Output::Errors) { painted(style, word) } else { word.to_owned() }
}

/// An explanation, for standard output: the decision at the beginning of each line.
pub(crate) fn explanation(text: &str) -> String {
    if is_on(Output::Standard) { by_line(text, explained) } else { text.to_owned() }
}

/// What came of tests: the word before each scenario.
pub(crate) fn tests(text: &str, output: Output) -> String {
    if is_on(output) { by_line(text, tested) } else { text.to_owned() }
}

/// Findings about policies: the word for how bad each is.
pub(crate) fn findings(text: &str, output: Output) -> String {
    if is_on(output) { by_line(text, found) } else { text.to_owned() }
}

/// Paints a line, if there is something to paint.
type Paint = fn(&str) -> Option<String>;

fn by_line(text: &str, paint: Paint) -> String {
    text.split_inclusive('\n').map(|line| paint(line).unwrap_or_else(|| line.to_owned())).collect()
}

fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Paints the word behind what stands before it.
fn with_word(before: &str, style: Style, word: &str, rest: &str) -> String {
    format!("{before}{}{rest}", painted(style, word))
}

fn explained(line: &str) -> Option<String> {
    let text = line.trim_start();
    let (word, _) = text.split_once(':')?;
    let style = match word {
        "PERMIT" | "Permit" | "true" => GOOD,
        "DENY" | "Deny" | "false" => BAD,
        "NOT_APPLICABLE" | "NotApplicable" | "NOT_EVALUATED" => ASIDE,
        "error" | "SUSPEND" | "INDETERMINATE" => BROKEN,
        other if other.starts_with("Indeterminate") => BROKEN,
        _ => return None,
    };
    let (before, rest) = (line.strip_suffix(text)?, text.strip_prefix(word)?);
    Some(with_word(before, style, word, rest))
}

/// Only lines that begin with four spaces have such a word: messages are written further right.
fn tested(line: &str) -> Option<String> {
    let text = line.strip_prefix("    ")?;
    let (word, style) = [("pass", GOOD), ("FAIL", BAD), ("ERROR", BAD)]
        .into_iter()
        .find(|(word, _)| text.starts_with(word))?;
    Some(with_word("    ", style, word, text.strip_prefix(word)?))
}

/// `file:line:column: severity: message`. Messages may have such words too, so the first counts.
fn found(line: &str) -> Option<String> {
    let words = [("error", BAD), ("warning", BROKEN), ("hint", ASIDE)];
    let places = words.into_iter().filter_map(|(word, style)| {
        let at = line.find(&format!(": {word}: "))? + 2;
        Some((at, word, style))
    });
    let (at, word, style) = places.min_by_key(|(at, _, _)| *at)?;
    let (before, rest) = line.split_at_checked(at)?;
    Some(with_word(before, style, word, rest.strip_prefix(word)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there is colour with this choice, at a terminal or not, where these variables are set.
    fn wanted(choice: ColourChoice, is_terminal: bool, set: &[(&str, &str)]) -> bool {
        is_wanted(choice, is_terminal, |name| {
            set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn a_terminal_has_colour_and_a_pipe_has_none() {
        type Set = &'static [(&'static str, &'static str)];
        let cases: [(bool, Set, bool); 10] = [
            (true, &[], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("CLICOLOR", "0")], false),
            (true, &[("CLICOLOR", "1")], true),
            (true, &[("TERM", "dumb")], false),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ];
        for (is_terminal, set, is_coloured) in cases {
            assert_eq!(wanted(ColourChoice::Auto, is_terminal, set), is_coloured, "{set:?}");
        }
    }

    #[test]
    fn the_flag_counts_more_than_the_environment() {
        assert!(wanted(ColourChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!wanted(ColourChoice::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn the_word_is_painted_and_nothing_else() {
        let cases: [(Paint, &str, Option<&str>); 7] = [
            (
                explained,
                "  DENY: policy `p` (p.sapl:1:1)\n",
                Some("  \u{1b}[31mDENY\u{1b}[0m: policy `p` (p.sapl:1:1)\n"),
            ),
            (explained, "    true: `a`\n", Some("    \u{1b}[32mtrue\u{1b}[0m: `a`\n")),
            (explained, "obligation: \"true: a\"\n", None),
            (tested, "    FAIL   a nurse reads\n", Some("    \u{1b}[31mFAIL\u{1b}[0m   a nurse reads\n")),
            (tested, "           FAIL\n", None),
            (
                found,
                "p.sapl:1:2: warning: not an error: it is odd\n",
                Some("p.sapl:1:2: \u{1b}[33mwarning\u{1b}[0m: not an error: it is odd\n"),
            ),
            (found, "1 document: 0 errors, 0 warnings, 0 hints\n", None),
        ];
        for (paint, line, expected) in cases {
            assert_eq!(paint(line).as_deref(), expected);
        }
    }
}
