//! Combining algorithms against the pseudo-code of XACML 3.0, appendix C, over every short sequence of votes.

use durward_ir::combine::{Algorithm, Combiner, Effects, Flow, Verdict, Vote};
use durward_ir::fault::Fault;
use durward_ir::program::Effect;

const D: Verdict = Verdict::Deny;
const P: Verdict = Verdict::Permit;
const NA: Verdict = Verdict::NotApplicable;
const ID: Verdict = Verdict::Indeterminate(Effects::DENY);
const IP: Verdict = Verdict::Indeterminate(Effects::PERMIT);
const IDP: Verdict = Verdict::Indeterminate(Effects::DENY_OR_PERMIT);

/// All sequences of up to four votes.
fn sequences() -> Vec<Vec<Verdict>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..4 {
        let longer = last.iter().flat_map(|sequence: &Vec<Verdict>| {
            [D, P, NA, ID, IP, IDP].map(|next| [sequence.as_slice(), &[next]].concat())
        });
        last = longer.collect();
        all.extend(last.iter().cloned());
    }
    all
}

fn combined(algorithm: Algorithm, sequence: &[Verdict]) -> Verdict {
    let mut combiner = Combiner::new(algorithm);
    for verdict in sequence {
        let vote = match verdict {
            Verdict::Indeterminate(effects) => Vote::indeterminate(*effects, Fault::processing("x")),
            Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable => {
                Vote::plain(*verdict)
            }
        };
        if combiner.add(vote) == Flow::Stop {
            break;
        }
    }
    let vote = combiner.finish();
    assert_eq!(vote.fault.is_some(), matches!(vote.verdict, Verdict::Indeterminate(_)));
    vote.verdict
}

fn check(algorithm: Algorithm, standard: fn(&[Verdict]) -> Verdict) {
    for sequence in sequences() {
        assert_eq!(combined(algorithm, &sequence), standard(&sequence), "{algorithm:?} of {sequence:?}");
    }
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Permit => D,
        Verdict::Deny => P,
        Verdict::Suspend => Verdict::Suspend,
        Verdict::NotApplicable => NA,
        Verdict::Indeterminate(Effects::DENY) => IP,
        Verdict::Indeterminate(Effects::PERMIT) => ID,
        Verdict::Indeterminate(_) => IDP,
    }
}

fn mirror(sequence: &[Verdict]) -> Vec<Verdict> {
    sequence.iter().copied().map(mirrored).collect()
}

/// C.2, the text's numbered list.
fn deny_overrides(votes: &[Verdict]) -> Verdict {
    let has = |verdict| votes.contains(&verdict);
    if has(D) {
        D
    } else if has(IDP) || (has(ID) && (has(IP) || has(P))) {
        IDP
    } else if has(ID) {
        ID
    } else if has(P) {
        P
    } else if has(IP) {
        IP
    } else {
        NA
    }
}

/// C.10, the pseudo-code with its four flags.
fn legacy_rule_deny_overrides(votes: &[Verdict]) -> Verdict {
    let (mut error, mut potential_deny, mut permit) = (false, false, false);
    for vote in votes {
        match vote {
            Verdict::Deny => return D,
            Verdict::Permit => permit = true,
            Verdict::Suspend | Verdict::NotApplicable => {}
            Verdict::Indeterminate(effects) => {
                error = true;
                potential_deny |= effects.contains(Effect::Deny);
            }
        }
    }
    match (potential_deny, permit, error) {
        (true, _, _) => IDP,
        (_, true, _) => P,
        (_, _, true) => IDP,
        (false, false, false) => NA,
    }
}

#[test]
fn deny_overrides_follows_its_list() {
    check(Algorithm::DenyOverrides, deny_overrides);
}

#[test]
fn permit_overrides_mirrors_deny_overrides() {
    check(Algorithm::PermitOverrides, |votes| mirrored(deny_overrides(&mirror(votes))));
}

#[test]
fn the_unless_algorithms_know_only_two_answers() {
    check(Algorithm::DenyUnlessPermit, |votes| if votes.contains(&P) { P } else { D });
    check(Algorithm::PermitUnlessDeny, |votes| if votes.contains(&D) { D } else { P });
}

#[test]
fn first_applicable_stops_at_an_error_too() {
    check(Algorithm::FirstApplicable, |votes| match votes.iter().find(|vote| **vote != NA) {
        Some(Verdict::Indeterminate(_)) => IDP,
        Some(first) => *first,
        None => NA,
    });
}

#[test]
fn legacy_rule_algorithms_look_at_the_effect_of_a_failed_rule() {
    check(Algorithm::LegacyRuleDenyOverrides, legacy_rule_deny_overrides);
    check(Algorithm::LegacyRulePermitOverrides, |votes| mirrored(legacy_rule_deny_overrides(&mirror(votes))));
}

#[test]
fn legacy_policy_deny_overrides_denies_on_an_error() {
    check(Algorithm::LegacyPolicyDenyOverrides, |votes| {
        let denies = |vote: &Verdict| matches!(vote, Verdict::Deny | Verdict::Indeterminate(_));
        if votes.iter().any(denies) {
            D
        } else if votes.contains(&P) {
            P
        } else {
            NA
        }
    });
}

#[test]
fn legacy_policy_permit_overrides_prefers_deny_to_an_error() {
    check(Algorithm::LegacyPolicyPermitOverrides, |votes| {
        if votes.contains(&P) {
            P
        } else if votes.contains(&D) {
            D
        } else if votes.iter().any(|vote| *vote != NA) {
            IDP
        } else {
            NA
        }
    });
}

#[test]
fn identifiers_say_what_they_combine() {
    use durward_ir::combine::Combines::{Policies, Rules};
    let of = Algorithm::from_uri;
    assert_eq!(
        of("urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:ordered-deny-overrides", Rules),
        Some(Algorithm::DenyOverrides)
    );
    assert_eq!(
        of("urn:oasis:names:tc:xacml:1.1:policy-combining-algorithm:ordered-permit-overrides", Policies),
        Some(Algorithm::LegacyPolicyPermitOverrides)
    );
    for (uri, what) in [
        ("urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides", Policies),
        ("urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:only-one-applicable", Rules),
        ("urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:first-applicable", Rules),
        ("deny-overrides", Rules),
    ] {
        assert_eq!(of(uri, what), None, "{uri}");
    }
}
