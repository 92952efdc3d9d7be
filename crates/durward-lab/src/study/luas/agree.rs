//! What each engine decides: asked one question after the other, before anything is measured. Speed of an engine that is wrong is
//! none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::policies::StudyQuestion;
use crate::load::TargetNode;
use crate::scenario::Scenario;
use crate::target::http;

/// An engine that takes longer for one question will not do better under load.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// What stands where an engine gave no decision.
const NO_DECISION: &str = "no decision";

/// What an engine answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EngineAnswers {
    /// Of which policies, questions and target.
    of: String,
    /// How long it took from its start until it was ready, in milliseconds.
    pub(super) ready_ms: f64,
    /// A decision for each question, in their order; `no decision: ` and why where there was none.
    pub(super) decisions: Vec<String>,
}

impl EngineAnswers {
    /// Starts the engine of this scenario and asks; or reads what it answered before, where a file has that.
    ///
    /// # Errors
    /// An engine that does not start, or ends; a host that is not this machine.
    pub(super) fn of(
        scenario: &str,
        questions: &[StudyQuestion],
        fingerprint: &str,
        file: &Path,
        is_resumed: bool,
        stop: &AtomicBool,
    ) -> Result<EngineAnswers, String> {
        let of = super::fingerprint([scenario, fingerprint]);
        let known =
            fs::read_to_string(file).ok().and_then(|text| serde_json::from_str::<EngineAnswers>(&text).ok());
        if let Some(known) = known.filter(|known| is_resumed && known.of == of) {
            return Ok(known);
        }
        let answers = EngineAnswers { of, ..ask(scenario, questions, stop)? };
        if let Ok(text) = serde_json::to_string(&answers) {
            // Without it the questions are asked again.
            let _ = fs::write(file, text);
        }
        Ok(answers)
    }
}

fn ask(scenario: &str, questions: &[StudyQuestion], stop: &AtomicBool) -> Result<EngineAnswers, String> {
    let spec = Scenario::read(scenario).map_err(|error| error.to_string())?.target;
    for address in &spec.addresses {
        let node = TargetNode::resolve(address).map_err(|error| error.to_string())?;
        if !node.is_local() {
            return Err(format!("`{}` is not this machine, and the study measures what is here", node.host));
        }
    }
    let begun = Instant::now();
    let running = spec.start(1).map_err(|error| error.to_string())?;
    let ready_ms = begun.elapsed().as_secs_f64() * 1e3;
    let address = running.addresses().into_iter().next().unwrap_or_default();
    let url = format!("{}/pdp", address.trim_end_matches('/'));
    let agent = http::agent(ANSWER_TIME_MAX);
    let mut decisions = Vec::new();
    for question in questions {
        if stop.load(Ordering::Relaxed) {
            return Err("the study was stopped".to_owned());
        }
        running.check().map_err(|error| error.to_string())?;
        let media = "application/xacml+xml; version=3.0";
        let asked = agent
            .post(&url)
            .header("content-type", media)
            .header("accept", media)
            .send(question.xml.as_str());
        let answer = asked.and_then(http::read);
        decisions.push(match answer {
            Ok(answer) if answer.status == 200 => decision(&answer.text)
                .unwrap_or_else(|| format!("{NO_DECISION}: no `Decision` in the answer")),
            Ok(answer) => format!("{NO_DECISION}: status {}", answer.status),
            Err(why) => format!("{NO_DECISION}: {why}"),
        });
    }
    // What there is to say of a target that ends, its runs will say.
    let _ = running.stop();
    Ok(EngineAnswers { of: String::new(), ready_ms, decisions })
}

/// The decision in an XACML response, whatever prefix its element has.
fn decision(xml: &str) -> Option<String> {
    let (_, rest) = xml.split_once("Decision>")?;
    let word = rest.split('<').next()?.trim();
    let is_word = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphabetic());
    is_word.then(|| word.to_owned())
}

/// The right decisions: those that were recorded, else what most engines say; `None` where no decision has most of them.
pub(super) fn right(questions: &[StudyQuestion], answers: &[&EngineAnswers]) -> Vec<Option<String>> {
    let most = |number: usize| {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        let said = answers.iter().filter_map(|one| one.decisions.get(number));
        said.filter(|word| !word.starts_with(NO_DECISION))
            .for_each(|word| *votes.entry(word).or_default() += 1);
        let best = votes.values().copied().max()?;
        let mut winners = votes.iter().filter(|(_, count)| **count == best);
        let winner = winners.next()?.0;
        winners.next().is_none().then(|| (*winner).to_owned())
    };
    let one =
        |(number, question): (usize, &StudyQuestion)| question.decision.clone().or_else(|| most(number));
    questions.iter().enumerate().map(one).collect()
}

/// How many decisions of an engine differ from the right ones, and the first that does, in words.
pub(super) fn wrong(
    questions: &[StudyQuestion],
    right: &[Option<String>],
    answers: &EngineAnswers,
) -> (usize, Option<String>) {
    let all = questions.iter().zip(right).zip(&answers.decisions);
    let mut wrong = all.filter_map(|((question, right), said)| {
        let right = right.as_ref()?;
        (right != said).then(|| format!("to `{}` it says {said}, and right is {right}", question.id))
    });
    let first = wrong.next();
    let count = usize::from(first.is_some()) + wrong.count();
    (count, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(decisions: &[&str]) -> EngineAnswers {
        let decisions = decisions.iter().map(|word| (*word).to_owned()).collect();
        EngineAnswers { decisions, ..EngineAnswers::default() }
    }

    fn question(id: &str, decision: Option<&str>) -> StudyQuestion {
        StudyQuestion {
            id: id.to_owned(),
            xml: "<Request/>".to_owned(),
            decision: decision.map(str::to_owned),
        }
    }

    #[test]
    fn decisions_are_found_behind_any_prefix() {
        let found = |xml| decision(xml);
        assert_eq!(found("<Response><Result><Decision>Permit</Decision>").as_deref(), Some("Permit"));
        assert_eq!(found("<x:Decision>NotApplicable</x:Decision>").as_deref(), Some("NotApplicable"));
        assert_eq!(found("<Decision></Decision>"), None);
        assert_eq!(found("<html>"), None);
    }

    #[test]
    fn recorded_decisions_count_more_than_most_engines() {
        let questions = [question("a", Some("Deny")), question("b", None), question("c", None)];
        let one = answers(&["Permit", "Permit", "Permit"]);
        let two = answers(&["Permit", "Permit", "Deny"]);
        let three = answers(&["Deny", "Deny", "no decision: status 400"]);
        let right = right(&questions, &[&one, &two, &three]);
        assert_eq!(right, [Some("Deny".to_owned()), Some("Permit".to_owned()), None]);
        assert_eq!(
            wrong(&questions, &right, &one),
            (1, Some("to `a` it says Permit, and right is Deny".to_owned()))
        );
        assert_eq!(wrong(&questions, &right, &three).0, 1);
    }
}
