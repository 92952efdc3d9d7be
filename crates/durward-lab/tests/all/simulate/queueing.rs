//! Queues whose answer is known exactly.

use super::exact::{join_shortest_of_two, mg1, mmc, repairman, repairmen, two_choices};
use super::{agrees, mean_ms, replicated, simulate};

fn open(nodes: &str, rate: f64, service: &str) -> String {
    let (seconds, warm_up) = (64_000.0 / rate, 4_000.0 / rate);
    format!(
        "seconds = {seconds}\nwarm_up_s = {warm_up}\nnodes = {nodes}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'ask', service = {service} }}]"
    )
}

#[test]
fn one_server_without_memory() {
    let text = open("{ count = 1 }", 80.0, "{ exponential_ms = 10 }");
    agrees(&text, mean_ms, mmc(1, 0.08, 10.0));
    // Times in M/M/1 are exponential: 99 of 100 are below ln(100) means.
    agrees(&text, |outcome| outcome.since_due().percentile_ns(99.0) as f64 / 1e6, 50.0 * 100f64.ln());
    agrees(&text, |outcome| outcome.nodes[0].utilisation, 0.8);
    // 0.8 / 0.2 under way, of which 0.8 are worked on.
    agrees(&text, |outcome| outcome.under_way_mean, 4.0);
    agrees(&text, |outcome| outcome.nodes[0].waiting_mean, 3.2);
}

#[test]
fn several_servers_without_memory() {
    agrees(&open("{ count = 1, cores = 4 }", 340.0, "{ exponential_ms = 10 }"), mean_ms, mmc(4, 0.34, 10.0));
    agrees(
        &open("{ count = 1, cores = 16 }", 1_500.0, "{ exponential_ms = 10 }"),
        mean_ms,
        mmc(16, 1.5, 10.0),
    );
}

#[test]
fn one_server_with_other_service_times() {
    agrees(&open("{ count = 1 }", 80.0, "{ constant_ms = 10 }"), mean_ms, mg1(0.08, 10.0, 0.0));
    agrees(
        &open("{ count = 1 }", 80.0, "{ erlang = { mean_ms = 10, stages = 4 } }"),
        mean_ms,
        mg1(0.08, 10.0, 0.25),
    );
    let variation = 0.8f64.powi(2).exp() - 1.0;
    agrees(
        &open("{ count = 1 }", 70.0, "{ lognormal = { mean_ms = 10, sigma = 0.8 } }"),
        mean_ms,
        mg1(0.07, 10.0, variation),
    );
}

/// The mean with processor sharing does not depend on the distribution, only on its mean.
#[test]
fn sharing_does_not_mind_the_distribution() {
    for service in
        ["{ constant_ms = 10 }", "{ exponential_ms = 10 }", "{ lognormal = { mean_ms = 10, sigma = 1 } }"]
    {
        agrees(&open("{ count = 1, discipline = 'sharing' }", 75.0, service), mean_ms, 40.0);
    }
    // With exponential times, sharing of several cores has the mean of M/M/c.
    let text = open("{ count = 1, cores = 4, discipline = 'sharing' }", 340.0, "{ exponential_ms = 10 }");
    agrees(&text, mean_ms, mmc(4, 0.34, 10.0));
}

/// Arrivals that are spread at random are as many queues of their own.
#[test]
fn random_balancing_is_many_single_servers() {
    let text = open("{ count = 20 }", 1_400.0, "{ exponential_ms = 10 }");
    agrees(&text, mean_ms, mmc(1, 0.07, 10.0));
}

fn closed(users: u32, cores: u32, think: &str) -> String {
    format!(
        "seconds = 1000\nwarm_up_s = 50\nnodes = {{ count = 1, cores = {cores} }}\nload = {{ users = {users}, think_s = 0.5, think = '{think}' }}\nsteps = [{{ name = 'ask', service = {{ exponential_ms = 20 }} }}]"
    )
}

#[test]
fn users_who_think_and_one_server() {
    for users in [5, 26, 60] {
        let (rate, time) = repairman(users, 500.0, 20.0);
        agrees(&closed(users, 1, "exponential"), |outcome| outcome.throughput(), rate * 1e3);
        agrees(&closed(users, 1, "exponential"), mean_ms, time);
    }
}

/// The mean values are the same however thinking varies (BCMP: a station without waiting).
#[test]
fn users_who_think_for_a_constant_time() {
    let (rate, time) = repairman(26, 500.0, 20.0);
    agrees(&closed(26, 1, "constant"), |outcome| outcome.throughput(), rate * 1e3);
    agrees(&closed(26, 1, "constant"), mean_ms, time);
}

/// More users than have a state of their own: known by their number only.
#[test]
fn users_known_by_their_number() {
    let (rate, time) = repairmen(2_000, 40_000.0, 60.0, 3);
    let text = "seconds = 2000\nwarm_up_s = 800\nnodes = { count = 1, cores = 3 }\nload = { users = 2000, think_s = 40 }\nsteps = [{ name = 'ask', service = { exponential_ms = 60 } }]";
    agrees(text, |outcome| outcome.throughput(), rate * 1e3);
    agrees(text, mean_ms, time);
}

/// Queues of their own at nine tenths forget how they began within some ten seconds.
fn warm(text: String) -> String {
    text.replace("warm_up_s = 3", "warm_up_s = 30")
}

fn farm(nodes: u32, load: f64, balance: &str) -> String {
    let rate = 100.0 * load * f64::from(nodes);
    let seconds = (3_000 / nodes).max(5);
    format!(
        "seconds = {seconds}\nwarm_up_s = 3\nbalance = '{balance}'\nnodes = {{ count = {nodes} }}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'ask', service = {{ exponential_ms = 10 }} }}]"
    )
}

/// Two choices among 500 servers are within 2 % of the limit of infinitely many.
#[test]
fn two_choices_shorten_the_tail() {
    for load in [0.5, 0.9] {
        let (mean, error) = replicated(&farm(500, load, "two_choices"), mean_ms);
        let exact = 10.0 * two_choices(load);
        assert!((mean / exact - 1.0).abs() < 0.02, "{load}: {mean} +- {error}, limit {exact}");
    }
    // The tail: 99 of 100 of random ones wait for ln(100) means of 100 ms; those with two choices for about a fifth.
    let p99 = |balance| {
        replicated(&warm(farm(50, 0.9, balance)), |outcome| {
            outcome.since_due().percentile_ns(99.0) as f64 / 1e6
        })
        .0
    };
    let (random, two) = (p99("random"), p99("two_choices"));
    assert!((random / (100.0 * 100f64.ln()) - 1.0).abs() < 0.05, "{random}");
    assert!((75.0..110.0).contains(&two), "{two}");
}

#[test]
fn the_shortest_of_two_queues() {
    agrees(&farm(2, 0.8, "least_outstanding"), mean_ms, 10.0 * join_shortest_of_two(0.8));
}

/// The more balancing knows, the shorter; no balancing beats one queue for all.
#[test]
fn balancing_in_order() {
    let mean = |balance| mean_ms(&simulate(&farm(50, 0.85, balance)));
    let all = ["random", "round_robin", "two_choices", "least_outstanding"].map(mean);
    assert!(all.windows(2).all(|two| two[0] > two[1] * 1.02), "{all:?}");
    assert!(all[3] > mmc(50, 0.1 * 0.85 * 50.0, 10.0), "{all:?}");
}
