//! What the paper prints, number by number, and ours beside it.

use super::super::super::{PaperNumber, PointDigest, StudyDigest, number_table};
use super::super::fits::{self, MeasuredCurve};
use super::super::paper::{self, CURVES, OwnCurve, TEXT};
use super::super::pictures;
use super::{NONE, ONE, THREE, THREE_NOT_STICKY, coefficient};
use crate::draw::{percent, whole};
use crate::fit;
use crate::report::Document;

/// The fifteen curves.
pub(super) fn curves(document: &mut Document, digest: &StudyDigest) {
    document.heading("The paper's curves, number by number");
    document.text(
        "sigma and kappa are as the paper prints them. It prints neither p* nor C(p*): we computed them by its formula, \
         floor(sqrt((1 + sigma) / kappa)), and by its law. Our coefficients are fitted to our measurements by the paper's \
         method (least squares of p/C - 1, C = X/X(1), both coefficients at \
         least 0), so that both can be compared. The lab itself uses another method. Do not rely on p*: these users pause, and \
         the last column has the lab's objection to such a fit.",
    );
    let rows = CURVES.iter().map(|printed| {
        let law = printed.law();
        let mut row = vec![
            format!("{}: {}", printed.figure, printed.label),
            coefficient(law.sigma),
            coefficient(law.kappa),
            whole(printed.p_star()),
            whole(law.x_star().unwrap_or(0.0)),
            pictures::name(printed),
        ];
        row.extend(ours(fits::curve(digest, printed.ours).as_ref()));
        row
    });
    let columns = [
        "figure: label as printed",
        "sigma",
        "kappa",
        "p*",
        "C(p*)",
        "here",
        "sigma",
        "kappa",
        "p*",
        "most served",
        "the lab refuses, by users",
    ];
    document.table("Fits of figures 3 to 6: paper left, durward right", &columns, 1, rows.collect());
    document.text(
        "The caption of figure 5 exchanges sticky and not sticky: the paper's text says the opposite (IV-C, V-A e), and its \"Not sticky\" \
         repeats the coefficients of figure 4. Beside each label of figure 5 is our curve for what it means. Sigmas of 1e-9 \
         are the bound of the paper's fit: 0.",
    );
}

fn ours(curve: Option<&MeasuredCurve<'_>>) -> Vec<String> {
    let missing = || "–".to_owned();
    let Some(curve) = curve else {
        return vec![missing(), missing(), missing(), missing(), "not measured".to_owned()];
    };
    let law = curve.as_paper.as_ref();
    let refused: Vec<&str> = curve.by_users.refused.iter().map(|refusal| refusal.word()).collect();
    vec![
        law.map_or_else(missing, |law| coefficient(law.sigma)),
        law.map_or_else(missing, |law| coefficient(law.kappa)),
        law.filter(|law| law.kappa > 0.0).map_or_else(|| "none".to_owned(), |law| whole(paper::p_star(law))),
        curve.best().map_or_else(missing, |(load, most)| format!("{} at {}", whole(most), whole(load))),
        if refused.is_empty() { "nothing".to_owned() } else { refused.join(", ") },
    ]
}

/// What its text says.
pub(super) fn numbers(document: &mut Document, digest: &StudyDigest) {
    let at = |ours: OwnCurve, users: u64| served(digest, ours, number(users)).map(whole).unwrap_or_default();
    let logout = |percent: &'static str| OwnCurve { run: "logout", configuration: percent };
    let ratio = |users: u64| {
        let users = number(users);
        let (some, none) = (
            served(digest, logout("logout_percent 20"), users)?,
            served(digest, logout("logout_percent 0"), users)?,
        );
        Some(percent(some / none))
    };
    let [one, two, three] = TEXT.users_served.map(|users| whole(f64::from(users)));
    let load = TEXT.load_per_instance;
    let what = |nodes: &str| format!("users served of {load}, each of {nodes}");
    let why = "in another slice of another processor";
    let linear = fits::curve(digest, ONE).and_then(|curve| curve.linear_to()).map(whole).unwrap_or_default();
    let generator = fits::of_generator(digest);
    let kappa = generator
        .as_ref()
        .and_then(|(curve, _)| curve.as_paper)
        .map(|law| coefficient(law.kappa))
        .unwrap_or_default();
    let limit = generator.and_then(|(_, run)| run.generator_limit.clone());
    let limit = limit.map_or_else(String::new, |limit| {
        format!("; it makes {} requests/s at most here", whole(limit.requests_per_s))
    });
    let numbers = [
        PaperNumber::new("text, figure 4", &what("one"), &one, &at(ONE, load), why),
        PaperNumber::new(
            "text, figure 4",
            &what("two"),
            &two,
            &at(OwnCurve { run: "two-nodes", configuration: "sticky" }, load),
            why,
        ),
        PaperNumber::new(
            "text, figure 4",
            &what("three"),
            &three,
            &at(THREE, load),
            "three nodes, three stores and the generator share two cores; beyond their limit, logins that would wait longer than 3 s for their hash are turned away with 503",
        ),
        PaperNumber::new(
            "text, figure 3",
            &format!("20 % logouts leave, at {} users, of what 0 % serve", TEXT.mix_load),
            &percent(TEXT.mix_share),
            &ratio(TEXT.mix_load).unwrap_or_default(),
            "a logout costs a login and two records of the stores; durward's login is a hash at the least cost",
        ),
        PaperNumber::new(
            "text",
            "one instance is linear to about so many users",
            &whole(f64::from(TEXT.linear_users)),
            &linear,
            "the greatest load measured at which 95 % are served",
        ),
        PaperNumber::new(
            "text",
            "kappa of the generators alone",
            &coefficient(TEXT.generator_kappa),
            &kappa,
            &format!("dummy users against a server that does nothing, fitted the same way{limit}"),
        ),
        PaperNumber::new(
            "figures 7 to 9",
            "residence times p90, p99",
            "",
            &residence(digest),
            "verify, one node, 5 % logouts, at the least and the greatest load",
        ),
        PaperNumber::new(
            "figure 10",
            "Amdahl beside the law",
            "",
            "below",
            "by nodes, where it means something",
        ),
    ];
    document.heading("What its text says in numbers");
    number_table(document, "Numbers of the text, and ours", &numbers);
}

fn served(digest: &StudyDigest, ours: OwnCurve, users: f64) -> Option<f64> {
    fits::curve(digest, ours)?.served_at(users)
}

#[expect(clippy::cast_precision_loss, reason = "no study has 2^53 users")]
fn number(users: u64) -> f64 {
    users as f64
}

fn residence(digest: &StudyDigest) -> String {
    let Some(curve) = fits::curve(digest, ONE) else { return String::new() };
    let told = |at: Option<&(f64, f64, &PointDigest)>| {
        let (users, _, point) = at?;
        let verify = point.step("verify")?;
        Some(format!(
            "{} and {} ms at {} users",
            fit::number(verify.p90_ms),
            fit::number(verify.p99_ms),
            whole(*users)
        ))
    };
    [told(curve.points.first()), told(curve.points.last())]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// Figures 3 to 10.
pub(super) fn figures(document: &mut Document, digest: &StudyDigest) {
    document.heading("The paper's figures, with our curves");
    document.text(
        "Users effectively served are C(p) = X(p)/X(1): the throughput, as a number of users who never wait. The paper \
         measured whole machines, we measured slices of a core: so the position of a bend depends on the machine, and its form \
         on the design. Hollow marks had \
         errors.",
    );
    let captions = [
        (3, "Four shares of logouts, one node."),
        (4, "One, two and three nodes, sticky; load and users served are those of each node."),
        (
            5,
            "Sticky and not. The paper's caption exchanges them: its two falling curves are without stickiness.",
        ),
        (6, "Four modes of session persistence, one node."),
    ];
    for (figure, caption) in captions {
        pictures::capacity(document, digest, figure, caption);
    }
    pictures::residence(document, digest, 7, "one node", ONE);
    pictures::residence(document, digest, 8, "three nodes, sticky", THREE);
    pictures::residence(document, digest, 9, "no persistence", NONE);
    residence_table(document, digest);
}

fn residence_table(document: &mut Document, digest: &StudyDigest) {
    let mut rows = Vec::new();
    for (what, ours) in [
        ("one node", ONE),
        ("three nodes, sticky", THREE),
        ("three nodes, not sticky", THREE_NOT_STICKY),
        ("no persistence", NONE),
    ] {
        for (users, _, point) in fits::curve(digest, ours).iter().flat_map(|curve| &curve.points) {
            let mut row = vec![what.to_owned(), whole(*users)];
            for kind in ["login", "verify", "logout"] {
                let step = point.step(kind).filter(|step| step.answered > 0);
                let of = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), fit::number);
                row.extend(
                    [
                        step.map(|step| step.p50_ms),
                        step.map(|step| step.p90_ms),
                        step.map(|step| step.p99_ms),
                    ]
                    .map(of),
                );
            }
            rows.push(row);
        }
    }
    let columns = [
        "",
        "users of each node",
        "login p50",
        "p90",
        "p99",
        "verify p50",
        "p90",
        "p99",
        "logout p50",
        "p90",
        "p99",
    ];
    document.table("Residence times in milliseconds, since requests were due", &columns, 1, rows);
}
