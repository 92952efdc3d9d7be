//! Second steps of users who have lost their device, for administrators: also of users who are kept in a directory elsewhere.

use durward_identity::Moment;
use durward_identity::session::User;
use durward_identity::user::{Account, AccountSwap, UserWrites};

use super::accounts::Accounts;
use crate::outcome::{AccountFailed, Administrator};

impl Accounts {
    /// How many recovery codes are left of a user's second step; nothing where there is none.
    ///
    /// # Errors
    /// Another realm's administrator asks, or nothing is kept here of the realm's users.
    pub async fn second_step_of(
        &self,
        by: &Administrator,
        user: &User,
    ) -> Result<Option<usize>, AccountFailed> {
        let kept = self.kept_steps_for(by, user)?;
        self.0.follow_users().await;
        let step = kept.writes.find(user).and_then(|account| account.second_step);
        Ok(step.map(|step| step.recovery.left()))
    }

    /// Removes a user's second step, with its recovery codes, as an administrator. Passkeys stay. The user's sessions are over.
    ///
    /// # Errors
    /// As [`Accounts::second_step_of`]; or there is none.
    pub async fn remove_second_step_of(&self, by: &Administrator, user: &User) -> Result<(), AccountFailed> {
        let kept = self.kept_steps_for(by, user)?;
        let user = user.clone();
        let plan = move |users: &dyn UserWrites, _: Moment| {
            let has_step = |account: &Account| account.second_step.is_some();
            let before = users.find(&user).filter(has_step).ok_or(AccountFailed::NoSecondStep)?;
            let mut after = before.clone();
            after.second_step = None;
            Ok(vec![AccountSwap { before: Some(before), after: Some(after) }])
        };
        self.commit(kept, by, plan).await.map(drop)
    }
}
