//! The programs in `tests/`, with the shared library and the static one, and under sanitizers.

use std::process::Command;

use crate::cases;
use crate::toolchain::{How, checks, compile, finish, folder, has_compiler, include, package};

const HOWS: [How; 3] = [How::Shared, How::Static, How::Sanitized];

#[test]
fn every_case_of_the_table_holds() {
    if !has_compiler() {
        return;
    }
    let (rows, count) = cases::rows();
    assert!(count > 15);
    for how in HOWS {
        // Each row is checked at least once.
        assert!(checks("cases", how, &rows) > count, "{how:?}");
    }
}

#[test]
fn misuse_is_an_error_and_no_permit() {
    if has_compiler() {
        for how in HOWS {
            assert!(checks("misuse", how, "") > 80, "{how:?}");
        }
    }
}

#[test]
fn threads_share_a_decision_point() {
    if has_compiler() {
        for how in HOWS {
            assert!(checks("threads", how, "") > 40, "{how:?}");
        }
    }
}

#[test]
fn the_header_is_one_of_cplusplus_too() {
    if !durward_testdata::has_program("c++", "--version", "apt-get install g++") {
        return;
    }
    let folder = folder("cplusplus");
    let program = folder.join("cplusplus");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    compiler.arg(include()).arg(package().join("tests/cplusplus.cpp")).arg("-o").arg(&program);
    compiler.arg("-L").arg(&folder).arg("-ldurward").arg(format!("-Wl,-rpath,{}", folder.display()));
    finish(&mut compiler, "");
    assert_eq!(finish(&mut Command::new(&program), "").trim_end(), env!("CARGO_PKG_VERSION"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_program_of_the_readme_prints_what_it_says() {
    let readme = std::fs::read_to_string(package().join("README.md")).unwrap();
    let program = std::fs::read_to_string(package().join("tests/readme.c")).unwrap();
    assert!(readme.contains(&format!("```c\n{program}```\n")), "README.md has another program than readme.c");
    if !has_compiler() {
        return;
    }
    let folder = folder("readme");
    let said = finish(&mut Command::new(compile(&folder, "readme", How::Shared)), "");
    assert!(readme.contains(&format!("It prints `{}`", said.trim_end())), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}
