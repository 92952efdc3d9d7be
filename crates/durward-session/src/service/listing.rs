//! All sessions there are, for surfaces that list them.

use durward_identity::session::{Session, User};

use super::Service;
use crate::outcome::Administrator;

impl Service {
    /// Some of the sessions that this node knows of and the administrator may see, at most so many.
    pub fn some_sessions(&self, by: &Administrator, max: usize) -> Vec<(User, Session)> {
        self.0.parts.sessions.some(max, |user, _| by.may(user.realm()))
    }

    /// The same, of the sessions in one realm.
    pub fn some_sessions_in(&self, by: &Administrator, realm: &str, max: usize) -> Vec<(User, Session)> {
        self.0.parts.sessions.some(max, |user, _| user.realm() == realm && by.may(realm))
    }
}
