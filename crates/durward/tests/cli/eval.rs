//! `durward eval`: values of expressions, and entries one after the other.

use std::fs;
use std::path::PathBuf;

use crate::{durward, durward_fed};

/// A new, empty directory.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-eval-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// What an expression with these flags prints, with nothing on standard error.
#[track_caller]
fn value(arguments: &[&str]) -> String {
    let ran = durward(&[&["eval"][..], arguments].concat()).exits(0);
    assert_eq!(ran.stderr, "");
    ran.stdout
}

#[test]
fn a_value_is_printed_as_json() {
    for (expression, printed) in [
        ("1 + 2 * 3", "7\n"),
        ("[1.50, null, \"ä\"]", "[1.50,null,\"ä\"]\n"),
        ("{ \"a\": true }.a", "true\n"),
        ("subject", "undefined\n"),
        ("\"a\" =~ \"[a-z]\"", "true\n"),
        ("time.hourOf(<time.now>) >= 0", "true\n"),
    ] {
        assert_eq!(value(&[expression]), printed, "{expression}");
    }
    assert_eq!(value(&["--", "-1 + 2"]), "1\n");
}

#[test]
fn parts_of_the_subscription_are_given_one_by_one() {
    assert_eq!(value(&["string.toLowerCase(subject.name)", "-s", r#"{"name":"Ada"}"#]), "\"ada\"\n");
    assert_eq!(value(&["[action, resource]", "-a", "1", "--resource", "2"]), "[1,2]\n");
    assert_eq!(value(&["environment.hour", "-e", r#"{"hour":7}"#]), "7\n");
    durward(&["eval", "subject", "-s", "ada"]).exits(2);
}

#[test]
fn wrong_expressions_have_their_place_and_an_exit_code() {
    let ran = durward(&["eval", "1 +"]).exits(2);
    assert!(ran.stderr.starts_with("durward: error: expression:1:4: "), "{}", ran.stderr);
    let ran = durward(&["eval", "blacken(\"abc\")"]).exits(2);
    assert!(ran.stderr.contains("write `filter.blacken`"), "{}", ran.stderr);
    let ran = durward(&["eval", "[1,\n subject.a / 0]", "-s", r#"{"a":2}"#]).exits(1);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "durward: error: expression:2:2: division by zero\n")
    );
    let ran = durward(&["eval", "string.lenght(\"a\")"]).exits(1);
    assert!(ran.stderr.contains("did you mean `string.length`?"), "{}", ran.stderr);
    let ran = durward(&["eval", "subject == doctor"]).exits(0);
    assert_eq!(
        ran.stderr,
        "durward: warning: expression:1:12: there is no variable `doctor`, so it is undefined; for the text, write \"doctor\"\n"
    );
}

#[test]
fn variables_are_an_object_a_file_or_a_configuration() {
    let directory = directory("variables");
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    assert_eq!(value(&["limit - 1", "--variables", r#"{"limit":7}"#]), "6\n");
    let plain = file("variables.json", r#"{"limit":7}"#);
    assert_eq!(value(&["limit - 1", "--variables", &plain]), "6\n");
    let configuration = file("pdp.json", "{\"variables\":{\"limit\":7}} // of the ward");
    assert_eq!(value(&["limit - 1", "--variables", &configuration]), "6\n");
    let array = file("array.json", "[7]");
    for wrong in ["nowhere.json", "{limit", &array] {
        durward(&["eval", "1", "--variables", wrong]).exits(2);
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn attributes_give_what_is_given_and_others_are_undefined() {
    let given = ["--attributes", r#"{"hr.department":"sales"}"#];
    assert_eq!(value(&[&["<hr.department>"][..], &given].concat()), "\"sales\"\n");
    assert_eq!(value(&[&["\"ada\".<hr.department(1)> == \"sales\""][..], &given].concat()), "true\n");
    let ran = durward(&["eval", "[<a.b>, <a.b>]"]).exits(0);
    assert_eq!(
        ran.stderr,
        "durward: warning: the attribute `<a.b>` has no source here and is undefined; `--attributes` gives it a value\n"
    );
}

#[test]
fn entries_are_answered_one_after_the_other() {
    let input = "\
// A comment is no entry.
let base = 2

var more = [
    base, // this entry goes on
    3
];
more
:subject {\"name\": \"ada\",
  \"wards\": [3, 4]}
subject.wards[?(@ > 3)];
:subject
:subject undefined
subject
:quit
never
";
    let ran = durward_fed(&["eval", "--action", "\"read\""], input).exits(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("[2,3]\n[4]\n{\"name\":\"ada\",\"wards\":[3,4]}\nundefined\n", "")
    );
}

#[test]
fn an_entry_that_fails_is_told_of_and_the_next_one_is_read() {
    let ran = durward_fed(&["eval"], "1 / 0\n2\n").exits(1);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("2\n", "durward: error: input:1:1: division by zero\n")
    );
    let ran = durward_fed(&["eval"], "1\n\n[1,\n 2 +\n]\n:sbject 1\n:subject ada\nlet x = 1 / 0\n3").exits(2);
    assert_eq!(ran.stdout, "1\n3\n");
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("error: ")).collect();
    assert!(errors[0].starts_with("durward: error: input:4:"), "{errors:?}");
    assert_eq!(errors[1], "durward: error: there is no command `:sbject`");
    assert!(errors[2].starts_with("durward: error: `:subject` takes JSON: "), "{errors:?}");
    assert_eq!(errors[3], "durward: error: input:8:9: division by zero");
    assert!(ran.stderr.contains("hint: did you mean `:subject`?"), "{}", ran.stderr);
    // What was begun when the input ends is answered, too.
    durward_fed(&["eval"], "[1,").exits(2);
}

#[test]
fn a_document_is_checked_and_decided() {
    let input = "\
let role = \"doctor\"
policy \"doctors\"
permit
    subject.role == role;

1 + 1
policy \"nobody\" deny";
    let ran = durward_fed(&["eval", "-s", r#"{"role":"doctor"}"#], input).exits(0);
    assert!(ran.stdout.starts_with("{\"decision\":\"PERMIT\"}\nPERMIT: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("true: `subject.role == role`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n2\n{\"decision\":\"DENY\"}\n"), "{}", ran.stdout);
    let ran = durward_fed(&["eval"], "1\npolicy \"p\" permit\n    subject.policy == 1;\n\n2\n").exits(2);
    assert_eq!(ran.stdout, "1\n2\n");
    assert!(ran.stderr.starts_with("durward: error: input:3:13: "), "{}", ran.stderr);
    let nurse = ["eval", "-s", r#"{"role":"nurse"}"#];
    let ran = durward_fed(&nurse, "policy \"p\" permit subject.role == doctor;\n").exits(0);
    assert!(ran.stdout.starts_with("{\"decision\":\"NOT_APPLICABLE\"}"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("durward: warning: input:1:35: there is no variable"), "{}", ran.stderr);
}

#[test]
fn functions_are_explained() {
    let ran =
        durward_fed(&["eval"], ":doc string.length\n:doc filter\n:doc <time.now>\n:doc\n:help\n").exits(0);
    for part in ["string.length(", "filter.blacken(", "docs/sapl-attributes.md", " string ", ":resource JSON"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    durward_fed(&["eval"], ":doc string.lenght\n")
        .exits(2)
        .complains("there is no function and no library `string.lenght`", "did you mean `string.length`?");
}

/// The prompt in a terminal of its own, which `script` of util-linux makes.
#[cfg(feature = "repl")]
mod terminal {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    use super::{directory, fs};
    use crate::binary::binary;

    struct Terminal {
        child: Child,
        input: ChildStdin,
        output: ChildStdout,
        /// What was written since the last text that was waited for.
        written: Vec<u8>,
    }

    impl Terminal {
        fn open(state: &Path) -> Terminal {
            let mut child = Command::new("script")
                .args(["-q", "-c", &format!("{} eval", binary()), "/dev/null"])
                .env("TERM", "xterm-256color")
                .env("SHELL", "/bin/sh")
                .env("XDG_STATE_HOME", state)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            Terminal { child, input, output, written: Vec::new() }
        }

        fn wait_for(&mut self, text: &str) {
            let mut part = [0; 1024];
            loop {
                let written = String::from_utf8_lossy(&self.written).into_owned();
                if let Some((_, rest)) = written.split_once(text) {
                    self.written = rest.as_bytes().to_vec();
                    return;
                }
                let count = self.output.read(&mut part).unwrap();
                assert!(count > 0, "no {text:?}: {written}");
                self.written.extend_from_slice(&part[..count]);
            }
        }

        /// Types at the prompt, and waits for the line that is answered.
        fn enter(&mut self, keys: &str, answer: &str) {
            self.wait_for("sapl> ");
            self.input.write_all(keys.as_bytes()).unwrap();
            self.wait_for(&format!("\n{answer}\r\n"));
        }

        fn quit(mut self) {
            self.wait_for("sapl> ");
            self.input.write_all(b":quit\r").unwrap();
            self.output.read_to_end(&mut self.written).unwrap();
            self.child.wait().unwrap();
        }
    }

    #[test]
    fn entries_are_edited_completed_and_kept_for_nobody_else() {
        if !durward_testdata::has_program("script", "--version", "apt-get install bsdutils") {
            return;
        }
        let state = directory("terminal");
        let mut terminal = Terminal::open(&state);
        terminal.enter("1 + 41\r", "42");
        terminal.enter("string.toLow\t(\"AbC\")\r", "\"abc\"");
        terminal.enter(" 5000 + 55\r", "5055");
        terminal.enter("[7,\r8]\r", "[7,8]");
        terminal.quit();
        let history = state.join("durward/history");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&history), mode(&state.join("durward"))), (0o600, 0o700));
        let kept = fs::read_to_string(&history).unwrap();
        assert!(kept.contains("1 + 41\n") && kept.contains("[7,\\n8]\n"), "{kept}");
        assert!(!kept.contains("5000"), "what begins with a blank is not kept: {kept}");
        // Two times the arrow up: the entry before `:quit` is there again.
        let mut terminal = Terminal::open(&state);
        terminal.enter("\u{1b}[A\u{1b}[A\r", "[7,8]");
        terminal.quit();
        fs::remove_dir_all(state).unwrap();
    }
}
