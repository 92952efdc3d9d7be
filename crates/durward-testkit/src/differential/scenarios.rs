//! The scenarios that decision points are measured with, asked their own questions and others with something missing, too
//! much or of another kind.

use durward_bench::scenario::Scenario;
use durward_pdp::sapl::Subscription;
use durward_pdp::{Pdp, PdpBuilder};
use serde_json::{Value as Json, json};

use super::TestRandom;
use super::contest::{ContestQuestion, EvaluatorContest};
use super::{ComparedCount, DifferentialFailure};

const NAMES: [&str; 14] = [
    "baseline",
    "rbac",
    "hospital-1",
    "hospital-5",
    "hospital-30",
    "github-4",
    "github-10",
    "gdrive-10",
    "tinytodo-3",
    "tinytodo-10",
    "levels-30",
    "levels-300",
    "scatter-1000",
    "synth-100",
];

/// Asks at least so many questions, in all scenarios together.
///
/// # Errors
/// The first difference.
pub(super) fn run(
    seed: u64,
    questions: u64,
) -> Result<Vec<(String, ComparedCount)>, Box<DifferentialFailure>> {
    let each = questions.div_ceil(NAMES.len() as u64);
    NAMES
        .into_iter()
        .map(|name| {
            let mut random = TestRandom::new(seed);
            let difference = |disagreement| {
                let origin = format!("scenario {name}");
                Box::new(DifferentialFailure { origin, case: None, disagreement })
            };
            let Ok(scenario) = Scenario::named(name) else {
                return Ok((format!("no scenario {name}"), ComparedCount::default()));
            };
            let contest = EvaluatorContest::build(&|| builder(&scenario), None).map_err(difference)?;
            let mut count = ComparedCount { sets: 1, ..ComparedCount::default() };
            let Some(contest) = contest else { return Ok((format!("scenario {name}, refused"), count)) };
            let mut together = Vec::new();
            for number in 0..each {
                let asked = question(&scenario, number as usize, &mut random);
                let text = asked.to_string();
                let Ok(subscription) = Subscription::from_json(text.as_bytes()) else {
                    continue;
                };
                let question = ContestQuestion::Subscription(Box::new(subscription), text);
                let answers = contest.ask(&question);
                together.push(question);
                match answers {
                    Ok(answers) => count.add(ComparedCount { sets: 0, questions: 1, answers }),
                    Err(mut disagreement) => {
                        disagreement.plain = format!("{}\nto {asked}", disagreement.plain);
                        return Err(difference(disagreement));
                    }
                }
            }
            for some in together.chunks(100) {
                count.answers +=
                    contest.ask_together(some).map_err(|(_, disagreement)| difference(disagreement))?;
            }
            Ok((format!("scenario {name}"), count))
        })
        .collect()
}

fn builder(scenario: &Scenario) -> PdpBuilder {
    let builder = Pdp::builder().policy("pdp.json", scenario.configuration());
    let policies = scenario.policies.iter().enumerate();
    policies.fold(builder, |builder, (number, policy)| {
        builder.policy(&format!("{number:06}.sapl"), policy.as_str())
    })
}

/// The scenario's own questions first; then such with something changed.
fn question(scenario: &Scenario, number: usize, random: &mut TestRandom) -> Json {
    let subscriptions = &scenario.subscriptions;
    let own = |number: usize| subscriptions.get(number).cloned().unwrap_or(Json::Null);
    if number < subscriptions.len() {
        return own(number);
    }
    let mut asked = own(random.below(subscriptions.len()));
    let other = own(random.below(subscriptions.len()));
    for _ in 0..1 + random.below(2) {
        change(&mut asked, &other, random);
    }
    asked
}

fn change(asked: &mut Json, other: &Json, random: &mut TestRandom) {
    let element = random.of(&["subject", "action", "resource"]);
    let odd = [json!(null), json!(7), json!(true), json!("nobody"), json!(["a"]), json!({"a": 1}), json!("")];
    let odd = odd.get(random.below(odd.len())).cloned().unwrap_or_default();
    let Some(part) = asked.get_mut(element) else { return };
    let another = other.get(element);
    let Some(fields) = part.as_object_mut().filter(|_| random.percent(85)) else {
        let another = another.filter(|_| random.percent(50)).cloned();
        *part = another.unwrap_or(odd);
        return;
    };
    let keys: Vec<String> = fields.keys().cloned().collect();
    let Some(key) = keys.get(random.below(keys.len())) else { return };
    match (random.below(3), another.and_then(|another| another.get(key))) {
        (0, _) => drop(fields.shift_remove(key)),
        (1, Some(value)) => drop(fields.insert(key.clone(), value.clone())),
        (_, _) => drop(fields.insert(key.clone(), odd)),
    }
}
