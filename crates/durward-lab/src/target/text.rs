//! Parsers for the small texts of `/proc` and of control groups; no file is opened here.

use std::collections::BTreeMap;

/// The number behind a name in lines such as `nr_throttled 19`.
pub(super) fn flat(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// Bytes behind a name in lines such as `Pss:   254 kB`.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The number behind a name in lines such as `Threads: 4`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    rest.trim().parse().ok()
}

/// Microseconds in which some, and in which all, waited for a resource: a file of pressure (PSI). `full` is missing in older
/// kernels' files of processors: 0 then.
pub(super) fn pressure(text: &str) -> Option<(u64, u64)> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    Some((total("some")?, total("full").unwrap_or(0)))
}

/// Bytes read and written, of `io.stat` of version 2: `8:0 rbytes=4096 wbytes=0 ...` for each device.
pub(super) fn io_v2(text: &str) -> (u64, u64) {
    let sum = |name: &str| {
        let values =
            text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        values.fold(0, u64::saturating_add)
    };
    (sum("rbytes="), sum("wbytes="))
}

/// Bytes read and written, of `blkio.throttle.io_service_bytes` of version 1: `8:0 Read 4096` for each device and kind.
pub(super) fn io_v1(text: &str) -> (u64, u64) {
    let sum = |name: &str| {
        let values = text.lines().filter_map(|line| {
            let mut words = line.split(' ');
            (words.nth(1)? == name).then(|| words.next()?.parse::<u64>().ok())?
        });
        values.fold(0, u64::saturating_add)
    };
    (sum("Read"), sum("Write"))
}

/// What one process is and used, of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) pid: u32,
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    pub(super) major_faults: u64,
    /// Processor time of its threads, those that ended too, and of children that it waited for; in ticks.
    pub(super) ticks: u64,
    /// Those of its own threads alone.
    pub(super) own_ticks: u64,
    pub(super) threads: u64,
}

/// Reads `/proc/PID/stat`. A program's name may hold blanks and parentheses, so that the last parenthesis counts.
pub(super) fn stat(text: &str) -> Option<ProcessStat> {
    let (pid, rest) = text.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The third field of proc_pid_stat(5) is the first word here.
    let number = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
    let small = |field: usize| u32::try_from(number(field)?).ok();
    // Times of children are signed in the kernel, never negative in fact.
    let own_ticks = number(14)? + number(15)?;
    let ticks = own_ticks + number(16)? + number(17)?;
    Some(ProcessStat {
        pid: pid.parse().ok()?,
        state: words.first()?.chars().next()?,
        parent: small(4)?,
        group: small(5)?,
        session: small(6)?,
        major_faults: number(12)?,
        ticks,
        own_ticks,
        threads: number(20)?,
    })
}

/// What all processors did so far, in ticks, of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessorTicks {
    /// Running anything: user, nice, system, interrupts.
    pub(super) busy: u64,
    /// Taken by the hypervisor.
    pub(super) steal: u64,
    /// Nothing to do, or waiting for a disk.
    pub(super) idle: u64,
}

/// Reads the first line of `/proc/stat`. Guests' time is within that of user and nice already.
pub(super) fn processors(text: &str) -> Option<ProcessorTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, wait, interrupt, soft, rest @ ..] = ticks.as_slice() else { return None };
    Some(ProcessorTicks {
        busy: user + nice + system + interrupt + soft,
        steal: rest.first().copied().unwrap_or(0),
        idle: idle + wait,
    })
}

/// Bytes received and sent by each interface, of `/proc/net/dev`.
pub(super) fn interfaces(text: &str) -> BTreeMap<String, (u64, u64)> {
    let of = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_ascii_whitespace().map(|word| word.parse().ok());
        Some((name.trim().to_owned(), (words.next()??, words.nth(7)??)))
    };
    text.lines().filter_map(of).collect()
}

/// A counter of `/proc/net/snmp` or `netstat`: two lines a protocol, names and numbers.
pub(super) fn protocol(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(": "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|word| word == name)?;
    values.split(' ').nth(at)?.parse().ok()
}

/// Numbers of processors as a list: `0-3,8`.
pub(super) fn list(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|one, next| one + 1 == *next);
    let written = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded: cpu.stat of a v1 group with a quota, of a v2 group with one (Linux 6.8), and of a v2 group beside v1.
    #[test]
    fn processor_time_and_throttling_are_read_of_both_versions() {
        let v1 = "nr_periods 15\nnr_throttled 14\nthrottled_time 872396858\nnr_bursts 0\nburst_time 0\n";
        let v2 = "usage_usec 1021764\nuser_usec 1011206\nsystem_usec 10558\ncore_sched.force_idle_usec 0\nnr_periods 50\n\
                  nr_throttled 49\nthrottled_usec 3896547\nnr_bursts 0\nburst_usec 0\n";
        let beside = "usage_usec 319520\nuser_usec 319520\nsystem_usec 0\nnice_usec 0\n";
        let names = ["usage_usec", "nr_periods", "nr_throttled", "throttled_time", "throttled_usec"];
        let read = |text| names.map(|name| flat(text, name));
        assert_eq!(read(v1), [None, Some(15), Some(14), Some(872_396_858), None]);
        assert_eq!(read(v2), [Some(1_021_764), Some(50), Some(49), None, Some(3_896_547)]);
        assert_eq!(read(beside), [Some(319_520), None, None, None, None]);
        assert_eq!(read("nr_periods\nnr_throttled x\n"), [None; 5]);
    }

    #[test]
    fn memory_events_are_read_of_both_versions() {
        let v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        let v2 = "low 0\nhigh 0\nmax 41\noom 2\noom_kill 2\noom_group_kill 0\n";
        assert_eq!((flat(v1, "oom_kill"), flat(v2, "oom_kill")), (Some(3), Some(2)));
    }

    #[test]
    fn pressure_is_read_with_and_without_full() {
        let both = "some avg10=0.57 avg60=4.51 avg300=29.44 total=6969602389\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
        assert_eq!(pressure(both), Some((6_969_602_389, 17)));
        // Linux 5.4 writes no line `full` for processors.
        assert_eq!(pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"), Some((5, 0)));
        for text in ["", "some", "some total=", "none total=3\n"] {
            assert_eq!(pressure(text), None, "{text}");
        }
    }

    #[test]
    fn input_and_output_are_summed_over_devices() {
        let v2 = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n\
                  8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021\n7:0 \n";
        assert_eq!(io_v2(v2), (91_889_664, 613_781_504));
        let v1 = "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Async 12288\n8:0 Total 12288\n253:0 Read 1\nTotal 12289\n";
        assert_eq!((io_v1(v1), io_v1("Total 0\n")), ((4097, 8192), (0, 0)));
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let text = "12066 (a) R (b c) S 12021 12020 32010 0 -1 4194304 102 0 7 0 100 20 3 4 20 0 9 0 1528837 3133440 390";
        let read = stat(text).unwrap();
        assert_eq!(
            (read.pid, read.state, read.parent, read.group, read.session),
            (12066, 'S', 12021, 12020, 32010)
        );
        assert_eq!((read.major_faults, read.ticks, read.own_ticks, read.threads), (7, 127, 120, 9));
        for text in ["", "12 (x)", "12 (x) S 1 2", "x (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0"] {
            assert_eq!(stat(text), None, "{text}");
        }
    }

    #[test]
    fn memory_and_counts_of_a_process_are_read() {
        let rollup = "55ea525d9000-7fffde5e5000 ---p 00000000 00:00 0    [rollup]\nRss:                1728 kB\n\
                      Pss:                 254 kB\nPss_Dirty:           112 kB\n";
        assert_eq!((kilobytes(rollup, "Rss"), kilobytes(rollup, "Pss")), (Some(1728 << 10), Some(254 << 10)));
        let status = "Name:\tcat\nVmHWM:\t    1716 kB\nThreads:\t1\nvoluntary_ctxt_switches:\t12\n";
        assert_eq!(kilobytes(status, "VmHWM"), Some(1716 << 10));
        assert_eq!((field(status, "Threads"), field(status, "voluntary_ctxt_switches")), (Some(1), Some(12)));
        assert_eq!((kilobytes("Rss: 3\n", "Rss"), field("Threads: x\n", "Threads")), (None, None));
    }

    #[test]
    fn the_machine_is_read() {
        let text = "cpu  1000739 1218740 273544 451071 11068 1 4261 4993 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let read = processors(text).unwrap();
        assert_eq!((read.busy, read.steal, read.idle), (2_497_285, 4993, 462_139));
        // Before Linux 2.6.11 there was no steal.
        assert_eq!(processors("cpu  1 2 3 4 5 6 7\n").unwrap().steal, 0);
        assert_eq!(processors("cpu  1 2 3\n"), None);
    }

    #[test]
    fn the_network_is_read() {
        let text = "Inter-|   Receive       |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n\
                    lo: 664536961 2756878    0    0    0     0          0         0 664536962 2756878    0    0    0     0       0          0\n\
                  eth0:848226457   37102    0    0    0     0          0         0  4385778   28775    0    0    0     0       0          0\n";
        let read = interfaces(text);
        assert_eq!(read.len(), 2);
        assert_eq!((read["lo"], read["eth0"]), ((664_536_961, 664_536_962), (848_226_457, 4_385_778)));
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 2 64\nTcp: RtoAlgorithm MaxConn OutSegs RetransSegs\nTcp: 1 -1 2784354 1186\n";
        assert_eq!(protocol(snmp, "Tcp", "RetransSegs"), Some(1186));
        assert_eq!((protocol(snmp, "Tcp", "MaxConn"), protocol(snmp, "Udp", "X")), (None, None));
    }

    #[test]
    fn lists_of_processors_are_written() {
        for (numbers, text) in
            [(&[1usize][..], "1"), (&[3, 1, 2, 0, 8, 8], "0-3,8"), (&[], ""), (&[0, 2], "0,2")]
        {
            assert_eq!(list(numbers), text);
        }
    }
}
