//! Limits are in force, or it is said that they are not.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use durward_lab::target::{Bytes, NodeLimits, TargetSpec};

use super::{can_limit, get, map, spec, until};

#[test]
fn a_quota_holds_a_busy_loop_and_is_seen() {
    let limits = NodeLimits { cpus: Some(0.2), ..NodeLimits::default() };
    let running = TargetSpec { limits, sample_ms: 200, ..spec("busy") }.start(1).unwrap();
    if !can_limit(&running) {
        return;
    }
    assert!(running.info().limits[0].starts_with("cpus = 0.2 (cgroup v"), "{:?}", running.info());
    let (watch, begun) = (running.watch(), Instant::now());
    thread::sleep(Duration::from_millis(2000));
    let latest = watch.latest()[0].unwrap();
    let used = watch.end().remove(0).unwrap();
    let cores = used.cpu_s / begun.elapsed().as_secs_f64();
    // A busy machine may give it less than its quota.
    assert!((0.05..0.24).contains(&cores), "{cores} {used:?}");
    assert_eq!(used.cores, 0.2);
    assert!(used.source.starts_with("cgroup"), "{used:?}");
    assert!(used.periods >= 15 && used.throttled_periods >= used.periods / 2, "{used:?}");
    assert!(used.throttled_s > 0.5, "{used:?}");
    assert!(used.samples.len() >= 7 && used.samples.len() <= 10, "{used:?}");
    assert!(used.samples.iter().all(|sample| sample.cpus < 0.4) && latest.throttled > 0.0, "{used:?}");
}

#[test]
fn a_shorter_period_is_set() {
    let limits = NodeLimits { cpus: Some(0.5), cpu_period_ms: Some(10), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("busy") }.start(1).unwrap();
    if !can_limit(&running) {
        return;
    }
    let watch = running.watch();
    thread::sleep(Duration::from_millis(500));
    let used = watch.end().remove(0).unwrap();
    // 50 periods of 10 ms, where there would be 5 of 100.
    assert!(used.periods >= 25, "{used:?}");
}

#[test]
fn a_limit_of_memory_kills_and_that_is_said() {
    let limits = NodeLimits { memory: Some(Bytes(64 << 20)), swap: Some(Bytes(0)), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("eat") }.start(1).unwrap();
    if !can_limit(&running) {
        return;
    }
    until("the kernel's killing", || running.check().is_err());
    let text = running.check().unwrap_err().to_string();
    assert!(
        text.contains("signal 9 (SIGKILL)") && text.contains("out of memory; its limit is 64M"),
        "{text}"
    );
    assert!(
        running.notes()[0].contains("node 1: the kernel killed 1 of its processes"),
        "{:?}",
        running.notes()
    );
}

#[test]
fn a_child_that_is_killed_for_memory_is_noted_though_its_node_runs_on() {
    let limits = NodeLimits { memory: Some(Bytes(64 << 20)), swap: Some(Bytes(0)), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("child-eats") }.start(1).unwrap();
    if !can_limit(&running) {
        return;
    }
    let watch = running.watch();
    until("the kernel's killing", || !running.notes().is_empty());
    let used = watch.end().remove(0).unwrap();
    assert_eq!((used.more["oom_kills"], used.memory_max_bytes), (1.0, Some(64 << 20)));
    assert!(used.memory_peak_bytes > 60 << 20 && used.memory_peak_bytes <= 64 << 20, "{used:?}");
    assert!(running.check().is_ok());
}

#[test]
fn cores_are_given_in_turn() {
    let online = thread::available_parallelism().unwrap().get();
    let cores: Vec<usize> = (0..online).collect();
    let limits = NodeLimits { cores, cores_each: Some(1), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("answer") }.start(3).unwrap();
    if !can_limit(&running) {
        return;
    }
    for (number, address) in running.addresses().iter().enumerate() {
        let (_, pid) = get(address, "/pid");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap();
        assert_eq!(allowed, (number % online).to_string());
    }
    assert!(running.watch().end().iter().all(|used| used.as_ref().unwrap().cores == 1.0));
}

#[test]
fn processes_and_files_are_limited() {
    let limits = NodeLimits { pids: Some(64), files: Some(77), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("answer") }.start(1).unwrap();
    let (_, pid) = get(&running.addresses()[0], "/pid");
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let files = text.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_ascii_whitespace().nth(3), Some("77"), "{files}");
    if can_limit(&running) {
        let limits = running.info().limits;
        assert!(limits.iter().any(|line| line.starts_with("pids = 64 (cgroup v")), "{limits:?}");
    }
}

#[test]
fn more_cores_than_there_are_is_said() {
    let limits = NodeLimits { cpus: Some(5000.0), ..NodeLimits::default() };
    let running = TargetSpec { limits, ..spec("answer") }.start(1).unwrap();
    let missing = running.info().limits_missing;
    assert!(missing[0].starts_with("cpus = 5000: "), "{missing:?}");
    assert!(!running.info().limits.iter().any(|line| line.starts_with("cpus")), "{:?}", running.info());
}

/// As a user who may write no control group: affinity and resource limits stand in, and it is said what they are not.
#[test]
fn without_control_groups_others_stand_in_and_it_is_said() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        eprintln!("not tested: only root can become nobody");
        return;
    }
    // Nobody may read neither the build's directory nor root's temporary ones.
    let place = env::temp_dir().join(format!("durward-lab-test-nobody-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    let binary = place.join("child");
    fs::copy(env::current_exe().unwrap(), &binary).unwrap();
    let limits = NodeLimits {
        cpus: Some(0.4),
        cores: Vec::new(),
        memory: Some(Bytes(512 << 20)),
        pids: Some(50),
        files: Some(99),
        ..NodeLimits::default()
    };
    let mut table = TargetSpec { limits, env: map(&[("LANG", "C")]), ..spec("answer") };
    table.command[3] = binary.display().to_string();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["--exact", "child::play", "--ignored", "--nocapture"])
        .env("ROLE", "describe")
        .env("TABLE", serde_json::to_string(&table).unwrap())
        .env("TMPDIR", &place)
        .current_dir(&place)
        .output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap();
    fs::remove_dir_all(&place).unwrap();
    let told = said.lines().find_map(|line| line.split_once("told ")).unwrap_or_else(|| panic!("{said}")).1;
    let told: serde_json::Value = serde_json::from_str(told).unwrap();
    let lines = |key: &str| told["info"][key].to_string();
    let (limits, missing) = (lines("limits"), lines("limits_missing"));
    for wanted in ["(affinity), in place of cpus = 0.4", "RLIMIT_DATA", "files = 99 (RLIMIT_NOFILE"] {
        assert!(limits.contains(wanted), "{wanted}: {limits}");
    }
    for wanted in ["cpus = 0.4: ", "memory = 512M: ", "pids = 50: "] {
        assert!(missing.contains(wanted), "{wanted}: {missing}");
    }
    assert!(missing.contains("Permission denied") || missing.contains("no control group"), "{missing}");
    assert_eq!(told["used"][0]["source"], "/proc", "{told}");
    assert_eq!(told["used"][0]["cores"], 1.0, "{told}");
    assert!(told["used"][0]["memory_bytes"].as_u64() > Some(0), "{told}");
    assert_eq!(told["is_removed"], true, "{told}");
}
