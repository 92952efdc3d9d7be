//! One user, however the name is written: directories that compare names without case take `Anna` and `ANNA` for one.
//!
//! Sessions are under the directory's own way to write a name, which the login learns. Whoever types a name elsewhere need not know it.
//!
//! Of realms that share the users of one directory, failures are counted under the first: else each would be further guesses.

use std::collections::HashMap;
use std::sync::Arc;

use durward_identity::session::{SUBJECT_LENGTH_MAX, User};

use super::Service;
use crate::directory::UserDirectory;

/// How many ways to write one name are looked for among sessions: there is one, unless the directory has renamed the user.
const WAYS_MAX: usize = 64;

/// For each realm that shares its users with others, the first of them in order.
pub(super) fn counted_in(realms: &HashMap<Box<str>, Arc<dyn UserDirectory>>) -> HashMap<Box<str>, Box<str>> {
    let first = |users: &Arc<dyn UserDirectory>| {
        let same = realms.iter().filter(|(_, other)| Arc::ptr_eq(users, other));
        same.map(|(realm, _)| realm).min().cloned()
    };
    let shared = realms.iter().filter(|(_, users)| !users.tells_realms_apart());
    shared.filter_map(|(realm, users)| Some((realm.clone(), first(users)?))).collect()
}

impl Service {
    /// Whose failures are counted.
    pub(super) fn counted_as(&self, user: &User) -> User {
        let user = self.folded(user).unwrap_or_else(|| user.clone());
        let shared =
            self.0.counted_in.get(user.realm()).and_then(|realm| User::new(realm, user.subject()).ok());
        shared.unwrap_or(user)
    }

    /// The user's name as the directory compares names; `None` where it compares them as they are.
    fn folded(&self, user: &User) -> Option<User> {
        let mut name = self.users(user.realm())?.folded(user.subject())?;
        // Lower case may be longer.
        name.truncate(name.floor_char_boundary(SUBJECT_LENGTH_MAX));
        User::new(user.realm(), &name).ok()
    }

    /// Whether two names are of one user, as the directory compares them.
    pub(super) fn are_same(&self, one: &User, other: &User) -> bool {
        let folded = || Some((self.folded(one)?, self.folded(other)?));
        one == other || folded().is_some_and(|(one, other)| one == other)
    }

    /// The names under which a user may have sessions: as it was typed, as the directory writes it now if it answers, and as it was
    /// written for sessions that this node knows of.
    pub(super) async fn names_of(&self, user: &User) -> Vec<User> {
        let mut names = vec![user.clone()];
        let Some(folded) = self.folded(user) else { return names };
        // Sessions are there also when the directory is not, or does not know the user any more.
        if let Ok(Some(account)) = self.account(user).await {
            names.extend(account.user().ok());
        }
        let is_same =
            |other: &User| other.realm() == user.realm() && self.folded(other).as_ref() == Some(&folded);
        names.extend(self.0.parts.sessions.users(WAYS_MAX, is_same));
        names.sort();
        names.dedup();
        names
    }
}
