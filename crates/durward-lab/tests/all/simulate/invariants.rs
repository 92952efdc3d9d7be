//! What holds in every simulation: no request is lost, Little's law, the same seed gives the same.

use durward_lab::random::LabRandom;
use durward_lab::simulate::{Deployment, run};

/// A deployment drawn at random, of every kind there is.
fn drawn(seed: u64) -> String {
    let mut random = LabRandom::new(seed);
    let mut one_of = |all: &[&str]| all[random.below(all.len())].to_owned();
    let load = one_of(&[
        "{ rate = 900 }",
        "{ rate = 900, arrivals = 'constant', timeout_s = 0.05 }",
        "{ users = 300, think_s = 0.3 }",
        "{ users = 300, think_s = 0.3, think = 'constant', sessions_at_start = false }",
        "{ users = 300, think_s = 0.3, think = 'pace', timeout_s = 0.02, retry_s = 0.01 }",
        "{ users = 4000, think_s = 4.5, timeout_s = 0.05 }",
        "{ users = 4000, think_s = 4.5, timeout_s = 0.02, retry_s = 0.1, sessions_at_start = false }",
    ]);
    let nodes = one_of(&[
        "count = 5, cores = 2",
        "count = 7, quota = 0.9, cores = 2",
        "count = 5, cores = 2, discipline = 'sharing', queue_max = 3",
        "count = 6, cores = 2, queue_max = 2, logins_at_once = 1, logins_waiting_max = 4",
        "count = 6, cores = 3, stall_every_s = 1, stall_s = 0.1, drops_abandoned = true, logins_at_once = 1",
    ]);
    let balance = one_of(&["sticky", "random", "round_robin", "least_outstanding", "two_choices"]);
    let replication = one_of(&[
        "",
        "replication = { mode = 'best_effort', write = { constant_ms = 1 } }",
        "replication = { mode = 'assured_write', store_cores = 2, write = { constant_ms = 1 }, delay = { exponential_ms = 1 } }",
        "replication = { mode = 'assured_read', store_cores = 1, write = { constant_ms = 1 }, read = { constant_ms = 0.5 }, delay = { constant_ms = 1 } }",
        "replication = { mode = 'assured_read', copies = 2, write = { constant_ms = 1 }, read = { constant_ms = 0.1 } }",
    ]);
    let events = one_of(&[
        "",
        "[[events]]\nfail = { at_s = 5, nodes = 2, detect_s = 0.5, back_after_s = 5, reconnect_within_s = 1 }",
        "[[events]]\nfail = { at_s = 5 }\n[[events]]\nfail = { at_s = 9, nodes = 3, back_after_s = 2 }",
        "[[events]]\nflood = { at_s = 3, users = 500, within_s = 2 }\n[[events]]\nfail = { at_s = 5 }",
    ]);
    format!(
        "seed = {seed}\nseconds = 20\nwarm_up_s = 3\nbalance = '{balance}'\nnodes = {{ {nodes} }}\nload = {load}\n{replication}\nsteps = [
            {{ name = 'login', kind = 'login', weight = 5, service = {{ exponential_ms = 9 }} }},
            {{ name = 'validate', kind = 'read', weight = 90, service = {{ exponential_ms = 4 }}, delay = {{ constant_ms = 0.3 }} }},
            {{ name = 'logout', kind = 'logout', weight = 5, service = {{ constant_ms = 3 }} }}]\n{events}\n"
    )
}

#[test]
fn no_request_is_lost_and_littles_law_holds() {
    for seed in 0..80 {
        let text = drawn(seed);
        let outcome = run(&Deployment::read(&text).unwrap()).unwrap();
        let [begin, end] = outcome.under_way;
        assert_eq!(begin + outcome.sent, end + outcome.answered() + outcome.failed(), "{text}");
        // Some of them collapse: clients give up and ask again faster than nodes get rid of what nobody waits for.
        assert!(outcome.answered() + outcome.failed() > 1_000, "{text}: {} answered", outcome.answered());
        let of_nodes: u64 = outcome.nodes.iter().map(|node| node.answered + node.failed).sum();
        assert_eq!(of_nodes, outcome.answered() + outcome.failed(), "{text}");
        assert!(outcome.nodes.iter().all(|node| node.utilisation < 1.02), "{text}");
        // Requests that are under way at either border make the difference: at most each of them for the longest time there was.
        let longest = outcome.since_due().max_ns().max(50_000_000) as f64 / 1e9;
        let border = (begin + end) as f64 * longest / outcome.measured_s;
        let (mean, law) = (outcome.under_way_mean, outcome.rate_times_time());
        assert!(
            (mean - law).abs() <= border + 0.002 * mean,
            "{text}: L {mean}, X times R {law}, border {border}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    for seed in [3, 14, 15] {
        let mut deployment = Deployment::read(&drawn(seed)).unwrap();
        let first = run(&deployment).unwrap();
        assert_eq!(first, run(&deployment).unwrap());
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<durward_lab::simulate::SimulationOutcome>(&text).unwrap(), first);
        deployment.seed += 1_000_000;
        assert_ne!(first, run(&deployment).unwrap());
    }
}
