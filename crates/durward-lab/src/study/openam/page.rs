//! What the study's figures come to, number by number beside the paper's.

use super::super::{Digest, Number, PointDigest, RunDigest, number_table};
use super::fits::{self, Curve};
use super::paper::{self, CURVES, Ours, REQUESTS_PER_S, TEXT};
use super::{OPENAM_RECORDED, SLICE, SLICE_OF_MANY, pictures};
use crate::draw::{percent, whole};
use crate::fit::{self, Report};
use crate::record::nodes_in_words;
use crate::report::{Block, Document};

const ONE: Ours = Ours { run: "logout", configuration: "logout_percent 5" };
const THREE: Ours = Ours { run: "three-nodes", configuration: "sticky" };
const THREE_NOT_STICKY: Ours = Ours { run: "three-nodes", configuration: "random" };
const NONE: Ours = Ours { run: "none", configuration: "" };

/// The report of a study that was run.
pub(super) fn document(digest: &Digest) -> Document {
    let mut document = Document::new("The OpenAM study, run again with durward");
    document.text(
        "T. Heyman, D. Preuveneers and W. Joosen measured in 2014 how far OpenAM 11 scales, and fitted the Universal Scalability Law \
         (Scalability Analysis of the OpenAM Access Control System with the Universal Scalability Law, FiCloud 2014, doi \
         10.1109/FiCloud.2014.89). `durward lab study openam` runs the same study with durward in OpenAM's place, by the same calls \
         (`/identity/authenticate`, `isTokenValid`, `logout` of OpenAM 11), and wrote this page.",
    );
    document.blocks.push(Block::Verdict(verdict(digest)));
    document.blocks.extend(warnings(digest).into_iter().map(Block::Warning));
    about(&mut document, digest);
    curves(&mut document, digest);
    numbers(&mut document, digest);
    figures(&mut document, digest);
    law(&mut document, digest);
    openam(&mut document, digest);
    differences(&mut document);
    answers(&mut document, digest);
    points(&mut document, digest);
    again(&mut document, digest);
    document
}

fn served(digest: &Digest, ours: Ours, users: f64) -> Option<f64> {
    fits::curve(digest, ours)?.served_at(users)
}

/// What came of it, where it was measured.
fn verdict(digest: &Digest) -> Vec<String> {
    let mut said = Vec::new();
    if let Some((load, most)) = fits::curve(digest, ONE).and_then(|curve| curve.best()) {
        said.push(format!(
            "One node of durward in {SLICE} of a core, 5 % logouts, assured-read: at most {} users effectively served ({} requests/s), \
             at {} users. The paper's OpenAM on a whole Core 2 Duo: 1266, by its fit.",
            whole(most),
            whole(most * REQUESTS_PER_S),
            whole(load)
        ));
    }
    let three = (fits::curve(digest, THREE), fits::curve(digest, THREE_NOT_STICKY));
    if let (Some(sticky), Some(not)) = three
        && let (Some((_, with)), Some((_, without))) = (sticky.best(), not.best())
    {
        said.push(format!(
            "Sticky or not, three nodes: without stickiness durward serves {} of what it serves with it at best; the paper's OpenAM, by \
             its fits, 2 %.",
            percent(without / with)
        ));
    }
    for (prefix, name) in [("nodes", "assured-read"), ("nodes-best-effort", "best-effort")] {
        let points = fits::of_nodes(digest, prefix, "sticky");
        if let Some(report) = fits::by_nodes(&points) {
            said.push(format!("By nodes, {name}, sticky: {}", report.verdict));
        }
    }
    if said.is_empty() {
        said.push("Too little was measured to say anything.".to_owned());
    }
    said
}

/// What makes figures doubtful.
fn warnings(digest: &Digest) -> Vec<String> {
    let mut said = Vec::new();
    for run in &digest.runs {
        if let Some(why) = run.failed.as_ref().or(run.cut_short.as_ref()) {
            said.push(format!("`{}` is not whole: {why}", run.name));
        }
    }
    let missing: Vec<&str> = distinct(digest, |target| &target.limits_missing);
    if !missing.is_empty() {
        said.push(format!("Limits that are not in force: {}.", missing.join("; ")));
    }
    let points: Vec<&PointDigest> = digest.runs.iter().flat_map(|run| &run.points).collect();
    let disturbed = points.iter().filter(|point| !point.is_fitted()).count();
    if disturbed > 0 {
        said.push(format!(
            "{disturbed} of {} points have a mark: a neighbour, the generator, or errors were in them. Other processes had {} of the \
             processors at the median point, and {} at the worst. Fits here leave out errors and points cut short, not neighbours.",
            points.len(),
            percent(quantile(&points, 0.5)),
            percent(quantile(&points, 1.0))
        ));
    }
    said
}

/// Of the shares of the processors that others had.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of some hundred points"
)]
fn quantile(points: &[&PointDigest], at: f64) -> f64 {
    let mut shares: Vec<f64> =
        points.iter().filter_map(|point| point.machine.get("others_share")).copied().collect();
    shares.sort_by(f64::total_cmp);
    let place = (shares.len().saturating_sub(1) as f64 * at).round() as usize;
    shares.get(place).copied().unwrap_or(0.0)
}

fn distinct<'d>(digest: &'d Digest, of: fn(&'d crate::record::TargetInfo) -> &'d [String]) -> Vec<&'d str> {
    let mut found: Vec<&str> = Vec::new();
    for text in digest.runs.iter().flat_map(|run| &run.targets).flat_map(of) {
        if !found.contains(&text.as_str()) {
            found.push(text);
        }
    }
    found
}

fn about(document: &mut Document, digest: &Digest) {
    document.heading("What was run, and on what");
    let machine = &digest.machine;
    let limits: Vec<&str> = distinct(digest, |target| &target.limits);
    let versions: Vec<&str> = {
        let mut all: Vec<&str> = Vec::new();
        for target in digest.runs.iter().flat_map(|run| &run.targets) {
            if !target.version.is_empty() && !all.contains(&target.version.as_str()) {
                all.push(&target.version);
            }
        }
        all
    };
    let measured: Vec<f64> =
        digest.runs.iter().flat_map(|run| &run.points).map(|point| point.measured_s).collect();
    let longest = measured.iter().copied().fold(0.0, f64::max);
    let rows = vec![
        ("machine", "a Core 2 Duo and 4 GB for each instance, store and generator; gigabit Ethernet", format!(
            "one: {}, {} cores, {}; generator, nodes and stores share it",
            machine.processor.clone().unwrap_or_else(|| "unknown processor".to_owned()), machine.cores, machine.system
        )),
        ("server", "OpenAM 11.0 on Tomcat 7.0.47", versions.join(", ")),
        ("a node has", "the whole machine", limits.join("; ")),
        ("stores", "three configuration stores, OpenDJ 2.6.0, replicated", "three nats-server, each with a copy (R3), `sync_interval: always`, without limits; in the mode `none` of one node, none".to_owned()),
        ("users", "a user store of its own", "one user in a file; passwords at the least cost of Argon2id, about OpenDJ's salted SHA-1, but in `argon2id`".to_owned()),
        ("a user", "one request every 250 ms, constant", "waits 250 ms after each answer".to_owned()),
        ("a point", "15 s to settle, 60 s, 30 s of rest", format!("{} measured at most ({}), {} points", seconds(longest), digest.form, measured.len())),
    ];
    let rows = rows.into_iter().map(|(what, paper, ours)| vec![what.to_owned(), paper.to_owned(), ours]);
    document.table("The paper's set-up and ours", &["", "paper", "here"], 3, rows.collect());
    let modes = [
        (
            "active replication, assured read",
            "`assured-read`",
            "the nearest: OpenDJ's assured read waits until the other stores have replayed a write; durward's waits at a validation until the node has seen all that is acknowledged",
        ),
        (
            "active replication, assured write",
            "`assured-write`",
            "the nearest: OpenDJ waits for the other stores' acknowledgement; durward for a majority of three",
        ),
        ("best effort", "`best-effort`", "the same: stored behind the answer"),
        ("no persistence", "`none`", "the same: sessions end with the process"),
    ];
    let rows = modes.map(|row| <[&str; 3]>::from(row).map(str::to_owned).to_vec()).to_vec();
    document.table(
        "The paper's four modes and durward's `identity.mode`",
        &["paper", "durward", "how near"],
        3,
        rows,
    );
}

fn seconds(time: f64) -> String {
    format!("{} s", fit::number(time))
}

/// The fifteen curves.
fn curves(document: &mut Document, digest: &Digest) {
    document.heading("The paper's curves, number by number");
    document.text(
        "sigma and kappa as the paper prints them; p* by its own formula, floor(sqrt((1 + sigma) / kappa)), and C(p*) by its law, neither \
         of which it prints. Ours are fitted to ours by the paper's method (least squares of p/C - 1, C = X/X(1), both coefficients at \
         least 0), so that like stands beside like. It is not the method that the lab would take, and its p* is nothing to build on: \
         these are users who pause, and what the lab says of such a fit stands in the last column.",
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
         repeats the coefficients of figure 4. Beside a label of figure 5 stands ours of what it means. Sigmas of 1e-9 are the bound of the \
         paper's fit: 0.",
    );
}

fn ours(curve: Option<&Curve<'_>>) -> Vec<String> {
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

/// `0`, `2.47e-9`, `0.0113`.
fn coefficient(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{small:.2e}"),
        value => fit::number(value),
    }
}

/// What its text says.
fn numbers(document: &mut Document, digest: &Digest) {
    let at = |ours: Ours, users: u64| served(digest, ours, number(users)).map(whole).unwrap_or_default();
    let logout = |percent: &'static str| Ours { run: "logout", configuration: percent };
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
        Number::new("text, figure 4", &what("one"), &one, &at(ONE, load), why),
        Number::new(
            "text, figure 4",
            &what("two"),
            &two,
            &at(Ours { run: "two-nodes", configuration: "sticky" }, load),
            why,
        ),
        Number::new(
            "text, figure 4",
            &what("three"),
            &three,
            &at(THREE, load),
            "three nodes, three stores and the generator share two cores",
        ),
        Number::new(
            "text, figure 3",
            &format!("20 % logouts leave, at {} users, of what 0 % serve", TEXT.mix_load),
            &percent(TEXT.mix_share),
            &ratio(TEXT.mix_load).unwrap_or_default(),
            "a logout costs a login and two records of the stores; durward's login is a hash at the least cost",
        ),
        Number::new(
            "text",
            "one instance is linear to about so many users",
            &whole(f64::from(TEXT.linear_users)),
            &linear,
            "the greatest load measured at which 95 % are served",
        ),
        Number::new(
            "text",
            "kappa of the generators alone",
            &coefficient(TEXT.generator_kappa),
            &kappa,
            &format!("dummy users against a server that does nothing, fitted the same way{limit}"),
        ),
        Number::new(
            "figures 7 to 9",
            "residence times p90, p99",
            "",
            &residence(digest),
            "verify, one node, 5 % logouts, at the least and the greatest load",
        ),
        Number::new("figure 10", "Amdahl beside the law", "", "below", "by nodes, where it means something"),
    ];
    document.heading("What its text says in numbers");
    number_table(document, "Numbers of the text, and ours", &numbers);
}

#[expect(clippy::cast_precision_loss, reason = "no study has 2^53 users")]
fn number(users: u64) -> f64 {
    users as f64
}

fn residence(digest: &Digest) -> String {
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
fn figures(document: &mut Document, digest: &Digest) {
    document.heading("The paper's figures, with ours in them");
    document.text(
        "Users effectively served are C(p) = X(p)/X(1): what is answered, in users of whom nobody waits. The paper's laws are of a whole \
         machine, ours of a slice of a core, so that the places of the bends compare machines; their forms compare designs. Hollow marks had \
         errors.",
    );
    let captions = [
        (3, "Four shares of logouts, one node."),
        (4, "One, two and three nodes, sticky; load and users served are those of each node."),
        (
            5,
            "Sticky and not. The paper's caption exchanges them: its two falling curves are without stickiness.",
        ),
        (6, "Four promises about sessions, one node."),
    ];
    for (figure, caption) in captions {
        pictures::capacity(document, digest, figure, caption);
    }
    pictures::residence(document, digest, 7, "one node", ONE);
    pictures::residence(document, digest, 8, "three nodes, sticky", THREE);
    pictures::residence(document, digest, 9, "no persistence", NONE);
    residence_table(document, digest);
}

fn residence_table(document: &mut Document, digest: &Digest) {
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

/// The laws that mean something: by concurrency and by nodes.
fn law(document: &mut Document, digest: &Digest) {
    document.heading("What the paper did not fit: concurrency and nodes");
    document.text(
        "Users who pause are no N of the law: a plain queue that they feed gives sigma 0, a kappa above 0, R^2 0.99, and a peak that is not \
         there. The paper's kappas may be of that kind. The law holds for requests under way (throughput times residence time), and for \
         nodes whose load grows alike. So both were measured as well, with users who do not pause.",
    );
    let mut rows = Vec::new();
    if let Some(report) = fits::by_concurrency(digest) {
        rows.push(fit_row("one node, by requests under way", &report));
    }
    for (prefix, mode) in [("nodes", "assured-read"), ("nodes-best-effort", "best-effort")] {
        for (balance, name) in [("sticky", "sticky"), ("random", "not sticky")] {
            let points = fits::of_nodes(digest, prefix, balance);
            if let Some(report) = fits::by_nodes(&points) {
                rows.push(fit_row(&format!("nodes, {mode}, {name}"), &report));
            }
        }
    }
    let columns = ["", "points", "lambda /s", "sigma", "kappa", "N*", "greatest N", "X there /s", "refused"];
    document.table("Fits of the law, free lambda", &columns, 1, rows);
    pictures::nodes(document, digest);
    let mut rows = Vec::new();
    for prefix in ["nodes", "nodes-best-effort"] {
        for balance in ["sticky", "random"] {
            let mode = if prefix == "nodes" { "assured-read" } else { "best-effort" };
            let name = if balance == "random" { "not sticky" } else { "sticky" };
            for point in fits::of_nodes(digest, prefix, balance) {
                rows.push(node_row(&format!("{mode}, {name}"), point));
            }
        }
    }
    let columns = [
        "",
        "nodes",
        "answers/s",
        "of each node",
        "p50 ms",
        "p99 ms",
        "CPU us a request",
        "nodes busy",
        "machine busy",
        "generator busy",
    ];
    document.table("Throughput by nodes, two measurements each", &columns, 1, rows);
    document.text(&format!(
        "\"Nodes busy\" is how much of their slices ({SLICE_OF_MANY} of a core each) nodes used. Where it falls as nodes are added, something else \
         was the limit: the machine, which stores and generator share (\"machine busy\"), or the stores. That is then in sigma and kappa, and is \
         not durward's."
    ));
}

fn fit_row(name: &str, report: &Report) -> Vec<String> {
    let none = || "–".to_owned();
    let usl = report.fits.usl.as_ref();
    let last = report.points.last();
    let refused: Vec<&str> = report.refused.iter().map(|refusal| refusal.word()).collect();
    vec![
        name.to_owned(),
        report.points.len().to_string(),
        usl.map_or_else(none, |fit| fit::number(fit.law.lambda)),
        usl.map_or_else(none, |fit| coefficient(fit.law.sigma)),
        usl.map_or_else(none, |fit| coefficient(fit.law.kappa)),
        usl.and_then(|fit| fit.n_star).map_or_else(|| "none".to_owned(), fit::number),
        last.map_or_else(none, |point| fit::number(point.n)),
        last.map_or_else(none, |point| fit::number(point.x)),
        if refused.is_empty() { "nothing".to_owned() } else { refused.join(", ") },
    ]
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), percent)
}

fn node_row(name: &str, point: &PointDigest) -> Vec<String> {
    let all = point.step("all").cloned().unwrap_or_default();
    vec![
        name.to_owned(),
        point.nodes.to_string(),
        whole(point.throughput()),
        whole(point.throughput() / f64::from(u32::try_from(point.nodes.max(1)).unwrap_or(1))),
        fit::number(all.p50_ms),
        fit::number(all.p99_ms),
        point.cpu_us_per_request().map_or_else(|| "–".to_owned(), fit::number),
        share(point.busy()),
        share(point.machine.get("busy_share").copied()),
        percent(point.generator_busy),
    ]
}

/// A real OpenAM beside it, or what was recorded of one.
fn openam(document: &mut Document, digest: &Digest) {
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
        "No OpenAM ran for this page (`--openam URL` measures one beside durward). What was recorded of OpenAM 16.0.5 for this project, \
         with one core for the server and one for the client, users without pause, stands for it:",
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
    let ms = |kind: &str, of: fn(&super::super::StepDigest) -> f64| {
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
fn differences(document: &mut Document) {
    document.heading("What differs from the paper, and why");
    let said = [
        "Hardware. The paper had a Core 2 Duo for every instance, store and generator. Here nodes are slices of a core (a quota of 20 ms periods), \
         and all share one machine. A quota holds a node back for the rest of its period: up to 20 ms of p99 are the quota's.",
        "What N is. The paper's N is users of each instance who pace themselves. Such users are no N of the law (above). Its p* is the bend of a queue \
         and nothing that coherency explains; most lie beyond the greatest load that it names, 2400.",
        "Paced and pausing users. The paper's users send every 250 ms, it does not say what becomes of those who fall behind. Ours wait 250 ms after \
         each answer (closed): below the bend the two are the same but for the residence time, beyond it ours wait in line instead of piling up debts.",
        "X(1) is ours at the least load, divided by its users: one user alone sends four requests a second, which a short measurement cannot count.",
        "(1 + sigma) and (1 - sigma). The paper prints p* = floor(sqrt((1 + sigma) / kappa)); the derivative of its law is 0 at sqrt((1 - sigma) / kappa). \
         At its sigmas the two differ by 5 % at most (365 and 348, figure 5, three nodes).",
        "Figure 5 exchanges its labels (above).",
        "The same curve thrice. 5 % of figure 3, One of figure 4 and Assured read of figure 6 are one measurement in the paper, and here.",
        "Not printed. No table of measurements, no p*, no residuals, no errors, no numbers of figures 7 to 10: nothing of the paper's can be fitted again.",
        "Stickiness. OpenAM 11 keeps a session in the memory of the server that made it, others ask it or the stores. durward's token carries its claims, \
         sealed: any node validates it.",
        "Passwords. OpenDJ's default was salted SHA-1. durward's default is Argon2id with 19 MiB, which costs some 20 ms of a core a login, on purpose: \
         the run `argon2id` shows it, the others take the least cost, so that sessions are compared and not hashes.",
        "Errors. The paper ends its range where 1 % fail. Points with more are hollow here and left out of fits.",
    ];
    document.blocks.push(Block::List(said.iter().map(|text| text.replace("", "")).collect()));
}

/// The paper's answers to people, and what ours say to them.
fn answers(document: &mut Document, digest: &Digest) {
    let best = |ours: Ours| fits::curve(digest, ours).and_then(|curve| curve.best()).map(|(_, most)| most);
    let compared = |some: Option<f64>, other: Option<f64>, words: &str| match (some, other) {
        (Some(some), Some(other)) if other > 0.0 => format!("{} {words}", percent(some / other)),
        _ => "not measured".to_owned(),
    };
    let mode = |run: &'static str| Ours { run, configuration: "" };
    let logout = |configuration: &'static str| Ours { run: "logout", configuration };
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
        (
            "throttle login floods",
            compared(
                best(mode("argon2id")),
                best(ONE),
                "of cheap hashes at best, with Argon2id as durward has it by default; hashing has threads of its own, and logins that would wait too long are answered 503",
            ),
        ),
    ];
    let rows = rows.map(|(answer, ours)| vec![answer.to_owned(), ours]).to_vec();
    document.heading("Its answers to people, and ours");
    document.table("The paper's advice", &["the paper", "here"], 2, rows);
}

/// Every point.
fn points(document: &mut Document, digest: &Digest) {
    let mut rows = Vec::new();
    for run in &digest.runs {
        for point in &run.points {
            let all = point.step("all").cloned().unwrap_or_default();
            let marks: Vec<String> = point.marks.iter().map(ToString::to_string).collect();
            rows.push(vec![
                run.name.clone(),
                point.configuration.clone(),
                nodes_in_words(point.nodes),
                whole(point.load_number()),
                whole(point.throughput()),
                fit::number(all.p50_ms),
                fit::number(all.p90_ms),
                fit::number(all.p99_ms),
                percent(point.error_share()),
                share(point.busy()),
                share(point.machine.get("others_share").copied()),
                marks.join("; "),
            ]);
        }
    }
    document.heading("Every point");
    let columns = [
        "run",
        "configuration",
        "nodes",
        "users",
        "answers/s",
        "p50 ms",
        "p90",
        "p99",
        "failed",
        "nodes busy",
        "others had",
        "marks",
    ];
    document.table(
        "All that was measured; times of all kinds of requests together, since due",
        &columns,
        3,
        rows,
    );
}

fn again(document: &mut Document, digest: &Digest) {
    document.heading("Run it again");
    let form = if digest.form == "full" { "--full" } else { "--quick" };
    document
        .blocks
        .push(Block::Code(format!("durward lab study openam {form} --out openam-study --page docs")));
    document.text(&format!(
        "This page was made by durward {} from `study-openam.json`, which that command writes beside it. The records, with whole \
         histograms, are in `openam-study/records`; `durward lab report` draws each. On a quiet machine: every process beside it is in the \
         figures, and marked.",
        digest.version
    ));
}
