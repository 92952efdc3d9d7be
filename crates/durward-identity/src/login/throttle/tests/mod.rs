//! Who may try, who waits and who is delayed.

mod schedules;
mod siege;

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

fn anna() -> User {
    user("anna")
}

fn at(seconds: u64) -> Moment {
    Moment::from_ms(1_700_000_000_000 + seconds * 1000)
}

fn address(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

fn defaults() -> LoginThrottle {
    LoginThrottle::new(ThrottleSettings::default())
}

fn go(entry: ThrottleDecision) -> LoginAttempt {
    let ThrottleDecision::Go(attempt) = entry else { panic!("{entry:?}") };
    attempt
}

fn wait(entry: ThrottleDecision) -> QueueTicket {
    let ThrottleDecision::Wait(place) = entry else { panic!("{entry:?}") };
    place
}

/// Tries, and fails at once. Nobody else is there.
fn guess(throttle: &mut LoginThrottle, now: Moment, user: &User, address: IpAddr) -> Result<(), RetryDelay> {
    match throttle.attempt(now, CredentialKind::Password, user, address) {
        ThrottleDecision::Go(attempt) => {
            assert!(throttle.end(now, attempt, AttemptOutcome::Failed).is_empty());
            Ok(())
        }
        ThrottleDecision::Delayed(delay) => Err(delay),
        entry @ (ThrottleDecision::Wait(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
    }
}

/// The attempts among turns that go on, in order.
fn going(turns: ReadyTickets) -> Vec<(QueueTicket, LoginAttempt)> {
    turns.into_iter().map(|(place, turn)| (place, turn.unwrap())).collect()
}

#[test]
fn delays_double_and_end() {
    let mut throttle = defaults();
    let mut now = at(0);
    let mut delays = Vec::new();
    for number in 0..15 {
        // Each from another address: it is the user's count that grows.
        if let Err(delay) = guess(&mut throttle, now, &anna(), address(number)) {
            delays.push(delay.retry_after.as_secs());
            now = now.plus(delay.retry_after);
            guess(&mut throttle, now, &anna(), address(number)).unwrap();
        }
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 16, 16, 16, 16, 16, 16]);
}

#[test]
fn attacking_a_name_does_not_lock_its_owner_out_of_his_usual_place() {
    let mut throttle = defaults();
    let home = address(1);
    let attempt = go(throttle.attempt(at(0), CredentialKind::Password, &anna(), home));
    assert!(throttle.end(at(0), attempt, AttemptOutcome::Succeeded).is_empty());
    for second in 1..2_000u64 {
        let _ = guess(&mut throttle, at(second), &anna(), address(100 + second as u32));
    }
    assert!(guess(&mut throttle, at(2_000), &anna(), address(9)).is_err(), "elsewhere he waits");
    let _ = go(throttle.attempt(at(2_000), CredentialKind::Password, &anna(), home));
}

/// Attempts that nobody decides are not in the way either of who comes from his usual place.
#[test]
fn attempts_under_way_elsewhere_do_not_hold_up_who_is_at_his_usual_place() {
    let mut throttle = defaults();
    let attempt = go(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(1)));
    assert!(throttle.end(at(0), attempt, AttemptOutcome::Succeeded).is_empty());
    let held: Vec<ThrottleDecision> = (0..100)
        .map(|number| throttle.attempt(at(1), CredentialKind::Password, &anna(), address(10 + number)))
        .collect();
    assert!(matches!(held.last(), Some(ThrottleDecision::Wait(_))));
    let _ = go(throttle.attempt(at(1), CredentialKind::Password, &anna(), address(1)));
}

#[test]
fn hammering_does_not_make_the_delay_longer() {
    let mut throttle = defaults();
    for number in 0..4 {
        guess(&mut throttle, at(0), &anna(), address(number)).unwrap();
    }
    for _ in 0..100_000 {
        assert!(guess(&mut throttle, at(0), &anna(), address(5)).is_err());
    }
    assert!(guess(&mut throttle, at(1), &anna(), address(5)).is_ok());
}

#[test]
fn guessing_at_many_names_from_one_network_is_slowed_down() {
    let mut throttle = defaults();
    let from = |low: u64| IpAddr::from(Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | u128::from(low)));
    let tried = (0..1_000u64)
        .filter(|number| {
            let user = user(&format!("user{number}"));
            guess(&mut throttle, at(number / 100), &user, from(*number)).is_ok()
        })
        .count();
    assert!(tried <= 26, "{tried}");
}

/// One customer has 65,536 networks of 64 bits.
#[test]
fn guessing_at_many_names_from_many_networks_of_one_site_is_slowed_down() {
    let mut throttle = defaults();
    let from = |site: u128, network: u128| {
        IpAddr::from(Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | (site << 80) | (network << 64)))
    };
    let tried = (0..2_000_u32)
        .filter(|number| {
            let user = user(&format!("user{number}"));
            guess(&mut throttle, at(u64::from(number / 200)), &user, from(1, (*number).into())).is_ok()
        })
        .count();
    assert!((200..=206).contains(&tried), "{tried}");
    assert!(guess(&mut throttle, at(10), &anna(), from(2, 0)).is_ok(), "another site");
    let device = Some(DeviceId([1; 16]));
    let _ = go(throttle.attempt_on(at(10), CredentialKind::Password, &anna(), from(1, 0), device));
}

#[test]
fn guesses_at_once_are_as_few_as_one_after_the_other() {
    let mut throttle = defaults();
    let mut tried = Vec::new();
    let mut places = Vec::new();
    for number in 0..100 {
        match throttle.attempt(at(0), CredentialKind::Password, &anna(), address(number)) {
            ThrottleDecision::Go(attempt) => tried.push(attempt),
            ThrottleDecision::Wait(place) => places.push(place),
            entry @ (ThrottleDecision::Delayed(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
        }
    }
    assert_eq!((tried.len(), places.len()), (4, 96));
    let mut told = Vec::new();
    for attempt in tried {
        told.extend(throttle.end(at(0), attempt, AttemptOutcome::Failed));
    }
    let delayed = told.into_iter().map(|(place, turn)| (place, turn.unwrap_err().retry_after.as_secs()));
    let expected = places.into_iter().map(|place| (place, 1));
    assert!(delayed.eq(expected), "all who waited are told of the delay, and nobody tries");
    assert_eq!(throttle.waiting(), 0);
}

#[test]
fn right_logins_at_once_all_have_their_turn_in_order() {
    let mut throttle = defaults();
    let mut trying = Vec::new();
    let mut places = Vec::new();
    for _ in 0..200 {
        match throttle.attempt(at(0), CredentialKind::Password, &anna(), address(1)) {
            ThrottleDecision::Go(attempt) => trying.push(attempt),
            ThrottleDecision::Wait(place) => places.push(place),
            entry @ (ThrottleDecision::Delayed(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
        }
    }
    let mut served = Vec::new();
    while let Some(attempt) = trying.pop() {
        for (place, attempt) in going(throttle.end(at(0), attempt, AttemptOutcome::Succeeded)) {
            served.push(place);
            trying.push(attempt);
        }
        assert!(trying.len() <= 4);
    }
    assert_eq!(served, places);
}

#[test]
fn beyond_what_is_free_one_at_a_time_is_tried() {
    let mut throttle = defaults();
    for number in 0..4 {
        guess(&mut throttle, at(0), &anna(), address(number)).unwrap();
    }
    let first = go(throttle.attempt(at(1), CredentialKind::Password, &anna(), address(5)));
    let second = wait(throttle.attempt(at(1), CredentialKind::Password, &anna(), address(6)));
    let turns = throttle.end(at(1), first, AttemptOutcome::Undecided);
    let [(place, attempt)] = going(turns).try_into().unwrap();
    assert_eq!(place, second);
    let third = wait(throttle.attempt(at(1), CredentialKind::Password, &anna(), address(7)));
    let turns = throttle.end(at(1), attempt, AttemptOutcome::Failed);
    assert_eq!(turns[0].0, third);
    assert_eq!(turns[0].1.as_ref().unwrap_err().retry_after.as_secs(), 2);
}

/// A crowd behind one address: each user's own count has room, the address's has not.
#[test]
fn many_users_at_once_behind_one_address_wait_for_each_other() {
    let mut throttle = defaults();
    let mut trying = Vec::new();
    let mut waiting = 0;
    for number in 0..300 {
        match throttle.attempt(at(0), CredentialKind::Password, &user(&format!("user{number}")), address(1)) {
            ThrottleDecision::Go(attempt) => trying.push(attempt),
            ThrottleDecision::Wait(_) => waiting += 1,
            entry @ (ThrottleDecision::Delayed(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
        }
    }
    assert_eq!((trying.len(), waiting), (21, 279));
    let mut done = 0;
    while let Some(attempt) = trying.pop() {
        done += 1;
        trying.extend(
            going(throttle.end(at(0), attempt, AttemptOutcome::Succeeded)).into_iter().map(|turn| turn.1),
        );
    }
    assert_eq!((done, throttle.waiting()), (300, 0));
}

/// He has a part of his own count while he waits for his address: it must not stay behind when he goes.
#[test]
fn who_goes_gives_his_turn_on() {
    let mut throttle =
        LoginThrottle::new(ThrottleSettings { user_free: 0, address_free: 0, ..Default::default() });
    let other = go(throttle.attempt(at(0), CredentialKind::Password, &user("berta"), address(1)));
    let at_address = wait(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(1)));
    let at_name = wait(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(2)));
    let [(place, attempt)] = going(throttle.leave(at(0), at_address)).try_into().unwrap();
    assert_eq!(place, at_name);
    assert!(throttle.end(at(0), other, AttemptOutcome::Succeeded).is_empty());
    assert!(throttle.end(at(0), attempt, AttemptOutcome::Succeeded).is_empty());
    assert!(throttle.leave(at(0), at_name).is_empty(), "it had its turn");
    assert_eq!(throttle.waiting(), 0);
}

#[test]
fn forgiving_lets_those_in_who_wait() {
    let mut throttle = defaults();
    for number in 0..3 {
        guess(&mut throttle, at(0), &anna(), address(number)).unwrap();
    }
    let _trying = go(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(5)));
    let places: Vec<QueueTicket> = (6..11)
        .map(|number| wait(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(number))))
        .collect();
    let turns = going(throttle.forgive(at(0), &anna()));
    assert_eq!(turns.iter().map(|turn| turn.0).collect::<Vec<QueueTicket>>(), places[..3]);
}

/// At his usual addresses the count is one of their own.
#[test]
fn forgiving_counts_where_a_user_usually_is() {
    let mut throttle = defaults();
    for number in [1, 2] {
        let attempt = go(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(number)));
        assert!(throttle.end(at(0), attempt, AttemptOutcome::Succeeded).is_empty());
        (0..4).for_each(|_| guess(&mut throttle, at(0), &anna(), address(number)).unwrap());
        assert!(guess(&mut throttle, at(0), &anna(), address(number)).is_err());
    }
    assert!(throttle.forgive(at(0), &user("berta")).is_empty());
    assert!(guess(&mut throttle, at(0), &anna(), address(1)).is_err());
    assert!(throttle.forgive(at(0), &anna()).is_empty());
    for number in [1, 2] {
        // What fails after that counts as ever.
        (1..5).for_each(|second| guess(&mut throttle, at(second), &anna(), address(number)).unwrap());
        assert!(guess(&mut throttle, at(4), &anna(), address(number)).is_err());
    }
}

#[test]
fn lines_are_bounded() {
    let mut throttle = defaults();
    let entries: Vec<ThrottleDecision> = (0..2_000)
        .map(|number| throttle.attempt(at(0), CredentialKind::Password, &anna(), address(number)))
        .collect();
    let waiting = entries.iter().filter(|entry| matches!(entry, ThrottleDecision::Wait(_))).count();
    assert_eq!((waiting, throttle.waiting()), (LINE_LENGTH_MAX, LINE_LENGTH_MAX));
    assert!(matches!(entries.last(), Some(ThrottleDecision::Crowded)));
    let crowds = (0..10_000u32).map(|number| {
        let name = user(&format!("user{}", number % 10));
        throttle.attempt(at(0), CredentialKind::Password, &name, address(10_000 + number))
    });
    let crowded = crowds.filter(|entry| matches!(entry, ThrottleDecision::Crowded)).count();
    assert!(crowded > 0);
    assert_eq!(throttle.waiting(), WAITING_MAX);
}

#[test]
fn a_directory_that_is_down_locks_nobody_out() {
    let mut throttle = defaults();
    for _ in 0..100 {
        let attempt = go(throttle.attempt(at(0), CredentialKind::Password, &anna(), address(1)));
        assert!(throttle.end(at(0), attempt, AttemptOutcome::Undecided).is_empty());
    }
}

/// Who has one account must not use it to guess at others without delay.
#[test]
fn a_right_login_does_not_end_the_delay_of_an_address() {
    let mut throttle = defaults();
    let own = go(throttle.attempt(at(0), CredentialKind::Password, &user("own"), address(1)));
    for number in 0..21 {
        let name = user(&format!("user{number}"));
        match throttle.attempt(at(0), CredentialKind::Password, &name, address(1)) {
            ThrottleDecision::Go(attempt) => drop(throttle.end(at(0), attempt, AttemptOutcome::Failed)),
            entry
            @ (ThrottleDecision::Wait(_) | ThrottleDecision::Delayed(_) | ThrottleDecision::Crowded) => {
                assert!(number == 20 && matches!(entry, ThrottleDecision::Wait(_)), "{entry:?}");
            }
        }
    }
    let turns = throttle.end(at(0), own, AttemptOutcome::Succeeded);
    for (_, attempt) in going(turns) {
        assert!(throttle.end(at(0), attempt, AttemptOutcome::Failed).is_empty());
    }
    assert!(guess(&mut throttle, at(0), &user("next"), address(1)).is_err());
}

#[test]
fn a_flood_of_names_does_not_make_a_guessed_one_forgotten() {
    let mut throttle = LoginThrottle::new(ThrottleSettings {
        user_delay_max: Duration::from_secs(600),
        ..Default::default()
    });
    let mut now = at(0);
    for number in 0..14 {
        if let Err(delay) = guess(&mut throttle, now, &anna(), address(number)) {
            now = now.plus(delay.retry_after);
        }
    }
    assert!(
        guess(&mut throttle, now, &anna(), address(77)).is_err()
            || guess(&mut throttle, now, &anna(), address(78)).is_err()
    );
    for number in 0..300_000u32 {
        let _ = guess(&mut throttle, now, &user(&format!("flood{number}")), address(1_000 + number));
    }
    assert!(guess(&mut throttle, now, &anna(), address(79)).is_err());
}

/// Tries a code, and it is wrong.
fn guess_code(throttle: &mut LoginThrottle, now: Moment, address: IpAddr) -> Result<(), RetryDelay> {
    match throttle.attempt(now, CredentialKind::Code, &anna(), address) {
        ThrottleDecision::Go(attempt) => {
            assert!(throttle.end(now, attempt, AttemptOutcome::Failed).is_empty());
            Ok(())
        }
        ThrottleDecision::Delayed(delay) => Err(delay),
        entry @ (ThrottleDecision::Wait(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
    }
}

fn succeed(throttle: &mut LoginThrottle, now: Moment, proof: CredentialKind, address: IpAddr) {
    let attempt = go(throttle.attempt(now, proof, &anna(), address));
    assert!(throttle.end(now, attempt, AttemptOutcome::Succeeded).is_empty());
}

/// Who knows the password is not to have guesses without end at the code: from one address or from many, his own ones known by now.
#[test]
fn a_right_password_does_not_forgive_wrong_codes() {
    let mut throttle = defaults();
    let tried = (0..50u32)
        .filter(|number| {
            let from = address(number / 2);
            succeed(&mut throttle, at(0), CredentialKind::Password, from);
            guess_code(&mut throttle, at(0), from).is_ok()
        })
        .count();
    assert_eq!(tried, 4);
}

#[test]
fn wrong_codes_elsewhere_do_not_hold_up_who_gave_right_ones_where_he_is() {
    let mut throttle = defaults();
    succeed(&mut throttle, at(0), CredentialKind::Code, address(1));
    for second in 1..2_000u64 {
        let _ = guess_code(&mut throttle, at(second), address(100 + second as u32));
    }
    assert!(guess_code(&mut throttle, at(2_000), address(9)).is_err(), "elsewhere he waits");
    succeed(&mut throttle, at(2_000), CredentialKind::Code, address(1));
}

/// Where the second step is asked for at the login, nothing else ends the count of passwords.
#[test]
fn a_right_code_ends_the_delay_for_passwords_too() {
    let mut throttle = defaults();
    for number in 0..4 {
        guess(&mut throttle, at(0), &anna(), address(number)).unwrap();
    }
    assert!(guess(&mut throttle, at(0), &anna(), address(1)).is_err());
    succeed(&mut throttle, at(0), CredentialKind::Code, address(1));
    assert!(guess(&mut throttle, at(0), &anna(), address(2)).is_ok());
}

#[test]
fn an_operator_forgives_codes_as_well() {
    let mut throttle = defaults();
    while guess_code(&mut throttle, at(0), address(1)).is_ok() {}
    assert!(throttle.forgive(at(0), &anna()).is_empty());
    assert!(guess_code(&mut throttle, at(0), address(1)).is_ok());
}
