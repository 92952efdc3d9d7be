//! The group of one node: its directories in all hierarchies.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::parent::{make, write};
use super::{CgroupLayout, CgroupParent, Controller};
use crate::target::MachineError;

/// A group whose processes were killed is free a moment later.
const REMOVE_WITHIN: Duration = Duration::from_secs(2);

/// Of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum CgroupVersion {
    One,
    Two,
}

/// A group of a node's own; or one that somebody else made, such as a container's, which is only read.
#[derive(Debug, Default)]
pub(in crate::target) struct Cgroup {
    /// Where a controller's files are, or why there are none.
    files: BTreeMap<Controller, Result<(CgroupVersion, PathBuf), MachineError>>,
    /// Its directory of version 2, which has pressure and processor time without any controller.
    unified: Option<PathBuf>,
    /// All directories, each once, those that this made: empty for a group of somebody else.
    made: Vec<PathBuf>,
    /// Those that the node's first process could not enter, since when their figures are not the node's.
    closed: Mutex<Vec<PathBuf>>,
}

impl Cgroup {
    /// Makes one below the own group of this process. Where that does not work, it has reasons in place of files.
    pub(in crate::target) fn make(parent: &CgroupParent, name: &str, needs_cpuset: bool) -> Cgroup {
        let mut group = Cgroup::default();
        for controller in Controller::ALL {
            // A set of processors must be filled before anything can enter the group.
            if controller == Controller::Cpuset && !needs_cpuset {
                continue;
            }
            let files = parent.own(controller).and_then(|(version, own)| {
                let path = own.join(name);
                group.directory(&path).map(|()| (version, path))
            });
            group.files.insert(controller, files);
        }
        if let Some(own) = &parent.layout.v2 {
            let path = own.join(name);
            group.unified = group.directory(&path).is_ok().then_some(path);
        }
        group
    }

    /// The group in which a process stands: figures only.
    pub(in crate::target) fn of_process(pid: u32) -> Option<Cgroup> {
        CgroupLayout::of_process(pid).ok().map(Cgroup::existing)
    }

    fn existing(layout: CgroupLayout) -> Cgroup {
        let mut group = Cgroup::default();
        for controller in Controller::ALL {
            let one = layout
                .v1
                .get(controller.name(CgroupVersion::One))
                .map(|path| (CgroupVersion::One, path.clone()));
            let two = || layout.v2.as_ref().map(|path| (CgroupVersion::Two, path.clone()));
            let files = one.or_else(two).ok_or_else(|| MachineError::new("there is no such controller"));
            group.files.insert(controller, files);
        }
        group.unified = layout.v2;
        group
    }

    fn directory(&mut self, path: &Path) -> Result<(), MachineError> {
        if self.made.iter().any(|made| made == path) {
            return Ok(());
        }
        make(path)?;
        self.made.push(path.to_owned());
        Ok(())
    }

    /// Its directories.
    pub(in crate::target) fn paths(&self) -> &[PathBuf] {
        &self.made
    }

    /// Which version has a controller's files, or why there are none.
    pub(in crate::target) fn version(&self, controller: Controller) -> Result<CgroupVersion, MachineError> {
        self.place(controller).map(|(version, _)| version)
    }

    fn place(&self, controller: Controller) -> Result<(CgroupVersion, &Path), MachineError> {
        match self.files.get(&controller) {
            Some(Ok((version, path))) if self.is_entered(path) => Ok((*version, path)),
            Some(Ok((_, path))) => Err(MachineError::new(format!("{} cannot be entered", path.display()))),
            Some(Err(because)) => Err(because.clone()),
            None => Err(MachineError::new("no group was made for it")),
        }
    }

    fn is_entered(&self, path: &Path) -> bool {
        !self.closed.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|closed| closed == path)
    }

    /// Writes a file of a controller.
    pub(in crate::target) fn set(
        &self,
        controller: Controller,
        file: &str,
        value: &str,
    ) -> Result<(), MachineError> {
        let path = self.place(controller)?.1.join(file);
        write(&path, value).map_err(|error| {
            MachineError::new(format!("{} does not take `{value}`: {error}", path.display()))
        })
    }

    /// The text of a controller's file; `None` where there is none.
    pub(in crate::target) fn read(&self, controller: Controller, file: &str) -> Option<String> {
        fs::read_to_string(self.place(controller).ok()?.1.join(file)).ok()
    }

    /// The number in a controller's file: `max` and other texts are `None`.
    pub(in crate::target) fn number(&self, controller: Controller, file: &str) -> Option<u64> {
        self.read(controller, file)?.trim().parse().ok()
    }

    /// The text of a file of version 2 that needs no controller.
    pub(in crate::target) fn unified(&self, file: &str) -> Option<String> {
        let path = self.unified.as_ref().filter(|path| self.is_entered(path))?;
        fs::read_to_string(path.join(file)).ok()
    }

    /// What the group above has in a file of this controller.
    pub(in crate::target) fn above(&self, controller: Controller, file: &str) -> Option<String> {
        fs::read_to_string(self.place(controller).ok()?.1.parent()?.join(file)).ok()
    }

    /// Moves a process into it. Directories that do not take it are out of use from now on.
    pub(in crate::target) fn enter(&self, pid: u32) {
        for path in &self.made {
            if write(&path.join("cgroup.procs"), &pid.to_string()).is_err() {
                self.closed.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
            }
        }
    }

    /// Whether a process that entered is in any of its directories, so that [`Cgroup::members`] tells all.
    pub(in crate::target) fn holds_processes(&self) -> bool {
        self.made.iter().any(|path| self.is_entered(path))
    }

    /// The processes in it and below it.
    pub(in crate::target) fn members(&self) -> Vec<u32> {
        // Whatever starts in it is in the same group of each hierarchy.
        let Some(path) = self.made.iter().find(|path| self.is_entered(path)) else { return Vec::new() };
        let mut members = Vec::new();
        for directory in tree(path) {
            let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            members.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        members
    }

    /// Removes it; its processes have ended. What could not be removed is returned.
    pub(in crate::target) fn remove(&self) -> Vec<String> {
        let begun = Instant::now();
        let mut left = Vec::new();
        for path in self.made.iter().flat_map(|path| tree(path).into_iter().rev()) {
            loop {
                match fs::remove_dir(&path) {
                    Err(error)
                        if error.kind() == ErrorKind::ResourceBusy && begun.elapsed() < REMOVE_WITHIN =>
                    {
                        thread::sleep(Duration::from_millis(5));
                    }
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        left.push(format!("{}: {error}", path.display()));
                        break;
                    }
                    Ok(()) | Err(_) => break,
                }
            }
        }
        left
    }
}

/// A directory and all below it, each before those in it.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    let mut at = 0;
    while let Some(directory) = all.get(at) {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
        all.extend(below);
        at += 1;
    }
    all
}
