//! Until when a token counts, by what is known of time, cutoffs and the authorization service. What runs and what is model-checked both
//! ask [`until`], and nothing else.

use std::fmt;
use std::time::Duration;

use durward_identity::Moment;

use super::cutoff::Feed;
use super::facts::{FactName, TokenFacts};
use crate::permission::Permission;

/// Kinds of rights that differ in how long they may outlive the authorization service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RightKind {
    /// Whatever changes nothing.
    Reading,
    /// Whatever changes values, history, nodes or references.
    Writing,
    /// Method calls.
    Calling,
}

impl RightKind {
    /// Every kind.
    pub const ALL: [RightKind; 3] = [RightKind::Reading, RightKind::Writing, RightKind::Calling];

    /// The kind of a permission.
    pub const fn of(permission: Permission) -> RightKind {
        match permission {
            Permission::Browse
            | Permission::ReadRolePermissions
            | Permission::Read
            | Permission::ReadHistory
            | Permission::ReceiveEvents => RightKind::Reading,
            Permission::WriteAttribute
            | Permission::WriteRolePermissions
            | Permission::WriteHistorizing
            | Permission::Write
            | Permission::InsertHistory
            | Permission::ModifyHistory
            | Permission::DeleteHistory
            | Permission::AddReference
            | Permission::RemoveReference
            | Permission::DeleteNode
            | Permission::AddNode => RightKind::Writing,
            Permission::Call => RightKind::Calling,
        }
    }
}

/// A value for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PerRightKind<T> {
    /// For [`RightKind::Reading`].
    pub reading: T,
    /// For [`RightKind::Writing`].
    pub writing: T,
    /// For [`RightKind::Calling`].
    pub calling: T,
}

impl<T: Copy> PerRightKind<T> {
    /// The same for all.
    pub const fn all(value: T) -> PerRightKind<T> {
        PerRightKind { reading: value, writing: value, calling: value }
    }

    /// That of a kind.
    pub const fn of(&self, kind: RightKind) -> T {
        match kind {
            RightKind::Reading => self.reading,
            RightKind::Writing => self.writing,
            RightKind::Calling => self.calling,
        }
    }

    /// Of each kind.
    pub fn each(value: impl Fn(RightKind) -> T) -> PerRightKind<T> {
        PerRightKind {
            reading: value(RightKind::Reading),
            writing: value(RightKind::Writing),
            calling: value(RightKind::Calling),
        }
    }
}

/// How long rights outlive the last word of the authorization service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StalenessLimits {
    /// The service is in reach while all cutoffs are known up to this long ago: two to three intervals of heartbeats. A recalled right is
    /// served no longer than this, and by as much as the clocks differ.
    pub staleness_max: Duration,
    /// Out of reach, tokens that have not ended hold for so long after the last word; `None`: until they end.
    pub hold: PerRightKind<Option<Duration>>,
    /// A token that ends while the service is out of reach is served for so long beyond its end.
    pub grace: PerRightKind<Duration>,
}

impl StalenessLimits {
    /// Out of reach, tokens hold until they end; no grace.
    pub const fn new(staleness_max: Duration) -> StalenessLimits {
        StalenessLimits {
            staleness_max,
            hold: PerRightKind::all(None),
            grace: PerRightKind::all(Duration::ZERO),
        }
    }

    /// The longest grace of all kinds: cutoffs are kept for so much longer.
    pub fn grace_max(&self) -> Duration {
        RightKind::ALL.map(|kind| self.grace.of(kind)).into_iter().max().unwrap_or_default()
    }
}

/// Why a right has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RightEnd {
    /// The gate was started and has not heard yet which tokens are recalled.
    CutoffsUnknown,
    /// It was recalled.
    Recalled,
    /// The token has ended, and the grace, where there is one.
    Expired,
    /// There are cutoffs that the gate has not heard of for too long.
    CutoffsMissing,
    /// The authorization service is out of reach for longer than rights of this kind hold.
    OutOfReach,
    /// The gate's clock was set back.
    ClockSetBack,
}

impl fmt::Display for RightEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RightEnd::CutoffsUnknown => {
                "the gate was started, or its clock was set, and it has not heard from the authorization service yet: is it running?"
            }
            RightEnd::Recalled => "the right was recalled",
            RightEnd::Expired => "the token has ended: renew it",
            RightEnd::CutoffsMissing => {
                "messages of the authorization service were lost, and asking again brought nothing"
            }
            RightEnd::ClockSetBack => "the clock of the gate was set back: activate a new session",
            RightEnd::OutOfReach => "the authorization service is out of reach for longer than this right holds",
        })
    }
}

/// When a right ends, as far as is known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RightDeadline {
    /// The first moment at which it counts no more. The beginning of time where it counts no more already.
    pub moment: Moment,
    /// Why it ends then.
    pub because: RightEnd,
}

impl RightDeadline {
    /// Whether it still counts.
    ///
    /// # Errors
    /// It does not; why.
    pub fn at(self, now: Moment) -> Result<(), RightEnd> {
        if now < self.moment { Ok(()) } else { Err(self.because) }
    }
}

/// Until when the rights of each kind count that a token gives. Changes with each message of the feed.
pub fn until<N: FactName>(
    token: &TokenFacts<N>,
    feed: &Feed<N>,
    reach: &StalenessLimits,
) -> PerRightKind<RightDeadline> {
    let never = |because| PerRightKind::all(RightDeadline { moment: Moment::default(), because });
    let Some(complete) = feed.complete_until() else { return never(RightEnd::CutoffsUnknown) };
    if feed.cutoffs().end(token) {
        return never(RightEnd::Recalled);
    }
    let (in_reach, has_gap) = (complete.plus(reach.staleness_max), feed.has_gap());
    let is_out_of_reach_at_the_end = in_reach <= token.expires && !has_gap;
    PerRightKind::each(|kind| {
        let grace = if is_out_of_reach_at_the_end { reach.grace.of(kind) } else { Duration::ZERO };
        let end = RightDeadline { moment: token.expires.plus(grace), because: RightEnd::Expired };
        let limit = match reach.hold.of(kind) {
            // A gap proves that something was recalled; whose right, nobody knows.
            _ if has_gap => Some(RightDeadline { moment: in_reach, because: RightEnd::CutoffsMissing }),
            Some(hold) => Some(RightDeadline {
                moment: complete.plus(hold).max(in_reach),
                because: RightEnd::OutOfReach,
            }),
            None => None,
        };
        limit.filter(|limit| limit.moment < end.moment).unwrap_or(end)
    })
}
