//! What queueing theory says exactly.

/// The chance to wait in M/M/c of this load in Erlangs (Erlang C, 1917).
pub(crate) fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |blocked, c| load * blocked / (f64::from(c) + load * blocked));
    let servers = f64::from(servers);
    servers * blocked / (servers - load * (1.0 - blocked))
}

/// The mean time in M/M/c.
pub(crate) fn mmc(servers: u32, rate: f64, service: f64) -> f64 {
    let load = rate * service;
    service + erlang_c(servers, load) * service / (f64::from(servers) - load)
}

/// The mean time in M/G/1, with the squared coefficient of variation of service times (Pollaczek 1930, Khinchine 1932).
pub(crate) fn mg1(rate: f64, service: f64, variation: f64) -> f64 {
    let load = rate * service;
    service + load * service * (1.0 + variation) / (2.0 * (1.0 - load))
}

/// Users who think, one server: throughput and mean time (mean value analysis, Reiser and Lavenberg 1980).
pub(crate) fn repairman(users: u32, think: f64, service: f64) -> (f64, f64) {
    let mut queue = 0.0;
    let mut last = (0.0, 0.0);
    for count in 1..=users {
        let time = service * (1.0 + queue);
        let rate = f64::from(count) / (think + time);
        queue = rate * time;
        last = (rate, time);
    }
    last
}

/// The same with several servers, from the stationary distribution of the birth-death chain.
pub(crate) fn repairmen(users: u32, think: f64, service: f64, servers: u32) -> (f64, f64) {
    let mut weights = vec![1.0];
    for at in 1..=users {
        let birth = f64::from(users - at + 1) / think;
        let death = f64::from(at.min(servers)) / service;
        weights.push(weights[at as usize - 1] * birth / death);
    }
    let sum: f64 = weights.iter().sum();
    let under_way: f64 =
        weights.iter().zip(0..).map(|(weight, at)| weight * f64::from(at)).sum::<f64>() / sum;
    let rate = (f64::from(users) - under_way) / think;
    (rate, under_way / rate)
}

/// The mean time with two choices among very many servers, in service times (Mitzenmacher 1996; Vvedenskaya, Dobrushin,
/// Karpelevich 1996).
pub(crate) fn two_choices(load: f64) -> f64 {
    (1..30).map(|at| load.powf(2f64.powi(at) - 2.0)).sum()
}

/// The mean time with two servers of which the shorter queue is joined, in service times: from the stationary distribution of the
/// chain of both queues, by iteration.
pub(crate) fn join_shortest_of_two(load: f64) -> f64 {
    const MOST: usize = 40;
    let (arrive, serve) = (2.0 * load, 1.0);
    let mut now = vec![vec![0.0; MOST + 1]; MOST + 1];
    now[0][0] = 1.0;
    let step = 1.0 / (arrive + 2.0 * serve);
    for _ in 0..12_000 {
        let mut next = vec![vec![0.0; MOST + 1]; MOST + 1];
        for one in 0..=MOST {
            for other in 0..=MOST {
                let mass = now[one][other];
                if mass < 1e-18 {
                    continue;
                }
                let mut go = |to: (usize, usize), rate: f64| {
                    next[to.0.min(MOST)][to.1.min(MOST)] += mass * rate * step
                };
                match one.cmp(&other) {
                    std::cmp::Ordering::Less => go((one + 1, other), arrive),
                    std::cmp::Ordering::Greater => go((one, other + 1), arrive),
                    std::cmp::Ordering::Equal => {
                        go((one + 1, other), arrive / 2.0);
                        go((one, other + 1), arrive / 2.0);
                    }
                }
                go((one.saturating_sub(1), other), serve);
                go((one, other.saturating_sub(1)), serve);
            }
        }
        now = next;
    }
    let mean: f64 = (0..=MOST)
        .flat_map(|one| (0..=MOST).map(move |other| (one, other)))
        .map(|(a, b)| (a + b) as f64 * now[a][b])
        .sum();
    mean / arrive
}

#[test]
fn formulas_agree_where_they_meet() {
    assert!((mmc(1, 0.5, 1.0) - 2.0).abs() < 1e-12);
    assert!((mg1(0.5, 1.0, 1.0) - 2.0).abs() < 1e-12);
    // A textbook's table: 5 servers, 4 Erlangs.
    assert!((erlang_c(5, 4.0) - 0.5541).abs() < 1e-4);
    let (one, chain) = (repairman(20, 5.0, 0.4), repairmen(20, 5.0, 0.4, 1));
    assert!((one.0 - chain.0).abs() < 1e-9 && (one.1 - chain.1).abs() < 1e-9);
    assert!((two_choices(0.5) - 1.2657).abs() < 1e-3);
}
