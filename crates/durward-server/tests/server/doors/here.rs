//! Checks of Envoy whose bytes alone decide them, and the same ones on the long way, which credentials of a gateway take that needs none.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use durward_pdp::ir::path::{Element, Path};
use durward_pdp::ir::question::Attributes;
use durward_server::decider::{
    Decider, Decision, Decisions, Full, MultiDecisions, MultiSubscription, Once, Outcome, Subscription,
};
use hyper::Request;
use hyper::body::{Body, Frame};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::envoy::{CHECK, Called, called, message, read, request, run};
use super::world::{World, blocks, page};
use crate::identity::{fill, token};
use crate::support::{Directory, TestServer};

/// A body in pieces, each of which is a frame.
struct Pieces(VecDeque<Bytes>);

impl Pieces {
    fn one(bytes: &Bytes) -> Pieces {
        Pieces([bytes.clone()].into())
    }

    fn two(bytes: &Bytes) -> Pieces {
        Pieces([bytes.slice(..7), bytes.slice(7..)].into())
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

async fn connect(server: &TestServer) -> SendRequest<Pieces> {
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    // Head and body are written apart.
    stream.set_nodelay(true).unwrap();
    let (send, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

async fn ask(send: &mut SendRequest<Pieces>, fields: &[(&str, &str)], body: Pieces) -> Called {
    let mut asked = Request::post(format!("http://durward{CHECK}"))
        .header("te", "trailers")
        .header("content-type", "application/grpc");
    for (name, value) in fields {
        asked = asked.header(*name, *value);
    }
    called(send.send_request(asked.body(body).unwrap()).await.unwrap()).await
}

/// Credentials where none are needed: they are looked at by nobody, but on the long way.
const LONG_WAY: &[(&str, &str)] = &[("x-durward-proxy-authorization", "Bearer x")];

/// Policies each of which is asked on a route of its name.
const POLICIES: [(&str, &str); 12] = [
    ("level", "permit subject.level >= 0; subject.user == \"anna\"; subject.realm != undefined;"),
    (
        "header",
        "permit subject.user =~ \".*\"; obligation { \"type\": \"http:set-header\", \"name\": \"X-Seen\", \"value\": resource.raw }",
    ),
    (
        "told",
        "deny action == \"get\"; obligation { \"type\": \"http:answer\", \"status\": 451, \"body\": environment.client }",
    ),
    (
        "query",
        "permit resource.query == \"a=b\"; resource.path == \"/query/1\"; resource.scheme == \"https\"; \
         resource.host == \"papers.example.org\";",
    ),
    ("named", "permit resource.id == \"1\"; resource.kind == \"x\"; resource.method == \"GET\";"),
    ("whole", "permit subject.groups != undefined; subject != undefined;"),
    (
        "wholly",
        "permit resource.type == \"wholly\"; environment == { \"door\": \"envoy\", \"client\": \"192.0.2.7\" };",
    ),
    ("deep", "permit subject.groups[0] == \"staff\"; subject.attributes.mail == undefined;"),
    ("fault", "permit subject.user > 3;"),
    (
        "undefined",
        "permit subject.nothing == undefined; action.name == undefined; environment.extensions == undefined; \
         resource.id.x == undefined;",
    ),
    (
        "session",
        "permit subject.session =~ \"[0-9a-f]{32}\"; subject.properties == {}; subject.attributes == {};",
    ),
    ("finder", "permit <time.now> != undefined;"),
];

fn routes() -> String {
    let route = |(name, _): &(&str, &str)| {
        let rest = if *name == "named" { "/{kind}/{other}" } else { "" };
        format!(
            "[[doors.routes]]\npath = '/{name}/{{id}}{rest}'\nresource_type = '{name}'\nresource_id = '{{id}}'\n"
        )
    };
    POLICIES.iter().map(route).collect()
}

#[test]
fn a_check_comes_to_the_same_whichever_way_it_is_answered() {
    let world = World::start_with("headers = ['X-Tier']", &routes(), |directory| {
        for (name, rule) in POLICIES {
            let (effect, rest) = rule.split_once(' ').unwrap();
            let policy = format!("policy \"{name}\" {effect} resource.type == \"{name}\"; {rest}");
            directory.write(&format!("policies/own-{name}.sapl"), &policy);
        }
    });
    let tokens = [&world.anna, &world.berta].map(|token| format!("a=b; durward_session={token}"));
    let both = format!("durward_session={}; durward_session={}", world.anna, world.berta);
    let bearer = format!("Bearer {}", world.anna);
    let mut fields: Vec<Vec<(&str, &str)>> =
        tokens.iter().map(|cookie| vec![("cookie", cookie.as_str())]).collect();
    fields.extend([
        vec![],
        vec![("cookie", both.as_str())],
        vec![("cookie", "durward_session=over")],
        vec![("cookie", "a=\u{7f}"), ("cookie", tokens[0].as_str())],
        vec![("cookie", tokens[0].as_str()), ("authorization", bearer.as_str())],
        vec![("Cookie", tokens[0].as_str())],
        vec![("cookie", tokens[0].as_str()), ("x_tier", "gold")],
        vec![("cookie", tokens[0].as_str()), ("x-original-url", "/")],
        vec![("cookie", tokens[0].as_str()), ("accept", "text/html"), ("x-request-id", "7")],
    ]);
    let mut targets: Vec<String> = POLICIES.iter().map(|(name, _)| format!("/{name}/1")).collect();
    let more = [
        "/",
        "/papers/7?page=2",
        "/query/1?a=b",
        "/named/1/x/y",
        "/%71uery/1?a=b",
        "//query/1",
        "/no",
        "/told/..",
        "",
    ];
    targets.extend(more.map(str::to_owned));
    let mut outcomes = [0; 2];
    run(async {
        let mut send = connect(&world.server).await;
        for target in &targets {
            for (at, fields) in fields.iter().enumerate() {
                for (method, client) in [
                    ("GET", "192.0.2.7"),
                    ("POST", "2001:DB8::1"),
                    ("HEAD", "::ffff:192.0.2.7"),
                    ("GET", "x"),
                ] {
                    if at > 1 && client != "192.0.2.7" {
                        continue;
                    }
                    let mut check = request(method, target, fields);
                    check.source.address = client;
                    let bytes = message(&check);
                    let here = ask(&mut send, &[], Pieces::one(&bytes)).await;
                    for (own, pieces) in [(LONG_WAY, Pieces::one(&bytes)), (&[], Pieces::two(&bytes))] {
                        let there = ask(&mut send, own, pieces).await;
                        assert_eq!(here.body, there.body, "{method} {target} {client} {fields:?}");
                        assert_eq!((here.status, &here.code), (there.status, &there.code));
                    }
                    outcomes[usize::from(read(&here).code == 0)] += 1;
                }
            }
        }
    });
    assert!(outcomes.into_iter().all(|count| count > 40), "{outcomes:?}");
}

/// Permits what it is asked for as a surface knows it, and denies every subscription.
#[derive(Clone, Default)]
struct KnownOnly(Arc<AtomicUsize>);

impl Decider for KnownOnly {
    fn decide_once(&self, _: &str, _: Subscription) -> Result<Once, Full> {
        Ok(Once::Decided(Decision::plain(Outcome::Deny)))
    }

    fn decide_known(&self, tenant: &str, known: &dyn Attributes) -> Option<Decision> {
        assert_eq!(tenant, "default");
        if self.0.fetch_add(1, Ordering::SeqCst) == 1 {
            // What has no parts.
            known.part(&Path::new(Element::Subject, []));
        }
        Some(Decision::plain(Outcome::Permit))
    }

    fn subscribe(&self, _: &str, _: Subscription) -> Result<Box<dyn Decisions>, Full> {
        Err(Full)
    }

    fn subscribe_all(&self, _: &str, _: MultiSubscription) -> Result<Box<dyn MultiDecisions>, Full> {
        Err(Full)
    }
}

/// The usual check is decided without a subscription; what could not be given to policies is no decision.
#[test]
fn usual_checks_are_decided_without_a_subscription() {
    let directory = Directory::new();
    fill(&directory);
    let settings = blocks(&page(), "toml").swap_remove(0);
    let settings = settings
        .replace("users = \"users.journal\"", "users = 'users'\nhash_memory_kib = 8\nhash_passes = 1");
    let decider = KnownOnly::default();
    let server = TestServer::start_deciding(directory, &settings, decider.clone()).unwrap();
    server.eventually("the node is ready", |server| server.get("/health/ready").status == 200);
    let cookie = format!("durward_session={}", token(&server, "anna"));
    let bytes = message(&request("GET", "/papers/7?page=2", &[("accept", "text/html"), ("cookie", &cookie)]));
    run(async {
        let mut send = connect(&server).await;
        let mut code = async |fields: &[(&str, &str)], body| read(&ask(&mut send, fields, body).await).code;
        assert_eq!(code(&[("grpc-timeout", "5S")], Pieces::one(&bytes)).await, 0);
        assert_eq!(code(&[], Pieces::one(&bytes)).await, 7, "a whole subject was asked for");
        assert_eq!(code(&[("x-request-id", "7")], Pieces::one(&bytes)).await, 0);
        assert_eq!(code(&[], Pieces::two(&bytes)).await, 0);
        assert_eq!(code(LONG_WAY, Pieces::one(&bytes)).await, 7);
    });
    assert_eq!(decider.0.load(Ordering::SeqCst), 4);
    assert_eq!(server.metric("durward_door_answers_total{door=\"envoy\",result=\"allow\"}"), 3.0);
    assert_eq!(server.metric("durward_door_answers_total{door=\"envoy\",result=\"deny\"}"), 2.0);
    assert_eq!(server.metric("durward_decisions_total{decision=\"Permit\"}"), 3.0);
}
