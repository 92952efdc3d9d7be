//! Ten thousand guesses a second at one user, for ten minutes, on one node and on three: who gets in, and how much is tried.

use super::*;

/// Guesses come so often.
const STEP: Duration = Duration::from_millis(10);
/// How many at each step, on all nodes together.
const AT_ONCE: u32 = 100;
/// How long what a node tells is on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(50);
/// How long a password is looked at.
const HASHING: Duration = Duration::from_millis(30);

/// Nodes that share counts, and the attempts under way on each.
struct Siege {
    now: Moment,
    nodes: Vec<LoginThrottle>,
    trying: Vec<(usize, Moment, LoginAttempt)>,
    told: VecDeque<(Moment, GuessNews)>,
    guesses: u32,
    tried: u32,
}

impl Siege {
    fn new(nodes: usize) -> Siege {
        let shared = |_| LoginThrottle::shared(ThrottleSettings::default(), &[7; 32]);
        Siege {
            now: at(0),
            nodes: (0..nodes).map(shared).collect(),
            trying: Vec::new(),
            told: VecDeque::new(),
            guesses: 0,
            tried: 0,
        }
    }

    /// From a thousand addresses, one after the other: each a neighbour of three others.
    fn attacker(number: u32) -> IpAddr {
        let number = number % 1_000;
        Ipv4Addr::from_bits(0xc600_0000 + ((number / 4) << 8) + number % 4).into()
    }

    fn guess(&mut self) {
        let node = self.guesses as usize % self.nodes.len();
        let from = Siege::attacker(self.guesses / 3);
        self.guesses += 1;
        let decision = self.nodes[node].attempt(self.now, CredentialKind::Password, &anna(), from);
        if let ThrottleDecision::Go(attempt) = decision {
            self.trying.push((node, self.now.plus(HASHING), attempt));
        }
    }

    fn take_turns(&mut self, node: usize, turns: ReadyTickets) {
        let attempts = turns.into_iter().filter_map(|(_, turn)| turn.ok());
        self.trying.extend(attempts.map(|attempt| (node, self.now.plus(HASHING), attempt)));
    }

    /// What was looked at was wrong.
    fn decide(&mut self) {
        let (over, trying) = std::mem::take(&mut self.trying).into_iter().partition(|it| it.1 <= self.now);
        self.trying = trying;
        let over: Vec<_> = over;
        for (node, _, attempt) in over {
            self.tried += 1;
            let turns = self.nodes[node].end(self.now, attempt, AttemptOutcome::Failed);
            self.take_turns(node, turns);
        }
    }

    fn tell(&mut self) {
        for node in &mut self.nodes {
            while let Some(news) = node.take_news(self.now) {
                self.told.push_back((self.now.plus(ON_ITS_WAY), news));
            }
        }
        while let Some((_, news)) = self.told.pop_front_if(|(comes, _)| *comes <= self.now) {
            for node in 0..self.nodes.len() {
                let turns = self.nodes[node].hear(self.now, &news);
                self.take_turns(node, turns);
            }
        }
    }

    fn step(&mut self, at_once: u32) {
        self.now = self.now.plus(STEP);
        self.decide();
        self.tell();
        (0..at_once).for_each(|_| self.guess());
    }

    fn pass(&mut self, span: Duration, at_once: u32) {
        let until = self.now.plus(span);
        while self.now < until {
            self.step(at_once);
        }
    }

    /// How long the owner takes to be looked at on a node: they come again when they are told to.
    fn owner(&mut self, node: usize, from: IpAddr, device: Option<DeviceId>, at_once: u32) -> Duration {
        let (began, mut due) = (self.now, self.now);
        loop {
            if self.now >= due {
                match self.nodes[node].attempt_on(self.now, CredentialKind::Password, &anna(), from, device) {
                    ThrottleDecision::Go(attempt) => {
                        let turns = self.nodes[node].end(self.now, attempt, AttemptOutcome::Undecided);
                        self.take_turns(node, turns);
                        return self.now.since(began);
                    }
                    ThrottleDecision::Wait(place) => {
                        // As if they had gone at once, to come again a second later.
                        let turns = self.nodes[node].leave(self.now, place);
                        self.take_turns(node, turns);
                        due = self.now.plus(Duration::from_secs(1));
                    }
                    ThrottleDecision::Delayed(delay) => {
                        // `Retry-After` has whole seconds.
                        let seconds = delay.retry_after.as_millis().div_ceil(1000);
                        due = self.now.plus(Duration::from_secs(u64::try_from(seconds).unwrap()));
                    }
                    ThrottleDecision::Crowded => due = self.now.plus(Duration::from_secs(1)),
                }
            }
            assert!(self.now.since(began) < Duration::from_secs(600), "never");
            self.step(at_once);
        }
    }
}

#[test]
fn whoever_guesses_ten_thousand_times_a_second_keeps_nobody_out() {
    let mut siege = Siege::new(1);
    let device = Some(DeviceId([1; 16]));
    for minute in 0..10 {
        let began = siege.now;
        let on_device = siege.owner(0, address(minute << 8), device, AT_ONCE);
        assert!(on_device <= Duration::from_secs(5), "minute {minute}: {on_device:?} on a device");
        if minute > 0 {
            let elsewhere = siege.owner(0, address((100 + minute) << 8), None, AT_ONCE);
            assert!(elsewhere <= Duration::from_secs(16), "minute {minute}: {elsewhere:?} elsewhere");
        }
        let rest = Duration::from_secs(60).saturating_sub(siege.now.since(began));
        siege.pass(rest, AT_ONCE);
    }
    assert!(siege.guesses >= 6_000_000 - 10 * AT_ONCE);
    assert!((30..=90).contains(&siege.tried), "{} tries in ten minutes", siege.tried);
}

/// A tenth of the guesses: what is tried does not depend on how many come.
#[test]
fn three_nodes_give_about_the_guesses_of_one() {
    let [one, three] = [1, 3].map(|nodes| {
        let mut siege = Siege::new(nodes);
        siege.pass(Duration::from_secs(600), AT_ONCE / 10);
        siege.tried
    });
    assert!(three * 2 <= one * 3, "{three} tries on three nodes, {one} on one");
}

#[test]
fn on_three_nodes_too_the_owner_gets_in_from_a_new_address() {
    let mut siege = Siege::new(3);
    siege.pass(Duration::from_secs(120), AT_ONCE / 10);
    for number in 0..5 {
        let took = siege.owner(number as usize % 3, address((100 + number) << 8), None, AT_ONCE / 10);
        assert!(took <= Duration::from_secs(60), "{took:?}");
        siege.pass(Duration::from_secs(30), AT_ONCE / 10);
    }
}

fn tell(from: &mut LoginThrottle, to: &mut LoginThrottle, now: Moment) {
    while let Some(news) = from.take_news(now) {
        assert!(from.hear(now, &news).is_empty());
        assert!(to.hear(now, &news).is_empty());
    }
}

#[test]
fn an_operator_forgives_on_all_nodes() {
    let mut nodes = [0, 1].map(|_| LoginThrottle::shared(ThrottleSettings::default(), &[7; 32]));
    let [one, other] = &mut nodes;
    succeed(other, at(0), CredentialKind::Password, address(1));
    (0..4).for_each(|_| guess(other, at(0), &anna(), address(1)).unwrap());
    (0..4).for_each(|_| guess(one, at(0), &anna(), address(2)).unwrap());
    tell(one, other, at(0));
    assert!(guess(other, at(0), &anna(), address(3)).is_err(), "failures are counted on all nodes");
    assert!(guess(other, at(0), &anna(), address(1)).is_err(), "at their usual address by themselves");
    assert!(one.forgive(at(0), &anna()).is_empty());
    tell(one, other, at(0));
    assert!(guess(other, at(0), &anna(), address(3)).is_ok());
    for (node, from) in [(one, address(2)), (other, address(1))] {
        assert!(guess(node, at(0), &anna(), from).is_ok(), "also where somebody failed");
    }
}

/// Else a failure elsewhere would make a stranger known.
#[test]
fn failures_at_a_usual_address_of_another_node_make_nobody_known() {
    let mut nodes = [0, 1].map(|_| LoginThrottle::shared(ThrottleSettings::default(), &[7; 32]));
    let [one, other] = &mut nodes;
    succeed(one, at(0), CredentialKind::Password, address(1));
    guess(one, at(0), &anna(), address(1)).unwrap();
    tell(one, other, at(0));
    for number in 0..4 {
        guess(other, at(0), &anna(), address(10 + number)).unwrap();
    }
    assert!(guess(other, at(0), &anna(), address(1)).is_err());
}

#[test]
fn a_device_that_fails_too_often_is_none_any_more() {
    let mut throttle = defaults();
    let device = Some(DeviceId([1; 16]));
    let (mut now, mut tried) = (at(0), 0);
    while now < at(300) {
        match throttle.attempt_on(now, CredentialKind::Password, &anna(), address(1), device) {
            ThrottleDecision::Go(attempt) => {
                tried += 1;
                assert!(throttle.end(now, attempt, AttemptOutcome::Failed).is_empty());
            }
            ThrottleDecision::Delayed(delay) => now = now.plus(delay.retry_after),
            entry @ (ThrottleDecision::Wait(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
        }
        if tried > DEVICE_FAILURES_MAX {
            break;
        }
    }
    // From now on its guesses are a stranger's.
    while guess(&mut throttle, now, &anna(), address(2)).is_ok() {}
    assert!(matches!(
        throttle.attempt_on(now, CredentialKind::Password, &anna(), address(1), device),
        ThrottleDecision::Delayed(_)
    ));
}

/// Whoever logs in with a stolen password as often as they like has as many proofs. What comes of them all, each used until it has to wait.
#[test]
fn many_devices_give_no_more_guesses_than_some() {
    let device = |number: u8| Some(DeviceId([number; 16]));
    let on = |throttle: &mut LoginThrottle, now, number| {
        throttle.attempt_on(now, CredentialKind::Password, &anna(), address(1), device(number))
    };
    let mut throttle = defaults();
    let tried = |throttle: &mut LoginThrottle, now| {
        let mut tried = 0;
        for number in 0..200 {
            while let ThrottleDecision::Go(attempt) = on(throttle, now, number) {
                tried += u32::from(attempt.claim.is_on_device());
                assert!(throttle.end(now, attempt, AttemptOutcome::Failed).is_empty());
            }
        }
        tried
    };
    assert_eq!(tried(&mut throttle, at(0)), ALL_DEVICES_FAILURES_MAX + 1);
    // It fills again, one in five minutes, also for the owner: their devices are known again.
    assert_eq!(tried(&mut throttle, at(299)), 0);
    assert_eq!(tried(&mut throttle, at(300)), 1);
    assert!(go(on(&mut throttle, at(900), 201)).claim.is_on_device());
    let [] = throttle.forgive(at(900), &anna())[..] else { panic!() };
    assert_eq!(tried(&mut throttle, at(900)), ALL_DEVICES_FAILURES_MAX);
}

/// All at once: what is under way may become a failure, and so may what stands in line for it.
#[test]
fn many_devices_at_once_give_no_more_guesses_either() {
    let mut throttle = defaults();
    let (mut going, mut waiting, mut tried) = (Vec::new(), 0, 0);
    for number in 0..20 {
        for _ in 0..10 {
            let device = Some(DeviceId([number; 16]));
            match throttle.attempt_on(at(0), CredentialKind::Password, &anna(), address(1), device) {
                ThrottleDecision::Go(attempt) => going.push(attempt),
                ThrottleDecision::Wait(_) => waiting += 1,
                entry @ (ThrottleDecision::Delayed(_) | ThrottleDecision::Crowded) => panic!("{entry:?}"),
            }
        }
    }
    assert!(waiting > 0);
    while let Some(attempt) = going.pop() {
        tried += u32::from(attempt.claim.is_on_device());
        let turns = throttle.end(at(0), attempt, AttemptOutcome::Failed);
        going.extend(turns.into_iter().filter_map(|(_, turn)| turn.ok()));
    }
    assert!(tried <= ALL_DEVICES_FAILURES_MAX + 1, "{tried}");
}

#[test]
fn failures_on_devices_are_counted_on_all_nodes_together() {
    let [one, other] = &mut [(), ()].map(|()| LoginThrottle::shared(ThrottleSettings::default(), &[7; 32]));
    for number in 0..=u8::try_from(ALL_DEVICES_FAILURES_MAX).unwrap() {
        let device = Some(DeviceId([number; 16]));
        let attempt = one.attempt_on(at(0), CredentialKind::Password, &anna(), address(1), device);
        assert!(one.end(at(0), go(attempt), AttemptOutcome::Failed).is_empty());
    }
    tell(one, other, at(0));
    let device = Some(DeviceId([200; 16]));
    let attempt = go(other.attempt_on(at(0), CredentialKind::Password, &anna(), address(2), device));
    assert!(!attempt.claim.is_on_device());
}

/// The owner's family sits behind the address from which somebody guesses.
#[test]
fn a_device_does_not_wait_for_its_address() {
    let mut throttle = defaults();
    for number in 0..30 {
        let _ = guess(&mut throttle, at(0), &user(&format!("user{number}")), address(1));
    }
    assert!(guess(&mut throttle, at(0), &anna(), address(1)).is_err());
    let device = Some(DeviceId([1; 16]));
    let _ = go(throttle.attempt_on(at(0), CredentialKind::Password, &anna(), address(1), device));
}
