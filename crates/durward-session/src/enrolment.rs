//! A second step that is about to be: the secret that a user was shown, until they bring a code of it. It is signed and handed to the
//! user, who knows the secret anyway: nodes keep nothing of enrolments that are abandoned, and any node may take the code.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;
use durward_identity::session::User;
use durward_identity::user::{Totp, TotpAlgorithm};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

use crate::challenge::{Challenges, derive};

const TAG: usize = 32;

/// The longest enrolment that is read, in characters.
const LENGTH_MAX: usize = 1024;

/// The digits and the period of codes that are enrolled here: what every device knows.
const DIGITS: u32 = 6;
const PERIOD_S: u64 = 30;

/// Makes and opens enrolments.
pub(crate) struct Enrolments {
    users: Challenges,
    key: Key,
}

impl Enrolments {
    pub(crate) fn new(secret: &[u8; 32]) -> Enrolments {
        let secret = derive(secret, "second step enrolment");
        Enrolments { users: Challenges::new(&secret), key: Key::new(HMAC_SHA256, &derive(&secret, "secret")) }
    }

    /// What the user brings back with a code. The second step must be one of [`Totp::generate`].
    pub(crate) fn make(&self, user: &User, totp: &Totp, until: Moment) -> String {
        let user = self.users.make(user, until);
        let mut bytes = totp.secret().to_vec();
        bytes.extend(sign(&self.key, &signed(&user, totp.secret())).as_ref());
        format!("{user}.{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The second step that this user was shown, if it was shown here to them and not too long ago, and until when it is good.
    pub(crate) fn open(&self, text: &str, user: &User, now: Moment) -> Option<(Totp, Moment)> {
        let (whose, rest) = text.split_once('.').filter(|_| text.len() <= LENGTH_MAX)?;
        let (shown_to, until) = self.users.open(whose, now)?;
        let bytes = URL_SAFE_NO_PAD.decode(rest).ok()?;
        let (secret, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        verify(&self.key, &signed(whose, secret), tag).ok()?;
        let totp = Totp::new(secret.to_vec(), TotpAlgorithm::Sha1, DIGITS, PERIOD_S).ok()?;
        (shown_to == *user).then_some((totp, until))
    }
}

fn signed(user: &str, secret: &[u8]) -> Vec<u8> {
    // No zero byte is in the first part.
    [user.as_bytes(), &[0], secret].concat()
}

#[cfg(test)]
mod tests {
    use durward_identity::SystemEntropy;

    use super::*;

    #[test]
    fn an_enrolment_is_good_for_its_user_its_secret_and_its_time() {
        let enrolments = Enrolments::new(&[1; 32]);
        let (anna, berta) = (User::new("/", "anna").unwrap(), User::new("/", "berta").unwrap());
        let (one, other) = (Totp::generate(&SystemEntropy).unwrap(), Totp::generate(&SystemEntropy).unwrap());
        let at = Moment::from_ms;
        let text = enrolments.make(&anna, &one, at(100));
        assert_eq!(enrolments.open(&text, &anna, at(99)), Some((one.clone(), at(100))));
        assert_eq!(enrolments.open(&text, &anna, at(100)), None, "over");
        assert_eq!(enrolments.open(&text, &berta, at(99)), None, "another user's");
        assert_eq!(Enrolments::new(&[2; 32]).open(&text, &anna, at(99)), None, "another cluster's");
        let later = enrolments.make(&anna, &other, at(200));
        let mixed = format!("{}.{}", later.split_once('.').unwrap().0, text.split_once('.').unwrap().1);
        assert_eq!(enrolments.open(&mixed, &anna, at(99)), None, "two that do not belong together");
        // A challenge of a login is none.
        assert_eq!(enrolments.open(&Challenges::new(&[1; 32]).make(&anna, at(100)), &anna, at(99)), None);
    }
}
