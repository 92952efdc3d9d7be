//! Logins that another OpenID provider vouches for. Whoever calls this has verified what the provider says, and found out whose account at
//! the provider it is; here it is looked whether that user may log in, and what else is asked of them.

use std::net::IpAddr;
use std::sync::Arc;

use durward_identity::protocol::Lack;
use durward_identity::session::{Properties, User};
use durward_identity::user::LoginFailure;

use super::Service;
use super::login::{SessionStart, words};
use crate::directory::DirectoryFault;
use crate::outcome::{Failed, Login, Refused};
use crate::settings::SecondStepPolicy;

/// A login without a password, because somebody who is trusted says who it is.
#[derive(Clone, Debug)]
pub struct UpstreamLogin {
    /// Whose account it is here.
    pub user: User,
    /// Who vouches for it, for the audit.
    pub vouched_by: String,
    /// Whether a second step was taken there, and counts here.
    pub has_second_step: bool,
    /// From where.
    pub address: IpAddr,
    /// What is kept with the session from its beginning.
    pub properties: Properties,
}

impl Service {
    /// Opens a session for a user whom another provider vouches for. A user who has a second step here is asked for it as at each login,
    /// unless one that was taken there counts.
    ///
    /// # Errors
    /// The login was refused; [`Refused::Wrong`] is a user who is none, or is disabled.
    pub async fn login_by_upstream(&self, request: UpstreamLogin) -> Result<Login, Refused> {
        let service = self.clone();
        let login = self.0.parts.runtime.spawn(async move {
            let result = service.log_in_by_upstream(request).await;
            service.count_login(&result);
            result
        });
        login.await.unwrap_or(Err(Refused::Unavailable(Lack::Store)))
    }

    async fn log_in_by_upstream(&self, request: UpstreamLogin) -> Result<Login, Refused> {
        self.has_started().await;
        let UpstreamLogin { user, vouched_by, has_second_step, address, properties } = request;
        let users = self.users(user.realm()).ok_or(Refused::UnknownRealm)?;
        self.knows_users(&*users)?;
        self.follow_users().await;
        let found = users.account(&user).await.map_err(|fault| match fault {
            DirectoryFault::Busy { retry_after } => Refused::Busy { retry_after },
            DirectoryFault::Failed(error) => Refused::Directory(error),
        })?;
        let failure = match &found {
            None => Some(LoginFailure::UnknownUser),
            Some(account) if account.disabled => Some(LoginFailure::Disabled),
            Some(_) => None,
        };
        let (Some(account), None) = (found, failure) else {
            let why = failure.map_or("", words);
            self.note_failure(&user, address, &format!("{why}; {vouched_by}")).await;
            return Err(Refused::Wrong);
        };
        // A directory may write the name in another way: its way counts.
        let user = account.user().map_err(Refused::Directory)?;
        let is_asked = account.has_second_step() && self.settings().second_step == SecondStepPolicy::AtLogin;
        if is_asked && !has_second_step {
            let until = self.now().plus(self.settings().challenge_lifetime);
            return Ok(Login::CodeNeeded(self.0.upstream_challenges.make(&user, until)));
        }
        let settings = self.settings();
        let level = if has_second_step { settings.second_step_level } else { settings.password_level };
        let vouched_by = Some(vouched_by.as_str());
        let begin = SessionStart { user, account: &account, level, properties, address, vouched_by };
        let granted = self.begin(begin).await?;
        Ok(Login::Granted(granted, Box::new(account)))
    }

    /// Ends all sessions that are meant, as far as this node knows of them. How many were ended.
    ///
    /// # Errors
    /// One of them could not be ended; the others were all the same.
    pub async fn end_sessions(
        &self,
        is_meant: impl Fn(&User, &Properties) -> bool + Send + 'static,
        address: Option<IpAddr>,
    ) -> Result<usize, Failed> {
        let sessions = Arc::clone(&self.0.parts.sessions);
        // It goes through all sessions there are.
        let all = move || sessions.some(usize::MAX, |user, session| is_meant(user, &session.properties));
        let found = self.0.parts.runtime.spawn_blocking(all).await.map_err(|_| Failed::Unknown)?;
        let (mut ended, mut all) = (0, Ok(()));
        for (user, session) in found {
            match self.end_session(&user, session.id, address).await {
                Ok(()) => ended += 1,
                Err(Failed::NoSession) => {}
                Err(error) => all = Err(error),
            }
        }
        all.map(|()| ended)
    }
}
