//! An authority and certificates of it, made by openssl for one test.

use std::path::Path;
use std::process::{Command, Stdio};

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Whether openssl is there; without it tests are passed over, except on the build machine.
pub(crate) fn can_be_made() -> bool {
    durward_testdata::has_openssl()
}

/// Makes `ca.pem` and `ca.key`.
pub(crate) fn authority(folder: &Path) {
    openssl(folder, &format!("req -x509 {KEY} -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca"));
}

/// Makes `NAME.pem` and `NAME.key`, signed by the authority that is there. `alternative` is such as `DNS:localhost`.
pub(crate) fn certificate(folder: &Path, name: &str, alternative: &str) {
    let extensions = format!("subjectAltName={alternative}\nbasicConstraints=CA:FALSE");
    std::fs::write(folder.join(format!("{name}.ext")), extensions).unwrap();
    openssl(folder, &format!("req {KEY} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
    let sign = "x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days 2";
    openssl(folder, &format!("{sign} -in {name}.csr -extfile {name}.ext -out {name}.pem"));
}

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
