//! Second steps of users in a real directory, kept beside it on nodes that share their users over real servers.

use std::sync::Arc;
use std::time::Duration;

use durward_identity::protocol::Mode;
use durward_identity::session::{Properties, User};
use durward_identity::user::{Account, Directory, RecoveryCodes, SecondStep, Totp, UserStore as _};
use durward_identity::{Moment, SystemEntropy};
use durward_session::ldap::{LdapDirectory, LdapSettings};
use durward_session::{
    AccountHolder, Administrator, Beside, Login, LoginRequest, Refused, UserDirectory as _,
};
use tokio::time::{sleep, timeout};

use crate::nodes::{COSTS, HOME, Node, PATIENCE, Plan, Sharing, clock};
use crate::servers::Servers;
use crate::slapd::{BASE, Far, SEARCHER, Slapd};
use crate::users::Folder;
use crate::{is_refused, turn};

/// A node, and what it keeps beside the directory.
struct Keeper {
    node: Node,
    kept: Arc<Directory>,
    users: Arc<Beside>,
}

fn anna() -> User {
    User::new("/", "anna").unwrap()
}

fn now() -> Moment {
    clock(0)()
}

impl Keeper {
    async fn begin(plan: &Plan, slapd: &Slapd) -> Keeper {
        Keeper::of(plan, slapd, Directory::in_memory(COSTS, Arc::new(SystemEntropy)).unwrap()).await
    }

    async fn of(plan: &Plan, slapd: &Slapd, kept: Directory) -> Keeper {
        let settings = LdapSettings {
            ca_file: Some(slapd.ca()),
            search_as: Some((SEARCHER.to_owned(), slapd.password())),
            ..LdapSettings::new(vec![slapd.tls_url()], BASE)
        };
        let kept = Arc::new(kept);
        let users = Beside::new(Arc::new(LdapDirectory::new(settings, clock(0)).unwrap()), Arc::clone(&kept));
        let users = Arc::new(users);
        let node = plan.start_of(Arc::clone(&kept), users.clone(), Sharing::Users);
        node.is_ready().await;
        Keeper { node, kept, users }
    }

    async fn login(&self) -> Result<Login, Refused> {
        self.node.service.login(LoginRequest::new("/", "anna", "secret", HOME)).await
    }

    async fn token(&self) -> String {
        match self.login().await {
            Ok(Login::Granted(granted, _)) => granted.token,
            other => panic!("{other:?}"),
        }
    }

    async fn challenge(&self) -> String {
        match self.login().await {
            Ok(Login::CodeNeeded(challenge)) => challenge,
            other => panic!("{other:?}"),
        }
    }

    async fn answer(&self, challenge: &str, code: &str) -> Result<String, Refused> {
        match self.node.service.answer_challenge(challenge, code, HOME, Properties::new()).await? {
            Login::Granted(granted, _) => Ok(granted.token),
            other @ (Login::Recognized(_) | Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_)) => {
                panic!("{other:?}")
            }
        }
    }

    /// Begun here, finished there. The device and the recovery codes.
    async fn enrol(&self, there: &Keeper, token: &str) -> (Totp, Vec<String>) {
        let holder = AccountHolder::new(token, HOME);
        let begun = self.node.service.accounts().begin_second_step(holder, "secret").await.unwrap();
        let code = begun.totp.code(Moment::from_ms(now().ms() - 30_000));
        let accounts = there.node.service.accounts();
        let recovery = accounts.confirm_second_step(holder, &begun.enrolment, &code).await.unwrap();
        (begun.totp, recovery)
    }

    /// Waits until it knows of the user what is wanted.
    async fn knows(&self, is_wanted: impl Fn(Option<&Account>) -> bool) {
        let wait = async {
            while !is_wanted(self.kept.account(&anna()).unwrap().as_ref()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(PATIENCE, wait).await.is_ok(), "{:?}", self.kept.list());
    }
}

fn has_step(account: Option<&Account>) -> bool {
    account.is_some_and(|account| account.second_step.is_some())
}

#[tokio::test]
async fn codes_that_are_set_up_on_one_node_are_asked_for_and_used_up_on_all() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("beside", "").await else { return };
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let plan = Plan::one(servers.addresses(), "beside", Mode::AssuredWrite);
    let (a, b) = (Keeper::begin(&plan, &slapd).await, Keeper::begin(&plan, &slapd).await);
    let (old, token) = (b.token().await, a.token().await);
    let (totp, recovery) = a.enrol(&b, &token).await;
    for keeper in [&a, &b] {
        keeper.knows(has_step).await;
        keeper.node.until(&old, is_refused).await;
    }
    // The password is right on one node, and the code on the other; it is used up on both.
    for code in [totp.code(now()), recovery[0].clone()] {
        let (here, there) = (a.challenge().await, b.challenge().await);
        b.answer(&here, &code).await.unwrap();
        assert_eq!(a.answer(&there, &code).await, Err(Refused::Wrong));
    }
    // A node that starts knows it, too.
    let c = Keeper::begin(&plan, &slapd).await;
    let challenge = c.challenge().await;
    assert_eq!(c.answer(&challenge, &recovery[0]).await, Err(Refused::Wrong));
    let session = c.answer(&challenge, &recovery[1]).await.unwrap();
    let by = Administrator::operator("test");
    a.node.service.accounts().remove_second_step_of(&by, &anna()).await.unwrap();
    for keeper in [&b, &c] {
        keeper.knows(|account| !has_step(account)).await;
        keeper.node.until(&session, is_refused).await;
        keeper.token().await;
    }
}

/// `durward users second-step` beside one of the nodes: nothing was kept of the user before.
#[tokio::test]
async fn codes_of_a_command_end_sessions_on_all_nodes() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("beside-command", "").await else { return };
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let plan = Plan::one(servers.addresses(), "beside-command", Mode::AssuredWrite);
    let folder = Folder::new("beside-command");
    let open = || Directory::open(&folder.path("users"), COSTS, Arc::new(SystemEntropy)).unwrap();
    let (a, b) = (Keeper::of(&plan, &slapd, open()).await, Keeper::begin(&plan, &slapd).await);
    let (here, there) = (a.token().await, b.token().await);
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let second_step = Some(SecondStep { totp, used: None, recovery: RecoveryCodes::default() });
    let entry = a.users.account(&anna()).await.unwrap().unwrap().entry;
    assert!(entry.is_some());
    let account = Account { second_step, entry, password_since_ms: now().ms(), ..Account::new(&anna()) };
    assert_eq!(open().add(account), Ok(true));
    for keeper in [&a, &b] {
        keeper.knows(has_step).await;
        keeper.node.until(&here, is_refused).await;
        keeper.node.until(&there, is_refused).await;
        keeper.challenge().await;
    }
}
