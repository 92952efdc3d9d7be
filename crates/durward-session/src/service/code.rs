//! Second-factor codes. A directory accepts each code once; but each node may have its own copy of the users, or hear a moment later which codes others accepted. So a node in a cluster asks the session store whether it is the first to accept a code.

use std::net::IpAddr;

use durward_identity::protocol::{AskOutcome, Lack, NodeEvent};
use durward_identity::session::{UsedCode, User};
use durward_identity::user::LoginFailure;

use super::Service;
use super::login::words;
use super::turns::AttemptPermit;
use crate::directory::UserDirectory;
use crate::outcome::Refused;

impl Service {
    /// Whether this is a code of the user's that nobody has used. It is used up by that, as surely as the mode promises; also where
    /// what it was for comes to nothing later.
    pub(super) async fn check_code(
        &self,
        users: &dyn UserDirectory,
        user: &User,
        code: &str,
        address: IpAddr,
        guess: &mut AttemptPermit,
    ) -> Result<(), Refused> {
        if let Some(lack) = self.cannot_tell_codes() {
            // Before it is used up for nothing.
            guess.undecided();
            return Err(Refused::Unavailable(lack));
        }
        let checked = users.check_code(self.now(), user, code).await;
        let Some(used) = self.decided(checked, user, address, guess).await? else {
            guess.failed();
            self.note_failure(user, address, words(LoginFailure::Code)).await;
            return Err(Refused::Wrong);
        };
        if !self.0.parts.is_shared {
            return Ok(());
        }
        self.is_first(used, user, address, guess).await
    }

    /// What keeps this node from telling the others for sure. The other modes tell them as well as they can.
    fn cannot_tell_codes(&self) -> Option<Lack> {
        let is_assured = self.mode().is_assured() && self.0.parts.is_shared;
        self.outlook().lack.filter(|_| is_assured)
    }

    async fn is_first(
        &self,
        code: UsedCode,
        user: &User,
        address: IpAddr,
        guess: &mut AttemptPermit,
    ) -> Result<(), Refused> {
        let refused = match self.ask(|ask| NodeEvent::UseCode { ask, code }).await {
            Some(AskOutcome::Done) => return Ok(()),
            Some(AskOutcome::Used) => {
                guess.failed();
                self.note_failure(user, address, "a code that was used on another node").await;
                return Err(Refused::Wrong);
            }
            Some(AskOutcome::Unavailable(lack)) => Refused::Unavailable(lack),
            Some(
                AskOutcome::Unknown
                | AskOutcome::Forgotten
                | AskOutcome::Token { .. }
                | AskOutcome::Permit(_)
                | AskOutcome::NoSession
                | AskOutcome::Full(_),
            ) => Refused::Unknown,
            None => Refused::Unavailable(Lack::Store),
        };
        guess.undecided();
        self.note_failure(user, address, &refused.to_string()).await;
        Err(refused)
    }
}
