//! What a directory says of a password beside yes and no: the control of password policies (draft-behera-ldap-password-policy-10), and when
//! the password was given.

use durward_identity::Moment;

use crate::directory::PasswordRejection;

/// The control, in the question and in the answer.
pub(super) const CONTROL: &str = "1.3.6.1.4.1.42.2.27.8.5.1";

/// The attribute with the time of the last change, by the same draft: OpenLDAP, OpenDJ, 389 Directory Server.
pub(super) const CHANGED: &str = "pwdChangedTime";

/// The same in Active Directory.
pub(super) const LAST_SET: &str = "pwdLastSet";

/// From 1601, with which Active Directory begins to count, to 1970, in milliseconds.
const SINCE_1601_MS: u64 = 11_644_473_600_000;

/// What the control says with an answer. What a server does not say is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PasswordPolicy {
    /// How often the user may still log in with a password that is over.
    pub(super) logins_left: Option<u64>,
    pub(super) error: Option<PolicyError>,
}

/// The errors of the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyError {
    Expired,
    Locked,
    /// An administrator gave the password, and the user must choose another one.
    ChangeAfterReset,
    ModificationNotAllowed,
    MustSupplyOld,
    TooSimple,
    TooShort,
    TooYoung,
    InHistory,
}

impl PasswordPolicy {
    /// Reads the control's value: `SEQUENCE { warning [0] CHOICE { timeBeforeExpiration [0], graceAuthNsRemaining [1] } OPTIONAL, error [1]
    /// ENUMERATED OPTIONAL }`. What is none of that says nothing.
    pub(super) fn read(value: &[u8]) -> PasswordPolicy {
        let mut policy = PasswordPolicy::default();
        let Some((0x30, mut rest, _)) = element(value) else { return policy };
        while let Some((tag, content, behind)) = element(rest) {
            match tag {
                0xa0 => {
                    if let Some((0x81, number, _)) = element(content) {
                        policy.logins_left = Some(number_of(number));
                    }
                }
                0x81 => policy.error = error_of(number_of(content)),
                _ => {}
            }
            rest = behind;
        }
        policy
    }
}

/// Tag, content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        short @ 0..=0x7f => (usize::from(short), rest),
        // Active Directory and others write lengths with more bytes than they need.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |all, digit| all << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((tag, content, behind))
}

/// A number that is not negative; a longer one is very large.
fn number_of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .try_fold(0_u64, |all, byte| all.checked_mul(256)?.checked_add((*byte).into()))
        .unwrap_or(u64::MAX)
}

fn error_of(number: u64) -> Option<PolicyError> {
    Some(match number {
        0 => PolicyError::Expired,
        1 => PolicyError::Locked,
        2 => PolicyError::ChangeAfterReset,
        3 => PolicyError::ModificationNotAllowed,
        4 => PolicyError::MustSupplyOld,
        5 => PolicyError::TooSimple,
        6 => PolicyError::TooShort,
        7 => PolicyError::TooYoung,
        8 => PolicyError::InHistory,
        _ => return None,
    })
}

/// Why a change was not made, by the result and the control; nothing where it says nothing about the password.
pub(super) fn rejection(result: u32, policy: PasswordPolicy) -> Option<PasswordRejection> {
    let by_policy = policy.error.map(|error| match error {
        PolicyError::TooShort => PasswordRejection::TooShort,
        PolicyError::TooSimple => PasswordRejection::TooSimple,
        PolicyError::InHistory => PasswordRejection::HadBefore,
        PolicyError::TooYoung => PasswordRejection::TooSoon,
        PolicyError::ModificationNotAllowed
        | PolicyError::MustSupplyOld
        | PolicyError::Expired
        | PolicyError::Locked
        | PolicyError::ChangeAfterReset => PasswordRejection::NotAllowed,
    });
    by_policy.or(match result {
        // A constraint, such as a rule for passwords.
        19 => Some(PasswordRejection::TooSimple),
        // No such operation, a control that is not known, no right, or the server will not.
        2 | 12 | 50 | 53 => Some(PasswordRejection::NotAllowed),
        49 => Some(PasswordRejection::OldIsWrong),
        _ => None,
    })
}

/// When a password was given: the value of [`CHANGED`], else that of [`LAST_SET`].
pub(super) fn since(changed: Option<&str>, last_set: Option<&str>) -> Option<Moment> {
    changed.and_then(generalized).or_else(|| last_set.and_then(file_time))
}

/// `GeneralizedTime` in UTC (RFC 4517, 3.3.13): `20261129163944Z`, perhaps with a fraction.
pub(super) fn generalized(text: &str) -> Option<Moment> {
    let text = text.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let number = |from: usize, to: usize| whole.get(from..to)?.parse::<u64>().ok();
    if whole.len() != 14 || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 {
        return None;
    }
    let ms: u64 = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction)).parse().ok()?;
    let seconds = ((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second;
    Some(Moment::from_ms(seconds * 1000 + ms))
}

/// Days from 1970 to a day of the Gregorian calendar: years begin with March, so that a leap day is their last.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400;
    // 719_468 days are from March of year 0 to 1970.
    (before + (153 * month + 2) / 5 + day - 1).checked_sub(719_468)
}

/// Hundreds of nanoseconds since 1601. 0 means that the password must be changed, and never that it is of then.
pub(super) fn file_time(text: &str) -> Option<Moment> {
    let ticks: u64 = text.parse().ok()?;
    (ticks / 10_000).checked_sub(SINCE_1601_MS).map(Moment::from_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_is_read_as_servers_write_it() {
        let read = |bytes: &[u8]| {
            let policy = PasswordPolicy::read(bytes);
            (policy.logins_left, policy.error)
        };
        assert_eq!(read(b"\x30\x03\x81\x01\x02"), (None, Some(PolicyError::ChangeAfterReset)));
        assert_eq!(read(b"\x30\x03\x81\x01\x00"), (None, Some(PolicyError::Expired)));
        assert_eq!(read(b"\x30\x05\xa0\x03\x81\x01\x04"), (Some(4), None));
        // Time before expiration is no reason to change it now.
        assert_eq!(read(b"\x30\x06\xa0\x04\x80\x02\x0e\x10"), (None, None));
        assert_eq!(read(b"\x30\x08\xa0\x03\x81\x01\x01\x81\x01\x00"), (Some(1), Some(PolicyError::Expired)));
        assert_eq!(read(b"\x30\x84\x00\x00\x00\x03\x81\x01\x08"), (None, Some(PolicyError::InHistory)));
        assert_eq!(read(b"\x30\x00"), (None, None));
    }

    #[test]
    fn what_is_no_control_says_nothing() {
        let whole = b"\x30\x08\xa0\x03\x81\x01\x01\x81\x01\x00";
        for length in 0..whole.len() {
            assert_eq!(PasswordPolicy::read(&whole[..length]), PasswordPolicy::default(), "{length}");
        }
        for odd in [
            &b"\x30\x85\x01\x02\x03\x04\x05"[..],
            b"\x30\x84\xff\xff\xff\xff",
            b"\x04\x03\x81\x01\x02",
            b"\x30\x03\x81\x01\x63",
            b"\x30\x0b\x81\x09\x01\x00\x00\x00\x00\x00\x00\x00\x02",
        ] {
            assert_eq!(PasswordPolicy::read(odd).error, None, "{odd:x?}");
        }
    }

    #[test]
    fn times_of_directories_are_read() {
        let of = |text| generalized(text).map(Moment::ms);
        assert_eq!(of("19700101000000Z"), Some(0));
        assert_eq!(of("20240229235959Z"), Some(1_709_251_199_000));
        assert_eq!(of("20261129163944Z"), Some(1_795_970_384_000));
        assert_eq!(of("20261129163944.123456Z"), Some(1_795_970_384_123));
        assert_eq!(of("20000301000000.5Z"), Some(951_868_800_500));
        for none in ["", "Z", "20261129163944", "20261329163944Z", "2026112916394xZ", "19000101000000Z", "0Z"]
        {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(file_time("133537248000000000").map(Moment::ms), Some(1_709_251_200_000));
        for none in ["0", "-1", "", "1"] {
            assert_eq!(file_time(none), None, "{none}");
        }
        let both = since(Some("20240229235959Z"), Some("133537248000000000"));
        assert_eq!(both.map(Moment::ms), Some(1_709_251_199_000));
    }
}
