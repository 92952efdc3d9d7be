//! Plain twins: the recursion of Kiefer and Wolfowitz (1955; of one server, Lindley's, 1952) for requests that wait for cores, and an
//! hour cut into small steps for quotas and sharing.

use durward_lab::random::LabRandom;
use durward_lab::record::LatencyRecord;
use durward_lab::simulate::{Deployment, run};

/// Draws what the simulation draws, in its order, and computes each request's time from those before it on the same node.
fn recursion(deployment: &Deployment, service_ms: f64, is_round_robin: bool) -> LatencyRecord {
    let mut random = LabRandom::new(deployment.seed);
    let nodes = deployment.nodes.count as usize;
    (0..nodes).for_each(|_| {
        random.unit();
    });
    let mut free_at = vec![vec![0u64; deployment.nodes.cores as usize]; nodes];
    let every_ns = 1e9 / deployment.load.rate.unwrap();
    let begin = (deployment.warm_up_s * 1e9) as u64;
    let end = begin + (deployment.seconds * 1e9) as u64;
    let mut times = LatencyRecord::default();
    let mut next = random.exponential(every_ns);
    let mut turn = 0;
    while (next as u64) < end {
        let due = next as u64;
        next += random.exponential(every_ns);
        turn += 1;
        let node = if is_round_robin { turn % nodes } else { random.below(nodes) };
        let service = (random.exponential(service_ms * 1e6) + 0.5) as u64;
        let core = free_at[node].iter_mut().min().unwrap();
        *core = due.max(*core) + service;
        if (begin..end).contains(core) {
            times.record(*core - due);
        }
    }
    times
}

#[test]
fn the_simulation_is_the_recursion_bit_for_bit() {
    for (nodes, cores, balance) in
        [(1, 1, "random"), (7, 1, "random"), (3, 4, "random"), (5, 2, "round_robin")]
    {
        let rate = 90.0 * f64::from(nodes * cores);
        let text = format!(
            "seed = 9\nseconds = 100\nwarm_up_s = 10\nbalance = '{balance}'\nnodes = {{ count = {nodes}, cores = {cores} }}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'ask', service = {{ exponential_ms = 10 }} }}]"
        );
        let deployment = Deployment::read(&text).unwrap();
        let outcome = run(&deployment).unwrap();
        assert_eq!(outcome.since_due(), recursion(&deployment, 10.0, balance == "round_robin"), "{text}");
    }
}

/// Constant arrivals and service times of one node, in steps of 10 us: cores are given to the oldest requests, or shared by all; a
/// quota is spent step by step and renewed on a grid.
fn in_small_steps(
    cores: f64,
    quota: Option<f64>,
    is_sharing: bool,
    every_us: u64,
    service_us: f64,
    steps: u64,
) -> (f64, f64) {
    const STEP_US: u64 = 10;
    let (mut left, mut under_way): (f64, Vec<(u64, f64)>) = (f64::INFINITY, Vec::new());
    let (mut sum, mut count, mut most) = (0.0, 0.0, 0.0f64);
    for step in 0..steps {
        let now = step * STEP_US;
        if let Some(quota) = quota
            && now.is_multiple_of(100_000)
        {
            left = quota * 1e5;
        }
        if now.is_multiple_of(every_us) && now > 0 {
            under_way.push((now, service_us));
        }
        let many = under_way.len() as f64;
        let on_cores = if is_sharing { under_way.len() } else { (cores as usize).min(under_way.len()) };
        let speed = if is_sharing { (cores / many).min(1.0) } else { 1.0 };
        if left > 0.0 {
            for (_, rest) in under_way.iter_mut().take(on_cores) {
                *rest -= speed * STEP_US as f64;
                left -= speed * STEP_US as f64;
            }
        }
        under_way.retain(|(due, rest)| {
            if *rest <= 1e-6 {
                let took = (now + STEP_US - due) as f64 / 1e3;
                sum += took;
                count += 1.0;
                most = most.max(took);
            }
            *rest > 1e-6
        });
    }
    (sum / count, most)
}

/// The phase of the quota's grid is random in the simulation, so many nodes see all phases; here the interval between arrivals does not
/// divide the period, which does the same.
#[test]
fn quotas_and_sharing_are_those_of_small_steps() {
    for (cores, quota, discipline, every_us, service_us) in [
        (1, Some(0.4), "fifo", 17_310, 6_000.0),
        (2, Some(0.5), "fifo", 13_370, 6_000.0),
        (2, Some(0.7), "sharing", 11_130, 7_000.0),
        (2, None, "sharing", 5_170, 9_000.0),
        (4, Some(1.3), "sharing", 9_170, 11_000.0),
    ] {
        let (mean, most) =
            in_small_steps(f64::from(cores), quota, discipline == "sharing", every_us, service_us, 6_000_000);
        let quota = quota.map_or(String::new(), |quota| format!("quota = {quota}, "));
        let text = format!(
            "seconds = 60\nwarm_up_s = 0\nnodes = {{ count = 1, cores = {cores}, {quota}discipline = '{discipline}' }}\nload = {{ rate = {}, arrivals = 'constant' }}\nsteps = [{{ name = 'ask', service = {{ constant_ms = {} }} }}]",
            1e6 / every_us as f64,
            service_us / 1e3
        );
        let outcome = super::simulate(&text);
        let (simulated, longest) = (super::mean_ms(&outcome), outcome.since_due().max_ns() as f64 / 1e6);
        assert!((simulated / mean - 1.0).abs() < 0.02, "{text}: mean {simulated}, in steps {mean}");
        assert!((longest / most - 1.0).abs() < 0.05, "{text}: longest {longest}, in steps {most}");
    }
}

/// One user, no thinking, 10 ms of work each, 0.4 cores: four requests a period, of which one waits for 60 ms.
#[test]
fn a_quota_holds_back_to_the_nanosecond() {
    let outcome = super::simulate(
        "seconds = 10\nwarm_up_s = 1\nnodes = { count = 1, quota = 0.4 }\nload = { users = 1 }\nsteps = [{ name = 'ask', service = { constant_ms = 10 } }]",
    );
    assert!(outcome.answered().abs_diff(400) <= 1, "{}", outcome.answered());
    let times = outcome.since_due();
    assert!(times.percentile_ns(50.0).abs_diff(10_000_000) < 20_000);
    assert!(times.percentile_ns(90.0).abs_diff(70_000_000) < 100_000, "{}", times.percentile_ns(90.0));
    assert!(
        (outcome.nodes[0].throttled - 0.6).abs() < 0.01 && (outcome.nodes[0].utilisation - 1.0).abs() < 0.01
    );
}
