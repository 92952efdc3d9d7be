//! Links by which a user chooses another password without the old one: a sealed text that names the user, when their present password
//! was given, and when it was made. It is over with that password, and with the account: it is good once, and nodes keep nothing of it. All
//! nodes of a cluster, and whoever has its secret, make and open the same.

use std::fmt;

use durward_identity::session::{User, open_text, seal_text};
use durward_identity::user::Account;
use durward_identity::{IdentityError, Moment, SystemEntropy};

use crate::challenge::derive;

/// How long a key seals links.
const PERIOD_S: u32 = 86_400;

/// How many periods back a link may have been made. What it holds says when it ends.
const PERIODS_BACK_MAX: u32 = 32;

/// The longest text that is read as one, in characters.
const LENGTH_MAX: usize = 1024;

/// End of its time, when the password was given, when it was made, length of the realm.
const HEAD: usize = 8 + 8 + 8 + 1;

/// Makes links.
pub struct ResetLinks {
    secret: [u8; 32],
}

/// What goes into a link, and until when it is good.
#[derive(Clone, PartialEq, Eq)]
pub struct ResetLink {
    /// The sealed text: whoever has it may choose the user's password.
    pub token: String,
    /// Until when.
    pub until: Moment,
}

/// What a link says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenedLink {
    pub(crate) user: User,
    /// When the password was given that the link is for.
    pub(crate) since_ms: u64,
    /// An account that was removed since was another one, also where neither has a password.
    pub(crate) made: Moment,
}

impl OpenedLink {
    /// Since when nothing may have ended what began of the account. A password that is of later than its link is of a clock that is ahead.
    pub(crate) fn began(&self) -> Moment {
        Moment::from_ms(self.made.ms().max(self.since_ms))
    }
}

impl ResetLinks {
    /// For the nodes that have this secret.
    pub fn new(cluster_secret: &[u8; 32]) -> ResetLinks {
        ResetLinks { secret: derive(cluster_secret, "password reset") }
    }

    /// A link for the user of this account, as long as they have this password.
    ///
    /// # Errors
    /// There is no randomness, or the account has no name.
    pub fn make(&self, account: &Account, now: Moment, until: Moment) -> Result<ResetLink, IdentityError> {
        let user = account.user()?;
        let mut content = until.ms().to_be_bytes().to_vec();
        content.extend(account.password_since_ms.to_be_bytes());
        content.extend(now.ms().to_be_bytes());
        content.push(u8::try_from(user.realm().len()).unwrap_or(u8::MAX));
        content.extend(user.realm().as_bytes());
        content.extend(user.subject().as_bytes());
        let period = now.seconds() / PERIOD_S;
        let token = seal_text(&self.key_of(period), period, &content, &SystemEntropy)?;
        Ok(ResetLink { token, until })
    }

    /// What a link says, if it was made here and is not over.
    pub(crate) fn open(&self, text: &str, now: Moment) -> Option<OpenedLink> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        let period = now.seconds() / PERIOD_S;
        // The clock of the node that made it may be ahead.
        let is_taken =
            |made: u32| made <= period.saturating_add(1) && period.saturating_sub(made) <= PERIODS_BACK_MAX;
        let content = open_text(text, |made| is_taken(made).then(|| self.key_of(made)))?;
        let (head, names) = content.split_first_chunk::<HEAD>()?;
        let (until, rest) = head.split_first_chunk::<8>()?;
        let (since, rest) = rest.split_first_chunk::<8>()?;
        let (made, rest) = rest.split_first_chunk::<8>()?;
        let realm_length = usize::from(*rest.first()?);
        let (realm, subject) = std::str::from_utf8(names).ok()?.split_at_checked(realm_length)?;
        let is_over = Moment::from_ms(u64::from_be_bytes(*until)) <= now;
        let user = User::new(realm, subject).ok()?;
        let made = Moment::from_ms(u64::from_be_bytes(*made));
        (!is_over).then_some(OpenedLink { user, since_ms: u64::from_be_bytes(*since), made })
    }

    fn key_of(&self, period: u32) -> [u8; 32] {
        derive(&self.secret, &format!("links {period}"))
    }
}

/// Without the secret.
impl fmt::Debug for ResetLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResetLinks")
    }
}

/// Without the token.
impl fmt::Debug for ResetLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResetLink(until {})", self.until.ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u32) -> Moment {
        Moment::from_s(1_700_000_000 + seconds)
    }

    fn anna() -> Account {
        let user = User::new("/sales", "anna").unwrap();
        Account { password_since_ms: 7, ..Account::new(&user) }
    }

    #[test]
    fn a_link_is_good_for_its_user_its_cluster_and_its_time() {
        let links = ResetLinks::new(&[1; 32]);
        let link = links.make(&anna(), at(0), at(100)).unwrap();
        let opened = links.open(&link.token, at(99)).unwrap();
        assert_eq!((opened.user, opened.since_ms, opened.made), (anna().user().unwrap(), 7, at(0)));
        assert_eq!(links.open(&link.token, at(100)), None, "over");
        assert_eq!(ResetLinks::new(&[2; 32]).open(&link.token, at(99)), None, "another cluster's");
        assert_eq!(links.open(&"A".repeat(1 << 20), at(0)), None);
        assert!(!link.token.contains("anna") && !format!("{link:?}").contains(&link.token));
    }

    #[test]
    fn an_altered_link_is_none() {
        let links = ResetLinks::new(&[1; 32]);
        let text = links.make(&anna(), at(0), at(100)).unwrap().token;
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(links.open(&other, at(1)), None, "{place}");
            assert_eq!(links.open(&text[..place], at(1)), None, "{place}");
        }
    }
}
