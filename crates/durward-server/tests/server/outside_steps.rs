//! Second steps that are kept beside a directory outside.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use durward_session::identity::session::User;
use durward_session::identity::user::{
    Account, Directory as Users, HashCosts, RecoveryCodes, SecondStep, Totp,
};
use durward_session::identity::{Moment, SystemEntropy};
use serde_json::json;

use crate::identity::post;
use crate::slapd::{BASE, Far, SEARCHER, Slapd};
use crate::support::{DOCTORS_READ, Directory, TestServer, clock};

/// Whoever takes a section out of the settings does not say by that that a password is enough.
#[test]
fn a_second_step_beside_a_directory_is_asked_for_also_where_passkeys_are_off() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(slapd) = runtime.block_on(Slapd::start(Far::Nowhere)) else { return };
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    let costs = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
    let users = Users::open(&directory.path("users"), costs, Arc::new(SystemEntropy)).unwrap();
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let step = SecondStep { totp: totp.clone(), used: None, recovery: RecoveryCodes::default() };
    users.put(Account { second_step: Some(step), ..Account::new(&User::new("/", "anna").unwrap()) }).unwrap();
    drop(users);
    let settings = format!(
        "identity.users = 'users'\nidentity.realms = []\n[[identity.ldap]]\nservers = ['{}']\nbase = '{BASE}'\n\
         authorities = '{}'\nsearch_as = '{SEARCHER}'\nsearch_password_path = '{}'",
        slapd.tls_url(),
        slapd.ca().display(),
        slapd.password().display()
    );
    let server = TestServer::start_in(directory, &settings).unwrap();
    let login = |name: &str| post(&server, "/v1/login", None, &json!({ "user": name, "password": "secret" }));
    server.eventually("a login", |_| login("berta").status == 200);
    let asked = login("anna");
    assert_eq!(asked.status, 202, "{}", asked.text());
    let now = clock()().duration_since(UNIX_EPOCH).unwrap();
    let code = totp.code(Moment::from_ms(u64::try_from(now.as_millis()).unwrap()));
    let answer = json!({ "challenge": asked.json()["challenge"], "code": code });
    let logged_in = post(&server, "/v1/login/code", None, &answer);
    assert_eq!(logged_in.status, 200, "{}", logged_in.text());
}
