//! XACML over HTTP: the REST profile (`pdp`), and the paths of other decision points (`dialect`). `wire` reads and writes.

pub(crate) mod dialect;
pub(crate) mod pdp;
mod wire;
