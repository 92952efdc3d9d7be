//! A small process that removes what is left when this one ends without having stopped its target: by Ctrl-C, by SIGKILL.
//!
//! It is a shell that reads from a pipe what there is to remove. The pipe's end means that this process is gone.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Lines are `group PID`, `cgroup PATH`, `tree PATH`, `container PROGRAM NAME`; `done` means that nothing is left. Groups get SIGTERM, then SIGKILL.
/// (`kill -TERM -- -1` means nothing to dash: hence `-s`.) Whatever is still in a control group gets SIGKILL. A path is removed only if its last part is one that this crate gives.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
set -f
groups= cgroups= trees= containers=
IFS='
'
while IFS=' ' read -r kind what; do
  case $kind in
    group) groups="$groups$what
" ;;
    cgroup) cgroups="$cgroups$what
" ;;
    tree) trees="$trees$what
" ;;
    container) containers="$containers$what
" ;;
    done) exit 0 ;;
  esac
done
for g in $groups; do kill -s TERM -- "-$g" 2>/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do
  left=
  for g in $groups; do kill -s 0 -- "-$g" 2>/dev/null && left=1; done
  [ "$left" ] || break
  sleep 0.1
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do
  left=
  for c in $cgroups; do
    [ -d "$c" ] || continue
    while read -r p; do kill -s KILL "$p" 2>/dev/null; done < "$c/cgroup.procs"
    rmdir "$c" 2>/dev/null || left=1
  done
  [ "$left" ] || break
  sleep 0.1
done
for c in $containers; do "${c%% *}" rm -f "${c#* }" >/dev/null 2>&1; done
for t in $trees; do case ${t##*/} in durward-lab-*) rm -rf -- "$t" ;; esac; done
"#;

/// The keeper of one target.
#[derive(Debug)]
pub(super) struct Keeper {
    child: Mutex<(Child, Option<ChildStdin>)>,
}

impl Keeper {
    /// # Errors
    /// There is no `sh`, as text.
    pub(super) fn start() -> Result<Keeper, String> {
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "durward-lab-keeper"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // Ctrl-C in a terminal goes to all of the foreground group: not to it.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("`sh` cannot be started: {error}"))?;
        let stdin = child.stdin.take();
        Ok(Keeper { child: Mutex::new((child, stdin)) })
    }

    /// A process that leads a group, which must not outlive us.
    pub(super) fn process_group(&self, pid: u32) {
        self.tell(&format!("group {pid}\n"));
    }

    /// A control group to be removed.
    pub(super) fn cgroup(&self, path: &Path) {
        self.tell(&format!("cgroup {}\n", path.display()));
    }

    /// A directory to be removed with all that is in it.
    pub(super) fn tree(&self, path: &Path) {
        self.tell(&format!("tree {}\n", path.display()));
    }

    /// A container to be removed, by the program that started it.
    pub(super) fn container(&self, program: &str, name: &str) {
        self.tell(&format!("container {program} {name}\n"));
    }

    fn tell(&self, line: &str) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stdin) = &mut child.1 {
            // It cannot be told where somebody has killed it: then stopping alone cleans up.
            let _ = stdin.write_all(line.as_bytes());
        }
    }
}

/// All is stopped and removed: it has nothing to do.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.tell("done\n");
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.1 = None;
        let _ = child.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The pipe ends, as it does when this process is killed: without control groups, all depends on process groups.
    #[test]
    fn what_a_killed_process_leaves_is_removed() {
        let tree = std::env::temp_dir().join(format!("durward-lab-keeper-{} x", std::process::id()));
        fs::create_dir_all(tree.join("node 1")).unwrap();
        let other = std::env::temp_dir().join(format!("not-the-lab-{}", std::process::id()));
        fs::create_dir_all(&other).unwrap();
        let start = |script: &str| Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        // One that ends when it is asked to, with what it started, and one that has to be killed.
        let mut nodes = [start("sleep 1000 & sleep 1000"), start("trap '' TERM; sleep 1000; sleep 1000")];
        let keeper = Keeper::start().unwrap();
        nodes.iter().for_each(|node| keeper.process_group(node.id()));
        keeper.tree(&tree);
        keeper.tree(&other);
        {
            let mut child = keeper.child.lock().unwrap();
            child.1 = None;
            assert!(child.0.wait().unwrap().success());
        }
        for node in &mut nodes {
            assert!(!node.wait().unwrap().success());
        }
        // A directory that is not the lab's is not touched, whatever was said.
        assert_eq!((tree.exists(), other.exists()), (false, true));
        fs::remove_dir(&other).unwrap();
    }

    #[test]
    fn nothing_is_touched_when_all_was_stopped() {
        let tree = std::env::temp_dir().join(format!("durward-lab-kept-{}", std::process::id()));
        fs::create_dir_all(&tree).unwrap();
        let keeper = Keeper::start().unwrap();
        keeper.tree(&tree);
        drop(keeper);
        assert!(tree.exists());
        fs::remove_dir(&tree).unwrap();
    }
}
