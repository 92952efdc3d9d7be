//! Several subscriptions of one caller.

use smol_str::SmolStr;

use durward_subscription::Subscription;

/// Questions, each with an id of the client's.
#[derive(Clone, Debug, Default)]
pub struct MultiSubscription {
    /// The questions in the order of the client. Ids are unique and not blank.
    pub subscriptions: Vec<(SmolStr, Subscription)>,
}
