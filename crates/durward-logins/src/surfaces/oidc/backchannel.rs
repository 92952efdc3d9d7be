//! Tells applications that a session has ended (OpenID Connect Back-Channel Logout): those that got tokens from it on this node.
//!
//! A task hears of every session that is ended on any node, and looks now and then after those that ended by themselves. An application
//! that does not answer is asked some times more, and then no more: its tokens are over by themselves within minutes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use durward_common::access::issued::participants::Participation;
use durward_common::access::issued::{Issued, subject};
use durward_common::base::Clock;
use durward_common::surfaces::http::client_places::{ClientPlaces, Place};
use durward_net::connect::Connector;
use durward_net::http::HttpClient;
use durward_session::Service;
use durward_session::identity::Moment;
use durward_session::identity::session::{SessionId, User};
use durward_settings::{ConfigError, OauthClientSettings, Settings};
use durward_wire::percent::form_encoded;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Uri};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// How often it is looked which sessions have ended by themselves.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// How long an application may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long it is waited before it is asked again, each time.
const AGAIN_AFTER: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(25)];

pub(super) struct Backchannel {
    issued: Weak<Issued>,
    service: Service,
    http: HttpClient,
    clock: Clock,
    places: ClientPlaces,
}

impl Backchannel {
    /// # Errors
    /// Authorities that cannot be used.
    pub(super) fn new(
        settings: &Settings,
        issued: &Arc<Issued>,
        service: &Service,
        clock: &Clock,
    ) -> Result<Arc<Backchannel>, ConfigError> {
        let sources = &settings.sources;
        let connector = Connector::new(sources.authorities.as_deref(), sources.connect_time_max())
            .map_err(|error| ConfigError::of_setting("sources.authorities", error.to_string()))?;
        Ok(Arc::new(Backchannel {
            issued: Arc::downgrade(issued),
            service: service.clone(),
            http: HttpClient::new(connector, Duration::ZERO, 0),
            clock: Arc::clone(clock),
            places: ClientPlaces::default(),
        }))
    }

    /// Begins to follow sessions, until the server is gone. Nothing where no runtime runs: settings are being checked then.
    pub(super) fn start(self: Arc<Backchannel>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.follow());
        }
    }

    async fn follow(self: Arc<Backchannel>) {
        let mut ended = self.service.ended_sessions();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                news = ended.recv() => Some(news),
                _ = looks.tick() => None,
            };
            let Some(issued) = self.issued.upgrade() else { return };
            let sessions = match news {
                Some(Ok(revocation)) => issued.participants.of(&revocation),
                // Some were missed, or it is time to look.
                Some(Err(RecvError::Lagged(_))) | None => issued.participants.sessions(),
                Some(Err(RecvError::Closed)) => return,
            };
            let left = sessions.iter().filter(|(user, session)| self.look(&issued, user, *session)).count();
            if left > 0 {
                tracing::warn!(left, "too many sessions wait for applications to be told that they ended");
            }
        }
    }

    /// Tells the applications of a session, if it has ended as far as this node knows. Those for which no more can wait are told at a later
    /// look: whether there are such.
    fn look(self: &Arc<Backchannel>, issued: &Arc<Issued>, user: &User, session: SessionId) -> bool {
        if self.service.lives_here(user, session) {
            return false;
        }
        let Some(participation) = issued.participants.take(session) else { return false };
        let mut later = Vec::new();
        for id in &participation.clients {
            let Some(client) = issued.client(id) else { continue };
            let Some(place) = self.places.take(id) else {
                later.push(id.clone());
                continue;
            };
            let (own, participation) = (Arc::clone(self), participation.clone());
            tokio::spawn(async move { own.tell(&client, &participation, &place).await });
        }
        if later.is_empty() {
            return false;
        }
        if !issued.participants.put_back(Participation { clients: later, ..participation }) {
            tracing::warn!("too many sessions are followed: an application is not told that one ended");
        }
        true
    }

    async fn tell(&self, client: &OauthClientSettings, participation: &Participation, place: &Place) {
        let Some(uri) = &client.backchannel_logout_uri else { return };
        let mut waits = AGAIN_AFTER.iter();
        loop {
            let told = {
                let Some(_one_of_few) = place.turn().await else { return };
                self.post(client, uri, participation).await
            };
            let Err(why) = told else { return };
            let Some(wait) = waits.next() else {
                tracing::warn!(
                    client = client.id,
                    why,
                    "an application could not be told that a session has ended"
                );
                return;
            };
            sleep(*wait).await;
        }
    }

    async fn post(
        &self,
        client: &OauthClientSettings,
        uri: &str,
        participation: &Participation,
    ) -> Result<(), String> {
        let Some(issued) = self.issued.upgrade() else { return Ok(()) };
        let sub = subject::of_user(&participation.user);
        let now = Moment::of((self.clock)());
        let token = issued.logout_token(client, &sub, participation.session, now);
        let mut body = "logout_token=".to_owned();
        form_encoded(&token.map_err(|error| error.to_string())?, &mut body);
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.parse::<Uri>().map_err(|error| error.to_string())?;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(header::CONTENT_TYPE, form);
        let answer = timeout(ANSWER_TIME_MAX, self.http.send(request)).await;
        let answer = answer.map_err(|_| "no answer in time".to_owned())?;
        let status = answer.map_err(|error| error.to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
    }
}
