//! A fresh machine: a base that stays as it is, a folder above it that takes what is written, and no network but its own loopback.

use crate::bare::base::Base;
use crate::process::output_of;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is run before each command, outside: `$1` lower layers, `$2` the folder of the machine, `$3` packages, `$4` a Java or nothing, then
/// the command. Packages are at `/mnt`, the Java at `/srv`; what is written to `/tmp` is gone afterwards.
const ENTER: &str = r#"
set -e
root="$2/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$3" "$root/mnt"
mount -o remount,bind,ro "$root/mnt"
if [ -n "$4" ]; then mount --bind "$4" "$root/srv"; mount -o remount,bind,ro "$root/srv"; fi
ip link set lo up
shift 4
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 chroot "$root" "$@"
"#;

/// One of them; what was written is on the disk until the next one is made.
pub(crate) struct Machine {
    folder: PathBuf,
    layers: String,
    packages: PathBuf,
    java: PathBuf,
    shell: Option<&'static str>,
}

impl Machine {
    pub(crate) fn fresh(
        base: &Base,
        packages: &Path,
        java: Option<&Path>,
        folder: &Path,
    ) -> Result<Machine, String> {
        empty(folder)?;
        for name in ["root", "changes", "work"] {
            empty(&folder.join(name))?;
        }
        let layers: Vec<String> = base.layers().iter().map(|layer| layer.display().to_string()).collect();
        Ok(Machine {
            folder: folder.to_path_buf(),
            layers: layers.join(":"),
            packages: packages.to_path_buf(),
            java: java.unwrap_or(Path::new("")).to_path_buf(),
            shell: base.shell(),
        })
    }

    /// Where all lies that was written there.
    pub(crate) fn changes(&self) -> PathBuf {
        self.folder.join("changes")
    }

    /// Runs a script of its shell; where there is none, each line is a program and its words.
    ///
    /// # Errors
    /// It fails; with what it wrote.
    pub(crate) fn run(&self, script: &str) -> Result<String, String> {
        match self.shell {
            Some(shell) => output_of(self.enter().args([shell, "-euc", script])),
            None => script.lines().map(|line| output_of(self.enter().args(line.split(' ')))).collect(),
        }
    }

    fn enter(&self) -> Command {
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--net",
            "--pid",
            "--ipc",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            ENTER,
            "enter",
        ]);
        command.arg(&self.layers).arg(&self.folder).arg(&self.packages).arg(&self.java);
        command
    }
}

/// A folder with nothing in it.
///
/// # Errors
/// It cannot be removed or made.
pub(crate) fn empty(folder: &Path) -> Result<(), String> {
    let emptied = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    emptied.map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))
}
