//! Users that nodes share: what is changed on one node counts on the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;
use async_nats::jetstream::message::StreamMessage;
use durward_identity::protocol::{Lack, Mode};
use durward_identity::session::User;
use durward_identity::user::{Account, Directory, Password, RecoveryCodes, SecondStep, Totp, UserStore};
use durward_identity::{IdentityError, SystemEntropy};
use durward_session::{Login, LoginRequest, PasswordChoice, Refused};
use tokio::time::{sleep, timeout};

use crate::nodes::{COSTS, HOME, Node, PATIENCE, Plan, Sharing, account, clock};
use crate::servers::Servers;
use crate::{is_refused, turn};

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("durward-shared-users-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A node, and its directory as its administrators have it.
struct Sharer {
    node: Node,
    directory: Arc<Directory>,
}

fn open(path: &Path) -> Directory {
    Directory::open(path, COSTS, Arc::new(SystemEntropy)).unwrap()
}

fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

impl Sharer {
    async fn begin(plan: &Plan, directory: Directory) -> Sharer {
        let directory = Arc::new(directory);
        let node = plan.start_with(Arc::clone(&directory), Sharing::Users);
        node.is_ready().await;
        Sharer { node, directory }
    }

    /// One without a file, who knows nobody.
    async fn empty(plan: &Plan) -> Sharer {
        Sharer::begin(plan, Directory::in_memory(COSTS, Arc::new(SystemEntropy)).unwrap()).await
    }

    /// What an administrator does at the node.
    async fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut Account) + Send + 'static,
    ) -> Result<bool, IdentityError> {
        let (directory, user) = (Arc::clone(&self.directory), user(name));
        tokio::task::spawn_blocking(move || directory.change(&user, change)).await.unwrap()
    }

    async fn put(&self, account: Account) {
        let directory = Arc::clone(&self.directory);
        tokio::task::spawn_blocking(move || directory.put(account)).await.unwrap().unwrap();
    }

    async fn remove(&self, name: &str) {
        let (directory, user) = (Arc::clone(&self.directory), user(name));
        let removed = tokio::task::spawn_blocking(move || directory.remove(clock(0)(), &user)).await.unwrap();
        assert_eq!(removed, Ok(true));
    }

    fn account(&self, name: &str) -> Option<Account> {
        self.directory.account(&user(name)).unwrap()
    }

    /// Waits until it knows of the user what is wanted.
    async fn knows(&self, name: &str, is_wanted: impl Fn(Option<&Account>) -> bool) {
        let wait = async {
            while !is_wanted(self.account(name).as_ref()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let known = timeout(PATIENCE, wait).await;
        assert!(known.is_ok(), "{name}: {:?}", self.account(name));
    }

    async fn login(&self, name: &str, password: &str, code: Option<&str>) -> Result<String, Refused> {
        let request = LoginRequest::new("/", name, password, HOME);
        match self.node.service.login(LoginRequest { code: code.map(str::to_owned), ..request }).await? {
            Login::Granted(granted, _) => Ok(granted.token),
            other @ (Login::Recognized(_) | Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_)) => {
                panic!("{other:?}")
            }
        }
    }
}

fn is_disabled(account: Option<&Account>) -> bool {
    account.is_some_and(|account| account.disabled)
}

async fn two(plan: &Plan) -> (Sharer, Sharer) {
    let one = Sharer::empty(plan).await;
    one.put(account("anna")).await;
    let other = Sharer::empty(plan).await;
    (one, other)
}

/// The finding: a user who was disabled on one node logged in on the others.
#[tokio::test]
async fn who_is_disabled_on_one_node_is_refused_on_all_and_loses_their_sessions() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("users-disabled").await else { return };
    let plan = Plan::new(servers.addresses(), "users-disabled", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    // A node that starts is not ready before it has read them.
    let token = b.login("anna", "secret", None).await.unwrap();
    let c = Sharer::empty(&plan).await;
    c.login("anna", "secret", None).await.unwrap();
    assert_eq!(a.change("anna", |account| account.disabled = true).await, Ok(true));
    for node in [&b, &c] {
        node.knows("anna", is_disabled).await;
        assert_eq!(node.login("anna", "secret", None).await, Err(Refused::Wrong));
    }
    b.node.until(&token, is_refused).await;
    assert_eq!(c.change("anna", |account| account.disabled = false).await, Ok(true));
    b.knows("anna", |account| !is_disabled(account)).await;
    b.login("anna", "secret", None).await.unwrap();
}

/// As `durward users passwd` beside the running node.
#[tokio::test]
async fn another_password_in_the_file_of_one_node_counts_on_the_others() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-password", "").await else { return };
    let folder = Folder::new("password");
    let plan = Plan::one(servers.addresses(), "users-password", Mode::AssuredWrite);
    let command = open(&folder.path("a"));
    command.put(account("anna")).unwrap();
    let a = Sharer::begin(&plan, open(&folder.path("a"))).await;
    let b = Sharer::begin(&plan, open(&folder.path("b"))).await;
    b.knows("anna", |account| account.is_some()).await;
    let old = b.login("anna", "secret", None).await.unwrap();
    command.set_password(clock(0)(), &user("anna"), &Password::new("another").unwrap()).unwrap();
    b.node.until(&old, is_refused).await;
    b.knows("anna", |account| account.is_some_and(|account| account.password_since_ms > 0)).await;
    assert_eq!(b.login("anna", "secret", None).await, Err(Refused::Wrong));
    // Nobody loses a session that began after.
    let new = b.login("anna", "another", None).await.unwrap();
    let again = a.login("anna", "another", None).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(b.node.validate(&new).await, Ok(()));
    assert_eq!(b.node.validate(&again).await, Ok(()));
    assert_eq!(open(&folder.path("b")).account(&user("anna")).unwrap(), a.account("anna"));
}

#[tokio::test]
async fn who_must_change_the_password_is_asked_on_every_node_and_done_on_all() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("users-marked").await else { return };
    let plan = Plan::new(servers.addresses(), "users-marked", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    let c = Sharer::empty(&plan).await;
    assert_eq!(a.change("anna", |account| account.must_change_password = true).await, Ok(true));
    let is_marked = |account: Option<&Account>| account.is_some_and(|account| account.must_change_password);
    for node in [&b, &c] {
        node.knows("anna", is_marked).await;
    }
    let login = b.node.service.login(LoginRequest::new("/", "anna", "secret", HOME)).await;
    let Ok(Login::PasswordChangeNeeded(change)) = login else { panic!("{login:?}") };
    // What one node gave out, another one takes.
    let chosen = c.node.service.choose_password(PasswordChoice::new(&change, "another", HOME)).await;
    assert!(matches!(chosen, Ok(Login::Granted(..))), "{chosen:?}");
    for node in [&a, &b] {
        node.knows("anna", |account| !is_marked(account)).await;
        node.login("anna", "another", None).await.unwrap();
        assert_eq!(node.login("anna", "secret", None).await, Err(Refused::Wrong));
    }
}

#[tokio::test]
async fn a_code_that_was_used_on_one_node_stays_used_on_the_others_whatever_their_files_say() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-codes", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-codes", Mode::AssuredWrite);
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let (recovery, kept) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let step = SecondStep { totp: totp.clone(), used: None, recovery: kept };
    let (a, b) = two(&plan).await;
    a.put(Account { second_step: Some(step), ..account("berta") }).await;
    b.knows("berta", |account| account.is_some()).await;
    let code = totp.code(clock(0)());
    a.login("berta", "secret", Some(&code)).await.unwrap();
    assert_eq!(b.login("berta", "secret", Some(&code)).await, Err(Refused::Wrong));
    b.login("berta", "secret", Some(&recovery[0])).await.unwrap();
    assert_eq!(a.login("berta", "secret", Some(&recovery[0])).await, Err(Refused::Wrong));
    // What both did is known to both, and to one that starts later.
    let c = Sharer::empty(&plan).await;
    for node in [&a, &b, &c] {
        let is_used = |account: Option<&Account>| {
            let step = account.and_then(|account| account.second_step.as_ref());
            step.is_some_and(|step| step.used.is_some() && step.recovery.left() == recovery.len() - 1)
        };
        node.knows("berta", is_used).await;
    }
}

#[tokio::test]
async fn who_was_removed_is_not_brought_back_by_a_node_with_an_old_file() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-removed", "").await else { return };
    let folder = Folder::new("removed");
    let plan = Plan::one(servers.addresses(), "users-removed", Mode::AssuredWrite);
    // One file was never shared, the other was at a time when Anna was there.
    open(&folder.path("old")).import(vec![account("anna"), account("carl")]).unwrap();
    let (a, b) = two(&plan).await;
    let away = Sharer::begin(&plan, open(&folder.path("away"))).await;
    away.knows("anna", |account| account.is_some()).await;
    away.node.stop().await;
    let token = b.login("anna", "secret", None).await.unwrap();
    a.remove("anna").await;
    b.node.until(&token, is_refused).await;
    assert_eq!(b.login("anna", "secret", None).await, Err(Refused::Wrong));
    for name in ["away", "old"] {
        let late = Sharer::begin(&plan, open(&folder.path(name))).await;
        assert_eq!(late.login("anna", "secret", None).await, Err(Refused::Wrong), "{name}");
        late.node.stop().await;
    }
    // What gave way is kept.
    assert!(open(&folder.path("old.before-cluster")).account(&user("anna")).unwrap().is_some());
    assert!(!folder.path("away.before-cluster").exists());
    // Carl was only in that file.
    b.knows("carl", |account| account.is_some()).await;
    assert_eq!((a.account("anna"), b.account("anna")), (None, None));
}

#[tokio::test]
async fn a_node_that_was_away_learns_what_was_changed_and_tells_what_was_changed_in_its_file() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-away", "").await else { return };
    let folder = Folder::new("away");
    let plan = Plan::one(servers.addresses(), "users-away", Mode::AssuredWrite);
    let (a, _) = two(&plan).await;
    a.put(account("berta")).await;
    let b = Sharer::begin(&plan, open(&folder.path("b"))).await;
    b.knows("berta", |account| account.is_some()).await;
    b.node.stop().await;
    let to = |groups: &'static str| move |account: &mut Account| account.groups = vec![groups.to_owned()];
    a.change("anna", |account| account.disabled = true).await.unwrap();
    a.change("berta", to("staff")).await.unwrap();
    a.put(account("dora")).await;
    // `durward users` while the node does not run.
    let command = open(&folder.path("b"));
    command.change(&user("anna"), to("night")).unwrap();
    command.change(&user("berta"), |account| account.disabled = true).unwrap();
    command.put(account("emil")).unwrap();
    drop(command);
    let b = Sharer::begin(&plan, open(&folder.path("b"))).await;
    for name in ["anna", "berta"] {
        let is_both = |account: Option<&Account>| {
            is_disabled(account) && account.is_some_and(|it| !it.groups.is_empty())
        };
        a.knows(name, is_both).await;
        b.knows(name, is_both).await;
    }
    a.knows("emil", |account| account.is_some()).await;
    b.login("dora", "secret", None).await.unwrap();
}

async fn context(servers: &Servers) -> Context {
    async_nats::jetstream::new(async_nats::connect(servers.addresses()).await.unwrap())
}

/// The messages of the only user.
async fn messages(context: &Context, stream: &str) -> Vec<StreamMessage> {
    let mut stream = context.get_stream(format!("{stream}-users")).await.unwrap();
    let last = stream.info().await.unwrap().state.last_sequence;
    let mut messages = Vec::new();
    for number in 1..=last {
        // Marks are gone after a while.
        if let Ok(message) = stream.get_raw_message(number).await
            && message.subject.as_str().contains(".u.")
        {
            messages.push(message);
        }
    }
    messages
}

#[tokio::test]
async fn records_that_were_altered_and_old_ones_that_are_sent_again_count_for_nothing() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-forged", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-forged", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    b.login("anna", "secret", None).await.unwrap();
    assert_eq!(a.change("anna", |account| account.disabled = true).await, Ok(true));
    b.knows("anna", is_disabled).await;
    let context = context(&servers).await;
    let all = messages(&context, "users-forged").await;
    let [old, new] = all.as_slice() else { panic!("{}", all.len()) };
    assert!(!new.payload.windows(4).any(|window| window == b"anna"), "names are not to be read");
    let mut altered = old.payload.to_vec();
    *altered.last_mut().unwrap() ^= 1;
    let elsewhere = new.subject.replace(".u.", ".u.00");
    for (subject, payload) in [
        (old.subject.to_string(), old.payload.clone()),
        (old.subject.to_string(), altered.into()),
        (old.subject.to_string(), "junk".into()),
        (elsewhere, old.payload.clone()),
        (old.subject.to_string(), old.payload.clone()),
    ] {
        context.publish(subject, payload).await.unwrap().await.unwrap();
    }
    // One that knows nothing yet.
    let c = Sharer::empty(&plan).await;
    for node in [&a, &b, &c] {
        assert_eq!(node.login("anna", "secret", None).await, Err(Refused::Wrong));
    }
    // What stands last is put right, and users can be changed.
    let last = async {
        loop {
            let all = messages(&context, "users-forged").await;
            let of_anna: Vec<_> = all.iter().filter(|message| message.subject == old.subject).collect();
            let last = of_anna.last().unwrap();
            if last.payload != old.payload {
                return last.sequence;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, last).await.expect("nobody puts it right");
    let enable = async {
        while a.change("anna", |account| account.disabled = false).await != Ok(true) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, enable).await.expect("Anna cannot be changed");
    c.knows("anna", |account| !is_disabled(account)).await;
    c.login("anna", "secret", None).await.unwrap();
}

#[tokio::test]
async fn of_two_changes_at_the_same_moment_none_that_was_acknowledged_is_lost() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-race", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-race", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    b.knows("anna", |account| account.is_some()).await;
    let mut acknowledged = Vec::new();
    for round in 0..30 {
        let add = |name: String| move |account: &mut Account| account.groups.push(name);
        let (one, other) = (format!("a-{round}"), format!("b-{round}"));
        let both = tokio::join!(a.change("anna", add(one.clone())), b.change("anna", add(other.clone())));
        for (done, name) in [(both.0, one), (both.1, other)] {
            match done {
                Ok(is_there) => {
                    assert!(is_there);
                    acknowledged.push(name);
                }
                Err(error) => assert!(error.to_string().contains("try again"), "{error}"),
            }
        }
        if round % 3 == 0 {
            sleep(Duration::from_millis(30)).await;
        }
    }
    assert!(acknowledged.len() > 10, "{acknowledged:?}");
    for node in [&a, &b] {
        let has_all = |account: Option<&Account>| {
            account.is_some_and(|account| acknowledged.iter().all(|group| account.groups.contains(group)))
        };
        node.knows("anna", has_all).await;
    }
    let groups = a.account("anna").unwrap().groups;
    assert_eq!((groups.len(), b.account("anna").unwrap().groups), (acknowledged.len(), groups.clone()));
}

#[tokio::test]
async fn without_the_store_nothing_is_acknowledged_and_nobody_gets_in() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-lost", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-lost", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    b.knows("anna", |account| account.is_some()).await;
    servers.stop(0);
    assert!(a.change("anna", |account| account.disabled = true).await.is_err());
    assert!(!is_disabled(a.account("anna").as_ref()));
    let lacks = async {
        while b.node.service.outlook().lack.is_none() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, lacks).await.expect("it does not notice");
    assert!(matches!(b.login("anna", "secret", None).await, Err(Refused::Unavailable(_))));
    servers.go_on(0);
    a.node.is_ready().await;
    b.node.is_ready().await;
    let disable = async {
        while a.change("anna", |account| account.disabled = true).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, disable).await.expect("it does not go on");
    b.knows("anna", is_disabled).await;
}

/// Nodes know what it held, by memory and by file.
#[tokio::test]
async fn a_stream_that_was_deleted_is_written_again_as_the_nodes_know_it() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-anew", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-anew", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    assert_eq!(a.change("anna", |account| account.disabled = true).await, Ok(true));
    b.knows("anna", is_disabled).await;
    let context = context(&servers).await;
    context.delete_stream("users-anew-users").await.unwrap();
    let written = async {
        loop {
            if context.get_stream("users-anew-users").await.is_ok()
                && !messages(&context, "users-anew").await.is_empty()
            {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, written).await.expect("nobody writes it again");
    let c = Sharer::empty(&plan).await;
    c.knows("anna", is_disabled).await;
    assert_eq!(c.login("anna", "secret", None).await, Err(Refused::Wrong));
}

#[tokio::test]
async fn a_node_with_another_secret_knows_none_of_the_users_and_changes_none() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("users-stranger", "").await else { return };
    let plan = Plan::one(servers.addresses(), "users-stranger", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    let directory = Arc::new(Directory::in_memory(COSTS, Arc::new(SystemEntropy)).unwrap());
    directory.put(Account { disabled: true, ..account("anna") }).unwrap();
    let stranger = Plan { secret: [8; 32], ..plan }.start_with(Arc::clone(&directory), Sharing::Users);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(stranger.service.outlook().lack, Some(Lack::Starting));
    assert!(!is_disabled(a.account("anna").as_ref()));
    b.login("anna", "secret", None).await.unwrap();
}

/// A figure for the manual: `cargo test -p durward-session --test cluster -- --ignored --nocapture how_long`.
#[tokio::test]
#[ignore = "a measurement, for a machine that does nothing else"]
async fn how_long_it_takes_until_what_was_changed_on_one_node_counts_on_another() {
    const ROUNDS: usize = 1_000;
    let _turn = turn().await;
    let Some(servers) = Servers::start("users-figure").await else { return };
    let plan = Plan::new(servers.addresses(), "users-figure", Mode::AssuredWrite);
    let (a, b) = two(&plan).await;
    b.knows("anna", |account| account.is_some()).await;
    let (mut acknowledged, mut counted) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let group = format!("group-{round}");
        let wanted = group.clone();
        let begun = Instant::now();
        assert_eq!(a.change("anna", |account| account.groups = vec![group]).await, Ok(true));
        acknowledged.push(begun.elapsed());
        while !b.account("anna").is_some_and(|account| account.groups.contains(&wanted)) {
            sleep(Duration::from_micros(100)).await;
        }
        counted.push(begun.elapsed());
    }
    for (what, mut times) in [("acknowledged", acknowledged), ("counts on the other node", counted)] {
        times.sort();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1000.0;
        eprintln!("{what}: p50 {:.2} ms, p99 {:.2} ms, of {ROUNDS} changes", at(50), at(99));
    }
}
