//! Logins with browsers in a cluster: each step of a flow at the other node, as a load balancer sends it.

use std::collections::BTreeMap;

use crate::caller::{Answer, browse, call, call_form};
use crate::nats_servers::Servers;
use crate::node::Node;
use crate::turn;

const OAUTH: &str = "replicas = 1
[oauth]
issuer = 'https://id.example.org'
[[oauth.clients]]
id = 'app'
public = true
grants = ['authorization-code', 'refresh-token']
redirect_uris = ['https://app.example/cb']
post_logout_redirect_uris = ['https://app.example/bye']
scopes = ['openid', 'profile']
";

/// RFC 7636, appendix B: what the challenge was made of.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

const AUTHORIZE: &str = "/oauth2/authorize?client_id=app&redirect_uri=https://app.example/cb&response_type=code&scope=openid&state=s\
                         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

/// Keeps cookies, and shows them to whichever node it is sent to: both have one name for it.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

impl Browser {
    async fn ask(&mut self, node: &Node, line: &str, form: &str) -> Answer {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = browse(node.address().unwrap(), line, &cookies.join("; "), form).await.unwrap();
        for cookie in answer.headers("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// What the browser brings to the application without a word to the user: a code, or an error.
    async fn silently(&mut self, node: &Node) -> Result<String, String> {
        brought(&self.ask(node, &format!("GET {AUTHORIZE}&prompt=none"), "").await)
    }

    /// A page at one node, and its form at another one.
    async fn login(&mut self, at: &Node, then: &Node) -> String {
        let page = self.ask(at, &format!("GET {AUTHORIZE}"), "").await;
        let (_, rest) = page.body.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("{page:?}"));
        let csrf = rest.split('"').next().unwrap();
        let form = format!("csrf={csrf}&username=user-0&password=secret");
        brought(&self.ask(then, "POST /oauth2/login", &form).await).unwrap()
    }
}

/// A code, or an error.
fn brought(answer: &Answer) -> Result<String, String> {
    assert_eq!(answer.status, 303, "{answer:?}");
    let place = answer.headers("location").next().unwrap();
    let query = place.strip_prefix("https://app.example/cb?").unwrap();
    let get = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    assert_eq!(get("state"), Some("s"));
    match (get("code"), get("error")) {
        (Some(code), None) => Ok(code.to_owned()),
        (None, Some(error)) => Err(error.to_owned()),
        (Some(_) | None, _) => panic!("{place}"),
    }
}

/// Asks the token endpoint of a node: all that it gave, or its error.
async fn token(node: &Node, form: &[(&str, &str)]) -> Result<Tokens, String> {
    let form = [&[("client_id", "app")], form].concat();
    let answer = call_form(node.address().unwrap(), "/oauth2/token", &form).await.unwrap();
    let said = answer.json();
    let get = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    if answer.status != 200 {
        return Err(get("error"));
    }
    Ok(Tokens { access: get("access_token"), refresh: get("refresh_token"), id: get("id_token") })
}

struct Tokens {
    access: String,
    refresh: String,
    id: String,
}

async fn exchange(node: &Node, code: &str) -> Result<Tokens, String> {
    let form = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
    token(node, &[&form[..], &[("redirect_uri", "https://app.example/cb")]].concat()).await
}

async fn refresh(node: &Node, old: &str) -> Result<Tokens, String> {
    token(node, &[("grant_type", "refresh_token"), ("refresh_token", old)]).await
}

/// Whether a token is believed.
async fn is_good(node: &Node, access: &str) -> bool {
    let answer = call(node.address().unwrap(), "GET", "/oauth2/userinfo", access, &serde_json::json!({}))
        .await
        .unwrap();
    match answer.status {
        200 => answer.json()["sub"] == "user-0",
        401 => false,
        _ => panic!("{answer:?}"),
    }
}

fn over<T>(answer: Result<T, String>) {
    assert_eq!(answer.err().as_deref(), Some("invalid_grant"));
}

/// Two nodes in a cluster, for a test.
async fn nodes(test: &str, mode: &str) -> Option<(Servers, Node, Node)> {
    let servers = Servers::start_one(&format!("{test}-{mode}"), "").await?;
    let node =
        |name: &str| Node::of_cluster(&format!("{test}-{mode}-{name}"), mode, &servers.addresses(), OAUTH);
    let (a, b) = (node("a"), node("b"));
    for node in [&a, &b] {
        node.begin().await;
        node.is_ready().await;
    }
    // The first key of sessions comes a moment after the start.
    let _ = a.session().await;
    Some((servers, a, b))
}

#[tokio::test]
async fn each_step_of_a_login_is_good_at_the_other_node() {
    let _turn = turn().await;
    for mode in ["best-effort", "assured-write", "assured-read"] {
        let Some((_servers, a, b)) = nodes("steps", mode).await else { return };
        let mut browser = Browser::default();
        let code = browser.login(&a, &b).await;
        let first = exchange(&a, &code).await.unwrap();
        b.eventually("it knows the session", async || is_good(&b, &first.access).await).await;
        let second = refresh(&b, &first.refresh).await.unwrap();
        let third = refresh(&a, &second.refresh).await.unwrap();
        assert!(is_good(&a, &third.access).await && is_good(&b, &third.access).await, "{mode}");
        // A session of one is one of the other, for applications that ask silently.
        let code = browser.silently(&a).await.unwrap();
        assert!(exchange(&b, &code).await.is_ok(), "{mode}");
        // Out at one is out at both.
        let place = format!(
            "GET /oauth2/logout?id_token_hint={}&post_logout_redirect_uri=https://app.example/bye",
            third.id
        );
        let session = browser.cookies.clone();
        let out = browser.ask(&b, &place, "").await;
        assert_eq!(out.headers("location").next(), Some("https://app.example/bye"), "{out:?}");
        // Whoever has kept the cookie has kept nothing.
        let mut kept = Browser { cookies: session };
        for node in [&a, &b] {
            node.eventually("the session is over", async || !is_good(node, &third.access).await).await;
            assert_eq!(kept.silently(node).await, Err("login_required".to_owned()), "{mode}");
            over(refresh(node, &third.refresh).await);
        }
    }
}

#[tokio::test]
async fn what_was_used_at_one_node_ends_all_when_it_is_used_at_the_other() {
    let _turn = turn().await;
    for mode in ["assured-write", "assured-read"] {
        let Some((_servers, a, b)) = nodes("used-again", mode).await else { return };
        let mut browser = Browser::default();
        let code = browser.login(&a, &b).await;
        // The code: at once, as the store orders what nodes say.
        let tokens = exchange(&a, &code).await.unwrap();
        over(exchange(&b, &code).await);
        for node in [&a, &b] {
            node.eventually("its tokens end", async || !is_good(node, &tokens.access).await).await;
            over(refresh(node, &tokens.refresh).await);
        }
        // A refresh token: two uses of it, and all that came after the first.
        let code = browser.silently(&b).await.unwrap();
        let first = exchange(&b, &code).await.unwrap();
        let second = refresh(&a, &first.refresh).await.unwrap();
        let third = refresh(&b, &second.refresh).await.unwrap();
        over(refresh(&a, &first.refresh).await);
        for node in [&a, &b] {
            node.eventually("the family ends", async || !is_good(node, &third.access).await).await;
            over(refresh(node, &third.refresh).await);
            over(refresh(node, &second.refresh).await);
        }
        // The same token at both at the same moment: one gets another, at most.
        let code = browser.silently(&a).await.unwrap();
        let one = exchange(&a, &code).await.unwrap();
        let (here, there) = tokio::join!(refresh(&a, &one.refresh), refresh(&b, &one.refresh));
        let given = [&here, &there].iter().filter(|answer| answer.is_ok()).count();
        assert!(given <= 1, "{mode}: {given}");
        // The user is still signed in.
        assert!(browser.silently(&a).await.is_ok() && browser.silently(&b).await.is_ok(), "{mode}");
    }
}
