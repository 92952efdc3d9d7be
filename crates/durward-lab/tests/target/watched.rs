//! What nodes use is seen: between the borders, of children too, with their pages; and what others used.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use durward_lab::target::{Neighbours, NodeLimits, TargetSpec};

use super::{command, get, spec};

#[test]
fn work_is_counted_between_the_borders_and_to_the_node_that_did_it() {
    let running = spec("answer").start(2).unwrap();
    let addresses = running.addresses();
    // Before the border.
    get(&addresses[1], "/spin");
    let watch = running.watch();
    get(&addresses[0], "/spin");
    let used: Vec<_> = watch.end().into_iter().map(Option::unwrap).collect();
    // It works for 0.3 s, and `/proc` counts in ticks.
    assert!(used[0].cpu_s > 0.25 && used[0].cpu_s < 0.4, "{:?}", used[0]);
    assert!(used[1].cpu_s < 0.05, "{:?}", used[1]);
    for one in &used {
        let more = |name: &str| one.more[name];
        assert!(one.memory_bytes > 0 && one.memory_peak_bytes >= one.memory_bytes, "{one:?}");
        assert!(
            more("resident_bytes") > 0.0 && more("proportional_bytes") <= more("resident_bytes"),
            "{one:?}"
        );
        assert!(more("threads") >= 1.0 && more("sockets") >= 1.0 && more("open_files") >= 4.0, "{one:?}");
        assert_eq!(one.memory_max_bytes, None);
    }
    assert!(used[0].more["context_switches"] > 0.0, "{:?}", used[0]);
}

#[test]
fn pages_are_read_at_the_borders() {
    let running = TargetSpec {
        ready: "/up".to_owned(),
        metrics: "/metrics".to_owned(),
        metrics_only: vec!["asked_*".to_owned(), "level".to_owned()],
        jmx: "http://{address}/jolokia".to_owned(),
        jmx_read: vec!["my:type=Server/Asked".to_owned()],
        ..spec("answer")
    }
    .start(1)
    .unwrap();
    let watch = running.watch();
    (0..3).for_each(|_| assert_eq!(get(&running.addresses()[0], "/up").0, 200));
    let used = watch.end().remove(0).unwrap();
    assert_eq!((used.more["metric asked_total"], used.more["metric level"]), (3.0, 7.0));
    assert_eq!(used.more["jmx my:type=Server/Asked change"], 3.0);
    assert!(used.more["jmx java.lang:type=Memory/HeapMemoryUsage.used"] >= 1003.0, "{used:?}");
}

#[test]
fn pages_that_are_not_there_are_an_error_at_the_start() {
    let error =
        TargetSpec { metrics: "/nothing".to_owned(), ..spec("answer") }.start(1).unwrap_err().to_string();
    assert!(
        error.contains("node 1 is not ready") && error.contains("/nothing answers status 404"),
        "{error}"
    );
    let only = vec!["no_such".to_owned()];
    let table = TargetSpec { metrics: "/metrics".to_owned(), metrics_only: only, ..spec("answer") };
    assert!(table.start(1).unwrap_err().to_string().contains("none of the metrics that were asked for"));
    let error = TargetSpec { jmx: "/up".to_owned(), ..spec("answer") }.start(1).unwrap_err().to_string();
    assert!(error.contains("does not answer as Jolokia does"), "{error}");
}

#[test]
fn a_server_that_runs_already_is_watched_by_its_address() {
    let other = spec("answer").start(1).unwrap();
    let address = other.addresses().remove(0);
    let running =
        TargetSpec { addresses: vec![address.clone()], ready: "/up".to_owned(), ..TargetSpec::default() }
            .start(1)
            .unwrap();
    assert_eq!((running.addresses(), running.info().started_as), (vec![address.clone()], address.clone()));
    let watch = running.watch();
    get(&address, "/spin");
    let used = watch.end().remove(0).unwrap();
    assert!(used.source == "/proc" && used.cpu_s > 0.25 && used.cpu_s < 0.4, "{used:?}");
    running.stop();
    // It is not ours to stop.
    assert_eq!(get(&address, "/up").0, 200);
    let error = TargetSpec {
        addresses: vec!["127.0.0.1:1".to_owned()],
        ready_within_s: 0.2,
        ..TargetSpec::default()
    }
    .start(1)
    .unwrap_err();
    assert!(
        error.to_string().contains("127.0.0.1:1 (node 1) is not ready: 127.0.0.1:1 takes no connection"),
        "{error}"
    );
}

#[test]
fn others_are_seen_and_nodes_are_not_others() {
    let running = spec("busy").start(1).unwrap();
    let (neighbours, begun) = (Neighbours::begin(&running), Instant::now());
    let watch = running.watch();
    let mut other = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    thread::sleep(Duration::from_millis(1500));
    let used = watch.end().remove(0).unwrap();
    let others = neighbours.end();
    other.kill().unwrap();
    other.wait().unwrap();
    let cores = others.cpu_s / begun.elapsed().as_secs_f64();
    assert!(cores > 0.2, "{others:?}");
    // Nodes and others together are what was busy, but for this process.
    let machine = thread::available_parallelism().unwrap().get() as f64;
    assert!(cores < machine - used.cpu_s / 1.6, "{others:?} {used:?}");
    assert!(others.share > 0.05 && others.mark().is_some(), "{others:?}");
    assert!(
        others.more.contains_key("net_lo_bytes") && others.more.contains_key("tcp_retransmits"),
        "{others:?}"
    );
}

/// A program in the place of `docker` does what it would do with a container: run it, tell its process, remove it.
#[test]
fn an_image_is_started_by_the_program_that_answers() {
    let place = env::temp_dir().join(format!("durward-lab-test-docker-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {log}\ncase $1 in\n\
         info) exit 0 ;;\n\
         inspect) cat {pid} ;;\n\
         run) for word; do case $word in 127.0.0.1:*:8080) port=${{word#*:}}; port=${{port%:*}} ;; esac; done\n\
         echo $$ > {pid}; ROLE=answer PORT=$port exec {binary} --exact child::play --ignored --nocapture ;;\n\
         esac\n",
        log = place.join("log").display(),
        pid = place.join("pid").display(),
        binary = env::current_exe().unwrap().display(),
    );
    fs::write(place.join("docker"), script).unwrap();
    fs::set_permissions(place.join("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    let limits = NodeLimits { cpus: Some(0.5), files: Some(100), ..NodeLimits::default() };
    let table = TargetSpec {
        image: Some("nginx:1.27".to_owned()),
        image_port: 8080,
        command: vec!["--flag={node}".to_owned()],
        ready: "/up".to_owned(),
        limits,
        ..TargetSpec::default()
    };
    let path = format!("{}:{}", place.display(), env::var("PATH").unwrap());
    let told = describe(&table, &path);
    let log = fs::read_to_string(place.join("log")).unwrap();
    assert_eq!(told["info"]["started_as"], "image nginx:1.27 --flag={node}", "{told}");
    assert_eq!(told["info"]["limits"].as_array().unwrap().len(), 3, "{told}");
    assert_eq!(told["used"][0]["cores"], 0.5, "{told}");
    assert!(
        log.lines().any(|line| line.starts_with("run --rm") && line.ends_with("nginx:1.27 --flag=1")),
        "{log}"
    );
    assert!(log.lines().last().unwrap().starts_with("rm --force durward-lab-"), "{log}");

    // One that is there, but has no daemon.
    let script =
        "#!/bin/sh\necho 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.' >&2; exit 1\n";
    fs::write(place.join("docker"), script).unwrap();
    let told = describe(&table, &path);
    fs::remove_dir_all(&place).unwrap();
    let error = told["error"].as_str().unwrap();
    assert!(error.contains("`target.image`: an image needs `docker` or `podman`"), "{error}");
    assert!(error.contains("`docker` does not work here: Cannot connect to the Docker daemon"), "{error}");
}

fn describe(table: &TargetSpec, path: &str) -> serde_json::Value {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child::play", "--ignored", "--nocapture"])
        .env("ROLE", "describe")
        .env("TABLE", serde_json::to_string(table).unwrap())
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = said
        .lines()
        .find_map(|line| line.split_once("told "))
        .unwrap_or_else(|| panic!("{said} {output:?}"))
        .1;
    serde_json::from_str(told).unwrap()
}

#[test]
fn children_count_and_stay_counted_after_they_ended() {
    let mut words = vec![
        "sh".to_owned(),
        "-c".to_owned(),
        "\"$@\" & while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done".to_owned(),
        "sh".to_owned(),
    ];
    words.extend(command("answer"));
    let running = TargetSpec { command: words, ..spec("answer") }.start(1).unwrap();
    let watch = running.watch();
    thread::sleep(Duration::from_millis(1000));
    let used = watch.end().remove(0).unwrap();
    assert!(used.cpu_s > 0.04 && used.cpu_s < 1.5, "{used:?}");
    assert!(used.more["processes"] >= 2.0, "{used:?}");
}
