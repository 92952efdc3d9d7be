//! What was recorded of other engines: here only the questions matter, not what those engines said.

use std::fs;
use std::path::{Path, PathBuf};

use durward_pdp::ir::json;
use durward_pdp::ir::value::Value;
use durward_pdp::{Pdp, PdpBuilder, PolicyText, read_policies};

use super::contest::{ContestQuestion, EvaluatorContest};
use super::{ComparedCount, DifferentialFailure};
use crate::conformance;
use crate::recorded::requests;

/// Policies with questions.
struct RecordedPolicies {
    name: String,
    make: Box<dyn Fn() -> PdpBuilder>,
    /// Texts of questions.
    questions: Vec<String>,
}

/// Asks what was recorded, at most about so many questions.
///
/// # Errors
/// The first difference.
pub(super) fn run(
    data: &Path,
    questions: u64,
) -> Result<Vec<(String, ComparedCount)>, Box<DifferentialFailure>> {
    let groups = [
        ("conformance cases", conformance_cases(data)),
        ("the conference policies", conference(data)),
        ("synthetic policies", synthetic(data)),
        ("scenarios of SAPL", scenarios(data)),
        ("documents of SAPL", documents(data)),
        ("expressions of SAPL", expressions(data)),
    ];
    let each = questions / groups.len() as u64;
    groups
        .into_iter()
        .map(|(name, group)| Ok((format!("recorded: {name}"), ask_all(&group, each)?)))
        .collect()
}

/// Asks a group; where that were too many questions, every so manieth of them.
fn ask_all(group: &[RecordedPolicies], questions: u64) -> Result<ComparedCount, Box<DifferentialFailure>> {
    let all: usize = group.iter().map(|recorded| recorded.questions.len()).sum();
    let step = all.div_ceil((questions as usize).max(1)).max(1);
    let mut count = ComparedCount::default();
    let mut number = 0;
    for recorded in group {
        let difference = |disagreement, question: &str| {
            let origin = format!("recorded: {} {question}", recorded.name);
            Box::new(DifferentialFailure { origin, case: None, disagreement })
        };
        let mut contest = None;
        let mut together = Vec::new();
        for text in &recorded.questions {
            number += 1;
            if number % step != 0 {
                continue;
            }
            if contest.is_none() {
                let built = EvaluatorContest::build(&recorded.make, None);
                contest = built.map_err(|disagreement| difference(disagreement, ""))?;
                count.sets += 1;
            }
            let (Some(contest), Ok(question)) = (&contest, ContestQuestion::read(text)) else { continue };
            let answers = contest.ask(&question).map_err(|disagreement| difference(disagreement, text))?;
            count.add(ComparedCount { sets: 0, questions: 1, answers });
            together.push(question);
        }
        if let Some(contest) = &contest {
            let answers = contest.ask_together(&together);
            count.answers += answers.map_err(|(_, disagreement)| difference(disagreement, "in a batch"))?;
        }
    }
    Ok(count)
}

fn conformance_cases(data: &Path) -> Vec<RecordedPolicies> {
    let folder = data.join("xacml/conformance");
    let suites =
        ["authzforce-ct-mandatory", "authzforce-ct-optional", "att-ct-0.4-deprecated", "balana-ct-xacml2"];
    let cases = suites.iter().flat_map(|suite| conformance::cases(&folder.join(suite)).unwrap_or_default());
    let recorded = cases.filter_map(|case| {
        let questions = vec![fs::read_to_string(case.folder.join("Request.xml")).ok()?];
        conformance::builder(&case).ok()?;
        let name = case.name.clone();
        let make = Box::new(move || conformance::builder(&case).unwrap_or_default());
        Some(RecordedPolicies { name, make, questions })
    });
    recorded.collect()
}

fn conference(data: &Path) -> Vec<RecordedPolicies> {
    let folder = data.join("xacml/continue");
    [
        ("continue-a-3.0.xml", "requests-single.jsonl"),
        ("continue-a-3.0.xml", "requests-core.jsonl"),
        ("continue-a-2.0-original.xml", "requests-core.jsonl"),
    ]
    .into_iter()
    .filter_map(|(policies, questions)| with_requests(&folder.join(policies), &folder.join(questions)))
    .collect()
}

fn synthetic(data: &Path) -> Vec<RecordedPolicies> {
    let folder = data.join("xacml/policies");
    let sizes = ["100", "1000", "10000"].map(|size| format!("synth-{size}-do"));
    let recorded = sizes.iter().filter_map(|name| {
        with_requests(&folder.join(format!("{name}.xml")), &folder.join(format!("{name}.requests.jsonl")))
    });
    recorded.collect()
}

fn with_requests(policies: &Path, questions: &Path) -> Option<RecordedPolicies> {
    let texts = read_policies(policies).ok()?;
    let questions = requests(questions).ok()?.into_iter().filter_map(|request| request.xml).collect();
    Some(RecordedPolicies { name: shown(policies), make: maker(texts), questions })
}

fn shown(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn maker(texts: Vec<PolicyText>) -> Box<dyn Fn() -> PdpBuilder> {
    Box::new(move || Pdp::builder().policies(texts.clone()))
}

fn scenarios(data: &Path) -> Vec<RecordedPolicies> {
    let folders = fs::read_dir(data.join("sapl")).into_iter().flatten().filter_map(Result::ok);
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("pdp.json").exists());
    folders.sort();
    let recorded = folders.iter().filter_map(|folder| {
        let texts = read_policies(folder).ok()?;
        let files = ["decisions.jsonl", "decisions-extra.jsonl"];
        let lines = files.iter().flat_map(|file| lines(&folder.join(file)));
        let questions = lines.filter_map(|line| Some(get(&line, "subscription")?.to_json())).collect();
        Some(RecordedPolicies { name: shown(folder), make: maker(texts), questions })
    });
    recorded.collect()
}

fn documents(data: &Path) -> Vec<RecordedPolicies> {
    let recorded = lines(&data.join("sapl/documents/documents.jsonl")).into_iter().filter_map(|case| {
        let documents = texts(get(&case, "docs")?);
        let variables = r#"{"limit":10,"perms":{"doctor":["read","write"],"nurse":["read"]}}"#;
        let [mode, default, errors] = texts(get(&case, "alg")?).try_into().ok()?;
        let configuration = configuration([&mode, &default, &errors], variables);
        let name = documents.join(" ");
        let questions = vec![get(&case, "sub")?.to_json()];
        Some(RecordedPolicies { name, make: maker(policy_texts(configuration, documents)), questions })
    });
    recorded.collect()
}

/// Every expression as what stands for the resource, and as a condition.
fn expressions(data: &Path) -> Vec<RecordedPolicies> {
    let lines = lines(&data.join("sapl/expressions/expressions.jsonl"));
    let Some((head, cases)) = lines.split_first() else { return Vec::new() };
    let (Some(subscription), Some(variables)) = (get(head, "subscription"), get(head, "variables")) else {
        return Vec::new();
    };
    let configuration = configuration(["PRIORITY_DENY", "ABSTAIN", "PROPAGATE"], &variables.to_json());
    let expressions = cases.iter().filter_map(|case| get(case, "expr")?.as_text());
    let documents = expressions.flat_map(|expression| {
        [format!("policy \"p\" permit transform {expression}"), format!("policy \"p\" permit {expression};")]
    });
    let recorded = documents.map(|document| RecordedPolicies {
        name: document.clone(),
        make: maker(policy_texts(configuration.clone(), vec![document])),
        questions: vec![subscription.to_json()],
    });
    recorded.collect()
}

fn policy_texts(configuration: String, documents: Vec<String>) -> Vec<PolicyText> {
    let documents = documents.into_iter().enumerate();
    let documents = documents.map(|(number, text)| (format!("{number}.sapl"), text));
    let all = [("pdp.json".to_owned(), configuration)].into_iter().chain(documents);
    all.map(|(name, text)| PolicyText { name, text: text.into_bytes() }).collect()
}

fn configuration([mode, default, errors]: [&str; 3], variables: &str) -> String {
    format!(
        r#"{{"algorithm":{{"votingMode":"{mode}","defaultDecision":"{default}","errorHandling":"{errors}"}},
            "variables":{variables}}}"#
    )
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| json::read(line).ok()).collect()
}

fn get<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.as_object()?.get(key)
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flat_map(|values| values.iter()).filter_map(Value::as_text);
    texts.map(str::to_owned).collect()
}
