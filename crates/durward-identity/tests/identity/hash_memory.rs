//! What hashing allocates. Each login once allocated Argon2's memory anew, and allocators kept it: a node of 64 MiB was killed at its
//! third login.

use std::sync::Arc;
use std::thread;

use allocation_counter::measure;
use durward_identity::user::{
    Account, Directory, HashCosts, Password, StoredPassword, UserStore, keep_hash_memory, release_hash_memory,
};
use durward_identity::{Moment, SystemEntropy};

use crate::support::user;

const COSTS: HashCosts = HashCosts { memory_kib: 1024, passes: 1, lanes: 1 };
const NOW: Moment = Moment::from_ms(1_700_000_000_000);
const MIB: u64 = 1 << 20;

/// A thread of its own has memory of its own.
fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    thread::spawn(test).join().unwrap();
}

fn stored(costs: HashCosts) -> StoredPassword {
    StoredPassword::hash(&Password::new("secret").unwrap(), costs, &SystemEntropy).unwrap()
}

#[test]
fn many_logins_on_a_thread_that_hashes_take_the_memory_of_one() {
    on_a_thread(|| {
        let directory = Directory::in_memory(COSTS, Arc::new(SystemEntropy)).unwrap();
        directory.put(Account { password: Some(stored(COSTS)), ..Account::new(&user("anna")) }).unwrap();
        keep_hash_memory();
        let login = |name: &str, password: &str| {
            directory.check(NOW, &user(name), &Password::new(password).unwrap()).unwrap();
        };
        assert!(measure(|| login("anna", "secret")).bytes_total > MIB);
        let more = measure(|| {
            for _ in 0..50 {
                login("anna", "secret");
                login("anna", "wrong");
                login("nobody", "secret");
            }
        });
        assert!(more.bytes_total < MIB, "150 logins took {more:?}");
    });
}

#[test]
fn a_thread_that_rests_gives_its_memory_back() {
    on_a_thread(|| {
        let (stored, password) = (stored(COSTS), Password::new("secret").unwrap());
        keep_hash_memory();
        assert!(!release_hash_memory(), "nothing was hashed yet");
        let all = measure(|| {
            assert!(stored.is_of(&password));
            assert!(release_hash_memory());
        });
        assert_eq!(all.bytes_current, 0);
        assert!(stored.is_of(&password), "it hashes again");
    });
}

#[test]
fn a_thread_that_does_other_things_keeps_nothing() {
    on_a_thread(|| {
        let (stored, password) = (stored(COSTS), Password::new("secret").unwrap());
        assert_eq!(measure(|| assert!(stored.is_of(&password))).bytes_current, 0);
        assert!(!release_hash_memory());
    });
}

/// Imported hashes may want up to 256 MiB, once.
#[test]
fn one_dear_hash_does_not_make_a_thread_large_for_ever() {
    on_a_thread(|| {
        let dear = stored(HashCosts { memory_kib: 64 * 1024, ..COSTS });
        let (cheap, password) = (stored(COSTS), Password::new("secret").unwrap());
        keep_hash_memory();
        let all = measure(|| {
            assert!(dear.is_of(&password));
            assert!(cheap.is_of(&password));
        });
        assert!(all.bytes_max >= 64 * MIB);
        assert!(all.bytes_current < 40 * (1 << 20), "{all:?}");
    });
}
