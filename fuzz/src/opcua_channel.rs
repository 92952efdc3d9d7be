//! A server's end of a secure channel, with a client that sends anything: nothing panics, nothing waits for what does not come, and nobody without a key
//! gets a channel with security, and no task is left of one that is over.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use durward_identity::Moment;
use durward_opcua::channel::{
    ChannelRequest, ChannelSettings, PeerRole, PeerTrust, SecurityOffer, ServerChannel, Workers,
};
use durward_opcua::crypto::{KeyLength, SecurityPolicy};
use durward_opcua::error::Error;
use durward_opcua::pki::{CertificateDraft, self_signed};
use durward_opcua::wire::RequestPeek;
use opcua_types::MessageSecurityMode;
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};

const NOW: Moment = Moment::from_s(1_780_272_000);

struct Anybody;

impl PeerTrust for Anybody {
    fn check(&self, _: &[&[u8]], _: PeerRole, _: Moment) -> Result<(), Error> {
        Ok(())
    }
}

fn settings() -> &'static (Runtime, Arc<ChannelSettings>, Arc<[SecurityOffer]>) {
    static SETTINGS: OnceLock<(Runtime, Arc<ChannelSettings>, Arc<[SecurityOffer]>)> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let draft = CertificateDraft {
            application_uri: "urn:fuzz".to_owned(),
            common_name: "fuzz".to_owned(),
            organization: "durward".to_owned(),
            hosts: vec!["localhost".to_owned()],
            valid_from: NOW,
            valid_for: Duration::from_secs(86_400),
        };
        let own = self_signed(&draft, KeyLength::Rsa2048).expect("a certificate");
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let workers = Workers::new(1);
        let settings = ChannelSettings::new(own, Arc::new(Anybody), Arc::new(|| NOW), workers);
        let offer = SecurityOffer {
            policy: SecurityPolicy::Basic256Sha256,
            mode: MessageSecurityMode::SignAndEncrypt,
        };
        (runtime, Arc::new(settings), Arc::new([offer]))
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let (runtime, settings, offers) = settings();
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        client.write_all(&bytes[..bytes.len().min(1 << 19)]).await.expect("room");
        client.shutdown().await.expect("an end");
        let accepted = ServerChannel::accept(server, None, Arc::clone(settings), Arc::clone(offers), 1).await;
        let Ok(mut channel) = accepted else { return };
        assert!(!channel.info().security_policy.is_secure(), "nobody here has a key");
        while let Ok(Some(request)) = channel.next().await {
            match request {
                ChannelRequest::Service { body, .. } => drop(RequestPeek::read(&body)),
                ChannelRequest::Renewal(chunk) => {
                    if channel.renew(chunk).await.is_err() {
                        break;
                    }
                }
            }
        }
        channel.close(None);
    });
    // The task that writes ends with its channel; until it does it holds the stream.
    runtime.block_on(async {
        while runtime.metrics().num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    });
}
