//! How many votes become one: the combining algorithms (XACML 3.0, appendix C), as folds over votes.
//!
//! A fold sees the votes of the children in document order and says when it has seen enough. What a combined
//! element passes up besides its verdict are the duties of those children whose verdict is the combined one
//! (section 7.18), in the order in which they were met.
//!
//! SAPL's algorithms are folds, too, of other votes pairwise: see [`Voting`] and [`Tally`].

mod ballots;
mod plain;
mod vote;
mod voting;

pub use ballots::{Ballot, Standing};
pub use plain::{PlainFold, PlainVerdicts};
pub(crate) use vote::append;
pub use vote::{Assignment, Duties, Duty, Flow, NamedDuty, Verdict, Vote};
pub use voting::{ErrorHandling, Mode, Tally, Voting};

pub use crate::effect::Effects;

use crate::effect::Effect;
use crate::fault::Fault;

/// A combining algorithm. The `ordered-` forms are the plain ones here: children are always evaluated in
/// document order, which satisfies both (XACML 3.0, C.3 and C.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// C.2: any Deny denies.
    DenyOverrides,
    /// C.4: any Permit permits.
    PermitOverrides,
    /// C.6: Deny unless something permits; never anything else.
    DenyUnlessPermit,
    /// C.7: Permit unless something denies; never anything else.
    PermitUnlessDeny,
    /// C.8: the first child that has something to say.
    FirstApplicable,
    /// C.9: the one child whose target matches; an error if there are two.
    OnlyOneApplicable,
    /// C.10: legacy rule deny-overrides of XACML 1.0 to 2.0.
    LegacyRuleDenyOverrides,
    /// C.12: legacy policy deny-overrides: an error denies.
    LegacyPolicyDenyOverrides,
    /// C.14: legacy rule permit-overrides.
    LegacyRulePermitOverrides,
    /// C.16: legacy policy permit-overrides.
    LegacyPolicyPermitOverrides,
    /// Additional Combining Algorithms profile 1.0: if the first child permits, the second decides, else the
    /// third if there is one.
    OnPermitApplySecond,
    /// SAPL's algorithms.
    Voting(Voting),
}

/// Which children an algorithm's identifier may combine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combines {
    /// The rules of a policy.
    Rules,
    /// The policies and policy sets of a policy set.
    Policies,
}

impl Algorithm {
    /// The algorithm a standard identifier names, when it may combine such children; else `None`.
    pub fn from_uri(uri: &str, what: Combines) -> Option<Algorithm> {
        let (version, rest) = uri.strip_prefix("urn:oasis:names:tc:xacml:")?.split_once(':')?;
        let name = match what {
            Combines::Rules => rest.strip_prefix("rule-combining-algorithm:")?,
            Combines::Policies => rest.strip_prefix("policy-combining-algorithm:")?,
        };
        let algorithm = match (version, name, what) {
            ("3.0", "deny-overrides" | "ordered-deny-overrides", _) => Algorithm::DenyOverrides,
            ("3.0", "permit-overrides" | "ordered-permit-overrides", _) => Algorithm::PermitOverrides,
            ("3.0", "deny-unless-permit", _) => Algorithm::DenyUnlessPermit,
            ("3.0", "permit-unless-deny", _) => Algorithm::PermitUnlessDeny,
            ("3.0", "on-permit-apply-second", Combines::Policies) => Algorithm::OnPermitApplySecond,
            ("1.0", "first-applicable", _) => Algorithm::FirstApplicable,
            ("1.0", "only-one-applicable", Combines::Policies) => Algorithm::OnlyOneApplicable,
            ("1.0", "deny-overrides", Combines::Rules)
            | ("1.1", "ordered-deny-overrides", Combines::Rules) => Algorithm::LegacyRuleDenyOverrides,
            ("1.0", "deny-overrides", Combines::Policies)
            | ("1.1", "ordered-deny-overrides", Combines::Policies) => Algorithm::LegacyPolicyDenyOverrides,
            ("1.0", "permit-overrides", Combines::Rules)
            | ("1.1", "ordered-permit-overrides", Combines::Rules) => Algorithm::LegacyRulePermitOverrides,
            ("1.0", "permit-overrides", Combines::Policies)
            | ("1.1", "ordered-permit-overrides", Combines::Policies) => {
                Algorithm::LegacyPolicyPermitOverrides
            }
            _ => return None,
        };
        Some(algorithm)
    }

    /// Whether the vote of a root with one child is the child's: neither C.2 nor C.4 make anything else of one vote, and
    /// nobody asks the root which effects an error might have had.
    pub(crate) fn passes_on(self) -> bool {
        match self {
            Algorithm::DenyOverrides | Algorithm::PermitOverrides | Algorithm::FirstApplicable => true,
            Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::OnlyOneApplicable
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_) => false,
        }
    }

    /// The algorithm a short name means (`deny-overrides`, `first-applicable`, ...), as settings spell it.
    pub fn from_short_name(name: &str) -> Option<Algorithm> {
        let uri =
            |version: &str| format!("urn:oasis:names:tc:xacml:{version}:policy-combining-algorithm:{name}");
        Algorithm::from_uri(&uri("3.0"), Combines::Policies)
            .or_else(|| Algorithm::from_uri(&uri("1.0"), Combines::Policies))
    }

    /// The name without its URI, for people.
    pub fn short_name(self) -> &'static str {
        match self {
            Algorithm::DenyOverrides => "deny-overrides",
            Algorithm::PermitOverrides => "permit-overrides",
            Algorithm::DenyUnlessPermit => "deny-unless-permit",
            Algorithm::PermitUnlessDeny => "permit-unless-deny",
            Algorithm::FirstApplicable => "first-applicable",
            Algorithm::OnlyOneApplicable => "only-one-applicable",
            Algorithm::LegacyRuleDenyOverrides | Algorithm::LegacyPolicyDenyOverrides => {
                "deny-overrides (1.0)"
            }
            Algorithm::LegacyRulePermitOverrides | Algorithm::LegacyPolicyPermitOverrides => {
                "permit-overrides (1.0)"
            }
            Algorithm::OnPermitApplySecond => "on-permit-apply-second",
            Algorithm::Voting(voting) => voting.mode.as_str(),
        }
    }
}

/// A fold in progress.
#[derive(Debug)]
pub struct Combiner {
    algorithm: Algorithm,
    /// Whether a child voted so; its duties stand in `deny` and `permit`.
    has_deny: bool,
    has_permit: bool,
    errors: Option<Effects>,
    deny: Option<Box<Duties>>,
    permit: Option<Box<Duties>>,
    fault: Option<Box<Fault>>,
}

impl Combiner {
    /// A fold that has seen nothing. `OnlyOneApplicable` and `OnPermitApplySecond` choose among their children
    /// before they evaluate them, so the evaluator does that and hands on what was chosen, here as
    /// first-applicable; and what a [`Tally`] came to for `Voting`.
    pub fn new(algorithm: Algorithm) -> Combiner {
        Combiner {
            algorithm,
            has_deny: false,
            has_permit: false,
            errors: None,
            deny: None,
            permit: None,
            fault: None,
        }
    }

    /// Takes the next child's vote.
    #[inline]
    pub fn add(&mut self, vote: Vote) -> Flow {
        match vote.verdict {
            Verdict::NotApplicable => Flow::Continue,
            Verdict::Deny => {
                self.has_deny = true;
                append(&mut self.deny, vote.duties);
                stop_if(self.deny_is_final())
            }
            Verdict::Permit => {
                self.has_permit = true;
                append(&mut self.permit, vote.duties);
                stop_if(self.permit_is_final())
            }
            Verdict::Suspend => self.add_error(Effects::DENY_OR_PERMIT, Some(suspended())),
            Verdict::Indeterminate(effects) => self.add_error(effects, vote.fault),
        }
    }

    fn add_error(&mut self, effects: Effects, fault: Option<Box<Fault>>) -> Flow {
        self.errors = Some(self.errors.unwrap_or(Effects::NONE).union(effects));
        if self.fault.is_none() {
            self.fault = fault;
        }
        stop_if(self.error_is_final())
    }

    fn deny_is_final(&self) -> bool {
        match self.algorithm {
            Algorithm::DenyOverrides
            | Algorithm::PermitUnlessDeny
            | Algorithm::FirstApplicable
            | Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_)
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides => true,
            Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => false,
        }
    }

    fn permit_is_final(&self) -> bool {
        match self.algorithm {
            Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::FirstApplicable
            | Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_)
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => true,
            Algorithm::DenyOverrides
            | Algorithm::PermitUnlessDeny
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides => false,
        }
    }

    fn error_is_final(&self) -> bool {
        match self.algorithm {
            Algorithm::FirstApplicable
            | Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_)
            | Algorithm::LegacyPolicyDenyOverrides => true,
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => false,
        }
    }

    /// The combined vote.
    #[inline]
    pub fn finish(self) -> Vote {
        match self.algorithm {
            Algorithm::DenyOverrides => self.overrides(Effect::Deny, Effect::Permit),
            Algorithm::PermitOverrides => self.overrides(Effect::Permit, Effect::Deny),
            Algorithm::DenyUnlessPermit => self.unless(Effect::Permit, Effect::Deny),
            Algorithm::PermitUnlessDeny => self.unless(Effect::Deny, Effect::Permit),
            Algorithm::FirstApplicable
            | Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(_) => self.only_vote(),
            Algorithm::LegacyRuleDenyOverrides => self.legacy_rule(Effect::Deny, Effect::Permit),
            Algorithm::LegacyRulePermitOverrides => self.legacy_rule(Effect::Permit, Effect::Deny),
            Algorithm::LegacyPolicyDenyOverrides => self.legacy_policy_deny(),
            Algorithm::LegacyPolicyPermitOverrides => self.legacy_policy_permit(),
        }
    }

    /// C.2 and C.4, which mirror each other; comments in the words of deny-overrides.
    fn overrides(mut self, strong: Effect, weak: Effect) -> Vote {
        // 1. Any Deny: Deny.
        if let Some(duties) = self.take(strong) {
            return decided(strong, duties);
        }
        let errors = self.errors.unwrap_or(Effects::NONE);
        if errors.contains(strong) {
            // 2. Any {DP}, and 3. any {D} beside {P} or Permit: {DP}. 4. Otherwise {D}.
            let beside_weak = errors.contains(weak) || self.has(weak);
            let effects = if beside_weak { Effects::DENY_OR_PERMIT } else { Effects::only(strong) };
            return self.failed(effects);
        }
        // 5. Any Permit: Permit.
        if let Some(duties) = self.take(weak) {
            return decided(weak, duties);
        }
        // 6. Any {P}: {P}. 7. Otherwise NotApplicable.
        if errors.contains(weak) { self.failed(Effects::only(weak)) } else { Vote::not_applicable() }
    }

    /// C.6 and C.7: errors and silence count as the other effect.
    fn unless(mut self, strong: Effect, weak: Effect) -> Vote {
        if let Some(duties) = self.take(strong) {
            return decided(strong, duties);
        }
        let duties = self.take(weak).flatten();
        decided(weak, duties)
    }

    /// C.8 and C.9: the one vote that counted. These algorithms do not track effects, so their Indeterminate
    /// counts as {DP} above (C.1).
    fn only_vote(mut self) -> Vote {
        if let Some(duties) = self.take(Effect::Deny) {
            return decided(Effect::Deny, duties);
        }
        if let Some(duties) = self.take(Effect::Permit) {
            return decided(Effect::Permit, duties);
        }
        if self.errors.is_some() { self.failed(Effects::DENY_OR_PERMIT) } else { Vote::not_applicable() }
    }

    /// C.10 and C.14: a rule's error counts only as the effect the rule has.
    fn legacy_rule(mut self, strong: Effect, weak: Effect) -> Vote {
        if let Some(duties) = self.take(strong) {
            return decided(strong, duties);
        }
        if self.errors.is_some_and(|errors| errors.contains(strong)) {
            return self.failed(Effects::DENY_OR_PERMIT);
        }
        if let Some(duties) = self.take(weak) {
            return decided(weak, duties);
        }
        if self.errors.is_some() { self.failed(Effects::DENY_OR_PERMIT) } else { Vote::not_applicable() }
    }

    /// C.12: a policy's error denies.
    fn legacy_policy_deny(mut self) -> Vote {
        if let Some(duties) = self.take(Effect::Deny) {
            return decided(Effect::Deny, duties);
        }
        if self.errors.is_some() {
            return Vote::plain(Verdict::Deny);
        }
        match self.take(Effect::Permit) {
            Some(duties) => decided(Effect::Permit, duties),
            None => Vote::not_applicable(),
        }
    }

    /// C.16: a Deny beats an error.
    fn legacy_policy_permit(mut self) -> Vote {
        if let Some(duties) = self.take(Effect::Permit) {
            return decided(Effect::Permit, duties);
        }
        if let Some(duties) = self.take(Effect::Deny) {
            return decided(Effect::Deny, duties);
        }
        if self.errors.is_some() { self.failed(Effects::DENY_OR_PERMIT) } else { Vote::not_applicable() }
    }

    fn failed(self, effects: Effects) -> Vote {
        let fault = self.fault.unwrap_or_else(|| Fault::processing("evaluation failed"));
        Vote::indeterminate(effects, fault)
    }

    /// The duties of the children that voted so, if any child did.
    fn take(&mut self, effect: Effect) -> Option<Option<Box<Duties>>> {
        let duties = match effect {
            Effect::Deny => &mut self.deny,
            Effect::Permit => &mut self.permit,
            Effect::Suspend => return None,
        };
        let duties = duties.take();
        self.has(effect).then_some(duties)
    }

    fn has(&self, effect: Effect) -> bool {
        match effect {
            Effect::Deny => self.has_deny,
            Effect::Permit => self.has_permit,
            Effect::Suspend => false,
        }
    }
}

/// XACML's algorithms know no third effect; it must not get lost among them.
#[cold]
fn suspended() -> Box<Fault> {
    Fault::processing("an algorithm of XACML cannot combine a policy that suspends")
}

fn stop_if(is_final: bool) -> Flow {
    if is_final { Flow::Stop } else { Flow::Continue }
}

fn decided(effect: Effect, duties: Option<Box<Duties>>) -> Vote {
    Vote { duties, ..Vote::plain(effect.into()) }
}
