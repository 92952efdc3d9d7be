//! `durward init`: what it writes works as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::binary;
use crate::serve::Running;
use crate::{Ran, durward, ran};

/// A path where nothing is.
fn free(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("durward-init-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// A new project.
fn project(language: &str) -> PathBuf {
    let path = free(language);
    durward(&["init", &path.display().to_string(), "--language", language]).exits(0);
    path
}

/// Runs a command line in a directory; no word of it has a blank.
fn run(directory: &Path, line: &str) -> Ran {
    let words = line.strip_prefix("durward ").unwrap().split(' ');
    let mut command = Command::new(binary());
    command.args(words).current_dir(directory).stdin(Stdio::null());
    ran(command.output().unwrap())
}

fn read(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap()
}

/// What stands between the first `start` and the next `end`.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0
}

/// The commands of the README, those that serve aside.
fn commands_of_readme(readme: &str) -> Vec<String> {
    let block = between(readme, "```sh\n", "```\n");
    let lines = block.lines().map(|line| line.split(" # ").next().unwrap().trim_end().to_owned());
    let commands: Vec<String> = lines.collect();
    assert_eq!(commands.len(), 3);
    assert_eq!(commands[2], "durward serve");
    commands[..2].to_vec()
}

#[test]
fn every_command_of_workflow_and_readme_succeeds() {
    for (language, count) in [("sapl", 3), ("xacml", 2), ("both", 5)] {
        let project = project(language);
        let workflow = read(&project, ".github/workflows/policies.yml");
        let steps = workflow.lines().filter_map(|line| line.trim_start().strip_prefix("run: durward "));
        let steps: Vec<String> = steps.map(|step| format!("durward {step}")).collect();
        assert_eq!(steps.len(), count, "{workflow}");
        let commands = commands_of_readme(&read(&project, "README.md"));
        for line in steps.iter().chain(&commands) {
            run(&project, line).exits(0);
        }
        fs::remove_dir_all(project).unwrap();
    }
}

#[test]
fn the_policies_are_clean_laid_out_and_wholly_covered() {
    let project = project("both");
    for policies in ["policies", "xacml"] {
        let checked = run(&project, &format!("durward check {policies} --config durward.toml")).exits(0);
        assert_eq!(checked.stdout, "1 document: 0 errors, 0 warnings, 0 hints\n");
    }
    run(&project, "durward fmt --check policies").exits(0);
    let all = "--policy-hit-ratio 100 --condition-hit-ratio 100 --branch-coverage-ratio 100";
    let tested = run(&project, &format!("durward test --no-html {all}")).exits(0);
    assert!(tested.stdout.contains("4 scenarios: 4 passed, 0 failed, 0 with errors\n"), "{}", tested.stdout);
    fs::remove_dir_all(project).unwrap();
}

/// The request of the README, sent to a server with the settings of the project.
#[test]
fn the_server_answers_what_the_readme_asks() {
    let asked = [
        ("sapl", "/api/pdp/decide-once", "application/json", r#"{"decision":"PERMIT","obligations""#, "DENY"),
        ("xacml", "/pdp", "application/xacml+json", r#""Decision":"Permit""#, r#""Decision":"Deny""#),
    ];
    for (language, path, media_type, permit, deny) in asked {
        let project = project(language);
        let config = project.join("durward.toml").display().to_string();
        let arguments = ["serve", "--config", &config, "--listen", "127.0.0.1:0"];
        let running = Running::start(&arguments, "address=");
        let readme = read(&project, "README.md");
        assert!(readme.contains(&format!("http://127.0.0.1:8080{path}\n")), "{readme}");
        let body = between(&readme, "-d '", "'");
        let answer = running.post_to(path, media_type, body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(permit), "{answer}");
        let answer = running.post_to(path, media_type, &body.replace("doctor", "visitor"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(deny), "{answer}");
        assert_eq!(running.end(), Some(0));
        fs::remove_dir_all(project).unwrap();
    }
}

#[test]
fn nothing_is_overwritten() {
    let directory = free("taken");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("durward.toml"), "mine").unwrap();
    let path = directory.display().to_string();
    durward(&["init", &path]).exits(2).complains(
        &format!("{path}/durward.toml is there already; nothing was written"),
        "name another directory: `durward init DIR`",
    );
    fs::write(directory.join("README.md"), "mine").unwrap();
    let ran = durward(&["init", &path]).exits(2);
    assert!(
        ran.stderr.contains(&format!("durward.toml, {path}/README.md are there already;")),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    assert_eq!(read(&directory, "durward.toml"), "mine");
    // What cannot be a directory is said as well.
    durward(&["init", &format!("{path}/README.md")]).exits(2);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_was_written_and_what_comes_next_is_said() {
    let directory = free("here");
    fs::create_dir(&directory).unwrap();
    let said = run(&directory, "durward init").exits(0).stdout;
    assert!(said.starts_with("wrote policies/records.sapl\n"), "{said}");
    assert!(said.ends_with("\nnext:\n  durward check policies\n  durward test\n  durward serve\n"), "{said}");
    fs::remove_dir_all(&directory).unwrap();
    let path = directory.display().to_string();
    let said = durward(&["init", &path]).exits(0).stdout;
    assert!(said.contains(&format!("\nnext:\n  cd {path}\n  durward check")), "{said}");
    fs::remove_dir_all(directory).unwrap();
}
