//! `cargo xtask container`: what fits into a container of little memory. A node with users and the policies of a hospital runs within the limit,
//! users log in, ask and log out, and every answer is compared with the decision that `durward decide` made of the same question.
//!
//! The load is `container/plan.toml`, which `durward lab run` makes; the lab sets the limit by a control group where there are any, and says
//! in its record how. The kernel ends a node that needs more.

use crate::lab::{self, Point, mebibytes};
use crate::metadata::{self, Metadata};
use crate::process::{output_of, run};
use crate::release;
use crate::report::{Outcome, Report};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "`cargo xtask container [--binary DURWARD] [--driver DURWARD] [--minutes N] [--memory 64M] [--departments N,N]`";

const USERS: u32 = 20;
const PASSWORD: &str = "no secret at all";

/// What is run.
struct Plan {
    /// The node.
    binary: Option<PathBuf>,
    /// What generates, compares and makes the load; needs the feature `lab`.
    driver: Option<PathBuf>,
    minutes: u32,
    memory: String,
    /// Of the hospital: each has 33 policies, and five are for all.
    departments: Vec<u32>,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan {
            binary: None,
            driver: None,
            minutes: 10,
            memory: "64M".to_owned(),
            departments: vec![5, 80],
        };
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned());
        for pair in words.chunks(2) {
            match pair {
                ["--binary", path] => plan.binary = Some(absolute(path)?),
                ["--driver", path] => plan.driver = Some(absolute(path)?),
                ["--minutes", text] => plan.minutes = number(text)?,
                ["--memory", text] => plan.memory = (*text).to_owned(),
                ["--departments", list] => {
                    plan.departments = list.split(',').map(number).collect::<Result<_, _>>()?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| format!("`{path}`: {error}"))
}

/// `cargo xtask container [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let driver = match (&plan.driver, &plan.binary) {
        (Some(path), _) | (None, Some(path)) => path.clone(),
        (None, None) => release::dist()?,
    };
    let binary = plan.binary.clone().unwrap_or_else(|| driver.clone());
    let mut report = Report::new();
    for departments in &plan.departments {
        let name = format!("{} policies in {}", departments * 33 + 5, plan.memory);
        report.step(&name, || {
            let measured =
                prepared(&driver, *departments).and_then(|folder| within(&plan, &binary, &driver, &folder));
            measured.map_or_else(Outcome::Failed, Outcome::Passed)
        });
    }
    Ok(report.close())
}

/// A folder with policies, users, and questions with their decisions.
fn prepared(driver: &Path, departments: u32) -> Result<PathBuf, String> {
    let name = format!("hospital-{departments}");
    let folder = Metadata::read()?.target_directory.join("container").join(&name);
    let cannot = |error: std::io::Error| format!("cannot write into `{}`: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(cannot)?;
    }
    fs::create_dir_all(&folder).map_err(cannot)?;
    let policies = folder.join("policies");
    run(Command::new(driver).args(["bench", "generate", &name, "--out"]).arg(&policies))?;
    let questions = folder.join("subscriptions.jsonl");
    fs::rename(policies.join("subscriptions.jsonl"), &questions).map_err(cannot)?;
    let mut decide = Command::new(driver);
    decide.arg("decide").arg("--policies").arg(&policies).arg("--requests").arg(&questions);
    let decided = output_of(&mut decide)?;
    let asked = fs::read_to_string(&questions).map_err(cannot)?;
    fs::write(folder.join("questions.jsonl"), rows(&asked, &decided)?).map_err(cannot)?;
    for user in 0..USERS {
        add_user(driver, &folder.join("users.journal"), user)?;
    }
    let text = fs::read(metadata::root().join("xtask/container/plan.toml")).map_err(cannot)?;
    fs::write(folder.join("plan.toml"), text).map_err(cannot)?;
    Ok(folder)
}

/// Each question with a user and the decision that it must get.
fn rows(asked: &str, decided: &str) -> Result<String, String> {
    let mut rows = String::new();
    for (number, (asked, decided)) in asked.lines().zip(decided.lines()).enumerate() {
        let value = |text: &str, name: &str| -> Result<Value, String> {
            let value: Value = serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))?;
            value.get(name).cloned().ok_or_else(|| format!("no `{name}` in {text}"))
        };
        let row = json!({
            "user": format!("user{}", number % USERS as usize),
            "question": value(asked, "subscription")?.to_string(),
            "decision": value(decided, "decision")?,
        });
        rows.push_str(&format!("{row}\n"));
    }
    if asked.lines().count() == decided.lines().count() {
        Ok(rows)
    } else {
        Err("`durward decide` left questions without an answer".to_owned())
    }
}

fn add_user(driver: &Path, users: &Path, number: u32) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot add a user: {error}");
    let mut command = Command::new(driver);
    command.args(["users", "add", &format!("user{number}"), "--users"]).arg(users);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(cannot)?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{PASSWORD}").map_err(cannot)?;
    }
    let status = child.wait().map_err(cannot)?;
    if status.success() { Ok(()) } else { Err(format!("`durward users add`: {status}")) }
}

fn within(plan: &Plan, binary: &Path, driver: &Path, folder: &Path) -> Result<String, String> {
    let (binary, measure) = (binary.to_string_lossy(), format!("{}m", plan.minutes));
    let env = [("DURWARD", binary.as_ref()), ("PASSWORD", PASSWORD)];
    let scenario = folder.join("plan.toml");
    let text = fs::read_to_string(&scenario).map_err(|error| format!("`{}`: {error}", scenario.display()))?;
    // Limits and times are numbers of the scenario, not texts that a variable could fill.
    let text = text.replace("@MEMORY@", &plan.memory).replace("@MEASURE@", &measure);
    fs::write(&scenario, text).map_err(|error| format!("`{}`: {error}", scenario.display()))?;
    let found = lab::run(driver, &scenario, &folder.join("record"), &env)?;
    match (found.cut_short, found.points.as_slice()) {
        (Some(why), _) => Err(why),
        (None, [point]) => judged(point),
        (None, points) => Err(format!("{} points instead of one", points.len())),
    }
}

fn judged(point: &Point) -> Result<String, String> {
    let (first, last) = point.memory_first_and_last();
    let said = format!(
        "{} right answers, {:.0}/s; memory by {}: {:.1} MiB at first, {:.1} at last, {:.1} at most",
        point.right,
        point.rate(),
        point.source,
        mebibytes(first),
        mebibytes(last),
        mebibytes(point.memory_peak)
    );
    if point.wrong == 0 && point.killed == 0.0 {
        Ok(said)
    } else {
        Err(format!("{}; {said}", point.causes.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_values() {
        let plan = Plan::of(&["--minutes", "1", "--departments", "5,80"]).unwrap();
        assert_eq!((plan.minutes, plan.departments), (1, vec![5, 80]));
        assert!(Plan::of(&["--minutes", "0"]).is_err() && Plan::of(&["--minutes"]).is_err());
    }

    #[test]
    fn each_question_has_its_decision() {
        let rows =
            rows("{\"id\":0,\"subscription\":{\"subject\":\"a\"}}\n", "{\"id\":0,\"decision\":\"DENY\"}\n");
        let row: Value = serde_json::from_str(rows.unwrap().trim_end()).unwrap();
        assert_eq!(row, json!({"user": "user0", "question": "{\"subject\":\"a\"}", "decision": "DENY"}));
        assert!(super::rows("{\"subscription\":1}\n", "").is_err());
    }
}
