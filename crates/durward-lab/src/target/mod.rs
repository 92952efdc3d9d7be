//! The target of a measurement: started as nodes under limits, watched, and stopped with nothing left behind.
//!
//! A [`TargetSpec`] says what; [`TargetSpec::start`] gives [`RunningTarget`] nodes that are ready; [`RunningTarget::watch`] sees what each uses
//! between the borders of a measurement; [`Neighbours`] sees who else was on the machine.
//!
//! Each node is a process in a directory, a process group and a control group of its own, so that everything it starts is
//! under its limits, is counted, and is stopped with it. A small shell (`keeper`) does that when this process is killed.

mod bytes;
mod cgroup;
mod check;
mod cores;
mod error;
mod figures;
pub(crate) mod http;
mod image;
mod keeper;
mod launch;
mod limits;
mod listener;
mod neighbours;
mod pages;
mod processes;
mod quota;
mod ready;
mod running;
mod spec;
mod start;
mod stop;
pub(crate) mod text;
mod watch;
mod words;

pub use bytes::Bytes;
pub use cores::{Pinned, Slices};
pub use error::{MachineError, TargetError};
pub use neighbours::{NEIGHBOUR_SHARE_MAX, Neighbours, OtherLoad, STEAL_SHARE_MAX};
pub use quota::CpuQuota;
pub use running::RunningTarget;
pub use spec::{NodeLimits, TargetPart, TargetScheme, TargetSpec};
pub(crate) use start::RSOCKET_PORT;
pub use watch::UsageWatch;
