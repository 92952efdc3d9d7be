//! Stands for the dashboard in a durward that was built without it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use durward_lab::live::StatusBoard;

/// There is none.
#[derive(Debug)]
pub(super) struct Dashboard(Infallible);

/// Nothing can be drawn.
pub(super) fn can_draw() -> bool {
    false
}

impl Dashboard {
    /// Fails: nothing can be drawn.
    pub(super) fn open(_: StatusBoard, _: Arc<AtomicBool>, _: String) -> io::Result<Dashboard> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Nothing was taken.
pub(super) fn put_back() {}
