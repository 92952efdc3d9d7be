//! Tells agents that a session has ended: those that asked for it at `sessionservice` on this node (`AddSessionListener`), at addresses that
//! the settings allow, and no others: a stranger could name any address.
//!
//! A task hears of every session that is ended on any node, and looks now and then after those that ended by themselves. An agent that
//! does not answer is asked some times more, and then no more: it looks after sessions by itself as well.

use std::cmp::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use durward_common::access::issued::participants::{Participants, Participation};
use durward_common::surfaces::http::client_places::{ClientPlaces, Place};
use durward_common::surfaces::http::escape;
use durward_net::connect::Connector;
use durward_net::http::HttpClient;
use durward_net::url::Url;
use durward_session::identity::session::{SessionId, User};
use durward_session::{Service, Who};
use durward_settings::{ConfigError, Settings};
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::session_actions::universal_id;

/// How often it is looked which sessions have ended by themselves.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// How long an agent may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long it is waited before it is asked again, each time.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Most bytes of an address.
const URL_BYTES_MAX: usize = 512;

/// How many tokens of a session one agent is told of, the last ones: it knows a session by each that it was shown.
const TOKENS_MAX: usize = 4;

/// Where an agent wants to be told, and by which token it knows the session. Two are the same that differ behind the address alone.
#[derive(Clone, Debug)]
struct Listener {
    url: Arc<str>,
    token: Arc<str>,
}

impl Listener {
    /// The agent: its address, whatever it says behind that.
    fn place(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }

    fn named(&self) -> (&str, &str) {
        (self.place(), &self.token)
    }
}

impl PartialEq for Listener {
    fn eq(&self, other: &Listener) -> bool {
        self.named() == other.named()
    }
}

impl Eq for Listener {}

impl PartialOrd for Listener {
    fn partial_cmp(&self, other: &Listener) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Listener {
    fn cmp(&self, other: &Listener) -> Ordering {
        self.named().cmp(&other.named())
    }
}

pub(super) struct Notifications {
    /// Below these, agents are called.
    allowed: Vec<Url>,
    root_suffix: String,
    listeners: Participants<Listener>,
    http: HttpClient,
    places: ClientPlaces,
}

impl Notifications {
    /// Nothing where nobody may be called.
    ///
    /// # Errors
    /// Addresses or authorities that cannot be used.
    pub(super) fn new(settings: &Settings) -> Result<Option<Arc<Notifications>>, ConfigError> {
        let openam = &settings.openam;
        if !openam.on || openam.notified.is_empty() {
            return Ok(None);
        }
        let wrong = |name: &str, error: String| ConfigError::of_setting(name, error);
        let allowed = openam.notified.iter().map(|text| Url::read(text)).collect::<Result<Vec<Url>, _>>();
        let allowed = allowed.map_err(|error| wrong("openam.notified", error.to_string()))?;
        let sources = &settings.sources;
        let connector = Connector::new(sources.authorities.as_deref(), sources.connect_time_max())
            .map_err(|error| wrong("sources.authorities", error.to_string()))?;
        Ok(Some(Arc::new(Notifications {
            allowed,
            root_suffix: openam.root_suffix.clone(),
            listeners: Participants::default(),
            http: HttpClient::new(connector, Duration::ZERO, 0),
            places: ClientPlaces::default(),
        })))
    }

    /// Begins to follow sessions, until the server is gone. Nothing where no runtime runs: settings are being checked then.
    pub(super) fn start(self: &Arc<Notifications>, service: Service) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(follow(Arc::downgrade(self), service));
        }
    }

    /// An agent wants to be told when the session of this token ends. Whether it will be: where it may not, it is not told why.
    pub(super) fn listen(&self, who: &Who, token: &str, url: &str) -> bool {
        let is_allowed = url.len() <= URL_BYTES_MAX
            && Url::read(url).is_ok_and(|url| self.allowed.iter().any(|base| url.is_within(base)));
        let listener = Listener { url: url.into(), token: token.into() };
        let is_alike = |one: &Listener, other: &Listener| one.place() == other.place();
        is_allowed && self.listeners.note_last(who, listener, TOKENS_MAX, is_alike)
    }

    /// Tells the agents of a session, if it has ended as far as this node knows. Those for which no more can wait are told at a later look.
    fn look(self: &Arc<Notifications>, service: &Service, user: &User, session: SessionId) {
        if service.lives_here(user, session) {
            return;
        }
        let Some(Participation { user, clients, .. }) = self.listeners.take(session) else { return };
        let mut later = Vec::new();
        let now_ms = service.now().ms();
        for listener in clients {
            let Some(place) = self.places.take(place_of(&listener.url)) else {
                later.push(listener);
                continue;
            };
            let (own, body) = (Arc::clone(self), self.notification(&user, &listener.token, now_ms));
            tokio::spawn(async move { own.tell(&listener.url, body, &place).await });
        }
        let has_room =
            later.is_empty() || self.listeners.put_back(Participation { user, session, clients: later });
        if !has_room {
            tracing::warn!("too many sessions are followed: an agent is not told that one ended");
        }
    }

    async fn tell(&self, url: &str, body: Bytes, place: &Place) {
        let mut waits = AGAIN_AFTER.iter();
        loop {
            let told = {
                let Some(_one_of_few) = place.turn().await else { return };
                self.post(url, body.clone()).await
            };
            let Err(why) = told else { return };
            let Some(wait) = waits.next() else {
                tracing::warn!(url, why, "an agent could not be told that a session has ended");
                return;
            };
            sleep(*wait).await;
        }
    }

    async fn post(&self, url: &str, body: Bytes) -> Result<(), String> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        let url = Url::read(url).and_then(|url| url.uri("http", "https"));
        *request.uri_mut() = url.map_err(|error| error.to_string())?;
        let xml = HeaderValue::from_static("text/xml;charset=UTF-8");
        request.headers_mut().insert(header::CONTENT_TYPE, xml);
        let answer = timeout(ANSWER_TIME_MAX, self.http.send(request)).await;
        let answer = answer.map_err(|_| "no answer in time".to_owned())?;
        let status = answer.map_err(|error| error.to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
    }

    /// What OpenAM sends. What stands in CDATA cannot hold its end: everything in it is escaped.
    fn notification(&self, user: &User, token: &str, now_ms: u64) -> Bytes {
        let (token, suffix) = (escape(token), escape(&self.root_suffix));
        let universal = escape(&universal_id(user, &self.root_suffix));
        // 5 is a session that was destroyed; agents look at `state`.
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
             <NotificationSet vers=\"1.0\" svcid=\"session\" notid=\"{now_ms}\">\n\
             <Notification><![CDATA[<SessionNotification vers=\"1.0\" notid=\"{now_ms}\">\
             <Session sid=\"{token}\" stype=\"user\" cid=\"{universal}\" cdomain=\"{suffix}\" maxtime=\"0\" maxidle=\"0\" \
             maxcaching=\"0\" timeidle=\"0\" timeleft=\"0\" state=\"destroyed\"></Session>\
             <Type>5</Type><Time>{now_ms}</Time></SessionNotification>]]></Notification>\n\
             </NotificationSet>"
        );
        Bytes::from(text)
    }
}

/// Whose turn it is to be told: agents on one host share their places, so that one that does not answer is in nobody else's way.
fn place_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, rest)| rest);
    behind.split(['/', '?']).next().unwrap_or_default()
}

async fn follow(notifications: Weak<Notifications>, service: Service) {
    let mut ended = service.ended_sessions();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let news = tokio::select! {
            news = ended.recv() => Some(news),
            _ = looks.tick() => None,
        };
        let Some(own) = notifications.upgrade() else { return };
        let sessions = match news {
            Some(Ok(revocation)) => own.listeners.of(&revocation),
            // Some were missed, or it is time to look.
            Some(Err(RecvError::Lagged(_))) | None => own.listeners.sessions(),
            Some(Err(RecvError::Closed)) => return,
        };
        sessions.iter().for_each(|(user, session)| own.look(&service, user, *session));
    }
}

#[cfg(test)]
mod tests {
    use durward_session::identity::session::Level;
    use durward_session::identity::{Moment, Stamp};

    use super::*;

    fn who() -> Who {
        Who {
            user: User::new("/", "a<b").unwrap(),
            id: SessionId([1; 16]),
            level: Level(0),
            stamp: Stamp::from_us(1),
            ends: Moment::from_s(9),
            idle: Duration::ZERO,
        }
    }

    fn notifications() -> Arc<Notifications> {
        let text =
            "[openam]\non = true\nnotified = ['https://app.example.org/agent', 'http://127.0.0.1:8080']";
        Notifications::new(&Settings::from_toml(text, "test.toml").unwrap()).unwrap().unwrap()
    }

    #[test]
    fn nobody_is_called_whom_the_settings_do_not_name() {
        let notifications = notifications();
        for url in [
            "https://app.example.org/agent/notifications",
            "https://APP.example.org:443/agent/x?y",
            "http://127.0.0.1:8080/agent/notifications",
        ] {
            assert!(notifications.listen(&who(), "t", url), "{url}");
        }
        for url in [
            "",
            "/agent/notifications",
            "http://app.example.org/agent/notifications",
            "https://app.example.org:8443/agent/",
            "https://app.example.org/agents",
            "https://app.example.org/",
            "https://app.example.org/agent/../admin",
            "https://app.example.org/agent/%2e%2e/admin",
            "https://app.example.org.evil.example/agent/x",
            "https://app.example.org@evil.example/agent/x",
            "https://evil.example/#https://app.example.org/agent",
            "http://127.0.0.1:8081/",
            "http://127.0.0.1/",
            "http://localhost:8080/",
            "http://169.254.169.254/latest/meta-data/",
            "file:///etc/passwd",
            "https://app.example.org/agent/\r\nHost: evil.example",
            &format!("https://app.example.org/agent/{}", "x".repeat(URL_BYTES_MAX)),
        ] {
            assert!(!notifications.listen(&who(), "t", url), "{url}");
        }
        assert_eq!(notifications.listeners.take(who().id).unwrap().clients.len(), 3);
    }

    /// Else one that says something else each time keeps the others from being told.
    #[test]
    fn an_agent_is_one_whatever_stands_behind_its_address() {
        let notifications = notifications();
        let listen = |url: &str, token: &str| notifications.listen(&who(), token, url);
        for number in 0..100 {
            assert!(listen(&format!("https://app.example.org/agent/a?nonce={number}"), "t"), "{number}");
            assert!(listen(&format!("https://app.example.org/agent/b?{number}"), &format!("t{number}")));
        }
        assert!(listen("https://app.example.org/agent/c", "t"));
        let listeners = notifications.listeners.take(who().id).unwrap().clients;
        let urls = |place: &str| {
            let of_place = listeners.iter().filter(|listener| listener.place().ends_with(place));
            of_place.map(|listener| (&*listener.url, &*listener.token)).collect::<Vec<_>>()
        };
        assert_eq!(urls("/a"), [("https://app.example.org/agent/a?nonce=99", "t")]);
        let tokens: Vec<&str> = urls("/b").into_iter().map(|(_, token)| token).collect();
        assert_eq!(tokens, ["t96", "t97", "t98", "t99"]);
        assert_eq!(urls("/c").len(), 1);
    }

    #[test]
    fn what_is_told_is_the_xml_of_openam_and_holds_no_other() {
        let body = notifications().notification(&who().user, "t\"]]><x", 7);
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains("svcid=\"session\"") && text.contains("state=\"destroyed\""), "{text}");
        assert!(text.contains("sid=\"t&quot;]]&gt;&lt;x\"") && text.contains("cid=\"id=a&lt;b,"), "{text}");
        assert_eq!(text.matches("]]>").count(), 1, "{text}");
        assert_eq!(place_of("https://app.example.org:8443/a?b"), "app.example.org:8443");
    }
}
