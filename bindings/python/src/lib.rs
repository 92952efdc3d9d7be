//! `durward._durward`, the part of the Python package `durward` that decides: turns types of Python into those of `durward_embed` and back.
//!
//! Every call lets go of the interpreter (`Python::detach`) before it waits for a lock or works for long: a thread that is
//! woken by the decision point may need the interpreter while it holds none of our locks, never the other way round.

mod decision;
mod error;
mod explanation;
mod pdp;
mod question;
mod snapshot;
mod value;
mod watch;

/// What `durward` is made of; only that package imports it.
#[pyo3::pymodule]
mod _durward {
    #[pymodule_export]
    use crate::decision::Decision;
    #[pymodule_export]
    use crate::explanation::Explanation;
    #[pymodule_export]
    use crate::pdp::Pdp;
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::watch::NativeWatch;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
