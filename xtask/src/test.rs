//! `cargo xtask test`: `check`, then everything that runs the product.

use crate::lane::{self, LaneStep};
use crate::report::{Outcome, Report};
use crate::tools::{
    CADDY, FAKETIME, GO, HAPROXY, MOSQUITTO, MOSQUITTO_PUB, NGINX, NODE, OATHTOOL, OPENSSL, PROMETHEUS,
    RABBITMQ, SLAPD,
};
use crate::{
    beside, built, check, clients, demo, dist, fuzz, instructions, lean, opcua, peers, plans, programs,
    readme, recorded, release, room,
};
use std::process::ExitCode;
use std::time::Duration;

/// How long each fuzz target runs: long enough to pass the seeds and some ten or hundred thousand inputs.
const FUZZ_S: u64 = 4;

/// All of it, and the table.
pub(crate) fn run_alone() -> ExitCode {
    let mut report = Report::new();
    report.step("room on the disk", room::check);
    let fetched = beside::start();
    let lane = lane::start(&lane_steps());
    check::steps(&mut report);
    report.step("recorded data", recorded::check);
    report.step("tests: build", || Outcome::of(built::tests()));
    check::generated(&mut report);
    report.step("what is fetched beside", || {
        fetched.wait();
        Outcome::Passed(String::new())
    });
    report.step("tests", tests);
    report.step("packages", dist::check);
    clients::steps(&mut report, "");
    opcua::steps(&mut report, &[]);
    plans::steps(&mut report);
    peers::steps(&mut report);
    match lane {
        Ok(lane) => lane.join(&mut report),
        Err(message) => report.add("lane", Outcome::Failed(message), Duration::ZERO),
    }
    // How many inputs a target sees within its seconds depends on what runs beside it, so nothing does.
    fuzz::runs(&mut report, FUZZ_S);
    report.step("README: examples", readme::check);
    report.step("README: demo", demo::check);
    report.close()
}

/// What only compiles and computes, the longest first. None of it builds in the directory of the tests, whose lock it would hold at idle priority;
/// neighbours build in different ones.
pub(crate) fn lane_steps() -> Vec<LaneStep> {
    let mut steps = vec![
        LaneStep::new("release binary", release::check),
        LaneStep::new(fuzz::BUILD, fuzz::build_short),
        LaneStep::new("instruction counts", instructions::check),
    ];
    steps.push(lean::tests());
    steps.extend(check::lane_steps());
    steps
}

/// Every test program and the examples of the documentation.
fn tests() -> Outcome {
    for tool in [
        CADDY,
        FAKETIME,
        GO,
        HAPROXY,
        MOSQUITTO,
        MOSQUITTO_PUB,
        NGINX,
        NODE,
        OATHTOOL,
        OPENSSL,
        PROMETHEUS,
        RABBITMQ,
        SLAPD,
    ] {
        // The tests that want it say so themselves: passed over here, a failure on the build machine.
        if let Err(missing) = tool.get() {
            println!("{missing}");
        }
    }
    programs::run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The lane calls its steps by name.
    #[test]
    fn no_two_steps_of_the_lane_have_one_name() {
        let steps = lane_steps();
        let names: BTreeSet<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names.len(), steps.len(), "{names:?}");
        assert!(names.contains(fuzz::BUILD));
    }
}
