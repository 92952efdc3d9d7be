//! What was run, and on what, beside the paper's.

use super::super::super::StudyDigest;
use super::distinct;
use crate::fit;
use crate::report::Document;

pub(super) fn about(document: &mut Document, digest: &StudyDigest) {
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
