//! Says to the linker what an addon of Node needs, which differs between systems.

fn main() {
    napi_build::setup();
}
