//! What this node knows of the stream of users: of each user, the last message there, and the revision that was taken in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durward_identity::session::User;
use durward_identity::user::UserRecord;

/// One user's place in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserPlace {
    /// The number of the last message, whoever wrote it: the next record is taken by the server only if it still is that.
    ///
    /// INVARIANT: all up to it is taken in, or is nobody's.
    pub(super) last: u64,
    /// Whose, and of which revision the last record is. Nothing where the last message is no record, or an old one: it stands where the
    /// last record should.
    good: Option<(User, u64)>,
}

/// The places, by what stands for the user in the subject.
#[derive(Debug, Default)]
pub(super) struct StoreView(Mutex<HashMap<String, UserPlace>>);

impl StoreView {
    /// The number of a user's last message; 0 where there is none.
    pub(super) fn last(&self, token: &str) -> u64 {
        self.lock().get(token).map_or(0, |place| place.last)
    }

    /// A record was taken in.
    pub(super) fn took(&self, token: &str, number: u64, record: &UserRecord) {
        let mut places = self.lock();
        let place = places.entry(token.to_owned()).or_default();
        if number >= place.last {
            *place = UserPlace { last: number, good: Some((record.user().clone(), record.revision())) };
        }
    }

    /// A message came that says nothing, or nothing that counts any more.
    pub(super) fn passed_over(&self, token: &str, number: u64) {
        let mut places = self.lock();
        let place = places.entry(token.to_owned()).or_default();
        if number >= place.last {
            *place = UserPlace { last: number, good: None };
        }
    }

    /// The last message of a user is another one than was known: somebody has deleted some.
    pub(super) fn corrected(&self, token: &str, last: u64) {
        self.lock().insert(token.to_owned(), UserPlace { last, good: None });
    }

    /// The stream is another one than before.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    /// The revisions that the stream's last records have.
    pub(super) fn revisions(&self) -> HashMap<User, u64> {
        self.lock().values().filter_map(|place| place.good.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, UserPlace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
