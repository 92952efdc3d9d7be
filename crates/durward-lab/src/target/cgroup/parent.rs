//! This process's own group, made ready for groups below it.
//!
//! In version 2 a group that has processes cannot give controllers to groups below it (but for the root of all). If only this
//! process is in it, as in `systemd-run --user --scope -p Delegate=yes`, it moves itself into a leaf for as long as it needs.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{fs, io, process};

use super::{CgroupLayout, CgroupVersion, Controller};
use crate::target::MachineError;

static SHARED: Mutex<Weak<CgroupParent>> = Mutex::new(Weak::new());

/// Where groups of nodes are made. What it changed is put back when it is dropped, after the groups below it.
#[derive(Debug, Default)]
pub(in crate::target) struct CgroupParent {
    pub(super) layout: CgroupLayout,
    /// Why a controller cannot be had.
    pub(super) refused: BTreeMap<Controller, MachineError>,
    /// Controllers that were given to groups below by this.
    enabled: Vec<&'static str>,
    /// The leaf into which this process moved.
    leaf: Option<PathBuf>,
}

impl CgroupParent {
    /// That of this process: one for all targets that run at the same time, since each takes back what it gave.
    pub(in crate::target) fn shared() -> Arc<CgroupParent> {
        let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let parent = Arc::new(CgroupParent::of_this_process());
            *known = Arc::downgrade(&parent);
            parent
        })
    }

    fn of_this_process() -> CgroupParent {
        match CgroupLayout::read() {
            Ok(layout) => CgroupParent::of(layout, process::id()),
            Err(error) => CgroupParent::refusing(&format!("/proc does not tell the control groups: {error}")),
        }
    }

    /// One below which no group can be made.
    fn refusing(because: &str) -> CgroupParent {
        let mut parent = CgroupParent::default();
        parent.refused =
            Controller::ALL.into_iter().map(|controller| (controller, MachineError::new(because))).collect();
        parent
    }

    /// That of a process which stands at this place.
    pub(super) fn of(layout: CgroupLayout, pid: u32) -> CgroupParent {
        if layout == CgroupLayout::default() {
            return CgroupParent::refusing("no control groups are mounted");
        }
        let mut parent = CgroupParent::default();
        parent.layout = layout;
        if let Some(own) = parent.layout.v2.clone() {
            let offered = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
            for controller in Controller::ALL {
                let name = controller.name(CgroupVersion::Two);
                if !offered.split_ascii_whitespace().any(|offer| offer == name) {
                    continue;
                }
                if let Err(because) = parent.enable(&own, name, pid) {
                    parent.refused.insert(controller, because);
                }
            }
        }
        parent
    }

    /// The directory of this process's own group in the hierarchy that has the controller.
    pub(super) fn own(&self, controller: Controller) -> Result<(CgroupVersion, PathBuf), MachineError> {
        if let Some(path) = self.layout.v1.get(controller.name(CgroupVersion::One)) {
            return Ok((CgroupVersion::One, path.clone()));
        }
        if let Some(because) = self.refused.get(&controller) {
            return Err(because.clone());
        }
        let missing = || {
            let name = controller.name(CgroupVersion::Two);
            MachineError::new(format!("there is no control group with the controller `{name}`"))
        };
        let own = self.layout.v2.as_ref().ok_or_else(missing)?;
        let given = fs::read_to_string(own.join("cgroup.subtree_control")).unwrap_or_default();
        let name = controller.name(CgroupVersion::Two);
        let is_given = given.split_ascii_whitespace().any(|word| word == name);
        if is_given { Ok((CgroupVersion::Two, own.clone())) } else { Err(missing()) }
    }

    fn enable(&mut self, own: &Path, name: &'static str, pid: u32) -> Result<(), MachineError> {
        let control = own.join("cgroup.subtree_control");
        let given = fs::read_to_string(&control).unwrap_or_default();
        if given.split_ascii_whitespace().any(|word| word == name) {
            return Ok(());
        }
        let switch = || write(&control, &format!("+{name}"));
        let switched = match switch() {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && self.leaf.is_none() => {
                self.move_into_leaf(own, pid)?;
                switch()
            }
            other => other,
        };
        switched.map_err(|error| {
            MachineError::new(format!("{} cannot be written: {error}", control.display()))
        })?;
        self.enabled.push(name);
        Ok(())
    }

    fn move_into_leaf(&mut self, own: &Path, pid: u32) -> Result<(), MachineError> {
        let members = fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
        let others = members.lines().filter(|member| member.parse() != Ok(pid)).count();
        if others > 0 {
            return Err(MachineError::new(format!(
                "{} has {others} other processes, so that no group below it can have limits; start durward with \
                 `systemd-run --user --scope -p Delegate=yes`",
                own.display()
            )));
        }
        let leaf = own.join(format!("durward-lab-{pid}-self"));
        make(&leaf)?;
        // Known before it is used: whatever fails from here on, it is removed.
        self.leaf = Some(leaf.clone());
        write(&leaf.join("cgroup.procs"), &pid.to_string())
            .map_err(|error| MachineError::new(format!("{} cannot be entered: {error}", leaf.display())))
    }
}

impl Drop for CgroupParent {
    fn drop(&mut self) {
        let Some(own) = &self.layout.v2 else { return };
        // Errors here leave a controller switched on, which limits nothing.
        for name in &self.enabled {
            let _ = write(&own.join("cgroup.subtree_control"), &format!("-{name}"));
        }
        if let Some(leaf) = &self.leaf {
            let _ = write(&own.join("cgroup.procs"), &process::id().to_string());
            let _ = fs::remove_dir(leaf);
        }
    }
}

/// Makes a group; one that is there already is taken.
pub(super) fn make(path: &Path) -> Result<(), MachineError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let problem = format!("no control group can be made at {}: {error}", path.display());
            Err(MachineError::new(problem))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a file of a group. It is never created: such a file means something only where the kernel made it.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}
