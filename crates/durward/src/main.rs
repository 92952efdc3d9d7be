//! The one binary: flags, config, wiring, signals.

fn main() {}
