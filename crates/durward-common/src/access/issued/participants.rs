//! Who wants to be told when a session ends: clients that got tokens from it on this node, agents that asked for it. Kept in memory, and
//! bounded.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durward_session::Who;
use durward_session::identity::session::{Revocation, SessionId, User};

/// How many sessions are followed. Of those beyond it, clients hear nothing.
const SESSIONS_MAX: usize = 100_000;

/// How many clients of one session are told.
const CLIENTS_MAX: usize = 32;

/// A session that clients take part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participation<T = String> {
    /// Whose session it is.
    pub user: User,
    /// The session.
    pub session: SessionId,
    /// Those who want to be told of its end.
    pub clients: Vec<T>,
}

/// Sessions, and who takes part in each.
type Sessions<T> = HashMap<SessionId, (User, Vec<T>)>;

/// Those who are called `T`.
#[derive(Debug)]
pub struct Participants<T = String>(Mutex<Sessions<T>>);

impl<T> Default for Participants<T> {
    fn default() -> Participants<T> {
        Participants(Mutex::new(HashMap::new()))
    }
}

impl<T: Ord> Participants<T> {
    fn all(&self) -> MutexGuard<'_, Sessions<T>> {
        // Each step leaves a map that can be used.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client takes part in a session, and wants to be told. `false` where there is no room.
    pub fn note(&self, who: &Who, client: T) -> bool {
        let mut all = self.all();
        if all.len() >= SESSIONS_MAX && !all.contains_key(&who.id) {
            return false;
        }
        let (_, clients) = all.entry(who.id).or_insert_with(|| (who.user.clone(), Vec::new()));
        if clients.contains(&client) {
            return true;
        }
        if clients.len() >= CLIENTS_MAX {
            return false;
        }
        clients.push(client);
        true
    }

    /// The same for one who may come again, and is then who is told: of those that are `alike`, the last `most` are.
    pub fn note_last(&self, who: &Who, client: T, most: usize, is_alike: impl Fn(&T, &T) -> bool) -> bool {
        {
            let mut all = self.all();
            if let Some((_, clients)) = all.get_mut(&who.id) {
                clients.retain(|known| *known != client);
                let mut alike = clients.iter().filter(|known| is_alike(known, &client)).count();
                // They stand in the order in which they came.
                clients.retain(|known| {
                    let is_too_many = is_alike(known, &client) && alike >= most;
                    alike -= usize::from(is_too_many);
                    !is_too_many
                });
            }
        }
        self.note(who, client)
    }

    /// Those that a revocation may be about.
    pub fn of(&self, revocation: &Revocation) -> Vec<(User, SessionId)> {
        let all = self.all();
        let named = |id: &SessionId| all.get(id).map(|(user, _)| (user.clone(), *id));
        match revocation {
            Revocation::Session { id, .. } => named(id).into_iter().collect(),
            Revocation::Ended { sessions } => sessions.iter().filter_map(|(id, _)| named(id)).collect(),
            Revocation::User { user, .. } => {
                let own = all.iter().filter(|(_, (whose, _))| whose == user);
                own.map(|(id, (user, _))| (user.clone(), *id)).collect()
            }
            Revocation::All { .. } => all.iter().map(|(id, (user, _))| (user.clone(), *id)).collect(),
        }
    }

    /// All sessions that are followed.
    pub fn sessions(&self) -> Vec<(User, SessionId)> {
        self.all().iter().map(|(id, (user, _))| (user.clone(), *id)).collect()
    }

    /// Follows a session no longer.
    pub fn take(&self, session: SessionId) -> Option<Participation<T>> {
        let (user, clients) = self.all().remove(&session)?;
        Some(Participation { user, session, clients })
    }

    /// Follows a session that has ended again, for clients that could not be told yet. `false` where there is no room.
    pub fn put_back(&self, participation: Participation<T>) -> bool {
        let Participation { user, session, clients } = participation;
        let mut all = self.all();
        if all.len() >= SESSIONS_MAX && !all.contains_key(&session) {
            return false;
        }
        let (_, known) = all.entry(session).or_insert_with(|| (user, Vec::new()));
        known.extend(clients);
        known.sort_unstable();
        known.dedup();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_session::identity::session::Level;
    use durward_session::identity::{Moment, Stamp};

    use super::*;

    fn who(id: u8) -> Who {
        Who {
            user: User::new("/", "anna").unwrap(),
            id: SessionId([id; 16]),
            level: Level(0),
            stamp: Stamp::from_us(1),
            ends: Moment::from_s(9),
            idle: Duration::ZERO,
        }
    }

    #[test]
    fn clients_of_a_session_are_known_until_it_is_taken_and_are_bounded() {
        let participants: Participants = Participants::default();
        for client in 0..CLIENTS_MAX {
            assert!(participants.note(&who(1), client.to_string()));
        }
        assert!(participants.note(&who(1), "0".to_owned()) && !participants.note(&who(1), "more".to_owned()));
        assert!(participants.note(&who(2), "0".to_owned()));
        let all = Revocation::All { before: Stamp::from_us(5) };
        assert_eq!(participants.of(&all).len(), 2);
        let one = Revocation::Session { user: who(2).user, id: who(2).id, ends: who(2).ends };
        assert_eq!(participants.of(&one), [(who(2).user, who(2).id)]);
        assert_eq!(participants.take(who(2).id).unwrap().clients, ["0"]);
        assert_eq!(participants.take(who(2).id), None);
        assert_eq!(participants.sessions().len(), 1);
        let mut first = participants.take(who(1).id).unwrap();
        first.clients.retain(|client| client == "7");
        assert!(participants.put_back(first.clone()) && participants.put_back(first.clone()));
        assert_eq!(participants.sessions(), [(who(1).user, who(1).id)]);
        assert_eq!(participants.take(who(1).id), Some(first));
    }
}
