//! Nothing is left behind, however it ends.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use durward_lab::target::{NodeLimits, TargetSpec};

use super::{name, spec, traces, until};

fn limited() -> TargetSpec {
    TargetSpec { limits: NodeLimits { cpus: Some(0.5), ..NodeLimits::default() }, ..spec("busy") }
}

#[test]
fn after_a_panic() {
    let running = limited().start(2).unwrap();
    let name = name(&running);
    assert!(!traces(&name).is_empty());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _running = running;
        panic!("while it ran");
    }));
    assert!(caught.is_err());
    assert_eq!(traces(&name), Vec::<String>::new());
}

#[test]
fn after_an_error_while_starting() {
    let begin = format!("durward-lab-{}-", std::process::id());
    // The second node dies while the first one waits for it: that is the error, at once, and the first one is stopped.
    let mut table = limited();
    let script = "[ {node} = 2 ] && sleep 0.3 && exit 5; exec sleep 1000";
    table.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    table.ready_within_s = 15.0;
    let begun = Instant::now();
    let error = table.start(2).unwrap_err().to_string();
    assert!(error.contains("node 2 ended: status 5"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // Other tests' targets of this process have their own commands.
    let sleeping = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let own = all.filter(|entry| {
            let read = |file| std::fs::read(entry.path().join(file)).unwrap_or_default();
            let environ = String::from_utf8_lossy(&read("environ")).into_owned();
            environ.contains(&format!("DURWARD_LAB_NODE={begin}"))
                && read("cmdline").starts_with(b"sleep\x001000")
        });
        own.count()
    };
    assert_eq!(sleeping(), 0);
}

/// Whether whoever started this process made it ignore SIGINT, as shells do with what they run in the background; its children
/// inherit that.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << 1) != 0
}

/// By SIGKILL, which nobody can handle, and by SIGINT as Ctrl-C sends it, or SIGTERM where that is ignored.
#[test]
fn after_this_process_was_killed() {
    for signal in ["-KILL", if ignores_interrupts() { "-TERM" } else { "-INT" }] {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child::play", "--ignored", "--nocapture"])
            .env("ROLE", "start")
            .env("TABLE", serde_json::to_string(&limited()).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let started = lines
            .find_map(|line| line.unwrap().split_once("started ").map(|(_, path)| path.to_owned()))
            .unwrap();
        let name = started.rsplit_once('/').unwrap().1.to_owned();
        assert!(traces(&name).len() >= 3, "{:?}", traces(&name));
        thread::spawn(move || lines.count());
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        until(&format!("nothing is left after {signal}"), || traces(&name).is_empty());
    }
}
