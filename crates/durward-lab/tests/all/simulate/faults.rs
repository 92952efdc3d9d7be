//! Floods, throttles, failures, replication: what they do to those who wait.

use super::simulate;

const STEPS: &str = "steps = [
    { name = 'login', kind = 'login', service = { constant_ms = 50 } },
    { name = 'validate', kind = 'read', weight = 95, service = { constant_ms = 1 } },
    { name = 'logout', kind = 'logout', weight = 5, service = { constant_ms = 1 } }]";

/// 2,000 users log in within a second on two cores that do 40 logins a second.
fn flood(nodes: &str) -> durward_lab::simulate::SimulationOutcome {
    simulate(&format!(
        "seconds = 30\nwarm_up_s = 5\nnodes = {{ count = 2, {nodes} }}\nbalance = 'sticky'\nload = {{ users = 5000, think_s = 50 }}\n{STEPS}
        [[events]]\nflood = {{ at_s = 1, users = 600, within_s = 1 }}"
    ))
}

#[test]
fn a_throttle_keeps_validations_from_waiting_for_logins() {
    let (with, without) = (flood("cores = 2, logins_at_once = 1"), flood("cores = 2"));
    let p99 = |outcome: &durward_lab::simulate::SimulationOutcome, step: usize| {
        outcome.steps[step].since_due.percentile_ns(99.0) / 1_000_000
    };
    assert!(p99(&without, 1) > 3_000, "{}", p99(&without, 1));
    assert!(p99(&with, 1) < 60, "{}", p99(&with, 1));
    // Logins themselves take longer, with one core instead of two.
    assert!(p99(&with, 0) > p99(&without, 0));
    assert!(with.steps[0].answered > 600 && without.steps[0].answered > 600);
    // What is over is refused where the throttle says so, and tried again.
    let refusing = flood("cores = 2, logins_at_once = 1, logins_waiting_max = 20");
    assert!(refusing.steps[0].failed["refused"] > 100);
}

fn failure(replication: &str, storm: &str) -> durward_lab::simulate::SimulationOutcome {
    simulate(&format!(
        "seconds = 30\nwarm_up_s = 5\nnodes = {{ count = 4 }}\nbalance = 'sticky'\nload = {{ users = 4000, think_s = 20 }}\n{replication}\n{STEPS}
        [[events]]\nfail = {{ at_s = 10, detect_s = 1{storm} }}"
    ))
}

#[test]
fn sessions_die_with_their_node_unless_they_are_replicated() {
    let lost = failure("", "");
    let kept = failure(
        "replication = { mode = 'assured_write', store_cores = 1, write = { constant_ms = 0.1 } }",
        "",
    );
    // 4000 users, 5 % logouts: about 10 logins a second, once those who logged out first have thought, for 20 s on average. A node's
    // thousand log in again as they come.
    let logins = |outcome: &durward_lab::simulate::SimulationOutcome| outcome.steps[0].answered;
    assert!((130..230).contains(&logins(&kept)), "{}", logins(&kept));
    assert!((650..1_300).contains(&logins(&lost)), "{}", logins(&lost));
    // Until the failure is detected, requests to the node fail: some 50 a second.
    let failed: u64 = lost.failed();
    assert!((30..80).contains(&failed), "{failed}");
    assert_eq!(kept.nodes.iter().filter(|node| node.failed > 0).count(), 1);
}

#[test]
fn a_reconnection_storm_is_worse_than_coming_back_when_needed() {
    let p99 = |outcome: &durward_lab::simulate::SimulationOutcome| {
        outcome.since_due().percentile_ns(99.0) / 1_000_000
    };
    let (storm, calm) = (failure("", ", reconnect_within_s = 0.5"), failure("", ""));
    assert!(p99(&storm) > 3 * p99(&calm), "{} {}", p99(&storm), p99(&calm));
    let fullest = storm.seconds.iter().map(|second| second.fullest).max().unwrap();
    // A thousand users on three nodes, who log in for 17 s and keep others waiting.
    assert!((333..1_333).contains(&fullest), "{fullest}");
}

#[test]
fn a_node_that_is_back_works_again() {
    let outcome = simulate(
        "seconds = 30\nwarm_up_s = 0\nnodes = { count = 2 }\nbalance = 'random'\nload = { rate = 100 }\nsteps = [{ name = 'a', service = { constant_ms = 1 } }]
        [[events]]\nfail = { at_s = 10, back_after_s = 10 }",
    );
    // 100 a second: half of 20 s, and none of 10 s.
    let of_first = outcome.nodes[0].answered;
    assert!((900..1_100).contains(&of_first), "{of_first}");
    assert_eq!(outcome.answered() + outcome.failed() + outcome.under_way[1], outcome.sent);
}

fn mode(mode: &str, step: usize) -> f64 {
    let outcome = simulate(&format!(
        "seconds = 60\nwarm_up_s = 5\nnodes = {{ count = 4 }}\nload = {{ users = 40, think_s = 1 }}\n{STEPS}
        [replication]\nmode = '{mode}'\nstore_cores = 2\nwrite = {{ constant_ms = 2 }}\nread = {{ constant_ms = 1 }}\ndelay = {{ constant_ms = 5 }}"
    ));
    outcome.steps[step].since_due.percentile_ns(50.0) as f64 / 1e6
}

/// At little load: a write of 1 ms waits for 2 ms of the store and 5 ms of way where it is assured; a read for 1 and 5 where that is.
#[test]
fn answers_wait_for_what_their_mode_says() {
    let all = ["none", "best_effort", "assured_write", "assured_read"];
    for (name, (logout, validate)) in all.into_iter().zip([(1.0, 1.0), (1.0, 1.0), (8.0, 1.0), (8.0, 7.0)]) {
        for (step, expected) in [(2, logout), (1, validate)] {
            let median = mode(name, step);
            assert!((median - expected).abs() < 0.02 * expected, "{name}, step {step}: {median}");
        }
    }
}

/// Writes to every other node: with n nodes each does n times its own writes, so more nodes do not help.
#[test]
fn copies_on_every_node_bound_the_cluster() {
    let throughput = |nodes: u32, copies: &str| {
        simulate(&format!(
            "seconds = 20\nwarm_up_s = 5\nbalance = 'round_robin'\nnodes = {{ count = {nodes} }}\nload = {{ users = {} }}
            steps = [{{ name = 'write', kind = 'write', service = {{ constant_ms = 1 }} }}]
            [replication]\nmode = 'best_effort'\nwrite = {{ constant_ms = 1 }}\n{copies}",
            nodes * 4
        ))
        .throughput()
    };
    let (one, eight) = (throughput(1, ""), throughput(8, ""));
    assert!((one / 1_000.0 - 1.0).abs() < 0.01, "{one}");
    assert!((eight / 1_000.0 - 1.0).abs() < 0.1, "{eight}");
    let two_copies = throughput(8, "copies = 1");
    assert!((two_copies / 4_000.0 - 1.0).abs() < 0.1, "{two_copies}");
}

/// Ten reads that come while a question is under way share the next one: the store is asked less than once a read.
#[test]
fn reads_share_questions() {
    let outcome = simulate(
        "seconds = 20\nwarm_up_s = 5\nnodes = { count = 1, cores = 8 }\nload = { rate = 2000 }
        steps = [{ name = 'read', kind = 'read', service = { constant_ms = 0.1 } }]
        [replication]\nmode = 'assured_read'\nstore_cores = 1\nwrite = { constant_ms = 1 }\nread = { constant_ms = 1 }\ndelay = { constant_ms = 9 }",
    );
    // 100 questions a second of 1 ms, though 2,000 reads a second of 1 ms would be two cores.
    let store = outcome.store.unwrap();
    assert!((store.utilisation - 0.1).abs() < 0.01, "{}", store.utilisation);
    let p50 = outcome.since_due().percentile_ns(50.0) as f64 / 1e6;
    assert!((14.0..16.5).contains(&p50), "{p50}");
}
