//! The directory that is built in.

use std::process::Command;
use std::sync::Arc;

use durward_identity::user::{
    Account, Directory, HashCosts, ImportLine, LoginFailure, Password, PasswordCheck, RecoveryCodes,
    SecondStep, StoredPassword, Totp, TotpAlgorithm, UserStore,
};
use durward_identity::{Moment, SystemEntropy};

use crate::support::user;

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
const NOW: Moment = Moment::from_ms(1_700_000_000_000);

fn directory() -> Directory {
    Directory::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap()
}

fn check(directory: &Directory, name: &str, password: &str) -> Result<(), LoginFailure> {
    match directory.check(NOW, &user(name), &Password::new(password).unwrap()).unwrap() {
        PasswordCheck::Right(account) => {
            assert_eq!(account.subject, name);
            Ok(())
        }
        PasswordCheck::Wrong(why) => Err(why),
    }
}

fn account(name: &str, stored: &str) -> Account {
    Account { password: Some(StoredPassword::read(stored).unwrap()), ..Account::new(&user(name)) }
}

#[test]
fn only_the_right_password_of_a_user_who_may_lets_in() {
    let directory = directory();
    directory.put(Account::new(&user("anna"))).unwrap();
    assert_eq!(check(&directory, "anna", "secret"), Err(LoginFailure::UnknownUser), "no password yet");
    directory.set_password(NOW, &user("anna"), &Password::new("secret").unwrap()).unwrap();
    assert_eq!(check(&directory, "anna", "secret"), Ok(()));
    assert_eq!(check(&directory, "anna", "Secret"), Err(LoginFailure::Password));
    assert_eq!(check(&directory, "otto", "secret"), Err(LoginFailure::UnknownUser));
    let disabled = Account { disabled: true, ..directory.account(&user("anna")).unwrap().unwrap() };
    directory.put(disabled).unwrap();
    assert_eq!(check(&directory, "anna", "secret"), Err(LoginFailure::Disabled));
    assert!(directory.remove(NOW, &user("anna")).unwrap());
    assert_eq!(check(&directory, "anna", "secret"), Err(LoginFailure::UnknownUser));
}

#[test]
fn imported_hashes_are_upgraded_by_the_first_login() {
    let directory = directory();
    directory.put(account("anna", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=")).unwrap();
    let kept = || directory.account(&user("anna")).unwrap().unwrap().password.unwrap();
    assert_eq!(check(&directory, "anna", "wrong"), Err(LoginFailure::Password));
    assert!(kept().expose().starts_with("{SHA}"));
    assert_eq!(check(&directory, "anna", "secret"), Ok(()));
    assert!(kept().expose().starts_with("$argon2id$v=19$m=8,t=1,p=1$"));
    assert_eq!(check(&directory, "anna", "secret"), Ok(()));
}

#[test]
fn an_import_takes_all_in_or_none() {
    let directory = directory();
    let mut bad = Account::new(&user("otto"));
    bad.subject = String::new();
    let error =
        directory.import(vec![account("anna", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="), bad]).unwrap_err();
    assert_eq!((error.at, error.to_string()), (1, "user 2: a user needs a name".to_owned()));
    assert!(directory.list().is_empty());
}

fn line(text: &str) -> ImportLine {
    serde_json::from_str(text).unwrap()
}

#[test]
fn lines_of_a_file_change_what_they_say_and_leave_the_rest() {
    let directory = directory();
    let (_, shown) = with_second_step(&directory);
    assert!(directory.check_code(NOW, &user("anna"), &shown[0]).unwrap().is_some());
    directory.change(&user("anna"), |account| account.disabled = true).unwrap();
    let before = directory.account(&user("anna")).unwrap().unwrap();
    let lines = vec![
        line(r#"{"realm":"/","subject":"anna","groups":["staff"]}"#),
        line(r#"{"realm":"/","subject":"otto","password":"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}"#),
        line(r#"{"realm":"/","subject":"otto","groups":["guests"]}"#),
    ];
    assert_eq!(directory.import_lines(NOW, lines).unwrap(), 3);
    let after = directory.account(&user("anna")).unwrap().unwrap();
    assert_eq!(after, Account { groups: vec!["staff".to_owned()], ..before });
    let otto = directory.account(&user("otto")).unwrap().unwrap();
    assert_eq!(
        (otto.password_since_ms, otto.groups.as_slice()),
        (NOW.ms(), ["guests".to_owned()].as_slice())
    );
    let (good, bad) = (r#"{"realm":"/","subject":"carl"}"#, r#"{"realm":"/","subject":""}"#);
    let error = directory.import_lines(NOW, vec![line(good), line(bad)]).unwrap_err();
    assert_eq!((error.at, error.to_string()), (1, "user 2: a user needs a name".to_owned()));
    assert_eq!(directory.list().len(), 2, "all or none");
}

/// Whoever reads an account and puts it back later writes over what was changed in between: a recovery code that was used would be
/// good again.
#[test]
fn a_change_is_made_of_what_others_have_written_before() {
    let path = std::env::temp_dir().join(format!("durward-users-two-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let open = || Directory::open(&path, CHEAP, Arc::new(SystemEntropy)).unwrap();
    let server = open();
    let (_, shown) = with_second_step(&server);
    let command = open();
    assert!(server.check_code(NOW, &user("anna"), &shown[0]).unwrap().is_some());
    server.set_password(NOW, &user("anna"), &Password::new("secret").unwrap()).unwrap();
    assert!(command.change(&user("anna"), |account| account.disabled = true).unwrap());
    let lines = vec![line(r#"{"realm":"/","subject":"anna","groups":["staff"]}"#)];
    server.put(Account::new(&user("otto"))).unwrap();
    command.import_lines(NOW, lines).unwrap();
    let anna = command.account(&user("anna")).unwrap().unwrap();
    assert!(anna.disabled && anna.password.is_some());
    assert_eq!(anna.second_step.unwrap().recovery.left(), shown.len() - 1);
    assert!(!command.change(&user("nobody"), |_| ()).unwrap());
    assert!(!command.add(Account::new(&user("otto"))).unwrap(), "added by the other meanwhile");
    assert!(command.add(Account::new(&user("carl"))).unwrap());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn users_survive_a_restart() {
    let path = std::env::temp_dir().join(format!("durward-users-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let open = || Directory::open(&path, CHEAP, Arc::new(SystemEntropy));
    let directory = open().unwrap();
    for number in 0..10 {
        directory.put(Account::new(&user(&format!("user{number}")))).unwrap();
    }
    directory.remove(NOW, &user("user3")).unwrap();
    for _ in 0..3_000 {
        directory.put(Account { groups: vec!["staff".to_owned()], ..Account::new(&user("user4")) }).unwrap();
    }
    let before = directory.list();
    drop(directory);
    assert!(std::fs::metadata(&path).unwrap().len() < 300_000, "written anew when it grows");
    let again = open().unwrap();
    assert_eq!((again.list(), before.len()), (before, 9));
    drop(again);
    std::fs::remove_file(path).unwrap();
}

fn with_second_step(directory: &Directory) -> (Totp, Vec<String>) {
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let (shown, recovery) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let second_step = Some(SecondStep { totp: totp.clone(), used: None, recovery });
    directory.put(Account { second_step, ..Account::new(&user("anna")) }).unwrap();
    (totp, shown)
}

#[test]
fn a_code_and_a_recovery_code_are_each_good_once() {
    let directory = directory();
    let (totp, shown) = with_second_step(&directory);
    let checks = |code: &str| directory.check_code(NOW, &user("anna"), code).unwrap().is_some();
    assert!(!checks("000000") || totp.code(NOW) == "000000");
    assert!(checks(&totp.code(NOW)));
    assert!(!checks(&totp.code(NOW)), "replayed");
    assert!(checks(&shown[3]));
    assert!(!checks(&shown[3]), "replayed");
    assert_eq!(directory.check_code(NOW, &user("otto"), "000000").unwrap(), None);
}

#[test]
fn of_many_who_bring_the_same_code_at_once_one_gets_in() {
    let directory = directory();
    let (totp, _) = with_second_step(&directory);
    let code = totp.code(NOW);
    let count = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| directory.check_code(NOW, &user("anna"), &code).unwrap().is_some()))
            .collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|is| *is).count()
    });
    assert_eq!(count, 1);
}

/// `oathtool` is an implementation of others.
#[test]
fn codes_are_those_that_oathtool_makes() {
    if !durward_testdata::has_program("oathtool", "--version", "apt-get install oathtool") {
        return;
    }
    for (algorithm, name, length) in [
        (TotpAlgorithm::Sha1, "SHA1", 20),
        (TotpAlgorithm::Sha256, "SHA256", 32),
        (TotpAlgorithm::Sha512, "SHA512", 64),
    ] {
        for digits in 6..=8 {
            let secret: Vec<u8> = (0..length).map(|at| (at * 29 + digits) as u8).collect();
            let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
            let now = Moment::from_ms(NOW.ms() + u64::from(digits) * 86_400_000);
            let at = format!("--now=@{}", now.ms() / 1000);
            let mode = format!("--totp={name}");
            let made = Command::new("oathtool")
                .args([&mode, &format!("--digits={digits}"), &at, &hex])
                .output()
                .unwrap();
            let code = String::from_utf8(made.stdout).unwrap();
            let totp = Totp::new(secret, algorithm, digits, 30).unwrap();
            assert_eq!(totp.code(now), code.trim(), "{name}, {digits}: {:?}", String::from_utf8(made.stderr));
        }
    }
}
