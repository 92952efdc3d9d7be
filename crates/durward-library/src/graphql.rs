//! The library `graphql`.

use durward_ir::library::LibraryFunction;

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[];
