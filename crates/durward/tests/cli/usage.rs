//! Flags: help, version, and what is wrong with them, in one line and a hint.

use crate::durward;

#[test]
fn the_version_is_that_of_the_package() {
    let ran = durward(&["--version"]).exits(0);
    assert_eq!(ran.stdout, format!("durward {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_goes_to_standard_output_and_has_examples() {
    for command in [
        &["--help"][..],
        &["decide", "--help"],
        &["check", "--help"],
        &["fmt", "--help"],
        &["test", "--help"],
        &["eval", "--help"],
        #[cfg(feature = "lab")]
        &["bench", "embedded", "--help"],
    ] {
        let ran = durward(command).exits(0);
        assert!(ran.stdout.contains("Examples:\n  durward "), "{}", ran.stdout);
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn without_a_command_help_goes_to_standard_error() {
    let ran = durward(&[]).exits(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("Usage: durward <COMMAND>"));
}

#[test]
fn wrong_flags_are_one_line_and_a_hint() {
    durward(&["chekc"])
        .exits(2)
        .complains("unrecognized subcommand `chekc`", "a similar subcommand exists: `check`");
    durward(&["decide", "--polices", "x"])
        .exits(2)
        .complains("unexpected argument `--polices` found", "a similar argument exists: `--policies`");
    durward(&["decide"]).exits(2).complains(
        "the following required arguments were not provided: --policies <DIR|FILE>",
        "see `durward decide --help`",
    );
    durward(&["decide", "--policies", "hospital", "--index", "fast"]).exits(2).complains(
        "invalid value `fast` for `--index <NAME>`: `fast` is not an index; there are `scan`, `bloom`, `canonical`, \
         `diagram` and `auto`",
        "see `durward decide --help`",
    );
    let ran = durward(&["decide", "--policies", "hospital", "--combining", "majority"]).exits(2);
    assert!(ran.stderr.contains("for `--combining <ALGORITHM>`: one of deny-overrides, permit-overrides"));
    let ran = durward(&["decide", "--policies", "hospital", "--request", "a", "--requests", "b"]).exits(2);
    assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
}

/// The hint names a command that there is, however far the words on the command line lead.
#[test]
fn the_hint_names_a_command_that_is_there() {
    let hint = |words: &[&str]| {
        let stderr = durward(words).exits(2).stderr;
        let (_, hint) = stderr.split_once("hint: ").unwrap();
        hint.trim_end().to_owned()
    };
    assert_eq!(hint(&["users", "del"]), "see `durward users --help`");
    #[cfg(feature = "lab")]
    assert_eq!(hint(&["bench", "fast"]), "see `durward bench --help`");
    #[cfg(feature = "lab")]
    assert_eq!(hint(&["bench", "sessions", "--nodes", "x"]), "see `durward bench sessions --help`");
}

/// A build with few features has its commands' names, and says what brings the commands.
#[cfg(not(any(feature = "lab", feature = "opcua")))]
#[test]
fn a_command_that_is_left_out_names_its_feature() {
    for (words, feature, command) in [
        (&["lab", "run", "lab.toml", "--quiet"][..], "lab", "durward lab"),
        (&["bench", "embedded", "--scenario", "rbac"], "lab", "durward bench"),
        (&["opcua", "--help"], "opcua", "durward opcua"),
        (&["demo", "opcua"], "opcua", "durward demo opcua"),
    ] {
        durward(words).exits(2).complains(
            &format!("this durward was built without the feature `{feature}`, which `{command}` needs"),
            "build it with all: `cargo install --path crates/durward --profile optimised --features full`",
        );
    }
}
