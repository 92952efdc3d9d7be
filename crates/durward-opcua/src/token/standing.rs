//! Until when a token counts, by what is known of time, cutoffs and the authorization service. What runs and what is model-checked both
//! ask [`until`], and nothing else.

use std::fmt;
use std::time::Duration;

use durward_identity::Moment;

use super::cutoff::Feed;
use super::facts::{Facts, Name};
use crate::permission::Permission;

/// Kinds of rights that differ in how long they may outlive the authorization service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Whatever changes nothing.
    Reading,
    /// Whatever changes values, history, nodes or references.
    Writing,
    /// Method calls.
    Calling,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Reading, Kind::Writing, Kind::Calling];

    /// The kind of a permission.
    pub const fn of(permission: Permission) -> Kind {
        match permission {
            Permission::Browse
            | Permission::ReadRolePermissions
            | Permission::Read
            | Permission::ReadHistory
            | Permission::ReceiveEvents => Kind::Reading,
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
            | Permission::AddNode => Kind::Writing,
            Permission::Call => Kind::Calling,
        }
    }
}

/// A value for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ByKind<T> {
    /// For [`Kind::Reading`].
    pub reading: T,
    /// For [`Kind::Writing`].
    pub writing: T,
    /// For [`Kind::Calling`].
    pub calling: T,
}

impl<T: Copy> ByKind<T> {
    /// The same for all.
    pub const fn all(value: T) -> ByKind<T> {
        ByKind { reading: value, writing: value, calling: value }
    }

    /// That of a kind.
    pub const fn of(&self, kind: Kind) -> T {
        match kind {
            Kind::Reading => self.reading,
            Kind::Writing => self.writing,
            Kind::Calling => self.calling,
        }
    }

    /// Of each kind.
    pub fn each(value: impl Fn(Kind) -> T) -> ByKind<T> {
        ByKind { reading: value(Kind::Reading), writing: value(Kind::Writing), calling: value(Kind::Calling) }
    }
}

/// How long rights outlive the last word of the authorization service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    /// The service is in reach while all cutoffs are known up to this long ago: two to three intervals of heartbeats. A recalled right is
    /// served no longer than this, and by as much as the clocks differ.
    pub staleness_max: Duration,
    /// Out of reach, tokens that have not ended hold for so long after the last word; `None`: until they end.
    pub hold: ByKind<Option<Duration>>,
    /// A token that ends while the service is out of reach is served for so long beyond its end.
    pub grace: ByKind<Duration>,
}

impl Reach {
    /// Out of reach, tokens hold until they end; no grace.
    pub const fn new(staleness_max: Duration) -> Reach {
        Reach { staleness_max, hold: ByKind::all(None), grace: ByKind::all(Duration::ZERO) }
    }

    /// The longest grace of all kinds: cutoffs are kept for so much longer.
    pub fn grace_max(&self) -> Duration {
        Kind::ALL.map(|kind| self.grace.of(kind)).into_iter().max().unwrap_or_default()
    }
}

/// Why a right has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
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

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::CutoffsUnknown => {
                "the gate was started, or its clock was set, and it has not heard from the authorization service yet: is it running?"
            }
            Ended::Recalled => "the right was recalled",
            Ended::Expired => "the token has ended: renew it",
            Ended::CutoffsMissing => {
                "messages of the authorization service were lost, and asking again brought nothing"
            }
            Ended::ClockSetBack => "the clock of the gate was set back: activate a new session",
            Ended::OutOfReach => "the authorization service is out of reach for longer than this right holds",
        })
    }
}

/// When a right ends, as far as is known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Until {
    /// The first moment at which it counts no more. The beginning of time where it counts no more already.
    pub moment: Moment,
    /// Why it ends then.
    pub because: Ended,
}

impl Until {
    /// Whether it still counts.
    ///
    /// # Errors
    /// It does not; why.
    pub fn at(self, now: Moment) -> Result<(), Ended> {
        if now < self.moment { Ok(()) } else { Err(self.because) }
    }
}

/// Until when the rights of each kind count that a token gives. Changes with each message of the feed.
pub fn until<N: Name>(token: &Facts<N>, feed: &Feed<N>, reach: &Reach) -> ByKind<Until> {
    let never = |because| ByKind::all(Until { moment: Moment::default(), because });
    let Some(complete) = feed.complete_until() else { return never(Ended::CutoffsUnknown) };
    if feed.cutoffs().end(token) {
        return never(Ended::Recalled);
    }
    let (in_reach, has_gap) = (complete.plus(reach.staleness_max), feed.has_gap());
    let is_out_of_reach_at_the_end = in_reach <= token.expires && !has_gap;
    ByKind::each(|kind| {
        let grace = if is_out_of_reach_at_the_end { reach.grace.of(kind) } else { Duration::ZERO };
        let end = Until { moment: token.expires.plus(grace), because: Ended::Expired };
        let limit = match reach.hold.of(kind) {
            // A gap proves that something was recalled; whose right, nobody knows.
            _ if has_gap => Some(Until { moment: in_reach, because: Ended::CutoffsMissing }),
            Some(hold) => {
                Some(Until { moment: complete.plus(hold).max(in_reach), because: Ended::OutOfReach })
            }
            None => None,
        };
        limit.filter(|limit| limit.moment < end.moment).unwrap_or(end)
    })
}
