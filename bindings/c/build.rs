//! Gives the shared library the name by which programs find it at run time. Before 1.0 each minor version may change functions, so it is
//! part of the name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let version = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdurward.so.{}.{}", version.0, version.1);
    }
}
