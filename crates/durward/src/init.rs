//! `durward init`: a project to begin with. Policies, tests of them, settings, a workflow that checks them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward init records
  durward init records --language xacml
  durward init records --language both

Writes policies, tests of them, settings (`durward.toml`), a workflow for GitHub and servers like it, and a README.md that
says what comes next. No file that is there is overwritten: if one is, nothing is written.

Exit codes: 0 written, 2 a file is there already or cannot be written.";

const SAPL: &str = include_str!("../project/records.sapl");
const SAPL_TESTS: &str = include_str!("../project/records.sapltest");
const XACML: &str = include_str!("../project/records.xml");
const XACML_REQUESTS: &str = include_str!("../project/requests.jsonl");
const XACML_DECISIONS: &str = include_str!("../project/decisions.jsonl");
const SETTINGS: &str = include_str!("../project/durward.toml");

/// Start a project: policies, tests of them, settings, a workflow
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to write it
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// The language of the policies
    #[arg(long, value_enum, default_value_t = ProjectLanguage::Sapl)]
    language: ProjectLanguage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProjectLanguage {
    Sapl,
    Xacml,
    /// SAPL in `policies`, and the same in XACML in `xacml`
    Both,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let project = Project { language: arguments.language };
    let files = project.files();
    let directory = &arguments.directory;
    check_free(directory, &files)?;
    for file in &files {
        write(directory, file)?;
    }
    to_stdout(&project.written(directory, &files))?;
    Ok(ExitCode::SUCCESS)
}

/// Asked before anything is written, so that a project is written whole or not at all.
fn check_free(directory: &Path, files: &[ProjectFile]) -> Result<(), CommandError> {
    // A link that leads nowhere is there as well.
    let is_there = |file: &&ProjectFile| fs::symlink_metadata(directory.join(file.path)).is_ok();
    let there: Vec<String> =
        files.iter().filter(is_there).map(|file| directory.join(file.path).display().to_string()).collect();
    let verb = match there.len() {
        0 => return Ok(()),
        1 => "is",
        _ => "are",
    };
    Err(CommandError::new(format!("{} {verb} there already; nothing was written", there.join(", ")))
        .hint("name another directory: `durward init DIR`"))
}

fn write(directory: &Path, file: &ProjectFile) -> Result<(), CommandError> {
    let path = directory.join(file.path);
    let failed = |error: io::Error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot write {}: {why}", path.display()))
            .hint("name another directory: `durward init DIR`")
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Somebody may have written it since it was looked for.
    let mut out = File::create_new(&path).map_err(failed)?;
    out.write_all(file.text.as_bytes()).map_err(failed)
}

/// How messages call a file: without `./` before it.
fn called(directory: &Path, file: &ProjectFile) -> String {
    let path = directory.join(file.path);
    path.strip_prefix(".").unwrap_or(&path).display().to_string()
}

/// A file, by its path below the project's directory.
struct ProjectFile {
    path: &'static str,
    text: String,
}

/// What is written for a language.
struct Project {
    language: ProjectLanguage,
}

impl Project {
    fn has_sapl(&self) -> bool {
        match self.language {
            ProjectLanguage::Sapl | ProjectLanguage::Both => true,
            ProjectLanguage::Xacml => false,
        }
    }

    /// Where the policies in XACML are, if there are any.
    fn xacml(&self) -> Option<&'static str> {
        match self.language {
            ProjectLanguage::Sapl => None,
            ProjectLanguage::Xacml => Some("policies"),
            ProjectLanguage::Both => Some("xacml"),
        }
    }

    fn files(&self) -> Vec<ProjectFile> {
        let file = |path, text: &str| ProjectFile { path, text: text.to_owned() };
        let mut files = Vec::new();
        if self.has_sapl() {
            files.push(file("policies/records.sapl", SAPL));
            files.push(file("tests/records.sapltest", SAPL_TESTS));
        }
        match self.language {
            ProjectLanguage::Sapl => {}
            ProjectLanguage::Xacml => files.push(file("policies/records.xml", XACML)),
            ProjectLanguage::Both => files.push(file("xacml/records.xml", XACML)),
        }
        if self.xacml().is_some() {
            files.push(file("tests/requests.jsonl", XACML_REQUESTS));
            files.push(file("tests/decisions.jsonl", XACML_DECISIONS));
        }
        files.push(file("durward.toml", SETTINGS));
        files.push(ProjectFile { path: ".github/workflows/policies.yml", text: self.workflow() });
        files.push(ProjectFile { path: "README.md", text: self.readme() });
        files
    }

    /// How the decisions of XACML policies are compared with recorded ones.
    fn comparison(policies: &str) -> String {
        format!(
            "durward decide --policies {policies} --requests tests/requests.jsonl --expect tests/decisions.jsonl"
        )
    }

    /// The commands that say whether the project is as it should be, each with what it does.
    fn checks(&self) -> Vec<Check> {
        let check = |name, command: &str| Check { name, command: command.to_owned() };
        let mut checks = Vec::new();
        if self.has_sapl() {
            checks.push(check("Check", "durward check policies --strict --junit check.xml"));
            checks.push(check("Format", "durward fmt --check policies"));
            checks.push(check("Test", "durward test --junit test.xml"));
        }
        if let Some(policies) = self.xacml() {
            let command = format!("durward check {policies} --strict --junit check-xacml.xml");
            checks.push(Check { name: "Check XACML", command });
            checks.push(Check { name: "Test XACML", command: Project::comparison(policies) });
        }
        checks
    }

    fn workflow(&self) -> String {
        let steps = self.checks().iter().map(ToString::to_string).collect::<String>();
        [&workflow_begin(REPOSITORY), &steps, WORKFLOW_END].concat()
    }

    fn readme(&self) -> String {
        let mut text = String::from(
            "# Policies\n\nDoctors read records, and nobody else does anything. In a terminal, one after the other:\n\n```sh\n",
        );
        for (command, what) in self.next() {
            text.push_str(&format!("{command:<24} # {what}\n"));
        }
        text.push_str("```\n\nThen ask the server, in a second terminal:\n\n");
        if self.has_sapl() {
            text.push_str(README_ASK_SAPL);
        } else {
            text.push_str(README_ASK_XACML);
        }
        text.push_str("| file | what it is |\n|---|---|\n");
        for file in self.described() {
            text.push_str(&format!("| `{}` | {} |\n", file.0, file.1));
        }
        if self.language == ProjectLanguage::Both {
            text.push_str(
                "\nThe server decides by `policies`. To decide by the same policies in XACML, write `path = \"xacml\"` in `durward.toml`.\n",
            );
        }
        text
    }

    /// The next three commands.
    fn next(&self) -> [(String, &'static str); 3] {
        let test = match self.language {
            ProjectLanguage::Sapl | ProjectLanguage::Both => "durward test".to_owned(),
            ProjectLanguage::Xacml => Project::comparison("policies"),
        };
        [
            ("durward check policies".to_owned(), "what is wrong, or odd, in the policies"),
            (test, "whether they decide as the tests say"),
            ("durward serve".to_owned(), "decisions over HTTP, until Ctrl-C"),
        ]
    }

    /// What there is, for the README.
    fn described(&self) -> Vec<(&'static str, &'static str)> {
        let mut rows = Vec::new();
        if self.has_sapl() {
            rows.push(("policies/records.sapl", "a policy in SAPL"));
            rows.push(("tests/records.sapltest", "tests of it: `durward test`"));
        }
        match self.language {
            ProjectLanguage::Sapl => {}
            ProjectLanguage::Xacml => rows.push(("policies/records.xml", "a policy in XACML 3.0")),
            ProjectLanguage::Both => rows.push(("xacml/records.xml", "the same policy in XACML 3.0")),
        }
        if self.xacml().is_some() {
            rows.push(("tests/requests.jsonl", "requests to test the policy in XACML, one per line"));
            rows.push(("tests/decisions.jsonl", "the decisions that they should get"));
        }
        rows.push(("durward.toml", "settings of the server"));
        rows.push((".github/workflows/policies.yml", "runs the checks and tests on every push"));
        rows
    }

    /// What was done, and what comes next.
    fn written(&self, directory: &Path, files: &[ProjectFile]) -> String {
        let mut text = String::new();
        for file in files {
            text.push_str(&format!("wrote {}\n", called(directory, file)));
        }
        text.push_str("\nnext:\n");
        if directory != Path::new(".") {
            text.push_str(&format!("  cd {}\n", directory.display()));
        }
        for (command, _) in self.next() {
            text.push_str(&format!("  {command}\n"));
        }
        text
    }
}

/// One step of the workflow.
struct Check {
    name: &'static str,
    command: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "      - name: {}\n        run: {}\n", self.name, self.command)
    }
}

/// Whose releases have archives of this build, if that was said when it was built: `cargo xtask dist --repository URL`.
const REPOSITORY: Option<&str> = option_env!("DURWARD_REPOSITORY");

/// The part that fetches durward: from the releases of its repository, or from where the variable says.
fn workflow_begin(repository: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (origin, value) = match repository {
        Some(repository) => {
            let archive = format!("durward-{version}-x86_64-unknown-linux-gnu.tar.gz");
            let url = format!("{repository}/releases/download/v{version}/{archive}");
            ("Of this version, unless", format!("vars.DURWARD_URL || '{url}'"))
        }
        None => {
            ("This durward was not built for a repository that has releases:", "vars.DURWARD_URL".to_owned())
        }
    };
    WORKFLOW_BEGIN.replace("@ORIGIN@", origin).replace("@URL@", &value)
}

const WORKFLOW_BEGIN: &str = r#"# Checks and tests the policies. Servers that understand GitHub's workflows (Forgejo, Gitea) run it too.
name: policies
on: [push, pull_request]
permissions:
  contents: read
jobs:
  policies:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      # @ORIGIN@ the variable DURWARD_URL of your repository says where an archive of durward is,
      # durward-VERSION-x86_64-unknown-linux-gnu.tar.gz.
      - name: Install durward
        env:
          DURWARD_URL: ${{ @URL@ }}
        run: |
          : "${DURWARD_URL:?set the variable DURWARD_URL of this repository to the address of an archive of durward}"
          mkdir -p "$HOME/bin"
          curl --fail --silent --show-error --location --output durward.tar.gz "$DURWARD_URL"
          tar -xzf durward.tar.gz --strip-components=1 -C "$HOME/bin" --wildcards '*/durward'
          rm durward.tar.gz
          echo "$HOME/bin" >> "$GITHUB_PATH"
"#;

const WORKFLOW_END: &str = r#"      # JUnit's form, which most servers show beside the run; and the pages of what the tests covered.
      - name: Keep the reports
        if: always()
        uses: actions/upload-artifact@v4
        with:
          name: reports
          path: |
            *.xml
            sapl-coverage
"#;

const README_ASK_SAPL: &str = r#"```sh
curl -H 'Content-Type: application/json' -d '{"subject": {"role": "doctor", "name": "ada"}, "action": "read", "resource": {"type": "record"}}' http://127.0.0.1:8080/api/pdp/decide-once
```

It answers

```json
{"decision":"PERMIT","obligations":[{"type":"log","who":"ada"}]}
```

Write `visitor` for `doctor`, and it answers DENY. Change the policy while the server runs: the next answer is by the new one.

"#;

const README_ASK_XACML: &str = r#"```sh
curl -H 'Content-Type: application/xacml+json' -d '{"Request": {"AccessSubject": {"Attribute": [{"AttributeId": "role", "Value": "doctor"}, {"AttributeId": "name", "Value": "ada"}]}, "Action": {"Attribute": [{"AttributeId": "urn:oasis:names:tc:xacml:1.0:action:action-id", "Value": "read"}]}, "Resource": {"Attribute": [{"AttributeId": "type", "Value": "record"}]}}}' http://127.0.0.1:8080/pdp
```

It answers Permit, with the obligation to log who read. Write `visitor` for `doctor`, and it answers Deny. Change the policy while
the server runs: the next answer is by the new one.

"#;

#[cfg(test)]
mod tests {
    use durward_server::Settings;

    use super::*;

    /// The examples behind `#` are settings as well.
    #[test]
    fn every_line_of_the_settings_can_be_used() {
        let is_example =
            |line: &str| line.starts_with('[') || line.split(' ').nth(1).is_some_and(|word| word == "=");
        let all: Vec<&str> = SETTINGS
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|it| is_example(it)).unwrap_or(line))
            .collect();
        assert!(all.contains(&"[[auth.users]]") && all.contains(&"http = true"), "{all:?}");
        let settings = Settings::from_toml(&all.join("\n"), "durward.toml").unwrap();
        assert_eq!(settings.auth.users.len(), 1);
        let begun = Settings::from_toml(SETTINGS, "durward.toml").unwrap();
        assert_eq!(begun, Settings::default());
    }

    /// Nobody's address is made up for a build that has none.
    #[test]
    fn the_workflow_fetches_durward_from_where_it_was_built_for() {
        let begin = workflow_begin(None);
        assert!(begin.contains("DURWARD_URL: ${{ vars.DURWARD_URL }}\n"), "{begin}");
        assert!(!begin.contains("https:"), "{begin}");
        let begin = workflow_begin(Some("https://a.example/b"));
        let url = format!(
            "'https://a.example/b/releases/download/v{0}/durward-{0}-x86_64-unknown-linux-gnu.tar.gz'",
            env!("CARGO_PKG_VERSION")
        );
        assert!(begin.contains(&format!("${{{{ vars.DURWARD_URL || {url} }}}}\n")), "{begin}");
    }

    #[test]
    fn the_readme_names_every_file() {
        for language in [ProjectLanguage::Sapl, ProjectLanguage::Xacml, ProjectLanguage::Both] {
            let project = Project { language };
            let mut described: Vec<&str> = project.described().iter().map(|row| row.0).collect();
            described.push("README.md");
            let files: Vec<&str> = project.files().iter().map(|file| file.path).collect();
            assert_eq!(files, described);
        }
    }
}
