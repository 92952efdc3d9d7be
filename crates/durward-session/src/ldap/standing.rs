//! Whether a directory lets somebody log in, as their entry says it: for logins without a password (passkeys, other providers), and for whoever
//! goes on with what began at a login. Where there is a password, the directory says it with the bind as well.
//!
//! An entry that has none of these attributes is one of an active user. So whoever searches must be let read them: what is hidden from them is
//! taken for what is not there, but for Active Directory, whose users all have `userAccountControl`.

use durward_identity::Moment;
use ldap3::SearchEntry;

use super::entry::{bytes, values};
use super::policy::{file_time, generalized};

/// `userAccountControl`: the account is disabled.
const DISABLED: i64 = 0x2;

/// `msDS-User-Account-Control-Computed`: the account is locked at this moment.
const LOCKED_OUT: i64 = 0x10;

/// What is no end of an account in Active Directory.
const NEVER: [&str; 2] = ["0", "9223372036854775807"];

const DAY_MS: u64 = 24 * 3600 * 1000;

/// Attributes whose value `TRUE` says that a user may not log in: 389 Directory Server, eDirectory, OpenDJ, AD LDS.
const SWITCHES: [&str; 4] =
    ["nsAccountLock", "loginDisabled", "ds-pwp-account-disabled", "msDS-UserAccountDisabled"];

/// Attributes with the time at which an account ends, as `GeneralizedTime`: draft-behera-ldap-password-policy-10, OpenDJ, eDirectory, Kerberos.
const ENDS: [&str; 4] =
    ["pwdEndTime", "ds-pwp-account-expiration-time", "loginExpirationTime", "krbPrincipalExpiration"];

const BEGINS: &str = "pwdStartTime";
const CONTROL: &str = "userAccountControl";
const CONTROL_NOW: &str = "msDS-User-Account-Control-Computed";
const LOCKED_AT: &str = "lockoutTime";
const LOCKED_SINCE: &str = "pwdAccountLockedTime";
const LOCKED_UNTIL: &str = "accountUnlockTime";
const INTRUDER: &str = "lockedByIntruder";
const STATUS: &str = "inetUserStatus";
const LAST_DAY: &str = "shadowExpire";
const LAST_TICK: &str = "accountExpires";
const GUID: &str = "objectGUID";

/// The value of [`LOCKED_SINCE`] of an account that only an administrator unlocks.
const FOR_GOOD: &str = "000001010000Z";

/// How it stands with a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Active,
    /// Locked after failures. That may be over by now: whoever binds finds out.
    Locked,
    /// Disabled, expired, or not valid yet; or what the entry says cannot be read.
    Disabled,
}

/// What must be asked for.
pub(super) fn attributes() -> impl Iterator<Item = &'static str> {
    let others = [
        BEGINS,
        CONTROL,
        CONTROL_NOW,
        LOCKED_AT,
        LOCKED_SINCE,
        LOCKED_UNTIL,
        INTRUDER,
        STATUS,
        LAST_DAY,
        LAST_TICK,
    ];
    SWITCHES.into_iter().chain(ENDS).chain(others)
}

impl Standing {
    pub(super) fn of(entry: &SearchEntry, now: Moment) -> Standing {
        let of_entry = Looked { entry, now };
        if of_entry.is_disabled() {
            Standing::Disabled
        } else if of_entry.is_locked() {
            Standing::Locked
        } else {
            Standing::Active
        }
    }
}

struct Looked<'e> {
    entry: &'e SearchEntry,
    now: Moment,
}

impl Looked<'_> {
    fn is_disabled(&self) -> bool {
        let is_over = |text: &str| generalized(text).is_none_or(|end| end <= self.now);
        let begins_later = |text: &str| generalized(text).is_none_or(|begin| begin > self.now);
        let is_switched = |text: &str| !text.eq_ignore_ascii_case("false");
        // Days since 1970; `-1` is never (shadow(5)). What is before 1970 cannot be meant.
        let is_last = |text: &str| {
            text.trim() != "-1"
                && text.trim().parse::<u64>().map_or(true, |day| day.saturating_mul(DAY_MS) <= self.now.ms())
        };
        let is_expired =
            |text: &str| !NEVER.contains(&text) && file_time(text).is_none_or(|end| end <= self.now);
        self.any(&SWITCHES, is_switched)
            || self.any(&ENDS, is_over)
            || self.any(&[BEGINS], begins_later)
            || self.any(&[STATUS], |text| !text.eq_ignore_ascii_case("active"))
            || self.any(&[LAST_DAY], is_last)
            || self.any(&[LAST_TICK], is_expired)
            || self.any(&[LOCKED_SINCE], |text| text == FOR_GOOD)
            || self.any(&[CONTROL], |text| has_bit(text, DISABLED))
    }

    fn is_locked(&self) -> bool {
        // Computed when it is asked for: what it does not say is over.
        let is_locked_out = match self.has(CONTROL_NOW) {
            true => self.any(&[CONTROL_NOW], |text| has_bit(text, LOCKED_OUT)),
            false => self.any(&[LOCKED_AT], |text| text != "0"),
        };
        let is_locked_yet = |text: &str| generalized(text).is_none_or(|end| end.ms() == 0 || end > self.now);
        is_locked_out
            || self.has(LOCKED_SINCE)
            || self.any(&[LOCKED_UNTIL], is_locked_yet)
            || self.any(&[INTRUDER], |text| !text.eq_ignore_ascii_case("false"))
            || self.is_hidden()
    }

    /// Whether an entry of Active Directory does not show what all users there have.
    fn is_hidden(&self) -> bool {
        bytes(self.entry, GUID).is_some() && !self.has(CONTROL) && !self.has("msDS-UserAccountDisabled")
    }

    fn has(&self, attribute: &str) -> bool {
        !values(self.entry, attribute).is_empty()
    }

    fn any(&self, attributes: &[&str], is_so: impl Fn(&str) -> bool) -> bool {
        attributes.iter().any(|attribute| values(self.entry, attribute).iter().any(|value| is_so(value)))
    }
}

/// Whether a bit is set, or it cannot be read whether it is.
fn has_bit(text: &str, bit: i64) -> bool {
    text.parse::<i64>().map_or(true, |number| number & bit != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// 29 November 2026.
    const NOW: Moment = Moment::from_ms(1_795_970_384_000);

    fn of(attributes: &[(&str, &str)]) -> Standing {
        let attrs = attributes.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
        let entry = SearchEntry { dn: String::new(), attrs: attrs.collect(), bin_attrs: HashMap::new() };
        Standing::of(&entry, NOW)
    }

    #[test]
    fn what_directories_say_of_active_users() {
        for active in [
            &[][..],
            &[("userAccountControl", "512"), ("objectGUID", "0123456789abcdef")],
            &[("userAccountControl", "66048"), ("lockoutTime", "0"), ("accountExpires", "0")],
            &[("useraccountcontrol", "512"), ("accountExpires", "9223372036854775807")],
            // It was locked once.
            &[
                ("userAccountControl", "512"),
                ("lockoutTime", "133537248000000000"),
                ("msDS-User-Account-Control-Computed", "0"),
            ],
            &[("nsAccountLock", "false"), ("loginDisabled", "FALSE"), ("inetUserStatus", "Active")],
            &[("shadowExpire", "-1")],
            &[("shadowExpire", "99999")],
            &[("pwdEndTime", "20300101000000Z"), ("pwdStartTime", "20200101000000Z")],
            &[("accountUnlockTime", "20200101000000Z")],
            &[("accountExpires", "153537248000000000")],
        ] {
            assert_eq!(of(active), Standing::Active, "{active:?}");
        }
    }

    #[test]
    fn what_directories_say_of_others() {
        for disabled in [
            ("userAccountControl", "514"),
            ("userAccountControl", "unclear"),
            ("nsAccountLock", "TRUE"),
            ("nsaccountlock", "yes"),
            ("loginDisabled", "TRUE"),
            ("ds-pwp-account-disabled", "true"),
            ("msDS-UserAccountDisabled", "TRUE"),
            ("inetUserStatus", "Inactive"),
            ("inetUserStatus", "deleted"),
            ("pwdAccountLockedTime", "000001010000Z"),
            ("shadowExpire", "20000"),
            ("shadowExpire", "0"),
            ("shadowExpire", "soon"),
            ("accountExpires", "133537248000000000"),
            ("pwdEndTime", "20200101000000Z"),
            ("pwdStartTime", "20300101000000Z"),
            ("krbPrincipalExpiration", "20200101000000Z"),
            ("ds-pwp-account-expiration-time", "20200101000000.000Z"),
        ] {
            assert_eq!(of(&[disabled]), Standing::Disabled, "{disabled:?}");
        }
        for locked in [
            ("pwdAccountLockedTime", "20261129160000Z"),
            ("lockoutTime", "133537248000000000"),
            ("msDS-User-Account-Control-Computed", "16"),
            ("accountUnlockTime", "20300101000000Z"),
            ("accountUnlockTime", "19700101000000Z"),
            ("lockedByIntruder", "TRUE"),
            // What it says of the account may not be read.
            ("objectGUID", "0123456789abcdef"),
        ] {
            assert_eq!(of(&[locked]), Standing::Locked, "{locked:?}");
        }
    }
}
