//! The project's own tooling: `cargo xtask test | check | generate | peers | fuzz`.

fn main() {}
