//! A record that was simulated is a deployment whose truth is known: calibrated by its lightest point, the others must come out alike.

use durward_lab::record::Record;
use durward_lab::simulate::{self, Deployment, Times};

fn record(service: &str, delay: &str, rates: &[f64]) -> Record {
    let all: Vec<_> = rates
        .iter()
        .map(|rate| {
            let text = format!(
                "seconds = 60\nnodes = {{ count = 2, cores = 2 }}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'validate', service = {service}, delay = {delay} }}]"
            );
            let deployment = Deployment::read(&text).unwrap();
            let outcome = simulate::run(&deployment).unwrap();
            (deployment, outcome)
        })
        .collect();
    Record::read(&simulate::record(&all, "test", Vec::new()).to_json().unwrap()).unwrap()
}

#[test]
fn a_simulated_record_is_found_again() {
    for (service, delay) in [
        ("{ exponential_ms = 5 }", "{ constant_ms = 0.5 }"),
        ("{ constant_ms = 2 }", "{ exponential_ms = 6 }"),
    ] {
        let light = record(service, delay, &[40.0]);
        let calibration = simulate::calibrate(&light).unwrap();
        let heavy = record(service, delay, &[300.0, 500.0, 640.0]);
        for compared in simulate::against(&calibration, &heavy).unwrap() {
            assert!(compared.is_close, "{service}: {compared:?}");
        }
    }
}

#[test]
fn work_and_waiting_are_told_apart_by_processor_time() {
    let calibration =
        simulate::calibrate(&record("{ constant_ms = 2 }", "{ exponential_ms = 6 }", &[40.0])).unwrap();
    assert!(calibration.notes.is_empty(), "{:?}", calibration.notes);
    let step = &calibration.deployment.steps[0];
    assert!((step.service.mean_s() - 0.002).abs() < 0.0001, "{}", step.service.mean_s());
    assert!(matches!(step.service, Times::ConstantMs(_)) && (step.delay.mean_s() - 0.006).abs() < 0.0003);
    // Without processor time all of it is taken to be work, and that is said.
    let mut blind = record("{ constant_ms = 2 }", "{ exponential_ms = 6 }", &[40.0]);
    blind.points[0].by_node.iter_mut().for_each(|node| node.used = None);
    let calibration = simulate::calibrate(&blind).unwrap();
    assert!((calibration.deployment.steps[0].service.mean_s() - 0.008).abs() < 0.0004);
    assert!(calibration.notes[0].contains("no processor time"));
    assert!(
        simulate::calibrate(&Record::default()).unwrap_err().to_string().contains("no point of the record")
    );
}

#[test]
fn deployments_that_cannot_be_are_refused() {
    let good = "nodes = { count = 2 }\nload = { rate = 5 }\nsteps = [{ name = 'a', service = { constant_ms = 1 } }]\n";
    assert!(Deployment::read(good).is_ok());
    for (from, to, words) in [
        ("count = 2", "count = 0", "`nodes.count`: 0 is not from 1"),
        ("count = 2", "count = 2, quota = 3", "`nodes.quota`: 3"),
        ("rate = 5", "rate = nan", "`load.rate`: NaN"),
        ("rate = 5", "rate = 5, users = 3", "`load`: either"),
        ("rate = 5", "", "`load`: nobody asks"),
        ("rate = 5", "users = 3000000", "`load.think_s`: more than"),
        ("rate = 5", "rate = 1e9", "`seconds`: about"),
        ("constant_ms = 1", "constant_ms = -1", "`steps.a.service`: -1 ms"),
        ("constant_ms = 1", "normal_ms = 1", "unknown variant `normal_ms`"),
        ("name = 'a',", "name = 'a', weight = 0,", "`steps`: no step"),
        ("nodes =", "node =", "unknown field `node`"),
        (
            "steps =",
            "events = [{ fail = { at_s = 1, nodes = 2 } }]\nsteps =",
            "`events[0].nodes`: 2 of 2 nodes",
        ),
    ] {
        let error = Deployment::read(&good.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(words), "{to}: {error}");
    }
}
