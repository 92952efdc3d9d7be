//! Decisions without obligations or advice, and the effects they come from.

use durward_ir::combine::{Effects, Verdict};
use durward_ir::program::{Effect, Set};

/// The effects of a set that something goes along with.
pub(crate) fn laden(set: &Set) -> Effects {
    set.duties.iter().map(|duty| Effects::only(duty.on)).fold(Effects::NONE, Effects::union)
}

/// The effect of a verdict, or none; `None` of an error.
#[inline]
pub(crate) fn effects_of(verdict: Verdict) -> Option<Effects> {
    match verdict {
        Verdict::Permit => Some(Effects::PERMIT),
        Verdict::Deny => Some(Effects::DENY),
        Verdict::Suspend => Some(Effects::SUSPEND),
        Verdict::NotApplicable => Some(Effects::NONE),
        Verdict::Indeterminate(_) => None,
    }
}

/// The verdict of one effect.
#[inline]
pub(crate) fn verdict_of(effect: Effects) -> Verdict {
    let all = [Effect::Permit, Effect::Deny, Effect::Suspend];
    all.into_iter().find(|one| effect.contains(*one)).map_or(Verdict::NotApplicable, Verdict::from)
}
