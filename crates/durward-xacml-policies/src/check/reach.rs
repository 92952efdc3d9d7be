//! Rules and policies that never have a say. Only what follows from the text for every request is reported.

use std::collections::HashMap;

use durward_ir::combine::{Algorithm, Combines};

use super::clauses::{Clause, Clauses};
use super::finding::Findings;
use crate::tree::{Effect, Expression, NoticeExpression, Policy, PolicySet, PolicySetChild, Rule};

/// Rules with more clauses than this are only compared with equal and unconditional ones: all subsets of the
/// clauses are looked up, and there are two to the power of their number.
const CLAUSES_MAX: usize = 6;

/// The rules of one policy.
pub(super) fn rules(policy: &Policy, findings: &mut Findings) {
    let algorithm = Algorithm::from_uri(&policy.combining_algorithm, Combines::Rules);
    match algorithm {
        Some(Algorithm::FirstApplicable) => shadowed_rules(policy, findings),
        Some(Algorithm::DenyUnlessPermit) => {
            ignored_rules(policy, Effect::Deny, "deny-unless-permit denies without it", findings);
        }
        Some(Algorithm::PermitUnlessDeny) => {
            ignored_rules(policy, Effect::Permit, "permit-unless-deny permits without it", findings);
        }
        Some(Algorithm::DenyOverrides | Algorithm::LegacyRuleDenyOverrides) => {
            overridden_rules(policy, Effect::Deny, findings);
        }
        Some(Algorithm::PermitOverrides | Algorithm::LegacyRulePermitOverrides) => {
            overridden_rules(policy, Effect::Permit, findings);
        }
        Some(
            Algorithm::OnlyOneApplicable
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyPolicyPermitOverrides
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_),
        )
        | None => {}
    }
    for rule in policy.rules.iter().filter(|rule| never_holds(rule)) {
        let message = format!("rule {} never applies: its condition is the constant false", named(rule));
        findings.warn("unreachable-rule", rule.place, message, "remove the rule, or correct its condition");
    }
    idle_duties(policy, algorithm, findings);
}

/// The children of one policy set, under first-applicable (XACML 3.0, C.8): nothing is asked after a child that
/// always has something to say.
pub(super) fn children(set: &PolicySet, findings: &mut Findings) {
    let algorithm = Algorithm::from_uri(&set.combining_algorithm, Combines::Policies);
    if algorithm != Some(Algorithm::FirstApplicable) {
        return;
    }
    let Some(stop) = set.children.iter().position(always_answers) else { return };
    let stopper = match set.children.get(stop) {
        Some(PolicySetChild::Policy(policy)) => policy.id.as_str(),
        Some(PolicySetChild::PolicySet(set)) => set.id.as_str(),
        Some(PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_)) | None => return,
    };
    for child in set.children.iter().skip(stop + 1) {
        let message = format!(
            "nothing after `{stopper}` is ever asked: it always has an answer, and the first answer counts"
        );
        findings.warn(
            "unreachable-policy",
            child.place(),
            message,
            "move it before, or give the earlier policy a target",
        );
    }
}

/// What of a rule decides whether it applies: its target's clauses and its condition.
type Guard = (Vec<Clause>, Option<Clause>);

/// Under first-applicable a rule is never reached if an earlier one applies (or fails) wherever it would: one
/// with the same clauses, or fewer of them.
fn shadowed_rules(policy: &Policy, findings: &mut Findings) {
    let mut clauses = Clauses::default();
    let mut earlier: HashMap<Guard, &Rule> = HashMap::new();
    for rule in &policy.rules {
        let target = clauses.of_target(rule.target.as_ref());
        let condition = rule.condition.as_ref().map(|condition| clauses.of_expression(&condition.expression));
        if let Some((before, guard)) = find_weaker(&earlier, &target, condition) {
            let how = match guard {
                (clauses, None) if clauses.is_empty() => "always applies, and the first answer counts",
                guard if guard == (target, condition) => "applies under the same conditions",
                _ => "applies wherever this one would",
            };
            let (before, line) = (named(before), before.place.line);
            let message =
                format!("rule {} is never reached: rule {before} (line {line}) before it {how}", named(rule));
            findings.warn("unreachable-rule", rule.place, message, "move it before that rule, or remove it");
        } else if !never_holds(rule) {
            earlier.insert((target, condition), rule);
        }
    }
}

/// An earlier rule whose clauses are among these, and those clauses.
fn find_weaker<'p>(
    earlier: &HashMap<Guard, &'p Rule>,
    target: &[Clause],
    condition: Option<Clause>,
) -> Option<(&'p Rule, Guard)> {
    let guards = subsets(target).into_iter().flat_map(|subset| [(subset.clone(), None), (subset, condition)]);
    guards.into_iter().find_map(|guard| earlier.get(&guard).map(|rule| (*rule, guard)))
}

/// All subsets of a few clauses; of many only none and all.
fn subsets(clauses: &[Clause]) -> Vec<Vec<Clause>> {
    if clauses.len() > CLAUSES_MAX {
        return vec![Vec::new(), clauses.to_vec()];
    }
    let chosen = |choice: u32| {
        let kept = clauses.iter().enumerate().filter(|(at, _)| choice & (1 << at) != 0);
        kept.map(|(_, clause)| *clause).collect()
    };
    (0..1u32 << clauses.len()).map(chosen).collect()
}

/// Rules whose vote the algorithm never looks at, and that carry nothing else.
fn ignored_rules(policy: &Policy, effect: Effect, why: &str, findings: &mut Findings) {
    for rule in policy.rules.iter().filter(|rule| rule.effect == effect && carries_nothing(rule)) {
        let message = format!("rule {} changes nothing: {why}", named(rule));
        findings.warn(
            "ineffective-rule",
            rule.place,
            message,
            "remove the rule, or use another combining algorithm",
        );
    }
}

/// Where an unconditional rule always has the winning effect, rules of the other effect never matter. With duties
/// of its own the rule may fail, so it is left out.
fn overridden_rules(policy: &Policy, winner: Effect, findings: &mut Findings) {
    let wins = |rule: &&Rule| rule.effect == winner && is_unconditional(rule) && carries_nothing(rule);
    let Some(always) = policy.rules.iter().find(wins) else { return };
    for rule in policy.rules.iter().filter(|rule| rule.effect != winner) {
        let message = format!(
            "rule {} changes nothing: rule {} (line {}) always applies and overrides it",
            named(rule),
            named(always),
            always.place.line
        );
        findings.warn(
            "ineffective-rule",
            rule.place,
            message,
            "give the overriding rule a target or condition",
        );
    }
}

/// Obligations and advice for an effect that cannot come up.
fn idle_duties(policy: &Policy, algorithm: Option<Algorithm>, findings: &mut Findings) {
    for rule in &policy.rules {
        for notice in rule.obligations.iter().chain(&rule.advice).filter(|notice| notice.on != rule.effect) {
            let message = format!(
                "`{}` is never returned: it goes with {}, and rule {} can only {}",
                notice.id,
                effect_name(notice.on),
                named(rule),
                effect_verb(rule.effect)
            );
            findings.warn(
                "idle-obligation",
                notice.place,
                message,
                "change its effect, or move it to another rule",
            );
        }
    }
    let possible = |effect: Effect| {
        policy.rules.iter().any(|rule| rule.effect == effect)
            || (algorithm == Some(Algorithm::DenyUnlessPermit) && effect == Effect::Deny)
            || (algorithm == Some(Algorithm::PermitUnlessDeny) && effect == Effect::Permit)
            // Unknown algorithms are errors of their own.
            || algorithm.is_none()
    };
    for notice in policy.obligations.iter().chain(&policy.advice).filter(|notice| !possible(notice.on)) {
        idle_policy_duty(policy, notice, findings);
    }
}

fn idle_policy_duty(policy: &Policy, notice: &NoticeExpression, findings: &mut Findings) {
    let message = format!(
        "`{}` is never returned: it goes with {}, and no rule of `{}` can {}",
        notice.id,
        effect_name(notice.on),
        policy.id,
        effect_verb(notice.on)
    );
    findings.warn(
        "idle-obligation",
        notice.place,
        message,
        "change its effect, or add a rule of that effect",
    );
}

/// Whether a policy or set written in place never says NotApplicable.
fn always_answers(child: &PolicySetChild) -> bool {
    match child {
        PolicySetChild::Policy(policy) => policy_always_answers(policy),
        PolicySetChild::PolicySet(set) => set_always_answers(set),
        // What a reference leads to may be another version tomorrow.
        PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => false,
    }
}

fn policy_always_answers(policy: &Policy) -> bool {
    if !policy.target.any_of.is_empty() {
        return false;
    }
    match Algorithm::from_uri(&policy.combining_algorithm, Combines::Rules) {
        Some(Algorithm::DenyUnlessPermit | Algorithm::PermitUnlessDeny) => true,
        Some(
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::FirstApplicable
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyRulePermitOverrides,
        ) => policy.rules.iter().any(is_unconditional),
        Some(
            Algorithm::OnlyOneApplicable
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyPolicyPermitOverrides
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_),
        )
        | None => false,
    }
}

fn set_always_answers(set: &PolicySet) -> bool {
    let algorithm = Algorithm::from_uri(&set.combining_algorithm, Combines::Policies);
    let decides = matches!(algorithm, Some(Algorithm::DenyUnlessPermit | Algorithm::PermitUnlessDeny));
    set.target.any_of.is_empty() && decides
}

/// Whether a rule applies to every request that reaches it.
pub(super) fn is_unconditional(rule: &Rule) -> bool {
    rule.target.as_ref().is_none_or(|target| target.any_of.is_empty()) && rule.condition.is_none()
}

fn never_holds(rule: &Rule) -> bool {
    let Some(condition) = &rule.condition else { return false };
    match &condition.expression {
        Expression::Value(value) => matches!(value.text.trim(), "false" | "0"),
        Expression::Apply(_)
        | Expression::Designator(_)
        | Expression::Selector(_)
        | Expression::Variable(_)
        | Expression::Function(_) => false,
    }
}

fn carries_nothing(rule: &Rule) -> bool {
    rule.obligations.is_empty() && rule.advice.is_empty()
}

fn named(rule: &Rule) -> String {
    format!("`{}`", rule.id)
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Permit => "Permit",
        Effect::Deny => "Deny",
    }
}

fn effect_verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Permit => "permit",
        Effect::Deny => "deny",
    }
}
