//! How many sessions may wait for an application to be told that they ended: each application has places of its own, so that one that does
//! not answer is in nobody else's way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// How many ends of sessions wait to be told to one application.
const WAITING_MAX: usize = 1_000;

/// How many ends of sessions one application is told of at once.
const AT_ONCE_MAX: usize = 4;

#[derive(Debug)]
struct Places {
    waiting: Arc<Semaphore>,
    telling: Semaphore,
}

/// The places of all applications that somebody waits for.
#[derive(Debug, Default)]
pub struct ClientPlaces(Mutex<HashMap<String, Arc<Places>>>);

/// A place among those who wait, until it is dropped.
#[derive(Debug)]
pub struct Place {
    of: Arc<Places>,
    _one: OwnedSemaphorePermit,
}

impl ClientPlaces {
    /// A place for one more who waits for this application. `None` where there is none at the moment.
    pub fn take(&self, client: &str) -> Option<Place> {
        // Each step leaves a map that can be used.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(client) {
            // Applications come and go with the settings.
            all.retain(|_, places| Arc::strong_count(places) > 1);
        }
        let of = all.entry(client.to_owned()).or_insert_with(|| {
            let (waiting, telling) = (Semaphore::new(WAITING_MAX), Semaphore::new(AT_ONCE_MAX));
            Arc::new(Places { waiting: Arc::new(waiting), telling })
        });
        let _one = Arc::clone(&of.waiting).try_acquire_owned().ok()?;
        Some(Place { of: Arc::clone(of), _one })
    }
}

impl Place {
    /// Waits until the application may be told of one more. `None` never comes: no semaphore is closed.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.of.telling.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_application_that_does_not_answer_takes_no_place_of_another() {
        let places = ClientPlaces::default();
        let mut slow: Vec<Place> = (0..WAITING_MAX).map(|_| places.take("slow").unwrap()).collect();
        let (told, rest) = slow.split_at(AT_ONCE_MAX);
        let mut turns = Vec::new();
        for place in told {
            turns.push(place.turn().await.unwrap());
        }
        assert_eq!(rest[0].of.telling.available_permits(), 0);
        assert!(places.take("slow").is_none());
        let other = places.take("other").unwrap();
        assert!(other.turn().await.is_some());
        drop(turns);
        slow.pop();
        assert!(places.take("slow").is_some());
        drop((slow, other));
        assert!(places.take("third").is_some());
        assert_eq!(places.0.lock().unwrap().len(), 1, "nobody waits for the others");
    }
}
