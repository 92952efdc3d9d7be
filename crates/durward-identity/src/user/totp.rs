//! Codes that change every half a minute (RFC 6238), and codes on paper for when the device is lost.

use std::fmt;

use ring::digest;
use ring::hmac;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::entropy::{Entropy, bytes};
use crate::error::failed;
use crate::hex::hex;
use crate::session::User;
use crate::{IdentityError, Moment};

/// How many recovery codes a user is given.
pub const RECOVERY_CODES: usize = 10;

/// A clock may be wrong by one step in either direction.
const STEPS_OFF_MAX: u64 = 1;

/// The shortest secret, in bytes: RFC 4226, R6.
const SECRET_BYTES_MIN: usize = 16;
/// The longest secret, in bytes.
const SECRET_BYTES_MAX: usize = 64;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The hash that makes codes. Most devices know the first only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TotpAlgorithm {
    /// HMAC with SHA-1.
    #[default]
    #[serde(rename = "SHA1")]
    Sha1,
    /// HMAC with SHA-256.
    #[serde(rename = "SHA256")]
    Sha256,
    /// HMAC with SHA-512.
    #[serde(rename = "SHA512")]
    Sha512,
}

/// How a device makes codes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredTotp", into = "StoredTotp")]
pub struct Totp {
    secret: Vec<u8>,
    algorithm: TotpAlgorithm,
    digits: u32,
    period_s: u64,
}

/// As it is kept.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTotp {
    secret: String,
    algorithm: TotpAlgorithm,
    digits: u32,
    period_s: u64,
}

impl Totp {
    /// A new secret, for codes of six digits that change every 30 seconds.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn generate(entropy: &dyn Entropy) -> Result<Totp, IdentityError> {
        Totp::new(bytes::<20>(entropy)?.to_vec(), TotpAlgorithm::Sha1, 6, 30)
    }

    /// A secret that somebody brings.
    ///
    /// # Errors
    /// A secret of less than 16 or more than 64 bytes, other than 6 to 8 digits, or a period beyond 15 to 120 seconds.
    pub fn new(
        secret: Vec<u8>,
        algorithm: TotpAlgorithm,
        digits: u32,
        period_s: u64,
    ) -> Result<Totp, IdentityError> {
        if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&secret.len()) {
            return failed(format!(
                "a second step's secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes"
            ));
        }
        if !(6..=8).contains(&digits) || !(15..=120).contains(&period_s) {
            return failed("a second step's codes have 6 to 8 digits and change every 15 to 120 seconds");
        }
        Ok(Totp { secret, algorithm, digits, period_s })
    }

    /// What codes are made of. Whoever has it can make them.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The same as people type it into a device: Base32, without padding.
    pub fn secret_text(&self) -> String {
        to_base32(&self.secret)
    }

    /// The code at a moment.
    pub fn code(&self, now: Moment) -> String {
        self.code_of(self.step(now))
    }

    fn step(&self, now: Moment) -> u64 {
        now.ms() / 1000 / self.period_s
    }

    /// RFC 4226, 5.3: dynamic truncation.
    fn code_of(&self, step: u64) -> String {
        let algorithm = match self.algorithm {
            TotpAlgorithm::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            TotpAlgorithm::Sha256 => hmac::HMAC_SHA256,
            TotpAlgorithm::Sha512 => hmac::HMAC_SHA512,
        };
        let tag = hmac::sign(&hmac::Key::new(algorithm, &self.secret), &step.to_be_bytes());
        let offset = usize::from(tag.as_ref().last().copied().unwrap_or_default() & 15);
        let four = tag.as_ref().get(offset..offset + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
        let number = u32::from_be_bytes(four.unwrap_or_default()) & 0x7fff_ffff;
        format!("{:0width$}", number % 10u32.pow(self.digits), width = self.digits as usize)
    }

    /// The step of which this is the code, if it is one that may be used now: near the moment, and later than the last used.
    pub fn check(&self, now: Moment, code: &str, used: Option<u64>) -> Option<u64> {
        let step = self.step(now);
        let near = step.saturating_sub(STEPS_OFF_MAX)..=step.saturating_add(STEPS_OFF_MAX);
        let is_new = |step: &u64| used.is_none_or(|used| *step > used);
        // All are looked at, whichever fits.
        let fitting = near.filter(|step| bool::from(self.code_of(*step).as_bytes().ct_eq(code.as_bytes())));
        fitting.filter(is_new).max()
    }

    /// When a device begins to show the code of a step, by its own clock; and from when on [`Totp::check`] does not take it any more.
    pub(super) fn times(&self, step: u64) -> (Moment, Moment) {
        let begin = |step: u64| Moment::from_ms(step.saturating_mul(self.period_s).saturating_mul(1000));
        (begin(step), begin(step.saturating_add(1 + STEPS_OFF_MAX)))
    }

    /// What a device reads to make the same codes: an address to be shown as a picture. It holds the secret.
    pub fn to_uri(&self, issuer: &str, account: &str) -> String {
        let StoredTotp { secret, algorithm, digits, period_s } = self.clone().into();
        let algorithm = match algorithm {
            TotpAlgorithm::Sha1 => "SHA1",
            TotpAlgorithm::Sha256 => "SHA256",
            TotpAlgorithm::Sha512 => "SHA512",
        };
        let (issuer, account) = (percent(issuer), percent(account));
        format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm={algorithm}&digits={digits}\
             &period={period_s}"
        )
    }
}

/// Without the secret.
impl fmt::Debug for Totp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Totp({:?}, {} digits, {} s)", self.algorithm, self.digits, self.period_s)
    }
}

impl TryFrom<StoredTotp> for Totp {
    type Error = IdentityError;

    fn try_from(written: StoredTotp) -> Result<Totp, IdentityError> {
        let Some(secret) = from_base32(&written.secret) else { return failed("the secret is no Base32") };
        Totp::new(secret, written.algorithm, written.digits, written.period_s)
    }
}

impl From<Totp> for StoredTotp {
    fn from(totp: Totp) -> StoredTotp {
        let Totp { secret, algorithm, digits, period_s } = totp;
        StoredTotp { secret: to_base32(&secret), algorithm, digits, period_s }
    }
}

/// The hashes of recovery codes that are left. The codes have 80 random bits: a plain hash cannot be guessed back.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecoveryCodes(Vec<String>);

impl RecoveryCodes {
    /// New codes: those to be shown once, and what is kept of them.
    ///
    /// # Errors
    /// There is no randomness to be had.
    pub fn generate(entropy: &dyn Entropy) -> Result<(Vec<String>, RecoveryCodes), IdentityError> {
        let mut shown = Vec::new();
        for _ in 0..RECOVERY_CODES {
            let code = to_base32(&bytes::<10>(entropy)?);
            let parts: Vec<&str> =
                (0..4).map(|part| code.get(part * 4..part * 4 + 4).unwrap_or_default()).collect();
            shown.push(parts.join("-"));
        }
        let kept = shown.iter().map(|code| hash_of(code)).collect();
        Ok((shown, RecoveryCodes(kept)))
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// What names a code once it is used. Who knows the name does not know the code, which has 80 random bits.
    pub(super) fn name_of(user: &User, code: &str) -> [u8; 16] {
        let said = format!("durward 1 recovery code\0{}\0{}", user.key(), hash_of(code));
        let digest = digest::digest(&digest::SHA256, said.as_bytes());
        digest.as_ref().first_chunk().copied().unwrap_or_default()
    }

    /// The codes that are left without this one, if it is one.
    #[must_use]
    pub(super) fn without(&self, code: &str) -> Option<RecoveryCodes> {
        let hash = hash_of(code);
        let left: Vec<String> = self
            .0
            .iter()
            .filter(|kept| !bool::from(kept.as_bytes().ct_eq(hash.as_bytes())))
            .cloned()
            .collect();
        (left.len() < self.0.len()).then_some(RecoveryCodes(left))
    }
}

/// Case and dashes make no difference.
fn hash_of(code: &str) -> String {
    let plain: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    let digest = digest::digest(&digest::SHA256, plain.to_ascii_uppercase().as_bytes());
    hex(digest.as_ref())
}

/// RFC 4648, 6; without padding, as devices expect.
fn to_base32(bytes: &[u8]) -> String {
    let (mut text, mut bits, mut count) = (String::new(), 0u32, 0);
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.extend(letter(bits >> count));
        }
    }
    if count > 0 {
        text.extend(letter(bits << (5 - count)));
    }
    text
}

fn letter(bits: u32) -> Option<char> {
    BASE32.get((bits & 31) as usize).map(|letter| char::from(*letter))
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = BASE32.iter().position(|known| *known == letter.to_ascii_uppercase())?;
        bits = (bits << 5) | u32::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).ok()?);
        }
    }
    Some(bytes)
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;

    /// RFC 6238, appendix B.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secrets = [
            (
                TotpAlgorithm::Sha1,
                20,
                ["94287082", "07081804", "14050471", "89005924", "69279037", "65353130"],
            ),
            (
                TotpAlgorithm::Sha256,
                32,
                ["46119246", "68084774", "67062674", "91819424", "90698825", "77737706"],
            ),
            (
                TotpAlgorithm::Sha512,
                64,
                ["90693936", "25091201", "99943326", "93441116", "38618901", "47863826"],
            ),
        ];
        let moments = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000];
        for (algorithm, length, codes) in secrets {
            let secret: Vec<u8> = b"1234567890".iter().copied().cycle().take(length).collect();
            let totp = Totp::new(secret, algorithm, 8, 30).unwrap();
            for (moment, code) in moments.iter().zip(codes) {
                assert_eq!(totp.code(Moment::from_ms(moment * 1000)), code);
            }
        }
    }

    #[test]
    fn a_code_is_good_once_and_near_its_time() {
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let at = |seconds: u64| Moment::from_ms(1_700_000_010_000 + seconds * 1000);
        let code = totp.code(at(0));
        let used = totp.check(at(0), &code, None).unwrap();
        assert_eq!(totp.check(at(1), &code, Some(used)), None, "replayed");
        assert_eq!(totp.check(at(30), &code, None), Some(used), "a clock one step ahead");
        assert_eq!(totp.check(at(90), &code, None), None, "too old");
        let next = totp.code(at(30));
        assert_eq!(totp.check(at(30), &next, Some(used)), Some(used + 1));
        assert_eq!(totp.check(at(30), &code, Some(used + 1)), None, "an older one after a newer one");
        assert_eq!(totp.check(at(0), "", None), None);
        assert_eq!(totp.check(at(0), &"0".repeat(1 << 20), None), None);
    }

    #[test]
    fn nobody_takes_a_code_after_its_time() {
        let at = |ms: u64| Moment::from_ms(1_700_000_010_000 + ms);
        for period_s in [15, 30, 120] {
            let totp = Totp::new(vec![7; 20], TotpAlgorithm::Sha1, 8, period_s).unwrap();
            let step = totp.step(at(0));
            let (since, until) = totp.times(step);
            assert_eq!(totp.code(since), totp.code_of(step));
            let before = |moment: Moment| Moment::from_ms(moment.ms() - 1);
            assert_eq!(totp.code(before(since)), totp.code_of(step - 1));
            assert_eq!(totp.check(before(until), &totp.code_of(step), None), Some(step));
            assert_eq!(totp.check(until, &totp.code_of(step), None), None);
        }
    }

    #[test]
    fn a_recovery_code_has_one_name_however_it_is_typed_and_another_for_another_user() {
        let [anna, berta] = ["anna", "berta"].map(|name| User::new("/", name).unwrap());
        let name = RecoveryCodes::name_of(&anna, "ABCD-EFGH-IJKL-MNOP");
        assert_eq!(name, RecoveryCodes::name_of(&anna, "abcdefgh ijklmnop"));
        assert_ne!(name, RecoveryCodes::name_of(&berta, "ABCD-EFGH-IJKL-MNOP"));
        assert_ne!(name, RecoveryCodes::name_of(&anna, "ABCD-EFGH-IJKL-MNOQ"));
    }

    #[test]
    fn recovery_codes_are_good_once_however_they_are_typed() {
        let (shown, kept) = RecoveryCodes::generate(&SystemEntropy).unwrap();
        assert_eq!((shown.len(), kept.left()), (RECOVERY_CODES, RECOVERY_CODES));
        let typed = shown[4].to_lowercase().replace('-', " ");
        let left = kept.without(&typed).unwrap();
        assert_eq!(left.left(), RECOVERY_CODES - 1);
        assert!(left.without(&shown[4]).is_none());
        assert!(kept.without("").is_none());
    }

    #[test]
    fn secrets_survive_being_written() {
        for length in SECRET_BYTES_MIN..=SECRET_BYTES_MAX {
            let secret: Vec<u8> = (0..length).map(|at| (at * 37 % 256) as u8).collect();
            assert_eq!(from_base32(&to_base32(&secret)), Some(secret));
        }
        assert_eq!(to_base32(b"foobar"), "MZXW6YTBOI");
        assert_eq!(from_base32("MZXW6YTB0I"), None);
    }
}
