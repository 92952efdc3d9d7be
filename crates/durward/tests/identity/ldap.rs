//! `[[identity.ldap]]` through `durward serve`: a real directory says who may log in.

use serde_json::{Value, json};

use crate::attack_table::injections;
use crate::caller::{Said, call};
use crate::node::Node;
use crate::slapd::{BASE, Far, GROUPS, SEARCHER, Slapd};

fn settings(slapd: &Slapd, more: &str) -> String {
    format!(
        "mode = 'none'\n[[identity.ldap]]\nservers = ['{}']\nauthorities = '{}'\nbase = '{BASE}'\n\
         search_as = '{SEARCHER}'\nsearch_password_path = '{}'\nattributes = ['title']\ngroups_base = '{GROUPS}'\n{more}",
        slapd.tls_url(),
        slapd.ca().display(),
        slapd.password().display(),
    )
}

#[tokio::test]
async fn users_of_a_directory_log_in_and_policies_see_their_groups_and_attributes() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let node = Node::new("ldap", &settings(&slapd, ""));
    let read = "policy \"doctors\" permit action == \"read\"; \"doctor\" in subject.attributes.title;\n";
    let change = "policy \"heads\" permit action == \"change\"; \"administrators\" in subject.groups;\n";
    std::fs::write(node.path("policies/all.sapl"), read).unwrap();
    std::fs::write(node.path("policies/heads.sapl"), change).unwrap();
    node.begin().await;
    node.is_ready().await;
    let anna = session(&node, "anna").await;
    assert_eq!(node.validate(&anna).await, Said::Yes(()));
    assert!(matches!(node.login("anna", "other").await, Said::No(why) if why.starts_with("401")));
    assert!(matches!(node.login("nobody", "secret").await, Said::No(why) if why.starts_with("401")));
    for name in injections("anna") {
        let login = node.login(&name, "secret").await;
        assert!(matches!(&login, Said::No(why) if why.starts_with("401")), "{name:.40}: {login:?}");
    }
    assert_eq!(decision(&node, &anna, "read").await, "PERMIT");
    // A group of hers is called so, and lies elsewhere than groups do.
    assert_eq!(decision(&node, &anna, "change").await, "DENY");
    let berta = session(&node, "berta").await;
    assert_eq!(decision(&node, &berta, "change").await, "PERMIT");
    slapd.end();
    // Nobody can say whether it is her, which is no fault of hers; her session is not the directory's affair.
    assert!(matches!(node.login("anna", "secret").await, Said::Nothing(why) if why.contains("directory")));
    assert_eq!(node.validate(&anna).await, Said::Yes(()));
    slapd.begin();
    assert!(slapd.listens().await);
    session(&node, "anna").await;
}

#[tokio::test]
async fn a_directory_that_shows_another_authoritys_certificate_is_not_believed() {
    let Some(slapd) = Slapd::start(Far::Nowhere).await else { return };
    let other = crate::node::Folder::new("other-authority");
    crate::certificates::authority(&other.0);
    let settings = settings(&slapd, "")
        .replace(&slapd.ca().display().to_string(), &other.0.join("ca.pem").display().to_string());
    let node = Node::new("ldap-distrustful", &settings);
    node.begin().await;
    node.is_ready().await;
    assert!(matches!(node.login("anna", "secret").await, Said::Nothing(_)));
    node.eventually("the log says why", async || node.log().contains("certificate")).await;
}

/// A session, however long the directory takes to be asked.
async fn session(node: &Node, user: &str) -> String {
    let mut token = None;
    node.eventually("the directory answers", async || match node.login(user, "secret").await {
        Said::Yes(new) => {
            token = Some(new);
            true
        }
        Said::No(why) => panic!("{why}"),
        Said::Nothing(_) => false,
    })
    .await;
    token.unwrap()
}

async fn decision(node: &Node, token: &str, action: &str) -> Value {
    let question = json!({ "subject": { "session": token }, "action": action, "resource": "records" });
    let answer = call(node.address().unwrap(), "POST", "/api/pdp/decide-once", "", &question).await.unwrap();
    answer.json()["decision"].clone()
}

/// Says what the command said, and whether it went well.
fn command(node: &Node, arguments: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new(crate::binary::binary());
    let ran = command.args(["users", "second-step"]).args(arguments).arg("--config");
    let ran = ran.arg(node.path("durward.toml")).output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (ran.status.success(), said)
}

#[tokio::test]
async fn a_command_gives_and_takes_second_steps_of_users_of_a_directory() {
    let Some(mut slapd) = Slapd::start(Far::Nowhere).await else { return };
    let more = "realms = ['/']\n";
    let text = format!("users = 'users'\nrealms = []\n{}", settings(&slapd, more));
    let node = Node::new("ldap-second-step", &text);
    node.begin().await;
    node.is_ready().await;
    let anna = session(&node, "anna").await;
    let (is_given, said) = command(&node, &["ANNA"]);
    // Kept under the name that the directory writes.
    assert!(is_given && said.contains("otpauth://totp/durward:anna?"), "{said}");
    let recovery = said.lines().last().unwrap().trim().to_owned();
    node.eventually("the session ends", async || matches!(node.validate(&anna).await, Said::No(_))).await;
    let address = node.address().unwrap();
    let credentials = json!({ "user": "anna", "password": "secret" });
    let half = call(address, "POST", "/v1/login", "", &credentials).await.unwrap();
    assert_eq!(half.status, 202, "{half:?}");
    let with_code = json!({ "challenge": half.json()["challenge"], "code": recovery });
    let granted = call(address, "POST", "/v1/login/code", "", &with_code).await.unwrap();
    assert_eq!((granted.status, &granted.json()["level"]), (200, &json!(1)));
    let (is_given, said) = command(&node, &["nobody"]);
    assert!(!is_given && said.contains("has no user `nobody`"), "{said}");
    assert!(!command(&node, &["berta", "--remove"]).0, "she has none");
    let (is_removed, said) = command(&node, &["anna", "--remove"]);
    assert!(is_removed, "{said}");
    node.eventually("the password is enough", async || {
        let login = call(address, "POST", "/v1/login", "", &credentials).await.unwrap();
        login.status == 200
    })
    .await;
    slapd.end();
    let (is_given, said) = command(&node, &["berta"]);
    assert!(!is_given && !said.contains("otpauth"), "{said}");
}
