//! One process of a target: started in its own directory, group and log; looked after; stopped with all that it started.
//!
//! It begins as a shell that waits for a line. Meanwhile it is put into its control group and under its limits; then it becomes
//! the program (`exec`), which so never runs without them.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::bytes::Bytes;
use super::cgroup::{Cgroup, CgroupParent, Controller};
use super::error::TargetError;
use super::keeper::Keeper;
use super::limits::{AppliedLimits, apply};
use super::processes::{self, NodeProcess};
use super::spec::NodeLimits;
use super::text;
use super::words::HiddenValues;

/// What waits, and then is the program. It reads its line byte by byte, as POSIX wants it of a pipe, and takes nothing else.
const WAIT: &str = "read -r go && exec \"$@\" </dev/null";
/// By this in its environment a process is known that left its process group and has no control group.
pub(super) const MARK: &str = "DURWARD_LAB_NODE";
/// So many lines of a log are told.
const LOG_LINES: usize = 10;
/// They are looked for in so many bytes from its end.
const LOG_BYTES: u64 = 8 * 1024;

/// What is started.
pub(super) struct LaunchOrder<'o> {
    /// `node 2`, or a part's name: for people.
    pub(super) what: String,
    /// The name of its control group and directory: `durward-lab-77-1-node-2`.
    pub(super) name: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) directory: PathBuf,
    pub(super) log: PathBuf,
    pub(super) limits: &'o NodeLimits,
    /// Which of the nodes it is, from 0.
    pub(super) number: usize,
    pub(super) secrets: HiddenValues,
}

/// A process of a target, with those that it started.
#[derive(Debug)]
pub(super) struct TargetProcess {
    pub(super) what: String,
    pub(super) applied: AppliedLimits,
    pub(super) member: Arc<NodeProcess>,
    child: Mutex<StopSignal>,
    log: PathBuf,
    /// Where its own lines begin: a log that is kept may have those of earlier ones.
    log_begin: u64,
    secrets: HiddenValues,
    mark: String,
    is_removed: AtomicBool,
}

#[derive(Debug)]
struct StopSignal {
    child: Child,
    status: Option<ExitStatus>,
}

impl TargetProcess {
    /// Starts it; it is under its limits from its first instruction.
    pub(super) fn start(
        order: LaunchOrder<'_>,
        parent: &CgroupParent,
        keeper: &Keeper,
    ) -> Result<TargetProcess, TargetError> {
        let failed = |problem: String| TargetError::Start {
            what: order.what.clone(),
            problem: order.secrets.hide(&problem),
        };
        let path = order.env.get("PATH").cloned().or_else(|| env::var("PATH").ok()).unwrap_or_default();
        let program = find(&order.program, &path).map_err(&failed)?;
        let needs_cpuset = !order.limits.cores.is_empty();
        let group = Cgroup::make(parent, &order.name, needs_cpuset);
        group.paths().iter().for_each(|path| keeper.cgroup(path));
        let log = fs::OpenOptions::new().create(true).append(true).open(&order.log);
        let logs = log.and_then(|log| Ok((log.metadata()?.len(), log.try_clone()?, log)));
        let (log_begin, out, error) =
            logs.map_err(|error| failed(format!("its log {}: {error}", order.log.display())))?;
        let spawned = Command::new("sh")
            .args(["-c", WAIT, "sh"])
            .arg(program)
            .args(&order.arguments)
            .envs(&order.env)
            .env(MARK, &order.name)
            .current_dir(&order.directory)
            .stdin(Stdio::piped())
            .stdout(out)
            .stderr(error)
            .process_group(0)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                group.remove();
                return Err(failed(format!("`sh` cannot be started: {error}")));
            }
        };
        let pid = child.id();
        keeper.process_group(pid);
        let applied = apply(order.limits, &group, pid, order.number);
        let go = child.stdin.take();
        let member = Arc::new(NodeProcess::of_group(pid, group, &applied));
        let process = TargetProcess {
            what: order.what,
            applied,
            member,
            child: Mutex::new(StopSignal { child, status: None }),
            log: order.log,
            log_begin,
            secrets: order.secrets,
            mark: order.name,
            is_removed: AtomicBool::new(false),
        };
        // It cannot read if it has been killed already: `check` says so.
        let _ = go.map(|mut go| go.write_all(b"go\n"));
        Ok(process)
    }

    /// How it ended; `None` while it runs.
    fn status(&self) -> Option<ExitStatus> {
        let mut ending = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.status.is_none() {
            ending.status = ending.child.try_wait().ok().flatten();
        }
        ending.status
    }

    /// Whether it runs: itself, or, after it ended well, what it left to run in the background.
    pub(super) fn check(&self) -> Result<(), TargetError> {
        match self.status() {
            None => Ok(()),
            Some(status) if status.success() && !self.left().is_empty() => Ok(()),
            Some(status) => Err(self.died(status)),
        }
    }

    /// Whether it has ended, and well: for commands that end by themselves.
    pub(super) fn finished(&self) -> Result<bool, TargetError> {
        match self.status() {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => Err(self.died(status)),
        }
    }

    fn died(&self, status: ExitStatus) -> TargetError {
        let mut how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("status {code}"),
            (None, Some(signal)) => format!("signal {signal}{}", signal_name(signal)),
            (None, None) => "for an unknown reason".to_owned(),
        };
        if let Some(kills) = self.oom_kills().filter(|kills| *kills > 0) {
            let limit = self.applied.memory_bytes.map(|bytes| format!("; its limit is {}", Bytes(bytes)));
            let killed = if kills == 1 { "a process".to_owned() } else { format!("{kills} processes") };
            how.push_str(&format!(
                ": the kernel killed {killed} of it, out of memory{}",
                limit.unwrap_or_default()
            ));
        }
        TargetError::Died { what: self.what.clone(), how, log: self.last_lines() }
    }

    /// How many of its processes the kernel killed for memory; `None` where that cannot be seen.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        self.member.oom_kills()
    }

    /// The last lines of its log, without secrets.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut log = fs::File::open(&self.log)?;
            let length = log.metadata()?.len();
            log.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES).max(self.log_begin)))?;
            let mut bytes = Vec::new();
            log.take(LOG_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        let text = self.secrets.hide(&String::from_utf8_lossy(&bytes));
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.iter().skip(lines.len().saturating_sub(LOG_LINES)).map(|line| (*line).to_owned()).collect()
    }

    /// The first line of its log that says anything, without secrets.
    pub(super) fn first_line(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let first = log.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        self.secrets.hide(first.trim())
    }

    /// Its processes that still run.
    pub(super) fn left(&self) -> Vec<u32> {
        // Reaps it, if it has ended.
        let _ = self.status();
        let mut left = self.member.pids();
        if !self.member.group.holds_processes() {
            left.extend(processes::marked(MARK, &self.mark));
        }
        left.retain(|pid| processes::is_running(*pid));
        left.sort_unstable();
        left.dedup();
        left
    }

    /// Asks it, or makes it, and all that it started, to end.
    pub(super) fn signal(&self, signal: Signal) {
        let ended = self.status().is_some();
        // Once its leader is reaped, a group's number may be given anew; while members are left it is not.
        let left = self.left();
        if let Some(pid) = pid_of(self.member.pid).filter(|_| !ended || self.has_group(&left)) {
            let _ = kill_process_group(pid, signal);
        }
        for pid in left.into_iter().filter_map(pid_of) {
            let _ = kill_process(pid, signal);
        }
    }

    fn has_group(&self, left: &[u32]) -> bool {
        let is_in = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
            stat.and_then(|stat| text::stat(&stat)).is_some_and(|stat| stat.group == self.member.pid)
        };
        left.iter().any(is_in)
    }

    /// Removes its control group, once nothing is left in it.
    pub(super) fn remove_group(&self) {
        // What cannot be removed has a process in it that cannot be killed: the keeper tries again, no more can be done.
        let _ = self.member.group.remove();
        self.is_removed.store(true, Ordering::Relaxed);
    }
}

/// A started process that nobody stopped.
impl Drop for TargetProcess {
    fn drop(&mut self) {
        if !self.is_removed.load(Ordering::Relaxed) {
            super::stop::stop(&[self], std::time::Duration::ZERO);
        }
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}

/// The file of a program: as it is written if it has a slash, seen from where durward was started; else by `PATH`.
pub(super) fn find(program: &str, path: &str) -> Result<PathBuf, String> {
    let is_file = |path: &Path| path.metadata().is_ok_and(|file| file.is_file());
    if program.contains('/') {
        // Links are not followed: some programs do what they are called.
        let file =
            std::path::absolute(program).map_err(|error| format!("the program `{program}`: {error}"))?;
        return if is_file(&file) {
            Ok(file)
        } else {
            Err(format!("the program `{}` is no file", file.display()))
        };
    }
    let found = env::split_paths(path).map(|directory| directory.join(program)).find(|file| is_file(file));
    found.ok_or_else(|| format!("there is no program `{program}` on the PATH"))
}

impl NodeProcess {
    /// How many of its processes the kernel killed for memory.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        let events = self.group.read(Controller::Memory, "memory.events");
        let events = events.or_else(|| self.group.read(Controller::Memory, "memory.oom_control"))?;
        text::flat(&events, "oom_kill")
    }
}
