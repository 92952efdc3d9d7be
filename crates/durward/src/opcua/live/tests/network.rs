//! Authorization service, gate, plant and client over TCP, with a clock that is set: what may be done until six is refused from then on.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use durward_opcua::authority::{AuthorityLogAudit, MemoryAuthorityStore, RegisteredResource, SubjectTable};
use durward_opcua::client::{TokenClient, TokenClientSettings, ValueWatch, WatchEvent, WatchSettings};
use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::gate::{Gate, GateAuthoritySettings, GateSettings, UpstreamSettings};
use durward_opcua::plant::{HostService, PasswordUsers, PlantHost, boiler};
use durward_opcua::session::{
    ClientIdentity, Endpoint, ServerLimits, ServerSettings, SessionServer, UserTokenKind,
};
use durward_pdp::Algorithm as Combining;
use durward_session::identity::user::HashCosts;
use opcua_types::{MessageSecurityMode, NodeId, StatusCode};
use tokio::net::TcpListener;

use super::super::super::application::{self, OwnApplication};
use super::super::super::authority::AuthorityArguments;
use super::super::super::decider::{PolicyDecider, PolicyFiles};
use super::*;

const HOUR_MS: u64 = 3_600_000;
const LIFETIME: Duration = Duration::from_secs(3_600);
const POLICY: &str = "\
set \"the plant\"
first or abstain errors propagate

policy \"everybody looks around\"
permit action == \"browse\";

policy \"operators read until six\"
permit
    action == \"read\";
    \"operator\" in subject.roles;
    <time.localTimeIsBetween(\"06:00:00\", \"18:00:00\")>;
";

/// Goes on by itself, from two minutes before six of tomorrow; certificates are made today.
#[derive(Clone)]
struct Hand {
    ahead_ms: Arc<AtomicU64>,
    six: Moment,
}

impl Hand {
    fn new() -> Hand {
        let now = application::clock()().ms();
        let six = (now / (24 * HOUR_MS) + 1) * 24 * HOUR_MS + 18 * HOUR_MS;
        Hand { ahead_ms: Arc::new(AtomicU64::new(six - 120_000 - now)), six: Moment::from_ms(six) }
    }

    fn now(&self) -> Moment {
        application::clock()().plus(Duration::from_millis(self.ahead_ms.load(Ordering::Relaxed)))
    }

    fn advance(&self, by: Duration) {
        self.ahead_ms.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn applications(folder: &Path, hand: &Hand) -> [OwnApplication; 4] {
    let made = ["plant", "gate", "authority", "client"].map(|name| {
        let mut made = OwnApplication::create(&folder.join(name), &format!("urn:test:{name}")).unwrap();
        let hand = hand.clone();
        made.channel.clock = Arc::new(move || hand.now());
        made
    });
    for one in &made {
        made.iter().for_each(|other| one.trust(other).unwrap());
    }
    made
}

async fn plant(application: &OwnApplication, hand: &Hand) -> String {
    let (listener, url) = bind().await;
    let (hand, started) = (hand.clone(), hand.now());
    let host = PlantHost::new(boiler(&application.uri, 20, started).unwrap(), move || hand.now());
    let endpoint =
        |policy| Endpoint::new(policy, MessageSecurityMode::SignAndEncrypt, &[UserTokenKind::Anonymous]);
    let settings = ServerSettings {
        channel: application.channel.clone(),
        application_uri: application.uri.clone(),
        product_uri: "urn:test".to_owned(),
        application_name: "plant".to_owned(),
        endpoint_url: url.clone(),
        endpoints: SecurityPolicy::SECURE.into_iter().map(endpoint).collect(),
        limits: ServerLimits::default(),
    };
    let users = PasswordUsers { anonymous: true, ..PasswordUsers::default() };
    let server = SessionServer::new(settings, Arc::new(HostService::new(Arc::clone(&host), users))).unwrap();
    tokio::spawn(async move { server.serve(listener).await });
    tokio::spawn(async move { host.run().await });
    url
}

fn policies() -> Vec<durward_pdp::PolicyText> {
    vec![durward_pdp::PolicyText { name: "plant.sapl".to_owned(), text: POLICY.into() }]
}

fn authority(
    folder: &Path,
    gate: &OwnApplication,
    hand: &Hand,
    url: &str,
    keys: SigningKeys,
) -> AuthorityArguments {
    let file = folder.join("plant.sapl");
    std::fs::write(&file, POLICY).unwrap();
    let policies = PolicyFiles { paths: vec![file], combining: Combining::DenyOverrides };
    let subjects = SubjectTable::new(HashCosts::default()).unwrap();
    subjects.set_user("anna", "secret", &["operator"]).unwrap();
    let mut application = OwnApplication::open(&folder.join("authority")).unwrap();
    let hand = hand.clone();
    application.channel.clock = Arc::new(move || hand.now());
    AuthorityArguments {
        application,
        url: url.to_owned(),
        decider: Arc::new(PolicyDecider::new(policies, LIFETIME).unwrap()),
        subjects: Arc::new(subjects),
        recall: None,
        policies_kept: None,
        keep: Arc::new(MemoryAuthorityStore::default()),
        audit: Arc::new(AuthorityLogAudit),
        keys: Arc::new(ArcSwap::from_pointee(keys)),
        token_lifetime: LIFETIME,
        resources: vec![RegisteredResource { id: gate.uri.clone(), certificate: Some(gate.certificate()) }],
    }
}

/// All of it, and a client with a token.
async fn start(folder: &Path, hand: &Hand) -> (Arc<Gate>, TokenClient, Arc<LiveFigures>) {
    let [plant, gate, service, client] = applications(folder, hand);
    let plant_url = self::plant(&plant, hand).await;
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let keys = SigningKeys::new(2 * LIFETIME).with(key, hand.now(), hand.now()).unwrap();
    let verifying = keys.verifying(hand.now()).unwrap();
    let (listener, service_url) = bind().await;
    authority(folder, &gate, hand, &service_url, keys).start(listener).unwrap();

    let (listener, url) = bind().await;
    let upstream = UpstreamSettings::new(plant_url, gate.client("gate"));
    let mut settings = GateSettings::new(gate.channel.clone(), &gate.uri, upstream, &service.uri, verifying);
    settings.endpoint_url.clone_from(&url);
    settings.authority_url.clone_from(&service_url);
    settings.authority = Some(GateAuthoritySettings::new(service_url, gate.client("gate")));
    let pdp = Pdp::builder().policies(policies()).source(AnnouncedAttributes).build().unwrap();
    let pdp = Arc::new(pdp);
    let live = Arc::new(PolicyLiveDecider::new(Box::new(move || Some(Arc::clone(&pdp))), &*gate.uri));
    let figures = Arc::clone(live.figures());
    settings.live = Some(live);
    let running = Arc::new(Gate::start(settings).unwrap());
    let serving = Arc::clone(&running);
    tokio::spawn(async move { serving.serve(listener).await });

    let mut settings = TokenClientSettings::new(&url, client.client("client"));
    settings.authority.identity =
        ClientIdentity::UserName { name: "anna".to_owned(), password: "secret".to_owned().into() };
    settings.retry_max = settings.retry_min;
    let client = TokenClient::start(settings);
    // A gate that has just begun refuses tokens until it knows what was recalled; the client tries again by itself.
    let ready = async {
        while client.ready(Duration::from_secs(20)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.unwrap();
    (running, client, figures)
}

async fn status(client: &TokenClient) -> StatusCode {
    let read = client.read_values(&[temperature()]).await;
    read.map_or_else(|error| error.status(), |values| values[0].status.unwrap_or(StatusCode::Good))
}

fn temperature() -> NodeId {
    NodeId::new(2, "Boiler.Temperature")
}

/// Waits for a value; `false` where none comes for so long.
async fn comes(watch: &mut ValueWatch, within: Duration) -> bool {
    let value = async {
        loop {
            match watch.next().await {
                Some(WatchEvent::Value { value, .. }) if value.value.is_some() => return true,
                Some(_) => {}
                None => return false,
            }
        }
    };
    tokio::time::timeout(within, value).await.unwrap_or(false)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_be_read_until_six_is_refused_from_then_on_and_no_longer_delivered() {
    let folder = std::env::temp_dir().join(format!("durward-opcua-live-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let hand = Hand::new();
    let (_gate, client, figures) = start(&folder, &hand).await;
    assert_eq!(status(&client).await, StatusCode::Good);
    assert!(figures.granted.load(Ordering::Relaxed) > 0, "the token must leave it to the gate");

    let settings = WatchSettings {
        publishing: Duration::from_millis(50),
        sampling: Duration::from_millis(20),
        ..WatchSettings::default()
    };
    let mut watch = client.watch(vec![temperature()], settings);
    for _ in 0..3 {
        assert!(comes(&mut watch, Duration::from_secs(30)).await, "the value changes all the time");
    }

    // In steps that no session sleeps through.
    while hand.now() < hand.six {
        hand.advance(Duration::from_secs(20));
        comes(&mut watch, Duration::from_millis(300)).await;
    }
    let mut refused = StatusCode::Good;
    for _ in 0..200 {
        // After a step no token counts until the authorization service is heard again.
        refused = status(&client).await;
        let sees =
            client.browse(&NodeId::new(2, "Boiler"), &durward_opcua::client::BrowseFilter::below()).await;
        if sees.is_ok_and(|below| !below.is_empty()) && refused.is_bad() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(refused, StatusCode::BadUserAccessDenied);
    // What was delivered before is taken out; then nothing follows, while the subscription is there.
    while comes(&mut watch, Duration::from_millis(200)).await {
        assert_eq!(status(&client).await, StatusCode::BadUserAccessDenied);
    }
    assert!(!comes(&mut watch, Duration::from_secs(1)).await);
    assert_eq!(status(&client).await, StatusCode::BadUserAccessDenied);
    client.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}
