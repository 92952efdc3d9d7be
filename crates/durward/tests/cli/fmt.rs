//! `durward fmt`: what it changes, and what it leaves alone.

use std::fs;
use std::path::PathBuf;

use crate::{durward, durward_fed};

const UNTIDY: &str = "policy \"a\" permit subject==\"ada\";// only her";
const TIDY: &str = "policy \"a\"\npermit\n    subject == \"ada\"; // only her\n";
const BROKEN: &str = "policy \"a\" permit subject.policy==1;";

/// A new directory with these files.
fn directory(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-fmt-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    for (file, text) in files {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

#[test]
fn documents_below_a_directory_are_laid_out_in_place() {
    let files = [("a.sapl", UNTIDY), ("deep/b.sapl", UNTIDY), ("tidy.sapl", TIDY), ("other.txt", UNTIDY)];
    let directory = directory("place", &files);
    let path = directory.to_str().unwrap();
    let ran = durward(&["fmt", path]).exits(0);
    assert_eq!(
        ran.stdout,
        format!("{path}/a.sapl\n{path}/deep/b.sapl\n3 documents: 2 changed, 1 as they are, 0 with errors\n")
    );
    for file in ["a.sapl", "deep/b.sapl", "tidy.sapl"] {
        assert_eq!(fs::read_to_string(directory.join(file)).unwrap(), TIDY, "{file}");
    }
    assert_eq!(fs::read_to_string(directory.join("other.txt")).unwrap(), UNTIDY);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 4, "nothing else is left behind");
    let again = durward(&["fmt", path]).exits(0);
    assert_eq!(again.stdout, "3 documents: 0 changed, 3 as they are, 0 with errors\n");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn check_lists_what_would_change_and_changes_nothing() {
    let directory = directory("check", &[("a.sapl", UNTIDY), ("b.sapl", TIDY)]);
    let path = directory.to_str().unwrap();
    let ran = durward(&["fmt", "--check", path]).exits(1);
    assert_eq!(
        ran.stdout,
        format!("{path}/a.sapl\n2 documents: 1 to change, 1 as they are, 0 with errors\n")
    );
    assert_eq!(fs::read_to_string(directory.join("a.sapl")).unwrap(), UNTIDY);
    durward(&["fmt", "--check", &format!("{path}/b.sapl")]).exits(0);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn documents_with_errors_are_shown_and_left_alone() {
    let directory = directory("broken", &[("a.sapl", BROKEN), ("b.sapl", UNTIDY)]);
    fs::write(directory.join("c.sapl"), b"policy \"a\"\npermit \xff").unwrap();
    let path = directory.to_str().unwrap();
    let ran = durward(&["fmt", path]).exits(2);
    assert!(ran.stderr.contains("a.sapl:1:27: error: `policy` is a keyword"), "{}", ran.stderr);
    assert!(ran.stderr.contains("^^^^^^\nhelp: write .`policy`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("c.sapl:2: the text is not UTF-8"), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("3 documents: 1 changed, 0 as they are, 2 with errors\n"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(directory.join("a.sapl")).unwrap(), BROKEN);
    assert_eq!(fs::read_to_string(directory.join("b.sapl")).unwrap(), TIDY);
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = directory("link", &[("kept/a.sapl", UNTIDY)]);
    let (kept, link) = (directory.join("kept/a.sapl"), directory.join("a.sapl"));
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&kept, &link).unwrap();
    durward(&["fmt", link.to_str().unwrap()]).exits(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&kept).unwrap(), TIDY);
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn standard_input_goes_to_standard_output() {
    assert_eq!(durward_fed(&["fmt", "-"], UNTIDY).exits(0).stdout, TIDY);
    let ran = durward_fed(&["fmt", "-"], BROKEN).exits(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("standard input:1:27: error: "), "{}", ran.stderr);
    durward_fed(&["fmt", "--check", "-"], UNTIDY).exits(1);
    durward_fed(&["fmt", "--check", "-"], TIDY).exits(0);
}

#[test]
fn what_is_no_document_is_bad_input() {
    durward(&["fmt", "visitor.json"])
        .exits(2)
        .complains("visitor.json is no SAPL document", "give files `*.sapl`, directories of them, or `-`");
    durward(&["fmt", "hospital"])
        .exits(2)
        .complains("no documents `*.sapl` in hospital", "XML documents are not formatted");
    assert!(durward(&["fmt", "nowhere"]).exits(2).stderr.contains("cannot read nowhere"));
}
