//! SAPL's combining algorithms: every recorded tuple of votes, given to the fold without any policy.

use std::fs;

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::combine::{
    Duties, Duty, Effects, ErrorHandling, Flow, Mode, Tally, Verdict, Vote, Voting,
};
use durward_pdp::ir::program::Effect;
use serde_json::{Value as Json, json};

/// When a policy of this kind has its say: constants first, then what applies, then what cannot tell.
fn rank(kind: &str, mode: Mode) -> u8 {
    match kind {
        _ if mode == Mode::First => 0,
        "P" | "D" | "S" | "PT1" | "PT2" | "ED" => 0,
        "EP" | "ES" => 2,
        _ => 1,
    }
}

fn permit_with(duties: Duties) -> Vote {
    Vote { duties: Some(Box::new(duties)), ..Vote::plain(Verdict::Permit) }
}

fn vote(kind: &str, number: usize) -> Vote {
    let text = |prefix: &str| Duty::Plain(Value::Text(format!("{prefix}{number}").into()));
    let obliged = Duties { obligations: vec![text("o")], ..Duties::default() };
    let changed = |resource: i64| Duties { resource: Some(Value::number(resource)), ..Duties::default() };
    let failed = |effects| Vote::undecided(effects, Fault::processing("division by zero"));
    match kind {
        "P" => permit_with(obliged),
        "D" => Vote { verdict: Verdict::Deny, ..permit_with(obliged) },
        "S" => {
            let advised = Duties { advice: vec![text("a")], ..obliged };
            Vote { verdict: Verdict::Suspend, ..permit_with(advised) }
        }
        "N" => Vote::not_applicable(),
        "EP" => failed(Effects::PERMIT),
        "ED" => failed(Effects::DENY),
        "ES" => failed(Effects::SUSPEND),
        "PT1" => permit_with(changed(1)),
        "PT2" => permit_with(changed(2)),
        "DT1" => Vote { verdict: Verdict::Deny, ..permit_with(changed(1)) },
        "POE" => Vote::indeterminate(Effects::PERMIT, Fault::processing("division by zero")),
        other => panic!("no kind of policy: {other}"),
    }
}

fn mode(name: &str) -> Mode {
    match name {
        "FIRST" => Mode::First,
        "PRIORITY_DENY" => Mode::Priority(Effect::Deny),
        "PRIORITY_PERMIT" => Mode::Priority(Effect::Permit),
        "PRIORITY_SUSPEND" => Mode::Priority(Effect::Suspend),
        "UNANIMOUS" => Mode::Unanimous,
        "UNANIMOUS_STRICT" => Mode::UnanimousStrict,
        "UNIQUE" => Mode::Unique,
        other => panic!("no mode: {other}"),
    }
}

fn voting(row: &Json) -> Voting {
    let text = |name: &str| row[name].as_str().unwrap();
    let default = match text("default") {
        "ABSTAIN" => None,
        "DENY" => Some(Effect::Deny),
        "PERMIT" => Some(Effect::Permit),
        "SUSPEND" => Some(Effect::Suspend),
        other => panic!("no default: {other}"),
    };
    let errors = match text("errors") {
        "ABSTAIN" => ErrorHandling::Abstain,
        "PROPAGATE" => ErrorHandling::Propagate,
        other => panic!("no handling of errors: {other}"),
    };
    Voting { mode: mode(text("mode")), default, errors }
}

fn written(vote: &Vote) -> Json {
    let decision = match vote.verdict {
        Verdict::Permit => "PERMIT",
        Verdict::Deny => "DENY",
        Verdict::Suspend => "SUSPEND",
        Verdict::NotApplicable => "NOT_APPLICABLE",
        Verdict::Indeterminate(_) => "INDETERMINATE",
    };
    let mut written = json!({ "decision": decision });
    let json = |value: &Value| serde_json::from_str::<Json>(&value.to_json()).unwrap();
    let list = |duties: &[Duty]| -> Json {
        let value = |duty: &Duty| match duty {
            Duty::Plain(value) => json(value),
            Duty::Named(named) => panic!("{named:?} is of XACML"),
        };
        duties.iter().map(value).collect()
    };
    if let Some(duties) = &vote.duties {
        if !duties.obligations.is_empty() {
            written["obligations"] = list(&duties.obligations);
        }
        if !duties.advice.is_empty() {
            written["advice"] = list(&duties.advice);
        }
        if let Some(resource) = &duties.resource {
            written["resource"] = json(resource);
        }
    }
    written
}

#[test]
fn votes_are_combined_as_recorded() {
    let Some(folder) = durward_testdata::recorded("sapl/combining") else { return };
    let text = fs::read_to_string(folder.join("combining.jsonl")).unwrap();
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let row: Json = serde_json::from_str(line).unwrap();
        let voting = voting(&row);
        let kinds: Vec<&str> = row["policies"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        let mut order: Vec<(usize, &str)> = kinds.iter().copied().enumerate().collect();
        order.sort_by_key(|(_, kind)| rank(kind, voting.mode));
        let mut tally = Tally::new(voting);
        for (number, kind) in order {
            if tally.add(vote(kind, number)) == Flow::Stop {
                break;
            }
        }
        let found = written(&tally.finish());
        for level in ["pdp", "set"] {
            if !row[level].is_null() {
                rows += 1;
                assert_eq!(found, row[level], "{level} {line}");
            }
        }
    }
    assert!(rows > 10_000, "{rows} rows");
}
