//! What goes back to JavaScript.

use durward_embed::{Decision, Explained, Outcome, SnapshotInfo};
use napi::Either;
use napi_derive::napi;

/// A decision: the number of an outcome that nothing goes along with, or the whole as JSON.
pub(crate) type Answer = Either<u32, String>;

pub(crate) fn answer(decision: &Decision) -> Answer {
    let is_plain =
        decision.obligations().len() == 0 && decision.advice().len() == 0 && decision.resource().is_none();
    if is_plain { Either::A(number(decision.outcome)) } else { Either::B(decision.to_json()) }
}

/// The place of an outcome in the table `PLAIN` of `lib/decision.js`.
fn number(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Permit => 0,
        Outcome::Deny => 1,
        Outcome::Suspend => 2,
        Outcome::NotApplicable => 3,
        Outcome::Indeterminate => 4,
    }
}

/// Why a question is answered as it is.
#[napi(object)]
pub struct Explanation {
    /// In words.
    pub text: String,
    /// As JSON.
    pub json: String,
}

impl From<Explained> for Explanation {
    fn from(explained: Explained) -> Explanation {
        Explanation { text: explained.text, json: explained.json }
    }
}

/// What is in force.
#[napi(object)]
pub struct Snapshot {
    /// Counts the snapshots of one decision point, from 1.
    pub id: i64,
    /// How many documents were read.
    pub documents: i64,
    /// How many policies they hold.
    pub policies: i64,
    /// How many rules.
    pub rules: i64,
    /// The index in use, and why.
    pub index: String,
}

impl From<SnapshotInfo> for Snapshot {
    fn from(info: SnapshotInfo) -> Snapshot {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Snapshot {
            id: i64::try_from(info.id).unwrap_or(i64::MAX),
            documents: count(info.documents),
            policies: count(info.policies),
            rules: count(info.rules),
            index: info.index,
        }
    }
}
