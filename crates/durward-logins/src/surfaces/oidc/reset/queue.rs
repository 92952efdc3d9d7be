//! Links that were asked for, one after the other: whether there is such a user is found out here, when whoever asked has their answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use durward_session::Service;
use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use durward_settings::{ConfigError, ResetSettings, Settings};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};

use super::hook::Hook;
use super::quota::Quota;

/// What somebody typed who forgot their password.
pub(super) struct AskedLink {
    pub(super) realm: String,
    pub(super) name: String,
    pub(super) address: IpAddr,
    /// The language that they read.
    pub(super) language: String,
}

/// Links that wait for the hook.
pub(super) struct ResetQueue(mpsc::Sender<AskedLink>);

/// What takes links from the queue.
struct Worker {
    service: Service,
    settings: ResetSettings,
    hook: Hook,
    users: Quota<User>,
}

/// What the hook is told.
#[derive(Serialize)]
struct ResetMessage<'m> {
    event: &'static str,
    user: &'m str,
    realm: &'m str,
    email: Option<&'m str>,
    link: &'m str,
    expires: String,
    language: &'m str,
}

impl ResetQueue {
    /// Begins to hand links over, until the server is gone. Nothing is handed over where no runtime runs: settings are being checked then.
    ///
    /// # Errors
    /// The hook cannot be used.
    pub(super) fn start(settings: &Settings, service: &Service) -> Result<ResetQueue, ConfigError> {
        let reset = settings.identity.reset.clone();
        let (sender, receiver) = mpsc::channel(reset.queue_max);
        let places = Arc::new(Semaphore::new(reset.hooks_max));
        let worker = Arc::new(Worker {
            service: service.clone(),
            hook: Hook::new(settings)?,
            users: Quota::new(reset.user_requests_max),
            settings: reset,
        });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(worker.work(receiver, places));
        }
        Ok(ResetQueue(sender))
    }

    /// Puts one more into the queue. Whether there was room.
    pub(super) fn put(&self, asked: AskedLink) -> bool {
        self.0.try_send(asked).is_ok()
    }
}

impl Worker {
    async fn work(self: Arc<Worker>, mut receiver: mpsc::Receiver<AskedLink>, places: Arc<Semaphore>) {
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let Some(asked) = receiver.recv().await else { return };
            let worker = Arc::clone(&self);
            tokio::spawn(async move {
                worker.hand_over(&asked).await;
                drop(place);
            });
        }
    }

    async fn hand_over(&self, asked: &AskedLink) {
        // What cannot be a name is nobody's.
        let Ok(user) = User::new(&asked.realm, &asked.name) else { return };
        let (service, lifetime) = (&self.service, Duration::from_secs(self.settings.lifetime_s));
        let (account, link) = match service.accounts().asked_link(&user, lifetime).await {
            Ok(found) => found,
            Err(why) => return service.note_vain_reset(&user, asked.address, &why.to_string()).await,
        };
        if self.users.take(user.clone(), service.now()).is_err() {
            return service.note_vain_reset(&user, asked.address, "too often in this hour").await;
        }
        let address = self.settings.link_with(&link.token);
        let message = ResetMessage {
            event: "password-reset",
            user: user.subject(),
            realm: user.realm(),
            email: self.email(&account),
            link: &address,
            expires: Timestamp::from_second(i64::from(link.until.seconds()))
                .map_or_else(|_| String::new(), |time| time.to_string()),
            language: &asked.language,
        };
        let body = serde_json::to_vec(&message).unwrap_or_default();
        match self.hook.hand_over(body).await {
            Ok(()) => service.note_reset(&user, asked.address, true, "handed over").await,
            Err(why) => {
                tracing::warn!(%user, %why, "a link to choose another password was not handed over");
                service.note_reset(&user, asked.address, false, &why.to_string()).await;
            }
        }
    }

    fn email<'a>(&self, account: &'a Account) -> Option<&'a str> {
        let names = &self.settings.email_attributes;
        let values = names.iter().filter_map(|name| account.attributes.get(name)?.first());
        values.map(String::as_str).next()
    }
}
