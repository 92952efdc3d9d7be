//! Refresh tokens: random, known by their hash only, used once, bound to the certificate of the client that got them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;

use super::CallerUser;
use crate::crypto::random_bytes;
use crate::error::Error;
use crate::token::{CutoffTarget, Thumbprint};

/// Refresh tokens that are kept, used ones included.
const TOKENS_MAX: usize = 50_000;
/// Of one user at one client; the oldest go when there are more. A gate is a client that has many users.
const PER_USER_MAX: usize = 64;

type RefreshTokenHash = [u8; 32];

/// What a refresh token stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RefreshGrant {
    pub(super) user: CallerUser,
    pub(super) subject: Arc<str>,
    pub(super) session: Option<Arc<str>>,
    pub(super) client: Thumbprint,
    pub(super) resource: String,
    /// The roles that were asked for.
    pub(super) roles: Vec<String>,
    /// When this token and all that follow it end. Does not move: some time the user must prove again who they are.
    pub(super) ends: Moment,
}

struct RefreshTokenEntry {
    renewal: RefreshGrant,
    /// All tokens that follow one login.
    family: u64,
    used: bool,
}

/// Why a refresh token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshRefusal {
    /// Unknown, ended, for another resource, or of another client.
    Unknown,
    /// It was used already.
    Repeated,
}

/// The refresh tokens that are out.
#[derive(Default)]
pub(super) struct RefreshTokens {
    tokens: HashMap<RefreshTokenHash, RefreshTokenEntry>,
    /// By client and user, the oldest first.
    users: HashMap<(Thumbprint, Arc<str>), VecDeque<RefreshTokenHash>>,
    families: u64,
}

impl RefreshTokens {
    /// Makes a token; `after` is the family of the one before. `None` where there are too many.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(super) fn give(
        &mut self,
        renewal: RefreshGrant,
        after: Option<u64>,
        now: Moment,
    ) -> Result<Option<String>, Error> {
        if self.tokens.len() >= TOKENS_MAX {
            self.retain(|entry| now < entry.renewal.ends);
        }
        if self.tokens.len() >= TOKENS_MAX || renewal.ends <= now {
            return Ok(None);
        }
        let family = after.unwrap_or_else(|| {
            self.families += 1;
            self.families
        });
        let token = URL_SAFE_NO_PAD.encode(random_bytes::<32>()?);
        let hash = hash_of(&token);
        let own = self.users.entry((renewal.client, Arc::clone(&renewal.subject))).or_default();
        own.push_back(hash);
        if own.len() > PER_USER_MAX
            && let Some(oldest) = own.pop_front()
        {
            self.tokens.remove(&oldest);
        }
        self.tokens.insert(hash, RefreshTokenEntry { renewal, family, used: false });
        Ok(Some(token))
    }

    /// Uses a token up. Gives what it stands for, and its family.
    pub(super) fn take(
        &mut self,
        token: &str,
        client: Thumbprint,
        resource: &str,
        now: Moment,
    ) -> Result<(RefreshGrant, u64), RefreshRefusal> {
        let entry = self.tokens.get_mut(&hash_of(token)).ok_or(RefreshRefusal::Unknown)?;
        // Another client's token stays: nobody can use up what is not theirs.
        if entry.renewal.client != client || entry.renewal.resource != resource || entry.renewal.ends <= now {
            return Err(RefreshRefusal::Unknown);
        }
        let family = entry.family;
        if entry.used {
            self.retain(|entry| entry.family != family);
            return Err(RefreshRefusal::Repeated);
        }
        entry.used = true;
        Ok((entry.renewal.clone(), family))
    }

    /// A token that was used up for nothing counts again.
    pub(super) fn give_back(&mut self, token: &str) {
        if let Some(entry) = self.tokens.get_mut(&hash_of(token)) {
            entry.used = false;
        }
    }

    /// Drops what a recall concerns. Whose policies changed may go on: each renewal is decided anew.
    pub(super) fn recall(&mut self, target: &CutoffTarget<Arc<str>>) {
        match target {
            CutoffTarget::All | CutoffTarget::Policy(_) => {}
            CutoffTarget::Subject(name) => self.retain(|entry| entry.renewal.subject != *name),
            CutoffTarget::Session(name) => self.retain(|entry| entry.renewal.session.as_ref() != Some(name)),
            CutoffTarget::Client(name) => self.retain(|entry| entry.renewal.client.to_string() != **name),
        }
    }

    fn retain(&mut self, keep: impl Fn(&RefreshTokenEntry) -> bool) {
        self.tokens.retain(|_, entry| keep(entry));
        let tokens = &self.tokens;
        self.users.retain(|_, own| {
            own.retain(|hash| tokens.contains_key(hash));
            !own.is_empty()
        });
    }
}

fn hash_of(token: &str) -> RefreshTokenHash {
    let mut hash = [0; 32];
    hash.iter_mut().zip(digest(&SHA256, token.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Moment = Moment::from_s(1_000);

    fn renewal(client: &[u8]) -> RefreshGrant {
        RefreshGrant {
            user: CallerUser::Name("anna".into()),
            subject: "anna".into(),
            session: Some("session".into()),
            client: Thumbprint::of(client),
            resource: "urn:plc".to_owned(),
            roles: Vec::new(),
            ends: NOW.plus(Duration::from_secs(60)),
        }
    }

    fn take(tokens: &mut RefreshTokens, token: &str, client: &[u8]) -> Result<u64, RefreshRefusal> {
        tokens.take(token, Thumbprint::of(client), "urn:plc", NOW).map(|(_, family)| family)
    }

    #[test]
    fn a_token_counts_once_and_only_for_its_client_its_resource_and_its_time() {
        let mut tokens = RefreshTokens::default();
        let token = tokens.give(renewal(b"one"), None, NOW).unwrap().unwrap();
        assert_eq!(take(&mut tokens, &token, b"other"), Err(RefreshRefusal::Unknown));
        let one = Thumbprint::of(b"one");
        assert_eq!(tokens.take(&token, one, "urn:else", NOW), Err(RefreshRefusal::Unknown));
        let end = renewal(b"one").ends;
        assert_eq!(tokens.take(&token, one, "urn:plc", end), Err(RefreshRefusal::Unknown));
        assert_eq!(take(&mut tokens, &token, b"one"), Ok(1), "the others did not use it up");
        assert_eq!(take(&mut tokens, "unknown", b"one"), Err(RefreshRefusal::Unknown));
    }

    #[test]
    fn a_repeated_token_ends_those_that_follow_it() {
        let mut tokens = RefreshTokens::default();
        let first = tokens.give(renewal(b"one"), None, NOW).unwrap().unwrap();
        let other = tokens.give(renewal(b"one"), None, NOW).unwrap().unwrap();
        let family = take(&mut tokens, &first, b"one").unwrap();
        let second = tokens.give(renewal(b"one"), Some(family), NOW).unwrap().unwrap();
        assert_eq!(take(&mut tokens, &first, b"one"), Err(RefreshRefusal::Repeated));
        assert_eq!(take(&mut tokens, &second, b"one"), Err(RefreshRefusal::Unknown));
        assert_eq!(take(&mut tokens, &other, b"one"), Ok(2), "another login goes on");
    }

    #[test]
    fn a_user_has_few_at_a_client_and_is_in_nobodys_way() {
        let mut tokens = RefreshTokens::default();
        let bert = RefreshGrant { subject: "bert".into(), ..renewal(b"one") };
        let other = tokens.give(bert, None, NOW).unwrap().unwrap();
        let mut give = || tokens.give(renewal(b"one"), None, NOW).unwrap().unwrap();
        let (first, second) = (give(), give());
        (1..PER_USER_MAX).for_each(|_| drop(give()));
        assert_eq!(take(&mut tokens, &first, b"one"), Err(RefreshRefusal::Unknown));
        assert!(take(&mut tokens, &second, b"one").is_ok());
        assert!(take(&mut tokens, &other, b"one").is_ok());
        assert_eq!(tokens.tokens.len(), PER_USER_MAX + 1);
    }

    #[test]
    fn recalls_drop_what_they_concern() {
        let client = Thumbprint::of(b"one").to_string();
        let targets = [
            (CutoffTarget::Subject("anna".into()), false),
            (CutoffTarget::Session("session".into()), false),
            (CutoffTarget::Client(client.into()), false),
            (CutoffTarget::Subject("bert".into()), true),
            (CutoffTarget::Session("other".into()), true),
            (CutoffTarget::Client("other".into()), true),
            (CutoffTarget::Policy("1".into()), true),
        ];
        for (target, stays) in targets {
            let mut tokens = RefreshTokens::default();
            let token = tokens.give(renewal(b"one"), None, NOW).unwrap().unwrap();
            tokens.recall(&target);
            assert_eq!(take(&mut tokens, &token, b"one").is_ok(), stays, "{target}");
        }
    }
}
