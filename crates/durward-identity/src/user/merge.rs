//! Two changes of one user that did not know of each other: what the store says, and what was changed here before it was heard.
//!
//! Each field that only one of them changed is as that one has it. A user whom one of them removed is removed. Codes of second steps
//! that were used by either are used.

use super::account::{Account, SecondStep};
use super::table::JournalEntry;
use crate::passkey::Passkeys;

/// What `ours` becomes over `theirs`, both of which were made of `base`.
pub(super) fn merge(base: &JournalEntry, ours: &JournalEntry, theirs: &JournalEntry) -> JournalEntry {
    match (base, ours, theirs) {
        (JournalEntry::Put(base), JournalEntry::Put(ours), JournalEntry::Put(theirs)) => {
            JournalEntry::Put(Box::new(merge_accounts(base, ours, theirs)))
        }
        (_, JournalEntry::Remove { .. }, JournalEntry::Put(_)) => ours.clone(),
        // Removed there; or added here and there, and the store had theirs first.
        (_, _, _) => theirs.clone(),
    }
}

fn merge_accounts(base: &Account, ours: &Account, theirs: &Account) -> Account {
    let kept = if is_our_password(base, ours, theirs) { ours } else { theirs };
    // It counts second steps too, and whatever ended by it stays ended.
    let since_ms = ours.password_since_ms.max(theirs.password_since_ms);
    let given_ms = kept.password_given().ms();
    Account {
        realm: theirs.realm.clone(),
        subject: theirs.subject.clone(),
        password: kept.password.clone(),
        password_since_ms: since_ms,
        password_given_ms: if given_ms == since_ms { 0 } else { given_ms },
        disabled: *changed(&base.disabled, &ours.disabled, &theirs.disabled),
        must_change_password: merge_marks(base, ours, theirs),
        attributes: changed(&base.attributes, &ours.attributes, &theirs.attributes).clone(),
        groups: changed(&base.groups, &ours.groups, &theirs.groups).clone(),
        second_step: merge_steps(&base.second_step, &ours.second_step, &theirs.second_step),
        passkeys: Passkeys::merged(&base.passkeys, &ours.passkeys, &theirs.passkeys),
        links: changed(&base.links, &ours.links, &theirs.links).clone(),
        entry: changed(&base.entry, &ours.entry, &theirs.entry).clone(),
    }
}

/// Ours where we changed it, else theirs.
fn changed<'a, T: PartialEq>(base: &T, ours: &'a T, theirs: &'a T) -> &'a T {
    if ours == base { theirs } else { ours }
}

/// The later password counts. A hash that was only made anew is no other password.
fn is_our_password(base: &Account, ours: &Account, theirs: &Account) -> bool {
    if ours.password == base.password {
        return false;
    }
    theirs.password == base.password || ours.password_given() > theirs.password_given()
}

/// A mark belongs to the password that is kept. One that was set meanwhile where the other password was counts as well: to choose once
/// more harms nobody.
fn merge_marks(base: &Account, ours: &Account, theirs: &Account) -> bool {
    let mark = |account: &Account| account.must_change_password;
    if ours.password_given() == theirs.password_given() {
        return *changed(&mark(base), &mark(ours), &mark(theirs));
    }
    let (kept, other) = if is_our_password(base, ours, theirs) { (ours, theirs) } else { (theirs, ours) };
    mark(kept) || mark(other) && !mark(base)
}

fn merge_steps(
    base: &Option<SecondStep>,
    ours: &Option<SecondStep>,
    theirs: &Option<SecondStep>,
) -> Option<SecondStep> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours.totp == theirs.totp => {
            let used = ours.used.max(theirs.used);
            Some(SecondStep { totp: theirs.totp.clone(), used, recovery: merge_recovery(base, ours, theirs) })
        }
        (_, _) => {
            let device = |step: &Option<SecondStep>| step.as_ref().map(|step| step.totp.clone());
            // Another device there counts, whatever was used of the old one here.
            if device(theirs) == device(base) { ours.clone() } else { theirs.clone() }
        }
    }
}

/// New codes on paper are in the place of all old ones; of old ones, those are left that neither has used.
fn merge_recovery(
    base: &Option<SecondStep>,
    ours: &SecondStep,
    theirs: &SecondStep,
) -> super::totp::RecoveryCodes {
    let Some(base) = base else { return theirs.recovery.clone() };
    if theirs.recovery.is_part_of(&base.recovery) && !ours.recovery.is_part_of(&base.recovery) {
        return ours.recovery.clone();
    }
    if theirs.recovery.is_part_of(&base.recovery) {
        return theirs.recovery.and(&ours.recovery);
    }
    theirs.recovery.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;
    use crate::session::User;
    use crate::user::{Password, RecoveryCodes, StoredPassword, Totp};

    fn anna() -> Account {
        Account::new(&User::new("/", "anna").unwrap())
    }

    fn removal() -> JournalEntry {
        JournalEntry::Remove { realm: "/".to_owned(), subject: "anna".to_owned(), at_ms: 3 }
    }

    #[test]
    fn what_only_one_changed_is_as_that_one_has_it() {
        let base = anna();
        let ours = Account { disabled: true, ..base.clone() };
        let theirs = Account { groups: vec!["staff".to_owned()], ..base.clone() };
        let merged = merge_accounts(&base, &ours, &theirs);
        assert_eq!(merged, Account { disabled: true, groups: vec!["staff".to_owned()], ..base });
    }

    #[test]
    fn who_was_removed_by_either_is_removed() {
        let put = |account: Account| JournalEntry::Put(Box::new(account));
        let changed = Account { groups: vec!["staff".to_owned()], ..anna() };
        assert_eq!(merge(&put(anna()), &put(changed.clone()), &removal()), removal());
        assert_eq!(merge(&put(anna()), &removal(), &put(changed)), removal());
    }

    #[test]
    fn the_later_password_counts() {
        let costs = crate::user::HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
        let with = |text: &str, at| {
            let hash = StoredPassword::hash(&Password::new(text).unwrap(), costs, &SystemEntropy).unwrap();
            Account { password: Some(hash), password_since_ms: at, ..anna() }
        };
        let (base, ours, theirs) = (with("a", 1), with("b", 2), with("c", 3));
        assert_eq!(merge_accounts(&base, &ours, &theirs).password, theirs.password);
        assert_eq!(merge_accounts(&base, &theirs, &ours).password, theirs.password);
        assert_eq!(merge_accounts(&base, &base, &ours).password, ours.password);
        let anew = Account { password: with("a", 1).password, ..base.clone() };
        assert_eq!(merge_accounts(&base, &anew, &theirs).password, theirs.password);
    }

    #[test]
    fn a_password_is_as_old_as_it_is_whatever_became_of_the_second_step() {
        let costs = crate::user::HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
        let at = crate::Moment::from_ms;
        let hash = StoredPassword::hash(&Password::new("a").unwrap(), costs, &SystemEntropy).unwrap();
        let mut base = anna();
        base.set_password(hash.clone(), at(1));
        let mut stepped = base.clone();
        stepped.end_sessions(at(5));
        assert_eq!((stepped.password_since_ms, stepped.password_given()), (5, at(1)));
        let merged =
            [(&stepped, &base), (&base, &stepped)].map(|(ours, theirs)| merge_accounts(&base, ours, theirs));
        assert_eq!(merged.map(|one| (one.password_since_ms, one.password_given_ms)), [(5, 1), (5, 1)]);
        // Another password here, and another device there a moment later.
        let mut given = base.clone();
        given.set_password(hash, at(4));
        let merged = merge_accounts(&base, &given, &stepped);
        assert_eq!((merged.password_since_ms, merged.password_given()), (5, at(1)), "it is the same hash");
        let again = Account { password_since_ms: 9, password_given_ms: 0, ..stepped };
        assert_eq!(merge_accounts(&again, &again, &again).password_given_ms, 0);
    }

    #[test]
    fn a_mark_goes_with_the_password_that_is_kept() {
        let costs = crate::user::HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
        let of = |text: &str, at, must_change_password| {
            let hash = StoredPassword::hash(&Password::new(text).unwrap(), costs, &SystemEntropy).unwrap();
            Account { password: Some(hash), password_since_ms: at, must_change_password, ..anna() }
        };
        let merged = |base: &Account, ours: &Account, theirs: &Account| {
            merge_accounts(base, ours, theirs).must_change_password
        };
        let base = of("a", 1, true);
        let chosen = of("b", 2, false);
        assert!(!merged(&base, &chosen, &base) && !merged(&base, &base, &chosen));
        // An administrator gave another one later, which must be changed too.
        let given = of("c", 3, true);
        assert!(merged(&base, &chosen, &given) && merged(&base, &given, &chosen));
        // The mark was set while the user chose.
        let base = of("a", 1, false);
        let marked = Account { must_change_password: true, ..base.clone() };
        assert!(merged(&base, &chosen, &marked) && merged(&base, &marked, &chosen));
        // Taken away, and nothing else.
        assert!(!merged(&marked, &base, &marked) && !merged(&marked, &marked, &base));
    }

    #[test]
    fn codes_that_either_used_are_used() {
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let (shown, recovery) = RecoveryCodes::generate(&SystemEntropy).unwrap();
        let step = SecondStep { totp, used: Some(7), recovery: recovery.clone() };
        let base = Some(step.clone());
        let ours = Some(SecondStep { recovery: recovery.without(&shown[0]).unwrap(), ..step.clone() });
        let theirs =
            SecondStep { used: Some(9), recovery: recovery.without(&shown[1]).unwrap(), ..step.clone() };
        let merged = merge_steps(&base, &ours, &Some(theirs)).unwrap();
        assert_eq!((merged.used, merged.recovery.left()), (Some(9), shown.len() - 2));
        let other = SecondStep { totp: Totp::generate(&SystemEntropy).unwrap(), used: None, ..step };
        assert_eq!(merge_steps(&base, &ours, &Some(other.clone())), Some(other.clone()));
        assert_eq!(merge_steps(&base, &Some(other.clone()), &ours), Some(other));
    }
}
