//! Load over TLS, against a server of openssl.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::server::run_text;

struct Https {
    process: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Drop for Https {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A server with a certificate of its own; `None` without openssl.
fn https() -> Option<Https> {
    if !durward_testdata::has_openssl() {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("durward-lab-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let made = Command::new("openssl")
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost".split(' '))
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(&folder)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let accept = port.to_string();
    let process = Command::new("openssl")
        .args(["s_server", "-accept", &accept, "-cert", "cert.pem", "-key", "key.pem", "-www", "-quiet"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..100 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(Https { process, port, folder })
}

#[test]
fn load_is_made_over_tls_to_servers_that_are_trusted() {
    let Some(server) = https() else { return };
    let at = |tls: &str| {
        let text = format!(
            "[target]\naddresses = [\"https://localhost:{}\"]\n{tls}\n[load]\nusers = 2\nthink = \"10ms\"\nerror_pause = \"10ms\"\nwarm_up = \"0s\"\nmeasure = \"500ms\"\n[[steps]]\npath = \"/\"\nexpect.contains = \"TLS\"",
            server.port
        );
        run_text(&text).points.remove(0)
    };
    let trusted = at(&format!("[tls]\nca = \"{}/cert.pem\"", server.folder.display()));
    assert!(trusted.answered() > 2 && trusted.failed() == 0, "{:?}", trusted.steps);
    let anybody = at("[tls]\ndanger_any_certificate = true");
    assert!(anybody.answered() > 2 && anybody.failed() == 0, "{:?}", anybody.steps);
    // Another name than the certificate's.
    let other =
        at(&format!("[tls]\nca = \"{}/cert.pem\"\nserver_name = \"other.example\"", server.folder.display()));
    assert!(other.answered() == 0 && other.steps[0].failed.contains_key("TLS"), "{:?}", other.steps);
}
