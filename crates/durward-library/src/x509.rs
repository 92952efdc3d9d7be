//! The library `x509`.

use durward_ir::library::LibraryFunction;

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[];
