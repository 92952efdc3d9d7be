//! Both versions, in directories that look as the kernel's: what is written into which file, whatever this machine has.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use super::{Cgroup, CgroupLayout, CgroupParent, CgroupVersion, Controller};
use crate::target::bytes::Bytes;
use crate::target::figures;
use crate::target::limits::apply;
use crate::target::processes::NodeProcess;
use crate::target::spec::NodeLimits;

/// Directories of the test's own, removed with it.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let root = env::temp_dir().join(format!("durward-lab-fake-{}-{name}", process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Tree(root)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A child that stands for a node while limits are applied to it.
struct Sleeper(process::Child);

impl Sleeper {
    fn start() -> Sleeper {
        Sleeper(process::Command::new("sleep").arg("100").spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn v2(root: &Path) -> CgroupLayout {
    CgroupLayout { v2: Some(root.to_owned()), ..CgroupLayout::default() }
}

fn v1(root: &Path, controllers: &[&str]) -> CgroupLayout {
    let v1 = controllers.iter().map(|name| ((*name).to_owned(), root.join(name))).collect();
    CgroupLayout { v1, v2: None }
}

fn limits() -> NodeLimits {
    NodeLimits {
        cpus: Some(0.4),
        cores: vec![0],
        memory: Some(Bytes(64 << 20)),
        swap: Some(Bytes(1 << 20)),
        pids: Some(50),
        ..NodeLimits::default()
    }
}

/// Controllers have been given to the groups below already, as systemd does for a user's services.
#[test]
fn version_2_is_written_and_read() {
    let tree = Tree::new("v2");
    tree.file("cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n");
    tree.file("cgroup.subtree_control", "cpuset cpu io memory pids\n");
    for file in ["cpu.max", "cpuset.cpus", "memory.max", "memory.swap.max", "pids.max", "cgroup.procs"] {
        tree.file(&format!("node/{file}"), "");
    }
    let stat = "usage_usec 1500000\nuser_usec 1\nsystem_usec 1\nnr_periods 50\nnr_throttled 49\nthrottled_usec 3896547\n";
    tree.file("node/cpu.stat", stat);
    tree.file("node/memory.current", "1048576\n");
    tree.file("node/memory.peak", "2097152\n");
    tree.file("node/memory.events", "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n");
    tree.file("node/io.stat", "8:0 rbytes=4096 wbytes=8192 rios=1 wios=1\n");
    tree.file(
        "node/cpu.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 total=5\n",
    );
    let parent = CgroupParent::of(v2(&tree.0), 1);
    let group = Cgroup::make(&parent, "node", true);
    let child = Sleeper::start();
    let applied = apply(&limits(), &group, child.0.id(), 0);
    assert_eq!(applied.missing, Vec::<String>::new());
    let wanted = [
        "cpus = 0.4 (cgroup v2, cpu.max = 40000 100000)",
        "cores = 0 (cgroup v2, cpuset.cpus)",
        "memory = 64M (cgroup v2, memory.max)",
        "swap = 1M (cgroup v2, memory.swap.max)",
        "pids = 50 (cgroup v2, pids.max)",
    ];
    assert_eq!(applied.in_force, wanted);
    let files = ["cpu.max", "cpuset.cpus", "memory.max", "memory.swap.max", "pids.max"];
    let written = files.map(|file| tree.read(&format!("node/{file}")));
    assert_eq!(written, ["40000 100000", "0", "67108864", "1048576", "50"]);
    assert_eq!(tree.read("node/cgroup.procs"), child.0.id().to_string());

    let member = NodeProcess::of_group(child.0.id(), group, &applied);
    let (quick, full) = (figures::quick(&member), figures::full(&member));
    assert_eq!(
        (quick.cpu_s, quick.memory_bytes, quick.periods, quick.throttled_periods),
        (1.5, 1 << 20, 50, 49)
    );
    assert!((quick.throttled_s - 3.896547).abs() < 1e-9);
    let used =
        figures::used(&member, (&quick, &figures::BorderReader::default()), (&quick, &full), Vec::new());
    assert_eq!((used.source.as_str(), used.cores, used.memory_max_bytes), ("cgroup v2", 0.4, Some(64 << 20)));
    assert_eq!(used.memory_peak_bytes, 2 << 20);
    let names =
        ["io_read_bytes", "io_written_bytes", "oom_kills", "pressure_cpu_some_us", "pressure_cpu_full_us"];
    assert_eq!(names.map(|name| used.more[name]), [4096.0, 8192.0, 1.0, 77.0, 5.0]);
    assert_eq!(member.pids(), [child.0.id()]);
}

#[test]
fn version_1_is_written_and_read() {
    let tree = Tree::new("v1");
    let controllers = ["cpu", "cpuacct", "cpuset", "memory", "pids", "blkio"];
    for controller in controllers {
        tree.file(&format!("{controller}/node/cgroup.procs"), "");
    }
    tree.file("cpuset/cpuset.effective_mems", "0-1\n");
    for file in [
        "cpu/node/cpu.cfs_quota_us",
        "cpu/node/cpu.cfs_period_us",
        "cpuset/node/cpuset.cpus",
        "cpuset/node/cpuset.mems",
        "memory/node/memory.limit_in_bytes",
        "memory/node/memory.memsw.limit_in_bytes",
        "memory/node/memory.max_usage_in_bytes",
        "pids/node/pids.max",
    ] {
        tree.file(file, "");
    }
    tree.file("cpu/node/cpu.stat", "nr_periods 15\nnr_throttled 14\nthrottled_time 872396858\n");
    tree.file("cpuacct/node/cpuacct.usage", "318633470\n");
    tree.file("memory/node/memory.usage_in_bytes", "745472\n");
    tree.file("memory/node/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    tree.file(
        "blkio/node/blkio.throttle.io_service_bytes_recursive",
        "8:0 Read 512\n8:0 Write 1024\nTotal 1536\n",
    );
    let parent = CgroupParent::of(v1(&tree.0, &controllers), 1);
    let group = Cgroup::make(&parent, "node", true);
    let child = Sleeper::start();
    let applied = apply(&limits(), &group, child.0.id(), 0);
    assert_eq!(applied.missing, Vec::<String>::new());
    let wanted = [
        "cpus = 0.4 (cgroup v1, cpu.cfs_quota_us = 40000 of 100000)",
        "cores = 0 (cgroup v1, cpuset.cpus)",
        "memory = 64M (cgroup v1, memory.limit_in_bytes)",
        "swap = 1M (cgroup v1, memory.memsw.limit_in_bytes)",
        "pids = 50 (cgroup v1, pids.max)",
    ];
    assert_eq!(applied.in_force, wanted);
    let read = |file: &str| tree.read(file);
    assert_eq!(
        (read("cpu/node/cpu.cfs_quota_us"), read("cpu/node/cpu.cfs_period_us")),
        ("40000".into(), "100000".into())
    );
    assert_eq!(
        (read("cpuset/node/cpuset.cpus"), read("cpuset/node/cpuset.mems")),
        ("0".into(), "0-1".into())
    );
    // Memory and swap together.
    assert_eq!(read("memory/node/memory.memsw.limit_in_bytes"), (65 << 20).to_string());
    for controller in controllers {
        assert_eq!(read(&format!("{controller}/node/cgroup.procs")), child.0.id().to_string());
    }

    let member = NodeProcess::of_group(child.0.id(), group, &applied);
    tree.file("memory/node/memory.max_usage_in_bytes", "99999999\n");
    figures::reset_peak(&member);
    assert!(read("memory/node/memory.max_usage_in_bytes").starts_with('0'));
    let (quick, full) = (figures::quick(&member), figures::full(&member));
    assert_eq!((quick.memory_bytes, quick.periods, quick.throttled_periods), (745_472, 15, 14));
    assert!((quick.cpu_s - 0.318_633_47).abs() < 1e-9 && (quick.throttled_s - 0.872_396_858).abs() < 1e-9);
    let used =
        figures::used(&member, (&quick, &figures::BorderReader::default()), (&quick, &full), Vec::new());
    let names = ["io_read_bytes", "io_written_bytes", "oom_kills"];
    assert_eq!(
        (used.source.as_str(), names.map(|name| used.more[name])),
        ("cgroup v1", [512.0, 1024.0, 2.0])
    );
}

/// What the group offers is given on to groups below it, for as long as there are any.
#[test]
fn controllers_of_version_2_are_given_on_and_taken_back() {
    let tree = Tree::new("give");
    tree.file("cgroup.controllers", "cpu memory pids\n");
    tree.file("cgroup.subtree_control", "");
    tree.file("cgroup.procs", "");
    let parent = CgroupParent::of(v2(&tree.0), 1);
    // A directory takes each write in turn; the kernel would add up.
    assert!(tree.read("cgroup.subtree_control").starts_with("+pids"));
    drop(parent);
    assert!(tree.read("cgroup.subtree_control").starts_with("-pids"));
}

#[test]
fn what_cannot_be_written_is_told_with_its_place() {
    let tree = Tree::new("refused");
    // A cpu controller that has no quota (a kernel built without), and memory that is not there at all.
    tree.file("cpu/node/cgroup.procs", "");
    let parent = CgroupParent::of(v1(&tree.0, &["cpu"]), 1);
    let group = Cgroup::make(&parent, "node", true);
    let child = Sleeper::start();
    let limits =
        NodeLimits { cpus: Some(0.4), memory: Some(Bytes(1 << 30)), pids: Some(5), ..NodeLimits::default() };
    let applied = apply(&limits, &group, child.0.id(), 0);
    assert!(applied.missing[0].starts_with("cpus = 0.4: "), "{applied:?}");
    assert!(
        applied.missing[0].contains("cpu.cfs_period_us does not take `100000`: No such file"),
        "{applied:?}"
    );
    assert_eq!(applied.missing[1], "memory = 1G: there is no control group with the controller `memory`");
    assert_eq!(applied.missing[2], "pids = 5: there is no control group with the controller `pids`");
    assert!(applied.in_force[0].contains("(affinity), in place of cpus = 0.4"), "{applied:?}");
    assert!(applied.in_force[1].starts_with("data = 1G (RLIMIT_DATA"), "{applied:?}");
    assert_eq!((applied.cores, applied.memory_bytes), (1.0, None));
}

#[test]
fn a_group_that_cannot_be_entered_limits_nothing() {
    let tree = Tree::new("closed");
    // No cgroup.procs in it.
    tree.file("cpu/node/cpu.cfs_quota_us", "");
    tree.file("cpu/node/cpu.cfs_period_us", "");
    let parent = CgroupParent::of(v1(&tree.0, &["cpu"]), 1);
    let group = Cgroup::make(&parent, "node", false);
    let child = Sleeper::start();
    let applied = apply(&NodeLimits { cpus: Some(0.5), ..NodeLimits::default() }, &group, child.0.id(), 0);
    assert!(applied.missing[0].contains("node cannot be entered"), "{applied:?}");
    assert!(!group.holds_processes() && group.version(Controller::Cpu).is_err());
    assert_ne!(group.version(Controller::Cpu), Ok(CgroupVersion::One));
}

#[test]
fn without_control_groups_each_limit_is_refused() {
    let parent = CgroupParent::of(CgroupLayout::default(), 1);
    let group = Cgroup::make(&parent, "node", true);
    assert_eq!(group.version(Controller::Memory).unwrap_err().to_string(), "no control groups are mounted");
    assert!(group.paths().is_empty() && group.remove().is_empty());
}
