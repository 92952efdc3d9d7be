//! Where this process stands among control groups: version 2, version 1 with a hierarchy a controller, or both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The directories of this process's own group, by hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::target) struct CgroupLayout {
    /// Of version 1, by controller: `cpu`, `memory`, .... Controllers mounted together have the same one.
    pub(in crate::target) v1: BTreeMap<String, PathBuf>,
    /// Of version 2.
    pub(in crate::target) v2: Option<PathBuf>,
}

impl CgroupLayout {
    /// Reads that of this process. Empty where there are no control groups.
    pub(in crate::target) fn read() -> io::Result<CgroupLayout> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        Ok(CgroupLayout::of(&groups, &mounts))
    }

    /// Reads that of another process, in our mounts. Empty where it has ended.
    pub(in crate::target) fn of_process(pid: u32) -> io::Result<CgroupLayout> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        Ok(CgroupLayout::of(&groups, &mounts))
    }

    /// Joins the texts of `/proc/PID/cgroup` and `/proc/PID/mountinfo`.
    pub(in crate::target) fn of(groups: &str, mounts: &str) -> CgroupLayout {
        let mounts: Vec<CgroupMount> = mounts.lines().filter_map(CgroupMount::read).collect();
        let mut layout = CgroupLayout::default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if number == "0" && controllers.is_empty() {
                layout.v2 = mounts.iter().filter(|mount| mount.is_v2).find_map(|mount| mount.directory(path));
                continue;
            }
            // Hierarchies with a name, such as systemd's, limit nothing.
            for controller in
                controllers.split(',').filter(|name| !name.is_empty() && !name.starts_with("name="))
            {
                let of_it = |mount: &&CgroupMount| {
                    !mount.is_v2 && mount.options.iter().any(|option| option == controller)
                };
                let found = mounts.iter().filter(of_it).find_map(|mount| mount.directory(path));
                if let Some(directory) = found {
                    layout.v1.insert(controller.to_owned(), directory);
                }
            }
        }
        layout
    }
}

/// One mount of control groups.
struct CgroupMount {
    /// Which group of the hierarchy is its root.
    root: PathBuf,
    point: PathBuf,
    is_v2: bool,
    /// Controllers are among them in version 1.
    options: Vec<String>,
}

impl CgroupMount {
    /// Reads a line of `mountinfo`; `None` of mounts that are no control groups.
    fn read(line: &str) -> Option<CgroupMount> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_v2 = match kind.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let options = kind.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
        let mut words = mount.split(' ').skip(3);
        Some(CgroupMount { root: path_of(words.next()?), point: path_of(words.next()?), is_v2, options })
    }

    /// The directory of a group; `None` of one outside of this mount (`/..`, as in a container's view of its host).
    fn directory(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(&self.root).ok()?;
        if below.components().any(|part| part == std::path::Component::ParentDir) {
            return None;
        }
        // An empty end would leave a slash behind the mount point.
        Some(if below.as_os_str().is_empty() { self.point.clone() } else { self.point.join(below) })
    }
}

/// A path of `mountinfo`, where blanks are written `\040`.
fn path_of(word: &str) -> PathBuf {
    let mut path = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('\\') {
        path.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        rest = match code {
            Some(code) if code.is_ascii() => {
                path.push(char::from(code));
                after.get(3..).unwrap_or_default()
            }
            _ => {
                path.push('\\');
                after
            }
        };
    }
    path.push_str(rest);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(groups: &str, mounts: &str) -> Vec<String> {
        let layout = CgroupLayout::of(groups, mounts);
        let mut all: Vec<String> =
            layout.v1.iter().map(|(name, path)| format!("{name} {}", path.display())).collect();
        all.extend(layout.v2.iter().map(|path| format!("v2 {}", path.display())));
        all
    }

    /// A desktop with systemd, Linux 6.8.
    #[test]
    fn version_2_alone() {
        let groups = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte.scope\n";
        let mounts = "24 30 0:22 / /proc rw,nosuid - proc proc rw\n\
                      35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let path = "v2 /sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/vte.scope";
        assert_eq!(shown(groups, mounts), [path]);
    }

    /// Each controller mounted apart, and version 2 beside them without any; the memory controller alone has a group.
    #[test]
    fn mixed() {
        let groups =
            "9:name=systemd:/\n8:pids:/\n4:memory:/jobs/948\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n";
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                      33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let wanted = [
            "cpu /sys/fs/cgroup/cpu",
            "cpuacct /sys/fs/cgroup/cpuacct",
            "memory /sys/fs/cgroup/memory/jobs/948",
            "v2 /sys/fs/cgroup/unified",
        ];
        assert_eq!(shown(groups, mounts), wanted);
    }

    /// Docker on version 1: the mount's root is the container's group, and cpu and cpuacct are mounted together.
    #[test]
    fn version_1_in_a_container() {
        let groups = "5:cpu,cpuacct:/docker/3f2a\n4:memory:/docker/3f2a\n1:name=systemd:/docker/3f2a\n";
        let mounts = "700 690 0:27 /docker/3f2a /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct\n\
                      701 690 0:31 /docker/3f2a /sys/fs/cgroup/memory ro,nosuid master:15 - cgroup cgroup rw,memory\n";
        let wanted = [
            "cpu /sys/fs/cgroup/cpu,cpuacct",
            "cpuacct /sys/fs/cgroup/cpu,cpuacct",
            "memory /sys/fs/cgroup/memory",
        ];
        assert_eq!(shown(groups, mounts), wanted);
    }

    #[test]
    fn groups_outside_of_the_mount_are_not_there() {
        let mounts = "35 24 0:30 /docker/3f2a /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert!(shown("0::/docker/other\n", mounts).is_empty());
        let mounts = "35 24 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert!(shown("0::/../other\n", mounts).is_empty());
    }

    #[test]
    fn odd_lines_and_blanks_in_paths() {
        let mounts = "garbage\n35 24 0:30 / /mnt/with\\040blank rw - cgroup2 cgroup rw\n";
        assert_eq!(shown("x\n0::/a b\n\n", mounts), ["v2 /mnt/with blank/a b"]);
        assert!(shown("", "").is_empty());
        assert_eq!(path_of("a\\b\\777\\04"), PathBuf::from("a\\b\\777\\04"));
    }
}
