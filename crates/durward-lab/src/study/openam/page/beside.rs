//! A real OpenAM beside durward, what differs from the paper, and its advice.

use super::super::super::{PointDigest, RunDigest, StepDigest, StudyDigest};
use super::super::paper::OwnCurve;
use super::super::{OPENAM_RECORDED, fits};
use super::{NONE, ONE, THREE, THREE_NOT_STICKY};
use crate::draw::{percent, whole};
use crate::fit;
use crate::report::{Block, Document};

/// A real OpenAM beside it, or what was recorded of one.
pub(super) fn openam(document: &mut Document, digest: &StudyDigest) {
    document.heading("Beside a real OpenAM");
    let rows = |run: &RunDigest, name: &str| -> Vec<Vec<String>> {
        run.points.iter().map(|point| openam_row(name, point)).collect()
    };
    if let (Some(openam), Some(durward)) = (digest.run("openam"), digest.run("durward-rest")) {
        document.text(
            "OpenAM of today answers the calls of OpenAM 11 with 501, so both were asked by its REST calls, by the same users. OpenAM was one \
             server that ran already, on this machine, without a limit; durward a node in its slice, with its three stores.",
        );
        let mut all = rows(openam, "OpenAM");
        all.extend(rows(durward, "durward"));
        let columns = [
            "",
            "mix",
            "users",
            "answers/s",
            "login p50",
            "p99",
            "verify p50",
            "p99",
            "failed",
            "CPU us a request",
        ];
        document.table("The same users, milliseconds", &columns, 2, all);
        return;
    }
    document.text(
        "No OpenAM ran for this page (`--openam URL` measures one beside durward). In its place are measurements of OpenAM \
         16.0.5 that were recorded for this project, with one core for the server, one for the client, and users who do not \
         pause:",
    );
    let rows = OPENAM_RECORDED
        .map(|(mix, users, rate)| vec![mix.to_owned(), users.to_string(), whole(f64::from(rate))]);
    document.table(
        "OpenAM 16.0.5 as recorded: requests a second",
        &["calls", "users", "answers/s"],
        1,
        rows.to_vec(),
    );
}

fn openam_row(name: &str, point: &PointDigest) -> Vec<String> {
    let ms = |kind: &str, of: fn(&StepDigest) -> f64| {
        point
            .step(kind)
            .filter(|step| step.answered > 0)
            .map_or_else(|| "–".to_owned(), |step| fit::number(of(step)))
    };
    vec![
        name.to_owned(),
        point.configuration.replace("logout_percent ", "") + " % logouts",
        whole(point.load_number()),
        whole(point.throughput()),
        ms("login", |step| step.p50_ms),
        ms("login", |step| step.p99_ms),
        ms("verify", |step| step.p50_ms),
        ms("verify", |step| step.p99_ms),
        percent(point.error_share()),
        point.cpu_us_per_request().map_or_else(|| "–".to_owned(), fit::number),
    ]
}

/// What differs, and why: of the method, not of one run.
pub(super) fn differences(document: &mut Document) {
    document.heading("What differs from the paper, and why");
    let said = [
        "Hardware. The paper had a Core 2 Duo for every instance, store and generator. Here nodes are slices of a core (a quota of 20 ms periods), \
         and all share one machine. A quota holds a node back for the rest of its period: up to 20 ms of p99 are the quota's.",
        "What N is. The paper's N is users of each instance who pace themselves. Their number is not a valid N of the law \
         (above). The paper's p* is the bend of a queue, which coherency does not explain; most are beyond the greatest load \
         that it names, 2400.",
        "Paced and pausing users. The paper's users send every 250 ms; it does not say what happens to users who fall behind. \
         Ours wait 250 ms after each answer (a closed model): below the bend the two differ only by the residence time; beyond \
         it our users wait in a queue, while the paper's may accumulate late requests.",
        "X(1) is ours at the least load, divided by its users: one user alone sends four requests a second, which a short measurement cannot count.",
        "(1 + sigma) and (1 - sigma). The paper prints p* = floor(sqrt((1 + sigma) / kappa)); the derivative of its law is 0 at sqrt((1 - sigma) / kappa). \
         At its sigmas the two differ by 5 % at most (365 and 348, figure 5, three nodes).",
        "Figure 5 exchanges its labels (above).",
        "The same curve three times. 5 % of figure 3, One of figure 4 and Assured read of figure 6 are one measurement in the paper, and here.",
        "Not printed. No table of measurements, no p*, no residuals, no errors, no numbers of figures 7 to 10: so the paper's \
         fits cannot be repeated.",
        "Stickiness. OpenAM 11 keeps a session in the memory of the server that created it; other servers ask that server or \
         the stores. durward's token contains its claims, sealed, so any node can validate it.",
        "Passwords. OpenDJ's default was salted SHA-1. durward's default is Argon2id with 19 MiB, which costs some 20 ms of a \
         core per login, on purpose: the run `argon2id` uses it. The other runs use the least cost, to compare sessions and \
         not hashes.",
        "Errors. The paper's range ends where 1 % of the requests fail. Points with more failures are hollow here, and no fit \
         includes them.",
    ];
    document.blocks.push(Block::List(said.map(str::to_owned).to_vec()));
}

/// The paper's answers to people, and what ours say to them.
pub(super) fn answers(document: &mut Document, digest: &StudyDigest) {
    let best =
        |ours: OwnCurve| fits::curve(digest, ours).and_then(|curve| curve.best()).map(|(_, most)| most);
    let compared = |some: Option<f64>, other: Option<f64>, words: &str| match (some, other) {
        (Some(some), Some(other)) if other > 0.0 => format!("{} {words}", percent(some / other)),
        _ => "not measured".to_owned(),
    };
    let mode = |run: &'static str| OwnCurve { run, configuration: "" };
    let logout = |configuration: &'static str| OwnCurve { run: "logout", configuration };
    let rows = [
        (
            "sticky balancing is essential",
            compared(best(THREE_NOT_STICKY), best(THREE), "of the users served with stickiness, three nodes"),
        ),
        (
            "active replication costs next to nothing more",
            compared(
                best(mode("assured-write")),
                best(mode("best-effort")),
                "of best effort, assured write; assured read: ",
            ) + compared(best(ONE), best(mode("best-effort")), "").trim(),
        ),
        (
            "persistence costs",
            compared(best(ONE), best(NONE), "of no persistence, assured read (the paper: 85 %, by its fits)"),
        ),
        (
            "keep sessions long",
            compared(
                best(logout("logout_percent 20")),
                best(logout("logout_percent 0")),
                "of no logouts at best, 20 % logouts",
            ),
        ),
        ("throttle login floods", argon2id(digest, best(mode("argon2id")), best(ONE))),
    ];
    let rows = rows.map(|(answer, ours)| vec![answer.to_owned(), ours]).to_vec();
    document.heading("The paper's advice, and our results");
    document.table("The paper's advice", &["the paper", "here"], 2, rows);
}

/// What passwords cost as durward keeps them by default.
fn argon2id(digest: &StudyDigest, usual: Option<f64>, cheap: Option<f64>) -> String {
    match (usual, cheap) {
        (Some(usual), Some(cheap)) if cheap > 0.0 => format!(
            "{} of cheap hashes at best, with Argon2id as durward has it by default",
            percent(usual / cheap)
        ),
        _ if digest.run("argon2id").is_some() => "with Argon2id as durward has it by default hardly anybody got in here: a slice hashes a \
                                                  few passwords a second, and logins that wait too long are answered 503"
            .to_owned(),
        _ => "not measured".to_owned(),
    }
}
