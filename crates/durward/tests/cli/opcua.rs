//! `durward opcua`.

use std::fs;
use std::path::PathBuf;

use crate::durward;

/// A directory that is gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("durward-opcua-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn certificates_are_made_shown_and_trusted() {
    let folder = Folder::new("pki");
    let (own, other) = (folder.path("own"), folder.path("other"));
    let create = |dir: &str, uri: &str| {
        let words = ["opcua", "pki", "create", "--dir", dir, "--application-uri", uri, "--host", "plc.test"];
        durward(&words)
    };
    let made = create(&own, "urn:test:gate").exits(0).stdout;
    assert!(made.contains("urn:test:gate, ") && made.contains("plc.test"), "{made}");
    create(&other, "urn:test:historian").exits(0);
    // A key is never replaced.
    let again = create(&own, "urn:test:gate").exits(2);
    assert!(again.stderr.contains("there is a certificate in own/certs already"), "{}", again.stderr);

    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(
        shown.starts_with("own       ") && shown.contains(": 1824 more days") && shown.lines().count() == 1,
        "{shown}"
    );

    let certificate = folder.0.join("other/own/certs/application.der");
    let trusted = durward(&["opcua", "pki", "trust", "--dir", &own, &certificate.display().to_string()])
        .exits(0)
        .stdout;
    assert!(trusted.contains("urn:test:historian"), "{trusted}");
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(
        shown.lines().any(|line| line.starts_with("trusted   ") && line.contains("urn:test:historian")),
        "{shown}"
    );
}

#[test]
fn a_rejected_certificate_is_trusted_by_the_beginning_of_its_thumbprint() {
    let folder = Folder::new("rejected");
    let (own, other) = (folder.path("own"), folder.path("other"));
    for (dir, uri) in [(&own, "urn:test:gate"), (&other, "urn:test:client")] {
        durward(&["opcua", "pki", "create", "--dir", dir, "--application-uri", uri]).exits(0);
    }
    let der = fs::read(folder.0.join("other/own/certs/application.der")).unwrap();
    fs::write(folder.0.join("own/rejected/certs/client.der"), der).unwrap();
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("rejected  ")).unwrap();
    let thumbprint = &line["rejected  ".len()..][..40];
    assert!(
        line.contains("urn:test:client") && thumbprint.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{line}"
    );

    durward(&["opcua", "pki", "trust", "--dir", &own, &thumbprint[..4]]).exits(2).complains(
        &format!("`{}` is neither a file nor a thumbprint of 6 digits or more", &thumbprint[..4]),
        "`durward opcua pki show` lists what was rejected",
    );
    durward(&["opcua", "pki", "trust", "--dir", &own, &thumbprint[..12]]).exits(0);
    let shown = durward(&["opcua", "pki", "show", "--dir", &own]).exits(0).stdout;
    assert!(shown.lines().any(|line| line.starts_with("trusted   ") && line.contains(thumbprint)), "{shown}");
}

#[test]
fn what_is_no_directory_or_certificate_is_bad_input() {
    let folder = Folder::new("bad");
    let dir = folder.path("none");
    durward(&["opcua", "pki", "show", "--dir", &dir]).exits(2).complains(
        &format!("there is no directory {dir}"),
        "`durward opcua pki create` makes one with a certificate in it",
    );
    assert!(!folder.0.join("none").exists());
    let empty = folder.path("empty");
    fs::create_dir_all(&empty).unwrap();
    let shown = durward(&["opcua", "pki", "show", "--dir", &empty]).exits(1).stdout;
    assert!(shown.starts_with("own       none"), "{shown}");
    let junk = folder.path("junk.der");
    fs::write(&junk, b"no certificate").unwrap();
    durward(&["opcua", "pki", "trust", "--dir", &empty, &junk]).exits(2);
    durward(&["opcua", "pki", "create", "--dir", &empty, "--application-uri", ""]).exits(2);
}
