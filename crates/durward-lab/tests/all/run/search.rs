//! The search for the limit, against a server whose limit is known.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use durward_lab::record::{PointLoad, RunRecord};
use durward_lab::scenario::Scenario;

use super::server::{Server, ok, run_text};

/// Answers one request at a time, each after 4 ms: at most 250 a second.
fn slow() -> Server {
    let one = Arc::new(Mutex::new(()));
    Server::start(move |_| {
        let _held = one.lock().unwrap();
        thread::sleep(Duration::from_millis(4));
        ok("{}")
    })
}

fn search(server: &Server, measure: &str, table: &str, more: &str) -> RunRecord {
    run_text(&format!(
        "[target]\naddresses = [{:?}]\n[load]\nthreads = 1\nwarm_up = \"100ms\"\nmeasure = \"500ms\"\n[load.search]\nwarm_up = \"100ms\"\nmeasure = \"{measure}\"\n{table}\n[[steps]]\nname = \"ask\"\npath = \"/\"\n{more}",
        server.url
    ))
}

#[test]
fn saturation_and_a_promise_are_found_and_measured_at_shares() {
    let server = slow();
    let table =
        "promise = { p90 = \"60ms\", errors = \"1%\" }\nprecision = \"20%\"\ntries = 1\nfractions = [10, 50]";
    let record = search(&server, "500ms", table, "[thresholds]\np50 = \"100ms\"");
    let found = &record.searches[0];
    let saturation = found.saturation.unwrap();
    assert!((100.0..=255.0).contains(&saturation) && found.is_saturated, "{found:?}");
    let (rate, beyond) = (found.rate.unwrap(), found.rate_beyond.unwrap());
    assert!(rate < beyond && rate <= 1.5 * saturation && beyond >= 0.2 * saturation, "{found:?}");
    assert!(beyond - rate <= 0.2 * beyond, "{found:?}");
    assert_eq!(found.promise, ["errors <= 1%", "p90 <= 60ms"]);
    // What was tried is recorded: users first, then rates, those that broke it with why.
    assert!(matches!(found.tried[0].load, PointLoad::Users(1)) && found.tried[0].holds.is_none());
    let broken = found.tried.iter().find(|one| one.holds == Some(false)).unwrap();
    assert!(broken.broken.contains("p90") || broken.broken.contains("errors"), "{broken:?}");
    // The shares are points like others; what was tried is not held to thresholds.
    let shares: Vec<f64> = record
        .points
        .iter()
        .filter(|point| point.configuration == "at load")
        .map(|point| if let PointLoad::Arrivals(at) = point.load { at / rate } else { 0.0 })
        .collect();
    assert!(
        shares.len() == 2 && (shares[0] - 0.1).abs() < 1e-9 && (shares[1] - 0.5).abs() < 1e-9,
        "{shares:?}"
    );
    assert_eq!(record.points.len(), found.tried.len() + 2);
    assert!(record.points.iter().filter(|point| point.is_try).count() == found.tried.len());
    assert!(record.thresholds[0].is_kept, "{:?}", record.thresholds);
    for word in ["Saturation: ", "holds errors <= 1% and p90 <= 60ms", "does not (", "At 10 %, ", "At 50 %, "]
    {
        assert!(found.verdict.contains(word), "{word}: {}", found.verdict);
    }
}

#[test]
fn a_promise_that_never_holds_is_said() {
    let server = slow();
    let table = "promise = { p50 = \"1ms\" }\nsaturation = false\nfrom = 20\ntries = 1";
    let record = search(&server, "200ms", table, "");
    let found = &record.searches[0];
    assert!(found.rate.is_none() && found.saturation.is_none());
    assert!(found.verdict.contains("no rate was found at which p50 <= 1ms holds"), "{}", found.verdict);
    assert!(record.points.iter().all(|point| point.is_try && !point.is_fitted()));
}

#[test]
fn each_configuration_is_searched() {
    let server = slow();
    let table = "tries = 1\nusers_max = 2\nfractions = [50]";
    let record = search(&server, "200ms", table, "[vary]\nx = [1, 2]");
    let names: Vec<&str> = record.searches.iter().map(|one| one.configuration.as_str()).collect();
    assert!(names.len() == 2 && names.contains(&"x 1") && names.contains(&"x 2"), "{names:?}");
    // Two users were all that the scenario allows.
    assert!(record.searches.iter().all(|one| !one.is_saturated && one.verdict.contains("were not tried")));
    assert!(record.points.iter().any(|point| point.configuration == "x 1, saturation"));
}

#[test]
fn searches_that_make_no_sense_are_refused() {
    let read = |load: &str| {
        Scenario::read(&format!("[target]\naddresses = [\"a:1\"]\n[load]\n{load}\n[[steps]]\npath = \"/\""))
            .unwrap_err()
            .to_string()
    };
    for (load, said) in [
        ("users = 1\nsearch = {}", "leave `users` and `arrivals` out"),
        ("search = {}\nthink = \"1s\"", "leave `pace` and `think` out"),
        ("search = { saturation = false }", "looks for nothing"),
        ("search = { promise = { rate = 5 } }", "which is what is looked for"),
        ("search = { precision = \"0%\" }", "share from 0.1% to 50%"),
        ("search = { precision = 5 }", "expected a string"),
        ("search = { fractions = [0] }", "above 0"),
        ("search = { tries = 0 }", "from 1 to 99"),
        ("search = { users_max = 0 }", "from 1 to 1000000"),
        ("search = { from = -1 }", "above 0"),
        ("search = { fraction = [1] }", "did you mean `fractions`"),
    ] {
        let error = read(load);
        assert!(error.contains(said), "{load}: {error}");
    }
}
