//! The authorization service, put together and started.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_opcua::authority::{
    AuthorityAudit, AuthorityStore, AuthorizationServer, AuthorizationService, AuthorizationServiceParts,
    AuthorizationServiceSettings, RegisteredResource, Subjects,
};
use durward_opcua::token::CutoffTarget;
use durward_session::identity::jwt::SigningKeys;
use tokio::net::TcpListener;

use super::application::{OwnApplication, failure, workers};
use super::decider::PolicyDecider;
use super::keys;
use super::subjects::{self, TokenRevocation};
use crate::failure::CommandError;

/// How often files of policies are looked at.
const POLICIES_LOOK: Duration = Duration::from_secs(1);

/// What an authorization service is made of.
pub(super) struct AuthorityArguments {
    /// Its certificate; its URI is the issuer of tokens.
    pub(super) application: OwnApplication,
    /// The URL that clients and gates know.
    pub(super) url: String,
    /// Who decides.
    pub(super) decider: Arc<PolicyDecider>,
    /// Who users are.
    pub(super) subjects: Arc<dyn Subjects>,
    /// Whose tokens are to end because they have changed; where somebody looks at that.
    pub(super) recall: Option<TokenRevocation>,
    /// What survives a restart.
    pub(super) keep: Arc<dyn AuthorityStore>,
    /// A file with the version of the policies in force, so that a restart recalls the tokens of others; where anything survives it.
    pub(super) policies_kept: Option<PathBuf>,
    /// What takes notes.
    pub(super) audit: Arc<dyn AuthorityAudit>,
    /// What signs tokens; replaced when it is rotated.
    pub(super) keys: Arc<ArcSwap<SigningKeys>>,
    /// How long tokens live at most.
    pub(super) token_lifetime: Duration,
    /// The servers that tokens are for.
    pub(super) resources: Vec<RegisteredResource>,
}

impl AuthorityArguments {
    /// Serves from now on; policies are looked at again while it runs.
    ///
    /// # Errors
    /// Settings that contradict each other; a store that cannot be read or written.
    pub(super) fn start(self, listener: TcpListener) -> Result<Arc<AuthorizationServer>, CommandError> {
        let channel = self.application.channel.clone();
        let parts = AuthorizationServiceParts {
            decider: self.decider.clone(),
            subjects: self.subjects,
            keep: self.keep,
            audit: self.audit,
            keys: self.keys,
            clock: Arc::clone(&channel.clock),
            // Not those of the channels: decisions must not hold up connections.
            workers: workers(),
        };
        let mut settings =
            AuthorizationServiceSettings::new(&self.application.uri, self.application.certificate());
        settings.protocol.token_lifetime = self.token_lifetime;
        settings.protocol.cutoff_lifetime = settings.protocol.cutoff_lifetime.max(2 * self.token_lifetime);
        let service = AuthorizationService::new(settings, parts, self.resources).map_err(failure)?;
        let policies_kept = PolicyVersionFile(self.policies_kept);
        if let Some(of) = policies_kept.to_recall(&self.decider.policies_in_force())? {
            tracing::info!(
                "tokens of {of} are revoked: other policies than those in force now may have decided them"
            );
            service.revoke_now(of).map_err(failure)?;
        }
        policies_kept.keep(&self.decider.policies_in_force());
        let server = AuthorizationServer::settings(channel, &self.application.uri, &self.url);
        let server = Arc::new(AuthorizationServer::new(server, service.clone()).map_err(failure)?);
        let serving = Arc::clone(&server);
        tokio::spawn(async move { serving.serve(listener).await });
        if let Some(recall) = self.recall {
            tokio::spawn(subjects::recall(recall, service.clone()));
        }
        tokio::spawn(follow(self.decider, service, policies_kept));
        Ok(server)
    }
}

/// The version of the policies whose tokens are out, in a file.
struct PolicyVersionFile(Option<PathBuf>);

impl PolicyVersionFile {
    /// Whose tokens other policies decided than those in force now. Everybody's may be, where no version was kept or it makes no sense.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    fn to_recall(&self, now: &str) -> Result<Option<CutoffTarget<Arc<str>>>, CommandError> {
        let Some(path) = &self.0 else { return Ok(None) };
        let before = match fs::read_to_string(path) {
            Ok(before) => before,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
                return Ok(Some(CutoffTarget::All));
            }
            Err(error) => return Err(CommandError::unreadable(path, &error)),
        };
        let is_version = before.len() == now.len() && before.bytes().all(|byte| byte.is_ascii_graphic());
        Ok(match before == now {
            true => None,
            false if is_version => Some(CutoffTarget::Policy(before.into())),
            false => Some(CutoffTarget::All),
        })
    }

    fn keep(&self, now: &str) {
        let Some(path) = &self.0 else { return };
        if let Err(error) = keys::replace(path, now) {
            tracing::error!(%error, "the version of the policies cannot be kept: a restart may forget to revoke tokens of other ones");
        }
    }
}

/// Puts changed policies in force, and recalls the tokens that the old ones decided.
async fn follow(decider: Arc<PolicyDecider>, service: AuthorizationService, kept: PolicyVersionFile) {
    let mut told = String::new();
    loop {
        tokio::time::sleep(POLICIES_LOOK).await;
        let looking = Arc::clone(&decider);
        let Ok(reloaded) = tokio::task::spawn_blocking(move || looking.reload()).await else { continue };
        match reloaded {
            Ok(None) => {}
            Ok(Some(replaced)) => {
                told.clear();
                tracing::info!("policies were changed: tokens of the old ones are revoked");
                if let Err(error) = service.policies_changed(&replaced).await {
                    tracing::error!(%error, "tokens of the old policies are revoked, and a restart may forget it");
                }
                kept.keep(&decider.policies_in_force());
            }
            Err(failure) => {
                // Once for each problem, not each second.
                let problem = failure.to_string();
                if problem != told {
                    tracing::error!("changed policies are not in force, the old ones are: {problem}");
                    told = problem;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_policies_that_nobody_knows_are_recalled() {
        let folder = std::env::temp_dir().join(format!("durward-opcua-authority-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("policies.version");
        let kept = PolicyVersionFile(Some(path.clone()));
        assert_eq!(kept.to_recall("abcd").unwrap(), Some(CutoffTarget::All), "none was kept");
        kept.keep("abcd");
        assert_eq!(kept.to_recall("abcd").unwrap(), None);
        assert_eq!(kept.to_recall("efgh").unwrap(), Some(CutoffTarget::Policy("abcd".into())));
        for broken in [&b""[..], b"ab", b"ab\0\0", &[0xff; 4]] {
            fs::write(&path, broken).unwrap();
            assert_eq!(kept.to_recall("abcd").unwrap(), Some(CutoffTarget::All), "{broken:?}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(kept.to_recall("abcd").is_err(), "it cannot be read");
        assert_eq!(PolicyVersionFile(None).to_recall("abcd").unwrap(), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
