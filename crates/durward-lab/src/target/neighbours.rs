//! Load by other processes on the machine during a measurement.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Instant;

use super::figures::quick;
use super::processes::{NodeProcess, one, seconds};
use super::running::RunningTarget;
use super::text::{self, ProcessorTicks};
use crate::record::PointWarning;

/// A point is marked where others had more than this share of the machine's processors.
pub const NEIGHBOUR_SHARE_MAX: f64 = 0.05;
/// A point is marked where the hypervisor took more than this share.
pub const STEAL_SHARE_MAX: f64 = 0.02;

/// A look at the machine before a measurement.
#[derive(Debug)]
pub struct Neighbours {
    members: Vec<Arc<NodeProcess>>,
    /// Processes that belong to the lab, beside this one.
    beside: Vec<u32>,
    before: MachineTicks,
}

/// Load of the machine between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherLoad {
    /// Seconds of processor time of everything but this process, the nodes and their parts.
    pub cpu_s: f64,
    /// That as a share of all processors, from 0 to 1.
    pub share: f64,
    /// The share that the hypervisor gave to other machines, from 0 to 1.
    pub steal_share: f64,
    /// The share of all processors in which anything ran, from 0 to 1.
    pub busy_share: f64,
    /// Of the machine as a whole, by name with the unit last: `pressure_cpu_some_us`, `net_lo_bytes`, `net_in_bytes`,
    /// `tcp_retransmits`, `listen_overflows`, and `energy_j` where the processor's counter (RAPL) can be read.
    pub more: BTreeMap<String, f64>,
}

#[derive(Clone, Debug)]
struct MachineTicks {
    at: Instant,
    processors: ProcessorTicks,
    own_s: f64,
    nodes_s: f64,
    counters: BTreeMap<String, f64>,
    /// By domain of RAPL: microjoules, and where it begins anew.
    energy: BTreeMap<String, (f64, f64)>,
}

impl Neighbours {
    /// Looks at the machine now. Nodes that are known here do not count as others, nor does this process.
    pub fn begin(running: &RunningTarget) -> Neighbours {
        Neighbours::begin_beside(running, &[])
    }

    /// The same; nor do these processes, which make load too.
    pub fn begin_beside(running: &RunningTarget, beside: &[u32]) -> Neighbours {
        let members = running.members();
        let before = MachineTicks::read(&members, beside);
        Neighbours { members, beside: beside.to_vec(), before }
    }

    /// What the machine did since.
    pub fn end(self) -> OtherLoad {
        MachineTicks::read(&self.members, &self.beside).since(&self.before)
    }
}

impl OtherLoad {
    /// All of it by name, for a point's record.
    pub fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = self.more.clone();
        for (name, value) in [
            ("others_cpu_s", self.cpu_s),
            ("others_share", self.share),
            ("steal_share", self.steal_share),
            ("busy_share", self.busy_share),
        ] {
            figures.insert(name.to_owned(), value);
        }
        figures
    }

    /// The mark of a point that was measured meanwhile; `None` where nobody disturbed it.
    pub fn mark(&self) -> Option<PointWarning> {
        if self.steal_share > STEAL_SHARE_MAX {
            let because = format!("the hypervisor took {:.1} % of the processors", self.steal_share * 100.0);
            return Some(PointWarning::Neighbour(because));
        }
        (self.share > NEIGHBOUR_SHARE_MAX).then(|| {
            PointWarning::Neighbour(format!(
                "other processes had {:.1} % of the processors",
                self.share * 100.0
            ))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counters below 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

impl MachineTicks {
    fn read(members: &[Arc<NodeProcess>], beside: &[u32]) -> MachineTicks {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let own = beside.iter().copied().chain([std::process::id()]).filter_map(one);
        let mut machine = MachineTicks {
            at: Instant::now(),
            processors: text::processors(&read("/proc/stat")).unwrap_or_default(),
            own_s: seconds(own.map(|stat| stat.own_ticks).sum()),
            nodes_s: members.iter().map(|member| quick(member).cpu_s).sum(),
            counters: BTreeMap::new(),
            energy: energy("/sys/class/powercap"),
        };
        let mut set = |name: &str, value: f64| machine.counters.insert(name.to_owned(), value);
        for resource in ["cpu", "memory", "io"] {
            if let Some((some, full)) = text::pressure(&read(&format!("/proc/pressure/{resource}"))) {
                set(&format!("pressure_{resource}_some_us"), float(some));
                set(&format!("pressure_{resource}_full_us"), float(full));
            }
        }
        let (mut received, mut sent) = (0, 0);
        for (name, bytes) in text::interfaces(&read("/proc/net/dev")) {
            if name == "lo" {
                set("net_lo_bytes", float(bytes.1));
            } else {
                received += bytes.0;
                sent += bytes.1;
            }
        }
        set("net_in_bytes", float(received));
        set("net_out_bytes", float(sent));
        let snmp = read("/proc/net/snmp");
        let netstat = read("/proc/net/netstat");
        for (name, value) in [
            ("tcp_retransmits", text::protocol(&snmp, "Tcp", "RetransSegs")),
            ("listen_overflows", text::protocol(&netstat, "TcpExt", "ListenOverflows")),
        ] {
            if let Some(value) = value {
                set(name, float(value));
            }
        }
        machine
    }

    fn since(&self, before: &MachineTicks) -> OtherLoad {
        let ticks = |of: fn(&ProcessorTicks) -> u64| {
            seconds(of(&self.processors).saturating_sub(of(&before.processors)))
        };
        let (busy, steal, idle) = (ticks(|p| p.busy), ticks(|p| p.steal), ticks(|p| p.idle));
        let all = busy + steal + idle;
        let known = (self.own_s - before.own_s).max(0.0) + (self.nodes_s - before.nodes_s).max(0.0);
        let cpu_s = (busy - known).max(0.0);
        let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
        let mut more = BTreeMap::new();
        for (name, value) in &self.counters {
            let earlier = before.counters.get(name).copied().unwrap_or(0.0);
            more.insert(name.clone(), (value - earlier).max(0.0));
        }
        if !self.energy.is_empty() {
            more.insert("energy_j".to_owned(), joules(&before.energy, &self.energy));
        }
        let seconds = self.at.saturating_duration_since(before.at).as_secs_f64();
        more.insert("seconds".to_owned(), seconds);
        OtherLoad { cpu_s, share: share(cpu_s), steal_share: share(steal), busy_share: share(busy), more }
    }
}

/// The counters of whole processor packages: domains within them (`intel-rapl:0:0`) are counted there already.
fn energy(directory: &str) -> BTreeMap<String, (f64, f64)> {
    let mut domains = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.matches(':').count() != 1 || name.starts_with("intel-rapl-mmio") {
            continue;
        }
        let number = |file: &str| fs::read_to_string(entry.path().join(file)).ok()?.trim().parse().ok();
        if let Some(microjoules) = number("energy_uj") {
            domains.insert(name, (microjoules, number("max_energy_range_uj").unwrap_or(0.0)));
        }
    }
    domains
}

/// Joules between two readings; a counter that is smaller has begun anew.
fn joules(before: &BTreeMap<String, (f64, f64)>, after: &BTreeMap<String, (f64, f64)>) -> f64 {
    let of = |(name, (now, range)): (&String, &(f64, f64))| {
        let then = before.get(name).map_or(*now, |(then, _)| *then);
        if *now >= then { now - then } else { now - then + range }
    };
    after.iter().map(of).sum::<f64>() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(busy: u64, steal: u64, idle: u64, own_s: f64, nodes_s: f64) -> MachineTicks {
        MachineTicks {
            at: Instant::now(),
            processors: ProcessorTicks { busy, steal, idle },
            own_s,
            nodes_s,
            counters: BTreeMap::new(),
            energy: BTreeMap::new(),
        }
    }

    #[test]
    fn others_are_what_neither_nodes_nor_this_process_used() {
        let before = machine(1000, 10, 1000, 5.0, 7.0);
        // 10 s of 2 cores: 12 s busy, of which 4 here and 5 in nodes; 0.2 s stolen.
        let others = machine(2200, 30, 1780, 9.0, 12.0).since(&before);
        assert!((others.cpu_s - 3.0).abs() < 1e-9 && (others.share - 0.15).abs() < 1e-9, "{others:?}");
        assert!(
            (others.steal_share - 0.01).abs() < 1e-9 && (others.busy_share - 0.6).abs() < 1e-9,
            "{others:?}"
        );
        let mark = others.mark().unwrap();
        assert_eq!(
            mark.to_string(),
            "something else used the machine: other processes had 15.0 % of the processors"
        );
        assert!(mark.is_left_out());
        let quiet = machine(1950, 10, 2050, 9.0, 12.0).since(&before);
        assert_eq!(quiet.mark(), None);
        assert_eq!(others.figures()["others_share"], others.share);
        let stolen = machine(1900, 110, 2000, 9.0, 12.0).since(&before).mark().unwrap();
        assert!(stolen.to_string().contains("the hypervisor took 5.0 %"), "{stolen}");
    }

    #[test]
    fn counters_of_energy_begin_anew() {
        let reading = |uj: f64| BTreeMap::from([("intel-rapl:0".to_owned(), (uj, 1000e6))]);
        assert!((joules(&reading(10e6), &reading(25e6)) - 15.0).abs() < 1e-9);
        assert!((joules(&reading(990e6), &reading(5e6)) - 15.0).abs() < 1e-9);
    }

    #[test]
    fn only_whole_packages_are_counted() {
        let root = std::env::temp_dir().join(format!("durward-lab-rapl-{}", std::process::id()));
        for domain in ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl", "intel-rapl-mmio:0"] {
            fs::create_dir_all(root.join(domain)).unwrap();
            fs::write(root.join(domain).join("energy_uj"), "12000000\n").unwrap();
            fs::write(root.join(domain).join("max_energy_range_uj"), "262143328850\n").unwrap();
        }
        let found = energy(root.to_str().unwrap());
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["intel-rapl:0", "intel-rapl:1"]);
        assert_eq!(found["intel-rapl:0"], (12e6, 262_143_328_850.0));
    }
}
