//! Nodes that are containers: the program `docker` or `podman` starts them.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use super::bytes::Bytes;
use super::launch::find;
use super::limits::AppliedLimits;
use super::spec::{NodeLimits, TargetSpec};
use super::text;

/// The program that starts containers.
///
/// # Errors
/// There is none, or none that answers.
pub(super) fn engine() -> Result<&'static str, String> {
    let path = env::var("PATH").unwrap_or_default();
    let mut problems = Vec::new();
    for program in ["docker", "podman"] {
        if find(program, &path).is_err() {
            problems.push(format!("`{program}` is not on the PATH"));
            continue;
        }
        // `info` asks the daemon, where there is one; `version` of docker alone would not.
        match output(program, &["info"]) {
            Ok(_) => return Ok(program),
            Err(problem) => problems.push(format!("`{program}` does not work here: {problem}")),
        }
    }
    Err(format!("an image needs `docker` or `podman`: {}", problems.join("; ")))
}

fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(format!("{} ({})", last.trim(), output.status))
}

/// The arguments that run a container in the foreground; arguments of the image follow.
pub(super) fn arguments(spec: &TargetSpec, image: &str, name: &str, port: u16, data: &Path) -> Vec<String> {
    let mut words: Vec<String> = ["run", "--rm", "--init", "--name", name].map(str::to_owned).to_vec();
    let mut flag = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    flag("--publish", format!("{}:{port}:{}", spec.host, spec.image_port));
    flag("--volume", format!("{}:{}", data.display(), data.display()));
    // Without `=` the value comes from the environment of the program, where no list of processes shows it.
    spec.env.keys().for_each(|key| flag("--env", key.clone()));
    for (name, value) in limit_flags(&spec.limits) {
        flag(name, value);
    }
    words.push(image.to_owned());
    words
}

fn limit_flags(limits: &NodeLimits) -> Vec<(&'static str, String)> {
    let mut flags = Vec::new();
    if let Some(cpus) = limits.cpus {
        let period_us = limits.cpu_period_ms.unwrap_or(100) * 1000;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: at most 10,000 cores and a second"
        )]
        let quota_us = (cpus * period_us as f64).round() as u64;
        flags.push(("--cpu-period", period_us.to_string()));
        flags.push(("--cpu-quota", quota_us.to_string()));
    }
    if !limits.cores.is_empty() {
        flags.push(("--cpuset-cpus", text::list(&limits.cores)));
    }
    if let Some(memory) = limits.memory {
        flags.push(("--memory", memory.0.to_string()));
        if let Some(swap) = limits.swap {
            flags.push(("--memory-swap", memory.0.saturating_add(swap.0).to_string()));
        }
    }
    flags.extend(limits.pids.map(|pids| ("--pids-limit", pids.to_string())));
    flags.extend(limits.files.map(|files| ("--ulimit", format!("nofile={files}:{files}"))));
    flags
}

/// What was asked of the engine.
pub(super) fn applied(program: &str, limits: &NodeLimits) -> AppliedLimits {
    let in_force = limit_flags(limits).into_iter().map(|(flag, value)| format!("{flag} {value} ({program})"));
    let machine = super::cores::allowed().len();
    let machine = u32::try_from(machine).map_or(1.0, f64::from);
    let cores = if limits.cores.is_empty() {
        machine
    } else {
        u32::try_from(limits.cores.len()).map_or(1.0, f64::from)
    };
    AppliedLimits {
        in_force: in_force.collect(),
        missing: Vec::new(),
        cores: limits.cpus.map_or(cores, |cpus| cpus.min(cores)),
        memory_bytes: limits.memory.map(|Bytes(bytes)| bytes),
    }
}

/// The first process of a container, as this machine numbers it; `None` where that cannot be seen, as with containers that run
/// in a virtual machine.
pub(super) fn process(program: &str, name: &str) -> Option<u32> {
    let pid = output(program, &["inspect", "--format", "{{.State.Pid}}", name]).ok()?;
    pid.parse().ok().filter(|pid| super::processes::is_running(*pid))
}

/// Removes a container, if it is still there.
pub(super) fn remove(program: &str, name: &str) {
    let _ = output(program, &["rm", "--force", name]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_its_limits_and_no_secret_on_the_command_line() {
        let limits = NodeLimits {
            cpus: Some(0.4),
            cores: vec![1, 0],
            memory: Some(Bytes(64 << 20)),
            swap: Some(Bytes(0)),
            pids: Some(50),
            files: Some(1024),
            ..NodeLimits::default()
        };
        let env = [("PASSWORD".to_owned(), "${env.SECRET}".to_owned())].into();
        let spec =
            TargetSpec { limits, env, image_port: 8080, host: "10.0.0.1".into(), ..TargetSpec::default() };
        let words = arguments(&spec, "nginx:1", "durward-lab-1", 40001, Path::new("/tmp/d"));
        let wanted = "run --rm --init --name durward-lab-1 --publish 10.0.0.1:40001:8080 --volume /tmp/d:/tmp/d \
                      --env PASSWORD --cpu-period 100000 --cpu-quota 40000 --cpuset-cpus 0-1 --memory 67108864 \
                      --memory-swap 67108864 --pids-limit 50 --ulimit nofile=1024:1024 nginx:1";
        assert_eq!(words.join(" "), wanted);
        let applied = applied("podman", &spec.limits);
        assert_eq!((applied.cores, applied.memory_bytes), (0.4, Some(64 << 20)));
        assert!(applied.in_force.contains(&"--cpu-quota 40000 (podman)".to_owned()), "{applied:?}");
    }
}
