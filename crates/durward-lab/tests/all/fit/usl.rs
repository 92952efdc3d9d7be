//! Fits held to data sets with fits that were computed independently (SciPy, checked with what is printed for the published
//! ones): coefficients, standard errors, peaks, criteria, intervals, and what is refused.

use std::fs;

use durward_lab::fit::{self, Fit, FitOptions, FitReport, Lambda, Observation, StandardErrors};
use serde_json::Value;

/// One data set: `oracledb/N >= 1 only`.
struct Set {
    name: String,
    value: Value,
}

impl Set {
    fn points(&self) -> Vec<Observation> {
        let points = self.value["points"].as_array().unwrap().iter();
        points.map(|pair| Observation::new(pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap())).collect()
    }

    fn report(&self, lambda: Lambda) -> FitReport {
        fit::of(&self.points(), &FitOptions { lambda, ..FitOptions::default() })
    }

    /// Without resampling, which takes most of the time.
    fn fits(&self) -> FitReport {
        fit::of(&self.points(), &FitOptions { resamples: 0, ..FitOptions::default() })
    }
}

/// All sets with points and fits; none where there is no data.
fn sets() -> Vec<Set> {
    let Some(folder) = durward_testdata::recorded("usl") else { return Vec::new() };
    let files = fs::read_dir(folder).unwrap();
    let mut sets = Vec::new();
    for file in files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
    {
        let value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let whole = value["points"].clone();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        for key in ["sets", "subsets"] {
            for (part, value) in value[key].as_object().into_iter().flatten() {
                let mut value = value.clone();
                if value["points"].is_u64() {
                    value["points"] = part_of(&whole, part, value["points"].as_u64().unwrap());
                }
                sets.push(Set { name: format!("{name}/{part}"), value });
            }
        }
        sets.push(Set { name, value });
    }
    sets.retain(|set| set.value["points"].is_array() && set.value["fits"].is_object());
    assert!(sets.len() >= 20, "{} data sets", sets.len());
    sets.sort_by(|one, other| one.name.cmp(&other.name));
    sets
}

/// A subset says only how many points it has, and its name which: `first 6 points (N <= 20)`, `N >= 1 only`.
fn part_of(whole: &Value, name: &str, count: u64) -> Value {
    let points = whole.as_array().unwrap().iter();
    let least = if name.starts_with("N >= 1") { 1.0 } else { 0.0 };
    let chosen: Vec<Value> =
        points.filter(|point| point[0].as_f64().unwrap() >= least).take(count as usize).cloned().collect();
    assert_eq!(chosen.len() as u64, count, "{name}");
    chosen.into()
}

fn set(name: &str) -> Option<Set> {
    let sets = sets();
    let is_any = !sets.is_empty();
    let found = sets.into_iter().find(|set| set.name == name);
    assert!(!is_any || found.is_some(), "no data set {name}");
    found
}

/// Within this part of each other; 0 is 0, up to `scale`.
fn same(what: &str, ours: Option<f64>, theirs: &Value, part: f64, scale: f64) {
    let Some(expected) = theirs.as_f64() else {
        assert_eq!(ours, None, "{what}");
        return;
    };
    let ours = ours.unwrap_or_else(|| panic!("{what}: {expected} expected, nothing found"));
    let allowed = if expected == 0.0 { scale } else { expected.abs() * part };
    assert!((ours - expected).abs() <= allowed, "{what}: {ours} instead of {expected}");
}

fn same_errors(what: &str, ours: &Option<StandardErrors>, theirs: &Value) {
    if !theirs.is_object() {
        return;
    }
    let ours = ours.unwrap_or_else(|| panic!("{what}: standard errors expected"));
    for (key, error) in [("lambda", ours.lambda), ("sigma", ours.sigma), ("kappa", ours.kappa)] {
        // Points that lie on the law leave rounding.
        if theirs[key].as_f64().is_none_or(|expected| expected > 1e-12) {
            same(&format!("{what}, standard error of {key}"), error, &theirs[key], 1e-3, 1e-9);
        }
    }
}

/// Everything that the file says of one fit.
fn same_fit(what: &str, ours: &Fit, theirs: &Value, points: &[Observation]) {
    let last = points.iter().map(|one| one.n).fold(0.0, f64::max);
    let parameters = &theirs["parameters"];
    same(&format!("{what}, lambda"), Some(ours.law.lambda), &parameters["lambda"], 1e-4, 0.0);
    same(&format!("{what}, sigma"), Some(ours.law.sigma), &parameters["sigma"], 1e-4, 1e-9 / last);
    same(&format!("{what}, kappa"), Some(ours.law.kappa), &parameters["kappa"], 1e-4, 1e-9 / last / last);
    same(&format!("{what}, N*"), ours.n_star, &theirs["n_star"], 1e-3, 0.0);
    same(&format!("{what}, X*"), ours.x_star, &theirs["x_star"], 1e-3, 0.0);
    same_errors(what, &ours.standard_errors, &theirs["standard_errors"]);
    same_errors(
        &format!("{what}, bounds held"),
        &ours.standard_errors_of_the_rest,
        &theirs["standard_errors_of_the_rest"],
    );
    // Points that lie on the law leave rounding, of which the rest is made.
    let is_exact = theirs["residual_sum_of_squares"].as_f64() == Some(0.0);
    for (key, ours) in
        [("n_star_se", ours.n_star_se), ("x_star_se", ours.x_star_se), ("r_squared", ours.r_squared)]
    {
        if !theirs[key].is_null() {
            // The file's error of X* is from differences, ours from the derivative.
            let part = if key == "x_star_se" { 3e-3 } else { 1e-3 };
            same(&format!("{what}, {key}"), ours, &theirs[key], part, 1e-9);
        }
    }
    if theirs.get("aicc").is_some() && !is_exact {
        same(&format!("{what}, AICc"), ours.aicc, &theirs["aicc"], 1e-4, 0.0);
    }
    if let Some(runs) = theirs["sign_runs"].as_u64().filter(|_| !is_exact) {
        assert_eq!(ours.sign_runs as u64, runs, "{what}, sign runs of {:?}", ours.residuals);
    }
    if let Some(bound) = theirs["on_the_bound"].as_array() {
        let bound: Vec<&str> = bound.iter().map(|one| one.as_str().unwrap()).collect();
        assert_eq!(ours.on_the_bound, bound, "{what}");
    }
}

#[test]
fn fits_are_those_that_were_computed_independently() {
    for set in sets() {
        let report = set.fits();
        let theirs = &set.value["fits"];
        let ours = [
            ("usl", &report.fits.usl),
            ("amdahl", &report.fits.amdahl),
            ("linear", &report.fits.linear),
            ("usl_lambda_is_x1", &report.fits.usl_lambda_is_x1),
            ("usl_transformed", &report.fits.usl_transformed),
            ("usl_unconstrained", &report.fits.usl_unconstrained),
        ];
        for (name, ours) in ours.into_iter().filter(|(name, _)| theirs[name].is_object()) {
            let what = format!("{}, {name}", set.name);
            let ours = ours.as_ref().unwrap_or_else(|| panic!("{what}: not fitted"));
            same_fit(&what, ours, &theirs[name], &report.points);
        }
    }
}

/// An end without a peak lies beyond all others.
fn ends(interval: &Value) -> [f64; 2] {
    [0, 1].map(|end| interval[end].as_f64().unwrap_or(f64::INFINITY))
}

#[test]
fn intervals_overlap_and_shares_without_a_peak_agree() {
    for set in sets() {
        for (lambda, name) in [(Lambda::Free, "usl"), (Lambda::X1, "usl_lambda_is_x1")] {
            let theirs = &set.value["fits"][name]["bootstrap"];
            if !theirs.is_object() {
                continue;
            }
            let said = set.report(lambda).bootstrap;
            let what = format!("{}, {name}: {said:?}", set.name);
            let ours = said.n_star.unwrap().map(|end| end.unwrap_or(f64::INFINITY));
            let expected = ends(&theirs["n_star"]);
            assert!(ours[0] <= expected[1] * (1.0 + 1e-5) && expected[0] <= ours[1] * (1.0 + 1e-5), "{what}");
            assert_eq!(
                said.method.as_deref().unwrap(),
                theirs["method"].as_str().unwrap().split(',').next().unwrap(),
                "{what}"
            );
            for (key, ours) in [("lambda", said.lambda), ("sigma", said.sigma), ("kappa", said.kappa)] {
                if theirs[key].is_array() {
                    let (ours, expected) = (ours.unwrap(), ends(&theirs[key]));
                    let width = (expected[1] - expected[0]).abs();
                    let off = (ours[0] - expected[0]).abs().max((ours[1] - expected[1]).abs());
                    assert!(off <= 0.25 * width + 1e-5 * expected[1], "{what}: {key} {ours:?}, {expected:?}");
                }
            }
            let without = theirs["without_peak_percent"].as_f64().unwrap();
            assert!((said.without_peak_percent.unwrap() - without).abs() < 6.0, "{what}");
        }
    }
}

#[test]
fn the_lower_half_foretells_what_was_computed_independently() {
    for set in sets() {
        let theirs = &set.value["fits"]["extrapolation"];
        if theirs["parameters"].is_object() {
            let ours = set.fits().extrapolation.unwrap();
            same(
                &format!("{}, foretold", set.name),
                Some(ours.predicted_at_n_max),
                &theirs["predicted_at_n_max"],
                1e-4,
                0.0,
            );
            same(
                &format!("{}, off", set.name),
                Some(ours.error_percent),
                &theirs["error_percent"],
                1e-2,
                0.0,
            );
        }
    }
}

/// Set, what is refused, and what has to be said.
const SAID: [(&str, &[&str], &[&str]); 19] = [
    ("raytracer", &[], &["No peak in the data", "% of resamples have one, from N = 6", "ceiling is 378"]),
    (
        "raytracer/first 6 points (N <= 20)",
        &["no-point-past-the-knee"],
        &["24.5", "only 6 points", "beyond the last point"],
    ),
    (
        "specsdm91",
        &[],
        &[
            "N = 96.5",
            "inside the measured range",
            "28 % below lambda",
            "peak at 112",
            "7 points choose nothing",
        ],
    ),
    ("oracledb", &[], &["N = 3.51", "81 of 360 points have N < 1", "the points scatter: R^2 0.586"]),
    ("oracledb/N >= 1 only", &[], &["AICc takes Amdahl's law"]),
    ("few-points/citusdb, read off by hand", &["few-points"], &["Refused: 4 points"]),
    ("few-points/citusdb, read off by WebPlotDigitizer", &["few-points"], &["Refused: 4 points"]),
    (
        "few-points/mysql-cluster, thousands of transactions per minute",
        &["few-points"],
        &["Refused: 3 points"],
    ),
    ("openam16-recorded/validate", &["few-points"], &["Refused: 4 points"]),
    ("openam16-recorded/login", &["few-points"], &["Refused: 3 points"]),
    ("synthetic/exact", &[], &["N = 7 "]),
    ("synthetic/coherent", &[], &["N = 43.9", "inside the measured range"]),
    (
        "synthetic/coherent-rising",
        &[],
        &["No peak in the data", "too far above what was measured to be named"],
    ),
    ("synthetic/amdahl", &[], &["No peak in the data", "kappa (-", "would be negative"]),
    ("synthetic/linear", &[], &["No peak in the data", "Linear as far as was measured", "kappa (-"]),
    (
        "synthetic/superlinear",
        &["no-point-past-the-knee", "super-linear"],
        &["1.32 times", "sigma would be -0.0216", "a peak at 49.5"],
    ),
    ("synthetic/noisy", &[], &["N = 57.1", "to none", "of resamples have no peak"]),
    (
        "synthetic/queue-with-think-time",
        &["no-point-past-the-knee", "paced-users"],
        &["linear, then flat at 1,0", "no peak at 444", "3 sign runs in 12", "by concurrency instead"],
    ),
    ("synthetic/queue-by-concurrency", &[], &["1,004", "N = 76.9"]),
];

#[test]
fn each_set_gets_the_words_that_it_needs() {
    let sets = sets();
    for (name, refused, said) in SAID.iter().filter(|_| !sets.is_empty()) {
        let set = sets.iter().find(|set| set.name == *name).unwrap_or_else(|| panic!("no data set {name}"));
        let report = set.report(Lambda::Free);
        let mut words: Vec<&str> = report.refused.iter().map(|one| one.word()).collect();
        words.sort_unstable();
        let text = format!("{}\n{}", report.verdict, report.notes.join("\n"));
        assert_eq!(words, *refused, "{name}: {text}");
        for part in *said {
            assert!(text.contains(part), "{name}: `{part}` is not in: {text}");
        }
    }
    for name in ["openam16-recorded/mix, 5 % logout", "synthetic/study-shape"] {
        if let Some(set) = set(name) {
            let report = set.report(Lambda::Free);
            assert_eq!(report.refused.is_empty(), name.ends_with("shape"), "{name}: {}", report.verdict);
        }
    }
}
