//! A directory whose users are shared, over a store that is a list.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use durward_identity::session::User;
use durward_identity::user::{Account, Directory, HashCosts, UserCluster, UserRecord, UserStore};
use durward_identity::{IdentityError, Moment, SystemEntropy};

use crate::support::user;

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
const NOW: Moment = Moment::from_ms(1_700_000_000_000);

/// The last record of each user, as all nodes know it.
#[derive(Default)]
struct Store {
    last: Mutex<HashMap<User, UserRecord>>,
    is_gone: Mutex<bool>,
}

impl UserCluster for Store {
    fn publish(&self, records: &[UserRecord]) -> Result<(), IdentityError> {
        if *self.is_gone.lock().unwrap() {
            return Err(IdentityError::new("no store"));
        }
        let mut last = self.last.lock().unwrap();
        for record in records {
            let known = last.get(record.user()).map_or(0, UserRecord::revision);
            if record.revision() != known + 1 {
                return Err(IdentityError::new("another node was first"));
            }
            last.insert(record.user().clone(), record.clone());
        }
        Ok(())
    }

    fn wake(&self) {}
}

impl Store {
    /// Sends what a directory has not sent, and gives it back what is there.
    fn sync(&self, directory: &Directory) {
        for record in directory.unsent(100) {
            // One that another node was before is made again over what comes now.
            let _ = self.publish(&[record]);
        }
        let all: Vec<UserRecord> = self.last.lock().unwrap().values().cloned().collect();
        let taken = directory.take_records(&all);
        assert_eq!((taken.old.len(), taken.error), (0, None));
    }
}

struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let folder = std::env::temp_dir().join(format!("durward-shared-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        File(folder)
    }

    fn open(&self, name: &str) -> Directory {
        Directory::open(&self.path(name), CHEAP, Arc::new(SystemEntropy)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.0).join(name)
    }

    fn shared(&self, name: &str, store: &Arc<Store>) -> Directory {
        let directory = self.open(name);
        directory.share(Arc::clone(store) as Arc<dyn UserCluster>).unwrap();
        store.sync(&directory);
        store.sync(&directory);
        directory
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn groups(directory: &Directory, name: &str) -> Option<Vec<String>> {
    directory.account(&user(name)).unwrap().map(|account| account.groups)
}

fn to(group: &str) -> impl FnOnce(&mut Account) {
    let group = group.to_owned();
    move |account| account.groups = vec![group]
}

#[test]
fn a_change_that_the_store_does_not_take_is_none() {
    let (file, store) = (File::new("refused"), Arc::new(Store::default()));
    let a = file.shared("a", &store);
    a.put(Account::new(&user("anna"))).unwrap();
    *store.is_gone.lock().unwrap() = true;
    assert!(a.change(&user("anna"), to("staff")).unwrap_err().to_string().contains("no store"));
    assert!(a.remove(NOW, &user("anna")).is_err());
    assert_eq!(groups(&a, "anna"), Some(Vec::new()));
    assert_eq!(groups(&file.open("a"), "anna"), Some(Vec::new()));
    *store.is_gone.lock().unwrap() = false;
    // Another node, of whose change this one has not heard.
    let b = file.shared("b", &store);
    assert_eq!(b.change(&user("anna"), to("night")), Ok(true));
    assert!(a.change(&user("anna"), to("staff")).unwrap_err().to_string().contains("was first"));
    store.sync(&a);
    assert_eq!(a.change(&user("anna"), to("staff")), Ok(true));
}

#[test]
fn an_old_record_is_told_from_the_last_one_also_after_a_restart() {
    let (file, store) = (File::new("old"), Arc::new(Store::default()));
    let a = file.shared("a", &store);
    a.put(Account::new(&user("anna"))).unwrap();
    let first = store.last.lock().unwrap()[&user("anna")].clone();
    a.change(&user("anna"), |account| account.disabled = true).unwrap();
    assert_eq!(a.take_records(std::slice::from_ref(&first)).old, [0]);
    drop(a);
    let again = file.open("a");
    assert_eq!(again.take_records(std::slice::from_ref(&first)).old, [0]);
    assert!(again.account(&user("anna")).unwrap().unwrap().disabled);
    let behind = HashMap::from([(user("anna"), first.revision())]);
    assert_eq!(again.missing_in(&behind)[0].revision(), 2);
    assert!(again.missing_in(&HashMap::from([(user("anna"), 2)])).is_empty());
}

/// `durward users` rewrites a file that has grown, beside a server that has it open.
#[test]
fn what_a_command_does_to_the_file_is_sent_also_where_it_writes_the_file_anew() {
    let (file, store) = (File::new("rewritten"), Arc::new(Store::default()));
    let a = file.shared("a", &store);
    for name in ["anna", "berta", "carl"] {
        a.put(Account::new(&user(name))).unwrap();
    }
    let command = file.open("a");
    for round in 0..1_100 {
        command.change(&user("anna"), to(&format!("group-{round}"))).unwrap();
    }
    command.change(&user("berta"), to("last")).unwrap();
    command.remove(NOW, &user("carl")).unwrap();
    let length = std::fs::metadata(file.path("a")).unwrap().len();
    assert!(length < 50_000, "{length} bytes: it was not rewritten");
    // The server hears of it only now; and of another node's change before it has sent its own.
    let b = file.shared("b", &store);
    b.change(&user("berta"), |account| account.disabled = true).unwrap();
    store.sync(&a);
    store.sync(&a);
    store.sync(&b);
    for directory in [&a, &b, &file.open("a"), &file.open("b")] {
        assert_eq!(groups(directory, "anna"), Some(vec!["group-1099".to_owned()]));
        assert_eq!(groups(directory, "carl"), None);
        let berta = directory.account(&user("berta")).unwrap().unwrap();
        assert_eq!((berta.groups, berta.disabled), (vec!["last".to_owned()], true));
    }
    assert!(a.unsent(10).is_empty() && b.unsent(10).is_empty());
}

/// A copy from another node, or from a backup, is no change of anybody.
#[test]
fn an_old_copy_of_the_file_changes_nobody() {
    let (file, store) = (File::new("copy"), Arc::new(Store::default()));
    let a = file.shared("a", &store);
    a.put(Account::new(&user("anna"))).unwrap();
    let copy = std::fs::read(file.path("a")).unwrap();
    a.change(&user("anna"), |account| account.disabled = true).unwrap();
    a.put(Account::new(&user("berta"))).unwrap();
    std::fs::write(file.path("a"), copy).unwrap();
    a.catch_up().unwrap();
    assert!(a.account(&user("anna")).unwrap().unwrap().disabled);
    a.change(&user("berta"), to("staff")).unwrap();
    drop(a);
    let again = file.shared("a", &store);
    assert!(again.account(&user("anna")).unwrap().unwrap().disabled);
    assert_eq!(groups(&again, "berta"), Some(vec!["staff".to_owned()]));
}
