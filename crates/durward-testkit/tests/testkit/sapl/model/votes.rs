//! The model: votes with the effects they could have had, combined two by two.

use super::configuration::{
    Algorithm, AttributeCondition, Condition, Configuration, Document, Effect, Mode, Outcome, Policy,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Concrete(Effect),
    NotApplicable,
    Indeterminate,
}

#[derive(Clone, Debug)]
struct Vote {
    decision: Decision,
    obligations: Vec<&'static str>,
    resource: Option<&'static str>,
    /// One bit for each effect that it could have had.
    outcome: u8,
}

/// What the algorithm above sees of a policy or a set.
struct Voter {
    /// Whether it applies, or the error; known at once where `is_constant`.
    applies: Result<bool, ()>,
    vote: Vote,
    outcome: u8,
    is_constant: bool,
    asks: bool,
}

/// The decision, as JSON.
pub(super) fn decision(configuration: &Configuration) -> String {
    let voters = configuration.documents.iter().filter_map(|document| match document {
        Document::Policy(policy) => policy_voter(policy),
        Document::Set { algorithm, target, policies, .. } => set_voter(*algorithm, *target, policies),
    });
    let vote = combined(configuration.algorithm, voters.collect(), false);
    json(&vote)
}

fn json(vote: &Vote) -> String {
    let word = match vote.decision {
        Decision::Concrete(Effect::Deny) => "DENY",
        Decision::Concrete(Effect::Permit) => "PERMIT",
        Decision::Concrete(Effect::Suspend) => "SUSPEND",
        Decision::NotApplicable => "NOT_APPLICABLE",
        Decision::Indeterminate => "INDETERMINATE",
    };
    let mut text = format!("{{\"decision\":\"{word}\"");
    if !vote.obligations.is_empty() {
        text += &format!(",\"obligations\":[{}]", vote.obligations.join(","));
    }
    if let Some(resource) = vote.resource {
        text += &format!(",\"resource\":{resource}");
    }
    text + "}"
}

fn bit(effect: Effect) -> u8 {
    match effect {
        Effect::Deny => 1,
        Effect::Permit => 2,
        Effect::Suspend => 4,
    }
}

fn plain(decision: Decision, outcome: u8) -> Vote {
    Vote { decision, obligations: Vec::new(), resource: None, outcome }
}

fn failed(outcome: u8) -> Vote {
    plain(Decision::Indeterminate, outcome)
}

fn abstained(outcome: u8) -> Vote {
    plain(Decision::NotApplicable, outcome)
}

/// What a policy says once it applies.
fn constraints(policy: &Policy) -> Vote {
    let both = [policy.obligation, policy.transform];
    let outcome = bit(policy.effect);
    if both.contains(&Some(Outcome::Fails)) {
        return failed(outcome);
    }
    let [obligation, resource] = both.map(|value| match value? {
        Outcome::Constant(text) => Some(text),
        Outcome::Part => Some("5"),
        Outcome::Fails | Outcome::Attribute => None,
    });
    let decision = Decision::Concrete(policy.effect);
    Vote { decision, obligations: obligation.into_iter().collect(), resource, outcome }
}

/// The same where conditions ask finders first.
fn behind_finders(policy: &Policy) -> Vote {
    match policy.asked {
        None | Some(AttributeCondition::True) => constraints(policy),
        Some(AttributeCondition::False) => abstained(bit(policy.effect)),
        Some(AttributeCondition::Fails) => failed(bit(policy.effect)),
    }
}

fn is_constant(outcome: Option<Outcome>) -> bool {
    matches!(outcome, None | Some(Outcome::Constant(_)))
}

fn asks(policy: &Policy) -> bool {
    policy.asked.is_some() || [policy.obligation, policy.transform].contains(&Some(Outcome::Attribute))
}

/// `None` of what never applies, as is known at once.
fn policy_voter(policy: &Policy) -> Option<Voter> {
    let are_constant = is_constant(policy.obligation) && is_constant(policy.transform);
    let outcome = bit(policy.effect);
    let voter = |applies, is_constant, vote| {
        Some(Voter { applies, vote, outcome, is_constant, asks: asks(policy) && !is_constant })
    };
    match policy.condition {
        Condition::Never => None,
        // The finders are not asked any more.
        Condition::AlwaysFails => voter(Ok(true), true, failed(outcome)),
        Condition::None => voter(Ok(true), are_constant && policy.asked.is_none(), behind_finders(policy)),
        Condition::True => voter(Ok(true), false, behind_finders(policy)),
        Condition::False => voter(Ok(false), false, behind_finders(policy)),
        Condition::Fails => voter(Err(()), false, behind_finders(policy)),
    }
}

fn set_voter(algorithm: Algorithm, target: Condition, policies: &[Policy]) -> Option<Voter> {
    let default = algorithm.default.map_or(0, bit);
    let outcome = policies.iter().fold(default, |all, policy| all | bit(policy.effect));
    let (vote, is_folded, asks) = if algorithm.mode == Mode::First {
        first(algorithm, policies, outcome)
    } else {
        let voters: Vec<Voter> = policies.iter().filter_map(policy_voter).collect();
        let (is_folded, asks) =
            (voters.iter().all(|voter| voter.is_constant), voters.iter().any(|voter| voter.asks));
        (combined(algorithm, voters, true), is_folded, asks)
    };
    let applies = match target {
        Condition::None | Condition::True => Ok(true),
        Condition::False => Ok(false),
        Condition::Fails => Err(()),
        Condition::Never | Condition::AlwaysFails => return None,
    };
    let is_constant = is_folded && target == Condition::None;
    let vote = if applies.is_err() { failed(outcome) } else { vote };
    Some(Voter { applies, vote, outcome, is_constant, asks: asks && !is_constant })
}

/// The first vote of all; whether it is the same whatever is asked, and whether finders are asked.
fn first(algorithm: Algorithm, policies: &[Policy], outcome: u8) -> (Vote, bool, bool) {
    let mut is_folded = true;
    let asks = policies.iter().any(|policy| policy.condition != Condition::Never && asks(policy));
    for (at, policy) in policies.iter().enumerate() {
        let vote = one_of_first(policy);
        is_folded &= is_static(policy);
        if vote.decision == Decision::NotApplicable {
            continue;
        }
        let behind = policies.iter().skip(at + 1).map(|policy| bit(policy.effect));
        let vote = match vote.decision {
            Decision::Indeterminate => {
                let default = algorithm.default.map_or(0, bit);
                failed(behind.fold(vote.outcome | default, |all, one| all | one))
            }
            Decision::Concrete(_) | Decision::NotApplicable => vote,
        };
        return (finished(algorithm, vote), is_folded, asks);
    }
    (finished(algorithm, abstained(outcome)), is_folded, asks)
}

fn is_static(policy: &Policy) -> bool {
    match policy.condition {
        Condition::Never => true,
        Condition::AlwaysFails => policy.asked.is_none(),
        Condition::None => {
            policy.asked.is_none() && is_constant(policy.obligation) && is_constant(policy.transform)
        }
        Condition::True | Condition::False | Condition::Fails => false,
    }
}

fn one_of_first(policy: &Policy) -> Vote {
    let outcome = bit(policy.effect);
    if matches!(policy.condition, Condition::Never | Condition::False)
        || policy.asked == Some(AttributeCondition::False)
    {
        return abstained(outcome);
    }
    match policy.condition {
        Condition::Fails | Condition::AlwaysFails => failed(outcome),
        Condition::None | Condition::True | Condition::Never | Condition::False => behind_finders(policy),
    }
}

/// All votes but those of `first`: constants, then policies without finders, then those with.
fn combined(algorithm: Algorithm, voters: Vec<Voter>, is_set: bool) -> Vote {
    let (constant, mut others): (Vec<Voter>, Vec<Voter>) =
        voters.into_iter().partition(|voter| voter.is_constant);
    others.sort_by_key(|voter| voter.asks);
    let mut all = abstained(0);
    for voter in &constant {
        if is_terminal(algorithm.mode, &all) {
            break;
        }
        all = merged_by(algorithm.mode, all, voter.vote.clone());
    }
    let undecided = |voter: &Voter| match (voter.applies, voter.vote.decision) {
        (Ok(_), _) => None,
        (Err(()), Decision::NotApplicable) => Some(abstained(voter.vote.outcome)),
        (Err(()), _) => Some(failed(voter.outcome)),
    };
    let applying: Vec<&Voter> = others.iter().filter(|voter| voter.applies == Ok(true)).collect();
    if let Mode::Priority(_) = algorithm.mode {
        for vote in applying.iter().map(|voter| voter.vote.clone()).chain(others.iter().filter_map(undecided))
        {
            all = merged_by(algorithm.mode, all, vote);
        }
        return finished(algorithm, all);
    }
    if is_set && others.is_empty() && all.decision == Decision::Indeterminate {
        all.outcome = constant.iter().fold(all.outcome, |outcome, voter| outcome | voter.vote.outcome);
    }
    for vote in others.iter().filter_map(undecided) {
        all = merged_by(algorithm.mode, all, vote);
    }
    for (at, voter) in applying.iter().enumerate() {
        all = merged_by(algorithm.mode, all, voter.vote.clone());
        if is_terminal(algorithm.mode, &all) {
            let rest = applying.iter().skip(at + 1);
            all.outcome = rest.fold(all.outcome, |outcome, voter| outcome | voter.outcome);
            break;
        }
    }
    finished(algorithm, all)
}

fn is_terminal(mode: Mode, all: &Vote) -> bool {
    all.decision == Decision::Indeterminate
        && match mode {
            Mode::Priority(strong) => all.outcome & bit(strong) != 0,
            Mode::Unanimous => all.outcome.count_ones() > 1,
            Mode::Strict | Mode::Unique | Mode::First => true,
        }
}

fn finished(algorithm: Algorithm, vote: Vote) -> Vote {
    match (vote.decision, algorithm.default) {
        (Decision::NotApplicable, Some(default)) => plain(Decision::Concrete(default), bit(default)),
        (Decision::Indeterminate, _) if !algorithm.propagates => abstained(vote.outcome),
        _ => vote,
    }
}

fn merged_by(mode: Mode, all: Vote, next: Vote) -> Vote {
    match mode {
        Mode::Priority(strong) => by_priority(strong, all, next),
        Mode::Unanimous | Mode::Strict | Mode::Unique | Mode::First => by_agreement(mode, all, next),
    }
}

fn by_priority(strong: Effect, all: Vote, next: Vote) -> Vote {
    let outcome = all.outcome | next.outcome;
    let is_critical = |vote: &Vote| vote.outcome & bit(strong) != 0;
    match (all.decision, next.decision) {
        (Decision::NotApplicable, _) => next,
        (Decision::Indeterminate, Decision::Indeterminate) => failed(outcome),
        (Decision::Indeterminate, _) if is_critical(&all) => failed(outcome),
        // Even where the next one has nothing to say.
        (Decision::Indeterminate, _) => next,
        (Decision::Concrete(_), Decision::Indeterminate) if is_critical(&next) => failed(outcome),
        (Decision::Concrete(_), Decision::Indeterminate | Decision::NotApplicable) => all,
        (Decision::Concrete(one), Decision::Concrete(other)) if one == other => same(all, next),
        (Decision::Concrete(one), Decision::Concrete(other)) => {
            let second = if strong == Effect::Suspend { Effect::Deny } else { Effect::Suspend };
            if one == strong || other != strong && one == second { all } else { next }
        }
    }
}

fn by_agreement(mode: Mode, all: Vote, next: Vote) -> Vote {
    match (all.decision, next.decision) {
        (Decision::NotApplicable, _) => next,
        (_, Decision::NotApplicable) => all,
        (Decision::Indeterminate, _) if mode == Mode::Unique => all,
        (_, Decision::Indeterminate) if mode == Mode::Unique => next,
        (Decision::Indeterminate, _) | (_, Decision::Indeterminate) => failed(all.outcome | next.outcome),
        (Decision::Concrete(one), Decision::Concrete(other)) => {
            let are_same = one == other
                && (mode == Mode::Unanimous
                    || mode == Mode::Strict
                        && all.obligations == next.obligations
                        && all.resource == next.resource);
            match (are_same, mode) {
                (true, Mode::Strict) => all,
                (true, _) => same(all, next),
                (false, _) => failed(bit(one) | bit(other)),
            }
        }
    }
}

/// Two votes for the same.
fn same(mut all: Vote, next: Vote) -> Vote {
    if all.resource.is_some() && next.resource.is_some() && all.resource != next.resource {
        return failed(all.outcome | next.outcome);
    }
    all.obligations.extend(next.obligations);
    all.resource = all.resource.or(next.resource);
    all.outcome |= next.outcome;
    all
}
