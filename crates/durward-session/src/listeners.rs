//! Listeners by session: when a session ends or changes, only its own listeners are woken.
//!
//! A node may have a hundred thousand live decisions open, each for one session. Were all of them told of every logout, each
//! logout would cost as much as all of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_identity::session::{Revocation, SessionId, User};
use tokio::sync::{Notify, broadcast};

use crate::outcome::Who;

/// How much of what has ended is kept for followers that are slow.
const FOLLOWED_MAX: usize = 1024;

/// How many parts there are, each with a lock of its own.
const PARTS: usize = 64;

type ListenerShard = HashMap<SessionId, ListenerEntry>;

/// A session that is listened for.
struct ListenerEntry {
    user: User,
    bells: Vec<Arc<Notify>>,
}

/// All listeners of a node.
pub(crate) struct Listeners {
    parts: Box<[Mutex<ListenerShard>]>,
    is_over: AtomicBool,
    /// For those who want to hear of every session.
    followed: broadcast::Sender<Revocation>,
}

impl Listeners {
    pub(crate) fn new() -> Arc<Listeners> {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        let followed = broadcast::Sender::new(FOLLOWED_MAX);
        Arc::new(Listeners { parts, is_over: AtomicBool::new(false), followed })
    }

    pub(crate) fn listen(self: &Arc<Listeners>, who: &Who) -> SessionNews {
        let bell = Arc::new(Notify::new());
        let new = || ListenerEntry { user: who.user.clone(), bells: Vec::new() };
        self.part(who.id).entry(who.id).or_insert_with(new).bells.push(Arc::clone(&bell));
        SessionNews { listeners: Arc::clone(self), id: who.id, bell }
    }

    /// Hears of every end from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Revocation> {
        self.followed.subscribe()
    }

    /// Wakes those whose session may have ended. How many.
    pub(crate) fn tell(&self, revocation: &Revocation) -> usize {
        if self.followed.receiver_count() > 0 {
            // That nobody follows any more is no error.
            let _ = self.followed.send(revocation.clone());
        }
        match revocation {
            Revocation::Session { id, .. } => self.ring(*id),
            Revocation::Ended { sessions } => sessions.iter().map(|(id, _)| self.ring(*id)).sum(),
            Revocation::User { user, .. } => self.tell_user(user),
            Revocation::All { .. } => self.ring_where(|_| true),
        }
    }

    /// Wakes those of a user. All are looked through: it is rare, and a second table would cost every listener.
    pub(crate) fn tell_user(&self, user: &User) -> usize {
        self.ring_where(|listened| listened.user == *user)
    }

    /// The node has stopped: nobody hears anything any more.
    fn close(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.ring_where(|_| true);
    }

    /// Wakes those of one session. How many.
    pub(crate) fn ring(&self, id: SessionId) -> usize {
        self.part(id).get(&id).map_or(0, ListenerEntry::ring)
    }

    fn ring_where(&self, is_meant: impl Fn(&ListenerEntry) -> bool) -> usize {
        let of_part = |part: &Mutex<ListenerShard>| -> usize {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            part.values().filter(|listened| is_meant(listened)).map(ListenerEntry::ring).sum()
        };
        self.parts.iter().map(of_part).sum()
    }

    fn part(&self, id: SessionId) -> MutexGuard<'_, ListenerShard> {
        #[expect(clippy::indexing_slicing, reason = "there are PARTS parts, from the constructor on")]
        let part = &self.parts[usize::from(id.0[0]) % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListenerEntry {
    fn ring(&self) -> usize {
        // A bell that rings while nobody waits is heard by who waits next.
        self.bells.iter().for_each(|bell| bell.notify_one());
        self.bells.len()
    }
}

/// Tells when it goes that there is no node any more.
pub(crate) struct NodeGoneNotifier(pub(crate) Arc<Listeners>);

impl Drop for NodeGoneNotifier {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What is heard of one session.
pub struct SessionNews {
    listeners: Arc<Listeners>,
    id: SessionId,
    bell: Arc<Notify>,
}

impl SessionNews {
    /// Waits until the session may have ended, or it or what is known of its user may have changed: look at it again. `false` when the
    /// node has stopped, and there will be no news.
    pub async fn next(&mut self) -> bool {
        if !self.listeners.is_over.load(Ordering::SeqCst) {
            self.bell.notified().await;
        }
        !self.listeners.is_over.load(Ordering::SeqCst)
    }
}

impl std::fmt::Debug for SessionNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionNews({})", self.id)
    }
}

impl Drop for SessionNews {
    fn drop(&mut self) {
        let mut part = self.listeners.part(self.id);
        let Some(listened) = part.get_mut(&self.id) else { return };
        listened.bells.retain(|bell| !Arc::ptr_eq(bell, &self.bell));
        if listened.bells.is_empty() {
            part.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_identity::session::Level;
    use durward_identity::{Moment, Stamp};

    use super::*;

    fn who(user: &str, id: u8) -> Who {
        let user = User::new("/", user).unwrap();
        let (stamp, ends) = (Stamp::from_us(1), Moment::from_s(100));
        Who { user, id: SessionId([id; 16]), level: Level(0), stamp, ends, idle: Duration::ZERO }
    }

    fn session(who: &Who) -> Revocation {
        Revocation::Session { user: who.user.clone(), id: who.id, ends: who.ends }
    }

    #[tokio::test]
    async fn those_of_the_session_are_woken_and_no_others() {
        let listeners = Listeners::new();
        let [anna, again, berta] = [who("anna", 1), who("anna", 2), who("berta", 3)];
        let mut news = listeners.listen(&anna);
        let (_same, _again) = (listeners.listen(&anna), listeners.listen(&again));
        let _berta = listeners.listen(&berta);
        assert_eq!(listeners.tell(&session(&anna)), 2);
        assert!(news.next().await, "also who was told before he waited");
        assert_eq!(listeners.tell(&session(&who("anna", 9))), 0);
        let sessions = vec![(again.id, again.ends), (berta.id, berta.ends)];
        assert_eq!(listeners.tell(&Revocation::Ended { sessions }), 2);
        assert_eq!(listeners.tell(&Revocation::User { user: anna.user, before: Stamp::from_us(2) }), 3);
        assert_eq!(listeners.tell(&Revocation::All { before: Stamp::from_us(2) }), 4);
    }

    #[tokio::test]
    async fn who_goes_leaves_nothing_behind_and_the_end_of_the_node_is_heard() {
        let listeners = Listeners::new();
        let anna = who("anna", 1);
        drop(listeners.listen(&anna));
        assert!(listeners.parts.iter().all(|part| part.lock().unwrap().is_empty()));
        let mut news = listeners.listen(&anna);
        let telling = NodeGoneNotifier(Arc::clone(&listeners));
        let waiting = tokio::spawn(async move { news.next().await });
        tokio::task::yield_now().await;
        drop(telling);
        assert!(!waiting.await.unwrap());
    }
}
