//! Fits of points whose law is known, and of points that no law was made for.

use durward_lab::fit::{self, Fit, FitOptions, FitRefusal, FitReport, Lambda, Law, Observation};
use durward_lab::random::LabRandom;

fn observations(points: &[(f64, f64)]) -> Vec<Observation> {
    points.iter().map(|(n, x)| Observation::new(*n, *x)).collect()
}

fn of(points: &[(f64, f64)]) -> FitReport {
    fit::of(&observations(points), &FitOptions { resamples: 100, ..FitOptions::default() })
}

fn quick(points: &[(f64, f64)]) -> Fit {
    fit::of(&observations(points), &FitOptions { resamples: 0, ..FitOptions::default() }).fits.usl.unwrap()
}

fn near(what: &str, ours: f64, truth: f64, part: f64, scale: f64) {
    assert!((ours - truth).abs() <= part * truth.abs() + scale, "{what}: {ours} instead of {truth}");
}

/// From the first to the second, as likely at each size.
fn between(random: &mut LabRandom, low: f64, high: f64) -> f64 {
    (low.ln() + (high.ln() - low.ln()) * random.unit()).exp()
}

#[test]
fn points_on_a_law_give_its_coefficients() {
    let mut random = LabRandom::new(1);
    for case in 0..300 {
        let last = between(&mut random, 6.0, 1e6);
        let sigma = if random.happens(20.0) { 0.0 } else { between(&mut random, 0.1 / last, 0.9) };
        let kappa = if random.happens(20.0) {
            0.0
        } else {
            between(&mut random, 0.1 / last / last, 30.0 / last / last)
        };
        let law = Law { lambda: between(&mut random, 1e-9, 1e12), sigma, kappa };
        let mut ns: Vec<f64> = (0..8).map(|_| between(&mut random, 1.0, last)).collect();
        ns.extend([1.0, last]);
        let points: Vec<(f64, f64)> = ns.iter().map(|n| (*n, law.x(*n))).collect();
        let found = quick(&points).law;
        let what = |name: &str| format!("case {case}, {name} of {law:?} at {ns:?}");
        near(&what("lambda"), found.lambda, law.lambda, 1e-6, 0.0);
        near(&what("sigma"), found.sigma, law.sigma, 1e-6, 1e-9 / last);
        near(&what("kappa"), found.kappa, law.kappa, 1e-6, 1e-9 / last / last);
        assert_eq!(
            (found.sigma == 0.0, found.kappa == 0.0),
            (sigma == 0.0, kappa == 0.0),
            "case {case}: {found:?}"
        );
    }
}

#[test]
fn the_order_of_points_does_not_matter() {
    let law = Law { lambda: 40.0, sigma: 0.03, kappa: 1e-3 };
    let mut points: Vec<(f64, f64)> = [3.0, 5.0, 9.0, 14.0, 22.0, 40.0, 70.0]
        .iter()
        .map(|n| (*n, law.x(*n) * (1.0 + 0.01 * f64::sin(*n))))
        .collect();
    let sorted = of(&points);
    points.reverse();
    points.swap(1, 4);
    assert_eq!(of(&points), sorted);
}

#[test]
fn the_unit_of_throughput_scales_lambda_only() {
    let points = [
        (1.0, 20.0),
        (4.0, 78.0),
        (8.0, 130.0),
        (12.0, 170.0),
        (16.0, 190.0),
        (20.0, 200.0),
        (28.0, 195.0),
        (40.0, 180.0),
    ];
    let one = of(&points);
    let (whole, ends) = (one.fits.usl.unwrap(), one.bootstrap.n_star.unwrap().map(Option::unwrap));
    for scale in [1e-9, 3.7, 1e12] {
        let scaled = of(&points.map(|(n, x)| (n, x * scale)));
        let fit = scaled.fits.usl.unwrap();
        near("lambda", fit.law.lambda, whole.law.lambda * scale, 1e-8, 0.0);
        near("sigma", fit.law.sigma, whole.law.sigma, 1e-7, 0.0);
        near("kappa", fit.law.kappa, whole.law.kappa, 1e-7, 0.0);
        near(
            "error",
            fit.standard_errors.unwrap().kappa.unwrap(),
            whole.standard_errors.unwrap().kappa.unwrap(),
            1e-6,
            0.0,
        );
        for (ours, end) in scaled.bootstrap.n_star.unwrap().into_iter().zip(ends) {
            near("interval", ours.unwrap(), end, 1e-4, 0.0);
        }
        assert_eq!(scaled.refused, one.refused);
    }
}

#[test]
fn too_few_points_are_refused_and_nothing_is_made_up() {
    for points in [
        &[][..],
        &[(1.0, 5.0)],
        &[(1.0, 5.0), (2.0, 9.0)],
        &[(4.0, 5.0), (4.0, 6.0), (4.0, 5.5), (4.0, 6.5), (4.0, 5.1), (4.0, 6.2)],
    ] {
        let report = of(points);
        assert_eq!(report.refused, [FitRefusal::FewPoints], "{points:?}: {}", report.verdict);
        assert!(report.fits.usl.is_none() && report.bootstrap.n_star.is_none(), "{points:?}");
    }
    let three = of(&[(1.0, 63.0), (8.0, 147.0), (32.0, 138.0)]);
    assert_eq!(three.fits.usl.unwrap().standard_errors, None);
    assert_eq!(three.refused, [FitRefusal::FewPoints]);
    // Six points, but at three places: they show replicates, no shape.
    let places = [(1.0, 63.0), (8.0, 147.0), (32.0, 138.0), (1.0, 62.0), (8.0, 150.0), (32.0, 133.0)];
    assert!(of(&places).refused.contains(&FitRefusal::FewPoints));
}

const DOUBLING: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

#[test]
fn constant_throughput_is_full_contention_without_a_peak() {
    let report = of(&DOUBLING.map(|n| (n, 700.0)));
    let fit = report.fits.usl.as_ref().unwrap();
    near("lambda", fit.law.lambda, 700.0, 1e-9, 0.0);
    near("sigma", fit.law.sigma, 1.0, 1e-9, 0.0);
    assert_eq!((fit.law.kappa, fit.n_star, fit.r_squared), (0.0, None, None));
    assert!(report.verdict.contains("The ceiling is 700"), "{}", report.verdict);
    assert!(report.verdict.contains("second brings less than half"), "{}", report.verdict);
    assert!(report.refused.is_empty(), "{:?}", report.reasons);
}

#[test]
fn throughput_that_falls_from_the_start_has_no_peak_to_go_to() {
    // 1000/N is the law with sigma and kappa 1.
    let report = of(&DOUBLING.map(|n| (n, 1_000.0 / n)));
    assert!(report.verdict.starts_with("Throughput falls from the first point on"), "{}", report.verdict);
    // More than full contention: each further node takes away.
    let law = Law { lambda: 100.0, sigma: 1.5, kappa: 0.01 };
    let points = DOUBLING.map(|n| (n, law.x(n)));
    let fit = quick(&points);
    near("sigma", fit.law.sigma, 1.5, 1e-6, 0.0);
    assert_eq!(fit.n_star, None);
    let verdict = of(&points).verdict;
    assert!(verdict.starts_with("Throughput falls from the first point on (N = 1)"), "{verdict}");
}

#[test]
fn a_peak_beyond_the_last_point_is_refused() {
    let law = Law { lambda: 100.0, sigma: 0.02, kappa: 1e-4 };
    let report = of(&[1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0].map(|n| (n, law.x(n))));
    assert_eq!(report.refused, [FitRefusal::NoPointPastTheKnee], "{}", report.verdict);
    assert!(report.verdict.contains("lies 24 % beyond the last point (80)"), "{}", report.verdict);
    // A point past it, and nothing is wrong.
    let report = of(&[1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 120.0].map(|n| (n, law.x(n))));
    assert!(report.refused.is_empty(), "{}", report.verdict);
}

#[test]
fn users_who_pace_themselves_are_told_apart() {
    // A queue with four servers and a think time: X = min(N / (Z + S), m / S), a little soft.
    let soft = |n: f64| (n / 1.02) / (1.0 + (n / 1.02 / 200.0).powi(9)).powf(1.0 / 9.0);
    let report =
        of(&[1.0, 20.0, 50.0, 100.0, 150.0, 190.0, 220.0, 250.0, 300.0, 400.0].map(|n| (n, soft(n))));
    assert!(report.refused.contains(&FitRefusal::PacedUsers), "{}", report.verdict);
    // Amdahl's law bends as well, but never so sharply.
    let law = Law { lambda: 1.0, sigma: 0.05, kappa: 0.0 };
    let report = of(&DOUBLING.map(|n| (n, law.x(n) * (1.0 + 0.01 * f64::sin(n)))));
    assert!(!report.refused.contains(&FitRefusal::PacedUsers), "{}", report.verdict);
}

#[test]
fn super_linear_points_are_refused_and_noise_is_not() {
    let law = Law { lambda: 10.0, sigma: -0.02, kappa: 4e-4 };
    let report = of(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0].map(|n| (n, law.x(n))));
    assert!(report.refused.contains(&FitRefusal::SuperLinear), "{}", report.verdict);
    let noisy = [
        (1.0, 96.0),
        (2.0, 204.0),
        (4.0, 395.0),
        (8.0, 810.0),
        (16.0, 1_570.0),
        (32.0, 3_240.0),
        (64.0, 6_300.0),
    ];
    let report = of(&noisy);
    assert!(!report.refused.contains(&FitRefusal::SuperLinear), "{}", report.verdict);
    let report = of(&DOUBLING.map(|n| (n, 98.0 * n)));
    assert!(report.refused.is_empty(), "{}", report.verdict);
    assert!(report.verdict.contains("Linear as far as was measured"), "{}", report.verdict);
}

#[test]
fn a_first_point_far_past_the_knee_leaves_lambda_open() {
    // The law with lambda and sigma both without end, in the same proportion.
    let report = of(&[50.0, 80.0, 100.0, 200.0, 400.0, 800.0].map(|n| (n, 1_000.0 * n / (n - 1.0))));
    assert_eq!(report.refused, [FitRefusal::LambdaNotDetermined], "{}", report.verdict);
    assert!(report.verdict.contains("measure at N = 1, or fix lambda"), "{}", report.verdict);
}

#[test]
fn nothing_answered_is_refused() {
    let report = of(&DOUBLING.map(|n| (n, 0.0)));
    assert_eq!(report.refused, [FitRefusal::NoThroughput]);
    assert!(report.verdict.contains("throughput is 0"), "{}", report.verdict);
    // A system that collapses at the end is one like others.
    let report =
        of(&[(1.0, 10.0), (2.0, 19.0), (4.0, 33.0), (8.0, 42.0), (16.0, 20.0), (32.0, 0.0), (64.0, 0.0)]);
    assert!(report.fits.usl.unwrap().law.kappa > 0.0);
}

#[test]
fn points_that_cannot_be_are_left_out_and_named() {
    let mut points = observations(&DOUBLING.map(|n| (n, 100.0 * n / (1.0 + 0.1 * (n - 1.0)))));
    points.extend(observations(&[(0.0, 5.0), (3.0, f64::NAN), (f64::INFINITY, 3.0), (5.0, -1.0)]));
    let report = fit::of(&points, &FitOptions::default());
    assert_eq!((report.points.len(), report.left_out.len()), (8, 4));
    near("sigma", report.fits.usl.unwrap().law.sigma, 0.1, 1e-9, 0.0);
}

#[test]
fn lambda_is_held_where_it_is_asked_to_be() {
    let law = Law { lambda: 100.0, sigma: 0.05, kappa: 1e-3 };
    let mut points = DOUBLING.map(|n| (n, law.x(n)));
    points[0].1 = 70.0;
    let report = |lambda| {
        fit::of(&observations(&points), &FitOptions { lambda, resamples: 50, ..FitOptions::default() })
    };
    let of = |lambda| report(lambda).fits.usl.unwrap();
    assert_eq!(of(Lambda::X1).law.lambda, 70.0);
    assert_eq!(of(Lambda::X1).law, report(Lambda::Free).fits.usl_lambda_is_x1.unwrap().law);
    let fixed = of(Lambda::Fixed(100.0));
    assert_eq!((fixed.law.lambda, fixed.free.len(), fixed.standard_errors.unwrap().lambda), (100.0, 2, None));
    near("sigma", fixed.law.sigma, 0.05, 0.01, 0.0);
}

#[test]
fn points_of_great_weight_pull_more() {
    let law = Law { lambda: 100.0, sigma: 0.05, kappa: 0.0 };
    let mut points = observations(&DOUBLING.map(|n| (n, law.x(n))));
    points[6].x *= 1.2;
    let off = |weight: f64| {
        let mut weighted = points.clone();
        weighted[6].weight = weight;
        let report = fit::of(&weighted, &FitOptions { resamples: 0, ..FitOptions::default() });
        (report.fits.usl.unwrap().law.sigma - 0.05).abs()
    };
    assert!(
        off(1e-6) < 1e-6 && off(1e-6) < off(1.0) && off(1.0) < off(100.0),
        "{} {} {}",
        off(1e-6),
        off(1.0),
        off(100.0)
    );
}

#[test]
fn the_curve_says_where_it_is_measured_and_where_it_is_not() {
    use durward_lab::fit::ExtrapolationZone;
    let law = Law { lambda: 100.0, sigma: 0.05, kappa: 1e-3 };
    let report = of(&DOUBLING.map(|n| (n, law.x(n) * (1.0 + 0.02 * f64::sin(n)))));
    let zone = |n: f64| report.curve.iter().find(|place| place.n >= n).unwrap().zone;
    assert_eq!(
        [zone(1.0), zone(128.0), zone(129.0), zone(256.0), zone(257.0)],
        [
            ExtrapolationZone::Measured,
            ExtrapolationZone::Measured,
            ExtrapolationZone::Extrapolated,
            ExtrapolationZone::Extrapolated,
            ExtrapolationZone::Grey
        ]
    );
    assert!(
        report
            .curve
            .iter()
            .all(|place| place.low.unwrap() <= place.x * 1.05 && place.x <= place.high.unwrap() * 1.05)
    );
    assert_eq!((report.curve[0].n, report.curve.last().unwrap().n), (1.0, 512.0));
}

#[test]
fn the_point_that_moves_the_curve_most_comes_first() {
    let law = Law { lambda: 100.0, sigma: 0.05, kappa: 1e-3 };
    let mut points = DOUBLING.map(|n| (n, law.x(n)));
    points[5].1 *= 1.3;
    let report = of(&points);
    let first = &report.leave_one_out[0];
    assert_eq!((first.n, report.leave_one_out.len()), (32.0, 8));
    near("kappa without it", first.law.kappa, 1e-3, 1e-5, 0.0);
}

/// Whatever the points, there is a report, it can be written and read, and no refusal is without its reason.
#[test]
fn any_points_give_a_report_that_can_be_written() {
    let mut random = LabRandom::new(5);
    for case in 0..150 {
        let count = random.below(12);
        let points: Vec<(f64, f64)> = (0..count)
            .map(|_| {
                let n = if random.happens(50.0) {
                    1.0 + random.below(6) as f64
                } else {
                    between(&mut random, 1e-6, 1e9)
                };
                let x = if random.happens(10.0) { 0.0 } else { between(&mut random, 1e-12, 1e15) };
                (n, x)
            })
            .collect();
        let report = fit::of(&observations(&points), &FitOptions { resamples: 10, ..FitOptions::default() });
        assert!(
            !report.verdict.is_empty() && !report.verdict.contains("NaN"),
            "case {case}: {}",
            report.verdict
        );
        let text = serde_json::to_string(&report).unwrap();
        let back: FitReport =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("case {case}, {error}: {text}"));
        assert_eq!(
            (back.refused.len(), back.reasons.len()),
            (report.refused.len(), report.refused.len()),
            "case {case}"
        );
    }
}
