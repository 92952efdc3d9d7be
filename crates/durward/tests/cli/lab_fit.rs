//! `durward lab fit`: files in, verdict and JSON out, and the exit code.

use serde_json::Value;

use crate::{durward, durward_fed};

/// The law with lambda 100, sigma 0.02 and kappa 0.001, a little off.
const PEAKED: &str = "n,x\n1,100\n2,196\n4,374\n8,671\n12,855\n16,980\n24,1120\n32,1230\n48,1135\n64,1010\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn keys(of: &Value) -> Vec<&str> {
    of.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_fit_is_said_in_words_and_as_a_table() {
    let ran = durward_fed(&["lab", "fit", "-"], PEAKED).exits(0);
    assert!(ran.stdout.starts_with("Throughput peaks at N = 3"), "{}", ran.stdout);
    for part in [
        "inside the measured range",
        "\nusl ",
        "\namdahl ",
        "\nlinear ",
        "95 % of 2000 resamples",
        "sign runs",
        "most influential",
    ] {
        assert!(ran.stdout.contains(part), "`{part}`: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("refused"), "{}", ran.stdout);
}

#[test]
fn json_has_the_names_that_scripts_know() {
    let report = json(&durward_fed(&["lab", "fit", "-", "--json"], PEAKED).exits(0).stdout);
    for law in ["usl", "amdahl", "linear"] {
        let fit = &report["fits"][law];
        for key in ["lambda", "sigma", "kappa", "n_star", "x_star", "standard_errors", "aicc", "r_squared"] {
            assert!(keys(fit).contains(&key), "{law} has no {key}");
        }
    }
    assert!(
        report["fits"]["amdahl"]["n_star"].is_null()
            && report["fits"]["usl"]["standard_errors"]["kappa"].is_f64()
    );
    assert!(
        report["bootstrap"]["n_star"][1].is_f64() && report["bootstrap"]["without_peak_percent"].is_f64()
    );
    assert!(report["verdict"].is_string());
    assert_eq!(report["refused"], Value::Array(Vec::new()));
}

#[test]
fn what_is_refused_sets_the_exit_code() {
    let ran = durward_fed(
        &["lab", "fit", "-", "--json"],
        "{\"points\": [[1, 1591], [8, 3593], [32, 2877], [128, 2424]]}",
    )
    .exits(1);
    let report = json(&ran.stdout);
    assert_eq!(report["refused"], serde_json::json!(["few-points"]));
    assert!(report["fits"]["usl"]["n_star"].is_f64() && report["fits"]["usl"]["aicc"].is_null());
    let ran = durward_fed(&["lab", "fit", "-"], "n,x\n1,5\n").exits(1);
    assert!(ran.stdout.contains("refused, few-points: 1 point for three parameters"), "{}", ran.stdout);
}

#[test]
fn the_same_seed_says_the_same() {
    let of = |seed| {
        durward_fed(&["lab", "fit", "-", "--json", "--seed", seed, "--resamples", "100"], PEAKED)
            .exits(0)
            .stdout
    };
    assert_eq!(of("7"), of("7"));
    assert_ne!(of("7"), of("8"));
}

#[test]
fn several_sets_are_told_by_name_or_chosen() {
    let file = "{\"sets\": {\"a\": {\"points\": [[1, 2], [2, 3]]}, \"b\": {\"points\": [[1, 2]]}}}";
    let report = json(&durward_fed(&["lab", "fit", "-", "--json"], file).exits(1).stdout);
    assert_eq!(keys(&report["sets"]), ["a", "b"]);
    let report = json(&durward_fed(&["lab", "fit", "-", "--json", "--set", "a"], file).exits(1).stdout);
    assert_eq!(report["points"].as_array().unwrap().len(), 2);
    durward_fed(&["lab", "fit", "-", "--set", "c"], file)
        .exits(2)
        .complains("-: no set `c`", "there are `a`, `b`");
}

#[test]
fn lambda_can_be_held() {
    let of = |lambda: &str| {
        let ran = durward_fed(&["lab", "fit", "-", "--json", "--resamples", "0", "--lambda", lambda], PEAKED)
            .exits(0);
        json(&ran.stdout)["fits"]["usl"]["lambda"].as_f64().unwrap()
    };
    assert_eq!((of("x1"), of("104.5")), (100.0, 104.5));
    durward_fed(&["lab", "fit", "-", "--lambda", "x1"], "n,x\n2,5\n4,9\n").exits(2).complains(
        "-: `--lambda x1` needs a measurement at N = 1",
        "`--lambda free` fits it, `--lambda NUMBER` sets it",
    );
    let ran = durward_fed(&["lab", "fit", "-", "--lambda", "-3"], PEAKED).exits(2);
    assert!(ran.stderr.starts_with("durward: error: "), "{}", ran.stderr);
}

#[test]
fn bad_input_is_told_with_file_and_line() {
    for (text, message) in [
        ("n,x\n1,2\n2,many\n", "-: line 3: `many` is no number"),
        ("{\"points\": [[1, 2],\n[0, 3]]}", "-: line 2: N is 0; it is above 0"),
        ("{\"points\": [[1, 2],\n[2, -3]]}", "-: line 2: X is -3; it is 0 or above"),
        ("", "-: the file is empty"),
    ] {
        durward_fed(&["lab", "fit", "-"], text).exits(2).complains(message, "see `durward lab fit --help`");
    }
    let ran = durward(&["lab", "fit", "no-such-file.json"]).exits(2);
    assert!(ran.stderr.starts_with("durward: error: cannot read no-such-file.json"), "{}", ran.stderr);
}
