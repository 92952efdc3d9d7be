//! One user, however his name is written: directories that compare names without case take `Anna` and `ANNA` for one.
//!
//! Sessions are under the directory's own way to write a name, which the login learns. Whoever types a name elsewhere need not know it.

use durward_identity::session::{SUBJECT_LENGTH_MAX, User};

use super::Service;

/// How many ways to write one name are looked for among sessions: there is one, unless the directory has renamed the user.
const WAYS_MAX: usize = 64;

impl Service {
    /// Whose failures are counted.
    pub(super) fn counted_as(&self, user: &User) -> User {
        self.folded(user).unwrap_or_else(|| user.clone())
    }

    /// The user as his directory compares names; nothing where it takes them as they are.
    fn folded(&self, user: &User) -> Option<User> {
        let mut name = self.users(user.realm())?.folded(user.subject())?;
        // Lower case may be longer.
        name.truncate(name.floor_char_boundary(SUBJECT_LENGTH_MAX));
        User::new(user.realm(), &name).ok()
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
